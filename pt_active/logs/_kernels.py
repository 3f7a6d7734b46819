"""Compiled loops over the documents of an additive measure: what a plan knows of those that it does not keep."""

from __future__ import annotations

from pt_active.relevance._kernels import _compiled


@_compiled
def _slope(ranks, z, table, sides):  # type: ignore[no-untyped-def]
    """D of a document, from the discounts of all ranks and, last, of those below the cutoff."""
    slope = 0.0
    for s in range(len(sides)):
        slope += sides[s] * table[min(ranks[s, z], len(table) - 1)]
    return slope


@_compiled
def undrawn_sums(indptr, ranks, contrast, about, chances, found):  # type: ignore[no-untyped-def]
    """Add up over documents, and over those of queries that are not kept by part of the queries, ``first`` and more."""
    (table, sides, least), (weight, mean, errors, kept), (opening, inclusion, opened) = contrast, about, chances
    sums, parts, first = found
    for x in range(len(weight)):
        part = (first + x) % parts.shape[1]
        for z in range(indptr[x], indptr[x + 1]):
            slope, chance = _slope(ranks, z, table, sides), opening[x] * inclusion[z]
            pull = weight[x] * slope
            square = pull**2
            sums[0] += slope**2
            sums[1] += slope**2 * errors[z]
            sums[2] += square
            sums[3] += square * errors[z]
            if inclusion[z] <= 0:
                sums[4] += square * errors[z]
                sums[5] += pull != 0
            if chance > 0:
                sums[6] += square * (1 - chance) / chance
                sums[7] += square * (1 - chance) / chance * errors[z]
            if abs(slope) > least and pull != 0 and not opened[x] * inclusion[z] >= 1:
                sums[8] += 1
            if kept[x]:
                continue
            if inclusion[z] > 0:
                parts[0, part] += pull
                parts[1, part] += pull * mean[z]
                parts[2, part] += pull * slope
            else:
                sums[9] += pull * mean[z]


@_compiled
def sums_to_come(indptr, ranks, contrast, about, come, sums):  # type: ignore[no-untyped-def]
    """Add up over the documents that were not drawn and can come, between the values ``low`` and ``high``."""
    (table, sides, _), (weight, mean, errors, _), (rate, drawn, low, high) = contrast, about, come
    for x in range(len(weight)):
        for z in range(indptr[x], indptr[x + 1]):
            if drawn[z] or rate[z] <= 0:
                continue
            pull = weight[x] * _slope(ranks, z, table, sides)
            least, most = min(pull * low, pull * high), max(pull * low, pull * high)
            sums[0] += rate[z]
            sums[1] = min(sums[1], rate[z])
            sums[2] += pull * mean[z]
            sums[3] += least
            sums[4] += most
            sums[5] = min(sums[5], (least - pull * mean[z]) / rate[z])
            sums[6] = max(sums[6], (most - pull * mean[z]) / rate[z])
            sums[7] += pull**2 / rate[z]
            sums[8] += pull**2 / rate[z] * errors[z]
