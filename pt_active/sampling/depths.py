"""How deep is each query judged, so that all queries together cost nearly what was planned [theory 9]?"""

from __future__ import annotations

import numpy as np

from pt_active.sampling.sample import DocumentDesign

_MARGIN = 0.5
"""Standard deviations of the cost that are kept in reserve."""

_BLOCK = 100
"""Queries of similar cost, at most so many, whose random depths are spread evenly over the whole range."""

_POINTS = 8
"""Points of each part of the range at which costs are computed."""


def depth_numbers(
    design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float, rng: np.random.Generator
) -> np.ndarray:
    """Uniform numbers of the queries, float64[m]: documents with a larger π than that of their query are judged.

    Each is uniform by itself. Within a block of similar queries they lie in different parts of the range, so that some
    queries are judged deep and others are not, and the whole costs nearly what is expected.

    Args:
        design: Of nested documents.
        indptr: int64[m+1], the offsets of the queries.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.
        rng: Source of randomness.
    """
    number = rng.random(len(design.opening))
    for block in _blocks(design, indptr, cost, overhead):
        number[block] = (rng.permutation(len(block)) + number[block]) / len(block)
    return number


def depth_reserve(design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float) -> float:
    """`_MARGIN` standard deviations of the cost of the queries that are certain to be opened.

    For a block with ``f(x, k)``, the mean cost of query x in part k of the range, and ``v(x, k)``, its variance there,
    the variance is ``Σ (f(x, k) − f(x) − f(k) + f)² / (b − 1) + Σ v(x, k) / b`` (Hoeffding 1951).

    Args:
        design: Of nested documents.
        indptr: int64[m+1], the offsets of the queries.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.
    """
    variance = 0.0
    for block in _blocks(design, indptr, cost, overhead):
        if design.opening[block[0]] < 1:
            continue
        b = len(block)
        at = (np.arange(b * _POINTS) + 0.5) / (b * _POINTS)
        costs = np.stack([_costs(design, indptr, cost, overhead, x, at) for x in block]).reshape(b, b, _POINTS)
        part = costs.mean(axis=2)
        apart = part - part.mean(axis=1, keepdims=True) - part.mean(axis=0) + part.mean()
        variance += (apart**2).sum() / max(b - 1, 1) + costs.var(axis=2).mean(axis=1).sum()
    return _MARGIN * float(np.sqrt(variance))


def _blocks(design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float) -> list[np.ndarray]:
    """Queries that can be opened, in blocks of similar expected costs; those that are certain have their own blocks."""
    query = np.searchsorted(indptr, design.order, side="right") - 1
    first = np.r_[True, query[1:] != query[:-1]]
    price = (cost[design.order] + overhead * first) * design.inclusion[design.order]
    expected = np.bincount(query, weights=price, minlength=len(design.opening))
    found = []
    for which in (design.opening >= 1, (design.opening > 0) & (design.opening < 1)):
        rows = np.flatnonzero(which & (expected > 0))
        rows = rows[np.argsort(expected[rows], kind="stable")]
        found += [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    return found


def _costs(
    design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float, x: int, number: np.ndarray
) -> np.ndarray:
    """What a query costs if it is opened, for each of some uniform numbers."""
    query = np.searchsorted(indptr, design.order, side="right") - 1
    documents = design.order[slice(*np.searchsorted(query, [x, x + 1]))]
    deep = np.searchsorted(-design.inclusion[documents], -number, side="left")
    return np.asarray(np.r_[0.0, overhead + np.cumsum(cost[documents])][deep])
