"""Compiled loops for drawing documents: pivotal sampling, pooled sizes, and depths at a nearly fixed cost."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from pt_active.relevance._kernels import _compiled
from pt_active.relevance._revealed_kernels import uniform

_CERTAIN = 1e-9  # A sum of probabilities within this of 0 or 1 is 0 or 1, because it carries their rounding

_SAME = 1 + 1e-9
"""Sizes whose ratio is at most this are pooled, so that those that are equal but for rounding become equal."""

_CERTAIN_HALF = 1e-12  # A probability within this of 0 or 1 counts as 0 or 1

_SAME_COST = 1e-9
"""Costs that differ by less than this share of the largest count as equal; so do gains that differ by this share."""

_BELOW = 1e-6  # What the logarithm of a cost may lie below a whole number and count as the whole number


@_compiled
def pooled_sizes(indptr, order, gain, cost, size):  # type: ignore[no-untyped-def]
    """``√(Σ g / Σ λ)`` of pools, so that none rises along an order [theory 9, BB]."""
    n, most = len(order), 1
    for x in range(len(indptr) - 1):  # np.diff takes seconds to compile
        most = max(most, 1 + indptr[x + 1] - indptr[x])
    pool_gain, pool_cost, pool_start = np.empty(most), np.empty(most), np.empty(most, dtype=np.int64)
    place = 0
    for x in range(len(indptr) - 1):
        pools = 0
        while place < n and order[place] < indptr[x + 1]:
            z = order[place]
            pool_gain[pools], pool_start[pools] = gain[z], place
            pool_cost[pools] = cost[z]
            pools += 1
            place += 1
            while (
                pools > 1
                and pool_gain[pools - 2] * pool_cost[pools - 1] <= _SAME * pool_gain[pools - 1] * pool_cost[pools - 2]
            ):
                pools -= 1
                pool_gain[pools - 1] += pool_gain[pools]
                pool_cost[pools - 1] += pool_cost[pools]
        pool_start[pools] = place
        for pool in range(pools):
            for at in range(pool_start[pool], pool_start[pool + 1]):
                size[order[at]] = np.sqrt(pool_gain[pool] / pool_cost[pool])


@_compiled
def pivotal(inclusion, order, uniform):  # type: ignore[no-untyped-def]
    """Draw bool[N] with inclusion float64[N] by duels of neighbours in an order (Deville and Tillé 1998)."""
    drawn = np.zeros(len(order), dtype=np.bool_)
    holder = order[0]
    held = inclusion[holder]
    for place in range(1, len(order)):
        rival = order[place]
        both = held + inclusion[rival]
        if held <= 0.0 or held >= 1.0:
            drawn[holder] = held > 0.5
            holder, held = rival, inclusion[rival]
        elif both < 1.0:
            if uniform[place] * both < inclusion[rival]:
                holder = rival
            held = both if both < 1.0 - _CERTAIN else 1.0
        else:
            # Where both is 1 but for rounding, the rival wins by the same random numbers as if it were below 1.
            if uniform[place] * (2.0 - both) < 1.0 - held:
                drawn[rival] = True
            else:
                drawn[holder] = True
                holder = rival
            held = both - 1.0 if both > 1.0 + _CERTAIN else 0.0
    drawn[holder] = uniform[0] < held
    return drawn


@_compiled
def even_parts(ptr, length, cost, key):  # type: ignore[no-untyped-def]
    """Draw one part of [0, 1) for each query by its length, int64[m], at a nearly fixed cost [theory 9].

    A query splits its parts in two until the halves differ in cost. Then it waits for a trade with another one.
    """
    m = len(ptr) - 1
    low, high = ptr[:-1].copy(), ptr[1:].copy()
    split, chance, swing = high.copy(), np.ones(m), np.zeros(m)  # where halves meet, the first one's chance, their gap
    negligible = _SAME_COST * cost.max() if len(cost) else 0.0
    used, decided = np.zeros(m, dtype=np.int64), [np.int64(x) for x in range(m)]
    waiting = [(0.0, np.int64(-1))]
    waiting.pop()
    while len(decided) > 0 or len(waiting) > 0:
        if len(decided) > 0:  # keeps the half that it is certain of
            x = decided.pop()
            if chance[x] > 0.5:
                high[x] = split[x]
            else:
                low[x] = split[x]
            if high[x] - low[x] <= 1:
                continue
            split[x], chance[x], swing[x] = _halves(length, cost, low[x], high[x])
            if swing[x] > negligible and _CERTAIN_HALF < chance[x] < 1.0 - _CERTAIN_HALF:
                turn = _next(x, key, used) - np.floor(np.log2(swing[x]) + _BELOW)
                heappush(waiting, (turn, x))
            else:
                chance[x] = 1.0 if _next(x, key, used) < chance[x] else 0.0
                decided.append(x)
            continue
        turn, one = heappop(waiting)
        if len(waiting) == 0:  # nobody is left to trade with
            chance[one] = 1.0 if _next(one, key, used) < chance[one] else 0.0
            decided.append(one)
            continue
        _, other = heappop(waiting)
        # What one gains in expected cost, the other loses; the step is as large as both probabilities allow.
        up = min((1.0 - chance[one]) * swing[one], chance[other] * swing[other])
        down = min(chance[one] * swing[one], (1.0 - chance[other]) * swing[other])
        moved = up if _next(one, key, used) * (up + down) < down else -down
        chance[one] += moved / swing[one]
        chance[other] -= moved / swing[other]
        for x in (one, other):
            if _CERTAIN_HALF < chance[x] < 1.0 - _CERTAIN_HALF:
                heappush(waiting, (turn, x))
            else:
                decided.append(x)
    return low


@_compiled
def _next(x, key, used):  # type: ignore[no-untyped-def]
    """The next random number of a query."""
    used[x] += 1
    return uniform(key[x], used[x])


@_compiled
def _halves(length, cost, low, high):  # type: ignore[no-untyped-def]
    """Where to split parts in two, the probability of the first half, and by how much the halves differ in cost."""
    total, priced = 0.0, 0.0
    for i in range(low, high):
        total += length[i]
        priced += length[i] * cost[i]
    best, at, first, cheaper = -1.0, low + 1, 0.5, 0.0
    left, paid = 0.0, 0.0
    for i in range(low, high - 1):
        left += length[i]
        paid += length[i] * cost[i]
        apart = paid / left - (priced - paid) / (total - left)
        told = left * (total - left) * apart * apart
        if told > best * (1.0 + _SAME_COST):
            best, at, first, cheaper = told, i + 1, left / total, apart
    return at, first, max(cheaper, 0.0)
