"""Which columns has a line of a TREC file, and what must they hold?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown
from pt_active.frames.qrels import HIGHEST_LABEL, SPAM

NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""A lone surrogate, which Python's ``surrogateescape`` puts in place of a byte that is not UTF-8."""

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)


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

FINITE = Rule("a finite number", np.isfinite)
"""A number that is neither NaN nor infinite."""

LABEL = Rule(
    f"a whole number from {SPAM} to {HIGHEST_LABEL}",
    lambda values: (np.trunc(values) == values) & (values >= SPAM) & (values <= HIGHEST_LABEL),
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
    """

    columns: tuple[str, ...]
    wanted: tuple[str, ...]
    rules: Mapping[str, Rule]

    @property
    def shape(self) -> str:
        """A description of the line for messages, such as ``4 columns, qid iteration docno label``."""
        return f"{len(self.columns)} columns, {' '.join(self.columns)}"

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self.columns if name in self.wanted or name in self.rules]

    def fault(self, line: str) -> Fault | None:
        """What is wrong with a line; None if it is blank or correct."""
        fields = [field for field in re.split(r"[ \t]+", line.rstrip("\n")) if field]
        if not fields:
            return None
        if NOT_UTF8.search(line):
            return Fault("bytes that are not UTF-8", "bytes that are not UTF-8")
        if len(fields) != len(self.columns):
            return Fault("wrong number of columns", how_many("column", len(fields)))
        named = dict(zip(self.columns, fields, strict=True))
        for name, rule in self.rules.items():
            if not rule.holds(np.array(as_number(named[name]))):
                wrong = f"{name} {shown(named[name])}, which is not {rule.says}"
                return Fault(f"{name} that is not {rule.says}", wrong)
        return None

    def holds(self, frame: pd.DataFrame) -> bool:
        """Whether all numbers of a frame follow the rules."""
        return all(rule.holds(frame[name].to_numpy()).all() for name, rule in self.rules.items())


class Fault(NamedTuple):
    """What is wrong with a line.

    Attributes:
        kind: The kind of mistake, by which dropped lines are counted.
        says: What the line holds instead.
    """

    kind: str
    says: str


RUN = Layout(
    ("qid", "Q0", "docno", "rank", "score", "tag"), ("qid", "docno", "score"), {"rank": NUMBER, "score": FINITE}
)
"""A TREC run."""

QRELS = Layout(("qid", "iteration", "docno", "label"), ("qid", "docno", "label"), {"label": LABEL})
"""TREC relevance judgments."""

PRELS = Layout(
    ("qid", "docno", "label", "method", "inclusion"),
    ("qid", "docno", "label", "inclusion"),
    {"label": LABEL, "method": CODE, "inclusion": INCLUSION},
)
"""Judgments of sampled documents with inclusion probabilities, as in TREC's Million Query Track 2007-2009."""

STRATA = Layout(
    ("qid", "iteration", "docno", "stratum", "label"),
    ("qid", "docno", "stratum", "label"),
    {"iteration": CODE, "stratum": CODE, "label": LABEL},
)
"""Judgments of documents sampled from strata, as NIST's ``sample_eval`` reads them for xinfAP."""


def as_number(text: str) -> float:
    """The number that a field holds, NaN if it holds none."""
    return float(text) if _NUMBER.fullmatch(text) else np.nan
