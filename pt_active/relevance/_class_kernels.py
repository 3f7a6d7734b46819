"""Compiled expectations of nDCG and AP for independent labels, and of what each single label does to them [theory 20].

Grades with the same gain are one level, 0 … L, in increasing order of their gain. What is said about one query with n
documents is ``(ranks, order, length, discount, numbers)``, the result of `query_of`: int32[k, n], int64[k, n] the
documents by rank, int64[k] how many of them count, float64[k, n], and float64[S, n] to make label vectors from.
"""

from __future__ import annotations

import numpy as np

from pt_active.relevance._kernels import _compiled
from pt_active.relevance._revealed_kernels import documents_by_rank, uniform

LEAST = 1e-12  # A label that a class holds less probable counts as so probable
WIDE = 2.0  # Prior deviations that count as one where classes are looked for
FLOOR, LEAST_FLOOR = 0.15, 0.05  # Prior deviations added to those of the posterior, to place classes and to compare
BROADER = 1.25  # Posterior deviations that count as one where classes are placed: without one label it is broader


@_compiled
def latin_numbers(key, samples):  # type: ignore[no-untyped-def]
    """Uniform numbers of each document, one in each of S equal parts of [0, 1), float64[S, n], from uint64[n]."""
    numbers, own = np.empty((samples, len(key))), np.empty(samples)
    for z in range(len(key)):
        for s in range(samples):
            own[s] = uniform(key[z], s)
        place = np.argsort(own)
        for s in range(samples):
            numbers[s, z] = (place[s] + uniform(key[z], samples + s)) / samples
    return numbers


@_compiled
def class_chances(logits, covariate, shift, chances):  # type: ignore[no-untyped-def]
    """``P(level)`` of the documents of a query in one class, written into float64[n, L+1].

    Shapes: logits float64[n, L] of ``P(level ≥ 1 … L)``, covariate float64[n], shift float64[L+1]: what all logits get,
    those of a document per unit of its covariate, and those from level 2, 3 … L on.
    """
    n, top = logits.shape
    for z in range(n):
        above, least = 1.0, np.inf
        common = shift[0] + shift[1] * covariate[z]
        for e in range(top):
            if e > 0:
                common += shift[e + 1]
            least = min(least, logits[z, e] + common)
            next_above = 1.0 / (1.0 + np.exp(-least))
            chances[z, e] = above - next_above
            above = next_above
        chances[z, top] = above


@_compiled
def log_likelihoods(logits, covariate, level, shifts):  # type: ignore[no-untyped-def]
    """What the labels of a query say about classes, float64[C]; levels below 0 are unknown."""
    found, labelled = np.zeros(len(shifts)), np.flatnonzero(level >= 0)
    chances = np.empty((len(labelled), logits.shape[1] + 1))
    for c in range(len(shifts)):
        class_chances(logits[labelled], covariate[labelled], shifts[c], chances)
        for i in range(len(labelled)):
            found[c] += np.log(max(chances[i, level[labelled[i]]], LEAST))
    return found


@_compiled
def place_classes(indptr, pool, wide, points, deviation, found):  # type: ignore[no-untyped-def]
    """Classes of each query around the mean of its posterior, as many posterior deviations away as points say.

    Written into ``found``, ``(shifts, logs)``: float64[m, C, D] and the logs of prior probabilities, float64[m, C].

    Shapes: wide float64[W, D], classes all over the prior; points float64[C, D]; deviation float64[D], of the prior.
    """
    (_, _, logits, covariate, level, _, _, _), (shifts, logs) = pool, found
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        weight = log_likelihoods(logits[a:b], covariate[a:b], level[a:b], wide)
        weight -= log_normal(wide / (WIDE * deviation)) - log_normal(wide / deviation)
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        mean, spread = np.zeros(len(deviation)), np.zeros((len(deviation), len(deviation)))
        for c in range(len(wide)):
            mean += weight[c] * wide[c]
        for i in range(len(mean)):  # loops, since np.outer and np.diag take seconds to compile
            spread[i, i] = (LEAST_FLOOR * deviation[i]) ** 2
            for c in range(len(wide)):
                for j in range(len(mean)):
                    spread[i, j] += weight[c] * (wide[c, i] - mean[i]) * (wide[c, j] - mean[j])
        near = np.linalg.cholesky(spread)
        for i in range(len(mean)):
            spread[i, i] += (FLOOR * deviation[i]) ** 2
        root = BROADER * np.linalg.cholesky(spread)
        for c in range(len(points)):
            shifts[x, c] = mean + root @ points[c]
        # The points are those of a normal distribution, so what it holds of them is taken off. The likelihood is that
        # of a normal posterior: what the points make of one is set right.
        logs[x] = log_normal(shifts[x] / deviation) - log_normal(points)
        made = np.exp(log_normal(np.linalg.solve(near, root @ points.T).T) - log_normal(points)).sum()
        logs[x] -= np.log(made)
        for i in range(len(mean)):
            logs[x] += np.log(near[i, i] / deviation[i])


