"""Kernel regression on one score, exact and in ``N log N`` steps, without a matrix of all pairs [theory 7].

The kernel is Epanechnikov's, ``K(u) = 1 − u²`` on [−1, 1]. It is a polynomial, so the sum over a window follows from
cumulative sums of ``v``, ``v z`` and ``v z²``.
"""

from __future__ import annotations

import numpy as np

from pt_active.relevance.digits import rounded

CANDIDATES = (0.25, 0.5, 1.0, 2.0, 4.0)  # Multiples of the rule of thumb from which `cross_validated_bandwidth` chooses
_MIN_NEIGHBOUR_WEIGHT = 1e-9  # A sum of kernel weights below this is rounding: there is no neighbour


def rule_of_thumb(score: np.ndarray, labels: int) -> float:
    """``σ n^{-1/3}``, σ the smaller of the standard deviation and the interquartile range over 1.349."""
    deviation = float(np.std(score))
    quartiles = np.subtract(*np.percentile(score, [75, 25])) / 1.349
    spread = min(deviation, quartiles) if quartiles > 0 else deviation
    if spread <= 1e-12 * np.abs(score).max(initial=0.0):
        return np.inf
    return float(spread * max(labels, 1) ** (-1 / 3))


def cross_validated_bandwidth(score: np.ndarray, outcome: np.ndarray, labels: int) -> float:
    """The multiple of the rule of thumb, from `CANDIDATES`, that predicts left-out outcomes best."""
    rule = rule_of_thumb(score, labels)
    if np.isinf(rule):
        return rule
    errors = [((outcome - left_out(score, outcome, c * rule)) ** 2).sum() for c in CANDIDATES]
    return CANDIDATES[int(np.argmin(rounded(np.array(errors))))] * rule


def nadaraya_watson(score: np.ndarray, outcome: np.ndarray, bandwidth: float) -> np.ndarray:
    """``Σ_k K((g_i − g_k)/h) y_k / Σ_k K((g_i − g_k)/h)`` at every point i [AI]."""
    total = kernel_sums(score, np.stack([outcome, np.ones_like(score)]), bandwidth)
    return np.asarray(total[0] / total[1])


def left_out(score: np.ndarray, outcome: np.ndarray, bandwidth: float) -> np.ndarray:
    """`nadaraya_watson` at each point from all other points; their plain mean if none is within the bandwidth."""
    others, weight = kernel_sums(score, np.stack([outcome, np.ones_like(score)]), bandwidth)
    others, weight = others - outcome, weight - 1.0
    plain = (outcome.sum() - outcome) / max(len(outcome) - 1, 1)
    return np.where(weight > _MIN_NEIGHBOUR_WEIGHT, others / np.maximum(weight, _MIN_NEIGHBOUR_WEIGHT), plain)


def kernel_sums(score: np.ndarray, values: np.ndarray, bandwidth: float) -> np.ndarray:
    """``Σ_k K((g_i − g_k)/h) v_k`` for every i. Shapes: score float64[N], values float64[r, N] → float64[r, N]."""
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be a positive number, got {bandwidth}")
    if not np.isfinite(score).all():
        raise ValueError(f"scores must be finite numbers (not finite: {int((~np.isfinite(score)).sum())})")
    if np.isinf(bandwidth) or len(score) == 0:
        return np.repeat(values.sum(axis=1, keepdims=True), len(score), axis=1)
    order = np.argsort(score, kind="stable")
    sums = np.empty(values.shape)
    sums[:, order] = _sorted_sums(score[order] / bandwidth, values[:, order])
    return sums


def _sorted_sums(position: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The kernel sums at increasing positions, in units of the bandwidth."""
    position = position - position[len(position) // 2]
    cell = np.floor(position)
    inside = position - cell - 0.5
    powers = np.stack([np.ones_like(inside), inside, inside**2])
    sums = np.zeros((3, len(values), len(position) + 1))
    np.cumsum(powers[:, None, :] * values, axis=2, out=sums[:, :, 1:])
    window = np.searchsorted(position, position - 1), np.searchsorted(position, position + 1, side="right")
    total = np.zeros(values.shape)
    for offset in (-1, 0, 1):
        start, stop = (np.searchsorted(cell, cell + offset, side=side) for side in ("left", "right"))
        first = np.clip(window[0], start, stop)
        last = np.maximum(first, np.clip(window[1], start, stop))
        v0, v1, v2 = sums[:, :, last] - sums[:, :, first]
        u = inside - offset
        # 1 − (u − z)², summed over z with the weights v.
        total += (1 - u**2) * v0 + 2 * u * v1 - v2
    return total
