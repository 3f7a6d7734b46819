"""Who judged how much, and when?"""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import JUDGED, checked_records, latest
from pt_active.plans.answers.basis import Basis
from pt_active.plans.making.manifest import Manifest
from pt_active.showing.rounding import share

_MAX_NAMED = 6
"""Judges that are named."""


@dataclass(frozen=True)
class Campaign:
    """The judging as a reader asks for it.

    Attributes:
        judged: The labels that are used.
        documents: All query–document pairs of the pool.
        queries: The queries with labels.
        all_queries: All queries of the pool; 0 if it is not known.
        level: What was drawn, ``query``, ``document`` or ``pair``.
        judges: Who judged; empty if the labels do not say.
        since: The day of the first judgment, as in ``2026-03-01``; empty if it is not known.
        until: The day of the last judgment.
        written: The day of the report.
        measure: The measure of the plan; empty if it does not matter here.
        counting: The query–document pairs that can change it; all of the pool if it is not known which do.
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
    def of(cls, basis: Basis, made: Manifest, counting: int, records: pd.DataFrame | None) -> Campaign:
        """The campaign behind a result."""
        counts = made.counts
        sizes = basis.n_judged, counts.documents, basis.n_queries, counts.queries, basis.level
        return replace(cls.counted(sizes, records), measure=made.arguments.measure, counting=counting)

    @classmethod
    def counted(cls, sizes: tuple[int, int, int, int, str], records: pd.DataFrame | None) -> Campaign:
        """The campaign of today with its first five fields."""
        return cls(*sizes, *_people(records), written=datetime.date.today().isoformat())

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self) | {"judges": list(self.judges)}

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


def _people(records: pd.DataFrame | None) -> tuple[tuple[str, ...], str, str]:
    """The names of the judges by the number of their labels, and the first and last day."""
    if records is None:
        return (), "", ""
    said = latest(checked_records(records))
    said = said[said["status"] == JUDGED]
    days = sorted(day[:10] for day in said["time"] if day)
    names = tuple(str(name) for name in said["annotator"].value_counts(sort=True).index)
    return names, days[0] if days else "", days[-1] if days else ""
