"""Boundaries against tables, brute force and simulation; prefixes of a drawing order as a Brownian motion."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import (
    Goal,
    Looks,
    Seen,
    cost_of_one_look,
    cost_to_resolve,
    half_widths,
    obrien_fleming,
    prospect,
    spending_boundary,
)

WINNER = Goal.of(None)


def test_boundaries_are_those_of_the_tables():
    """Reboussin, DeMets, Kim and Lan 2000; Jennison and Turnbull 2000."""
    table = [4.877, 3.357, 2.680, 2.290, 2.031]
    np.testing.assert_allclose(spending_boundary(np.arange(1, 6) / 5, np.arange(1, 6) / 5, 0.05), table, atol=6e-4)


def test_each_of_many_looks_spends_what_it_may():
    """8,000 random walks with 500 looks: finds a total error of 0.05 that is off by 0.008."""
    walks, time = 8_000, np.arange(1, 501) / 500
    steps = np.random.default_rng(11).normal(0, 500**-0.5, (500, walks))
    edge = spending_boundary(time, time, 0.05) * time**0.5
    crossed = np.logical_or.accumulate(np.abs(steps.cumsum(axis=0)) > edge[:, None])
    for look in range(99, 500, 100):
        spent = float(obrien_fleming(time[look], 0.05))
        tolerance = 3 * np.sqrt(spent * (1 - spent) / walks) + 1e-9
        assert crossed[look].mean() == pytest.approx(spent, abs=tolerance)


@pytest.mark.parametrize(
    ("spent", "time", "alpha", "message"),
    [
        ([0.5, 1], [1, 2], 1.0, "must lie between 0 and 1"),
        ([0.5, 0.5], [1, 2], 0.05, "spent must be increasing"),
        ([0.5, 1], [2], 0.05, "one a look"),
        *(([0.5, 1], time, 0.05, "time must be increasing") for time in ([2, 1], [2, np.inf])),
        ([0.5, 1.5], [1, 2], 0.05, "must not pass 1"),
    ],
)
def test_bad_looks_are_refused(spent, time, alpha, message):
    with pytest.raises(ValueError, match=message):
        spending_boundary(spent, time, alpha)


def test_widths_are_t_quantiles_of_the_same_tail():
    error = np.array([2.0, 2.0, 2.0, np.nan, 2.0])
    found = half_widths(np.full(5, 3.0), error, np.array([7.0, np.inf, 0.0, 5.0, -1.0]))
    expected = 2 * stats.t.isf(stats.norm.sf(3.0), 7)
    assert found == pytest.approx([expected, 6.0, np.inf, np.inf, np.inf])


def test_verdicts():
    value, half = np.array([0.5, -0.5, 0.05, 0.5, 0.0, np.nan]), np.array([0.4, 0.4, 0.1, 0.6, 0.0, np.inf])
    for goal, expected in (
        (Goal.of(0.2), ["first", "second", "within", "", "within", ""]),
        (WINNER, ["first", "second", "", "", "within", ""]),
        (Goal.of(0.4, compared=False), ["within", "within", "within", "", "within", ""]),
        (Goal.of(0.2).moved(0.05), ["first", "second", "within", "", "within", ""]),
        (Goal.of(0.2).moved(0.16), ["", "", "", "", "within", ""]),
        (Goal.of(0.4, compared=False).moved(0.1), ["", "", "within", "", "within", ""]),
    ):
        found = goal.verdicts(value - half, value + half)
        assert [",".join(name for name, so in found.items() if so[look]) for look in range(6)] == expected
    assert (Goal.of(0.2).room(0.05), Goal.of(0.2).room(-0.3)) == pytest.approx((0.15, 0.3))


def one_look(value, error):
    return Looks(*(np.array([x]) for x in (10.0, 0.5, value, error, np.inf, 3.0, 0.0)))


def to_come(cost, information, critical):
    nothing = np.full(len(cost), np.nan)
    return Looks(np.array(cost), np.array(information), *[nothing] * 3, np.array(critical), np.zeros(len(cost)))


def test_one_look_ahead_is_predictive_power():
    """Given θ̂ now, θ̂ at twice the information is N(θ̂, V/2) [Spiegelhalter et al. 1986]."""
    coming = to_come([20.0], [1.0], [1.96])
    edge, spread = 1.96 * 0.4 / np.sqrt(2), 0.4 / np.sqrt(2)
    for value in (0.0, 0.3, 0.8):
        chance, cost = prospect(one_look(value, 0.4), coming, WINNER)
        exact = stats.norm.sf(edge, value, spread) + stats.norm.cdf(-edge, value, spread)
        assert chance == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / 4000))
        assert cost == 20.0


def test_a_census_always_resolves_a_difference():
    coming = to_come([20.0, 40.0], [1.0, np.inf], [3.0, np.inf])
    chance, cost = prospect(one_look(0.1, 0.4), coming, WINNER)
    assert chance == 1.0
    assert 20.0 < cost < 40.0
    # By hand: at a cost of 20, 3 SE and the quantile of 0.8 are 3.842 · 0.4 / √2 = 1.087.
    found = [cost_to_resolve(one_look(value, 0.4), coming, WINNER) for value in (0.1, 1.08, 1.09)]
    assert found == [40.0, 40.0, 20.0]
    assert prospect(one_look(0.1, 0.4), coming.part(np.s_[:0]), WINNER) == (0.0, 10.0)
    assert np.isnan(cost_to_resolve(one_look(0.1, 0.4), coming.part(np.s_[:1]), WINNER))


def test_one_look_at_a_larger_sample_finds_the_estimate_with_the_power():
    """Variances go with ``1/Λ − 1/Λ_all`` here; and floors do not fall."""
    unit, now = np.ones(1000), Seen(0.5, 0.4, 0.8)

    def cost(goal=WINNER, **changed):
        return cost_of_one_look(
            ErrorCurve(unit, unit, unit, unit, np.arange(1000)), 100.0, now._replace(**changed), goal
        )

    def fallen(cost):
        return np.sqrt((1000 / cost - 1) / (1000 / 100 - 1))

    assert stats.norm.cdf(0.5 / (0.4 * fallen(cost())) - 2) == pytest.approx(0.8, abs=1e-3)
    assert cost(value=-0.5) == cost() < cost(floor=0.1)
    assert np.isnan([cost(floor=0.3), cost_of_one_look(None, 100.0, now, WINNER)]).all()
    # Whether a difference lies within a margin, and how well one ranker is known.
    assert cost(Goal.of(0.6), value=0.1) == pytest.approx(cost(), rel=1e-3)
    assert 0.8 * fallen(cost(Goal.of(0.4, compared=False))) == pytest.approx(0.4, rel=1e-3)


def test_degrees_of_freedom_grow_with_the_cost():
    """At a cost of 10 there are 3 degrees of freedom, so 6 at a cost of 20: by hand, just inside and just outside."""
    coming = to_come([20.0], [1.0], [1.96])
    half = 0.4 / np.sqrt(2) * (stats.t.isf(stats.norm.sf(1.96), 6) + stats.norm.ppf(0.8))
    for times, cost in ((0.999, np.nan), (1.001, 20.0)):
        now = replace(one_look(times * half, 0.4), degrees=np.array([3.0]))
        assert cost_to_resolve(now, coming, WINNER) == pytest.approx(cost, nan_ok=True)
