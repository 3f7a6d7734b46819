"""Drawing documents within a budget: first queries to open, then documents in them [theory 9]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.drawings import SURPRISES
from pt_active.sampling.draws import pays_for_all, priorities
from pt_active.sampling.sample import Costs, DocumentDesign, Sample, TwoPhase
from pt_active.sampling.successive import Succession, priorities_of
from pt_active.sampling.surprises import drawn_in_one_pass, paid_for

APART_SHARE = 0.25
"""Probability that a query has its documents drawn independently although those of the others are spread. Products of
the residuals of a query can be estimated from these queries alone: what spreading gains, and how a cascade bends."""

_ROUNDING = 1e-9  # Share of an excess below which a difference of costs is rounding
_SAME = 1e-12  # Probabilities that differ by less than this share are equal but for rounding
_MAX_DEVIATIONS = 6  # Standard deviations by which the cost of the documents drawn in a query may exceed its mean


def draw_documents(
    design: DocumentDesign,
    prices: Costs,
    budget: float,
    rng: np.random.Generator,
    clock: np.ndarray | None = None,
) -> TwoPhase:
    """Draw documents as if every query were opened, then open queries by ``U/Π`` while the budget pays for theirs."""
    if design.rate is not None:
        if clock is None:
            whole = design.unit == "query"
            clock = rng.exponential(size=prices.queries if whole else len(design.inclusion))
            clock = clock[prices.every] if whole else clock
        return Succession(design, priorities_of(design, prices, clock), prices).drawn_to(budget)
    _check_prices(design, prices, budget)
    if design.drawing == "depth":
        return _from_the_top(design, prices, budget, rng)
    m = prices.queries
    if design.drawing == SURPRISES:
        drawn = drawn_in_one_pass(design, prices, rng)
        if prices.overhead == 0:
            design, drawn = paid_for(design, prices, drawn, budget, rng)
        return _opened(design, prices, budget, rng, drawn)
    apart = rng.random(m) < APART_SHARE if design.drawing == "spread" else np.full(m, design.drawing == "poisson")
    drawn = _second_phase(design, prices, apart, rng)
    return replace(_opened(design, prices, budget, rng, drawn), apart=apart)


def _opened(
    design: DocumentDesign, prices: Costs, budget: float, rng: np.random.Generator, drawn: np.ndarray
) -> TwoPhase:
    """Open as many queries as the budget pays for, given what would be drawn in each."""
    price, every = prices.spent(drawn), np.arange(prices.queries)
    queries = _first_phase(design.opening, price, budget, rng)
    opened = np.isin(every, queries.rows)
    return TwoPhase(
        design, queries, drawn & opened[prices.every], np.zeros(len(every), dtype=bool), float(price[opened].sum())
    )


def _from_the_top(design: DocumentDesign, prices: Costs, budget: float, rng: np.random.Generator) -> TwoPhase:
    """Draw a depth for each query; what exceeds the budget is cut off from one of them, or queries are left out."""
    query, number = prices.every, depth_numbers(design, prices, rng)
    drawn, opening = number[query] < design.chance(query), np.where(number < design.opening, design.opening, 0.0)
    price = prices.spent(drawn)
    if not pays_for_all(budget, price):
        cut = cut_to_budget(design, prices, drawn, float(price.sum()) - budget, rng)
        if cut is None:
            queries = _first_phase((opening > 0).astype(np.float64), price, budget, rng)
            opening[queries.rows] *= queries.expected
            opening[~np.isin(np.arange(prices.queries), queries.rows)] = 0.0
            drawn &= opening[query] > 0
        else:
            kept, drawn = cut
            design = replace(design, inclusion=design.inclusion * kept)
        price = prices.spent(drawn)
    return TwoPhase(design, Sample.once(opening), drawn, np.zeros(prices.queries, dtype=bool), float(price.sum()))


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
    query, m = prices.query(design.order), prices.queries
    chance = design.opening[query] * design.inclusion[design.order]
    first, price = prices.firsts(design.order), prices.of(design.order)
    # From the deepest document of each query to the top, and last the part in which nothing is judged.
    deep = np.cumsum(price)
    deep -= (deep - price)[np.maximum.accumulate(np.where(first, np.arange(len(query)), 0))]
    owner = np.r_[query[::-1], np.arange(m)]
    end, total = np.r_[chance[::-1], np.ones(m)], np.r_[deep[::-1], np.zeros(m)]
    place = np.lexsort([np.r_[np.arange(len(query)), np.full(m, len(query))], owner])
    owner, end, total = owner[place], end[place], total[place]
    new = np.r_[True, owner[1:] != owner[:-1]]
    # Documents that are equally probable but for rounding share a part.
    kept = end - np.where(new, 0.0, np.r_[0.0, end[:-1]]) > _SAME * end
    owner, end, total, new = owner[kept], end[kept], total[kept], np.r_[True, owner[kept][1:] != owner[kept][:-1]]
    length = end - np.where(new, 0.0, np.r_[0.0, end[:-1]])
    return owner, end, length, total


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


def _check_prices(design: DocumentDesign, prices: Costs, budget: float) -> None:
    """Raise if the budget might not pay for the documents drawn in a single query, before anything is drawn."""
    price, chance = prices.cost[design.order], design.inclusion[design.order]
    parts = price, price * chance, price**2 * chance * (1 - chance)
    most, mean, variance = (prices.sums(design.order, part) for part in parts)
    if design.drawing == SURPRISES and prices.overhead == 0:
        return
    if design.drawing != "depth":
        most = np.minimum(most, mean + _MAX_DEVIATIONS * np.sqrt(variance))
    dearest = prices.overhead + most.max()
    if dearest > budget * (1 + 1e-9):
        raise ValueError(
            f"budget {budget:g} may not pay for the documents drawn in one query, which can cost {dearest:.4g}; "
            "raise the budget, or cut the ranking depth"
        )


def _first_phase(opening: np.ndarray, price: np.ndarray, budget: float, rng: np.random.Generator) -> Sample:
    can = opening > 0
    if pays_for_all(budget, price[can]):
        return Sample.once(can.astype(np.float64))
    # Not by exponential clocks: a query with Π = 1 must be certain, unless chance puts the cost above the budget.
    return next(priorities(opening, price, [budget], 1, rng, UNIFORM)).first


def _second_phase(design: DocumentDesign, prices: Costs, apart: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """bool[N], which documents are judged if their query is opened."""
    from pt_active.sampling import _kernels

    drawn = np.zeros(len(design.inclusion), dtype=bool)
    query, inclusion = prices.query(design.order), design.inclusion[design.order]
    alone = apart[query]
    drawn[design.order] = alone & (rng.random(len(query)) < inclusion)
    if not alone.all():
        documents = design.order[~alone]
        order = documents[np.lexsort([rng.random(len(documents)), rng.random(len(apart))[query[~alone]]])]
        _kernels.pivotal(design.inclusion, order, rng.random(len(order)), drawn)
    return drawn
