"""What does ``manifest.json`` record about how a plan, an audit or an active test was made?"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import ir_measures.measures as irm
import numpy as np
import pandas as pd
from pandas.core.util.hashing import combine_hash_arrays  # type: ignore[attr-defined]

from pt_active.plans.making.pool import Pool
from pt_active.relevance.digits import GRADE_BITS, rounded

FORMAT_VERSION = 9
"""Version of the files on disk; what is kept in another one is refused, so that it is not misread."""


@cache
def versions() -> dict[str, str]:
    """Of Python and the packages that numbers depend on; looking them up takes as long as a small plan."""
    packages = ("pt-active", "pyterrier", "ir_measures", "numpy", "pandas", "numba")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What the manifest of everything that is kept says."""

    format_version: int = FORMAT_VERSION
    versions: dict[str, str] = field(default_factory=versions)  # package → version


def from_json(kind: Any, value: Any) -> Any:
    """A value from JSON as its type: objects are dataclasses where the type names one, and lists are tuples."""
    if isinstance(value, list):
        return tuple(from_json(kind, each) for each in value)
    record: Any = next(filter(is_dataclass, (kind, *get_args(kind))), None)
    if record is None or not isinstance(value, dict):
        return value
    types = get_type_hints(record)
    return record(**{name: from_json(types[name], each) for name, each in value.items() if name in types})


@dataclass(frozen=True, kw_only=True)
class PlanArguments:
    """The arguments of ``Plan.create``, with the defaults of the level filled in."""

    measure: str  # with all its parameters
    cost: str  # the ``repr`` of the cost
    per_query: float  # the cost of opening a query
    design: str  # of queries, or the way to draw documents
    cost_unit: str | None = None  # such as ``minutes``; None if the cost names none
    level: str  # ``query`` or ``document``
    seed: int
    budget: float | None  # None if a number of draws was given
    draws: int | None  # None if a budget was given
    replace: bool  # whether a query can be drawn more than once
    defensive: float  # the share of ``p`` in the design of queries, or of the average variance in that of documents
    pairs: Sequence[Sequence[str | float]] | None = None  # ``[ranker, ranker, weight]``; None if all weigh the same

    @property
    def unit(self) -> str:
        """The unit of costs as a suffix of a number, such as ``" minutes"``; empty if the cost names none."""
        return f" {self.cost_unit}" if self.cost_unit else ""


@dataclass(frozen=True)
class LevelChoice:
    """Whether a plan samples documents or whole queries, if it was not told, and what the grade model expected of each.

    A half-width is that of a 95% interval to expect, None if there is none; of more than two rankers, it is that of a
    difference with the mean variance of all.
    """

    level: str  # what the plan samples, ``query`` or ``document``
    design: str
    half_width: float | None
    other_design: str  # of the other level
    other_half_width: float | None  # at the same budget

    def __str__(self) -> str:
        kinds = "documents", "whole queries"
        one, other = kinds if self.level == "document" else kinds[::-1]
        if self.half_width is None and self.other_half_width is None:
            return f"{one}, {self.design}; the sample is too small for an interval, and so would be one of {other}"
        own, its = (
            "no interval" if width is None else f"±{width:.2g}" for width in (self.half_width, self.other_half_width)
        )
        said = f"{one}, {self.design}: {own} (95%, if the grade model is right)"
        return f"{said}; {other}, {self.other_design}, would give {its}"


@dataclass(frozen=True)
class Counts:
    """Sizes of the pool (queries, documents, rankers) and of the sample (queries, draws, documents to assess)."""

    queries: int = 0
    documents: int = 0
    rankers: int = 0
    sampled_queries: int = 0
    draws: int = 0
    assessments: int = 0


@dataclass(frozen=True)
class Cut:
    """How far a plan was cut to what is judged: to the first ``to`` of ``of`` queries or documents (``unit``)."""

    unit: str
    of: int
    to: int


