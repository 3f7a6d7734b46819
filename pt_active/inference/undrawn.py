"""What do documents mean for an estimate that a plan does not keep, because nothing of their queries was drawn?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pt_active.inference.documents import Line


@dataclass(frozen=True)
class Undrawn:
    """Sums over documents that are not kept, for one contrast of an additive measure."""

    weight: np.ndarray  # float64[parts], ``Σ p D`` over the documents of each part that could be drawn
    mean: np.ndarray  # float64[parts], ``Σ p D μ``
    square: np.ndarray  # float64[parts], ``Σ p D²``
    settled: float  # ``Σ p D μ`` over the documents that could never be drawn
    cautious: float  # The variance that the grade model expects of the whole population (`documents.cautious_variance`)

    def value(self, estimator: str, lines: Mapping[int, Line]) -> float:
        """What the documents add to an estimate."""
        if estimator == "ht":
            return self.settled
        total = self.settled + float(self.mean.sum())
        if estimator == "regression":
            total += sum(self._corrected(part, line) for part, line in lines.items())
        return total

    def _corrected(self, part: int, line: Line) -> float:
        sides = np.array([self.mean[part], self.square[part]]) - line.centre * self.weight[part]
        return float(line.shift * self.weight[part] + sides @ line.slope)
