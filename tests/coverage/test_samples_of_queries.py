"""Samples of queries: bias, coverage and type I error of the estimators.

A mean is held against its expectation within 3 standard errors of the simulation: 4,000 samples find a bias of .05
standard deviations of the estimate, and a coverage or a level that is off by 2 points.
"""

import math

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.estimators import Controls, difference, horvitz_thompson, regression, snis
from pt_active.inference.intervals import interval
from pt_active.inference.significance import two_sided_pvalue
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import sampling_distribution
from pt_active.sampling.draws import priorities
from pt_active.sampling.sample import Sample


def repeated_estimates(estimator, pool, n, repetitions, seed):
    """Of repeated samples of n draws each."""
    q, p, truth, model = pool
    drawn = np.random.default_rng(seed).choice(len(q), size=(repetitions, n), p=q)
    sample = Sample(drawn, np.ones_like(drawn), n * q[drawn], repeated=True)
    return estimator(sample, Controls(p, model), truth[drawn])


def skewed_pool():
    """Weights p/q that go with the value, so that ratios of means are biased."""
    rng = np.random.default_rng(17)
    value = rng.gamma(1.0, 0.3, 300)
    p, q = np.full(300, 1 / 300), 1 / (0.15 + value)
    return q / q.sum(), p, value, 0.8 * value**2 + rng.uniform(0, 0.1, 300)


def assert_mean(values, expected):
    """Within 3 standard errors of the simulation."""
    assert abs(values.mean() - expected) <= 3 * values.std() / math.sqrt(len(values))


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("estimator", [horvitz_thompson, difference])
def test_ht_and_difference_are_unbiased_and_so_are_their_squared_errors(estimator, n):
    pool = skewed_pool()
    estimates = repeated_estimates(estimator, pool, n, 5000, seed=n)
    error = estimates.value - pool[1] @ pool[2]
    assert_mean(error, 0.0)
    assert_mean(error**2 - estimates.standard_error**2, 0.0)


def calibrated_pool(seed=23, queries=2000):
    """Values drawn from the moments that the model states, sampled by `assisted`, and the costs of queries."""
    rng = np.random.default_rng(seed)
    mean, variance = rng.uniform(0, 1, queries), rng.uniform(0.005, 0.08, queries)
    truth = mean + np.sqrt(variance) * rng.uniform(-math.sqrt(3), math.sqrt(3), queries)
    weight, cost = rng.dirichlet(np.full(queries, 5.0)), rng.uniform(0.5, 2, queries)
    q = sampling_distribution("assisted", Moments(mean[:, None], variance[:, None, None]), cost, weight)
    return (q, weight, truth, mean), cost


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("estimator", [snis, regression])
def test_intervals_cover(estimator, replace):
    """93.5 to 96.5 % of 4,000 samples of 60, also of 150 queries; the simulation's standard error is .0034."""
    pool, cost = calibrated_pool(queries=2000 if replace else 150)
    q, p, truth, model = pool
    if replace:
        estimates = repeated_estimates(estimator, pool, 60, 4000, seed=60)
    else:
        sample = next(priorities(q, cost, [0.4 * cost.sum()], 4000, np.random.default_rng(6)))
        estimates = estimator(sample, Controls(p, model), truth[sample.rows])
    low, high = interval(estimates.value, estimates.standard_error, estimates.degrees_of_freedom, 0.95)
    assert 0.935 < ((low <= p @ truth) & (p @ truth <= high)).mean() < 0.965


def swapped_pvalues(estimator, n, repetitions, seed):
    """Of comparisons under label swapping: each query's two systems trade places at random.

    The pool is so much larger than a sample that its own mean after swapping, which is not exactly 0, adds nothing.
    """
    rng, m = np.random.default_rng(seed), 12_000
    (q, weight, truth, model), _ = calibrated_pool(seed, m)
    pvalues = []
    for drawn in np.array_split(rng.choice(m, size=(repetitions, n), p=q), 40):
        sign = 2.0 * rng.integers(0, 2, (len(drawn), m)) - 1
        swapped = np.take_along_axis(sign, drawn, axis=1)
        sample = Sample(drawn, np.ones_like(drawn), n * q[drawn], repeated=True)
        estimate = estimator(sample, Controls(weight, sign * model), swapped * truth[drawn])
        pvalues.append(two_sided_pvalue(estimate.value, estimate.standard_error, estimate.degrees_of_freedom))
    return np.concatenate(pvalues)


@pytest.mark.parametrize("estimator", [snis, regression])
def test_the_comparison_rejects_at_its_level_under_label_swapping(estimator):
    """Type I error at .05 between .035 and .065 over 4,000 samples (standard error .0034), uniform p-values."""
    pvalues = swapped_pvalues(estimator, 30, 4000, seed=30)
    assert 0.035 < (pvalues < 0.05).mean() < 0.065
    assert stats.kstest(pvalues, "uniform").pvalue > 0.0027
