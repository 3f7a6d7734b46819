"""All pairwise tests of k systems: what their p-values are worth together, and who cannot be told apart [theory 5]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pt_active.tests_of_difference import absolute_statistic, corrected_pvalues

DRAWS = 100_000
"""Of the largest statistic, for `max_t_pvalues`."""

_CHUNK = 10_000
_SEED = 0

_TAIL = 1e-18
"""Probability that the integrals of the studentised range leave out at either end."""


@dataclass(frozen=True)
class PairTests:
    """The tests of all pairs of k systems, in the order of ``combinations(range(k), 2)``.

    Attributes:
        systems: k.
        difference: float64[k(k−1)/2].
        standard_error: float64[k(k−1)/2], of the (paired) differences.
        degrees: float64[k(k−1)/2], of freedom; infinite for the normal.
        pvalue: float64[k(k−1)/2], of each test alone; NaN where there is none.
    """

    systems: int
    difference: np.ndarray
    standard_error: np.ndarray
    degrees: np.ndarray
    pvalue: np.ndarray


def tukey_pvalues(tests: PairTests) -> np.ndarray:
    """Tukey's range test, ``P(Q_{k,ν} > √2 |Δ̂|/SE)`` [T 3.2.3], float64[k(k−1)/2].

    Each pair brings the standard error and the degrees of freedom of its own difference (Kramer 1957; Games and Howell
    1976). Exact in large samples if all differences have the same variance, however the systems are correlated; else
    the family-wise error is below its level: proved for three systems (Brown 1984) and for independent ones (Hayter
    1984), and not refuted for others.
    """
    statistic = absolute_statistic(tests.difference, tests.standard_error)
    return studentized_range_tail(np.sqrt(2) * statistic, tests.systems, tests.degrees)


def max_t_pvalues(tests: PairTests) -> np.ndarray:
    """Single-step test on the largest statistic under the correlation of the estimates, float64[k(k−1)/2].

    ``P(max_cd |Z_cd| ≥ z_ab)`` by seeded Monte Carlo, with ``z_ab`` the normal quantile that has the p-value of the
    pair's own t distribution, and Z the normal differences of k estimates whose covariance is ``−½ J V J``: V holds
    the squared standard errors of all differences, ``J = I − 1/k``. V determines the covariance of all differences,
    since ``2 Cov(a − b, c − d) = V_ad + V_bc − V_ac − V_bd``.
    """
    from scipy import special

    first, second = np.array(list(combinations(range(tests.systems), 2))).T
    root = _covariance_root(tests, first, second)
    spread = np.sqrt(((root[first] - root[second]) ** 2).sum(axis=1))
    varies = spread > 1e-9 * spread.max()
    first, second, spread = first[varies], second[varies], spread[varies]
    rng = np.random.default_rng(_SEED)
    largest = np.zeros(DRAWS)
    for start in range(0, DRAWS, _CHUNK):
        estimates = rng.standard_normal((_CHUNK, root.shape[1])) @ root.T
        for a in np.unique(first):
            others = first == a
            step = np.abs(estimates[:, [a]] - estimates[:, second[others]]) / spread[others]
            largest[start : start + _CHUNK] = np.maximum(largest[start : start + _CHUNK], step.max(axis=1))
    beyond = DRAWS - np.searchsorted(np.sort(largest), -special.ndtri(tests.pvalue / 2))
    return np.where(tests.pvalue == 0, 0.0, (beyond + 1) / (DRAWS + 1))


CORRECTIONS: dict[str, Callable[[PairTests], np.ndarray]] = {"tukey": tukey_pvalues, "max-t": max_t_pvalues}
"""Corrections that know that the tests are those of all pairs; statsmodels knows others."""


def corrected_pair_pvalues(tests: PairTests, correction: str, alpha: float) -> np.ndarray:
    """p-values of all pairwise tests taken together.

    Args:
        tests: Of k ≥ 2 systems.
        correction: A name in `CORRECTIONS`, or one that statsmodels' ``multipletests`` knows.
        alpha: Family-wise level, which a few of statsmodels' methods look at.

    Returns:
        float64[k(k−1)/2]; none is below that of its test alone, and NaN stays NaN.

    Raises:
        ValueError: If there is no such correction.
    """
    check_correction(correction)
    if correction not in CORRECTIONS:
        return corrected_pvalues(tests.pvalue, alpha, correction)[1]
    untested = np.isnan(tests.pvalue)
    if untested.all():
        return tests.pvalue.copy()
    found = np.maximum(CORRECTIONS[correction](tests), np.where(untested, 1.0, tests.pvalue))
    return np.where(untested, np.nan, np.where(tests.pvalue == 1, 1.0, found))


def check_correction(correction: str) -> None:
    """Refuse an unknown correction.

    Raises:
        ValueError: If there is none of that name.
    """
    if correction in CORRECTIONS:
        return
    try:
        corrected_pvalues(np.array([0.5]), 0.05, correction)
    except ValueError as error:
        raise ValueError(
            f"unknown correction {correction!r}; it is one of {', '.join(CORRECTIONS)}, or a method that statsmodels' "
            "multipletests knows, such as holm"
        ) from error


def studentized_range_tail(q: np.ndarray, systems: int, degrees: np.ndarray) -> np.ndarray:
    """``P(Q_{k,ν} > q)`` of the studentised range, many at once.

    scipy's ``studentized_range.sf`` takes 20 ms for each; a ranking of 60 systems asks for 1,770. Here the tail for
    ν = ∞, ``∫ k φ(z) Φ(−z)^{k−1} [1 − (1 − Φ(−z−w)/Φ(−z))^{k−1}] dz`` over the smallest of k normals, is tabulated
    once, and its mean over ``w = q s`` taken, ``ν s²`` being χ² with ν degrees of freedom. Both integrals are
    trapezoid sums of smooth functions that vanish at the ends.

    Args:
        q: float64[n], from 0; may be infinite.
        systems: k, at least 2.
        degrees: float64[n], ν; may be infinite.

    Returns:
        float64[n], to an absolute error of about 1e-9; 1 where there are no degrees of freedom.
    """
    from scipy.interpolate import CubicSpline

    width = np.linspace(0, 40, 4001)
    table = CubicSpline(width, _range_tail(width, systems))
    found = np.where(degrees > 0, table(np.minimum(q, width[-1])), 1.0)
    for nu in np.unique(degrees[(degrees > 0) & np.isfinite(degrees)]):
        scale, chance = _chi_nodes(float(nu))
        same = degrees == nu
        found[same] = table(np.minimum(np.multiply.outer(q[same], scale), width[-1])) @ chance
    return np.clip(found, 0.0, 1.0)


def indistinct_groups(joined: np.ndarray) -> list[tuple[int, ...]]:
    """The largest groups whose members are all joined, by Bron and Kerbosch's algorithm with pivots.

    Args:
        joined: bool[k, k], symmetric; the diagonal is not read.

    Returns:
        All maximal cliques, each in increasing order, sorted; one that is joined to no one is a group of its own.
    """
    neighbours = [set(np.flatnonzero(row)) - {i} for i, row in enumerate(joined)]
    found: list[tuple[int, ...]] = []

    def extend(group: list[int], candidates: set[int], excluded: set[int]) -> None:
        if not candidates and not excluded:
            found.append(tuple(sorted(int(i) for i in group)))
            return
        pivot = max(candidates | excluded, key=lambda i: len(candidates & neighbours[i]))
        for i in sorted(candidates - neighbours[pivot]):
            extend([*group, i], candidates & neighbours[i], excluded & neighbours[i])
            candidates = candidates - {i}
            excluded = excluded | {i}

    extend([], set(range(len(joined))), set())
    return sorted(found)


def _covariance_root(tests: PairTests, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """float64[k, k], A with ``A Aᵀ = −½ J V J``; what rounding or separate slopes have put below 0 is cut off."""
    variance = np.zeros((tests.systems, tests.systems))
    variance[first, second] = variance[second, first] = np.nan_to_num(tests.standard_error**2, posinf=0.0)
    centred = variance - variance.mean(axis=0) - variance.mean(axis=1)[:, None] + variance.mean()
    size, direction = np.linalg.eigh(-centred / 2)
    return np.asarray(direction * np.sqrt(np.maximum(size, 0.0)))


def _range_tail(width: np.ndarray, systems: int) -> np.ndarray:
    """``P(Q_{k,∞} > w)``, float64[n]."""
    from scipy import special

    z, step = np.linspace(-12, 9, 421, retstep=True)
    above = special.ndtr(-z)
    density = systems * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * above ** (systems - 1)
    beyond = special.ndtr(-z - width[:, None]) / above
    return np.asarray(-np.expm1((systems - 1) * np.log1p(-np.minimum(beyond, 1 - 1e-16))) @ density * step)


def _chi_nodes(degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``s = √(χ²_ν/ν)`` and their chances, evenly spread over ``log s``."""
    from scipy import special

    low = special.gammaincinv(degrees / 2, _TAIL)
    high = special.gammainccinv(degrees / 2, _TAIL)
    log_half = np.linspace(np.log(max(low, 1e-300)), np.log(high), 301)
    weight = np.exp(degrees / 2 * (log_half - np.log(degrees / 2)) - np.exp(log_half) + degrees / 2)
    return np.sqrt(2 * np.exp(log_half) / degrees), weight / weight.sum()
