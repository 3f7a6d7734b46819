"""Ratios of weighted means: risks, slices and strata [theory 6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pt_active.inference.estimators import (
    Controls,
    MeanEstimate,
    effective_size,
    estimator_named,
    estimators_of,
    ratio_or_zero,
)
from pt_active.inference.statistics import Evaluated, minus, ratio_of
from pt_active.sampling.sample import Sample


def risk_estimators() -> tuple[str, ...]:
    """The names of the estimators of a risk: those of `estimators.ESTIMATORS` that serve pairs."""
    return estimators_of("pair")


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
        whole: ``Σ_D p w``, at least ``Σ_D p ω``.
    """

    values: np.ndarray
    model: np.ndarray
    mass: np.ndarray
    whole: float


def risk_domain(scores: Scores, pair_weight: np.ndarray) -> Domain:
    """The risk of one predictor whose weights do not depend on the labels: ``ω = w``, ``δ = ℓ``.

    Args:
        scores: Of the predictor.
        pair_weight: float64[N], p.
    """
    mass, model = pair_weight * scores.expected_weight, ratio_or_zero(scores.expected_numerator, scores.expected_weight)
    return Domain(ratio_or_zero(scores.numerator, scores.weight), model, mass, float(mass.sum()))


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
    return Domain(values, model, pair_weight * weight, float(pair_weight @ first.expected_weight))


def domain_estimate(domain: Domain, sample: Sample, estimator: str) -> MeanEstimate:
    """Estimate a mean over part of the pool [T 3.31].

    With ``p ω`` in the place of p, `estimators.snis` is ``Σ v ω δ / Σ v ω`` with the variance
    ``(Σ v ω)^{-2} Σ (1 − π) v² ω² (δ − Δ̂)²``; `estimators.regression` likewise. ``difference`` divides by the known
    ``Σ_D p ω`` instead, so that it stays unbiased.

    Args:
        domain: What to estimate.
        sample: The drawn pairs.
        estimator: A name in `risk_estimators`.

    Returns:
        The estimate; NaN where no drawn pair has a weight.

    Raises:
        ValueError: If the estimator is unknown.
    """
    total = domain.mass.sum()
    weighting = estimator_named(estimator, "pair").weigh(sample, Controls(domain.mass / total, domain.model))
    return _scaled(weighting.estimate(domain.values), total / domain.whole)


def linearised(scores: Sequence[Scores], weights: np.ndarray, count: np.ndarray) -> tuple[Evaluated, np.ndarray]:
    """The ratio ``Ĝ = Σ v u / Σ v w`` of one predictor, or the difference of the first's and the second's [T 3.31].

    Args:
        scores: Of one or two predictors.
        weights: float64[..., n], v, what each draw weighs.
        count: int64[..., n].

    Returns:
        The ratio, NaN where the weights of all drawn pairs are 0. Its gradient ``(u − Ĝ w)/Σ v w`` has the weighted sum
        0, and the variance of its weighted sum is that of Ĝ. And what the model expects of the gradient of every pair,
        float64[..., N].
    """
    found, models = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for score in scores:
            each = ratio_of(score.numerator, score.weight, weights, count)
            slope = 1 / (count * weights * score.weight).sum(axis=-1)[..., None]
            models.append(
                slope * (score.expected_numerator - np.asarray(each.value)[..., None] * score.expected_weight)
            )
            found.append(each)
    if len(scores) == 1:
        return found[0], models[0]
    return minus(*found), models[0] - models[1]


def ratio_estimate(scores: Sequence[Scores], sample: Sample, pair_weight: np.ndarray, estimator: str) -> MeanEstimate:
    """Estimate the risk of one predictor, or the difference of two, whatever its weights depend on [T 3.31].

    Args:
        scores: Of one or two predictors.
        sample: The drawn pairs.
        pair_weight: float64[N], p.
        estimator: A name in `risk_estimators`.

    Returns:
        The estimate; NaN where the weights of all drawn pairs are 0. Its degrees of freedom count those pairs only
        that have a weight.

    Raises:
        ValueError: If the estimator is unknown.
    """
    weigh, importance = estimator_named(estimator, "pair").weigh, sample.importance(pair_weight)
    ratio, model = linearised(scores, importance, sample.count)
    mean = weigh(sample, Controls(pair_weight, model, ratio.own_share)).estimate(ratio.gradient)
    mean = _scaled(mean, (sample.count * importance).sum(axis=-1))
    idle = np.maximum(effective_size(sample.count, importance) - ratio.effective, 0.0)
    return MeanEstimate(ratio.value + mean.value, mean.standard_error, mean.degrees_of_freedom - idle)


def stratified_estimate(scores: Sequence[Scores], sample: Sample) -> MeanEstimate:
    """Estimate the same from strata: weighted by ``N_h/n_h``, with the variance within them.

    Args:
        scores: Of one or two predictors.
        sample: Of strata, each pair drawn once with ``π = n_h/N_h``.
    """
    assert sample.stratum is not None
    ratio, _ = linearised(scores, 1 / sample.expected, sample.count)
    values = ratio.gradient * (1 / sample.expected).sum()
    mean = stratified_mean(values, sample.of(sample.stratum), np.bincount(sample.stratum))
    return MeanEstimate(ratio.value + mean.value, mean.standard_error, mean.degrees_of_freedom)


def _scaled(mean: MeanEstimate, factor: np.ndarray | float) -> MeanEstimate:
    """The same estimate in another unit."""
    return MeanEstimate(mean.value * factor, mean.standard_error * factor, mean.degrees_of_freedom)


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
