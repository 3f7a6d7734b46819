"""Put the tables of ``pt_docs/evidence`` into the pages that show them.

A page shows some rows and columns of a CSV file between two lines::

    <!-- evidence: NAME | rows: COLUMN=VALUE or VALUE; COLUMN=VALUE | columns: COLUMN; COLUMN => HEADING -->
    <!-- evidence: end -->

    python examples/reproduce/pages.py [PAGE.md …]

Without ``rows`` or ``columns`` it shows all. A column comes with its Monte Carlo error and
with what stands in brackets.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pandas as pd
from evidence import BRACKET, DOCS, ERROR, FOLDER, markdown, read

from pt_active.frames.atomic import write_file

README, SIMULATOR = DOCS.parents[1] / "README.md", DOCS / "simulator.html"
EMBEDDED = re.compile(r'(<script id="tables" type="application/json">).*?(</script>)', re.DOTALL)
SHOWN = re.compile(r"<!-- evidence: (?!end)(.+?) -->\n.*?<!-- evidence: end -->", re.DOTALL)


def rendered(text: str, folder: Path = FOLDER) -> str:
    """A page with its tables as the CSV files have them."""
    return SHOWN.sub(
        lambda found: f"<!-- evidence: {found[1]} -->\n\n{shown(found[1], folder)}\n\n<!-- evidence: end -->", text
    )


def shown(asked: str, folder: Path) -> str:
    """The rows and columns of a CSV file that a page asks for, in Markdown.

    Raises:
        ValueError: A row or a column is not in the file.
    """
    name, *rest = asked.split(" | ")
    options = dict(part.split(": ", 1) for part in rest)
    _, table = read(folder / f"{name}.csv")
    for condition in filter(None, options.get("rows", "").split("; ")):
        column, values = condition.split("=", 1)
        wanted = values.split(" or ")
        if column not in table or set(wanted) - set(table[column]):
            raise ValueError(f"{name}.csv has no rows with {condition}")
        table = table[table[column].isin(wanted)]
    every = [column for column in table if not column.endswith((ERROR, BRACKET))]
    pairs = [column.partition(" => ") for column in options.get("columns", "; ".join(every)).split("; ")]
    if unknown := [column for column, _, _ in pairs if column not in table]:
        raise ValueError(f"{name}.csv has no columns {', '.join(unknown)}")
    return markdown(pd.DataFrame({label or column: cells(table, column) for column, _, label in pairs}))


def cells(table: pd.DataFrame, column: str) -> list[str]:
    """The cells of a column, with errors and brackets."""
    beside = {ending: table.get(f"{column}{ending}") for ending in (ERROR, BRACKET)}
    found = list(table[column])
    if beside[ERROR] is not None:
        found = [f"{cell} ± {error}" if error else cell for cell, error in zip(found, beside[ERROR], strict=True)]
    if beside[BRACKET] is not None:
        found = [f"{cell} ({more})" if more else cell for cell, more in zip(found, beside[BRACKET], strict=True)]
    return found


def embedded(text: str, folder: Path = FOLDER) -> str:
    """The page of the simulator with the numbers of its two tables."""
    tables = {}
    for name in ("verdicts", "intervals"):
        _, table = read(folder / f"simulator-{name}.csv")
        tables[name] = [
            {column: cell if column == "model" else float(cell) for column, cell in row.items()}
            for row in table.to_dict("records")
        ]
    return EMBEDDED.sub(lambda found: f"{found[1]}{json.dumps(tables)}{found[2]}", text)


def main() -> None:
    """Put the tables into the named pages, or into all."""
    for page in map(Path, sys.argv[1:] or [README, *sorted(DOCS.glob("*.md")), SIMULATOR]):
        text = page.read_text(encoding="utf-8")
        if (now := (embedded if page.suffix == ".html" else rendered)(text)) != text:
            write_file(page, now, replace=True)
            print(f"{page.name} has new tables")


if __name__ == "__main__":
    main()
