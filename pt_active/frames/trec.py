"""Runs and judgments read from TREC files and Parquet, with messages that name the wrong line.

Text files, plain or compressed (such as ``.gz``), are parsed by pandas' C parser. If it fails or its result breaks a
rule of the layout, the lines are read again one by one to find the first wrong one.
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

from pt_active.frames.checks import how_many, some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.qrels import SPAM, checked_qrels
from pt_active.frames.runs import ranked_run

_EXCESS = "_excess"
"""The name of a column after the last one of a layout. It is filled where a line is too long."""

_READ_ERRORS = (ValueError, pd.errors.ParserWarning, gzip.BadGzipFile, EOFError, zlib.error)
"""What is raised for a line that cannot be parsed, or for a damaged compressed file."""

NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""A lone surrogate, which Python's ``surrogateescape`` puts in place of a byte that is not UTF-8."""


class Rule(NamedTuple):
    """What the numbers of a column must be.

    Attributes:
        says: The rule in words, such as ``a number``, for messages.
        holds: From float64[n] to bool[n], whether each number follows the rule.
    """

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
"""The probability with which a sampled document was included in the sample."""


@dataclass(frozen=True)
class Layout:
    """The columns of a text file, which white space separates.

    Attributes:
        columns: The names of the columns, in order.
        wanted: The columns that a Parquet file must have; it may leave out the others.
        rules: The columns that hold numbers, each with its rule.
        exact: The number columns that are parsed to the last bit. pandas' faster default may be off by one bit.
    """

    columns: tuple[str, ...]
    wanted: tuple[str, ...]
    rules: Mapping[str, Rule]
    exact: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        """A description of the line for messages, such as ``4 columns, qid iteration docno label``."""
        return f"{len(self.columns)} columns, {' '.join(self.columns)}"

    def complaint(self, line: str) -> str | None:
        """What is wrong with a line; None if it is blank or correct."""
        fields = re.split(r"[ \t]+", line.strip(" \t\r\n"))
        if fields == [""]:
            return None
        if NOT_UTF8.search(line):
            return "bytes that are not UTF-8"
        if len(fields) != len(self.columns):
            return how_many("column", len(fields))
        named = dict(zip(self.columns, fields, strict=True))
        for name, rule in self.rules.items():
            if not rule.holds(_as_number(named[name])):
                return f"{name} {named[name]!r}, which is not {rule.says}"
        return None

    def is_odd(self, frame: pd.DataFrame) -> bool:
        """Whether a line of a parsed frame was too short or too long, or a number breaks its rule."""
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

    The scores decide the order, as in trec_eval; there is a warning if the file's own ranks contradict them.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid``, ``docno`` and ``score``.

    Returns:
        ``qid, docno, score, rank`` with ``rank`` from 0; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit a run, or a document occurs twice in a query.
    """
    run = ranked_run(read_columns(path, RUN), str(path))
    first = ["qid", "docno", "score", "rank"]
    return run[first + [name for name in run.columns if name not in first]]


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
    frame = read_columns(path, QRELS)
    with naming(path):
        return checked_qrels(frame)


def read_columns(path: str | Path, layout: Layout) -> pd.DataFrame:
    """Read a text file or a Parquet frame that has the columns of a layout.

    Args:
        path: The file, which is Parquet if its suffix is ``.parquet``.
        layout: The columns of its lines.

    Returns:
        The wanted columns and those with numbers; all columns of a Parquet file.

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
    """Read a file with one JSON object per line.

    Args:
        path: A text file, compressed or not.
        keys: The keys to read, which every object must have.

    Returns:
        One column per key; the index holds the line numbers, from 1.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, or a line is not an object with these keys.
    """
    with naming(path):
        rows = {number: _json_object(line, number, keys) for number, line in text_lines(path) if line.strip()}
        if not rows:
            raise ValueError(f"the file is empty; expected objects with {some(keys)}")
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(keys))


def first_line(path: str | Path) -> str:
    """The first line that is not blank; an empty string if there is none.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is compressed and damaged; the message names it.
    """
    with naming(path):
        return next((line for _, line in text_lines(path) if line.strip()), "")


def line_number(path: str | Path, row: int) -> int:
    """The line number, from 1, of a row.

    Args:
        path: A text file.
        row: The index of the row among the lines that are not blank, from 0.
    """
    return next(islice((number for number, line in text_lines(path) if line.strip()), row, None))


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the file's name in front of the message of any error in reading it.

    Raises:
        ValueError: If the block raises a ValueError, or an error of a damaged compressed file.
    """
    try:
        yield
    except _READ_ERRORS as error:
        raise ValueError(f"{path}: {error}") from error


def existing_file(path: str | Path) -> Path:
    """The path of a file that exists.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    Path(path).stat()
    return Path(path)


def _as_number(text: str) -> np.ndarray:
    return pd.to_numeric(pd.Series([text], dtype=object), errors="coerce").to_numpy(dtype=np.float64)


def text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1.

    Bytes that are not UTF-8 become lone surrogates, so that `NOT_UTF8` finds them.
    """
    reading = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": "\n"}
    with pt.io.autoopen(str(existing_file(path)), "rt", **reading) as lines:
        yield from enumerate(lines, start=1)


def _read_text(path: str | Path, layout: Layout) -> pd.DataFrame:
    try:
        frame = _parse(existing_file(path), layout)
    except _READ_ERRORS as error:
        _check_lines(path, layout)
        raise ValueError(f"{path}: expected {layout.shape}; got {error}") from error
    if frame.empty:
        raise ValueError(f"{path}: the file is empty; expected {layout.shape}")
    if layout.is_odd(frame):
        _check_lines(path, layout)
    return frame[[name for name in layout.columns if name in layout.wanted or name in layout.rules]]


def _parse(path: Path, layout: Layout) -> pd.DataFrame:
    """Parse a whole file with pandas; the column `_EXCESS` reveals lines that are too long."""
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
    """Raise if a line does not fit the layout; the message names the first such line."""
    with naming(path):
        for number, line in text_lines(path):
            complaint = layout.complaint(line)
            if complaint:
                raise ValueError(f"line {number}: expected {layout.shape}; got {complaint}")


def read_parquet(path: str | Path, wanted: tuple[str, ...]) -> pd.DataFrame:
    """Read a Parquet table.

    Args:
        path: The file.
        wanted: The columns that it must have.

    Returns:
        All its columns, with ``qid`` and ``docno`` as strings.

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
    """The values of some keys of the JSON object in a line."""
    wanted = f"line {number}: expected a JSON object with the keys {some(keys)}"
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{wanted}; got {error}") from error
    if not isinstance(entry, dict) or not entry.keys() >= set(keys):
        raise ValueError(f"{wanted}; got {line.strip()[:80]!r}")
    return [entry[key] for key in keys]
