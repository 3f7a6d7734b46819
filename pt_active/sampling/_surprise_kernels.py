"""Compiled loops of surprises: what labels do to a measure, and what they say of it [theory 20, 21]."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._class_kernels import LEAST, class_chances, expectations, form_for, query_of, with_labels
from pt_active.relevance._kernels import _compiled


@_compiled
def label_effects(indptr, pool, classes, asked, found):  # type: ignore[no-untyped-def]
    """What labels do to the expectations of rankers before any is known [theory 20]; ``h`` is how far one moves them.

    ``pool`` is ``(ranks, key, logits, covariate, known, cutoff, samples, form)`` and ``classes`` is ``(shifts, logs)``,
    see `relevance.classes`. ``asked`` is ``(forms, shares)``. To ``found``, ``(squares, products)``, are added
    ``Σ_c w_c E_c[hᵀ A h]`` of each document for several A, and ``Σ_c w_c E_c[h hᵀ]``, summed over all documents with
    several shares.

    Shapes: indptr int64[m+1], forms float64[q, k, k], shares float64[s, N], squares float64[q, N], products float64[s,
    k, k].
    """
    ranks, key, logits, covariate, _, cutoff, samples, form = pool
    (shifts, logs), k, levels = (classes[0][0], classes[1][0]), len(ranks), logits.shape[1] + 1
    ((forms, shares), (squares, products)), (weight, _) = (asked, found), normalised(logs)
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
            _centre(chances, given[c])
        _spread(shared, given, (forms, shares[:, a:b]), squares[:, a:b], products)


@_compiled
def _centre(chances, given):  # type: ignore[no-untyped-def]
    """Make h of what is expected of rankers given each level of each document, float64[n, L+1, k]."""
    n, levels, k = given.shape
    for z in range(n):
        for r in range(k):
            expected = 0.0
            for g in range(levels):
                expected += chances[z, g] * given[z, g, r]
            for g in range(levels):
                given[z, g, r] -= expected


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
def told_by_labels(indptr, pool, classes, usual, single):  # type: ignore[no-untyped-def]
    """What labels say about each query, and what each label does that the others know nothing of.

    ``pool`` is that of `label_effects`, with all labels known; ``classes`` are ``(shifts, logs)`` of all queries or of
    each, see `relevance.classes`. ``usual`` is for labels that are independent given a class, and ``single`` for the
    class K. Each is ``(value, effect, likely, every, others)``. Added to are the expectation of each query given its
    labels, and, given the other labels of its query, by how much each level of each of n labelled documents would move
    that, and how likely it is. Written are the logs of the likelihoods of all labels of each query, and of all but
    each.

    Shapes: indptr int64[m+1], value float64[k, m], effect float64[k, n, L+1], likely float64[n, L+1], every float64[m],
    others float64[n].
    """
    ranks, key, logits, covariate, known, cutoff, samples, form = pool
    (every_shift, every_log), first = classes, 0
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        own_class, labelled = min(x, len(every_log) - 1), np.flatnonzero(known[a:b] >= 0)
        about = logits[a:b], covariate[a:b], known[a:b], every_shift[own_class], every_log[own_class], labelled
        query, own = query_of(ranks[:, a:b], key[a:b], cutoff, samples), form_for(form, b - a)
        _tell(about, query, own, _of_query(usual, x, first, len(labelled)))
        _tell_if_single(about, query, own, _of_query(single, x, first, len(labelled)))
        first += len(labelled)


@_compiled
def _of_query(found, x, first, number):  # type: ignore[no-untyped-def]
    """The parts of ``found`` that belong to a query with so many labels."""
    (value, effect, likely, every, others), last = found, first + number
    return value[:, x], effect[:, first:last], likely[first:last], every[x : x + 1], others[first:last]


@_compiled
def _tell(about, query, form, found):  # type: ignore[no-untyped-def]
    """What the labels of one query say that are independent given a class."""
    (logits, covariate, level, shifts, logs, labelled), (value, effect, likely, every, others) = about, found
    n, levels, k = len(logits), logits.shape[1] + 1, len(value)
    chances, expected, given = np.empty((n, levels)), np.empty(k), np.empty((len(labelled), levels, k))
    prior = np.empty((len(logs), len(labelled), levels))
    for c in range(len(logs)):
        class_chances(logits, covariate, shifts[c], chances)
        prior[c] = chances[labelled]
    whole, without, every[0], others[:] = _posteriors(logs, prior, level[labelled])
    for c in range(len(logs)):
        class_chances(logits, covariate, shifts[c], chances)
        with_labels(chances, level)
        expectations(chances, query, form, labelled, expected, given)
        value += whole[c] * expected
        for i in range(len(labelled)):
            likely[i] += without[c, i] * prior[c, i]
            for g in range(levels):
                effect[:, i, g] += without[c, i] * (given[i, g] - expected)


@_compiled
def _tell_if_single(about, query, form, found):  # type: ignore[no-untyped-def]
    """What the labels of one query say if exactly one document is above level 0: the class K [theory 21].

    There the measure is linear in the labels, ``Σ y f``, so ``M + Σ (y − ρ)(f − M)/π`` has no bias: ρ is how probable
    each document and level is without any label of the query, f the measure with it, and M its expectation. Where the
    labels rule K out, their likelihood is 0.
    """
    (logits, covariate, level, shifts, logs, labelled), (value, effect, likely, every, others) = about, found
    belief, above = np.empty((len(logits), logits.shape[1] + 1)), np.flatnonzero(level > 0)
    whole, without = np.empty(len(logs)), np.empty((len(labelled), len(logs)))
    for c in range(len(logs)):
        _believe(logits, covariate, shifts[c], belief)
        whole[c] = logs[c] + _log_likelihood(belief, level, above, -1)
        for i in range(len(labelled)):
            without[i, c] = logs[c] + _log_likelihood(belief, level, above, labelled[i])
    every[0] = normalised(whole)[1]
    for i in range(len(labelled)):
        others[i] = normalised(without[i])[1]
    _believe(logits, covariate, np.zeros(belief.shape[1]), belief)
    ranks, order, length, discount, numbers = query
    alone = _alone((ranks, order, length, discount, numbers[:1]), form, belief.shape[1])  # nothing is left to chance
    _correct(belief, alone, level, (value, effect, likely))


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


@_compiled
def _believe(logits, covariate, shift, belief):  # type: ignore[no-untyped-def]
    """Write ``P(z alone is above level 0, and of level g)`` in one class, float64[n, L+1]; 0 for level 0.

    It is in proportion to the odds.
    """
    class_chances(logits, covariate, shift, belief)
    total = 0.0
    for z in range(len(belief)):
        none = max(belief[z, 0], LEAST)
        belief[z, 0] = 0.0
        for g in range(1, belief.shape[1]):
            belief[z, g] /= none
            total += belief[z, g]
    belief /= total


@_compiled
def _alone(query, form, levels):  # type: ignore[no-untyped-def]
    """The measure of each ranker if one document is of a level and all others of level 0, float64[n, L+1, k]."""
    k, n = query[0].shape
    chances, expected, alone = np.zeros((n, levels)), np.empty(k), np.empty((n, levels, k))
    chances[:, 0] = 1.0
    expectations(chances, query, form, np.arange(n), expected, alone)
    return alone


@_compiled
def _correct(belief, alone, level, found):  # type: ignore[no-untyped-def]
    """Write what the labels of one query say, see `_tell_if_single`."""
    (value, effect, likely), at = found, 0
    for r in range(len(value)):
        value[r] = (belief * alone[:, :, r]).sum()
    mean = value.copy()
    for z in range(len(level)):
        if level[z] < 0:
            continue
        likely[at], likely[at, 0] = belief[z], 1.0 - belief[z].sum()
        for r in range(len(value)):
            for g in range(1, belief.shape[1]):
                effect[r, at, g] = alone[z, g, r] - mean[r]
                value[r] -= belief[z, g] * effect[r, at, g]
            value[r] += effect[r, at, level[z]]
        at += 1


@_compiled
def _log_likelihood(belief, level, above, without):  # type: ignore[no-untyped-def]
    """The log of the probability of the labels of a query, or of all but that of one document.

    Shapes: belief float64[n, L+1], level int64[n], above int64[a], the documents above level 0.
    """
    chance, count = 0.0, 0
    for z in above:
        if z != without:
            chance = belief[z, level[z]]
            count += 1
    if count == 0:
        for z in range(len(level)):
            if level[z] < 0 or z == without:
                chance += belief[z].sum()
    return np.log(chance) if count < 2 and chance > 0.0 else -np.inf
