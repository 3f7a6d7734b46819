"""Compiled loop for drawing depths of queries that together cost nearly what is expected."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from pt_active.relevance._kernels import _compiled
from pt_active.relevance._revealed_kernels import uniform

_CERTAIN = 1e-12
"""A probability within this of 0 or 1 counts as 0 or 1."""

_SAME = 1e-9
"""Costs that differ by less than this share of the largest count as equal; so do gains that differ by this share."""

_BELOW = 1e-6
"""What the logarithm of a cost may lie below a whole number and count as the whole number."""


@_compiled
def even_parts(ptr, length, cost, key):  # type: ignore[no-untyped-def]
    """Draw one part of [0, 1) for each query, with the probability of its length, at a nearly fixed total cost.

    The parts that are left for a query are split in two where that tells most about its cost. Then two queries at a
    time trade probability at equal expected cost until one of them is certain of its half, as in the cube method with a
    single constraint (Deville and Tillé 2004); it is split again, until each query has one part. Queries whose cost
    hangs most on their half trade first, in random order up to a factor of 2, so that what remains at the end is cheap.

    Shapes: ptr int64[m+1], length and cost float64[P], key uint64[m] → int64[m].
    """
    m = len(ptr) - 1
    low, high = ptr[:-1].copy(), ptr[1:].copy()
    split, chance, swing = np.zeros(m, dtype=np.int64), np.zeros(m), np.zeros(m)
    negligible = _SAME * cost.max() if len(cost) else 0.0
    waiting = [(0.0, np.int64(-1))]
    waiting.pop()
    used = np.zeros(m, dtype=np.int64)
    for x in range(m):
        _enter(x, length, cost, low, high, split, chance, swing, negligible, key, used, waiting)
    while len(waiting) > 1:
        turn, one = heappop(waiting)
        _, other = heappop(waiting)
        # What one gains in expected cost, the other loses; the step is as large as both probabilities allow.
        up = min((1.0 - chance[one]) * swing[one], chance[other] * swing[other])
        down = min(chance[one] * swing[one], (1.0 - chance[other]) * swing[other])
        moved = up if _next(one, key, used) * (up + down) < down else -down
        chance[one] += moved / swing[one]
        chance[other] -= moved / swing[other]
        for x in (one, other):
            if _CERTAIN < chance[x] < 1.0 - _CERTAIN:
                heappush(waiting, (turn, x))
            else:
                _keep(x, split, chance, low, high)
                _enter(x, length, cost, low, high, split, chance, swing, negligible, key, used, waiting)
    while len(waiting) > 0:
        _, x = waiting.pop()
        chance[x] = 1.0 if _next(x, key, used) < chance[x] else 0.0
        _keep(x, split, chance, low, high)
        _enter(x, length, cost, low, high, split, chance, swing, negligible, key, used, waiting)
    return low


@_compiled
def _next(x, key, used):  # type: ignore[no-untyped-def]
    """The next random number of a query."""
    used[x] += 1
    return uniform(key[x], used[x])


@_compiled
def _enter(x, length, cost, low, high, split, chance, swing, negligible, key, used, waiting):  # type: ignore[no-untyped-def]
    """Split the parts of a query until its halves differ in cost, and let it wait for a trade."""
    while high[x] - low[x] > 1:
        split[x], chance[x], swing[x] = _halves(length, cost, low[x], high[x])
        if swing[x] > negligible and _CERTAIN < chance[x] < 1.0 - _CERTAIN:
            heappush(waiting, (_next(x, key, used) - np.floor(np.log2(swing[x]) + _BELOW), np.int64(x)))
            return
        chance[x] = 1.0 if _next(x, key, used) < chance[x] else 0.0
        _keep(x, split, chance, low, high)


@_compiled
def _keep(x, split, chance, low, high):  # type: ignore[no-untyped-def]
    """Keep the half of a query that it is certain of."""
    if chance[x] > 0.5:
        high[x] = split[x]
    else:
        low[x] = split[x]


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
        if told > best * (1.0 + _SAME):
            best, at, first, cheaper = told, i + 1, left / total, apart
    return at, first, max(cheaper, 0.0)
