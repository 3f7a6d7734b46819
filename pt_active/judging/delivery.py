"""What did a judging tool deliver, and which records are in it?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pt_active.frames.checks import document_of, shown, unfit
from pt_active.frames.columns import place_of
from pt_active.frames.records import JUDGED, SAID_COLUMNS, SKIPPED, STATUSES, checked_records
from pt_active.frames.sources import Source, naming, read_bytes, source_of
from pt_active.frames.tables import json_value
from pt_active.judging.worklist import GradeNames

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)? ?(Z|[+-]\d\d:?\d\d|UTC)")


@dataclass(frozen=True)
class Delivery:
    """A file of a judging tool, which was read once."""

    path: str  # where it came from
    content: bytes  # its bytes, decompressed

    @classmethod
    def read(cls, path: str | Path) -> Delivery:
        """Read a file or a stream."""
        return cls(os.fspath(path), read_bytes(path))

    @property
    def is_archive(self) -> bool:
        """Whether it is a zip archive, as spreadsheets are."""
        return self.content.startswith(b"PK\x03\x04")

    @cached_property
    def source(self) -> Source:
        """Its text."""
        return source_of(self.path, self.content)

    @cached_property
    def first_line(self) -> str:
        """The first line that is not blank; empty if it is an archive."""
        return "" if self.is_archive else self.source.first_line()

    @cached_property
    def json(self) -> Any:
        """The value of the whole file."""
        return json_value(self.source.text)

    @cached_property
    def first_object(self) -> dict[str, Any]:
        """The JSON object in the first line of a file of JSON lines; empty if the file is anything else."""
        if not self.first_line.lstrip().startswith("{"):
            return {}
        try:
            value = json_value(self.first_line)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


class Given(NamedTuple):
    """What one annotator said about one document, as a tool has it."""

    place: int | str  # where it stands in the file, for messages: a row's number, or words such as ``task 7``
    qid: object
    docno: object
    label: object = None  # a number or a word; None or empty if there is none
    annotator: str = ""  # who judged; empty if that is unknown
    status: str = ""  # ``judged``, ``skipped`` or ``unjudgeable``; empty if the label says it
    time: object = ""  # when, with a time zone; empty if that is unknown
    note: str = ""  # what the annotator wrote
    plan: str = ""  # the plan's id; empty if it is unknown


def records_given(given: Iterable[Given], names: GradeNames) -> pd.DataFrame:
    """Records of what annotators said. Items of which nothing was said are left out."""
    said = [(each.place, row) for each in given if (row := _row(each, names)) is not None]
    places = pd.Index([place for place, _ in said], dtype=object)
    return checked_records(pd.DataFrame([row for _, row in said], columns=SAID_COLUMNS, index=places))


def _row(given: Given, names: GradeNames) -> list[object] | None:
    with naming(f"{place_of(given.place)}: {document_of(given.qid, given.docno)}"):
        grade, said = names.judgment(given.label)
        time = utc_time(given.time)
        status = given.status.strip().casefold() or said
        if status not in ("", *STATUSES):
            raise ValueError(f"expected a status of {', '.join(STATUSES)}; got {shown(given.status)}")
        if (status == JUDGED) != (grade is not None) or said not in ("", status):
            raise ValueError(f"the status is {shown(status)} and the label {shown(given.label)}")
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
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"expected a time with its zone, such as 2026-03-01T09:30:00Z; got {shown(text)}")
    try:
        return pd.Timestamp(text).tz_convert("UTC").isoformat().removesuffix("+00:00") + "Z"
    except ValueError:
        raise ValueError(f"expected a time such as 2026-03-01T09:30:00Z; got {shown(text)}") from None


def items(tool: str, found: Iterable[tuple[str, Any, Any]]) -> Iterator[tuple[Given, Any]]:
    """What an export wrote into each item, once, and its content; of each its place, what was written, and both."""
    first: dict[tuple[str, str], int | str] = {}
    wanted = f"the qid and docno that `pt-active export --format {tool}` wrote"
    for place, ours, content in found:
        if not isinstance(ours, dict):
            raise unfit(place, wanted, shown(ours))
        for name in ("qid", "docno"):
            value = ours.get(name)
            if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
                raise unfit(place, wanted, f"{name} {shown(value)}")
        check_new(first, ours["qid"], ours["docno"], place)
        yield Given(place, ours["qid"], ours["docno"], plan=text_of(ours.get("pt_active", ours.get("plan")))), content


def check_new(first: dict[tuple[str, str], int | str], qid: object, docno: object, place: int | str) -> None:
    """Raise if a document of a query had an item before, of which the place is kept."""
    if (before := first.setdefault((str(qid), str(docno)), place)) != place:
        both = " and ".join(map(place_of, (before, place)))
        raise ValueError(f"{both} are both {document_of(str(qid), str(docno))}")


def object_of(value: Any, place: str, *keys: str) -> dict[str, Any]:
    """A JSON object that has some keys."""
    if not isinstance(value, dict) or not value.keys() >= set(keys):
        raise unfit(place, f"an object with {', '.join(keys) or 'keys'}", shown(value))
    return value


def list_of(value: Any, place: str, what: str) -> list[Any]:
    """A JSON list; null is an empty one."""
    if value is not None and not isinstance(value, list):
        raise unfit(place, f"a list of {what}", shown(value))
    return value or []


def text_of(value: object) -> str:
    """A value as text; empty for null."""
    return "" if value is None else str(value)
