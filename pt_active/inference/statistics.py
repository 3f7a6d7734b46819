"""Statistics of weighted instances in rounds: their value, and how each weight moves it [theory 7]."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from pt_active.inference.estimators import MeanEstimate, effective_size
from pt_active.relevance.losses import PairMeasure, check_rel


class Evaluated(NamedTuple):
    """A statistic of weighted labels, and which of them it rests on; axes before the last hold independent samples.

    Attributes:
        value: float64[...]; NaN where it is undefined.
        gradient: float64[..., N], ``∂T/∂a``.
        own_share: float64[..., N], what part of the statistic a label makes, ``a w / Σ a w`` of a mean over w. Left out
            of its own statistic, a label is ``1/(1 − own_share)`` times as far from it; 0 for labels that do not count.
        effective: float64[...], ``(Σ a w)² / Σ (a w)²``, as many equally weighted labels that count would say as much.
    """

    value: np.ndarray | float
    gradient: np.ndarray
    own_share: np.ndarray
    effective: np.ndarray | float


@dataclass(frozen=True)
class RoundEstimate(MeanEstimate):
    """An estimate, and how many labels it rests on.

    Attributes:
        effective: Effective number of the labels that count; the degrees of freedom are one less.
    """

    effective: float


Statistic = Callable[[np.ndarray], Evaluated]
"""Weights a float64[N], 0 without a label → what they make of the statistic."""


def mean(values: np.ndarray) -> Statistic:
    """``Σ a ℓ``; its gradient is ℓ.

    Args:
        values: float64[N], ℓ; not read where a is 0.
    """

    def evaluate(weights: np.ndarray) -> Evaluated:
        known = np.where(weights > 0, values, 0.0)
        return Evaluated(float(weights @ known), known, weights / weights.sum(), _effective(weights))

    return evaluate


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Statistic:
    """`ratio_of` numerators u and denominators w, float64[N] each; they are not read where a is 0."""

    def evaluate(weights: np.ndarray) -> Evaluated:
        known = weights > 0
        u, w = np.where(known, numerator, 0.0), np.where(known, denominator, 0.0)
        return ratio_of(u, w, weights, np.ones(len(weights)))

    return evaluate


def ratio_of(numerator: np.ndarray, denominator: np.ndarray, weights: np.ndarray, count: np.ndarray) -> Evaluated:
    """``G = Σ a u / Σ a w``, gradient ``(u − G w)/Σ a w`` [T 3.31, AI]; NaN where ``Σ a w = 0``.

    Args:
        numerator: float64[..., n], u.
        denominator: float64[..., n], w, not negative.
        weights: float64[..., n], what each draw weighs; a is as many times as much.
        count: int64[..., n], how often each was drawn.
    """
    total = (count * weights * denominator).sum(axis=-1)
    total = np.where(total > 0, total, np.nan)
    value = (count * weights * numerator).sum(axis=-1) / total
    gradient = (numerator - value[..., None] * denominator) / total[..., None]
    own_share = weights * denominator / total[..., None]
    return Evaluated(value, gradient, own_share, effective_size(count, weights * denominator))


def minus(first: Evaluated, second: Evaluated) -> Evaluated:
    """The difference of two statistics of the same labels; it rests on the fewer labels of the two."""
    return Evaluated(
        first.value - second.value,
        first.gradient - second.gradient,
        np.maximum(first.own_share, second.own_share),
        np.minimum(first.effective, second.effective),
    )


def area_under_roc(score: np.ndarray, relevant: np.ndarray) -> Statistic:
    """The chance that a relevant instance scores above one that is not; ties count half [AI].

    ``A = Σ a_i a_k y_i (1 − y_k) (1[s_i > s_k] + ½ 1[s_i = s_k]) / (P Q)`` with ``P = Σ a y`` and ``Q = Σ a (1 − y)``;
    the gradient is ``y_i (B_i − A)/P + (1 − y_i)(T_i − A)/Q``, B the weighted share of the others' class below
    and T above. What it rests on is the class with fewer effective labels: of plain draws the variance of an area is at
    most ``A(1 − A)`` over their number, since it is an average over ways to pair the classes off.

    Args:
        score: float64[N], s.
        relevant: float64[N], y in [0, 1].

    Returns:
        The statistic; NaN if only one class has a label.
    """
    order, first, last = _tied(score)

    def evaluate(weights: np.ndarray) -> Evaluated:
        y = np.where(weights > 0, relevant, 0.0)
        hits, misses = weights * y, weights * (1 - y)
        if not (hits.sum() > 0 and misses.sum() > 0):
            return _undefined(weights)
        below, above = np.empty_like(y), np.empty_like(y)
        sums = _cumulated(misses[order])
        below[order] = (sums[first] + sums[last]) / 2
        sums = _cumulated(hits[order])
        above[order] = sums[-1] - (sums[first] + sums[last]) / 2
        below, above = below / misses.sum(), above / hits.sum()
        area = float(hits @ below / hits.sum())
        gradient = y * (below - area) / hits.sum() + (1 - y) * (above - area) / misses.sum()
        share = hits / hits.sum() + misses / misses.sum()
        return Evaluated(area, gradient, share, min(_effective(hits), _effective(misses)))

    return evaluate


def average_precision(score: np.ndarray, relevant: np.ndarray) -> Statistic:
    """``Σ a y Prec(s) / Σ a y`` with ``Prec(s) = Σ a y 1[s_k ≥ s] / Σ a 1[s_k ≥ s]`` [AI].

    That is the area under the curve of precision over recall, taken as steps. Its gradient is
    ``[y_i (Prec(s_i) − A) + Σ_{s_k ≤ s_i} a_k y_k (y_i − Prec(s_k)) / D(s_k)] / Σ a y``, D the denominator of Prec.
    It is a mean over the relevant labels, and those count.

    Args:
        score: float64[N], s.
        relevant: float64[N], y in [0, 1].

    Returns:
        The statistic; NaN if nothing relevant has a label.
    """
    order, first, last = _tied(score)

    def evaluate(weights: np.ndarray) -> Evaluated:
        y = np.where(weights > 0, relevant, 0.0)[order]
        a = weights[order]
        total = (a * y).sum()
        if not total > 0:
            return _undefined(weights)
        above, hits = (_cumulated(part) for part in (a, a * y))
        above, hits = above[-1] - above[first], hits[-1] - hits[first]
        inverse = np.divide(1.0, above, out=np.zeros_like(above), where=above > 0)
        precision = hits * inverse
        area = float((a * y) @ precision / total)
        reached = _cumulated(a * y * inverse)[last], _cumulated(a * y * inverse * precision)[last]
        gradient, share = np.empty_like(a), np.empty_like(a)
        gradient[order] = (y * (precision - area) + y * reached[0] - reached[1]) / total
        share[order] = a * y / total
        return Evaluated(area, gradient, share, _effective(a * y))

    return evaluate


def within(statistic: Statistic, where: np.ndarray) -> Statistic:
    """A statistic of a slice of the pool: weights outside count as 0, and so do gradients.

    Args:
        statistic: Any.
        where: bool[N], the slice.
    """

    def evaluate(weights: np.ndarray) -> Evaluated:
        found = statistic(np.where(where, weights, 0.0))
        return found._replace(gradient=np.where(where, found.gradient, 0.0))

    return evaluate


def _effective(weights: np.ndarray) -> float:
    return float(effective_size(np.ones(len(weights)), weights))


def _undefined(weights: np.ndarray) -> Evaluated:
    return Evaluated(np.nan, np.full(len(weights), np.nan), np.zeros(len(weights)), 0.0)


def _tied(score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The increasing order of the scores, and where the ties of each place of it begin and end."""
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    return order, np.searchsorted(ordered, ordered), np.searchsorted(ordered, ordered, side="right")


