"""Drawing documents within a budget, which also pays for opening their queries [theory 9]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pt_active.sampling.chances import UNIFORM, within_budget
from pt_active.sampling.draws import pays_for_all, priorities
from pt_active.sampling.sample import Costs, DocumentDesign, Sample, TwoPhase
from pt_active.sampling.successive import Succession, priorities_of

_ROUNDING = 1e-9  # Share of an excess below which a difference of costs is rounding
_SAME = 1e-12  # Probabilities that differ by less than this share are equal but for rounding


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
        return _from_the_top(design, prices, budget, rng)
    clock = rng.exponential(size=len(design.inclusion)) if clock is None else clock
    return Succession(design, priorities_of(design, clock), prices).drawn_to(budget)


def _from_the_top(design: DocumentDesign, prices: Costs, budget: float, rng: np.random.Generator) -> TwoPhase:
    """Draw a depth for each query; what exceeds the budget is cut off from one of them, or queries are left out."""
    dearest = prices.overhead + float(prices.sums(design.order, prices.cost[design.order]).max())
    if not within_budget(np.array(dearest), budget):
        raise ValueError(
            f"budget {budget:g} may not pay for the documents drawn in one query, which can cost {dearest:.4g}; "
            "raise the budget, or cut the ranking depth"
        )
    query, number = prices.every, depth_numbers(design, prices, rng)
    drawn, opening = number[query] < design.chance(query), np.where(number < design.opening, design.opening, 0.0)
    price = prices.spent(drawn)
    if not pays_for_all(budget, price):
        cut = cut_to_budget(design, prices, drawn, float(price.sum()) - budget, rng)
        if cut is None:
            # Not by exponential clocks: a certain query must come, unless chance puts the cost above the budget.
            queries = next(priorities((opening > 0).astype(float), price, [budget], 1, rng, UNIFORM)).first
            opening[queries.rows] *= queries.expected
            opening[~np.isin(np.arange(prices.queries), queries.rows)] = 0.0
            drawn &= opening[query] > 0
        else:
            kept, drawn = cut
            design = replace(design, inclusion=design.inclusion * kept)
        price = prices.spent(drawn)
    return TwoPhase(design, Sample.once(opening), drawn, float(price.sum()))


def depth_numbers(design: DocumentDesign, prices: Costs, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers, float64[m], at a nearly fixed cost: a document is judged if its ``Π π`` is above its query's."""
    from pt_active.sampling._kernels import even_parts

    owner, end, length, cost = _parts(design, prices)
    key = rng.integers(0, np.iinfo(np.uint64).max, prices.queries, dtype=np.uint64, endpoint=True)
    chosen = even_parts(np.searchsorted(owner, np.arange(prices.queries + 1)), length, cost, key)
    return np.asarray(end[chosen] - (1 - rng.random(len(chosen))) * length[chosen])


def _parts(design: DocumentDesign, prices: Costs) -> tuple[np.ndarray, ...]:
    """Parts of the range of each query's uniform number in which the same documents are judged: query, end, length.

    The last number of a part, float64[P], is what the query costs in it.
    """
    query, m, price = prices.query(design.order), prices.queries, prices.of(design.order)
    deep = np.cumsum(price)
    deep -= (deep - price)[np.searchsorted(query, query)]
    # From the deepest document of each query to the top, and last the part in which nothing is judged.
    owner, end = np.r_[query, np.arange(m)], np.r_[design.chance(prices.every)[design.order], np.ones(m)]
    place = np.lexsort([np.r_[-np.arange(len(query)), np.ones(m)], owner])
    owner, end, total = owner[place], end[place], np.r_[deep, np.zeros(m)][place]
    kept = _lengths(owner, end) > _SAME * end  # documents that are equally probable but for rounding share a part
    owner, end, total = owner[kept], end[kept], total[kept]
    return owner, end, _lengths(owner, end), total


def _lengths(owner: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The lengths of parts that end so and begin where the one before ends, or at 0 in each query."""
    return end - np.where(np.r_[True, owner[1:] != owner[:-1]], 0.0, np.r_[0.0, end[:-1]])


def cut_to_budget(
    design: DocumentDesign, prices: Costs, drawn: np.ndarray, excess: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Cut one query judged from the top, drawn among those whose depths allow it; probabilities stay exact."""
    order = design.order[drawn[design.order]]
    query, price = prices.query(order), prices.of(order)
    before = np.cumsum(price) - price
    before -= before[np.searchsorted(query, query)]
    total = prices.sums(order, price)
    dear = total >= excess * (1 - _ROUNDING)
    beyond = dear[query] & (before + price > (total[query] - excess) + _ROUNDING * excess)
    certain = design.opening[query] * design.inclusion[order] >= 1
    spared = dear & (np.bincount(query[beyond & certain], minlength=len(dear)) == 0)
    can = np.flatnonzero(spared if spared.sum() >= 2 else dear)
    if len(can) < 2:
        return None
    beyond &= np.isin(query, can)
    chance, stays = np.ones(len(drawn)), drawn.copy()
    chance[order[beyond]] = 1 - 1 / len(can)
    stays[order[beyond & (query == rng.choice(can))]] = False
    return chance, stays
