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


@dataclass(frozen=True)
class DocumentReplays:
    """A design of documents, with what the model expects of one contrast of systems."""

    pool: DocumentPool  # The pool as the measure sees it
    design: DocumentDesign  # The probabilities of both phases
    contrast: np.ndarray  # float64[k], 1 for a system, 1 and −1 for a difference
    grades: np.ndarray  # float64[N, G+1], from which labels are drawn
    by_name: np.ndarray  # int64[N], all documents in the order in which they take random numbers
    stands_for: np.ndarray  # float64[N], what the estimator puts in the place of unknown document variables
    # The draws by their number and seed, which contrasts of the same design share
    kept: dict[tuple[int, int], list[Drawn]] = field(default_factory=dict, repr=False, compare=False)

    def replayed(self, number: int, seed: int) -> Replayed:
        """The errors in samples of the design."""
        if (number, seed) not in self.kept:
            rng, chunk = np.random.default_rng(seed), max(1, int(_CELLS / max(len(self.design.order), 1)))
            sizes = (min(chunk, number - start) for start in range(0, number, chunk))
            self.kept[number, seed] = [self._drawn(size, rng) for size in sizes]
        chunks = map(self._chunk, self.kept[number, seed])
        error, variance, usual, size = (np.concatenate(part) for part in zip(*chunks, strict=True))
        # Each sample has its own labels, but what it expects of its variance is known: all count as of one labelling.
        return studentised(error, np.sqrt(variance), usual, size, np.zeros(number, dtype=np.int64))

    def _chunk(self, drawn: Drawn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Errors, estimated variances, the variances that the model expects, and the largest terms, float64[R] each."""
        chance, opening = self._chance, self._opening
        row, z, repetitions = drawn.row, drawn.document, len(drawn.normal)
        cell = row * len(opening) + self._query[z]
        effect = self._effects(drawn, cell)
        term = effect / chance[z]
        step = np.bincount(cell, term, repetitions * len(opening)).reshape(repetitions, -1)
        within = self._within(cell, z, term).reshape(-1, len(opening)) / opening
        within = np.concatenate([within, np.zeros((repetitions - len(within), len(opening)))])
        parts = np.maximum(step**2 * (1 - opening) / opening**2 + within, 0.0)
        both = chance[z] * opening[self._query[z]]
        usual = np.bincount(row, self._variance[z] * (1 - both) / both**2, repetitions)
        error = self._error(drawn, effect, step)
        return error, parts.sum(axis=1), usual, np.abs(step / opening).max(axis=1)

    def _effects(self, drawn: Drawn, cell: np.ndarray) -> np.ndarray:
        """By how much the label of each drawn document moves the contrast of its query, weighted by p; float64[d]."""
        z = drawn.document
        label = (drawn.uniform[:, None] > self._bounds[z]).sum(axis=1)
        return np.asarray(self._influence[z] * (self.pool.form.values[label] - self.stands_for[self.design.order][z]))

    def _drawn(self, repetitions: int, rng: np.random.Generator) -> Drawn:
        opened = rng.random((repetitions, len(self._opening))) < self._opening
        if self.design.nested:
            uniform = rng.random(opened.shape)[:, self._query]
        else:
            uniform = rng.random((repetitions, len(self._query)))[:, self._place]
        row, z = np.nonzero(opened[:, self._query] & (uniform < self._chance))
        label = rng.random((repetitions, len(self._place)))[row, self._place[z]]
        return Drawn(row, z, label, rng.normal(size=repetitions))

    def _within(self, cell: np.ndarray, z: np.ndarray, term: np.ndarray) -> np.ndarray:
        """Estimated variances within the queries, as `residuals.query_residuals` computes them, float64[R·m]."""
        left = 1 - self._chance[z]
        square = term**2 * left
        if self.design.nested:
            excess = np.cumsum(term * left)
            start = _first_of_cell(cell)
            # The sums run over all queries, so what was summed before the first document of a query is taken off.
            before = excess - term * left - np.where(start > 0, excess[np.maximum(start, 1) - 1], 0.0)
            square = square + 2 * term * before
        cells = len(self._opening)
        return np.bincount(cell, square, minlength=(int(cell.max(initial=-1)) // cells + 1) * cells)

    def _error(self, drawn: Drawn, effect: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The error of each replay; labels of documents that were not drawn make a normal sum."""
        row, z, number, shift = drawn.row, drawn.document, len(step), self._shift
        known = np.bincount(row, effect - shift[z], number)
        unknown = np.maximum(self._variance.sum() - np.bincount(row, self._variance[z], number), 0.0)
        counts = np.flatnonzero(self._influence)
        sign = np.sign(self._influence[counts[self._place[counts].argmin()]]) if len(counts) else 0.0
        rest = shift.sum() + sign * np.sqrt(unknown) * drawn.normal
        return np.asarray((step / self._opening).sum(axis=1) - known - rest)

    @cached_property
    def _query(self) -> np.ndarray:
        """int64[n], which of the queries each document of the order belongs to."""
        return np.unique(self.pool.query[self.design.order], return_inverse=True)[1]

    @cached_property
    def _place(self) -> np.ndarray:
        """int64[n], the place of each document among those of the order, if they are sorted by name."""
        place = np.empty(len(self.by_name), dtype=np.int64)
        place[self.by_name] = np.arange(len(self.by_name))
        return np.argsort(np.argsort(place[self.design.order]))

    @cached_property
    def _opening(self) -> np.ndarray:
        """float64[m'], Π of the queries with documents in the order."""
        return np.asarray(self.design.opening[np.unique(self.pool.query[self.design.order])])

    @cached_property
    def _chance(self) -> np.ndarray:
        """float64[n], π."""
        return np.asarray(self.design.inclusion[self.design.order])

    @cached_property
    def _influence(self) -> np.ndarray:
        """float64[n], ``p D``."""
        order = self.design.order
        gradient = self.contrast @ self.pool.gradients(self.grades @ self.pool.form.values)
        return np.asarray((gradient * self.pool.weight[self.pool.query])[order])

    @cached_property
    def _bounds(self) -> np.ndarray:
        """float64[n, G], the cumulative grade probabilities."""
        return np.asarray(self.grades.cumsum(axis=1)[self.design.order, :-1])

    @cached_property
    def _shift(self) -> np.ndarray:
        """float64[n], how far the expected variables move the contrast away from where the estimator expects it."""
        return np.asarray(self._influence * (self.grades @ self.pool.form.values - self.stands_for)[self.design.order])

    @cached_property
    def _variance(self) -> np.ndarray:
        """float64[n], ``p² D² v``."""
        values = self.pool.form.values
        mean, square = self.grades @ values, self.grades @ values**2
        return np.asarray(self._influence**2 * np.maximum(square - mean**2, 0.0)[self.design.order])


@dataclass(frozen=True)
class RevealedReplays(DocumentReplays):
    """Replays for a measure that is neither additive nor a cascade."""

    def _effects(self, drawn: Drawn, cell: np.ndarray) -> np.ndarray:
        # All documents of a query take the number of its first, so that their labels belong to one labelling.
        first = _first_of_cell(cell)
        labelling = (drawn.uniform[first] * len(self._steps)).astype(np.int64)
        return np.asarray(self._steps[labelling, drawn.document])

    @cached_property
    def _steps(self) -> np.ndarray:
        """float64[E, n], by how much each label moves the contrast, weighted by p, under each labelling."""
        pool, order = self.pool, self.design.order
        assert isinstance(pool, RevealedPool)
        used = np.flatnonzero(self.contrast)
        steps = np.stack(
            [self.contrast[used] @ each[np.ix_(used, order)] for each in pool.simulated(order, self.grades)]
        )
        return np.asarray(steps * pool.weight[pool.query[order]])

    @cached_property
    def _influence(self) -> np.ndarray:
        """float64[n], the root of the variance that each document brings."""
        return np.asarray(np.sqrt((self._steps**2).mean(axis=0)))

    @cached_property
    def _variance(self) -> np.ndarray:
        """float64[n], ``p² E δ²``."""
        return np.asarray((self._steps**2).mean(axis=0))

    @cached_property
    def _shift(self) -> np.ndarray:
        """float64[n], 0: the estimator expects what the model does."""
        return np.zeros(len(self.design.order))


def _first_of_cell(cell: np.ndarray) -> np.ndarray:
    """int64[d], the place of the first drawn document of the same cell, for cells in increasing order."""
    begins = np.r_[True, cell[1:] != cell[:-1]][: len(cell)]
    return np.asarray(np.maximum.accumulate(np.where(begins, np.arange(len(cell)), 0)))
