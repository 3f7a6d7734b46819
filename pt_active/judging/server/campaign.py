"""What do judges get and give, while their judgments are kept and shared out?"""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from pt_active.frames.records import ADJUDICATOR, JUDGED, STATUSES
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.sharing import PATIENCE, Sharing
from pt_active.judging.server.store import DOUBLE_SHARE, Entry, Given, Store
from pt_active.judging.server.templates import shown_document
from pt_active.judging.worklist import GradeNames
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import least_label

FAR_APART = 2  # Grades by which two judges differ until the organiser is asked
MAX_NOTE = 2000  # Characters of a note, at most
MAX_AT_ONCE = 100  # Records that a browser may send in one request
_KEY = re.compile(r"[A-Za-z0-9-]{8,64}")
_SAID = ("status", "label", "note")  # What of a record its judge is shown again
_RECENT = 5  # A judge's own last judgments, which a page that was loaded again can go back to
_MAX_GAP = 600.0  # A longer time between two judgments, in seconds, is a break and does not count as work
_PACE_OF = 50  # How many of the last judgments tell a judge's pace
_DELAY = 30.0  # Seconds that a request may take: of answers that are less apart, the one that comes later is the later


class Refused(Exception):
    """Something that was sent cannot be kept; the message says why."""


class Sent(NamedTuple):
    """What one request wants to have kept: keys of all that fits, key → why it does not, and records that are new."""

    keys: list[str]
    refused: dict[str, str]
    entries: list[Entry]


