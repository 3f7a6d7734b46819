"""Replays of a sample of documents under the recalibrated grade model [theory 5, 9].

They stand for the sample in one respect, the shape of its studentised errors: documents count by their gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference.reference import Replayed, studentised
from pt_active.inference.ties import ROUNDING
from pt_active.relevance._kernels import _compiled
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


class _Labels(NamedTuple):
    """What the labels of the n documents of a design that can change a contrast would do to it."""

    place: np.ndarray  # int64[n], their places in the order of the design, by which `Drawn.start` has them
    query: np.ndarray  # int64[n], the query of each
    chance: np.ndarray  # float64[n], ``Π π``
    effects: np.ndarray  # float64[labels, n], by how much each possible label moves the contrast, weighted by p
    shift: np.ndarray  # float64[n], how far the model expects labels to move it from what the estimator expects
    variance: np.ndarray  # float64[n], of the effects under the model
    sign: float  # Of the effect of the first document by name, so that the sums of two systems turn with them


@dataclass(frozen=True)
class Redraws:
    """Samples of a design with labels from a grade model, which all contrasts of systems share."""

    query: np.ndarray  # int64[N], the query of each document
    design: DocumentDesign
    grades: np.ndarray  # float64[N, G+1], from which labels are drawn
    by_name: np.ndarray  # int64[N], all documents in the order in which they take random numbers
    _kept: dict[tuple[int, int], list[Drawn]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def name(self) -> np.ndarray:
        """int64[N], the place of each document by name."""
        return np.argsort(self.by_name)

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
        order, nested = self.design.order, self.design.nested
        queries, query = np.unique(self.query[order], return_inverse=True)
        place = np.argsort(np.argsort(self.name[order]))  # int64[n], in the order of names
        opened = rng.random((repetitions, len(queries))) < self.design.opening[queries]
        uniform = rng.random((repetitions, len(queries) if nested else len(order)))
        uniform = uniform[:, query if nested else place]
        z, row = np.nonzero((opened[:, query] & (uniform < self.design.inclusion[order])).T)
        uniform = rng.random((repetitions, len(order)))[row, place[z]]
        if labellings is None:
            bounds = self.grades.cumsum(axis=1)[order, :-1]
            label = (uniform[:, None] > bounds[z]).sum(axis=1)
        else:
            # All documents of a query take the number of its first, so that their labels belong to one labelling.
            cell = query[z] * repetitions + row
            _, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
            label = (uniform[first][inverse] * labellings).astype(np.int64)
        return Drawn(np.searchsorted(z, np.arange(len(order) + 1)), row, label, rng.normal(size=repetitions))


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

    def replayed(self, number: int, seed: int) -> Replayed:
        """The errors in samples of the design."""
        labels = self._labels()
        labellings = len(labels.effects) if isinstance(self.pool, RevealedPool) else None
        drawn = self.redraws.drawn(number, seed, labellings)
        error, variance, usual, size = np.hstack([self._errors(each, labels) for each in drawn])
        # Each sample has its own labels, but what it expects of its variance is known: all count as of one labelling.
        return studentised(error, np.sqrt(variance), usual, size, np.zeros(number, dtype=np.int64))

    def _labels(self) -> _Labels:
        pool, grades, row = self.pool, self.redraws.grades, self.redraws.design.order
        weight = pool.weight[pool.query[row]]
        if isinstance(pool, RevealedPool):
            used = np.flatnonzero(self.contrast)
            steps = [self.contrast[used] @ each[np.ix_(used, row)] for each in pool.simulated(row, grades)]
            effects, shift = np.stack(steps) * weight, np.zeros(len(row))
            variance = (effects**2).mean(axis=0)
            influence = effects[(effects != 0).argmax(axis=0), np.arange(len(row))]
        else:
            values, stands_for = pool.form.values, self.stands_for[row]
            mean, square = grades @ values, grades @ values**2
            influence = (self.contrast @ pool.gradients(mean))[row] * weight
            effects, shift = influence * (values[:, None] - stands_for), influence * (mean[row] - stands_for)
            variance = influence**2 * np.maximum(square - mean**2, 0.0)[row]
        place = np.flatnonzero(influence)
        row, sign = row[place], 0.0
        if len(place):
            sign = float(np.sign(influence[place[self.redraws.name[row].argmin()]]))
        chance = self.redraws.design.chance(pool.query)[row]
        return _Labels(place, pool.query[row], chance, effects[:, place], shift[place], variance[place], sign)

    def _errors(self, drawn: Drawn, labels: _Labels) -> np.ndarray:
        """float64[4, R], errors, the variances that they show and are expected to show, and sums of absolute terms."""
        found = np.zeros((5, len(drawn.normal)))
        replay_errors(drawn, labels, self.redraws.design.nested, found)
        error, *rest, reached = found
        every = labels.variance.sum()
        # What is left if everything is reached is rounding.
        missed = np.sqrt(np.where(every - reached > ROUNDING * every, every - reached, 0.0))
        return np.stack([error - labels.shift.sum() - labels.sign * missed * drawn.normal, *rest])


@_compiled
def replay_errors(drawn, labels, nested, found):  # type: ignore[no-untyped-def]
    """Sums over the draws of each of R replays of a `Drawn`, for the `_Labels` of a contrast, into float64[5, R].

    These are ``Σ (x/ψ − x + shift)``, the variances shown and expected, absolute terms, and the variance reached.
    """
    within, above = np.zeros((2, len(drawn.normal)))  # of one query, whose documents come together from the top
    last = len(labels.place) - 1
    for i in range(last + 1):
        chance, place = labels.chance[i], labels.place[i]
        for draw in range(drawn.start[place], drawn.start[place + 1]):
            r, effect = drawn.row[draw], labels.effects[drawn.label[draw], i]
            term = effect / chance
            left = term * (1 - chance)
            within[r] += term * (left + 2 * above[r])
            if nested:
                above[r] += left
            found[0, r] += left + labels.shift[i]
            found[2, r] += labels.variance[i] * (1 - chance) / chance**2
            found[3, r] += abs(term)
            found[4, r] += labels.variance[i]
        if i == last or labels.query[i + 1] != labels.query[i]:
            found[1] += np.maximum(within, 0.0)
            within[:], above[:] = 0.0, 0.0
