"""Replays of a sample of documents under the recalibrated grade model [theory 9, 14].

They stand for the sample in one respect, the shape of its studentised errors: documents count by their gradients, and
those that are spread over the queries count as drawn independently.
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


class _Units(NamedTuple):
    """What is known of the n documents of a design, in its order."""

    query: np.ndarray  # int64[n], which of the m' queries with documents in the order
    place: np.ndarray  # int64[n], the place among them if they are sorted by name
    opening: np.ndarray  # float64[m'], Π
    chance: np.ndarray  # float64[n], π
    effects: np.ndarray  # float64[labels, n], by how much each possible label moves the contrast, weighted by p
    influence: np.ndarray  # float64[n], ``p D``, or the root of the variance of a document, signed as its first effect
    shift: np.ndarray  # float64[n], how far the model expects labels to move it from what the estimator expects
    variance: np.ndarray  # float64[n], of the effects under the model


@dataclass(frozen=True)
class DocumentReplays:
    """A design of documents, with what the model expects of one contrast of systems."""

    pool: DocumentPool
    design: DocumentDesign
    contrast: np.ndarray  # float64[k], 1 for a system, 1 and −1 for a difference
    grades: np.ndarray  # float64[N, G+1], from which labels are drawn
    by_name: np.ndarray  # int64[N], all documents in the order in which they take random numbers
    stands_for: np.ndarray  # float64[N], what the estimator puts in the place of unknown document variables
    kept: dict[tuple[int, int], list[Drawn]] = field(default_factory=dict, repr=False, compare=False)  # Of a design

    def replayed(self, number: int, seed: int) -> Replayed:
        """The errors in samples of the design."""
        if (number, seed) not in self.kept:
            rng, chunk = np.random.default_rng(seed), max(1, int(_CELLS / max(len(self.design.order), 1)))
            sizes = (min(chunk, number - start) for start in range(0, number, chunk))
            self.kept[number, seed] = [self._drawn(size, rng) for size in sizes]
        error, variance, usual, size = np.hstack([self._errors(each) for each in self.kept[number, seed]])
        # Each sample has its own labels, but what it expects of its variance is known: all count as of one labelling.
        return studentised(error, np.sqrt(variance), usual, size, np.zeros(number, dtype=np.int64))

    def _drawn(self, repetitions: int, rng: np.random.Generator) -> Drawn:
        units = self._units
        opened = rng.random((repetitions, len(units.opening))) < units.opening
        if self.design.nested:
            uniform = rng.random(opened.shape)[:, units.query]
        else:
            uniform = rng.random((repetitions, len(units.query)))[:, units.place]
        z, row = np.nonzero((opened[:, units.query] & (uniform < units.chance)).T)
        uniform = rng.random((repetitions, len(units.place)))[row, units.place[z]]
        start, normal = np.searchsorted(z, np.arange(len(units.query) + 1)), rng.normal(size=repetitions)
        return Drawn(start, row, self._labels(z, row, uniform), normal)

    def _labels(self, z: np.ndarray, row: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """int64[d], the labels of drawn documents by random numbers; they are the same for all contrasts."""
        if not isinstance(self.pool, RevealedPool):
            bounds = self.grades.cumsum(axis=1)[self.design.order, :-1]
            return np.asarray((uniform[:, None] > bounds[z]).sum(axis=1))
        # All documents of a query take the number of its first, so that their labels belong to one labelling.
        cell = self._units.query[z] * len(row) + row
        _, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
        return (uniform[first][inverse] * len(self._units.effects)).astype(np.int64)

    def _errors(self, drawn: Drawn) -> np.ndarray:
        """Errors, their estimated and expected variances, and the largest terms, float64[4, R]."""
        found = np.empty((4, len(drawn.normal)))
        replay_errors(drawn, self._units, self.design.nested, found)
        return found

    @cached_property
    def _units(self) -> _Units:
        pool, order, place = self.pool, self.design.order, np.empty(len(self.by_name), dtype=np.int64)
        place[self.by_name] = np.arange(len(self.by_name))
        queries, query = np.unique(pool.query[order], return_inverse=True)
        weight = pool.weight[pool.query[order]]
        if isinstance(pool, RevealedPool):
            used = np.flatnonzero(self.contrast)
            steps = [self.contrast[used] @ each[np.ix_(used, order)] for each in pool.simulated(order, self.grades)]
            effects, shift = np.stack(steps) * weight, np.zeros(len(order))
            variance = (effects**2).mean(axis=0)
            first = effects[(effects != 0).argmax(axis=0), np.arange(len(order))]
            influence = np.copysign(np.sqrt(variance), first)
        else:
            values, stands_for = pool.form.values, self.stands_for[order]
            mean, square = self.grades @ values, self.grades @ values**2
            influence = (self.contrast @ pool.gradients(mean))[order] * weight
            effects, shift = influence * (values[:, None] - stands_for), influence * (mean[order] - stands_for)
            variance = influence**2 * np.maximum(square - mean**2, 0.0)[order]
        opening, chance = self.design.opening[queries], self.design.inclusion[order]
        return _Units(query, np.argsort(np.argsort(place[order])), opening, chance, effects, influence, shift, variance)
