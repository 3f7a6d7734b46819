"""What did draws not show: units left out because of their cost, and labels that are not there [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

AlignedT = TypeVar("AlignedT", bound="Aligned")


class Aligned:
    """Arrays of equal length, the fields of a dataclass."""

    def part(self: AlignedT, which: slice | np.ndarray) -> AlignedT:
        """Some of the rows."""
        return type(self)(*(column[which] for column in vars(self).values()))

    def then(self: AlignedT, later: AlignedT) -> AlignedT:
        """These rows followed by later ones."""
        return type(self)(*(np.r_[a, b] for a, b in zip(vars(self).values(), vars(later).values(), strict=True)))


@dataclass(frozen=True)
class LeftOut(Aligned):
    """Units left out for their cost: bets on them count with the worst that each could have shown, float64[c]."""

    before: np.ndarray  # int64[c], how many draws came before, increasing
    low: np.ndarray  # The smallest Z that the unit could have shown
    high: np.ndarray  # The largest
    worst: np.ndarray  # The smallest Z that any unit could have shown
    best: np.ndarray  # The largest
    expected: np.ndarray  # The variance that the model expected of Z

    @classmethod
    def none(cls) -> LeftOut:
        """No unit was left out."""
        return cls(np.zeros(0, dtype=np.int64), *np.zeros((5, 0)))

    @property
    def mirrored(self) -> LeftOut:
        """The units in the draws of −R."""
        return replace(self, low=-self.high, high=-self.low, worst=-self.best, best=-self.worst)

    def of_bets(self, trust: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``before``, and the smallest Z of the unit and of any unit, and the variance foreseen, float64[3, c]."""
        return self.before, np.stack([self.low, self.worst, self.expected * trust[self.before]])


@dataclass(frozen=True)
class Unjudged(Aligned):
    """How far the labels that are not there could move each draw at the worst, float64[n]; else as is expected."""

    below: np.ndarray  # How far each Z could lie below its value
    above: np.ndarray  # How far it could lie above
    base_below: np.ndarray  # How far the estimate before each draw could lie below its value
    base_above: np.ndarray  # How far it could lie above
    later: np.ndarray  # The variance that the model expects of all later Z because of what the draw makes known

    @classmethod
    def none(cls, draws: int) -> Unjudged:
        """Nothing is lacking."""
        return cls(*np.zeros((5, draws)))

    @property
    def mirrored(self) -> Unjudged:
        """What could move the draws of −R."""
        return Unjudged(self.above, self.below, self.base_above, self.base_below, self.later)

    @property
    def judged(self) -> np.ndarray:
        """bool[n], the draws whose unit is judged."""
        return (self.below == self.base_below) & (self.above == self.base_above)

    def squares(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest square that the error of each draw could have, float64[n] each."""
        low, high = error - (self.below - self.base_below), error + (self.above - self.base_above)
        ends = low**2, high**2
        return np.where((low < 0) & (high > 0), 0.0, np.minimum(*ends)), np.maximum(*ends)

    def variance(self, weight: np.ndarray) -> float:
        """The variance that the model expects of ``Σ weight · Z`` because of these labels."""
        return float((np.cumsum(weight[::-1])[::-1] ** 2 * self.later).sum())
