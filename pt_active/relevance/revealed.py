"""The expectation of any measure while the labels of a query become known one by one [theory 11].

What is not known is averaged over label vectors that are drawn once, from random numbers that each document carries. So
the expectation is a function of the labels shown and of nothing else, and with all labels it is the measure itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    worth: np.ndarray  # float64[G+1], the gain of each grade for nDCG, and 1 for relevant grades for AP
    classes: np.ndarray  # float64[C], ``τ t`` of each class of leniency
    samples: int  # S, the number of label vectors of a query

    @property
    def vectors(self) -> np.ndarray:
        """int64[S], the class of each label vector."""
        return np.arange(self.samples) % len(self.classes)

    @property
    def labellings(self) -> int:
        """How many simulated labellings show how much labels matter."""
        return LABELLINGS if self.compiled else SLOW_LABELLINGS

    @property
    def log_prior(self) -> np.ndarray:
        """float64[C], the logs of the probabilities of the classes, up to a constant."""
        points = _CLASSES if len(self.classes) > 1 else np.zeros(1)
        return np.asarray(-0.5 * points**2)

    @property
    def factors(self) -> np.ndarray:
        """float64[C], by which the odds of ``P(y ≤ g)`` are multiplied in each class."""
        return np.exp(-self.classes)

    def lenient(self, leniency: float) -> RevealedForm:
        """The same measure with another τ; 0 for independent labels."""
        return replace(self, classes=leniency * _CLASSES if leniency > 0 else np.zeros(1))


def revealed_form(measure: irm.Measure, max_grade: int) -> RevealedForm:
    """The form of a measure that is neither additive nor a cascade.

    Args:
        measure: The result of `parse_measure`.
        max_grade: G, the highest grade.

    Raises:
        ValueError: If the measure depends on which documents are judged.
    """
    worth, cutoff = compiled_worth(measure, max_grade), measure.params.get("cutoff")
    compiled: Any = None if worth is None else measure.NAME
    return form_of(str(measure), max_grade, evaluator(measure, max_grade), cutoff, compiled, worth)


def form_of(
    name: str,
    max_grade: int,
    evaluate: Evaluator,
    cutoff: int | None = None,
    compiled: Literal["nDCG", "AP"] | None = None,
    worth: np.ndarray | None = None,
) -> RevealedForm:
    """The form of any function of the labels of a query."""
    worth, samples = np.zeros(max_grade + 1) if worth is None else worth, _VECTORS if compiled else _SLOW_VECTORS
    values, weights, classes = np.eye(max_grade + 1), np.zeros(0), LENIENCY * _CLASSES
    return RevealedForm("revealed", values, weights, name, cutoff, evaluate, compiled, worth, classes, samples)


@dataclass(frozen=True)
class Expectation:
    """What is expected of a measure before and while labels become known.

    Attributes:
        form: The form of the measure.
        indptr: int64[m+1], the offsets of the queries.
        ranks: int32[k, N], from 1; 0 = not retrieved.
        belief: float64[N, G+1], ``P(y = g)``, one-hot for known labels.
        key: uint64[N], from which the random numbers of each document follow.
        prior: float64[m, C], the logs of the classes' probabilities.
    """

    form: RevealedForm
    indptr: np.ndarray
    ranks: np.ndarray
    belief: np.ndarray
    key: np.ndarray
    prior: np.ndarray

    def start(self) -> np.ndarray:
        """float64[m, k], the expectation of every ranker in each query."""
        nothing = np.zeros(0, dtype=np.int64)
        return self._computed(nothing, np.zeros(len(self.key), dtype=np.int64), everywhere=True)[0]

    def steps(self, order: np.ndarray, label: np.ndarray) -> np.ndarray:
        """By how much each label changes the expectation of every ranker, float64[k, N].

        Args:
            order: int64[n], documents, query by query, in the order in which their labels become known.
            label: int64[N], read for the documents in the order.
        """
        return self._computed(order, label, everywhere=False)[1]

    def _computed(self, order: np.ndarray, label: np.ndarray, everywhere: bool) -> tuple[np.ndarray, np.ndarray]:
        m, k = len(self.indptr) - 1, len(self.ranks)
        start, step = np.zeros((m if everywhere else 0, k)), np.zeros((k, len(self.key)))
        compute = _compiled_loop if self.form.compiled else _evaluated
        compute(self, np.ascontiguousarray(order), np.ascontiguousarray(label), start, step)
        return start, step


def _compiled_loop(
    what: Expectation, order: np.ndarray, label: np.ndarray, start: np.ndarray, step: np.ndarray
) -> None:
    from pt_active.relevance import _revealed_kernels

    form, indptr = what.form, np.ascontiguousarray(what.indptr, dtype=np.int64)
    ranks, belief = np.ascontiguousarray(what.ranks, dtype=np.int32), np.ascontiguousarray(what.belief)
    classes = form.factors, form.vectors, what.prior
    measure = form.worth, form.compiled == "AP", np.iinfo(np.int32).max if form.cutoff is None else form.cutoff
    _revealed_kernels.revealed(indptr, ranks, belief, label, order, what.key, *classes, *measure, start, step)


def _evaluated(what: Expectation, order: np.ndarray, label: np.ndarray, start: np.ndarray, step: np.ndarray) -> None:
    """The expectations by the measure's own evaluator, with all label vectors of a query in one call."""
    query = np.searchsorted(what.indptr, order, side="right") - 1
    wanted = range(len(what.indptr) - 1) if len(start) else np.unique(query)
    for x in bar(wanted, f"expected {what.form.name}", unit="query", shown=len(wanted) > 1, delay=3):
        rows = slice(what.indptr[x], what.indptr[x + 1])
        documents = order[np.searchsorted(query, x) : np.searchsorted(query, x, side="right")]
        if rows.stop > rows.start:
            expected = _while_revealed(what, x, rows, documents, label)
            step[:, documents] = np.diff(expected, axis=0).T
            if len(start):
                start[x] = expected[0]


