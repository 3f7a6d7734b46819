"""Which documents to judge: inclusion probabilities that minimise the error of an estimate [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pt_active.relevance.measures import RankForm
from pt_active.relevance.moments import discounts
from pt_active.sampling.chances import Clipped
from pt_active.sampling.designs import check_pair_weights
from pt_active.sampling.sample import DocumentDesign

DOCUMENT_DRAWINGS = ("spread", "poisson", "depth")
"""How the documents of a query are drawn together: as far apart over the queries as possible, independently, or from
the top of the rankings down to a random depth."""

OBJECTIVES = ("mean", "largest")
"""Of the variances of all pairwise differences of rankers, what is made small."""

DEFENSIVE_VARIANCE = 1.0
"""Share of the average variance that is added to each document if none is said: as at the level of queries, the model's
claims of certainty are not believed [theory 5]."""

_ROUNDS = 10
"""Of reweighting the pairs of rankers for the largest variance."""

_SPOKESMEN = 2000
"""Queries that are looked at for it."""

_SHARE = 0.01
"""Of the rankers' own squared gradients that is added to that of the difference of two cascades; and of an equal weight
that is added to those of the pairs of rankers."""

_MARGIN = 1.5
"""Standard deviations of a drawing's cost that are put by."""

_ROUNDING = 1e-14
"""A difference of gradients below this share of the largest gradient is rounding, and counts as zero."""


@dataclass(frozen=True)
class Variables:
    """What is known of the document variables (gain or κ) before judging.

    Attributes:
        mean: float64[N], μ.
        variance: float64[N], v.
        known: bool[N], whether the label is known already.
    """

    mean: np.ndarray
    variance: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, form: RankForm, grades: np.ndarray, labels: np.ndarray | None = None) -> Variables:
        """Mean and variance under the grade model.

        Args:
            form: Of the measure.
            grades: float64[N, G+1].
            labels: int64[N], those that are known already, -1 where none is.
        """
        mean = grades @ form.values
        variance = np.maximum(grades @ form.values**2 - mean**2, 0.0)
        if labels is None:
            return cls(mean, variance, np.zeros(len(mean), dtype=bool))
        known = labels >= 0
        return cls(np.where(known, form.values[labels], mean), np.where(known, 0.0, variance), known)


@dataclass(frozen=True)
class DocumentSizes:
    """Inclusion probabilities up to a factor: ``ψ = min(1, τ · size)``.

    Attributes:
        order: int64[n], the documents that can matter, query by query, in the order in which they are drawn.
        size: float64[N]; 0 where a document cannot matter.
        gain: float64[N], g: the variance that a document brings is ``g (1/ψ − 1)``.
    """

    order: np.ndarray
    size: np.ndarray
    gain: np.ndarray


def natural_drawing(form: RankForm) -> str:
    """The drawing that suits a measure: ``spread`` for additive ones, ``depth`` for cascades."""
    return "spread" if form.family == "additive" else "depth"


def gradients(form: RankForm, indptr: np.ndarray, ranks: np.ndarray, variables: Variables) -> np.ndarray:
    """``D_s(z) = ∂ℓ_s/∂κ_z`` at the given values: the discount ``d_s(z)`` of an additive measure [theory 9].

    Args:
        form: Of the measure.
        indptr: int64[m+1].
        ranks: int32[k, N].
        variables: Where the gradient is taken. Where they have a variance, the chance of reaching a rank of a cascade
            counts as the root of its mean square, since the documents above it will mostly be judged too.

    Returns:
        float64[k, N].
    """
    if form.family == "additive":
        return discounts(form, ranks)
    from pt_active.relevance._kernels import cascade_gradients

    gradient = np.zeros(ranks.shape)
    moments = np.column_stack([variables.mean, variables.mean**2 + variables.variance])
    cascade_gradients(indptr, ranks, moments, form.weights, bool(variables.variance.any()), gradient)
    return gradient


