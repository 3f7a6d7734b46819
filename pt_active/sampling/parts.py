"""Which part of a sample comes first, so that one may look at it before everything is judged [theory 19]?

Given the sample, each of its units is in the first k of K parts with probability ``k/K``. Single documents that were
certain to be drawn are all in the first, since a look without one that decides much would not see its error. So the
first parts are a sample of the same kind with smaller probabilities, and given the whole sample the mean of their
estimate is that of the whole. Estimates from growing parts therefore behave as `boundaries` asks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pt_active.sampling.sample import Costs, Sample, TwoPhase

_STEP = (np.sqrt(5) - 1) / 2
"""Multiples of the golden ratio, modulo 1, are spread evenly however many there are."""


def leaning(ranks: np.ndarray) -> np.ndarray:
    """float64[N], how far each document favours the first ranker, by the reciprocals of ranks int[k, N] from 1."""
    near = np.divide(1.0, ranks, out=np.zeros(ranks.shape), where=ranks > 0)
    return np.asarray(near[0] - (near[1:].mean(axis=0) if len(near) > 1 else 0.0))


def parts_of(
    sample: TwoPhase, prices: Costs, lean: np.ndarray, turn: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    """int64[N], the part in which each document comes, from 1; 0 for documents that were not drawn.

    Each part has its share of the costs, or of the documents that favour either side.

    Args:
        sample: One whose documents do not come in an order: from the top by queries, by surprises one by one.
        prices: What its documents cost.
        lean: float64[N], as `leaning` has it.
        turn: int64[m], a random order of the queries.
        number: K, how many parts there are.
        rng: Source of randomness, which the sample must not depend on.
    """
    query, rows = prices.every, np.flatnonzero(sample.drawn)
    ties = rng.random(len(rows))
    if sample.design.nested:
        cost, opened = prices.spent(sample.drawn), np.unique(query[rows])
        units = opened[np.lexsort([turn[opened], cost[opened]])]
        return _spread(units, prices.queries, number, rng)[query] * sample.drawn
    first, order = _first_of_all(sample), rows[np.lexsort([ties, lean[rows], turn[query[rows]]])]
    return np.where(sample.drawn & first, 1, _spread(order[~first[order]], len(query), number, rng))


def _first_of_all(sample: TwoPhase) -> np.ndarray:
    """bool[N], the documents that are certain to be drawn, which decide most, unless they are most of the sample."""
    certain = sample.design.inclusion >= 1
    return certain & (2 * int((certain & sample.drawn).sum()) <= int(sample.drawn.sum()))


def _spread(units: np.ndarray, of: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """int64[of], the parts of some units, which are spread over them evenly; 0 for others."""
    part = np.zeros(of, dtype=np.int64)
    part[units] = np.floor((rng.random() + _STEP * np.arange(len(units))) % 1 * number).astype(np.int64) + 1
    return part


def first_parts(sample: TwoPhase, prices: Costs, part: np.ndarray, k: int, number: int) -> TwoPhase:
    """The first k of all parts, as a sample of its own; ``part`` is int64[N]."""
    if k == number:
        return sample
    design, queries, share, drawn = sample.design, sample.queries, k / number, sample.drawn & (part <= k)
    if design.nested:
        opened = np.bincount(prices.every[drawn], minlength=prices.queries) > 0
        design = replace(design, opening=design.opening * share)
        queries = Sample.once(np.where(opened, sample.opening * share, 0.0))
    else:
        design = replace(design, inclusion=np.where(_first_of_all(sample), 1.0, design.inclusion * share))
    spent = float(prices.spent(drawn).sum())
    return replace(sample, design=design, queries=queries, drawn=drawn, spent=spent, share=share)
