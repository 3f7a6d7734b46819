"""How far errors of documents move an estimate, and the probabilities that a budget buys [theory 9]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pt_active.relevance.digits import rounded
from pt_active.relevance.moments import discounts
from pt_active.sampling.chances import at_most_one, clipping_factor
from pt_active.sampling.drawings import SUCCESSIVE, errs_together, opened_at_random, succession_unit
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes
from pt_active.sampling.successive import succession_design

_STRIDE = 0.25  # By which share the size of a step of a cascade exceeds that of the next deeper one, if they differ
_ROUNDING = 1e-9  # Share by which sizes may miss a step because of rounding


RANGE_SHARE, STEP_RANGE_SHARE = 0.1, 0.9
"""Share of the rates of a successive drawing that follows the range of values instead of the model's variance. It
bounds how far a single label can move a running estimate, also where the model is certain [theory 14]. A step can
change far more than it usually does, so bets on steps need most of it (``until_known.py``)."""

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


@dataclass(frozen=True)
class Influence:
    """By how much squared errors move each contrast, or their weighted mean; a query's shared error is one."""

    documents: np.ndarray  # float64[..., N], ``p² D²``
    queries: np.ndarray  # float64[..., m], ``p² [(Σ D)² + Σ D²]`` over the documents that are not known

    def __add__(self, other: Influence) -> Influence:
        return Influence(self.documents + other.documents, self.queries + other.queries)

    def __rmul__(self, factor: float) -> Influence:
        return Influence(factor * self.documents, factor * self.queries)

    def mean(self, share: np.ndarray) -> Influence:
        """The weighted mean over contrasts."""
        return Influence(share @ self.documents, share @ self.queries)

    def among(self, chosen: np.ndarray, documents: np.ndarray) -> Influence:
        """The influence of some of the queries."""
        return Influence(self.documents[..., documents], self.queries[..., chosen])


@dataclass(frozen=True)
class ErrorVariance:
    """The variance of the errors that a grade model may make."""

    documents: np.ndarray  # float64[N], v, the variance of each document
    common: float  # s², the variance of an error that all documents of a query share


