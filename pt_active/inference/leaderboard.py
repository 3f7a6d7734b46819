"""Which claims about a table of rankers hold at once: ranks, the best, and how much of the winner is luck [theory 5].

All claims rest on tests of the differences of two rankers and on how the errors of these differences depend on each
other. In large samples the errors are normal, so that their joint distribution follows from their covariance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SAMPLES = 20_000
"""Draws of the joint distribution of all errors; the share 0.05 of them has a Monte Carlo error of 0.0015."""

_SEED = 49
_GRID, _STEPS = 200, 300  # Possible values of a ranker, and steps of EM


class JointErrors(NamedTuple):
    """Draws of the errors of k rankers, but for what all have in common, and the standard errors of differences."""

    draws: np.ndarray  # float64[k, R]
    of_pairs: np.ndarray  # float64[k, k], symmetric, 0 on the diagonal

    @classmethod
    def of(cls, of_pairs: np.ndarray) -> JointErrors:
        """From the standard errors of all differences, float64[k, k]; those that are not finite count as 0.

        The variances V of the differences determine the covariance of the errors but for what all rankers have in
        common, which no difference contains: ``C = −J V J/2`` with ``J = I − 1/k`` (Torgerson 1952). Each difference is
        estimated with weights of its own, so C may have small negative eigenvalues. They count as 0, which makes no
        variance of a difference smaller.
        """
        of_pairs = np.where(np.isfinite(of_pairs), of_pairs, 0.0)
        size, basis = np.linalg.eigh(cls.covariance(of_pairs))
        root = (basis * np.sqrt(np.maximum(size, 0.0))) @ basis.T  # symmetric, so that signs of the basis do not matter
        normal = np.random.default_rng(_SEED).standard_normal((len(of_pairs), SAMPLES))
        return cls(root @ normal, of_pairs)

    @staticmethod
    def covariance(of_pairs: np.ndarray) -> np.ndarray:
        """``C = −J V J/2``, float64[k, k], of finite standard errors of all differences."""
        centring = np.eye(len(of_pairs)) - 1 / len(of_pairs)
        return np.asarray(-centring @ of_pairs**2 @ centring / 2)

    def of_pair(self, first: int, second: int) -> np.ndarray:
        """float64[R], errors of ``first − second`` in standard errors; −∞ where the difference has none."""
        error = self.of_pairs[first, second]
        if not error > 0:
            return np.full(self.draws.shape[1], -np.inf)
        return (self.draws[first] - self.draws[second]) / error


def better_pvalues(errors: JointErrors, pvalues: np.ndarray) -> np.ndarray:
    """p-values of all claims ``a is better than b``, corrected for their number, float64[k, k]; NaN without a test.

    If the claims with values below α are made, the probability that any of them is wrong is at most α in large samples:
    step-down tests by the distribution of the largest statistic among the claims that are not yet made (Romano and Wolf
    2005; for ranks: Mogstad, Romano, Shaikh and Wilhelm 2024). No value is above that of Bonferroni for these claims.

    Args:
        errors: The joint errors.
        pvalues: float64[k, k], one-sided p-values of ``a is better than b``; NaN without a test, 1 twice if both are
            known to be equal.
    """
    corrected = np.full_like(pvalues, np.nan)
    first, second = np.nonzero(_tested(pvalues))
    order = np.argsort(-pvalues[first, second], kind="stable")
    first, second = first[order], second[order]
    largest = np.full(errors.draws.shape[1], -np.inf)  # among the claims that a claim is made with or before
    for number, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True), start=1):
        np.maximum(largest, errors.of_pair(a, b), out=largest)
        corrected[a, b] = _corrected(pvalues[a, b], largest, number)
    # No claim is made before those that are surer.
    corrected[first, second] = np.maximum.accumulate(corrected[first, second][::-1])[::-1]
    return corrected


def best_pvalues(errors: JointErrors, pvalues: np.ndarray) -> np.ndarray:
    """p-values of ``a is the best``, float64[k]: those not below α may be it, and it is among them but with chance α.

    Multiple comparisons with the best (Hsu 1984): the surest claim that some other ranker is better than a, against the
    distribution of the largest statistic of all such claims. There is one best ranker, so that no correction for the
    number of values is due. Whoever has a value below α in `better_pvalues` for being worse has one here.

    Args:
        errors: The joint errors.
        pvalues: As in `better_pvalues`.
    """
    found = np.ones(len(pvalues))
    for a, tested in enumerate(_tested(pvalues).T):
        others = np.flatnonzero(tested).tolist()
        if others:
            largest = np.max([errors.of_pair(b, a) for b in others], axis=0)
            found[a] = _corrected(pvalues[others, a].min(), largest, len(others))
    return found


def level_of_all(errors: JointErrors, pvalues: np.ndarray, alpha: float) -> float:
    """The two-sided level of the interval of each difference at which those of all hold at once but with chance α.

    Args:
        errors: The joint errors.
        pvalues: As in `better_pvalues`; differences without a test have no interval.
        alpha: The probability that any interval misses.
    """
    from scipy import special

    first, second = np.nonzero(np.triu(_tested(pvalues)))
    largest = np.zeros(errors.draws.shape[1])
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        statistic = errors.of_pair(a, b)
        if np.isfinite(statistic[0]):
            np.maximum(largest, np.abs(statistic), out=largest)
    joint = 2 * float(special.ndtr(-np.quantile(largest, 1 - alpha, method="higher")))
    return min(max(joint, alpha / max(len(first), 1)), alpha)


def rank_intervals(better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64[k] twice, the first and the last rank that each ranker may have, by claims ``a is better than b``.

    If all claims bool[k, k] are right, so are all intervals. Rankers that are exactly equal have any order.
    """
    return 1 + better.sum(axis=0), len(better) - better.sum(axis=1)


