"""From a weighted sample to a mean and its standard error [theory 5].

An estimator takes a sample and what the model expects of every unit of the population, and returns weights of the
measured values: all estimators are linear in the values. The same functions serve queries, pairs and opened queries,
one sample or thousands at once. To add an estimator, write a function below and a line in `ESTIMATORS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.sampling.designs import optimal_score
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class MeanEstimate:
    """A mean with its standard error and degrees of freedom; arrays for several samples.

    Attributes:
        value: The estimate.
        standard_error: The standard error; NaN with fewer than two draws.
        degrees_of_freedom: Those of the t distribution that the interval uses.
    """

    value: np.ndarray
    standard_error: np.ndarray
    degrees_of_freedom: np.ndarray


@dataclass(frozen=True)
class Controls:
    """What is known of a population of m units before any of them is labelled.

    Attributes:
        p: float64[m], the weight of each unit in the mean; sums to 1.
        model: float64[m], M, the value that the model expects of each unit; float64[..., m] if it differs by sample.
        own_share: float64[..., n], the share of each draw in the ratio, if the values are those of a linearised ratio;
            None otherwise.
    """

    p: np.ndarray
    model: np.ndarray
    own_share: np.ndarray | None = None

    @cached_property
    def mean(self) -> np.ndarray:
        """``Σ p M`` over the population, float64[...]."""
        return np.asarray(self.model @ self.p)

    @cached_property
    def variance(self) -> np.ndarray:
        """``Σ p (M − Σ p M)²`` over the population, float64[...]."""
        return np.asarray((self.model - self.mean[..., None]) ** 2 @ self.p)


class Weighting(NamedTuple):
    """An estimate that is linear in the values, ``base + Σ a ℓ``, and its error for given values.

    Attributes:
        base: float64[...], the part that does not depend on the values.
        weights: float64[..., n], a.
        variance: Function from values, float64[..., n], to the estimated variance of ``Σ a ℓ``, float64[...].
        degrees: float64[...], degrees of freedom of the t distribution that the interval uses.
        draws: int64[...], the number of draws with a positive weight; a single draw has no standard error.
    """

    base: np.ndarray | float
    weights: np.ndarray
    variance: Callable[[np.ndarray], np.ndarray | float]
    degrees: np.ndarray
    draws: np.ndarray

    def estimate(self, values: np.ndarray) -> MeanEstimate:
        """The mean and its standard error.

        Args:
            values: float64[..., n], ℓ, the measured values of the drawn units.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(self.variance(values))
        value = self.base + _dot(self.weights, values)
        return MeanEstimate(value, np.where(self.draws > 1, error, np.nan)[()], self.degrees)


Estimator = Callable[[Sample, Controls], Weighting]
"""From a sample and what is known of the population to the weights of the drawn units."""


def snis(sample: Sample, controls: Controls) -> Weighting:
    """``Σ v ℓ / Σ v``, variance ``(Σ v)^{-2} Σ (1 − π) v² (ℓ − R̂)²`` [T 3.11, 3.14]; t on `degrees_left`.

    With replacement π = 0, as in the source; without, ``1 − π`` is the correction for a finite pool (Hájek 1964).

    Args:
        sample: What was drawn.
        controls: Of which p is read.
    """
    importance, share = _importance(sample, controls.p)
    weights = sample.count * share

    def variance(values: np.ndarray) -> np.ndarray:
        centred = values - _dot(weights, values)[..., None]
        return _dot(sample.count * sample.left, (share * centred) ** 2)

    return Weighting(0.0, weights, variance, degrees_left(sample, importance, 1), _counting(sample, importance))


def horvitz_thompson(sample: Sample, controls: Controls) -> Weighting:
    """``(1/n) Σ v ℓ``, sample variance of ``v ℓ`` over n [T 3.1.1]; t on ``n − 1``.

    Without replacement this is ``Σ p ℓ / π``, with the variance ``Σ (1 − π) (p ℓ / π)²`` that `draws.priorities`
    makes unbiased.

    Args:
        sample: What was drawn.
        controls: Of which p is read.
    """
    n, once = sample.draws, sample.of(controls.p) / sample.expected
    weights = sample.count * once

    def variance(values: np.ndarray) -> np.ndarray:
        if not sample.repeated:
            return _dot(sample.count * sample.left, (once * values) ** 2)
        centred = n[..., None] * once * values - _dot(weights, values)[..., None]
        return _dot(sample.count, centred**2) / (n - 1) / n

    return Weighting(0.0, weights, variance, n - 1.0, n)


