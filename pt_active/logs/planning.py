"""How do rows of queries, wherever they were computed, become a plan?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import ir_measures.measures as irm
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import (
    MAX_DRAWS,
    MAX_SEED,
    ArgumentError,
    number,
    positive,
    truth_value,
    whole_number,
    within,
)
from pt_active.logs.drawn import plan_of_drawn
from pt_active.logs.merging import design_of, merged, pool_without_documents, with_topics
from pt_active.logs.partition import QueryRows, Question, checked_measure, graded_partition
from pt_active.plans.making.manifest import PlanArguments
from pt_active.plans.making.queries import DESIGN, draw, priority_column, sample_columns
from pt_active.plans.making.rankers import Pairs, listed_weights, pair_weights
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import Cost, UnitCost, check_per_query, unit_of
from pt_active.sampling.designs import defensive_share, needs_uniform_grades

Documents = Callable[[Sequence[str]], pd.DataFrame]
"""From qids to all of their rows, ``run, qid, docno, score``: the second pass over the runs."""


@dataclass(frozen=True)
class Settings:
    """How queries are sampled: the arguments of ``Plan.create`` that concern them, as the user gives them.

    Raises:
        ValueError: If one is out of range, or not exactly one of ``budget`` and ``draws`` is given.
    """

    measure: str | irm.Measure
    cost: Cost | None = None
    budget: float | None = None
    draws: int | None = None
    design: str | None = None
    seed: int = 0
    replace: bool = False
    defensive: float | None = None
    pairs: Pairs | None = None

    def __post_init__(self) -> None:
        if (self.budget is None) == (self.draws is None):
            raise ArgumentError.either("budget", "draws")
        whole_number("seed", self.seed, 0, MAX_SEED), truth_value("replace", self.replace)
        if self.draws is not None:
            whole_number("draws", self.draws, 1, MAX_DRAWS)
        if self.budget is not None:
            positive("budget", self.budget)
        if self.defensive is not None:
            within("defensive", number("defensive", self.defensive), 0, 1)
        check_per_query(self.price)
        needs_uniform_grades(self.kind)

    @property
    def price(self) -> Cost:
        """The labelling cost."""
        return UnitCost() if self.cost is None else self.cost

    @property
    def kind(self) -> str:
        """The name of the design."""
        return self.design or DESIGN

    def question(
        self, names: tuple[str, ...], grades: pt.Transformer, depth: int | None, allow_missing_queries: bool
    ) -> Question:
        """What is asked of the partitions.

        Args:
            names: The rankers.
            grades: A fitted grade model.
            depth: Documents to keep of each ranking; None for all.
            allow_missing_queries: Whether a ranker may leave queries unanswered.
        """
        uniform = needs_uniform_grades(self.kind)
        return Question(names, grades, self.measure, self.price, uniform, depth, allow_missing_queries)

    def arguments(self, measure: irm.Measure, names: tuple[str, ...], mean_cost: float) -> PlanArguments:
        """The arguments of ``Plan.create``, with the defaults filled in.

        Args:
            measure: With its parameters.
            names: The rankers.
            mean_cost: ``Σ p λ``.
        """
        expected = self.draws or float(self.budget or 0) / mean_cost
        return PlanArguments(
            measure=str(measure),
            cost=repr(self.price),
            per_query=float(self.price.per_query),
            design=self.kind,
            cost_unit=unit_of(self.price) or None,
            level="query",
            seed=int(self.seed),
            budget=self.budget,
            draws=self.draws,
            replace=bool(self.replace),
            defensive=defensive_share(expected) if self.defensive is None else self.defensive,
            objective="mean",
            pairs=listed_weights(pair_weights(self.pairs, names), names),
        )


def plan_from(
    parts: Iterable[QueryRows | None],
    documents: Documents,
    question: Question,
    settings: Settings,
    topics: pd.DataFrame | None,
) -> Plan:
    """A plan from the rows of all partitions and a second pass over the documents of what was drawn.

    Args:
        parts: As `query_rows` returns them, of every partition in any order.
        documents: The second pass.
        question: What was asked of the partitions.
        settings: How queries are sampled.
        topics: The target population; None for all queries.

    Raises:
        ValueError: If a query is split over partitions, or an argument is out of range.
    """
    rows, queries = with_topics(merged(parts), topics)
    names, measure = question.names, checked_measure(question.measure, rows.max_grade)
    weight = pool_without_documents(rows, queries, names).query_weight
    arguments = settings.arguments(measure, names, float(weight @ rows.cost))
    pairs = pair_weights(settings.pairs, names)
    table = design_of(rows, queries, names, settings.kind, arguments.defensive, pairs)
    sample = draw(table, settings.budget, settings.draws, arguments.seed, arguments.replace)
    table = table.assign(**sample_columns(sample, weight), q_priority=priority_column(sample, len(table)))
    found = documents(table["qid"].to_numpy(dtype=object)[sample.rows].tolist())
    graded = graded_partition(found, question)
    return Plan._of(plan_of_drawn(table, sample, rows, graded, question, arguments, measure, topics))
