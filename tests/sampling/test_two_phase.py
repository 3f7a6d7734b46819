"""Drawing documents: given probabilities, no overspending, and the chance that the first phase opens a query."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.sampling import _kernels
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.two_phase import APART_SHARE, draw_documents

SEEDS = st.integers(0, 2**32 - 1)
DRAWS = 8_000
TWO_PHASES = ("spread", "poisson", "depth")


def pivotal(inclusion, order, rng):
    drawn = np.zeros(len(inclusion), dtype=bool)
    _kernels.pivotal(np.asarray(inclusion, dtype=float), np.asarray(order), rng.random(len(order)), drawn)
    return drawn


def assert_frequencies(drawn, chance):
    """Within 3 standard errors, and exactly where nothing is left to chance."""
    error = np.sqrt(chance * (1 - chance) / len(drawn))
    gap = np.abs(np.mean(drawn, axis=0) - chance)
    assert (gap <= 3 * error + 1e-15).all()


@pytest.mark.parametrize(
    "inclusion", [[0.3, 0.7, 0.5, 0.2, 0.3], [0.9, 0.8, 0.35], [0.0, 0.4, 1.0, 0.6, 1.0], [1 / 3] * 6, [0.45], [0.0]]
)
def test_pivotal_draws_have_the_given_probabilities_and_a_fixed_size(inclusion):
    rng = np.random.default_rng(len(inclusion))
    drawn = np.array([pivotal(inclusion, rng.permutation(len(inclusion)), rng) for _ in range(DRAWS)])
    assert_frequencies(drawn, np.array(inclusion))
    total = math.fsum(inclusion)
    size = drawn.sum(axis=1)
    assert size.min() >= math.floor(total + 1e-9)
    assert size.max() <= math.ceil(total - 1e-9)


def test_pivotal_in_a_given_order_spreads_over_neighbours():
    """Of four halves in this order, one of the first two and one of the last two."""
    rng = np.random.default_rng(0)
    drawn = np.array([pivotal([0.5] * 4, [2, 0, 3, 1], rng) for _ in range(DRAWS)])
    assert (drawn[:, [2, 0]].sum(axis=1) == 1).all()
    assert_frequencies(drawn, np.full(4, 0.5))


def designed(pool, variables, cost, overhead, drawing, budget, defensive=0.5):
    sizes = document_sizes(pool, variables, cost, overhead, RoundSettings(drawing, defensive))
    return document_design(sizes, drawing, Costs(pool.indptr, cost, overhead), budget)


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(TWO_PHASES), st.sampled_from([0.0, 2.0]), st.floats(10, 80))
def test_a_sample_never_overspends_and_adds_up(random_documents, seed, drawing, overhead, budget):
    pool, variables, _, cost = random_documents(seed % 20, "DCG@4")
    budget = max(budget, 5 * 2 + overhead)
    design = designed(pool, variables, cost, overhead, drawing, budget)
    sample = draw_documents(design, Costs(pool.indptr, cost, overhead), budget, np.random.default_rng(seed))
    assert sample.spent <= budget * (1 + 1e-9)
    with_documents = np.unique(pool.query[sample.drawn])
    assert sample.spent == pytest.approx(cost[sample.drawn].sum() + overhead * len(with_documents))
    assert not sample.drawn[design.inclusion == 0].any()
    assert (sample.opening[with_documents] > 0).all()
    assert (sample.opening <= 1).all()
    assert not sample.opening[design.opening == 0].any()
    certain = (sample.design.inclusion == 1) & (sample.opening[pool.query] > 0)
    assert (sample.design.inclusion <= design.inclusion).all()
    assert drawing == "depth" or sample.design is design
    assert sample.drawn[certain].all()
    if drawing == "depth":
        for a, b in itertools.pairwise(pool.indptr):
            mine = sample.drawn[design.order[(design.order >= a) & (design.order < b)]]
            assert (np.diff(mine.astype(int)) <= 0).all()
    assert sample.apart.all() if drawing == "poisson" else drawing == "spread" or not sample.apart.any()
    again = draw_documents(design, Costs(pool.indptr, cost, overhead), budget, np.random.default_rng(seed))
    np.testing.assert_array_equal(sample.drawn, again.drawn)


@pytest.mark.parametrize("drawing", TWO_PHASES)
def test_documents_have_the_probabilities_of_the_design(random_documents, drawing):
    """With a budget that always pays for what was drawn, so that every query is opened unless its depth is drawn."""
    pool, variables, _, cost = random_documents(2, "DCG@4")
    design = designed(pool, variables, cost, 0.0, drawing, 8.0)
    rng = np.random.default_rng(1)
    samples = [draw_documents(design, Costs(pool.indptr, cost, 0.0), 1e9, rng) for _ in range(3000)]
    if drawing == "depth":
        assert all(((each.opening == 0) | (each.opening == design.opening)).all() for each in samples)
        assert_frequencies([each.opening > 0 for each in samples], design.opening)
    else:
        assert all((each.opening == (design.opening > 0)).all() for each in samples)
    assert_frequencies([each.drawn for each in samples], design.chance(pool.query))
    if drawing == "spread":
        assert_frequencies([each.apart for each in samples], np.full(len(pool.weight), APART_SHARE))
        together = [each.drawn.sum() for each in samples if not each.apart.any()]
        assert np.ptp(together) <= 1
        alone = [each.drawn for each in samples if each.apart[-1]]
        mine = np.flatnonzero((pool.query == 7) & (design.inclusion > 0))
        pairs = np.array([[each[a] & each[b] for a, b in itertools.combinations(mine, 2)] for each in alone])
        assert_frequencies(
            pairs, np.array([np.prod(design.inclusion[[a, b]]) for a, b in itertools.combinations(mine, 2)])
        )


def test_spread_draws_keep_three_quarters_of_the_gain_and_any_two_documents_can_come_together():
    """Two of four documents, each pair as often, but in the quarter of the queries from which the gain is estimated.

    The number of documents then varies a quarter as much as with independent draws. 3 standard errors of that are 0.04;
    with a half or a tenth of the queries drawn independently it would be off by 0.25 or 0.15.
    """
    design, rng = DocumentDesign("spread", np.arange(4), np.ones(1), np.full(4, 0.5)), np.random.default_rng(5)
    samples = [draw_documents(design, Costs(np.array([0, 4]), np.ones(4), 0.0), 1e9, rng) for _ in range(4000)]
    number = np.array([each.drawn.sum() for each in samples])
    assert number.var() == pytest.approx(0.25, abs=0.04)
    assert {int(each.drawn.sum()) for each in samples if not each.apart[0]} == {2}
    spread = np.array([each.drawn for each in samples if not each.apart[0]])
    pairs = np.array([spread[:, a] & spread[:, b] for a, b in itertools.combinations(range(4), 2)]).T
    assert_frequencies(pairs, np.full(6, 1 / 6))


def test_a_query_costs_hardly_ever_more_than_the_least_budget_that_is_accepted():
    """200 documents of cost 1 with π = ½: the chance to draw more than the budget pays for is below 1e-8."""
    n = 200
    design = DocumentDesign("poisson", np.arange(n), np.ones(1), np.full(n, 0.5))

    def accepted(budget: int) -> bool:
        try:
            draw_documents(design, Costs(np.array([0, n]), np.ones(n), 0.0), budget, np.random.default_rng(0))
        except ValueError:
            return False
        return True

    least = next(budget for budget in range(1, n + 1) if accepted(budget))
    assert stats.binom.sf(least, n, 0.5) < 1e-8
    assert least < 0.75 * n


def test_queries_that_open_together_come_by_priorities():
    """One document each, Π as designed; the budget pays for half of them. The test detects a Π of ½ that is 4 % off."""
    m, draws = 6, 5000
    opening = np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.1])
    design = DocumentDesign("depth", np.arange(m), opening, np.ones(m))
    rng = np.random.default_rng(3)
    samples = [draw_documents(design, Costs(np.arange(m + 1), np.ones(m), 0.0), 3.0, rng) for _ in range(draws)]
    assert {int(each.drawn.sum()) for each in samples} == {3}
    weighted = np.array([each.drawn / np.where(each.drawn, each.opening, 1) for each in samples])
    error = weighted.std(axis=0) / math.sqrt(draws)
    assert (np.abs(weighted.mean(axis=0) - 1) < 3 * error).all()


def test_queries_that_are_certain_to_be_opened_are_opened():
    """Π of 1 means certain where the next query has a priority ``U/Π`` of at least 1, which is known of each sample."""
    opening = np.array([1.0, 1.0, 0.2, 0.2, 0.2, 0.2])
    design, rng = DocumentDesign("depth", np.arange(6), opening, np.ones(6)), np.random.default_rng(4)
    samples = [draw_documents(design, Costs(np.arange(7), np.ones(6), 0.0), 3.0, rng) for _ in range(500)]
    certain = [each for each in samples if each.opening[2:].max() >= 0.2]
    assert len(certain) > 400
    for each in certain:
        assert each.opening[:2].tolist() == [1, 1]


def test_a_budget_that_does_not_pay_for_one_query_is_refused():
    design = DocumentDesign("poisson", np.arange(3), np.ones(2), np.ones(3))
    indptr, rng = np.array([0, 1, 3]), np.random.default_rng(0)
    with pytest.raises(
        ValueError, match="budget 4 may not pay for the documents drawn in one query, which can cost 4.5"
    ):
        draw_documents(design, Costs(indptr, np.array([1.0, 1.5, 2.0]), 1.0), 4.0, rng)
    sample = draw_documents(design, Costs(indptr, np.array([1.0, 1.5, 2.0]), 1.0), 4.5, rng)
    assert sample.spent in (2, 4.5)
