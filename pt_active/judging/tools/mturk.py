"""Amazon Mechanical Turk: a CSV of inputs with a page, and the CSV of a batch's results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

import pandas as pd

from pt_active.frames.checks import shown, some, unfit
from pt_active.frames.records import SKIPPED
from pt_active.frames.tables import read_table
from pt_active.frames.visible import guarded, unguarded, visible
from pt_active.judging.delivery import Delivery, Given, only
from pt_active.judging.worklist import Worklist

_IDS = ("Input.qid", "Input.docno", "WorkerId")
_LABELS = ("Answer.label", "Answer.label.label")
"""Where the grade stands: of plain forms, and of the element for classification."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700"}

_TIME = re.compile(rf"\w{{3}} ({'|'.join(_MONTHS)}) (\d\d) (\d\d:\d\d:\d\d) ({'|'.join(_ZONES)}) (\d{{4}})")
"""Such as ``Tue Mar 03 14:05:14 PST 2026``."""

_PAGE = """<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>
<crowd-form>
  <h2>${query}</h2>
  <p style="white-space: pre-wrap">${text}</p>
BUTTONS
  <p><label>Note <input type="text" name="note"></label></p>
</crowd-form>
"""


def recognises(delivery: Delivery) -> bool:
    """Whether the header is that of a batch's results with our inputs."""
    return all(name in delivery.first_line[:10_000] for name in _IDS)


def read(delivery: Delivery) -> Iterator[Given]:
    """What workers said. Assignments that were rejected are left out."""
    table = read_table(delivery.source, ",", (*_IDS, "AssignmentStatus"))
    radio = [name for name in table.columns if re.fullmatch(r"Answer\.label\..+", name) and name not in _LABELS]
    if not radio and not any(name in table.columns for name in _LABELS):
        raise ValueError(f"expected a column {_LABELS[0]} or {_LABELS[1]}; got {some(table.columns, 60)}")
    counted = table[table["AssignmentStatus"].str.strip().str.casefold() != "rejected"]
    for number, row in counted.iterrows():
        place = f"row {number}"
        said = [row[name] for name in _LABELS if row.get(name, "").strip()]
        said += [name.rpartition(".")[2] for name in radio if row[name].strip().casefold() == "true"]
        label, (qid, docno) = only(said, place), unguarded(row[["Input.qid", "Input.docno"]])
        # The worker was paid for an answer, so an empty one is a skip.
        status, when = "" if said else SKIPPED, _utc(row.get("SubmitTime", ""), place)
        note, plan = row.get("Answer.note", ""), row.get("Input.pt_active", "")
        yield Given(place, qid, docno, label, row["WorkerId"], status, when, note, plan)


def _utc(text: str, place: str) -> str:
    if not text.strip():
        return ""
    if (match := _TIME.fullmatch(text.strip())) is None:
        raise unfit(place, "a SubmitTime such as Tue Mar 03 14:05:14 PST 2026", shown(text))
    month, day, clock, zone, year = match.groups()
    return f"{year}-{_MONTHS.index(month) + 1:02}-{day}T{clock}{_ZONES[zone]}"


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """The inputs, one row a document, and the page of the task as ``.template.html``."""
    rows = [
        (item.qid, item.docno, visible(item.query) or item.qid, visible(item.text) or item.docno, worklist.plan)
        for item in worklist
    ]
    table = pd.DataFrame(rows, columns=["qid", "docno", "query", "text", "pt_active"]).apply(guarded)
    return {"": table.to_csv(index=False, lineterminator="\n"), ".template.html": _template(worklist)}


def _template(worklist: Worklist) -> str:
    shown_as = {str(grade): worklist.names.of(grade) for grade in worklist.grades}
    buttons = [
        f'  <p><label><input type="radio" name="label" value="{label}" required> {escape(shown_as.get(label, label))}'
        "</label></p>"
        for label in worklist.labels
    ]
    return _PAGE.replace("BUTTONS", "\n".join(buttons))
