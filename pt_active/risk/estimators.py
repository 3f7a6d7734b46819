"""From a weighted sample of pairs to a risk, or a difference of two, with its standard error [theory 6].

A risk is a ratio. Where its weights do not depend on the labels (accuracy, precision, costs, a slice), it is a mean
over the part of the pool that has a weight, and so is a difference over the pairs on which two predictors differ:
elsewhere nothing has to be estimated. Recall and F are ratios of two unknowns, and are linearised. Both come down to
the means of `estimators`. Axes before the last hold independent samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from pt_active.estimators import Estimator, MeanEstimate, effective_size, estimator_named
from pt_active.risk.stratified import stratified_mean

RISK_ESTIMATORS = ("regression", "snis", "difference")
"""The estimators of a risk by name; they are those of `estimators.ESTIMATORS`."""


@dataclass(frozen=True)
class Drawn:
    """How pairs came into the sample, as the estimators of `estimators` have it; a pair that did not counts 0.

    Attributes:
        count: int64[..., n].
        importance: float64[..., n], v.
        inclusion: float64[..., n], π of draws without replacement; None with replacement.
    """

    count: np.ndarray
    importance: np.ndarray
    inclusion: np.ndarray | None = None


@dataclass(frozen=True)
class Scores:
    """What the labels say of one predictor, and what the label model says.

    Attributes:
        numerator: float64[..., n], u.
        weight: float64[..., n], w.
        expected_numerator: float64[..., n], ``E[u]``.
        expected_weight: float64[..., n], ``E[w]``.
        pool_numerator: ``Σ_D p E[u]``.
        pool_weight: ``Σ_D p E[w]``.
    """

    numerator: np.ndarray
    weight: np.ndarray
    expected_numerator: np.ndarray
    expected_weight: np.ndarray
    pool_numerator: float
    pool_weight: float


@dataclass(frozen=True)
class Domain:
    """A mean over part of the pool, ``Σ p ω δ / Σ p w``, with weights ω that are known of every pair.

    Attributes:
        weight: float64[..., n], ω.
        values: float64[..., n], δ.
        model: float64[..., n], ``E[δ]``.
        total: ``Σ_D p ω``, above 0.
        whole: ``Σ_D p w``, at least as much.
        pool_mean: ``Σ_D p ω E[δ] / Σ_D p ω``.
    """

    weight: np.ndarray
    values: np.ndarray
    model: np.ndarray
    total: float
    whole: float
    pool_mean: float


def risk_domain(scores: Scores) -> Domain:
    """The risk of one predictor whose weights do not depend on the labels: ``ω = w``, ``δ = ℓ``."""
    total = scores.pool_weight
    values, model = _ratio(scores.numerator, scores.weight), _ratio(scores.expected_numerator, scores.expected_weight)
    return Domain(scores.weight, values, model, total, total, scores.pool_numerator / total)


def difference_domain(first: Scores, second: Scores, differ: np.ndarray, share: float) -> Domain:
    """The difference of two risks with the same weights, which do not depend on the labels.

    Args:
        first: Of one predictor.
        second: Of the other.
        differ: bool[..., n], whether some label would give the two different losses; elsewhere ``δ = 0`` is known.
        share: ``Σ_D p w`` over the pairs that differ.
    """
    values = _ratio(first.numerator - second.numerator, first.weight)
    model = _ratio(first.expected_numerator - second.expected_numerator, first.weight)
    expected = (first.pool_numerator - second.pool_numerator) / share
    return Domain(first.weight * differ, values, model, share, first.pool_weight, expected)


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
    estimate, scale = _named(estimator), domain.total / domain.whole
    importance, count = drawn.importance * domain.weight, drawn.count * (domain.weight > 0)
    if estimator == "difference":
        importance, count = importance / domain.total, drawn.count
    with np.errstate(divide="ignore", invalid="ignore"):
        found = estimate(count, importance, domain.values, domain.model, domain.pool_mean, drawn.inclusion)
    return MeanEstimate(found.value * scale, found.standard_error * scale, found.degrees_of_freedom)


@dataclass(frozen=True)
class Linearised:
    """A ratio ``Ĝ = Σ v u / Σ v w``, or the difference of two, as a mean [T 3.31].

    Attributes:
        value: Ĝ, or ``Ĝ_1 − Ĝ_2``; NaN where the weights of all drawn pairs are 0.
        values: float64[..., n], ``d = (u − Ĝ w) / Ŵ`` with ``Ŵ = Σ v w / Σ v`` (of two predictors, the difference).
            Its weighted mean is 0, and its variance is that of Ĝ.
        model: float64[..., n], ``E[d]``.
        pool_mean: ``Σ_D p E[d]``.
        effective: ``(Σ v w)² / Σ v² w²``, the smaller one of two predictors.
    """

    value: np.ndarray
    values: np.ndarray
    model: np.ndarray
    pool_mean: np.ndarray
    effective: np.ndarray


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
        first.model - second.model,
        first.pool_mean - second.pool_mean,
        np.minimum(first.effective, second.effective),
    )


def _linearised(score: Scores, drawn: Drawn) -> Linearised:
    v = drawn.count * drawn.importance
    weight = (v * score.weight).sum(axis=-1)
    risk, scale = (v * score.numerator).sum(axis=-1) / weight, weight / v.sum(axis=-1)
    return Linearised(
        risk,
        (score.numerator - risk[..., None] * score.weight) / scale[..., None],
        (score.expected_numerator - risk[..., None] * score.expected_weight) / scale[..., None],
        (score.pool_numerator - risk * score.pool_weight) / scale,
        effective_size(drawn.count, drawn.importance * score.weight),
    )


def ratio_estimate(scores: Sequence[Scores], drawn: Drawn, estimator: str) -> MeanEstimate:
    """Estimate the risk of one predictor, or the difference of two, whatever its weights depend on [T 3.31].

    Args:
        scores: Of one or two predictors.
        drawn: The sample.
        estimator: A name in `RISK_ESTIMATORS`.

    Returns:
        The estimate; NaN where the weights of all drawn pairs are 0. Its degrees of freedom count those pairs only
        that have a weight.

    Raises:
        ValueError: If the estimator is unknown.
    """
    estimate, ratio = _named(estimator), linearised(scores, drawn)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = estimate(
            drawn.count, drawn.importance, ratio.values, ratio.model, cast(float, ratio.pool_mean), drawn.inclusion
        )
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
    ratio = linearised(scores, drawn)
    found = stratified_mean(ratio.values, stratum, size)
    return MeanEstimate(ratio.value + found.value, found.standard_error, found.degrees_of_freedom)


def _named(estimator: str) -> Estimator:
    if estimator not in RISK_ESTIMATORS:
        raise ValueError(f"unknown estimator {estimator!r}; the estimators are {', '.join(RISK_ESTIMATORS)}")
    return estimator_named(estimator)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b``, and 0 where b is 0."""
    return np.asarray(np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0))
