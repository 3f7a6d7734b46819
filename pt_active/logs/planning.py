"""How do numbers of queries or documents, wherever they were computed, become a plan?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import ir_measures.measures as irm
import numpy as np
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
from pt_active.logs.document_rows import check_additive, document_rows, is_additive, merged_documents
from pt_active.logs.drawn import plan_of_drawn
from pt_active.logs.drawn_documents import all_documents, drawn_documents, kept_queries, plan_of_drawn_documents
from pt_active.logs.level import chosen_from, queries_to_compare
from pt_active.logs.merging import check_not_split, design_of, merged, pool_without_documents, with_topics
from pt_active.logs.partition import Question, checked_measure, graded_partition, queries_of, query_rows
from pt_active.plans.answers.level import level_told
from pt_active.plans.making.manifest import LevelChoice, PlanArguments
from pt_active.plans.making.pool_columns import query_weights
from pt_active.plans.making.queries import DESIGN, draw, priority_column, sample_columns
from pt_active.plans.making.rankers import Pairs, listed_weights, pair_weights
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import Cost, UnitCost, check_per_query, unit_of
from pt_active.relevance.measures import RankForm
from pt_active.sampling.designs import defensive_share, needs_uniform_grades
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, natural_drawing, usual_variance


class Engine(Protocol):
    """What brings functions to partitions, each of which holds all rows of its queries, ``run, qid, docno, score``."""

    def each(self, function: Callable[[pd.DataFrame, Question], Any], question: Question, what: str) -> Iterable[Any]:
        """What a function says of each partition, in any order.

        Args:
            function: From a partition and the question to numbers that can be pickled.
            question: What is asked.
            what: What is being read, in a word.
        """

    def documents(self, qids: Sequence[str]) -> pd.DataFrame:
        """All rows of some queries."""


@dataclass(frozen=True)
class Settings:
    """How queries or documents are sampled: the arguments of ``Plan.create`` that concern it, as the user gives them.

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
    level: str | None = None

    def __post_init__(self) -> None:
        if (self.budget is None) == (self.draws is None):
            raise ArgumentError.either("budget", "draws")
        whole_number("seed", self.seed, 0, MAX_SEED), truth_value("replace", self.replace)
        if self.draws is not None:
            whole_number("draws", self.draws, 1, MAX_DRAWS)
        if self.budget is not None:
            positive("budget", self.budget)
        if self.defensive is not None:
            within("defensive", number("defensive", self.defensive), 0)
        check_per_query(self.price)
        told = level_told(self.level, self.design, only_queries=self.draws is not None or bool(self.replace))
        if told == "document":
            self._check_documents()
        elif told == "query":
            self._check_queries()

    def _check_queries(self) -> None:
        if self.defensive is not None:
            within("defensive", self.defensive, 0, 1)
        needs_uniform_grades(self.design or DESIGN)

    def _check_documents(self) -> None:
        check_additive(self.measure)
        if self.design not in (None, *DOCUMENT_DRAWINGS):
            known = ", ".join(DOCUMENT_DRAWINGS)
            raise ValueError(f"unknown document design {self.design!r}; it is one of {known}")
        if self.design == "depth":
            raise ValueError('documents are drawn from the top in memory only; out of core leave out design="depth"')

    @property
    def price(self) -> Cost:
        """The labelling cost."""
        return UnitCost() if self.cost is None else self.cost

    @property
    def told(self) -> str | None:
        """The level that leaves no choice; None if documents or queries can be drawn."""
        told = level_told(self.level, self.design, only_queries=self.draws is not None or bool(self.replace))
        return told or (None if is_additive(self.measure) else "query")

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
        drawing = self.design if self.design in DOCUMENT_DRAWINGS else None
        uniform = drawing is None and needs_uniform_grades(self.design or DESIGN)
        asked = Question(names, grades, self.measure, self.price, uniform, depth, allow_missing_queries)
        return replace(asked, drawing=drawing, seed=int(self.seed))

    def of_queries(self, measure: irm.Measure, names: tuple[str, ...], mean_cost: float) -> PlanArguments:
        """The arguments of ``Plan.create`` for queries, with the defaults filled in.

        Args:
            measure: With its parameters.
            names: The rankers.
            mean_cost: ``Σ p λ``.
        """
        self._check_queries()
        expected = self.draws or float(self.budget or 0) / mean_cost
        usual = self.design or DESIGN, defensive_share(expected)
        return self._arguments("query", usual, measure, names)

    def of_documents(self, measure: irm.Measure, names: tuple[str, ...], form: RankForm) -> PlanArguments:
        """The arguments of ``Plan.create`` for documents, with the defaults filled in.

        Args:
            measure: With its parameters.
            names: The rankers.
            form: The form of the measure.
        """
        drawing = self.design or natural_drawing(form, len(names), float(self.price.per_query))
        return self._arguments("document", (drawing, usual_variance(form)), measure, names)

    def _arguments(
        self, level: str, usual: tuple[str, float], measure: irm.Measure, names: tuple[str, ...]
    ) -> PlanArguments:
        return PlanArguments(
            measure=str(measure),
            cost=repr(self.price),
            per_query=float(self.price.per_query),
            design=usual[0],
            cost_unit=unit_of(self.price) or None,
            level=level,
            seed=int(self.seed),
            budget=self.budget,
            draws=self.draws,
            replace=bool(self.replace),
            defensive=usual[1] if self.defensive is None else self.defensive,
            objective="mean",
            pairs=listed_weights(pair_weights(self.pairs, names), names),
        )


