"""Which documents to judge: inclusion probabilities that minimise the error of an estimate [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pt_active.sampling.document_designs import design_at, document_design, sizes_of
from pt_active.sampling.drawings import (
    SUCCESSIVE,
    RoundSettings,
    can_serve_singles,
    check_settings,
    errs_together,
)
from pt_active.sampling.influence import MIXED_SHARE, ErrorVariance, Influence, influence_of, influence_of_singles
from pt_active.sampling.pools import DocumentPool, Variables, gradients
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentSizes

COMMON_SHARE = 0.5
"""Share of the added variance that the documents of a query have in common, because a model errs in whole queries. On
labelled pools errors of two documents of a query correlate by .1 to .5."""


CERTAIN_MODEL = "the model is certain of every grade that can matter; documents are drawn by their ranks alone"
"""The warning where the model sees no variance."""

_REWEIGHTINGS = 10
"""How often the pairs of rankers are reweighted to minimise the largest variance."""

_SUBSAMPLE = 2000
"""Queries used to find the pair weights that minimise the largest variance."""


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


def hedged(variables: Variables, gradient: np.ndarray, defensive: float) -> Variables:
    """Add to every unknown document a share ε of the average variance, so that none counts as certain.

    Shapes: gradient float64[k, N].
    """
    unknown = ~variables.known
    added = _added(variables, gradient, defensive)
    return Variables(variables.mean, variables.variance + added * unknown, variables.known)


def _added(variables: Variables, gradient: np.ndarray, defensive: float) -> float:
    """The variance that `hedged` adds to an unknown document."""
    return added_variance(_average(variables, gradient), defensive)


def added_variance(average: float, defensive: float) -> float:
    """The variance that `hedged` adds to an unknown document."""
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
    check_settings(settings, len(pool.ranks))
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
    """Whether documents that matter to single rankers alone can be drawn too."""
    several = settings.serves_singles and len(pool.ranks) > 1
    return several and can_serve_singles(pool.form, settings.drawing, overhead)


def _with_singles(sizing: Sizing, pairs: Influence, singles: Influence, loss: float) -> Influence:
    """The influence on differences, and that on single rankers with the largest weight that is not too dear.

    ``ψ ∝ √((g + η h)/λ)`` minimises the variance of differences plus η times that of single rankers. So among all
    designs whose variance of differences is at most as large, none is better for single rankers.
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
        return sizes_of(self.errors, influence, self.pool, self.cost, self.overhead, self.drawing, self.keys)

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
        design = design_at(sizes, self.drawing, self.pool.indptr, self.cost, self.overhead, budget)
        matter = gain > 0
        variance = float(gain[matter] @ (1 / design.chance(self.pool.query)[matter] - 1))
        if errs_together(self.drawing, self.overhead):
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
    return replace(sizes_of(errors, influence, pool, cost, overhead, drawing, [place]), gain=gain)


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
        sizes = sizes_of(errors, influence.mean(share), pool, cost, overhead, drawing, keys)
        if len(sizes.order) == 0:
            break
        design = document_design(sizes, drawing, indptr, cost, overhead, budget)
        variances = gains[:, sizes.order] @ (1 / design.chance(pool.query)[sizes.order] - 1)
        if errs_together(drawing, overhead):
            opened = design.opening > 0
            variances += errors.common * influence.queries[:, opened] @ (1 / design.opening[opened] - 1)
        if variances.max() < least:
            best, least = share, float(variances.max())
        share = share * np.sqrt(variances) + MIXED_SHARE * share.mean() * np.sqrt(variances.max())
        share = share / share.sum() if share.any() else np.full_like(share, 1 / len(share))
    return best
