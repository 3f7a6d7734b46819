"""How far the labels of a query move any measure, as they become known one by one [theory 11]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from pt_active.relevance.bounds import differs
from pt_active.relevance.revealed import LOG_PRIOR, Expectation, RevealedForm
from pt_active.sampling.pools import DocumentPool

_WINDOW = 2
"""The expected squares of a document are averaged with those of so many neighbours on each side of the order."""

_FIRST_LABELLING = 1 << 20
"""Random numbers of simulated labellings begin here, so that they differ from those of the label vectors."""

_Result = TypeVar("_Result")

_DIGESTS: dict[int, tuple[bytes, ref[np.ndarray]]] = {}  # By the id of an array, while it lives

_KEPT, _KEPT_NUMBERS = 3, 1 << 26
"""A pool keeps so many of its latest results for the next question, and more of them up to so many numbers."""


@dataclass(frozen=True)
class RevealedPool(DocumentPool):
    """A pool as a measure sees it that is neither additive nor a cascade.

    A document variable is a vector of indicators of the grades: a row of probabilities, or one-hot for a known label.
    Methods take as ``order``, int64[n], documents, query by query, in the order in which they are judged; as ``mean``,
    float64[N, G+1], the document variables before; as ``pairs``, float64[k(k−1)/2], weights of the pairs of rankers in
    the order of ``combinations``; as ``contrast``, float64[k], or ``contrasts``, float64[c, k].
    """

    form: RevealedForm  # The form of the measure
    key: np.ndarray  # uint64[N], from which the random numbers of each document follow
    kept: dict[bytes, Any] = field(default_factory=dict, repr=False, compare=False)  # The latest results

    def ranked(self, ranks: np.ndarray) -> RevealedPool:
        """The pool with other rankings, for which nothing is kept."""
        return replace(self, ranks=ranks, kept={})

    def involved(self, contrast: np.ndarray) -> tuple[DocumentPool, np.ndarray]:
        """The pool with all rankings, since all contrasts share its results."""
        return self, contrast

    def values(self, variable: np.ndarray) -> np.ndarray:
        """float64[m, k], what is expected of the measure at given document variables, float64[N, G+1]."""
        return self.once(self._expectation(variable).start, variable)

    def steps(self, order: np.ndarray, mean: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """By how much each label changes the expectation of every ranker, float64[k, N]."""
        label = observed.argmax(axis=1)
        return self.once(lambda: self._expectation(mean).steps(order, label), order, mean, label[order])

    def squares(self, order: np.ndarray, mean: np.ndarray, contrasts: np.ndarray) -> np.ndarray:
        """``E δ²`` of each document under the grade model, float64[c, N]; 0 for documents that are not in the order."""
        simulated = self.simulated(order, mean)
        squares = np.zeros((len(contrasts), len(mean)))
        for square, contrast in zip(squares, contrasts, strict=True):
            used = np.flatnonzero(contrast)
            for step in simulated:
                square += (contrast[used] @ step[used]) ** 2
        return squares / len(simulated)

    def mean_squares(self, order: np.ndarray, mean: np.ndarray, form: np.ndarray) -> np.ndarray:
        """``E δᵀ A δ`` of each document, float64[N], for a form A of the rankers, float64[k, k]."""
        return np.asarray(np.mean([((form @ step) * step).sum(axis=0) for step in self.simulated(order, mean)], axis=0))

    def simulated(self, order: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The steps under labellings that the grade model holds possible, leniency and all, float64[E, k, N]."""
        from pt_active.relevance._revealed_kernels import labellings

        def computed() -> np.ndarray:
            form, indptr, belief = self.form, np.asarray(self.indptr, dtype=np.int64), np.ascontiguousarray(mean)
            random = self.key, form.factors, LOG_PRIOR, _FIRST_LABELLING, form.labellings
            expectation = self._expectation(mean)
            return np.stack([expectation.steps(order, label) for label in labellings(indptr, belief, *random)])

        return self.once(computed, order, mean, np.zeros(1))

    def cautious(self, order: np.ndarray, square: np.ndarray, differs: np.ndarray, defensive: float) -> np.ndarray:
        """Expected squares, smoothed along the order, with a share of their average added; times ``p²``.

        A dozen labellings make a single document's square uncertain, and the model may be wrong: every document of a
        query in which the labels matter at all can be drawn.
        """
        query = self.query[order]
        smooth, count = np.zeros(len(order)), np.zeros(len(order))
        for shift in range(-_WINDOW, _WINDOW + 1):
            at = np.arange(len(order)) + shift
            beside = at % max(len(order), 1)
            inside = (at == beside) & (query[beside] == query)
            smooth += np.where(inside, square[order[beside]], 0.0)
            count += inside
        average = square[order].mean() if len(order) else 0.0
        added = defensive * average if average > 0 else 1.0
        gain = np.zeros(len(square))
        gain[order] = (smooth / np.maximum(count, 1) + added) * differs[query] * self.weight[query] ** 2
        return gain

    def differs(self, contrast: np.ndarray) -> np.ndarray:
        """bool[m], queries in which the labels may change a contrast: not those where two rankings agree."""
        return differs(self.form.cutoff, self.indptr, self.ranks, contrast)

    def ever_differs(self, pairs: np.ndarray | None = None) -> np.ndarray:
        """bool[m], queries in which the labels may change the only ranker or some pair with a weight."""
        k = len(self.ranks)
        if k == 1 or pairs is None:
            return self.differs(np.ones(1)) if k == 1 else self.differs(np.r_[1.0 - k, np.ones(k - 1)])
        return np.asarray(np.any([self.differs(row) for row in ranker_contrasts(k)[pairs > 0]], axis=0))

    def judging_order(self, mean: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        """int64[N], all documents, query by query, in the order in which they should be judged.

        For a measure with a cutoff by their best rank in any ranking, and below it by the deviation of their gain. For
        nDCG and AP of whole rankings those come first whose labels are expected to change most, as simulated for
        documents in the order of their best ranks. Other measures are too slow for that and keep this order.
        """
        best, worth = np.where(self.ranks > 0, self.ranks, np.iinfo(np.int32).max).min(axis=0), self.form.worth
        cutoff = self.form.cutoff or np.iinfo(np.int32).max - 1
        deviation = np.sqrt(np.maximum(mean @ worth**2 - (mean @ worth) ** 2, 0.0))
        keys = [self.key, best, np.where(best > cutoff, -np.round(deviation, 12), 0.0), np.minimum(best, cutoff + 1)]
        order = np.lexsort([*keys, np.zeros(len(best)) if first is None else ~first, self.query])
        if first is not None or self.form.cutoff is not None or not self.form.compiled:
            return order
        square = self.mean_squares(order, mean, pair_form(len(self.ranks)))
        # Equal squares may differ in their last digits, which must not decide; measures lie between 0 and 1.
        return np.lexsort([self.key, -np.round(square, 14), self.query])

    def _expectation(self, belief: np.ndarray) -> Expectation:
        return Expectation(self.form, self.indptr, self.ranks, belief, self.key)

    def once(self, compute: Callable[[], _Result], *of: np.ndarray) -> _Result:
        """A result that was computed for equal arrays before, or is computed now and kept; nobody writes into them."""
        name = b"".join(map(_digest, of))
        if name in self.kept:
            self.kept[name] = self.kept.pop(name)  # the last to be forgotten
            known: _Result = self.kept[name]
            return known
        result = self.kept[name] = compute()
        while len(self.kept) > _KEPT and sum(map(_numbers, self.kept.values())) > _KEPT_NUMBERS:
            self.kept.pop(next(iter(self.kept)))
        return result


def _digest(array: np.ndarray) -> bytes:
    """What tells arrays apart by what they hold; computed once for each array."""
    place = id(array)
    if place not in _DIGESTS:
        content = repr((array.shape, array.dtype)).encode() + np.ascontiguousarray(array).tobytes()
        digest = blake2b(content, digest_size=16).digest()
        _DIGESTS[place] = digest, ref(array, lambda gone: _DIGESTS.pop(place, None))
    return _DIGESTS[place][0]


def _numbers(result: Any) -> int:
    """How many numbers an array has, or all arrays of a sequence together."""
    return result.size if isinstance(result, np.ndarray) else sum(map(_numbers, result))


def ranker_contrasts(k: int) -> np.ndarray:
    """Contrasts of k rankers, float64[c, k]: the only ranker itself, or the difference of each pair."""
    return np.ones((1, 1)) if k == 1 else np.array([np.eye(k)[a] - np.eye(k)[b] for a, b in combinations(range(k), 2)])


def pair_form(k: int, pairs: np.ndarray | None = None) -> np.ndarray:
    """float64[k, k], A such that ``δᵀ A δ`` is the weighted mean of the squared differences of all pairs."""
    if k == 1:
        return np.ones((1, 1))
    a, b = np.array(list(combinations(range(k), 2))).T
    share = np.full(len(a), 1 / len(a)) if pairs is None else pairs / pairs.sum()
    form = np.zeros((k, k))
    form[a, b] = form[b, a] = -share
    return form - np.diag(form.sum(axis=1))
