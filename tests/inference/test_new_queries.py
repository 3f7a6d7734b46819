"""Error and degrees of freedom for queries like those of the pool [theory 16]."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.inference.new_queries import ByQuery, by_drawn_query, expected_spread, widened_by_queries
from pt_active.inference.reference import Tails
from pt_active.sampling.sample import Sample

P = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
CHANCE = np.array([0.5, 0.8, 0.9, 0.4, 0.7])
VALUES = np.array([0.1, 0.9, 0.4, 0.7, -0.2])
MODEL = np.array([0.2, 0.5, 0.5, 0.6, 0.1])


def equal(values, variance=0.0, group=None):
    """Queries of equal weight."""
    return ByQuery(np.full(len(values), 1 / len(values)), np.array(values), variance, group)


def all_samples():
    """Every sample of queries that are drawn independently, and its probability."""
    for each in product([False, True], repeat=len(P)):
        drawn = np.array(each)
        yield float(np.prod(np.where(drawn, CHANCE, 1 - CHANCE))), Sample.once(np.where(drawn, CHANCE, 0.0))


def all_draws():
    """Every sample of three draws with replacement, and its probability."""
    q = np.array([0.1, 0.2, 0.4, 0.05, 0.25])
    for each in product(range(len(P)), repeat=3):
        rows, count = np.unique(each, return_counts=True)
        yield float(np.prod(q[list(each)])), Sample(rows, count, 3 * q[rows], repeated=True, q=q)


@pytest.mark.parametrize("outcomes", [all_samples, all_draws])
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_values_of_queries_have_the_estimate_as_their_mean_and_are_unbiased(name, outcomes):
    value, variance, square = 0.0, 0.0, 0.0
    for chance, sample in outcomes():
        values = VALUES[sample.rows]
        mean = ESTIMATORS[name].estimate(sample, Controls(P, MODEL), values)
        by_query = by_drawn_query(sample, mean, P, MODEL, values)
        if len(sample.rows) > 1:
            assert by_query.weight @ by_query.value == pytest.approx(float(mean.value), rel=1e-9, abs=1e-12)
        value = value + chance * by_query.value
        square = square + chance * by_query.value**2
        variance += chance * by_query.variance
    if name in ("difference", "ht"):
        np.testing.assert_allclose(value, VALUES, rtol=1e-12)
        assert variance == pytest.approx(P**2 @ (square - VALUES**2), rel=1e-12)


@pytest.mark.parametrize("p", [np.full(3, 1 / 3), np.array([0.6, 0.3, 0.1])])
def test_the_spread_is_unbiased_over_all_pools(p):
    population = np.array([0.0, 1.0, 3.0, 3.5])
    pools = [np.array(each) for each in product(population, repeat=3)]
    mean = np.mean([ByQuery(p, pool, 0.0).spread for pool in pools])
    assert mean == pytest.approx((p @ p) * population.var(), rel=1e-12)


def test_only_queries_that_weigh_and_that_carry_the_spread_count():
    pool = ByQuery(np.array([0.5, 0.5, 0.0]), np.array([0.0, 1.0, 9.0]), 0.0)
    assert (pool.queries, pool.spread) == (2, pytest.approx(0.25))
    assert equal(np.random.default_rng(2).normal(size=400)).shown > 300
    assert equal(np.where(np.arange(400) < 2, 100.0, 0.0)).shown < 5


def test_only_the_error_of_sampling_has_the_tails_of_replays():
    pool = equal(np.arange(10.0))
    error, degrees, tails = widened_by_queries(1.0, 4.0, Tails(2.0, 3.0, 4.0), pool, 0.05)
    assert error == pytest.approx(np.sqrt(1 + pool.spread))
    assert 4 < degrees < 13
    assert tails[:2] == pytest.approx(np.sqrt((np.array([4, 9]) + pool.spread) / (1 + pool.spread)))
    assert widened_by_queries(1.0, 0.0, None, pool, 0.05).degrees == 0
    alike = equal(np.arange(10.0), 100.0)
    assert alike.spread == 0
    assert widened_by_queries(1.0, np.inf, None, alike, 0.05).degrees == alike.degrees  # a normal reference


@pytest.mark.parametrize("m", [5, 20])
def test_a_sampling_error_that_is_known_well_does_not_make_few_queries_many(m):
    """A quarter of the variance is that of sampling, known with 100 degrees of freedom."""
    rng, tries, held = np.random.default_rng(m), 700, 0
    for _ in range(tries):
        values = rng.normal(size=m) * np.sqrt(0.75 * m) + rng.normal(size=m) * np.sqrt(0.25 * m)
        variance = 0.25 * rng.chisquare(100) / 100
        error, degrees, _ = widened_by_queries(np.sqrt(variance), 100.0, None, equal(values, variance), 0.05)
        assert degrees <= m - 1
        held += abs(values.mean()) <= stats.t.ppf(0.975, degrees) * error
    assert held / tries > 0.95 - 3 * np.sqrt(0.95 * 0.05 / tries)


@pytest.mark.parametrize("p", [np.full(4, 0.25), np.array([0.7, 0.1, 0.1, 0.1])])
@pytest.mark.parametrize("group", [None, np.array([0, 1, 1, 2])])
def test_the_expected_spread_is_that_of_all_values_that_the_model_allows(p, group):
    means, noise = np.array([0.0, 0.4, 0.1, 0.3]), np.array([0.2, 0.5, 0.0, 0.3])
    spreads = [ByQuery(p, means + np.array(signs) * noise, 0.0, group).spread for signs in product([-1, 1], repeat=4)]
    assert expected_spread(ByQuery(p, means, 0.0, group), p**2 * noise**2) == pytest.approx(np.mean(spreads), rel=1e-12)


@pytest.mark.parametrize("value", [np.linspace(0, 1, 50), np.r_[-9, -8, np.linspace(-1, 1, 96), 8, 9]])
def test_how_far_means_lie_apart_is_the_half_width_of_a_t_test_with_the_degrees_that_the_terms_show(value):
    """What sampling adds is taken off, but at most half of it."""
    whole, m = equal(value), len(value)
    assert (whole.shown < 20) == (m == 100)
    half = stats.t.ppf(0.975, min(whole.shown, m - 1)) * stats.sem(value)
    for share, left in ((0, 1), (0.25, 0.75), (0.75, 0.5), (9, 0.5)):
        found = equal(value, share * np.var(value, ddof=1) / m).apart(0.05)
        assert found == pytest.approx(half * np.sqrt(left)), share


@pytest.mark.parametrize(
    ("by_query", "why"),
    [
        (equal(np.arange(29.0)), "few queries"),
        (ByQuery(np.r_[0.5, np.full(60, 0.5 / 60)], np.arange(61.0), 0.0), "one heavy query"),
        (equal(np.arange(60.0), group=np.arange(60) % 29), "few clusters"),
        (equal(np.ones(60)), "all equal"),
        (equal(np.ones(1)), "one query"),
    ],
)
def test_what_does_not_tell_how_far_is_infinitely_far_apart(by_query, why):
    assert by_query.apart(0.05) == np.inf, why


LAWS = {
    "normal": lambda rng, m: rng.normal(size=m),
    "of three grades": lambda rng, m: rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.6, 0.2], size=m),
    "exponential": lambda rng, m: rng.exponential(size=m) - 1,
    "lognormal": lambda rng, m: rng.lognormal(size=m) - np.exp(0.5),
    "few differ": lambda rng, m: (rng.random(m) < 0.1) * rng.choice([7.0, -1.0], p=[1 / 8, 7 / 8], size=m),
    "a third differs": lambda rng, m: (rng.random(m) < 1 / 3) * rng.choice([7.0, -1.0], p=[1 / 8, 7 / 8], size=m),
}
MISSES = [
    *((law, 40, share, 0.2, 1000) for law in list(LAWS)[:3] for share in (0.2, 1.0)),
    *((law, queries, 1.0, 0.05, 600) for law in list(LAWS)[3:] for queries in (30, 100)),
]


@pytest.mark.parametrize(("law", "m", "share", "alpha", "pools"), MISSES)
def test_means_lie_further_apart_than_is_said_as_seldom_as_it_says(law, m, share, alpha, pools):
    """Pools of queries of which a share is judged. Where few differ, b is slightly better in 7 of 8 of them."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(pools):
        value, seen = LAWS[law](rng, m), rng.random(m) < share
        variance = float(np.sum(seen * value**2 * (1 - share) / share**2) / m**2)
        missed += abs(value.mean()) > equal(seen * value / share, variance).apart(alpha)
    assert missed / pools <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / pools)


