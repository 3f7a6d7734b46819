"""How far are units judged that come one after the other, and what do they say?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Draws, Units


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
        return int(np.flatnonzero(self.complete)[-1]) + 1 if self.complete.any() else 0

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


def counted(judged: np.ndarray, bridged: bool) -> np.ndarray:
    """bool[n], the draws that count: all that are judged, or those before the first that is not."""
    return judged if bridged else np.logical_and.accumulate(judged)
