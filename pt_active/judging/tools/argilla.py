"""Argilla: records as JSON, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from pt_active.frames.records import SKIPPED
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery, Given, items, list_of, object_of, text_of
from pt_active.judging.worklist import Worklist

_LABEL, _NOTE = "label", "note"  # The questions of the dataset
_DISCARDED, _DRAFT = "discarded", "draft"
"""The statuses of responses that were skipped, and of those that were not submitted."""


def recognises(delivery: Delivery) -> bool:
    """Whether it is a list of records, nested or flat."""
    first = delivery.first_of_list
    return {"fields", "metadata", "responses"} <= first.keys() or "_server_id" in first


def read(delivery: Delivery) -> Iterator[Given]:
    """What annotators said: from ``records.to_json``, or from ``records.to_list(flatten=True)``, which has statuses."""
    records = ((f"record {i}", object_of(each, f"record {i}")) for i, each in enumerate(delivery.json, start=1))
    found = ((place, each.get("metadata") if "fields" in each else each, each) for place, each in records)
    for item, record in items("argilla", found):
        notes = {user: text_of(value) for user, value, _ in _answers(record, _NOTE, str(item.place))}
        labels = {user: (value, status) for user, value, status in _answers(record, _LABEL, str(item.place))}
        for user in {**labels, **notes}:
            value, said = labels.get(user, (None, ""))
            if said != _DRAFT:
                label, status = (None, SKIPPED) if said == _DISCARDED or value is None else (value, "")
                yield item._replace(label=label, annotator=user, status=status, note=notes.get(user, ""))


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
    yield from zip(map(text_of, users), values, map(text_of, statuses), strict=True)


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
