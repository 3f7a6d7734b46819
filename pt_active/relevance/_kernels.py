"""Compiled loops that compute measures, their moments and their gradients for arrays of documents.

The documents of query x are ``indptr[x]:indptr[x+1]``. The rank weights ``d(i)`` and ``u(i)`` are those of the ranks
1, 2, …; deeper ranks do not count. The document variables are independent given the query.

Shapes: indptr int64[m+1], ranks int32[k, N], variable float64[N, 2], weights float64[L], order int64[n], observed
float64[N]; what is written is mean float64[m, k], covariance float64[m, k, k], gradient and step float64[k, N].
"""

from __future__ import annotations

import numpy as np

from pt_active.frames.compiling import compiled

_LEAST_REACH = 1e-18  # If a rank is reached with a smaller probability, it and all deeper ones do not count

_compiled = compiled(nogil=True, error_model="numpy")


@_compiled
def cascade_moments(indptr, ranks, variable, weights, mean, covariance):  # type: ignore[no-untyped-def]
    """Write those of ``Σ_i u(i) κ_i Π_{l<i} (1 − κ_l)`` [theory 3, T A.9, A.18]."""
    k, depth = ranks.shape[0], len(weights)
    order = np.empty((k, depth), dtype=np.int64)
    moment = np.empty((k, 2, depth))
    length = np.empty(k, dtype=np.int64)
    space = np.empty((4, depth))
    for x in range(len(indptr) - 1):
        for a in range(k):
            length[a] = _by_rank(indptr[x], indptr[x + 1], ranks[a], variable, order[a], moment[a])
            mean[x, a] = _tails(length[a], moment[a, 0], weights, space[1])
            n, own = length[a], order[a, : length[a]]
            within = _covariance(own, moment[a], ranks[a], moment[a, 0, :n], weights, space)
            covariance[x, a, a] = max(within, 0.0)
            for b in range(a):
                if np.array_equal(own, order[b, : length[b]]):  # without errors of rounding
                    between = covariance[x, a, a]
                else:
                    other = moment[b, 0, : length[b]]
                    between = _covariance(own, moment[a], ranks[b], other, weights, space)
                covariance[x, a, b] = covariance[x, b, a] = between


@_compiled
def _covariance(order, moment, rank, other, weights, space):  # type: ignore[no-untyped-def]
    """``Σ_i u(i) μ_i Π_{l<i} (1 − μ_l) (E[ℓ_2 | the first reader stops at i] − E[ℓ_2])``.

    ``order`` and ``moment`` are those of the first ranking, and ``rank`` and ``other``, the means, of the second. What
    ranks above and below a place give is kept, so that rankings that are alike cost one step a rank.
    """
    n, given, below, above, reached = len(other), space[0], space[1], space[2], space[3]
    given[:n] = other
    mean = _tails(n, given, weights, below)
    above[0], reached[0] = 0.0, 1.0
    covariance, reach, value = 0.0, 1.0, mean
    known = clean = 0  # up to here ``above``, and from here ``below``, are those of ``given``
    for i in range(len(order)):
        first, second = moment[0, i], moment[1, i]
        place = rank[order[i]] - 1 if order[i] >= 0 else -1
        stopped = value
        if 0 <= place < n and first > 0.0:
            for j in range(clean, place, -1):
                below[j - 1] = weights[j] * given[j] + (1.0 - given[j]) * below[j]
            for j in range(known, place):
                above[j + 1] = above[j] + reached[j] * weights[j] * given[j]
                reached[j + 1] = reached[j] * (1.0 - given[j])
            known = clean = place
            stopped = _with(second / first, place, weights, space)
            given[place] = (first - second) / (1.0 - first) if first < 1.0 else second / first
            value = _with(given[place], place, weights, space)
        covariance += reach * weights[i] * first * (stopped - mean)
        reach *= 1.0 - first
        if reach < _LEAST_REACH:
            break
    return covariance


@_compiled
def _with(mu, place, weights, space):  # type: ignore[no-untyped-def]
    """``E[ℓ_2]`` with another mean at a place, where `_covariance` knows what is above and below."""
    below, above, reached = space[1, place], space[2, place], space[3, place]
    return above + reached * (weights[place] * mu + (1.0 - mu) * below)


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
def cascade_steps(indptr, ranks, variable, observed, order, weights, value, step):  # type: ignore[no-untyped-def]
    """Write a cascade's expectation to ``value``, and its change at each label along ``order`` to ``step``.

    Shapes: value float64[m, k], step float64[k, N]; the order may be empty.
    """
    k, depth = ranks.shape[0], len(weights)
    by_rank = np.empty(depth, dtype=np.int64)
    moment = np.empty((k, 2, depth))
    length = np.empty(k, dtype=np.int64)
    before, tails = np.empty(k), np.empty(depth)
    place = 0
    for x in range(len(indptr) - 1):
        for s in range(k):
            length[s] = _by_rank(indptr[x], indptr[x + 1], ranks[s], variable, by_rank, moment[s])
            before[s] = value[x, s] = _tails(length[s], moment[s, 0], weights, tails)
        while place < len(order) and order[place] < indptr[x + 1]:
            z = order[place]
            for s in range(k):
                if 0 < ranks[s, z] <= depth:
                    moment[s, 0, ranks[s, z] - 1] = observed[z]
                    after = _tails(length[s], moment[s, 0], weights, tails)
                    step[s, z] = after - before[s]
                    before[s] = after
            place += 1
