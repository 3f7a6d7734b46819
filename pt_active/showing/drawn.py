"""How does a notebook show a result: as a figure, and as a chart above its text?"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from pt_active.showing import charts, plots
from pt_active.showing.charts import Row
from pt_active.showing.printed import Printed
from pt_active.showing.rounding import with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROWS = 15
"""Rows of a chart above a result's text."""


class Picture(NamedTuple):
    """What is drawn of a result.

    Attributes:
        table: ``name, estimate, low, high``, and if only some rows are sure, ``sure``.
        quantity: What is estimated.
        sides: The rankers for which values left and right of 0 speak; None if there is no 0 to compare with.
        compared: Whether 0 means no difference.
    """

    table: pd.DataFrame
    quantity: str
    sides: tuple[str, str] | None = None
    compared: bool = False


class Drawn(Printed):
    """Base of results that a notebook shows with a chart."""

    def _drawn(self) -> Picture:
        """What is drawn."""
        raise NotImplementedError

    def plot(self) -> Figure:
        """The estimates with their intervals, as a matplotlib figure."""
        table, quantity, sides, compared = self._drawn()
        label = quantity if sides is None else plots.toward(quantity, *sides)
        return plots.plot_estimates(table, label, 0.0 if compared else None)

    def _picture(self) -> str:
        table, quantity, sides, compared = self._drawn()
        known = table[table["estimate"].notna()].head(MAX_ROWS)
        if known.empty:
            return ""
        sure = known["sure"] if "sure" in known.columns else [True] * len(known)
        rows = [
            Row(
                str(name), float(value), float(low), float(high), with_interval(value, low, high, sign=compared), strong
            )
            for name, value, low, high, strong in zip(
                *(known[column] for column in ("name", "estimate", "low", "high")), sure, strict=True
            )
        ]
        speak = None if sides is None else (f"for {sides[0]}", f"for {sides[1]}")
        drawing = charts.intervals(rows, 0.0 if compared else None, quantity, speak)
        said = "; ".join(f"{row.label}: {row.text}" for row in rows)
        name = f"drawn-{zlib.crc32(said.encode('utf-8', 'replace')):08x}"
        return charts.framed(drawing.svg(name, quantity, said))
