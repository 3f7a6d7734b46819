"""What does a plan keep of queries and documents that it does not keep?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pt_active.plans.making.artifact import Record


@dataclass(frozen=True)
class Beyond(Record):
    """What bets at any time know of units that a plan does not keep, for one contrast [theory 14].

    They are queries, or all documents that were not drawn; ``c`` is what one contributes, between ``low`` and ``high``.
    """

    first: int  # index of the first ranker
    second: int | None  # None for one ranker alone
    rate: float  # Σ q
    least_rate: float  # the smallest q
    mean: float  # Σ m, what the model expects of c
    low: float  # Σ low
    high: float  # Σ high
    worst: float  # the smallest (low − m)/q
    best: float  # the largest (high − m)/q
    variance: float  # Σ v/q
    settled: float  # what units that can never come contribute for certain


@dataclass(frozen=True)
class RestOfDocuments(Record):
    """What a plan of documents knows of its whole population, for one contrast of an additive measure [theory 9].

    The first three are sums over the documents that are not kept and could be drawn, for each part of the queries.
    """

    first: int
    second: int | None
    weight: Sequence[float]  # Σ p D
    mean: Sequence[float]  # Σ p D μ
    square: Sequence[float]  # Σ p D²
    settled: float  # Σ p D μ over documents that are not kept and could never be drawn
    cautious: float  # the variance that the grade model expects of the estimate (`documents.cautious_variance`)
    variance: float  # the model's variance of the contrast, of all documents
    unreached: float  # its part in documents that could never be drawn
    never: int  # how many documents could never be drawn that can change the contrast
    certain: bool  # whether every document that can change the contrast was certain to be drawn
    added: float  # the variance that bets add to that of each document
    beyond: Beyond | None = None  # of what was not drawn; None if all is kept that can be, or all was drawn at once


@dataclass(frozen=True)
class Rest(Record):
    """What a plan that was made from logs does not keep."""

    SOMETIMES: ClassVar[tuple[str, ...]] = ("sums", "seen", "useless", "cost", "further")

    queries: int  # that were not drawn
    documents: int  # of these queries
    stand_ins: int  # how many rows of the plan's queries stand for them
    units: int = 0  # queries that can come, drawn or not; 0 if nothing is kept for looks at any time
    expected_draws: float = 0.0  # so many draws with replacement tell as much (`chances.expected_size`)
    contrasts: tuple[Beyond, ...] = ()  # for looks at any time, in plans of queries of one or two rankers
    sums: tuple[RestOfDocuments, ...] = ()  # in plans of documents, for each ranker and each difference
    seen: int = 0  # documents of the whole population that the measure sees; in plans of documents
    useless: int = 0  # those of them that cannot change the result
    cost: float = 0.0  # of the documents that could be drawn and were not
    further: float = 0.0  # of those that matter to the design's differences, with the opening of their queries

    def of(self, first: int, second: int | None) -> RestOfDocuments:
        """What a plan of documents knows of its population for a contrast."""
        for each in self.sums:
            if (each.first, each.second) == (first, second):
                return each
            if each.second is not None and (each.second, each.first) == (first, second):
                return _mirrored(each)
        raise ValueError(f"the plan keeps no sums of rankers {first} and {second}")


def _mirrored(each: RestOfDocuments) -> RestOfDocuments:
    """The same for the difference with the opposite sign."""
    assert each.second is not None
    weight, mean = ([-part for part in parts] for parts in (each.weight, each.mean))
    beyond = None if each.beyond is None else mirrored(each.beyond)
    turned = replace(each, first=each.second, second=each.first, settled=-each.settled)
    return replace(turned, weight=weight, mean=mean, beyond=beyond)


def mirrored(each: Beyond) -> Beyond:
    """The same for the difference with the opposite sign."""
    assert each.second is not None
    signs = {"mean": -each.mean, "low": -each.high, "high": -each.low, "worst": -each.best, "best": -each.worst}
    return replace(each, first=each.second, second=each.first, settled=-each.settled, **signs)
