"""How is a result printed, shown in a notebook, and made ready for JSON?"""

from __future__ import annotations

import html
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pt_active.frames.visible import visible
from pt_active.showing.charts import Intervals, framed
from pt_active.showing.plots import MAX_ESTIMATES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_NAMES = 5  # Rankers that a sentence names, at most
_MAX_ROWS = 15  # Rows of a chart above a result's text

Facts = list[tuple[str, str]]  # Pairs of a name and a text, in the order in which they are printed


class Printed:
    """Base of results that a notebook shows as printed text, some of them below a chart."""

    def _repr_html_(self) -> str:
        return f"{self._picture()}<pre>{html.escape(str(self))}</pre>"

    def _picture(self) -> str:
        """A chart as HTML; empty if there is none."""
        return ""


class Charted(Printed):
    """Base of results that a notebook shows with a chart."""

    def _chart(self) -> Intervals:
        raise NotImplementedError

    def plot(self) -> Figure:
        """The estimates with their intervals, as a matplotlib figure."""
        chart = self._chart()
        return replace(chart, rows=chart.rows[:MAX_ESTIMATES]).figure()

    def _picture(self) -> str:
        chart = self._chart()
        known = [row for row in chart.rows if not np.isnan(row.value)][:_MAX_ROWS]
        if not known:
            return ""
        name = f"drawn-{zlib.crc32(str(known).encode('utf-8', 'replace')):08x}"
        return framed(replace(chart, rows=known).svg(name, chart.axis))


def printed(head: str, facts: Facts) -> str:
    """A heading, and below it one line per fact."""
    return visible("\n  ".join([head, *(f"{name:<12}{text}" for name, text in facts)]))


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Names as a sentence has them, the ``last`` joined by a word: ``a, b or c``; of many, ``a, b, c or 60 others``."""
    if len(names) > _MAX_NAMES:
        names = [*names[:3], f"{len(names) - 3} others"]
    return last.join(filter(None, (", ".join(names[:-1]), names[-1])))


def capital(text: str) -> str:
    """A text that begins a sentence."""
    return text[:1].upper() + text[1:]


def plain(value: Any) -> Any:
    """A value ready for JSON: dictionaries and lists of records and tables; NaN and infinite numbers become None."""
    if isinstance(value, pd.DataFrame):
        return plain_rows(value)
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def plain_rows(table: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of a table, ready for JSON: NaN and infinite numbers become None."""
    rows: list[dict[str, object]] = plain(table.to_dict("records"))
    return rows
