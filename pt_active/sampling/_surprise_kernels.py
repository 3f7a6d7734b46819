"""Compiled loops of the drawing by surprises: what a label does to a measure, and one pass through all documents."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._class_kernels import class_chances, expectations, form_for, query_of, with_labels
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
