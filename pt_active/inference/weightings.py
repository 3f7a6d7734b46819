"""Estimates from rounds of labels: LUR (one at a time: LURE), AILUR and AIIPW [theory 7, AI].

Each of the three is a weighting of the labels, ``Σ a ℓ``, with its own estimate of the variance. So it serves every
statistic: a mean, a ratio or an area under a curve. To add a weighting, write a function and a line in `WEIGHTINGS`.

Their kernel regression on one score is exact and takes ``N log N`` steps. The kernel is Epanechnikov's,
``K(u) = 1 − u²`` on [−1, 1], so the sum over a window follows from cumulative sums of ``v``, ``v z`` and ``v z²``.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import NamedTuple

import numpy as np

from pt_active.inference.statistics import RoundEstimate, Statistic, mean
from pt_active.relevance.digits import rounded
from pt_active.sampling.sample import Steps

# Labels before a step that `lur_regression` needs for its line; with fewer it takes the model's own values
MIN_LABELS_FOR_LINE = 10
# The name of the bandwidth near the rule of thumb that predicts left-out outcomes best
CROSS_VALIDATED = "cross_validated"
_CERTAIN = 1e-12  # A probability within this of 1 counts as 1


class RoundWeighting(NamedTuple):
    """An estimate ``Σ a ℓ`` from the labels of all rounds."""

    weights: np.ndarray  # float64[N], a; 0 without a label
    variance: Callable[[np.ndarray], float]  # float64[N], ℓ → the variance of ``Σ a ℓ``


def level_weights(size: np.ndarray, pool: int) -> np.ndarray:
    """``w_j/s ∝ n_j / ((N − m_{j−1})(N − m_j))``, ``m_j = n_1 + … + n_j`` [AI; Farquhar et al. 2021]."""
    left = pool - np.minimum(np.concatenate([[0.0], np.cumsum(size)]), pool)
    if left[-1] <= _CERTAIN * pool:
        return np.asarray(np.arange(len(size)) == np.flatnonzero(left <= _CERTAIN * pool)[0] - 1, dtype=np.float64)
    share = size / (left[:-1] * left[1:])
    return np.asarray(share / share.sum())


def lur(steps: Steps, bandwidth: float | str | None = None) -> RoundWeighting:
    """Levelled unbiased risk, ``Σ_j W_j R̂_j``, whatever earlier rounds decide [theory 7, AI; Farquhar et al. 2021]."""

    def variance(values: np.ndarray) -> float:
        plain = np.zeros(len(steps.size))
        return _lur_variance(steps, *_levels(steps, values, np.zeros_like(values), plain, plain))

    return RoundWeighting(_levelled(steps, steps.probability), variance)


def ailur(steps: Steps, bandwidth: float | str | None = None) -> RoundWeighting:
    """LUR with π replaced by its regression on g among those left [theory 7, AI]; draws may depend on g alone."""
    if (steps.size <= 1).any():
        raise ValueError(
            "ailur needs rounds of several labels: one draw does not tell how probable it was; use lur or aiipw"
        )
    chance = np.full(len(steps.score), np.nan)
    for step in range(1, len(steps.size) + 1):
        left = np.flatnonzero((steps.step == 0) | (steps.step >= step))
        now = steps.step[left] == step
        chance[left[now]] = _regression(steps.score[left], now, bandwidth)[now]
    level = np.r_[0.0, level_weights(steps.size, len(steps.score))][steps.step]
    variance = _smooth_variance(steps, chance, bandwidth, level)
    return RoundWeighting(_levelled(steps, chance), variance)


def aiipw(steps: Steps, bandwidth: float | str | None = None) -> RoundWeighting:
    """``(1/N) Σ δ^s_i ℓ_i / Ê{δ^s | g_i}`` [AI], without a history of probabilities; variance as of `ailur`."""
    chance = inclusion_regression(steps, bandwidth)
    weights = np.divide(steps.drawn, chance, out=np.zeros_like(chance), where=steps.drawn)
    once = np.ones(len(chance))
    return RoundWeighting(weights / len(chance), _smooth_variance(steps, chance, bandwidth, once))


WEIGHTINGS: dict[str, Callable[[Steps, float | str | None], RoundWeighting]] = {
    "lur": lur,
    "ailur": ailur,
    "aiipw": aiipw,
    "ailur_ratio": lambda steps, bandwidth: _normalised(ailur(steps, bandwidth)),
    "aiipw_ratio": lambda steps, bandwidth: _normalised(aiipw(steps, bandwidth)),
}
"""The weightings by name, for every statistic; a ratio is divided by the same of 1: its weights sum to 1 [AI]."""

# Those that are consistent only where what was drawn depends on the values through g alone
BY_SCORE = frozenset({"ailur", "aiipw", "ailur_ratio", "aiipw_ratio"})


def inclusion_regression(steps: Steps, bandwidth: float | str | None = None) -> np.ndarray:
    """``Ê{δ^s | g}``, the probability of having been drawn, by kernel regression, float64[N] [AI]."""
    return _regression(steps.score, steps.drawn, bandwidth)


def _regression(score: np.ndarray, drawn: np.ndarray, bandwidth: float | str | None) -> np.ndarray:
    outcome = drawn.astype(float)
    return nadaraya_watson(score, outcome, _window(score, outcome, int(drawn.sum()), bandwidth))


def lines_before(steps: Steps, values: np.ndarray, model: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each step's line ``ℓ ≈ α + β M`` through the labels before it, weighted by 1/π; 0 and 1 with too few."""
    drawn = steps.drawn
    centre = float(model.mean())
    m, y, u = model[drawn] - centre, values[drawn], 1 / steps.probability[drawn]
    parts = np.ones_like(u), u, u * m, u * m**2, u * y, u * m * y
    n, s0, s1, s2, sy, smy = _before(steps, *parts)
    spread = s0 * s2 - s1**2
    usable = (n >= MIN_LABELS_FOR_LINE) & (spread > _CERTAIN * s0 * s2)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(usable, (s0 * smy - s1 * sy) / spread, 1.0)
        intercept = np.where(usable, (sy - slope * s1) / s0 - slope * centre, 0.0)
    return intercept, slope


