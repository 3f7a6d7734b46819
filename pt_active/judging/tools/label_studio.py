"""Label Studio: tasks as JSON with a labelling configuration, and the full JSON export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

from pt_active.frames.checks import shown
from pt_active.frames.records import SKIPPED
from pt_active.frames.sources import naming
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery
from pt_active.judging.given import Given, check_each_once, ids_in, list_of, object_of, text_of
from pt_active.judging.grade_names import UNJUDGEABLE_LABEL
from pt_active.judging.worklist import Worklist

_TOOL = "label-studio"

_KEYS = 10
"""Grades below this have their own key."""


def recognises(delivery: Delivery) -> bool:
    """Whether it is a list of tasks, or the short export without skips."""
    if not delivery.is_json_list:
        return False
    first = _first(delivery)
    return isinstance(first.get("data"), dict) or "annotation_id" in first


def _first(delivery: Delivery) -> dict[str, Any]:
    tasks = delivery.json
    return tasks[0] if isinstance(tasks, list) and tasks and isinstance(tasks[0], dict) else {}


def read(delivery: Delivery) -> list[Given]:
    """What annotators said in the full JSON export, skips too."""
    with naming(delivery.path):
        if "annotation_id" in _first(delivery):
            raise ValueError("this is Label Studio's JSON-MIN, which leaves skips out; export the project as JSON")
        tasks = [object_of(task, f"task {i}", "data") for i, task in enumerate(delivery.json, start=1)]
        places = [f"task {i}" for i in range(1, len(tasks) + 1)]
        check_each_once(map(_ids, tasks, places), places)
        return [each for task, place in zip(tasks, places, strict=True) for each in _annotations(task, place)]


def _ids(task: dict[str, Any], place: str) -> tuple[object, object]:
    return ids_in(task["data"], place, _TOOL)


def _annotations(task: dict[str, Any], place: str) -> Iterator[Given]:
    qid, docno = _ids(task, place)
    for annotation in list_of(task.get("annotations"), place, "annotations"):
        about = object_of(annotation, place, "result")
        label, note = _result(list_of(about["result"], place, "results"), place)
        # Without a grade, a submitted annotation says as little as a skip.
        status = SKIPPED if about.get("was_cancelled") or label is None else ""
        yield Given(
            place,
            qid,
            docno,
            None if status else label,
            _person(about.get("completed_by")),
            status,
            about.get("updated_at") or about.get("created_at"),
            note,
            text_of(task["data"].get("pt_active")),
        )


def _person(completed_by: Any) -> str:
    """The e-mail address of who judged; the number of the user if the export has no more."""
    if isinstance(completed_by, dict):
        return text_of(completed_by.get("email") or completed_by.get("id"))
    return text_of(completed_by)


def _result(results: list[Any], place: str) -> tuple[object, str]:
    """The label and the note of an annotation; None if there is no label."""
    labels: list[object] = []
    notes: list[str] = []
    for result in results:
        value = object_of(object_of(result, place, "value")["value"], place)
        labels += list_of(value.get("choices"), place, "choices") + ([value["rating"]] if "rating" in value else [])
        text = value.get("text", [])
        notes += [text] if isinstance(text, str) else map(text_of, list_of(text, place, "texts"))
    if len(labels) > 1:
        raise ValueError(f"{place}: expected one grade; got {shown(labels)}")
    return (labels[0] if labels else None), "\n".join(notes)


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """The tasks, and the labelling configuration for the grades as ``.config.xml``."""
    tasks = [{"data": {**item._asdict(), "pt_active": worklist.plan}} for item in worklist]
    return {"": json_text(tasks, indent=1) + "\n", ".config.xml": _configuration(worklist)}


def _configuration(worklist: Worklist) -> str:
    """The labelling configuration. Choices have the grade as their alias, which is what an export holds."""
    choices = []
    for grade in worklist.grades:
        key = f' hotkey="{grade}"' if grade < _KEYS else ""
        choices.append(f"    <Choice value={quoteattr(worklist.names.of(grade))} alias={quoteattr(str(grade))}{key}/>")
    shown_text = "$text" if worklist.has_texts else "$docno"
    lines = [
        "<View>",
        '  <Header value="$query"/>',
        f'  <Text name="text" value="{shown_text}"/>',
        '  <Choices name="label" toName="text" choice="single" required="true" showInline="true">',
        *choices,
        f'    <Choice value="{UNJUDGEABLE_LABEL}" hotkey="u"/>',
        "  </Choices>",
        '  <TextArea name="note" toName="text" placeholder="Note" maxSubmissions="1"/>',
        "</View>",
    ]
    return "\n".join(lines) + "\n"
