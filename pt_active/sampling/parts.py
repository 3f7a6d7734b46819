"""Which queries of a sample from the top come first, so that one may look before everything is judged [theory 19]?

Given the sample, each of its queries is in the first k of K parts with probability ``k/K``. So the first parts are a
sample of the same kind with smaller probabilities, and given the whole sample the mean of their estimate is that of the
whole. Estimates from growing parts therefore behave as `boundaries` asks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pt_active.sampling.sample import Costs, Sample, TwoPhase

_STEP = (np.sqrt(5) - 1) / 2
"""Multiples of the golden ratio, modulo 1, are spread evenly however many there are."""


def parts_of(sample: TwoPhase, prices: Costs, number: int, rng: np.random.Generator) -> np.ndarray:
    """int64[N], the part in which each document comes, from 1; 0 for documents that were not drawn.

    Each of the parts has its share of the costs. The sample must not depend on the source of randomness.
    """
    turn, cost = rng.permutation(prices.queries), prices.spent(sample.drawn)
    opened = np.unique(prices.every[sample.drawn])
    units = opened[np.lexsort([turn[opened], cost[opened]])]
    part = np.zeros(prices.queries, dtype=np.int64)
    part[units] = np.floor((rng.random() + _STEP * np.arange(len(units))) % 1 * number).astype(np.int64) + 1
    return part[prices.every] * sample.drawn


def first_parts(sample: TwoPhase, prices: Costs, part: np.ndarray, k: int, number: int) -> TwoPhase:
    """The first k of all parts, as a sample of its own; ``part`` is int64[N]."""
    share, drawn = k / number, sample.drawn & (part <= k)
    design = replace(sample.design, opening=sample.design.opening * share)
    opened = np.bincount(prices.every[drawn], minlength=prices.queries) > 0
    queries = Sample.once(np.where(opened, sample.opening * share, 0.0))
    return replace(sample, design=design, queries=queries, drawn=drawn, spent=float(prices.spent(drawn).sum()))