def hedged(variables: Variables, gradient: np.ndarray, defensive: float) -> Variables:
    """Add to every unknown document a share ε of the average variance, so that no claim of certainty is believed.

    Args:
        variables: Under the grade model.
        gradient: float64[k, N], whose squares weight the average.
        defensive: ε, not negative.

    Returns:
        The variables; where the model sees no variance at all, each unknown document has variance 1.
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
    form: RankForm,
    indptr: np.ndarray,
    ranks: np.ndarray,
    variables: Variables,
    cost: np.ndarray,
    overhead: float,
    weight: np.ndarray,
    *,
    drawing: str,
    defensive: float,
    objective: str = "mean",
    budget: float | None = None,
    pairs: np.ndarray | None = None,
) -> DocumentSizes:
    """How probable the judging of each document should be, relative to the others [theory 9].

    The variance of an estimate is ``Σ g_z (1/ψ_z − 1)`` with ``g_z = p² D_z² v_z``, for the difference of two rankers
    with the difference of their gradients, for more with the (weighted) mean of its squares over all pairs. At equal
    cost ``Σ ψ λ + Σ λ₀ max ψ`` it is least where ``ψ ∝ √(g/λ)``, with the documents that share a query's opening
    pooled.

    Args:
        form: Of the measure.
        indptr: int64[m+1].
        ranks: int32[k, N].
        variables: Under the grade model.
        cost: float64[N], λ; not read where a document cannot matter.
        overhead: λ₀, of opening a query.
        weight: float64[m], p.
        drawing: One of `DRAWINGS`; with ``depth`` no document is more probable than those above it.
        defensive: ε of `hedged`.
        objective: One of `OBJECTIVES`, for more than two rankers.
        budget: Λ, for the ``largest`` variance, which depends on it.
        pairs: float64[k(k−1)/2], what the variance of the difference of each pair weighs in the mean, in the order of
            ``combinations(range(k), 2)``; equal if left out.

    Raises:
        ValueError: If a name is unknown, ``defensive`` is negative, a budget is needed, or ``pairs`` is malformed or
            given for the ``largest`` variance.
    """
    for name, value, names in (("document design", drawing, DOCUMENT_DRAWINGS), ("objective", objective, OBJECTIVES)):
        if value not in names:
            raise ValueError(f"unknown {name} {value!r}; it is one of {', '.join(names)}")
    if not 0 <= defensive < np.inf:
        raise ValueError(f"defensive must be a number from 0, got {defensive}")
    if pairs is not None:
        check_pair_weights(pairs, len(ranks))
        if objective != "mean":
            raise ValueError(f'weights of pairs are for objective="mean"; {objective!r} finds its own')
    plain = Variables(variables.mean, np.zeros_like(variables.mean), variables.known)
    where = gradients(form, indptr, ranks, plain)
    if _average(variables, where) == 0 and (where * ~variables.known).any():
        warnings.warn(
            "the model is certain of every grade that can matter; documents are drawn by their ranks alone",
            stacklevel=3,
        )
    variables = hedged(variables, where, defensive)
    gradient = gradients(form, indptr, ranks, variables)
    scale = np.repeat(weight, np.diff(indptr)) ** 2 * variables.variance
    contrasts = _contrasts(form, indptr, ranks, gradient)
    share = np.full(len(contrasts), 1 / len(contrasts)) if pairs is None else pairs / pairs.sum()
    if objective == "largest" and len(contrasts) > 1 and (scale * contrasts).any():
        if budget is None:
            raise ValueError("a budget is needed to make the largest variance small")
        share = _shares(scale * contrasts, indptr, ranks, cost, overhead, drawing, budget)
    return _sizes(scale * (share @ contrasts), indptr, ranks, cost, overhead, drawing)


def _shares(
    gains: np.ndarray,
    indptr: np.ndarray,
    ranks: np.ndarray,
    cost: np.ndarray,
    overhead: float,
    drawing: str,
    budget: float,
) -> np.ndarray:
    """Weights of the contrasts whose weighted mean of variances leads to the smallest of largest variances.

    Dearer variances gain weight round by round. Where there are many queries, every n-th speaks for all.
    """
    lengths = np.diff(indptr)
    chosen = np.arange(len(lengths)) % -(-len(lengths) // _SPOKESMEN) == 0
    documents = np.repeat(chosen, lengths)
    lengths = lengths[chosen]
    budget *= chosen.mean()
    gains, ranks, cost = gains[:, documents], ranks[:, documents], cost[documents]
    indptr = np.r_[0, np.cumsum(lengths)]
    share = best = np.full(len(gains), 1 / len(gains))
    least = np.inf
    for _ in range(_ROUNDS):
        sizes = _sizes(share @ gains, indptr, ranks, cost, overhead, drawing)
        if len(sizes.order) == 0:
            break
        design = document_design(sizes, drawing, indptr, cost, overhead, budget)
        chance = np.repeat(design.opening, lengths)[sizes.order] * design.inclusion[sizes.order]
        variances = gains[:, sizes.order] @ (1 / chance - 1)
        if variances.max() < least:
            best, least = share, float(variances.max())
        share = share * np.sqrt(variances) + _SHARE * share.mean() * np.sqrt(variances.max())
        share = share / share.sum() if share.any() else np.full_like(share, 1 / len(share))
    return best


def _contrasts(form: RankForm, indptr: np.ndarray, ranks: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Squared gradients of what is estimated, a row each: one ranker, or each pair's difference.

    The difference of two cascades depends on every document of a query in which the rankings differ, even where its
    gradient happens to vanish at the means; so there a small share of both gradients is added, lest a document that
    matters be never drawn.
    """
    if len(gradient) == 1:
        return gradient**2
    largest = np.abs(gradient).max(initial=0.0)
    depth = len(form.weights)
    place = np.where((ranks > 0) & (ranks <= depth), ranks, depth + 1)
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    found = []
    for a, b in combinations(range(len(gradient)), 2):
        step = gradient[a] - gradient[b]
        square = np.where(np.abs(step) > _ROUNDING * largest, step, 0.0) ** 2
        if form.family == "cascade":
            differ = np.bincount(query[place[a] != place[b]], minlength=len(indptr) - 1) > 0
            square += np.where(differ[query], _SHARE * (gradient[a] ** 2 + gradient[b] ** 2), 0.0)
        found.append(square)
    return np.array(found)


