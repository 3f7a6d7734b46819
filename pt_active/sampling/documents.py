"""Which documents to judge: inclusion probabilities that minimise the error of an estimate [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pt_active.relevance.measures import RankForm
from pt_active.relevance.moments import discounts
from pt_active.sampling.chances import Clipped
from pt_active.sampling.designs import check_pair_weights
from pt_active.sampling.influence import MIXED_SHARE, ErrorVariance, Influence, influence_of, influence_of_singles
from pt_active.sampling.pools import DocumentPool, Variables, gradients
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentDesign, DocumentSizes
from pt_active.sampling.successive import largest_below, succession_design

SUCCESSIVE = "successive"
"""The drawing in which documents come one after the other, so that judging can end or go on at any of them."""

DOCUMENT_DRAWINGS = ("spread", "poisson", "depth", SUCCESSIVE)
"""How the documents of a query are drawn: spread as evenly over the queries as possible, independently, from the top of
the rankings down to a random depth, or one after the other."""

OBJECTIVES = ("mean", "largest")
"""What is minimised: the mean or the largest of the variances of all pairwise differences of rankers."""

DEFENSIVE_VARIANCE = 1.0
"""Default share of the average variance that is added to each document, because a model that claims to be certain is
not believed [theory 5]."""

COMMON_SHARE = 0.5
"""Share of the added variance that the documents of a query have in common, because a model errs in whole queries. On
labelled pools errors of two documents of a query correlate by .1 to .5."""

REVEALED_VARIANCE = 0.1
"""Default share of the average variance that is added to each document of a measure that is neither additive nor a
cascade. All documents of a query matter to it, most of them little."""

NESTED_FAMILIES = ("cascade", "revealed")
"""Families of measures whose documents are judged from the top by default."""

CERTAIN_MODEL = "the model is certain of every grade that can matter; documents are drawn by their ranks alone"
"""The warning where the model sees no variance."""

_STRIDE = 0.25
"""By which share the size of a step of a cascade exceeds that of the next deeper one, if they differ."""

_REWEIGHTINGS = 10
"""How often the pairs of rankers are reweighted to minimise the largest variance."""

_SUBSAMPLE = 2000
"""Queries used to find the pair weights that minimise the largest variance."""

RANGE_SHARE = 0.1
"""Share of the rates of a successive drawing that follows the range of values instead of the model's variance. It
bounds how far a single label can move a running estimate, also where the model is certain [theory 14]."""


SINGLES_LOSS = {"additive": 0.02, "cascade": 0.007, "revealed": 0.01}
"""Family of the measure → by how much the variances of differences may rise, as a share, so that documents that matter
to the values of single rankers alone can be drawn too. The grade model expects this rise; on labelled pools that of
nested documents is up to three times as large (``examples/reproduce/single_rankers.py``)."""

_DECADES, _WEIGHTS = 8, 161
"""The weight of single rankers beside differences is sought among so many, from equal weights in all downwards over so
many powers of ten."""

_USUAL_SHARE = 0.25
"""The share of the pool's cost at which this weight is found. It does not depend on the budget, so that a design has
one size for each document."""


@dataclass(frozen=True)
class RoundSettings:
    """How the documents of each round are chosen.

    Attributes:
        drawing: A name in `DOCUMENT_DRAWINGS`; with ``depth``, no document is more probable than those above it.
        defensive: ε, the share of the average variance that `hedged` adds to each unknown document.
        objective: A name in `OBJECTIVES`, for more than two rankers.
        pairs: float64[k(k−1)/2], the weight of the variance of each pair of rankers in the mean, in the order of
            ``combinations(range(k), 2)``; None for equal weights.
        weighed_at: The budget at which rounds are compared to weight their estimates; that of the first round. None for
            the budget of the round itself.
        serves_singles: Whether documents that matter to the values of single rankers alone can be drawn too, for which
            the variances of differences may rise by `SINGLES_LOSS`.
    """

    drawing: str
    defensive: float = DEFENSIVE_VARIANCE
    objective: str = "mean"
    pairs: np.ndarray | None = None
    weighed_at: float | None = None
    serves_singles: bool = False


def opened_at_random(drawing: str, overhead: float) -> bool:
    """Whether queries are opened with a probability of their own, which all of their documents share.

    Args:
        drawing: A name in `DOCUMENT_DRAWINGS`.
        overhead: What the first document of a query costs on top.
    """
    return overhead > 0 or drawing == "depth"


def _errs_together(drawing: str, overhead: float) -> bool:
    """Whether errors that the documents of a query have in common depend on how often it is opened.

    Those of nested documents depend on how often each of them is judged.

    Args:
        drawing: A name in `DOCUMENT_DRAWINGS`.
        overhead: What the first document of a query costs on top.
    """
    return overhead > 0 and drawing in ("spread", "poisson")


def succession_unit(form: RankForm, overhead: float) -> str:
    """What comes at once in a successive drawing: a ``document``, a ``query`` or a ``step``.

    A step is a document of a cascade with those above it. Where opening a query costs something, all of its documents
    that can change an additive measure come at once.

    Args:
        form: The form of the measure.
        overhead: λ₀, the cost of opening a query.
    """
    if form.family == "cascade":
        return "step"
    return "query" if overhead > 0 else "document"


def natural_drawing(form: RankForm, rankers: int, overhead: float) -> str:
    """The drawing that suits what is measured.

    Documents of an additive measure come one after the other where two or more rankers are compared and opening a query
    costs nothing: that is nearly as precise as spreading them, and judging may stop at any of them. For the value of a
    single ranker, documents that are spread over the queries are more precise. Cascades are judged from the top, and so
    is every measure that is neither.

    Args:
        form: The form of the measure.
        rankers: How many rankers there are.
        overhead: λ₀, the cost of opening a query.
    """
    if form.family in NESTED_FAMILIES:
        return "depth"
    return SUCCESSIVE if rankers > 1 and overhead == 0 else "spread"


def usual_variance(form: RankForm) -> float:
    """The default share of the average variance that is added to each document.

    Args:
        form: The form of the measure.
    """
    return REVEALED_VARIANCE if form.family == "revealed" else DEFENSIVE_VARIANCE


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
    added = _added(variables, gradient, defensive)
    return Variables(variables.mean, variables.variance + added * unknown, variables.known)


def _added(variables: Variables, gradient: np.ndarray, defensive: float) -> float:
    """The variance that `hedged` adds to an unknown document."""
    return added_variance(_average(variables, gradient), defensive)


def added_variance(average: float, defensive: float) -> float:
    """The variance that `hedged` adds to an unknown document.

    Args:
        average: The model's variance of an unknown document, weighted by squared gradients.
        defensive: ε, not negative.
    """
    return defensive * average if average > 0 else 1.0


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

    Where opening a query costs something and its documents are not nested, errors that they have in common count
    besides: ``Σ h (1/Π − 1)`` with ``h = s² p² [(Σ D)² + Σ D²]``. Then queries are opened more often than their most
    probable document.

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
    if isinstance(pool, RevealedPool):
        return _revealed_sizes(pool, variables, cost, overhead, settings, budget)
    where = pool.gradients(variables.mean)
    if _average(variables, where) == 0 and (where * ~variables.known).any():
        warnings.warn(CERTAIN_MODEL, stacklevel=3)
    common = COMMON_SHARE * _added(variables, where, settings.defensive)
    variables = hedged(variables, where, settings.defensive)
    gradient = gradients(pool.form, pool.indptr, pool.ranks, variables)
    influence, errors = influence_of(pool, gradient, variables.known), ErrorVariance(variables.variance, common)
    contrasts, pairs, drawing = len(influence.documents), settings.pairs, settings.drawing
    share = np.full(contrasts, 1 / contrasts) if pairs is None else pairs / pairs.sum()
    sizing = Sizing(errors, pool, cost, overhead, drawing, _order_keys(pool, drawing))
    if settings.objective == "largest" and contrasts > 1 and (errors.documents * influence.documents).any():
        share = _shares(errors, influence, pool, cost, overhead, drawing, sizing.keys, budget)
    pairs_mean = influence.mean(share)
    if not serves_singles(settings, pool, overhead):
        return sizing.sizes(pairs_mean)
    return sizing.with_singles(pairs_mean, influence_of_singles(pool, gradient, variables.known))


def serves_singles(settings: RoundSettings, pool: DocumentPool, overhead: float) -> bool:
    """Whether documents that matter to single rankers alone can be drawn too.

    Args:
        settings: How documents are chosen.
        pool: The pool as the measure sees it.
        overhead: λ₀, the cost of opening a query.
    """
    several = settings.serves_singles and len(pool.ranks) > 1
    return several and can_serve_singles(pool.form, settings.drawing, overhead)


def can_serve_singles(form: RankForm, drawing: str, overhead: float) -> bool:
    """Whether documents that matter to single rankers alone can be drawn at little cost.

    They cannot if they would have to be judged with all the others: in queries that come as a whole, and for additive
    measures that are judged from the top.

    Args:
        form: The form of the measure.
        drawing: A name in `DOCUMENT_DRAWINGS`.
        overhead: λ₀, the cost of opening a query.
    """
    if form.family != "additive":
        return True
    return drawing != "depth" and not (drawing == SUCCESSIVE and succession_unit(form, overhead) == "query")


def _with_singles(sizing: Sizing, pairs: Influence, singles: Influence, loss: float) -> Influence:
    """The influence on differences, and that on single rankers with the largest weight that is not too dear.

    ``ψ ∝ √((g + η h)/λ)`` minimises the variance of differences plus η times that of single rankers. So among all
    designs whose variance of differences is at most as large, none is better for single rankers.

    Args:
        sizing: How influence becomes sizes.
        pairs: The influence on differences, which gives g.
        singles: The influence on the values of single rankers, which gives h.
        loss: The share by which the variance of differences may rise at `_USUAL_SHARE` of the cost of all documents.
    """
    g, h = (sizing.errors.documents @ each.documents for each in (pairs, singles))
    if not (g > 0 and h > 0):
        return pairs if g > 0 else singles
    chosen = _every_nth(len(sizing.pool.weight), _SUBSAMPLE)
    documents = chosen[sizing.pool.query]
    some, part, single = sizing.among(chosen), pairs.among(chosen, documents), singles.among(chosen, documents)
    if not (some.errors.documents @ part.documents) > 0:
        return pairs
    spend = _USUAL_SHARE * some.total(part + single)
    if not np.isfinite(spend):  # documents of later rankers have no cost, and nothing is drawn for these
        return pairs
    most = (1 + loss) * some.variance(part, part, spend)
    weights = g / h * 10.0 ** np.linspace(0, -_DECADES, _WEIGHTS)
    low, high = 0, len(weights)
    while low < high:
        middle = (low + high) // 2
        dear = some.variance(part + weights[middle] * single, part, spend) > most
        low, high = (middle + 1, high) if dear else (low, middle)
    return pairs + weights[low] * singles if low < len(weights) else pairs


@dataclass(frozen=True)
class Sizing:
    """What turns the influence of documents into sizes.

    Attributes:
        errors: The variance of the errors of the grade model.
        pool: The pool as the measure sees it.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.
        drawing: A name in `DOCUMENT_DRAWINGS`.
        keys: float64[N] each; what the documents of a query are sorted by, the last one first.
    """

    errors: ErrorVariance
    pool: DocumentPool
    cost: np.ndarray
    overhead: float
    drawing: str
    keys: list[np.ndarray]

    def sizes(self, influence: Influence) -> DocumentSizes:
        """The sizes that suit an influence."""
        return _sizes(self.errors, influence, self.pool, self.cost, self.overhead, self.drawing, self.keys)

    def with_singles(self, pairs: Influence, singles: Influence) -> DocumentSizes:
        """The sizes that suit an influence on differences, at little cost to them also that on single rankers."""
        influence = _with_singles(self, pairs, singles, SINGLES_LOSS[self.pool.form.family])
        return replace(self.sizes(influence), gain=self.errors.documents * pairs.documents)

    def among(self, chosen: np.ndarray) -> Sizing:
        """The same for some of the queries, bool[m]."""
        pool, documents = self.pool, chosen[self.pool.query]
        indptr = np.r_[0, np.cumsum(np.diff(pool.indptr)[chosen])]
        pool = DocumentPool(pool.form, indptr, pool.ranks[:, documents], pool.weight[chosen])
        errors = replace(self.errors, documents=self.errors.documents[documents])
        return replace(
            self, errors=errors, pool=pool, cost=self.cost[documents], keys=[key[documents] for key in self.keys]
        )

    def total(self, influence: Influence) -> float:
        """What judging all documents with an influence costs."""
        matter = self.errors.documents * influence.documents > 0
        return float(self.cost[matter].sum() + self.overhead * len(np.unique(self.pool.query[matter])))

    def variance(self, planned: Influence, asked: Influence, budget: float) -> float:
        """``Σ g (1/ψ − 1)`` of what is asked, with the probabilities that suit what was planned for."""
        sizes, gain = self.sizes(planned), self.errors.documents * asked.documents
        design = _design_at(sizes, self.drawing, self.pool.indptr, self.cost, self.overhead, budget)
        matter = gain > 0
        variance = float(gain[matter] @ (1 / design.chance(self.pool.query)[matter] - 1))
        if _errs_together(self.drawing, self.overhead):
            opened = design.opening > 0
            variance += self.errors.common * float(asked.queries[opened] @ (1 / design.opening[opened] - 1))
        return variance


def _every_nth(number: int, most: int) -> np.ndarray:
    """bool[number], every n-th, so that there are at most so many."""
    return np.asarray(np.arange(number) % -(-number // most) == 0)


def _order_keys(pool: DocumentPool, drawing: str) -> list[np.ndarray]:
    """What documents of a query are sorted by if they are judged from the top; nothing if they are not."""
    if drawing != "depth" and not (drawing == SUCCESSIVE and pool.form.family == "cascade"):
        return []
    rank = np.where(pool.ranks > 0, pool.ranks, np.iinfo(np.int32).max)
    return [rank.max(axis=0), rank.min(axis=0)]


def _revealed_sizes(
    pool: RevealedPool,
    variables: Variables,
    cost: np.ndarray,
    overhead: float,
    settings: RoundSettings,
    budget: float | None,
) -> DocumentSizes:
    """The sizes for a measure that is neither additive nor a cascade, from simulated labellings."""
    drawing, k, pairs = settings.drawing, len(pool.ranks), settings.pairs
    if drawing != "depth":
        raise ValueError(
            f"{pool.form.name} is neither additive nor a cascade, so its documents are judged from the top: the design "
            f'is "depth", not {drawing!r}'
        )
    mean, place = variables.mean, np.zeros(len(variables.known))
    order = pool.judging_order(mean)
    place[order] = np.arange(len(order))
    order = order[~variables.known[order]]
    errors, nothing = ErrorVariance(np.ones(len(place)), 0.0), np.zeros(len(pool.weight))
    if settings.objective == "largest" and k > 2:
        contrasts = np.array([np.eye(k)[a] - np.eye(k)[b] for a, b in combinations(range(k), 2)])
        gains = pool.cautious_gains(order, mean, contrasts, settings.defensive)
        influence = Influence(gains, np.tile(nothing, (len(gains), 1)))
        influence = influence.mean(_shares(errors, influence, pool, cost, overhead, drawing, [place], budget))
    else:
        square = pool.mean_squares(order, mean, pairs)
        gain = pool.cautious(order, square, pool.ever_differs(pairs), settings.defensive)
        influence = Influence(gain, nothing)
    gain = influence.documents
    if settings.serves_singles and k > 1:
        every = np.ones(len(pool.weight), dtype=bool)
        single = pool.cautious(order, pool.single_squares(order, mean), every, settings.defensive)
        sizing = Sizing(errors, pool, cost, overhead, drawing, [place])
        influence = _with_singles(sizing, influence, Influence(single, nothing), SINGLES_LOSS[pool.form.family])
    return replace(_sizes(errors, influence, pool, cost, overhead, drawing, [place]), gain=gain)


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
    errors: ErrorVariance,
    influence: Influence,
    pool: DocumentPool,
    cost: np.ndarray,
    overhead: float,
    drawing: str,
    keys: list[np.ndarray],
    budget: float | None,
) -> np.ndarray:
    """Weights of the contrasts for which minimising the weighted mean of the variances minimises the largest one.

    Contrasts with larger variances gain weight, iteration by iteration. Of many queries only every n-th is used.
    """
    if budget is None:
        raise ValueError("a budget is needed to minimise the largest variance")
    chosen = _every_nth(len(pool.weight), _SUBSAMPLE)
    documents = chosen[pool.query]
    indptr = np.r_[0, np.cumsum(np.diff(pool.indptr)[chosen])]
    pool = DocumentPool(pool.form, indptr, pool.ranks[:, documents], pool.weight[chosen])
    errors, influence = replace(errors, documents=errors.documents[documents]), influence.among(chosen, documents)
    keys = [key[documents] for key in keys]
    gains, cost, budget = errors.documents * influence.documents, cost[documents], budget * chosen.mean()
    share = best = np.full(len(gains), 1 / len(gains))
    least = np.inf
    for _ in range(_REWEIGHTINGS):
        sizes = _sizes(errors, influence.mean(share), pool, cost, overhead, drawing, keys)
        if len(sizes.order) == 0:
            break
        design = document_design(sizes, drawing, indptr, cost, overhead, budget)
        variances = gains[:, sizes.order] @ (1 / design.chance(pool.query)[sizes.order] - 1)
        if _errs_together(drawing, overhead):
            opened = design.opening > 0
            variances += errors.common * influence.queries[:, opened] @ (1 / design.opening[opened] - 1)
        if variances.max() < least:
            best, least = share, float(variances.max())
        share = share * np.sqrt(variances) + MIXED_SHARE * share.mean() * np.sqrt(variances.max())
        share = share / share.sum() if share.any() else np.full_like(share, 1 / len(share))
    return best


def _sizes(
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
    sorted_by = [key[documents] for key in keys] or [-gain[documents] / cost[documents]]
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
    common = errors.common * influence.queries if _errs_together(drawing, overhead) else opening.copy()
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

    Args:
        unit: As `succession_unit` returns it.
        order: int64[n], the documents that can change the estimate, query by query, from the top for steps.
        indptr: int64[m+1], the offsets of the queries.
        gain: float64[N], g.
        reach: float64[N], by how much the label of each document can change the estimate.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.

    Returns:
        float64[n]; they sum to 1.
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
        if query[place] == query[place + 1] and size[place] < (1 + _STRIDE) * strided[place + 1]:
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
    return _design_at(sizes, drawing, indptr, cost, overhead, budget)


def _design_at(
    sizes: DocumentSizes, drawing: str, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """The probabilities whose expected cost is the budget."""
    size, price = sizes.size[sizes.order], cost[sizes.order]
    query = np.searchsorted(indptr, sizes.order, side="right") - 1
    first = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    top = np.maximum.reduceat(size, first) if sizes.opening is None else sizes.opening[query[first]]
    factor = Clipped.of(np.r_[size, top], np.r_[price, np.full(len(top), overhead)]).factor(budget)
    opening, inclusion = np.zeros(len(indptr) - 1), np.zeros(len(sizes.size))
    opening[query[first]] = np.minimum(1.0, factor * top) if opened_at_random(drawing, overhead) else 1.0
    inclusion[sizes.order] = np.minimum(1.0, factor * size) / opening[query]
    return DocumentDesign(drawing, sizes.order, opening, inclusion)
