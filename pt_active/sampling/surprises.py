"""Which single documents in all queries say most of nDCG and AP, and how are they drawn [theory 20]?

Where the labels of a query are nearly independent given its class, what a label does to the expectation hardly depends
on the others. So single documents are drawn in all queries, and correct the model by what is surprising about them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pt_active.relevance.classes import InClasses
from pt_active.relevance.digits import rounded
from pt_active.sampling.chances import within_budget
from pt_active.sampling.document_designs import Sizing
from pt_active.sampling.drawings import SURPRISES, RoundSettings
from pt_active.sampling.draws import pays_for_all
from pt_active.sampling.revealed import RevealedPool, pair_form
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes

_NO_MOVE = 1e-12  # A label whose covariance with the measure is smaller moves nothing


def in_classes(pool: RevealedPool, grades: np.ndarray, used: np.ndarray | None = None) -> InClasses:
    """The pool in classes of queries; of all rankers, or of some.

    Raises:
        ValueError: If nothing computes the measure in classes.
    """
    if pool.form.compiled is None:
        raise ValueError(f'{pool.form.name} is not drawn by surprises, which are for nDCG and AP; take design="depth"')
    ranks = pool.ranks if used is None else pool.ranks[used]
    return InClasses.of(pool.form, pool.indptr, ranks, pool.key, grades)


class LabelEffects(NamedTuple):
    """What the labels of documents do to the expectations of rankers; h, float64[k], is by how much one moves them."""

    squares: np.ndarray  # float64[q, N], ``E hᵀ A h`` for several A
    moves: np.ndarray  # float64[k, N], the covariance of the label with h
    products: np.ndarray  # float64[s, k, k], ``Σ E h hᵀ`` over all documents, with several shares


def label_effects(
    pool: RevealedPool, grades: np.ndarray, forms: np.ndarray, shares: np.ndarray | None = None
) -> LabelEffects:
    """What labels are expected to do. Shapes: grades float64[N, G+1], forms float64[q, k, k], shares float64[s, N]."""
    from pt_active.sampling import _surprise_kernels

    classes, (k, number) = in_classes(pool, grades), pool.ranks.shape
    shares = np.zeros((0, number)) if shares is None else shares
    found = LabelEffects(np.zeros((len(forms), number)), np.zeros((k, number)), np.zeros((len(shares), k, k)))
    _surprise_kernels.label_effects(classes.indptr, classes.compiled, classes.classes, (forms, shares), tuple(found))
    return found


def surprise_gains(pool: RevealedPool, grades: np.ndarray, forms: np.ndarray, defensive: float) -> np.ndarray:
    """``p² (E hᵀ A h + ε average)`` of each unknown document for several A, float64[q, N]."""
    return _cautious(pool, label_effects(pool, grades, forms).squares, defensive)


def cautious_error(
    pool: RevealedPool, grades: np.ndarray, chance: np.ndarray, share: float, contrast: np.ndarray, defensive: float
) -> float:
    """``Σ g (1/(s π) − 1)`` with the gains of `surprise_gains` for one contrast, float64[k], and a share s of all π.

    All parts of one sample need one pass over the labels. Shapes: grades float64[N, G+1], chance float64[N].
    """
    shares, no_form = pool.once(lambda: _shares(pool, chance), chance), np.zeros((0, *2 * contrast.shape))
    products = pool.once(lambda: label_effects(pool, grades, no_form, shares).products, grades, shares)
    drawn, everything, average = contrast @ products @ contrast
    left = shares[0].sum() / share - shares[1].sum()
    return float(drawn / share - everything + left * _added(average, defensive))


def _shares(pool: RevealedPool, chance: np.ndarray) -> np.ndarray:
    """float64[3, N], ``p²/π`` and ``p²`` of documents that may be drawn, and one over how many there are."""
    weight = pool.weight[pool.query] ** 2 * (chance > 0)
    raised = np.divide(weight, chance, out=np.zeros(len(chance)), where=chance > 0)
    return np.stack([raised, weight, np.full(len(chance), 1 / max(len(chance), 1))])


def _added(average: np.ndarray, defensive: float) -> np.ndarray:
    return np.where(average > 0, defensive * average, 1.0)


def _cautious(pool: RevealedPool, squares: np.ndarray, defensive: float) -> np.ndarray:
    average = squares.mean(axis=1, keepdims=True) if squares.size else np.zeros((len(squares), 1))
    return np.asarray((squares + _added(average, defensive)) * pool.weight[pool.query] ** 2)


def surprise_sizes(pool: RevealedPool, grades: np.ndarray, cost: np.ndarray, settings: RoundSettings) -> DocumentSizes:
    """The sizes ``√(g/λ)`` of a drawing by surprises, and whether relevance of each document raises a contrast.

    Shapes: grades float64[N, G+1].
    """
    k, pairs = len(pool.ranks), settings.pairs
    sizing = Sizing(np.ones(len(grades)), pool, cost, SURPRISES, [])
    forms = np.stack([pair_form(k, pairs), np.eye(k) / k])
    squares, moves, _ = label_effects(pool, grades, forms)
    gain, single = _cautious(pool, squares, settings.defensive)
    gain = gain * pool.ever_differs(pairs)[pool.query]
    sizes = sizing.sizes(gain, single if settings.serves_singles and k > 1 else None)
    raised, weight = moves[0], pool.weight[pool.query] ** 2
    if k > 1:  # The pair of rankers that labels move most
        between = (moves[a] - moves[b] for a, b in combinations(range(k), 2))
        raised = max(between, key=lambda moved: float(rounded(float(weight @ moved**2))))
    return replace(sizes, raises=raised > _NO_MOVE)


def drawn_in_one_pass(design: DocumentDesign, prices: Costs, rng: np.random.Generator) -> np.ndarray:
    """bool[N], a systematic sample through the queries in random order.

    In each query the documents that raise a contrast come after those that lower it, and otherwise in random order. So
    the sample has its share of both, and what they have in common cancels out.
    """
    from pt_active.sampling import _surprise_kernels

    drawn = np.zeros(len(design.inclusion), dtype=bool)
    turn = rng.permutation(prices.queries)[prices.query(design.order)]
    side = np.zeros(len(turn)) if design.raises is None else design.raises[design.order]
    order = design.order[np.lexsort([rng.random(len(turn)), side, turn])]
    drawn[order] = _surprise_kernels.one_pass(design.inclusion[order], rng.random())
    return drawn


def paid_for(
    design: DocumentDesign, prices: Costs, drawn: np.ndarray, budget: float, rng: np.random.Generator
) -> tuple[DocumentDesign, np.ndarray]:
    """The documents drawn that a budget pays for, left out at random with known probabilities."""
    rows = np.flatnonzero(drawn)
    if pays_for_all(budget, prices.of(rows)):
        return design, drawn
    clock = rng.random(len(rows))
    order = np.argsort(clock, kind="stable")
    within = within_budget(prices.spent_in(rows[order]), budget)
    # Given the others, each that stays could have come at any time before the first that would overspend.
    kept, threshold = rows[order[within]], float(clock[order[~within][0]])
    stays, chance = np.zeros_like(drawn), np.ones(len(drawn))
    stays[kept], chance[kept] = True, threshold
    return replace(design, inclusion=design.inclusion * chance), stays
