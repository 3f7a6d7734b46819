"""Expected errors over the budget, by enumeration and against the properties that they promise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.inference.stopping.error_curve import ErrorCurve, t_power
from pt_active.sampling.chances import EXPONENTIAL, UNIFORM

SIZE = np.array([4.0, 1.0, 2.5, 0.5, 1.0])
GAIN = np.array([1.0, 0.3, 0.2, 2.0, 0.7])
COST = np.array([1.0, 2.0, 1.5, 0.5, 1.0])
QUERY = np.array([0, 0, 1, 2, 2])
CURVE = ErrorCurve(SIZE, GAIN, COST, np.ones(5), QUERY)


@pytest.mark.parametrize("law", [UNIFORM, EXPONENTIAL], ids=["uniform", "exponential"])
@pytest.mark.parametrize("budget", [0.5, 2.0, 4.5, 5.9])
def test_variance_and_counts_are_those_of_every_outcome(budget, law):
    found = replace(CURVE, law=law)
    chance = found.chance(budget)
    assert COST @ chance == pytest.approx(budget)
    odds = np.log(1 - chance) if law is EXPONENTIAL else chance[chance < 1]
    assert np.ptp(odds / SIZE[chance < 1]) == pytest.approx(0, abs=1e-9)
    expected = np.zeros(3)  # of the squared error, and of the numbers of documents and of queries
    for drawn in np.array(list(itertools.product([0.0, 1.0], repeat=5))):
        error, queries = np.sqrt(GAIN) @ (drawn / chance - 1), len(np.unique(QUERY[drawn > 0]))
        expected += np.prod(np.where(drawn > 0, chance, 1 - chance)) * np.array([error**2, drawn.sum(), queries])
    variance, documents, apart = expected
    together = sum(chance[query == QUERY].max() for query in range(3))
    assert found.variance(budget) == pytest.approx(variance, rel=1e-12)
    for drawing, queries in (("successive", apart), ("surprises", apart), ("depth", together)):
        assert replace(found, drawing=drawing).counts(budget) == pytest.approx((documents, queries))


@pytest.mark.parametrize("drawing", ["successive", "surprises", "depth"])
def test_a_budget_pays_for_the_queries_that_are_expected_to_be_opened(drawing):
    """Sizes ignore λ₀: at what is left for documents, chances and errors are those without it."""
    parts = SIZE, GAIN, COST, QUERY
    found, free = (ErrorCurve.of_documents(*parts, per_query, drawing) for per_query in (0.7, 0.0))
    for budget in (0.8, 3.0, 6.0):
        chance = found.chance(budget)
        left = budget - 0.7 * found.counts(budget)[1]
        assert COST @ chance == pytest.approx(left)
        np.testing.assert_allclose(chance, free.chance(left))
    assert found.total == pytest.approx(COST.sum() + 3 * 0.7)
    assert found.chance(found.total) == pytest.approx(np.ones(5))
    assert ErrorCurve.of_documents(*(x[:0] for x in parts), 0.7, drawing).total == 0


def test_few_draws_follow_the_sources_formula():
    rng = np.random.default_rng(0)
    q, weight = rng.dirichlet(np.full(400, 9)), np.full(400, 1 / 400)
    a, cost = rng.uniform(0.5, 2, 400), rng.uniform(1, 3, 400)
    found = ErrorCurve(q, weight**2 * a, cost, np.ones(400), np.arange(400), share=weight)
    assert found.variance(2.0) == pytest.approx((weight**2 * a / q).sum() * (cost @ q) / 2.0, rel=0.02)


def test_documents_that_are_opened_together_count_as_one():
    """Half of ten queries with five documents each: five units or 25, of which one degree goes to the mean."""
    fives, ones = np.repeat(np.arange(10), 5), np.ones(50)
    for query, drawing, units in ((fives, "depth", 5), (fives, "successive", 25), (np.arange(50), "depth", 25)):
        found = ErrorCurve.of_documents(ones, ones, ones, query, 0.0, drawing)
        assert found.degrees_of_freedom(25) == pytest.approx(units - 1)


@pytest.mark.parametrize("degrees", [0.5, 1, 4, 17.3, 200, 1e6])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_power_is_the_noncentral_t(degrees, confidence):
    quantile, signal = stats.t.isf((1 - confidence) / 2, degrees), np.array([0.0, 0.3, 2.0, 6.0])
    exact = stats.nct.sf(quantile, degrees, signal) + stats.nct.cdf(-quantile, degrees, signal)
    assert [t_power(each, degrees, confidence) for each in signal] == pytest.approx(exact, abs=5e-6)


def test_power_at_its_ends():
    normal = stats.norm.sf(1.959964 - 2) + stats.norm.cdf(-3.959964)
    assert t_power(2.0, np.inf, 0.95) == pytest.approx(normal, rel=1e-5)
    assert t_power(2.0, 0.0, 0.95) == t_power(2.0, -1.0, 0.95) == 0.0
    even = (np.arange(10**5) + 0.5) / 10**5  # the series of scipy's nct is NaN here
    ratio = np.sqrt(stats.chi2.ppf(even, 2) / 2)
    by_hand = stats.norm.sf(stats.t.isf(0.0005, 2) * ratio - 30).mean()
    assert t_power(30.0, 2, 0.999) == pytest.approx(by_hand, abs=1e-5)
    assert t_power(1e9, 2, 0.999) == pytest.approx(1.0)


@given(st.floats(1, 100), st.floats(0.051, 0.999))
@settings(max_examples=20)
def test_the_detectable_difference_is_found_so_often(part, power):
    rng, ones = np.random.default_rng(1), np.ones(400)
    found = ErrorCurve(rng.uniform(1, 3, 400), rng.uniform(0.001, 0.005, 400), ones, ones, np.arange(400))
    error = found.at(3 + 3 * part)
    smallest = error.detectable(power, 0.95)
    assert error.power(smallest, 0.95) == pytest.approx(power, abs=1e-9)
    assert error.power(0.99 * smallest, 0.95) < power
