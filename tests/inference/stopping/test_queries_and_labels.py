"""Queries and labels for an answer about new queries: against copied pools, a grid and simulated populations."""

from bisect import bisect_left
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from pt_active.inference.estimators import Controls, difference
from pt_active.inference.new_queries import by_drawn_query, widened_by_queries
from pt_active.inference.reference import redrawn
from pt_active.inference.stopping.error_curve import ErrorCurve, NewQueriesCurve
from pt_active.sampling.chances import EXPONENTIAL, UNIFORM
from pt_active.sampling.sample import Sample

SIZE = np.array([4.0, 1.0, 2.5, 0.5, 1.0])
GAIN = np.array([1.0, 0.3, 0.2, 2.0, 0.7])
COST = np.array([1.0, 2.0, 1.5, 0.5, 1.0])
QUERY = np.array([0, 0, 1, 2, 2])


def documents(copies=1):
    """Five documents of three queries, or several copies of them."""
    query = np.concatenate([QUERY + 3 * copy for copy in range(copies)])
    return ErrorCurve.of_documents(*(np.tile(x, copies) for x in (SIZE, GAIN / copies**2, COST)), query, 0.5, "depth")


def queries(copies=1, law=EXPONENTIAL):
    """Five queries of which one has half of the weight, or several copies of them."""
    parts = SIZE, GAIN / copies**2, COST, 3 * COST, np.array([0.5, 0.1, 0.1, 0.1, 0.2]) / copies
    *parts, weight = (np.tile(each, copies) for each in parts)
    return ErrorCurve(*parts, np.arange(5 * copies), share=weight, fitted=2, law=law)


@pytest.mark.parametrize("pool", [documents, queries, lambda copies=1: queries(copies, UNIFORM)])
@pytest.mark.parametrize(("copies", "share"), [(2, 0.1), (5, 0.6), (4, 1.0)])
def test_copies_count_and_err_like_a_copied_pool(pool, copies, share):
    """All labels leave the floor, and the degrees of freedom of the paired t test."""
    foreseen, copied = NewQueriesCurve(pool(), 0.3, 2.0, 5, copies), pool(copies)
    budget = share * copied.total
    assert foreseen.total == pytest.approx(copied.total)
    assert foreseen.counts(budget) == pytest.approx(copied.counts(budget))
    part, spread = copied.variance(budget), 0.3 / copies
    own, left = copied.degrees_of_freedom(budget), 3 * copies - 1
    degrees = (part + spread) ** 2 / (part**2 / own + spread**2 / left) if min(own, left) > 0 else 0
    found = foreseen.at(budget)
    assert found.standard_error**2 == pytest.approx(part + spread)
    assert found.degrees == pytest.approx(degrees)
    assert foreseen.at(foreseen.total) == pytest.approx((foreseen.floor, left))


def even(m=60, spread=0.01):
    """Queries that are all alike, each with ten documents, of whose values the model explains a half."""
    ones = np.ones(m)
    pool = ErrorCurve(ones, ones * spread / m / 2, 10 * ones, 10 * ones, np.arange(m), share=ones / m, fitted=1)
    return NewQueriesCurve(pool, spread, m - 1, m)


def of_documents(m=40):
    gain, query = np.random.default_rng(3).exponential(size=10 * m) * 1e-4, np.repeat(np.arange(m), 10)
    pool = ErrorCurve.of_documents(np.sqrt(gain), gain, np.ones(10 * m), query, 1.0, "depth")
    return NewQueriesCurve(pool, 0.06, m - 1.0, m)


@pytest.mark.parametrize(("wanted", "power"), [(0.3, 0.8), (0.1, 0.9), (0.9, 0.6)])
def test_dear_queries_are_all_judged_and_as_many_as_topic_set_size_design_asks_for(wanted, power):
    pool = even()
    enough, _ = pool.cheapest(lambda error: error.power(wanted, 0.95) >= power, 1e9)
    asked = TTestPower().solve_power(wanted / np.sqrt(pool.spread * 60), power=power, alpha=0.05)
    assert enough.topics == pytest.approx(np.ceil(asked), abs=1e-6)


@pytest.mark.parametrize(("made", "price"), [(even, 3.0), (of_documents, 0.3), (of_documents, 30.0)])
def test_the_cheapest_pair_is_that_of_a_grid(made, price):
    def reached(error):
        return error.power(0.3, 0.95) >= 0.8

    pool, costs = made(), []
    enough, budget = pool.cheapest(reached, price)
    assert reached(enough.at(budget))
    assert not reached(enough.at(0.99 * budget))
    for topics in np.unique(np.round(np.geomspace(20, 2000, 40))):
        tried = replace(pool, copies=topics / pool.queries)
        if reached(tried.at(tried.total)):
            budgets = tried.total * np.geomspace(0.01, 1, 400)
            least = budgets[bisect_left(budgets, True, key=lambda each: reached(tried.at(each)))]
            costs.append(least + price * topics)
    assert budget + price * enough.topics <= 1.005 * min(costs)


@pytest.mark.parametrize("price", [0.0, 20.0])
def test_the_promised_power_is_reached_in_pools_from_a_population(price):
    """600 pools of the size that is asked for, each sampled for the budget that is asked for.

    The values are a half known to the model and a half not. The interval's degrees of freedom vary with the sample,
    which 3 standard errors of 600 pools (.049) cover.
    """
    rng, wanted, found = np.random.default_rng(11), 0.3, 0
    enough, budget = even(spread=1 / 60).cheapest(lambda error: error.power(wanted, 0.95) >= 0.8, price)
    m = round(enough.topics)
    for _ in range(600):
        model = wanted + np.sqrt(0.5) * rng.standard_normal(m)
        values = model + np.sqrt(0.5) * rng.standard_normal(m)
        number = np.ones(min(int(budget / 10 + rng.random()), m), dtype=int)
        drawn = redrawn(Sample(number.cumsum() - 1, number, number, q=np.full(m, 1 / m)), 1, rng)
        sample = Sample(drawn.rows[0], number, drawn.expected[0])
        weight, judged = np.full(m, 1 / m), sample.of(values)
        mean = difference(sample, Controls(weight, model), judged)
        by_query = by_drawn_query(sample, mean, weight, model, judged)
        known = float(mean.standard_error), float(mean.degrees_of_freedom)
        error, degrees, _ = widened_by_queries(*known, None, by_query, 0.05)
        found += abs(mean.value) > stats.t.ppf(0.975, degrees) * error
    assert found / 600 == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / 600))
