"""A plan's sample as far as it is judged, and as far as it could be: what `pt_active.status` looks at."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import ir_measures.measures as irm
import numpy as np

from pt_active.sequential import Looks

_STEPS = 50
"""Looks to come that are followed, at most."""

ESTIMATOR = "regression"
"""The estimator of both levels."""


@dataclass(frozen=True)
class Question:
    """What a status is asked for.

    Attributes:
        pair: Indices of the two rankers, or of the only one.
        measure: As `parse_measure` returns it.
        looks: One of `sequential.LOOKS`, or None.
        margin: See `Plan.status`.
        confidence: See there.

    Raises:
        ValueError: If the level or the margin is out of range, or there is one ranker and no margin.
    """

    pair: tuple[int, ...]
    measure: irm.Measure
    looks: str | None
    margin: float | None
    confidence: float

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence}")
        if self.margin is not None and not (np.isfinite(self.margin) and self.margin > 0):
            raise ValueError(f"margin must be a positive number, got {self.margin}")
        if len(self.pair) == 1 and self.margin is None:
            raise ValueError("the plan has one ranker: say margin=, how far off its estimate may be")

    @property
    def compared(self) -> bool:
        """Whether two rankers are compared, rather than one estimated."""
        return len(self.pair) > 1

    def contrast(self, values: np.ndarray) -> np.ndarray:
        """float64[m], of float64[m, k]: first minus second, or the only one."""
        first, *others = self.pair
        return np.asarray(values[:, first] - (values[:, others[0]] if others else 0.0))


@dataclass(frozen=True)
class Growth:
    """A sample as far as it is judged, and as far as it could be.

    Attributes:
        past: The looks that have passed.
        plan: The looks to come within the plan.
        rest: Further budgets, up to the whole pool.
        counts: The fields of `Status` that count.
    """

    past: Looks
    plan: Looks
    rest: Looks
    counts: dict[str, Any]


def to_come(cost: np.ndarray, time: np.ndarray, critical: np.ndarray) -> Looks:
    """Looks of which only the cost and the information are known, thinned out.

    Args:
        cost: float64[L].
        time: float64[L].
        critical: float64[L].
    """
    some = np.unique(np.linspace(0, len(cost) - 1, min(_STEPS, len(cost))).astype(np.int64))
    unknown = np.full(len(some), np.nan)
    return Looks(cost[some], time[some], unknown, unknown, unknown, critical[some])


def foreign_labels(which: np.ndarray, what: str) -> None:
    """Warn of labels that do not belong to the sample.

    Args:
        which: bool[N], documents with such a label.
        what: What is sampled.
    """
    if which.any():
        warnings.warn(
            f"{int(which.sum())} labels of {what} that were not sampled are ignored: hand-picked judgments are not "
            "part of the sample",
            stacklevel=6,
        )