def luck_of_the_winner(of_pairs: np.ndarray, values: np.ndarray) -> float:
    """By how much the largest value is expected to be too large, since its ranker was chosen for that.

    ``x_w − E[θ_w | x_w]`` with ``x_a = θ_a + e_a``: a posterior mean needs no correction for the choice (Efron 2011).
    The distribution of θ is the one that makes the values likeliest (Kiefer and Wolfowitz 1956), on a grid, by EM. What
    all errors have in common does not count.

    Args:
        of_pairs: float64[k, k], the standard errors of the differences.
        values: float64[k], larger is better.
    """
    variance = np.where(np.isfinite(of_pairs), of_pairs, 0.0) ** 2
    error = np.sqrt(np.maximum(variance.mean(axis=1) - variance.mean() / 2, 0.0))
    winner = int(values.argmax())
    grid, step = np.linspace(values.min(), values.max(), _GRID, retstep=True)
    if not (error[winner] > 0 and step > 0):
        return 0.0
    distance = (values[:, None] - grid) / np.maximum(error, step)[:, None]
    likelihood = np.exp(-(distance**2) / 2)  # float64[k, G], but for factors that do not depend on θ
    chance = np.full(_GRID, 1 / _GRID)
    for _ in range(_STEPS):
        posterior = likelihood * chance
        posterior /= posterior.sum(axis=1, keepdims=True)
        chance = posterior.mean(axis=0)
    return float(values[winner] - posterior[winner] @ grid)


def _tested(pvalues: np.ndarray) -> np.ndarray:
    """bool[k, k], the claims that are tested."""
    return np.isfinite(pvalues) & ~np.eye(len(pvalues), dtype=bool)


def _corrected(pvalue: float, largest: np.ndarray, number: int) -> float:
    """The probability that the largest statistic of so many claims, float64[R], is as sure as a p-value.

    It is at most ``number`` times the p-value, which is also nearer to the truth where hardly any draw is as sure.
    """
    from scipy import special

    reached = np.count_nonzero(largest >= -special.ndtri(pvalue))
    return float(min((reached + 1) / (len(largest) + 1), number * pvalue, 1.0))
