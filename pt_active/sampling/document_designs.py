"""How far errors of documents move an estimate, and the probabilities that a budget buys [theory 9]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pt_active.relevance.digits import rounded
from pt_active.sampling.chances import at_most_one, clipping_factor, left_for_documents
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes
from pt_active.sampling.successive import succession_design

RANGE_SHARE = 0.1
"""Share of the rates of a successive drawing that follows the range of values instead of the model's variance. It
bounds how far a single label can move a running estimate, also where the model is certain [theory 14]."""

_SUBSAMPLE = 2000  # Queries used to find the weight of single rankers beside differences


SINGLES_LOSS = {"additive": 0.02, "cascade": 0.007, "revealed": 0.01}
"""Family of the measure → by how much the variances of differences may rise, as a share, so that documents that matter
to the values of single rankers alone can be drawn too. The grade model expects this rise; on labelled pools that of
nested documents is up to three times as large (``examples/reproduce/single_rankers.py``)."""

_DECADES, _WEIGHTS = 8, 161
"""The weight of single rankers beside differences is sought among so many, from equal weights in all downwards over so
many powers of ten."""

_USUAL_SHARE = 0.25
"""The share of the pool's cost at which this weight is found. It does not depend on the budget, so that a design has
one size for each document."""

MIXED_SHARE = 0.01
"""Share of both rankers' squared gradients that is added to that of the difference of two cascades."""

_SAME_GRADIENT = 1e-12  # A difference of gradients below this share of the largest one is rounding: it counts as 0


