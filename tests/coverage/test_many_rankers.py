"""Rankings: how often a family of comparisons errs at least once."""

import itertools

import numpy as np
import pytest

from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.inference.leaderboard import JointErrors, best_pvalues, better_pvalues, rank_intervals
from pt_active.inference.significance import tukey_pvalues, two_sided_pvalue
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import sampling_distribution
from pt_active.sampling.draws import priorities

REPETITIONS = 1000
LEVEL = 0.05 + 3 * np.sqrt(0.05 * 0.95 / REPETITIONS)


def replayed_tests(scales, queries=400, draws=100):
    """Differences, standard errors and degrees of freedom of all pairs in many weighted samples, [pairs, R].

    The values of systems are correlated, their means are exactly equal, and the model is of middling quality.
    """
    rng = np.random.default_rng(3)
    values = rng.gamma(2, 1, (queries, 1)) + rng.standard_normal((queries, len(scales))) * scales
    values = values - values.mean(axis=0) + values.mean()
    mean, p = values + rng.normal(0, 1, values.shape), np.full(queries, 1 / queries)
    moments, cost = Moments(mean, np.tile(np.eye(len(scales)), (queries, 1, 1))), np.ones(queries)
    q = sampling_distribution("optimal", moments, cost, p)
    sample = next(priorities(q, cost, [draws], REPETITIONS, rng))
    found = []
    for a, b in itertools.combinations(range(len(scales)), 2):
        controls, apart = Controls(p, mean[:, a] - mean[:, b]), values[:, a] - values[:, b]
        estimate = ESTIMATORS["regression"].estimate(sample, controls, apart[sample.rows])
        found.append((estimate.value, estimate.standard_error, estimate.degrees_of_freedom))
    return np.array(found).transpose(1, 0, 2)


@pytest.mark.parametrize("scales", [[1, 1, 1, 1, 1], [0.2, 0.5, 1, 2, 4]], ids=["alike", "unlike"])
def test_five_equal_systems_are_told_apart_in_one_of_twenty_samples(scales):
    difference, error, degrees = replayed_tests(scales)
    alone = two_sided_pvalue(difference, error, degrees)
    best, column = alone.argmin(axis=0), np.arange(REPETITIONS)
    least = [part[best, column] for part in (difference, error, np.round(degrees, 1))]
    tukey = tukey_pvalues(*least, alone[best, column], 5)
    assert (alone.min(axis=0) < 0.05).mean() > 0.2
    assert 0.02 < (tukey < 0.05).mean() <= LEVEL
    assert 0.02 < (alone.min(axis=0) < 0.05 / 10).mean() <= LEVEL


CAMPAIGNS = 300
MISSES = 0.05 + 3 * np.sqrt(0.05 * 0.95 / CAMPAIGNS)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [[0.0] * 6, [0, 0, 0, 0, 0, -2], [0, 0.1, 0.2, 0.3, 0.4, 0.5]], ids=str)
def test_all_ranks_and_the_best_hold_at_once_in_nineteen_of_twenty_campaigns(truth):
    """Paired values of correlated rankers on 60 queries; a ranker that ties with others may have any of their ranks."""
    rng, truth, k = np.random.default_rng(5), np.array(truth), 6
    root = np.linalg.cholesky(0.8 + 0.2 * np.diag(rng.uniform(0.3, 2, k)))
    least, most = 1 + (truth > truth[:, None]).sum(axis=1), (truth >= truth[:, None]).sum(axis=1)
    ranks_missed, best_missed = np.zeros((2, CAMPAIGNS), dtype=bool)
    for campaign in range(CAMPAIGNS):
        sample = truth + rng.standard_normal((60, k)) @ root.T
        covariance = np.cov(sample.T) / 60
        variance = np.diag(covariance)
        error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0.0))
        np.fill_diagonal(error, 0)
        means = sample.mean(axis=0)
        difference = means[:, None] - means
        pvalues = two_sided_pvalue(difference, error, np.full((k, k), 59.0)) / 2
        pvalues = np.where(difference > 0, pvalues, 1 - pvalues)
        np.fill_diagonal(pvalues, np.nan)
        errors = JointErrors.of(error)
        first, last = rank_intervals(better_pvalues(errors, pvalues) < 0.05)
        ranks_missed[campaign] = ((first > least) | (last < most)).any()
        best_missed[campaign] = (best_pvalues(errors, pvalues)[truth == truth.max()] < 0.05).all()
    assert ranks_missed.mean() <= MISSES
    assert best_missed.mean() <= MISSES
    assert ranks_missed.mean() > 0.01 or len(set(truth)) == k
