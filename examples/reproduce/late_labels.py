"""Shared by `hostile`: documents that come one after the other, whose labels come late, or are changed afterwards.

All labels that count in the end are those of a population in which neither ranker is better. A judge who favours the
ranker ``a`` grades documents that it ranks higher up to `GENEROUS` grades too high; a drifting one grades too high at
first, and ever more strictly. Two judges who differ make the lower grade of both, so that a strict second judge puts
right what the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sequences import reordered

from pt_active import Plan
from pt_active.frames.qrels import whole_labels
from pt_active.inference.stopping.bets import excluded
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.answers.sequence import UnitSequence, sequence_of

LATE = 50
"""Documents that are judged between the first label of a document and its second."""

GENEROUS = 2
"""Grades that a judge who favours a ranker, or drifts, adds at most."""

FOUND_OUT = 0.25
"""The share of the documents that are judged when a judge is found out and all labels so far are given anew."""


@dataclass(frozen=True)
class Campaign:
    """Documents in one order, and what is said about them.

    Attributes:
        sequence: The order, without labels.
        place: int64[N], when each document comes, from 0; beyond all others for those that never come.
        label: int64[N], the labels that count in the end.
        favours: bool[N], whether a relevant document speaks for the ranker ``a``.
        highest: The highest grade.
        rng: Source of what a judge does by chance.
    """

    sequence: UnitSequence
    place: np.ndarray
    label: np.ndarray
    favours: np.ndarray
    highest: int
    rng: np.random.Generator

    @property
    def size(self) -> int:
        """How many documents come."""
        return len(self.sequence.order)

    def raised(self, some: np.ndarray) -> np.ndarray:
        """int64[N], the labels of a judge who grades some documents too high."""
        return np.where(some, np.minimum(self.label + GENEROUS, self.highest), self.label)

    def partial(self) -> np.ndarray:
        """int64[N], the labels of a judge who favours the ranker ``a``."""
        return self.raised(self.favours)

    def drifting(self) -> np.ndarray:
        """int64[N], the labels of a judge who becomes ever more strict."""
        return self.raised(self.rng.random(len(self.label)) > self.place / self.size)

    def twice(self, share: float) -> np.ndarray:
        """bool[N], documents that two people judge."""
        return self.rng.random(len(self.label)) < share

    def winner(self, label: np.ndarray, alpha: float) -> bool:
        """Whether a look at these labels, -1 where there is none, names a winner."""
        tables = self.sequence.tables
        proof = sequence_of(tables, label, tables.measure).proof(Contrast(0, 1), alpha)
        return any(excluded(side, proof.stakes, 0.0, alpha / 2) >= 0 for side in (proof.draws, proof.draws.mirrored))


def campaigns(plan: Plan, qrels: pd.DataFrame, repetitions: int, seed: int) -> Iterator[Campaign]:
    """The documents of a plan in many random orders."""
    tables, rng = plan.tables, np.random.default_rng([seed, 2])
    pool, label = tables.pool, whole_labels(tables.pool.keys, qrels)
    ranks = np.where(pool.ranks > 0, pool.ranks, np.iinfo(np.int32).max)
    for _ in range(repetitions):
        again = reordered(tables, rng)
        sequence = sequence_of(again, np.full(len(label), -1), tables.measure)
        place = np.full(len(label), len(label))
        order = sequence.order
        place[order] = np.arange(len(order))
        yield Campaign(sequence, place, label, ranks[0] < ranks[1], pool.max_grade, rng)


Labels = Iterator[tuple[str, np.ndarray]]
"""How labels count, and int64[N], the labels at a look; -1 where there is none."""


def second_labels(
    campaign: Campaign, every: int, first: np.ndarray, share: float, withheld: np.ndarray | None = None
) -> Labels:
    """Looks while second labels are due: the documents are open, or their first label counts.

    Args:
        campaign: The documents.
        every: The number of documents from one look to the next.
        first: int64[N], the labels of the first judge, where a second one follows.
        share: The share of documents that two people judge.
        withheld: bool[N], documents whose second label comes last of all; none if left out.
    """
    twice, place, last = campaign.twice(share), campaign.place, campaign.size + LATE
    due = np.where(twice, place + LATE, place)
    if withheld is not None:
        due[twice & withheld] = last - 1
    for look in [*range(every, last, every), last]:
        came, settled = place < min(look, campaign.size), due < look
        yield "open", np.where(came & settled, campaign.label, -1)
        yield "at its first label", np.where(came, np.where(settled, campaign.label, first), -1)


def found_out(campaign: Campaign, every: int, first: np.ndarray) -> Labels:
    """Looks before a judge is found out, and after all that was judged by then was judged again."""
    found = int(FOUND_OUT * campaign.size)
    for look in [*range(every, campaign.size, every), campaign.size]:
        label = first if look <= found else campaign.label
        yield "before the change" if look <= found else "after it", np.where(campaign.place < look, label, -1)


def pushed(campaign: Campaign, every: int) -> Labels:
    """Looks after each of which a tenth of the new labels are changed so that they speak for the ranker ``a``."""
    chosen = campaign.raised(campaign.favours & campaign.twice(0.1))
    for look in [*range(every, campaign.size, every), campaign.size]:
        label = np.where(campaign.place < look - every, chosen, campaign.label)
        yield "after it", np.where(campaign.place < look, label, -1)


CASES: dict[str, Callable[[Campaign, int], Labels]] = {
    "all twice, the first judge is partial": lambda c, n: second_labels(c, n, c.partial(), 1.0),
    "30 % twice, the first judge is partial": lambda c, n: second_labels(c, n, c.partial(), 0.3),
    "all twice, the first judge drifts": lambda c, n: second_labels(c, n, c.drifting(), 1.0),
    "30 % twice, and the second judge keeps back what would correct the first": lambda c, n: second_labels(
        c, n, c.partial(), 0.3, c.favours
    ),
    "30 % twice, and the second judge keeps back what speaks against `a`": lambda c, n: second_labels(
        c, n, c.partial(), 0.3, ~c.favours
    ),
    "a partial judge is found out": lambda c, n: found_out(c, n, c.partial()),
    "a drifting judge is found out": lambda c, n: found_out(c, n, c.drifting()),
    "labels are changed so that they speak for `a`": pushed,
}
"""What happens → the labels at each look."""


def named(campaign: Campaign, looks: Callable[[Campaign, int], Labels], every: int, alpha: float) -> dict[str, bool]:
    """For each way in which labels count, whether a winner is named at any look."""
    found: dict[str, bool] = {}
    for kind, label in looks(campaign, every):
        found[kind] = found.get(kind, False) or campaign.winner(label, alpha)
    return found
