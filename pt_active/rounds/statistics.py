"""What is estimated from weighted labels, and how each weight moves it.

A statistic is a function of the weights ``a``, which stand for the whole pool: ``Σ a y`` estimates the mean of y.
Beside its value it gives its gradient ``∂/∂a_i``, from which the standard error of any weighted estimate follows by
linearisation (Särndal et al. 1992, section 5.5).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Statistic = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""weights a float64[N], 0 without a label → (value, gradient float64[N]); NaN where it is undefined."""


def mean(values: np.ndarray) -> Statistic:
    """``Σ a ℓ``; its gradient is ℓ.

    Args:
        values: float64[N], ℓ; not read where a is 0.
    """

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        known = np.where(weights > 0, values, 0.0)
        return float(weights @ known), known

    return evaluate


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Statistic:
    """``G = Σ a u / Σ a w``, gradient ``(u − G w)/Σ a w`` [T 3.31, AI]; NaN where ``Σ a w = 0``.

    Args:
        numerator: float64[N], u.
        denominator: float64[N], w.
    """

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        known = weights > 0
        u, w = np.where(known, numerator, 0.0), np.where(known, denominator, 0.0)
        total = float(weights @ w)
        if not total > 0:
            return np.nan, np.full(len(weights), np.nan)
        found = float(weights @ u) / total
        return found, (u - found * w) / total

    return evaluate


def area_under_roc(score: np.ndarray, relevant: np.ndarray) -> Statistic:
    """The chance that a relevant instance scores above one that is not; ties count half [AI].

    ``A = Σ a_i a_k y_i (1 − y_k) (1[s_i > s_k] + ½ 1[s_i = s_k]) / (P Q)`` with ``P = Σ a y`` and ``Q = Σ a (1 − y)``;
    the gradient is ``y_i (B_i − A)/P + (1 − y_i)(T_i − A)/Q``, B the weighted share of the others' class below
    and T above.

    Args:
        score: float64[N], s.
        relevant: float64[N], y in [0, 1].

    Returns:
        The statistic; NaN if only one class has a label.
    """
    order, first, last = _tied(score)

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        y = np.where(weights > 0, relevant, 0.0)
        hits, misses = weights * y, weights * (1 - y)
        if not (hits.sum() > 0 and misses.sum() > 0):
            return np.nan, np.full(len(weights), np.nan)
        below, above = np.empty_like(y), np.empty_like(y)
        sums = _cumulated(misses[order])
        below[order] = (sums[first] + sums[last]) / 2
        sums = _cumulated(hits[order])
        above[order] = sums[-1] - (sums[first] + sums[last]) / 2
        below, above = below / misses.sum(), above / hits.sum()
        area = float(hits @ below / hits.sum())
        return area, y * (below - area) / hits.sum() + (1 - y) * (above - area) / misses.sum()

    return evaluate


def average_precision(score: np.ndarray, relevant: np.ndarray) -> Statistic:
    """``Σ a y Prec(s) / Σ a y`` with ``Prec(s) = Σ a y 1[s_k ≥ s] / Σ a 1[s_k ≥ s]`` [AI].

    That is the area under the curve of precision over recall, taken as steps. Its gradient is
    ``[y_i (Prec(s_i) − A) + Σ_{s_k ≤ s_i} a_k y_k (y_i − Prec(s_k)) / D(s_k)] / Σ a y``, D the denominator of Prec.

    Args:
        score: float64[N], s.
        relevant: float64[N], y in [0, 1].

    Returns:
        The statistic; NaN if nothing relevant has a label.
    """
    order, first, last = _tied(score)

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        y = np.where(weights > 0, relevant, 0.0)[order]
        a = weights[order]
        total = (a * y).sum()
        if not total > 0:
            return np.nan, np.full(len(weights), np.nan)
        above, hits = (_cumulated(part) for part in (a, a * y))
        above, hits = above[-1] - above[first], hits[-1] - hits[first]
        inverse = np.divide(1.0, above, out=np.zeros_like(above), where=above > 0)
        precision = hits * inverse
        area = float((a * y) @ precision / total)
        reached = _cumulated(a * y * inverse)[last], _cumulated(a * y * inverse * precision)[last]
        gradient = np.empty_like(a)
        gradient[order] = (y * (precision - area) + y * reached[0] - reached[1]) / total
        return area, gradient

    return evaluate


def within(statistic: Statistic, where: np.ndarray) -> Statistic:
    """A statistic of a slice of the pool: weights outside count as 0, and so do gradients.

    Args:
        statistic: Any.
        where: bool[N], the slice.
    """

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = statistic(np.where(where, weights, 0.0))
        return value, np.where(where, gradient, 0.0)

    return evaluate


def _tied(score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The increasing order of the scores, and where the ties of each place of it begin and end."""
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    return order, np.searchsorted(ordered, ordered), np.searchsorted(ordered, ordered, side="right")


def _cumulated(parts: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, … parts."""
    return np.concatenate([[0.0], np.cumsum(parts)])
