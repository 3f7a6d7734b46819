"""The instances that rounds draw: queries of a graded pool, or query–document pairs of a grade predictor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, some
from pt_active.frames.columns import grade_columns, ranker_names, slice_rows, with_string_ids
from pt_active.inference import statistics
from pt_active.inference.statistics import Area, Statistic
from pt_active.plans.making.labelled import measured_values
from pt_active.plans.making.pool import Pool
from pt_active.relevance.introspection import introspection
from pt_active.relevance.losses import FMeasure, Loss, PairMeasure, Terms, label_table, relevance
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import Moments
from pt_active.risk.pairs import checked_pairs, label_model
from pt_active.sampling.designs import contrast_moments, optimal_score

Measure = str | irm.Measure | PairMeasure  # A measure of rankings, or of a grade predictor on pairs

Values = tuple[Statistic | np.ndarray, np.ndarray | None]
"""The values whose mean is estimated, float64[N], or a statistic of them; and what the model expects of the values."""


@dataclass(frozen=True)
class _Drawable:
    """What rounds draw: instances with their documents, whose labels they need."""

    level: ClassVar[str]  # the unit that is drawn, ``query`` or ``pair``

    frame: pd.DataFrame  # one row per document, sorted by id so that the order of the input rows does not matter
    instance: np.ndarray  # int64[D], the index of each document's instance, increasing
    grades: np.ndarray  # float64[D, G+1], P(y = g)

    @property
    def number(self) -> int:
        """N, the number of instances."""
        return int(self.instance[-1]) + 1


@dataclass(frozen=True)
class QueryInstances(_Drawable):
    """Queries, for a measure of one ranker or for the difference of two rankers, first minus second."""

    level = "query"
    # The design uses the variance of a query's value as well as its mean, so all active strategies go beyond the score.
    beyond_score: ClassVar[frozenset[str]] = frozenset({"ori", "rec", "rf"})
    usual_estimator: ClassVar[str] = "lur_regression"

    measure: irm.Measure
    pool: Pool

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: str | irm.Measure) -> QueryInstances:
        """Build the instances of a graded frame."""
        if not ranker_names(frame.columns):
            raise ValueError(
                f"the pool has no ranker, so its grades are tested, which takes a loss such as CrossEntropy() or "
                f"Precision(rel=2), not {measure!r}"
            )
        columns = grade_columns(frame.columns)
        parsed = parse_measure(measure, max_grade=len(columns) - 1 if columns else None)
        pool = Pool.from_frame(frame, parsed)
        if len(pool.names) > 2:
            raise ValueError(f"rounds are for one ranker or the difference of two; the pool has {some(pool.names)}")
        ordered = pool.keys.merge(with_string_ids(frame), how="left", on=["qid", "docno"])
        return cls(ordered, pool.query_of_document, pool.grades, parsed, pool)

    @property
    def name(self) -> str:
        """The ranker, or both with a minus between them."""
        return " − ".join(self.pool.names)

    @cached_property
    def expectations(self) -> Moments:
        """The measure's moments under the original model."""
        return self.pool.moments(self.measure)

    def score(self) -> np.ndarray:
        """float64[N], ``N p M``, where M is the measure's expectation for the query under the model [theory 7]."""
        return self._of_queries(self.expectations.mean)

    def size(self, believed: np.ndarray) -> np.ndarray:
        """float64[N], ``p √((M − Ř)² + C)``, to which chances should be proportional [T 6.10, 6.11]."""
        pool = replace(self.pool, grades=np.ascontiguousarray(believed))
        moments = self.expectations if believed is self.grades else pool.moments(self.measure)
        mean, variance = moments.mean[:, 0], moments.covariance[:, 0, 0]
        if len(self.pool.names) == 2:
            mean, variance = contrast_moments(moments, 0, 1)
        return self._scale * np.sqrt(optimal_score(mean, variance, self.pool.query_weight))

    def wanted(self, measure: Any) -> np.ndarray:
        """bool[D], the documents that at least one ranker places above the cutoff."""
        return self.pool.seen(measure)

    def parsed(self, measure: Measure) -> irm.Measure:
        """The measure of rankings."""
        if isinstance(measure, PairMeasure):
            raise ValueError(f"{measure} is a measure of pairs; this test draws queries, for measures such as DCG@10")
        return parse_measure(measure, self.pool.max_grade)

    def statistic(self, measure: Any, labels: np.ndarray) -> Values:
        """The mean of the measure, from labels int64[D]."""
        values = self._of_queries(measured_values(self.pool, measure, labels))
        moments = self.expectations if measure == self.measure else self.pool.moments(measure)
        return values, self._of_queries(moments.mean)

    @property
    def _scale(self) -> np.ndarray:
        """``N p``, float64[N]: the plain mean of ``N p ℓ`` is the weighted mean of ℓ."""
        return self.pool.query_weight * self.number

    def _of_queries(self, values: np.ndarray) -> np.ndarray:
        """float64[N], values of each ranker as one value of each query, on the scale of the mean."""
        return self._scale * (values[:, 0] - values[:, 1] if len(self.pool.names) == 2 else values[:, 0])


