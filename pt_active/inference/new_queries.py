"""Does a result hold for these queries, or for queries like them [theory 16]?

The queries of a pool are themselves a sample of the queries to come. So ``E (R̂ − R_new)² = V_design + S²/m``: labels
lower the first part, and only more queries lower the second.

At any time ``R̂_t − R_new = (R̂_t − R_pool) + (R_pool − R_new)``. Bets bound the first at all t, the second is one number
that no label changes; each has a share of the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference.estimators import WeightedMean
from pt_active.inference.reference import Tails
from pt_active.inference.ties import ROUNDING, settled
from pt_active.relevance.digits import rounded
from pt_active.sampling.sample import Sample

# The populations that a result can hold for: the queries of the pool, or those that they are a sample of
THESE, NEW = POPULATIONS = ("these", "new")

MIN_GROUPS = 30
"""With fewer queries or clusters that differ, new ones have no verdict at any time, no gate; weights as ``1/Σ P²``."""

MAX_SKEWNESS = 50**-0.5
"""Where the mean has a larger skewness, t is widened: for ``g < 50 G²``, twice as early as by Cochran's rule [Co]."""

SHARE_OF_LABELS = 0.25
"""The share of the level that an answer at any time for new queries spends on the labels; the queries have the rest."""


def check_population(queries: str) -> str:
    """Raise unless a population has that name."""
    if queries not in POPULATIONS:
        raise ValueError(f"queries must be {THESE!r} or {NEW!r}, got {queries!r}")
    return queries


@dataclass(frozen=True)
class ByQuery:
    """An estimate as a mean of estimates of each query, ``R̂ = Σ p ĥ``."""

    weight: np.ndarray  # float64[m], p of each query of the pool; sums to 1
    value: np.ndarray  # float64[m], ``ĥ = M + (ℓ̃ − M)/Π`` with labels, M without: unbiased for each query
    variance: float  # An estimate of ``Σ p² Var ĥ``, what sampling labels adds to the spread of ĥ; 0 in a census
    group: np.ndarray | None = None  # int64[m], the cluster of each query; None if each is its own
    labelled: np.ndarray | None = None  # float64[m], what labels show of each query, NaN without; None for ``value``

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray]:
        """``Σ p`` and ``Σ p (ĥ − R̂)`` of each cluster that counts, float64[g] each."""
        weight = self.weight / self.weight.sum()
        return self.by_group(self.weight), self.by_group(self.weight * (self.value - weight @ self.value))

    def by_group(self, values: np.ndarray) -> np.ndarray:
        """float64[g], values of queries, float64[m], summed over each cluster that counts."""
        counts = self.weight > 0
        if self.group is None:
            return np.asarray(values[counts])
        return np.bincount(np.unique(self.group[counts], return_inverse=True)[1], weights=values[counts])

    @property
    def left(self) -> float:
        """``1 − 2 Σ P³/Σ P² + Σ P²``, P being the weights of the clusters; ``1 − 1/g`` for equal weights."""
        weight = self._terms[0]
        squares = float(weight @ weight)
        return 1 - 2 * float(weight**2 @ weight) / squares + squares

    @property
    def queries(self) -> int:
        """How many queries count, m."""
        return int((self.weight > 0).sum())

    @property
    def groups(self) -> int:
        """How many clusters they form, g; m without clusters."""
        return len(self._terms[0])

    @cached_property
    def differing(self) -> int:
        """How many clusters with labels have another value than the most common one; all if each has its own."""
        value = rounded(settled(self.judged, np.abs(self.judged).max(initial=0.0)))
        most = np.unique(value, return_counts=True)[1].max(initial=0)
        return len(value) - (int(most) if most > 1 else 0)

    @cached_property
    def judged(self) -> np.ndarray:
        """float64[j], what labels show of each cluster that has any."""
        value = self.value if self.labelled is None else self.labelled
        weight = self.by_group(np.where(np.isnan(value), 0.0, self.weight))
        return np.asarray(self.by_group(self.weight * np.nan_to_num(value))[weight > 0] / weight[weight > 0])

    def enough(self, more: int = 0) -> bool:
        """Whether `MIN_GROUPS` clusters differ if so many more do, and their weights count as so many."""
        return self.differing + more >= MIN_GROUPS and self.degrees + 1 >= MIN_GROUPS * (1 - ROUNDING)

    @property
    def spread(self) -> float:
        """``S²/m``, the variance of the mean of the pool's queries as a sample: ``(c Σ T² − Σ p² V̂)₊`` [theory 16].

        T are the terms ``Σ p (ĥ − R̂)`` of the clusters. ``c = 1/left`` makes it unbiased if all have the same variance.
        """
        return max(self._scatter - self.variance, 0.0) if np.isfinite(self._scatter) else np.nan

    @property
    def _scatter(self) -> float:
        """``c Σ T²``; NaN if one cluster is all."""
        terms = self._terms[1]
        return float(terms @ terms) / self.left if self.left > 0 and len(terms) > 1 else np.nan

    @property
    def degrees(self) -> float:
        """``1/Σ P² − 1``, the degrees of freedom of the spread; ``g − 1`` for equal weights."""
        weight = self._terms[0]
        return float(1 / (weight @ weight) - 1)

    @property
    def shown(self) -> float:
        """The degrees of freedom that the terms show, ``2 (Σ T²)²/(Σ T⁴ − (Σ T²)²/g)``: few if few queries carry it."""
        return _shown(self._terms[1] ** 2)

    @property
    def skewness(self) -> float:
        """The skewness of the mean, ``γ = Σ T³/(Σ T²)^1.5``: that of g equal clusters is ``G/√g``."""
        terms = self._terms[1]
        size = float(terms @ terms)
        return float(terms**2 @ terms) / size**1.5 if size > 0 else 0.0

    def tails(self, alpha: float) -> Tails:
        """How far the ends of an interval for new queries are, in those of t [theory 16].

        Above `MAX_SKEWNESS` t has the degrees of freedom that the terms show, and the long tail ends ``1 + |γ| (1 + 2
        t²)/(3 t)`` as far away: twice Johnson's correction [J], since samples mostly lack the ends of long tails.
        """
        from scipy import special

        skewness, degrees = self.skewness, self.degrees
        if not abs(skewness) > MAX_SKEWNESS:
            return Tails(1.0, 1.0, degrees)
        degrees = min(degrees, self.shown)
        t = float(special.stdtrit(degrees, 1 - alpha / 2))
        far = 1 + abs(skewness) * (1 + 2 * t**2) / (3 * t)
        return Tails(1.0, far, degrees) if skewness > 0 else Tails(far, 1.0, degrees)

    def apart(self, alpha: float) -> float:
        """How far the means of these queries and of queries like them may lie apart, ``t Ŝ/√m`` [theory 16].

        At most half of ``c Σ T²`` is taken off for what sampling labels adds to it, so that it errs upwards while
        labels are few, t has the degrees of freedom that the terms show, and the longer of both `tails` counts.
        Infinite if too few differ.
        """
        from scipy import special

        if not self.enough():
            return np.inf
        error = np.sqrt(max(self.spread, self._scatter / 2))
        low, high, degrees = self.tails(alpha)
        return float(max(low, high) * special.stdtrit(min(degrees, self.shown), 1 - alpha / 2) * error)


