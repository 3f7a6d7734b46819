"""From a weighted sample of queries to a mean and its standard error [theory 5].

Each estimator takes one column a distinct query: how often it was drawn, ``v = p/q`` and the measured value; the
assisted ones also the model's value of the same query, and its mean and variance over the pool. Axes before the last
hold independent samples, so that a replay of thousands runs through the very functions that a plan uses; a query that a
sample did not draw counts 0 in it. A new estimator is one function below and a line in `ESTIMATORS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MeanEstimate:
    """A point, its spread, and how many observations the spread rests on; an array of each for several samples.

    Attributes:
        value: The estimate.
        standard_error: Of the estimate; NaN with fewer than two draws.
        degrees_of_freedom: Of the t distribution that the interval uses.
    """

    value: np.ndarray
    standard_error: np.ndarray
    degrees_of_freedom: np.ndarray


Estimator = Callable[
    [np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, np.ndarray | float, np.ndarray | None], MeanEstimate
]
"""(count[..., n], importance v[..., n], values ℓ[..., n], model values M[..., n], mean and variance of M over
the pool, inclusion probabilities π[..., n] of draws without replacement or None) → MeanEstimate."""


def effective_size(count: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """``n_eff = (Σ v)² / Σ v²`` over the draws: as many equally weighted ones would say as much [theory 5]."""
    return _dot(count, importance) ** 2 / np.maximum(_dot(count, importance**2), _TINY)


def snis(
    count: np.ndarray,
    importance: np.ndarray,
    values: np.ndarray,
    model: np.ndarray,
    pool_mean: float,
    pool_variance: np.ndarray | float,
    inclusion: np.ndarray | None = None,
) -> MeanEstimate:
    """``Σ v ℓ / Σ v``, variance ``(Σ v)^{-2} Σ (1 − π) v² (ℓ − R̂)²`` [T 3.11, 3.14]; t on ``n_eff − 1``.

    With replacement π = 0, as in the source; without, what is left of a finite pool counts (Hájek 1964).
    """
    share = _share(count, importance)
    value = _dot(count * share, values)
    error = np.sqrt(_dot(count * _chance(inclusion), (share * (values - value[..., None])) ** 2))
    return _estimate(value, error, effective_size(count, importance) - 1, count)


def horvitz_thompson(
    count: np.ndarray,
    importance: np.ndarray,
    values: np.ndarray,
    model: np.ndarray,
    pool_mean: float,
    pool_variance: np.ndarray | float,
    inclusion: np.ndarray | None = None,
) -> MeanEstimate:
    """``(1/n) Σ v ℓ``, sample variance of ``v ℓ`` over n [T 3.1.1]; t on ``n − 1``.

    Without replacement this is ``Σ p ℓ / π``, with the variance ``Σ (1 − π) (p ℓ / π)²`` that `draws.priorities`
    makes unbiased.
    """
    return _mean(count, importance * values, inclusion)


def difference(
    count: np.ndarray,
    importance: np.ndarray,
    values: np.ndarray,
    model: np.ndarray,
    pool_mean: float,
    pool_variance: np.ndarray | float,
    inclusion: np.ndarray | None = None,
) -> MeanEstimate:
    """``Σ_D p M + (1/n) Σ v (ℓ − M)`` [theory 5, model-assisted]; t on ``n − 1``."""
    residual = _mean(count, importance * (values - model), inclusion)
    return MeanEstimate(pool_mean + residual.value, residual.standard_error, residual.degrees_of_freedom)


def regression(
    count: np.ndarray,
    importance: np.ndarray,
    values: np.ndarray,
    model: np.ndarray,
    pool_mean: float,
    pool_variance: np.ndarray | float,
    inclusion: np.ndarray | None = None,
    own_share: np.ndarray | None = None,
) -> MeanEstimate:
    """``ȳ + b (Σ_D p M − m̄)`` with leverage-corrected errors; t on ``n_eff − 2`` [theory 5, GREG].

    With ``W = v / Σ v`` of each draw: ``ȳ = Σ W ℓ``, ``m̄ = Σ W M``, ``s² = Σ W (M − m̄)²`` and the slope
    ``b = a Σ W² (ℓ − ȳ)(M − m̄) / Σ W² (M − m̄)²``, where a is 1 but in samples that hardly make a line: it is
    ``min(1, 2 s²/pool_variance) min(1, 4/3 (1 − Σ t²/(Σ t)²))`` with ``t = W² (M − m̄)²``, since a line through values
    that lie together says little of those far away, and one draw alone makes none.

    ``SE² = Σ (1 − π) (W r / (1 − h))²`` with residuals ``r = ℓ − ȳ − b (M − m̄)``, about the leverage
    ``h = W (1 + a (M − m̄)²/s²)`` of a draw on its own prediction, and π = 0 with replacement. If the model says the
    same of every drawn query, ``b = 0``.

    Where ``own_share`` is given, what a draw weighs in a linearised ratio, r is ``(1 − W)/(1 − own_share)`` times as
    large: so far is a draw from the ratio of the others.
    """
    share = _share(count, importance)
    total = count * share
    mean, model_mean = _dot(total, values), _dot(total, model)
    centred, predictor = values - mean[..., None], model - model_mean[..., None]
    pull, spread = share**2 * predictor**2, _dot(total, predictor**2)
    alone = ratio_or_zero(_dot(count, pull**2), _dot(count, pull) ** 2)
    trust = np.minimum(1, ratio_or_zero(spread, LEAST_SPREAD * np.asarray(pool_variance)))
    trust = trust * np.minimum(1, (1 - alone) / (1 - MOST_ALONE))
    slope = (trust * ratio_or_zero(_dot(total * share * predictor, centred), _dot(count, pull)))[..., None]
    leverage = share * (1 + trust[..., None] * ratio_or_zero(predictor**2, spread[..., None]))
    with np.errstate(divide="ignore", invalid="ignore"):
        further = 1.0 if own_share is None else (1 - share) / (1 - own_share)
        scaled = share * further * (centred - slope * predictor) / (1 - leverage)
        error = np.sqrt(_dot(count * _chance(inclusion), scaled**2))
    value = mean + slope[..., 0] * (pool_mean - model_mean)
    return _estimate(value, error, effective_size(count, importance) - 2, count)


ESTIMATORS: dict[str, Estimator] = {
    "regression": regression,
    "snis": snis,
    "ht": horvitz_thompson,
    "difference": difference,
}
"""The estimators by name [theory 5]."""

LEAST_SPREAD = 0.5
"""Share of the pool's variance of M that a sample must have, if its line is to be believed in full."""

