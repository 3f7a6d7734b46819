"""What do judges get and give, while their judgments are kept and shared out?"""

from __future__ import annotations

import re
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pt_active.frames.checks import how_many
from pt_active.frames.records import ADJUDICATOR, JUDGED, STATUSES
from pt_active.frames.visible import visible, visible_field
from pt_active.judging.grade_names import GradeNames
from pt_active.judging.server.order import Document, JudgingOrder
from pt_active.judging.server.sharing import PATIENCE, Sharing
from pt_active.judging.server.store import DOUBLE_SHARE, Entry, Store
from pt_active.judging.server.templates import named_grades
from pt_active.plans.plan import Plan

MAX_NOTE = 2000
"""Characters of a note, at most."""

MAX_AT_ONCE = 100
"""Records that a browser may send in one request."""

_KEY = re.compile(r"[A-Za-z0-9-]{8,64}")

_RECENT = 5
"""A judge's own last judgments, which a page that was loaded again can go back to."""

_MAX_GAP = 600.0
"""A longer time between two judgments, in seconds, is a break and does not count as work."""

_PACE_OF = 50
"""How many of the last judgments tell a judge's pace."""


class Refused(Exception):
    """Something that was sent cannot be kept; the message says why."""


@dataclass(frozen=True)
class Answer:
    """What a judge sent about a document, checked.

    Attributes:
        key: The key of the record, chosen by the judge's browser.
        place: The place of the document in the order.
        status: One of `STATUSES`.
        label: The grade; None unless the status is ``judged``.
        note: What the judge remarked; may be empty.
    """

    key: str
    place: int
    status: str
    label: int | None
    note: str


@dataclass(frozen=True)
class Sent:
    """What one request wants to have kept.

    Attributes:
        judge: Who sent it.
        keys: The keys of all that is or will be kept.
        refused: Key → why it is not kept.
        answers: Those that the store does not have yet.
        entries: Their records.
        seconds: Their times, in seconds since 1970.
    """

    judge: str
    keys: list[str]
    refused: dict[str, str]
    answers: list[Answer]
    entries: list[Entry]
    seconds: list[float]


