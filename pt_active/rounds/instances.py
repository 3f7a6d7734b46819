"""What rounds draw: queries of a graded pool, or query–document pairs with a grade predictor under test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import check_grades, check_pairs, grade_columns, slice_rows, with_string_ids
from pt_active.frames.qrels import Labels, check_policy, checked_qrels, drawn_labels, missing_pairs
from pt_active.inference import statistics
from pt_active.inference.statistics import Area, Statistic
from pt_active.plans.making.labelled import measured_values
from pt_active.plans.making.pool import Pool
from pt_active.relevance.introspection import introspection
from pt_active.relevance.losses import FMeasure, Loss, PairMeasure, Terms, label_table, relevance
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import difference_moments, optimal_score

Measure = str | irm.Measure | PairMeasure
"""Of rankings, or of a grade predictor on pairs."""


@dataclass(frozen=True)
class Instances:
    """A pool of instances and what is asked of them; see `QueryInstances` and `PairInstances`.

    Attributes:
        frame: The documents, one row each, in an order that does not depend on the rows that came.
        instance: int64[D], the instance that each document belongs to, increasing.
        grades: float64[D, G+1], ``P(y = g)``.
        measure: What is drawn for.
    """

    frame: pd.DataFrame
    instance: np.ndarray
    grades: np.ndarray
    measure: irm.Measure | Loss

    @property
    def number(self) -> int:
        """N."""
        return int(self.instance[-1]) + 1

    @property
    def name(self) -> str:
        """What is measured, for printing."""
        raise NotImplementedError

    @property
    def beyond_score(self) -> frozenset[str]:
        """Strategies that look at more than the score g: kernel estimators are not consistent under them."""
        raise NotImplementedError

    def usual_estimator(self, of_slice: bool) -> str:
        """The estimator if none is named.

        Args:
            of_slice: Whether the estimate is confined to a slice.
        """
        raise NotImplementedError

    @property
    def level(self) -> str:
        """``query`` or ``pair``, as `results.Basis` has it."""
        raise NotImplementedError

    def score(self) -> np.ndarray:
        """What the model predicts of every instance, g, float64[N]."""
        raise NotImplementedError

    def size(self, believed: np.ndarray) -> np.ndarray:
        """float64[N], what the probability of drawing should be proportional to if labels follow ``believed``."""
        raise NotImplementedError

    def wanted(self, measure: Measure) -> np.ndarray:
        """bool[D], the documents of a drawn instance that need a label."""
        raise NotImplementedError

    def parsed(self, measure: Measure) -> irm.Measure | PairMeasure:
        """The measure, checked."""
        raise NotImplementedError

    def statistic(
        self, measure: Measure, labels: np.ndarray, expected: bool, slice: str | None = None
    ) -> tuple[Statistic | np.ndarray, np.ndarray | None]:
        """What is estimated from labels.

        Args:
            measure: What `parsed` takes.
            labels: int64[D], -1 where there is none.
            expected: Whether a missing label counts as the model expects it, rather than as grade 0.
            slice: A column of the frame that is true on a slice, for queries; a measure of pairs says its own.

        Returns:
            The values of a mean, float64[N], and what the model expects of them; or a statistic and None.
        """
        raise NotImplementedError

    def labels(self, qrels: pd.DataFrame, drawn: np.ndarray, wanted: np.ndarray, missing: str) -> Labels:
        """The labels of drawn instances, in the order of the frame.

        Args:
            qrels: ``qid, docno, label``.
            drawn: bool[N], the instances that were drawn.
            wanted: bool[D], the documents of drawn instances that need a label.
            missing: One of `qrels.MISSING_POLICIES`.

        Raises:
            ValueError: If the policy is unknown, a label is not one of the model's grades, or one is missing and the
                policy is ``"error"``.
        """
        check_policy(missing)
        inside = drawn[self.instance]
        label = np.full(len(inside), -1, dtype=np.int64)
        what = "pair" if self.level == "pair" else "document"
        max_grade = self.grades.shape[1] - 1
        found, ignored = drawn_labels(self.frame[inside], checked_qrels(qrels), max_grade, what)
        label[inside] = np.nan_to_num(found, nan=-1.0)
        return Labels(label, missing_pairs(self.frame, inside & wanted & (label < 0), missing, what), ignored)


@dataclass(frozen=True)
class QueryInstances(Instances):
    """Queries; what is estimated is a measure of one ranker, or the first's minus the second's.

    Attributes:
        pool: All queries.
    """

    measure: irm.Measure
    pool: Pool

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: str | irm.Measure) -> QueryInstances:
        """Build the instances of a graded frame.

        Args:
            frame: A graded frame of one or two rankers: ``qid, docno``, their ranks, and ``grade_0 … grade_G``.
            measure: ``DCG@10``, …

        Raises:
            ValueError: As `Pool.from_frame` does, and if there are more than two rankers.
        """
        columns = grade_columns(frame.columns)
        parsed = parse_measure(measure, max_grade=len(columns) - 1 if columns else None)
        pool = Pool.from_frame(frame, parsed)
        if len(pool.names) > 2:
            raise ValueError(f"rounds are for one ranker or the difference of two; the pool has {some(pool.names)}")
        ordered = pool.keys.merge(with_string_ids(frame), how="left", on=["qid", "docno"])
        return cls(ordered, pool.query_of_document, pool.grades, parsed, pool)

    @property
    def beyond_score(self) -> frozenset[str]:
        """All that are active: the design knows the variance of a query beside its mean."""
        return frozenset({"ori", "rec", "rf"})

    def usual_estimator(self, of_slice: bool) -> str:
        """``lur_regression``, and ``lur`` for slices."""
        return "lur" if of_slice else "lur_regression"

    @property
    def name(self) -> str:
        """The ranker, or the two with a minus."""
        return " − ".join(self.pool.names)

    @property
    def level(self) -> str:
        """``query``."""
        return "query"

    @property
    def scale(self) -> np.ndarray:
        """``N p``, float64[N]: the plain mean of ``N p ℓ`` is the weighted mean of ℓ."""
        return self.pool.query_weight * self.number

    @cached_property
    def expectations(self) -> Moments:
        """The measure's moments under the model as it came."""
        return self.pool.moments(self.measure)

    def score(self) -> np.ndarray:
        """``N p M``, M what the model expects of the query [theory 7]."""
        return self.scale * self._contrast(self.expectations.mean)

    def size(self, believed: np.ndarray) -> np.ndarray:
        """``p √((M − Ř)² + C)`` [T 6.10, 6.11]."""
        moments = self.expectations
        if believed is not self.grades:
            moments = replace(self.pool, grades=np.ascontiguousarray(believed)).moments(self.measure)
        mean, variance = moments.mean[:, 0], moments.covariance[:, 0, 0]
        if len(self.pool.names) == 2:
            mean, variance = difference_moments(moments.mean, moments.covariance, 0, 1)
        return self.scale * np.sqrt(optimal_score(mean, variance, self.pool.query_weight))

    def wanted(self, measure: Measure) -> np.ndarray:
        """The documents above the cutoff in some ranker."""
        return self.pool.seen(self.parsed(measure))

    def parsed(self, measure: Measure) -> irm.Measure:
        """As `parse_measure` returns it.

        Raises:
            ValueError: As it does, and if the measure is one of pairs.
        """
        if isinstance(measure, PairMeasure):
            raise ValueError(f"{measure} is of pairs; queries are drawn here, for a measure of rankings such as DCG@10")
        return parse_measure(measure, self.pool.max_grade)

    def statistic(
        self, measure: Measure, labels: np.ndarray, expected: bool, slice: str | None = None
    ) -> tuple[Statistic | np.ndarray, np.ndarray | None]:
        """The mean of the measure; over a slice of queries the ratio of means."""
        parsed = self.parsed(measure)
        values = self.scale * self._contrast(measured_values(self.pool, parsed, labels, expected))
        if slice is not None:
            member = slice_rows(self.frame, slice)
            inside = np.bincount(self.instance, weights=member, minlength=self.number) > 0
            return statistics.ratio(values * inside, self.scale * inside), None
        moments = self.expectations if parsed == self.measure else self.pool.moments(parsed)
        return values, self.scale * self._contrast(moments.mean)

    def _contrast(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] - values[:, 1] if len(self.pool.names) == 2 else values[:, 0]