@dataclass(frozen=True, kw_only=True)
class Manifest(Provenance):
    """Everything that is needed to make a plan again, and to check that it is the same."""

    arguments: PlanArguments
    rankers: tuple[str, ...] = ()
    census: bool = False  # whether all that matters is judged, so that nothing is left to chance
    counts: Counts = Counts()
    limit: float  # the budget with those of all extensions; 0 with a number of draws
    spent: float = 0.0
    pool_cost: float  # of judging the whole pool
    inputs: dict[str, str | None] = field(default_factory=dict)  # frame that it was made from → digest
    expected_variance: float | None = None  # of an estimate from drawn documents, under the grade model
    later_rankers: tuple[str, ...] = ()  # added after the sample was drawn
    strangers: dict[str, float] = field(default_factory=dict)  # later ranker → share of its documents outside the pool
    cut: Cut | None = None
    choice: LevelChoice | None = None  # None if the plan was told what to sample
    drawn: str  # digest of the keys of what was drawn first, and how often

    @property
    def origin(self) -> str:
        """16 hexadecimal digits of the inputs, the arguments and what was drawn first, numbers rounded [theory 17].

        Extensions and cuts leave it as it is, so judgments of the plan fit its extensions.
        """
        return _short({"inputs": self.inputs, "arguments": asdict(self.arguments), "drawn": self.drawn})

    @property
    def id(self) -> str:
        """The origin; of an extension, 16 hexadecimal digits of it and of the whole budget."""
        return _short({"origin": self.origin, "steps": [self.limit]}) if self.extended else self.origin

    @property
    def extended(self) -> bool:
        """Whether more was drawn than the plan was made for."""
        return self.limit != float(self.arguments.budget or 0)


def _short(values: dict[str, Any]) -> str:
    """16 hexadecimal digits of what JSON can hold, with its numbers rounded."""
    return digest_of(json.loads(json.dumps(values), parse_float=lambda number: float(rounded(float(number)))))[:16]


class PlanSource(NamedTuple):
    """What a plan is made from."""

    pool: Pool
    measure: irm.Measure
    frame: pd.DataFrame  # the graded frame of the pool
    topics: pd.DataFrame | None
    choice: LevelChoice | None = None  # why documents or whole queries are sampled; None if that was not left open


def digest(source: str | Path | pd.DataFrame) -> str:
    """A fingerprint of a file or a frame, to recognise it again.

    Args:
        source: A file, of which every byte counts; or a frame, of whose numbers the first digits count, which are the
            same on every processor. The order of its rows and columns, its index and the type of its strings
            (``object`` or ``str``) do not count.

    Returns:
        A SHA-256 as 64 hexadecimal digits.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    if not isinstance(source, pd.DataFrame):
        with Path(source).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    names = sorted(source.columns, key=str)
    rows = combine_hash_arrays((_hashes(source[name]) for name in names), len(names))
    rows.sort()
    return hashlib.sha256(repr([str(name) for name in names]).encode() + rows.tobytes()).hexdigest()


def _hashes(column: pd.Series) -> np.ndarray:
    """uint64[N], the hash of each value: of a rounded number, the bytes of a vector of them, or what others print."""
    if len(column) and isinstance(column.iloc[0], (np.ndarray, list)):
        with suppress(TypeError, ValueError):  # of what is no vector of numbers
            column = column.map(lambda vector: rounded(np.asarray(vector, dtype=np.float64), GRADE_BITS).tobytes())
    elif pd.api.types.is_float_dtype(column):
        # The sum turns -0.0 into 0.0.
        column = pd.Series(rounded(column.to_numpy(dtype=np.float64, na_value=np.nan), GRADE_BITS) + 0.0)
    try:
        return pd.util.hash_pandas_object(column, index=False).to_numpy()
    except TypeError:  # such as of dictionaries
        return pd.util.hash_pandas_object(column.map(repr), index=False).to_numpy()


def digest_of(value: Any) -> str:
    """The SHA-256 of what JSON holds, whatever its white space and the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
