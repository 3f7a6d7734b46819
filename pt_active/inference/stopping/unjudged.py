"""What could draws have shown whose labels are not there, although later draws have theirs [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Unjudged:
    """How far the labels that are not there could move each draw, if some units are judged before others.

    The units that are not judged count as the model expects. A bet with all labels would have grown at least as it does
    with the worst that these units can show, so what is proved with the worst would be proved with the labels, whatever
    they are and whyever they are not there. All arrays are float64[n].
    """

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
        return replace(self, below=self.above, above=self.below, base_below=self.base_above, base_above=self.base_below)

    def first(self, n: int) -> Unjudged:
        """What could move the first n draws."""
        return Unjudged(*(column[:n] for column in vars(self).values()))

    def then(self, later: Unjudged) -> Unjudged:
        """These draws followed by later ones."""
        return Unjudged(*(np.r_[a, b] for a, b in zip(vars(self).values(), vars(later).values(), strict=True)))

    @property
    def judged(self) -> np.ndarray:
        """bool[n], the draws whose unit is judged."""
        return (self.below == self.base_below) & (self.above == self.base_above)

    def squares(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest square that the error of each draw could have, float64[n] each.

        Shapes: error float64[n].
        """
        low, high = error - (self.below - self.base_below), error + (self.above - self.base_above)
        ends = low**2, high**2
        return np.where((low < 0) & (high > 0), 0.0, np.minimum(*ends)), np.maximum(*ends)

    def variance(self, weight: np.ndarray) -> float:
        """The variance that the model expects of ``Σ weight · Z`` because of these labels.

        Shapes: weight float64[n].
        """
        return float((np.cumsum(weight[::-1])[::-1] ** 2 * self.later).sum())
