"""From the influence of documents to the probabilities that a budget buys [theory 9]."""

from __future__ import annotations

import numpy as np

from pt_active.relevance.digits import rounded
from pt_active.relevance.moments import discounts
from pt_active.sampling.chances import Clipped, at_most_one
from pt_active.sampling.drawings import (
    SUCCESSIVE,
    errs_together,
    opened_at_random,
    succession_unit,
)
from pt_active.sampling.influence import ErrorVariance, Influence
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import DocumentDesign, DocumentSizes
from pt_active.sampling.successive import largest_below, succession_design

_STRIDE = 0.25
"""By which share the size of a step of a cascade exceeds that of the next deeper one, if they differ."""

_ROUNDING = 1e-9
"""Share by which sizes may miss a step because of rounding."""


RANGE_SHARE = 0.1
"""Share of the rates of a successive drawing that follows the range of values instead of the model's variance. It
bounds how far a single label can move a running estimate, also where the model is certain [theory 14]."""


def sizes_of(
    errors: ErrorVariance,
    influence: Influence,
    pool: DocumentPool,
    cost: np.ndarray,
    overhead: float,
    drawing: str,
    keys: list[np.ndarray],
) -> DocumentSizes:
    """The sizes from the variance of errors and the mean of their influence on what is compared.

    Documents are drawn in the order of the keys, float64[N] each with the last one first, or the most influential first
    if there are no keys.
    """
    from pt_active.sampling._kernels import pooled_sizes

    gain, unit = errors.documents * influence.documents, succession_unit(pool.form, overhead)
    documents = np.flatnonzero(gain > 0)
    sorted_by = [key[documents] for key in keys] or [-rounded(gain[documents] / cost[documents])]
    order = documents[np.lexsort([*sorted_by, pool.query[documents]])]
    size = np.zeros(len(gain))
    if drawing == SUCCESSIVE and len(order):
        reach = np.ptp(pool.form.values) * np.sqrt(influence.documents)
        if unit == "step":
            # Labels above are unknown, so a document may matter as much as its rank allows.
            reach = np.ptp(pool.form.values) * pool.weight[pool.query] * discounts(pool.form, pool.ranks).max(axis=0)
        size[order] = succession_sizes(unit, order, pool.indptr, gain, reach, cost, overhead)
        return DocumentSizes(order, size, gain, unit)
    opening = np.zeros(len(pool.weight))
    common = errors.common * influence.queries if errs_together(drawing, overhead) else opening.copy()
    pooled_sizes(pool.indptr, order, gain, cost, overhead, size, common, opening)
    return DocumentSizes(order, size, gain, opening=opening)


def succession_sizes(
    unit: str,
    order: np.ndarray,
    indptr: np.ndarray,
    gain: np.ndarray,
    reach: np.ndarray,
    cost: np.ndarray,
    overhead: float,
) -> np.ndarray:
    """How soon each document should come, relative to the others, with a share for its range [theory 14].

    ``(1 − ε) a/Σa + ε b/Σb``. For documents ``a = √(g/λ)`` and ``b = p |D| (κ_max − κ_min)/√λ``; for whole queries
    ``a = √(Σ g/(λ₀ + Σ λ))`` and ``b = Σ p |D| (κ_max − κ_min)/√(λ₀ + Σ λ)``. For steps a is the size of a drawing by
    depth and b the largest of those of a document and the deeper ones, so that neither rises along the order.

    Shapes: order int64[n], indptr int64[m+1], gain, reach, cost float64[N] → float64[n].
    """
    from pt_active.sampling._kernels import pooled_sizes

    query = np.searchsorted(indptr, order, side="right") - 1
    most, price = reach[order], cost[order]
    if unit == "query":
        whole = np.bincount(query, weights=price) + overhead
        size = np.sqrt(np.bincount(query, weights=gain[order])[query] / whole[query])
        most = (np.bincount(query, weights=most) / np.sqrt(whole))[query]
    else:
        sizes = np.zeros(len(gain))
        nothing = np.zeros(len(indptr) - 1)
        pooled_sizes(indptr, order, gain, cost, overhead if unit == "step" else 0.0, sizes, nothing, nothing.copy())
        size, most = sizes[order], most / np.sqrt(price)
    if unit == "step":
        most = largest_below(most, query)
    mixed = (1 - RANGE_SHARE) * size / size.sum() + RANGE_SHARE * most / most.sum()
    return np.asarray(_in_strides(mixed, query) if unit == "step" else mixed)


def _in_strides(size: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Sizes that fall along the order of a query by `_STRIDE` at least, or not at all; none becomes larger.

    The rate of a step is the difference of two sizes. A tiny one would make the step so improbable that it could move a
    running estimate beyond all measure.
    """
    strided = size.copy()
    for place in range(len(size) - 2, -1, -1):
        if query[place] == query[place + 1] and size[place] < (1 + _STRIDE) * (1 + _ROUNDING) * strided[place + 1]:
            strided[place] = strided[place + 1]
    return strided / strided.sum()


def document_design(
    sizes: DocumentSizes, drawing: str, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """Turn sizes into the probabilities of both phases whose expected cost is the budget [theory 9].

    If opening a query costs nothing and documents are not drawn by depth, every query is opened: an error that the
    model makes in a whole query then does the least harm. Otherwise a query is opened with a probability in proportion
    to its size in `DocumentSizes.opening`, or with that of its most probable document.

    A successive drawing gets rates besides, see `succession_design`.

    Args:
        sizes: As `document_sizes` returns them.
        drawing: A name in `DOCUMENT_DRAWINGS`, the one that the sizes are for.
        indptr: int64[m+1], the offsets of the queries.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.
        budget: Λ.

    Raises:
        ValueError: If the budget is not a positive number, or no document can change the estimate.
    """
    if len(sizes.order) == 0:
        raise ValueError("no document can change the estimate: all are known, or the rankings agree above the cutoff")
    if drawing == SUCCESSIVE:
        return succession_design(sizes, indptr, cost, overhead, budget)
    return design_at(sizes, drawing, indptr, cost, overhead, budget)


def design_at(
    sizes: DocumentSizes, drawing: str, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """The probabilities whose expected cost is the budget."""
    size, price = sizes.size[sizes.order], cost[sizes.order]
    query = np.searchsorted(indptr, sizes.order, side="right") - 1
    first = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    top = np.maximum.reduceat(size, first) if sizes.opening is None else sizes.opening[query[first]]
    factor = Clipped.of(np.r_[size, top], np.r_[price, np.full(len(top), overhead)]).factor(budget)
    opening, inclusion = np.zeros(len(indptr) - 1), np.zeros(len(sizes.size))
    opening[query[first]] = at_most_one(factor * top) if opened_at_random(drawing, overhead) else 1.0
    inclusion[sizes.order] = at_most_one(factor * size) / opening[query]
    return DocumentDesign(drawing, sizes.order, opening, inclusion)
