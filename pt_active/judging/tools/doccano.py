"""doccano: JSON lines in, and a file for each annotator out."""

from __future__ import annotations

from collections.abc import Iterator

from pt_active.frames.checks import shown
from pt_active.frames.sources import naming
from pt_active.frames.tables import json_value
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery
from pt_active.judging.given import Given, check_each_once, ids_in, list_of, object_of, text_of
from pt_active.judging.worklist import Worklist

_TOOL = "doccano"


def recognises(delivery: Delivery) -> bool:
    """Whether it is JSON lines with lists of labels, or an archive of such files."""
    if delivery.is_archive:
        return any(recognises(each) for each in _files(delivery))
    first = delivery.first_object
    return isinstance(first.get("label", first.get("labels")), list) and "text" in first


def _files(delivery: Delivery) -> list[Delivery]:
    return [each for each in delivery.members if each.path.endswith(".jsonl")]


def read(delivery: Delivery) -> list[Given]:
    """What annotators said; the name of a file is that of its annotator."""
    if delivery.is_archive:
        return [each for file in _files(delivery) for each in read(file)]
    with naming(delivery.path):
        given = list(_lines(delivery))
        check_each_once([(each.qid, each.docno) for each in given], [each.place for each in given])
        return given


def _lines(delivery: Delivery) -> Iterator[Given]:
    for number, line in delivery.source.lines():
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            entry = object_of(json_value(line), place)
        except ValueError as error:
            raise ValueError(str(error) if str(error).startswith(place) else f"{place}: {error}") from error
        qid, docno = ids_in(entry, place, _TOOL)
        labels = list_of(entry.get("label", entry.get("labels")), place, "labels")
        if len(labels) > 1:
            raise ValueError(f"{place}: expected one label; got {shown(labels)}")
        note = "\n".join(map(text_of, list_of(entry.get("Comments", entry.get("comments")), place, "comments")))
        label, plan = labels[0] if labels else None, text_of(entry.get("pt_active"))
        yield Given(place, qid, docno, label, delivery.stem, "", "", note, plan)


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
