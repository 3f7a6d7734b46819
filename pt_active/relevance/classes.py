"""What is expected of nDCG and AP if the labels of a query err together [theory 20]?

Each query belongs to a hidden class. Given the class its labels are independent, so that the expectation of the measure
and what each single label does to it can be computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from pt_active.relevance.digits import product
from pt_active.relevance.revealed import RevealedForm

_POINTS = np.array([-1.8, -0.9, 0.0, 0.9, 1.8])
"""The points that stand for a standard normal distribution: of leniency, and of the tilt of high grades."""

_SLOPES, _SLOPE_WEIGHTS = np.array([-1.2, 0.0, 1.2]), np.array([0.25, 0.5, 0.25])
"""The points of the slope along the ranks, and their probabilities."""

LENIENCY, SLOPE, TILT = 1.5, 0.7, 1.0
"""Standard deviations of what all logits of a query have in common; of what a standard deviation of the log rank, or of
its difference between two rankers, adds; and of what each level gets beside the one below it."""

_LEAST = 0.002  # A cumulative probability within this of 0 or 1 is moved to it: no model is that certain
_UNRETRIEVED = 5.0  # A document that a ranker does not retrieve stands so many places below its query's deepest rank
_VECTORS = 30  # Label vectors of a query in each class, for nDCG
_MOST_NODES = 24  # Of Gauss and Legendre, for AP
_PLACED, _TRIED = 16, 256  # Pairs of classes where the labels of a query say, and of those that are tried to find where


@dataclass(frozen=True)
class InClasses:
    """What the documents of a pool are believed to be, in each class of queries.

    A level is all grades of the same gain; levels count from 0 in the order of their gain. Levels below 0 are unknown.

    Attributes:
        form: The measure, nDCG or AP.
        indptr: int64[m+1], the offsets of the queries.
        ranks: int32[k, N], from 1; 0 = not retrieved.
        key: uint64[N], from which the random numbers of each document follow.
        logits: float64[N, L] of ``P(level ≥ 1 … L)``, clipped.
        known: int64[N], the levels that were known before the sample was drawn.
        covariates: float64[N, 2 or 3], standardised: ones, the mean log rank and, for two rankers, the difference of
            their log ranks.
        spread: By what the distances between the classes are multiplied.
        vectors: How many label vectors stand for the labels of a query in each class, for nDCG.
    """

    form: RevealedForm
    indptr: np.ndarray
    ranks: np.ndarray
    key: np.ndarray
    logits: np.ndarray
    known: np.ndarray
    covariates: np.ndarray
    spread: float = 1.0
    vectors: int = _VECTORS

    @classmethod
    def of(
        cls, form: RevealedForm, indptr: np.ndarray, ranks: np.ndarray, key: np.ndarray, grades: np.ndarray
    ) -> InClasses:
        """A pool of which no label is known; ``grades``, float64[N, G+1], is what a grade model says."""
        above = product(grades, (np.arange(_levels(form)[-1] + 1)[None, :] <= _levels(form)[:, None]).astype(float))
        above = np.clip(above[:, 1:], _LEAST, 1 - _LEAST)
        # One order in memory: loops are compiled for each.
        logits = np.ascontiguousarray(np.minimum.accumulate(np.log(above / (1 - above)), axis=1))
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        nothing = np.full(len(logits), -1)
        return cls(form, indptr, ranks, key, logits, nothing, _covariates(indptr, ranks))

    def level(self, label: np.ndarray) -> np.ndarray:
        """int64[N], the levels of labels; -1 stays -1."""
        return np.where(label >= 0, _levels(self.form)[np.maximum(label, 0)], -1)

    def recalibrated(self, shift: np.ndarray, known: np.ndarray, spread: float = 1.0) -> InClasses:
        """The pool with shifted logits, float64[N, L], more labels, int64[N], and other distances between classes."""
        return replace(self, logits=self.logits + shift, known=known, spread=spread)

    def among(self, queries: np.ndarray) -> InClasses:
        """The documents of some queries, int64[s], increasing."""
        sizes = np.diff(self.indptr)
        documents = np.flatnonzero(np.isin(np.repeat(np.arange(len(sizes)), sizes), queries))
        names = "key", "logits", "known", "covariates"
        part = {name: getattr(self, name)[documents] for name in names}
        return replace(self, indptr=np.r_[0, np.cumsum(sizes[queries])], ranks=self.ranks[:, documents], **part)

    @property
    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        """float64[1, C, L+1] and float64[1, C]: shifts as `class_chances` takes them, and log prior probabilities.

        The classes of all queries before there are labels. They differ in leniency; in the slope along the ranks, but
        not for nDCG of several levels and one ranker; and for nDCG of several levels in a tilt, which is the highest
        level's.
        """
        top = self.logits.shape[1]
        weights = np.exp(-0.5 * _POINTS**2)
        one = np.zeros(1), np.ones(1)
        sloped = one if top > 1 and len(self.ranks) == 1 else (SLOPE * _SLOPES, _SLOPE_WEIGHTS)
        parts = (LENIENCY * _POINTS, weights), sloped, ((TILT * _POINTS, weights) if top > 1 else one)
        points = np.stack(np.meshgrid(*(part[0] for part in parts), indexing="ij"), axis=-1).reshape(-1, 3)
        chances = np.einsum("a,b,c->abc", *(part[1] / part[1].sum() for part in parts)).ravel()
        shifts = np.hstack([points[:, :2], np.repeat(points[:, 2:] / max(top - 1, 1), top - 1, axis=1)])
        return self.spread * shifts[None], np.log(chances)[None]

    def told_by_labels(self) -> tuple[np.ndarray, np.ndarray]:
        """The same for each query, float64[m, C, L+1] and float64[m, C], where its labels say that its class lies.

        For several levels. Each of them has a shift of its own, since high grades may be rare where low ones are not.
        Without a spread there is one class.
        """
        from pt_active.relevance import _class_kernels

        top, m = self.logits.shape[1], len(self.indptr) - 1
        if self.spread == 0:
            return np.zeros((1, 1, top + 1)), np.zeros((1, 1))
        if top == 1:
            return self.classes
        deviation = self.spread * np.r_[LENIENCY, SLOPE, np.full(top - 1, TILT)]
        points, wide = _normal_points(_PLACED, top + 1), _normal_points(_TRIED, top + 1)
        found = np.empty((m, len(points), top + 1)), np.empty((m, len(points)))
        wide = wide * _class_kernels.WIDE * deviation
        _class_kernels.place_classes(self.indptr, self.compiled, wide, points, deviation, found)
        return found

    @cached_property
    def compiled(self) -> tuple[object, ...]:
        """The pool as compiled loops take it: ``(ranks, key, logits, covariate, known, cutoff, samples, form)``."""
        cutoff = np.iinfo(np.int32).max if self.form.cutoff is None else self.form.cutoff
        is_ap = self.form.compiled == "AP"
        number = int(np.diff(self.indptr).max(initial=0))
        discount = np.where(np.arange(number) < cutoff, 1 / np.log2(np.arange(number) + 2.0), 0.0)
        form = _worth(self.form), is_ap, np.r_[0.0, np.cumsum(discount)], *_nodes()
        ranks, samples = np.ascontiguousarray(self.ranks, dtype=np.int32), 0 if is_ap else self.vectors
        return ranks, self.key, self.logits, self.slope_covariate, self.known, cutoff, samples, form

    @property
    def slope_covariate(self) -> np.ndarray:
        """float64[N], what the classes' slope is along."""
        return np.ascontiguousarray(self.covariates[:, -1])