# LUR of means with the model as a control variate: its own values, or a line through the labels of earlier steps
CONTROLLED = {
    "lur_difference": lambda steps, values, model: (np.zeros(len(steps.size)), np.ones(len(steps.size))),
    "lur_regression": lines_before,
}


def round_estimators() -> tuple[str, ...]:
    """The names of all estimators; one that is added to `WEIGHTINGS` or `CONTROLLED` is among them."""
    return *WEIGHTINGS, *CONTROLLED


def estimate_statistic(
    steps: Steps, statistic: Statistic, estimator: str, bandwidth: float | str | None = None
) -> RoundEstimate:
    """Estimate a statistic of the pool from the labels of all rounds [theory 7]."""
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool) and bandwidth > 0
    if not (bandwidth is None or bandwidth == CROSS_VALIDATED or number):
        raise ValueError(f"bandwidth must be a positive number or {CROSS_VALIDATED!r}, got {bandwidth!r}")
    if estimator not in WEIGHTINGS:
        known = ", ".join(WEIGHTINGS)
        raise ValueError(f"{estimator} is for means; for ratios and areas there are {known}")
    if steps.census:
        return _exact(statistic, len(steps.score))
    weighting = WEIGHTINGS[estimator](steps, bandwidth)
    evaluated = statistic(weighting.weights)
    if not np.isfinite(evaluated.value):
        return RoundEstimate(np.nan, np.nan, float(evaluated.effective), np.nan)
    error = np.nan
    if evaluated.own_share.max() < 1 - _CERTAIN:  # Otherwise a single label determines the statistic
        share = weighting.weights / weighting.weights.sum()
        error = float(np.sqrt(weighting.variance(evaluated.gradient * (1 - share) / (1 - evaluated.own_share))))
    effective = float(evaluated.effective)
    return RoundEstimate(float(evaluated.value), error, effective, effective - 1)


