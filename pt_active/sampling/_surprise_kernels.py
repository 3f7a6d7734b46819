"""Compiled loops of surprises: what a label does to a measure, one pass of drawing, and the estimate [theory 20]."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._class_kernels import LEAST, class_chances, expectations, form_for, query_of, with_labels
from pt_active.relevance._kernels import _compiled

_EDGE = 1e-12  # By what a sum of probabilities must exceed a number to have reached it, because of its rounding


@_compiled
def label_effects(indptr, pool, classes, forms, squares, moves):  # type: ignore[no-untyped-def]
    """``Σ_c w_c E_c[hᵀ A h]`` of each document for several A, and ``Σ_c w_c Cov_c(level, h)`` [theory 20].

    ``h`` is by how much the label moves the expectation of each ranker in a class. ``pool`` is ``(ranks, key, logits,
    covariate, known, cutoff, samples, form)`` and ``classes`` ``(shifts, logs)``, see `relevance.classes`.

    Shapes: indptr int64[m+1], forms float64[q, k, k], squares float64[q, N], moves float64[k, N].
    """
    ranks, key, logits, covariate, known, cutoff, samples, form = pool
    (shifts, logs), k, levels = (classes[0][0], classes[1][0]), len(ranks), logits.shape[1] + 1
    total = np.empty(len(logs))
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        query, own = query_of(ranks[:, a:b], key[a:b], cutoff, samples), form_for(form, b - a)
        chances, expected, given = np.empty((b - a, levels)), np.empty(k), np.empty((b - a, levels, k))
        every = np.arange(b - a)
        for c in range(len(logs)):
            class_chances(logits[a:b], covariate[a:b], shifts[c], chances)
            total[c] = logs[c]
            for z in range(a, b):
                if known[z] >= 0:
                    total[c] += np.log(max(chances[z - a, known[z]], _EDGE))
        total -= total.max()
        weight = np.exp(total) / np.exp(total).sum()
        for c in range(len(logs)):
            class_chances(logits[a:b], covariate[a:b], shifts[c], chances)
            with_labels(chances, known[a:b])
            expectations(chances, query, own, every, expected, given)
            _add(weight[c], chances, given, forms, squares[:, a:b], moves[:, a:b])


@_compiled
def _add(weight, chances, given, forms, squares, moves):  # type: ignore[no-untyped-def]
    """Add the share of one class of one query."""
    n, levels, k = given.shape
    for z in range(n):
        mean = 0.0
        for g in range(levels):
            mean += g * chances[z, g]
        for r in range(k):
            expected = 0.0
            for g in range(levels):
                expected += chances[z, g] * given[z, g, r]
            given[z, :, r] -= expected
        for g in range(levels):
            share = weight * chances[z, g]
            for r in range(k):
                moves[r, z] += share * (g - mean) * given[z, g, r]
                for q in range(k):
                    both = share * given[z, g, r] * given[z, g, q]
                    for f in range(len(forms)):
                        squares[f, z] += forms[f, r, q] * both


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
def corrected(indptr, pool, classes, chance, contrast, found):  # type: ignore[no-untyped-def]
    """Each query's expectation given its labels, corrected by their surprises.

    ``pool`` is that of `label_effects`, with all labels known; ``classes`` are ``(shifts, logs)`` of
    all queries or of each, see `relevance.classes`; ``found`` is
    ``(value, surprise, spread)``: f̂ of each query, δ of each document, and the standard deviation that was expected of
    δ. Written into these.

    Shapes: indptr int64[m+1], chance float64[N], contrast float64[k], value float64[m], surprise and spread float64[N].
    """
    ranks, key, logits, covariate, known, cutoff, samples, form = pool
    (every_shift, every_log), (value, surprise, spread) = classes, found
    number, levels, k = every_log.shape[1], logits.shape[1] + 1, len(contrast)
    for x in range(len(indptr) - 1):
        a, b = indptr[x], indptr[x + 1]
        if a == b:
            continue
        own_class = min(x, len(every_log) - 1)
        shifts, logs = every_shift[own_class], every_log[own_class]
        labelled = np.flatnonzero(known[a:b] >= 0)
        query, own = query_of(ranks[:, a:b], key[a:b], cutoff, samples), form_for(form, b - a)
        chances, expected, given = np.empty((b - a, levels)), np.empty(k), np.empty((len(labelled), levels, k))
        means, moved = np.empty(number), np.zeros((number, len(labelled), levels))
        prior = np.empty((number, len(labelled), levels))
        for c in range(number):
            class_chances(logits[a:b], covariate[a:b], shifts[c], chances)
            prior[c] = chances[labelled]
            with_labels(chances, known[a:b])
            expectations(chances, query, own, labelled, expected, given)
            means[c] = _combined(expected, contrast)
            for i in range(len(labelled)):
                for g in range(levels):
                    moved[c, i, g] = _combined(given[i, g], contrast) - means[c]
        level = known[a:b][labelled]
        value[x] = _posterior(logs, means, moved, prior, level, (surprise[a:b], spread[a:b], labelled))
        for z in labelled:
            value[x] += (1.0 / chance[a + z] - 1.0) * surprise[a + z]


@_compiled
def _combined(values, contrast):  # type: ignore[no-untyped-def]
    total = 0.0
    for r in range(len(contrast)):
        total += contrast[r] * values[r]
    return total


@_compiled
def _posterior(logs, means, moved, prior, level, out):  # type: ignore[no-untyped-def]
    """``Σ_c w_c F_c``, the mean over classes given the labels; the surprise of each label is written into ``out``.

    A label is compared with what the other labels of its query lead to expect.

    Shapes: logs and means float64[C], moved and prior float64[C, s, L+1], level int64[s].
    """
    (surprise, spread, labelled), (number, count, levels) = out, moved.shape
    own, total = np.empty((number, count)), logs.copy()
    for c in range(number):
        for i in range(count):
            own[c, i] = np.log(max(prior[c, i, level[i]], LEAST))
            total[c] += own[c, i]
    for i in range(count):
        others = total - own[:, i]
        weight = np.exp(others - others.max())
        weight /= weight.sum()
        mean, square, seen = 0.0, 0.0, 0.0
        for g in range(levels):
            effect, likely = 0.0, 0.0
            for c in range(number):
                effect += weight[c] * moved[c, i, g]
                likely += weight[c] * prior[c, i, g]
            mean, square = mean + likely * effect, square + likely * effect * effect
            if g == level[i]:
                seen = effect
        surprise[labelled[i]] = seen - mean
        spread[labelled[i]] = np.sqrt(max(square - mean * mean, 0.0))
    weight = np.exp(total - total.max())
    return (weight * means).sum() / weight.sum()
