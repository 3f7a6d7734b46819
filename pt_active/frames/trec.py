"""Runs and judgments read from TREC files and Parquet, with messages that name the wrong line.

Arrow reads a file without a mistake. If it finds one, the lines are read again one by one to name those that are wrong.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from pt_active.frames.checks import how_many, shown, unfit
from pt_active.frames.columns import repeated_pairs
from pt_active.frames.progress import working
from pt_active.frames.qrels import HIGHEST_LABEL, SPAM, checked_qrels
from pt_active.frames.runs import ordered_run
from pt_active.frames.sources import NOT_UTF8, Source, naming, read_source
from pt_active.frames.tables import is_parquet, read_parquet

_BLOCK = 1 << 22  # Bytes that Arrow parses at a time; a file with a line that is longer is read line by line
_CHECKED = 1 << 18  # Bytes that are checked at a time, so that they stay in the processor's cache
_SPACE, _LINE_END = ord(" "), ord("\n")
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
MIN_SWAPPED = 5  # So many lines do not all have the same label by chance while their codes differ


class Allowed(NamedTuple):
    """What the numbers of a column must be, in words, and whether each of float64[n] is so."""

    says: str
    holds: Callable[[np.ndarray], np.ndarray]


NUMBER = Allowed("a number", lambda values: ~np.isnan(values))
FINITE = Allowed("a finite number", np.isfinite)

LABEL = Allowed(
    f"a whole number from {SPAM} to {HIGHEST_LABEL}",
    lambda values: (np.trunc(values) == values) & (values >= SPAM) & (values <= HIGHEST_LABEL),
)
"""A grade, or TREC's -1 (unjudged) and -2 (spam)."""

CODE = Allowed(
    "a whole number from 0, below 2^53", lambda values: (np.trunc(values) == values) & (values >= 0) & (values < 2**53)
)
"""An iteration, a method or a stratum."""

INCLUSION = Allowed("a number above 0 and up to 1", lambda values: (values > 0) & (values <= 1))
"""The probability with which a sampled document was included in the sample."""


class Layout(NamedTuple):
    """The columns of a text file, which white space separates."""

    columns: tuple[str, ...]  # the names of the columns, in order
    wanted: tuple[str, ...]  # the columns that a Parquet file must have; it may leave out the others
    rules: Mapping[str, Allowed]  # the columns that hold numbers, each with its rule

    @property
    def shape(self) -> str:
        """A description of the line for messages, such as ``4 columns, qid iteration docno label``."""
        return f"{len(self.columns)} columns, {' '.join(self.columns)}"

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self.columns if name in self.wanted or name in self.rules]

    def fault(self, line: str) -> str | None:
        """What is wrong with a line; None if it is blank or correct."""
        if not (fields := _fields(line)):
            return None
        if NOT_UTF8.search(line):
            return "bytes that are not UTF-8"
        if len(fields) != len(self.columns):
            return how_many("column", len(fields))
        for name, field in zip(self.columns, fields, strict=True):
            rule = self.rules.get(name)
            if rule and not rule.holds(np.array(as_number(field))):
                return f"{name} {shown(field)}, which is not {rule.says}"
        return None


def _layout(columns: str, wanted: str, **rules: Allowed) -> Layout:
    return Layout(tuple(columns.split()), tuple(wanted.split()), rules)


RUN = _layout("qid Q0 docno rank score tag", "qid docno score", rank=NUMBER, score=FINITE)
QRELS = _layout("qid iteration docno label", "qid docno label", label=LABEL)

PRELS = _layout(
    "qid docno label method inclusion", "qid docno label inclusion", label=LABEL, method=CODE, inclusion=INCLUSION
)
"""Judgments of sampled documents with inclusion probabilities, as in TREC's Million Query Track 2007-2009."""

STRATA = _layout(
    "qid iteration docno stratum label", "qid docno stratum label", iteration=CODE, stratum=CODE, label=LABEL
)
"""Judgments of documents sampled from strata, as NIST's ``sample_eval`` reads them for xinfAP."""

_MISTAKEN = (RUN, ": it is a run"), (QRELS, ": these are qrels")
"""Layouts, and what is said where a line of another layout has theirs."""


def as_number(text: str) -> float:
    """The number that a field holds, NaN if it holds none."""
    return float(text) if _NUMBER.fullmatch(text) else np.nan


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
                frame = _with_scores(read_parquet(path, RUN.wanted))
            else:
                frame = read_columns(read_source(path), RUN)
                _warn_if_cut(frame["qid"], path)
            _check_once(frame, "row" if is_parquet(path) else "line")
        run = ordered_run(frame, str(path))
    first = ["qid", "docno", "score", "rank"]
    return run[first + [name for name in run.columns if name not in first]]


def _warn_if_cut(qid: pd.Series, path: str | Path) -> None:
    """Warn if the last query has fewer lines than all others, as in a file that was cut."""
    lines, last = qid.value_counts(), str(qid.iloc[-1])
    if len(lines) > 1 and lines[last] < (others := int(lines.drop(last).min())):
        said = f"{how_many('line', int(lines[last]))} and all other queries at least {others}"
        warnings.warn(f"{path}: the last query, {shown(last)}, has {said}; is the file whole?", stacklevel=3)


