"""What do the labels of a query add to what the model expects of it [theory 9]?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.inference.surprises import surprises
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import TwoPhase

_LABELLINGS = 5000  # Queries whose labels are simulated to compute what the grade model expects of a cascade


COMMON_SHARE = 0.3  # ρ, the share of the variance of errors that the documents of a query have in common


@dataclass(frozen=True)
class QueryResiduals:
    """What the labels add to the model in each query, for one contrast of systems."""

    step: np.ndarray  # float64[m], ``ℓ̃ − M``
    variance: np.ndarray  # float64[m], an estimate of the variance of ``ℓ̃`` given the labels
    influence: np.ndarray  # float64[N], by how much the error of each drawn document moves ``ℓ̃``; not negative
    size: np.ndarray  # float64[m], the sum of the absolute terms of ``step``, those of all systems
    terms: np.ndarray  # float64[N], what each label adds to ``ℓ̃``
    doubt: np.ndarray | None = None  # float64[d, m], how far ``ℓ̃`` depends on each of d choices; None if on none
    misfit: float = 0.0  # See `surprises.misfit`


def query_residuals(
    pool: DocumentPool,
    sample: TwoPhase,
    mean: np.ndarray,
    observed: np.ndarray,
    contrast: np.ndarray,
    share: float = 0.0,
) -> QueryResiduals:
    """What the labels add to the model in each query, for the arguments of `document_estimate`."""
    if sample.design.nested:
        return _by_depth(pool, sample, mean, observed, contrast)
    if isinstance(pool, RevealedPool):
        return _by_surprises(pool, sample, mean, observed, contrast)
    return _linear(pool, sample, mean, observed, contrast, share)


def _linear(
    pool: DocumentPool,
    sample: TwoPhase,
    mean: np.ndarray,
    observed: np.ndarray,
    contrast: np.ndarray,
    share: float,
) -> QueryResiduals:
    """``Σ D [s + (I/π)(e − s)]`` with ``e = κ − μ``, and the variance of independent draws; see `coefficients`."""
    query, m, inclusion = pool.query, len(pool.weight), sample.design.inclusion
    gradients, error, inverse = pool.gradients(mean), np.where(sample.drawn, observed - mean, 0.0), _inverse(sample)
    slope, rate = contrast @ gradients, _rate(query, sample, share)
    influence = coefficients(query, sample, slope, share)
    term = slope * inverse * (error - rate * _others(query, error))
    shared = slope * rate * error * (1 - inclusion) * inverse
    each = np.abs(contrast) @ np.abs(gradients) * (np.abs(observed) + np.abs(mean)) * inverse
    parts = influence * error, term**2 * (1 - inclusion), each, shared, shared**2
    step, variance, size, total, square = (np.bincount(query, weights=a, minlength=m) for a in parts)
    return QueryResiduals(step, variance + total**2 - square, np.abs(influence), size, influence * error)


def coefficients(query: np.ndarray, sample: TwoPhase, slope: np.ndarray, share: float) -> np.ndarray:
    """``I [D/π + Σ_{u≠z} c_u D_u (1 − I_u/π_u)]``, float64[N], how errors count under independent draws [theory 9].

    The mean of a document is corrected by ``s_z = c_z Σ_{u≠z} I_u e_u``: by errors in its query, but for its own.
    """
    inverse = _inverse(sample)
    return np.asarray(
        inverse * slope + sample.drawn * _others(query, _rate(query, sample, share) * slope * (1 - inverse))
    )


def _rate(query: np.ndarray, sample: TwoPhase, share: float) -> np.ndarray:
    """c, float64[N]; 0 for documents that are never judged."""
    inclusion = sample.design.inclusion
    others = sample.design.sums(query)[query] - inclusion
    return np.where(inclusion > 0, share / (1 - share + share * others), 0.0)


def _others(query: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """float64[N], the sums of the parts of the other documents of each document's query."""
    return np.asarray(np.bincount(query, weights=parts)[query] - parts)


def _inverse(sample: TwoPhase) -> np.ndarray:
    """``I/π``, float64[N]."""
    return np.asarray(sample.drawn / np.where(sample.drawn, sample.design.inclusion, 1.0))


def _by_depth(
    pool: DocumentPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrast: np.ndarray
) -> QueryResiduals:
    """``Σ_j (I_j/π_j) δ_j``, δ being the steps of the expectation as labels become known from the top."""
    order = sample.design.order[sample.drawn[sample.design.order]]
    query, m = np.searchsorted(pool.indptr, order, side="right") - 1, len(pool.weight)
    every = pool.steps(order, mean, observed)[:, order]
    step, each = contrast @ every, np.abs(contrast) @ np.abs(every)
    inverse = 1 / sample.design.inclusion[order]
    excess = np.cumsum(step * (inverse - 1))
    start = np.searchsorted(query, query)
    # The sums run over all queries, so what was summed before the first document of a query is taken off.
    before = excess - step * (inverse - 1) - np.where(start > 0, excess[np.maximum(start, 1) - 1], 0.0)
    variance = inverse * step * (step * (inverse - 1) + 2 * before)
    influence, terms = np.zeros(len(mean)), np.zeros(len(mean))
    if isinstance(pool, RevealedPool):
        moved = np.sqrt(pool.squares(sample.design.order, mean, contrast[None])[0])
    else:
        moved = np.abs(contrast @ pool.gradients(mean))
    # A model that is certain of every label expects no step at all; then those that labels took count.
    influence[order] = (moved[order] if moved.any() else np.abs(step)) * inverse
    terms[order] = inverse * step
    parts = inverse * step, variance, inverse * each
    total, spread, size = (np.bincount(query, weights=a, minlength=m) for a in parts)
    return QueryResiduals(total, spread, influence, size, terms)


def _by_surprises(
    pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrast: np.ndarray
) -> QueryResiduals:
    """``f̂ − M``, see `surprises`, and the variance of independent draws, ``Σ (1 − π) (δ/π)²`` [theory 20]."""
    found, m = surprises(pool, sample, mean, observed, contrast), len(pool.weight)
    rows, terms = np.flatnonzero(sample.drawn), np.zeros(len(found.surprise))
    query, chance, surprise = pool.query[rows], found.chance[rows], found.surprise[rows]
    terms[rows] = surprise / chance
    variance = np.bincount(query, (1 - chance) * terms[rows] ** 2, m)
    # Both measures lie between 0 and 1.
    size = np.abs(contrast).sum() + np.bincount(query, np.abs(terms[rows]), m)
    step, influence = found.value - pool.values(mean) @ contrast, found.spread / found.chance
    return QueryResiduals(step, variance, influence, size, terms, found.value - found.others, found.misfit)


def expected_squares(
    pool: DocumentPool, order: np.ndarray, grades: np.ndarray, contrasts: np.ndarray, seed: int
) -> np.ndarray:
    """float64[N], ``p² E δ_z²`` of documents judged along an order, under grades float64[N, G+1] [theory 9]."""
    rng, mean = np.random.default_rng(seed), grades @ pool.form.values
    last = grades.cumsum(axis=1)[:, :-1]
    repetitions = -(-_LABELLINGS // len(pool.weight))
    square = np.zeros(len(mean))
    for _ in range(repetitions):
        label = (rng.random((len(mean), 1)) > last).sum(axis=1)
        step = pool.steps(order, mean, pool.form.values[label])
        square += np.mean([(c @ step) ** 2 for c in contrasts], axis=0)
    return np.asarray(pool.weight[pool.query] ** 2 * square / repetitions)
