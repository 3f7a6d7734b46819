"""Argilla: records as JSON, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from pt_active.frames.records import SKIPPED
from pt_active.frames.sources import naming
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery
from pt_active.judging.given import Given, check_each_once, ids_in, list_of, object_of, text_of
from pt_active.judging.worklist import Worklist

_TOOL = "argilla"

_LABEL, _NOTE = "label", "note"
"""The questions of the dataset."""

_DISCARDED, _DRAFT = "discarded", "draft"
"""The statuses of responses that were skipped, and of those that were not submitted."""


def recognises(delivery: Delivery) -> bool:
    """Whether it is a list of records, nested or flat."""
    if not delivery.is_json_list:
        return False
    first = delivery.json[0] if isinstance(delivery.json, list) and delivery.json else {}
    return isinstance(first, dict) and ({"fields", "metadata", "responses"} <= first.keys() or "_server_id" in first)


def read(delivery: Delivery) -> list[Given]:
    """What annotators said: from ``records.to_json``, or from ``records.to_list(flatten=True)``, which has statuses."""
    with naming(delivery.path):
        records = [object_of(each, f"record {i}") for i, each in enumerate(delivery.json, start=1)]
        places = [f"record {i}" for i in range(1, len(records) + 1)]
        ours = [each.get("metadata") if "fields" in each else each for each in records]
        check_each_once((ids_in(each, place, _TOOL) for each, place in zip(ours, places, strict=True)), places)
        return [
            each
            for record, about, place in zip(records, ours, places, strict=True)
            for each in _responses(record, about or {}, place)
        ]


def _responses(record: dict[str, Any], ours: dict[str, Any], place: str) -> Iterator[Given]:
    qid, docno = ids_in(ours, place, _TOOL)
    notes = {user: text_of(value) for user, value, _ in _answers(record, _NOTE, place)}
    labels = {user: (value, status) for user, value, status in _answers(record, _LABEL, place)}
    for user in {**labels, **notes}:
        value, said = labels.get(user, (None, ""))
        if said == _DRAFT:
            continue
        skipped = said == _DISCARDED or value is None
        label, status = (None, SKIPPED) if skipped else (value, "")
        yield Given(place, qid, docno, label, user, status, "", notes.get(user, ""), text_of(ours.get("pt_active")))


def _answers(record: dict[str, Any], question: str, place: str) -> Iterator[tuple[str, Any, str]]:
    """User, value and status of each answer to a question."""
    if "fields" in record:
        responses = object_of(record.get("responses") or {}, place)
        for answer in list_of(responses.get(question), place, "responses"):
            about = object_of(answer, place, "value", "user_id")
            yield text_of(about["user_id"]), about["value"], text_of(about.get("status"))
        return
    keys = (f"{question}.responses", f"{question}.responses.users", f"{question}.responses.status")
    values, users, statuses = (list_of(record.get(key), place, "responses") for key in keys)
    if not len(values) == len(users) == len(statuses):
        raise ValueError(f"{place}: expected as many {keys[0]} as {keys[1]} and {keys[2]}")
    yield from (
        (text_of(user), value, text_of(status)) for user, value, status in zip(users, values, statuses, strict=True)
    )


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """The records for ``records.from_json``; the dataset needs the questions ``label`` and ``note``."""
    records = [
        {
            "id": ":".join(quote(part, safe="") for part in (item.qid, item.docno)),
            "fields": {"query": item.query or item.qid, "text": item.text or item.docno},
            "metadata": {"qid": item.qid, "docno": item.docno, "pt_active": worklist.plan},
            "suggestions": {},
            "responses": {},
            "vectors": {},
            "_server_id": None,
        }
        for item in worklist
    ]
    return {"": json_text(records, indent=1) + "\n"}
