"""Plans from numbers of queries or documents, wherever these were computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
from pt_active.frames.columns import with_string_ids
from pt_active.logs.documents import plan_of_documents
from pt_active.logs.queries import plan_of_queries
from pt_active.logs.rows import (
    NO_QUERIES,
    AllQueries,
    PartitionQuestion,
    check_drawn,
    check_not_split,
    document_rows,
    family_of,
    graded_partition,
    graded_pool,
    merged,
    queries_of,
    query_rows,
    with_topics,
)
from pt_active.plans.answers.forecast import Forecast, level_by_part, level_told, rows_to_compare
from pt_active.plans.making.manifest import LevelChoice, PlanArguments
from pt_active.plans.making.pool import query_weights
from pt_active.plans.making.queries import DESIGN
from pt_active.plans.making.rankers import Pairs, listed_weights, pair_weights
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import Cost, UnitCost, check_per_query, unit_of
from pt_active.relevance.measures import has_rank_form, rank_form
from pt_active.sampling.designs import defensive_share, needs_uniform_grades
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, REVEALED_VARIANCE, natural_drawing, usual_variance


class Engine(Protocol):
    """What brings functions to partitions, each of which holds all rows of its queries, ``run, qid, docno, score``."""

    def each(
        self, function: Callable[[pd.DataFrame, PartitionQuestion], Any], question: PartitionQuestion, what: str
    ) -> Iterable[Any]:
        """What a function says about each partition, in any order.

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
        if (told := self.told) is not None:
            check_drawn(self.measure, told)
        if told == "query":
            self._check_queries()
        elif told == "document":
            if self.design not in (None, *DOCUMENT_DRAWINGS):
                known = ", ".join(DOCUMENT_DRAWINGS)
                raise ValueError(f"unknown document design {self.design!r}; it is one of {known}")
            if self.design is not None and (self.design == "depth") != (family_of(self.measure) == "revealed"):
                raise ValueError(
                    f"out of core, the documents of {self.measure} are not drawn by {self.design}; leave out "
                    f'design="{self.design}"'
                )

    def _check_queries(self) -> None:
        if self.defensive is not None:
            within("defensive", self.defensive, 0, 1)
        needs_uniform_grades(self.design or DESIGN)

    @property
    def price(self) -> Cost:
        """The labelling cost."""
        return UnitCost() if self.cost is None else self.cost

    @property
    def told(self) -> str | None:
        """The level that leaves no choice; None if documents or queries can be drawn."""
        told = level_told(self.level, self.design, only_queries=self.draws is not None or bool(self.replace))
        return told or {"additive": None, "cascade": "query", "revealed": "document"}[family_of(self.measure)]

    def question(
        self, names: tuple[str, ...], grades: pt.Transformer, depth: int | None, allow_missing_queries: bool
    ) -> PartitionQuestion:
        """What is asked of the partitions; the arguments are those of `scan` and `ScannedRuns.plan`."""
        drawing = self.design if self.design in DOCUMENT_DRAWINGS else None
        uniform = drawing is None and needs_uniform_grades(self.design or DESIGN)
        asked = PartitionQuestion(names, grades, self.measure, self.price, uniform, depth, allow_missing_queries)
        return replace(asked, drawing=drawing, seed=int(self.seed))

    def arguments(self, level: str, population: AllQueries) -> PlanArguments:
        """The arguments of ``Plan.create``, with the defaults filled in."""
        rows, names, per_query = population.rows, population.question.names, float(self.price.per_query)
        if level == "query":
            self._check_queries()
            expected = self.draws or float(self.budget or 0) / float(population.weight @ rows.cost)
            design, defensive = DESIGN, defensive_share(expected)
        else:
            design, defensive = "depth", REVEALED_VARIANCE
            if has_rank_form(population.measure):
                form = rank_form(population.measure, rows.max_grade, rows.deepest)
                design, defensive = natural_drawing(form, len(names), per_query), usual_variance(form)
        return PlanArguments(
            measure=str(population.measure),
            cost=repr(self.price),
            per_query=per_query,
            design=self.design or design,
            cost_unit=unit_of(self.price) or None,
            level=level,
            seed=int(self.seed),
            budget=self.budget,
            draws=self.draws,
            replace=bool(self.replace),
            defensive=defensive if self.defensive is None else self.defensive,
            objective="mean",
            pairs=listed_weights(pair_weights(self.pairs, names), names),
        )


def plan_by(
    engine: Engine,
    question: PartitionQuestion,
    settings: Settings,
    topics: pd.DataFrame | None,
    folder: Path | None = None,
) -> Plan:
    """A plan from the partitions of an engine: numbers of all, and then the queries of what is drawn.

    Args:
        engine: What brings functions to the partitions.
        question: As `Settings.question` makes it.
        settings: How queries or documents are sampled.
        topics: The target population; None for all queries.
        folder: Where numbers of documents are kept while the plan is made; that for temporary files if left out.

    Raises:
        ValueError: If a query is split over partitions, an argument is out of range, or rows are malformed.
    """
    topics = None if topics is None else with_string_ids(topics)
    choice = _choice(engine, question, settings, topics) if settings.told is None else None
    level = settings.told or choice.level  # type: ignore[union-attr]
    numbers, planned = {
        "query": (query_rows, plan_of_queries),
        "document": (document_rows, plan_of_documents),
    }[level]
    what = "queries" if level == "query" else "documents"
    rows, queries = with_topics(merged(engine.each(numbers, question, what), folder), topics)

    def read(places: np.ndarray) -> pd.DataFrame:
        return graded_partition(engine.documents(rows.qid[places].tolist()), question)

    population = AllQueries(rows, queries, question, topics, choice, folder, read)
    return Plan._of(planned(population, settings.arguments(level, population)))


def _choice(
    engine: Engine, question: PartitionQuestion, settings: Settings, topics: pd.DataFrame | None
) -> LevelChoice:
    """The level that `level_chosen` chooses in memory, by a part of the queries [theory 10]."""
    qids = np.sort(np.concatenate([*engine.each(queries_of, question, "queries"), np.empty(0, dtype=object)]))
    check_not_split(qids)
    columns = pd.DataFrame({"qid": qids})
    if topics is not None:
        columns = columns.merge(topics.drop_duplicates("qid"), on="qid")
    qids = columns["qid"].to_numpy(dtype=object)
    if not len(qids):
        raise ValueError(NO_QUERIES)
    places = rows_to_compare(len(qids))
    graded = graded_partition(engine.documents(qids[places].tolist()), question)
    pool, measure = graded_pool(graded, question)
    weight = query_weights(columns)[places]
    part = Forecast(replace(pool, query_weight=weight / weight.sum()), measure, float(question.cost.per_query))
    pairs = pair_weights(settings.pairs, pool.names)
    return level_by_part(part, len(qids), settings.budget, settings.defensive, pairs)
