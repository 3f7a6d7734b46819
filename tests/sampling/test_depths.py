"""Depths that are spread over queries: each is uniform by itself, and all together cost what is foreseen."""

from __future__ import annotations

import numpy as np
import pytest

from pt_active.sampling.depths import depth_numbers, depth_reserve
from pt_active.sampling.sample import DocumentDesign

DRAWS = 4000


def design_of(queries: int, seed: int) -> tuple[DocumentDesign, np.ndarray, np.ndarray]:
    """Queries of 1 to 12 documents, a fifth of which are not certain to be opened; and costs."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, queries)
    indptr = np.r_[0, np.cumsum(lengths)]
    inclusion = np.concatenate([np.minimum(1, np.sort(rng.uniform(0, 1.2, n))[::-1]) for n in lengths])
    opening = np.where(rng.random(queries) < 0.2, 0.6, 1.0)
    design = DocumentDesign("depth", np.arange(indptr[-1]), opening, inclusion)
    return design, indptr, rng.uniform(0.5, 3, indptr[-1])


@pytest.mark.parametrize(("queries", "overhead"), [(7, 0.0), (40, 2.0), (150, 0.5)])
def test_depths_are_uniform_and_their_cost_varies_as_foreseen(queries: int, overhead: float) -> None:
    design, indptr, cost = design_of(queries, queries)
    rng, certain = np.random.default_rng(1), design.opening == 1
    query, spent, free, total = np.repeat(np.arange(queries), np.diff(indptr)), [], [], np.zeros(len(cost))

    def price(number: np.ndarray) -> float:
        drawn = (number[query] < design.inclusion) & certain[query]
        return cost[drawn].sum() + overhead * len(np.unique(query[drawn]))

    for _ in range(DRAWS):
        number = depth_numbers(design, indptr, cost, overhead, rng)
        total += number[query] < design.inclusion
        spent.append(price(number))
        free.append(price(rng.random(queries)))
    np.testing.assert_allclose(total / DRAWS, design.inclusion, atol=4 * 0.5 / np.sqrt(DRAWS))
    reserve = depth_reserve(design, indptr, cost, overhead)
    assert 0.5 * np.std(spent) == pytest.approx(reserve, rel=4 / np.sqrt(2 * DRAWS))
    assert np.std(spent) < 0.75 * np.std(free)


def test_nothing_is_kept_in_reserve_for_a_cost_that_is_known() -> None:
    design, indptr, cost = design_of(9, 3)
    whole = DocumentDesign("depth", design.order, np.ones(9), np.ones_like(cost))
    assert depth_reserve(whole, indptr, cost, 1.0) == 0
