"""Areas under curves over a predictor's ``P(y ≥ rel)``: they are estimated from any labels, but not drawn for."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pt_active.losses import PairMeasure, check_rel
from pt_active.rounds.statistics import Statistic, area_under_roc, average_precision


@dataclass(frozen=True)
class Area(PairMeasure):
    """What the areas share.

    Args:
        rel: The lowest grade that counts as relevant, at least 1.

    Attributes:
        needs: What must be among the labels, in words.

    Raises:
        ValueError: If ``rel`` is out of range.
    """

    rel: int = 1
    needs: ClassVar[str]

    def __post_init__(self) -> None:
        check_rel(self.rel)

    @abstractmethod
    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """The area as a function of the labels' weights.

        Args:
            score: float64[N], ``P(y ≥ rel)`` by the predictor.
            relevant: float64[N] in [0, 1], whether the label is relevant.
        """

    def grades_allowed(self, max_grade: int) -> int:
        """The highest grade.

        Raises:
            ValueError: If no grade counts as relevant.
        """
        check_rel(self.rel, max_grade)
        return max_grade

    def _shown(self) -> dict[str, object]:
        return ({} if self.rel == 1 else {"rel": self.rel}) | super()._shown()


@dataclass(frozen=True)
class AUC(Area):
    """The area under the ROC curve [AI]; see `statistics.area_under_roc`."""

    needs: ClassVar[str] = "labels of both classes"

    @property
    def name(self) -> str:
        """``AUC``."""
        return "AUC"

    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """See `Area.statistic`."""
        return area_under_roc(score, relevant)


@dataclass(frozen=True)
class AP(Area):
    """Average precision over all pairs, the area under the curve of precision over recall [AI].

    See `statistics.average_precision`. The mean over queries of each query's own is the measure ``AP`` of rankings.
    """

    needs: ClassVar[str] = "a relevant pair"

    @property
    def name(self) -> str:
        """``AP``."""
        return "AP"

    def statistic(self, score: np.ndarray, relevant: np.ndarray) -> Statistic:
        """See `Area.statistic`."""
        return average_precision(score, relevant)
