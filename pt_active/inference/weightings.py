"""Estimates from rounds of labels: LUR (one at a time: LURE), AILUR and AIIPW [theory 7, AI].

Each of the three is a weighting of the labels, ``Σ a ℓ``, with an estimate of the variance that goes with it; so it
serves every statistic, be it a mean, a ratio or an area under a curve. A new one is a function and a line in
`WEIGHTINGS`.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np

from pt_active.inference import kernel
from pt_active.inference.estimators import Weighting, effective_size
from pt_active.inference.statistics import Evaluated, RoundEstimate, Statistic, mean
from pt_active.sampling.sample import Steps

ENOUGH = 10
"""Labels before a step from which `lur_regression` draws its line; with fewer the model's own values stand."""

CROSS_VALIDATED = "cross_validated"
"""The bandwidth that predicts left-out outcomes best, of several around the rule of thumb."""

_CERTAIN = 1e-12
"""A probability nearer than this to 1 leaves nothing to chance."""


def level_weights(size: np.ndarray, pool: int) -> np.ndarray:
    """``w_j/s ∝ n_j / ((N − m_{j−1})(N − m_j))``, ``m_j = n_1 + … + n_j``: what each step's estimate weighs.

    These are the inverse variances of the steps under uniform draws, and known before anything is drawn. For draws one
    at a time, ``n_j = 1``, they are the source's ``w_j = N(N − s)/((N − j)(N − j + 1))`` over s [AI; Farquhar et al.
    2021]. A step that draws all the rest takes all.

    Args:
        size: float64[S], n, how many each step draws (on average).
        pool: N.

    Returns:
        float64[S], sums to 1.
    """
    left = pool - np.minimum(np.concatenate([[0.0], np.cumsum(size)]), pool)
    if left[-1] <= _CERTAIN * pool:
        return np.asarray(np.arange(len(size)) == np.flatnonzero(left <= _CERTAIN * pool)[0] - 1, dtype=np.float64)
    share = size / (left[:-1] * left[1:])
    return np.asarray(share / share.sum())


def lur(steps: Steps, bandwidth: float | str | None = None) -> Weighting:
    """Levelled unbiased risk: ``(1/(sN)) Σ_j w_j Σ_i δ^j_i ℓ_i/π^j_i`` [AI; Farquhar et al. 2021].

    π is 1 for what is known already, so each step's estimate is unbiased given all before it, and so is their weighted
    mean. An instance drawn in step j weighs ``a = (W_j/π + Σ_{k>j} W_k)/N``, ``W = w/s``.

    The variance is ``Σ W_j² V_j``: ``V_j = Σ (1 − π)(e/π)²/N²`` for independent draws, Deville's
    ``n/(n−1) Σ (1 − π)(e/π − A)²/N²`` with ``A = Σ (1 − π) e/π / Σ (1 − π)`` for a fixed number, and, where a step is
    one draw, ``(R̂_j − R̂)²/(1 − W_j)``.

    Args:
        steps: What was drawn.
        bandwidth: Not read.
    """
    plain = np.zeros(len(steps.size))
    return _weighting(
        _levelled(steps, steps.probability),
        lambda values: _lur_variance(steps, *_levels(steps, values, np.zeros_like(values), plain, plain)),
    )


def ailur(steps: Steps, bandwidth: float | str | None = None) -> Weighting:
    """LUR with π replaced by its regression on g among the not yet labelled [AI].

    Consistent where what is drawn depends on the values through g alone. The variance is
    ``Σ_j W_j² Σ (1 − π̂)(r/π̂)²/N²`` over each step's draws, r the distance of an instance from the regression of e on g
    over all other labels: dividing by an estimated π takes away what g explains.

    Args:
        steps: What was drawn, in rounds of several instances.
        bandwidth: h; the rule of thumb of each round if left out.

    Raises:
        ValueError: If instances were drawn one at a time, or the bandwidth is not positive.
    """
    if (steps.size <= 1).any():
        raise ValueError(
            "ailur needs rounds of several labels: one draw does not tell how probable it was. Use lur or aiipw"
        )
    smoothed = np.full(len(steps.score), np.nan)
    for step in range(1, len(steps.size) + 1):
        left = np.flatnonzero((steps.step == 0) | (steps.step >= step))
        now = steps.step[left] == step
        h = _window(steps.score[left], now.astype(float), int(now.sum()), bandwidth)
        chance = kernel.nadaraya_watson(steps.score[left], now.astype(float), h)
        smoothed[left[now]] = chance[now]
    level = np.concatenate([[0.0], level_weights(steps.size, len(steps.score))])[steps.step]
    return _weighting(
        _levelled(steps, smoothed), lambda values: _smooth_variance(steps, smoothed, values, bandwidth, level)
    )


