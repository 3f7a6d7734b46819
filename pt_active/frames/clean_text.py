"""What does a text hold whose columns one character separates, and nothing else needs care?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

_BLOCK = 1 << 22
"""Bytes that are parsed at a time; a line that is longer is left to the careful reader."""

_CHECKED = 1 << 18
"""Bytes that are checked at a time, so that they stay in the processor's cache."""

_LINE_END = ord("\n")

_SPACE = ord(" ")
"""The last of the characters that may separate columns or lines; those before it are control characters."""


def read_clean(
    content: bytes, columns: Sequence[str], wanted: Collection[str], numbers: Collection[str]
) -> pd.DataFrame | None:
    r"""The columns of a text, by the numbers of its lines from 1; None if the text is not as clean as it must be.

    One space separates the columns, or one tab, the same in all lines. Each line holds all columns, none is empty, and
    no line is blank. What a column of numbers holds is a number in decimal notation.
    """
    separator, lines = _separator(content)
    if not separator:
        return None
    try:
        content.isascii() or content.decode("utf-8")
        types = {name: pa.float64() if name in numbers else pa.large_string() for name in wanted}
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=list(columns), block_size=_BLOCK),
            csv.ParseOptions(delimiter=separator, quote_char=False),
            csv.ConvertOptions(check_utf8=False, column_types=types, include_columns=list(wanted), null_values=[]),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if len(table) != lines:
        return None
    return table.combine_chunks().to_pandas().set_axis(pd.RangeIndex(1, len(table) + 1))


def _separator(content: bytes) -> tuple[str, int]:
    """What separates all columns of a text, and the number of its lines.

    The separator is empty if there is more than that between columns, or at the end of a line.
    """
    text, separator = np.frombuffer(content, np.uint8), ord(" ") if b" " in content else ord("\t")
    if not len(text) or text[0] <= _SPACE or text[-1] == separator:
        return "", 0
    lines = int(text[-1] != _LINE_END)
    for start in range(0, len(text), _CHECKED):
        # A block begins with the last byte of the one before, so that no two neighbours are missed.
        block = text[max(start - 1, 0) : start + _CHECKED]
        gap = block <= _SPACE
        ends = int(np.count_nonzero(block == _LINE_END))
        if (gap[1:] & gap[:-1]).any() or np.count_nonzero(gap) > np.count_nonzero(block == separator) + ends:
            return "", 0
        lines += ends - int(start > 0 and block[0] == _LINE_END)
    return chr(separator), lines
