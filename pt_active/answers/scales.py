"""On which scale are answers scored, and which label stands for a score?"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.frames.checks import shown, unfit
from pt_active.frames.qrels import HIGHEST_LABEL
from pt_active.relevance.measures import SCORE, scores

_WRITTEN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|to|…|\.\.)\s*(-?\d+(?:\.\d+)?)(?:\s*:\s*(\d*\.?\d+))?\s*")


@dataclass(frozen=True)
class ScoreScale:
    """The scores that people can give.

    On a scale of whole scores from 0 or 1 a label is the score. On any other, labels count the scores from 0.
    """

    low: float
    high: float
    step: float = 1.0

    @classmethod
    def parsed(cls, text: str) -> ScoreScale:
        """The scale that is written as ``0-1``, ``1-5`` or ``0-1:0.25`` (in steps)."""
        found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise ValueError(f"a scale is written as 0-1, 1-5 or 0-1:0.25 (in steps); got {shown(text)}")
        low, high, step = float(found[1]), float(found[2]), float(found[3] or 1)
        number = (high - low) / step if step > 0 else 0.0
        if not (0.5 < number <= HIGHEST_LABEL and abs(number - round(number)) < 1e-6):
            raise ValueError(f"scale {text}: expected 2 to {HIGHEST_LABEL + 1} scores from the lowest to the highest")
        return cls(low, high, step)

    @property
    def first(self) -> int:
        """The label of the lowest score."""
        return 1 if self.low == 1 and self.step == 1 else 0

    @property
    def max_grade(self) -> int:
        """The label of the highest score."""
        return self.first + round((self.high - self.low) / self.step)

    @property
    def scores(self) -> np.ndarray:
        """float64[G+1], the score of each label."""
        return scores(self.low, self.step, self.max_grade)

    def measure(self, runs: int = 1) -> str:
        """The measure whose value is the mean score of a number of answers of each system to an item."""
        low, step = (int(each) if float(each).is_integer() else each for each in (self.low, self.step))
        return str(SCORE(low=low, step=step) @ runs)

    def names(self) -> str:
        """The words for labels that are not the scores themselves, as ``--grade-names`` takes them; may be empty."""
        own = self.scores
        if np.array_equal(own[self.first :], np.arange(self.first, self.max_grade + 1)):
            return ""
        return ",".join(f"score {score:g}" for score in own)

    def labels(self, values: pd.Series) -> np.ndarray:
        """int64[N], the labels of people's scores; raises a ValueError if one is not on the scale."""
        place = (self._checked(values) - self.low) / self.step
        off = np.abs(place - np.round(place)) > 1e-6
        if off.any():
            raise ValueError(f"a person's score must be one of {self}; got {shown(values[off].iloc[0])}")
        return np.asarray(self.first + np.round(place), dtype=np.int64)

    def shares(self, values: pd.Series) -> np.ndarray:
        """float64[N, G+1], the share of each label in a judge's scores: between two, both count by their nearness."""
        place = (self._checked(values) - self.low) / self.step + self.first
        return np.asarray(np.maximum(1 - np.abs(place[:, None] - np.arange(self.max_grade + 1)), 0.0))

    def _checked(self, values: pd.Series) -> np.ndarray:
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
        wrong = ~((numbers >= self.low - 1e-9) & (numbers <= self.high + 1e-9))
        if wrong.any():
            row, value = next(values[wrong].items())
            raise unfit(f"row {row}", f"a score from {self.low:g} to {self.high:g}", shown(value))
        return np.asarray(np.clip(numbers, self.low, self.high))

    def __str__(self) -> str:
        every = [f"{score:g}" for score in self.scores[self.first :]]
        return ", ".join(every if len(every) <= 6 else [*every[:3], "…", every[-1]])