def aiipw(steps: Steps, bandwidth: float | str | None = None) -> Weighting:
    """``(1/N) Σ δ^s_i ℓ_i / Ê{δ^s | g_i}``: needs no history of probabilities [AI].

    Consistent where what is drawn depends on the values through g alone. The variance is
    ``Σ (1 − π̂)(r/π̂)²/N²`` with ``π̂ = Ê{δ^s | g}`` and r as in `ailur`.

    Args:
        steps: What was drawn; only which, and g, are read.
        bandwidth: h; the rule of thumb if left out.

    Raises:
        ValueError: If the bandwidth is not positive.
    """
    chance = inclusion_regression(steps, bandwidth)
    drawn = steps.drawn
    weights = np.where(drawn, 1 / np.where(drawn, chance, 1.0), 0.0) / len(steps.score)
    once = np.ones(len(steps.score))
    return _weighting(weights, lambda values: _smooth_variance(steps, chance, values, bandwidth, once))


def ailur_ratio(steps: Steps, bandwidth: float | str | None = None) -> Weighting:
    """`ailur` of ℓ over `ailur` of 1: weights that sum to 1; see `aiipw_ratio`."""
    return _normalised(ailur(steps, bandwidth))


def aiipw_ratio(steps: Steps, bandwidth: float | str | None = None) -> Weighting:
    """`aiipw` of ℓ over `aiipw` of 1: the mean as a ratio metric, with weights that sum to 1 [AI].

    ``Σ δ/Ê`` falls short of N where a part of the pool has no label within reach of the kernel, such as a tail of g;
    the plain sum leaves that part out, as if its values were 0, and the ratio does not.

    Args:
        steps: As in `aiipw`.
        bandwidth: h; the rule of thumb if left out.
    """
    return _normalised(aiipw(steps, bandwidth))


WEIGHTINGS: dict[str, Callable[[Steps, float | str | None], Weighting]] = {
    "lur": lur,
    "ailur": ailur,
    "aiipw": aiipw,
    "ailur_ratio": ailur_ratio,
    "aiipw_ratio": aiipw_ratio,
}
"""The weightings by name, for every statistic."""

BY_SCORE = frozenset({"ailur", "aiipw", "ailur_ratio", "aiipw_ratio"})
"""Those that are consistent only where what was drawn depends on the values through g alone."""


def inclusion_regression(steps: Steps, bandwidth: float | str | None = None) -> np.ndarray:
    """``Ê{δ^s | g}``: how probable it was to be drawn by now, by kernel regression, float64[N] [AI].

    Args:
        steps: What was drawn.
        bandwidth: h; the rule of thumb if left out.

    Raises:
        ValueError: If the bandwidth is not positive.
    """
    drawn = steps.drawn
    h = _window(steps.score, drawn.astype(float), int(drawn.sum()), bandwidth)
    return kernel.nadaraya_watson(steps.score, drawn.astype(float), h)


