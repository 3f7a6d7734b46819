"""What does a plan keep of queries that it does not keep?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pt_active.plans.making.artifact import Record


@dataclass(frozen=True)
class Beyond(Record):
    """What bets at any time know of the queries that a plan does not keep, for one contrast [theory 14].

    Attributes:
        first: Index of the first ranker.
        second: Index of the second; None for one ranker alone.
        rate: ``Σ q``.
        least_rate: The smallest q.
        mean: ``Σ m``, what the model expects of their contributions.
        low: The sum of their smallest possible contributions.
        high: The sum of the largest.
        worst: The smallest ``(low − m)/q``.
        best: The largest ``(high − m)/q``.
        variance: ``Σ v/q``.
        settled: What queries that can never come contribute for certain.
    """

    first: int
    second: int | None
    rate: float
    least_rate: float
    mean: float
    low: float
    high: float
    worst: float
    best: float
    variance: float
    settled: float


@dataclass(frozen=True)
class Rest(Record):
    """What a plan that was made from logs does not keep.

    Attributes:
        queries: The number of queries that were not drawn.
        documents: The number of their documents.
        stand_ins: How many rows of the plan's queries stand for them.
        units: The number of all queries that can come, drawn or not; 0 if nothing is kept for looks at any time.
        expected_draws: So many draws with replacement would tell as much as the plan (`chances.expected_size`).
        contrasts: What looks at any time need; of plans of one or two rankers.
    """

    PARTS: ClassVar[dict[str, type[Record]]] = {"contrasts": Beyond}

    queries: int
    documents: int
    stand_ins: int
    units: int = 0
    expected_draws: float = 0.0
    contrasts: tuple[Beyond, ...] = ()
