"""Runs, judgments, topics and texts from TREC files and Parquet, and the digest of what was read.

Text files (plain, or compressed, such as ``.gz``) are parsed at the speed of pandas' C parser. Only when that
fails, or leaves something odd, are the lines read one by one, to say which of them is wrong.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.qrels import SPAM, checked_qrels
from pt_active.frames.runs import ranked_run

_EXCESS = "_excess"

_WRONG = (ValueError, pd.errors.ParserWarning, gzip.BadGzipFile, EOFError, zlib.error)

NOT_UTF8 = re.compile("[\udc80-\udcff]")


class Rule(NamedTuple):
    """What the numbers of a column must be: in words, and as a test of each."""

    says: str
    holds: Callable[[np.ndarray], np.ndarray]


NUMBER = Rule("a number", lambda values: ~np.isnan(values))
"""Any number but NaN."""

LABEL = Rule(
    f"a whole number from {SPAM}", lambda values: (np.trunc(values) == values) & (values >= SPAM) & (values < np.inf)
)
"""A grade, or TREC's -1 (unjudged) and -2 (spam)."""

CODE = Rule(
    "a whole number from 0, below 2^53", lambda values: (np.trunc(values) == values) & (values >= 0) & (values < 2**53)
)
"""An iteration, a method or a stratum."""

INCLUSION = Rule("a number above 0 and up to 1", lambda values: (values > 0) & (values <= 1))
"""The probability that a sampled document had of coming into the sample."""


@dataclass(frozen=True)
class Layout:
    """What each line of a text file holds.

    Attributes:
        columns: The names of the columns, in order.
        wanted: The columns that are needed; a Parquet file may leave out the others.
        rules: The columns that hold numbers, each with its rule.
        exact: The columns with numbers that are read to the last bit, which is slower.
    """

    columns: tuple[str, ...]
    wanted: tuple[str, ...]
    rules: Mapping[str, Rule]
    exact: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        """The line in words, for messages."""
        return f"{len(self.columns)} columns, {' '.join(self.columns)}"

    def complaint(self, line: str) -> str | None:
        """What is wrong with a line, or None if it is blank or in order."""
        fields = re.split(r"[ \t]+", line.strip(" \t\r\n"))
        if fields == [""]:
            return None
        if NOT_UTF8.search(line):
            return "bytes that are not UTF-8"
        if len(fields) != len(self.columns):
            return f"{len(fields)} columns"
        named = dict(zip(self.columns, fields, strict=True))
        for name, rule in self.rules.items():
            if not rule.holds(_as_number(named[name])):
                return f"{name} {named[name]!r}, which is not {rule.says}"
        return None

    def is_odd(self, frame: pd.DataFrame) -> bool:
        """Whether a parsed frame shows signs of a line that was too short or too long, or breaks a rule."""
        ends = (frame[_EXCESS] != "").any() or (frame[self.columns[-1]] == "").any()
        return bool(ends) or not all(rule.holds(frame[name].to_numpy()).all() for name, rule in self.rules.items())


RUN = Layout(
    ("qid", "Q0", "docno", "rank", "score", "tag"), ("qid", "docno", "score"), {"rank": NUMBER, "score": NUMBER}
)
"""A TREC run."""

QRELS = Layout(("qid", "iteration", "docno", "label"), ("qid", "docno", "label"), {"label": LABEL})
"""TREC relevance judgments."""

PRELS = Layout(
    ("qid", "docno", "label", "method", "inclusion"),
    ("qid", "docno", "label", "inclusion"),
    {"label": LABEL, "method": CODE, "inclusion": INCLUSION},
    exact=("inclusion",),
)
"""Judgments of sampled documents with inclusion probabilities, as in TREC's Million Query Track 2007-2009."""

STRATA = Layout(
    ("qid", "iteration", "docno", "stratum", "label"),
    ("qid", "docno", "stratum", "label"),
    {"iteration": CODE, "stratum": CODE, "label": LABEL},
)
"""Judgments of documents sampled from strata, as NIST's ``sample_eval`` reads them for xinfAP."""


def read_run(path: str | Path) -> pd.DataFrame:
    """Read a ranker's results from a TREC run (six columns) or a Parquet frame.

    The scores decide the order, as in trec_eval; a warning says so where the file's own ranks disagree.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``score``.

    Returns:
        ``qid, docno, score, rank`` with ``rank`` from 0; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, has a line that is not of a run, or holds a document twice for a query.
    """
    run = ranked_run(read_columns(path, RUN), str(path))
    first = ["qid", "docno", "score", "rank"]
    return run[first + [name for name in run.columns if name not in first]]


def read_qrels(path: str | Path) -> pd.DataFrame:
    """Read relevance judgments from a TREC qrels file (four columns) or a Parquet frame.

    ``-1`` (pooled but unjudged) counts as no label: such rows are dropped. ``-2`` (spam) becomes grade 0.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``label``.

    Returns:
        ``qid, docno, label``.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, has a line that is not of qrels, or gives a pair two labels.
    """
    frame = read_columns(path, QRELS)
    with naming(path):
        return checked_qrels(frame)