def difference(sample: Sample, controls: Controls) -> Weighting:
    """``Σ_D p M + (1/n) Σ v (ℓ − M)`` [theory 5, model-assisted]; t on ``n − 1``.

    This is the model's mean over the population plus `horvitz_thompson` of the residuals.

    Args:
        sample: What was drawn.
        controls: Of which p and M are read.
    """
    plain, model = horvitz_thompson(sample, controls), sample.of(controls.model)
    base = controls.mean - _dot(plain.weights, model)
    return plain._replace(base=base, variance=lambda values: plain.variance(values - model))


def regression(sample: Sample, controls: Controls) -> Weighting:
    """``ȳ + b (Σ_D p M − m̄)`` with leverage-corrected errors; t on `degrees_left` [theory 5, GREG].

    With ``W = v / Σ v`` of each draw: ``ȳ = Σ W ℓ``, ``m̄ = Σ W M``, ``s² = Σ W (M − m̄)²`` and the slope
    ``b = a Σ W² (ℓ − ȳ)(M − m̄) / Σ W² (M − m̄)²``, where a is 1, or less (`_trust`) if the sample hardly
    determines a line.

    ``SE² = Σ (1 − π) (W r / (1 − h))²`` with residuals ``r = ℓ − ȳ − b (M − m̄)``, approximately the leverage
    ``h = W (1 + a (M − m̄)²/s²)`` of a draw on its own prediction, and π = 0 with replacement. If the model expects the
    same of every drawn unit, ``b = 0``.

    For a linearised ratio, r is multiplied by ``(1 − W)/(1 − own_share)``, which makes it the distance of a draw from
    the ratio of the other draws.

    Args:
        sample: What was drawn.
        controls: What is known of the population.
    """
    importance, share = _importance(sample, controls.p)
    total, model = sample.count * share, sample.of(controls.model)
    model_mean = _dot(total, model)
    predictor = model - model_mean[..., None]
    pull, spread = share**2 * predictor**2, _dot(total, predictor**2)
    trust = _trust(sample.count, pull, spread, controls.variance)[..., None]
    lever = trust * ratio_or_zero(total * share * predictor, _dot(sample.count, pull)[..., None])
    leverage = share * (1 + trust * ratio_or_zero(predictor**2, spread[..., None]))

    def variance(values: np.ndarray) -> np.ndarray:
        further = 1.0 if controls.own_share is None else (1 - share) / (1 - controls.own_share)
        centred = values - _dot(total, values)[..., None]
        residual = centred - _dot(lever, centred)[..., None] * predictor
        return _dot(sample.count * sample.left, (share * further * residual / (1 - leverage)) ** 2)

    gap = (controls.mean - model_mean)[..., None]
    weights = total + gap * (lever - total * lever.sum(axis=-1, keepdims=True))
    return Weighting(0.0, weights, variance, degrees_left(sample, importance, 2), _counting(sample, importance))


def _trust(count: np.ndarray, pull: np.ndarray, spread: np.ndarray, pool_variance: np.ndarray) -> np.ndarray:
    """The share of its slope that a line keeps, float64[...]: ``min(1, 2 s²/Var M) min(1, 4/3 (1 − Σ t²/(Σ t)²))``.

    A line through values that lie close together says little about values far away, and a single draw determines none.

    Args:
        count: int64[..., n].
        pull: float64[..., n], ``t = W² (M − m̄)²`` of each draw.
        spread: float64[...], s².
        pool_variance: float64[...], of M over the population.
    """
    concentration = ratio_or_zero(_dot(count, pull**2), _dot(count, pull) ** 2)
    trust = np.minimum(1, ratio_or_zero(spread, MIN_SPREAD_SHARE * pool_variance))
    return np.asarray(trust * np.minimum(1, (1 - concentration) / (1 - MAX_CONCENTRATION)))


@dataclass(frozen=True)
class EstimatorKind:
    """An estimator and its properties.

    Attributes:
        weigh: Function from a sample and controls to a weighting.
        fitted: Number of parameters that it fits to the labels, by which its degrees of freedom are fewer.
        expected: Function from the mean and variance of each unit's value under the model, and p, float64[m] each, to
            the expected squared residuals that make up the error, float64[m].
        units: The units that it serves: ``"query"``, ``"pair"`` or both.
        bounded: Whether the interval of a risk keeps to the values that the risk can have.
    """

    weigh: Estimator
    fitted: int
    expected: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    units: tuple[str, ...] = ("query", "pair")
    bounded: bool = True


