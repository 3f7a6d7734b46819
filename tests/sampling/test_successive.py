"""Documents that come one after the other: rates, order and probabilities, and estimates by integration over clocks."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.inference.documents import document_estimate
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.document_designs import MAX_PLANNED_PROBABILITY, RANGE_SHARE, document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.successive import (
    Succession,
    at,
    planned_threshold,
    priorities_of,
    succession_of,
)

SEEDS = st.integers(0, 2**32 - 1)
INDPTR = np.array([0, 2, 2, 4])
RATES = np.array([1.0, 0.3, 0.7, 1.6])
COST = np.array([1.0, 2.0, 1.0, 1.5])
PRICES = Costs(INDPTR, COST, 0.0)
NODES, WEIGHTS = np.polynomial.laguerre.laggauss(64)


def tiny_pool(measure: str, systems: int = 1) -> tuple[DocumentPool, np.ndarray, np.ndarray]:
    """Pool, true values and the means of a model that is wrong: queries of 2, 0 and 2 documents."""
    ranks = np.array([[1, 2, 2, 1], [2, 1, 1, 3]], dtype=np.int32)[:systems]
    form = rank_form(parse_measure(measure, 2), 2, 3)
    truth = form.values[[2, 0, 1, 2]]
    return DocumentPool(form, INDPTR, ranks, np.array([0.5, 0.2, 0.3])), truth, form.values[[0, 1, 1, 0]]


def design_with(rate: np.ndarray, prices: Costs = PRICES) -> DocumentDesign:
    opening, inclusion = np.ones(prices.queries), np.zeros(len(rate))
    return at(DocumentDesign("successive", np.arange(len(rate)), opening, inclusion, rate=rate), 1.0)


def threshold_density(rest: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The density of a sum of exponential variables with different rates: the time of the last of several arrivals."""
    others = [np.prod([b / (b - a) for b in rest if b != a]) for a in rest]
    return sum(part * a * np.exp(-a * time) for part, a in zip(others, rest, strict=True))


def every_draw(succession: Succession, budget: float):
    """Probability and sample of every order of the documents and every threshold, by quadrature over the threshold.

    ``P(order) = Π r/Σ r``, and the times between arrivals are exponential with the rates of all that are left.
    """
    rate = succession.design.rate
    for order in map(list, itertools.permutations(range(len(rate)))):
        own = rate[order]
        rest = np.cumsum(own[::-1])[::-1]
        priority = np.empty(len(rate))
        priority[order] = np.arange(len(rate)) + 1.0
        n = replace(succession, priority=priority).within(budget)
        time = NODES / rest[n]
        mass = WEIGHTS * np.exp(NODES) / rest[n] * threshold_density(rest[: n + 1], time)
        for t, m in zip(time, mass * np.prod(own / rest), strict=True):
            yield m, replace(succession, priority=t * (1 + (priority - 1 - n) / 100)).drawn_to(budget)


@pytest.mark.parametrize(("overhead", "budget", "systems"), [(0.0, 3.6, 1), (1.0, 5.6, 2)])
def test_estimates_are_unbiased_and_so_are_their_variances(overhead, budget, systems):
    """Exact: every order with its probability, and the threshold integrated out."""
    pool, truth, mean = tiny_pool("DCG@3", systems)
    contrast, prices = np.array([1.0, -1.0])[:systems], Costs(INDPTR, COST, overhead)
    succession = Succession(design_with(RATES, prices), np.full(4, np.inf), prices)
    mass, values, parts = [], [], []
    for m, sample in every_draw(succession, budget):
        assert sample.spent <= budget
        found = document_estimate(pool, sample, mean, np.where(sample.drawn, truth, mean), contrast)
        mass.append(m)
        values.append(found.value)
        parts.append(found.first + found.second)
    chance, value = np.array(mass), np.array(values)
    assert chance.sum() == pytest.approx(1, abs=1e-6)
    right = pool.weight @ pool.values(truth) @ contrast
    assert chance @ value == pytest.approx(right, abs=1e-5)
    # With two documents or more before the threshold, the estimated variance is unbiased too.
    assert chance @ np.array(parts) == pytest.approx(chance @ (value - right) ** 2, rel=1e-3)


