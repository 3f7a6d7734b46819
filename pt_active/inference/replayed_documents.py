"""Replays of a sample of documents under the recalibrated grade model [theory 9, 14].

They stand for the sample in one respect, the shape of its studentised errors: documents count by their gradients, and
those that are spread over the queries count as drawn independently.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference.reference import Replayed, studentised
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentDesign

_CELLS = 4e6  # Documents times replays that are in memory at once


class Drawn(NamedTuple):
    """What R replays draw, replay by replay in the order of the design."""

    row: np.ndarray  # int64[d], the replay of each drawn document
    document: np.ndarray  # int64[d], its place in the order of the design
    uniform: np.ndarray  # float64[d], by which its label is drawn
    normal: np.ndarray  # float64[R], the standardised sum of the labels that were not drawn

    def of(self, counts: np.ndarray) -> Drawn:
        """The draws of some documents, bool[n]."""
        kept = np.flatnonzero(counts[self.document])
        return Drawn(self.row[kept], self.document[kept], self.uniform[kept], self.normal)


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
        chunks = map(self._errors, self.kept[number, seed])
        error, variance, usual, size = (np.concatenate(part) for part in zip(*chunks, strict=True))
        # Each sample has its own labels, but what it expects of its variance is known: all count as of one labelling.
        return studentised(error, np.sqrt(variance), usual, size, np.zeros(number, dtype=np.int64))

    def _drawn(self, repetitions: int, rng: np.random.Generator) -> Drawn:
        units = self._units
        opened = rng.random((repetitions, len(units.opening))) < units.opening
        if self.design.nested:
            uniform = rng.random(opened.shape)[:, units.query]
        else:
            uniform = rng.random((repetitions, len(units.query)))[:, units.place]
        row, z = np.nonzero(opened[:, units.query] & (uniform < units.chance))
        label = rng.random((repetitions, len(units.place)))[row, units.place[z]]
        return Drawn(row, z, label, rng.normal(size=repetitions))

    def _errors(self, drawn: Drawn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Errors, their estimated and expected variances, and the largest terms, float64[R] each."""
        units = self._units
        if not isinstance(self.pool, RevealedPool):
            drawn = drawn.of(units.influence != 0)
        row, z, _, normal = drawn
        number, cells = len(normal), len(normal) * len(units.opening)
        cell = row * len(units.opening) + units.query[z]
        effect, chance = units.effects[self._labels(drawn, cell), z], units.chance[z]
        term, left = effect / chance, 1 - chance
        square = term**2 * left
        if self.design.nested:
            excess, start = np.cumsum(term * left), _first_of_cell(cell)
            # The sums run over all queries, so what was summed before the first document of a query is taken off.
            before = excess - term * left - np.where(start > 0, excess[np.maximum(start, 1) - 1], 0.0)
            square = square + 2 * term * before
        step, within = (np.bincount(cell, part, cells).reshape(number, -1) for part in (term, square))
        parts = np.maximum(step**2 * (1 - units.opening) / units.opening**2 + within / units.opening, 0.0)
        both = chance * units.opening[units.query[z]]
        usual = np.bincount(row, units.variance[z] * (1 - both) / both**2, number)

        known = np.bincount(row, effect - units.shift[z], number)
        unknown = np.maximum(units.variance.sum() - np.bincount(row, units.variance[z], number), 0.0)
        counts = np.flatnonzero(units.influence)
        sign = np.sign(units.influence[counts[units.place[counts].argmin()]]) if len(counts) else 0.0
        rest = units.shift.sum() + sign * np.sqrt(unknown) * normal
        error = (step / units.opening).sum(axis=1) - known - rest
        return error, parts.sum(axis=1), usual, np.abs(step / units.opening).max(axis=1)

    def _labels(self, drawn: Drawn, cell: np.ndarray) -> np.ndarray:
        """int64[d], the row of `effects` that each drawn document has: its grade, or the labelling of its query."""
        if not isinstance(self.pool, RevealedPool):
            bounds = self.grades.cumsum(axis=1)[self.design.order, :-1]
            return np.asarray((drawn.uniform[:, None] > bounds[drawn.document]).sum(axis=1))
        # All documents of a query take the number of its first, so that their labels belong to one labelling.
        return (drawn.uniform[_first_of_cell(cell)] * len(self._units.effects)).astype(np.int64)

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


def _first_of_cell(cell: np.ndarray) -> np.ndarray:
    """int64[d], the place of the first drawn document of the same cell, for cells in increasing order."""
    begins = np.r_[True, cell[1:] != cell[:-1]][: len(cell)]
    return np.asarray(np.maximum.accumulate(np.where(begins, np.arange(len(cell)), 0)))
