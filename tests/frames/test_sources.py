"""What is read once, compressed or not, and what is refused because it is no text."""

import gzip
import os
import re
import threading
import time

import pytest

from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.judging.files import read_file

LINE = {
    read_run: b"q1 Q0 d1 1 1.5 tag\n",
    read_qrels: b"q1 0 d1 2\n",
    read_topics: b"q1\tlamp\n",
    read_texts: b"d1\tlamp\n",
}
READERS = pytest.mark.parametrize("read", LINE)


@READERS
@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_pipes_are_read_once_compressed_or_not(read, pack, tmp_path):
    (tmp_path / "plain").write_bytes(LINE[read])
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(pack(LINE[read]),))
    writer.start()
    found = read(tmp_path / "pipe")
    writer.join(10)
    assert found.to_dict("list") == read(tmp_path / "plain").to_dict("list")


def test_standard_input_and_process_substitution_are_numbers_of_open_pipes():
    out, into = os.pipe()
    os.write(into, LINE[read_qrels])
    os.close(into)
    assert len(read_file(f"/dev/fd/{out}")) == 1
    os.close(out)


@READERS
def test_what_is_missing_empty_damaged_or_no_text_is_refused_by_name(read, tmp_path):
    for name in ("none.txt", "none.gz", "none.parquet"):
        with pytest.raises(FileNotFoundError, match=name):
            read(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(ValueError, match="/dev/null: the file is empty"):
        read("/dev/null")
    line, other = LINE[read], LINE[read].replace(b"1", b"2", 1)
    contents = [
        *((name, b"", "the file is empty; expected") for name in ("a.txt", "a.gz")),
        ("a.txt", b"\n \n", "the file is empty; expected"),
        *((name, b"neither at all", "") for name in ("a.gz", "a.parquet")),
        ("a", line + line.replace(b"1", b"\0", 1), "line 2: a NUL character"),
        ("a", b"PK\x03\x04\x14\0abc", "line 1: a NUL character"),
        ("a", "q1".encode("utf-16"), "line 1: a NUL character, .*; save the file as UTF-8 text"),
        ("a", line + other.replace(b"\n", b"\r") + line, "line 2: a carriage return inside the line"),
        ("a", gzip.compress(line * 100)[:-9], "the compressed data is damaged: "),
    ]
    for name, content, message in contents:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(name) + f": {message}" if message else name):
            read(tmp_path / name)


def test_wide_lines_are_refused_at_once(tmp_path):
    start = time.monotonic()
    for read in (read_run, read_qrels, read_file):
        (tmp_path / "a").write_bytes(b"1 " * 200_000)
        with pytest.raises(ValueError, match="a: line 1: expected . columns.*; got 200000 columns"):
            read(tmp_path / "a")
    assert time.monotonic() - start < 5
