"""The order in which documents come one after the other, and the probability of each [theory 4, 14]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.sampling.chances import at_most_one, clipping_factor, left_for_documents, opened, within_budget
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.sampling.draws import pays_for_all
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes, Sample, TwoPhase

MAX_PLANNED_PROBABILITY = 0.95
"""No document is more probable than this at the planned budget, because a certain one would need an infinite rate."""

_TOLERANCE = 1e-13  # A threshold is known to this, and to this share of it


def succession_design(sizes: DocumentSizes, prices: Costs, budget: float) -> DocumentDesign:
    """Rates, and the probabilities that they are expected to lead to within a budget.

    Documents come in the order of ``E/r``, E exponential, so by the time T with probability ``1 − exp(−r T)``. The
    rates ``r = −log(1 − ψ)`` make each as probable at ``T = 1`` as it should be at the planned budget,
    ``ψ = min(c, τ size)`` with `MAX_PLANNED_PROBABILITY` c. Rates ∝ size would waste judgments on large sizes at large
    budgets. If the budget pays for everything, all is certain and the rates are the sizes.

    Raises:
        ValueError: If the budget is not a positive number.
    """
    size, cost, query = sizes.size[sizes.order], prices.cost[sizes.order], prices.query(sizes.order)
    if pays_for_all(budget, prices.of(sizes.order)):
        return at(_with_rate(sizes, prices, size), np.inf)

    def chance(spend: float) -> np.ndarray:
        factor = clipping_factor(size, cost, spend / MAX_PLANNED_PROBABILITY)
        return MAX_PLANNED_PROBABILITY * at_most_one(factor * size)

    planned = chance(left_for_documents(budget, prices.overhead, SUCCESSIVE, query, chance))
    return at(_with_rate(sizes, prices, -np.log1p(-planned)), 1.0)


def _with_rate(sizes: DocumentSizes, prices: Costs, rates: np.ndarray) -> DocumentDesign:
    """A design with the rates of the documents in `DocumentSizes.order`, float64[n]."""
    opening, rate = np.zeros(prices.queries), np.zeros(len(sizes.size))
    opening[prices.query(sizes.order)] = 1.0
    rate[sizes.order] = rates
    return DocumentDesign(SUCCESSIVE, sizes.order, opening, np.zeros(len(rate)), rate=rate)


def at(design: DocumentDesign, threshold: float) -> DocumentDesign:
    """The design with the probabilities of the documents to come before a threshold."""
    return replace(design, inclusion=inclusion(design, threshold))


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
    """The threshold up to which documents are expected to cost a budget."""
    from scipy import optimize

    cost, query = prices.cost[design.order], prices.query(design.order)

    def excess(threshold: float) -> float:
        chance = inclusion(design, threshold)[design.order]
        openings = prices.overhead * opened(SUCCESSIVE, query, chance).sum() if prices.overhead else 0.0
        return float(cost @ chance + openings) - budget

    if pays_for_all(budget, prices.of(design.order)):
        return np.inf
    low = high = 1.0
    while excess(high) <= 0:
        high *= 2
    while excess(low) > 0:
        low /= 2
    return float(optimize.brentq(excess, low, high, xtol=_TOLERANCE * low, rtol=_TOLERANCE))


def priorities_of(design: DocumentDesign, clock: np.ndarray) -> np.ndarray:
    """The priorities ``E/r``, float64[N], smallest first; infinite for documents that are never judged."""
    order, rate = design.order, _rate(design)
    priority = np.full(len(rate), np.inf)
    priority[order] = clock[order] / rate[order]
    return priority


def check_dearest(design: DocumentDesign, prices: Costs, budget: float) -> None:
    """Raise if a document costs more than the budget, because it could never be judged."""
    dearest = prices.overhead + float(prices.cost[design.order].max())
    if not within_budget(np.array(dearest), budget):
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest document, which costs {dearest:g}, so it could never be "
            "judged and estimates would be biased; raise the budget, or cut the ranking depth"
        )


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
    def spent(self) -> np.ndarray:
        """float64[n], the cost of the documents up to each one in `order`."""
        return self.prices.spent_in(self.order)

    def threshold(self, documents: int) -> float:
        """T, the priority of the document that comes after the first ones; infinite at the end."""
        order = self.order
        return float(self.priority[order[documents]]) if documents < len(order) else np.inf

    def within(self, budget: float) -> int:
        """The number of documents that come before the first that would overspend."""
        return int(within_budget(self.spent, budget).sum())

    def judged(self, has_label: np.ndarray) -> int:
        """The number of documents that come before the first that lacks a label, bool[N]."""
        return int(np.logical_and.accumulate(has_label[self.order]).sum())

    def sample(self, threshold: float) -> TwoPhase:
        """The documents that come before a threshold."""
        design, drawn = at(self.design, threshold), self.priority < threshold
        count = int(drawn.sum())
        spent = float(self.spent[count - 1]) if count else 0.0
        return TwoPhase(design, Sample.once(design.opening), drawn, spent, self.priority)

    def first(self, documents: int) -> TwoPhase:
        """The first documents, as if the budget had ended there."""
        return self.sample(self.threshold(documents))

    def drawn_to(self, budget: float) -> TwoPhase:
        """Documents in the order in which they come, until the next would overspend.

        That one is left out with all after it, and its priority is the threshold T. What the first documents cost, with
        the queries that they open, does not depend on their order. So given the others, each document came before T
        with probability ``1 − exp(−r T)``, independently of each other [theory 4].

        Raises:
            ValueError: If the budget does not pay for every single document.
        """
        check_dearest(self.design, self.prices, budget)
        begin = self._begin(budget)
        return begin.first(begin.within(budget))

    def _begin(self, budget: float) -> Succession:
        """The same without documents that come when the budget must be spent, of which there may be very many."""
        order = self.design.order
        most = 2 * budget / self.prices.cost[order].min() + 2
        if most >= len(order):
            return self
        return replace(self, last=float(np.partition(self.priority[order], int(most))[int(most)]))


def succession_of(sample: TwoPhase, prices: Costs) -> Succession | None:
    """The order that a sample was drawn in; None if its documents did not come one after the other."""
    return None if sample.priority is None else Succession(sample.design, sample.priority, prices)
