"""Small files that stand for something quadratic or endless: little is read of them, and one line says why.

Work is counted and not timed: the elements that built-in searches look at, the bytes that are taken from a pipe.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.frames.tables import json_value
from pt_active.frames.topics import read_topics
from pt_active.judging.files import read_file

ENOUGH = 1 << 25  # Bytes after which a stream that stands for an endless one ends


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


@contextmanager
def pipe(path: Path, block: bytes) -> Iterator[Callable[[], int]]:
    """A pipe that gives one block again and again; how many bytes were taken."""
    os.mkfifo(path)
    taken = 0

    def give() -> None:
        nonlocal taken
        with suppress(BrokenPipeError), path.open("wb", buffering=0) as stream:
            while taken < ENOUGH:
                taken += stream.write(block)

    giver = threading.Thread(target=give)
    giver.start()
    try:
        yield lambda: taken
    finally:
        # A giver that opens the pipe after a reader has closed it waits for the next one.
        while giver.is_alive():
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            giver.join(0.05)


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


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (HEADER + row(1048576, XFD="1"), "row 1048576 has 16,384 columns, more than 1,000 columns"),
        (HEADER + row(1048577, A="1"), "a sheet has at most 1,048,576"),
    ],
)
def test_a_cell_far_out_makes_no_table(tmp_path: Path, cells: str, message: str) -> None:
    (tmp_path / "a.xlsx").write_bytes(workbook(f"<sheetData>{cells}</sheetData>"))
    with pytest.raises(ValueError, match=message):
        read_file(tmp_path / "a.xlsx")


@pytest.mark.parametrize("cell", ["", "<c><v>1</v></c>"], ids=["blank rows", "rows of one cell"])
def test_a_sheet_of_millions_of_rows_is_refused_before_it_is_parsed(tmp_path: Path, monkeypatch, cell: str) -> None:
    rows = "".join(f"<row>{cell}<!--{number:x}--></row>" for number in range(800_000))
    (tmp_path / "a.xlsx").write_bytes(workbook(f"<sheetData>{HEADER}{rows}</sheetData>"))
    monkeypatch.setattr("openpyxl.load_workbook", lambda *_, **how: pytest.fail("it was parsed"))
    with pytest.raises(
        ValueError, match=r"a\.xlsx: the spreadsheet has [\d,]+ XML elements, more than 1,000,000 elements, "
    ):
        read_file(tmp_path / "a.xlsx")


def test_an_archive_of_blanks_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b" " * 70_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was read"))
    message = r"a\.zip: the archive expands to at least 70,000,000 bytes, more than 250 times its size, the limit"
    with pytest.raises(ValueError, match=message):
        read_file(tmp_path / "a.zip")


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    rows = HEADER + row(2, A="q", B="d", C="1")
    (tmp_path / "a.xlsx").write_bytes(workbook(f'<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>'))
    assert len(read_file(tmp_path / "a.xlsx")) == 1


def test_a_project_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    with pipe(tmp_path / "job.toml", bytes(4096)) as taken:
        assert "a NUL character" in said("plan", "--project", tmp_path / "job.toml", "--out", tmp_path / "new")
    assert taken() < ENOUGH / 4


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path, digits: int) -> None:
    (tmp_path / "job.toml").write_text(f'measure = "DCG@5"\nbudget = {"9" * digits}\n')
    said("plan", "--project", tmp_path / "job.toml", "--out", tmp_path / "new")