def _while_revealed(what: Expectation, x: int, rows: slice, documents: np.ndarray, label: np.ndarray) -> np.ndarray:
    """float64[1+n, k], the expectation in one query before and after each of n labels."""
    from pt_active.relevance import _revealed_kernels

    form, samples = what.form, len(what.form.vectors)
    labels = np.zeros((samples, rows.stop - rows.start), dtype=np.int64)
    _revealed_kernels.draw_vectors(what.belief[rows], what.key[rows], form.factors, form.vectors, 0, labels)
    turn, shown = [np.arange(samples)], [labels.copy()]
    logs = [what.prior[x].copy()]
    for z in documents:
        # Vectors that hold the right label already keep their value.
        changed = np.flatnonzero(labels[:, z - rows.start] != label[z])
        labels[changed, z - rows.start] = label[z]
        turn.append(changed)
        shown.append(labels[changed])
        logs.append(logs[-1].copy())
        _revealed_kernels.log_chances(what.belief[z], form.factors, label[z], logs[-1])
    values = np.split(form.evaluate(np.vstack(shown), what.ranks[:, rows]), np.cumsum([len(t) for t in turn])[:-1])
    current, weights, expected = np.zeros((samples, len(what.ranks))), np.zeros(samples), []
    for changed, value, each in zip(turn, values, logs, strict=True):
        current[changed] = value
        _revealed_kernels.class_weights(each, form.vectors, weights)
        expected.append(weights @ current)
    return np.array(expected)


def learned_prior(
    form: RevealedForm, indptr: np.ndarray, belief: np.ndarray, label: np.ndarray | None = None
) -> np.ndarray:
    """float64[m, C], the logs of the classes' probabilities in each query, given the labels that are known."""
    from pt_active.relevance import _revealed_kernels

    prior = np.tile(form.log_prior, (len(indptr) - 1, 1))
    if label is not None and (label >= 0).any():
        known = label >= 0
        _revealed_kernels.learn_classes(np.asarray(indptr, dtype=np.int64), belief, known, label, form.factors, prior)
    return prior
