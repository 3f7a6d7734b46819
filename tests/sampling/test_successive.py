"""Documents that come one after the other: rates, order and probabilities, and estimates by integration over clocks."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pt_active.inference.documents import document_estimate
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.relevance.moments import discounts
from pt_active.sampling.document_designs import RANGE_SHARE, document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.successive import (
    MAX_PLANNED_PROBABILITY,
    Succession,
    at,
    planned_threshold,
    priorities_of,
    succession_of,
)
from pt_active.sampling.two_phase import draw_documents

SEEDS = st.integers(0, 2**32 - 1)
INDPTR = np.array([0, 2, 2, 5])
RATES = np.array([1.0, 0.3, 0.7, 1.6, 0.45])
COST = np.array([1.0, 2.0, 1.0, 1.5, 2.0])
PRICES = Costs(INDPTR, COST, 0.0)
NODES, WEIGHTS = np.polynomial.laguerre.laggauss(32)


def tiny_pool(measure: str, systems: int = 1) -> tuple[DocumentPool, np.ndarray, np.ndarray]:
    """Pool, true values and the means of a model that is wrong: queries of 2, 0 and 3 documents."""
    ranks = np.array([[1, 2, 2, 1, 3], [2, 1, 1, 3, 2]], dtype=np.int32)[:systems]
    form = rank_form(parse_measure(measure, 2), 2, 3)
    truth = form.values[[2, 0, 1, 2, 0]]
    return DocumentPool(form, INDPTR, ranks, np.array([0.5, 0.2, 0.3])), truth, form.values[[0, 1, 1, 0, 2]]


def design_with(rate: np.ndarray, unit: str, order: np.ndarray | None = None, prices: Costs = PRICES) -> DocumentDesign:
    order = np.arange(len(rate)) if order is None else order
    nothing = np.zeros(prices.queries), np.zeros(len(rate))
    return at(DocumentDesign("successive", order, *nothing, unit=unit, rate=rate), prices, 1.0)


def threshold_density(rest: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The density of a sum of exponential variables with different rates: the time of the last of several arrivals."""
    others = [np.prod([b / (b - a) for b in rest if b != a]) for a in rest]
    return sum(part * a * np.exp(-a * time) for part, a in zip(others, rest, strict=True))


def every_draw(succession: Succession, units: list[np.ndarray], budget: float):
    """Probability and sample of every order of the units and every threshold, by quadrature over the threshold.

    ``P(order) = Π r/Σ r``, and the times between arrivals are exponential with the rates of all that are left.
    """
    rate = succession.design.rate
    for order in itertools.permutations(range(len(units))):
        own = np.array([rate[units[u][0]] for u in order])
        rest = np.cumsum(own[::-1])[::-1]
        priority = np.full(len(rate), np.inf)
        for place, u in enumerate(order):
            priority[units[u]] = place + 1.0
        trial = replace(succession, priority=priority)
        came = int(sum(len(units[u]) for u in order[: trial.design.order.size]) and trial.within(budget))
        n = int(np.searchsorted(np.cumsum([len(units[u]) for u in order]), came, side="right"))
        time = NODES / rest[n]
        mass = WEIGHTS * np.exp(NODES) / rest[n] * threshold_density(rest[: n + 1], time)
        for t, m in zip(time, mass * np.prod(own / rest), strict=True):
            for place, u in enumerate(order):
                priority[units[u]] = t * (1 + (place - n) / 100)
            yield m, replace(trial, priority=priority.copy()).drawn_to(budget)


