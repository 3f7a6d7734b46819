"""Both laws of draws without replacement, by enumeration of all orders and by integration over the threshold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, pairwise, permutations

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.sampling.chances import EXPONENTIAL, UNIFORM, Law
from pt_active.sampling.draws import draw_number, draw_priorities, draw_to_budget, prefixes
from pt_active.sampling.sample import Sample

Q = np.array([0.4, 0.3, 0.2, 0.1])
COST = np.array([2.0, 1.0, 1.5, 1.2])
P = np.array([0.1, 0.4, 0.3, 0.2])
VALUE = np.array([1.0, -2.0, 0.7, 3.0])

LAWS = {"exponential": EXPONENTIAL, "uniform": UNIFORM}


def test_the_next_unit_has_its_share_of_what_is_left() -> None:
    """All 24 orders of four units: each step has the probability q, divided by the sum of q over the rest."""
    orders = list(permutations(range(4)))
    chance = [np.prod([Q[x] / Q[list(order[i:])].sum() for i, x in enumerate(order)]) for order in orders]
    assert sum(chance) == pytest.approx(1, rel=1e-12)
    came = np.argsort(draw_priorities(Q, 12_000, np.random.default_rng(1)), axis=1) @ 4 ** np.arange(4)
    count = [(came == np.array(order) @ 4 ** np.arange(4)).sum() for order in orders]
    assert stats.chisquare(count, 12_000 * np.array(chance)).pvalue > 0.0027


def test_inclusion_is_the_chance_of_a_clock_before_the_threshold() -> None:
    rate = np.array([1e-9, 0.1, 1.0, 3.0, np.inf])
    np.testing.assert_allclose(EXPONENTIAL.inclusion(rate), stats.expon.cdf(rate), rtol=1e-12)
    np.testing.assert_allclose(UNIFORM.inclusion(rate), stats.uniform.cdf(rate), rtol=1e-12)
    for law, name in ((EXPONENTIAL, "expon"), (UNIFORM, "uniform")):
        clocks = law.clocks(np.random.default_rng(3), (2, 5000))
        assert clocks.shape == (2, 5000)
        assert stats.kstest(clocks.ravel(), name).pvalue > 0.0027


def outcomes(law: Law, budget: float) -> Iterator[tuple[Sample, np.ndarray]]:
    """All samples that do not judge everything, at nodes of the threshold T, and the probabilities of the nodes.

    Units of a set come before T, one comes at T, and the others after it.
    """
    edges = np.linspace(0, 60, 61) / Q.min() if law is EXPONENTIAL else np.r_[0, np.sort(1 / Q)]
    nodes, shares = np.polynomial.legendre.leggauss(24)
    t = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in pairwise(edges)])
    width = np.concatenate([(b - a) / 2 * shares for a, b in pairwise(edges)])
    clock = stats.expon if law is EXPONENTIAL else stats.uniform
    for inside in chain.from_iterable(combinations(range(4), n) for n in range(4)):
        for at in set(range(4)) - set(inside):
            if not COST[list(inside)].sum() <= budget < COST[[*inside, at]].sum():
                continue
            after = [x for x in range(4) if x not in (*inside, at)]
            chance = width * Q[at] * clock.pdf(Q[at] * t)
            chance = chance * np.prod([clock.cdf(Q[x] * t) for x in inside], axis=0)
            chance = chance * np.prod([1 - clock.cdf(Q[x] * t) for x in after], axis=0)
            priority = np.repeat(2 * t[:, None], 4, axis=1)
            priority[:, list(inside)], priority[:, at] = t[:, None] / 2, t
            sample = next(prefixes(priority, Q, COST, [budget], law))
            assert (np.sort(np.where(sample.count > 0, sample.rows, 9), axis=1)[:, : len(inside)] == inside).all()
            yield sample, chance


@pytest.mark.parametrize("budget", [2.0, 3.3, 3.6, 4.6])
@pytest.mark.parametrize("law", LAWS)
def test_the_estimate_and_its_variance_are_exactly_unbiased(law: str, budget: float) -> None:
    """The mean of the estimate is the truth; that of the variance is its variance if the budget pays for any two."""
    total, controls, moments = 0.0, Controls(P, np.zeros(4)), np.zeros(3)
    for sample, chance in outcomes(LAWS[law], budget):
        estimate = ESTIMATORS["ht"].estimate(sample, controls, sample.of(VALUE))
        inverse = np.where(sample.count > 0, (P * VALUE)[sample.rows] / sample.expected, 0.0)
        np.testing.assert_allclose(estimate.value, inverse.sum(axis=1), rtol=1e-12, atol=1e-12)
        variance = ((1 - sample.expected) * inverse**2).sum(axis=1)
        if sample.count.sum(axis=1).min() > 1:
            np.testing.assert_allclose(estimate.standard_error**2, variance, rtol=1e-9, atol=1e-12)
        total += chance.sum()
        moments += [chance @ estimate.value, chance @ estimate.value**2, chance @ variance]
    assert total == pytest.approx(1, rel=1e-9)
    assert moments[0] == pytest.approx(P @ VALUE, rel=1e-8)
    if budget >= np.sort(COST)[-2:].sum():
        assert moments[2] == pytest.approx(moments[1] - moments[0] ** 2, rel=1e-7)


def test_given_clocks_decide_in_place_of_the_generator() -> None:
    clock = np.array([1.0, 0.2, 0.9, 0.1])
    priority = clock / Q
    for seed in range(3):
        rng = np.random.default_rng(seed)
        for sample in (
            draw_number(Q, P, 2, rng, replace=False, clock=clock),
            draw_to_budget(Q, P, COST, 2.3, rng, False, clock),
        ):
            assert sample.rows.tolist() == [1, 3]
            np.testing.assert_array_equal(sample.priority, priority)
            np.testing.assert_allclose(sample.expected, 1 - np.exp(-Q[[1, 3]] * 2.5), rtol=1e-12)
