"""How far do the errors of documents, and those that a query has in common, move what is estimated [theory 9]?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pt_active.sampling.pools import DocumentPool

MIXED_SHARE = 0.01
"""Share of both rankers' squared gradients that is added to that of the difference of two cascades, and share of an
equal weight that is added to the weight of each pair of rankers."""

_ROUNDING = 1e-12  # A difference of gradients below this share of the largest gradient is rounding, and counts as zero


@dataclass(frozen=True)
class Influence:
    """By how much squared errors move what is estimated, with one row for each contrast, or their weighted mean.

    A query counts with the error that all of its documents share, ``(Σ D)²``. In a comparison such errors mostly
    cancel, and what is left is an error in favour of one ranker, ``Σ D²``.
    """

    documents: np.ndarray  # float64[..., N], ``p² D²``
    queries: np.ndarray  # float64[..., m], ``p² [(Σ D)² + Σ D²]`` over the documents that are not known

    def __add__(self, other: Influence) -> Influence:
        """The sum of two influences."""
        return Influence(self.documents + other.documents, self.queries + other.queries)

    def __rmul__(self, factor: float) -> Influence:
        """The influence, multiplied by a factor."""
        return Influence(factor * self.documents, factor * self.queries)

    def mean(self, share: np.ndarray) -> Influence:
        """The weighted mean over contrasts."""
        return Influence(share @ self.documents, share @ self.queries)

    def among(self, chosen: np.ndarray, documents: np.ndarray) -> Influence:
        """The influence of some of the queries."""
        return Influence(self.documents[..., documents], self.queries[..., chosen])


@dataclass(frozen=True)
class ErrorVariance:
    """The variance of the errors that a grade model may make."""

    documents: np.ndarray  # float64[N], v, the variance of each document
    common: float  # s², the variance of an error that all documents of a query share


def influence_of(pool: DocumentPool, gradient: np.ndarray, known: np.ndarray) -> Influence:
    """The influence on the value of the only ranker, or on the difference of each pair of rankers."""
    return _influence(pool, _steps(pool, gradient), known)


def influence_of_singles(pool: DocumentPool, gradient: np.ndarray, known: np.ndarray) -> Influence:
    """The influence on the value of a ranker, averaged over all rankers."""
    k = len(gradient)
    return _influence(pool, [(each, np.zeros_like(each)) for each in gradient], known).mean(np.full(k, 1 / k))


def _influence(pool: DocumentPool, steps: list[tuple[np.ndarray, np.ndarray]], known: np.ndarray) -> Influence:
    """The influence on contrasts whose gradients, and what is added to their squares, are given."""
    query, m = pool.query, len(pool.weight)
    squares, sums = [], []
    for step, mixed in steps:
        square, unknown = step**2, np.where(known, 0.0, step)
        sums.append(sum(np.bincount(query, weights=a, minlength=m) ** b for a, b in ((unknown, 2), (unknown**2, 1))))
        squares.append(square + mixed)
    return Influence(pool.weight[query] ** 2 * np.array(squares), pool.weight**2 * np.array(sums))


def _steps(pool: DocumentPool, gradient: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The gradient of each contrast and what is added to its squares, float64[N] each."""
    if len(gradient) == 1:
        return [(gradient[0], np.zeros_like(gradient[0]))]
    largest = np.abs(gradient).max(initial=0.0)
    depth, query, m = len(pool.form.weights), pool.query, len(pool.weight)
    place = np.where((pool.ranks > 0) & (pool.ranks <= depth), pool.ranks, depth + 1)
    steps = []
    for a, b in combinations(range(len(gradient)), 2):
        step = gradient[a] - gradient[b]
        mixed = np.zeros_like(step)
        if pool.form.family == "cascade":
            differ = np.bincount(query[place[a] != place[b]], minlength=m) > 0
            mixed = np.where(differ[query], MIXED_SHARE * (gradient[a] ** 2 + gradient[b] ** 2), 0.0)
        steps.append((np.where(np.abs(step) > _ROUNDING * largest, step, 0.0), mixed))
    return steps
