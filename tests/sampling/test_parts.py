"""Parts of a sample from the top: the first of them are a sample of the same design, right on average."""

from __future__ import annotations

import itertools

import numpy as np

from pt_active.sampling.parts import first_parts, parts_of
from pt_active.sampling.sample import Costs, DocumentDesign, TwoPhase
from pt_active.sampling.two_phase import draw_documents

PARTS, DRAWS = 5, 600
INDPTR = np.cumsum([0, 4, 7, 1, 12, 6, 9])
PRICES = Costs(INDPTR, np.ones(INDPTR[-1]), 0.0)


def sample() -> TwoPhase:
    """Some twenty documents, from the top of some queries."""
    rng = np.random.default_rng(5)
    inclusion = np.clip(rng.uniform(0.1, 1.3, INDPTR[-1]), 0, 1)
    inclusion = np.concatenate([np.sort(inclusion[a:b])[::-1] for a, b in itertools.pairwise(INDPTR)])
    opening = np.array([0.7, 1.0] * 3)
    return draw_documents(DocumentDesign("depth", np.arange(INDPTR[-1]), opening, inclusion), PRICES, 39.0, rng)


def test_the_first_parts_are_whole_queries_as_probable_as_they_should_be() -> None:
    whole, rng, query = sample(), np.random.default_rng(1), PRICES.every
    value = np.random.default_rng(8).normal(size=INDPTR[-1])

    def total(part: TwoPhase) -> float:
        return float((value / np.maximum(part.chance(query), 1e-9))[part.drawn].sum())

    estimates = np.empty((DRAWS, PARTS))
    for row in estimates:
        part = parts_of(whole, PRICES, PARTS, rng)
        firsts = [first_parts(whole, PRICES, part, k, PARTS) for k in range(1, PARTS + 1)]
        row[:] = [total(each) for each in firsts]
        assert ((part > 0) == whole.drawn).all()
        assert all(len(np.unique(part[whole.drawn & (query == x)])) <= 1 for x in range(6))
        assert all((a.drawn <= b.drawn).all() for a, b in itertools.pairwise(firsts))
        assert [each.spent for each in firsts] == [each.drawn.sum() for each in firsts]
    off = estimates.mean(axis=0) - total(whole)
    assert (np.abs(off[:-1]) < 3 * estimates.std(axis=0)[:-1] / np.sqrt(DRAWS)).all()
    assert np.ptp(estimates[:, -1]) < 1e-12
