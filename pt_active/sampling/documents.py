"""Sizes of documents: drawn in proportion to them, documents make an estimate most precise [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from pt_active.sampling.document_designs import Sizing, influence_of
from pt_active.sampling.drawings import SURPRISES, DrawingSettings, can_serve_singles, check_settings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.revealed import RevealedPool, pair_form
from pt_active.sampling.sample import DocumentSizes
from pt_active.sampling.surprises import surprise_sizes

_TIED = 1e-9  # A sum below this share of its terms' sizes is rounding: no ranker is favoured


def hedged(variables: Variables, gradient: np.ndarray, defensive: float | np.ndarray) -> Variables:
    """A share ε of the average variance is added to every document, so that none counts as certain.

    ε may be float64[N].
    """
    average = _average(variables, gradient)
    return replace(variables, variance=variables.variance + (defensive * average if average > 0 else 1.0))


def _average(variables: Variables, gradient: np.ndarray) -> float:
    """The model's variance of a document, weighted by squared gradients."""
    weight = (gradient**2).sum(axis=0)
    return float((weight @ variables.variance) / max(weight.sum(), np.finfo(float).tiny))


def doubts(pool: DocumentPool, mean: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """float64[N], how the doubt in a model is spread over documents, 1 on average [theory 14].

    Evenly, but half of it where two rankers have one document a query each, as systems that answer items. By the model
    one of them is better, and what a bet on it can lose in a draw is the largest error e that favours the other one,
    over the rate of the document. So that bets may stake more, half of the doubt is in proportion to e².
    """
    even, step = np.ones(len(mean)), gradient[0] - gradient[-1]
    terms = pool.weight[pool.query] * step * mean
    if len(gradient) != 2 or len(pool.form.weights) != 1 or abs(terms.sum()) <= _TIED * np.abs(terms).sum():
        return even
    low, high = pool.form.values.min(), pool.form.values.max()
    square = np.where(step * terms.sum() > 0, mean - low, high - mean) ** 2
    weight = (gradient**2).sum(axis=0)
    return (even + square * weight.sum() / max(float(weight @ square), np.finfo(float).tiny)) / 2


def document_sizes(
    pool: DocumentPool,
    variables: Variables,
    cost: np.ndarray,
    settings: DrawingSettings,
) -> DocumentSizes:
    """How probable the judging of each document should be, relative to the others [theory 9].

    The variance of an estimate is ``Σ g_z (1/ψ_z − 1)`` with ``g_z = p² D_z² v_z``. For two rankers D is the difference
    of their gradients; for more, D² is its (weighted) mean square over all pairs. At equal cost ``Σ ψ λ`` the variance
    is smallest for ``ψ ∝ √(g/λ)``. What opening a query costs is not in the sizes; it counts where they meet a budget.

    Args:
        pool: The pool as the measure sees it.
        variables: The document variables under the grade model.
        cost: float64[N], λ; not read for documents that cannot change the estimate.
        settings: How documents are chosen.

    Raises:
        ValueError: If a setting is unknown, out of range or not for the measure.
    """
    check_settings(settings, pool.form, len(pool.ranks))
    if isinstance(pool, RevealedPool):
        if settings.drawing == SURPRISES:
            return surprise_sizes(pool, variables.mean, cost, settings)
        return _revealed_sizes(pool, variables, cost, settings)
    where = pool.gradients(variables.mean)
    if _average(variables, where) == 0 and where.any():
        warnings.warn(
            "the model is certain of every grade that can matter; documents are drawn by their ranks alone",
            stacklevel=3,
        )
    variables = hedged(variables, where, settings.defensive * doubts(pool, variables.mean, where))
    gradient = pool.gradients(variables.mean, variables.variance)
    influence = influence_of(pool, gradient)
    contrasts, pairs, drawing = len(influence), settings.pairs, settings.drawing
    share = np.full(contrasts, 1 / contrasts) if pairs is None else pairs / pairs.sum()
    keys = []
    if drawing == "depth":
        rank = np.where(pool.ranks > 0, pool.ranks, np.iinfo(np.int32).max)
        keys = [rank.max(axis=0), rank.min(axis=0)]
    singles, k = None, len(gradient)
    if k > 1 and settings.serves_singles and can_serve_singles(pool.form, drawing):
        singles = np.full(k, 1 / k) @ (gradient**2 * pool.weight[pool.query] ** 2)
    return Sizing(variables.variance, pool, cost, drawing, keys).sizes(share @ influence, singles)


def _revealed_sizes(
    pool: RevealedPool, variables: Variables, cost: np.ndarray, settings: DrawingSettings
) -> DocumentSizes:
    """The sizes from the top for a measure that is neither additive nor a cascade, from simulated labellings."""
    mean, k, pairs, order = variables.mean, len(pool.ranks), settings.pairs, pool.judging_order(variables.mean)
    sizing = Sizing(np.ones(len(order)), pool, cost, settings.drawing, [np.argsort(order)])
    square = pool.mean_squares(order, mean, pair_form(k, pairs))
    gain = pool.cautious(order, square, pool.ever_differs(pairs), settings.defensive)
    single = None
    if settings.serves_singles and k > 1:
        square = pool.mean_squares(order, mean, np.eye(k) / k)
        single = pool.cautious(order, square, np.ones(len(pool.weight), dtype=bool), settings.defensive)
    return sizing.sizes(gain, single)
