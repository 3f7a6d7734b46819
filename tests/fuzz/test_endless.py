"""Small files that stand for something quadratic or endless: little is done with them.

Work is counted and not timed: the elements that built-in searches look at.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.frames.tables import json_value
from pt_active.frames.topics import read_topics
from pt_active.judging.files import read_file


@contextmanager
def counted() -> Iterator[list[int]]:
    """The numbers of elements or characters over which each call of a built-in ``count`` may go."""
    seen: list[int] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ == "count":
            seen.append(len(function.__self__))

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def said(*words: object) -> str:
    """The one line with which a command fails."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_doubled_key_at_the_end_is_found_at_once() -> None:
    keys = [f"k{i}" for i in range(2000)]
    text = "{" + ", ".join(f'"{key}": 0' for key in [*keys, keys[-1]]) + "}"
    with counted() as looked_at, pytest.raises(ValueError, match="the key 'k1999' more than once"):
        json_value(text)
    assert sum(looked_at) < 10 * len(text)


def test_each_line_of_a_topics_file_is_counted_once(tmp_path: Path) -> None:
    topics = "".join(f"<top>\n<num> Number: {i}\n<title> lamp {i}\n</top>\n" for i in range(1, 500))
    (tmp_path / "a.trec").write_text(topics)
    with counted() as looked_at:
        assert len(read_topics(tmp_path / "a.trec")) == 499
    assert sum(looked_at) < 10 * len(topics)


def workbook(cells: str) -> bytes:
    """A spreadsheet with one sheet."""
    openpyxl = pytest.importorskip("openpyxl")
    book, whole, changed = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    book.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                start = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
                content = start + cells.encode() + b"</worksheet>"
            new.writestr(name, content)
    return changed.getvalue()


def row(number: int, **cells: str) -> str:
    """A row of a sheet."""
    texts = (f'<c r="{at}{number}" t="inlineStr"><is><t>{text}</t></is></c>' for at, text in cells.items())
    return f'<row r="{number}">{"".join(texts)}</row>'


HEADER = row(1, A="qid", B="docno", C="label")


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    rows = HEADER + row(2, A="q", B="d", C="1")
    (tmp_path / "a.xlsx").write_bytes(workbook(f'<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>'))
    assert len(read_file(tmp_path / "a.xlsx")) == 1


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path, digits: int) -> None:
    (tmp_path / "job.toml").write_text(f'measure = "DCG@5"\nbudget = {"9" * digits}\n')
    said("plan", "--project", tmp_path / "job.toml", "--out", tmp_path / "new")
