"""Which judging tools are there?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pt_active.judging.delivery import Delivery
from pt_active.judging.given import Given
from pt_active.judging.tools import argilla, doccano, label_studio, mturk, potato, quepid, table
from pt_active.judging.worklist import Worklist


class Tool(NamedTuple):
    """A judging tool.

    Attributes:
        title: Its name.
        recognises: Whether a file is one that it delivers.
        read: From what it delivers to what annotators said.
        write: From a worklist to the files that it takes: what replaces the suffix of the name → content. The key of
            the worklist itself is empty.
    """

    title: str
    recognises: Callable[[Delivery], bool]
    read: Callable[[Delivery], list[Given]]
    write: Callable[[Worklist], dict[str, str | bytes]]


TOOLS: dict[str, Tool] = {
    "label-studio": Tool("Label Studio", label_studio.recognises, label_studio.read, label_studio.write),
    "quepid": Tool("Quepid", quepid.recognises, quepid.read, quepid.write),
    "doccano": Tool("doccano", doccano.recognises, doccano.read, doccano.write),
    "potato": Tool("Potato", potato.recognises, potato.read, potato.write),
    "argilla": Tool("Argilla", argilla.recognises, argilla.read, argilla.write),
    "mturk": Tool("Mechanical Turk", mturk.recognises, mturk.read, mturk.write),
    "csv": Tool("table", table.recognises_text, table.read, table.write_csv),
    "xlsx": Tool("spreadsheet", table.recognises_workbook, table.read, table.write_xlsx),
}
"""The tools by the names that the command line has for them. A new tool needs a module and a line here."""
