"""What is a forecast asked for, and what must be said beside its answer?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError, how_many, level, number, positive
from pt_active.inference.stopping.error_curve import ExpectedError
from pt_active.plans.answers.pilot import MIN_DOCUMENTS, SUFFICIENT_PILOT

ASSURANCE = 0.9
"""The probability that the standard error is below ``high``, for which budgets are found once there is a pilot; it is
above ``low`` with the same probability. A budget that fails after all costs another round, one in ten times."""


@dataclass(frozen=True)
class Aim:
    """The half-width of an interval, or the power to find a difference; a ValueError if that is out of range."""

    confidence: float
    power: float
    difference: float | None = None
    width: float | None = None

    def __post_init__(self) -> None:
        level("confidence", self.confidence)
        if not 1 - self.confidence < number("power", self.power) < 1:
            least = f"{1 - self.confidence:.2g} (the level of the test)"
            raise ArgumentError(Argument("power"), f" must lie between {least} and 1, got {self.power}")
        given = self.difference
        if given is not None and not (np.isfinite(number("difference", given)) and given != 0):
            raise ArgumentError(Argument("difference"), f" must be a number other than 0, got {given}")
        if self.width is not None:
            positive("width", self.width)

    def reached(self, expected: ExpectedError) -> bool:
        """Whether an error is small enough."""
        if self.width is not None:
            return expected.half_width(self.confidence) <= self.width
        return expected.power(self.difference or 0.0, self.confidence) >= self.power


def tiny_budgets(table: pd.DataFrame) -> list[str]:
    """What to say about the rows whose budget buys too little for an interval."""
    if "documents" not in table.columns:
        return []
    single = (table["level"] == "query") & (table["queries"] < 2)
    rows = table[(table["documents"] < MIN_DOCUMENTS) | single]
    if rows.empty:
        return []
    return [
        f"Some budgets buy fewer than {MIN_DOCUMENTS} documents or less than two queries, too few for an interval: "
        f"{_listed(rows)}."
    ]


def floor_notes(table: pd.DataFrame, pool: int) -> list[str]:
    """What to say about new queries: the error that no label removes, and where queries are needed and not labels."""
    if "floor" not in table.columns:
        return []
    more = table[table["topics"] > pool]
    if not more.empty:
        asked = ", ".join(dict.fromkeys(f"{row.topics:,} for {row.level} {row.design}" for row in more.itertuples()))
        return [f"Add queries, not only labels: the pool has {pool:,}, and this takes {asked}."]
    own = table[table["topics"] == pool]
    found = [
        f"Judging everything leaves an error of {own['floor'].iloc[0]:.4g}, the floor of {how_many('query', pool)}."
    ]
    bound = own[own["floor"] ** 2 > own["standard_error"] ** 2 / 2]
    least = bound.loc[bound.groupby(["level", "design"], sort=False)["budget"].idxmin()]
    if not least.empty:
        found.append(f"Add queries, not labels, where that is most of the error: from {_listed(least)} on.")
    return found if not own.empty else []


def remarks(table: pd.DataFrame, piloted: bool) -> list[str]:
    """What the columns of a table mean."""
    said = []
    if "labels_90" in table.columns:
        said.append("Judging stops at the verdict; 9 of 10 replays need no more than labels_90 labels.")
    elif (census := table[table["half_width"] == 0]).size:
        names = dict.fromkeys(f"{row.level} {row.design}" for row in census.itertuples())
        said.append(f"A half-width of 0 is a census, all that matters is judged: {', '.join(names)}.")
    if "low" in table.columns:
        narrower = "" if piloted else f"; a pilot of {SUFFICIENT_PILOT} queries narrows that down"
        said.append(f"The standard error lies between low and high in 8 of 10 cases{narrower}.")
    if "assurance" in table.columns:
        said.append(f"Each budget suffices in {10 * ASSURANCE:.0f} of 10 cases: it is for an error of high.")
    return said


def _listed(rows: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(f"{row.level} {row.design} at {row.budget:.4g}" for row in rows.itertuples()))
