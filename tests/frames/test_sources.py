"""What is read once, compressed or not, and what is refused because it is no text."""

import bz2
import gzip
import lzma
import os
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


def refused(path, content, message, read):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path.name}: {message}"):
        read(path)


@READERS
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
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
def test_folders_empty_devices_and_what_is_no_text_are_refused(read, tmp_path):
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(ValueError, match="/dev/null: the file is empty"):
        read("/dev/null")
    refused(tmp_path / "a", LINE[read] + LINE[read].replace(b"1", b"\0", 1), "line 2: a NUL character", read)
    for content in (b"PK\x03\x04\x14\0abc", b"PAR1\0abc", "q1".encode("utf-16")):
        refused(tmp_path / "a", content, "line 1: a NUL character, .*; save the file as UTF-8 text", read)


@pytest.mark.parametrize("read", [*LINE, read_file])
@pytest.mark.parametrize("name", ["a.qrels", "a.parquet"])
def test_devices_without_an_end_are_not_read(read, name, tmp_path):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=rf"{name}: (expected a file or a pipe; got a device|this is not a Parquet)"):
        read(tmp_path / name)


@READERS
def test_mixed_line_ends_are_refused(read, tmp_path):
    mixed = LINE[read] + LINE[read].replace(b"1\t", b"2\t").replace(b"\n", b"\r") + LINE[read]
    refused(tmp_path / "mixed", mixed, "line 2: a carriage return inside the line", read)


@READERS
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_damaged_compressed_files(read, pack, tmp_path):
    packed = pack(LINE[read] * 100)
    for damaged in (packed[:-9], packed[:-9] + bytes([255 - packed[-9]]) + packed[-8:]):
        refused(tmp_path / "a", damaged, "the compressed data is damaged: ", read)


def test_wide_lines_are_refused_at_once(tmp_path):
    start = time.monotonic()
    for read in (read_run, read_qrels):
        wide = LINE[read] + b"1 " * 200_000 + b"\n"
        refused(tmp_path / "a", wide, "line 2: expected . columns.*; got 200000 columns", read)
    refused(tmp_path / "a", b"1 " * 200_000, "line 1: expected 4 columns.*; got 200000 columns", read_file)
    assert time.monotonic() - start < 5