def _worth(form: RevealedForm) -> np.ndarray:
    """float64[L+1], the gain of each level; there are two at least."""
    worth = np.unique(form.worth)
    return worth if len(worth) > 1 else np.r_[worth, worth + 1]


def _levels(form: RevealedForm) -> np.ndarray:
    """int64[G+1], the level of each grade."""
    return np.searchsorted(_worth(form), form.worth)


def _covariates(indptr: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    deepest = np.zeros(len(indptr) - 1)
    np.maximum.at(deepest, query, ranks.max(axis=0))
    place = np.log(np.where(ranks > 0, ranks, deepest[query] + _UNRETRIEVED))
    sides = [place.mean(axis=0)] + ([place[0] - place[1]] if len(ranks) == 2 else [])
    return np.column_stack([np.ones(len(query)), *(standardised(each) for each in sides)])


def standardised(values: np.ndarray) -> np.ndarray:
    """Values with mean 0 and standard deviation 1; all 0 where they do not differ but by rounding."""
    centred = values - values.mean()
    deviation = centred.std()
    return centred / deviation if deviation > 1e-9 * np.abs(values).max(initial=0.0) else np.zeros_like(values)


@lru_cache
def _normal_points(pairs: int, dimensions: int) -> np.ndarray:
    """float64[2 · pairs, D], evenly spread over a normal distribution; the second coordinate has both signs of each."""
    from scipy.special import ndtri

    root = np.roots([1.0, *np.zeros(dimensions - 1), -1.0, -1.0])
    ratio = root[np.argmin(np.abs(root.imag) + (root.real < 0))].real
    points = ndtri((0.5 + np.outer(np.arange(1, pairs + 1), ratio ** -np.arange(1.0, dimensions + 1))) % 1)
    both = np.vstack([points, points * np.where(np.arange(dimensions) == 1, -1.0, 1.0)])
    both -= both.mean(axis=0)
    return np.ascontiguousarray(np.linalg.solve(np.linalg.cholesky(both.T @ both / len(both)), both.T).T)


@lru_cache(maxsize=1)
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """float64[M+1, M] each: in row n the n nodes and weights of Gauss and Legendre on [0, 1], and zeros."""
    nodes, weights = np.zeros((2, _MOST_NODES + 1, _MOST_NODES))
    for number in range(1, _MOST_NODES + 1):
        node, weight = np.polynomial.legendre.leggauss(number)
        nodes[number, :number], weights[number, :number] = (node + 1) / 2, weight / 2
    return nodes, weights
