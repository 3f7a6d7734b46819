"""Who judged how much, and when?"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import JUDGED, checked_records, latest
from pt_active.plans.answers.basis import Basis
from pt_active.showing.rounding import share

_MAX_NAMED = 6
"""Judges that are named."""


@dataclass(frozen=True)
class WhoJudged:
    """The judging as a reader asks for it.

    ``level`` is what was drawn, days are like ``2026-03-01``, ``counting`` pairs can change the ``measure``, and what
    is not known is empty or 0.
    """

    judged: int
    documents: int
    queries: int
    all_queries: int
    level: str
    judges: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    written: str = ""
    measure: str = ""
    counting: int = 0

    @classmethod
    def of(
        cls,
        basis: Basis,
        records: pd.DataFrame | None,
        documents: int,
        all_queries: int = 0,
        measure: str = "",
        counting: int = 0,
    ) -> WhoJudged:
        """The campaign of today behind a result."""
        names: tuple[str, ...] = ()
        days = [""]
        if records is not None:
            said = latest(checked_records(records))
            said = said[said["status"] == JUDGED]
            days = sorted(day[:10] for day in said["time"] if day) or days
            names = tuple(str(name) for name in said["annotator"].value_counts(sort=True).index)
        sizes = basis.n_judged, documents, basis.n_queries, all_queries, basis.level
        today = datetime.date.today().isoformat()
        return cls(*sizes, names, days[0], days[-1], today, measure, counting)

    @property
    def extent(self) -> str:
        """How much was judged of how much."""
        part = f"{self.judged:,} of {self.documents:,} query–document pairs ({share(self.judged, self.documents)})"
        if self.judged <= self.counting < self.documents:
            count = f"the {self.counting:,} query–document pairs that count for {self.measure}"
            part = f"{self.judged:,} of {count} ({share(self.judged, self.counting)})"
        if not self.all_queries:
            return part
        if self.queries == self.all_queries:
            return f"{part}, in all {how_many('query', self.all_queries)}"
        return f"{part}, in {self.queries:,} of {self.all_queries:,} queries"

    @property
    def scope(self) -> str:
        """Which queries a result is about."""
        return f"these {how_many('query', self.all_queries)}, not for others" if self.all_queries else "these queries"

    @property
    def people(self) -> str:
        """Who judged."""
        if not self.judges:
            return "not recorded in the labels"
        more = len(self.judges) - _MAX_NAMED
        named = ", ".join(self.judges[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{how_many('judge', len(self.judges))}: {named}"

    @property
    def days(self) -> str:
        """When it was judged, and when the report was written."""
        judged = "day not recorded in the labels"
        if self.since:
            judged = self.since if self.since == self.until else f"{self.since} to {self.until}"
        return f"{judged}; report of {self.written}" if self.written else judged
