"""What is read once, what is refused because of its size or kind, and how the limits are lifted."""

import bz2
import gzip
import lzma
import os
import threading
import time

import numpy as np
import pytest

from pt_active.frames import sources
from pt_active.frames.checks import ArgumentError
from pt_active.frames.sources import Limits, limits_lifted, read_source
from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.frames.worklists import read_judgments

LINE = {
    read_run: b"q1 Q0 d1 1 1.5 tag\n",
    read_qrels: b"q1 0 d1 2\n",
    read_judgments: b"q1 0 d1 2\n",
    read_topics: b"q1\tlamp\n",
    read_texts: b"d1\tlamp\n",
}
READERS = pytest.mark.parametrize("read", LINE)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(sources, "LIMITS", Limits(size=2000, line=500, columns=4, cell=100, expansion=10))
    monkeypatch.setattr(sources, "_BLOCK", 100)
    monkeypatch.setattr(sources, "_ALWAYS_EXPANDED", 1000)


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
    assert len(read_judgments(f"/dev/fd/{out}")) == 1
    os.close(out)


@READERS
def test_folders_and_endless_devices_are_answered_soon(read, tmp_path):
    start = time.monotonic()
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"/dev/zero: line 1: a NUL character"):
        read("/dev/zero")
    with pytest.raises(ValueError, match="/dev/null: the file is empty"):
        read("/dev/null")
    assert time.monotonic() - start < 5


@READERS
def test_a_nul_is_named_with_its_line(read, tmp_path):
    (tmp_path / "a").write_bytes(LINE[read] + LINE[read].replace(b"1", b"\0", 1))
    with pytest.raises(ValueError, match=r"a: line 2: a NUL character"):
        read(tmp_path / "a")


@READERS
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04abc", "a zip archive"),
        (b"\x28\xb5\x2f\xfdabc", "a file compressed by Zstandard"),
        (b"PAR1abc", "a Parquet file without the suffix"),
        ("q1".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(read, content, said, tmp_path):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match=f"a: this is {said}"):
        read(tmp_path / "a")


@READERS
def test_cr_line_ends_are_read_and_mixed_ones_refused(read, tmp_path):
    second = LINE[read].replace(b"1", b"2", 1)
    (tmp_path / "lf").write_bytes(LINE[read] + second)
    (tmp_path / "cr").write_bytes((LINE[read] + second).replace(b"\n", b"\r"))
    (tmp_path / "mixed").write_bytes(LINE[read] + second.replace(b"\n", b"\r") + LINE[read])
    assert read(tmp_path / "cr").to_dict("list") == read(tmp_path / "lf").to_dict("list")
    with pytest.raises(ValueError, match="mixed: line 2: a carriage return inside the line"):
        read(tmp_path / "mixed")


@READERS
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_damaged_compressed_files(read, pack, tmp_path):
    packed = pack(LINE[read] * 100)
    for damaged in (packed[:-9], packed[:-9] + bytes([255 - packed[-9]]) + packed[-8:]):
        (tmp_path / "a").write_bytes(damaged)
        with pytest.raises(ValueError, match="a: the compressed data is damaged: "):
            read(tmp_path / "a")


NOISE = np.random.default_rng(0).bytes(1500).hex().encode()[:2001].replace(b"0", b"\n")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a", b"x\n" * 1001, "the file is larger than 2,000 bytes, the limit"),
        ("a.gz", gzip.compress(NOISE, mtime=0), "the file is larger than"),
        (
            "a.gz",
            gzip.compress(b"\n" * 1500, mtime=0),
            "the file expands to at least 1,100 bytes, more than 10 times its size",
        ),
        ("a", b"x\n" + b"y" * 501, "line 2 is longer than 500 bytes"),
        ("a", b"x\n" * 30 + b"y" * 501 + b"\n", "line 31 is longer than 500 bytes"),
    ],
)
def test_limits_are_said_and_lifted(name, content, said, tmp_path, small):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match=f"{name}: {said}.* no_limit=True lifts the limit"):
        read_source(path)
    whole = gzip.decompress(content) if name.endswith("gz") else content
    assert read_source(path, no_limit=True).content == whole
    with limits_lifted():
        assert read_source(path).content == whole
    with pytest.raises(ArgumentError):
        read_source(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("qid,docno,label,a,b\nq,d,1,x,y\n", "row 1: the header has 5 columns, more than 4 columns, the limit"),
        (f"qid,docno,label\nq,d{'x' * 100},1\n", "line 2: a cell of 101 characters, more than 100 characters"),
    ],
)
def test_limits_of_tables(content, said, tmp_path, small):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ArgumentError, match=said):
        read_judgments(tmp_path / "a.csv")
    assert len(read_judgments(tmp_path / "a.csv", no_limit=True)) == 1


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path):
    with gzip.open(tmp_path / "bomb.gz", "wb", 9) as stream:
        for _ in range(80):
            stream.write(b"\n" * (1 << 20))
    start = time.monotonic()
    with pytest.raises(ArgumentError, match="bomb.gz: the file expands to at least .*, more than 250 times its size"):
        read_run(tmp_path / "bomb.gz")
    assert time.monotonic() - start < 5


def test_wide_lines_are_refused_at_once(tmp_path):
    start = time.monotonic()
    for number, read in enumerate((read_run, read_qrels, read_judgments)):
        (tmp_path / f"{number}").write_bytes(LINE[read] + b"1 " * 200_000 + b"\n")
        with pytest.raises(ValueError, match="line 2: expected . columns.*; got 200000 columns"):
            read(tmp_path / f"{number}")
    (tmp_path / "first").write_bytes(b"1 " * 200_000)
    with pytest.raises(ValueError, match="line 1: expected 4 columns.*; got 200000 columns"):
        read_judgments(tmp_path / "first")
    assert time.monotonic() - start < 5
