"""What does ``manifest.json`` record about how a plan was made?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ir_measures.measures as irm
import pandas as pd

from pt_active.plans.making.artifact import Provenance, Record, digest, versions
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.stored import digest_of
from pt_active.relevance.digits import rounded
from pt_active.sampling.pools import GradedPool

FORMAT_VERSION = 6
"""Version of the tables on disk; a plan in another one is refused, so that it is not misread."""


@dataclass(frozen=True, kw_only=True)
class PlanArguments(Record):
    """The arguments of ``Plan.create``, with the defaults of the level filled in."""

    measure: str  # with all its parameters
    cost: str  # the ``repr`` of the cost
    per_query: float  # the cost of opening a query
    design: str  # of queries, or the way to draw documents
    cost_unit: str | None = None  # such as ``hours``; None if the cost names none
    level: str  # ``query`` or ``document``
    seed: int
    budget: float | None  # None if a number of draws was given
    draws: int | None  # None if a budget was given
    replace: bool  # whether a query can be drawn more than once
    defensive: float  # the share of ``p`` in the design of queries, or of the average variance in that of documents
    pairs: Sequence[Sequence[str | float]] | None = None  # ``[ranker, ranker, weight]``; None if all weigh the same

    @property
    def unit(self) -> str:
        """The unit of costs as a suffix of a number, such as ``" hours"``; empty if the cost names none."""
        return f" {self.cost_unit}" if self.cost_unit else ""


@dataclass(frozen=True)
class LevelChoice(Record):
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
    """The record of a round of documents."""

    budget: float
    spent: float
    assessments: int  # the number of documents that it drew
    expected_variance: float  # of its estimate, under the grade model


@dataclass(frozen=True)
class ExtensionEntry(Record):
    """The record of an extension of a plan of queries: its budget, its cost, and what it added."""

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


@dataclass(frozen=True, kw_only=True)
class Manifest(Provenance):
    """Everything that is needed to make a plan again, and to check that it is the same."""

    format_version: int = FORMAT_VERSION
    arguments: PlanArguments
    rankers: tuple[str, ...] = ()
    census: bool  # whether all that matters is judged, so that nothing is left to chance
    counts: Counts
    spent: float
    pool_cost: float  # of judging the whole pool
    inputs: dict[str, str | None] = field(default_factory=dict)  # frame that it was made from → digest
    rounds: tuple[RoundEntry, ...] = ()  # empty if queries were drawn
    extensions: tuple[ExtensionEntry, ...] = ()  # of a plan of queries
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
        made_from: dict[str, Any] = {"inputs": self.inputs, "arguments": self.arguments.to_json()}
        return digest_of(_rounded(made_from) | {"drawn": self.drawn})[:16]

    @property
    def id(self) -> str:
        """The origin; of an extension, 16 hexadecimal digits of it and of how each round was drawn."""
        steps = [each.budget for each in self.rounds]
        if self.extensions:
            steps = [self.limit]
        elif len(steps) < 2 and all(each.budget == self.arguments.budget for each in self.rounds):
            return self.origin
        return digest_of({"origin": self.origin, "steps": _rounded(steps)})[:16]

    @property
    def limit(self) -> float:
        """What a plan of queries may spend with its extensions."""
        return float(self.arguments.budget or 0) + sum(each.budget for each in self.extensions)


def _rounded(value: Any) -> Any:
    """What JSON holds, with its numbers rounded."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(rounded(value)) if isinstance(value, float) else value


class PlanSource(NamedTuple):
    """What a plan is made from."""

    pool: Pool
    measure: irm.Measure
    frame: pd.DataFrame  # the graded frame of the pool
    topics: pd.DataFrame | None
    choice: LevelChoice | None = None  # why documents or whole queries are sampled; None if that was not left open
    graded: GradedPool | None = None  # the pool as documents are drawn from it, if it was needed before


def plan_manifest(
    arguments: PlanArguments,
    source: PlanSource,
    queries: pd.DataFrame,
    assessments: pd.DataFrame,
    *,
    census: bool,
    spent: float,
) -> Manifest:
    """The manifest of a new plan."""
    draws, pool, topics = queries["q_draws"].to_numpy(), source.pool, source.topics
    keys = assessments[["qid", "docno"]]
    keys = keys.assign(draws=keys["qid"].map(queries.set_index("qid")["q_draws"]).astype("int64"))
    drawn = {"sampled_queries": int((draws > 0).sum()), "draws": int(draws.sum()), "assessments": len(assessments)}
    return Manifest(
        versions=dict(versions()),
        arguments=arguments,
        rankers=pool.names,
        census=census,
        counts=Counts(len(queries), len(pool.docno), len(pool.names), **drawn),
        spent=spent,
        pool_cost=float(pool.query_cost.sum()),
        inputs={"pool": digest(source.frame), "topics": None if topics is None else digest(topics)},
        choice=source.choice,
        drawn=digest(keys),
    )
