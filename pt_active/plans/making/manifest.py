"""What does ``manifest.json`` record about how a plan was made?"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import ir_measures.measures as irm
import pandas as pd

from pt_active.plans.making import artifact
from pt_active.plans.making.artifact import Record
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.rest import Rest
from pt_active.relevance.costs import kept_unit
from pt_active.relevance.digits import rounded
from pt_active.sampling.chances import EXPONENTIAL, UNIFORM, Law
from pt_active.sampling.pools import GradedPool

FORMAT_VERSION = 6
"""Version of the tables on disk. Loading a plan in a format that is not in `READABLE_FORMATS` raises."""

READABLE_FORMATS = (3, 4, 5, FORMAT_VERSION)
"""Formats that can be read. The queries of format 3 lack ``q_priority``, so such a plan has no `Plan.status`; those of
format 4 come by ``U/q`` (`UNIFORM`); up to format 5, ids leave out what was drawn. A plan keeps the format that it
was made in, also if it is saved again."""

_ID_DIGITS = 16
"""Hexadecimal digits of a plan's id."""

_FIRST_SUCCESSIVE_FORMAT = 5
"""The first format whose queries come by ``E/q``."""

_FIRST_FORMAT_WITH_KEYS = 6
"""The first format whose label vectors follow from whole numbers."""


@dataclass(frozen=True, kw_only=True)
class PlanArguments(Record):
    """The arguments of ``Plan.create``, with the defaults of the level filled in.

    Attributes:
        measure: The measure, with all its parameters.
        cost: The ``repr`` of the cost.
        per_query: The cost of opening a query.
        design: The name of the design of queries, or of the way to draw documents.
        cost_unit: The unit of the cost, such as ``hours``; None if the cost names none, and in plans that were saved
            before units were kept.
        level: What is sampled, ``query`` or ``document``.
        seed: Seed of all random draws.
        budget: What may be spent; None if a number of draws was given.
        draws: The number of draws; None if a budget was given.
        replace: Whether a query can be drawn more than once.
        defensive: The share of ``p`` in the design of queries, or of the average variance in that of documents.
        objective: Which variance of the differences the design of documents minimises, ``mean`` or ``largest``.
        pairs: ``[ranker, ranker, weight]`` of each pair with a weight; None if all pairs weigh the same.
    """

    SOMETIMES: ClassVar[tuple[str, ...]] = ("cost_unit",)

    measure: str
    cost: str
    per_query: float
    design: str
    cost_unit: str | None = None
    level: str
    seed: int
    budget: float | None
    draws: int | None
    replace: bool
    defensive: float
    objective: str
    pairs: Sequence[Sequence[str | float]] | None = None

    @property
    def unit(self) -> str:
        """The unit of costs as a suffix of a number, such as ``" hours"``; empty if the cost names none."""
        return kept_unit(self.cost, self.cost_unit)


@dataclass(frozen=True)
class LevelChoice(Record):
    """Whether a plan samples documents or whole queries, if it was not told, and what the grade model expected of each.

    Attributes:
        level: What the plan samples, ``query`` or ``document``.
        design: Its design.
        half_width: The half-width of a 95% interval to expect; None if there is none. Of more than two rankers, it is
            that of a difference with the mean variance of all.
        other_design: The design of the other level.
        other_half_width: The half-width that it would have had at the same budget.
    """

    level: str
    design: str
    half_width: float | None
    other_design: str
    other_half_width: float | None

    def __str__(self) -> str:
        kinds = "documents", "whole queries"
        one, other = kinds if self.level == "document" else kinds[::-1]
        if self.half_width is None and self.other_half_width is None:
            return f"{one}, {self.design}; the sample is too small for an interval, and so would be one of {other}"
        own, its = (_plus_minus(width) for width in (self.half_width, self.other_half_width))
        said = f"{one}, {self.design}: {own} (95%, if the grade model is right)"
        return f"{said}; {other}, {self.other_design}, would give {its}"


def _plus_minus(width: float | None) -> str:
    return "no interval" if width is None else f"±{width:.2g}"


@dataclass(frozen=True)
class Counts(Record):
    """Sizes of the pool (queries, documents, rankers) and of the sample (queries, draws, documents to assess)."""

    queries: int
    documents: int
    rankers: int
    sampled_queries: int
    draws: int
    assessments: int


