"""What rounds draw: queries of a graded pool, or query–document pairs with a grade predictor under test."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.designs import difference_moments, optimal_score
from pt_active.judged import MISSING_POLICIES, measured_values
from pt_active.measures import parse_measure
from pt_active.moments import Moments
from pt_active.pool import Pool
from pt_active.rounds import losses, statistics
from pt_active.rounds.statistics import Statistic


@dataclass(frozen=True)
class Instances:
    """A pool of instances and what is asked of them; see `QueryInstances` and `PairInstances`.

    Attributes:
        frame: The documents, one row each, in an order that does not depend on the rows that came.
        instance: int64[D], the instance that each document belongs to, increasing.
        grades: float64[D, G+1], ``P(y = g)``.
    """

    frame: pd.DataFrame
    instance: np.ndarray
    grades: np.ndarray

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
        """``query`` or ``document``, as `results.Basis` has it."""
        raise NotImplementedError

    def score(self) -> np.ndarray:
        """What the model predicts of every instance, g, float64[N]."""
        raise NotImplementedError

    def size(self, believed: np.ndarray) -> np.ndarray:
        """float64[N], what the probability of drawing should be proportional to if labels follow ``believed``."""
        raise NotImplementedError

    def wanted(self, measure: str | irm.Measure) -> np.ndarray:
        """bool[D], the documents of a drawn instance that need a label."""
        raise NotImplementedError

    def parsed(self, measure: str | irm.Measure) -> str | irm.Measure:
        """The measure, checked."""
        raise NotImplementedError

    def statistic(
        self, measure: str | irm.Measure, labels: np.ndarray, expected: bool, where: np.ndarray
    ) -> tuple[Statistic | np.ndarray, np.ndarray | None]:
        """What is estimated from labels.

        Args:
            measure: As `parsed` returns it.
            labels: int64[D], -1 where there is none.
            expected: Whether a missing label counts as the model expects it, rather than as grade 0.
            where: bool[D], the slice.

        Returns:
            The values of a mean, float64[N], and what the model expects of them; or a statistic and None.
        """
        raise NotImplementedError

    def labels(
        self, qrels: pd.DataFrame, drawn: np.ndarray, wanted: np.ndarray, missing: str
    ) -> tuple[np.ndarray, tuple[tuple[str, str], ...], int]:
        """int64[D] labels (-1 where there is none), the pairs that lack one, and how many belong to nothing drawn.

        Args:
            qrels: ``qid, docno, label``.
            drawn: bool[N], the instances that were drawn.
            wanted: bool[D], the documents of drawn instances that need a label.
            missing: One of `judged.MISSING_POLICIES`.

        Raises:
            ValueError: If the policy is unknown, a label is not one of the model's grades, or one is missing and the
                policy is ``"error"``.
        """
        if missing not in MISSING_POLICIES:
            raise ValueError(f"unknown missing {missing!r}; it is one of {', '.join(MISSING_POLICIES)}")
        qrels, inside = frames.checked_qrels(qrels), drawn[self.instance]
        documents = self.frame[["qid", "docno"]].assign(inside=inside)
        asked = documents[inside].merge(qrels, on=["qid", "docno"])
        frames.checked_qrels(asked, self.grades.shape[1] - 1)
        if asked.empty:
            raise ValueError("no label is of a drawn document; do the qids and docnos of the qrels match the pool's?")
        label = documents.merge(qrels, how="left", on=["qid", "docno"])["label"].fillna(-1).to_numpy(np.int64)
        label = np.where(inside, label, -1)
        if ignored := len(qrels) - len(asked):
            warnings.warn(
                f"{ignored} labels of what was not drawn are ignored: hand-picked judgments are not part of the sample",
                stacklevel=4,
            )
        return label, self._missing(inside & wanted & (label < 0), missing), ignored

    def _missing(self, unlabelled: np.ndarray, missing: str) -> tuple[tuple[str, str], ...]:
        pairs = tuple(self.frame.loc[unlabelled, ["qid", "docno"]].itertuples(index=False, name=None))
        if pairs and missing == "error":
            raise ValueError(
                f"{len(pairs)} drawn documents have no label: {frames.some(pairs)}; judge them, or say "
                'missing="nonrelevant" or missing="expected"'
            )
        return pairs


@dataclass(frozen=True)
class QueryInstances(Instances):
    """Queries; what is estimated is a measure of one ranker, or the first's minus the second's.

    Attributes:
        pool: All queries.
        measure: What is drawn for.
    """

    pool: Pool
    measure: irm.Measure

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: str | irm.Measure) -> QueryInstances:
        """Build the instances of a graded frame.

        Args:
            frame: As for `Pool.from_frame`, of one or two rankers.
            measure: ``DCG@10``, …

        Raises:
            ValueError: As `Pool.from_frame` does, and if there are more than two rankers.
        """
        columns = frames.grade_columns(frame.columns)
        parsed = parse_measure(measure, max_grade=len(columns) - 1 if columns else None)
        pool = Pool.from_frame(frame, parsed)
        if len(pool.names) > 2:
            raise ValueError(
                f"rounds are for one ranker or the difference of two; the pool has {frames.some(pool.names)}"
            )
        documents = pd.DataFrame({"qid": pool.qids[pool.query_of_document], "docno": pool.docno})
        ordered = documents.merge(frames.with_string_ids(frame), how="left", on=["qid", "docno"])
        return cls(ordered, pool.query_of_document, pool.grades, pool, parsed)

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

    def wanted(self, measure: str | irm.Measure) -> np.ndarray:
        """The documents above the cutoff in some ranker."""
        return self.pool.seen(parse_measure(measure))

    def parsed(self, measure: str | irm.Measure) -> irm.Measure:
        """As `parse_measure` returns it."""
        return parse_measure(measure, self.pool.max_grade)

    def statistic(
        self, measure: str | irm.Measure, labels: np.ndarray, expected: bool, where: np.ndarray
    ) -> tuple[Statistic | np.ndarray, np.ndarray | None]:
        """The mean of the measure; over a slice of queries the ratio of means."""
        parsed = self.parsed(measure)
        values = self.scale * self._contrast(measured_values(self.pool, parsed, labels, expected))
        if not where.all():
            inside = np.bincount(self.instance, weights=where, minlength=self.number) > 0
            return statistics.ratio(values * inside, self.scale * inside), None
        moments = self.expectations if parsed == self.measure else self.pool.moments(parsed)
        return values, self.scale * self._contrast(moments.mean)

    def _contrast(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] - values[:, 1] if len(self.pool.names) == 2 else values[:, 0]


@dataclass(frozen=True)
class PairInstances(Instances):
    """Query–document pairs; what is estimated is how well a grade predictor does on them.

    Attributes:
        measure: A name in `losses.PAIR_MEASURES`.
        relevant: The lowest relevant grade.
    """

    measure: str
    relevant: int

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: str, relevant: int) -> PairInstances:
        """Build the instances of a frame.

        Args:
            frame: ``qid, docno, grade_0 … grade_G``, the grades being what the predictor under test says.
            measure: A name in `losses.PAIR_MEASURES`.
            relevant: The lowest relevant grade, from 1 to G.

        Raises:
            ValueError: If the frame is empty, a column is missing, a pair stands there twice, a grade probability is
                impossible, the measure is unknown or the relevant grade out of range.
        """
        losses.pair_measure(measure)
        columns = frames.grade_columns(frame.columns)
        if absent := {"qid", "docno"} - set(frame.columns):
            raise ValueError(f"the pairs need the columns qid, docno; they lack {frames.some(sorted(absent))}")
        if frame.empty or len(columns) < 2:
            raise ValueError("the pairs need rows with grade columns grade_0, grade_1, …: what the predictor says")
        if not 1 <= relevant < len(columns):
            raise ValueError(f"relevant must lie between 1 and the highest grade, {len(columns) - 1}, got {relevant}")
        frame = frames.with_string_ids(frame).sort_values(["qid", "docno"], kind="stable").reset_index(drop=True)
        frames.check_pairs(frame, "the pairs")
        grades = np.ascontiguousarray(frame[columns].to_numpy(dtype=np.float64))
        frames.check_grades(frame, grades)
        return cls(frame, np.arange(len(frame)), grades, measure, relevant)

    @property
    def beyond_score(self) -> frozenset[str]:
        """``rf``, and ``rec`` where it bends more than two grades apart."""
        return frozenset({"rf"} if self.grades.shape[1] == 2 else {"rf", "rec"})

    def usual_estimator(self, of_slice: bool) -> str:
        """``aiipw_ratio``."""
        return "aiipw_ratio"

    @property
    def name(self) -> str:
        """``grades``."""
        return "grades"

    @property
    def level(self) -> str:
        """``document``."""
        return "document"

    def score(self) -> np.ndarray:
        """``P(y ≥ rel)``, which is all that two grades say; of a loss over more grades its expectation [theory 7]."""
        measure = losses.pair_measure(self.measure)
        if self.grades.shape[1] == 2 or measure.denominator is not None:
            return losses.relevance(self.grades, self.relevant)
        return self._expected(measure.numerator)

    def size(self, believed: np.ndarray) -> np.ndarray:
        """See `losses.expected_size`."""
        return losses.expected_size(losses.pair_measure(self.measure), self.grades, believed, self.relevant)

    def wanted(self, measure: str | irm.Measure) -> np.ndarray:
        """All."""
        return np.ones(len(self.frame), dtype=bool)

    def parsed(self, measure: str | irm.Measure) -> str:
        """A name in `losses.PAIR_MEASURES` or `losses.PAIR_AREAS`."""
        if measure not in losses.PAIR_AREAS:
            losses.pair_measure(str(measure))
        return str(measure)

    def statistic(
        self, measure: str | irm.Measure, labels: np.ndarray, expected: bool, where: np.ndarray
    ) -> tuple[Statistic | np.ndarray, np.ndarray | None]:
        """A mean loss, a ratio (a mean over a slice is one), or an area under a curve."""
        name = self.parsed(measure)
        known = np.eye(self.grades.shape[1])[np.maximum(labels, 0)]
        found = np.where((labels < 0)[:, None], self.grades, known) if expected else known
        if name in losses.PAIR_AREAS:
            area = statistics.area_under_roc if name == "AUC" else statistics.average_precision
            truth = losses.relevance(found, self.relevant)
            return statistics.within(area(losses.relevance(self.grades, self.relevant), truth), where), None
        chosen = losses.PAIR_MEASURES[name]
        u = (found * chosen.numerator(self.grades, self.relevant)).sum(axis=1)
        if chosen.denominator is None and where.all():
            return u, self._expected(chosen.numerator)
        w = np.ones(len(u))
        if chosen.denominator is not None:
            w = (found * chosen.denominator(self.grades, self.relevant)).sum(axis=1)
        return statistics.ratio(u * where, w * where), None

    def _expected(self, table: losses.Table) -> np.ndarray:
        return np.asarray((self.grades * table(self.grades, self.relevant)).sum(axis=1))