@pytest.mark.parametrize(("unit", "overhead", "budget"), [("document", 0.0, 4.6), ("query", 1.0, 5.9)])
@pytest.mark.parametrize("systems", [1, 2])
def test_estimates_are_unbiased_and_so_are_their_variances(unit, overhead, budget, systems):
    """Exact: every order with its probability, and the threshold integrated out."""
    pool, truth, mean = tiny_pool("DCG@3", systems)
    contrast = np.array([1.0, -1.0])[:systems]
    rate, indptr, cost = RATES, INDPTR, COST
    units = [np.array([z]) for z in range(5)]
    if unit == "query":
        indptr, rate = np.array([0, 2, 3, 5]), np.array([1.0, 1.0, 0.4, 0.7, 0.7])
        pool, cost = replace(pool, indptr=indptr), np.array([1.0, 1.5, 2.0, 0.5, 1.0])
        units = [np.arange(0, 2), np.arange(2, 3), np.arange(3, 5)]
    prices = Costs(indptr, cost, overhead)
    succession = Succession(design_with(rate, unit, prices=prices), np.full(5, np.inf), prices)
    mass, values, parts = [], [], []
    for m, sample in every_draw(succession, units, budget):
        assert sample.spent <= budget
        found = document_estimate(pool, sample, mean, np.where(sample.drawn, truth, mean), contrast)
        mass.append(m)
        values.append(found.value)
        parts.append(found.first + found.second)
    chance, value = np.array(mass), np.array(values)
    assert chance.sum() == pytest.approx(1, abs=1e-6)
    right = pool.weight @ pool.values(truth) @ contrast
    assert chance @ value == pytest.approx(right, abs=1e-5)
    if unit == "document":
        # With two units or more before the threshold, the estimated variance is unbiased too.
        assert chance @ np.array(parts) == pytest.approx(chance @ (value - right) ** 2, rel=1e-3)


@pytest.mark.parametrize("measure", ["ERR(max_rel=2)@3", "DCG@3"])
def test_estimates_of_steps_are_unbiased(measure):
    """Every set of steps that come before T, each with ``1 − exp(−r T)``; the deepest brings those above it."""
    pool, truth, mean = tiny_pool(measure)
    order, time = np.array([0, 1, 3, 2, 4]), 0.8
    rate = np.array([1.0, 0.25, 0.7, 1.7, 0.7])
    own = np.array([0.75, 0.25, 1.0, 0.0, 0.7])
    design = design_with(rate, "step", order)
    total = squares = variance = mass = 0.0
    for came in itertools.product([True, False], [True, False], [True, False], [False], [True, False]):
        chance = np.prod(np.where(came, -np.expm1(-own * time), np.exp(-own * time)))
        clock = np.empty(5)
        clock[order] = np.where(own > 0, np.where(came, 0.5, 2.0) * time * own, 1.0)
        succession = Succession(design, priorities_of(design, PRICES, clock), PRICES)
        sample = succession.sample(time)
        for first, last in ((0, 2), (2, 5)):
            below = [any(came[i:last]) for i in range(first, last)]
            np.testing.assert_array_equal(sample.drawn[order[first:last]], below)
        found = document_estimate(pool, sample, mean, np.where(sample.drawn, truth, mean), np.ones(1))
        mass, total = mass + chance, total + chance * found.value
        squares, variance = squares + chance * found.value**2, variance + chance * found.second
    assert mass == pytest.approx(1)
    assert total == pytest.approx(float(pool.weight @ pool.values(truth)[:, 0]), abs=1e-12)
    assert variance == pytest.approx(squares - total**2, abs=1e-12)


def first_steps(own: np.ndarray, queries: list[np.ndarray], fixed: float):
    """Probability, threshold and times of all outcomes of two queries: which steps come before the threshold.

    It is fixed, or it is when the second query opens if that is later, which is integrated out.
    """
    early, late = 0.5 + np.arange(len(own)) / 100, 2.0 + np.arange(len(own))

    def before(steps: np.ndarray, threshold: float):
        for came in itertools.product([True, False], repeat=len(steps)):
            if any(came):
                rate = own[steps] * threshold
                yield (
                    np.prod(np.where(came, -np.expm1(-rate), np.exp(-rate))),
                    np.where(came, early[steps], late[steps]),
                )

    for (one, times), (other, rest) in itertools.product(*(before(steps, fixed) for steps in queries)):
        yield one * other, fixed, fixed * np.r_[times, rest]
    for place, steps in enumerate(queries):
        rate = own[queries[1 - place]].sum()
        for node, mass in zip(NODES, WEIGHTS * np.exp(-rate * fixed), strict=True):
            threshold = fixed + node / rate
            for chance, times in before(steps, threshold):
                found = np.full(len(own), np.inf)
                found[steps], found[queries[1 - place][0]] = threshold * times, threshold
                yield mass * chance, threshold, found


