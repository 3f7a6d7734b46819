"""How are a plan and its labels joined, so that they are checked once and can be asked many times?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.qrels import checked_qrels
from pt_active.frames.strays import Strays
from pt_active.inference.estimators import ESTIMATOR
from pt_active.plans.answers.cut import cut_to_labels
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.judged_documents import JudgedDocuments, judged_documents
from pt_active.plans.answers.judged_queries import JudgedQueries, LabelledQueries, judged_queries
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import (
    labels_of_drawn,
    labels_of_queries,
    last_unseen_grades,
    model_means,
    query_chance,
    round_chance,
    strays_of,
    wanted_documents,
)
from pt_active.plans.making.queries import sample_of
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.chances import Clipped
from pt_active.sampling.sample import Sample

CUT_CAUTION = (
    "the plan was cut to what is judged: the interval here takes this number of labels as fixed beforehand, and that "
    "of the status holds however often one has looked"
)
"""The caution of estimates from a plan that was cut."""


def asked(
    tables: PlanTables,
    measure: str | irm.Measure | None = None,
    estimator: str = ESTIMATOR,
    confidence: float = 0.95,
    missing: str = "error",
    reference: str = "auto",
) -> How[irm.Measure]:
    """Check what is asked of a plan's labels."""
    wanted = tables.measure if measure is None else parse_measure(measure, tables.pool.max_grade)
    return How(wanted, estimator, confidence, missing, reference)


def labelled_plan(tables: PlanTables, qrels: pd.DataFrame) -> LabelledPlan[Any]:
    """Join the labels of a plan to the queries or documents that it drew.

    If the plan was cut to what is judged, labels of the part that was cut off are dropped without a warning.
    """
    qrels = checked_qrels(qrels)
    strays = strays_of(tables, qrels)
    if tables.manifest.cut:
        qrels = qrels.merge(tables.pool.keys.loc[wanted_documents(tables), ["qid", "docno"]], on=["qid", "docno"])
    if tables.rounds:
        label, ignored = labels_of_drawn(tables.pool, wanted_documents(tables), qrels)
    else:
        label, ignored = _labels_of_drawn_queries(tables, qrels)
    return (DocumentPlan if tables.rounds else QueryPlan)(tables, label, ignored, strays)


def plan_so_far(tables: PlanTables, label: np.ndarray) -> LabelledPlan[Any]:
    """A plan cut to what is judged, with its labels: what every estimate is from while labels come in.

    Shapes: label int64[N].
    """
    cut = cut_to_labels(tables, label)
    return (DocumentPlan if cut.rounds else QueryPlan)(cut, np.where(wanted_documents(cut), label, -1), 0)


def _labels_of_drawn_queries(tables: PlanTables, qrels: pd.DataFrame) -> tuple[np.ndarray, int]:
    drawn, label = tables.queries["q_draws"].to_numpy() > 0, np.full(len(tables.pool.docno), -1)
    label[wanted_documents(tables)], ignored = labels_of_queries(tables.pool.select(np.flatnonzero(drawn)), qrels)
    return label, ignored


Answering = TypeVar("Answering", bound=Judged)


@dataclass(frozen=True)
class LabelledPlan(ABC, Generic[Answering]):
    """A plan with its labels. The measured values are cached, so that many answers share them.

    Attributes:
        tables: The plan's content.
        label: int64[N], the label of each document that was to be judged; -1 for all others and if it is missing.
        ignored: The number of labels of what was not drawn.
        strays: The labels that belong to no document of the plan.
    """

    tables: PlanTables
    label: np.ndarray
    ignored: int
    strays: Strays = field(default_factory=Strays)
    _kept: dict[tuple[irm.Measure, str], Answering] = field(default_factory=dict, repr=False, compare=False)

    def judged(self, how: How[irm.Measure]) -> Answering:
        """The sample with its labels, made once for each measure and policy."""
        key = how.measure, how.missing
        if key not in self._kept:
            judged = self._made(how)
            caution = CUT_CAUTION if self.tables.manifest.cut else ""
            self._kept[key] = replace(judged, basis=replace(judged.basis, stopping_caution=caution))
        return self._kept[key]

    @abstractmethod
    def _made(self, how: How[irm.Measure]) -> Answering:
        """The sample with its labels for one measure and policy, not yet cached."""

    @abstractmethod
    def within(self, rows: np.ndarray, share: float, how: How[irm.Measure]) -> Answering | None:
        """The sample within a group of queries that was known before drawing, or None if it has no label there.

        Shapes: rows int64[r].
        """

    @property
    @abstractmethod
    def chance(self) -> np.ndarray:
        """float64[N], the probability that each drawn document was to be judged; 0 for all others."""

    @property
    @abstractmethod
    def unseen_grades(self) -> np.ndarray:
        """float64[N, G+1], for each document the grades of the model that chose it, made before its label was known."""

    @property
    @abstractmethod
    def planned(self) -> tuple[np.ndarray, str]:
        """How much of each query was to be judged, float64[m], and a name for that amount, for axes."""

    @property
    def drawn(self) -> np.ndarray:
        """int64[s], the queries that were drawn, or from which documents were drawn."""
        return np.flatnonzero(self.tables.queries["q_draws"].to_numpy() > 0)


