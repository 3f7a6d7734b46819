"""Looking at a growing sample of queries many times: the level of the boundaries."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.replay import Method, Population, Repetitions, replay, share_error
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import PLANNED_LOOKS, half_widths, spending_boundary
from pt_active.relevance.moments import Moments


def null_population() -> Population:
    rng = np.random.default_rng(9)
    mean = rng.gamma(2.0, 0.3, size=(240, 2))
    spread = rng.uniform(0.05, 0.3, 240)
    values = mean + rng.normal(size=(240, 2)) * np.sqrt(spread)[:, None] + 0.3 * rng.normal(size=(240, 1))
    covariance = spread[:, None, None] * np.eye(2)
    uniform = Moments(np.full((240, 2), 0.6), np.tile(0.3 * np.eye(2), (240, 1, 1)))
    cost = rng.integers(5, 15, 240).astype(float)
    return Population(values, Moments(mean, covariance), uniform, cost, np.full(240, 1 / 240), cost.astype(int))


@pytest.fixture(scope="module")
def null_replays():
    """Errors, standard errors and degrees of freedom at 30 looks [30, 400], and the clock."""
    population = null_population()
    budget = 0.3 * population.cost.sum()
    budgets = np.linspace(0.04 * budget + 15, budget, 30)
    method = Method("hedged", "regression", with_replacement=False)
    found = replay(population, [method], budgets, Repetitions(400, 1, null=True))["regression"]
    q, cost, ones = population.distribution("hedged", 0.1), population.cost, np.ones(240)
    curve = ErrorCurve(q, cost * q**2, cost, ones, np.arange(240), share=ones / 240)
    return found.error, found.standard_error, found.degrees, np.array([1 / curve.variance(each) for each in budgets])


@pytest.mark.slow
def test_five_planned_looks_keep_their_level(null_replays):
    error, spread, degrees, time = null_replays
    at = np.arange(5, 30, 6)
    critical = spending_boundary(np.arange(1, 6) / PLANNED_LOOKS, time[at], 0.05)[:, None]
    wrong = (np.abs(error[at]) > half_widths(critical, spread[at], degrees[at])).any(axis=0).mean()
    assert 0.01 < wrong <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_peeking_with_plain_intervals_does_not(null_replays):
    error, spread, degrees, _ = null_replays
    plain = half_widths(np.full((30, 1), stats.norm.isf(0.025)), spread, degrees)
    assert (np.abs(error) > plain).any(axis=0).mean() > 0.15


def test_the_reproduction_counts_what_it_says(script):
    reproduction, population = script("stopping"), null_population()
    clear = replace(population, values=np.add(population.values, [0.5, 0.0]))
    null, found = reproduction.peeks(population, 100, True, 1), reproduction.peeks(clear, 100, False, 2)
    assert null.error.shape == (reproduction.PEEKS, 100)
    row = reproduction._once(null, found)
    wide = half_widths(np.full((1, 1), 1.959964), null.standard_error[-1], null.degrees[-1])
    share = (np.abs(null.error[-1]) > wide).mean()
    expected = {"spent": "1.00", "found": "1.00", "wrong": f"{share:.3f} ± {share_error(share, 100):.3f}"}
    assert {name: row[name] for name in expected} == expected
