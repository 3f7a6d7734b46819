"""In what order do documents come one after the other, and how probable is each by then [theory 4, 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.sampling.chances import Clipped, at_most_one, within_budget
from pt_active.sampling.draws import pays_for_all
from pt_active.sampling.sample import DocumentDesign, DocumentSizes, Sample, TwoPhase

MAX_PLANNED_PROBABILITY = 0.95
"""No document is more probable than this at the planned budget, because a certain one would need an infinite rate."""

_ROUNDING = 1e-12
"""Rates whose difference is at most this share are equal but for rounding."""

_TOLERANCE = 1e-13
"""A threshold is known to this, and to this share of it."""


def succession_design(
    sizes: DocumentSizes, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> DocumentDesign:
    """Rates, and the probabilities that they are expected to lead to within a budget.

    Units come in the order of ``E/r``, E exponential, so by the time T with probability ``1 − exp(−r T)``. The rates
    ``r = −log(1 − ψ)`` make the unit as probable at ``T = 1`` as it should be at the planned budget,
    ``ψ = min(c, τ size)`` with `MAX_PLANNED_PROBABILITY` c. Rates ∝ size would waste judgments on large units at large
    budgets. If the budget pays for everything, all is certain and the rates are the sizes.

    Args:
        sizes: As `documents.document_sizes` returns them for the drawing ``successive``.
        indptr: int64[m+1], the offsets of the queries.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.
        budget: Λ.

    Raises:
        ValueError: If the budget is not a positive number.
    """
    size, price = sizes.size[sizes.order], cost[sizes.order]
    query = np.searchsorted(indptr, sizes.order, side="right") - 1
    top = np.maximum.reduceat(size, np.flatnonzero(np.r_[True, query[1:] != query[:-1]]))
    prices = np.r_[price, np.full(len(top), overhead)]
    clipped = Clipped.of(np.r_[size, top], prices)

    def planned(spend: float) -> DocumentDesign:
        share = at_most_one(clipped.factor(spend / MAX_PLANNED_PROBABILITY) * size)
        return _with_rate(sizes, indptr, -np.log1p(-MAX_PLANNED_PROBABILITY * share))

    if pays_for_all(budget, prices):
        return at(_with_rate(sizes, indptr, size), indptr, np.inf)
    design = planned(budget)
    if not design.nested:
        return design
    design = planned(max(budget - design.reserve(indptr, cost, overhead), 0.5 * budget))
    return at(design, indptr, planned_threshold(design, indptr, cost, overhead, budget))


def _with_rate(sizes: DocumentSizes, indptr: np.ndarray, rates: np.ndarray) -> DocumentDesign:
    """The design at ``T = 1`` with the rates of the documents in `DocumentSizes.order`, float64[n]."""
    rate = np.zeros(len(sizes.size))
    rate[sizes.order] = rates
    nothing = np.zeros(len(indptr) - 1), np.zeros(len(rate))
    return at(DocumentDesign("successive", sizes.order, *nothing, unit=sizes.unit, rate=rate), indptr, 1.0)


def at(design: DocumentDesign, indptr: np.ndarray, threshold: float) -> DocumentDesign:
    """The design with the probabilities of the units to come before a threshold.

    Shapes: indptr int64[m+1].
    """
    chance = inclusion(design, threshold)
    if design.unit != "query":
        return replace(design, opening=_opened(design, indptr, np.ones(len(chance))), inclusion=chance)
    return replace(design, opening=_opened(design, indptr, chance), inclusion=(_rate(design) > 0).astype(np.float64))


def inclusion(design: DocumentDesign, threshold: float) -> np.ndarray:
    """``π = 1 − exp(−r T)``, float64[N]; 0 for documents that are never judged."""
    rate = _rate(design)
    with np.errstate(invalid="ignore"):
        return np.where(rate > 0, -np.expm1(-rate * threshold), 0.0)


def _opened(design: DocumentDesign, indptr: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """float64[m], the chance of the documents of each query, which is the same for all; 0 if none can be drawn."""
    opening = np.zeros(len(indptr) - 1)
    opening[np.searchsorted(indptr, design.order, side="right") - 1] = chance[design.order]
    return opening


def _rate(design: DocumentDesign) -> np.ndarray:
    if design.rate is None:
        raise ValueError("the documents were not drawn one after the other, so they have no rates")
    return design.rate


def planned_threshold(
    design: DocumentDesign, indptr: np.ndarray, cost: np.ndarray, overhead: float, budget: float
) -> float:
    """The threshold up to which units are expected to cost a budget.

    For steps it is the threshold of the draw itself, and the reserve of `DocumentDesign.reserve` is part of the cost.

    Shapes: indptr int64[m+1], cost float64[N].
    """
    from scipy import optimize

    query = np.searchsorted(indptr, design.order, side="right") - 1
    first = np.r_[True, query[1:] != query[:-1]]
    price = cost[design.order] + overhead * first

    def excess(threshold: float) -> float:
        reserve = at(design, indptr, threshold).reserve(indptr, cost, overhead) if design.nested else 0.0
        return float(price @ inclusion(design, threshold)[design.order]) + reserve - budget

    if pays_for_all(budget, price):
        return np.inf
    low = high = 1.0
    while excess(high) <= 0:
        high *= 2
    while excess(low) > 0:
        low /= 2
    return float(optimize.brentq(excess, low, high, xtol=_TOLERANCE * low, rtol=_TOLERANCE))


def priorities_of(design: DocumentDesign, indptr: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """The priorities ``E/r``, by which documents come, smallest first.

    The step down to a document has the rate ``r − r'``, r' being that of the next document, and brings all documents
    above. So the priority of a document is the smallest of the steps down to it and to the deeper ones.

    Shapes: indptr int64[m+1], clock float64[N] → float64[N].
    """
    order, rate = design.order, _rate(design)
    priority = np.full(len(rate), np.inf)
    if design.unit != "step":
        priority[order] = clock[order] / rate[order]
        return priority
    query = np.searchsorted(indptr, order, side="right") - 1
    following = np.r_[np.where(query[1:] == query[:-1], rate[order][1:], 0.0), 0.0]
    own = rate[order] - following
    with np.errstate(divide="ignore"):
        alone = np.where(own > _ROUNDING * rate[order], clock[order] / own, np.inf)
    priority[order] = -largest_below(-alone, query)
    return priority


def largest_below(values: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The largest of the values of each document and those after it in its query, float64[n].

    Shapes: values float64[n], query int64[n].
    """
    distinct, rank = np.unique(values, return_inverse=True)
    # Offsets that fall from query to query keep the largest of one query apart from those of the next.
    offset = (query[-1] - query) * len(distinct)
    return np.asarray(distinct[np.maximum.accumulate((rank + offset)[::-1])[::-1] - offset])


