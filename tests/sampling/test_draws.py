"""Draws to a budget against the sequential procedure that defines them, by enumeration and by simulation.

Tolerances are 3 standard errors of the simulation, or a chi-square test at the level that corresponds, .0027.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.sampling.draws import draw_number, draw_to_budget, priorities, races

COST = np.array([1.0, 1.0, 2.0, 4.0])
Q = np.array([0.3, 0.3, 0.2, 0.2])
P = np.full(4, 0.25)


def outcomes(q, cost, budget, drop=True):
    """The vectors of draw counts, int64[K, m], and their probabilities, by enumeration, except for a small rest.

    Without ``drop`` the rule is different: stop after the first draw with ``spent > Λ − λ_max``, and keep it.
    """
    limit = budget if drop else budget - max(cost)
    going, chance = np.zeros((1, len(q)), dtype=np.int64), np.ones(1)
    counts, mass = [], []
    while chance.sum() > 1e-9:
        after, probability = going[:, None] + np.eye(len(q), dtype=np.int64), chance[:, None] * q
        ends = (after > 0) @ cost > limit
        counts.append(going[np.nonzero(ends)[0]] if drop else after[ends])
        mass.append(probability[ends])
        _, first, place = np.unique(as_numbers(after[~ends]), return_index=True, return_inverse=True)
        going, chance = after[~ends][first], np.bincount(place, weights=probability[~ends], minlength=len(first))
    return np.concatenate(counts), np.concatenate(mass)


def as_numbers(counts):
    """One number for each vector of counts, int64[...]."""
    assert counts.max(initial=0) < 2**15
    return counts @ 2 ** (15 * np.arange(counts.shape[-1]))


def random_pool(seed, queries=40):
    """Probabilities of drawing, weights, and costs."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(queries, 5.0))
    q = 0.9 * rng.dirichlet(np.full(queries, 3.0)) + 0.1 * weight
    return q, weight, rng.uniform(1, 10, queries)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_never_over_budget(costs, share, seed):
    cost, rng = np.array(costs), np.random.default_rng(seed)
    q = rng.dirichlet(np.full(len(cost), rng.choice([0.1, 1, 10])))
    q[1:][rng.random(len(cost) - 1) < 0.1] = 0
    q = q / q.sum() if q.sum() > 0 else np.full(len(cost), 1 / len(cost))
    dearest, total = cost[q > 0].max(), cost[q > 0].sum()
    budget = dearest + share * (total - dearest)
    sample = draw_to_budget(q, q, cost, budget, rng)
    assert cost[sample.rows].sum() <= budget * (1 + 1e-12)
    assert (q[sample.rows] > 0).all()
    assert sample.census == (budget >= total)


def test_the_importance_is_p_over_q_where_a_query_was_drawn():
    q, p, cost = random_pool(1)
    rng = np.random.default_rng(1)
    for sample in (draw_to_budget(q, p, cost, 80, rng), draw_number(q, p, 12, rng)):
        importance, drawn = sample.columns(p)["importance"], np.isin(np.arange(len(q)), sample.rows)
        np.testing.assert_allclose(sample.importance(p), p[drawn] / q[drawn])
        np.testing.assert_array_equal(importance[drawn], sample.importance(p))
        assert np.isnan(importance[~drawn]).all()
        assert not sample.census


@pytest.mark.parametrize("budget", [4.0, 6.5])
def test_draws_have_the_distribution_of_the_sequential_procedure(budget):
    outcome, chance = outcomes(Q, COST, budget)
    sample = next(races(Q, COST, [budget], 5_000, np.random.default_rng(int(10 * budget))))
    counts = np.zeros((5_000, 4), dtype=np.int64)
    np.put_along_axis(counts, sample.rows, sample.count, axis=1)
    assert np.isin(as_numbers(counts), as_numbers(outcome)).all()
    for classify in (lambda counts: as_numbers((counts > 0) * 1), lambda counts: counts.sum(axis=1), as_numbers):
        classes, place = np.unique(np.r_[classify(outcome), classify(counts)], return_inverse=True)
        wanted = len(counts) * np.bincount(place[: len(outcome)], weights=chance, minlength=len(classes))
        came = np.bincount(place[len(outcome) :], minlength=len(classes))
        rare = wanted < 5
        came, wanted = (np.r_[each[~rare], each[rare].sum()] for each in (came, wanted))
        came, wanted = came[wanted > 1e-3], wanted[wanted > 1e-3]
        assert stats.chi2.sf(((came - wanted) ** 2 / wanted).sum(), max(len(wanted) - 1, 1)) > 0.0027