@pytest.mark.parametrize(
    ("value", "how", "differing"),
    [
        ([0.0, 0.0, 0.0, 1.0, 2.0], {}, 2),
        ([1.0, 1.0, 1.0, 0.0, 1.0], {}, 1),  # of one ranker
        ([1.0, 2.0, 3.0, 4.0, 5.0], {}, 5),
        ([0.1 + 0.2, 0.3, 0.3, 1.0, 1.0], {}, 2),
        ([0.0, 0.0, 1e-17, 1.0, 2.0], {}, 2),
        ([0.0, 0.0, 1.0, 2.0, 3.0], {"labelled": np.array([0.0, 0.0, 1.0, np.nan, np.nan])}, 1),
        ([0.0, 0.0, 1.0, -1.0, 2.0], {"group": np.array([0, 1, 2, 2, 3])}, 1),
    ],
)
def test_queries_that_differ_are_counted(value, how, differing):
    assert ByQuery(np.full(5, 0.2), np.array(value), 0.0, **how).differing == differing


@pytest.mark.parametrize("sign", [1, -1])
def test_the_end_of_the_long_tail_is_further_by_twice_johnsons_correction(sign):
    value = sign * np.r_[np.zeros(48), 8.0, 9.0]
    degrees, skewness = equal(value).shown, stats.skew(value) / np.sqrt(50)
    t = stats.t.ppf(0.975, degrees)
    far = 1 + 2 * abs(skewness) * (1 + 2 * t**2) / (6 * t)
    _, found, tails = widened_by_queries(0.0, np.inf, None, equal(value), 0.05)
    assert (tails.low, tails.high) == pytest.approx((1.0, far)[::sign])
    assert (found, tails.degrees) == pytest.approx((degrees, degrees))
