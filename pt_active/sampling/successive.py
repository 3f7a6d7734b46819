"""The order in which documents come one after the other, and the probability of each [theory 4, 14]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.sampling.chances import at_most_one, clipping_factor, within_budget
from pt_active.sampling.draws import pays_for_all
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes, Sample, TwoPhase

MAX_PLANNED_PROBABILITY = 0.95
"""No document is more probable than this at the planned budget, because a certain one would need an infinite rate."""

_ROUNDING = 1e-12  # Rates whose difference is at most this share are equal but for rounding
_TOLERANCE = 1e-13  # A threshold is known to this, and to this share of it


def succession_design(sizes: DocumentSizes, prices: Costs, budget: float) -> DocumentDesign:
    """Rates, and the probabilities that they are expected to lead to within a budget.

    Units come in the order of ``E/r``, E exponential, so by the time T with probability ``1 − exp(−r T)``. The rates
    ``r = −log(1 − ψ)`` make the unit as probable at ``T = 1`` as it should be at the planned budget,
    ``ψ = min(c, τ size)`` with `MAX_PLANNED_PROBABILITY` c. Rates ∝ size would waste judgments on large units at large
    budgets. If the budget pays for everything, all is certain and the rates are the sizes.

    Raises:
        ValueError: If the budget is not a positive number.
    """
    size = sizes.size[sizes.order]
    top = np.maximum.reduceat(size, np.flatnonzero(prices.firsts(sizes.order)))
    each = np.r_[prices.cost[sizes.order], np.full(len(top), prices.overhead)]

    def planned(spend: float) -> DocumentDesign:
        factor = clipping_factor(np.r_[size, top], each, spend / MAX_PLANNED_PROBABILITY)
        share = at_most_one(factor * size)
        share *= -MAX_PLANNED_PROBABILITY
        return _with_rate(sizes, prices, np.negative(np.log1p(share, out=share), out=share))

    if pays_for_all(budget, each):
        return at(_with_rate(sizes, prices, size), prices, np.inf)
    design = planned(budget)
    if not design.nested:
        return design
    design = planned(max(budget - design.reserve(prices), 0.5 * budget))
    return at(design, prices, planned_threshold(design, prices, budget))


def _with_rate(sizes: DocumentSizes, prices: Costs, rates: np.ndarray) -> DocumentDesign:
    """The design at ``T = 1`` with the rates of the documents in `DocumentSizes.order`, float64[n]."""
    rate = np.zeros(len(sizes.size))
    rate[sizes.order] = rates
    nothing = np.zeros(prices.queries), np.zeros(len(rate))
    return at(DocumentDesign("successive", sizes.order, *nothing, unit=sizes.unit, rate=rate), prices, 1.0)


def at(design: DocumentDesign, prices: Costs, threshold: float) -> DocumentDesign:
    """The design with the probabilities of the units to come before a threshold."""
    chance, opening, query = inclusion(design, threshold), np.zeros(prices.queries), prices.query(design.order)
    if design.unit == "query":
        opening[query] = chance[design.order]
        return replace(design, opening=opening, inclusion=(_rate(design) > 0).astype(np.float64))
    opening[query] = 1.0
    return replace(design, opening=opening, inclusion=chance)


def inclusion(design: DocumentDesign, threshold: float) -> np.ndarray:
    """``π = 1 − exp(−r T)``, float64[N]; 0 for documents that are never judged."""
    rate = _rate(design)
    with np.errstate(invalid="ignore"):
        return np.where(rate > 0, -np.expm1(-rate * threshold), 0.0)


def _rate(design: DocumentDesign) -> np.ndarray:
    if design.rate is None:
        raise ValueError("the documents were not drawn one after the other, so they have no rates")
    return design.rate


def planned_threshold(design: DocumentDesign, prices: Costs, budget: float) -> float:
    """The threshold up to which units are expected to cost a budget, with the reserve of steps (`DocumentDesign`)."""
    from scipy import optimize

    price = prices.of(design.order)

    def excess(threshold: float) -> float:
        reserve = at(design, prices, threshold).reserve(prices) if design.nested else 0.0
        return float(price @ inclusion(design, threshold)[design.order]) + reserve - budget

    if pays_for_all(budget, price):
        return np.inf
    low = high = 1.0
    while excess(high) <= 0:
        high *= 2
    while excess(low) > 0:
        low /= 2
    return float(optimize.brentq(excess, low, high, xtol=_TOLERANCE * low, rtol=_TOLERANCE))


def priorities_of(design: DocumentDesign, prices: Costs, clock: np.ndarray) -> np.ndarray:
    """The priorities, smallest first: the least ``E/(r − r')`` of the steps down to a document and the deeper ones."""
    order, rate = design.order, _rate(design)
    priority = np.full(len(rate), np.inf)
    if design.unit != "step":
        priority[order] = clock[order] / rate[order]
        return priority
    query = prices.query(order)
    following = np.r_[np.where(query[1:] == query[:-1], rate[order][1:], 0.0), 0.0]
    own = rate[order] - following
    with np.errstate(divide="ignore"):
        alone = np.where(own > _ROUNDING * rate[order], clock[order] / own, np.inf)
    priority[order] = -largest_below(-alone, query)
    return priority


def largest_below(values: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The largest of the values of each document and those after it in its query, float64[n]."""
    distinct, rank = np.unique(values, return_inverse=True)
    # Offsets that fall from query to query keep the largest of one query apart from those of the next.
    offset = (query[-1] - query) * len(distinct)
    return np.asarray(distinct[np.maximum.accumulate((rank + offset)[::-1])[::-1] - offset])


@dataclass(frozen=True)
class Succession:
    """The order in which the documents of a design come, with what it costs to judge them up to each."""

    design: DocumentDesign  # A design with rates
    priority: np.ndarray  # float64[N], as `priorities_of` returns it
    prices: Costs
    last: float = np.inf  # The priority after which documents are left out of the order

    @cached_property
    def order(self) -> np.ndarray:
        """int64[n], the documents that can be drawn, in the order in which they come."""
        order = self.design.order
        order = order[self.priority[order] <= self.last] if self.last < np.inf else order
        return np.asarray(order[np.argsort(self.priority[order], kind="stable")])

    @cached_property
    def ends(self) -> np.ndarray:
        """int64[u], increasing: how many documents have come with each unit."""
        priority = self.priority[self.order]
        return np.asarray(np.flatnonzero(np.r_[priority[1:] > priority[:-1], True]) + 1)

    @cached_property
    def spent(self) -> np.ndarray:
        """float64[n], the cost of the documents up to each one in `order`."""
        order, first = self.order, np.zeros(len(self.order), dtype=bool)
        first[np.unique(self.prices.query(order), return_index=True)[1]] = True
        return np.asarray(np.cumsum(self.prices.cost[order] + self.prices.overhead * first))

    def threshold(self, documents: int) -> float:
        """T, the priority of the unit that comes after the first documents, one of `ends` or 0; infinite at the end."""
        order = self.order
        return float(self.priority[order[documents]]) if documents < len(order) else np.inf

    def within(self, budget: float) -> int:
        """The number of documents that come before the first unit that would overspend."""
        ends = self.ends
        return int(np.r_[0, ends][within_budget(self.spent[ends - 1], budget).sum()])

    def judged(self, has_label: np.ndarray) -> int:
        """The number of documents that come before the first unit that lacks a label, bool[N]."""
        missing = np.flatnonzero(~has_label[self.order])
        ends = np.r_[0, self.ends]
        return int(ends[np.searchsorted(ends, missing[0], side="right") - 1]) if len(missing) else int(ends[-1])

    def sample(self, threshold: float) -> TwoPhase:
        """The documents that come before a threshold."""
        design, drawn = at(self.design, self.prices, threshold), self.priority < threshold
        opened = self.prices.sums(np.flatnonzero(drawn)) > 0
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

        Raises:
            ValueError: If the budget does not pay for every single unit.
        """
        self._check(budget)
        if self.design.nested:
            order, fixed = self.design.order, planned_threshold(self.design, self.prices, budget)
            opened = np.minimum.reduceat(self.priority[order], np.flatnonzero(self.prices.firsts(order)))
            second = float(np.sort(opened)[1]) if len(opened) > 1 else np.inf
            sample = self.sample(max(fixed, second))
            if within_budget(np.array(sample.spent), budget):
                return sample
        begin = self._begin(budget)
        return begin.first(begin.within(budget))

    def _begin(self, budget: float) -> Succession:
        """The same without documents that come when the budget must be spent, of which there may be very many."""
        order = self.design.order
        most = 2 * budget / self.prices.cost[order].min() + 2
        if most >= len(order):
            return self
        return replace(self, last=float(np.partition(self.priority[order], int(most))[int(most)]))

    def _check(self, budget: float) -> None:
        """Raise if a unit costs more than the budget, because it could never be judged."""
        price, what = self.prices.cost[self.design.order], "document"
        if self.design.unit != "document":
            price, what = self.prices.overhead + self.prices.sums(self.design.order, price), "query"
        if not within_budget(price.max(), budget):
            raise ValueError(
                f"budget {budget:g} does not pay for the dearest {what}, which costs {price.max():g}, so it could "
                "never be judged and estimates would be biased; raise the budget, or cut the ranking depth"
            )


def succession_of(sample: TwoPhase, prices: Costs) -> Succession | None:
    """The order that a sample was drawn in; None if its documents did not come one after the other."""
    return None if sample.priority is None else Succession(sample.design, sample.priority, prices)
