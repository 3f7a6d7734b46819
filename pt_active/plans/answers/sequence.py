"""How far are the units of a plan judged, in the order in which they come, and what do they say [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Draws, Units
from pt_active.plans.answers.blocks import Block, UnitSource, blocks_of, last_of
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.kept import PlanTables


@dataclass(frozen=True)
class Progress:
    """The units of a plan in the order in which they come, and how far they are judged.

    Attributes:
        unit: What a unit is: ``query``, ``document``, or ``step``.
        cost: float64[n], the cost of each draw, of those that the plan asks for and those that could follow.
        drawn: How many draws the plan asks for.
        complete: bool[n], which draws are judged and count.
        documents: int64[n], how many labels each draw takes.
        waiting: The first unit that is not judged, in words; None if the plan asks for no more.
        left_out: The number of labels of the plan that belong to units that are not fully judged, or do not count.
    """

    unit: str
    cost: np.ndarray
    drawn: int
    complete: np.ndarray
    documents: np.ndarray
    waiting: str | None
    left_out: int

    @cached_property
    def reach(self) -> int:
        """The number of draws up to the last that is judged."""
        return last_of(self.complete)

    @property
    def judged(self) -> int:
        """The number of draws that are judged."""
        return int(self.complete.sum())

    @property
    def open(self) -> int:
        """The number of draws that are not judged although later ones are."""
        return self.reach - self.judged

    @cached_property
    def spent(self) -> np.ndarray:
        """float64[n+1], what the draws cost before the first and up to each if all are judged."""
        return np.r_[0.0, np.cumsum(self.cost)]

    @cached_property
    def paid(self) -> np.ndarray:
        """float64[n+1], what those that are judged cost before the first and up to each."""
        return np.r_[0.0, np.cumsum(np.where(self.complete, self.cost, 0.0))]


@dataclass(frozen=True)
class Proof:
    """What the judged units say of a contrast.

    Attributes:
        draws: All draws so far, also of blocks before the model was fitted again.
        units: The units of the last block, judged or not.
        begun: How many draws of the last block count.
        stakes: How the bets are spread.
    """

    draws: Draws
    units: Units
    begun: int
    stakes: Stakes


@dataclass(frozen=True)
class UnitSequence:
    """The units of a plan in the order in which they come, with the labels so far, int64[N]."""

    source: UnitSource
    label: np.ndarray
    bridged: bool

    def labelled(self, label: np.ndarray) -> UnitSequence:
        """The same order with more labels; what the labels so far said is not computed again."""
        return replace(self, label=label)

    @cached_property
    def _states(self) -> list[tuple[Block, np.ndarray, np.ndarray]]:
        """The blocks, and which draws of each are judged and count, bool[T].

        A block that is not fully judged is the last that counts, unless its units can be bounded without their labels:
        what a document adds to a cascade depends on those above it.
        """
        states, before = [], True
        for number, block in enumerate(self.source.blocks):
            judged = block.judged(self.source.has(number, self.label))
            counts = judged if self.bridged else np.logical_and.accumulate(judged)
            states.append((block, judged, counts & before))
            goes_on = self.bridged and not block.nested and not block.chosen_by_cost
            before = before and (bool(judged[: block.asked].all()) or goes_on)
        return states

    @cached_property
    def progress(self) -> Progress:
        """How far the units are judged."""
        label, wanted, used = self.label, self.source.wanted, np.zeros(len(self.label), dtype=bool)
        waiting = None
        for block, judged, counts in self._states:
            used[block.documents[np.repeat(counts, block.counts)]] = True
            if waiting is None and not judged[: block.asked].all():
                at = int(judged.argmin())
                first = block.documents[block.ends[at] - block.counts[at] :]
                waiting = self.source.named(first[label[first] < 0][0])
        # Of all blocks but the last, nothing is left to come.
        ends = [block.asked for block, *_ in self._states[:-1]] + [None]
        parts = [
            [each[:end] for each in (block.cost, counts, block.counts)]
            for (block, _, counts), end in zip(self._states, ends, strict=True)
        ]
        cost, complete, documents = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Progress(
            unit=self.source.unit,
            cost=cost,
            drawn=sum(block.asked for block, *_ in self._states),
            complete=complete,
            documents=documents,
            waiting=waiting,
            left_out=int((wanted & ~used & (label >= 0)).sum()),
        )

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged units say of a contrast."""
        last = max((number for number, each in enumerate(self._states) if each[2].any()), default=0)
        so_far: Draws | None = None
        for number, (block, judged, counts) in enumerate(self._states):
            units, contributions = self.source.units(contrast, number, self.label)
            reach = block.asked if number < last else last_of(counts)
            value, least, most = contributions(self.label)
            draws, whole = units.judged(value, reach, least, most), number < last or judged[: block.asked].all()
            if number + 1 < len(self._states) and whole and block.chosen_by_cost:
                draws = draws.without_next(units)
            if so_far is None:
                stakes = self.source.stakes(units, alpha)
            so_far = draws if so_far is None else so_far.then(draws)
            if not whole:
                break
        assert so_far is not None
        return Proof(so_far, units, reach, stakes)


def sequence_of(tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool = True) -> UnitSequence:
    """The order in which the units of a plan come, with the labels so far.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.
        measure: What is measured; in plans of documents it is the plan's own.
        bridged: Whether units count that come after one that is not fully judged.

    Raises:
        ValueError: If the plan has no successive order.
    """
    return UnitSequence(blocks_of(tables, measure), label, bridged)
