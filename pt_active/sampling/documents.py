"""Sizes of documents: drawn in proportion to them, documents make an estimate most precise [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from pt_active.sampling.document_designs import ErrorVariance, Sizing, influence_of, influence_of_singles
from pt_active.sampling.drawings import (
    SUCCESSIVE,
    SURPRISES,
    RoundSettings,
    can_serve_singles,
    check_settings,
    natural_drawing,
)
from pt_active.sampling.pools import DocumentPool, Variables, gradients
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import Costs, DocumentSizes
from pt_active.sampling.surprises import surprise_sizes

COMMON_SHARE = 0.5
"""Share of the added variance that the documents of a query have in common, because a model errs in whole queries. On
labelled pools errors of two documents of a query correlate by .1 to .5."""


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

    Raises:
        ValueError: If a setting is unknown or out of range.
    """
    check_settings(settings, len(pool.ranks))
    if settings.drawing == SURPRISES:
        if not isinstance(pool, RevealedPool):
            raise ValueError(
                f"surprises are for nDCG and AP; documents of a measure that is {pool.form.family} are "
                f"drawn by {natural_drawing(pool.form, len(pool.ranks), overhead)}"
            )
        return surprise_sizes(pool, variables.mean, Costs(pool.indptr, cost, overhead), settings)
    if isinstance(pool, RevealedPool):
        return _revealed_sizes(pool, variables, cost, overhead, settings)
    where = pool.gradients(variables.mean)
    average = _average(variables, where)
    if average == 0 and (where * ~variables.known).any():
        warnings.warn(
            "the model is certain of every grade that can matter; documents are drawn by their ranks alone",
            stacklevel=3,
        )
    common = COMMON_SHARE * added_variance(average, settings.defensive)
    variables = hedged(variables, where, settings.defensive)
    gradient = gradients(pool.form, pool.indptr, pool.ranks, variables)
    influence, errors = influence_of(pool, gradient, variables.known), ErrorVariance(variables.variance, common)
    contrasts, pairs, drawing = len(influence.documents), settings.pairs, settings.drawing
    share = np.full(contrasts, 1 / contrasts) if pairs is None else pairs / pairs.sum()
    keys = []
    if drawing == "depth" or (drawing == SUCCESSIVE and pool.form.family == "cascade"):
        rank = np.where(pool.ranks > 0, pool.ranks, np.iinfo(np.int32).max)
        keys = [rank.max(axis=0), rank.min(axis=0)]
    sizing = Sizing(errors, pool, Costs(pool.indptr, cost, overhead), drawing, keys)
    pairs_mean = influence.mean(share)
    several = settings.serves_singles and len(pool.ranks) > 1
    if not (several and can_serve_singles(pool.form, drawing, overhead)):
        return sizing.sizes(pairs_mean)
    return sizing.with_singles(pairs_mean, influence_of_singles(pool, gradient, variables.known))


def _revealed_sizes(
    pool: RevealedPool,
    variables: Variables,
    cost: np.ndarray,
    overhead: float,
    settings: RoundSettings,
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
    square = pool.mean_squares(order, mean, pairs)
    gain = pool.cautious(order, square, pool.ever_differs(pairs), settings.defensive)
    single = None
    if settings.serves_singles and k > 1:
        square = pool.single_squares(order, mean)
        single = pool.cautious(order, square, np.ones(len(pool.weight), dtype=bool), settings.defensive)
    return sizing.of_gains(gain, single)
