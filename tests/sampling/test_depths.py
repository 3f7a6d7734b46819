"""Depths that are drawn together: each is uniform by itself, and all together cost what is expected."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.two_phase import cut_to_budget, depth_numbers, draw_documents

DRAWS = 500


def design_of(queries: int, seed: int, overhead: float) -> tuple[DocumentDesign, Costs, np.ndarray]:
    """Queries of 1 to 12 documents, a fifth of which are not certain to be opened; costs, and each document's query."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, queries)
    indptr = np.r_[0, np.cumsum(lengths)]
    inclusion = np.concatenate([np.minimum(1, np.sort(rng.uniform(0, 1.2, n))[::-1]) for n in lengths])
    opening = np.where(rng.random(queries) < 0.2, 0.6, 1.0)
    prices = Costs(indptr, rng.uniform(0.5, 3, indptr[-1]), overhead)
    return DocumentDesign("depth", np.arange(indptr[-1]), opening, inclusion), prices, prices.every


@pytest.mark.parametrize(("queries", "overhead"), [(1, 0.0), (7, 0.0), (40, 2.0)])
def test_depths_are_uniform_and_together_cost_what_is_expected(queries: int, overhead: float) -> None:
    """What remains is the cost of about one document, however many queries there are."""
    design, prices, query = design_of(queries, queries, overhead)
    rng, chance = np.random.default_rng(1), design.chance(query)
    numbers = np.array([depth_numbers(design, prices, rng) for _ in range(DRAWS)])
    for at in (0.05, 0.3, 0.5, 0.8):
        below = (numbers < at).mean(axis=0)
        assert np.abs(below - at).max() < 4 * np.sqrt(at * (1 - at) / DRAWS)
    drawn = numbers[:, query] < chance
    assert np.abs(drawn.mean(axis=0) - chance).max() < 4 * 0.5 / np.sqrt(DRAWS)
    spent = [prices.spent(each).sum() for each in drawn]
    assert np.mean(spent) == pytest.approx(expected_cost(design, prices), rel=0.02 if queries > 1 else 0.05)
    free = [prices.spent(rng.random(queries)[query] < chance).sum() for _ in range(DRAWS)]
    assert queries == 1 or np.std(spent) < {7: 0.35, 40: 0.1}[queries] * np.std(free)
    assert queries != 40 or np.ptp(spent) < 4 * (prices.cost.max() + overhead)


def expected_cost(design: DocumentDesign, prices: Costs) -> float:
    chance = design.chance(prices.every)
    return prices.cost @ chance + prices.overhead * np.maximum.reduceat(chance, prices.indptr[:-1]).sum()


def test_rounding_decides_nothing_about_depths() -> None:
    """Equal documents are the rule: their costs, their gains and the powers of 2 of both are exact ties."""
    rng, lengths = np.random.default_rng(3), np.random.default_rng(4).integers(1, 9, 60)
    indptr = np.r_[0, np.cumsum(lengths)]
    inclusion = np.concatenate([np.sort(rng.choice([0.25, 0.5, 0.75, 1.0], n))[::-1] for n in lengths])
    opening, price = np.ones(60), np.full(indptr[-1], 3.0)

    def drawn(noise: np.ndarray) -> np.ndarray:
        design = DocumentDesign("depth", np.arange(indptr[-1]), opening, np.minimum(1, inclusion * noise[0]))
        number = depth_numbers(design, Costs(indptr, price * noise[1], 1.0), np.random.default_rng(5))
        return number[np.repeat(np.arange(60), lengths)] < inclusion - 1e-9

    exact = drawn(np.ones((2, indptr[-1])))
    for seed in range(4):
        noise = 1 + np.random.default_rng(seed).uniform(-1e-14, 1e-14, (2, indptr[-1]))
        np.testing.assert_array_equal(drawn(noise), exact)


@pytest.mark.parametrize("excess", [0.5, 1.0, 2.5, 4.0, 6.5])
def test_every_document_stays_with_the_stated_probability_if_one_query_is_cut(excess: float) -> None:
    """By enumeration of the query that is cut: three of them cost 7, 4 and 3, with 1 for opening each."""
    prices = Costs(np.array([0, 4, 7, 10]), np.array([1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 1.0)
    design = DocumentDesign("depth", np.arange(10), np.ones(3), np.full(10, 0.5))
    drawn = np.arange(10) != 9
    price = prices.spent(drawn)
    np.testing.assert_array_equal(price, [7, 4, 3])
    can = (price >= excess).sum()
    if can < 2:
        assert cut_to_budget(design, prices, drawn, excess, np.random.default_rng(0)) is None
        return
    stayed = np.zeros(10)
    for which in range(can):
        always = SimpleNamespace(choice=lambda of, which=which: of[which])
        chance, stays = cut_to_budget(design, prices, drawn, excess, always)
        chance = np.where(drawn, chance, 0.0)
        stayed += stays / can
        assert price.sum() - excess - 3 < prices.spent(stays).sum() <= price.sum() - excess
        for a, b in itertools.pairwise(prices.indptr):
            assert (np.diff(stays[a:b].astype(int)) <= 0).all()
            assert (np.diff(chance[a:b]) <= 0).all()
    np.testing.assert_allclose(chance, stayed)


@pytest.mark.parametrize("overhead", [0.0, 2.0])
def test_weighted_sums_stay_unbiased_if_the_budget_is_tight(overhead: float) -> None:
    """The whole budget is planned, so that half of the draws exceed it, and some by more than any two queries cost."""
    design, prices, query = design_of(7, 3, overhead)
    value = np.random.default_rng(5).normal(1, 1, len(query))
    budget = max(expected_cost(design, prices) - 1.0, 1.001 * prices.spent(prices.cost > 0).max())
    rng, sums = np.random.default_rng(2), []
    for _ in range(DRAWS):
        sample = draw_documents(design, prices, budget, rng)
        assert sample.spent <= budget * (1 + 1e-9)
        sums.append(value[sample.drawn] @ (1 / sample.chance(query)[sample.drawn]))
    assert np.mean(sums) == pytest.approx(value[design.chance(query) > 0].sum(), abs=3 * np.std(sums) / np.sqrt(DRAWS))
