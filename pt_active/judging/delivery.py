"""What did a judging tool deliver, and which records are in it?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pt_active.frames.checks import document_of, shown, unfit
from pt_active.frames.columns import place_of
from pt_active.frames.records import SAID_COLUMNS, SKIPPED, checked_records
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

    @property
    def first_line(self) -> str:
        """The first line that is not blank; empty if it is an archive."""
        return "" if self.is_archive else self.source.first_line()

    @property
    def json(self) -> Any:
        """The value of the whole file."""
        return json_value(self.source.text)


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
    rows, places = [], []
    for item in given:
        with naming(f"{place_of(item.place)}: {document_of(item.qid, item.docno)}"):
            grade, said = names.judgment(item.label)
            time = utc_time(item.time)
            status = item.status.strip().casefold() or said
            if said not in ("", status):
                raise ValueError(f"the status is {shown(status)} and the label {shown(item.label)}")
        if status or item.note.strip():
            # Who writes a note and gives no grade has looked at the document and left it.
            status = status or SKIPPED
            rows.append((item.qid, item.docno, grade, item.annotator, status, time, item.note, item.plan))
            places.append(item.place)
    return checked_records(pd.DataFrame(rows, pd.Index(places, dtype=object), SAID_COLUMNS))


def utc_time(time: object) -> str:
    """A moment as ISO 8601 in UTC, such as ``2026-03-01T09:30:00Z``; empty if there is none."""
    text = time.isoformat() if isinstance(time, datetime) else text_of(time).strip()
    if not text:
        return ""
    with suppress(ValueError):
        if _MOMENT.fullmatch(text):
            return pd.Timestamp(text).tz_convert("UTC").isoformat().removesuffix("+00:00") + "Z"
    raise ValueError(f"expected a time with its zone, such as 2026-03-01T09:30:00Z; got {shown(text)}")


def items(tool: str, found: Iterable[tuple[str, Any, Any]]) -> Iterator[tuple[Given, Any]]:
    """What an export wrote into each item, once, and its content; of each its place, what was written, and both."""
    first: dict[tuple[str, str], int | str] = {}
    for place, ours, content in found:
        qid, docno = (ours.get(name) if isinstance(ours, dict) else None for name in ("qid", "docno"))
        if any(type(value) not in (str, int) or not str(value).strip() for value in (qid, docno)):
            raise unfit(place, f"the qid and docno that `pt-active export --format {tool}` wrote", shown(ours))
        check_new(first, qid, docno, place)
        yield Given(place, qid, docno, plan=text_of(ours.get("pt_active", ours.get("plan")))), content


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