@pytest.mark.parametrize(("budget", "systems"), [(3.0, 1), (3.6, 2)])
def test_steps_are_drawn_at_any_budget_and_estimates_stay_unbiased(budget, systems):
    """Exact for all outcomes; samples that are cut because they overspend count as they were before the cut."""
    pool, truth, mean = tiny_pool("ERR(max_rel=2)@3", systems)
    contrast, cost, order = np.array([1.0, -1.0])[:systems], np.ones(5), np.array([0, 1, 3, 2, 4])
    design = design_with(np.array([1.0, 0.25, 0.7, 1.3, 0.4]), "step", order)
    own = np.array([0.75, 0.25, 0.6, 0.3, 0.4])
    fixed = planned_threshold(design, Costs(INDPTR, cost, 0.0), budget)
    mass = value = 0.0
    for chance, threshold, times in first_steps(own, [np.arange(2), np.arange(2, 5)], fixed):
        clock = np.empty(5)
        clock[order] = times * own
        succession = Succession(design, priorities_of(design, PRICES, clock), Costs(INDPTR, cost, 0.0))
        sample, whole = succession.drawn_to(budget), succession.sample(threshold * (1 - 1e-12))
        assert sample.drawn.any()
        assert sample.spent <= budget
        if whole.spent <= budget:
            np.testing.assert_array_equal(sample.drawn, whole.drawn)
            np.testing.assert_allclose(sample.design.inclusion, whole.design.inclusion, rtol=1e-9)
        found = document_estimate(pool, whole, mean, np.where(whole.drawn, truth, mean), contrast)
        mass, value = mass + chance, value + chance * found.value
    assert mass == pytest.approx(1, abs=1e-6)
    assert value == pytest.approx(float(pool.weight @ pool.values(truth) @ contrast), abs=1e-5)


def sizes_by_hand(pool, variables, cost, overhead):
    """The sizes of an additive measure for one ranker, from the formulas of the page on documents."""
    part = pool.weight[pool.query] * pool.gradients(variables.mean)[0]
    average = (part / pool.weight[pool.query]) ** 2 @ variables.variance / ((part / pool.weight[pool.query]) ** 2).sum()
    gain, reach = part**2 * (variables.variance + average), np.abs(part) * np.ptp(pool.form.values)
    if overhead:
        whole = np.array([cost[(pool.query == x) & (gain > 0)].sum() + overhead for x in range(len(pool.weight))])[
            pool.query
        ]
        gain = np.array([gain[pool.query == x].sum() for x in pool.query]) * (gain > 0)
        a, b = np.sqrt(gain / whole), np.array([reach[pool.query == x].sum() for x in pool.query]) / np.sqrt(whole)
        b = b * (gain > 0)
    else:
        a, b = np.sqrt(gain / cost), reach / np.sqrt(cost)
    return (1 - RANGE_SHARE) * a / a.sum() + RANGE_SHARE * b / b.sum()


@pytest.mark.parametrize("overhead", [0.0, 2.0])
def test_sizes_follow_variance_and_range(random_documents, overhead):
    pool, variables, _, cost = random_documents(3, "DCG@3", systems=1)
    sizes = document_sizes(pool, variables, cost, overhead, RoundSettings("successive"))
    np.testing.assert_allclose(sizes.size, sizes_by_hand(pool, variables, cost, overhead), atol=1e-15)
    assert sizes.unit == ("query" if overhead else "document")


def falling(sizes: np.ndarray) -> np.ndarray:
    """Sizes of the steps of a query that fall by a quarter at least, or not at all."""
    found = [sizes[-1]]
    for size in sizes[-2::-1]:
        found.append(size if size >= 1.25 * found[-1] else found[-1])
    return np.array(found[::-1])


