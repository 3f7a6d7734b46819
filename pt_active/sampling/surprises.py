"""Which single documents in all queries say most of nDCG and AP, and how are they drawn [theory 20]?

Where the labels of a query are nearly independent given its class, what a label does to the expectation hardly depends
on the others. So single documents are drawn in all queries, and correct the model by what is surprising about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from pt_active.relevance.classes import InClasses
from pt_active.sampling.document_designs import Sizing
from pt_active.sampling.drawings import SURPRISES, DrawingSettings
from pt_active.sampling.revealed import RevealedPool, pair_form
from pt_active.sampling.sample import DocumentSizes


def in_classes(pool: RevealedPool, grades: np.ndarray, used: np.ndarray | None = None) -> InClasses:
    """The pool in classes of queries; of all rankers, or of some.

    Raises:
        ValueError: If nothing computes the measure in classes.
    """
    if pool.form.compiled is None:
        raise ValueError(f'{pool.form.name} is not drawn by surprises, which are for nDCG and AP; take design="depth"')
    ranks = pool.ranks if used is None else pool.ranks[used]
    return InClasses.of(pool.form, pool.indptr, ranks, pool.key, grades)


def label_effects(
    pool: RevealedPool, grades: np.ndarray, forms: np.ndarray, shares: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What labels of documents do to the expectations of rankers; h, float64[k], is by how much one moves them.

    Returns:
        ``E hᵀ A h`` for several A, float64[q, N], and ``Σ E h hᵀ`` over all documents with several shares, float64[s,
        k, k].

    Shapes: grades float64[N, G+1], forms float64[q, k, k], shares float64[s, N].
    """
    from pt_active.sampling import _surprise_kernels

    classes, (k, number) = in_classes(pool, grades), pool.ranks.shape
    shares = np.zeros((0, number)) if shares is None else shares
    found = np.zeros((len(forms), number)), np.zeros((len(shares), k, k))
    _surprise_kernels.label_effects(classes.indptr, classes.compiled, classes.classes, (forms, shares), found)
    return found


def surprise_gains(pool: RevealedPool, grades: np.ndarray, forms: np.ndarray, defensive: float) -> np.ndarray:
    """``p² (E hᵀ A h + ε average)`` of each document for several A, float64[q, N]."""
    squares, _ = label_effects(pool, grades, forms)
    average = squares.mean(axis=1, keepdims=True) if squares.size else np.zeros((len(squares), 1))
    return np.asarray((squares + _added(average, defensive)) * pool.weight[pool.query] ** 2)


def _added(average: np.ndarray, defensive: float) -> np.ndarray:
    return np.where(average > 0, defensive * average, 1.0)


def cautious_error(
    pool: RevealedPool, grades: np.ndarray, chance: np.ndarray, contrast: np.ndarray, defensive: float
) -> float:
    """``Σ g (1/π − 1)`` with the gains of `surprise_gains` for one contrast, float64[k].

    All contrasts need one pass over the labels. Shapes: grades float64[N, G+1], chance float64[N].
    """
    products, (left,) = pool.once(lambda: _products(pool, grades, [chance])[0], grades, chance)
    error, average = contrast @ products @ contrast
    return float(error + left * _added(average, defensive))


def foresee_cautious_errors(pool: RevealedPool, grades: np.ndarray, chances: Sequence[np.ndarray]) -> None:
    """Compute in one pass over the labels, and keep, what `cautious_error` needs for several chances, float64[N]."""
    together = pool.once(lambda: _products(pool, grades, chances), grades, np.stack(chances))
    for chance, products in zip(chances, together, strict=True):
        pool.once(partial(tuple, products), grades, chance)


def _left(pool: RevealedPool, chance: np.ndarray) -> np.ndarray:
    """``p² (1/π − 1)``, float64[N]; 0 where π is."""
    weight = pool.weight[pool.query] ** 2 * (chance > 0)
    return np.divide(weight, chance, out=np.zeros(len(chance)), where=chance > 0) - weight


def _products(pool: RevealedPool, grades: np.ndarray, chances: Sequence[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
    """What all documents make of each chance.

    That is ``Σ p² (1/π − 1) E h hᵀ`` and the average of ``E h hᵀ``, float64[2, k, k], and ``Σ p² (1/π − 1)``,
    float64[1].
    """
    number, k = len(pool.query), len(pool.ranks)
    left = np.array([_left(pool, chance) for chance in chances])
    shares = np.vstack([left, np.full(number, 1 / max(number, 1))])
    _, (*products, average) = label_effects(pool, grades, np.zeros((0, k, k)), shares)
    totals = left.sum(axis=1, keepdims=True)
    return [(np.stack([each, average]), total) for each, total in zip(products, totals, strict=True)]


def surprise_sizes(
    pool: RevealedPool, grades: np.ndarray, cost: np.ndarray, settings: DrawingSettings
) -> DocumentSizes:
    """The sizes ``√(g/λ)`` of a drawing by surprises. Shapes: grades float64[N, G+1]."""
    k, pairs = len(pool.ranks), settings.pairs
    sizing = Sizing(np.ones(len(grades)), pool, cost, SURPRISES, [])
    gain, single = surprise_gains(pool, grades, np.stack([pair_form(k, pairs), np.eye(k) / k]), settings.defensive)
    gain = gain * pool.ever_differs(pairs)[pool.query]
    return sizing.sizes(gain, single if settings.serves_singles and k > 1 else None)
