"""Runs and judgments read from TREC files and Parquet, with messages that name the wrong line.

Arrow reads a file whose columns one space or one tab separates. If it finds anything else, the columns of every line
are counted and pandas' C parser reads them. If that fails or its result breaks a rule of the layout, the lines are read
again one by one to find the first wrong one.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError, how_many, shown
from pt_active.frames.clean_text import read_clean
from pt_active.frames.columns import repeated_pairs
from pt_active.frames.layouts import QRELS, RUN, Fault, Layout
from pt_active.frames.parquet import read_parquet
from pt_active.frames.progress import working
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ordered_run
from pt_active.frames.sources import Source, naming, read_source

_BLOCK = 1 << 22
"""Bytes in which columns are counted at a time."""

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])

_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}
"""Makes pandas parse numbers to the last bit, which it does by itself from version 3.1 on."""

_EXAMPLES = 5
"""Dropped lines that are named."""

_SKIP = Argument("on_error", "skip"), " drops and counts such lines"

ON_ERROR = ("raise", "skip")
"""What to do about a line that does not fit a run: refuse the run, or drop the line and count it."""


MIN_SWAPPED = 5
"""So many lines do not all have the same label by chance while their codes differ."""


def read_run(path: str | Path, on_error: str = "raise", no_limit: bool = False) -> pd.DataFrame:
    """Read a ranker's results from a TREC run (six columns) or a Parquet frame.

    The scores decide the order, as in trec_eval; there is a warning if the file's own ranks contradict them.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``score``.
        on_error: What to do about lines that do not fit: ``"raise"``, or ``"skip"`` them with a warning. Of documents
            that occur twice in a query the first is kept. ``attrs["dropped"]`` counts the lines by their mistakes and
            has examples; a plan of the run keeps it in its manifest.
        no_limit: Whether to read the file even if it goes beyond `sources.LIMITS`.

    Returns:
        ``qid, docno, score, rank`` with ``rank`` from 0; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit a run, or a document occurs twice in a query.
    """
    if on_error not in ON_ERROR:
        raise ArgumentError(Argument("on_error"), f" must be one of {', '.join(ON_ERROR)}, got {on_error!r}")
    place = "row" if is_parquet(path) else "line"
    with working(f"reading {path}"):
        frame, faults = _run_rows(path, on_error == "skip", no_limit)
        with naming(path):
            frame, repeated = _once_each(frame, place, on_error == "skip")
        run = ordered_run(frame, str(path))
    first = ["qid", "docno", "score", "rank"]
    run = run[first + [name for name in run.columns if name not in first]]
    if dropped := dict(sorted((faults | repeated).items())):
        run.attrs["dropped"] = _summary(dropped, place)
        warnings.warn(f"{path}: {dropped_in_words(run.attrs['dropped'])}", stacklevel=2)
    return run


def dropped_in_words(dropped: Mapping[str, Any]) -> str:
    """What `read_run` dropped, in one sentence, from ``attrs["dropped"]``."""
    kinds = ", ".join(f"{kind} ({number})" for kind, number in dropped["kinds"].items())
    more = "; …" if dropped["lines"] > len(dropped["examples"]) else ""
    return f"{how_many('line', dropped['lines'], 'was')} dropped: {kinds}; {'; '.join(dropped['examples'])}{more}"


def _run_rows(path: str | Path, skip: bool, no_limit: bool) -> tuple[pd.DataFrame, dict[int, Fault]]:
    """The rows of a run, and the mistakes of those that are dropped, by their place in the file."""
    if not is_parquet(path):
        source = read_source(path, no_limit)
        with naming(path):
            return _read_text(source, RUN, skip)
    frame = read_parquet(path, RUN.wanted, no_limit)
    score = pd.to_numeric(frame["score"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~np.isfinite(score)
    if wrong.any() and not skip:
        row = frame[wrong].iloc[0]
        given = f"expected a finite number as score; got {shown(row['score'])}"
        raise ArgumentError(f"{path}: row {row.name}: {given}; ", *_SKIP)
    fault = Fault("score that is not a finite number", "a score that is not a finite number")
    with naming(path):
        kept = _with_numbers(frame.assign(score=score)[~wrong], RUN)
    return kept, dict.fromkeys(frame.index[wrong].tolist(), fault)


def _once_each(frame: pd.DataFrame, place: str, skip: bool) -> tuple[pd.DataFrame, dict[int, Fault]]:
    """Keep the first row of each query and document; raise if there are others and they may not be dropped."""
    again = repeated_pairs(frame)
    if not again.any():
        return frame, {}
    row = frame[again].iloc[0]
    twice = f"document {shown(row['docno'])} occurs more than once in query {shown(row['qid'])}"
    if not skip:
        raise ArgumentError(f"{place} {row.name}: {twice}; ", *_SKIP)
    dropped = frame.loc[again, ["qid", "docno"]].itertuples(name=None)
    kind = "document that occurred before"
    return frame[~again], {
        number: Fault(kind, f"document {shown(docno)} of query {shown(qid)}, again") for number, qid, docno in dropped
    }


def _summary(faults: Mapping[int, Fault], place: str) -> dict[str, Any]:
    kinds = Counter(fault.kind for fault in faults.values())
    examples = [f"{place} {number}: {fault.says}" for number, fault in list(faults.items())[:_EXAMPLES]]
    return {"lines": len(faults), "kinds": dict(sorted(kinds.items())), "examples": examples}


def read_qrels(path: str | Path, no_limit: bool = False) -> pd.DataFrame:
    """Read relevance judgments from a TREC qrels file (four columns) or a Parquet frame.

    Rows with the label ``-1`` (pooled but unjudged) are dropped. The label ``-2`` (spam) becomes grade 0.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``label``.
        no_limit: Whether to read the file even if it goes beyond `sources.LIMITS`.

    Returns:
        ``qid, docno, label`` with string ids and int64 labels from 0.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit qrels, or a pair has two labels.
    """
    with working(f"reading {path}"):
        if is_parquet(path):
            frame = read_parquet(path, QRELS.wanted, no_limit)
            with naming(path):
                return checked_qrels(_with_numbers(frame, QRELS))
        source = read_source(path, no_limit)
        with naming(path):
            return checked_qrels(read_columns(source, QRELS))


def is_parquet(path: str | Path) -> bool:
    """Whether a file is read as Parquet, by its suffix."""
    return Path(path).suffix == ".parquet"


def read_columns(source: Source, layout: Layout) -> pd.DataFrame:
    """Read a text file that has the columns of a layout."""
    frame = _read_text(source, layout)[0]
    if layout is QRELS:
        _check_not_swapped(source, frame)
    return frame


def _check_not_swapped(source: Source, frame: pd.DataFrame) -> None:
    """Raise if all labels of qrels are equal, but the iterations look like labels."""
    if len(frame) < MIN_SWAPPED or frame["label"].nunique() > 1:
        return
    iterations = {fields[1] for line in source.ended.split(b"\n") if (fields := line.split())}
    if len(iterations) > 1 and all(re.fullmatch(rb"[+-]?[0-9]+", each) for each in iterations):
        raise ValueError(
            f"line {frame.index[0]}: expected {QRELS.shape}; got the label {frame['label'].iloc[0]:g} in every line "
            "and several iterations, so these two columns seem to be swapped"
        )


def _with_numbers(frame: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in layout.rules if name in frame})


def _read_text(source: Source, layout: Layout, skip: bool = False) -> tuple[pd.DataFrame, dict[int, Fault]]:
    """The rows of a text file by line number, and the mistakes of the lines that are dropped."""
    content, faults = source.ended, {}
    if not skip and layout.fault(source.first_line()):
        raise _refused(content, layout)
    frame = _parsed(content, layout)
    if frame is None and skip:
        faults = dict(_faults(content, layout))
        lines = enumerate(io.BytesIO(content), start=1)
        content = b"".join(b"\n" if number in faults else line for number, line in lines)
        frame = _parsed(content, layout)
    if frame is None:
        raise _refused(content, layout)
    if frame.empty and faults:
        number, fault = next(iter(faults.items()))
        raise ValueError(
            f"none of its {how_many('line', len(faults))} fits; expected {layout.shape}; line {number} has {fault.says}"
        )
    if frame.empty:
        raise ValueError(f"the file is empty; expected {layout.shape}")
    return frame, faults


def _refused(content: bytes, layout: Layout) -> ValueError:
    """The error about the first line that does not fit a layout."""
    number, fault = next(_faults(content, layout), (0, Fault("", "a number that cannot be read")))
    line = _text(next(islice(io.BytesIO(content), max(number - 1, 0), None), b""))
    other = [told for each, told in _MISTAKEN if each is not layout and line.strip() and not each.fault(line)]
    wrong = f"line {number}: expected {layout.shape}; got {fault.says}{''.join(other)}"
    return ArgumentError(f"{wrong}; ", *_SKIP) if layout is RUN else ValueError(wrong)


_MISTAKEN = (RUN, ": it is a run"), (QRELS, ": these are qrels")
"""Layouts, and what is said where a line of another layout has theirs."""


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _faults(content: bytes, layout: Layout) -> Iterator[tuple[int, Fault]]:
    """The lines that do not fit a layout, and what is wrong with each."""
    for number, line in enumerate(io.BytesIO(content), start=1):
        if fault := layout.fault(_text(line)):
            yield number, fault


def _parsed(content: bytes, layout: Layout) -> pd.DataFrame | None:
    """The columns of a text by line number; None if a line does not fit the layout."""
    frame = read_clean(content, layout.columns, layout.read, list(layout.rules))
    if frame is not None and layout.holds(frame):
        return frame
    widths = _widths(content)
    lines = np.flatnonzero(widths) + 1
    if (widths[lines - 1] != len(layout.columns)).any():
        return None
    if not len(lines):
        return pd.DataFrame(columns=layout.read)
    try:
        content.isascii() or content.decode("utf-8")
        frame = pd.read_csv(
            io.BytesIO(content),
            sep=r"\s+",
            header=None,
            names=list(layout.columns),
            usecols=layout.read,
            dtype={name: float if name in layout.rules else str for name in layout.read},
            index_col=False,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            encoding="utf-8",
            **_EXACT,
        )
    except ValueError:
        return None
    if len(frame) != len(lines) or not layout.holds(frame):
        return None
    # pandas reads columns of nothing but "true" and "false" as numbers, and numbers that a vertical tab follows.
    if re.search(rb"true|false|[\x0b\x0c]", content, re.IGNORECASE) and next(_faults(content, layout), None):
        return None
    return frame.set_axis(lines)


def _widths(content: bytes) -> np.ndarray:
    """int64[L], the number of columns in each line; spaces and tabs separate columns."""
    widths, start = [], 0
    while start < len(content):
        # A block ends with a line, so that no line is counted in two blocks.
        end = content.rfind(b"\n", start, start + _BLOCK) + 1 or content.find(b"\n", start) + 1 or len(content)
        block = np.frombuffer(content, np.uint8, end - start, start)
        ends = np.flatnonzero(block == 10)
        if not len(ends) or ends[-1] != len(block) - 1:
            ends = np.append(ends, len(block))
        gap = (block == 32) | (block == 9) | (block == 10)
        begins = ~gap
        begins[1:] &= gap[:-1]
        widths.append(np.diff(np.searchsorted(np.flatnonzero(begins), ends), prepend=0))
        start = end
    return np.concatenate(widths) if widths else np.empty(0, dtype=np.int64)
