"""Expected errors over the budget, by enumeration and by what they promise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.budget import ErrorCurve
from pt_active.sampling import Clipped

SIZE = np.array([4.0, 1.0, 2.5, 0.5, 1.0])
GAIN = np.array([1.0, 0.3, 0.0, 2.0, 0.7])
COST = np.array([1.0, 2.0, 1.5, 0.5, 1.0])
QUERY = np.array([0, 0, 1, 2, 2])


def curve(**changed):
    return ErrorCurve(**({"size": SIZE, "gain": GAIN, "cost": COST, "documents": np.ones(5), "query": QUERY} | changed))


def outcomes(chance):
    for taken in itertools.product([0, 1], repeat=len(chance)):
        drawn = np.array(taken, dtype=float)
        yield np.prod(np.where(drawn > 0, chance, 1 - chance)), drawn


@pytest.mark.parametrize("budget", [0.5, 2.0, 4.5, 5.9])
def test_variance_and_counts_are_those_of_every_outcome(budget):
    chance = curve().chance(budget)
    assert COST @ chance == pytest.approx(budget)
    variance = documents = apart = together = 0.0
    signal = np.sqrt(GAIN)
    for probability, drawn in outcomes(chance):
        variance += probability * (signal @ (drawn / chance - 1)) ** 2
        documents += probability * drawn.sum()
        apart += probability * len(np.unique(QUERY[drawn > 0]))
    for query in range(3):
        together += chance[query == QUERY].max()
    assert curve().variance(budget) == pytest.approx(variance, rel=1e-12)
    assert curve(together=False).counts(budget) == pytest.approx((documents, apart))
    assert curve().counts(budget) == pytest.approx((documents, together))


@given(
    st.lists(st.tuples(st.floats(0.01, 10), st.floats(0.01, 5)), min_size=1, max_size=8),
    st.floats(0.01, 0.99),
)
@settings(max_examples=60)
def test_clipped_probabilities_cost_the_budget(units, share):
    size, cost = np.array(units).T
    budget = share * cost.sum()
    factor = Clipped.of(size, cost).factor(budget)
    assert cost @ np.minimum(1, factor * size) == pytest.approx(budget)


def test_a_budget_for_everything_leaves_no_error():
    for budget in (COST.sum(), 100.0):
        assert (curve().chance(budget) == 1).all()
        assert curve().standard_error(budget) == 0
        assert curve().half_width(budget, 0.95) == 0
        assert curve().power(budget, 0.1, 0.95) == 1
        assert curve().detectable(budget, 0.8, 0.95) == 0


def test_few_draws_follow_the_sources_formula():
    rng = np.random.default_rng(0)
    q, a, cost = rng.dirichlet(np.ones(400)), rng.uniform(0.5, 2, 400), rng.uniform(1, 3, 400)
    weight = np.full(400, 1 / 400)
    found = ErrorCurve(q + 1e-3, weight**2 * a, cost, np.ones(400), np.arange(400), share=weight)
    q = (q + 1e-3) / (q + 1e-3).sum()
    budget = 2.0
    assert found.variance(budget) == pytest.approx((weight**2 * a / q).sum() * (cost @ q) / budget, rel=0.02)


def test_degrees_of_freedom():
    weight = np.full(50, 0.02)
    of_queries = ErrorCurve(np.ones(50), np.ones(50), np.ones(50), np.ones(50), np.arange(50), share=weight, fitted=2)
    assert of_queries.degrees_of_freedom(20) == pytest.approx(18)
    of_documents = ErrorCurve(np.ones(50), np.ones(50), np.ones(50), np.ones(50), np.arange(50))
    assert of_documents.degrees_of_freedom(20) == pytest.approx(20 - 1)


def test_power_is_that_of_the_t_interval():
    signal, budget, n = 0.6, 12.0, 60
    rng = np.random.default_rng(1)
    gain = rng.uniform(0.001, 0.005, n)
    found = ErrorCurve(rng.uniform(1, 3, n), gain, np.ones(n), np.ones(n), np.arange(n))
    error, degrees = found.standard_error(budget), found.degrees_of_freedom(budget)
    quantile = stats.t.ppf(0.975, degrees)
    assert found.half_width(budget, 0.95) == pytest.approx(quantile * error)
    estimates = np.random.default_rng(0).normal(signal, error, 200_000)
    assert found.power(budget, signal, 0.95) == pytest.approx(np.mean(abs(estimates) > quantile * error), abs=0.004)
    assert found.power(budget, -signal, 0.95) == found.power(budget, signal, 0.95)
    smallest = found.detectable(budget, 0.7, 0.95)
    assert found.power(budget, smallest, 0.95) == pytest.approx(0.7)


def test_the_least_budget():
    found = curve()
    budget = found.budget_for(lambda b: found.standard_error(b) <= 0.4)
    assert found.standard_error(budget) <= 0.4 < found.standard_error(0.998 * budget)
    assert found.budget_for(lambda b: False) == found.total


@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan, np.inf])
def test_a_budget_is_a_positive_number(budget):
    with pytest.raises(ValueError, match="budget must be a positive number"):
        curve().variance(budget)