def estimate_mean(
    steps: Steps,
    values: np.ndarray,
    estimator: str,
    model: np.ndarray | None = None,
    bandwidth: float | str | None = None,
) -> RoundEstimate:
    """Estimate the pool's mean from the labels of all rounds [theory 7]."""
    if estimator not in CONTROLLED:
        return estimate_statistic(steps, mean(values), estimator, bandwidth)
    if model is None:
        raise ValueError(f"{estimator} needs what the model expects of every instance")
    if steps.census:
        return _exact(mean(values), len(values))
    known = np.where(steps.drawn, values, 0.0)
    level, residual = _levels(steps, known, model, *CONTROLLED[estimator](steps, known, model))
    value = float(level_weights(steps.size, len(known)) @ level)
    error = float(np.sqrt(_lur_variance(steps, level, residual))) if steps.drawn.sum() > 1 else np.nan
    effective = float(mean(values)(_levelled(steps, steps.probability)).effective)
    return RoundEstimate(value, error, effective, effective - 1)


def _exact(statistic: Statistic, pool: int) -> RoundEstimate:
    """The statistic of a pool in which every instance has a label, with standard error 0."""
    evaluated = statistic(np.full(pool, 1 / pool))
    error = 0.0 if np.isfinite(evaluated.value) else np.nan
    return RoundEstimate(float(evaluated.value), error, float(evaluated.effective), np.inf)


def _normalised(weighting: RoundWeighting) -> RoundWeighting:
    total = weighting.weights.sum()
    return RoundWeighting(weighting.weights / total, lambda values: weighting.variance(values) / total**2)


