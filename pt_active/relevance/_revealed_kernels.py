"""Compiled loops for the expectation of nDCG and AP while the labels of a query become known one by one [theory 11].

The documents of query x are ``indptr[x]:indptr[x+1]``. What is not known yet is averaged over seeded label vectors.
Each belongs to a class of leniency, which shifts the grades of all documents of its query by the same amount.

Shapes: indptr int64[m+1], ranks int32[k, N], belief float64[N, G+1], label int64[N], known bool[N], key uint64[N],
factors float64[C], prior float64[m, C], vectors int64[S], worth float64[G+1].
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
def draw_vectors(belief, key, factors, vectors, first, labels):  # type: ignore[no-untyped-def]
    """Seeded label vectors of one query, written into labels int64[S, n]; factors float64[C] of the classes."""
    n, grades = belief.shape
    chances = np.empty((len(factors), grades))
    for z in range(n):
        for c in range(len(factors)):
            lenient(belief[z], factors[c], chances[c])
        for s in range(len(vectors)):
            left = uniform(key[z], first + s)
            label = 0
            while label < grades - 1 and left >= chances[vectors[s], label]:
                left -= chances[vectors[s], label]
                label += 1
            # Rounding may leave a little above the sum: no label that is impossible is drawn.
            while label > 0 and chances[vectors[s], label] <= 0.0:
                label -= 1
            labels[s, z] = label


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
def learn_classes(indptr, belief, known, label, factors, prior):  # type: ignore[no-untyped-def]
    """Add what known labels say about the classes of their queries to their log probabilities, float64[m, C]."""
    for x in range(len(indptr) - 1):
        for z in range(indptr[x], indptr[x + 1]):
            if known[z]:
                log_chances(belief[z], factors, label[z], prior[x])


@_compiled
def revealed(indptr, ranks, belief, label, order, key, factors, vectors, prior, worth, is_ap, cutoff, start, step):  # type: ignore[no-untyped-def]
    """The expectation of nDCG or AP, float64[m, k], and how each label along ``order`` changes it, float64[k, N]."""
    k, samples = ranks.shape[0], len(vectors)
    weights, logs = np.empty(samples), np.empty(len(factors))
    form = (worth, np.argsort(-worth), is_ap, cutoff)
    place = 0
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        end = place
        while end < len(order) and order[end] < b:
            end += 1
        if b == a or (end == place and len(start) == 0):
            continue
        labels = np.empty((samples, b - a), dtype=np.int64)
        draw_vectors(belief[a:b], key[a:b], factors, vectors, 0, labels)
        query = documents_by_rank(ranks[:, a:b], cutoff)
        state, totals, norm = _first_state(labels, query, form)
        logs[:] = prior[x]
        class_weights(logs, vectors, weights)
        before, after = np.zeros(k), np.zeros(k)
        _average(state, norm, weights, before)
        if len(start):
            start[x] = before
        for at in range(place, end):
            z = order[at]
            _reveal(labels, totals, state, norm, z - a, label[z], query, form)
            log_chances(belief[z], factors, label[z], logs)
            class_weights(logs, vectors, weights)
            _average(state, norm, weights, after)
            for r in range(k):
                step[r, z] = after[r] - before[r]
                before[r] = after[r]
        place = end


@_compiled
def measured(labels, ranks, worth, is_ap, cutoff):  # type: ignore[no-untyped-def]
    """NDCG or AP, float64[B, k], of one query for labels int64[B, n]; its ideal ranking may use all n documents."""
    state, _, norm = _first_state(labels, documents_by_rank(ranks, cutoff), (worth, np.argsort(-worth), is_ap, cutoff))
    for s in range(len(labels)):
        for r in range(len(ranks)):
            state[s, r] = state[s, r] / norm[s] if norm[s] > 0.0 else 0.0
    return state


@_compiled
def _first_state(labels, query, form):  # type: ignore[no-untyped-def]
    """DCG or sums of precisions, float64[S, k], how often each grade occurs, int64[S, G+1], and norms, float64[S]."""
    (ranks, by_rank, length, discount), (worth, _, is_ap, _) = query, form
    samples, k = len(labels), len(length)
    state, norm = np.zeros((samples, k)), np.empty(samples)
    totals = np.zeros((samples, len(worth)), dtype=np.int64)
    for s in range(samples):
        for z in range(labels.shape[1]):
            totals[s, labels[s, z]] += 1
        for r in range(k):
            value, hits = 0.0, 0.0
            for i in range(length[r]):
                z = by_rank[r, i]
                gain = worth[labels[s, z]]
                if is_ap and gain > 0.0:
                    hits += 1.0
                    value += hits / ranks[r, z]
                elif not is_ap:
                    value += gain * discount[ranks[r, z] - 1]
            state[s, r] = value
        norm[s] = _norm(totals, s, discount, form)
    return state, totals, norm


@_compiled
def _reveal(labels, totals, state, norm, z, y, query, form):  # type: ignore[no-untyped-def]
    """Give document z the label y in all label vectors, whose states and norms are changed with it."""
    (ranks, by_rank, length, discount), (worth, _, is_ap, cutoff) = query, form
    for s in range(len(labels)):
        old = labels[s, z]
        if old == y:
            continue
        totals[s, old] -= 1
        totals[s, y] += 1
        labels[s, z] = y
        change = worth[y] - worth[old]
        if change == 0.0:
            continue
        for r in range(len(length)):
            rank = ranks[r, z]
            if 0 < rank <= cutoff:
                by_one = (
                    _precision_change(labels, s, r, ranks, by_rank, length, worth, rank)
                    if is_ap
                    else discount[rank - 1]
                )
                state[s, r] += change * by_one
        norm[s] = _norm(totals, s, discount, form)


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
def _precision_change(labels, s, r, ranks, by_rank, length, worth, rank):  # type: ignore[no-untyped-def]
    """By how much the sum of precisions grows if the document at a rank is relevant rather than not."""
    hits, tail = 1.0, 0.0
    for i in range(length[r]):
        z = by_rank[r, i]
        if worth[labels[s, z]] > 0.0:
            if ranks[r, z] < rank:
                hits += 1.0
            elif ranks[r, z] > rank:
                tail += 1.0 / ranks[r, z]
    return hits / rank + tail


@_compiled
def _norm(totals, s, discount, form):  # type: ignore[no-untyped-def]
    """The DCG of the best ranking of all documents of a query, or for AP the number of relevant ones."""
    worth, by_worth, is_ap, cutoff = form
    total = 0.0
    place = 0
    for grade in by_worth:
        if worth[grade] <= 0.0:
            break
        if is_ap:
            total += totals[s, grade]
            continue
        for _ in range(totals[s, grade]):
            if place >= cutoff:
                return total
            total += worth[grade] * discount[place]
            place += 1
    return total


@_compiled
def _average(state, norm, weights, mean):  # type: ignore[no-untyped-def]
    """The mean of ``state / norm`` over label vectors, 0 where the norm is 0; written into ``mean``, float64[k]."""
    mean[:] = 0.0
    for s in range(len(norm)):
        if norm[s] > 0.0 and weights[s] > 0.0:
            factor = weights[s] / norm[s]
            for r in range(len(mean)):
                mean[r] += factor * state[s, r]


@_compiled
def labellings(indptr, belief, key, factors, prior, first, labels):  # type: ignore[no-untyped-def]
    """Seeded labels int64[E, N]; classes of leniency occur in proportion to their chances, up to one labelling."""
    number, classes = labels.shape[0], len(factors)
    each = np.arange(classes)
    weights = np.empty(classes)
    vectors = np.empty(number, dtype=np.int64)
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        class_weights(prior[x], each, weights)
        start = uniform(key[a:b].min(), first - 1)
        for e in range(number):
            left = (e + start) / number
            vectors[e] = 0
            while vectors[e] < classes - 1 and left >= weights[vectors[e]]:
                left -= weights[vectors[e]]
                vectors[e] += 1
        draw_vectors(belief[a:b], key[a:b], factors, vectors, first, labels[:, a:b])