@dataclass(frozen=True)
class PairInstances(_Drawable):
    """Query–document pairs, for a measure of a grade predictor: the grades of the frame are under test."""

    level = "pair"
    name: ClassVar[str] = "grades"

    measure: Loss

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: PairMeasure) -> PairInstances:
        """Build the instances of a frame."""
        if not isinstance(measure, Loss):
            raise ValueError(
                f"no sample can be designed for {measure}; draw for CrossEntropy(), and estimate {measure} then"
            )
        if data_frame("pool", frame, "qid", "docno").empty or len(grade_columns(frame.columns)) < 2:
            raise ValueError("the pairs need rows, and the predictor's probabilities in grade_0, grade_1, …")
        frame = checked_pairs(frame, "the pairs").reset_index(drop=True)
        instances = cls(frame, np.arange(len(frame)), label_model(frame), measure)
        measure.grades_allowed(instances.grades.shape[1] - 1)
        instances.table(measure)  # raises if the slice or the loss does not fit the grades
        return instances

    @property
    def beyond_score(self) -> frozenset[str]:
        """Strategies whose probabilities depend on more than the score; kernel estimators need the score alone."""
        two, loss = self.grades.shape[1] == 2, self.measure
        if loss.slice is not None or not (two or loss.proportion or loss.drawn_by_mean):
            return QueryInstances.beyond_score
        return frozenset({"rf"} if two else {"rf", "rec"})

    @property
    def usual_estimator(self) -> str:
        """The default estimator, not ``aiipw_ratio`` if the measure has a slice, whose members no score tells."""
        return "aiipw_ratio" if self.measure.slice is None else "lur"

    def table(self, loss: Loss) -> Terms:
        """Numerator u and weight w of the predictor's loss under every label, float64[N, G+1] each."""
        member = slice_rows(self.frame, loss.slice)
        return label_table(loss, loss.decision(self.grades), self.grades.shape[1], member)

    def score(self) -> np.ndarray:
        """float64[N], ``P(y = 1)`` of two grades, ``P(y ≥ rel)`` for F, else the expected loss [theory 7]."""
        if self.grades.shape[1] == 2:
            return self.grades[:, 1]
        if isinstance(self.measure, FMeasure):
            return relevance(self.grades, self.measure.rel)
        return np.asarray((self.grades * self.table(replace(self.measure, slice=None))[0]).sum(axis=1))

    def size(self, believed: np.ndarray) -> np.ndarray:
        """float64[N], ``√E[(u − Ǧ w)²]`` with ``Ǧ = Σ E[u] / Σ E[w]`` [T 4.25]; for the cross-entropy its mean [AI]."""
        u, w = self.table(self.measure)
        if self.measure.drawn_by_mean:
            return np.asarray((believed * u).sum(axis=1))
        weight = slice_rows(self.frame, self.measure.slice) / 1.0
        weight /= weight.sum()
        moments = introspection([(u, w)], believed, weight, self.measure.proportion).moments
        return np.sqrt(optimal_score(moments.mean[:, 0], moments.covariance[:, 0, 0], weight))

    def wanted(self, measure: Any) -> np.ndarray:
        """bool[D], all True: every pair needs its label."""
        return np.ones(len(self.frame), dtype=bool)

    def parsed(self, measure: Measure) -> Loss | Area:
        """A loss or an area that fits the grades."""
        if not isinstance(measure, Loss | Area):
            raise ValueError(
                f"a measure of pairs is a loss or an area, such as Precision(rel=2) or AUC(), got {measure!r}"
            )
        measure.grades_allowed(self.grades.shape[1] - 1)
        return measure

    def statistic(self, measure: Any, labels: np.ndarray) -> Values:
        """A mean loss, a ratio (such as a mean over a slice), or an area under a curve, from labels int64[D]."""
        observed = np.eye(self.grades.shape[1])[np.maximum(labels, 0)]
        if isinstance(measure, Area):
            score, relevant = (relevance(each, measure.rel) for each in (self.grades, observed))
            area = measure.statistic(score, relevant)
            return statistics.within(area, slice_rows(self.frame, measure.slice)), None
        tables = self.table(measure)
        u, w = ((observed * table).sum(axis=1) for table in tables)
        if (tables[1] == 1).all():
            return u, np.asarray((self.grades * tables[0]).sum(axis=1))
        return statistics.ratio(u, w), None


Instances = QueryInstances | PairInstances


def instances_of(frame: pd.DataFrame, measure: Measure) -> Instances:
    """The instances that a test draws: pairs for a measure of predictors, else queries."""
    return (PairInstances if isinstance(measure, PairMeasure) else QueryInstances).of(frame, measure)  # type: ignore[arg-type]
