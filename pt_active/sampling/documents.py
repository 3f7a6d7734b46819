"""Which documents to judge: inclusion probabilities that minimise the error of an estimate [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pt_active.relevance.measures import RankForm
from pt_active.sampling.chances import Clipped
from pt_active.sampling.designs import check_pair_weights
from pt_active.sampling.pools import DocumentPool, Variables, gradients
from pt_active.sampling.sample import DocumentDesign

DOCUMENT_DRAWINGS = ("spread", "poisson", "depth")
"""How the documents of a query are drawn: spread as evenly over the queries as possible, independently, or from the
top of the rankings down to a random depth."""

OBJECTIVES = ("mean", "largest")
"""What is minimised: the mean or the largest of the variances of all pairwise differences of rankers."""

DEFENSIVE_VARIANCE = 1.0
"""Default share of the average variance that is added to each document, because a model that claims to be certain is
not believed [theory 5]."""

_REWEIGHTINGS = 10
"""How often the pairs of rankers are reweighted to minimise the largest variance."""

_SUBSAMPLE = 2000
"""Queries used to find the pair weights that minimise the largest variance."""

_MIXED_SHARE = 0.01
"""Share of both rankers' squared gradients that is added to that of the difference of two cascades, and share of an
equal weight that is added to the weight of each pair of rankers."""

_MARGIN = 1.5
"""Standard deviations of the cost of a drawing by depth that are kept in reserve."""

_ROUNDING = 1e-14
"""A difference of gradients below this share of the largest gradient is rounding, and counts as zero."""


@dataclass(frozen=True)
class DocumentSizes:
    """Inclusion probabilities up to a factor: ``ψ = min(1, τ · size)``.

    Attributes:
        order: int64[n], the documents that can change the estimate, query by query, in the order in which they are
            drawn.
        size: float64[N]; 0 for documents that cannot change the estimate.
        gain: float64[N], g; a document adds ``g (1/ψ − 1)`` to the variance.
    """

    order: np.ndarray
    size: np.ndarray
    gain: np.ndarray


@dataclass(frozen=True)
class RoundSettings:
    """How the documents of each round are chosen.

    Attributes:
        drawing: A name in `DOCUMENT_DRAWINGS`; with ``depth``, no document is more probable than those above it.
        defensive: ε, the share of the average variance that `hedged` adds to each unknown document.
        objective: A name in `OBJECTIVES`, for more than two rankers.
        pairs: float64[k(k−1)/2], the weight of the variance of each pair of rankers in the mean, in the order of
            ``combinations(range(k), 2)``; None for equal weights.
    """

    drawing: str
    defensive: float = DEFENSIVE_VARIANCE
    objective: str = "mean"
    pairs: np.ndarray | None = None


def opened_at_random(drawing: str, overhead: float) -> bool:
    """Whether queries are opened with a probability of their own, which all of their documents share.

    Args:
        drawing: A name in `DOCUMENT_DRAWINGS`.
        overhead: What the first document of a query costs on top.
    """
    return overhead > 0 or drawing == "depth"


def natural_drawing(form: RankForm) -> str:
    """The drawing that suits a measure: ``spread`` for additive ones, ``depth`` for cascades."""
    return "spread" if form.family == "additive" else "depth"


def hedged(variables: Variables, gradient: np.ndarray, defensive: float) -> Variables:
    """Add to every unknown document a share ε of the average variance, so that none counts as certain.

    Args:
        variables: The document variables under the grade model.
        gradient: float64[k, N]; its squares weight the average.
        defensive: ε, not negative.

    Returns:
        The variables. If the model sees no variance at all, each unknown document has variance 1.
    """
    unknown = ~variables.known
    average = _average(variables, gradient)
    added = defensive * average * unknown if average > 0 else unknown.astype(float)
    return Variables(variables.mean, variables.variance + added, variables.known)


def _average(variables: Variables, gradient: np.ndarray) -> float:
    """The model's variance of an unknown document, weighted by squared gradients."""
    weight = (gradient**2).sum(axis=0) * ~variables.known
    return float((weight @ variables.variance) / max(weight.sum(), np.finfo(float).tiny))


