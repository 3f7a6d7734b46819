"""Ratios of weighted means: risks, slices and strata [theory 6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pt_active.inference import estimators
from pt_active.inference.estimators import MeanEstimate, effective_size, ratio_or_zero
from pt_active.sampling.sample import Drawn


def stratified_mean(values: np.ndarray, stratum: np.ndarray, size: np.ndarray) -> MeanEstimate:
    """``Σ P_h ȳ_h`` with the variance ``Σ P_h² (1 − n_h/N_h) s_h² / n_h``, and Satterthwaite's degrees of freedom.

    Args:
        values: float64[n], of the drawn pairs.
        stratum: int64[n], their strata; each stratum has at least two.
        size: int64[K], ``N_h``.

    Returns:
        The estimate of the pool's plain mean. Degrees of freedom are ``(Σ c)² / Σ c²/(n_h − 1)`` with the terms c of
        the variance, and n − K where there is none.
    """
    drawn = np.bincount(stratum, minlength=len(size))
    average = np.bincount(stratum, values, len(size)) / drawn
    spread = np.bincount(stratum, (values - average[stratum]) ** 2, len(size)) / (drawn - 1)
    share = size / size.sum()
    terms = share**2 * (1 - drawn / size) * spread / drawn
    total = terms.sum()
    degrees = total**2 / (terms**2 / (drawn - 1)).sum() if total > 0 else float(len(values) - len(size))
    return MeanEstimate(np.asarray(share @ average), np.sqrt(total), np.asarray(degrees))


RISK_ESTIMATORS = ("regression", "snis", "difference")
"""The estimators of a risk by name; they are those of `estimators.ESTIMATORS`."""


@dataclass(frozen=True)
class Scores:
    """What the labels of the drawn pairs say of one predictor, and what the label model says of all pairs.

    Attributes:
        numerator: float64[..., n], u of the drawn pairs.
        weight: float64[..., n], w.
        expected_numerator: float64[N], ``E[u]`` of all pairs.
        expected_weight: float64[N], ``E[w]``.
    """

    numerator: np.ndarray
    weight: np.ndarray
    expected_numerator: np.ndarray
    expected_weight: np.ndarray


@dataclass(frozen=True)
class Domain:
    """A mean over part of the pool, ``Σ p ω δ / Σ p w``, with weights ω that are known of every pair.

    Attributes:
        values: float64[..., n], δ of the drawn pairs; 0 where ``ω = 0``.
        model: float64[N], ``E[δ]`` of all pairs.
        mass: float64[N], ``p ω``, not all 0.
        weight: float64[N], ω.
        whole: ``Σ_D p w``, at least ``Σ_D p ω``.
    """

    values: np.ndarray
    model: np.ndarray
    mass: np.ndarray
    weight: np.ndarray
    whole: float


def risk_domain(scores: Scores, pair_weight: np.ndarray) -> Domain:
    """The risk of one predictor whose weights do not depend on the labels: ``ω = w``, ``δ = ℓ``.

    Args:
        scores: Of the predictor.
        pair_weight: float64[N], p.
    """
    mass, model = pair_weight * scores.expected_weight, ratio_or_zero(scores.expected_numerator, scores.expected_weight)
    return Domain(
        ratio_or_zero(scores.numerator, scores.weight), model, mass, scores.expected_weight, float(mass.sum())
    )


def difference_domain(first: Scores, second: Scores, differ: np.ndarray, pair_weight: np.ndarray) -> Domain:
    """The difference of two risks with the same weights, which do not depend on the labels.

    Args:
        first: Of one predictor.
        second: Of the other.
        differ: bool[N], whether some label would give the two different losses; elsewhere ``δ = 0`` is known.
        pair_weight: float64[N], p.
    """
    weight = first.expected_weight * differ
    values = ratio_or_zero(first.numerator - second.numerator, first.weight)
    model = ratio_or_zero(first.expected_numerator - second.expected_numerator, weight)
    return Domain(values, model, pair_weight * weight, weight, float(pair_weight @ first.expected_weight))


def domain_estimate(domain: Domain, drawn: Drawn, estimator: str) -> MeanEstimate:
    """Estimate a mean over part of the pool [T 3.31].

    With ``v ω`` in the place of v, `estimators.snis` is ``Σ v ω δ / Σ v ω`` with the variance
    ``(Σ v ω)^{-2} Σ (1 − π) v² ω² (δ − Δ̂)²``; `estimators.regression` likewise. ``difference`` divides by the known
    ``Σ_D p ω`` instead, so that it stays unbiased.

    Args:
        domain: What to estimate.
        drawn: The sample.
        estimator: A name in `RISK_ESTIMATORS`.

    Returns:
        The estimate; NaN where no drawn pair has a weight.

    Raises:
        ValueError: If the estimator is unknown.
    """
    weight, total = domain.weight[drawn.rows], domain.mass.sum()
    mean, variance = estimators.mean_and_variance(domain.mass / total, domain.model)
    importance, count = drawn.importance * weight, drawn.count * (weight > 0)
    if estimator == "difference":
        importance, count = importance / total, drawn.count
    inner = Drawn(drawn.rows, count, importance, drawn.inclusion)
    found = _mean(estimator, inner, domain.values, domain.model[drawn.rows], mean, variance)
    scale = total / domain.whole
    return MeanEstimate(found.value * scale, found.standard_error * scale, found.degrees_of_freedom)


@dataclass(frozen=True)
class Linearised:
    """A ratio ``Ĝ = Σ v u / Σ v w``, or the difference of two, as a mean [T 3.31].

    Attributes:
        value: Ĝ, or ``Ĝ_1 − Ĝ_2``; NaN where the weights of all drawn pairs are 0.
        values: float64[..., n], ``d = (u − Ĝ w) / Ŵ`` with ``Ŵ = Σ v w / Σ v`` (of two predictors, the difference).
            Its weighted mean is 0, and its variance is that of Ĝ.
        coefficients: float64[..., 2k], what ``u_1, w_1, u_2, w_2`` are multiplied by to make d.
        effective: ``(Σ v w)² / Σ v² w²``, the smaller one of two predictors.
        own_share: float64[..., n], ``v w / Σ v w`` of each draw, the larger one of two predictors. Left out of its own
            ratio, a draw is ``1/(1 − own_share)`` times as far from it.
    """

    value: np.ndarray
    values: np.ndarray
    coefficients: np.ndarray
    effective: np.ndarray
    own_share: np.ndarray


def linearised(scores: Sequence[Scores], drawn: Drawn) -> Linearised:
    """The ratio of one predictor, or the difference of the first's and the second's, as a mean.

    Args:
        scores: Of one or two predictors.
        drawn: The sample.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [_linearised(score, drawn) for score in scores]
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    return Linearised(
        first.value - second.value,
        first.values - second.values,
        np.concatenate([first.coefficients, -second.coefficients], axis=-1),
        np.minimum(first.effective, second.effective),
        np.maximum(first.own_share, second.own_share),
    )


