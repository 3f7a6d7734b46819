"""Which tables and figures of the docs were made by code that has changed since?

``made_tables.json`` lists every table and figure with the script that makes it and the modules whose code its numbers
rest on. It keeps a digest of that code from the day the table was made. Scripts that write a table into a page renew
its digest.

    python examples/reproduce/made_tables.py                       # what is out of date
    python examples/reproduce/made_tables.py --made documents.png  # the figure has just been made
    python examples/reproduce/made_tables.py --keep "tracks.md tracks" --because "only its speed has changed"

``--keep`` is for changes that move no number. ``--late`` is for tables whose numbers may have moved and are to be made
again later; their pages should say so.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from pt_active.frames.atomic import write_file

HERE = Path(__file__).parent
PACKAGE = HERE.parent.parent / "pt_active"
DOCS = PACKAGE / "pt_docs"
LIST = HERE / "made_tables.json"

_WITHOUT_EFFECT = {"annotation", "returns", "kind", "type_comment", "type_params"}


@dataclass
class Made:
    """A table between two marker lines of a page, or a figure.

    Attributes:
        page: The page that shows it.
        name: The name in the table's marker lines, or the figure's file.
        script: The script that makes it.
        rests_on: Groups of modules whose code decides its numbers.
        digest: That of the code which made it.
        kept: Why it stands although code has changed since, newest last.
        late: Why it is to be made again; empty if it is not.
    """

    page: str
    name: str
    script: str
    rests_on: list[str]
    digest: str = ""
    kept: list[str] | None = None
    late: str = ""

    @property
    def key(self) -> str:
        """What names it on the command line."""
        return self.name if self.name.endswith(".png") else f"{self.page} {self.name}"


def read() -> tuple[dict[str, list[str]], list[Made]]:
    """The groups of modules, and all tables and figures."""
    text = json.loads(LIST.read_text(encoding="utf-8"))
    return text["groups"], [Made(**entry) for entry in text["tables"]]


def write(groups: dict[str, list[str]], tables: list[Made]) -> None:
    """Write the list."""
    entries = [{name: value for name, value in asdict(made).items() if value} for made in tables]
    write_file(LIST, json.dumps({"groups": groups, "tables": entries}, indent=1) + "\n", replace=True)


def code_of(node: object) -> Iterator[str]:
    """What a syntax tree computes, without imports, docstrings and annotations, alike in all versions of Python."""
    if isinstance(node, list):
        for part in node:
            yield from code_of(part)
    elif not isinstance(node, ast.AST):
        yield repr(node)
    elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_docstring(node):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if name not in _WITHOUT_EFFECT and value not in (None, []):
                yield name
                yield from code_of(value)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def digest(made: Made, groups: dict[str, list[str]]) -> str:
    """Digest of the code of the modules that a table rests on."""
    found = hashlib.sha256()
    for module in sorted({module for group in made.rests_on for module in groups[group]}):
        found.update(_computed((PACKAGE / module).read_text(encoding="utf-8")))
    return found.hexdigest()[:16]


@cache
def _computed(text: str) -> bytes:
    """What the text of a module computes; many tables rest on the same modules."""
    return "\n".join(code_of(ast.parse(text))).encode()


def out_of_date() -> list[Made]:
    """Tables and figures that rest on code which has changed since they were made."""
    groups, tables = read()
    return [made for made in tables if made.digest != digest(made, groups)]


def renew(keys: list[str], because: str = "", late: bool = False) -> None:
    """Renew the digests of tables that have just been made, or that stand for a reason.

    Args:
        keys: Their keys; `ValueError` if one is unknown.
        because: Why they stand although code has changed; empty if they have just been made.
        late: Their numbers may have moved, and they are to be made again.
    """
    groups, tables = read()
    if unknown := sorted(set(keys) - {made.key for made in tables}):
        raise ValueError(
            f"{LIST.name} does not list {', '.join(unknown)}; its tables are {', '.join(m.key for m in tables)}"
        )
    for made in tables:
        if made.key in keys:
            made.digest = digest(made, groups)
            made.kept = [*(made.kept or []), because] if because and not late else made.kept if because else None
            made.late = because if late else made.late if because else ""
    write(groups, tables)


def main() -> None:
    """Say what is out of date, or renew digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", nargs="+", default=[], metavar="TABLE", help="tables that have just been made")
    parser.add_argument("--keep", nargs="+", default=[], metavar="TABLE", help="tables whose numbers did not move")
    parser.add_argument("--late", nargs="+", default=[], metavar="TABLE", help="tables to be made again later")
    parser.add_argument("--because", default="", metavar="REASON")
    asked = parser.parse_args()
    if bool(asked.keep or asked.late) != bool(asked.because):
        parser.error("--keep and --late go with --because")
    renew(asked.made)
    renew(asked.keep, asked.because)
    renew(asked.late, asked.because, late=True)
    for made in out_of_date():
        print(f"{made.key}: its code has changed; make it again with examples/reproduce/{made.script}")
    for made in read()[1]:
        if made.late:
            print(f"{made.key}: to be made again with examples/reproduce/{made.script}: {made.late}")


if __name__ == "__main__":
    main()