def document_sizes(
    pool: DocumentPool,
    variables: Variables,
    cost: np.ndarray,
    overhead: float,
    settings: RoundSettings,
    budget: float | None = None,
) -> DocumentSizes:
    """How probable the judging of each document should be, relative to the others [theory 9].

    The variance of an estimate is ``Σ g_z (1/ψ_z − 1)`` with ``g_z = p² D_z² v_z``. For two rankers D is the difference
    of their gradients; for more, D² is its (weighted) mean square over all pairs. At equal cost
    ``Σ ψ λ + Σ λ₀ max ψ`` the variance is smallest for ``ψ ∝ √(g/λ)``, with the documents pooled that share the
    opening of a query.

    Args:
        pool: The pool as the measure sees it.
        variables: The document variables under the grade model.
        cost: float64[N], λ; not read for documents that cannot change the estimate.
        overhead: λ₀, the cost of opening a query.
        settings: How documents are chosen.
        budget: Λ; the objective ``largest`` depends on it.

    Raises:
        ValueError: If a setting is unknown or out of range, or the budget is missing but needed.
    """
    _check(settings, len(pool.ranks))
    where = pool.gradients(variables.mean)
    if _average(variables, where) == 0 and (where * ~variables.known).any():
        warnings.warn(
            "the model is certain of every grade that can matter; documents are drawn by their ranks alone",
            stacklevel=3,
        )
    variables = hedged(variables, where, settings.defensive)
    gradient = gradients(pool.form, pool.indptr, pool.ranks, variables)
    scale = pool.weight[pool.query] ** 2 * variables.variance
    contrasts, pairs, drawing = _contrasts(pool, gradient), settings.pairs, settings.drawing
    share = np.full(len(contrasts), 1 / len(contrasts)) if pairs is None else pairs / pairs.sum()
    if settings.objective == "largest" and len(contrasts) > 1 and (scale * contrasts).any():
        if budget is None:
            raise ValueError("a budget is needed to minimise the largest variance")
        share = _shares(scale * contrasts, pool, cost, overhead, drawing, budget)
    return _sizes(scale * (share @ contrasts), pool, cost, overhead, drawing)


def _check(settings: RoundSettings, rankers: int) -> None:
    for what, name, names in (
        ("document design", settings.drawing, DOCUMENT_DRAWINGS),
        ("objective", settings.objective, OBJECTIVES),
    ):
        if name not in names:
            raise ValueError(f"unknown {what} {name!r}; it is one of {', '.join(names)}")
    if not 0 <= settings.defensive < np.inf:
        raise ValueError(f"defensive must be a number from 0, got {settings.defensive}")
    if settings.pairs is not None:
        check_pair_weights(settings.pairs, rankers)
        if settings.objective != "mean":
            raise ValueError(f'weights of pairs are for objective="mean"; {settings.objective!r} finds its own')


