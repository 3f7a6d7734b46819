"""Which judge gets which document?

Documents come in blocks, in the order in which the plan drew them. A judge who asks gets the next query of the first
block in which something is left to do. Who judged what, and how fast, decides about it; grades of documents do not.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain

from pt_active.frames.records import JUDGED, still_wanted
from pt_active.judging.server.order import JudgingOrder

AHEAD = 10  # Documents that a judge's browser holds, so that a lost connection does not stop the judge
PATIENCE = 30 * 60.0  # Seconds without a sign of a judge until the judge's documents go to others


@dataclass
class Sharing:
    """Who has which document, and who has judged it."""

    work: JudgingOrder

    def __post_init__(self) -> None:
        size = len(self.work.documents)
        # Of each document: judge → the status of the latest record; who has it now, since when; who ever had it.
        self.outcome: list[dict[str, str]] = [{} for _ in range(size)]
        self.holders: list[dict[str, float]] = [{} for _ in range(size)]
        self._given: list[set[str]] = [set() for _ in range(size)]
        self._held: dict[str, set[int]] = defaultdict(set)
        self.seen: dict[str, float] = {}
        self._block = [number for number, block in enumerate(self.work.blocks) for query in block for _ in query]
        self._unsettled = [sum(map(len, block)) for block in self.work.blocks]
        self.left = sum(map(self.wanted, range(size)))  # judgments that are still needed, of all documents together

    @property
    def settled(self) -> int:
        """How many documents need nobody any more."""
        return len(self.outcome) - sum(self._unsettled)

    def wanted(self, place: int) -> int:
        """How many more judges a document needs, among them those who have it now."""
        said = self.outcome[place]
        judged = sum(status == JUDGED for status in said.values())
        return still_wanted(self.work.documents[place].judges, judged, len(said) - judged)

    @property
    def passed(self) -> list[int]:
        """The documents that somebody skipped, or could not judge, and that nobody has judged."""
        return [place for place, said in enumerate(self.outcome) if said and JUDGED not in said.values()]

    def sign(self, judge: str, now: float) -> None:
        """Note that a judge is there."""
        self.seen[judge] = now

    def hold(self, place: int, judge: str, now: float) -> None:
        """Note that a judge was given a document."""
        self.sign(judge, now)
        self._given[place].add(judge)
        if judge not in self.outcome[place]:
            self.holders[place][judge] = now
            self._held[judge].add(place)

    def answer(self, place: int, judge: str, status: str, now: float) -> None:
        """Note what a judge did with a document; a later answer replaces the earlier one."""
        self.sign(judge, now)
        before, said = self.wanted(place), self.outcome[place]
        self.holders[place].pop(judge, None)
        self._held[judge].discard(place)
        said[judge] = status
        after = self.wanted(place)
        self.left += after - before
        self._unsettled[self._block[place]] += (after > 0) - (before > 0)

    def was_given(self, place: int, judge: str) -> bool:
        """Whether a judge was ever given a document: an answer may come late, when others have it too."""
        return judge in self._given[place] or judge in self.outcome[place]

    def next_for(self, judge: str, now: float, ahead: int = AHEAD) -> tuple[list[int], list[int]]:
        """The documents that a judge should judge next."""
        self.sign(judge, now)
        kept = {place for place in self._held[judge] if self._free(place, judge, now)}
        for place in self._held[judge] - kept:
            self.holders[place].pop(judge, None)
        self._held[judge] = kept
        new: list[int] = []
        # The queries of the blocks in which something is left to do, in their order.
        open_blocks = (block for left, block in zip(self._unsettled, self.work.blocks, strict=True) if left)
        for query in chain.from_iterable(open_blocks) if len(kept) < ahead else ():
            fresh = [p for p in query if p not in self._held[judge] and self._free(p, judge, now)]
            for place in fresh:
                self.hold(place, judge, now)
            new += fresh
            if len(self._held[judge]) >= ahead:
                break
        return sorted(self._held[judge]), new

    def _free(self, place: int, judge: str, now: float) -> bool:
        """Whether a document needs this judge: more judges than those who are at it."""
        if judge in self.outcome[place]:
            return False
        signs = [max(at, self.seen.get(name, 0.0)) for name, at in self.holders[place].items() if name != judge]
        # A sign far ahead is one of a clock that was wrong.
        return self.wanted(place) > sum(abs(now - sign) < PATIENCE for sign in signs)
