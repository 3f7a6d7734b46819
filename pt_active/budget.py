"""How far off an estimate will be at a budget, and which budget an error needs, before anything is drawn [theory 10].

Queries and documents are drawn alike: each unit comes with probability ``min(1, τ size)`` and brings the variance
``g (1/ψ − 1)``. After one sort, error and cost at any budget are read off cumulative sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ErrorCurve:
    """Variance over budget for units drawn without replacement, ``ψ = min(1, τ size)``.

    Attributes:
        size: float64[n], positive, falling.
        gain: float64[n], g; the variance of the estimate is ``Σ g (1/ψ − 1)``.
        cost: float64[n], λ.
        order: int64[n], the place of each unit before the sort.
    """

    size: np.ndarray
    gain: np.ndarray
    cost: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, size: np.ndarray, gain: np.ndarray, cost: np.ndarray) -> ErrorCurve:
        """Sort units that can be drawn; those of size 0 never are.

        Args:
            size: float64[n], not negative, in any unit.
            gain: float64[n].
            cost: float64[n].

        Raises:
            ValueError: If no unit can be drawn.
        """
        order = np.argsort(-size, kind="stable")[: np.count_nonzero(size > 0)]
        if len(order) == 0:
            raise ValueError("no unit can be drawn: every size is 0")
        return cls(size[order], gain[order], cost[order], order)

    @property
    def total(self) -> float:
        """What everything costs."""
        return float(self.cost.sum())

    def chance(self, budget: float) -> np.ndarray:
        """float64[n], ψ of each unit in the order of the curve, with ``Σ λ ψ = Λ``; 1 where the budget pays for all.

        Raises:
            ValueError: If the budget is not a positive number.
        """
        certain, factor = self._factor(budget)
        chance = np.ones(len(self.size))
        chance[certain:] = factor * self.size[certain:]
        return chance

    def variance(self, budget: float) -> float:
        """``Σ g (1/ψ − 1)`` at a budget; 0 where it pays for all.

        Raises:
            ValueError: If the budget is not a positive number.
        """
        certain, factor = self._factor(budget)
        if certain == len(self.size):
            return 0.0
        return float(max(self._inverse[certain] / factor - self._rest[certain], 0.0))

    @property
    def _inverse(self) -> np.ndarray:
        return _from_here(self.gain / self.size)

    @property
    def _rest(self) -> np.ndarray:
        return _from_here(self.gain)

    def _factor(self, budget: float) -> tuple[int, float]:
        raise NotImplementedError


def _from_here(numbers: np.ndarray) -> np.ndarray:
    return np.cumsum(numbers[::-1])[::-1]