def _shares(
    gains: np.ndarray, pool: DocumentPool, cost: np.ndarray, overhead: float, drawing: str, budget: float
) -> np.ndarray:
    """Weights of the contrasts for which minimising the weighted mean of the variances minimises the largest one.

    Contrasts with larger variances gain weight, iteration by iteration. Of many queries only every n-th is used.
    """
    m = len(pool.weight)
    chosen = np.arange(m) % -(-m // _SUBSAMPLE) == 0
    documents = chosen[pool.query]
    indptr = np.r_[0, np.cumsum(np.diff(pool.indptr)[chosen])]
    pool = DocumentPool(pool.form, indptr, pool.ranks[:, documents], pool.weight[chosen])
    gains, cost, budget = gains[:, documents], cost[documents], budget * chosen.mean()
    share = best = np.full(len(gains), 1 / len(gains))
    least = np.inf
    for _ in range(_REWEIGHTINGS):
        sizes = _sizes(share @ gains, pool, cost, overhead, drawing)
        if len(sizes.order) == 0:
            break
        design = document_design(sizes, drawing, indptr, cost, overhead, budget)
        variances = gains[:, sizes.order] @ (1 / design.chance(pool.query)[sizes.order] - 1)
        if variances.max() < least:
            best, least = share, float(variances.max())
        share = share * np.sqrt(variances) + _MIXED_SHARE * share.mean() * np.sqrt(variances.max())
        share = share / share.sum() if share.any() else np.full_like(share, 1 / len(share))
    return best


def _contrasts(pool: DocumentPool, gradient: np.ndarray) -> np.ndarray:
    """Squared gradients of what is estimated, one row for the only ranker or for the difference of each pair.

    The difference of two cascades depends on every document of a query in which the rankings differ, even if its
    gradient happens to vanish at the means. A small share of both gradients is added there, so that every document
    that matters can be drawn.
    """
    if len(gradient) == 1:
        return gradient**2
    largest = np.abs(gradient).max(initial=0.0)
    depth, query, m = len(pool.form.weights), pool.query, len(pool.weight)
    place = np.where((pool.ranks > 0) & (pool.ranks <= depth), pool.ranks, depth + 1)
    squares = []
    for a, b in combinations(range(len(gradient)), 2):
        step = gradient[a] - gradient[b]
        square = np.where(np.abs(step) > _ROUNDING * largest, step, 0.0) ** 2
        if pool.form.family == "cascade":
            differ = np.bincount(query[place[a] != place[b]], minlength=m) > 0
            square += np.where(differ[query], _MIXED_SHARE * (gradient[a] ** 2 + gradient[b] ** 2), 0.0)
        squares.append(square)
    return np.array(squares)


def _sizes(gain: np.ndarray, pool: DocumentPool, cost: np.ndarray, overhead: float, drawing: str) -> DocumentSizes:
    from pt_active.sampling._kernels import pooled_sizes

    documents = np.flatnonzero(gain > 0)
    if drawing == "depth":
        rank = np.where(pool.ranks > 0, pool.ranks, np.iinfo(np.int32).max)[:, documents]
        keys = [rank.max(axis=0), rank.min(axis=0)]
    else:
        keys = [-gain[documents] / cost[documents]]
    order = documents[np.lexsort([*keys, pool.query[documents]])]
    size = np.zeros(len(gain))
    pooled_sizes(pool.indptr, order, gain, cost, overhead, size)
    return DocumentSizes(order, size, gain)


def document_design(
    sizes: DocumentSizes, drawing: str, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """Turn sizes into the probabilities of both phases whose expected cost is the budget [theory 9].

    If opening a query costs nothing and documents are not drawn by depth, every query is opened: an error that the
    model makes in a whole query then does the least harm. Otherwise a query is opened with the probability of its most
    probable document.

    A drawing by depth has a random cost, and queries that exceed the budget are dropped whole, which costs far more
    precision than their share of the budget. So `_MARGIN` standard deviations of the cost in queries that are certain
    to be opened are kept in reserve.

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
    design = _design_at(sizes, drawing, indptr, cost, overhead, budget)
    if drawing != "depth":
        return design
    margin = _MARGIN * _deviation_of_depth(design, indptr, cost, overhead)
    if margin == 0:
        return design
    return _design_at(sizes, drawing, indptr, cost, overhead, max(budget - margin, 0.5 * budget))


def _deviation_of_depth(design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float) -> float:
    """Standard deviation of the cost of documents drawn by depth in queries that are certain to be opened.

    Two documents of a query are both drawn as often as the less probable of them, so
    ``E[(Σ I λ)²] = Σ_j ψ_j λ_j (λ_j + 2 Σ_{i<j} λ_i)``.
    """
    query = np.searchsorted(indptr, design.order, side="right") - 1
    first = np.r_[True, query[1:] != query[:-1]]
    price, chance = cost[design.order] + overhead * first, design.inclusion[design.order]
    before = np.cumsum(price) - price
    before -= np.maximum.accumulate(np.where(first, before, 0.0))
    mean = np.bincount(query, weights=price * chance, minlength=len(indptr) - 1)
    square = np.bincount(query, weights=chance * price * (price + 2 * before), minlength=len(indptr) - 1)
    variance = np.where(design.opening == 1, square - mean**2, 0.0)
    # A variance far below the mean square is what rounding left of 0.
    return float(np.sqrt(variance[variance > 1e-9 * square].sum()))


def _design_at(
    sizes: DocumentSizes, drawing: str, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """The probabilities whose expected cost is the budget."""
    size, price = sizes.size[sizes.order], cost[sizes.order]
    query = np.searchsorted(indptr, sizes.order, side="right") - 1
    first = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    top = np.maximum.reduceat(size, first)
    factor = Clipped.of(np.r_[size, top], np.r_[price, np.full(len(top), overhead)]).factor(budget)
    opening, inclusion = np.zeros(len(indptr) - 1), np.zeros(len(sizes.size))
    opening[query[first]] = np.minimum(1.0, factor * top) if opened_at_random(drawing, overhead) else 1.0
    inclusion[sizes.order] = np.minimum(1.0, factor * size) / opening[query]
    return DocumentDesign(drawing, sizes.order, opening, inclusion)