@dataclass(frozen=True)
class RoundEntry(Record):
    """The record of a round of documents.

    Attributes:
        budget: What the round could spend.
        seed: Seed of its draws.
        spent: What its judgments cost.
        assessments: The number of documents that it drew.
        expected_variance: The variance of its estimate, under the grade model of the first round.
        refitted: Whether its grades differ from those of the first round.
        labels: Digest of the labels that it learnt from; None for the first round.
        comparable_variance: The variance that was expected at the budget of the first round, by which rounds are
            weighted; None in plans that were saved before it was kept.
    """

    budget: float
    seed: int
    spent: float
    assessments: int
    expected_variance: float
    refitted: bool
    labels: str | None
    comparable_variance: float | None = None


@dataclass(frozen=True)
class ExtensionEntry(Record):
    """The record of an extension of a plan of queries, which goes on in the order in which its queries come.

    Attributes:
        budget: What the extension could spend on top.
        spent: What its judgments cost.
        queries: The number of queries that it added.
        assessments: The number of documents that it added.
    """

    budget: float
    spent: float
    queries: int
    assessments: int


@dataclass(frozen=True)
class Cut(Record):
    """How far a plan was cut to what is judged: to the first ``to`` of ``of`` queries or rounds (``unit``)."""

    unit: str
    of: int
    to: int


@dataclass(frozen=True)
class Dropped(Record):
    """Lines of a run that were dropped when it was read, because they did not fit.

    Attributes:
        ranker: Whose run it is.
        lines: Their number.
        kinds: Kind of mistake → number of lines.
        examples: Some of the lines, each with its number and its mistake.
    """

    ranker: str
    lines: int
    kinds: dict[str, int]
    examples: Sequence[str]


@dataclass(frozen=True)
class Inputs(Record):
    """Digests of the frames that a plan was made from."""

    pool: str
    topics: str | None


@dataclass(frozen=True, kw_only=True)
class Manifest(Record):
    """Everything that is needed to make a plan again, and to check that it is the same.

    Attributes:
        format_version: Version of the tables that the plan was made in.
        versions: Package → version.
        arguments: The arguments of ``Plan.create``.
        rankers: Names of the rankers.
        census: Whether all that matters is judged, so that nothing is left to chance.
        counts: Sizes of the pool and of the sample.
        spent: What the judgments cost.
        pool_cost: What judging the whole pool would cost.
        inputs: Digests of the frames that the plan was made from.
        rounds: One entry per round; empty if queries were drawn.
        extensions: One entry per extension of a plan of queries.
        later_rankers: Names of the rankers that were added after the sample was drawn.
        cut: How far the plan was cut; None if it was not.
        dropped: One entry per run of which lines were dropped when it was read.
        choice: Why documents or whole queries are sampled; None if the plan was told.
        rest: What the plan does not keep of its population; None if it keeps all of it.
        drawn: Digest of the keys of what was drawn first, and how often; None in plans up to format 5.
    """

    SOMETIMES: ClassVar[tuple[str, ...]] = (
        "rounds",
        "extensions",
        "later_rankers",
        "cut",
        "dropped",
        "choice",
        "rest",
        "drawn",
    )
    PARTS: ClassVar[dict[str, type[Record]]] = {
        "arguments": PlanArguments,
        "counts": Counts,
        "inputs": Inputs,
        "rounds": RoundEntry,
        "extensions": ExtensionEntry,
        "cut": Cut,
        "dropped": Dropped,
        "choice": LevelChoice,
        "rest": Rest,
    }

    format_version: int = FORMAT_VERSION
    versions: dict[str, str] = field(default_factory=dict)
    arguments: PlanArguments
    rankers: tuple[str, ...] = ()
    census: bool
    counts: Counts
    spent: float
    pool_cost: float
    inputs: Inputs = field(default_factory=lambda: Inputs("", None))
    rounds: tuple[RoundEntry, ...] = ()
    extensions: tuple[ExtensionEntry, ...] = ()
    later_rankers: tuple[str, ...] = ()
    cut: Cut | None = None
    dropped: tuple[Dropped, ...] = ()
    choice: LevelChoice | None = None
    rest: Rest | None = None
    drawn: str | None = None

    @property
    def kept_queries(self) -> int:
        """The number of rows of the plan's queries."""
        return self.counts.queries - (self.rest.queries - self.rest.stand_ins if self.rest else 0)

    @property
    def any_time(self) -> bool:
        """Whether the plan keeps what looks before the end need to know of its population."""
        return self.rest is None or bool(self.rest.contrasts)

    @property
    def kept_documents(self) -> int:
        """The number of documents that the plan keeps."""
        return self.counts.documents - (self.rest.documents if self.rest else 0)

    @property
    def id(self) -> str:
        """16 hexadecimal digits of the inputs, the arguments and what was drawn first, numbers rounded [theory 17].

        Extensions and cuts leave it as it is.
        """
        made_from: dict[str, Any] = {"inputs": self.inputs.to_json(), "arguments": self.arguments.to_json()}
        if self.drawn is not None:
            made_from = _rounded(made_from) | {"drawn": self.drawn}
        text = json.dumps(made_from, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_ID_DIGITS]

    @property
    def law(self) -> Law:
        """The law by which queries come without replacement."""
        return EXPONENTIAL if self.format_version >= _FIRST_SUCCESSIVE_FORMAT else UNIFORM

    @property
    def log_keys(self) -> bool:
        """Whether the random numbers of label vectors follow from the bits of logarithms."""
        return self.format_version < _FIRST_FORMAT_WITH_KEYS

    @property
    def limit(self) -> float:
        """What a plan of queries may spend with its extensions; draws of one cost each count with what they cost."""
        if self.arguments.budget is None:
            first = self.spent - sum(each.spent for each in self.extensions)
        else:
            first = self.arguments.budget
        return first + sum(each.budget for each in self.extensions)


