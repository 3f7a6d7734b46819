"""The judging tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pt_active.judging.delivery import Delivery, Given
from pt_active.judging.tools import argilla, doccano, label_studio, mturk, potato, quepid, table
from pt_active.judging.worklist import Worklist


class Tool(NamedTuple):
    """A judging tool."""

    title: str
    recognises: Callable[[Delivery], bool]  # whether a file is one that it delivers
    read: Callable[[Delivery], Iterable[Given]]  # from what it delivers to what annotators said
    write: Callable[[Worklist], dict[str, str | bytes]]  # what replaces the name's suffix (may be empty) → content
    packed: str = ""  # the suffix of its files in an archive; empty if it does not pack them into one

    def parts(self, delivery: Delivery) -> list[Delivery]:
        """The files of a delivery that may be the tool's: those of an archive, or the delivery itself."""
        if delivery.is_archive and self.packed:
            return [each for each in delivery.members if each.path.endswith(self.packed)]
        return [delivery]


TOOLS: dict[str, Tool] = {
    "label-studio": Tool("Label Studio", label_studio.recognises, label_studio.read, label_studio.write),
    "quepid": Tool("Quepid", quepid.recognises, quepid.read, quepid.write, ".json"),
    "doccano": Tool("doccano", doccano.recognises, doccano.read, doccano.write, ".jsonl"),
    "potato": Tool("Potato", potato.recognises, potato.read, potato.write),
    "argilla": Tool("Argilla", argilla.recognises, argilla.read, argilla.write),
    "mturk": Tool("Mechanical Turk", mturk.recognises, mturk.read, mturk.write),
    "csv": Tool("table", table.recognises_text, table.read, table.write_csv),
    "xlsx": Tool("spreadsheet", table.recognises_workbook, table.read, table.write_xlsx),
}
"""The tools by the names that the command line has for them. A new tool needs a module and a line here."""
