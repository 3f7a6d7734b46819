"""Drawing documents: given probabilities, no overspending, depths drawn together, and samples that go deeper."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, DrawingSettings
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes, TwoPhase
from pt_active.sampling.two_phase import cut_to_budget, depth_numbers, draw_documents, from_the_top, parts_by_queries

DRAWS = 500


@settings(max_examples=20)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(DOCUMENT_DRAWINGS[::2]), st.sampled_from([0.0, 2.0]), st.floats(10, 80)
)
def test_a_sample_never_overspends_and_adds_up(random_documents, seed, drawing, overhead, budget):
    pool, variables, _, cost = random_documents(seed % 20, "DCG@4")
    budget, prices = max(budget, 5 * 2 + overhead), Costs(pool.indptr, cost, overhead)
    sizes = document_sizes(pool, variables, cost, DrawingSettings(drawing, 0.5))
    design = document_design(sizes, drawing, prices, budget)
    sample, again = (draw_documents(design, prices, budget, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(sample.drawn, again.drawn)
    weights_of(sample, prices, budget)
    assert not sample.drawn[design.inclusion == 0].any()
    assert not sample.opening[design.opening == 0].any()
    if drawing == "depth":
        assert (sample.design.inclusion <= design.inclusion).all()
        for a, b in itertools.pairwise(pool.indptr):
            mine = sample.drawn[design.order[(design.order >= a) & (design.order < b)]]
            assert (np.diff(mine.astype(int)) <= 0).all()


def drawn_together(opening: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of three of six queries of one document each, and its chance in each: bool and float64[draws, 6]."""
    design, rng = DocumentDesign("depth", np.arange(6), opening, np.ones(6)), np.random.default_rng(3)
    found = [draw_documents(design, Costs(np.arange(7), np.ones(6), 0.0), 3.0, rng) for _ in range(draws)]
    return np.array([each.drawn for each in found]), np.array([each.chance(np.arange(6)) for each in found])


def test_queries_that_cannot_be_cut_come_by_priorities():
    """The budget pays for half of them. The test detects a chance of ½ that is 9 % off."""
    drawn, chance = drawn_together(np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.1]), 1000)
    assert (drawn.sum(axis=1) == 3).all()
    weighted = drawn / np.where(drawn, chance, 1)
    assert (np.abs(weighted.mean(axis=0) - 1) < 3 * weighted.std(axis=0) / np.sqrt(1000)).all()
    drawn, chance = drawn_together(np.array([1.0, 1.0, 0.2, 0.2, 0.2, 0.2]), 200)
    assert drawn[:, :2].all()
    assert (chance[:, :2] == 1).mean() > 0.7


def weights_of(sample: TwoPhase, prices: Costs, budget: float) -> np.ndarray:
    """``I/π`` of a sample that a budget must pay for."""
    assert sample.spent == pytest.approx(prices.spent(sample.drawn).sum())
    assert sample.spent <= budget * (1 + 1e-9)
    return np.where(sample.drawn, 1 / np.where(sample.drawn, sample.chance(prices.every), 1.0), 0.0)


def test_a_sample_goes_deeper_with_exact_chances():
    """It keeps what was drawn before; both have ``E I/π = 1`` within 4 standard errors."""
    rng, draws = np.random.default_rng(1), 800
    lengths = rng.integers(2, 7, 7)
    prices = Costs(np.r_[0, np.cumsum(lengths)], rng.choice([1.0, 1.5, 0.5], lengths.sum()), 0.5)
    size = np.concatenate([np.sort(rng.uniform(0.1, 1, n))[::-1] for n in lengths])
    sizes = DocumentSizes(np.arange(len(size)), size, size)
    few, more = (document_design(sizes, "depth", prices, budget) for budget in (10.0, 16.0))
    weights = np.empty((draws, 2, len(size)))
    for weight in weights:
        before = draw_documents(few, prices, 10.0, rng)
        after = from_the_top(more, prices, 16.0, rng, before, few)
        assert (after.drawn >= before.drawn).all()
        weight[:] = weights_of(before, prices, 10.0), weights_of(after, prices, 16.0)
    assert (np.abs(weights.mean(axis=0) - 1) < 4 * weights.std(axis=0) / np.sqrt(draws)).all()
    with pytest.raises(ValueError, match="more may not pay for the new documents of one query; raise the budget"):
        cut_to_budget(more, prices, prices.every > 0, size > 0, 1.0, rng)