@dataclass(frozen=True)
class QueryPlan(LabelledPlan[JudgedQueries]):
    """A plan that drew queries, with its labels."""

    @cached_property
    def sample(self) -> Sample:
        """The queries that were drawn."""
        return sample_of(self.tables)

    def _made(self, how: How[irm.Measure]) -> JudgedQueries:
        model = model_means(self.tables, how.measure)
        return judged_queries(
            LabelledQueries(self.tables.pool, self.sample, model, self.label, self.ignored, self.strays), how
        )

    def within(self, rows: np.ndarray, share: float, how: How[irm.Measure]) -> JudgedQueries | None:
        """The sample within a group of queries.

        ``p`` becomes ``p/P`` with the share P of the group, and the inclusion probabilities of its queries do not
        change. With replacement q becomes ``q/Q``, given how many draws fell into the group.
        """
        label = self.label[np.isin(self.tables.pool.query_of_document, rows)]
        if not (label >= 0).any():
            return None
        pool = self.tables.pool.select(rows)
        sample = self.sample.within(np.isin(np.arange(len(self.tables.queries)), rows))
        certain = int((sample.expected == 1).sum()) if not sample.repeated else 0
        sample = replace(sample, census=certain == int((pool.query_weight > 0).sum()))
        pool, model = replace(pool, query_weight=pool.query_weight / share), self.judged(how).pool_model[rows]
        judged = judged_queries(LabelledQueries(pool, sample, model, label, 0), how)
        return replace(judged, basis=replace(judged.basis, model_caution=""))

    @cached_property
    def chance(self) -> np.ndarray:
        """float64[N], the probability that each document's query was drawn (with replacement: n q over its draws)."""
        pool, chance = self.tables.pool, np.zeros(len(self.label))
        inside = np.isin(pool.query_of_document, self.drawn)
        chance[inside] = query_chance(pool.select(self.drawn), self.sample)
        return chance

    @property
    def unseen_grades(self) -> np.ndarray:
        """float64[N, G+1], the grades of the pool."""
        return self.tables.pool.grades

    @property
    def planned(self) -> tuple[np.ndarray, str]:
        """float64[m], the probability that each query is drawn (with replacement: its expected draws), and its name."""
        queries, manifest = self.tables.queries, self.tables.manifest
        q, cost, arguments = queries["q_prob"].to_numpy(), queries["q_cost"].to_numpy(float), manifest.arguments
        if manifest.census:
            return np.ones(len(q)), "chance of being drawn"
        if arguments.replace:
            return q * int(queries["q_draws"].sum()), "expected draws"
        if manifest.cut:
            amount = manifest.spent
        elif arguments.budget is not None or manifest.extensions:
            amount = manifest.limit
        else:
            amount, cost = float(arguments.draws or 0), np.ones(len(q))
        return np.minimum(1.0, Clipped.of(q, cost).factor(amount) * q), "chance of being drawn"


@dataclass(frozen=True)
class DocumentPlan(LabelledPlan[JudgedDocuments]):
    """A plan that drew documents in rounds, with its labels."""

    def _made(self, how: How[irm.Measure]) -> JudgedDocuments:
        tables = self.tables
        if how.measure != tables.measure:
            check_whole(tables, f"estimate {how.measure}", f"plan for {how.measure} from the same logs")
        rest = tables.manifest.rest
        return judged_documents(tables.pool, tables.rounds, self.label, self.ignored, how, self.strays, rest)

    def within(self, rows: np.ndarray, share: float, how: How[irm.Measure]) -> JudgedDocuments | None:
        """The sample within a group of queries: ``p`` becomes ``p/P`` with the group's share P, and 0 outside it."""
        return self.judged(how).within(rows, share, set(self.tables.pool.qids[rows]))

    @cached_property
    def chance(self) -> np.ndarray:
        """float64[N], the inclusion probability of each drawn document in the round that drew it."""
        return round_chance(self.tables.pool, self.tables.rounds)

    @property
    def unseen_grades(self) -> np.ndarray:
        """float64[N, G+1], for each document the grades of the round that drew it."""
        return last_unseen_grades(self.tables.rounds)

    @property
    def planned(self) -> tuple[np.ndarray, str]:
        """float64[m], the expected number of documents of each query that some round draws, and its name."""
        query = self.tables.pool.query_of_document
        chances = [each.sample.design.chance(query) for each in self.tables.rounds]
        left = np.prod([1 - chance for chance in chances], axis=0)
        return np.bincount(query, weights=1 - left, minlength=len(self.tables.queries)), "documents to be judged"
