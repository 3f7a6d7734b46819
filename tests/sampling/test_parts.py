"""Parts of a sample: the first of them are a sample of the same design, and what they say is right on average."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pt_active.sampling.parts import first_parts, parts_of
from pt_active.sampling.sample import Costs, DocumentDesign, TwoPhase
from pt_active.sampling.two_phase import draw_documents

PARTS, DRAWS = 5, 600
SIZES = (4, 7, 1, 12, 6, 9)
INDPTR = np.r_[0, np.cumsum(SIZES)]
PRICES = Costs(INDPTR, np.ones(INDPTR[-1]), 0.0)
LEAN = np.random.default_rng(3).normal(size=INDPTR[-1])
EVERY = np.arange(INDPTR[-1])


def sample_of(drawing: str) -> TwoPhase:
    """Twenty documents, some of them certain, of all queries or from the top of some."""
    rng = np.random.default_rng(5)
    inclusion = np.clip(rng.uniform(0.1, 1.3, INDPTR[-1]), 0, 1)
    opening, raises = np.ones(len(SIZES)), LEAN > 0
    if drawing == "depth":
        inclusion = np.concatenate([np.sort(inclusion[a:b])[::-1] for a, b in itertools.pairwise(INDPTR)])
        opening[::2], raises = 0.7, None
    design = DocumentDesign(drawing, EVERY, opening, inclusion, raises=raises)
    return draw_documents(design, PRICES, float(len(EVERY)), rng)


def in_parts(sample: TwoPhase, rng: np.random.Generator) -> np.ndarray:
    return parts_of(sample, PRICES, LEAN, rng.permutation(PRICES.queries), PARTS, rng)


@pytest.mark.parametrize("drawing", ["depth", "surprises"])
def test_each_document_comes_by_each_part_as_probably_as_it_should(drawing: str) -> None:
    sample, rng = sample_of(drawing), np.random.default_rng(1)
    part = np.array([in_parts(sample, rng) for _ in range(DRAWS)])
    drawn = sample.drawn
    assert (part[:, ~drawn] == 0).all()
    assert (part[:, drawn] >= 1).all()
    for k in range(1, PARTS):
        certain = (sample.design.inclusion[drawn] >= 1) & (drawing == "surprises")
        share = np.where(certain, 1.0, k / PARTS)
        off = (part[:, drawn] <= k).mean(axis=0) - share
        assert (np.abs(off) <= 4 * np.sqrt(share * (1 - share) / DRAWS)).all()
    if drawing == "surprises":  # whichever the start, the golden ratio spreads them
        spread = part[:, drawn & (sample.design.inclusion < 1)]
        numbers = np.apply_along_axis(np.bincount, 1, spread, minlength=PARTS + 1)[:, 1:]
        assert np.abs(numbers - spread.shape[1] / PARTS).max() < 3
    else:  # a query is judged in one go
        query = PRICES.every
        assert all(len(np.unique(part[0, drawn & (query == x)])) == 1 for x in np.unique(query[drawn]))


def test_documents_that_are_most_of_a_sample_are_not_all_first() -> None:
    """Otherwise there would be nothing left to look at."""
    sample, rng = sample_of("surprises"), np.random.default_rng(1)
    design = replace(sample.design, inclusion=np.where(sample.drawn, 1.0, 0.5))
    part = in_parts(replace(sample, design=design), rng)
    assert set(part[sample.drawn]) == set(range(1, PARTS + 1))


@pytest.mark.parametrize("drawing", ["depth", "surprises"])
def test_the_estimate_of_the_first_parts_is_on_average_that_of_the_whole(drawing: str) -> None:
    sample, rng, query = sample_of(drawing), np.random.default_rng(2), PRICES.every
    value = np.random.default_rng(8).normal(size=INDPTR[-1])

    def total(part: TwoPhase) -> float:
        return float((value / np.maximum(part.chance(query), 1e-9))[part.drawn].sum())

    for k in (1, 3):
        found = [total(first_parts(sample, PRICES, in_parts(sample, rng), k, PARTS)) for _ in range(DRAWS)]
        assert abs(np.mean(found) - total(sample)) < 3 * np.std(found) / np.sqrt(DRAWS)


def test_the_first_parts_grow_to_the_whole() -> None:
    for sample in map(sample_of, ("depth", "surprises")):
        part = in_parts(sample, np.random.default_rng(4))
        grown = [first_parts(sample, PRICES, part, k, PARTS) for k in range(1, PARTS + 1)]
        assert grown[-1] is sample
        for before, after in itertools.pairwise(grown):
            assert (before.drawn <= after.drawn).all()
            assert before.spent <= after.spent
        assert all(each.spent == each.drawn.sum() for each in grown)
