"""Compiled loops that compute measures, their moments and their gradients for arrays of documents.

The documents of query x are ``indptr[x]:indptr[x+1]``. The rank weights ``d(i)`` and ``u(i)`` are those of the ranks
1, 2, …; deeper ranks do not count. The document variables are independent given the query.

Shapes: indptr int64[m+1], ranks int32[k, N], variable float64[N, 2], weights float64[L], order int64[n], observed
float64[N]; what is written is mean float64[m, k], covariance float64[m, k, k], gradient and step float64[k, N].
"""

from __future__ import annotations

import numpy as np

from pt_active.frames.compiling import compiled

_MIN_REACH = 1e-200  # If the probability of reaching a rank is below this, deeper ranks cannot change a sum of doubles

_compiled = compiled(nogil=True, error_model="numpy")


@_compiled
def cascade_moments(indptr, ranks, variable, weights, mean, covariance):  # type: ignore[no-untyped-def]
    """Write those of ``Σ_i u(i) κ_i Π_{l<i} (1 − κ_l)`` [theory 3, T A.9, A.18] to ``mean`` and ``covariance``."""
    k = ranks.shape[0]
    depth = len(weights)
    order = np.empty((k, depth), dtype=np.int64)
    moment = np.empty((k, 2, depth))
    length = np.empty(k, dtype=np.int64)
    tails = np.empty(depth)
    tree = np.empty((4 * depth + 2, 2))
    for x in range(len(indptr) - 1):
        for a in range(k):
            length[a] = _by_rank(indptr[x], indptr[x + 1], ranks[a], variable, order[a], moment[a])
            first, raw = _cascade_one(length[a], moment[a, 0], moment[a, 1], weights, tails)
            mean[x, a] = first
            covariance[x, a, a] = max(raw - first * first, 0.0)
        for a in range(k):
            for b in range(a):
                if np.array_equal(order[a, : length[a]], order[b, : length[b]]):  # without errors of rounding
                    covariance[x, a, b] = covariance[x, b, a] = covariance[x, a, a]
                    continue
                cross = _cascade_pair(length[a], order[a], moment[a], ranks[b], length[b], moment[b], weights, tree)
                covariance[x, a, b] = cross - mean[x, a] * mean[x, b]
                covariance[x, b, a] = covariance[x, a, b]


@_compiled
def cascade_values(indptr, ranks, variable, weights, values):  # type: ignore[no-untyped-def]
    """Write ``Σ_i u(i) κ_i Π_{l<i} (1 − κ_l)`` for any real κ to ``values``, float64[m, k]."""
    depth = len(weights)
    order = np.empty(depth, dtype=np.int64)
    moment = np.empty((2, depth))
    tails = np.empty(depth)
    for x in range(len(indptr) - 1):
        for s in range(ranks.shape[0]):
            n = _by_rank(indptr[x], indptr[x + 1], ranks[s], variable, order, moment)
            values[x, s] = _tails(n, moment[0], weights, tails)


@_compiled
def _by_rank(start, stop, rank, variable, order, moment):  # type: ignore[no-untyped-def]
    """Write a query's documents by rank to ``order`` (-1 if none) and their two moments; returns the deepest rank."""
    depth = len(order)
    deepest = 0
    for z in range(start, stop):
        if deepest < rank[z] <= depth:
            deepest = rank[z]
    for i in range(deepest):
        order[i], moment[0, i], moment[1, i] = -1, 0.0, 0.0
    for z in range(start, stop):
        i = rank[z] - 1
        if 0 <= i < depth:
            order[i], moment[0, i], moment[1, i] = z, variable[z, 0], variable[z, 1]
    return deepest


@_compiled
def _tails(n, mu, weights, tails):  # type: ignore[no-untyped-def]
    """``E[ℓ]`` of a cascade; ``tails`` gets that of the ranks below each, given that the reader reaches them."""
    tail = 0.0
    for i in range(n - 1, -1, -1):
        tails[i] = tail
        tail = weights[i] * mu[i] + (1.0 - mu[i]) * tail
    return tail


@_compiled
def _cascade_one(n, mu, second, weights, tails):  # type: ignore[no-untyped-def]
    """``E[ℓ]`` and ``E[ℓ²]`` of a cascade measure; nothing is divided by ``1 − κ``, so that κ = 1 is allowed."""
    first = _tails(n, mu, weights, tails)
    raw = 0.0
    reach_squared = 1.0
    for i in range(n):
        cross = mu[i] - second[i]
        raw += reach_squared * (weights[i] * (weights[i] * second[i] + 2.0 * cross * tails[i]))
        reach_squared *= (1.0 - mu[i]) - cross
    return first, raw


