"""Depths that are drawn together: each is uniform by itself, and all together cost what is expected."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.two_phase import cut_to_budget, depth_numbers, draw_documents

DRAWS = 500


def design_of(queries: int, seed: int) -> tuple[DocumentDesign, np.ndarray, np.ndarray]:
    """Queries of 1 to 12 documents, a fifth of which are not certain to be opened; and costs."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, queries)
    indptr = np.r_[0, np.cumsum(lengths)]
    inclusion = np.concatenate([np.minimum(1, np.sort(rng.uniform(0, 1.2, n))[::-1]) for n in lengths])
    opening = np.where(rng.random(queries) < 0.2, 0.6, 1.0)
    design = DocumentDesign("depth", np.arange(indptr[-1]), opening, inclusion)
    return design, indptr, rng.uniform(0.5, 3, indptr[-1])


@pytest.mark.parametrize(("queries", "overhead"), [(1, 0.0), (7, 0.0), (40, 2.0)])
def test_depths_are_uniform_and_together_cost_what_is_expected(queries: int, overhead: float) -> None:
    design, indptr, cost = design_of(queries, queries)
    rng, query = np.random.default_rng(1), np.repeat(np.arange(queries), np.diff(indptr))
    chance, spent, free, numbers = design.chance(query), [], [], []
    for _ in range(DRAWS):
        number = depth_numbers(design, Costs(indptr, cost, overhead), rng)
        numbers.append(number)
        spent.append(Costs(indptr, cost, overhead).spent(number[query] < chance).sum())
        free.append(Costs(indptr, cost, overhead).spent(rng.random(queries)[query] < chance).sum())
    for at in (0.05, 0.3, 0.5, 0.8):
        below = (np.array(numbers) < at).mean(axis=0)
        assert np.abs(below - at).max() < 4 * np.sqrt(at * (1 - at) / DRAWS)
    drawn = np.array(numbers)[:, query] < chance
    assert np.abs(drawn.mean(axis=0) - chance).max() < 4 * 0.5 / np.sqrt(DRAWS)
    top = np.maximum.reduceat(chance, indptr[:-1])
    assert np.mean(spent) == pytest.approx(cost @ chance + overhead * top.sum(), rel=0.02 if queries > 1 else 0.05)
    if queries == 1:
        return
    # What remains is the cost of about one document, however many queries there are.
    assert np.std(spent) < {7: 0.35, 40: 0.1}[queries] * np.std(free)
    assert queries == 7 or np.ptp(spent) < 4 * (cost.max() + overhead)


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
    indptr, cost = np.array([0, 4, 7, 10]), np.array([1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    design = DocumentDesign("depth", np.arange(10), np.ones(3), np.full(10, 0.5))
    drawn = np.arange(10) != 9

    class Always:
        def __init__(self, which: int) -> None:
            self.which = which

        def choice(self, of: np.ndarray) -> int:
            return of[self.which]

    price = Costs(indptr, cost, 1.0).spent(drawn)
    np.testing.assert_array_equal(price, [7, 4, 3])
    can = (price >= excess).sum()
    if can < 2:
        assert cut_to_budget(design, Costs(indptr, cost, 1.0), drawn, excess, np.random.default_rng(0)) is None
        return
    stayed = np.zeros(10)
    for which in range(can):
        chance, stays = cut_to_budget(design, Costs(indptr, cost, 1.0), drawn, excess, Always(which))
        stayed += stays / can
        assert price.sum() - Costs(indptr, cost, 1.0).spent(stays).sum() >= excess
        assert Costs(indptr, cost, 1.0).spent(stays).sum() > price.sum() - excess - 3
        for a, b in itertools.pairwise(indptr):
            assert (np.diff(stays[a:b].astype(int)) <= 0).all()
            assert (np.diff(np.where(drawn, chance, 0.0)[a:b]) <= 0).all()
    np.testing.assert_allclose(np.where(drawn, chance, 0.0), stayed)


@pytest.mark.parametrize("overhead", [0.0, 2.0])
def test_weighted_sums_stay_unbiased_if_the_budget_is_tight(overhead: float) -> None:
    """The whole budget is planned, so that half of the draws exceed it, and some by more than any two queries cost."""
    design, indptr, cost = design_of(7, 3)
    query, value = np.repeat(np.arange(7), np.diff(indptr)), np.random.default_rng(5).normal(1, 1, indptr[-1])
    top = np.maximum.reduceat(design.chance(query), indptr[:-1])
    expected = cost @ design.chance(query) + overhead * top.sum()
    budget = max(expected - 1.0, 1.001 * Costs(indptr, cost, overhead).spent(cost > 0).max())
    rng, sums, spent = np.random.default_rng(2), [], []
    for _ in range(DRAWS):
        sample = draw_documents(design, Costs(indptr, cost, overhead), budget, rng)
        spent.append(sample.spent)
        sums.append(value[sample.drawn] @ (1 / sample.chance(query)[sample.drawn]))
    assert max(spent) <= budget * (1 + 1e-9)
    assert np.mean(sums) == pytest.approx(value[design.chance(query) > 0].sum(), abs=3 * np.std(sums) / np.sqrt(DRAWS))
