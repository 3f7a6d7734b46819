"""What is kept of how a plan was made, as ``manifest.json`` holds it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import ir_measures.measures as irm
import pandas as pd

from pt_active.plans.making import artifact
from pt_active.plans.making.artifact import Record
from pt_active.plans.making.pool import Pool
from pt_active.relevance.costs import kept_unit

FORMAT_VERSION = 4
"""Of the tables on disk; a plan of another format is refused rather than misread."""

READABLE = (3, FORMAT_VERSION)
"""Formats that are read. The queries of 3 lack ``q_priority``, so such a plan has no `Plan.status`."""


@dataclass(frozen=True, kw_only=True)
class PlanArguments(Record):
    """The arguments of ``Plan.create``, with the defaults of the level filled in.

    Attributes:
        measure: Fully spelt out.
        cost: Its ``repr``.
        per_query: The cost of opening a query.
        design: Of queries, or how documents are drawn.
        cost_unit: The unit of the cost, such as ``hours``; None if the cost names none, and in plans that were saved
            before units were kept.
        level: ``query`` or ``document``.
        seed: Of everything random.
        budget: What may be spent; None where a number of draws was said.
        draws: How many; None where a budget was said.
        replace: Whether a query can be drawn more than once.
        defensive: The share of ``p`` in the design of queries, or of the average variance in that of documents.
        objective: ``mean`` or ``largest``, which variance the design of documents makes small.
        pairs: ``[ranker, ranker, weight]`` of each pair with a weight; None where all pairs weigh the same.
    """

    SOMETIMES: ClassVar = ("cost_unit",)

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
        """The unit of costs with a space before it, as it stands behind a number; empty if the cost names none."""
        return kept_unit(self.cost, self.cost_unit)


@dataclass(frozen=True)
class Counts(Record):
    """How many there are in the pool, and how many of them in the sample."""

    queries: int
    documents: int
    rankers: int
    sampled_queries: int
    draws: int
    assessments: int


@dataclass(frozen=True)
class RoundEntry(Record):
    """What is kept of a round of documents.

    Attributes:
        budget: What the round could spend.
        seed: Of its draws.
        spent: What its judgments cost.
        assessments: How many documents it drew.
        expected_variance: Of its estimate, under the first round's grade model.
        refitted: Whether its grades are not those of the first round.
        labels: Digest of the labels that it learnt from; None of the first round.
    """

    budget: float
    seed: int
    spent: float
    assessments: int
    expected_variance: float
    refitted: bool
    labels: str | None


@dataclass(frozen=True)
class Cut(Record):
    """That a plan was cut to what is judged: to the first ``to`` of ``of`` queries or rounds, as ``unit`` says."""

    unit: str
    of: int
    to: int


@dataclass(frozen=True)
class Inputs(Record):
    """Digests of the frames that a plan was made from."""

    pool: str
    topics: str | None


@dataclass(frozen=True, kw_only=True)
class Manifest(Record):
    """Everything that is needed to make a plan again, and to see that it is the same.

    Attributes:
        format_version: Of the tables on disk.
        versions: Package → version.
        arguments: Of ``Plan.create``.
        rankers: Names of the rankers.
        census: Whether nothing was left to chance.
        counts: Of the pool and of the sample.
        spent: What the judgments cost.
        pool_cost: What judging the whole pool would cost.
        inputs: Digests of what the plan was made from.
        rounds: One entry a round; empty where queries were drawn.
        later_rankers: Names of the rankers that came after the sample was drawn.
        cut: To what the plan was cut; None if it was not.
    """

    SOMETIMES: ClassVar = ("rounds", "later_rankers", "cut")
    PARTS: ClassVar = {
        "arguments": PlanArguments,
        "counts": Counts,
        "inputs": Inputs,
        "rounds": RoundEntry,
        "cut": Cut,
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
    later_rankers: tuple[str, ...] = ()
    cut: Cut | None = None


class Source(NamedTuple):
    """What a plan is made from.

    Attributes:
        pool: All queries.
        measure: What the sample is designed for.
        frame: The graded frame of the pool.
        topics: The topics, if any.
    """

    pool: Pool
    measure: irm.Measure
    frame: pd.DataFrame
    topics: pd.DataFrame | None


def plan_manifest(
    arguments: PlanArguments,
    source: Source,
    queries: pd.DataFrame,
    assessments: pd.DataFrame,
    *,
    census: bool,
    spent: float,
) -> Manifest:
    """The manifest of a new plan.

    Args:
        arguments: Of ``Plan.create``.
        source: What the plan is made from.
        queries: The design table with its sample.
        assessments: What is to be judged.
        census: Whether nothing was left to chance.
        spent: What the judgments cost.
    """
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
    )


@cache
def _versions() -> Mapping[str, str]:
    """Of Python and the packages that a plan's numbers depend on; looking them up takes as long as a small plan."""
    packages = ("pt-active", "pyterrier", "ir_measures", "numpy", "pandas", "numba")
    return MappingProxyType({"python": platform.python_version()} | {name: version(name) for name in packages})
