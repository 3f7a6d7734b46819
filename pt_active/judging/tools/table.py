"""Tables that people fill in with a spreadsheet: CSV, TSV and ``.xlsx``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import date, time
from typing import Any

import pandas as pd

from pt_active.frames.checks import shown, some
from pt_active.frames.tables import read_spreadsheet
from pt_active.frames.visible import guarded, unguarded, visible
from pt_active.judging.delivery import Delivery, Given, check_new
from pt_active.judging.worklist import Worklist

COLUMNS = ("qid", "docno", "query", "text", "label", "status", "annotator", "note", "plan")
"""The columns of a table that is written. ``time`` is read too."""

_WANTED = ("qid", "docno", "label")
_READ = (*_WANTED, "annotator", "status", "time", "note", "plan")
_MAX_HEADER = 10_000  # Characters of a header that are looked at to recognise a table
_MAX_CELL = 32_767  # Characters of a cell of a spreadsheet, at most
_NEEDS_OPENPYXL = "spreadsheets need the package openpyxl: pip install openpyxl; or use CSV"


def is_table(delivery: Delivery) -> bool:
    """Whether it is a spreadsheet file, or a text whose header has a qid, a docno or a label, in any case."""
    if delivery.is_archive:
        return True
    cells = re.split("[,;\t\r]", delivery.first_line[:_MAX_HEADER].replace('"', ""))
    return len(cells) > 1 and not {name.strip().casefold() for name in cells}.isdisjoint(_WANTED)


def read(delivery: Delivery) -> Iterator[Given]:
    """What the rows of a table say."""
    table = _known(_workbook(delivery) if delivery.is_archive else read_spreadsheet(delivery.source))
    table = pd.DataFrame({name: unguarded(table[name]) for name in table}, index=table.index)
    if "annotator" not in table:
        first: dict[tuple[str, str], int | str] = {}
        said = table.drop_duplicates(["qid", "docno", "label"])[["qid", "docno"]]
        for place, qid, docno in said.itertuples(name=None):
            check_new(first, qid, docno, place)
    rows = table.reindex(columns=list(_READ), fill_value="").itertuples(name=None)
    for place, qid, docno, label, annotator, status, when, note, plan in rows:
        yield Given(place, qid, docno, label, annotator.strip(), status, when, note, plan.strip())


def _known(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that are read, under their names in lower case."""
    names = [str(name).strip().casefold() for name in table.columns]
    if missing := [name for name in _WANTED if name not in names]:
        raise ValueError(f"expected a header with {some(_WANTED)}; missing: {some(missing)}; got {some(table.columns)}")
    if twice := [name for name in _READ if names.count(name) > 1]:
        raise ValueError(f"expected each column once; got {some(twice)} more than once")
    table = table.set_axis(names, axis="columns")
    return table[[name for name in _READ if name in names]]


def _workbook(delivery: Delivery) -> pd.DataFrame:
    """The columns that are read in the first sheet of a spreadsheet, as texts; the index holds the numbers of rows."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ValueError(_NEEDS_OPENPYXL) from None
    try:
        # A formula has its text in the one, and in the other its value, if the program that saved it worked it out.
        books = [load_workbook(io.BytesIO(delivery.content), True, data_only=only) for only in (False, True)]
        texts, values = (_first_sheet(book) for book in books)
    except Exception as error:  # the library raises whatever its parsers raise
        raise ValueError(f"the spreadsheet is damaged: {' '.join(str(error).split())[:200]}") from error
    filled = [number for number, row in enumerate(texts) if any(text not in (None, "") for text in row)]
    if not filled:
        raise ValueError(f"the first sheet is empty; expected a header with {some(_WANTED)}")
    head, *rows = filled
    names = ["" if name is None else str(name).strip().casefold() for name in values[head]]
    _known(pd.DataFrame(columns=[name for name in names if name]))
    read = {name: place for place, name in enumerate(names) if name in _READ}
    cells = [
        [
            _cell(_at(texts[row], at), _at(values[row], at), f"row {row + 1}: expected a {name}")
            for name, at in read.items()
        ]
        for row in rows
    ]
    return pd.DataFrame(cells, [row + 1 for row in rows], list(read), dtype=object)


def _first_sheet(book: Any) -> list[tuple[Any, ...]]:
    """The cells of the first sheet; rows may be shorter than others."""
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # of which a file may say what it likes
    return list(sheet.iter_rows(values_only=True))


def _at(row: tuple[Any, ...], place: int) -> Any:
    return row[place] if place < len(row) else None


def _cell(text: Any, value: Any, expected: str) -> str:
    """A cell as text; whole numbers have no decimals."""
    if value is None and text is not None:
        how = "save the file with a spreadsheet program, or enter the value"
        raise ValueError(f"{expected}; got the formula {shown(text)} without its value: {how}")
    if isinstance(value, (date, time)):
        made = f"the spreadsheet has made a date of it, {shown(str(value))}"
        raise ValueError(f"{expected} that is text; {made}: format the column as text and enter it again")
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def write_csv(worklist: Worklist) -> dict[str, str | bytes]:
    """A CSV table with the columns `COLUMNS`, in which the labels are filled in."""
    table = pd.DataFrame(_rows(worklist), columns=COLUMNS).apply(guarded)
    return {"": table.to_csv(index=False, lineterminator="\n")}


def write_xlsx(worklist: Worklist) -> dict[str, str | bytes]:
    """A spreadsheet with the columns `COLUMNS`, all of whose cells are text, so that ids keep their zeros."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise ValueError(_NEEDS_OPENPYXL) from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("judgments")
    sheet.freeze_panes = "A2"
    for row in [list(COLUMNS), *_rows(worklist)]:
        cells = []
        for text in guarded(pd.Series(row, dtype=object)):
            try:
                cell = WriteOnlyCell(sheet, text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…")
            except IllegalCharacterError:
                said = f"a spreadsheet cannot hold the control characters of {shown(text)}; use CSV"
                raise ValueError(said) from None
            cell.data_type, cell.number_format = "s", "@"
            cells.append(cell)
        sheet.append(cells)
    content = io.BytesIO()
    book.save(content)
    return {"": content.getvalue()}


def _rows(worklist: Worklist) -> Iterator[list[str]]:
    for item in worklist:
        query, text = visible(item.query), visible(item.text)
        yield [item.qid, item.docno, query, text, "", "", "", "", worklist.plan]