MOST_ALONE = 0.25
"""The same for what one draw may contribute to the line: ``Σ t²/(Σ t)²``, the inverse of how many draws make it."""

_TINY = np.finfo(np.float64).tiny
"""Keeps the effective size of no draw from being 0/0."""

_ROUNDING = 1e-12
"""A number below this share of the largest value is rounding."""


def estimator_named(name: str) -> Estimator:
    """Look an estimator up.

    Raises:
        ValueError: If there is none of that name; the message lists those there are.
    """
    if name not in tuple(ESTIMATORS):
        raise ValueError(f"unknown estimator {name!r}; the estimators are {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]


def mean_and_variance(weight: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """``Σ p M`` and ``Σ p (M − Σ p M)²`` over the pool.

    Args:
        weight: float64[m], p, sums to 1.
        values: float64[m], M.
    """
    mean = weight @ values
    return float(mean), float(weight @ (values - mean) ** 2)


def is_rounding(number: np.ndarray, count: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether a standard error, or the size of an estimate, is nothing but rounding beside the values it came from.

    Args:
        number: float64[...], not negative.
        count: int64[..., n].
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


def _share(count: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """``W = v / Σ v``: what each draw of a query weighs, float64[..., n]."""
    return importance / _dot(count, importance)[..., None]


def _chance(inclusion: np.ndarray | None) -> np.ndarray | float:
    """``1 − π``, the part of a query's variance that is due to sampling; 1 with replacement."""
    return 1.0 if inclusion is None else 1 - inclusion


def _mean(count: np.ndarray, terms: np.ndarray, inclusion: np.ndarray | None) -> MeanEstimate:
    n = count.sum(axis=-1)
    value = _dot(count, terms) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        if inclusion is None:
            error = np.sqrt(_dot(count, (terms - value[..., None]) ** 2) / (n - 1) / n)
        else:
            error = np.sqrt(_dot(count * (1 - inclusion), terms**2)) / n
    return _estimate(value, error, n - 1.0, count)


def _estimate(value: np.ndarray, error: np.ndarray, degrees: np.ndarray, count: np.ndarray) -> MeanEstimate:
    return MeanEstimate(value, np.where(count.sum(axis=-1) > 1, error, np.nan)[()], degrees)


ESTIMATOR = "regression"
"""The estimator of both levels."""