def _levels(
    steps: Steps, values: np.ndarray, model: np.ndarray, intercept: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each step's ``[Σ_known ℓ + Σ_rest (α + β M) + Σ_new (ℓ − α − β M)/π]/N``, and each label's residual."""
    drawn, pool = steps.drawn, len(steps.score)
    step, value, expected = steps.step[drawn] - 1, values[drawn], model[drawn]
    residual = value - intercept[step] - slope[step] * expected
    new = np.bincount(step, residual / steps.probability[drawn], len(steps.size))
    number, known, seen = _before(steps, np.ones(len(step)), value, expected)
    rest = intercept * (pool - number) + slope * (model.sum() - seen)
    return (known + rest + new) / pool, residual


def _before(steps: Steps, *parts: np.ndarray) -> np.ndarray:
    """Sums of parts of the drawn instances over the steps before each step, float64[r, S]."""
    step = steps.step[steps.drawn] - 1
    sums = np.array([np.bincount(step, part, len(steps.size)) for part in parts])
    return np.asarray(np.cumsum(sums, axis=1) - sums)


def _levelled(steps: Steps, probability: np.ndarray) -> np.ndarray:
    """The weights of LUR, ``a = (W_j/π + Σ_{k>j} W_k)/N``, float64[N]."""
    level = level_weights(steps.size, len(steps.score))
    later = 1 - np.cumsum(level)
    step = steps.step[steps.drawn] - 1
    weights = np.zeros(len(steps.score))
    weights[steps.drawn] = (level[step] / probability[steps.drawn] + later[step]) / len(steps.score)
    return weights


def _lur_variance(steps: Steps, level: np.ndarray, residual: np.ndarray) -> float:
    """``Σ W_j² V_j`` with the V of `lur`."""
    drawn, pool = steps.drawn, len(steps.score)
    step, chance = steps.step[drawn] - 1, steps.probability[drawn]
    left, term = np.where(chance < 1 - _CERTAIN, 1 - chance, 0.0), residual / chance

    def summed(parts: np.ndarray) -> np.ndarray:
        return np.bincount(step, parts, len(steps.size))

    number = summed((left > 0).astype(float))
    spread = ~steps.independent & (number > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.where(spread, summed(left * term) / summed(left), 0.0)
        factor = np.where(spread, number / (number - 1), 1.0)
    within = factor * summed(left * (term - centre[step]) ** 2) / pool**2
    weight = level_weights(steps.size, pool)
    # A step of one draw has no spread of its own, so it counts with its distance from the weighted mean.
    single = ~steps.independent & (steps.size == 1)
    between = np.where(number > 0, (level - weight @ level) ** 2 / np.maximum(1 - weight, _CERTAIN), 0.0)
    return float(weight**2 @ np.where(single, between, within))


def _smooth_variance(
    steps: Steps, chance: np.ndarray, bandwidth: float | str | None, level: np.ndarray
) -> Callable[[np.ndarray], float]:
    """``Σ W² (1 − π̂)(r/π̂)²/N²``, r being the distance from the regression over all other labels."""
    drawn = steps.drawn
    score, pi = steps.score[drawn], chance[drawn]
    left = np.where(pi < 1 - _CERTAIN, 1 - pi, 0.0)

    def variance(values: np.ndarray) -> float:
        value = values[drawn]
        window = bandwidth or rule_of_thumb(steps.score, len(score))
        apart = value - left_out(score, value, _window(score, value, len(score), window))
        return float((left * (level[drawn] * apart / pi) ** 2).sum()) / len(steps.score) ** 2

    return variance


def _window(score: np.ndarray, outcome: np.ndarray, labels: int, bandwidth: float | str | None) -> float:
    if bandwidth is None:
        return rule_of_thumb(score, labels)
    if isinstance(bandwidth, str):
        return cross_validated_bandwidth(score, outcome, labels)
    return bandwidth


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
    total, weight = kernel_sums(score, np.stack([outcome, np.ones_like(score)]), bandwidth)
    return np.asarray(total / weight)


def left_out(score: np.ndarray, outcome: np.ndarray, bandwidth: float) -> np.ndarray:
    """`nadaraya_watson` at each point from all other points; their plain mean if none is within the bandwidth."""
    total, weight = kernel_sums(score, np.stack([outcome, np.ones_like(score)]), bandwidth)
    plain = (outcome.sum() - outcome) / max(len(outcome) - 1, 1)
    near = weight - 1 > _MIN_NEIGHBOUR_WEIGHT
    return np.divide(total - outcome, weight - 1, out=plain, where=near)


def kernel_sums(score: np.ndarray, values: np.ndarray, bandwidth: float) -> np.ndarray:
    """``Σ_k K((g_i − g_k)/h) v_k`` for every i. Shapes: score float64[N], values float64[r, N] → float64[r, N]."""
    if np.isinf(bandwidth):
        return np.repeat(values.sum(axis=1, keepdims=True), len(score), axis=1)
    order = np.argsort(score, kind="stable")
    position = score[order] / bandwidth  # in windows, increasing
    position = position - position[len(position) // 2]
    cell = np.floor(position)
    inside = position - cell - 0.5
    powers = np.stack([np.ones_like(inside), inside, inside**2])
    sums = np.zeros((3, len(values), len(position) + 1))
    np.cumsum(powers[:, None, :] * values[:, order], axis=2, out=sums[:, :, 1:])
    below = np.searchsorted(position, position - 1)
    above = np.searchsorted(position, position + 1, "right")
    total = np.zeros(values.shape)
    for offset in (-1, 0, 1):
        start, stop = (np.searchsorted(cell, cell + offset, side) for side in ("left", "right"))
        first, last = np.clip([below, above], start, np.maximum(start, stop))
        v0, v1, v2 = sums[:, :, np.maximum(first, last)] - sums[:, :, first]
        u = inside - offset
        # 1 − (u − z)², summed over z with the weights v.
        total += (1 - u**2) * v0 + 2 * u * v1 - v2
    return total[:, np.argsort(order)]
