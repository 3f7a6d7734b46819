"""Compiled loops for drawing documents: pivotal sampling and pooled sizes."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._kernels import _compiled

_CERTAIN = 1e-9
"""A sum of probabilities within this of 0 or 1 is 0 or 1, because it carries their rounding."""

_SAME = 1 + 1e-9
"""Sizes whose ratio is at most this are pooled, so that those that are equal but for rounding become equal."""


@_compiled
def pooled_sizes(indptr, order, gain, cost, overhead, size, common, opening):  # type: ignore[no-untyped-def]
    """The best inclusion probabilities that do not rise along an order, up to a factor: ``√(Σ g / Σ λ)`` of each pool.

    Minimises ``Σ g/ψ + Σ h/Π`` at equal ``Σ λ ψ + Σ λ₀ Π`` under ``Π ≥ ψ_1 ≥ ψ_2 ≥ …``. The opening of a query comes
    first in its order, and is pooled with the first document if ``h = 0``. Neighbours whose probabilities would rise
    are pooled (Barlow and Brunk 1972).

    Shapes: indptr int64[m+1], order int64[n], gain, cost, size float64[N], common and opening float64[m].
    """
    n = len(order)
    pool_gain, pool_cost, pool_start = np.empty(n + 2), np.empty(n + 2), np.empty(n + 2, dtype=np.int64)
    place = 0
    for x in range(len(indptr) - 1):
        pools = 0
        first = place
        if common[x] > 0 and place < n and order[place] < indptr[x + 1]:
            pool_gain[0], pool_cost[0], pool_start[0] = common[x], overhead, place
            pools = 1
        while place < n and order[place] < indptr[x + 1]:
            z = order[place]
            pool_gain[pools], pool_start[pools] = gain[z], place
            pool_cost[pools] = cost[z] + (overhead if place == first and common[x] == 0 else 0.0)
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
        if pools > 0:
            opening[x] = np.sqrt(pool_gain[0] / pool_cost[0])
        for pool in range(pools):
            for at in range(pool_start[pool], pool_start[pool + 1]):
                size[order[at]] = np.sqrt(pool_gain[pool] / pool_cost[pool])


@_compiled
def pivotal(inclusion, order, uniform, drawn):  # type: ignore[no-untyped-def]
    """Draw with given inclusion probabilities by duels of neighbours in an order (Deville and Tillé 1998).

    Shapes: inclusion float64[N], order int64[n], uniform float64[n], drawn bool[N].
    """
    if len(order) == 0:
        return
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
