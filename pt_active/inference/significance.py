"""Whether one difference, or each of many, is more than chance [theory 5]."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

# The names of the correction for tests of all pairs, and of the usual one; the others come from statsmodels
TUKEY, HOLM = "tukey", "holm"
_OMITTED_TAIL = 1e-18  # Probability that the integral over the estimated standard deviation omits at either end
# Where the table ends; the range of k standard normals exceeds this with a probability of practically 0
_MAX_RANGE = 40.0


def check_correction(correction: str) -> None:
    """Raise if a correction is not known."""
    if correction == HOLM:
        return
    from statsmodels.stats.multitest import multitest_alias

    if not isinstance(correction, str) or correction not in multitest_alias:
        raise ValueError(
            f"unknown correction {correction!r}; it is a method of statsmodels' multipletests such as holm"
        )


def tukey_pvalues(
    difference: np.ndarray, standard_error: np.ndarray, degrees: np.ndarray, pvalues: np.ndarray, systems: int
) -> np.ndarray:
    """Tukey's range test of all pairwise differences, ``P(Q_{k,ν} > √2 |Δ̂|/SE)`` [T 3.2.3].

    Each pair has the standard error and the degrees of freedom of its own paired difference (Kramer 1957; Games and
    Howell 1976). The covariance of all differences follows from their variances, ``2 Cov(a − b, c − d) = V_ad + V_bc −
    V_ac − V_bd``, so in large samples the test is exact if these are equal, however the systems are correlated. If they
    are not, the family-wise error is below its level: this is proved for three systems (Brown 1984) and for independent
    ones (Hayter 1984), and conjectured for all. In small samples the test is a little liberal, because Q assumes that
    all tests share one estimate of the error.

    Args:
        difference: float64[k(k−1)/2], Δ̂.
        standard_error: float64[k(k−1)/2], SE of the differences.
        degrees: float64[k(k−1)/2], ν; infinite for the normal distribution.
        pvalues: float64[k(k−1)/2], uncorrected p-values; NaN for pairs without a test.
        systems: k, at least 2.

    Returns:
        float64[k(k−1)/2], none below its uncorrected p-value; NaN for pairs without a test.
    """
    tail = studentized_range_tail(np.sqrt(2) * absolute_statistic(difference, standard_error), systems, degrees)
    return np.where(np.isnan(pvalues), np.nan, np.maximum(tail, pvalues))


def studentized_range_tail(q: np.ndarray, systems: int, degrees: np.ndarray) -> np.ndarray:
    """``P(Q_{k,ν} > q)`` of the studentised range, for many q at once.

    ``scipy.stats.studentized_range.sf`` takes about 20 ms per value, and 60 systems have 1,770 pairs. Here the tail for
    ν = ∞ is tabulated once for each number of systems. The tail for ν is its mean over ``q s``, where ``ν s²`` is χ²
    with ν degrees of freedom.

    Args:
        q: float64[n], not negative; may be infinite.
        systems: k, at least 2.
        degrees: float64[n], ν; may be infinite.

    Returns:
        float64[n], with an absolute error below 1e-7 for ν ≥ 1; 1 if there are no degrees of freedom or q is NaN.
    """
    table = _normal_table(systems)
    usable = (degrees > 0) & ~np.isnan(q)
    tail = np.where(usable, table(np.clip(np.nan_to_num(q), 0, _MAX_RANGE)), 1.0)
    for nu in np.unique(degrees[usable & np.isfinite(degrees)]):
        scale, chance = _deviations(float(nu))
        same = usable & (degrees == nu)
        tail[same] = table(np.minimum(np.multiply.outer(q[same], scale), _MAX_RANGE)) @ chance
    return np.where(usable & np.isinf(q), 0.0, np.clip(tail, 0.0, 1.0))


def indistinct_groups(joined: np.ndarray) -> list[tuple[int, ...]]:
    """Groups whose members are all joined, such that every joined pair is in at least one group (Piepho 2004).

    Each group is a maximal clique. There may be exponentially many of these, so only enough to cover every pair are
    listed: from each pair that is not covered yet, the most distant first, a group grows by the member that covers the
    most new pairs. If only neighbours on a line are joined, these are all maximal cliques.

    Args:
        joined: bool[k, k], symmetric, whether two members are joined; the diagonal is not read.

    Returns:
        The sorted groups, each in increasing order; a member that is joined to no other is a group of its own.
    """
    joined = joined | np.eye(len(joined), dtype=bool)
    covered = np.zeros_like(joined)
    groups = []
    for a in range(len(joined)):
        for b in range(len(joined) - 1, a - 1, -1):
            if not joined[a, b] or covered[a, b]:
                continue
            group = sorted({a, b})
            while (candidates := np.setdiff1d(np.flatnonzero(joined[:, group].all(axis=1)), group)).size:
                new = (~covered[np.ix_(candidates, np.array(group))]).sum(axis=1)
                group.append(int(candidates[new.argmax()]))
            covered[np.ix_(group, group)] = True
            groups.append(tuple(sorted(group)))
    return sorted(groups)


@cache
def _normal_table(systems: int) -> CubicSpline:
    """``P(Q_{k,∞} > w) = ∫ k φ(z) Φ(−z)^{k−1} [1 − (1 − Φ(−z−w)/Φ(−z))^{k−1}] dz``, z the smallest of k normals."""
    from scipy import special
    from scipy.interpolate import CubicSpline

    width = np.linspace(0, _MAX_RANGE, 4001)
    z, step = np.linspace(-12, 9, 421, retstep=True)
    above = special.ndtr(-z)
    density = systems * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * above ** (systems - 1)
    beyond = np.minimum(special.ndtr(-z - width[:, None]) / above, 1 - 1e-16)
    return CubicSpline(width, -np.expm1((systems - 1) * np.log1p(-beyond)) @ density * step)


def _deviations(degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``s = √(χ²_ν/ν)``, equally spaced in ``log s``, and their probabilities."""
    from scipy import special

    half = degrees / 2
    low, high = special.gammaincinv(half, _OMITTED_TAIL), special.gammainccinv(half, _OMITTED_TAIL)
    log = np.linspace(np.log(max(low, 1e-300)), np.log(high), 301)
    weight = np.exp(half * (log - np.log(half)) - np.exp(log) + half)
    return np.exp((log - np.log(half)) / 2), weight / weight.sum()