ESTIMATORS: dict[str, EstimatorKind] = {
    "regression": EstimatorKind(regression, 2, lambda mean, variance, p: variance),
    "snis": EstimatorKind(snis, 1, optimal_score),
    "ht": EstimatorKind(horvitz_thompson, 1, lambda mean, variance, p: mean**2 + variance, units=("query",)),
    "difference": EstimatorKind(difference, 1, lambda mean, variance, p: variance, bounded=False),
}
"""The estimators by name [theory 5]."""

ESTIMATOR = "regression"
"""The default estimator of queries, documents and pairs."""

MIN_SPREAD_SHARE = 0.5
"""A line is trusted in full only if the sample has at least this share of the pool's variance of M."""

MAX_CONCENTRATION = 0.25
"""A line is trusted in full only if ``Σ t²/(Σ t)²``, the inverse of how many draws determine it, is at most this."""

_TINY = np.finfo(np.float64).tiny
"""Keeps the effective size of no draw from being 0/0."""

_ROUNDING = 1e-12
"""A number below this share of the largest value is rounding."""


def estimator_named(name: str, unit: str = "query") -> EstimatorKind:
    """Look an estimator up.

    Args:
        name: The name of the estimator.
        unit: The unit that it is to serve: ``"query"`` or ``"pair"``.

    Raises:
        ValueError: If no estimator of that unit has the name; the message lists the known ones.
    """
    known = estimators_of(unit)
    if name not in known:
        raise ValueError(f"unknown estimator {name!r}; the estimators are {', '.join(known)}")
    return ESTIMATORS[name]


def estimators_of(unit: str) -> tuple[str, ...]:
    """Names of the estimators that serve a unit, ``"query"`` or ``"pair"``."""
    return tuple(name for name, kind in ESTIMATORS.items() if unit in kind.units)


def effective_size(count: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """``n_eff = (Σ v)² / Σ v²``: the number of equally weighted draws that would be as informative [theory 5].

    Args:
        count: int64[..., n], how often each unit was drawn.
        importance: float64[..., n], v of each draw.

    Returns:
        float64[...].
    """
    return _dot(count, importance) ** 2 / np.maximum(_dot(count, importance**2), _TINY)


def degrees_left(sample: Sample, importance: np.ndarray, fitted: int) -> np.ndarray:
    """Degrees of freedom of an error to which certain draws contribute nothing [theory 14].

    ``(Σ (1−π) v)² / Σ ((1−π) v)² · (1 − f/n_eff)``: Satterthwaite's for terms ``(1−π) v² (ℓ − R̂)²`` if the variance of
    a draw falls with its weight, as designs aim at, times the share that fitting f parameters leaves. If all
    ``π`` are small, this is ``n_eff − f``.

    Args:
        sample: What was drawn.
        importance: float64[..., n], v of each draw.
        fitted: f, the number of parameters that are fitted to the labels.

    Returns:
        float64[...]; may be negative.
    """
    total = effective_size(sample.count, importance)
    uncertain = effective_size(sample.count, importance * sample.left)
    return np.asarray(uncertain * (1 - fitted / np.maximum(total, _TINY)))[()]


def is_rounding(number: np.ndarray, count: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether a standard error, or the size of an estimate, is only rounding compared with the values it came from.

    Args:
        number: float64[...], not negative.
        count: int64[..., n], how often each unit was drawn.
        values: float64[..., n], ℓ.
    """
    largest = np.max(np.where(count > 0, np.abs(values), 0.0), axis=-1)
    return np.asarray(number <= _ROUNDING * np.maximum(1.0, largest))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``Σ a b`` over the last axis."""
    return np.asarray(np.einsum("...n,...n->...", a, b))[()]


def ratio_or_zero(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b``, and 0 where b is 0."""
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.zeros(a.shape), where=b > 0)


def _importance(sample: Sample, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """V of each draw, and ``W = v / Σ v``, float64[..., n] each; W is NaN if no drawn unit has a weight."""
    importance = sample.importance(p)
    with np.errstate(invalid="ignore"):
        return importance, importance / _dot(sample.count, importance)[..., None]


def _counting(sample: Sample, importance: np.ndarray) -> np.ndarray:
    """The number of draws with a positive weight, int64[...]."""
    return np.asarray((sample.count * (importance > 0)).sum(axis=-1))
