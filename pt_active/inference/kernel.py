"""Kernel regression on one score, exactly and in ``N log N``: no matrix of all pairs [theory 7].

The kernel is Epanechnikov's, ``K(u) = 1 − u²`` on [−1, 1]. It is a polynomial, so the sum over a window follows from
cumulative sums of ``v``, ``v z`` and ``v z²``.
"""

from __future__ import annotations

import numpy as np

CANDIDATES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the rule of thumb among which `cross_validated_bandwidth` chooses."""

_ALONE = 1e-9
"""A sum of kernel weights below it is rounding: there is no neighbour."""


def rule_of_thumb(score: np.ndarray, labels: int) -> float:
    """``σ n^{-1/3}``, σ the smaller of the standard deviation and the interquartile range over 1.349.

    Half of Silverman's constant for this kernel (0.9 times 2.21), and ``n^{-1/3}`` in the place of the ``n^{-1/5}``
    that suits densities: the bias of an estimate that is weighted by the regression is of order h², and must vanish
    faster than its standard error. Probabilities that peak where a model is unsure bend more than a density does.

    Args:
        score: float64[N], g.
        labels: n, how many labels the regression rests on.

    Returns:
        h, in the unit of the score; infinite where the score is constant.
    """
    deviation = float(np.std(score))
    quartiles = np.subtract(*np.percentile(score, [75, 25])) / 1.349
    spread = min(deviation, quartiles) if quartiles > 0 else deviation
    if spread <= 1e-12 * np.abs(score).max(initial=0.0):
        return np.inf
    return float(spread * max(labels, 1) ** (-1 / 3))


def cross_validated_bandwidth(score: np.ndarray, outcome: np.ndarray, labels: int) -> float:
    """The multiple of the rule of thumb, of `CANDIDATES`, that predicts left-out outcomes best.

    Args:
        score: float64[N], g.
        outcome: float64[N].
        labels: As in `rule_of_thumb`.
    """
    rule = rule_of_thumb(score, labels)
    if np.isinf(rule):
        return rule
    errors = [((outcome - left_out(score, outcome, c * rule)) ** 2).sum() for c in CANDIDATES]
    return CANDIDATES[int(np.argmin(errors))] * rule


def nadaraya_watson(score: np.ndarray, outcome: np.ndarray, bandwidth: float) -> np.ndarray:
    """``Σ_k K((g_i − g_k)/h) y_k / Σ_k K((g_i − g_k)/h)`` at every point [AI].

    Args:
        score: float64[N], g.
        outcome: float64[N], y, such as 1 where a label was drawn.
        bandwidth: h; infinite for the plain mean.

    Returns:
        float64[N].

    Raises:
        ValueError: If the bandwidth is not positive, or a score is not a finite number.
    """
    total = kernel_sums(score, np.stack([outcome, np.ones_like(score)]), bandwidth)
    return np.asarray(total[0] / total[1])


def left_out(score: np.ndarray, outcome: np.ndarray, bandwidth: float) -> np.ndarray:
    """`nadaraya_watson` at each point from all the others; where there is none in reach, their plain mean.

    Args:
        score: As there, like the others; at least 2 points.
        outcome: y.
        bandwidth: h.
    """
    others, weight = kernel_sums(score, np.stack([outcome, np.ones_like(score)]), bandwidth)
    others, weight = others - outcome, weight - 1.0
    plain = (outcome.sum() - outcome) / max(len(outcome) - 1, 1)
    return np.where(weight > _ALONE, others / np.maximum(weight, _ALONE), plain)


def kernel_sums(score: np.ndarray, values: np.ndarray, bandwidth: float) -> np.ndarray:
    """``Σ_k K((g_i − g_k)/h) v_k`` for every i.

    The line is cut into cells of width h, so that a window meets three of them, and positions are counted from the
    middle of the cell: the cumulative sums stay small, and precise, however long the line is.

    Args:
        score: float64[N], g.
        values: float64[r, N], r sums at once.
        bandwidth: h.

    Returns:
        float64[r, N].

    Raises:
        ValueError: If the bandwidth is not positive, or a score is not a finite number.
    """
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be a positive number, got {bandwidth}")
    if not np.isfinite(score).all():
        raise ValueError(f"scores must be finite numbers (not finite: {int((~np.isfinite(score)).sum())})")
    if np.isinf(bandwidth) or len(score) == 0:
        return np.repeat(values.sum(axis=1, keepdims=True), len(score), axis=1)
    order = np.argsort(score, kind="stable")
    found = np.empty(values.shape)
    found[:, order] = _sorted_sums(score[order] / bandwidth, values[:, order])
    return found


def _sorted_sums(position: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sums at increasing positions, in units of the bandwidth."""
    position = position - position[len(position) // 2]
    cell = np.floor(position)
    inside = position - cell - 0.5
    powers = np.stack([np.ones_like(inside), inside, inside**2])
    sums = np.zeros((3, len(values), len(position) + 1))
    np.cumsum(powers[:, None, :] * values, axis=2, out=sums[:, :, 1:])
    window = np.searchsorted(position, position - 1), np.searchsorted(position, position + 1, side="right")
    found = np.zeros(values.shape)
    for offset in (-1, 0, 1):
        start, stop = (np.searchsorted(cell, cell + offset, side=side) for side in ("left", "right"))
        first = np.clip(window[0], start, stop)
        last = np.maximum(first, np.clip(window[1], start, stop))
        v0, v1, v2 = sums[:, :, last] - sums[:, :, first]
        u = inside - offset
        found += (1 - u**2) * v0 + 2 * u * v1 - v2
    return found
