"""What do judges get and give, while their judgments are kept and shared out?"""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pt_active.frames.records import ADJUDICATOR, JUDGED, SKIPPED, STATUSES, UNJUDGEABLE
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.sharing import Sharing
from pt_active.judging.server.store import DOUBLE_SHARE, Entry, Given, Store
from pt_active.judging.server.templates import shown_document
from pt_active.judging.worklist import GradeNames
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import least_label

FAR_APART = 2  # Grades by which two judges differ until the organiser is asked
MAX_NOTE = 2000  # Characters of a note, at most
MAX_AT_ONCE = 100  # Records that a browser may send in one request
_KEY = re.compile(r"[A-Za-z0-9-]{8,64}")
_RECENT = 5  # A judge's own last judgments, which a page that was loaded again can go back to
_MAX_GAP = 600.0  # A longer time between two judgments, in seconds, is a break and does not count as work
_PACE_OF = 50  # How many of the last judgments tell a judge's pace
_DELAY = 30.0  # Seconds that a request may take: of answers that are less apart, the one that comes later is the later


class Refused(Exception):
    """Something that was sent cannot be kept; the message says why."""


@dataclass
class Campaign:
    """The judging of a plan: its documents, its store, and who has what."""

    plan: Plan
    work: JudgingOrder
    store: Store  # where judgments are kept
    names: GradeNames = field(default_factory=GradeNames)  # the words for the grades
    clock: Callable[[], float] = time.time  # returns the time, in seconds since 1970

    def __post_init__(self) -> None:
        self._last = 0.0  # the time of the latest record
        self._given: dict[Given, None] = {}  # what the store may not know yet
        self.store.set(DOUBLE_SHARE, str(self.work.double))
        self.sharing, self.kept = Sharing(self.work), 0
        # Of each document: judge → the latest record. Of each judge: document → status, in order, and times of records.
        self.said: list[dict[str, Entry]] = [{} for _ in self.work.documents]
        self.apart: set[int] = set()  # the documents on which judges disagree, and that are not settled
        self._done: dict[str, dict[int, str]] = defaultdict(dict)
        self._times: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_PACE_OF))
        for qid, docno, judge, given in self.store.given():
            if (place := self.work.place.get((qid, docno))) is not None:
                self.sharing.hold(place, judge, given)
        for entry in self.store.entries():
            self._last = max(self._last, _seconds(entry))
            self._note(entry)

    @property
    def grades(self) -> list[tuple[int, str]]:
        """Each grade with its word, which is empty if it has none."""
        return self.names.listed(self.plan.tables.pool.max_grade, least_label(self.plan.measure))

    async def work_for(self, judge: str) -> dict[str, Any]:
        """What a judge's page shows: the documents to judge, the judge's own last ones, and how far everything is."""
        now, documents = self.clock(), self.work.documents
        places, new = self.sharing.next_for(judge, now)
        for place in new:
            self._given[documents[place].qid, documents[place].docno, judge, now] = None
        recent = []
        for place in list(self._done[judge])[-_RECENT:]:
            entry = self.said[place][judge]
            said = {"status": entry.status, "label": entry.label, "note": entry.note}
            recent.append(shown_document(documents[place]) | {"said": said})
        given = list(self._given)
        await self.store.keep([], given)
        for one in given:
            self._given.pop(one, None)
        shown = [shown_document(documents[place]) for place in places]
        return {"documents": shown, "recent": recent, "progress": self.progress(judge)}

    def progress(self, judge: str) -> dict[str, Any]:
        """How much a judge has done, how fast, and how far all judges are together."""
        return {
            "mine": len(self._done[judge]),
            "seconds": self.pace(judge),
            "settled": self.sharing.settled,
            "all": len(self.work.documents),
        }

    def pace(self, judge: str) -> float | None:
        """The median time between two judgments of a judge, in seconds, without breaks; None if it is not known."""
        gaps = np.diff(np.array(self._times[judge]))
        gaps = gaps[(gaps > 0) & (gaps <= _MAX_GAP)]
        return float(np.median(gaps)) if len(gaps) else None

    def done_by(self, judge: str) -> Counter[str]:
        """Status → how many documents a judge has answered for with it."""
        return Counter(self._done[judge].values())

    async def keep(self, judge: str, sent: object) -> dict[str, Any]:
        """Keep what a judge's browser sent: the keys of all that is on disk now, and key → why it cannot be kept."""
        if not isinstance(sent, list) or not 0 < len(sent) <= MAX_AT_ONCE:
            raise Refused(f"expected a list of 1 to {MAX_AT_ONCE} records")
        keys: list[str] = []
        refused: dict[str, str] = {}
        new: dict[str, Entry] = {}
        for each in sent:
            key = each.get("key") if isinstance(each, dict) else None
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise Refused("expected records with a key of 8 to 64 letters, digits and hyphens")
            try:
                entry = self._entry(judge, each)
                known = self.store.kept(entry.key) or new.setdefault(entry.key, entry)
                if replace(entry, time=known.time) != known:
                    raise Refused("this key is that of another record")
                keys.append(key)
            except Refused as reason:
                refused[key] = str(reason)
        await self._take(list(new.values()))
        return {"kept": keys, "refused": refused, "progress": self.progress(judge)}

    async def adjudicate(self, qid: object, docno: object, label: int) -> None:
        """Keep what the organiser decided about a document on which judges disagree."""
        sent = {"key": secrets.token_hex(16), "qid": qid, "docno": docno, "status": JUDGED, "label": label}
        await self._take([self._entry(ADJUDICATOR, sent)])

    async def _take(self, entries: list[Entry]) -> None:
        await self.store.keep(entries)
        for entry in entries:
            self._note(entry)

    def _entry(self, judge: str, sent: Mapping[str, Any]) -> Entry:
        """A record of now, at a time later than that of any record before, even if the clock was set.

        An answer that a device kept for ``age`` seconds, while its judge answered on another one, is a record of then.
        """
        qid, docno, status, label = (sent.get(name) for name in ("qid", "docno", "status", "label"))
        note, age, highest = sent.get("note", ""), sent.get("age", 0.0), self.plan.tables.pool.max_grade
        if not isinstance(qid, str) or not isinstance(docno, str) or (qid, docno) not in self.work.place:
            raise Refused("the plan does not ask for this document")
        place = self.work.place[qid, docno]
        if judge != ADJUDICATOR and not self.sharing.was_given(place, judge):
            raise Refused("this document was not given to you")
        graded = type(label) is int and 0 <= label <= highest
        if status not in STATUSES or graded != (status == JUDGED) or (label is not None and not graded):
            raise Refused(f"expected a label from 0 to {highest} if {JUDGED}, and none if {SKIPPED} or {UNJUDGEABLE}")
        if not isinstance(note, str) or len(note) > MAX_NOTE:
            raise Refused(f"expected a note of at most {MAX_NOTE} characters")
        now = self._last = max(self.clock(), self._last + 1e-6)
        known = self.said[place].get(judge)
        if known and isinstance(age, (int, float)) and 0 <= age < now and now - age < _seconds(known) - _DELAY:
            now -= age
        stamp = datetime.fromtimestamp(now, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        # A lone surrogate cannot be written as UTF-8.
        note = note.encode("utf-8", "replace").decode("utf-8")
        # A key is a judge's own, so that nobody's browser can take that of somebody else's record.
        return Entry(f"{judge} {sent['key']}", qid, docno, label, judge, status, stamp, note, self.store.plan)

    def _note(self, entry: Entry) -> None:
        """Take a record that is on disk into account, if it is of a document of the plan."""
        judge, place = entry.annotator, self.work.place.get((entry.qid, entry.docno))
        if place is None:
            return
        self.kept += 1
        if judge in self.said[place] and entry.time < self.said[place][judge].time:
            return
        self.said[place][judge] = entry
        grades = [each.label for each in self.said[place].values() if each.label is not None]
        apart = grades and ADJUDICATOR not in self.said[place] and max(grades) - min(grades) >= FAR_APART
        (self.apart.add if apart else self.apart.discard)(place)
        if judge != ADJUDICATOR:
            self.sharing.answer(place, judge, entry.status, _seconds(entry))
            self._times[judge].append(_seconds(entry))
            self._done[judge].pop(place, None)
            self._done[judge][place] = entry.status


def _seconds(entry: Entry) -> float:
    return datetime.fromisoformat(entry.time.replace("Z", "+00:00")).timestamp()
