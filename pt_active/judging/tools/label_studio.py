"""Label Studio: tasks as JSON with a labelling configuration, and the full JSON export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pt_active.frames.checks import shown, unfit
from pt_active.frames.records import SKIPPED
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery, Given, items, list_of, object_of, text_of
from pt_active.judging.worklist import Worklist


def read(delivery: Delivery) -> Iterator[Given]:
    """What annotators said in the full JSON export, skips too."""
    exported = list_of(delivery.json, "the export", "tasks")
    tasks = ((f"task {i}", object_of(task, f"task {i}", "data")) for i, task in enumerate(exported, start=1))
    for item, task in items("label-studio", ((place, task["data"], task) for place, task in tasks)):
        place = str(item.place)
        for annotation in list_of(task.get("annotations"), place, "annotations"):
            about = object_of(annotation, place, "result")
            label, note = _result(list_of(about["result"], place, "results"), place)
            who = about.get("completed_by")
            if isinstance(who, dict):
                who = who.get("email") or who.get("id")
            said = item._replace(
                annotator=text_of(who), time=about.get("updated_at") or about.get("created_at"), note=note
            )
            # Without a grade, a submitted annotation says as little as a skip.
            skipped = about.get("was_cancelled") or label is None
            yield said._replace(status=SKIPPED) if skipped else said._replace(label=label)


def _result(results: list[Any], place: str) -> tuple[Any, str]:
    """The label and the note of an annotation; None if there is no label."""
    labels: list[object] = []
    notes: list[str] = []
    for result in results:
        value = object_of(object_of(result, place, "value")["value"], place)
        labels += list_of(value.get("choices"), place, "choices") + ([value["rating"]] if "rating" in value else [])
        text = value.get("text", [])
        notes += [text] if isinstance(text, str) else map(text_of, list_of(text, place, "texts"))
    if len(labels) > 1:
        raise unfit(place, "one grade", shown(labels))
    return next(iter(labels), None), "\n".join(notes)


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """The tasks, and the labelling configuration for the grades as ``.config.xml``."""
    from jinja2 import Template

    tasks = [{"data": {**item._asdict(), "pt_active": worklist.plan}} for item in worklist]
    configuration = Template(_CONFIGURATION, autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    return {"": json_text(tasks, indent=1) + "\n", ".config.xml": configuration.render(worklist=worklist)}


# Choices have the grade as their alias, which is what an export holds.
_CONFIGURATION = """\
<View>
  <Header value="$query"/>
  <Text name="text" value="{{ "$text" if worklist.has_texts else "$docno" }}"/>
  <Choices name="label" toName="text" choice="single" required="true" showInline="true">
{% for grade in worklist.grades %}
{% set key = ' hotkey="%d"' % grade if grade < 10 else "" %}
    <Choice value="{{ worklist.names.of(grade) }}" alias="{{ grade }}"{{ key | safe }}/>
{% endfor %}
    <Choice value="unjudgeable" hotkey="u"/>
  </Choices>
  <TextArea name="note" toName="text" placeholder="Note" maxSubmissions="1"/>
</View>
"""
