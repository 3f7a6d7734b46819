"""How is a TREC run read that does not fit into memory?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pt_active.frames.sources import naming, opened, source_of
from pt_active.frames.trec import RUN, read_columns

BLOCK = 1 << 26
"""Bytes that are parsed at a time."""


def run_blocks(path: Path) -> Iterator[pd.DataFrame]:
    """The rows of a TREC run, compressed or not, block by block."""
    line, rest, empty = 0, b"", True
    with naming(path), opened(path) as (stream, _):
        while True:
            read = stream.read(BLOCK)
            content = rest + read
            end = content.rfind(b"\n") + 1 if read else len(content)
            whole, rest = content[:end], content[end:]
            if read and not end:
                source_of(path, content)  # A line as long as this is longer than the limits allow.
            if whole.strip():
                empty = False
                yield _rows(path, whole, line)
            line += whole.count(b"\n")
            if not read:
                break
        if empty:
            raise ValueError(f"the file is empty; expected {RUN.shape}")


def _rows(path: Path, content: bytes, before: int) -> pd.DataFrame:
    """The rows of some lines; ``before`` is the number of lines before them, for messages.

    Blank lines stand for those before, so that a message has the line's number in the file.
    """
    try:
        return read_columns(source_of(path, content), RUN)[0]
    except ValueError:
        if before == 0:
            raise
        first_wrong = source_of(path, b"\n" * before + content)
        return read_columns(first_wrong, RUN)[0]
