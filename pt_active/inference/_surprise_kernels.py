"""Compiled estimates of nDCG and AP from what is surprising about the labels of single documents [theory 20]."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._class_kernels import LEAST, class_chances, expectations, form_for, query_of, with_labels
from pt_active.relevance._kernels import _compiled


@_compiled
def corrected(indptr, pool, classes, chance, contrast, found):  # type: ignore[no-untyped-def]
    """Each query's expectation given its labels, corrected by their surprises.

    ``pool`` is that of `_surprise_kernels.label_effects`, with all labels known; ``classes`` are ``(shifts, logs)`` of
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