@dataclass(frozen=True)
class Succession:
    """The order in which the documents of a design come, with what it costs to judge them up to each.

    Attributes:
        design: A design with rates.
        priority: float64[N], as `priorities_of` returns it.
        indptr: int64[m+1], the offsets of the queries.
        cost: float64[N], λ.
        overhead: λ₀, the cost of opening a query.
    """

    design: DocumentDesign
    priority: np.ndarray
    indptr: np.ndarray
    cost: np.ndarray
    overhead: float

    @cached_property
    def order(self) -> np.ndarray:
        """int64[n], the documents that can be drawn, in the order in which they come."""
        order = self.design.order
        return np.asarray(order[np.argsort(self.priority[order], kind="stable")])

    @cached_property
    def ends(self) -> np.ndarray:
        """int64[u], increasing: how many documents have come with each unit."""
        priority = self.priority[self.order]
        return np.asarray(np.flatnonzero(np.r_[priority[1:] > priority[:-1], True]) + 1)

    @cached_property
    def spent(self) -> np.ndarray:
        """float64[n], the cost of the documents up to each one in `order`."""
        order = self.order
        query = np.searchsorted(self.indptr, order, side="right") - 1
        first = np.zeros(len(order), dtype=bool)
        first[np.unique(query, return_index=True)[1]] = True
        return np.asarray(np.cumsum(self.cost[order] + self.overhead * first))

    def threshold(self, documents: int) -> float:
        """T, the priority of the unit that comes after the first documents; infinite after the last.

        Args:
            documents: How many documents have come, one of `ends` or 0.
        """
        order = self.order
        return float(self.priority[order[documents]]) if documents < len(order) else np.inf

    def within(self, budget: float) -> int:
        """The number of documents that come before the first unit that would overspend."""
        ends = self.ends
        return int(np.r_[0, ends][within_budget(self.spent[ends - 1], budget).sum()])

    def judged(self, has_label: np.ndarray) -> int:
        """The number of documents that come before the first unit that lacks a label.

        Args:
            has_label: bool[N].
        """
        missing = np.flatnonzero(~has_label[self.order])
        ends = np.r_[0, self.ends]
        return int(ends[np.searchsorted(ends, missing[0], side="right") - 1]) if len(missing) else int(ends[-1])

    def sample(self, threshold: float) -> TwoPhase:
        """The documents that come before a threshold."""
        design, drawn = at(self.design, self.indptr, threshold), self.priority < threshold
        query = np.searchsorted(self.indptr, np.flatnonzero(drawn), side="right") - 1
        opened = np.bincount(query, minlength=len(design.opening)) > 0
        queries = Sample.once(np.where(opened, design.opening, 0.0) if design.unit == "query" else design.opening)
        count = int(drawn.sum())
        spent = float(self.spent[count - 1]) if count else 0.0
        apart = np.full(len(design.opening), design.unit == "document")
        return TwoPhase(design, queries, drawn, apart, spent, self.priority)

    def first(self, documents: int) -> TwoPhase:
        """The first documents, one of `ends`, as if the budget had ended there."""
        return self.sample(self.threshold(documents))

    def drawn_to(self, budget: float) -> TwoPhase:
        """Documents in the order in which they come, until the next unit would overspend.

        That unit is left out with all after it, and its priority is the threshold T. Given the others, each unit came
        before T with probability ``1 − exp(−r T)``, independently of each other [theory 4]. The cost of steps depends
        on which others came, so for them `planned_threshold` fixes T beforehand. If steps of fewer than two queries
        come before it, T is when the second query would be opened: given the steps of the other queries, those of a
        query then come before the larger of both thresholds, so the probabilities hold, and something is always drawn.
        If the documents before T overspend nevertheless, which is rare, they are cut like other units; these cuts are
        the only inexactness.

        Args:
            budget: Λ.

        Raises:
            ValueError: If the budget does not pay for every single unit.
        """
        self._check(budget)
        if self.design.nested:
            fixed = planned_threshold(self.design, self.indptr, self.cost, self.overhead, budget)
            sample = self.sample(max(fixed, self._second_query))
            if within_budget(np.array(sample.spent), budget):
                return sample
        return self.first(self.within(budget))

    @property
    def _second_query(self) -> float:
        """When the second query is opened; infinite if there is only one."""
        order = self.design.order
        query = np.searchsorted(self.indptr, order, side="right") - 1
        opened = np.minimum.reduceat(self.priority[order], np.flatnonzero(np.r_[True, query[1:] != query[:-1]]))
        return float(np.sort(opened)[1]) if len(opened) > 1 else np.inf

    def _check(self, budget: float) -> None:
        """Raise if a unit costs more than the budget, because it could never be judged."""
        price, what = self.cost[self.design.order], "document"
        if self.design.unit != "document":
            query = np.searchsorted(self.indptr, self.design.order, side="right") - 1
            price, what = self.overhead + np.bincount(query, weights=price), "query"
        if not within_budget(price.max(), budget):
            raise ValueError(
                f"budget {budget:g} does not pay for the dearest {what}, which costs {price.max():g}, so it could "
                "never be judged and estimates would be biased; raise the budget, or cut the ranking depth"
            )


def succession_of(sample: TwoPhase, indptr: np.ndarray, cost: np.ndarray, overhead: float) -> Succession | None:
    """The order that a sample was drawn in; None if its documents did not come one after the other.

    Shapes: indptr int64[m+1], cost float64[N].
    """
    if sample.priority is None:
        return None
    return Succession(sample.design, sample.priority, indptr, cost, overhead)
