"""Compiled loops over queries of which exactly one document is above level 0: the class K [theory 21]."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._class_kernels import LEAST, class_chances, expectations, form_for, query_of
from pt_active.relevance._kernels import _compiled
from pt_active.sampling._surprise_kernels import normalised


@_compiled
def told_if_single(indptr, pool, classes, found):  # type: ignore[no-untyped-def]
    """What `_surprise_kernels.told_by_labels` says, for the same arguments, of queries of the class K.

    There the measure is linear in the labels, ``Σ y f``, so ``M + Σ (y − ρ)(f − M)/π`` has no bias: ρ is how probable
    each document and level is without any label of the query, f the measure with it, and M its expectation. Where the
    labels rule K out, their likelihood is 0.
    """
    ranks, key, logits, covariate, known, cutoff, _, form = pool
    (every_shift, every_log), (value, effect, likely, all_labels, all_others) = classes, found
    number, (top, first) = every_log.shape[1], (logits.shape[1], 0)
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        level, own_class, belief = known[a:b], min(x, len(every_log) - 1), np.empty((b - a, top + 1))
        labelled, above = np.flatnonzero(level >= 0), np.flatnonzero(level > 0)
        last = first + len(labelled)
        whole, others = np.empty(number), np.empty((len(labelled), number))
        for c in range(number):
            _believe(logits[a:b], covariate[a:b], every_shift[own_class, c], belief)
            whole[c] = every_log[own_class, c] + _log_likelihood(belief, level, above, -1)
            for i in range(len(labelled)):
                others[i, c] = every_log[own_class, c] + _log_likelihood(belief, level, above, labelled[i])
        _, all_labels[x] = normalised(whole)
        for i in range(len(labelled)):
            _, all_others[first + i] = normalised(others[i])
        _believe(logits[a:b], covariate[a:b], np.zeros(top + 1), belief)
        query, own = query_of(ranks[:, a:b], key[a:b], cutoff, 1), form_for(form, b - a)
        alone = _alone(query, own, top + 1)
        _correct(belief, alone, level, (value[:, x], effect[:, first:last], likely[first:last]))
        first = last


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
    """Write what the labels of one query say, see `told_if_single`."""
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
