"""Tables as data: the CSV files of ``pt_docs/evidence``, each with the command that made it."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import pandas as pd

from pt_active.frames.atomic import write_file

DOCS = Path(__file__).parents[2] / "pt_active" / "pt_docs"
FOLDER = DOCS / "evidence"

ERROR, BRACKET = " ±", " ()"
"""Endings of columns: the Monte Carlo error of the column before it, and what stands in brackets beside it."""


def parser_with(
    description: str | None,
    *,
    pools: str = "",
    repetitions: int | None = None,
    seed: int | None = None,
    quick: str = "",
    evidence: bool = True,
) -> argparse.ArgumentParser:
    """A command line with what many scripts take.

    Args:
        description: The script's docstring.
        pools: How many judged pools it takes, ``"+"`` or ``"*"``; none if empty.
        repetitions: Their number if nothing is said, for scripts with repetitions.
        seed: The seed if nothing is said, for scripts that take one.
        quick: The help of ``--quick``, for scripts that have it.
        evidence: Whether the tables can be kept, see `publish`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if pools:
        parser.add_argument("pools", type=Path, nargs=pools, metavar="POOL.parquet")
    if repetitions is not None:
        parser.add_argument("--repetitions", type=int, default=repetitions)
    if seed is not None:
        parser.add_argument("--seed", type=int, default=seed)
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    if evidence:
        parser.add_argument("--evidence", type=Path, metavar="FOLDER", help="keep the tables as CSV files here")
    return parser


def publish(text: str, arguments: argparse.Namespace, *names: str) -> None:
    """Keep the tables of a Markdown text as CSV files, if the command line asks for it.

    Args:
        text: The tables, with what is said about them.
        arguments: Those of `parser_with`.
        names: A name for each table; neighbours with the same columns are one table, with a column ``part``.
    """
    if arguments.evidence is None:
        return
    header = {
        "command": command_line(),
        "seed": str(getattr(arguments, "seed", "fixed in the script")),
        "replications": str(getattr(arguments, "repetitions", "see the script")),
        "made": f"{date.today()}, version {version('pt_active')}",
    }
    for name, (table, note) in zip(names, tables_of(text), strict=True):
        write(arguments.evidence / f"{name}.csv", table, header | ({"note": note} if note else {}))


def command_line() -> str:
    """The command that runs, without the folders of this machine."""
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return f"python examples/reproduce/{Path(sys.argv[0]).stem}.py {shlex.join(words)}".strip()


def write(path: Path, table: pd.DataFrame, header: Mapping[str, str]) -> None:
    """Write a table below its header."""
    lines = [f"# {key}: {value}" for key, value in header.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, "\n".join([*lines, table.to_csv(index=False)]), replace=True)


def read(path: Path) -> tuple[dict[str, str], pd.DataFrame]:
    """The header of a CSV file, and its table as text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return header, pd.read_csv(path, skiprows=len(header), dtype=str, keep_default_na=False)


def tables_of(text: str) -> Iterator[tuple[pd.DataFrame, str]]:
    """The tables of a Markdown text, neighbours with the same columns as one, and what else is said about them."""
    said: list[str] = []
    found: list[tuple[pd.DataFrame, list[str]]] = []
    for block in text.split("\n\n"):
        if block.startswith("|"):
            titles = [line for line in said if re.match(r"#|\*\*.+\*\*", line) or line.endswith(":")]
            title = re.match(r"\*\*(.+?)\*\*|[# ]*(.+?):?$", titles[-1]) if titles else None
            table = table_of(block)
            table.insert(0, "part", (title[1] or title[2]) if title else "")
            found.append((table, [line.replace("**", "") for line in said if not title or line != title[0]]))
            said = []
        elif block.strip():
            said.append(block.strip())
    if found:
        found[-1][1].extend(said)
    for _, group in groupby(found, key=lambda each: list(each[0].columns)):
        parts = list(group)
        table = pd.concat([each for each, _ in parts], ignore_index=True)
        notes = dict.fromkeys(line for _, lines in parts for line in lines)
        alone = table["part"].nunique() == 1
        yield split(table.drop(columns="part") if alone else table), " ".join(notes).replace("\n", " ")


def table_of(block: str) -> pd.DataFrame:
    """The cells of a table in Markdown."""
    rows = [[cell.strip().replace("**", "") for cell in line.strip("|").split("|")] for line in block.splitlines()]
    return pd.DataFrame(rows[2:], columns=[name.strip("`") or "cell" for name in rows[0]])


def split(table: pd.DataFrame) -> pd.DataFrame:
    """A column for each number: errors and what stands in brackets get their own."""
    columns: dict[str, pd.Series] = {}
    for name, cells in table.items():
        for ending, pattern in ((ERROR, r"(\S+) ± (\S+)"), (BRACKET, r"(.+?) \((.+)\)")):
            parts = [re.fullmatch(pattern, cell) for cell in cells]
            if any(parts) and all(part or cell in ("", "–") for part, cell in zip(parts, cells, strict=True)):
                pairs = zip(parts, cells, strict=True)
                first, second = zip(*((part[1], part[2]) if part else (cell, "") for part, cell in pairs), strict=True)
                columns |= {str(name): pd.Series(first), f"{name}{ending}": pd.Series(second)}
                break
        else:
            columns[str(name)] = cells
    return pd.DataFrame(columns)


def markdown(table: pd.DataFrame) -> str:
    """A frame as a Markdown table."""
    lines = [" | ".join(map(str, row)) for row in [table.columns, ["---"] * len(table.columns), *table.to_numpy()]]
    return "\n".join(f"| {line} |" for line in lines)
