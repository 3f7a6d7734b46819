"""The judging tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pt_active.judging.delivery import Delivery, Given
from pt_active.judging.tools import label_studio, quepid, table
from pt_active.judging.worklist import Worklist


class Tool(NamedTuple):
    """A judging tool."""

    title: str
    read: Callable[[Delivery], Iterable[Given]]  # from what it delivers to what annotators said
    write: Callable[[Worklist], dict[str, str | bytes]]  # what replaces the name's suffix (may be empty) → content


TOOLS: dict[str, Tool] = {
    "label-studio": Tool("Label Studio", label_studio.read, label_studio.write),
    "quepid": Tool("Quepid", quepid.read, quepid.write),
    "csv": Tool("table", table.read, table.write_csv),
    "xlsx": Tool("spreadsheet", table.read, table.write_xlsx),
}
"""The tools by the names that the command line has for them. A new tool needs a module and a line here."""
