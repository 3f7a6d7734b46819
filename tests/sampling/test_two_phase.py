"""Drawing documents: given probabilities, no overspending, the chance of opening, and depths drawn together."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, RoundSettings
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes
from pt_active.sampling.two_phase import cut_to_budget, depth_numbers, draw_documents

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(SEEDS, st.sampled_from(["successive", "depth"]), st.sampled_from([0.0, 2.0]), st.floats(10, 80))
def test_a_sample_never_overspends_and_adds_up(random_documents, seed, drawing, overhead, budget):
    pool, variables, _, cost = random_documents(seed % 20, "DCG@4")
    budget, prices = max(budget, 5 * 2 + overhead), Costs(pool.indptr, cost, overhead)
    sizes = document_sizes(pool, variables, cost, RoundSettings(drawing, 0.5))
    design = document_design(sizes, drawing, prices, budget)
    sample, again = (draw_documents(design, prices, budget, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(sample.drawn, again.drawn)
    assert sample.spent <= budget * (1 + 1e-9)
    with_documents = np.unique(pool.query[sample.drawn])
    assert sample.spent == pytest.approx(cost[sample.drawn].sum() + overhead * len(with_documents))
    assert not sample.drawn[design.inclusion == 0].any()
    assert (sample.opening[with_documents] > 0).all()
    assert (sample.opening <= 1).all()
    assert not sample.opening[design.opening == 0].any()
    certain = (sample.design.inclusion == 1) & (sample.opening[pool.query] > 0)
    assert sample.drawn[certain].all()
    if drawing == "depth":
        assert (sample.design.inclusion <= design.inclusion).all()
        for a, b in itertools.pairwise(pool.indptr):
            mine = sample.drawn[design.order[(design.order >= a) & (design.order < b)]]
            assert (np.diff(mine.astype(int)) <= 0).all()


def test_queries_that_open_together_come_by_priorities():
    """One document each, Π as designed; the budget pays for half of them. The test detects a Π of ½ that is 6 % off."""
    opening, draws = np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.1]), 2000
    samples = drawn_together(opening, draws)
    assert {int(each.drawn.sum()) for each in samples} == {3}
    weighted = np.array([each.drawn / np.where(each.drawn, each.opening, 1) for each in samples])
    error = weighted.std(axis=0) / math.sqrt(draws)
    assert (np.abs(weighted.mean(axis=0) - 1) < 3 * error).all()


def drawn_together(opening, draws):
    """Samples of three of six queries of one document each."""
    design, rng = DocumentDesign("depth", np.arange(6), opening, np.ones(6)), np.random.default_rng(3)
    return [draw_documents(design, Costs(np.arange(7), np.ones(6), 0.0), 3.0, rng) for _ in range(draws)]


def test_queries_that_are_certain_to_be_opened_are_opened():
    """Π of 1 means certain where the next query has a priority ``U/Π`` of at least 1, which is known of each sample."""
    samples = drawn_together(np.array([1.0, 1.0, 0.2, 0.2, 0.2, 0.2]), 200)
    certain = [each.opening[:2].tolist() for each in samples if each.opening[2:].max() >= 0.2]
    assert len(certain) > 150
    assert certain == [[1, 1]] * len(certain)


@pytest.mark.parametrize(
    ("drawing", "least", "message"),
    [
        ("depth", 4.5, "may not pay for the documents drawn in one query, which can cost 4.5"),
        ("surprises", 3.0, "does not pay for the dearest document, which costs 3"),
        ("successive", 3.0, "does not pay for the dearest document, which costs 3"),
    ],
)
def test_a_budget_that_does_not_pay_for_what_may_be_drawn_is_refused(drawing, least, message):
    design = DocumentDesign(drawing, np.arange(3), np.ones(2), np.ones(3), rate=np.ones(3))
    prices, rng = Costs(np.array([0, 1, 3]), np.array([1.0, 1.5, 2.0]), 1.0), np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        draw_documents(design, prices, least - 0.5, rng)
    assert 0 < draw_documents(design, prices, least, rng).spent <= least


@pytest.mark.parametrize("drawing", DOCUMENT_DRAWINGS)
def test_a_budget_pays_for_openings_and_chances_stay_exact(drawing):
    """No sample overspends, and ``E Σ I/π`` is 1 for each document, within 4 standard errors."""
    size, draws = np.array([0.5, 0.3, 0.6, 0.2]), 1500
    prices = Costs(np.array([0, 2, 4]), np.array([1.0, 1.5, 1.0, 0.5]), 1.0)
    design = document_design(DocumentSizes(np.arange(4), size, size), drawing, prices, 4.0)
    rng, weights = np.random.default_rng(1), np.empty((draws, 4))
    for weight in weights:
        sample = draw_documents(design, prices, 4.0, rng)
        assert sample.spent == pytest.approx(prices.spent(sample.drawn).sum())
        assert sample.spent <= 4.0 * (1 + 1e-9)
        weight[:] = np.where(sample.drawn, 1 / np.where(sample.drawn, sample.chance(prices.every), 1.0), 0.0)
    assert (np.abs(weights.mean(axis=0) - 1) < 4 * weights.std(axis=0) / np.sqrt(draws)).all()


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
