"""Which documents to judge: sizes, in proportion to which their chances make an estimate most precise [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np

from pt_active.sampling.document_designs import ErrorVariance, Influence, Sizing, influence_of, influence_of_singles
from pt_active.sampling.drawings import SUCCESSIVE, RoundSettings, can_serve_singles, check_settings
from pt_active.sampling.pools import DocumentPool, Variables, gradients
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import Costs, DocumentSizes

COMMON_SHARE = 0.5
"""Share of the added variance that the documents of a query have in common, because a model errs in whole queries. On
labelled pools errors of two documents of a query correlate by .1 to .5."""


CERTAIN_MODEL = "the model is certain of every grade that can matter; documents are drawn by their ranks alone"
"""The warning where the model sees no variance."""


def hedged(variables: Variables, gradient: np.ndarray, defensive: float) -> Variables:
    """A share ε of the average variance is added to every unknown document, so that none counts as certain."""
    added = added_variance(_average(variables, gradient), defensive)
    return replace(variables, variance=variables.variance + added * ~variables.known)


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
    average = _average(variables, where)
    if average == 0 and (where * ~variables.known).any():
        warnings.warn(CERTAIN_MODEL, stacklevel=3)
    common = COMMON_SHARE * added_variance(average, settings.defensive)
    variables = hedged(variables, where, settings.defensive)
    gradient = gradients(pool.form, pool.indptr, pool.ranks, variables)
    influence, errors = influence_of(pool, gradient, variables.known), ErrorVariance(variables.variance, common)
    contrasts, pairs, drawing = len(influence.documents), settings.pairs, settings.drawing
    share = np.full(contrasts, 1 / contrasts) if pairs is None else pairs / pairs.sum()
    sizing = Sizing(errors, pool, Costs(pool.indptr, cost, overhead), drawing, _order_keys(pool, drawing))
    if settings.objective == "largest" and contrasts > 1 and (errors.documents * influence.documents).any():
        share = sizing.shares(influence, budget)
    pairs_mean = influence.mean(share)
    if not serves_singles(settings, pool, overhead):
        return sizing.sizes(pairs_mean)
    return sizing.with_singles(pairs_mean, influence_of_singles(pool, gradient, variables.known))


def serves_singles(settings: RoundSettings, pool: DocumentPool, overhead: float) -> bool:
    """Whether documents that matter to single rankers alone can be drawn too."""
    several = settings.serves_singles and len(pool.ranks) > 1
    return several and can_serve_singles(pool.form, settings.drawing, overhead)


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
    prices = Costs(pool.indptr, cost, overhead)
    sizing = Sizing(ErrorVariance(np.ones(len(place)), 0.0), pool, prices, drawing, [place])
    nothing = np.zeros(len(pool.weight))
    if settings.objective == "largest" and k > 2:
        contrasts = np.array([np.eye(k)[a] - np.eye(k)[b] for a, b in combinations(range(k), 2)])
        gains = pool.cautious_gains(order, mean, contrasts, settings.defensive)
        influence = Influence(gains, np.tile(nothing, (len(gains), 1)))
        influence = influence.mean(sizing.shares(influence, budget))
    else:
        square = pool.mean_squares(order, mean, pairs)
        influence = Influence(pool.cautious(order, square, pool.ever_differs(pairs), settings.defensive), nothing)
    if not (settings.serves_singles and k > 1):
        return sizing.sizes(influence)
    every = np.ones(len(pool.weight), dtype=bool)
    single = pool.cautious(order, pool.single_squares(order, mean), every, settings.defensive)
    return sizing.with_singles(influence, Influence(single, nothing))
