"""Compiled loops over the documents of queries; the arrays are those of `pt_active._kernels`."""

from __future__ import annotations

import numpy as np

from pt_active._kernels import _by_rank, _compiled

_CERTAIN = 1e-12
"""Probabilities nearer than this to 0 or 1 are decided."""


@_compiled
def cascade_gradients(indptr, ranks, variable, weights, spread, gradient):  # type: ignore[no-untyped-def]
    """``∂ℓ_s/∂κ_z = (u(i) − S_i) Π_{l<i} (1 − κ_l)`` [theory 9], written into the last.

    Args:
        indptr: int64[m+1].
        ranks: int32[k, N].
        variable: float64[N, 2], the value of each document's κ, and the second moment that stands for its square
            in the product.
        weights: float64[L], ``u(i)``.
        spread: whether the product is the root of ``Π E[(1 − κ_l)²]`` instead of ``Π (1 − κ_l)``.
        gradient: float64[k, N], zeros on entry.
    """
    depth = len(weights)
    order = np.empty(depth, dtype=np.int64)
    moment = np.empty((2, depth))
    tails = np.empty(depth)
    for x in range(len(indptr) - 1):
        for s in range(ranks.shape[0]):
            n = _by_rank(indptr[x], indptr[x + 1], ranks[s], variable, order, moment)
            tail = 0.0
            for i in range(n - 1, -1, -1):
                tails[i] = tail
                tail = weights[i] * moment[0, i] + (1.0 - moment[0, i]) * tail
            reach = 1.0
            for i in range(n):
                if order[i] >= 0:
                    gradient[s, order[i]] = (weights[i] - tails[i]) * (np.sqrt(reach) if spread else reach)
                miss = 1.0 - moment[0, i]
                reach *= miss - moment[0, i] + moment[1, i] if spread else miss


@_compiled
def revealed(indptr, ranks, variable, observed, order, weights, step):  # type: ignore[no-untyped-def]
    """What each label changes in the expectation of a cascade measure when labels become known one by one.

    Args:
        indptr: int64[m+1].
        ranks: int32[k, N].
        variable: float64[N, 2], in the first column what is expected of each document; overwritten by ``observed``.
        observed: float64[N], what was found.
        order: int64[n], the judged documents, query by query, in the order in which they become known.
        weights: float64[L], ``u(i)``.
        step: float64[k, N], zeros on entry.
    """
    k, depth = ranks.shape[0], len(weights)
    by_rank = np.empty((k, depth), dtype=np.int64)
    moment = np.empty((k, 2, depth))
    length = np.empty(k, dtype=np.int64)
    place = 0
    for x in range(len(indptr) - 1):
        if place == len(order) or order[place] >= indptr[x + 1]:
            continue
        for s in range(k):
            length[s] = _by_rank(indptr[x], indptr[x + 1], ranks[s], variable, by_rank[s], moment[s])
        while place < len(order) and order[place] < indptr[x + 1]:
            z = order[place]
            for s in range(k):
                at = ranks[s, z] - 1
                if not 0 <= at < depth:
                    continue
                tail, reach = 0.0, 1.0
                for i in range(length[s] - 1, at, -1):
                    tail = weights[i] * moment[s, 0, i] + (1.0 - moment[s, 0, i]) * tail
                for i in range(at):
                    reach *= 1.0 - moment[s, 0, i]
                step[s, z] = (observed[z] - moment[s, 0, at]) * reach * (weights[at] - tail)
                moment[s, 0, at] = observed[z]
            place += 1


@_compiled
def pooled_sizes(indptr, order, gain, cost, overhead, size):  # type: ignore[no-untyped-def]
    """The best inclusion probabilities that do not rise along an order, up to a factor: ``√(Σ g / Σ λ)`` of pools.

    Minimises ``Σ g/ψ`` at equal ``Σ λ ψ`` under ``ψ_1 ≥ ψ_2 ≥ …``, where the first document of a query also bears
    its overhead: neighbours that would rise are pooled (Barlow and Brunk 1972).

    Args:
        indptr: int64[m+1].
        order: int64[n], documents, query by query.
        gain: float64[N], g.
        cost: float64[N], λ.
        overhead: λ₀.
        size: float64[N], zeros on entry.
    """
    n = len(order)
    pool_gain, pool_cost, pool_start = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, dtype=np.int64)
    place = 0
    for x in range(len(indptr) - 1):
        pools = 0
        first = place
        while place < n and order[place] < indptr[x + 1]:
            z = order[place]
            pool_gain[pools], pool_start[pools] = gain[z], place
            pool_cost[pools] = cost[z] + (overhead if place == first else 0.0)
            pools += 1
            place += 1
            while (
                pools > 1 and pool_gain[pools - 2] * pool_cost[pools - 1] < pool_gain[pools - 1] * pool_cost[pools - 2]
            ):
                pools -= 1
                pool_gain[pools - 1] += pool_gain[pools]
                pool_cost[pools - 1] += pool_cost[pools]
        pool_start[pools] = place
        for pool in range(pools):
            for at in range(pool_start[pool], pool_start[pool + 1]):
                size[order[at]] = np.sqrt(pool_gain[pool] / pool_cost[pool])


@_compiled
def pivotal(inclusion, order, uniform, drawn):  # type: ignore[no-untyped-def]
    """Draw with given inclusion probabilities, two neighbours of an order fighting at a time (Deville and Tillé 1998).

    Args:
        inclusion: float64[N], π.
        order: int64[n], the documents to draw from.
        uniform: float64[n], random numbers.
        drawn: bool[N], false on entry.
    """
    if len(order) == 0:
        return
    holder = order[0]
    held = inclusion[holder]
    for place in range(1, len(order)):
        rival = order[place]
        both = held + inclusion[rival]
        if held <= _CERTAIN or held >= 1.0 - _CERTAIN:
            drawn[holder] = held > 0.5
            holder, held = rival, inclusion[rival]
        elif both < 1.0:
            if uniform[place] * both < inclusion[rival]:
                holder = rival
            held = both
        else:
            if uniform[place] * (2.0 - both) < 1.0 - inclusion[rival]:
                drawn[holder] = True
                holder = rival
            else:
                drawn[rival] = True
            held = both - 1.0
    drawn[holder] = uniform[0] < held if _CERTAIN < held < 1.0 - _CERTAIN else held > 0.5