def read_columns(path: str | Path, layout: Layout) -> pd.DataFrame:
    """Read a text file or a Parquet frame of one layout.

    Args:
        path: The file; its suffix says whether it is Parquet.
        layout: What its lines hold.

    Returns:
        The wanted columns and those with numbers; of a Parquet file all columns.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, or has a line or a column that does not fit the layout.
    """
    if Path(path).suffix != ".parquet":
        return _read_text(path, layout)
    frame = read_parquet(path, layout.wanted)
    with naming(path):
        return frame.assign(**{name: pd.to_numeric(frame[name]) for name in layout.rules if name in frame})


def read_json_lines(path: str | Path, keys: tuple[str, ...]) -> pd.DataFrame:
    """Read some keys, which every object must have, of a file with one JSON object a line.

    Returns:
        One column a key; the index holds the line numbers.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, or a line is not an object with these keys.
    """
    with naming(path):
        found = {number: _json_object(line, number, keys) for number, line in text_lines(path) if line.strip()}
        if not found:
            raise ValueError(f"the file is empty; expected objects with {some(keys)}")
        return pd.DataFrame.from_dict(found, orient="index", columns=list(keys))


def first_line(path: str | Path) -> str:
    """The first line that is not blank, or nothing.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is compressed and damaged.
    """
    with naming(path):
        return next((line for _, line in text_lines(path) if line.strip()), "")


def line_number(path: str | Path, row: int) -> int:
    """The number, from 1, of the line that holds a row.

    Args:
        path: A text file.
        row: The row's place among the lines that are not blank, from 0.
    """
    return next(islice((number for number, line in text_lines(path) if line.strip()), row, None))


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the file's name before the message of any ValueError raised inside, and of damaged compression.

    Raises:
        ValueError: Instead of the exception that came.
    """
    try:
        yield
    except _WRONG as error:
        raise ValueError(f"{path}: {error}") from error


def existing_file(path: str | Path) -> Path:
    """The path, after the operating system has found the file or raised its FileNotFoundError."""
    Path(path).stat()
    return Path(path)


def _as_number(text: str) -> np.ndarray:
    return pd.to_numeric(pd.Series([text], dtype=object), errors="coerce").to_numpy(dtype=np.float64)


def text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Number the lines as an editor does; bytes that are not UTF-8 become lone surrogates."""
    reading = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": "\n"}
    with pt.io.autoopen(str(existing_file(path)), "rt", **reading) as lines:
        yield from enumerate(lines, start=1)


def _read_text(path: str | Path, layout: Layout) -> pd.DataFrame:
    try:
        frame = _parse(existing_file(path), layout)
    except _WRONG as error:
        _check_lines(path, layout)
        raise ValueError(f"{path}: expected {layout.shape}; got {error}") from error
    if frame.empty:
        raise ValueError(f"{path}: the file is empty; expected {layout.shape}")
    if layout.is_odd(frame):
        _check_lines(path, layout)
    return frame[[name for name in layout.columns if name in layout.wanted or name in layout.rules]]


def _parse(path: Path, layout: Layout) -> pd.DataFrame:
    """Parse at full speed; an extra column shows lines that are too long."""
    types: dict[str, str | type] = dict.fromkeys((*layout.columns, _EXCESS), "category")
    types |= dict.fromkeys(layout.wanted, str) | dict.fromkeys(layout.rules, float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            path,
            sep=r"\s+",
            header=None,
            names=list(types),
            dtype={name: type for name, type in types.items() if name not in layout.exact},
            index_col=False,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            encoding="utf-8",
            converters=dict.fromkeys(layout.exact, float),
        )


def _check_lines(path: str | Path, layout: Layout) -> None:
    """Raise for the first line that does not fit the layout, if there is one."""
    with naming(path):
        for number, line in text_lines(path):
            complaint = layout.complaint(line)
            if complaint:
                raise ValueError(f"line {number}: expected {layout.shape}; got {complaint}")


def read_parquet(path: str | Path, wanted: tuple[str, ...]) -> pd.DataFrame:
    """Read a Parquet table that must have the wanted columns.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a column is missing or the table is empty.
    """
    with naming(path):
        frame = with_string_ids(pd.read_parquet(existing_file(path)))
        missing = [name for name in wanted if name not in frame.columns]
        if missing:
            raise ValueError(f"expected the columns {some(wanted)}; missing: {some(missing)}")
        if frame.empty:
            raise ValueError(f"the table is empty; expected rows with {some(wanted)}")
        return frame


def _json_object(line: str, number: int, keys: tuple[str, ...]) -> list[object]:
    wanted = f"line {number}: expected a JSON object with the keys {some(keys)}"
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{wanted}; got {error}") from error
    if not isinstance(entry, dict) or not entry.keys() >= set(keys):
        raise ValueError(f"{wanted}; got {line.strip()[:80]!r}")
    return [entry[key] for key in keys]
