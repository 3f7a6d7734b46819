"""How deep is each query judged, so that all queries together cost nearly what was planned [theory 9]?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pt_active.sampling.sample import DocumentDesign

_SAME = 1e-12
"""Probabilities that differ by less than this share are equal but for rounding."""


class Parts(NamedTuple):
    """The range of each query's uniform number, in parts in which the same documents are judged."""

    ptr: np.ndarray  # int64[m+1], the offsets of the queries
    end: np.ndarray  # float64[P], the upper ends of the parts, increasing within a query; the last one is 1
    length: np.ndarray  # float64[P], positive
    cost: np.ndarray  # float64[P], what the query costs in each part, falling


def depth_numbers(
    design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float, rng: np.random.Generator
) -> np.ndarray:
    """Uniform numbers of the queries, float64[m]: a document is judged if its ``Π π`` is larger than that of its query.

    Each is uniform by itself. Together they are drawn so that the whole costs nearly what is expected: what one query
    costs above its mean, others cost below theirs [`even_parts`].

    Shapes: indptr int64[m+1], cost float64[N].
    """
    from pt_active.sampling._depth_kernels import even_parts

    parts = _parts(design, indptr, cost, overhead)
    key = rng.integers(0, np.iinfo(np.uint64).max, len(indptr) - 1, dtype=np.uint64, endpoint=True)
    chosen = even_parts(parts.ptr, parts.length, parts.cost, key)
    return np.asarray(parts.end[chosen] - (1 - rng.random(len(chosen))) * parts.length[chosen])


def _parts(design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float) -> Parts:
    query, m = np.searchsorted(indptr, design.order, side="right") - 1, len(indptr) - 1
    chance = design.opening[query] * design.inclusion[design.order]
    first = np.r_[True, query[1:] != query[:-1]]
    price = cost[design.order] + overhead * first
    # From the deepest document of each query to the top, and last the part in which nothing is judged.
    deep = np.cumsum(price)
    deep -= (deep - price)[np.maximum.accumulate(np.where(first, np.arange(len(query)), 0))]
    owner = np.r_[query[::-1], np.arange(m)]
    end, total = np.r_[chance[::-1], np.ones(m)], np.r_[deep[::-1], np.zeros(m)]
    place = np.lexsort([np.r_[np.arange(len(query)), np.full(m, len(query))], owner])
    owner, end, total = owner[place], end[place], total[place]
    new = np.r_[True, owner[1:] != owner[:-1]]
    # Documents that are equally probable but for rounding share a part.
    kept = end - np.where(new, 0.0, np.r_[0.0, end[:-1]]) > _SAME * end
    owner, end, total, new = owner[kept], end[kept], total[kept], np.r_[True, owner[kept][1:] != owner[kept][:-1]]
    length = end - np.where(new, 0.0, np.r_[0.0, end[:-1]])
    return Parts(np.searchsorted(owner, np.arange(m + 1)), end, length, total)