@pytest.mark.parametrize(("queries", "overhead"), [(1, 0.0), (7, 0.0), (40, 2.0)])
def test_depths_are_uniform_and_together_cost_what_is_expected(queries: int, overhead: float) -> None:
    """What remains is the cost of about one document, however many queries there are."""
    rng = np.random.default_rng(queries)
    lengths = rng.integers(1, 13, queries)
    prices = Costs(np.r_[0, np.cumsum(lengths)], rng.uniform(0.5, 3, lengths.sum()), overhead)
    inclusion = np.concatenate([np.minimum(1, np.sort(rng.uniform(0, 1.2, n))[::-1]) for n in lengths])
    opening, query = np.where(rng.random(queries) < 0.2, 0.6, 1.0), prices.every
    design = DocumentDesign("depth", np.arange(len(query)), opening, inclusion)
    rng, chance, bounds = np.random.default_rng(1), design.chance(query), (np.zeros(queries), np.ones(queries))
    numbers = np.array([depth_numbers(design, prices, rng, *bounds) for _ in range(DRAWS)])
    for at in (0.05, 0.3, 0.5, 0.8):
        below = (numbers < at).mean(axis=0)
        assert np.abs(below - at).max() < 4 * np.sqrt(at * (1 - at) / DRAWS)
    drawn = numbers[:, query] < chance
    assert np.abs(drawn.mean(axis=0) - chance).max() < 4 * 0.5 / np.sqrt(DRAWS)
    spent = [prices.spent(each).sum() for each in drawn]
    expected = prices.cost @ chance + overhead * np.maximum.reduceat(chance, prices.indptr[:-1]).sum()
    assert np.mean(spent) == pytest.approx(expected, rel=0.02 if queries > 1 else 0.05)
    free = [prices.spent(rng.random(queries)[query] < chance).sum() for _ in range(DRAWS)]
    assert queries == 1 or np.std(spent) < {7: 0.35, 40: 0.1}[queries] * np.std(free)
    assert queries != 40 or np.ptp(spent) < 4 * (prices.cost.max() + overhead)


def test_rounding_decides_nothing_about_depths() -> None:
    """Equal documents are the rule: their costs, their gains and the powers of 2 of both are exact ties."""
    rng, lengths = np.random.default_rng(3), np.random.default_rng(4).integers(1, 9, 60)
    indptr = np.r_[0, np.cumsum(lengths)]
    inclusion = np.concatenate([np.sort(rng.choice([0.25, 0.5, 0.75, 1.0], n))[::-1] for n in lengths])
    bounds = np.zeros(60), np.ones(60)

    def drawn(noise: np.ndarray) -> np.ndarray:
        design = DocumentDesign("depth", np.arange(indptr[-1]), np.ones(60), np.minimum(1, inclusion * noise[0]))
        number = depth_numbers(design, Costs(indptr, 3 * noise[1], 1.0), np.random.default_rng(5), *bounds)
        return number[np.repeat(np.arange(60), lengths)] < inclusion - 1e-9

    exact = drawn(np.ones((2, indptr[-1])))
    for seed in range(4):
        noise = 1 + np.random.default_rng(seed).uniform(-1e-14, 1e-14, (2, indptr[-1]))
        np.testing.assert_array_equal(drawn(noise), exact)


@pytest.mark.parametrize("excess", [0.5, 1.0, 2.5, 4.0])
def test_every_document_stays_with_the_stated_probability_if_one_query_is_cut(excess: float) -> None:
    """By enumeration of the query that is cut: three of them cost 7, 4 and 3, with 1 for opening each."""
    prices = Costs(np.array([0, 4, 7, 10]), np.array([1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 1.0)
    design = DocumentDesign("depth", np.arange(10), np.ones(3), np.full(10, 0.5))
    drawn, before = np.arange(10) != 9, np.zeros(10, dtype=bool)
    price = prices.spent(drawn)
    can, stayed = (price >= excess).sum(), np.zeros(10)
    for which in range(can):
        always = SimpleNamespace(choice=lambda of, which=which: of[which])
        chance, stays = cut_to_budget(design, prices, before, drawn, excess, always)
        stayed += stays / can
        assert price.sum() - excess - 3 < prices.spent(stays).sum() <= price.sum() - excess
        for a, b in itertools.pairwise(prices.indptr):
            assert (np.diff(stays[a:b].astype(int)) <= 0).all()
            assert (np.diff(np.where(drawn, chance, 0.0)[a:b]) <= 0).all()
    np.testing.assert_allclose(np.where(drawn, chance, 0.0), stayed)


def test_the_first_parts_are_whole_queries_as_probable_as_they_should_be() -> None:
    indptr = np.cumsum([0, 4, 7, 1, 12, 6, 9])
    prices, rng = Costs(indptr, np.ones(39), 0.0), np.random.default_rng(5)
    inclusion = np.concatenate([np.sort(rng.uniform(0.1, 1, n))[::-1] for n in np.diff(indptr)])
    design = DocumentDesign("depth", np.arange(39), np.array([0.7, 1.0] * 3), inclusion)
    sample, value = draw_documents(design, prices, 39.0, rng), rng.normal(size=39)
    estimates = np.empty((DRAWS, 5))
    for row in estimates:
        parts = parts_by_queries(sample, prices, 5, rng)
        assert all((a.drawn <= b.drawn).all() for a, b in itertools.pairwise(parts))
        for number, part in enumerate(parts, start=1):
            np.testing.assert_allclose(part.design.opening, sample.design.opening * number / 5)
            opened = np.isin(prices.every, prices.every[part.drawn])
            np.testing.assert_array_equal(part.drawn, sample.drawn & opened)
        row[:] = [value @ weights_of(part, prices, 39.0) for part in parts]
    off = estimates.mean(axis=0) - value @ weights_of(sample, prices, 39.0)
    assert (np.abs(off[:-1]) < 3 * estimates.std(axis=0)[:-1] / np.sqrt(DRAWS)).all()
    assert np.ptp(estimates[:, -1]) < 1e-12
