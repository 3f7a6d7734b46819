"""What are the rows of a table with a header, whose cells a comma, a semicolon or a tab separates?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from pt_active.frames.checks import how_many, shown, some
from pt_active.frames.sources import Source, beyond

_LINE_END = re.compile(r"\r\n|\n|\r")


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        row: Its number among all rows, from 1, as a spreadsheet counts.
        line: The number of the line in which it begins, from 1. Cells in quotation marks may span lines.
        cells: Its cells.
    """

    row: int
    line: int
    cells: list[str]

    @property
    def is_blank(self) -> bool:
        """Whether no cell holds anything but white space."""
        return not any(cell.strip() for cell in self.cells)


def read_table(source: Source, separator: str, wanted: tuple[str, ...], quoted: bool = True) -> pd.DataFrame:
    """Read a table, whose first row names the columns. Rows that are wholly blank are left out."""
    rows = (row for row in _rows(source.text, separator, quoted) if not row.is_blank)
    header = next(rows, None)
    if header is None:
        raise ValueError(f"the file is empty; expected a header with {some(wanted)}")
    names = [name.strip() for name in header.cells]
    _check_header(names, header, wanted, source.limits.columns)
    numbers, cells = [], []
    for row in rows:
        _check_row(row, names, source.limits.cell)
        numbers.append(row.row)
        cells.append(row.cells)
    table = pd.DataFrame(cells, index=numbers, columns=range(len(names)), dtype=object)
    named = [i for i, name in enumerate(names) if name]
    return table[named].set_axis([names[i] for i in named], axis="columns")


def _check_header(names: list[str], header: Row, wanted: tuple[str, ...], most: int) -> None:
    if len(names) > most:
        raise beyond(f"row {header.row}: the header has {len(names):,} columns, more", most, "columns")
    if missing := [name for name in wanted if name not in names]:
        raise ValueError(
            f"row {header.row}: expected a header with {some(wanted)}; missing: {some(missing)}; got {_cut(names)}"
        )
    if twice := [name for i, name in enumerate(names) if name and name in names[:i]]:
        raise ValueError(f"row {header.row}: the header must name each column once; got {some(twice)} more than once")


def _check_row(row: Row, names: list[str], most: int) -> None:
    if len(row.cells) != len(names):
        wanted, got = how_many("cell", len(names)), how_many("cell", len(row.cells))
        raise ValueError(
            f"line {row.line}: expected {_cut(names)} ({wanted}, as in the header); got {_cut(row.cells)} ({got})"
        )
    for column, (name, cell) in enumerate(zip(names, row.cells, strict=True)):
        if len(cell) > most:
            raise beyond(f"line {row.line}: a cell of {len(cell):,} characters, more", most, "characters")
        # pandas writes the index of a frame as a first column without a name.
        if not name and cell.strip() and column:
            raise ValueError(f"line {row.line}: {shown(cell)} in a column that has no name in the header")


def _cut(cells: list[str]) -> str:
    return some([cell if len(cell) <= 40 else f"{cell[:39]}…" for cell in cells])


def _rows(text: str, separator: str, quoted: bool) -> Iterator[Row]:
    """All rows of a text, blank ones too."""
    position, number, line = 0, 0, 1
    while position < len(text):
        match = _LINE_END.search(text, position)
        end, after = match.span() if match else (len(text), len(text))
        number, lines = number + 1, 1
        if not quoted or text.find('"', position, end) < 0:
            cells = text[position:end].split(separator)
        else:
            cells, after, lines = _quoted_cells(text, position, separator, line)
        yield Row(number, line, cells)
        position, line = after, line + lines


def _quoted_cells(text: str, position: int, separator: str, line: int) -> tuple[list[str], int, int]:
    """The cells of a row with quotation marks, the position after the row, and the number of its lines."""
    cells, first, ends = [], line, re.compile(rf"{separator}|\r\n|\n|\r")
    while True:
        if text.startswith('"', position):
            cell, stop = _quoted_cell(text, position, line)
            line += len(_LINE_END.findall(cell))
        else:
            match = ends.search(text, position)
            stop = match.start() if match else len(text)
            cell = text[position:stop]
        cells.append(cell)
        match = ends.match(text, stop)
        if match is None and stop < len(text):
            rest = shown(text[stop : stop + 20].splitlines()[0])
            raise ValueError(
                f"line {line}: {rest} after the quotation mark that ends a cell; a quotation "
                "mark inside a cell is written twice"
            )
        if match is None or match.group() != separator:
            return cells, len(text) if match is None else match.end(), line - first + 1
        position = match.end()


def _quoted_cell(text: str, position: int, line: int) -> tuple[str, int]:
    """The content of a cell in quotation marks, and the position after it."""
    start = end = position + 1
    while True:
        end = text.find('"', end)
        if end < 0:
            raise ValueError(f"line {line}: a quotation mark opens a cell and none ends it")
        if not text.startswith('""', end):
            return text[start:end].replace('""', '"'), end + 1
        end += 2