def influence_of(pool: DocumentPool, gradient: np.ndarray) -> np.ndarray:
    """``p² D²`` of the value of the only ranker, or of the difference of each pair of rankers, float64[c, N]."""
    k = len(gradient)
    return _influence(pool, _gradients_of_contrasts(pool, gradient), k * (k - 1) // 2 or 1)


def influence_of_singles(pool: DocumentPool, gradient: np.ndarray) -> np.ndarray:
    """``p² D²`` of the value of a ranker, averaged over all rankers, float64[N]."""
    k = len(gradient)
    return np.full(k, 1 / k) @ _influence(pool, ((each, 0.0) for each in gradient), k)


_Gradient = tuple[np.ndarray, np.ndarray | float]
"""The gradient of a contrast, float64[N], and what is added to its squares."""


def _influence(pool: DocumentPool, steps: Iterable[_Gradient], number: int) -> np.ndarray:
    """By how much squared errors of documents move a number of contrasts with these gradients, float64[c, N]."""
    squares = np.empty((number, len(pool.query)))
    for square, (step, mixed) in zip(squares, steps, strict=True):
        np.square(step, out=square)
        square += mixed
    squares *= pool.weight[pool.query] ** 2
    return squares


def _gradients_of_contrasts(pool: DocumentPool, gradient: np.ndarray) -> Iterator[_Gradient]:
    """The gradient of each contrast and what is added to its squares."""
    if len(gradient) == 1:
        yield gradient[0], 0.0
        return
    largest = np.abs(gradient).max(initial=0.0)
    depth, query, m = len(pool.form.weights), pool.query, len(pool.weight)
    place = np.where((pool.ranks > 0) & (pool.ranks <= depth), pool.ranks, depth + 1)
    for a, b in combinations(range(len(gradient)), 2):
        step = gradient[a] - gradient[b]
        step[np.abs(step) <= _SAME_GRADIENT * largest] = 0.0
        if pool.form.family != "cascade":
            yield step, 0.0
            continue
        differ = np.bincount(query[place[a] != place[b]], minlength=m) > 0
        yield step, np.where(differ[query], MIXED_SHARE * (gradient[a] ** 2 + gradient[b] ** 2), 0.0)


@dataclass(frozen=True)
class Sizing:
    """What turns the influence of documents into sizes."""

    errors: np.ndarray  # float64[N], v, the variance of the errors that the grade model may make
    pool: DocumentPool  # The pool as the measure sees it
    cost: np.ndarray  # float64[N], λ, the costs of documents
    drawing: str  # A name in `DOCUMENT_DRAWINGS`
    keys: list[np.ndarray]  # float64[N] each; what the documents of a query are sorted by, the last one first

    def sizes(self, influence: np.ndarray) -> DocumentSizes:
        """The sizes that suit a mean influence, in the order of the keys; the most influential first without keys."""
        from pt_active.sampling._kernels import pooled_sizes, sorted_within

        pool, gain = self.pool, self.errors * influence
        order = sorted_within(pool.indptr, gain > 0, self._keys(gain))
        size = np.zeros(len(gain))
        pooled_sizes(pool.indptr, order, gain, self.cost, size)
        if self.drawing == SUCCESSIVE and len(order):
            by_model = size[order]
            by_range = np.ptp(pool.form.values) * np.sqrt(influence[order]) / np.sqrt(self.cost[order])
            size[order] = (1 - RANGE_SHARE) * by_model / by_model.sum() + RANGE_SHARE * by_range / by_range.sum()
        return DocumentSizes(order, size, gain)

    def _keys(self, gain: np.ndarray) -> np.ndarray:
        """float64[j, N], the keys, or what each document gains at its cost, the most first, where there are none."""
        if self.keys:
            return np.array(self.keys, dtype=np.float64)
        value = np.divide(gain, self.cost, out=np.zeros(len(gain)), where=gain > 0)
        return rounded(np.negative(value, out=value))[None]

    def with_singles(self, pairs: np.ndarray, singles: np.ndarray) -> DocumentSizes:
        """The sizes that suit an influence on differences, at little cost to them also that on single rankers."""
        gain, both = self.errors * pairs, self._both(pairs, singles)
        del pairs, singles  # Where there are many documents, memory is short here.
        return replace(self.sizes(both), gain=gain)

    def of_gains(self, gain: np.ndarray, single: np.ndarray | None) -> DocumentSizes:
        """The sizes for the gains of differences, or of the only ranker, and beside them for single rankers."""
        return self.sizes(gain) if single is None else self.with_singles(gain, single)

    def _both(self, pairs: np.ndarray, singles: np.ndarray) -> np.ndarray:
        """The influence on differences plus the largest share η of that on single rankers that is not too dear."""
        g, h = (self.errors @ each for each in (pairs, singles))
        if not (g > 0 and h > 0):
            return pairs if g > 0 else singles
        some, (part, single) = self._subsample(pairs, singles)
        weight = some._weight_of_singles(part, single, g / h)
        return pairs + weight * singles if weight > 0 else pairs

    def _weight_of_singles(self, pairs: np.ndarray, singles: np.ndarray, equal: float) -> float:
        """The largest weight of single rankers that is not too dear, up to one that makes both equal."""
        if not (self.errors @ pairs) > 0:
            return 0.0
        matter = self.errors * (pairs + singles) > 0
        spend = float(self.cost[matter].sum())
        if not np.isfinite(spend):  # documents of later rankers have no cost, and nothing is drawn for these
            return 0.0
        spend *= _USUAL_SHARE
        most = (1 + SINGLES_LOSS[self.pool.form.family]) * self.variance(pairs, pairs, spend, design_at)
        weights = equal * 10.0 ** np.linspace(0, -_DECADES, _WEIGHTS)
        low, high = 0, len(weights)
        while low < high:
            middle = (low + high) // 2
            dear = self.variance(pairs + weights[middle] * singles, pairs, spend, design_at) > most
            low, high = (middle + 1, high) if dear else (low, middle)
        return float(weights[low]) if low < len(weights) else 0.0

    def _subsample(self, *influences: np.ndarray) -> tuple[Sizing, list[np.ndarray]]:
        """The same for every n-th of many queries, with influences on these."""
        number, pool = len(self.pool.weight), self.pool
        chosen = np.arange(number) % -(-number // _SUBSAMPLE) == 0
        documents = np.repeat(chosen, np.diff(pool.indptr))
        indptr = np.r_[0, np.cumsum(np.diff(pool.indptr)[chosen])]
        some = replace(
            self,
            errors=self.errors[documents],
            pool=DocumentPool(pool.form, indptr, pool.ranks[:, documents], pool.weight[chosen]),
            cost=self.cost[documents],
            keys=[key[documents] for key in self.keys],
        )
        return some, [each[..., documents] for each in influences]

    def variance(
        self, planned: np.ndarray, asked: np.ndarray, budget: float, design: Callable[..., DocumentDesign]
    ) -> np.ndarray:
        """``Σ g (1/ψ − 1)`` of what is asked, float64[...], with the probabilities that suit what was planned for."""
        sizes, gain = self.sizes(planned), self.errors * asked
        drawn = design(sizes, self.drawing, Costs(self.pool.indptr, self.cost, 0.0), budget)
        return np.asarray(gain[..., sizes.order] @ (1 / drawn.chance(self.pool.query)[sizes.order] - 1))


def document_design(sizes: DocumentSizes, drawing: str, prices: Costs, budget: float) -> DocumentDesign:
    """Turn sizes into the probabilities whose expected cost is the budget [theory 9].

    Under ``depth`` a query is opened with the probability of its first document. The other drawings can open every
    query, and what they are expected to open is paid for.

    A successive drawing gets rates besides, see `succession_design`.

    Args:
        sizes: As `document_sizes` returns them for the same drawing.
        drawing: A name in `DOCUMENT_DRAWINGS`.
        prices: The costs of documents and of opening a query.
        budget: Λ.

    Raises:
        ValueError: If the budget is not a positive number, or no document can change the estimate.
    """
    if len(sizes.order) == 0:
        raise ValueError("no document can change the estimate: all are known, or the rankings agree above the cutoff")
    if drawing == SUCCESSIVE:
        return succession_design(sizes, prices, budget)
    return design_at(sizes, drawing, prices, budget)


def design_at(sizes: DocumentSizes, drawing: str, prices: Costs, budget: float) -> DocumentDesign:
    """The probabilities whose expected cost is the budget."""
    size, cost, query = sizes.size[sizes.order], prices.cost[sizes.order], prices.query(sizes.order)

    def chance(spend: float) -> np.ndarray:
        return at_most_one(clipping_factor(size, cost, spend) * size)

    drawn = chance(left_for_documents(budget, prices.overhead, drawing, query, chance))
    opening, inclusion = np.zeros(prices.queries), np.zeros(len(sizes.size))
    np.maximum.at(opening, query, drawn if drawing == "depth" else 1.0)
    inclusion[sizes.order] = drawn / opening[query]
    return DocumentDesign(drawing, sizes.order, opening, inclusion, raises=sizes.raises)
