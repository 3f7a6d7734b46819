"""What does a plan keep of queries and documents that it does not keep?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pt_active.plans.making.artifact import Record


@dataclass(frozen=True)
class Beyond(Record):
    """What bets at any time know of units that a plan does not keep, for one contrast [theory 14].

    They are queries, or all documents that were not drawn.

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
        settled: What units that can never come contribute for certain.
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
class RestOfDocuments(Record):
    """What a plan of documents knows of its whole population, for one contrast of an additive measure [theory 9].

    Attributes:
        first: Index of the first ranker.
        second: Index of the second; None for one ranker alone.
        weight: ``Σ p D`` over the documents that are not kept and could be drawn, for each part of the queries.
        mean: ``Σ p D μ`` over the same documents.
        square: ``Σ p D²`` over the same documents.
        settled: ``Σ p D μ`` over documents that are not kept and could never be drawn.
        cautious: The variance that the grade model expects of the estimate (`documents.cautious_variance`).
        variance: The model's variance of the contrast, of all documents.
        unreached: Its part in documents that could never be drawn.
        never: How many documents could never be drawn that can change the contrast.
        certain: Whether every document that can change the contrast was certain to be drawn.
        added: The variance that bets add to that of each document.
        beyond: What bets need to know of documents that were not drawn; None if all that can be drawn are kept, or
            documents were drawn at once.
    """

    PARTS: ClassVar[dict[str, type[Record]]] = {"beyond": Beyond}

    first: int
    second: int | None
    weight: Sequence[float]
    mean: Sequence[float]
    square: Sequence[float]
    settled: float
    cautious: float
    variance: float
    unreached: float
    never: int
    certain: bool
    added: float
    beyond: Beyond | None = None


@dataclass(frozen=True)
class Rest(Record):
    """What a plan that was made from logs does not keep.

    Attributes:
        queries: The number of queries that were not drawn.
        documents: The number of their documents.
        stand_ins: How many rows of the plan's queries stand for them.
        units: The number of all queries that can come, drawn or not; 0 if nothing is kept for looks at any time.
        expected_draws: So many draws with replacement would tell as much as the plan (`chances.expected_size`).
        contrasts: What looks at any time need; of plans of queries of one or two rankers.
        sums: What estimates and looks need in plans of documents, for each ranker and each difference.
        seen: The number of documents of the whole population that the measure sees; in plans of documents.
        useless: How many of them cannot change the result.
        cost: What the documents cost that could be drawn and were not.
        further: What those of them cost that matter to the design's differences, with the opening of their queries.
    """

    PARTS: ClassVar[dict[str, type[Record]]] = {"contrasts": Beyond, "sums": RestOfDocuments}
    SOMETIMES: ClassVar[tuple[str, ...]] = ("sums", "seen", "useless", "cost", "further")

    queries: int
    documents: int
    stand_ins: int
    units: int = 0
    expected_draws: float = 0.0
    contrasts: tuple[Beyond, ...] = ()
    sums: tuple[RestOfDocuments, ...] = ()
    seen: int = 0
    useless: int = 0
    cost: float = 0.0
    further: float = 0.0

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