@pytest.mark.parametrize("overhead", [0.0, 2.0])
def test_sizes_of_steps_mix_those_of_depth_with_those_for_the_range_and_fall_in_strides(random_documents, overhead):
    pool, variables, _, cost = random_documents(4, "ERR(max_rel=2)@4")
    found = document_sizes(pool, variables, cost, overhead, RoundSettings("successive"))
    depth = document_sizes(pool, variables, cost, overhead, RoundSettings("depth"))
    np.testing.assert_array_equal(found.order, depth.order)
    order, query = found.order, pool.query[found.order]
    assert found.unit == "step"
    weight = (discounts(pool.form, pool.ranks).max(axis=0) * pool.weight[pool.query])[order]
    ranges = np.zeros(len(order))
    for x in np.unique(query):
        here = query == x
        reach = np.maximum.accumulate(weight[here][::-1])[::-1]
        ranges[here] = least_ranges(
            -np.diff(reach, append=0.0), cost[order][here] + overhead * (np.arange(here.sum()) == 0)
        )
    mixed = 0.1 * depth.size[order] / depth.size.sum() + 0.9 * ranges / ranges.sum()
    expected = np.concatenate([falling(mixed[query == x]) for x in np.unique(query)])
    np.testing.assert_allclose(found.size[order], expected / expected.sum(), rtol=1e-4)
    own = -np.diff(found.size[order])[query[1:] == query[:-1]]
    assert ((own == 0) | (own > 0.1 * found.size[order][:-1][query[1:] == query[:-1]])).all()