def _rounded(value: Any) -> Any:
    """What JSON holds, with its numbers rounded."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(rounded(value)) if isinstance(value, float) else value


class Source(NamedTuple):
    """What a plan is made from.

    Attributes:
        pool: All queries.
        measure: What the sample is designed for.
        frame: The graded frame of the pool.
        topics: The topics; None if there are none.
        choice: Why documents or whole queries are sampled; None if that was not left open.
        graded: The pool as documents are drawn from it, if it was needed before.
    """

    pool: Pool
    measure: irm.Measure
    frame: pd.DataFrame
    topics: pd.DataFrame | None
    choice: LevelChoice | None = None
    graded: GradedPool | None = None


def plan_manifest(
    arguments: PlanArguments,
    source: Source,
    queries: pd.DataFrame,
    assessments: pd.DataFrame,
    *,
    census: bool,
    spent: float,
) -> Manifest:
    """The manifest of a new plan."""
    draws, pool, topics = queries["q_draws"].to_numpy(), source.pool, source.topics
    drawn = {"sampled_queries": int((draws > 0).sum()), "draws": int(draws.sum()), "assessments": len(assessments)}
    return Manifest(
        versions=dict(_versions()),
        arguments=arguments,
        rankers=pool.names,
        census=census,
        counts=Counts(len(queries), len(pool.docno), len(pool.names), **drawn),
        spent=spent,
        pool_cost=float(pool.query_cost.sum()),
        inputs=Inputs(artifact.digest(source.frame), None if topics is None else artifact.digest(topics)),
        dropped=dropped_lines(source.frame.attrs.get("dropped", {})),
        choice=source.choice,
        drawn=artifact.digest(_drawn_keys(queries, assessments)),
    )


def _drawn_keys(queries: pd.DataFrame, assessments: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, draws`` of what is to be judged."""
    draws = queries.set_index("qid")["q_draws"]
    return assessments[["qid", "docno"]].assign(draws=assessments["qid"].map(draws).astype("int64"))


def dropped_lines(counts: Mapping[str, Mapping[str, Any]]) -> tuple[Dropped, ...]:
    """The entries for runs of which lines were dropped, from ranker → ``attrs["dropped"]`` of `trec.read_run`."""
    return tuple(Dropped(name, **said) for name, said in counts.items())


@cache
def _versions() -> Mapping[str, str]:
    """Of Python and the packages that a plan's numbers depend on; looking them up takes as long as a small plan."""
    packages = ("pt-active", "pyterrier", "ir_measures", "numpy", "pandas", "numba")
    return MappingProxyType({"python": platform.python_version()} | {name: version(name) for name in packages})