def _linearised(score: Scores, drawn: Drawn) -> Linearised:
    v = drawn.count * drawn.importance
    weight = (v * score.weight).sum(axis=-1)
    risk, scale = (v * score.numerator).sum(axis=-1) / weight, v.sum(axis=-1) / weight
    values = (score.numerator - risk[..., None] * score.weight) * scale[..., None]
    effective = effective_size(drawn.count, drawn.importance * score.weight)
    own_share = drawn.importance * score.weight / weight[..., None]
    return Linearised(risk, values, np.stack([scale, -risk * scale], axis=-1), effective, own_share)


def ratio_estimate(scores: Sequence[Scores], drawn: Drawn, pair_weight: np.ndarray, estimator: str) -> MeanEstimate:
    """Estimate the risk of one predictor, or the difference of two, whatever its weights depend on [T 3.31].

    Args:
        scores: Of one or two predictors.
        drawn: The sample.
        pair_weight: float64[N], p.
        estimator: A name in `RISK_ESTIMATORS`.

    Returns:
        The estimate; NaN where the weights of all drawn pairs are 0. Its degrees of freedom count those pairs only
        that have a weight.

    Raises:
        ValueError: If the estimator is unknown.
    """
    ratio = linearised(scores, drawn)
    expected = np.column_stack([c for s in scores for c in (s.expected_numerator, s.expected_weight)])
    average = pair_weight @ expected
    spread = (expected - average).T @ (pair_weight[:, None] * (expected - average))
    mean = ratio.coefficients @ average
    variance = np.einsum("...a,ab,...b->...", ratio.coefficients, spread, ratio.coefficients)
    model = np.einsum("...na,...a->...n", expected[drawn.rows], ratio.coefficients)
    found = _mean(estimator, drawn, ratio.values, model, mean, variance, ratio.own_share)
    idle = np.maximum(effective_size(drawn.count, drawn.importance) - ratio.effective, 0.0)
    return MeanEstimate(ratio.value + found.value, found.standard_error, found.degrees_of_freedom - idle)


def stratified_estimate(scores: Sequence[Scores], drawn: Drawn, stratum: np.ndarray, size: np.ndarray) -> MeanEstimate:
    """Estimate the same from strata: weighted by ``N_h/n_h``, with the variance within them.

    Args:
        scores: Of one or two predictors.
        drawn: The sample, each pair drawn once with ``π = n_h/N_h``.
        stratum: int64[n].
        size: int64[K], ``N_h``.
    """
    assert drawn.inclusion is not None
    ratio = linearised(scores, replace(drawn, importance=1 / drawn.inclusion))
    found = stratified_mean(ratio.values, stratum, size)
    return MeanEstimate(ratio.value + found.value, found.standard_error, found.degrees_of_freedom)


def _mean(
    estimator: str,
    drawn: Drawn,
    values: np.ndarray,
    model: np.ndarray,
    pool_mean: float,
    pool_variance: np.ndarray | float,
    own_share: np.ndarray | None = None,
) -> MeanEstimate:
    """Σ p δ from a sample of δ, by one of `RISK_ESTIMATORS`."""
    if estimator not in RISK_ESTIMATORS:
        raise ValueError(f"unknown estimator {estimator!r}; the estimators are {', '.join(RISK_ESTIMATORS)}")
    sample = drawn.count, drawn.importance, values, model, pool_mean, pool_variance, drawn.inclusion
    with np.errstate(divide="ignore", invalid="ignore"):
        if estimator == "regression":
            return estimators.regression(*sample, own_share=own_share)
        return estimators.estimator_named(estimator)(*sample)
