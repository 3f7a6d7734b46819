"""Rankings: how often a family of comparisons errs at least once."""

import itertools

import numpy as np
import pytest

from pt_active.inference.estimators import ESTIMATORS, Controls
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
        weighting = ESTIMATORS["regression"].weigh(sample, Controls(p, mean[:, a] - mean[:, b]))
        estimate = weighting.estimate((values[:, a] - values[:, b])[sample.rows])
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
