"""A plan and the labels that came back: checked and joined once, and asked as often as one likes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.qrels import checked_qrels
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.rounds import judged_before
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.judged_documents import JudgedDocuments, judged_documents
from pt_active.plans.answers.judged_queries import JudgedQueries, LabelledQueries, judged_queries
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import (
    labels_of_drawn,
    labels_of_queries,
    last_unseen_grades,
    model_means,
    query_chance,
    round_chance,
)
from pt_active.plans.making.queries import sample_of
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.chances import Clipped
from pt_active.sampling.sample import Sample

CUT = (
    "the plan was cut to what is judged; the interval is that of a sample whose end was fixed beforehand, `status` has "
    "the one that holds however often one has looked"
)
"""The caution of estimates from a plan that was cut."""


def asked(
    tables: PlanTables,
    measure: str | irm.Measure | None = None,
    estimator: str = ESTIMATOR,
    confidence: float = 0.95,
    missing: str = "error",
    reference: str = "effective",
) -> How[irm.Measure]:
    """What is asked of a plan's labels; the arguments after the first are those of `Plan.estimate`.

    Raises:
        ValueError: If an argument is unknown or out of range.
    """
    wanted = tables.measure if measure is None else parse_measure(measure, tables.pool.max_grade)
    return How(wanted, estimator, confidence, missing, reference)


def labelled_plan(tables: PlanTables, qrels: pd.DataFrame) -> LabelledPlan[Any]:
    """Bring the labels of a plan together with what it drew.

    A plan that was cut to what is judged takes no notice of labels of what was cut off.

    Args:
        tables: What the plan holds.
        qrels: ``qid, docno, label``, as they came back, of all rounds. Labels of what was not drawn are ignored,
            counted and warned of.

    Raises:
        ValueError: If a label is not one of the model's grades, or none belongs to what was drawn.
    """
    qrels = checked_qrels(qrels)
    if tables.manifest.cut:
        qrels = qrels.merge(tables.pool.keys.loc[_wanted(tables), ["qid", "docno"]], on=["qid", "docno"])
    if tables.rounds:
        return DocumentPlan(tables, *labels_of_drawn(tables.pool, judged_before(tables.rounds), qrels))
    return QueryPlan(tables, *_labels_of_drawn_queries(tables, qrels))


def _wanted(tables: PlanTables) -> np.ndarray:
    """bool[N], the documents of what was drawn."""
    if tables.rounds:
        return judged_before(tables.rounds)
    return np.asarray((tables.queries["q_draws"].to_numpy() > 0)[tables.pool.query_of_document])


def _labels_of_drawn_queries(tables: PlanTables, qrels: pd.DataFrame) -> tuple[np.ndarray, int]:
    drawn, label = tables.queries["q_draws"].to_numpy() > 0, np.full(len(tables.pool.docno), -1)
    label[_wanted(tables)], ignored = labels_of_queries(tables.pool.select(np.flatnonzero(drawn)), qrels)
    return label, ignored


Answering = TypeVar("Answering", bound=Judged)


@dataclass(frozen=True)
class LabelledPlan(ABC, Generic[Answering]):
    """A plan with its labels. What is measured of them is kept, so that many answers share it.

    Attributes:
        tables: What the plan holds.
        label: int64[N], of each document that was to be judged, as it came; -1 elsewhere and where there is none.
        ignored: How many labels belong to nothing that was drawn.
    """

    tables: PlanTables
    label: np.ndarray
    ignored: int
    _kept: dict[tuple[irm.Measure, str], Answering] = field(default_factory=dict, repr=False, compare=False)

    def judged(self, how: How[irm.Measure]) -> Answering:
        """What the labels say of every draw, made once for each measure and policy.

        Args:
            how: The measure, and what to do about missing labels.

        Raises:
            ValueError: If labels are missing and the policy does not allow it, or the measure does not fit the plan.
        """
        key = how.measure, how.missing
        if key not in self._kept:
            found = self._made(how)
            caution = CUT if self.tables.manifest.cut else ""
            self._kept[key] = replace(found, basis=replace(found.basis, stopping_caution=caution))
        return self._kept[key]

    @abstractmethod
    def _made(self, how: How[irm.Measure]) -> Answering:
        """What `judged` keeps."""

    @abstractmethod
    def within(self, rows: np.ndarray, share: float, how: How[irm.Measure]) -> Answering | None:
        """The sample within a group of queries that was known before drawing, or None if it has no label there.

        Args:
            rows: int64[r], the queries of the group.
            share: Of the population's weight, above 0.
            how: The measure, and what to do about missing labels.
        """

    @property
    @abstractmethod
    def chance(self) -> np.ndarray:
        """float64[N], the probability with which each drawn document was to be judged; 0 elsewhere."""

    @property
    @abstractmethod
    def unseen_grades(self) -> np.ndarray:
        """float64[N, G+1], of each document the grades of the model that chose it, which had not seen its label."""

    @property
    @abstractmethod
    def planned(self) -> tuple[np.ndarray, str]:
        """How much of each query was to be judged, float64[m], and what that is."""

    @property
    def drawn(self) -> np.ndarray:
        """int64[s], the queries that were drawn, or of which documents were."""
        return np.flatnonzero(self.tables.queries["q_draws"].to_numpy() > 0)


@dataclass(frozen=True)
class QueryPlan(LabelledPlan[JudgedQueries]):
    """A plan that drew queries."""

    @cached_property
    def sample(self) -> Sample:
        """The queries that were drawn."""
        return sample_of(self.tables.queries, self.tables.manifest.census)

    def _made(self, how: How[irm.Measure]) -> JudgedQueries:
        model = model_means(self.tables, how.measure)
        return judged_queries(LabelledQueries(self.tables.pool, self.sample, model, self.label, self.ignored), how)

    def within(self, rows: np.ndarray, share: float, how: How[irm.Measure]) -> JudgedQueries | None:
        """``p`` becomes ``p/P`` with the share P of the group, and the chances of its queries stay what they were.

        With replacement q becomes ``q/Q``, given how many draws fell into the group.
        """
        label = self.label[np.isin(self.tables.pool.query_of_document, rows)]
        if not (label >= 0).any():
            return None
        pool = self.tables.pool.select(rows)
        sample = self.sample.within(np.isin(np.arange(len(self.tables.queries)), rows))
        certain = int((sample.expected == 1).sum()) if not sample.repeated else 0
        sample = replace(sample, census=certain == int((pool.query_weight > 0).sum()))
        pool, model = replace(pool, query_weight=pool.query_weight / share), self.judged(how).pool_model[rows]
        found = judged_queries(LabelledQueries(pool, sample, model, label, 0), how)
        return replace(found, basis=replace(found.basis, model_caution=""))

    @cached_property
    def chance(self) -> np.ndarray:
        """float64[N], the inclusion probability of each document's query; with replacement expected draws per draw."""
        pool, chance = self.tables.pool, np.zeros(len(self.label))
        inside = np.isin(pool.query_of_document, self.drawn)
        chance[inside] = query_chance(pool.select(self.drawn), self.sample)
        return chance

    @property
    def unseen_grades(self) -> np.ndarray:
        """The pool's."""
        return self.tables.pool.grades

    @property
    def planned(self) -> tuple[np.ndarray, str]:
        """The chance of each query to be drawn; with replacement the expected draws."""
        queries, manifest = self.tables.queries, self.tables.manifest
        q, cost, arguments = queries["q_prob"].to_numpy(), queries["q_cost"].to_numpy(float), manifest.arguments
        if manifest.census:
            return np.ones(len(q)), "chance of being drawn"
        if arguments.replace:
            return q * int(queries["q_draws"].sum()), "expected draws"
        if manifest.cut:
            amount = manifest.spent
        elif arguments.budget is not None:
            amount = arguments.budget
        else:
            amount, cost = float(arguments.draws or 0), np.ones(len(q))
        return np.minimum(1.0, Clipped.of(q, cost).factor(amount) * q), "chance of being drawn"


