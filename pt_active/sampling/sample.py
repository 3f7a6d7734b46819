"""What was drawn, how often, and how probable that was."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Units that were drawn from a population of m: queries, pairs, or queries that are opened to judge documents.

    Axes before the last hold independent samples, so that thousands of repetitions can be estimated at once.
    """

    rows: np.ndarray  # int64[..., n], the units that were drawn, as rows of the population
    count: np.ndarray  # int64[..., n], how often each was drawn; zeros pad samples that are shorter than the longest
    expected: np.ndarray  # float64[..., n], how often each was expected to be: π without replacement, else n q
    repeated: bool = False  # Whether a unit can be drawn more than once
    census: bool = False  # Whether all units with a positive weight were certain to be drawn
    q: np.ndarray | None = None  # float64[m], the distribution that units were drawn from; None if it is not kept
    priority: np.ndarray | None = None  # float64[m], by which units come, smallest first; infinite where q is 0
    stratum: np.ndarray | None = None  # int64[m], the stratum of each unit; None without strata

    @classmethod
    def once(cls, inclusion: np.ndarray, census: bool = False) -> Sample:
        """Units that were drawn once each, with π float64[m]; 0 or NaN for those that were not drawn."""
        rows = np.flatnonzero(inclusion > 0)
        return cls(rows, np.ones(len(rows), dtype=np.int64), inclusion[rows], census=census)

    @classmethod
    def from_columns(
        cls, q: np.ndarray, draws: np.ndarray, inclusion: np.ndarray, census: bool = False, **kept: np.ndarray | None
    ) -> Sample:
        """The sample that columns of the population describe, as `columns` returns them; ``kept`` are attributes."""
        rows = np.flatnonzero(draws > 0)
        repeated = bool(np.isnan(inclusion[rows]).any())
        expected = draws.sum() * q[rows] if repeated else inclusion[rows]
        return cls(rows, draws[rows], expected, repeated, census, q, **kept)

    @property
    def draws(self) -> np.ndarray:
        """int64[...], n, how many draws there were."""
        return np.asarray(self.count.sum(axis=-1))

    @property
    def left(self) -> np.ndarray | float:
        """``1 − π``, the part of a unit's variance that is due to sampling, float64[..., n]; 1 with replacement."""
        return 1.0 if self.repeated else 1 - self.expected

    def of(self, values: np.ndarray) -> np.ndarray:
        """float64[..., n], the values of the drawn units, from those of all, float64[m] or float64[..., m]."""
        if values.ndim == 1 or self.rows.ndim == 1:
            return np.asarray(values[..., self.rows])
        return np.take_along_axis(values, self.rows, axis=-1)

    def importance(self, weight: np.ndarray) -> np.ndarray:
        """``v = n p / E[count]``, float64[..., n]: p/q with replacement, n p/π without; p float64[m]."""
        return np.asarray(self.draws[..., None] * self.of(weight) / self.expected)

    def columns(self, weight: np.ndarray) -> dict[str, np.ndarray]:
        """The sample as columns of the population: ``draws`` int64[m], ``importance`` and ``inclusion`` float64[m].

        The latter two are NaN for units that were not drawn, ``inclusion`` for all units with replacement.
        """
        draws = np.zeros(len(weight), dtype=np.int64)
        importance, inclusion = np.full((2, len(weight)), np.nan)
        draws[self.rows], importance[self.rows] = self.count, self.importance(weight)
        if not self.repeated:
            inclusion[self.rows] = self.expected
        return {"draws": draws, "importance": importance, "inclusion": inclusion}

    @property
    def first(self) -> Sample:
        """The first of several samples, without padding and with increasing rows."""
        kept = np.flatnonzero(self.count[0] > 0)
        kept = kept[np.argsort(self.rows[0][kept])]
        return replace(self, rows=self.rows[0][kept], count=self.count[0][kept], expected=self.expected[0][kept])

    def within(self, inside: np.ndarray) -> Sample:
        """The part of one sample that fell into a slice of the population, bool[m], given how many draws did.

        Its units are renumbered. Inclusion probabilities stay the same; with replacement, q becomes ``q/Q``, Q being
        its sum over the slice.
        """
        kept = inside[self.rows]
        rows, count, expected = (np.cumsum(inside) - 1)[self.rows[kept]], self.count[kept], self.expected[kept]
        if self.repeated and self.q is not None:
            expected = expected * (count.sum() / self.draws) / self.q[inside].sum()
        q = None if self.q is None else self.q[inside] / self.q[inside].sum()
        return Sample(rows, count, expected, self.repeated, q=q)