def _cumulated(parts: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, … parts."""
    return np.concatenate([[0.0], np.cumsum(parts)])


@dataclass(frozen=True)
class Area(PairMeasure):
    """What the areas share.

    Args:
        rel: The lowest grade that counts as relevant, at least 1.

    Attributes:
        needs: What must be among the labels, in words.

    Raises:
        ValueError: If ``rel`` is out of range.
    """

    rel: int = 1
    needs: ClassVar[str]

    def __post_init__(self) -> None:
        check_rel(self.rel)

    @abstractmethod
    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """The area as a function of the labels' weights.

        Args:
            score: float64[N], ``P(y ≥ rel)`` by the predictor.
            relevant: float64[N] in [0, 1], whether the label is relevant.
        """

    def grades_allowed(self, max_grade: int) -> int:
        """The highest grade.

        Raises:
            ValueError: If no grade counts as relevant.
        """
        check_rel(self.rel, max_grade)
        return max_grade

    def _shown(self) -> dict[str, object]:
        return ({} if self.rel == 1 else {"rel": self.rel}) | super()._shown()


@dataclass(frozen=True)
class AUC(Area):
    """The area under the ROC curve [AI]; see `statistics.area_under_roc`."""

    needs: ClassVar[str] = "labels of both classes"

    @property
    def name(self) -> str:
        """``AUC``."""
        return "AUC"

    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """See `Area.statistic`."""
        return area_under_roc(score, relevant)


@dataclass(frozen=True)
class AP(Area):
    """Average precision over all pairs, the area under the curve of precision over recall [AI].

    See `statistics.average_precision`. The mean over queries of each query's own is the measure ``AP`` of rankings.
    """

    needs: ClassVar[str] = "a relevant pair"

    @property
    def name(self) -> str:
        """``AP``."""
        return "AP"

    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """See `Area.statistic`."""
        return average_precision(score, relevant)