@_compiled
def _cascade_pair(n_1, order_1, moment_1, rank_2, n_2, moment_2, weights, tree):  # type: ignore[no-untyped-def]
    """``E[ℓ_1 ℓ_2]`` by a segment tree over r_2 of the monoid ``(P, S)·(P', S') = (P P', S + P S')``."""
    size = 1
    while size < n_2:
        size *= 2
    for j in range(size):
        first = moment_2[0, j] if j < n_2 else 0.0
        tree[size + j, 0] = 1.0 - first
        tree[size + j, 1] = weights[j] * first if j < n_2 else 0.0
    for node in range(size - 1, 0, -1):
        tree[node, 0] = tree[2 * node, 0] * tree[2 * node + 1, 0]
        tree[node, 1] = tree[2 * node, 1] + tree[2 * node, 0] * tree[2 * node + 1, 1]
    expected = 0.0
    base = 1.0
    for i in range(n_1):
        first = moment_1[0, i]
        j = rank_2[order_1[i]] - 1 if order_1[i] >= 0 else -1
        value = _climb(size + j, weights[j], first, moment_1[1, i], tree) if 0 <= j < n_2 else tree[1, 1]
        expected += base * weights[i] * first * value
        base *= 1.0 - first
        if base < _MIN_REACH:
            break
    return expected


@_compiled
def _climb(leaf, weight, first, second, tree):  # type: ignore[no-untyped-def]
    """Climb the tree once for both outcomes at a document; returns the root's S if the reader stops, weighted by κ."""
    cross = first - second
    miss = 1.0 - first
    stop_p, stop_s = (cross / first, weight * second / first) if first > 0.0 else (0.0, 0.0)
    p, s = ((miss - cross) / miss, weight * cross / miss) if miss > 0.0 else (0.0, 0.0)
    one = np.uint64(1)
    node = np.uint64(leaf)
    while node > one:
        tree[node, 0], tree[node, 1] = p, s
        sibling = node ^ one
        sibling_p, sibling_s = tree[sibling, 0], tree[sibling, 1]
        # Arithmetic in place of a branch: which child a node is cannot be predicted by the processor.
        is_right = np.float64(node & one)
        is_left = 1.0 - is_right
        before, scale, after = is_right * sibling_s, is_left + is_right * sibling_p, is_left * sibling_s
        stop_s = before + scale * stop_s + stop_p * after
        s = before + scale * s + p * after
        stop_p *= sibling_p
        p *= sibling_p
        node >>= one
    tree[1, 0], tree[1, 1] = p, s
    return stop_s


@_compiled
def cascade_gradients(indptr, ranks, variable, weights, spread, gradient):  # type: ignore[no-untyped-def]
    """Write ``∂ℓ_s/∂κ_z = (u(i) − S_i) Π_{l<i} (1 − κ_l)`` [theory 9], S_i the value below i, to ``gradient``."""
    depth = len(weights)
    order = np.empty(depth, dtype=np.int64)
    moment = np.empty((2, depth))
    tails = np.empty(depth)
    for x in range(len(indptr) - 1):
        for s in range(ranks.shape[0]):
            n = _by_rank(indptr[x], indptr[x + 1], ranks[s], variable, order, moment)
            _tails(n, moment[0], weights, tails)
            reach = 1.0
            for i in range(n):
                if order[i] >= 0:
                    gradient[s, order[i]] = (weights[i] - tails[i]) * (np.sqrt(reach) if spread else reach)
                miss = 1.0 - moment[0, i]
                reach *= miss - moment[0, i] + moment[1, i] if spread else miss


@_compiled
def revealed(indptr, ranks, variable, observed, order, weights, step):  # type: ignore[no-untyped-def]
    """The change of a cascade's expectation at each label along ``order``, into ``step``, float64[k, N]."""
    k, depth = ranks.shape[0], len(weights)
    by_rank = np.empty(depth, dtype=np.int64)
    moment = np.empty((k, 2, depth))
    length = np.empty(k, dtype=np.int64)
    before, tails = np.empty(k), np.empty(depth)
    place = 0
    for x in range(len(indptr) - 1):
        if place == len(order) or order[place] >= indptr[x + 1]:
            continue
        for s in range(k):
            length[s] = _by_rank(indptr[x], indptr[x + 1], ranks[s], variable, by_rank, moment[s])
            before[s] = _tails(length[s], moment[s, 0], weights, tails)
        while place < len(order) and order[place] < indptr[x + 1]:
            z = order[place]
            for s in range(k):
                if 0 < ranks[s, z] <= depth:
                    moment[s, 0, ranks[s, z] - 1] = observed[z]
                    after = _tails(length[s], moment[s, 0], weights, tails)
                    step[s, z] = after - before[s]
                    before[s] = after
            place += 1