@_compiled
def log_normal(points):  # type: ignore[no-untyped-def]
    """Log densities of a standard normal distribution, float64[C, D] → float64[C], up to a constant."""
    found = np.zeros(len(points))
    for c in range(len(points)):
        for place in range(points.shape[1]):
            found[c] -= 0.5 * points[c, place] ** 2
    return found


@_compiled
def expectations(chances, query, form, which, expected, given):  # type: ignore[no-untyped-def]
    """``E f`` of each ranker, float64[k], and ``E[f | level of z]`` of some documents z, float64[s, L+1, k].

    Both are written into; ``which`` are the documents, int64[s].

    ``form`` is ``(worth, is_ap, ideal, nodes, weights)``: float64[L+1], bool, float64[n+1] the ideal DCG of so many
    documents of gain 1, and the nodes and weights of Gauss and Legendre on [0, 1].
    """
    if form[1]:
        _of_ap(chances, query, form, which, expected, given)
    else:
        _of_ndcg(chances, query, form, which, expected, given)


@_compiled
def _of_ap(chances, query, form, which, expected, given):  # type: ignore[no-untyped-def]
    """AP, whose ``1/R`` is ``∫ t^(R−1) dt``; exact where twice the number of nodes is at least n."""
    (ranks, by_rank, length, _, _), (_, _, _, nodes, weights) = query, form
    n = len(chances)
    slope, order, inverse = np.empty(n), np.empty(n, np.int64), np.empty(n)
    for r in range(len(length)):
        counted = np.zeros(n, dtype=np.bool_)
        for i in range(length[r]):
            order[i], inverse[i] = by_rank[r, i], 1.0 / ranks[r, by_rank[r, i]]
            counted[order[i]] = True
        place = length[r]
        for z in range(n):
            if not counted[z]:
                order[place], inverse[place] = z, 0.0
                place += 1
        slope[:] = 0.0
        expected[r] = _precision(chances[:, 1], order, inverse, (nodes, weights), slope)
        for i in range(len(which)):
            given[i, 0, r] = expected[r] - chances[which[i], 1] * slope[which[i]]
            given[i, 1, r] = given[i, 0, r] + slope[which[i]]


