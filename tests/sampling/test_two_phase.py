"""Drawing documents: given probabilities, no overspending, and the chance that a query is opened."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, RoundSettings
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes
from pt_active.sampling.two_phase import draw_documents

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
    rate, raises = np.ones(3) * (drawing == "successive"), np.array([True, False, True])
    design = DocumentDesign(drawing, np.arange(3), np.ones(2), np.ones(3), rate=rate, raises=raises)
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
