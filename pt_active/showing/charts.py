"""What is a chart: intervals, bars or lines, as SVG and as a matplotlib figure?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pt_active.showing.rounding import number, with_interval
from pt_active.showing.svg import (
    FAINT,
    FIRST,
    INK,
    LEFT,
    LINE,
    SECOND,
    WIDE,
    Canvas,
    ChartRow,
    Scale,
    Series,
    Sides,
    cut_labels,
    short,
    toward,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OF_FIGURES = {FIRST: "#0072b2", SECOND: "#d55e00", INK: "#323130"}
"""The colours of figures, whose background is transparent: a notebook can show them light or dark."""


class Chart:
    """What is drawn, on whatever it is drawn; `_told` has its numbers in words, for readers who cannot see it."""

    def _told(self) -> str:
        raise NotImplementedError

    def _on(self, canvas: Canvas) -> None:
        raise NotImplementedError

    def _in(self, axes: Axes) -> None:
        raise NotImplementedError

    @property
    def _tall(self) -> float:
        return 3.6

    def figure(self) -> Figure:
        """The chart as a matplotlib figure."""
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        look: Any = dict.fromkeys(inked, _OF_FIGURES[INK]) | {"font.size": 10}
        with mpl.rc_context(look):
            figure = Figure(figsize=(6.4, self._tall), layout="constrained", facecolor="none")
            FigureCanvasAgg(figure)
            axes = figure.subplots()
            self._in(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.patch.set_alpha(0.0)
        return figure

    def svg(self, name: str, title: str, message: str = "") -> str:
        """The chart as an ``<svg>`` element, whose description begins with a message."""
        canvas = Canvas()
        self._on(canvas)
        return canvas.svg(name, title, f"{message} {self._told().rstrip(';')}.".strip())


@dataclass(frozen=True)
class Intervals(Chart):
    """Estimates with their intervals, one below the other; if 0 is compared with, it is marked."""

    rows: Sequence[ChartRow]
    axis: str = ""
    compared: bool = False
    sides: Sides | None = None

    def _told(self) -> str:
        told = []
        for row in self.rows:
            ends = f" from {number(row.low)} to {number(row.high)}" if np.isfinite(row.low) else ""
            told.append(f"{row.label} {number(row.value)}{ends}{'' if row.strong else ', not told apart'}")
        return "; ".join(told)

    def _on(self, canvas: Canvas) -> None:
        ends = [end for row in self.rows for end in row[1:4]]
        scale = Scale.over([*ends, *([0.0] if self.compared else [])])
        for row in canvas.headed([row._replace(text=row.text or self._numbers(row)) for row in self.rows]):
            top, y = canvas.top, canvas.top + 10
            if self.compared:
                canvas.line(scale.at(0.0), top, scale.at(0.0), top + 26, INK, 1, "3 3")
            if np.isfinite(row.low) and np.isfinite(row.high):
                canvas.line(scale.at(row.low), y, scale.at(row.high), y, FIRST, 3)
                for end in (row.low, row.high):
                    canvas.line(scale.at(end), y - 6, scale.at(end), y + 6, FIRST, 2)
            if np.isfinite(row.value):
                canvas.dot(scale.at(row.value), y, FIRST, row.strong)
            canvas.top += 26
        canvas.axis(scale, self.axis, self.sides)

    def _numbers(self, row: ChartRow) -> str:
        return with_interval(row.value, row.low, row.high, sign=self.compared) if np.isfinite(row.value) else ""

    @property
    def _tall(self) -> float:
        return 0.9 + 0.32 * len(self.rows)

    def _in(self, axes: Axes) -> None:
        value, low, high = np.array([row[1:4] for row in self.rows], dtype=float).T
        hollow = np.array([not row.strong for row in self.rows])
        places, blue = np.arange(len(value)), _OF_FIGURES[FIRST]
        arms = np.nan_to_num([value - low, high - value], posinf=0.0, neginf=0.0)
        axes.errorbar(value, places, xerr=arms, fmt="o", capsize=4, lw=2, color=blue)
        axes.plot(value[hollow], places[hollow], "o", mfc="white", color=blue)
        if self.compared:
            axes.axvline(0.0, color=_OF_FIGURES[INK], lw=1, ls=":")
        _name_rows(axes, self.rows, self.axis, self.sides)


@dataclass(frozen=True)
class Bars(Chart):
    """Bars from 0: positive ones right in the first colour, negative ones left; NaN is a heading of rows below."""

    rows: Sequence[ChartRow]
    axis: str = ""
    sides: Sides | None = None

    def _told(self) -> str:
        return " ".join(
            f"{row.label}: {number(row.value)};" if np.isfinite(row.value) else row.label for row in self.rows
        )

    def _on(self, canvas: Canvas) -> None:
        scale = Scale.over([0.0, *(row.value for row in self.rows)])
        for row in canvas.headed(self.rows):
            canvas.top += 4
            if np.isfinite(row.value):
                top, (left, right) = canvas.top - 4, sorted((scale.share(0.0), scale.share(row.value)))
                where = f'x="{LEFT + WIDE * left:.2f}%" width="{WIDE * (right - left):.2f}%"'
                canvas.box(f'{where} height="10"', top + 2, FIRST if row.value >= 0 else SECOND, 10)
                canvas.line(scale.at(0.0), top - 1, scale.at(0.0), top + 15, INK, 1)
                canvas.top += 16
        canvas.axis(scale, self.axis, self.sides)

    @property
    def _tall(self) -> float:
        return 0.8 + 0.27 * max(len(self.rows), 4)

    def _in(self, axes: Axes) -> None:
        value = np.array([row.value for row in self.rows], dtype=float)
        axes.barh(np.arange(len(value)), value, color=[_OF_FIGURES[SECOND if v < 0 else FIRST] for v in value])
        axes.axvline(0, color=_OF_FIGURES[INK], lw=1)
        _name_rows(axes, self.rows, self.axis, self.sides)


@dataclass(frozen=True)
class Lines(Chart):
    """Lines and points over two scales: in SVG linear ones with 0, in a figure logarithmic ones if asked for."""

    series: Sequence[Series]
    x_axis: str
    y_axis: str
    marked: tuple[float, str] | None = None
    logarithmic: bool = False

    def _told(self) -> str:
        seen = [each for each in self.series if each.mark]
        points = ((each.name, *point) for each in seen for point in zip(each.x, each.y, strict=True))
        return "; ".join(f"{name}, at {number(x)}: {number(y)}" for name, x, y in points)

    def _on(self, canvas: Canvas) -> None:
        ends = np.concatenate([y for each in self.series for y in (each.y, each.y + _arms(each))])
        far = [*(each.x for each in self.series), np.array([self.marked[0] if self.marked else 0.0])]
        across, up, tall = Scale.with_zero(np.concatenate(far), 0.04), Scale.with_zero(ends, 0.06), 260
        for each in self.series:
            canvas.top += 20
            canvas.key(each, canvas.top - 4)
        canvas.text(0, canvas.top + 20, self.y_axis, colour=FAINT, size=12)
        top = canvas.top = canvas.top + 30

        def place(value: float) -> float:
            return top + tall * (1 - up.share(value))

        for value, label in up.ticks():
            canvas.line(f"{LEFT}%", place(value), f"{LEFT + WIDE}%", place(value), LINE, 1)
            canvas.text(f"{LEFT}%", place(value) - 3, label, colour=FAINT, size=12)
        if self.marked is not None:
            here, anchor = across.at(self.marked[0]), "end" if across.share(self.marked[0]) > 0.5 else "start"
            canvas.line(here, top, here, top + tall, INK, 1, "3 3")
            canvas.text(here, top + 12, f"{self.marked[1]} ", anchor)
        for each in self.series:
            points = [(float(x), place(y)) for x, y in zip(each.x, each.y, strict=True)]
            if each.dash is not None:
                canvas.path([(100 * across.share(x), y) for x, y in points], each.colour, each.dash, top + tall)
            for (x, y), value, arm in zip(points, each.y, _arms(each), strict=True) if each.mark else ():
                if arm:
                    canvas.line(across.at(x), place(value - arm), across.at(x), place(value + arm), each.colour, 2)
                canvas.mark(across.at(x), y, each)
        canvas.top += tall
        canvas.axis(across, self.x_axis)

    def _in(self, axes: Axes) -> None:
        lines, marks = {None: "", "": "-", "6 4": "--", "2 4": ":"}, {"dot": "o", "box": "s", "": ""}
        for each in self.series:
            style: Any = {"color": _OF_FIGURES[each.colour], "ls": lines[each.dash], "marker": marks[each.mark]}
            axes.plot(each.x, each.y, ms=4, label=_plain(each.name), **style)
            if each.error is not None:
                axes.errorbar(each.x, each.y, yerr=_arms(each), fmt="none", capsize=3, color=style["color"])
        if self.marked is not None:
            axes.axvline(self.marked[0], color=_OF_FIGURES[INK], lw=1, ls=":", label=_plain(self.marked[1]))
        if self.logarithmic:
            from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

            axes.set(xscale="log", yscale="log")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axis.set_minor_formatter(NullFormatter())
        axes.set(xlabel=_plain(short(self.x_axis, 42)), ylabel=_plain(self.y_axis))
        axes.legend(frameon=False)


def _arms(series: Series) -> np.ndarray:
    return np.zeros(len(series.x)) if series.error is None else np.nan_to_num(series.error, posinf=0.0)


def _name_rows(axes: Axes, rows: Sequence[ChartRow], axis: str, sides: Sides | None) -> None:
    """The labels of rows, from the top, and what the scale shows."""
    axes.set_yticks(np.arange(len(rows)), [_plain(label) for label in cut_labels([row.label for row in rows])])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(_plain("\n".join([axis] if sides is None else [axis, toward(sides)])))


def _plain(label: str) -> str:
    """A label with dollar signs escaped: matplotlib takes them for mathematics."""
    return label.replace("$", r"\$")
