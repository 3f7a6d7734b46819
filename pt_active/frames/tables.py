"""What are the rows of a table with a header, of lines of JSON, or of a Parquet file?"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pt_active.frames.checks import file_path, how_many, shown, some, unfit
from pt_active.frames.columns import with_string_ids
from pt_active.frames.sources import Source, naming


def read_table(source: Source, separator: str, wanted: tuple[str, ...], quoted: bool = True) -> pd.DataFrame:
    """Read a table, whose first row names the columns. Rows that are wholly blank are left out."""
    numbers, cells, names = [], [], list[str]()
    with closing(_rows(source.text, separator, quoted)) as rows:
        for number, line, row in rows:
            if not any(map(str.strip, row)):
                continue
            if names:
                _check_row(line, row, names)
                numbers.append(number)
                cells.append(row)
            else:
                names = [name.strip() for name in row]
                _check_header(number, names, wanted)
    if not names:
        raise ValueError(f"the file is empty; expected a header{f' with {some(wanted)}' if wanted else ''}")
    table = pd.DataFrame(cells, index=numbers, columns=range(len(names)), dtype=object)
    named = [i for i, name in enumerate(names) if name]
    return table[named].set_axis([names[i] for i in named], axis="columns")


def read_spreadsheet(source: Source, wanted: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a table as spreadsheets save it: separated by the first comma, semicolon or tab."""
    separator = re.search("[,;\t]", source.first_line())
    return read_table(source, separator.group() if separator else ",", wanted)


def _check_header(number: int, names: list[str], wanted: tuple[str, ...]) -> None:
    if missing := some(name for name in wanted if name not in names):
        raise unfit(f"row {number}", f"a header with {some(wanted)}; missing: {missing}", some(names))
    if twice := [name for i, name in enumerate(names) if name and name in names[:i]]:
        raise ValueError(f"row {number}: the header must name each column once; got {some(twice)} more than once")


def _check_row(line: int, cells: list[str], names: list[str]) -> None:
    if len(cells) != len(names):
        wanted, got = (f"{some(each)} ({how_many('cell', len(each))}" for each in (names, cells))
        raise unfit(f"line {line}", f"{wanted}, as in the header)", f"{got})")
    for column, (name, cell) in enumerate(zip(names, cells, strict=True)):
        # pandas writes the index of a frame as a first column without a name.
        if not name and cell.strip() and column:
            raise ValueError(f"line {line}: {shown(cell)} in a column that has no name in the header")


def _rows(text: str, separator: str, quoted: bool) -> Generator[tuple[int, int, list[str]], None, None]:
    """The rows of a table, each with its number, as a spreadsheet counts, and the number of its first line."""
    before = csv.field_size_limit(sys.maxsize)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True)
    line = 1
    try:
        for number, cells in enumerate(reader, start=1):
            yield number, line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise ValueError(f"line {line}: a quotation mark opens a cell, and none closes it") from None
        said = "characters after the quotation mark that closes a cell; write a quotation mark inside a cell twice"
        raise ValueError(f"line {reader.line_num}: {said}") from None
    finally:
        csv.field_size_limit(before)


def read_json_lines(source: Source, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a file with one JSON object per line."""
    rows = {}
    for number, line in source.lines():
        if not line.strip():
            continue
        with naming(f"line {number}"):
            entry = json_value(line)
            if not isinstance(entry, dict) or not entry.keys() >= set(keys):
                raise ValueError(f"expected a JSON object with the keys {some(keys)}; got {shown(line.strip())}")
        rows[number] = [entry.get(key) for key in (*keys, *optional)]
    if not rows:
        raise ValueError(f"the file is empty; expected objects with {some(keys)}")
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*keys, *optional], dtype=object)


def json_value(text: str) -> Any:
    """The value of a whole JSON text."""
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_refused)
    except RecursionError:
        raise ValueError("expected JSON; got values nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"expected JSON; got {str(error)[:200]}") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for name, value in pairs:
        if name in entry:
            raise ValueError(f"the key {shown(name)} more than once")
        entry[name] = value
    return entry


def _refused(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")


def is_parquet(path: str | Path) -> bool:
    """Whether a file is read as Parquet, by its suffix."""
    return Path(path).suffix == ".parquet"


def read_parquet(path: str | Path, wanted: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a Parquet table."""
    with naming(path):
        table = _parquet_table(path)
        if twice := some(sorted({str(name) for name in table.columns[table.columns.duplicated()]})):
            raise ValueError(f"the table has the columns {twice} more than once")
        frame = with_string_ids(table.set_axis(range(1, len(table) + 1)))
        if missing := some(name for name in wanted if name not in frame.columns):
            raise ValueError(f"expected the columns {some(wanted)}; missing: {missing}")
        if frame.empty and wanted:
            raise ValueError(f"the table is empty; expected rows with {some(wanted)}")
        return frame


def _parquet_table(path: str | Path) -> pd.DataFrame:
    """The table, or an error in our words if it is none, or a damaged one."""
    import pyarrow

    with file_path("path", path).open("rb") as opened:
        try:
            # Parquet needs to seek, so a stream is read whole.
            frame = pd.read_parquet(opened if opened.seekable() else io.BytesIO(opened.read()))
            for name, kind in frame.dtypes.items():
                if isinstance(kind, pd.StringDtype):  # pandas 3 does not look whether texts are UTF-8
                    pyarrow.array(frame[name].array).validate(full=True)
        except MemoryError:
            raise
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"the table is damaged: {' '.join(str(error).split())[:200]}") from error
        except (pyarrow.ArrowException, OverflowError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"this is not a Parquet table, or a damaged one: {str(error)[:200]}") from error
        return frame
