"""Runs and judgments read from TREC files and Parquet, with messages that name the wrong line.

Arrow reads a file without a mistake. If it finds one, the lines are read again one by one to name the first wrong one.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from pt_active.frames.checks import how_many, shown, unfit
from pt_active.frames.columns import as_numbers, check_pairs, finite_numbers, with_string_ids
from pt_active.frames.progress import working
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ordered_run
from pt_active.frames.sources import Source, naming, read_source
from pt_active.frames.tables import is_parquet, read_parquet

_BLOCK = 1 << 22  # Bytes that Arrow parses at a time; a file with a line that is longer is read line by line
_LINE_END = ord("\n")
_MIN_SWAPPED = 5  # So many lines do not all have the same label by chance while their codes differ


class Layout(NamedTuple):
    """The columns of a text file, which white space separates."""

    columns: tuple[str, ...]
    read: tuple[str, ...]  # those that are read
    numbers: tuple[str, ...]  # those that hold numbers

    @property
    def shape(self) -> str:
        """A description of the line for messages, such as ``4 columns, qid iteration docno label``."""
        return f"{len(self.columns)} columns, {' '.join(self.columns)}"


RUN = Layout(("qid", "Q0", "docno", "rank", "score", "tag"), ("qid", "docno", "score", "rank"), ("rank", "score"))
QRELS = Layout(("qid", "iteration", "docno", "label"), ("qid", "iteration", "docno", "label"), ("label",))


def read_run(path: str | Path) -> pd.DataFrame:
    """Read a ranker's results from a TREC run (six columns) or a Parquet frame.

    The scores decide the order, as in trec_eval; there is a warning if the file's own ranks contradict them.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``score``.

    Returns:
        ``qid, docno, score, rank`` with ``rank`` from 0; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit a run, or a document occurs twice in a query.
    """
    with working(f"reading {path}"):
        with naming(path):
            if is_parquet(path):
                place, frame = "row", read_parquet(path, ("qid", "docno", "score"))
            else:
                place, frame = "line", read_columns(read_source(path), RUN)
                _warn_if_cut(frame["qid"], path)
            frame["score"] = finite_numbers(frame, "score", place)
            check_pairs(frame, "the run", place=place)
        return ordered_run(frame, str(path))


def _warn_if_cut(qid: pd.Series, path: str | Path) -> None:
    """Warn if the last query has fewer lines than all others, as in a file that was cut."""
    lines, last = qid.value_counts(), str(qid.iloc[-1])
    if len(lines) > 1 and lines[last] < (others := int(lines.drop(last).min())):
        said = f"{how_many('line', int(lines[last]))} and all other queries at least {others}"
        warnings.warn(f"{path}: the last query, {shown(last)}, has {said}; is the file whole?", stacklevel=3)


def read_qrels(path: str | Path) -> pd.DataFrame:
    """Read relevance judgments from a TREC qrels file (four columns) or a Parquet frame.

    Rows with the label ``-1`` (pooled but unjudged) are dropped. The label ``-2`` (spam) becomes grade 0.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``label``.

    Returns:
        ``qid, docno, label`` with string ids and int64 labels from 0.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit qrels, or a pair has two labels.
    """
    with working(f"reading {path}"), naming(path):
        if is_parquet(path):
            return checked_qrels(read_parquet(path, ("qid", "docno", "label")))
        return checked_qrels(read_columns(read_source(path), QRELS), place="line")


def read_columns(source: Source, layout: Layout) -> pd.DataFrame:
    """The rows of a text file by line number. Numbers are left as texts if one of them is none."""
    frame = _parsed(source.ended, layout)
    if frame is None:
        frame = _line_by_line(source, layout)
    if frame.empty:
        raise ValueError(f"the file is empty; expected {layout.shape}")
    if layout is QRELS:
        _check_not_swapped(frame)
        frame = frame.drop(columns="iteration")
    return with_string_ids(frame, "line")


def _line_by_line(source: Source, layout: Layout) -> pd.DataFrame:
    """What Arrow refused: raises if a line has other columns."""
    rows = {}
    for number, line in source.lines():
        fields = [field for field in re.split("[ \t\n]", line) if field]
        if not fields:
            continue
        if len(fields) != len(layout.columns):
            raise unfit(f"line {number}", layout.shape, how_many("column", len(fields)))
        rows[number] = fields
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(layout.columns))[list(layout.read)]


def _check_not_swapped(frame: pd.DataFrame) -> None:
    """Raise if all labels of qrels are equal, but the iterations look like labels."""
    label, iterations = as_numbers(frame["label"]), frame["iteration"].unique()
    if len(label) < _MIN_SWAPPED or np.ptp(label) != 0 or len(iterations) == 1:
        return
    if all(re.fullmatch("[+-]?[0-9]+", each) for each in iterations):
        said = f"the label {label[0]:g} in every line and several iterations: these two columns"
        raise unfit(f"line {frame.index[0]}", QRELS.shape, f"{said} seem to be swapped")


def _parsed(content: bytes, layout: Layout) -> pd.DataFrame | None:
    """The columns of a text by line number, as Arrow reads them; None if a line does not fit the layout."""
    content = content.replace(b"\t", b" ")
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    content = content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    types = {name: pa.float64() if name in layout.numbers else pa.large_string() for name in layout.read}
    try:
        content.isascii() or content.decode("utf-8")
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=list(layout.columns), block_size=_BLOCK),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(check_utf8=False, column_types=types, include_columns=list(layout.read), null_values=[]),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    frame = table.combine_chunks().to_pandas()
    if len(frame) == content.count(b"\n") + (not content.endswith(b"\n")):
        return frame.set_axis(pd.RangeIndex(1, len(frame) + 1))
    # Arrow passes over blank lines, which count too.
    ends = np.flatnonzero(np.frombuffer(content + b"\n", np.uint8) == _LINE_END)
    return frame.set_axis(np.flatnonzero(np.diff(ends, prepend=-1) > 1) + 1)