def _sizes(
    gain: np.ndarray, indptr: np.ndarray, ranks: np.ndarray, cost: np.ndarray, overhead: float, drawing: str
) -> DocumentSizes:
    from pt_active.sampling._kernels import pooled_sizes

    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    found = np.flatnonzero(gain > 0)
    if drawing == "depth":
        rank = np.where(ranks > 0, ranks, np.iinfo(np.int32).max)[:, found]
        keys = [rank.max(axis=0), rank.min(axis=0)]
    else:
        keys = [-gain[found] / cost[found]]
    order = found[np.lexsort([*keys, query[found]])]
    size = np.zeros(len(gain))
    pooled_sizes(indptr, order, gain, cost, overhead, size)
    return DocumentSizes(order, size, gain)


def document_design(
    sizes: DocumentSizes, drawing: str, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """Turn sizes into the probabilities of both phases whose expected cost is the budget [theory 9].

    Where opening a query costs nothing and documents are drawn apart, every query is opened: an error that the
    model makes in a whole query then does as little harm as can be. Otherwise a query is opened with the
    probability of its most probable document.

    How many documents a drawing by depth takes is left to chance, and what passes the budget is dropped query by query,
    which costs far more precision than its share of the budget. So `_MARGIN` standard deviations of what is drawn in
    queries that are certain to be opened are put by.

    Args:
        sizes: As `document_sizes` returns them.
        drawing: The same.
        indptr: int64[m+1].
        cost: float64[N], λ.
        overhead: λ₀.
        budget: Λ.

    Raises:
        ValueError: If the budget is not a positive number, or no document can matter.
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

    Of two documents of a query, both are drawn as often as the less probable one, so that
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
    together = overhead > 0 or drawing == "depth"
    opening[query[first]] = np.minimum(1.0, factor * top) if together else 1.0
    inclusion[sizes.order] = np.minimum(1.0, factor * size) / opening[query]
    return DocumentDesign(drawing, sizes.order, opening, inclusion)
