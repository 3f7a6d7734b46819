"""Potato: items as JSON lines with a configuration, and the state of a user out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from pt_active.frames.checks import shown, unfit
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery, Given, list_of, object_of, only, text_of
from pt_active.judging.worklist import Worklist

_USER, _VALUES = "user_id", "instance_id_to_label_to_value"
_GRADE, _NOTE = "label", "note"  # The schemes of the configuration: the grade, and a note
_UNSET = ("", "false", "none", "null")


def recognises(delivery: Delivery) -> bool:
    """Whether it is the state of a user."""
    return delivery.is_object_with(_VALUES)


def read(delivery: Delivery) -> Iterator[Given]:
    """What a user said."""
    state = object_of(delivery.json, "the state", _USER, _VALUES)
    for item, answers in object_of(state[_VALUES], "the state").items():
        place = f"item {shown(item)}"
        parts = [unquote(part, errors="strict") for part in item.split(":")]
        if len(parts) != 3:
            raise ValueError(f"{place}: expected an id qid:docno:plan that `pt-active export --format potato` wrote")
        said = list(_values(answers, place))
        note = "\n".join(text_of(value) for scheme, _, value in said if scheme == _NOTE)
        chosen = [each for each in said if each[0] == _GRADE and text_of(each[2]).strip().casefold() not in _UNSET]
        grade = only([name for _, name, _ in chosen], place)
        yield Given(place, parts[0], parts[1], grade, text_of(state[_USER]), note=note, plan=parts[2])


def _values(labels: Any, place: str) -> Iterator[tuple[str, str, object]]:
    """Scheme, label and value of each answer: of pairs, as a server writes them, or of nested objects."""
    if isinstance(labels, dict):
        for scheme, values in labels.items():
            inner = object_of(values, place)
            for name, value in object_of(inner.get("labels", inner), place).items():
                yield scheme, name, value
        return
    for pair in list_of(labels, place, "answers"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise unfit(place, "pairs of a label and its value", shown(pair))
        about = object_of(pair[0], place, "schema", "name")
        yield text_of(about["schema"]), text_of(about["name"]), pair[1]


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """The items, whose ids hold query, document and plan; and the configuration as ``.config.yaml``."""
    lines = []
    for item in worklist:
        name = ":".join(quote(part, safe="") for part in (item.qid, item.docno, worklist.plan))
        text = f"{item.query or item.qid}\n\n{item.text or item.docno}"
        lines.append(json_text({"id": name, "text": text}) + "\n")
    return {"": "".join(lines), ".config.yaml": _configuration(worklist)}


def _configuration(worklist: Worklist) -> str:
    """A configuration for the grades; JSON, which every reader of YAML takes."""
    tooltips = {str(grade): worklist.names.of(grade) for grade in worklist.grades}
    labels = [{"name": label, "tooltip": tooltips.get(label, label)} for label in worklist.labels]
    configuration = {
        "annotation_task_name": f"pt_active {worklist.plan}".strip(),
        "task_dir": ".",
        "data_files": ["items.jsonl"],
        "output_annotation_dir": "annotation_output",
        "item_properties": {"id_key": "id", "text_key": "text"},
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": _GRADE,
                "description": "How relevant is the document to the query?",
                "labels": labels,
                "sequential_key_binding": True,
                "label_requirement": {"required": True},
            },
            {"annotation_type": "text", "name": _NOTE, "description": "Note"},
        ],
    }
    return json_text(configuration, indent=1) + "\n"