def _shown(terms: np.ndarray) -> float:
    """Degrees of freedom of a sum of squared terms, by how much these vary, float64[g]."""
    varies = float(terms @ terms) - float(terms.sum()) ** 2 / len(terms)
    return 2 * float(terms.sum()) ** 2 / varies if varies > 0 else np.inf


def expected_spread(expected: ByQuery, noise: np.ndarray) -> float:
    """``E S²/m`` if values vary about those of a `ByQuery`, each by itself; NaN for one query [theory 16].

    ``S²/m + c Σ_g ((1 − 2 P) G + P² Σ G)``, G being the noise of a cluster; the noise of a query, float64[m], is
    ``p² C`` with the variance C of its value. What is expected has no variance.
    """
    if np.isnan(expected.spread):
        return np.nan
    weight, added = expected.by_group(expected.weight), expected.by_group(noise)
    return expected.spread + float((1 - 2 * weight) @ added + weight @ weight * added.sum()) / expected.left


def by_drawn_query(
    sample: Sample, mean: WeightedMean, weight: np.ndarray, model: np.ndarray, values: np.ndarray
) -> ByQuery:
    """The values of queries behind a mean of drawn queries: ``ĥ = m + (a/p)(ℓ − m)`` with ``m = c + b M``.

    The model M is NaN if the mean does not use it. Shapes: weight (p) and model float64[m], values float64[n].
    """
    slope = float(mean.slope)
    line = slope * model if slope else np.zeros(len(weight))
    level = float(mean.weights @ (values - sample.of(line))) if mean.centred else 0.0
    part = mean.weights * (values - level - sample.of(line))
    value = line + level
    value[sample.rows] += np.divide(part, sample.of(weight), out=np.zeros_like(part), where=sample.of(weight) > 0)
    # What the slopes of single draws add to the common one belongs to no query.
    value += float(mean.value) - weight @ value
    left = 1 - sample.expected / sample.draws if sample.repeated else sample.left
    parts = np.zeros(len(weight))
    parts[sample.rows] = left * part**2 / sample.count
    labelled = np.full(len(weight), np.nan)
    labelled[sample.rows] = values
    return ByQuery(weight, value, float(parts.sum()), labelled=labelled)


class Widened(NamedTuple):
    """A standard error with the spread of queries in it, its degrees of freedom, and the reference of an interval."""

    standard_error: float
    degrees: float
    tails: Tails | None


def widened_by_queries(
    standard_error: float, degrees: float, tails: Tails | None, by_query: ByQuery, alpha: float
) -> Widened:
    """Error and degrees of freedom for queries like those of the pool [theory 16].

    ``SE² = V̂ + S²/m``, with Satterthwaite's degrees of freedom, but at most those of the queries: both terms are known
    from the values of the same queries. Where replays of the sample show longer tails than t, the part of the error
    that is due to sampling keeps them, and the other part has those of the queries. A census has the paired t-test of
    its queries, unless these are skewed.
    """
    (*far, left), spread = by_query.tails(alpha), by_query.spread
    both = standard_error**2 + spread

    def satterthwaite(part: float, own: float) -> float:
        if part > 0 and not own > 0:
            return 0.0
        unknown = part**2 / own + spread**2 / left if part > 0 else 0.0
        return min((part + spread) ** 2 / unknown, left) if unknown > 0 else left

    if tails is None and (max(far) == 1 or not degrees > 0):
        return Widened(float(np.sqrt(both)), satterthwaite(standard_error**2, degrees), None)
    tails = tails or Tails(1.0, 1.0, degrees)
    ends = np.array(tails[:2])
    low, high = np.sqrt((ends**2 * standard_error**2 + np.square(far) * spread) / both) if both > 0 else ends
    own = satterthwaite(float(ends.mean() ** 2) * standard_error**2, tails.degrees)
    return Widened(float(np.sqrt(both)), satterthwaite(standard_error**2, degrees), Tails(float(low), float(high), own))
