"""What do bets lose on a unit that came next, but was left out because of its cost [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class LeftOut:
    """Units that came next, but were left out because of what they cost, after which the rest came in a new order.

    A bet on the draw had been made, and which units are left out may depend on what they contribute. So the bet counts
    with the worst that the unit could have shown. All arrays are float64[c] if nothing else is said.
    """

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

    def first(self, n: int) -> LeftOut:
        """Those before the first n draws."""
        return LeftOut(*(column[self.before < n] for column in vars(self).values()))

    def then(self, later: LeftOut, draws: int) -> LeftOut:
        """These followed by those of later draws, before which there were others."""
        shifted = replace(later, before=later.before + draws)
        return LeftOut(*(np.r_[a, b] for a, b in zip(vars(self).values(), vars(shifted).values(), strict=True)))

    def of_bets(self, trust: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``before``, and the smallest Z of the unit and of any unit, and the variance foreseen, float64[3, c]."""
        return self.before, np.stack([self.low, self.worst, self.expected * trust[self.before]])