def sizes_by_hand(pool, variables, cost):
    """The sizes of an additive measure for one ranker, from the formulas of the page on documents."""
    part = pool.weight[pool.query] * pool.gradients(variables.mean)[0]
    average = (part / pool.weight[pool.query]) ** 2 @ variables.variance / ((part / pool.weight[pool.query]) ** 2).sum()
    gain, reach = part**2 * (variables.variance + average), np.abs(part) * np.ptp(pool.form.values)
    a, b = np.sqrt(gain / cost), reach / np.sqrt(cost)
    return (1 - RANGE_SHARE) * a / a.sum() + RANGE_SHARE * b / b.sum()


def test_sizes_follow_variance_and_range(random_documents):
    pool, variables, _, cost = random_documents(3, "DCG@3", systems=1)
    sizes = document_sizes(pool, variables, cost, RoundSettings("successive"))
    np.testing.assert_allclose(sizes.size, sizes_by_hand(pool, variables, cost), atol=1e-15)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from([0.0, 1.5]), st.floats(0.1, 0.7))
def test_rates_lead_to_the_planned_chances(random_documents, seed, overhead, share):
    pool, variables, _, cost = random_documents(seed % 30, "DCG@3")
    prices = Costs(pool.indptr, cost, overhead)
    sizes = document_sizes(pool, variables, cost, RoundSettings("successive"))
    whole = cost[sizes.order].sum() + overhead * len(np.unique(pool.query[sizes.order]))
    design = document_design(sizes, "successive", prices, share * whole)
    chance = design.chance(pool.query)
    assert chance.max() <= MAX_PLANNED_PROBABILITY + 1e-12
    below = sizes.size[sizes.order] / chance[sizes.order]
    assert np.ptp(below[chance[sizes.order] < MAX_PLANNED_PROBABILITY - 1e-9]) <= 1e-9 * below.max()
    assert planned_threshold(design, prices, share * whole) == pytest.approx(1.0)
    everything = document_design(sizes, "successive", prices, whole)
    assert (everything.chance(pool.query)[sizes.order] == 1).all()


@settings(max_examples=12)
@given(SEEDS, st.sampled_from([0.0, 1.0]))
def test_samples_of_larger_budgets_begin_with_those_of_smaller_ones(random_documents, seed, overhead):
    """Whatever the budget, the prefix never overspends, and the next document would overspend."""
    pool, variables, _, cost = random_documents(seed % 30, "DCG@3")
    prices = Costs(pool.indptr, cost, overhead)
    sizes = document_sizes(pool, variables, cost, RoundSettings("successive"))
    design = document_design(sizes, "successive", prices, 15.0)
    clock = np.random.default_rng(seed).exponential(size=len(cost))
    all_of = Succession(design, priorities_of(design, clock), prices)
    np.testing.assert_allclose(all_of.priority[design.order], clock[design.order] / design.rate[design.order])
    before = np.zeros(len(cost), dtype=bool)
    for budget in (4.0, 9.0, 14.0, 1e9):
        sample = all_of.first(all_of.within(budget))
        assert sample.spent <= budget * (1 + 1e-9)
        assert (sample.drawn >= before).all()
        assert sample.spent == pytest.approx(prices.spent(sample.drawn).sum())
        if not sample.drawn[design.order].all():
            more = sample.drawn.copy()
            more[all_of.order[sample.drawn.sum()]] = True
            assert prices.spent(more).sum() > budget
        before = sample.drawn
        again = succession_of(sample, prices)
        assert again is not None
        np.testing.assert_array_equal(again.order, all_of.order)
        assert again.judged(sample.drawn) == sample.drawn.sum()
        if sample.drawn.any():
            gap = sample.drawn.copy()
            gap[again.order[0]] = False
            assert again.judged(gap) == 0
    assert before[design.order].all()
    dearest = cost[design.order].max() + overhead
    with pytest.raises(ValueError, match=f"does not pay for the dearest document, which costs {dearest:g}"):
        all_of.drawn_to(0.99 * dearest)
