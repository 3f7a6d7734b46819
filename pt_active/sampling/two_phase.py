"""Drawing documents within a budget, which also pays for opening their queries [theory 9]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pt_active.sampling.chances import UNIFORM, within_budget
from pt_active.sampling.draws import priorities
from pt_active.sampling.sample import Costs, DocumentDesign, TwoPhase
from pt_active.sampling.successive import Succession, priorities_of

_ROUNDING = 1e-9  # Share of an excess below which a difference of costs is rounding
_SAME = 1e-12  # Probabilities that differ by less than this share are equal but for rounding

_STEP = (np.sqrt(5) - 1) / 2
"""Multiples of the golden ratio, modulo 1, are spread evenly however many there are."""


def draw_documents(
    design: DocumentDesign,
    prices: Costs,
    budget: float,
    rng: np.random.Generator,
    clock: np.ndarray | None = None,
) -> TwoPhase:
    """Draw documents while the budget pays for them and for opening their queries.

    The clock, float64[N], is that of documents that come one after the other; it is drawn if left out.
    """
    if design.nested:
        return from_the_top(design, prices, budget, rng)
    clock = rng.exponential(size=len(design.inclusion)) if clock is None else clock
    return Succession(design, priorities_of(design, clock), prices).drawn_to(budget)


def from_the_top(
    design: DocumentDesign,
    prices: Costs,
    budget: float,
    rng: np.random.Generator,
    before: TwoPhase | None = None,
    planned: DocumentDesign | None = None,
) -> TwoPhase:
    """Draw the depth of each query, or go on from a sample to larger probabilities and a larger budget in all.

    The number of each query is drawn again among those with which the sample before would have been the same. What
    exceeds the budget is cut off from one query, or from several, but not from what was drawn before.

    Args:
        design: The design, of the larger sample if there is one before.
        prices: What documents cost.
        budget: Of both together.
        rng: Source of randomness.
        before: The sample that goes on.
        planned: The design of that sample before it met its budget.
    """
    dearest = prices.overhead + float(prices.sums(design.order, prices.cost[design.order]).max())
    if not within_budget(np.array(dearest), budget):
        raise ValueError(
            f"budget {budget:g} may not pay for the documents drawn in one query, which can cost {dearest:.4g}; "
            "raise the budget, or cut the ranking depth"
        )
    query, low, high = prices.every, np.zeros(prices.queries), np.ones(prices.queries)
    judged = np.zeros(len(query), dtype=bool)
    if before is not None and planned is not None:
        chance, judged = planned.chance(query), before.drawn
        np.maximum.at(low, query, np.where(chance <= before.priority, chance, 0.0))
        np.minimum.at(high, query, np.where(chance > before.priority, chance, 1.0))
    number = depth_numbers(design, prices, rng, low, high)
    drawn = number[query] < design.chance(query)
    excess = float(prices.spent(drawn).sum()) - budget
    if not within_budget(np.array(budget + excess), budget):
        kept, drawn = cut_to_budget(design, prices, judged, drawn, excess, rng)
        design = replace(design, inclusion=design.inclusion * kept)
    opening = np.where(number < design.opening, design.opening, 0.0)
    return TwoPhase(design, opening, drawn, float(prices.spent(drawn).sum()), number[query])


def depth_numbers(
    design: DocumentDesign, prices: Costs, rng: np.random.Generator, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Uniform numbers between bounds, float64[m] each, at a nearly fixed cost.

    A document is judged if its ``Π π`` is above the number of its query. The range of each number falls into parts in
    which the same documents are judged.
    """
    from pt_active.sampling._kernels import even_parts

    query, m, price = prices.query(design.order), prices.queries, prices.of(design.order)
    deep = np.cumsum(price)
    deep -= (deep - price)[np.searchsorted(query, query)]
    # From the deepest document of each query to the top, and last the part in which nothing is judged.
    owner, end = np.r_[query, np.arange(m)], np.r_[design.chance(prices.every)[design.order], np.ones(m)]
    place = np.lexsort([np.r_[-np.arange(len(query)), np.ones(m)], owner])
    owner, cost = owner[place], np.r_[deep, np.zeros(m)][place]
    end = np.clip(end[place], low[owner], high[owner])
    kept = _lengths(owner, end, low) > _SAME * end  # documents that are equally probable but for rounding share a part
    owner, end, cost = owner[kept], end[kept], cost[kept]
    length = _lengths(owner, end, low)
    key = rng.integers(0, np.iinfo(np.uint64).max, m, dtype=np.uint64, endpoint=True)
    chosen = even_parts(np.searchsorted(owner, np.arange(m + 1)), length, cost, key)
    return np.asarray(end[chosen] - (1 - rng.random(len(chosen))) * length[chosen])


