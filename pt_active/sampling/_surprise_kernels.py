"""Compiled loops of surprises: what a label does to a measure, one pass of drawing, and the estimate [theory 20]."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._class_kernels import LEAST, class_chances, expectations, form_for, query_of, with_labels
from pt_active.relevance._kernels import _compiled

_EDGE = 1e-12  # By what a sum of probabilities must exceed a number to have reached it, because of its rounding


@_compiled
def label_effects(indptr, pool, classes, asked, found):  # type: ignore[no-untyped-def]
    """What labels do to the expectations of rankers before any is known [theory 20]; ``h`` is how far one moves them.

    ``pool`` is ``(ranks, key, logits, covariate, known, cutoff, samples, form)`` and ``classes`` is ``(shifts, logs)``,
    see `relevance.classes`. ``asked`` is ``(forms, shares)``. To ``found``, ``(squares, moves, products)``, are added
    ``Σ_c w_c E_c[hᵀ A h]`` of each document for several A, ``Σ_c w_c Cov_c(level, h)``, and ``Σ_c w_c E_c[h hᵀ]``,
    summed over all documents with several shares.

    Shapes: indptr int64[m+1], forms float64[q, k, k], shares float64[s, N], squares float64[q, N], moves float64[k, N],
    products float64[s, k, k].
    """
    ranks, key, logits, covariate, _, cutoff, samples, form = pool
    (shifts, logs), k, levels = (classes[0][0], classes[1][0]), len(ranks), logits.shape[1] + 1
    ((forms, shares), (squares, moves, products)), (weight, _) = (asked, found), normalised(logs)
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        query, own = query_of(ranks[:, a:b], key[a:b], cutoff, samples), form_for(form, b - a)
        chances, expected, every = np.empty((b - a, levels)), np.empty(k), np.arange(b - a)
        shared, given = np.empty((len(logs), b - a, levels)), np.empty((len(logs), b - a, levels, k))
        for c in range(len(logs)):
            class_chances(logits[a:b], covariate[a:b], shifts[c], chances)
            expectations(chances, query, own, every, expected, given[c])
            shared[c] = weight[c] * chances
            _centre(weight[c], chances, given[c], moves[:, a:b])
        _spread(shared, given, (forms, shares[:, a:b]), squares[:, a:b], products)


@_compiled
def _centre(weight, chances, given, moves):  # type: ignore[no-untyped-def]
    """Make h of ``given`` in one class of one query, and add its share to ``moves``."""
    n, levels, k = given.shape
    for z in range(n):
        mean = 0.0
        for g in range(levels):
            mean += g * chances[z, g]
        for r in range(k):
            expected = 0.0
            for g in range(levels):
                expected += chances[z, g] * given[z, g, r]
            for g in range(levels):
                given[z, g, r] -= expected
                moves[r, z] += (g - mean) * weight * chances[z, g] * given[z, g, r]


@_compiled
def _spread(shared, given, asked, squares, products):  # type: ignore[no-untyped-def]
    """Add what ``E[h hᵀ]`` of each document of one query makes of all forms and shares.

    Shapes: shared float64[C, n, L+1], what levels and classes weigh, given float64[C, n, L+1, k].
    """
    (forms, shares), (number, n, levels, k) = asked, given.shape
    moment = np.empty((k, k))  # of one document at a time, which stays in the fastest memory
    for z in range(n):
        moment[:] = 0.0
        for c in range(number):
            for g in range(levels):
                for r in range(k):
                    moved = shared[c, z, g] * given[c, z, g, r]
                    for q in range(r + 1):
                        moment[r, q] += moved * given[c, z, g, q]
        for r in range(k):
            for q in range(k):
                both = moment[max(r, q), min(r, q)]
                for f in range(len(forms)):
                    squares[f, z] += forms[f, r, q] * both
                for s in range(len(shares)):
                    products[s, r, q] += shares[s, z] * both


@_compiled
def one_pass(chance, start):  # type: ignore[no-untyped-def]
    """The documents of a systematic sample, bool[n]: where the sum of chances passes start, start + 1 and so on."""
    drawn = np.zeros(len(chance), dtype=np.bool_)
    total, reached = 0.0, start
    for place in range(len(chance)):
        total += chance[place]
        if total > reached + _EDGE:
            drawn[place] = True
            reached += 1.0
    return drawn


@_compiled
def told_by_labels(indptr, pool, classes, found):  # type: ignore[no-untyped-def]
    """What labels say about each query, and what each label does that the others know nothing of.

    ``pool`` is that of `label_effects`, with all labels known; ``classes`` are ``(shifts, logs)`` of all queries or of
    each, see `relevance.classes`. ``found`` is ``(value, effect, likely, every, others)``. Added to are the expectation
    of each query given its labels, and, given the other labels of its query, by how much each level of each of n
    labelled documents would move that, and how likely it is. Written are the logs of the likelihoods of all labels of
    each query, and of all but each.

    Shapes: indptr int64[m+1], value float64[k, m], effect float64[k, n, L+1], likely float64[n, L+1], every float64[m],
    others float64[n].
    """
    ranks, key, logits, covariate, known, cutoff, samples, form = pool
    (every_shift, every_log), (value, effect, likely, all_labels, all_others) = classes, found
    number, levels, k, first = every_log.shape[1], logits.shape[1] + 1, len(ranks), 0
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        own_class = min(x, len(every_log) - 1)
        shifts, labelled = every_shift[own_class], np.flatnonzero(known[a:b] >= 0)
        query, own = query_of(ranks[:, a:b], key[a:b], cutoff, samples), form_for(form, b - a)
        chances, expected, given = np.empty((b - a, levels)), np.empty(k), np.empty((len(labelled), levels, k))
        prior = np.empty((number, len(labelled), levels))
        for c in range(number):
            class_chances(logits[a:b], covariate[a:b], shifts[c], chances)
            prior[c] = chances[labelled]
        whole, others, evidence, other_evidence = _posteriors(every_log[own_class], prior, known[a:b][labelled])
        all_labels[x], all_others[first : first + len(labelled)] = evidence, other_evidence
        for c in range(number):
            class_chances(logits[a:b], covariate[a:b], shifts[c], chances)
            with_labels(chances, known[a:b])
            expectations(chances, query, own, labelled, expected, given)
            value[:, x] += whole[c] * expected
            for i in range(len(labelled)):
                likely[first + i] += others[c, i] * prior[c, i]
                for g in range(levels):
                    effect[:, first + i, g] += others[c, i] * (given[i, g] - expected)
        first += len(labelled)


@_compiled
def _posteriors(logs, prior, level):  # type: ignore[no-untyped-def]
    """The probabilities of the classes given all s labels of a query, float64[C], and all but each, float64[C, s].

    Also the logs of the likelihoods of these labels, a number and float64[s].

    Shapes: logs float64[C], prior float64[C, s, L+1], level int64[s].
    """
    number, count, _ = prior.shape
    others, whole, evidence = np.empty((number, count)), logs.copy(), np.empty(count)
    for c in range(number):
        for i in range(count):
            others[c, i] = np.log(max(prior[c, i, level[i]], LEAST))
            whole[c] += others[c, i]
    for i in range(count):
        others[:, i], evidence[i] = normalised(whole - others[:, i])
    whole, every = normalised(whole)
    return whole, others, every, evidence


@_compiled
def normalised(logs):  # type: ignore[no-untyped-def]
    """Numbers given by their logs, divided by their sum, float64[C], and the log of that sum; zeros if all are 0."""
    top = logs.max()
    if top == -np.inf:
        return np.zeros(len(logs)), top
    parts = np.exp(logs - top)
    return parts / parts.sum(), top + np.log(parts.sum())