@dataclass
class Campaign:
    """The judging of a plan: its documents, its store, and who has what."""

    plan: Plan
    work: JudgingOrder
    store: Store  # where judgments are kept
    names: GradeNames = field(default_factory=GradeNames)  # the words for the grades
    patience: float = PATIENCE  # seconds without a sign of a judge until the judge's documents go to others
    clock: Callable[[], float] = time.time  # returns the time, in seconds since 1970

    def __post_init__(self) -> None:
        self._last = 0.0  # the time of the latest record
        self._given: list[Given] = []  # what the store does not know yet
        self.store.set(DOUBLE_SHARE, str(self.work.double))
        self.go_on_with(self.plan, self.work)

    def go_on_with(self, plan: Plan, work: JudgingOrder) -> None:
        """Take up the documents of a plan, or of the plan that extends it. All that is kept counts."""
        self.plan, self.work, self.sharing, self.kept = plan, work, Sharing(work, self.patience), 0
        # Of each document: judge → the latest record. Of each judge: document → status, in order, and times of records.
        self.said: list[dict[str, Entry]] = [{} for _ in work.documents]
        self.apart: set[int] = set()  # the documents on which judges disagree, and that are not settled
        self._done: dict[str, dict[int, str]] = defaultdict(dict)
        self._times: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_PACE_OF))
        for qid, docno, judge, given in self.store.given():
            if (place := work.place.get((qid, docno))) is not None:
                self.sharing.hold(place, judge, given)
        for entry in self.store.entries():
            self._last = max(self._last, _seconds(entry))
            self._note(entry)

    @property
    def paused(self) -> bool:
        """Whether the organiser has stopped the giving out of documents; what judges send is kept either way."""
        return self.store.setting("paused") == "yes"

    @property
    def grades(self) -> list[tuple[int, str]]:
        """Each grade with its word, which is empty if it has none."""
        return self.names.listed(self.plan.tables.pool.max_grade, least_label(self.plan.measure))

    async def work_for(self, judge: str) -> dict[str, Any]:
        """What a judge's page shows: the documents to judge, the judge's own last ones, and how far everything is."""
        now, documents = self.clock(), self.work.documents
        places, new = ([], []) if self.paused else self.sharing.next_for(judge, now)
        given = self._given + [(documents[place].qid, documents[place].docno, judge, now) for place in new]
        self._given = []
        try:
            await self.store.keep([], given)
        except BaseException:
            self._given += given
            raise
        recent = [(place, self.said[place][judge]) for place in list(self._done[judge])[-_RECENT:]]
        return {
            "documents": [shown_document(documents[place]) for place in places],
            "recent": [
                shown_document(documents[place]) | {"said": {name: getattr(entry, name) for name in _SAID}}
                for place, entry in recent
            ],
            "progress": self.progress(judge),
        }

    def progress(self, judge: str) -> dict[str, Any]:
        """How much a judge has done, how fast, how far all judges are together, and whether judging is paused."""
        return {
            "mine": len(self._done[judge]),
            "seconds": self.pace(judge),
            "settled": self.sharing.settled,
            "all": len(self.work.documents),
            "paused": self.paused,
        }

    def pace(self, judge: str) -> float | None:
        """The median time between two judgments of a judge, in seconds, without breaks; None if it is not known."""
        gaps = np.diff(np.array(self._times[judge]))
        gaps = gaps[(gaps > 0) & (gaps <= _MAX_GAP)]
        return float(np.median(gaps)) if len(gaps) else None

    def done_by(self, judge: str) -> Counter[str]:
        """Status → how many documents a judge has answered for with it."""
        return Counter(self._done[judge].values())

    def check(self, judge: str, sent: object) -> Sent:
        """Check what a judge's browser sent."""
        if not isinstance(sent, list) or not 0 < len(sent) <= MAX_AT_ONCE:
            raise Refused(f"expected a list of 1 to {MAX_AT_ONCE} records")
        checked = Sent([], {}, [])
        for each in sent:
            key = each.get("key") if isinstance(each, dict) else None
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise Refused("expected records with a key of 8 to 64 letters, digits and hyphens")
            try:
                entry = self._checked(key, each, judge)
            except Refused as reason:
                checked.refused[key] = str(reason)
                continue
            known = self.store.kept(entry.key) or next((one for one in checked.entries if one.key == entry.key), None)
            if known is None:
                checked.entries.append(entry)
            elif replace(entry, time=known.time) != known:
                checked.refused[key] = "this key is that of another record"
                continue
            checked.keys.append(key)
        return checked

    def adjudication(self, qid: str, docno: str, label: int) -> Sent:
        """Check what the organiser decided about a document on which judges disagree."""
        self._place(qid, docno)
        key = secrets.token_hex(16)
        return Sent([key], {}, [self._entry(key, qid, docno, self._grade(JUDGED, label), ADJUDICATOR, JUDGED, "")])

    def take(self, judge: str, sent: Sent) -> dict[str, Any]:
        """Take into account what is on disk now."""
        for entry in sent.entries:
            self._note(entry)
        return {"kept": sent.keys, "refused": sent.refused, "progress": self.progress(judge)}

    def _entry(
        self, key: str, qid: str, docno: str, label: int | None, judge: str, status: str, note: str, age: float = 0.0
    ) -> Entry:
        """A record of now, at a time later than that of any record before, even if the clock was set.

        An answer that a device kept for ``age`` seconds, while its judge answered on another one, is a record of then.
        """
        self._last = max(self.clock(), self._last + 1e-6)
        known, given = self.said[self.work.place[qid, docno]].get(judge), self._last - age
        late = known is not None and given < _seconds(known) - _DELAY
        stamp = datetime.fromtimestamp(given if late else self._last, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        # A key is a judge's own, so that nobody's browser can take that of somebody else's record.
        return Entry(f"{judge} {key}", qid, docno, label, judge, status, stamp, note, self.store.plan)

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

    def _checked(self, key: str, sent: Mapping[str, Any], judge: str) -> Entry:
        place = self._place(sent.get("qid"), sent.get("docno"))
        status, note = sent.get("status"), sent.get("note", "")
        if status not in STATUSES:
            raise Refused(f"expected a status that is one of {', '.join(STATUSES)}")
        if not isinstance(note, str) or len(note) > MAX_NOTE:
            raise Refused(f"expected a note of at most {MAX_NOTE} characters")
        if not self.sharing.was_given(place, judge):
            raise Refused("this document was not given to you")
        # A lone surrogate cannot be written as UTF-8.
        note, label = note.encode("utf-8", "replace").decode("utf-8"), self._grade(status, sent.get("label"))
        age = sent.get("age", 0.0)
        age = float(age) if isinstance(age, (int, float)) and 0 <= age < self._last else 0.0
        return self._entry(key, sent["qid"], sent["docno"], label, judge, status, note, age)

    def _place(self, qid: object, docno: object) -> int:
        place = self.work.place.get((qid, docno)) if isinstance(qid, str) and isinstance(docno, str) else None
        if place is None:
            raise Refused("the plan does not ask for this document")
        return place

    def _grade(self, status: str, label: object) -> int | None:
        if status != JUDGED:
            if label is not None:
                raise Refused(f"expected no label with the status {status}")
            return None
        highest = self.plan.tables.pool.max_grade
        if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label <= highest:
            raise Refused(f"expected a label from 0 to {highest}")
        return label


def _seconds(entry: Entry) -> float:
    return datetime.fromisoformat(entry.time.replace("Z", "+00:00")).timestamp()
