"""How the values that a grade model expects of documents agree with those that their labels show [theory 10]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

CONFIDENCE = 0.95
"""Of the slope's interval."""

FAR = 2.0
"""A slope is far from 1 if its whole interval lies below ``1/FAR`` or above it."""

FEW = 5
"""Degrees of freedom below which nothing is said against a model."""

FLATTERED = 4.0
"""Times the promised variance above which the model misleads: errors are more than twice those it promised."""

_STILL = 1e-12
"""Share of the mean square below which expected values count as all the same."""


@dataclass(frozen=True)
class Calibration:
    """The line ``κ = intercept + slope μ`` through labelled documents.

    The weights ``1/ψ`` make the line an estimate of the one through all documents that could be judged, whatever the
    design preferred. The errors are those of a linearised weighted mean, with the documents of a query taken together,
    and do not count that the pool is finite: they are about the model, not about this pool.

    Attributes:
        slope: 1 where the model is right on average at every level; NaN if it expects the same of every document.
        slope_error: Standard error of the slope.
        intercept: 0 where the model is right.
        intercept_error: Standard error of the intercept.
        correlation: Pearson's of expectation and label, with the same weights.
        degrees_of_freedom: ``3 (Σ u²)²/Σ u⁴ − 1`` with the queries' parts u in the slope's error.
        n_documents: Labelled documents.
        n_queries: Their queries.
    """

    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    correlation: float
    degrees_of_freedom: float
    n_documents: int
    n_queries: int

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of the slope, at the level `CONFIDENCE`; infinite without degrees of freedom, NaN without a slope."""
        from pt_active.inference.intervals import interval

        low, high = interval(self.slope, self.slope_error, self.degrees_of_freedom, CONFIDENCE)
        return float(low), float(high)

    @property
    def misleads(self) -> bool:
        """Whether the interval lies far from 1, or the slope is not positive and its interval lies below 1."""
        low, high = self.interval
        if not self.degrees_of_freedom >= FEW:
            return False
        return high < 1 / FAR or low > FAR or (self.slope <= 0 and high < 1)

    @property
    def caution(self) -> str:
        """What is wrong with the model, in words; empty if nothing is."""
        if not self.misleads:
            return ""
        low, high = self.interval
        return (
            f"the grade model misleads: where it expects 1 more of a document, labels show {self.slope:.2f} more "
            f"(interval {low:.2f} to {high:.2f}, 1 if it were right)"
        )


def calibration(mean: np.ndarray, observed: np.ndarray, chance: np.ndarray, query: np.ndarray) -> Calibration:
    """Draw the line through labelled documents.

    ``b = Σ w (μ − μ̄) κ / Σ w (μ − μ̄)²`` with ``w = 1/ψ``; its variance is ``m/(m − 1) Σ_x u_x²`` with
    ``u_x = Σ_{z ∈ x} w (μ − μ̄) r / Σ w (μ − μ̄)²`` over the m queries, r being the residuals.

    Args:
        mean: float64[n], μ, what the model expects of each document's gain or stopping probability.
        observed: float64[n], κ, what its label says.
        chance: float64[n], ψ in (0, 1], with which it was to be judged; more than 1 where draws are repeated.
        query: int64[n], the query that it belongs to.

    Raises:
        ValueError: If there is no document, or a chance is not positive.
    """
    if len(mean) == 0:
        raise ValueError("a calibration needs labelled documents; there is none")
    if not (chance > 0).all():
        raise ValueError(f"each labelled document needs a positive chance, got {chance.min()}")
    weight = 1 / chance
    weight = weight / weight.sum()
    centred, deviation = mean - weight @ mean, observed - weight @ observed
    spread = float(weight @ centred**2)
    code, sizes = np.unique(query, return_inverse=True)[1], len(np.unique(query))
    if spread <= _STILL * float(weight @ mean**2) or sizes < 2:
        return Calibration(np.nan, np.nan, np.nan, np.nan, np.nan, 0.0, len(mean), sizes)
    slope = float(weight @ (centred * deviation)) / spread
    intercept = float(weight @ observed - slope * (weight @ mean))
    residual = weight * (deviation - slope * centred)
    of_slope = np.bincount(code, weights=residual * centred / spread)
    of_intercept = np.bincount(code, weights=residual * (1 - centred * (weight @ mean) / spread))
    scale = sizes / (sizes - 1)
    square = of_slope @ of_slope
    return Calibration(
        slope=slope,
        slope_error=float(np.sqrt(scale * square)),
        intercept=intercept,
        intercept_error=float(np.sqrt(scale * of_intercept @ of_intercept)),
        correlation=_correlation(slope, spread, float(weight @ deviation**2)),
        degrees_of_freedom=float(3 * square**2 / (of_slope**4).sum() - 1) if square > 0 else 0.0,
        n_documents=len(mean),
        n_queries=sizes,
    )


def _correlation(slope: float, spread: float, variance: float) -> float:
    return float(slope * np.sqrt(spread / variance)) if variance > 0 else np.nan


@dataclass(frozen=True)
class CalibrationBins:
    """Labelled documents by what the model expected of them; arrays of one entry a bin.

    Attributes:
        low: Smallest expectation.
        high: Largest.
        documents: How many.
        expected: Weighted mean of the expectations.
        observed: Weighted mean of what the labels say.
        standard_error: Of ``observed − expected``, with the documents of a query taken together; NaN in a single query.
    """

    low: np.ndarray
    high: np.ndarray
    documents: np.ndarray
    expected: np.ndarray
    observed: np.ndarray
    standard_error: np.ndarray


def calibration_bins(
    mean: np.ndarray, observed: np.ndarray, chance: np.ndarray, query: np.ndarray, bins: int = 10
) -> CalibrationBins:
    """Cut labelled documents into bins that hold about as many each; equal expectations stay together.

    Args:
        mean: float64[n], what the grade model expects of each labelled document.
        observed: float64[n], what its label says.
        chance: float64[n], with which it was to be judged.
        query: int64[n], its query.
        bins: The largest number of bins.
    """
    edges = np.unique(np.quantile(mean, np.linspace(0, 1, bins + 1)))
    where = np.unique(np.searchsorted(edges[1:-1], mean, side="right"), return_inverse=True)[1]
    rows = []
    for number in range(where.max() + 1):
        here = where == number
        weight = 1 / chance[here] / (1 / chance[here]).sum()
        gap = observed[here] - mean[here]
        parts = np.bincount(np.unique(query[here], return_inverse=True)[1], weights=weight * (gap - weight @ gap))
        error = np.sqrt(len(parts) / (len(parts) - 1) * parts @ parts) if len(parts) > 1 else np.nan
        ends = mean[here].min(), mean[here].max()
        rows.append((*ends, here.sum(), weight @ mean[here], weight @ observed[here], error))
    return CalibrationBins(*np.array(rows, dtype=float).T)
