"""From a weighted sample to a mean and its standard error [theory 5].

An estimator takes a sample, what the model expects of every unit of the population, and the measured values. All
estimators are linear in the values, apart from how far `regression` trusts its line. The same functions serve queries,
pairs and opened queries, one sample or thousands at once. To add an estimator, write a function below and a line in
`ESTIMATORS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.sampling.designs import optimal_score
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class MeanEstimate:
    """A mean with its standard error and degrees of freedom; arrays for several samples."""

    value: np.ndarray  # The estimate
    standard_error: np.ndarray  # The standard error; NaN with fewer than two draws
    degrees_of_freedom: np.ndarray  # Those of the t distribution that the interval uses


@dataclass(frozen=True)
class Controls:
    """What is known of a population of m units before any of them is labelled."""

    p: np.ndarray  # float64[m], the weight of each unit in the mean; sums to 1
    model: np.ndarray  # float64[m], M, what the model expects of each unit; float64[..., m] if it differs by sample
    own_share: np.ndarray | None = None  # float64[..., n], the share of each draw in a linearised ratio; else None
    parts: np.ndarray | None = None  # float64[..., j], c, if M is ``Σ c model`` with a model float64[j, m]; else None

    @cached_property
    def mean(self) -> np.ndarray:
        """``Σ p M`` over the population, float64[...]."""
        mean = np.asarray(self.model @ self.p)
        return mean if self.parts is None else np.einsum("...j,j->...", self.parts, mean)

    @cached_property
    def variance(self) -> np.ndarray:
        """``Σ p (M − Σ p M)²`` over the population, float64[...]."""
        if self.parts is None:
            return np.asarray((self.model - self.mean[..., None]) ** 2 @ self.p)
        centred = self.model - (self.model @ self.p)[:, None]
        return np.einsum("...i,ij,...j->...", self.parts, centred * self.p @ centred.T, self.parts)

    def of(self, sample: Sample) -> np.ndarray:
        """float64[..., n], M of the drawn units."""
        if self.parts is None:
            return sample.of(self.model)
        return np.einsum("...j,j...n->...n", self.parts, self.model[:, sample.rows])


@dataclass(frozen=True)
class WeightedMean(MeanEstimate):
    """A mean ``base + Σ a ℓ`` of the values of the drawn units, as if the weights did not depend on these."""

    base: np.ndarray | float  # float64[...], the part that does not depend on the values
    weights: np.ndarray  # float64[..., n], a
    slope: np.ndarray | float = 0.0  # float64[...], b in ``m = c + b M``, the values of undrawn units
    centred: bool = True  # Whether c comes from the draws, as weights that sum to 1 allow; otherwise it is 0


# From a sample, what is known of the population, and the values of the drawn units, float64[..., n], to the mean
Estimator = Callable[[Sample, Controls, np.ndarray], WeightedMean]


def snis(sample: Sample, controls: Controls, values: np.ndarray) -> WeightedMean:
    """``Σ v ℓ / Σ v``, variance ``(Σ v)^{-2} Σ (1 − π) v² (ℓ − R̂)²`` [T 3.11, 3.14]; t on `degrees_left`."""
    importance, share = _importance(sample, controls.p)
    weights = sample.count * share
    centred = values - _dot(weights, values)[..., None]
    variance = _dot(sample.count * sample.left, (share * centred) ** 2)
    error, degrees = _error(variance, _counting(sample, importance)), degrees_left(sample, importance, 1)
    return WeightedMean(_dot(weights, values), error, degrees, 0.0, weights)


def horvitz_thompson(sample: Sample, controls: Controls, values: np.ndarray) -> WeightedMean:
    """``(1/n) Σ v ℓ``, sample variance of ``v ℓ`` over n [T 3.1.1]; t on ``n − 1``; as `draws.priorities` draws."""
    n, once = sample.draws, sample.of(controls.p) / sample.expected
    weights = sample.count * once
    value = _dot(weights, values)
    if sample.repeated:
        centred = n[..., None] * once * values - value[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = _dot(sample.count, centred**2) / (n - 1) / n
    else:
        variance = _dot(sample.count * sample.left, (once * values) ** 2)
    return WeightedMean(value, _error(variance, n), n - 1.0, 0.0, weights, centred=False)


def difference(sample: Sample, controls: Controls, values: np.ndarray) -> WeightedMean:
    """``Σ_D p M + (1/n) Σ v (ℓ − M)`` [theory 5, model-assisted]; t on ``n − 1``."""
    model = controls.of(sample)
    plain = horvitz_thompson(sample, controls, values - model)
    base = controls.mean - _dot(plain.weights, model)
    return replace(plain, value=base + _dot(plain.weights, values), base=base, slope=1.0)


def regression(sample: Sample, controls: Controls, values: np.ndarray) -> WeightedMean:
    """``ȳ + b̄ (Σ_D p M − m̄) − Σ W (1 − π)(b_i − b̄)(M_i − m̄)``, t on `degrees_left` [theory 5, GREG]."""
    importance, share = _importance(sample, controls.p)
    total, model = sample.count * share, controls.of(sample)
    own = share if controls.own_share is None else controls.own_share
    whole, without = _spreads(total, share, model, values)
    (slope, sure), (left_out, _) = (_slope(each, controls.variance[..., None]) for each in (whole, without))
    slope = (1 - sure) * slope + sure * left_out
    level, model_mean = _dot(total, slope), _dot(total, model)
    apart = (slope - level[..., None]) * (model - model_mean[..., None])
    base = level * (controls.mean - model_mean) - _dot(total * sample.left, apart)
    y, x = (each - _dot(total, each)[..., None] for each in (values, model))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = _dot(sample.count * sample.left, (share * (y - left_out * x) / (1 - own)) ** 2)
    error, degrees = _error(variance, _counting(sample, importance)), degrees_left(sample, importance, 2)
    return WeightedMean(base + _dot(total, values), error, degrees, base, total, level)


class _Spread(NamedTuple):
    """How model and values vary together in a sample; float64[..., 1], or float64[..., n] with a draw left out."""

    model: np.ndarray  # ``s² = Σ W (M − m̄)²``; 0 if it is rounding
    both: np.ndarray  # ``c = Σ W (M − m̄)(ℓ − ȳ)``
    values: np.ndarray  # ``Σ W (ℓ − ȳ)²``
    degrees: np.ndarray  # ``n_eff − 2``


def _spreads(total: np.ndarray, share: np.ndarray, model: np.ndarray, values: np.ndarray) -> tuple[_Spread, _Spread]:
    """The spread in a sample, and that of all draws but one, for each of them."""
    x, y = (each - _dot(total, each)[..., None] for each in (model, values))
    s, c, v, squares = (_dot(total, each)[..., None] for each in (x**2, x * y, y**2, share))
    least = _ROUNDING * _dot(total, model**2 + values**2)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = share / (1 - share)
        rest = [(1 + lost) * (whole - lost * part) for whole, part in ((s, x**2), (c, x * y), (v, y**2))]
        degrees = (1 - share) ** 2 / np.maximum(squares - share**2, _TINY) - 2
    without = _Spread(np.where(rest[0] > least, rest[0], 0.0), rest[1], rest[2], degrees)
    return _Spread(np.where(s > least, s, 0.0), c, v, 1 / np.maximum(squares, _TINY) - 2), without


def _slope(spread: _Spread, pool_variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A clipped and shrunk slope and how sure it is, ``w = (1 − 6/F)₊``, float64[..., 1 or n] each [theory 5]."""
    explained = ratio_or_zero(spread.both**2, spread.model)
    line = (spread.both > 0) & (explained > 0) & (spread.degrees > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.maximum(spread.values - explained, 0.0) / (explained * spread.degrees)
        sure = np.maximum(0.0, 1 - SURE * inverse)
        wanting = (1 - sure) * np.maximum(pool_variance - spread.model, 0.0)
        slope = np.minimum(1.0, spread.both / (spread.model + wanting)) * np.maximum(0.0, 1 - inverse)
    return np.where(line, slope, 0.0), np.where(line, sure, 0.0)


@dataclass(frozen=True)
class EstimatorKind:
    """An estimator and its properties.

    Attributes:
        estimate: Function from a sample, controls and values to a mean.
        fitted: Number of parameters that it fits to the labels, by which its degrees of freedom are fewer.
        expected: Function from the mean and variance of each unit's value under the model, and p, float64[m] each, to
            the expected squared residuals that make up the error, float64[m].
        units: The units that it serves: ``"query"``, ``"pair"`` or both.
        bounded: Whether the interval of a risk keeps to the values that the risk can have.
    """

    estimate: Estimator
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

ESTIMATOR = "regression"  # The default estimator of queries, documents and pairs
SURE = 6.0  # F of a line that begins to be sure: at ten draws, noise exceeds it once in 25 samples
_ROUNDING = 1e-12  # A variance of what the model expects below this share of the squares is rounding
_TINY = np.finfo(np.float64).tiny  # Keeps the effective size of no draw from being 0/0


def estimator_named(name: str, unit: str = "query") -> EstimatorKind:
    """Look an estimator up."""
    known = estimators_of(unit)
    if name not in known:
        raise ValueError(f"unknown estimator {name!r}; the estimators are {', '.join(known)}")
    return ESTIMATORS[name]


def estimators_of(unit: str) -> tuple[str, ...]:
    """Names of the estimators that serve a unit, ``"query"`` or ``"pair"``."""
    return tuple(name for name, kind in ESTIMATORS.items() if unit in kind.units)


def effective_size(count: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """``n_eff = (Σ v)² / Σ v²``: the number of equally weighted draws that would be as informative [theory 5]."""
    return _dot(count, importance) ** 2 / np.maximum(_dot(count, importance**2), _TINY)


def degrees_left(sample: Sample, importance: np.ndarray, fitted: int) -> np.ndarray:
    """``u (1 − f/max(u, n_eff))``, ``u = (Σ (1−π) v)² / Σ ((1−π) v)²``, after f fitted parameters [theory 5]."""
    total = effective_size(sample.count, importance)
    uncertain = effective_size(sample.count, importance * sample.left)
    return np.asarray(uncertain * (1 - fitted / np.maximum(np.maximum(total, uncertain), _TINY)))[()]


def scale_of(sample: Sample, values: np.ndarray, p: np.ndarray, model: np.ndarray) -> np.ndarray:
    """No less than the sum of the absolute terms of a mean, float64[...]; see `ties.is_rounding`."""
    largest = np.max(np.where(sample.count > 0, values, 0.0), axis=-1, initial=0.0)
    return np.asarray(largest + np.nan_to_num(model) @ p)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
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


def _error(variance: np.ndarray | float, draws: np.ndarray) -> np.ndarray:
    """The root of a variance, float64[...]; NaN for a single draw with a positive weight."""
    with np.errstate(invalid="ignore"):
        return np.where(draws > 1, np.sqrt(variance), np.nan)[()]


def _counting(sample: Sample, importance: np.ndarray) -> np.ndarray:
    """The number of draws with a positive weight, int64[...]."""
    return np.asarray((sample.count * (importance > 0)).sum(axis=-1))