@dataclass(frozen=True)
class Costs:
    """What judging documents costs."""

    indptr: np.ndarray  # int64[m+1], the offsets of the queries
    cost: np.ndarray  # float64[N], λ
    overhead: float  # λ₀, the cost of opening a query

    @property
    def queries(self) -> int:
        """The number of queries, m."""
        return len(self.indptr) - 1

    @property
    def every(self) -> np.ndarray:
        """int64[N], the query of each document."""
        return np.repeat(np.arange(self.queries), np.diff(self.indptr))

    def query(self, documents: np.ndarray) -> np.ndarray:
        """The queries of some documents."""
        return np.asarray(np.searchsorted(self.indptr, documents, side="right") - 1)

    def of(self, order: np.ndarray) -> np.ndarray:
        """float64[n], what each document costs in an order, query by query, whose first ones open their queries."""
        query = self.query(order)
        return np.asarray(self.cost[order] + self.overhead * np.r_[True, query[1:] != query[:-1]])

    def sums(self, documents: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
        """float64[m], the sums of values of documents, or the number of these, in each query."""
        return np.bincount(self.query(documents), weights=values, minlength=self.queries)

    def spent_in(self, order: np.ndarray) -> np.ndarray:
        """float64[n], the cost of the documents up to each one in any order; the first of a query opens it."""
        first = np.zeros(len(order), dtype=bool)
        first[np.unique(self.query(order), return_index=True)[1]] = True
        return np.asarray(np.cumsum(self.cost[order] + self.overhead * first))

    def spent(self, drawn: np.ndarray) -> np.ndarray:
        """float64[m], what drawn documents of each query cost."""
        rows = np.flatnonzero(drawn)
        return np.asarray(self.sums(rows, self.cost[rows]) + self.overhead * (self.sums(rows) > 0))


@dataclass(frozen=True)
class DocumentSizes:
    """Inclusion probabilities up to a factor: ``ψ = min(1, τ · size)``."""

    order: np.ndarray  # int64[n], the documents that can change the estimate, query by query
    size: np.ndarray  # float64[N]; 0 for documents that cannot change the estimate
    gain: np.ndarray  # float64[N], g; a document adds ``g (1/ψ − 1)`` to the variance


@dataclass(frozen=True)
class DocumentDesign:
    """Probabilities of documents in two phases: a query is opened, then documents are drawn in it [theory 9]."""

    drawing: str  # How the documents of a query are drawn, a name in `drawings.DOCUMENT_DRAWINGS`
    order: np.ndarray  # int64[r], the documents that can change the estimate, query by query
    opening: np.ndarray  # float64[m], Π, the probability that a query is opened
    inclusion: np.ndarray  # float64[N], π, the probability that a document is drawn if its query is opened
    rate: np.ndarray | None = None  # float64[N], the rates of documents that come one after the other
    whole: np.ndarray | None = None  # float64[m], `sums` of all documents, where only some of them are here

    def sums(self, query: np.ndarray) -> np.ndarray:
        """float64[m], ``Σ π`` over the documents of each query."""
        return np.bincount(query, self.inclusion, len(self.opening)) if self.whole is None else self.whole

    def among(self, documents: np.ndarray) -> DocumentDesign:
        """The design of some documents, in increasing order, once `whole` is known."""
        place = np.full(len(self.inclusion), -1)
        place[documents] = np.arange(len(documents))
        order, rate = place[self.order], None if self.rate is None else self.rate[documents]
        return replace(self, order=order[order >= 0], inclusion=self.inclusion[documents], rate=rate)

    @property
    def nested(self) -> bool:
        """Whether a document is judged only if those above it in its query are judged too."""
        return self.drawing == "depth"

    def chance(self, query: np.ndarray) -> np.ndarray:
        """``Π π``, the probability that each document is judged, float64[N]."""
        return np.asarray(self.opening[query] * self.inclusion)


@dataclass(frozen=True)
class TwoPhase:
    """Documents that were drawn in two phases."""

    design: DocumentDesign  # The design that they were drawn from
    # float64[m], Π of the queries that were opened, given what the documents of the others cost, 0 for the others
    opening: np.ndarray
    drawn: np.ndarray  # bool[N], which documents are to be judged
    spent: float  # What judging the drawn documents costs
    # float64[N], by which documents come one after the other, smallest first; from the top, the numbers of queries
    priority: np.ndarray | None = None

    def among(self, documents: np.ndarray) -> TwoPhase:
        """What was drawn of some documents, in increasing order."""
        priority = None if self.priority is None else self.priority[documents]
        return replace(self, design=self.design.among(documents), drawn=self.drawn[documents], priority=priority)

    def chance(self, query: np.ndarray) -> np.ndarray:
        """``Π π`` of the documents in opened queries, 0 for the others, float64[N]."""
        return np.asarray(self.opening[query] * self.design.inclusion)


@dataclass(frozen=True)
class Steps:
    """Which instances of a pool were drawn, when, and how probable that was."""

    score: np.ndarray  # float64[N], g, the predictor of the kernel regressions
    step: np.ndarray  # int64[N], the step in which each instance was drawn, from 1; 0 if it was not
    probability: np.ndarray  # float64[N], π, the probability of being drawn in that step given all before it
    size: np.ndarray  # float64[S], how many instances each step draws, on average for ``poisson``
    independent: np.ndarray  # bool[S], whether the step's instances were drawn independently of each other

    @classmethod
    def none_yet(cls, score: np.ndarray) -> Steps:
        """A pool from which nothing was drawn yet."""
        score = np.asarray(score, dtype=np.float64)
        if len(score) == 0:
            raise ValueError("the pool is empty")
        if not np.isfinite(score).all():
            raise ValueError(f"scores must be finite numbers (not finite: {int((~np.isfinite(score)).sum())})")
        n = len(score)
        return cls(score, np.zeros(n, dtype=np.int64), np.full(n, np.nan), np.zeros(0), np.zeros(0, dtype=bool))

    @property
    def drawn(self) -> np.ndarray:
        """bool[N], whether each instance was drawn."""
        return self.step > 0

    @property
    def census(self) -> bool:
        """Whether the last step was certain to draw all that was left."""
        last = self.step == self.step.max(initial=0)
        return bool(self.drawn.all() and (self.probability[last] >= 1 - 1e-12).all())
