"""Compiled loops for the expectation of nDCG and AP while the labels of a query become known one by one [theory 11].

The documents of query x are ``indptr[x]:indptr[x+1]``. What is not known yet is averaged over seeded label vectors.
Each belongs to a class of leniency, which shifts the grades of all documents of its query by the same amount.

Shapes: indptr int64[m+1], ranks int32[k, N], belief float64[N, G+1], label int64[N], key uint64[N], factors and prior
float64[C], vectors int64[S], worth float64[G+1], queries int64[q], order int64[n].
"""

from __future__ import annotations

import numpy as np

from pt_active.relevance._kernels import _compiled

_LEAST_CHANCE = 1e-9
"""A label that a class holds less probable counts as so probable, so that no class is ruled out by one label."""


@_compiled
def uniform(key, number):  # type: ignore[no-untyped-def]
    """A number in [0, 1) from a key and a whole number: 53 bits of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = key + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@_compiled
def lenient(belief, factor, chances):  # type: ignore[no-untyped-def]
    """Write grade probabilities, float64[G+1], with all cumulative odds multiplied by a factor, to ``chances``."""
    below = 0.0
    before = 0.0
    for g in range(len(belief)):
        below += belief[g]
        at = 1.0
        if g < len(belief) - 1:
            inside = min(max(below, 0.0), 1.0)
            at = inside * factor / (inside * factor + (1.0 - inside))
        chances[g] = max(at - before, 0.0)
        before = at


@_compiled
def _reached(left, chances):  # type: ignore[no-untyped-def]
    """The place that a number in [0, 1) falls into, with these chances one after the other."""
    place = 0
    while place < len(chances) - 1 and left >= chances[place]:
        left -= chances[place]
        place += 1
    # Rounding may leave a little above the sum: nothing that is impossible is drawn.
    while place > 0 and chances[place] <= 0.0:
        place -= 1
    return place


@_compiled
def draw_vectors(belief, key, factors, vectors, first, labels):  # type: ignore[no-untyped-def]
    """Seeded label vectors of one query, written into labels int64[S, n]; factors float64[C] of the classes."""
    n, grades = belief.shape
    chances = np.empty((len(factors), grades))
    for z in range(n):
        for c in range(len(factors)):
            lenient(belief[z], factors[c], chances[c])
        for s in range(len(vectors)):
            labels[s, z] = _reached(uniform(key[z], first + s), chances[vectors[s]])


@_compiled
def log_chances(belief, factors, label, logs):  # type: ignore[no-untyped-def]
    """Add ``log P(label | class)`` of one document to the logs of each class, float64[C]."""
    chances = np.empty(len(belief))
    for c in range(len(factors)):
        lenient(belief, factors[c], chances)
        logs[c] += np.log(max(chances[label], _LEAST_CHANCE))


@_compiled
def class_weights(logs, vectors, weights):  # type: ignore[no-untyped-def]
    """Weights of label vectors that sum to 1, from the log probability of their classes; written into ``weights``."""
    largest = logs.max()
    total = 0.0
    for s in range(len(vectors)):
        weights[s] = np.exp(logs[vectors[s]] - largest)
        total += weights[s]
    for s in range(len(vectors)):
        weights[s] /= total


@_compiled
def revealed(pool, belief, classes, measure, shown, found):  # type: ignore[no-untyped-def]
    """The expectation of nDCG or AP in some queries, and how each label along an order of their documents changes it.

    ``pool`` is ``(indptr, ranks, key)``, ``classes`` ``(factors, vectors, prior)``, ``measure`` ``(worth, is_ap,
    cutoff)`` and ``shown`` ``(queries, order, label)``. Written into is ``found``, float64[m, k] and float64[k, N].
    """
    (indptr, ranks, key), (factors, vectors, prior), (worth, is_ap, cutoff) = pool, classes, measure
    (queries, order, label), (start, step) = shown, found
    weights, after, place = np.empty(len(vectors)), np.empty(len(ranks)), 0
    form = (worth, np.argsort(-worth), is_ap, cutoff)
    for x in queries:
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        labels, logs = np.empty((len(vectors), b - a), dtype=np.int64), prior.copy()
        draw_vectors(belief[a:b], key[a:b], factors, vectors, 0, labels)
        query = documents_by_rank(ranks[:, a:b], cutoff)
        counts, values = _all_values(labels, query, form)
        class_weights(logs, vectors, weights)
        _average(values, weights, start[x])
        before = start[x].copy()
        while place < len(order) and order[place] < b:
            z = order[place]
            for s in range(len(vectors)):
                if labels[s, z - a] != label[z]:
                    counts[s, labels[s, z - a]] -= 1
                    counts[s, label[z]] += 1
                    labels[s, z - a] = label[z]
                    _values(labels[s], counts[s], query, form, values[s])
            log_chances(belief[z], factors, label[z], logs)
            class_weights(logs, vectors, weights)
            _average(values, weights, after)
            for r in range(len(ranks)):
                step[r, z] = after[r] - before[r]
            before[:] = after
            place += 1


@_compiled
def measured(labels, ranks, worth, is_ap, cutoff):  # type: ignore[no-untyped-def]
    """NDCG or AP, float64[B, k], of one query for labels int64[B, n]; its ideal ranking may use all n documents."""
    return _all_values(labels, documents_by_rank(ranks, cutoff), (worth, np.argsort(-worth), is_ap, cutoff))[1]


@_compiled
def _all_values(labels, query, form):  # type: ignore[no-untyped-def]
    """How often each grade occurs in label vectors, int64[S, G+1], and the measure of each ranker, float64[S, k]."""
    counts, values = np.zeros((len(labels), len(form[0])), dtype=np.int64), np.empty((len(labels), len(query[0])))
    for s in range(len(labels)):
        for z in range(labels.shape[1]):
            counts[s, labels[s, z]] += 1
        _values(labels[s], counts[s], query, form, values[s])
    return counts, values


@_compiled
def _values(label, count, query, form, value):  # type: ignore[no-untyped-def]
    """Write the measure of each ranker, float64[k], for one label vector and how often it has each grade."""
    (ranks, by_rank, length, discount), (worth, by_worth, is_ap, cutoff) = query, form
    norm, place = 0.0, 0  # the number of relevant documents, or the DCG of the best ranking
    for grade in by_worth:
        if worth[grade] <= 0.0:
            break
        if is_ap:
            norm += count[grade]
            continue
        for _ in range(min(count[grade], cutoff - place)):
            norm += worth[grade] * discount[place]
            place += 1
    for r in range(len(length)):
        total, hits = 0.0, 0.0
        for i in range(length[r]):
            z = by_rank[r, i]
            gain = worth[label[z]]
            if is_ap and gain > 0.0:
                hits += 1.0
                total += hits / ranks[r, z]
            elif not is_ap:
                total += gain * discount[ranks[r, z] - 1]
        value[r] = total / norm if norm > 0.0 else 0.0


@_compiled
def documents_by_rank(ranks, cutoff):  # type: ignore[no-untyped-def]
    """The documents of one query by rank in each ranking, int64[k, n], how many count, int64[k], and the discounts."""
    k, n = ranks.shape
    by_rank = np.zeros((k, n), dtype=np.int64)
    length = np.zeros(k, dtype=np.int64)
    for r in range(k):
        for z in np.argsort(ranks[r]):
            if 0 < ranks[r, z] <= cutoff:
                by_rank[r, length[r]] = z
                length[r] += 1
    return ranks, by_rank, length, 1.0 / np.log2(np.arange(max(n, ranks.max())) + 2.0)


@_compiled
def _average(values, weights, mean):  # type: ignore[no-untyped-def]
    """Write the mean of the values of label vectors, float64[S, k], into float64[k]."""
    mean[:] = 0.0
    for s in range(len(values)):
        for r in range(len(mean)):
            mean[r] += weights[s] * values[s, r]


@_compiled
def labellings(indptr, belief, key, factors, prior, first, number):  # type: ignore[no-untyped-def]
    """Seeded labels int64[E, N]; classes of leniency occur in proportion to their chances, up to one labelling."""
    weights, vectors = np.empty(len(factors)), np.empty(number, dtype=np.int64)
    labels = np.zeros((number, len(key)), dtype=np.int64)
    class_weights(prior, np.arange(len(factors)), weights)
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        start = uniform(key[a:b].min(), first - 1)
        for e in range(number):
            vectors[e] = _reached((e + start) / number, weights)
        draw_vectors(belief[a:b], key[a:b], factors, vectors, first, labels[:, a:b])
    return labels
