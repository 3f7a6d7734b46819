"""Ranks, the best and the winner's luck: against enumeration, exact distributions, and what must change nothing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from samples import errors_of
from scipy import stats

from pt_active.inference.leaderboard import (
    SAMPLES,
    JointErrors,
    best_pvalues,
    better_pvalues,
    level_of_all,
    luck_of_the_winner,
    rank_intervals,
)
from pt_active.inference.significance import studentized_range_tail

ALPHA = 0.05
TOLERANCE = 4 * np.sqrt(0.25 / SAMPLES)  # four Monte Carlo errors of a share, at most


def pvalues_of(values: np.ndarray, of_pairs: np.ndarray) -> np.ndarray:
    """One-sided p-values of ``a is better than b`` by the normal distribution; those of certain pairs are 0 or 1."""
    difference = np.subtract.outer(values, values)
    with np.errstate(divide="ignore", invalid="ignore"):
        pvalues = np.where(of_pairs == 0, difference <= 0, stats.norm.sf(difference / of_pairs))
    np.fill_diagonal(pvalues, np.nan)
    return pvalues


def some_covariance(k: int, seed: int) -> np.ndarray:
    root = np.random.default_rng(seed).normal(0, 1, (k, k))
    return root @ root.T / k + 2.0


@pytest.mark.parametrize("seed", range(4))
def test_step_down_is_closed_testing_of_every_set_of_claims(seed: int) -> None:
    """A claim's p-value is the largest of those of all sets of claims that it is in."""
    of_pairs = errors_of(some_covariance(3, seed))
    pvalues = pvalues_of(np.random.default_rng(seed).normal(0, 2, 3), of_pairs)
    errors = JointErrors.of(of_pairs)
    claims = [(a, b) for a in range(3) for b in range(3) if a != b]
    statistic = {claim: errors.of_pair(*claim) for claim in claims}
    expected = np.full((3, 3), np.nan)
    for size in range(1, 7):
        for some in combinations(claims, size):
            least = min(pvalues[claim] for claim in some)
            reached = np.max([statistic[claim] for claim in some], axis=0) >= stats.norm.isf(least)
            of_set = min((reached.sum() + 1) / (SAMPLES + 1), size * least, 1)
            for claim in some:
                expected[claim] = np.nanmax([expected[claim], of_set])
    np.testing.assert_allclose(better_pvalues(errors, pvalues), expected, rtol=1e-12)


def test_equal_independent_errors_have_the_studentised_range_and_dunnetts_distribution() -> None:
    values, of_pairs = np.array([2.4, 1.1, 0.3, 0.0]), errors_of(np.eye(4))
    errors, pvalues = JointErrors.of(of_pairs), pvalues_of(values, of_pairs)
    q = np.sqrt(2) * stats.norm.isf(level_of_all(errors, pvalues, ALPHA) / 2)
    assert studentized_range_tail(np.array([q]), 4, np.array([np.inf]))[0] == pytest.approx(ALPHA, abs=TOLERANCE / 2)
    dunnett = stats.multivariate_normal(np.zeros(3), (np.eye(3) + 1) / 2)
    expected = [1 - dunnett.cdf(np.full(3, (np.delete(values, a).max() - values[a]) / np.sqrt(2))) for a in range(4)]
    np.testing.assert_allclose(best_pvalues(errors, pvalues), expected, rtol=0, atol=TOLERANCE)
    # The first claim is that on the largest difference, against the range of all.
    largest = studentized_range_tail(np.array([2.4]), 4, np.array([np.inf]))[0]
    assert better_pvalues(errors, pvalues)[0, 3] == pytest.approx(largest, abs=TOLERANCE)


def test_draws_have_the_errors_of_the_differences_also_where_the_covariance_is_singular() -> None:
    root = np.random.default_rng(2).normal(0, 1, (6, 2))
    of_pairs = errors_of(root @ root.T)
    errors = JointErrors.of(of_pairs)
    for a, b in combinations(range(6), 2):
        assert errors.of_pair(a, b).std() == pytest.approx(1, abs=0.02)
    assert np.linalg.matrix_rank(errors.draws, tol=1e-3) == 2


def test_errors_that_fit_no_covariance_become_larger_never_smaller() -> None:
    of_pairs = np.array([[0, 1, 3], [1, 0, 1], [3, 1, 0]], dtype=float)  # the triangle is not closed
    errors = JointErrors.of(of_pairs)
    assert min(errors.of_pair(a, b).std() for a, b in combinations(range(3), 2)) > 0.98


def test_without_errors_all_ranks_are_known_and_equal_rankers_share_theirs() -> None:
    values = np.array([0.2, 0.7, 0.7, 0.1])
    errors, pvalues = JointErrors.of(np.zeros((4, 4))), pvalues_of(values, np.zeros((4, 4)))
    first, last = rank_intervals(better_pvalues(errors, pvalues) < ALPHA)
    assert (first.tolist(), last.tolist()) == ([3, 1, 1, 4], [3, 2, 2, 4])
    assert (best_pvalues(errors, pvalues) >= ALPHA).tolist() == [False, True, True, False]
    assert luck_of_the_winner(np.zeros((4, 4)), values) == 0


def test_what_is_not_tested_is_not_claimed() -> None:
    of_pairs = errors_of(np.eye(3))
    of_pairs[0, 1:] = of_pairs[1:, 0] = np.nan
    pvalues = pvalues_of(np.array([9.0, 5.0, 0.0]), of_pairs)
    errors = JointErrors.of(of_pairs)
    better = better_pvalues(errors, pvalues)
    assert np.isnan(better[0]).all()
    assert [list(each) for each in rank_intervals(better < ALPHA)] == [[1, 1, 2], [3, 2, 3]]
    assert (best_pvalues(errors, pvalues) >= ALPHA).tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(20))
def test_claims_never_contradict_each_other(seed: int) -> None:
    """Whoever is worse than somebody is not the best, ranks fit together, and no p-value is above Bonferroni's."""
    rng = np.random.default_rng(seed)
    of_pairs = errors_of(some_covariance(7, seed))
    pvalues = pvalues_of(rng.normal(0, 1.5, 7), of_pairs)
    errors = JointErrors.of(of_pairs)
    better = better_pvalues(errors, pvalues)
    assert (better[np.isfinite(better)] <= np.minimum(42 * pvalues[np.isfinite(better)], 1)).all()
    claimed = better < ALPHA
    first, last = rank_intervals(claimed)
    assert (first <= last).all()
    assert not (claimed & claimed.T).any()
    assert (first[best_pvalues(errors, pvalues) >= ALPHA] == 1).all()


def test_the_luck_of_the_winner_is_what_its_value_is_too_large_by() -> None:
    """Whether rankers are equal, alike, in two groups or one of them is best: at most 0.45 standard errors are left."""
    rng = np.random.default_rng(3)
    of_pairs = errors_of(np.eye(40))
    for truth in (np.zeros(40), rng.normal(0, 1, 40), np.repeat([0.0, 9.0], 20), np.r_[4.0, np.zeros(39)]):
        seen = truth + rng.standard_normal((40, 40))
        bias = [each.max() - truth[each.argmax()] for each in seen]
        luck = [luck_of_the_winner(of_pairs, each) for each in seen]
        assert min(luck) >= 0
        assert abs(np.mean(bias) - np.mean(luck)) < 0.45 + 3 * np.std(bias) / np.sqrt(40)