def _lengths(owner: np.ndarray, end: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The lengths of parts that end so and begin where the one before ends, or at the lower bound of each query."""
    return end - np.where(np.r_[True, owner[1:] != owner[:-1]], low[owner], np.r_[0.0, end[:-1]])


def cut_to_budget(
    design: DocumentDesign,
    prices: Costs,
    before: np.ndarray,
    drawn: np.ndarray,
    excess: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Cut what is drawn, bool[N], and was not before, so that it costs less by an excess.

    One query is cut, drawn among those whose new documents allow it; if fewer than two do, all new documents of some.

    Returns:
        The probability of each document to stay, float64[N], given what was drawn, and which stay, bool[N].
    """
    order = design.order[drawn[design.order]]
    query, price = prices.query(order), prices.of(order)
    deep = np.cumsum(price) - price
    deep -= deep[np.searchsorted(query, query)]
    total, new = prices.sums(order, price), prices.sums(order, price * ~before[order])
    dear = new >= excess * (1 - _ROUNDING)
    beyond = dear[query] & (deep + price > (total[query] - excess) + _ROUNDING * excess)
    certain = design.opening[query] * design.inclusion[order] >= 1
    spared = dear & (np.bincount(query[beyond & certain], minlength=len(dear)) == 0)
    can = np.flatnonzero(spared if spared.sum() >= 2 else dear)
    chance, stays = np.ones(len(drawn)), drawn.copy()
    if len(can) < 2:
        # Not by exponential clocks: a certain query must come, unless chance puts the cost above the budget.
        left = float(new.sum()) - excess
        if not within_budget(new.max(), left):
            raise ValueError(f"{left:.4g} more may not pay for the new documents of one query; raise the budget")
        some = next(priorities((new > 0).astype(float), new, [left], 1, rng, UNIFORM)).first
        beyond, share = ~before[order], np.ones(len(new))
        share[some.rows] = some.expected
        chance[order[beyond]] = share[query[beyond]]
        stays[order[beyond & ~np.isin(query, some.rows)]] = False
        return chance, stays
    beyond &= np.isin(query, can)
    chance[order[beyond]] = 1 - 1 / len(can)
    stays[order[beyond & (query == rng.choice(can))]] = False
    return chance, stays


def parts_by_queries(sample: TwoPhase, prices: Costs, number: int, rng: np.random.Generator) -> list[TwoPhase]:
    """What comes first of a sample from the top: one of K parts, two, and so on up to all [theory 19].

    Given the sample, each of its queries is in the first k parts with probability ``k/K``, and each part has its share
    of the costs. So the first parts are a sample of the same kind with smaller probabilities, and given the whole
    sample the mean of their estimate is that of the whole. The sample must not depend on the source of randomness.
    """
    turn, cost = rng.permutation(prices.queries), prices.spent(sample.drawn)
    opened = np.unique(prices.every[sample.drawn])
    units = opened[np.lexsort([turn[opened], cost[opened]])]
    place = np.full(prices.queries, np.inf)
    place[units] = (rng.random() + _STEP * np.arange(len(units))) % 1
    parts = []
    for share in np.arange(1, number) / number:
        drawn = sample.drawn & (place < share)[prices.every]
        design = replace(sample.design, opening=sample.design.opening * share)
        opening, spent = np.where(place < share, sample.opening * share, 0.0), float(cost[place < share].sum())
        parts.append(replace(sample, design=design, opening=opening, drawn=drawn, spent=spent))
    return [*parts, sample]