def plan_by(engine: Engine, question: Question, settings: Settings, topics: pd.DataFrame | None) -> Plan:
    """A plan from the partitions of an engine.

    Args:
        engine: What brings functions to the partitions.
        question: As `Settings.question` makes it.
        settings: How queries or documents are sampled.
        topics: The target population; None for all queries.

    Raises:
        ValueError: If a query is split over partitions, an argument is out of range, or rows are malformed.
    """
    level, choice = settings.told, None
    if level is None:
        choice = _choice(engine, question, settings, topics)
        level = choice.level
    if level == "query":
        return _of_queries(engine, question, settings, topics, choice)
    return _of_documents(engine, question, settings, topics, choice)


def _choice(engine: Engine, question: Question, settings: Settings, topics: pd.DataFrame | None) -> LevelChoice:
    """The level, by a part of the queries."""
    qids = np.sort(np.concatenate([*engine.each(queries_of, question, "queries"), np.empty(0, dtype=object)]))
    check_not_split(qids)
    known = None if topics is None else set(topics["qid"])
    qids = qids if known is None else np.array([each for each in qids if each in known], dtype=object)
    wanted = queries_to_compare(qids)
    weight = query_weights(_query_columns(qids, topics))
    graded = graded_partition(engine.documents(qids[wanted].tolist()), question)
    return chosen_from(graded, weight, question, settings.budget, settings.defensive, settings.pairs)


def _query_columns(qids: np.ndarray, topics: pd.DataFrame | None) -> pd.DataFrame:
    frame = pd.DataFrame({"qid": qids})
    return frame if topics is None else frame.merge(topics.drop_duplicates("qid"), how="left", on="qid")


def _of_queries(
    engine: Engine,
    question: Question,
    settings: Settings,
    topics: pd.DataFrame | None,
    choice: LevelChoice | None,
) -> Plan:
    """A plan of queries from a row a query, and a second pass over the documents of what was drawn."""
    rows, queries = with_topics(merged(engine.each(query_rows, question, "queries")), topics)
    names, measure = question.names, checked_measure(question.measure, rows.max_grade)
    weight = pool_without_documents(rows, queries, names).query_weight
    arguments = settings.of_queries(measure, names, float(weight @ rows.cost))
    pairs = pair_weights(settings.pairs, names)
    table = design_of(rows, queries, names, arguments.design, arguments.defensive, pairs)
    sample = draw(table, settings.budget, settings.draws, arguments.seed, arguments.replace)
    table = table.assign(**sample_columns(sample, weight), q_priority=priority_column(sample, len(table)))
    found = engine.documents(table["qid"].to_numpy(dtype=object)[sample.rows].tolist())
    graded = graded_partition(found, question)
    made = plan_of_drawn(table, sample, rows, graded, question, arguments, measure, topics)
    return Plan._of(replace(made, manifest=replace(made.manifest, choice=choice)))


def _of_documents(
    engine: Engine,
    question: Question,
    settings: Settings,
    topics: pd.DataFrame | None,
    choice: LevelChoice | None,
) -> Plan:
    """A plan of documents from some numbers of each, and a second pass over the queries of what was drawn."""
    rows, queries = with_topics(merged_documents(engine.each(document_rows, question, "documents")), topics)
    names, measure, weight = question.names, question.parsed(rows.max_grade), query_weights(queries)
    documents = all_documents(rows, measure, weight, float(settings.price.per_query))
    arguments = settings.of_documents(measure, names, documents.form)
    drawn, matters = drawn_documents(documents, arguments, names)
    kept = kept_queries(documents, drawn.sample, matters)
    graded = graded_partition(engine.documents(rows.qid[kept.kept].tolist()), question)
    made = plan_of_drawn_documents(documents, drawn, kept, queries, graded, question, arguments, topics, choice)
    return Plan._of(made)
