"""Replays of a sample of documents under the recalibrated grade model [theory 9, 14].

They stand for the sample in one respect, the shape of its studentised errors: documents count by their gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference._replay_kernels import replay_errors
from pt_active.inference.reference import Replayed, studentised
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentDesign

_CELLS = 4e6  # Documents times replays that are in memory at once


class Drawn(NamedTuple):
    """What R replays draw, document by document in the order of the design."""

    start: np.ndarray  # int64[n+1], where the draws of each document begin
    row: np.ndarray  # int64[d], the replay of each draw
    label: np.ndarray  # int64[d], the row of the effects that it has: its grade, or the labelling of its query
    normal: np.ndarray  # float64[R], the standardised sum of the labels that were not drawn


class _Order(NamedTuple):
    """The n documents of a design, in its order."""

    query: np.ndarray  # int64[n], which of the m' queries with documents in the order
    place: np.ndarray  # int64[n], the place among them if they are sorted by name
    opening: np.ndarray  # float64[m'], Π
    chance: np.ndarray  # float64[n], π


class _Units(NamedTuple):
    """What is known for one contrast of those of these documents that can change it; the first four as in `_Order`."""

    query: np.ndarray
    place: np.ndarray
    opening: np.ndarray
    chance: np.ndarray
    number: np.ndarray  # int64[n], their places in the order, by which `Drawn.start` has them
    effects: np.ndarray  # float64[labels, n], by how much each possible label moves the contrast, weighted by p
    influence: np.ndarray  # float64[n], ``p D``, or the root of the variance of a document, signed as its first effect
    shift: np.ndarray  # float64[n], how far the model expects labels to move it from what the estimator expects
    variance: np.ndarray  # float64[n], of the effects under the model


@dataclass(frozen=True)
class Redraws:
    """Samples of a design with labels from a grade model, which all contrasts of systems share."""

    query: np.ndarray  # int64[N], the query of each document
    design: DocumentDesign
    grades: np.ndarray  # float64[N, G+1], from which labels are drawn
    by_name: np.ndarray  # int64[N], all documents in the order in which they take random numbers
    _kept: dict[tuple[int, int], list[Drawn]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def order(self) -> _Order:
        """The documents that can be drawn."""
        order, place = self.design.order, np.empty(len(self.by_name), dtype=np.int64)
        place[self.by_name] = np.arange(len(self.by_name))
        queries, query = np.unique(self.query[order], return_inverse=True)
        by_name = np.argsort(np.argsort(place[order]))
        return _Order(query, by_name, self.design.opening[queries], self.design.inclusion[order])

    def drawn(self, number: int, seed: int, labellings: int | None) -> list[Drawn]:
        """What replays draw, in parts.

        With a number of labellings each query has one of them; with None each document has a grade of its own.
        """
        if (number, seed) not in self._kept:
            rng, chunk = np.random.default_rng(seed), max(1, int(_CELLS / max(len(self.design.order), 1)))
            sizes = (min(chunk, number - start) for start in range(0, number, chunk))
            self._kept[number, seed] = [self._drawn(size, rng, labellings) for size in sizes]
        return self._kept[number, seed]

    def _drawn(self, repetitions: int, rng: np.random.Generator, labellings: int | None) -> Drawn:
        query, place, opening, chance = self.order
        opened = rng.random((repetitions, len(opening))) < opening
        uniform = rng.random(opened.shape if self.design.nested else (repetitions, len(query)))
        uniform = uniform[:, query if self.design.nested else place]
        z, row = np.nonzero((opened[:, query] & (uniform < chance)).T)
        uniform = rng.random((repetitions, len(place)))[row, place[z]]
        if labellings is None:
            bounds = self.grades.cumsum(axis=1)[self.design.order, :-1]
            label = (uniform[:, None] > bounds[z]).sum(axis=1)
        else:
            # All documents of a query take the number of its first, so that their labels belong to one labelling.
            cell = query[z] * repetitions + row
            _, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
            label = (uniform[first][inverse] * labellings).astype(np.int64)
        return Drawn(np.searchsorted(z, np.arange(len(query) + 1)), row, label, rng.normal(size=repetitions))


def can_be_replayed(pool: DocumentPool, design: DocumentDesign) -> bool:
    """Whether replays stand for samples of a design; those of nDCG and AP must be judged from the top."""
    return design.nested or not isinstance(pool, RevealedPool)


@dataclass(frozen=True)
class DocumentReplays:
    """Replays of a sample of documents, with what the model expects of one contrast of systems."""

    pool: DocumentPool
    contrast: np.ndarray  # float64[k], 1 for a system, 1 and −1 for a difference
    redraws: Redraws
    stands_for: np.ndarray  # float64[N], what the estimator puts in the place of unknown document variables
    documents: np.ndarray | None = None  # int64[N], which of the documents of the redraws the pool has; None for all

    def replayed(self, number: int, seed: int) -> Replayed:
        """The errors in samples of the design."""
        units, parts = self._units, []
        labellings = len(units.effects) if isinstance(self.pool, RevealedPool) else None
        for drawn in self.redraws.drawn(number, seed, labellings):
            parts.append(np.empty((4, len(drawn.normal))))
            replay_errors(drawn, units, self.redraws.design.nested, parts[-1])
        error, variance, usual, size = np.hstack(parts)
        # Each sample has its own labels, but what it expects of its variance is known: all count as of one labelling.
        return studentised(error, np.sqrt(variance), usual, size, np.zeros(number, dtype=np.int64))

    @property
    def _units(self) -> _Units:
        pool, order, grades = self.pool, self.redraws.design.order, self.redraws.grades
        number = np.arange(len(order))
        if self.documents is not None:
            place = np.full(len(grades), -1)
            place[self.documents] = np.arange(len(self.documents))
            number = np.flatnonzero(place[order] >= 0)
            order, grades = place[order[number]], grades[self.documents]
        weight = pool.weight[pool.query[order]]
        if isinstance(pool, RevealedPool):
            used = np.flatnonzero(self.contrast)
            steps = [self.contrast[used] @ each[np.ix_(used, order)] for each in pool.simulated(order, grades)]
            effects, shift = np.stack(steps) * weight, np.zeros(len(order))
            variance = (effects**2).mean(axis=0)
            first = effects[(effects != 0).argmax(axis=0), np.arange(len(order))]
            influence = np.copysign(np.sqrt(variance), first)
        else:
            values, stands_for = pool.form.values, self.stands_for[order]
            mean, square = grades @ values, grades @ values**2
            influence = (self.contrast @ pool.gradients(mean))[order] * weight
            effects, shift = influence * (values[:, None] - stands_for), influence * (mean[order] - stands_for)
            variance = influence**2 * np.maximum(square - mean**2, 0.0)[order]
        query, place, opening, chance = self.redraws.order
        known = query[number], place[number], opening, chance[number], number
        return _Units(*known, effects, influence, shift, variance)