def influence_of(pool: DocumentPool, gradient: np.ndarray, known: np.ndarray) -> Influence:
    """The influence on the value of the only ranker, or on the difference of each pair of rankers."""
    k = len(gradient)
    return _influence(pool, _gradients_of_contrasts(pool, gradient), k * (k - 1) // 2 or 1, known)


def influence_of_singles(pool: DocumentPool, gradient: np.ndarray, known: np.ndarray) -> Influence:
    """The influence on the value of a ranker, averaged over all rankers."""
    k = len(gradient)
    return _influence(pool, ((each, 0.0) for each in gradient), k, known).mean(np.full(k, 1 / k))


_Gradient = tuple[np.ndarray, np.ndarray | float]
"""The gradient of a contrast, float64[N], and what is added to its squares."""


def _influence(pool: DocumentPool, steps: Iterable[_Gradient], number: int, known: np.ndarray) -> Influence:
    """The influence on a number of contrasts with these gradients."""
    query, m, left = pool.query, len(pool.weight), ~known
    squares, sums = np.empty((number, len(query))), np.empty((number, m))
    for square, total, (step, mixed) in zip(squares, sums, steps, strict=True):
        np.square(step, out=square)
        total[:] = np.bincount(query, step * left, m) ** 2 + np.bincount(query, square * left, m)
        square += mixed
    squares *= pool.weight[query] ** 2
    return Influence(squares, pool.weight**2 * sums)


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

    errors: ErrorVariance  # The variance of the errors of the grade model
    pool: DocumentPool  # The pool as the measure sees it
    prices: Costs  # The costs of documents and of opening a query
    drawing: str  # A name in `DOCUMENT_DRAWINGS`
    keys: list[np.ndarray]  # float64[N] each; what the documents of a query are sorted by, the last one first

    def sizes(self, influence: Influence) -> DocumentSizes:
        """The sizes that suit a mean influence, in the order of the keys; the most influential first without keys."""
        from pt_active.sampling._kernels import pooled_sizes, sorted_within

        pool, cost, overhead, drawing = self.pool, self.prices.cost, self.prices.overhead, self.drawing
        gain = self.errors.documents * influence.documents
        order = sorted_within(pool.indptr, gain > 0, self._keys(gain))
        unit = succession_unit(pool.form, overhead)
        size, opening = np.zeros(len(gain)), np.zeros(len(pool.weight))
        if drawing == SUCCESSIVE and len(order):
            by_model, by_range = self._succession(unit, order, gain, influence)
            share = STEP_RANGE_SHARE if unit == "step" else RANGE_SHARE
            mixed = (1 - share) * by_model / by_model.sum() + share * by_range / by_range.sum()
            size[order] = mixed if unit != "step" else _falling(mixed, self.prices.query(order))
            return DocumentSizes(order, size, gain, unit)
        common = self.errors.common * influence.queries if errs_together(drawing, overhead) else opening.copy()
        pooled_sizes(pool.indptr, order, gain, cost, overhead, size, common, opening)
        return DocumentSizes(order, size, gain, opening=opening)

    def _succession(
        self, unit: str, order: np.ndarray, gain: np.ndarray, influence: Influence
    ) -> tuple[np.ndarray, np.ndarray]:
        """By the model's variance and by the range of values, a and b, how soon documents should come [theory 14]."""
        from pt_active.sampling._kernels import pooled_sizes

        pool, prices, cost, overhead = self.pool, self.prices, self.prices.cost, self.prices.overhead
        most = np.ptp(pool.form.values) * np.sqrt(influence.documents[order])
        if unit == "step":
            # Labels above are unknown, so a document may matter as much as its rank allows.
            weight = np.ptp(pool.form.values) * pool.weight[pool.query]
            most = (weight * discounts(pool.form, pool.ranks).max(axis=0))[order]
        if unit == "query":
            query = prices.query(order)
            whole = np.bincount(query, weights=cost[order]) + overhead
            size = np.sqrt(np.bincount(query, weights=gain[order])[query] / whole[query])
            return size, (np.bincount(query, weights=most) / np.sqrt(whole))[query]
        size, nothing = np.zeros(len(gain)), np.zeros((2, prices.queries))
        pooled_sizes(prices.indptr, order, gain, cost, overhead if unit == "step" else 0.0, size, *nothing)
        by_range = _step_ranges(order, prices, most) if unit == "step" else most / np.sqrt(cost[order])
        return size[order], by_range

    def _keys(self, gain: np.ndarray) -> np.ndarray:
        """float64[j, N], the keys, or what each document gains at its cost, the most first, where there are none."""
        if self.keys:
            return np.array(self.keys, dtype=np.float64)
        value = np.divide(gain, self.prices.cost, out=np.zeros(len(gain)), where=gain > 0)
        return rounded(np.negative(value, out=value))[None]

    def with_singles(self, pairs: Influence, singles: Influence) -> DocumentSizes:
        """The sizes that suit an influence on differences, at little cost to them also that on single rankers."""
        gain, both = self.errors.documents * pairs.documents, self._both(pairs, singles)
        del pairs, singles  # Where there are many documents, memory is short here.
        return replace(self.sizes(both), gain=gain)

    def of_gains(self, gain: np.ndarray, single: np.ndarray | None) -> DocumentSizes:
        """The sizes for the gains of differences, or of the only ranker, and beside them for single rankers."""
        influence = Influence(gain, np.zeros(len(self.pool.weight)))
        if single is None:
            return self.sizes(influence)
        return self.with_singles(influence, Influence(single, np.zeros(len(self.pool.weight))))

    def _both(self, pairs: Influence, singles: Influence) -> Influence:
        """The influence on differences plus the largest share η of that on single rankers that is not too dear."""
        g, h = (self.errors.documents @ each.documents for each in (pairs, singles))
        if not (g > 0 and h > 0):
            return pairs if g > 0 else singles
        some, (part, single) = self._subsample(pairs, singles)
        weight = some._weight_of_singles(part, single, g / h)
        return pairs + weight * singles if weight > 0 else pairs

    def _weight_of_singles(self, pairs: Influence, singles: Influence, equal: float) -> float:
        """The largest weight of single rankers that is not too dear, up to one that makes both equal."""
        if not (self.errors.documents @ pairs.documents) > 0:
            return 0.0
        matter = self.errors.documents * (pairs + singles).documents > 0
        spend = float(self.prices.spent(matter).sum())
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

    def _subsample(self, *influences: Influence) -> tuple[Sizing, list[Influence]]:
        """The same for every n-th of many queries, with influences on these."""
        number, pool = len(self.pool.weight), self.pool
        chosen = np.arange(number) % -(-number // _SUBSAMPLE) == 0
        documents = np.repeat(chosen, np.diff(pool.indptr))
        indptr = np.r_[0, np.cumsum(np.diff(pool.indptr)[chosen])]
        some = replace(
            self,
            errors=replace(self.errors, documents=self.errors.documents[documents]),
            pool=DocumentPool(pool.form, indptr, pool.ranks[:, documents], pool.weight[chosen]),
            prices=Costs(indptr, self.prices.cost[documents], self.prices.overhead),
            keys=[key[documents] for key in self.keys],
        )
        return some, [each.among(chosen, documents) for each in influences]

    def variance(
        self, planned: Influence, asked: Influence, budget: float, design: Callable[..., DocumentDesign]
    ) -> np.ndarray:
        """``Σ g (1/ψ − 1)`` of what is asked, float64[...], with the probabilities that suit what was planned for."""
        sizes, gain = self.sizes(planned), self.errors.documents * asked.documents
        drawn = design(sizes, self.drawing, self.prices, budget)
        variance = gain[..., sizes.order] @ (1 / drawn.chance(self.pool.query)[sizes.order] - 1)
        if errs_together(self.drawing, self.prices.overhead):
            opened = drawn.opening > 0
            variance = variance + self.errors.common * asked.queries[..., opened] @ (1 / drawn.opening[opened] - 1)
        return np.asarray(variance)


def _step_ranges(order: np.ndarray, prices: Costs, most: np.ndarray) -> np.ndarray:
    """Sizes ``√(e/λ) Σ √(e λ)`` of steps, float64[n], e being how much farther a step can reach than deeper ones.

    A draw can move an estimate by ``Σ e/h`` of its query at most, the same in all queries, and costs ``Σ h λ`` on
    average: no other sizes have a smaller product of the two [theory 14]. ``most``, float64[n], falls in each query.
    """
    from pt_active.sampling._kernels import pooled_sizes

    query, nothing = prices.query(order), np.zeros((2, prices.queries))
    gain, size = np.zeros((2, len(prices.cost)))
    gain[order] = most - np.where(np.diff(query, append=-1) == 0, np.roll(most, -1), 0.0)
    pooled_sizes(prices.indptr, order, gain, prices.cost, prices.overhead, size, *nothing)
    found = size[order]
    return found * np.bincount(query, weights=found * prices.of(order))[query]


def _falling(mixed: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Sizes of steps that fall within each query."""
    # Steps of a query fall by `_STRIDE` at least, or not at all; none becomes larger.
    for place in range(len(mixed) - 2, -1, -1):
        if query[place] == query[place + 1] and mixed[place] < (1 + _STRIDE) * (1 + _ROUNDING) * mixed[place + 1]:
            mixed[place] = mixed[place + 1]
    return np.asarray(mixed / mixed.sum())


def document_design(sizes: DocumentSizes, drawing: str, prices: Costs, budget: float) -> DocumentDesign:
    """Turn sizes into the probabilities of both phases whose expected cost is the budget [theory 9].

    If opening a query costs nothing and documents are not drawn by depth, every query is opened: an error that the
    model makes in a whole query then does the least harm. Otherwise a query is opened with a probability in proportion
    to its size in `DocumentSizes.opening`, or with that of its most probable document.

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
    size, query = sizes.size[sizes.order], prices.query(sizes.order)
    first = np.flatnonzero(prices.firsts(sizes.order))
    top = np.maximum.reduceat(size, first) if sizes.opening is None else sizes.opening[query[first]]
    price = np.r_[prices.cost[sizes.order], np.full(len(top), prices.overhead)]
    factor = clipping_factor(np.r_[size, top], price, budget)
    opening, inclusion = np.zeros(prices.queries), np.zeros(len(sizes.size))
    opening[query[first]] = at_most_one(factor * top) if opened_at_random(drawing, prices.overhead) else 1.0
    inclusion[sizes.order] = at_most_one(factor * size) / opening[query]
    return DocumentDesign(drawing, sizes.order, opening, inclusion, raises=sizes.raises)