@_compiled
def _precision(chance, order, inverse, rule, slope):  # type: ignore[no-untyped-def]
    """``E AP`` for relevance probabilities κ, float64[n], and its derivatives, added to ``slope`` by a reverse pass."""
    n, total = len(order), 0.0
    one, hits, sums = np.ones(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for i in range(len(rule[0])):
        node, weight = rule[0][i], rule[1][i]
        for j in range(n):
            k = chance[order[j]]
            p = 1.0 - k + k * node
            sums[j + 1] = sums[j] * p + k * inverse[j] * (one[j] + hits[j])
            hits[j + 1] = hits[j] * p + k * node * one[j]
            one[j + 1] = one[j] * p
        total += weight * sums[n]
        by_one, by_hits, by_sums = 0.0, 0.0, 1.0
        for j in range(n - 1, -1, -1):
            k, q = chance[order[j]], node - 1.0
            p = 1.0 + k * q
            moved = by_sums * (sums[j] * q + inverse[j] * (one[j] + hits[j]))
            moved += by_hits * (hits[j] * q + node * one[j]) + by_one * one[j] * q
            slope[order[j]] += weight * moved
            by_one = by_one * p + by_hits * k * node + by_sums * k * inverse[j]
            by_hits = by_hits * p + by_sums * k * inverse[j]
            by_sums = by_sums * p
    return total


@_compiled
def _of_ndcg(chances, query, form, which, expected, given):  # type: ignore[no-untyped-def]
    """NDCG, averaged over label vectors, in which each document in turn takes every level."""
    (_, by_rank, length, discount, numbers), worth = query, form[0]
    samples, k, (n, levels) = len(numbers), len(length), chances.shape
    label, dcg, inverse = np.empty(n, np.int64), np.empty(k), np.empty((levels, levels))
    count, raised = np.empty(levels, np.int64), np.zeros((len(which), levels))
    given[:], expected[:] = 0.0, 0.0
    for s in range(samples):
        count[:], dcg[:] = 0, 0.0
        for z in range(n):
            below, label[z] = 0.0, 0
            for e in range(levels - 1):
                below += chances[z, e]
                if numbers[s, z] >= below:
                    label[z] = e + 1
            while label[z] > 0 and chances[z, label[z]] <= 0.0:
                label[z] -= 1
            count[label[z]] += 1
        _inverse_ideals(count, form, inverse)
        for r in range(k):
            for i in range(length[r]):
                dcg[r] += worth[label[by_rank[r, i]]] * discount[r, by_rank[r, i]]
            expected[r] += dcg[r] * inverse[label[0], label[0]] / samples
        for i in range(len(which)):
            old = label[which[i]]
            for e in range(levels):
                factor = inverse[old, e] / samples
                raised[i, e] += factor * (worth[e] - worth[old])
                for r in range(k):
                    given[i, e, r] += factor * dcg[r]
    for i in range(len(which)):
        for e in range(levels):
            for r in range(k):
                given[i, e, r] += raised[i, e] * discount[r, which[i]]


@_compiled
def _inverse_ideals(count, form, inverse):  # type: ignore[no-untyped-def]
    """One over the ideal DCG if one document leaves a level, the row, for another, the column; 0 where it is 0."""
    worth, _, ideal, _, _ = form
    levels = len(worth)
    for old in range(levels):
        if count[old] == 0:
            continue
        for new in range(levels):
            total, above = 0.0, 0
            for e in range(levels - 1, -1, -1):
                above += count[e] - (1 if e == old else 0) + (1 if e == new else 0)
                total += (max(worth[e], 0.0) - (max(worth[e - 1], 0.0) if e > 0 else 0.0)) * ideal[above]
            inverse[old, new] = 1.0 / total if total > 0.0 else 0.0


@_compiled
def query_of(ranks, key, cutoff, samples):  # type: ignore[no-untyped-def]
    """What is said about one query, see above, from its ranks, int32[k, n], and keys, uint64[n]; S may be 0."""
    _, order, length, by_place = documents_by_rank(ranks, cutoff)
    k, n = ranks.shape
    discount = np.zeros((k, n))
    for r in range(k):
        for i in range(length[r]):
            z = order[r, i]
            discount[r, z] = by_place[ranks[r, z] - 1]
    return ranks, order, length, discount, latin_numbers(key, samples)


@_compiled
def with_labels(chances, level):  # type: ignore[no-untyped-def]
    """Make the levels certain that are known, int64[n], −1 for the others."""
    for z in range(len(level)):
        if level[z] >= 0:
            chances[z] = 0.0
            chances[z, level[z]] = 1.0


@_compiled
def form_for(form, n):  # type: ignore[no-untyped-def]
    """The form of `expectations` for n documents, from one whose nodes and weights are tables with a row a number."""
    worth, is_ap, ideal, nodes, weights = form
    row = min(n // 2 + 1, len(nodes) - 1)
    return worth, is_ap, ideal, nodes[row, :row], weights[row, :row]