@dataclass(frozen=True)
class PairInstances(Instances):
    """Query–document pairs; what is estimated is how well a grade predictor does on them."""

    measure: Loss

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: PairMeasure) -> PairInstances:
        """Build the instances of a frame.

        Args:
            frame: ``qid, docno, grade_0 … grade_G``, the grades being what the predictor under test says.
            measure: A loss of grades.

        Raises:
            ValueError: If the frame is empty, a column is missing, a pair stands there twice, a grade probability is
                impossible, or the measure is no loss or does not fit the grades.
        """
        if not isinstance(measure, Loss):
            raise ValueError(
                f"no sample can be designed for {measure}; draw for CrossEntropy(), and estimate {measure} from it"
            )
        columns = grade_columns(frame.columns)
        if absent := {"qid", "docno"} - set(frame.columns):
            raise ValueError(f"the pairs need the columns qid, docno; they lack {some(sorted(absent))}")
        if frame.empty or len(columns) < 2:
            raise ValueError("the pairs need rows with grade columns grade_0, grade_1, …: what the predictor says")
        frame = with_string_ids(frame).sort_values(["qid", "docno"], kind="stable").reset_index(drop=True)
        check_pairs(frame, "the pairs")
        grades = np.ascontiguousarray(frame[columns].to_numpy(dtype=np.float64))
        check_grades(frame, grades)
        measure.grades_allowed(len(columns) - 1)
        made = cls(frame, np.arange(len(frame)), grades, measure)
        made.table(measure)
        return made

    @property
    def beyond_score(self) -> frozenset[str]:
        """``rf``, and ``rec`` where it bends more than two grades apart.

        All that are active where the design sees who belongs to a slice, or how a loss spreads over more than two
        grades beside its mean.
        """
        two, loss = self.grades.shape[1] == 2, self.measure
        if loss.slice is not None or not (two or loss.proportion or loss.drawn_by_mean):
            return frozenset({"ori", "rec", "rf"})
        return frozenset({"rf"} if two else {"rf", "rec"})

    def usual_estimator(self, of_slice: bool) -> str:
        """``aiipw_ratio``, and ``lur`` where a slice was drawn for, of which the score says nothing."""
        return "aiipw_ratio" if self.measure.slice is None else "lur"

    @property
    def name(self) -> str:
        """``grades``."""
        return "grades"

    @property
    def level(self) -> str:
        """``pair``."""
        return "pair"

    def table(self, loss: Loss) -> Terms:
        """``u`` and ``w`` of the predictor for every label, float64[N, G+1] each; see `label_table`."""
        member = slice_rows(self.frame, loss.slice)
        return label_table(loss, loss.decision(self.grades), self.grades.shape[1], member)

    def score(self) -> np.ndarray:
        """``P(y ≥ rel)``, which is all that two grades say; of a loss over more grades its expectation [theory 7].

        In a slice and outside it alike, since other measures are estimated from the same labels.
        """
        if self.grades.shape[1] == 2:
            return self.grades[:, 1]
        if isinstance(self.measure, FMeasure):
            return relevance(self.grades, self.measure.rel)
        return np.asarray((self.grades * self.table(replace(self.measure, slice=None))[0]).sum(axis=1))

    def size(self, believed: np.ndarray) -> np.ndarray:
        """``√E[(u − Ǧ w)²]`` with the introspective ``Ǧ = Σ E[u] / Σ E[w]`` [T 4.25].

        For the cross-entropy the expected loss, ``Σ_y P(y) (−log f(y))`` [AI, with the sign that makes it positive].

        Raises:
            ValueError: If no label at all would give a pair a weight, such as the precision of a predictor that calls
                nothing relevant.
        """
        u, w = self.table(self.measure)
        if self.measure.drawn_by_mean:
            return np.asarray((believed * u).sum(axis=1))
        weight = slice_rows(self.frame, self.measure.slice) / 1.0
        weight /= weight.sum()
        moments = introspection([(u, w)], believed, weight, self.measure.proportion).moments
        return np.sqrt(optimal_score(moments.mean[:, 0], moments.covariance[:, 0, 0], weight))

    def wanted(self, measure: Measure) -> np.ndarray:
        """All."""
        return np.ones(len(self.frame), dtype=bool)

    def parsed(self, measure: Measure) -> Loss | Area:
        """A loss or an area that fits the grades.

        Raises:
            ValueError: If it is neither, or does not fit.
        """
        if not isinstance(measure, Loss | Area):
            raise ValueError(
                f"a measure of pairs is a loss or an area, such as Precision(rel=2) or AUC(), got {measure!r}"
            )
        measure.grades_allowed(self.grades.shape[1] - 1)
        return measure

    def statistic(
        self, measure: Measure, labels: np.ndarray, expected: bool, slice: str | None = None
    ) -> tuple[Statistic | np.ndarray, np.ndarray | None]:
        """A mean loss, a ratio (a mean over a slice is one), or an area under a curve."""
        chosen = self.parsed(measure)
        if slice is not None:
            raise ValueError(f"a measure of pairs says its slice itself: slice={slice!r} belongs into {chosen}")
        known = np.eye(self.grades.shape[1])[np.maximum(labels, 0)]
        found = np.where((labels < 0)[:, None], self.grades, known) if expected else known
        if isinstance(chosen, Area):
            area = chosen.statistic(relevance(self.grades, chosen.rel), relevance(found, chosen.rel))
            return statistics.within(area, slice_rows(self.frame, chosen.slice)), None
        tables = self.table(chosen)
        u, w = ((found * table).sum(axis=1) for table in tables)
        if (tables[1] == 1).all():
            return u, np.asarray((self.grades * tables[0]).sum(axis=1))
        return statistics.ratio(u, w), None