def lines_before(steps: Steps, values: np.ndarray, model: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each step the line ``ℓ ≈ α + β M`` through the labels of the steps before it, by least squares.

    The labels are weighted by 1/π. A line that was known before a step was drawn leaves the step unbiased. With fewer
    than `ENOUGH` labels, or where M is the same for all of them, ``α = 0`` and ``β = 1``.

    Args:
        steps: What was drawn.
        values: float64[N], ℓ.
        model: float64[N], M.

    Returns:
        α and β, float64[S].
    """
    drawn = steps.drawn
    centre = float(model.mean())
    m, y, u = model[drawn] - centre, values[drawn], 1 / steps.probability[drawn]
    parts = (np.ones_like(u), u, u * m, u * m**2, u * y, u * m * y)
    n, s0, s1, s2, sy, smy = (_before(steps, part) for part in parts)
    spread = s0 * s2 - s1**2
    usable = (n >= ENOUGH) & (spread > _CERTAIN * s0 * s2)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(usable, (s0 * smy - s1 * sy) / spread, 1.0)
        intercept = np.where(usable, (sy - slope * s1) / s0 - slope * centre, 0.0)
    return intercept, slope


def no_lines(steps: Steps, values: np.ndarray, model: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The model's own values before each step: ``α = 0`` and ``β = 1``; see `lines_before`."""
    return np.zeros(len(steps.size)), np.ones(len(steps.size))


CONTROLLED = {"lur_difference": no_lines, "lur_regression": lines_before}
"""LUR with the model as a control variate, for means: with the model's own values, or a line through labels before."""


def round_estimators() -> tuple[str, ...]:
    """The names of all estimators; one that is added to `WEIGHTINGS` or `CONTROLLED` is among them."""
    return *WEIGHTINGS, *CONTROLLED


def estimate_statistic(
    steps: Steps, statistic: Statistic, estimator: str, bandwidth: float | str | None = None
) -> RoundEstimate:
    """Estimate a statistic of the pool from the labels of all rounds [theory 7].

    Args:
        steps: What was drawn; every drawn instance has its label.
        statistic: What is estimated; see `pt_active.inference.statistics`.
        estimator: A name in `WEIGHTINGS`.
        bandwidth: h of the kernel regressions; a rule of thumb if left out.

    Returns:
        The estimate with t on ``n_eff − 1`` degrees of freedom, ``n_eff`` of the labels that count; all NaN where the
        statistic is undefined. The standard error is NaN where a single label counts.

    Raises:
        ValueError: If nothing was drawn, the bandwidth is not positive, or the estimator is unknown or does not fit.
    """
    _check_drawn(steps)
    _check_bandwidth(bandwidth)
    if estimator not in WEIGHTINGS:
        known = f"{estimator} is for means" if estimator in CONTROLLED else f"unknown estimator {estimator!r}"
        raise ValueError(f"{known}; for ratios and areas there are {', '.join(WEIGHTINGS)}")
    if steps.census:
        return _exact(statistic, len(steps.score))
    weighting = WEIGHTINGS[estimator](steps, bandwidth)
    found = statistic(weighting.weights)
    if not np.isfinite(found.value):
        undefined = np.asarray(np.nan)
        return RoundEstimate(undefined, undefined, undefined, float(found.effective))
    return _estimate(float(found.value), _standard_error(weighting, found), float(found.effective))


def estimate_mean(
    steps: Steps,
    values: np.ndarray,
    estimator: str,
    model: np.ndarray | None = None,
    bandwidth: float | str | None = None,
) -> RoundEstimate:
    """Estimate the pool's mean from the labels of all rounds [theory 7].

    Args:
        steps: What was drawn.
        values: float64[N], ℓ; not read where nothing was drawn.
        estimator: A name in `round_estimators`.
        model: float64[N], M, what the model expects; for `CONTROLLED` estimators.
        bandwidth: As in `estimate_statistic`.

    Raises:
        ValueError: As there, and if the estimator needs a model and there is none.
    """
    if estimator not in CONTROLLED:
        return estimate_statistic(steps, mean(values), estimator, bandwidth)
    if model is None:
        raise ValueError(f"{estimator} needs what the model expects of every instance")
    _check_drawn(steps)
    if steps.census:
        return _exact(mean(values), len(values))
    known = np.where(steps.drawn, values, 0.0)
    level, residual = _levels(steps, known, model, *CONTROLLED[estimator](steps, known, model))
    value = float(level_weights(steps.size, len(known)) @ level)
    error = np.sqrt(_lur_variance(steps, level, residual)) if steps.drawn.sum() > 1 else np.nan
    return _estimate(value, error, float(mean(values)(_levelled(steps, steps.probability)).effective))


def _exact(statistic: Statistic, pool: int) -> RoundEstimate:
    """Where everything has a label all count alike, and nothing is left to chance."""
    found = statistic(np.full(pool, 1 / pool))
    error = 0.0 if np.isfinite(found.value) else np.nan
    return RoundEstimate(np.asarray(found.value), np.asarray(error), np.asarray(np.inf), float(found.effective))


def _normalised(weighting: Weighting) -> Weighting:
    total = weighting.weights.sum()
    return _weighting(weighting.weights / total, lambda values: weighting.variance(values) / total**2)


def _weighting(weights: np.ndarray, variance: Callable[[np.ndarray], np.ndarray | float]) -> Weighting:
    """Of the labels of all rounds, float64[N] with 0 where there is none; t on ``n_eff − 1``."""
    n_effective = effective_size(np.ones(len(weights)), weights)
    return Weighting(0.0, weights, variance, n_effective - 1, np.asarray((weights > 0).sum()))


def _levels(
    steps: Steps, values: np.ndarray, model: np.ndarray, intercept: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each step's estimate ``R̂_j``, float64[S], and each label's distance from its step's prediction, float64[N].

    ``R̂_j = [Σ_known ℓ + Σ_rest (α + β M) + Σ_new (ℓ − α − β M)/π]/N``.
    """
    drawn, pool = steps.drawn, len(steps.score)
    step = steps.step[drawn] - 1
    residual = np.zeros(pool)
    residual[drawn] = values[drawn] - intercept[step] - slope[step] * model[drawn]
    new = np.bincount(step, residual[drawn] / steps.probability[drawn], len(steps.size))
    known = _before(steps, values[drawn])
    rest = intercept * (pool - _before(steps, np.ones(len(step)))) + slope * (
        model.sum() - _before(steps, model[drawn])
    )
    return (known + rest + new) / pool, residual


def _before(steps: Steps, parts: np.ndarray) -> np.ndarray:
    """Sums of the drawn instances' parts over the steps before each, float64[S]."""
    sums = np.bincount(steps.step[steps.drawn] - 1, parts, len(steps.size))
    return np.asarray(np.cumsum(sums) - sums)


def _levelled(steps: Steps, probability: np.ndarray) -> np.ndarray:
    """``a = (W_j/π + Σ_{k>j} W_k)/N``, float64[N]."""
    level = level_weights(steps.size, len(steps.score))
    later = 1 - np.cumsum(level)
    step = steps.step[steps.drawn] - 1
    weights = np.zeros(len(steps.score))
    weights[steps.drawn] = (level[step] / probability[steps.drawn] + later[step]) / len(steps.score)
    return weights


def _lur_variance(steps: Steps, level: np.ndarray, residual: np.ndarray) -> float:
    """``Σ W_j² V_j``; see `lur`."""
    drawn, pool = steps.drawn, len(steps.score)
    step, chance = steps.step[drawn] - 1, steps.probability[drawn]
    left, term = np.where(chance < 1 - _CERTAIN, 1 - chance, 0.0), residual[drawn] / chance

    def summed(parts: np.ndarray) -> np.ndarray:
        return np.bincount(step, parts, len(steps.size))

    number = summed((left > 0).astype(float))
    spread = ~steps.independent & (number > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.where(spread, summed(left * term) / summed(left), 0.0)
        factor = np.where(spread, number / (number - 1), 1.0)
    within = factor * summed(left * (term - centre[step]) ** 2) / pool**2
    weight = level_weights(steps.size, pool)
    alone = ~steps.independent & (steps.size == 1)
    between = np.where(number > 0, (level - weight @ level) ** 2 / np.maximum(1 - weight, _CERTAIN), 0.0)
    return float(weight**2 @ np.where(alone, between, within))


def _smooth_variance(
    steps: Steps, chance: np.ndarray, values: np.ndarray, bandwidth: float | str | None, level: np.ndarray
) -> float:
    """``Σ W² (1 − π̂)(r/π̂)²/N²``; see `aiipw`."""
    drawn = steps.drawn
    score, value, pi = steps.score[drawn], values[drawn], chance[drawn]
    if bandwidth is None:
        h = kernel.rule_of_thumb(steps.score, len(score))
    else:
        h = _window(score, value, len(score), bandwidth)
    apart = value - kernel.left_out(score, value, h)
    left = np.where(pi < 1 - _CERTAIN, 1 - pi, 0.0)
    return float((left * (level[drawn] * apart / pi) ** 2).sum()) / len(steps.score) ** 2


def _standard_error(weighting: Weighting, found: Evaluated) -> float:
    """Of a statistic by its gradient e, times ``(1 − W)/(1 − own_share)``, ``W = a/Σ a``; NaN where one label makes it.

    The variances are made for means over the pool, where a label has the share W of what it is compared with.
    """
    if found.own_share.max() >= 1 - _CERTAIN:
        return np.nan
    share = weighting.weights / weighting.weights.sum()
    return float(np.sqrt(weighting.variance(found.gradient * (1 - share) / (1 - found.own_share))))


def _estimate(value: float, error: float, effective: float) -> RoundEstimate:
    return RoundEstimate(np.asarray(value), np.asarray(error), np.asarray(effective - 1), effective)


def _check_drawn(steps: Steps) -> None:
    if not steps.drawn.any():
        raise ValueError("no label was drawn yet, so there is nothing to estimate from")


def _window(score: np.ndarray, outcome: np.ndarray, labels: int, bandwidth: float | str | None) -> float:
    """The bandwidth of one kernel regression."""
    if bandwidth is None:
        return kernel.rule_of_thumb(score, labels)
    if isinstance(bandwidth, str):
        return kernel.cross_validated_bandwidth(score, outcome, labels)
    return bandwidth


def _check_bandwidth(bandwidth: float | str | None) -> None:
    named = isinstance(bandwidth, str) and bandwidth == CROSS_VALIDATED
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool) and bandwidth > 0
    if not (bandwidth is None or named or number):
        raise ValueError(f"bandwidth must be a positive number or {CROSS_VALIDATED!r}, got {bandwidth!r}")