def least_ranges(gain: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Sizes h of steps that never rise, of which ``Σ e/h`` is 1 and ``Σ h λ`` least."""

    def spent(logs: np.ndarray) -> float:
        size = np.cumsum(np.exp(logs)[::-1])[::-1]
        return float((gain / size).sum() * (size @ cost))

    precise = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 20_000, "maxfev": 20_000}
    rough = optimize.minimize(spent, np.zeros(len(gain)), method="BFGS")
    best = optimize.minimize(spent, rough.x, method="Nelder-Mead", options=precise)
    size = np.cumsum(np.exp(best.x)[::-1])[::-1]
    return size * (gain / size).sum()


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(["DCG@3", "ERR(max_rel=2)"]), st.sampled_from([0.0, 1.5]), st.floats(0.1, 0.7))
def test_the_design_is_expected_to_spend_its_budget(random_documents, seed, measure, overhead, share):
    pool, variables, _, cost = random_documents(seed % 30, measure)
    sizes = document_sizes(pool, variables, cost, overhead, RoundSettings("successive"))
    opened = len(np.unique(pool.query[sizes.order]))
    whole = cost[sizes.order].sum() + overhead * opened
    design = document_design(sizes, "successive", Costs(pool.indptr, cost, overhead), share * whole)
    chance = design.chance(pool.query)
    first = [chance[pool.query == x].max(initial=0) for x in range(len(pool.weight))]
    reserve = design.reserve(Costs(pool.indptr, cost, overhead)) if measure != "DCG@3" else 0.0
    assert chance @ cost + overhead * np.sum(first) + reserve == pytest.approx(share * whole)
    if measure == "DCG@3":
        assert chance.max() <= MAX_PLANNED_PROBABILITY + 1e-12
        below = sizes.size[sizes.order] / chance[sizes.order]
        assert np.ptp(below[chance[sizes.order] < MAX_PLANNED_PROBABILITY - 1e-9]) <= 1e-9 * below.max()
    everything = document_design(sizes, "successive", Costs(pool.indptr, cost, overhead), whole)
    assert (everything.chance(pool.query)[sizes.order] == 1).all()
    clock = np.random.default_rng(seed).exponential(size=len(cost))
    census = draw_documents(everything, Costs(pool.indptr, cost, overhead), whole, np.random.default_rng(0), clock)
    assert census.drawn[sizes.order].all()
    assert (census.design.chance(pool.query)[sizes.order] == 1).all()


@settings(max_examples=30)
@given(SEEDS, st.sampled_from(["document", "query", "step"]), st.sampled_from([0.0, 1.0]))
def test_samples_of_larger_budgets_begin_with_those_of_smaller_ones(random_documents, seed, unit, overhead):
    """Whatever the budget, the prefix never overspends, ends with a unit, and the next unit would overspend."""
    overhead = 1.0 if unit == "query" else overhead
    pool, variables, _, cost = random_documents(seed % 30, "ERR(max_rel=2)" if unit == "step" else "DCG@3")
    sizes = document_sizes(pool, variables, cost, 0.0 if unit == "document" else overhead, RoundSettings("successive"))
    design = document_design(sizes, "successive", Costs(pool.indptr, cost, overhead), 15.0)
    clock = np.random.default_rng(seed).exponential(size=len(pool.weight))[pool.query]
    clock = clock if unit == "query" else np.random.default_rng(seed).exponential(size=len(cost))
    prices = Costs(pool.indptr, cost, overhead)
    all_of = Succession(design, priorities_of(design, prices, clock), prices)
    if unit == "document":
        np.testing.assert_allclose(all_of.priority[design.order], clock[design.order] / design.rate[design.order])
    before = np.zeros(len(cost), dtype=bool)
    for budget in (4.0, 9.0, 14.0, 1e9):
        sample = all_of.first(all_of.within(budget))
        assert sample.spent <= budget * (1 + 1e-9)
        assert (sample.drawn >= before).all()
        judged = np.unique(pool.query[sample.drawn])
        assert sample.spent == pytest.approx(cost[sample.drawn].sum() + overhead * len(judged))
        before = sample.drawn
        again = succession_of(sample, Costs(pool.indptr, cost, overhead))
        assert again is not None
        np.testing.assert_array_equal(again.order, all_of.order)
        assert again.judged(sample.drawn) == sample.drawn.sum()
        if sample.drawn.any() and unit == "document":
            gap = sample.drawn.copy()
            gap[again.order[0]] = False
            assert again.judged(gap) == 0
    assert before[design.order].all()
    dearest = (cost[design.order] if unit == "document" else Costs(pool.indptr, cost, overhead).spent(before)).max()
    what = "document" if unit == "document" else "query"
    with pytest.raises(ValueError, match=f"does not pay for the dearest {what}, which costs {dearest:g}"):
        all_of.drawn_to(0.99 * dearest)


@given(SEEDS, st.sampled_from(["document", "query"]))
def test_the_order_up_to_a_budget_is_the_beginning_of_the_whole_order(seed: int, unit: str) -> None:
    rng = np.random.default_rng(seed)
    indptr = np.r_[0, np.cumsum(rng.integers(0, 5, 30)), 200]
    number = np.diff(indptr) if unit == "query" else 1
    rate, clock = (np.repeat(rng.exponential(size=len(indptr) - 1), number) for _ in range(2))
    if unit == "document":
        rate, clock = rng.exponential(size=(2, 200))
    prices = Costs(indptr, rng.choice([1.0, 1.5], 200), 0.5 * (unit == "query"))
    design = design_with(rate, unit, prices=prices)
    succession = Succession(design, priorities_of(design, prices, clock), prices)
    dearest = (prices.sums(design.order, prices.cost) + 0.5).max() if unit == "query" else 1.5
    budget = rng.uniform(dearest, 1.1 * prices.cost.sum())
    found, whole = succession.drawn_to(budget), succession.first(succession.within(budget))
    np.testing.assert_array_equal(found.drawn, whole.drawn)
    np.testing.assert_array_equal(found.design.inclusion, whole.design.inclusion)
    assert (found.spent, found.queries.rows.tolist()) == (whole.spent, whole.queries.rows.tolist())
    few = succession.drawn_to(dearest)
    assert few.spent <= dearest
    assert few.drawn.sum() == succession.within(dearest)