def _with_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a Parquet run, whose scores are finite numbers."""
    score = pd.to_numeric(frame["score"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if (wrong := ~np.isfinite(score)).any():
        row = frame[wrong].iloc[0]
        got = f"{shown(row['score'])}{_and_others(int(wrong.sum()), 'row')}"
        raise ValueError(f"row {row.name}: expected a finite number as score; got {got}")
    return _with_numbers(frame.assign(score=score), RUN)


def _check_once(frame: pd.DataFrame, place: str) -> None:
    """Raise if a document occurs more than once in a query."""
    again = frame.loc[repeated_pairs(frame), ["qid", "docno"]]
    for number, qid, docno in again.itertuples(name=None):
        twice = f"document {shown(docno)} occurs more than once in query {shown(qid)}"
        raise ValueError(f"{place} {number}: {twice}{_and_others(len(again), place)}")


def _and_others(wrong: int, place: str = "line") -> str:
    """How many lines or rows are wrong beside the one that is named."""
    return f"; {how_many(f'other {place}', wrong - 1, 'is')} wrong too" if wrong > 1 else ""


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
            return checked_qrels(_with_numbers(read_parquet(path, QRELS.wanted), QRELS))
        return checked_qrels(read_columns(read_source(path), QRELS))


def _with_numbers(frame: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in layout.rules if name in frame})


def read_columns(source: Source, layout: Layout) -> pd.DataFrame:
    """The rows of a text file by line number."""
    frame = _parsed(source.ended, layout)
    if frame is None:
        if wrong := [(number, line, fault) for number, line in source.lines() if (fault := layout.fault(line))]:
            raise _refused(*wrong[0], layout, len(wrong))
        # Arrow refuses lines that are longer than its blocks.
        rows = {number: fields for number, line in source.lines() if (fields := _fields(line))}
        frame = pd.DataFrame(list(rows.values()), index=list(rows), columns=list(layout.columns))[layout.read]
        frame = frame.assign(**{name: frame[name].map(as_number).astype(float) for name in layout.rules})
    if frame.empty:
        raise ValueError(f"the file is empty; expected {layout.shape}")
    if layout is QRELS:
        _check_not_swapped(source, frame)
    return frame


def _fields(line: str) -> list[str]:
    return [field for field in re.split(r"[ \t]+", line.rstrip("\n")) if field]


def _refused(number: int, line: str, fault: str, layout: Layout, wrong: int) -> ValueError:
    """The error about the first line of ``wrong`` ones that do not fit."""
    other = [told for each, told in _MISTAKEN if each is not layout and not each.fault(line)]
    return unfit(f"line {number}", layout.shape, f"{fault}{''.join(other)}{_and_others(wrong)}")


def _check_not_swapped(source: Source, frame: pd.DataFrame) -> None:
    """Raise if all labels of qrels are equal, but the iterations look like labels."""
    if len(frame) < MIN_SWAPPED or frame["label"].nunique() > 1:
        return
    iterations = {fields[1] for line in source.ended.split(b"\n") if (fields := line.split())}
    if len(iterations) > 1 and all(re.fullmatch(rb"[+-]?[0-9]+", each) for each in iterations):
        said = f"the label {frame['label'].iloc[0]:g} in every line and several iterations: these two columns"
        raise unfit(f"line {frame.index[0]}", QRELS.shape, f"{said} seem to be swapped")


def _parsed(content: bytes, layout: Layout) -> pd.DataFrame | None:
    """The columns of a text by line number, as Arrow reads them; None if a line does not fit the layout."""
    separator = b" " if b" " in content else b"\t"
    if not (tidy := _one_between(content, separator)):
        content, separator = content.replace(b"\t", b" "), b" "
        while b"  " in content:
            content = content.replace(b"  ", b" ")
        content = content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    types = {name: pa.float64() if name in layout.rules else pa.large_string() for name in layout.read}
    try:
        content.isascii() or content.decode("utf-8")
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=list(layout.columns), block_size=_BLOCK),
            csv.ParseOptions(delimiter=separator.decode(), quote_char=False),
            csv.ConvertOptions(check_utf8=False, column_types=types, include_columns=layout.read, null_values=[]),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    frame = table.combine_chunks().to_pandas()
    if not all(rule.holds(frame[name].to_numpy()).all() for name, rule in layout.rules.items()):
        return None
    if tidy:
        return frame.set_axis(pd.RangeIndex(1, len(frame) + 1))
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _LINE_END)
    ends = ends if content.endswith(b"\n") else np.append(ends, len(content))
    return frame.set_axis(np.flatnonzero(np.diff(ends, prepend=-1) > 1) + 1)


def _one_between(content: bytes, separator: bytes) -> bool:
    """Whether one character separates all columns, the same in all lines, and no line is blank."""
    text = np.frombuffer(content, np.uint8)
    if not len(text) or text[0] <= _SPACE or text[-1] == separator[0]:
        return False
    for start in range(0, len(text), _CHECKED):
        # A block begins with the last byte of the one before, so that no two neighbours are missed.
        block = text[max(start - 1, 0) : start + _CHECKED]
        gap = block <= _SPACE
        columns = np.count_nonzero(block == separator[0]) + np.count_nonzero(block == _LINE_END)
        if (gap[1:] & gap[:-1]).any() or np.count_nonzero(gap) > columns:
            return False
    return True
