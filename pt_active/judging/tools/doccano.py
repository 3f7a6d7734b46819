"""doccano: JSON lines in, and a file for each annotator out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pt_active.frames.sources import naming
from pt_active.frames.tables import json_value
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery, Given, items, list_of, object_of, only, text_of
from pt_active.judging.worklist import Worklist


def recognises(delivery: Delivery) -> bool:
    """Whether it is JSON lines with lists of labels."""
    first = delivery.first_object
    return isinstance(first.get("label", first.get("labels")), list) and "text" in first


def read(delivery: Delivery) -> Iterator[Given]:
    """What annotators said; the name of a file is that of its annotator."""
    for item, entry in items("doccano", _lines(delivery)):
        place = str(item.place)
        labels = list_of(entry.get("label", entry.get("labels")), place, "labels")
        note = "\n".join(map(text_of, list_of(entry.get("Comments", entry.get("comments")), place, "comments")))
        yield item._replace(label=only(labels, place), annotator=delivery.stem, note=note)


def _lines(delivery: Delivery) -> Iterator[tuple[str, Any, Any]]:
    for number, line in delivery.source.lines():
        if line.strip():
            place = f"line {number}"
            with naming(place):
                entry = json_value(line)
            yield place, object_of(entry, place), entry


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """The documents, with the query above the text; and the label set as ``.labels.json``."""
    lines = []
    for item in worklist:
        text = f"{item.query or item.qid}\n\n{item.text or item.docno}"
        ours = {"qid": item.qid, "docno": item.docno, "pt_active": worklist.plan}
        lines.append(json_text({"text": text, **ours}) + "\n")
    labels = [
        {"text": label, "suffix_key": label[0] if len(label) == 1 else None, "background_color": "#7c93b2"}
        for label in worklist.labels
    ]
    return {"": "".join(lines), ".labels.json": json_text(labels, indent=1) + "\n"}
