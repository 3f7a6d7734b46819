"""How does a notebook show a result: as a figure, and as a chart above its text?"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pt_active.showing.charts import Intervals
from pt_active.showing.plots import MAX_ESTIMATES
from pt_active.showing.printed import Printed
from pt_active.showing.svg import framed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_ROWS = 15
"""Rows of a chart above a result's text."""


class Drawn(Printed):
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
