"""From a weighted sample of queries to a mean and its standard error [theory 5].

Each estimator takes one row a draw: ``v = p/q`` and the measured value; the assisted ones also the model's value of
the same query and its mean over the pool. A new estimator is one function below and a line in `ESTIMATORS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MeanEstimate:
    """A point, its spread, and how many observations the spread rests on.

    Attributes:
        value: The estimate.
        standard_error: Of the estimate; NaN with fewer than two draws.
        degrees_of_freedom: Of the t distribution that the interval uses.
    """

    value: float
    standard_error: float
    degrees_of_freedom: float


Estimator = Callable[[np.ndarray, np.ndarray, np.ndarray, float], MeanEstimate]
"""(importance v[n], values ℓ[n], model values M[n], pool mean Σ_D p M) → MeanEstimate."""


def effective_size(importance: np.ndarray) -> float:
    """``n_eff = (Σ v)² / Σ v²``: the number of equally weighted draws that would say as much [theory 5]."""
    total = importance.sum()
    return float(total**2 / (importance**2).sum()) if total > 0 else 0.0


def snis(importance: np.ndarray, values: np.ndarray, model: np.ndarray, pool_mean: float) -> MeanEstimate:
    """``Σ v ℓ / Σ v``, variance ``(Σ v)^{-2} Σ v² (ℓ − R̂)²`` [T 3.11, 3.14]; t on ``n_eff − 1``."""
    share = importance / importance.sum()
    value = share @ values
    error = np.sqrt((share**2 * (values - value) ** 2).sum())
    return _estimate(value, error, effective_size(importance) - 1, len(values))


def horvitz_thompson(importance: np.ndarray, values: np.ndarray, model: np.ndarray, pool_mean: float) -> MeanEstimate:
    """``(1/n) Σ v ℓ``, sample variance of ``v ℓ`` over n [T 3.1.1]; t on ``n − 1``."""
    return _mean(importance * values)


def difference(importance: np.ndarray, values: np.ndarray, model: np.ndarray, pool_mean: float) -> MeanEstimate:
    """``Σ_D p M + (1/n) Σ v (ℓ − M)`` [theory 5, model-assisted]; t on ``n − 1``."""
    residual = _mean(importance * (values - model))
    return MeanEstimate(pool_mean + residual.value, residual.standard_error, residual.degrees_of_freedom)


def regression(importance: np.ndarray, values: np.ndarray, model: np.ndarray, pool_mean: float) -> MeanEstimate:
    """``ȳ + b (Σ_D p M − m̄)`` with leverage-corrected errors; t on ``n_eff − 2`` [theory 5, GREG].

    With ``W = v / Σ v``: ``ȳ = Σ W ℓ``, ``m̄ = Σ W M``, ``b = Σ W² (ℓ − ȳ)(M − m̄) / Σ W² (M − m̄)²`` and
    ``SE² = Σ (W r / (1 − W))²`` with residuals ``r = ℓ − ȳ − b (M − m̄)``. If the model says the same of
    every drawn query, ``b = 0``.
    """
    share = importance / importance.sum()
    centred, predictor = values - share @ values, model - share @ model
    spread = (share**2 * predictor**2).sum()
    slope = (share**2 * centred * predictor).sum() / spread if spread > 0 else 0.0
    value = share @ values + slope * (pool_mean - share @ model)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(((share * (centred - slope * predictor) / (1 - share)) ** 2).sum())
    return _estimate(value, error, effective_size(importance) - 2, len(values))


ESTIMATORS: dict[str, Estimator] = {
    "regression": regression,
    "snis": snis,
    "ht": horvitz_thompson,
    "difference": difference,
}
"""The estimators by name [theory 5]."""

REFERENCES = ("effective", "t", "normal")
"""What an interval is read off: t on the estimator's own degrees of freedom [theory 5], t on ``n − 1`` [ARE], or
the normal [T 3.24]."""


def estimator_named(name: str) -> Estimator:
    """Look an estimator up.

    Raises:
        ValueError: If there is none of that name; the message lists those there are.
    """
    if name not in ESTIMATORS:
        raise ValueError(f"unknown estimator {name!r}; the estimators are {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]


def reference_degrees(reference: str, own: float, draws: int) -> float:
    """Degrees of freedom for a named reference distribution; infinite for the normal.

    Args:
        reference: One of `REFERENCES`.
        own: The estimator's own degrees of freedom.
        draws: n.

    Raises:
        ValueError: If the name is unknown.
    """
    if reference not in REFERENCES:
        raise ValueError(f"unknown reference {reference!r}; it is one of {', '.join(REFERENCES)}")
    return {"effective": own, "t": draws - 1.0, "normal": np.inf}[reference]


def interval(value: float, standard_error: float, degrees: float, confidence_level: float) -> tuple[float, float]:
    """``value ± t_{(1+level)/2} · SE`` [T 3.24].

    Returns:
        Low and high; infinite if there are no degrees of freedom left.

    Raises:
        ValueError: If the level lies outside (0, 1).
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level}")
    if not degrees > 0 or not np.isfinite(standard_error):
        return -np.inf, np.inf
    from scipy import special

    upper = (1 + confidence_level) / 2
    quantile = special.ndtri(upper) if np.isinf(degrees) else special.stdtrit(degrees, upper)
    half = float(quantile) * standard_error
    return value - half, value + half


def _mean(terms: np.ndarray) -> MeanEstimate:
    n = len(terms)
    error = float(np.std(terms, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return MeanEstimate(float(terms.mean()), error, n - 1.0)


def _estimate(value: float, error: float, degrees: float, draws: int) -> MeanEstimate:
    return MeanEstimate(float(value), float(error) if draws > 1 else np.nan, float(degrees))
