"""How far off expected errors are: the posterior by integration, its coverage by simulation, tails by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.calibration import (
    MODEL_ALONE,
    PRIOR_DEGREES,
    Optimism,
    degrees_of_squares,
    expected_kurtosis,
    observed_kurtosis,
)


@pytest.mark.parametrize(("ratio", "degrees"), [(0.4, 1.0), (3.0, 2.5), (12.0, 40.0), (0.0, 3.0)])
def test_the_distribution_is_prior_times_likelihood(ratio, degrees):
    """Bayes' rule on a grid: φ = ν₀/χ² beforehand, and a ratio of φ χ²/ν in the pilot."""
    grid = np.exp(np.linspace(np.log(1e-3), np.log(1e5), 200_001))
    prior = stats.chi2.pdf(PRIOR_DEGREES / grid, PRIOR_DEGREES) * PRIOR_DEGREES / grid**2
    # The density of r = 0 itself is 0 or infinite, and its limit in φ is what matters.
    likelihood = stats.chi2.pdf(max(ratio, 1e-9) * degrees / grid, degrees) * degrees / grid
    mass = prior * likelihood * grid
    below = np.cumsum(mass) / mass.sum()
    found = Optimism(ratio, degrees)
    for share in (0.1, 0.5, 0.9):
        assert below[np.searchsorted(grid, found.quantile(share))] == pytest.approx(share, abs=1e-3)
    assert found.median == found.quantile(0.5)


def test_without_labels_there_is_the_prior():
    assert MODEL_ALONE.quantile(np.array([0.1, 0.5, 0.9])) == pytest.approx([0.434, 1.443, 9.491], abs=1e-3)
    assert Optimism(7.0, 0.0).median == MODEL_ALONE.median
    assert np.isnan(Optimism(np.nan, 3.0).median)


@pytest.mark.parametrize("degrees", [0.5, 4.0, 30.0])
def test_intervals_cover_what_comes(degrees):
    """10,000 models whose errors are as uncertain as the prior says, each with a pilot."""
    rng, repetitions = np.random.default_rng(3), 10_000
    truth = PRIOR_DEGREES / rng.chisquare(PRIOR_DEGREES, repetitions)
    ratio = truth * rng.chisquare(degrees, repetitions) / degrees
    ends = [Optimism(each, degrees).quantile(np.array([0.1, 0.5, 0.9])) for each in ratio]
    for share, end in zip((0.1, 0.5, 0.9), np.transpose(ends), strict=True):
        assert abs((truth < end).mean() - share) < 3 * np.sqrt(share * (1 - share) / repetitions)


def heavy(rng, shape):
    """Squared errors with mean 1 and kurtosis 8.5: one in ten is from a wider distribution."""
    return np.where(rng.random(shape) < 0.1, 5.05, 0.55) * rng.normal(size=shape) ** 2


def test_degrees_are_those_of_the_spread_of_mean_squares():
    """``Var(S²)/E² = 2/ν`` for errors whose kurtosis is known."""
    rng, n, repetitions = np.random.default_rng(1), 40, 20_000
    square = heavy(rng, (repetitions, n))
    kurtosis = 3 * (0.9 * 0.55**2 + 0.1 * 5.05**2)
    spread = square.mean(axis=1).var()
    fourth = ((square.mean(axis=1) - 1) ** 2).std() / np.sqrt(repetitions)
    assert abs(2 / degrees_of_squares(n, kurtosis) - spread) < 3 * fourth


def test_the_kurtosis_of_a_pilot_counts_each_draw():
    square, count = np.array([1.0, 4.0, 0.5]), np.array([2, 1, 3])
    repeated = np.repeat(square, count)
    assert observed_kurtosis(square, count) == pytest.approx((repeated**2).mean() / repeated.mean() ** 2)
    one_heavy = observed_kurtosis(np.array([1e6, 1.0, 1.0]), np.ones(3, dtype=np.int64))
    assert one_heavy == pytest.approx(3, rel=1e-4)
    assert np.isnan(observed_kurtosis(np.zeros(3), np.ones(3, dtype=np.int64)))


def test_the_kurtosis_that_the_model_expects_by_enumeration():
    """Every unit that a draw can be, with a normal error; the weight of a draw is p/q."""
    p, variance, q = np.array([0.5, 0.3, 0.2]), np.array([1.0, 4.0, 0.5]), np.array([0.2, 0.3, 0.5])
    second = sum(q * (p / q) ** 2 * variance)
    fourth = sum(q * (p / q) ** 4 * 3 * variance**2)
    assert expected_kurtosis(p**2 * variance, q) == pytest.approx(fourth / second**2)
    more = np.append(p**2 * variance, 9.0), np.append(q, 0.0)
    assert expected_kurtosis(*more) == pytest.approx(fourth / second**2)
    assert expected_kurtosis(np.ones(3), np.full(3, 1 / 3)) == pytest.approx(3)
    assert np.isnan(expected_kurtosis(np.zeros(3), q))