def two_sided_pvalue(
    difference: np.ndarray | float, standard_error: np.ndarray | float, degrees: np.ndarray | float
) -> np.ndarray:
    """Two-sided p-value of ``H0: Δ = 0`` from ``Δ̂/SE`` on the t distribution [T 3.2, theory 5]."""
    from scipy import special

    usable = (np.asarray(degrees) > 0) & np.isfinite(standard_error)
    statistic = absolute_statistic(difference, standard_error)
    return np.where(usable, 2 * special.stdtr(np.where(usable, degrees, 1.0), -statistic), 1.0)


def cross_validated_error(differences: np.ndarray, corrected: bool = True) -> np.ndarray:
    """Standard error of the mean difference of two learning algorithms over folds, float64[..., R, K] [CV]."""
    repeats, folds = differences.shape[-2:]
    overlap = 1 / (folds - 1) if corrected else 0.0
    variance = differences.reshape(*differences.shape[:-2], -1).var(axis=-1, ddof=1)
    return np.sqrt((1 / (repeats * folds) + overlap) * variance)


def absolute_statistic(difference: np.ndarray | float, standard_error: np.ndarray | float) -> np.ndarray:
    """``|Δ̂|/SE``; 0 if there is no difference, infinite if there is one but the standard error is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(difference) == 0, 0.0, np.abs(difference) / np.asarray(standard_error))


def corrected_pvalues(pvalues: np.ndarray, alpha: float, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Correct the p-values of several comparisons; NaN, as for the baseline itself, does not count."""
    reject, corrected = np.zeros(len(pvalues), dtype=bool), np.full(len(pvalues), np.nan)
    tested = ~np.isnan(pvalues)
    if tested.any() and method == HOLM:
        reject[tested], corrected[tested] = _stepped_down(pvalues[tested], alpha)
    elif tested.any():
        from statsmodels.stats.multitest import multipletests

        reject[tested], corrected[tested] = multipletests(pvalues[tested], alpha=alpha, method=method)[:2]
    return reject, corrected


def _stepped_down(pvalues: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Holm's tests. Those of statsmodels take as long as its import, and collect garbage at every call."""
    order, left = np.argsort(pvalues), np.arange(len(pvalues), 0, -1)
    reject, corrected = np.empty(len(pvalues), dtype=bool), np.empty(len(pvalues))
    reject[order] = np.logical_and.accumulate(pvalues[order] <= alpha / left)
    corrected[order] = np.minimum(np.maximum.accumulate(left * pvalues[order]), 1.0)
    return reject, corrected
