"""The order in which documents come one after the other, and the probability of each [theory 4, 14]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.sampling.chances import EXPONENTIAL, UNIFORM, Law, within_budget
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.sampling.sample import Costs, DocumentDesign, TwoPhase


def _law(design: DocumentDesign) -> Law:
    return EXPONENTIAL if design.drawing == SUCCESSIVE else UNIFORM


def at(design: DocumentDesign, threshold: float) -> DocumentDesign:
    """The design with the probabilities of documents to come before a threshold T.

    They are ``1 − exp(−r T)`` in a successive drawing, and ``min(1, r T)`` in one by surprises.
    """
    rate = _rate(design)
    with np.errstate(invalid="ignore"):
        return replace(design, inclusion=np.where(rate > 0, _law(design).inclusion(rate * threshold), 0.0))


def _rate(design: DocumentDesign) -> np.ndarray:
    """The rates, float64[N]; 0 for documents that are never judged."""
    assert design.rate is not None, "documents that come one after the other have rates"
    return design.rate


def planned_threshold(design: DocumentDesign, prices: Costs, budget: float) -> float:
    """The threshold up to which documents are expected to cost a budget."""
    order = design.order
    rate, query = _rate(design)[order], prices.query(order)
    return _law(design).threshold(rate, prices.cost[order], budget, prices.overhead, design.drawing, query)


def priorities_of(design: DocumentDesign, clock: np.ndarray) -> np.ndarray:
    """The priorities, float64[N], smallest first; infinite for documents that are never judged.

    From exponential clocks E they are ``E/r`` in a successive drawing, and ``U/r`` with ``U = 1 − exp(−E)`` in one by
    surprises.
    """
    order, rate = design.order, _rate(design)
    priority = np.full(len(rate), np.inf)
    own = clock if design.drawing == SUCCESSIVE else EXPONENTIAL.inclusion(clock)
    priority[order] = own[order] / rate[order]
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

    @cached_property
    def order(self) -> np.ndarray:
        """int64[n], the documents that can be drawn, in the order in which they come."""
        order = self.design.order
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

    def first(self, documents: int) -> TwoPhase:
        """The first documents, as if the budget had ended there."""
        threshold = self.threshold(documents)
        design, drawn = at(self.design, threshold), self.priority < threshold
        count = int(drawn.sum())
        spent = float(self.spent[count - 1]) if count else 0.0
        return TwoPhase(design, design.opening, drawn, spent, self.priority)

    def parts(self, budget: float, number: int) -> list[TwoPhase]:
        """What equal shares of a budget pay for: one of them, two, and so on up to all."""
        limit = min(budget, float(self.spent[-1]))
        return [self.first(self.within(limit * part / number)) for part in range(1, number + 1)]

    def drawn_to(self, budget: float) -> TwoPhase:
        """Documents in the order in which they come, until the next would overspend.

        That one is left out with all after it, and its priority is the threshold T. What the first documents cost, with
        the queries that they open, does not depend on their order. So given the others, each document came before T
        with the probability of `at`, independently of each other [theory 4].

        Raises:
            ValueError: If the budget does not pay for every single document.
        """
        check_dearest(self.design, self.prices, budget)
        return self.first(self.within(budget))


def succession_of(sample: TwoPhase, prices: Costs) -> Succession | None:
    """The order that a sample was drawn in; None if its documents did not come one after the other."""
    if sample.design.nested or sample.priority is None:
        return None
    return Succession(sample.design, sample.priority, prices)