@dataclass
class Campaign:
    """The judging of a plan: its documents, its store, and who has what.

    Attributes:
        plan: The plan.
        work: Its documents.
        store: Where judgments are kept.
        names: The words for the grades.
        patience: Seconds without a sign of a judge until the judge's documents go to others.
        clock: Returns the time, in seconds since 1970.
        sharing: Who has which document.
    """

    plan: Plan
    work: JudgingOrder
    store: Store
    names: GradeNames = field(default_factory=GradeNames)
    patience: float = PATIENCE
    clock: Callable[[], float] = time.time
    sharing: Sharing = field(init=False)
    _labels: list[dict[str, tuple[str, int | None, str]]] = field(init=False)
    _times: dict[str, deque[float]] = field(init=False)
    _done: dict[str, dict[int, None]] = field(init=False)
    _last: float = field(init=False, default=0.0)
    kept: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.go_on_with(self.plan, self.work)

    def go_on_with(self, plan: Plan, work: JudgingOrder) -> None:
        """Take up the documents of a plan, or of the plan that extends it. All that is kept counts."""
        self.plan, self.work, self.sharing = plan, work, Sharing(work, self.patience)
        self.store.set(DOUBLE_SHARE, str(work.double))
        self._labels, self._done = [{} for _ in work.documents], defaultdict(dict)
        self._times, self.kept = defaultdict(lambda: deque(maxlen=_PACE_OF)), 0
        for qid, docno, judge, given in self.store.given():
            if (place := work.place.get((qid, docno))) is not None:
                self.sharing.hold(place, judge, given)
        for qid, docno, label, judge, status, stamp, note, _ in self.store.rows():
            seconds = datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
            self._last = max(self._last, seconds)
            if (place := work.place.get((qid, docno))) is not None:
                self._note(judge, Answer("", place, status, label, note), seconds)

    @property
    def paused(self) -> bool:
        """Whether the organiser has stopped the giving out of documents."""
        return self.store.setting("paused") == "yes"

    def pause(self, paused: bool) -> None:
        """Stop giving out documents, or go on; what judges send is kept either way."""
        self.store.set("paused", "yes" if paused else "no")

    @property
    def max_grade(self) -> int:
        """The highest grade."""
        return self.plan.tables.pool.max_grade

    @property
    def grades(self) -> list[tuple[int, str]]:
        """Each grade with its word, which is empty if it has none."""
        return named_grades(self.names, self.max_grade)

    def work_for(self, judge: str) -> dict[str, Any]:
        """What a judge's page shows: the documents to judge, the judge's own last ones, and how far everything is."""
        now = self.clock()
        places: list[int] = []
        if not self.paused:
            places, new = self.sharing.next_for(judge, now)
            held = [self.work.documents[place] for place in new]
            if held:
                self.store.give((each.qid, each.docno, judge, now) for each in held)
        recent = [self._shown(place) | self._said(place, judge) for place in list(self._done[judge])[-_RECENT:]]
        return {
            "documents": [self._shown(place) for place in places],
            "recent": recent,
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

    def check(self, judge: str, sent: object) -> Sent:
        """Check what a judge's browser sent."""
        if not isinstance(sent, list) or not 0 < len(sent) <= MAX_AT_ONCE:
            raise Refused(f"expected a list of 1 to {MAX_AT_ONCE} records")
        answers, refused = [], {}
        for each in sent:
            key = _key_of(each)
            try:
                answers.append(self._checked(key, each, judge))
            except Refused as reason:
                refused[key] = str(reason)
        return self._sent(judge, answers, refused)

    def adjudication(self, qid: str, docno: str, label: int) -> Sent:
        """Check what the organiser decided about a document on which judges disagree."""
        place = self._place(qid, docno)
        answer = Answer(secrets.token_hex(16), place, JUDGED, self._grade(JUDGED, label), "")
        return self._sent(ADJUDICATOR, [answer], {})

    def _sent(self, judge: str, answers: Sequence[Answer], refused: dict[str, str]) -> Sent:
        # A key is a judge's own, so that nobody's browser can take that of somebody else's record.
        keyed = {f"{judge} {each.key}": each for each in answers}
        fresh = {key: each for key, each in keyed.items() if not self.store.has(key)}
        entries, seconds = [], []
        for key, each in fresh.items():
            document, (moment, stamp) = self.work.documents[each.place], self._stamp()
            said = each.label, judge, each.status, stamp, each.note
            entries.append(Entry(key, document.qid, document.docno, *said, self.plan.id))
            seconds.append(moment)
        return Sent(judge, [each.key for each in answers], refused, list(fresh.values()), entries, seconds)

    def take(self, sent: Sent) -> dict[str, Any]:
        """Take into account what is on disk now."""
        for answer, entry, seconds in zip(sent.answers, sent.entries, sent.seconds, strict=True):
            # Where the plan was extended in the meantime, the document has another place.
            place = self.work.place[entry.qid, entry.docno]
            self._note(sent.judge, replace(answer, place=place), seconds)
        return {"kept": sent.keys, "refused": sent.refused, "progress": self.progress(sent.judge)}

    def _stamp(self) -> tuple[float, str]:
        """The time as a number and as ISO 8601, later than that of any record before, even if the clock was set."""
        self._last = max(self.clock(), self._last + 1e-6)
        moment = datetime.fromtimestamp(self._last, tz=UTC)
        return self._last, moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _note(self, judge: str, answer: Answer, seconds: float) -> None:
        """Take a record that is on disk into account."""
        place = answer.place
        self.kept += 1
        self._labels[place][judge] = (answer.status, answer.label, answer.note)
        if judge == ADJUDICATOR:
            return
        self.sharing.answer(place, judge, answer.status, seconds)
        self._times[judge].append(seconds)
        self._done[judge].pop(place, None)
        self._done[judge][place] = None

    def _checked(self, key: str, sent: Mapping[str, Any], judge: str) -> Answer:
        place = self._place(sent.get("qid"), sent.get("docno"))
        status, note = sent.get("status"), sent.get("note", "")
        if status not in STATUSES:
            raise Refused(f"expected a status that is one of {', '.join(STATUSES)}")
        if not isinstance(note, str) or len(note) > MAX_NOTE:
            raise Refused(f"expected a note of at most {MAX_NOTE} characters")
        if not self.sharing.was_given(place, judge):
            raise Refused("this document was not given to you")
        # A lone surrogate cannot be written as UTF-8.
        note = note.encode("utf-8", "replace").decode("utf-8")
        return Answer(key, place, status, self._grade(status, sent.get("label")), note)

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
        if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label <= self.max_grade:
            raise Refused(f"expected a label from 0 to {self.max_grade}")
        return label

    def _shown(self, place: int) -> dict[str, Any]:
        return shown_document(self.work.documents[place])

    def _said(self, place: int, judge: str) -> dict[str, Any]:
        status, label, note = self._labels[place][judge]
        return {"said": {"status": status, "label": label, "note": note}}

    def opinions(self, place: int) -> dict[str, tuple[str, int | None, str]]:
        """Judge → status, label and note of the latest record about a document."""
        return self._labels[place]

    def done_by(self, judge: str) -> list[str]:
        """The status of each document that a judge has answered for."""
        return [self._labels[place][judge][0] for place in self._done[judge]]


def shown_document(document: Document) -> dict[str, Any]:
    """A document as a judge's page gets it: its ids, and what the judge reads, without characters that a page obeys."""
    about = {name: visible(value) for name, value in document.about.items()}
    named = {"name": visible_field(document.docno), "topic": visible_field(document.qid)}
    return {"qid": document.qid, "docno": document.docno, "text": visible(document.text), **named, **about}


def _key_of(sent: object) -> str:
    key = sent.get("key") if isinstance(sent, dict) else None
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise Refused("expected records with a key of 8 to 64 letters, digits and hyphens")
    return key


def in_hours(seconds: float) -> str:
    """A time in words: ``12 minutes``, ``3.5 hours``."""
    return how_many("minute", round(seconds / 60)) if seconds < 5400 else f"{seconds / 3600:.1f} hours"