@pytest.mark.parametrize("budget", [5.0, 7.0])
def test_keeping_the_draw_that_ends_the_sample_is_biased(budget):
    """By enumeration; without it the mean is unbiased: draws of a given number are exchangeable, the first is kept."""
    value = np.array([0.0, 0.2, 0.5, 1.0])

    def expected_mean(drop):
        counts, chance = outcomes(Q, COST, budget, drop)
        return chance @ (counts @ (P / Q * value) / counts.sum(axis=1))

    assert expected_mean(drop=True) == pytest.approx(P @ value, abs=1e-5)
    assert expected_mean(drop=False) > P @ value + 0.1


def test_improbable_queries_are_not_waited_for():
    q = np.array([0.5, 0.5 - 1e-30, 1e-30])
    sample = draw_to_budget(q, np.full(3, 1 / 3), np.ones(3), 2.0, np.random.default_rng(0))
    assert 2 not in sample.rows
    assert 200 < sample.draws < 400


def test_the_budget_is_kept_and_no_cheaper_sample_would_have_gone_on():
    q, _, cost = random_pool(4, queries=60)
    budgets, before = [3 * cost.max(), 5 * cost.max(), 0.9 * cost.sum()], np.zeros((200, 60))
    for budget, sample in zip(budgets, priorities(q, cost, budgets, 200, np.random.default_rng(2)), strict=True):
        drawn = np.zeros((200, 60))
        np.put_along_axis(drawn, sample.rows, sample.count, axis=1)
        spent = drawn @ cost
        assert (spent <= budget).all()
        assert (spent > budget - cost.max()).all()
        assert ((sample.expected > 0) & (sample.expected <= 1))[sample.count > 0].all()
        assert (before <= drawn).all()
        before = drawn


@pytest.mark.parametrize("budget", [3.0, 1e9])
def test_a_query_that_cannot_be_drawn_is_not_in_the_census(budget):
    q, weight = np.array([0.5, 0, 0.5]), np.array([0.3, 0, 0.7])
    sample = draw_to_budget(q, weight, np.array([1.0, 50.0, 2.0]), budget, np.random.default_rng(0))
    assert sample.census
    assert (sample.rows.tolist(), sample.count.tolist()) == ([0, 2], [1, 1])
    np.testing.assert_allclose(sample.columns(weight)["importance"], [0.6, np.nan, 1.4])


@pytest.mark.parametrize(
    ("q", "budget", "message"),
    [
        *((Q, each, f"budget must be a positive number, got {each:g}") for each in (0.0, -1.0, np.nan, np.inf)),
        (Q, 0.5, "budget 0.5 does not pay for the cheapest query, which costs 1"),
        (Q, 3.9, "budget 3.9 does not pay for the dearest query, which costs 4"),
        (Q[:0], 5, "there is no query to draw from"),
        (Q * 1.1, 5, "q must be probabilities that sum to 1; they sum to 1.1"),
        (Q * [5, -0.5, -0.5, -0.5], 5, "q must be probabilities"),
        (Q * [np.nan, 1, 1, 1], 5, "q must be probabilities"),
    ],
)
def test_what_is_refused(q, budget, message):
    with pytest.raises(ValueError, match=message):
        draw_to_budget(q, P, COST, budget, np.random.default_rng(0))
    if budget == 5:
        with pytest.raises(ValueError, match=message):
            draw_number(q, P, 5, np.random.default_rng(0))


@pytest.mark.parametrize("drawing", [races, priorities])
def test_each_sample_can_have_a_distribution_of_its_own(drawing):
    """Rows of q draw as each would for all samples; a query with q = 0 in one row is never drawn there."""
    rng = np.random.default_rng(0)
    q, cost = rng.dirichlet(np.ones(20), 2), np.ones(20)
    (mixed,) = drawing(q[[0, 1, 0]], cost, [9.0], 3, np.random.default_rng(3))
    for row, which in enumerate((0, 1, 0)):
        (alone,) = drawing(q[which], cost, [9.0], 3, np.random.default_rng(3))
        np.testing.assert_array_equal(mixed.rows[row], alone.rows[row])
        if drawing is priorities:
            np.testing.assert_array_equal(mixed.expected[row], alone.expected[row])
    partly = np.where(np.arange(20) < [[12], [20]], q, 0.0)
    (sample,) = drawing(partly / partly.sum(axis=1, keepdims=True), cost, [11.0], 2, rng)
    assert (sample.rows[0][sample.count[0] > 0] < 12).all()
    assert (sample.count > 0).sum(axis=1).tolist() == [11, 11]