@dataclass(frozen=True)
class DocumentPlan(LabelledPlan[JudgedDocuments]):
    """A plan that drew documents, in rounds."""

    def _made(self, how: How[irm.Measure]) -> JudgedDocuments:
        return judged_documents(self.tables.pool, self.tables.rounds, self.label, self.ignored, how)

    def within(self, rows: np.ndarray, share: float, how: How[irm.Measure]) -> JudgedDocuments | None:
        """``p`` becomes ``p/P`` with the share P of the group, and 0 outside it."""
        return self.judged(how).within(rows, share, set(self.tables.pool.qids[rows]))

    @cached_property
    def chance(self) -> np.ndarray:
        """float64[N], the ``inclusion`` of each drawn document in the worklist of its round."""
        return round_chance(self.tables.pool, self.tables.rounds)

    @property
    def unseen_grades(self) -> np.ndarray:
        """Those of the round that drew each document."""
        return last_unseen_grades(self.tables.rounds)

    @property
    def planned(self) -> tuple[np.ndarray, str]:
        """The expected number of documents of each query that some round draws."""
        query = self.tables.pool.query_of_document
        chances = [each.sample.design.chance(query) for each in self.tables.rounds]
        left = np.prod([1 - chance for chance in chances], axis=0)
        return np.bincount(query, weights=1 - left, minlength=len(self.tables.queries)), "documents to be judged"
