"""Statistics of weighted instances: their value, and how it changes with each weight [theory 7]."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from pt_active.inference.estimators import effective_size
from pt_active.relevance.losses import PairMeasure, check_rel


class Evaluated(NamedTuple):
    """The value of a statistic of weighted labels; axes before the last hold independent samples."""

    value: np.ndarray | float  # float64[...], T; NaN if it is undefined
    gradient: np.ndarray  # float64[..., N], ``∂T/∂a``
    own_share: np.ndarray  # float64[..., N], the share of each label in T, ``a w/Σ a w`` for a mean over w
    effective: np.ndarray | float  # float64[...], ``(Σ a w)² / Σ (a w)²``


class RoundEstimate(NamedTuple):
    """An estimate from rounds, with NaN where it is undefined."""

    value: float
    standard_error: float
    effective: float  # Effective number of the labels that count
    degrees_of_freedom: float  # One less; infinite if every instance has a label


# From weights a, float64[N], 0 without a label, to the statistic that they give
Statistic = Callable[[np.ndarray], Evaluated]


def mean(values: np.ndarray) -> Statistic:
    """``Σ a ℓ``; its gradient is ℓ."""

    def evaluate(weights: np.ndarray) -> Evaluated:
        known = np.where(weights > 0, values, 0.0)
        return Evaluated(float(weights @ known), known, weights / weights.sum(), _effective(weights))

    return evaluate


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Statistic:
    """``Σ a u / Σ a w``, as `ratio_of` computes it."""

    def evaluate(weights: np.ndarray) -> Evaluated:
        known = weights > 0
        u, w = np.where(known, numerator, 0.0), np.where(known, denominator, 0.0)
        return ratio_of(u, w, weights, np.ones(len(weights)))

    return evaluate


def ratio_of(numerator: np.ndarray, denominator: np.ndarray, weights: np.ndarray, count: np.ndarray) -> Evaluated:
    """``G = Σ a u / Σ a w``, gradient ``(u − G w)/Σ a w`` [T 3.31, AI]; NaN if ``Σ a w = 0``."""
    total = (count * weights * denominator).sum(axis=-1)
    total = np.where(total > 0, total, np.nan)
    value = (count * weights * numerator).sum(axis=-1) / total
    gradient = (numerator - value[..., None] * denominator) / total[..., None]
    own_share = weights * denominator / total[..., None]
    return Evaluated(value, gradient, own_share, effective_size(count, weights * denominator))


def minus(first: Evaluated, second: Evaluated) -> Evaluated:
    """The difference of two statistics of the same labels; its effective number is the smaller of the two."""
    return Evaluated(
        first.value - second.value,
        first.gradient - second.gradient,
        np.maximum(first.own_share, second.own_share),
        np.minimum(first.effective, second.effective),
    )


def area_under_roc(score: np.ndarray, relevant: np.ndarray) -> Statistic:
    """``P(a relevant instance scores above another)``, ties ½ [AI]; n_eff of the class with fewer [theory 7]."""
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
    """``Σ a y Prec(s) / Σ a y``, ``Prec(s) = Σ a y 1[s_k ≥ s] / Σ a 1[s_k ≥ s]`` [AI]; n_eff of the relevant."""
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
    """A statistic of a slice of the pool; weights and gradients outside of it count as 0."""

    def evaluate(weights: np.ndarray) -> Evaluated:
        inside = statistic(np.where(where, weights, 0.0))
        return inside._replace(gradient=np.where(where, inside.gradient, 0.0))

    return evaluate


def _effective(weights: np.ndarray) -> float:
    return float(effective_size(np.ones(len(weights)), weights))


def _undefined(weights: np.ndarray) -> Evaluated:
    return Evaluated(np.nan, np.full(len(weights), np.nan), np.zeros(len(weights)), 0.0)


def _tied(score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The increasing order of the scores, and for each place the offsets between which its ties lie."""
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    return order, np.searchsorted(ordered, ordered), np.searchsorted(ordered, ordered, side="right")


def _cumulated(parts: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, and so on up to all parts."""
    return np.concatenate([[0.0], np.cumsum(parts)])


@dataclass(frozen=True)
class Area(PairMeasure):
    """An area under a curve as a measure of scored pairs.

    Args:
        rel: The lowest grade that counts as relevant, at least 1.

    Attributes:
        needs: The labels without which the area is undefined, in words.

    Raises:
        ValueError: If ``rel`` is out of range.
    """

    rel: int = 1
    needs: ClassVar[str]

    def __post_init__(self) -> None:
        check_rel(self.rel)

    @abstractmethod
    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """The area as a function of the labels' weights, for ``P(y ≥ rel)`` and relevances in [0, 1], float64[N]."""

    def grades_allowed(self, max_grade: int) -> int:
        """The highest grade of the labels.

        Raises:
            ValueError: If no grade counts as relevant.
        """
        check_rel(self.rel, max_grade)
        return max_grade


@dataclass(frozen=True)
class AUC(Area):
    """The area under the ROC curve: the probability that a relevant pair scores above a non-relevant one [AI]."""

    needs: ClassVar[str] = "labels of both classes"

    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """`area_under_roc`."""
        return area_under_roc(score, relevant)


@dataclass(frozen=True)
class AP(Area):
    """Average precision over all pairs, the area under the curve of precision over recall [AI].

    The measure ``AP`` of rankings is different: the mean over queries of the average precision of each query.
    """

    needs: ClassVar[str] = "a relevant pair"

    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """`average_precision`."""
        return average_precision(score, relevant)
