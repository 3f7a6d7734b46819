"""How do the items of any judging tool become records?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import pandas as pd

from pt_active.frames.checks import ArgumentError, shown
from pt_active.frames.records import JUDGED, SAID_COLUMNS, SKIPPED, STATUSES, checked_records, place_of
from pt_active.judging.grade_names import GradeNames

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)? ?(Z|[+-]\d\d:?\d\d|UTC)")
"""A moment with its time zone."""


class Given(NamedTuple):
    """What one annotator said of one document, as a tool has it.

    Attributes:
        place: Where it stands in the file, for messages: a row's number, or words such as ``task 7``.
        qid: The query.
        docno: The document.
        label: A number or a word; None or empty if there is none.
        annotator: Who judged; empty if that is unknown.
        status: ``judged``, ``skipped`` or ``unjudgeable``; empty if the label says it.
        time: When, with a time zone; empty if that is unknown.
        note: What the annotator wrote.
        plan: The plan's id; empty if it is unknown.
    """

    place: int | str
    qid: object
    docno: object
    label: object = None
    annotator: str = ""
    status: str = ""
    time: object = ""
    note: str = ""
    plan: str = ""


def records_given(given: Iterable[Given], names: GradeNames) -> pd.DataFrame:
    """Records of what annotators said. Items of which nothing was said are left out."""
    rows, places = [], []
    for each in given:
        with_place = _row(each, names)
        if with_place is not None:
            rows.append(with_place)
            places.append(each.place)
    return checked_records(pd.DataFrame(rows, columns=SAID_COLUMNS, index=pd.Index(places, dtype=object)))


def _row(given: Given, names: GradeNames) -> list[object] | None:
    """The values of `SAID_COLUMNS`; None if nothing was said of the document."""
    place = place_of(given.place)
    of = f"document {shown(given.docno)} of query {shown(given.qid)}"
    try:
        grade, said = names.judgment(given.label)
        time = utc_time(given.time)
    except ArgumentError as error:
        raise ArgumentError(f"{place}: {of}: ", *error.parts) from error
    except ValueError as error:
        raise ValueError(f"{place}: {of}: {error}") from error
    status = given.status.strip().casefold() or said
    if status not in ("", *STATUSES):
        raise ValueError(f"{place}: {of}: expected a status of {', '.join(STATUSES)}; got {shown(given.status)}")
    if (status == JUDGED) != (grade is not None) or said not in ("", status):
        raise ValueError(f"{place}: {of}: the status is {shown(status)} and the label {shown(given.label)}")
    if not status and not given.note.strip():
        return None
    # Who writes a note and gives no grade has looked at the document and left it.
    status = status or SKIPPED
    return [given.qid, given.docno, grade, given.annotator, status, time, given.note, given.plan]


def utc_time(time: object) -> str:
    """A moment as ISO 8601 in UTC, such as ``2026-03-01T09:30:00Z``; empty if there is none."""
    text = "" if time is None else time.isoformat() if isinstance(time, datetime) else str(time).strip()
    if not text or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", text):
        return text
    if not _ISO.fullmatch(text):
        raise ValueError(f"expected a time with its zone, such as 2026-03-01T09:30:00Z; got {shown(text)}")
    try:
        moment = pd.Timestamp(text).tz_convert("UTC")
    except ValueError:
        raise ValueError(f"expected a time such as 2026-03-01T09:30:00Z; got {shown(text)}") from None
    return moment.isoformat().removesuffix("+00:00") + "Z"


def ids_in(values: Any, place: str, tool: str) -> tuple[object, object]:
    """The qid and the docno that an export wrote into an item."""
    wanted = f"{place}: expected the qid and docno that `pt-active export --format {tool}` wrote"
    if not isinstance(values, dict):
        raise ValueError(f"{wanted}; got {shown(values)}")
    for name in ("qid", "docno"):
        value = values.get(name)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
            raise ValueError(f"{wanted}; got {name} {shown(value)}")
    return values["qid"], values["docno"]


def check_each_once(pairs: Iterable[tuple[object, object]], places: Iterable[int | str]) -> None:
    """Raise if two items are the same document of a query."""
    first: dict[tuple[str, str], int | str] = {}
    for (qid, docno), place in zip(pairs, places, strict=True):
        key = str(qid), str(docno)
        if key in first:
            both = " and ".join(map(place_of, (first[key], place)))
            raise ValueError(f"{both} are both document {shown(key[1])} of query {shown(key[0])}")
        first[key] = place


def object_of(value: Any, place: str, *keys: str) -> dict[str, Any]:
    """A JSON object that has some keys."""
    if not isinstance(value, dict) or not value.keys() >= set(keys):
        raise ValueError(f"{place}: expected an object with {', '.join(keys) or 'keys'}; got {shown(value)}")
    return value


def list_of(value: Any, place: str, what: str) -> list[Any]:
    """A JSON list; null is an empty one."""
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{place}: expected a list of {what}; got {shown(value)}")
    return value or []


def text_of(value: object) -> str:
    """A value as text; empty for null."""
    return "" if value is None else str(value)
