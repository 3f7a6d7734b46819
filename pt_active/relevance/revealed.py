"""The expectation of any measure while the labels of a query become known one by one [theory 11].

What is not known is averaged over label vectors that are drawn once, from random numbers that each document carries. So
the expectation is a function of the labels shown and of nothing else, and with all labels it is the measure itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.progress import bar
from pt_active.relevance.measures import RankForm
from pt_active.relevance.moments import Evaluator, compiled_worth, evaluator

LENIENCY = 1.0
"""τ, the standard deviation of the shift that the labels of a query have in common, on the scale of cumulative logits.
Fitted to the labels of the pools of ``examples/reproduce/revealed_saving.py`` it lies between 0.8 and 1.6."""

_CLASSES = np.array([-1.8, -0.9, 0.0, 0.9, 1.8])
"""The points of a standard normal distribution that stand for it, in standard deviations."""

LOG_PRIOR = -0.5 * _CLASSES**2
"""The logs of the probabilities of the classes, up to a constant."""


# For measures with compiled loops, and for those that `ir_measures` evaluates:
_VECTORS, _SLOW_VECTORS = 30, 10  # label vectors of a query
LABELLINGS, SLOW_LABELLINGS = 12, 4  # labellings from which the size of a label's effect is learned


@dataclass(frozen=True)
class RevealedForm(RankForm):
    """A measure known by its values alone, of all labels of a query; ``values`` is the identity matrix."""

    name: str  # the name of the measure, for messages and progress bars
    cutoff: int | None  # the number of ranks that count; None for all
    evaluate: Evaluator  # the measure for many label vectors of one query
    compiled: Literal["nDCG", "AP"] | None  # which of the compiled loops computes it; None if none does
    worth: np.ndarray  # float64[G+1], gains for nDCG, 1 for relevant grades for AP, the grades for other measures
    samples: int  # S, the number of label vectors of a query
    leniency: float = LENIENCY  # τ; 0 for independent labels

    @property
    def vectors(self) -> np.ndarray:
        """int64[S], the class of each label vector."""
        return np.arange(self.samples) % len(_CLASSES)

    @property
    def labellings(self) -> int:
        """How many simulated labellings show how much labels matter."""
        return LABELLINGS if self.compiled else SLOW_LABELLINGS

    @property
    def factors(self) -> np.ndarray:
        """float64[C], by which the odds of ``P(y ≤ g)`` are multiplied in each class."""
        return np.exp(-self.leniency * _CLASSES)


def revealed_form(measure: irm.Measure, max_grade: int) -> RevealedForm:
    """The form of a measure that is neither additive nor a cascade.

    Args:
        measure: The result of `parse_measure`.
        max_grade: G, the highest grade.

    Raises:
        ValueError: If the measure depends on which documents are judged.
    """
    evaluate, worth = evaluator(measure, max_grade), compiled_worth(measure, max_grade)
    compiled: Any = None if worth is None else measure.NAME
    return RevealedForm(
        "revealed",
        values=np.eye(max_grade + 1),
        weights=np.zeros(0),
        name=str(measure),
        cutoff=measure.params.get("cutoff"),
        evaluate=evaluate,
        compiled=compiled,
        worth=np.arange(max_grade + 1.0) if worth is None else worth,
        samples=_VECTORS if compiled else _SLOW_VECTORS,
    )


@dataclass(frozen=True)
class Expectation:
    """What is expected of a measure before and while labels become known.

    Attributes:
        form: The form of the measure.
        indptr: int64[m+1], the offsets of the queries.
        ranks: int32[k, N], from 1; 0 = not retrieved.
        belief: float64[N, G+1], ``P(y = g)``, one-hot for known labels.
        key: uint64[N], from which the random numbers of each document follow.
    """

    form: RevealedForm
    indptr: np.ndarray
    ranks: np.ndarray
    belief: np.ndarray
    key: np.ndarray

    def start(self) -> np.ndarray:
        """float64[m, k], the expectation of every ranker in each query."""
        nothing = np.zeros(0, dtype=np.int64)
        return self._computed(np.arange(len(self.indptr) - 1), nothing, np.zeros(len(self.key), dtype=np.int64))[0]

    def steps(self, order: np.ndarray, label: np.ndarray) -> np.ndarray:
        """By how much each label changes the expectation of every ranker, float64[k, N].

        Args:
            order: int64[n], documents, query by query, in the order in which their labels become known.
            label: int64[N], read for the documents in the order.
        """
        return self._computed(np.unique(self._query(order)), order, label)[1]

    def _query(self, documents: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.indptr, documents, side="right") - 1

    def _computed(self, queries: np.ndarray, order: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The expectations in some queries, float64[m, k], and the steps along an order of their documents."""
        from pt_active.relevance import _revealed_kernels

        form, query = self.form, self._query(order)
        found = start, step = np.zeros((len(self.indptr) - 1, len(self.ranks))), np.zeros(self.ranks.shape)
        if form.compiled:
            in_memory = np.ascontiguousarray  # the loops are compiled for each order of arrays in memory
            pool = in_memory(self.indptr, dtype=np.int64), in_memory(self.ranks, dtype=np.int32), self.key
            measure = form.worth, form.compiled == "AP", np.iinfo(np.int32).max if form.cutoff is None else form.cutoff
            classes, shown = (form.factors, form.vectors, LOG_PRIOR), (queries, in_memory(order), in_memory(label))
            _revealed_kernels.revealed(pool, in_memory(self.belief), classes, measure, shown, found)
            return found
        for x in bar(queries, f"expected {form.name}", unit="query", shown=len(queries) > 1, delay=3):
            if self.indptr[x] < self.indptr[x + 1]:
                documents = order[np.searchsorted(query, x) : np.searchsorted(query, x, side="right")]
                expected = self._while_revealed(x, documents, label)
                start[x], step[:, documents] = expected[0], np.diff(expected, axis=0).T
        return found

    def _while_revealed(self, x: int, documents: np.ndarray, label: np.ndarray) -> np.ndarray:
        """float64[1+n, k], the expectation in one query before and after each of n labels."""
        from pt_active.relevance import _revealed_kernels

        form, rows = self.form, slice(self.indptr[x], self.indptr[x + 1])
        labels = np.zeros((form.samples, rows.stop - rows.start), dtype=np.int64)
        _revealed_kernels.draw_vectors(self.belief[rows], self.key[rows], form.factors, form.vectors, 0, labels)
        turns, shown = [np.arange(form.samples)], [labels.copy()]
        for z in documents:
            # Vectors that hold the right label already keep their value.
            turns.append(np.flatnonzero(labels[:, z - rows.start] != label[z]))
            labels[:, z - rows.start] = label[z]
            shown.append(labels[turns[-1]])
        values = form.evaluate(np.vstack(shown), self.ranks[:, rows])
        current, weights = np.zeros((form.samples, len(self.ranks))), np.zeros(form.samples)
        logs, expected, last = LOG_PRIOR.copy(), np.empty((len(turns), len(self.ranks))), 0
        for place, changed in enumerate(turns):
            if place > 0:
                z = documents[place - 1]
                _revealed_kernels.log_chances(self.belief[z], form.factors, label[z], logs)
            current[changed] = values[last : last + len(changed)]
            last += len(changed)
            _revealed_kernels.class_weights(logs, form.vectors, weights)
            expected[place] = weights @ current
        return expected
