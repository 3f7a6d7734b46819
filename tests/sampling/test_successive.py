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
from pt_active.sampling.drawings import DrawingSettings
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.successive import Succession, at, planned_threshold, priorities_of, succession_of

SEEDS = st.integers(0, 2**32 - 1)
INDPTR = np.array([0, 2, 2, 4])
RATES = np.array([1.0, 0.3, 0.7, 1.6])
COST = np.array([1.0, 2.0, 1.0, 1.5])
NODES, WEIGHTS = np.polynomial.laguerre.laggauss(64)


def tiny_pool(systems: int) -> tuple[DocumentPool, np.ndarray, np.ndarray]:
    """Pool, true values and the means of a model that is wrong: queries of 2, 0 and 2 documents."""
    ranks = np.array([[1, 2, 2, 1], [2, 1, 1, 3]], dtype=np.int32)[:systems]
    form = rank_form(parse_measure("DCG@3"), 2, 3)
    truth, mean = form.values[[[2, 0, 1, 2], [0, 1, 1, 0]]]
    return DocumentPool(form, INDPTR, ranks, np.array([0.5, 0.2, 0.3])), truth, mean


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
    pool, truth, mean = tiny_pool(systems)
    contrast, prices = np.array([1.0, -1.0])[:systems], Costs(INDPTR, COST, overhead)
    design = at(DocumentDesign("successive", np.arange(4), np.ones(3), np.zeros(4), rate=RATES), 1.0)
    mass, values, parts = [], [], []
    for m, sample in every_draw(Succession(design, np.full(4, np.inf), prices), budget):
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


def test_sizes_follow_variance_and_range(random_documents):
    """Of an additive measure for one ranker, by the formulas of the page on documents."""
    pool, variables, _, cost = random_documents(3, "DCG@3", systems=1)
    gradient = pool.gradients(variables.mean)[0]
    part = pool.weight[pool.query] * gradient
    average = gradient**2 @ variables.variance / (gradient**2).sum()
    by_model = np.sqrt(part**2 * (variables.variance + average) / cost)
    by_range = np.abs(part) * np.ptp(pool.form.values) / np.sqrt(cost)
    sizes = document_sizes(pool, variables, cost, DrawingSettings("successive"))
    shares = (1 - RANGE_SHARE) * by_model / by_model.sum() + RANGE_SHARE * by_range / by_range.sum()
    np.testing.assert_allclose(sizes.size, shares, atol=1e-15)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from([0.0, 1.5]), st.floats(0.1, 0.7))
def test_rates_lead_to_the_planned_chances(random_documents, seed, overhead, share):
    pool, variables, _, cost = random_documents(seed % 30, "DCG@3")
    prices = Costs(pool.indptr, cost, overhead)
    sizes = document_sizes(pool, variables, cost, DrawingSettings("successive"))
    whole = cost[sizes.order].sum() + overhead * len(np.unique(pool.query[sizes.order]))
    design = document_design(sizes, "successive", prices, share * whole)
    chance = design.chance(pool.query)
    assert chance.max() <= MAX_PLANNED_PROBABILITY + 1e-12
    below = sizes.size[sizes.order] / chance[sizes.order]
    assert np.ptp(below[chance[sizes.order] < MAX_PLANNED_PROBABILITY - 1e-9]) <= 1e-9 * below.max()
    assert planned_threshold(design, prices, share * whole) == pytest.approx(1.0)
    everything = document_design(sizes, "successive", prices, whole)
    assert (everything.chance(pool.query)[sizes.order] == 1).all()


@pytest.mark.parametrize("drawing", ["successive", "surprises"])
def test_documents_come_before_a_threshold_with_the_chance_of_the_design(drawing):
    """``1 − exp(−r T)``, or ``min(1, r T)``; to 4 standard errors."""
    number = 20_000
    rate = np.resize(RATES, number)
    design = DocumentDesign(drawing, np.arange(number), np.ones(1), np.zeros(number), rate=rate)
    priority = priorities_of(design, np.random.default_rng(6).exponential(size=number))
    share = (priority < 0.7).reshape(-1, 4).mean(axis=0)
    expected = 1 - np.exp(-0.7 * RATES) if drawing == "successive" else np.minimum(0.7 * RATES, 1)
    np.testing.assert_allclose(at(design, 0.7).inclusion[:4], expected, rtol=1e-12)
    assert (abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / 5000)).all()


@settings(max_examples=12)
@given(SEEDS, st.sampled_from([0.0, 1.0]))
def test_samples_of_larger_budgets_begin_with_those_of_smaller_ones(random_documents, seed, overhead):
    """Whatever the budget, the prefix never overspends, and the next document would overspend."""
    pool, variables, _, cost = random_documents(seed % 30, "DCG@3")
    prices = Costs(pool.indptr, cost, overhead)
    sizes = document_sizes(pool, variables, cost, DrawingSettings("successive"))
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
        before = sample.drawn
        if not before[design.order].all():
            more = before | (np.arange(len(cost)) == all_of.order[before.sum()])
            assert prices.spent(more).sum() > budget
        again = succession_of(sample, prices)
        np.testing.assert_array_equal(again.order, all_of.order)
        assert again.judged(before) == before.sum()
        assert again.judged(before & (np.arange(len(cost)) != again.order[0])) == 0
    assert before[design.order].all()
    dearest = cost[design.order].max() + overhead
    with pytest.raises(ValueError, match=f"does not pay for the dearest document, which costs {dearest:g}"):
        all_of.drawn_to(0.99 * dearest)
