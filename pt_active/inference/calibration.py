"""How well do labels agree with a grade model [theory 10]?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

CONFIDENCE = 0.95  # Confidence level of the interval of the slope
MISLEADING_SLOPE = 2.0  # The model misleads if the whole interval of the slope lies above this or below its inverse
MIN_CALIBRATION_DF = 5  # With fewer degrees of freedom, a model is never said to mislead
# If what a model expects differs by less than this share from what labels show, its level counts as right
_SMALL_PART = 0.05
_PARTS = {0.1: "a tenth", 0.2: "a fifth", 0.25: "a quarter", 1 / 3: "a third", 0.5: "half", 0.75: "three quarters"}
# If the variance of the expected values is below this share of their mean square, they count as equal
_MIN_RELATIVE_SPREAD = 1e-12


@dataclass(frozen=True)
class Calibration:
    """The line ``κ = intercept + slope μ`` through labelled documents."""

    slope: float  # 1 if the model is right on average at every level; NaN if it expects the same of every document
    slope_error: float  # Standard error of the slope
    intercept: float  # 0 if the model is right
    intercept_error: float  # Standard error of the intercept
    degrees_of_freedom: float  # ``3 (Σ u²)²/Σ u⁴ − 1``, u the part of each query in the error of the slope
    n_documents: int  # Number of labelled documents
    n_queries: int  # Number of their queries
    expected: float = np.nan  # The weighted mean of what the model expects of a document
    observed: float = np.nan  # … and of what the labels show
    level_error: float = np.nan  # Standard error of the difference of these two
    level_degrees: float = 0.0  # Its degrees of freedom, as above

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Interval of the slope at the level `CONFIDENCE`; infinite without degrees of freedom, NaN without a slope."""
        from pt_active.inference.intervals import interval

        low, high = interval(self.slope, self.slope_error, self.degrees_of_freedom, CONFIDENCE)
        return float(low), float(high)

    @cached_property
    def off(self) -> str:
        """By how much the model is too low or too high at all levels, in words; empty if labels do not show that."""
        from pt_active.inference.intervals import interval

        low, high = interval(self.observed - self.expected, self.level_error, self.level_degrees, CONFIDENCE)
        if not (low > 0 or high < 0) or abs(self.observed - self.expected) < _SMALL_PART * self.observed:
            return ""
        ratio = self.expected / self.observed if self.observed > 0 else np.inf
        part = min(_PARTS, key=lambda each: abs(each - abs(ratio - 1)))
        size = f"a factor of {ratio:.2g}" if ratio >= 2 else _PARTS[part]
        return f"too {'low' if ratio < 1 else 'high'}{f' by {size}' if np.isfinite(ratio) else ''}"

    @property
    def misleads(self) -> bool:
        """Whether the slope is misleading, or not positive with an interval below 1; see `MISLEADING_SLOPE`."""
        low, high = self.interval
        if not self.degrees_of_freedom >= MIN_CALIBRATION_DF:
            return False
        return high < 1 / MISLEADING_SLOPE or low > MISLEADING_SLOPE or (self.slope <= 0 and high < 1)

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
    """The line ``b = Σ w (μ − μ̄) κ / Σ w (μ − μ̄)²``, ``w = 1/ψ``, and its variance over m queries."""
    if len(mean) == 0:
        raise ValueError("a calibration needs labelled documents; there is none")
    if not (chance > 0).all():
        raise ValueError(f"each labelled document needs a positive chance, got {chance.min()}")
    weight = 1 / chance
    weight = weight / weight.sum()
    centred, deviation = mean - weight @ mean, observed - weight @ observed
    spread = float(weight @ centred**2)
    code, sizes = np.unique(query, return_inverse=True)[1], len(np.unique(query))

    def error_of(parts: np.ndarray) -> tuple[float, float]:
        """The standard error of a sum over documents, queries being clusters, and its degrees of freedom."""
        of_query = np.bincount(code, weights=parts)
        square = float(of_query @ of_query)
        degrees = round(3 * square**2 / float((of_query**4).sum()) - 1, 9) if square > 0 else 0.0
        return float(np.sqrt(sizes / (sizes - 1) * square)) if sizes > 1 else np.nan, degrees

    found = weight @ mean, weight @ observed, *error_of(weight * (deviation - centred))
    level = dict(zip(("expected", "observed", "level_error", "level_degrees"), map(float, found), strict=True))
    if spread <= _MIN_RELATIVE_SPREAD * float(weight @ mean**2) or sizes < 2:
        return Calibration(np.nan, np.nan, np.nan, np.nan, 0.0, len(mean), sizes, **level)
    slope = float(weight @ (centred * deviation)) / spread
    residual = weight * (deviation - slope * centred)
    slope_error, degrees = error_of(residual * centred / spread)
    intercept_error, _ = error_of(residual * (1 - centred * (weight @ mean) / spread))
    intercept = float(weight @ observed - slope * (weight @ mean))
    return Calibration(slope, slope_error, intercept, intercept_error, degrees, len(mean), sizes, **level)


@dataclass(frozen=True)
class CalibrationBins:
    """Labelled documents in bins by what the model expected of them; all arrays have one entry per bin."""

    low: np.ndarray  # float64, the smallest expectation
    high: np.ndarray  # float64, the largest expectation
    documents: np.ndarray  # float64, the number of documents
    expected: np.ndarray  # float64, the weighted mean of the expectations
    observed: np.ndarray  # float64, the weighted mean of the values that the labels give
    standard_error: np.ndarray  # float64, of ``observed − expected``, queries as clusters; NaN for a single query


def calibration_bins(
    mean: np.ndarray, observed: np.ndarray, chance: np.ndarray, query: np.ndarray, bins: int = 10
) -> CalibrationBins:
    """Cut labelled documents into bins of about equal size; documents with equal expectations stay together."""
    edges = np.unique(np.quantile(mean, np.linspace(0, 1, bins + 1)))
    where = np.unique(np.searchsorted(edges[1:-1], mean, side="right"), return_inverse=True)[1]
    rows = []
    for number in range(where.max() + 1):
        here = where == number
        of_bin = calibration(mean[here], observed[here], chance[here], query[here])
        ends = mean[here].min(), mean[here].max()
        rows.append((*ends, here.sum(), of_bin.expected, of_bin.observed, of_bin.level_error))
    return CalibrationBins(*np.array(rows, dtype=float).T)
