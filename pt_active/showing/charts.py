"""What is a chart: intervals, bars or lines, as a matplotlib figure and as SVG?"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pt_active.frames.visible import visible, visible_field
from pt_active.showing.rounding import number, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST, SECOND, INK, GROUND = "#0072b2", "#c25400", "#323130", "#ffffff"
"""The colours of figures: two of Okabe and Ito, that of words, and that inside of hollow marks."""

_ON_PAGES = {FIRST: "var(--first)", SECOND: "var(--second)", INK: "var(--ink)", GROUND: "var(--ground)"}
"""Colour of a figure → variable of a page, which may be light or dark."""

_VARIABLES = f"--first: {FIRST}; --second: {SECOND}; --ink: currentColor; --ground: transparent"
"""The colours of charts outside of a report, where text has that of its surroundings."""

_WIDE = 4.6  # Width of a figure in inches: on a phone, its letters are as large as those of a table
_WIDEST = 54  # Characters of a label

_UNUSED_ID = re.compile(r' id="[A-Za-z][\w.]*_\d+"')
"""Matplotlib numbers the groups of each figure alike, and nothing refers to them."""

Sides = tuple[str, str]  # What values left and right of 0 mean


class ChartRow(NamedTuple):
    """A row of a chart: an estimate, whose mark is hollow unless it is strong, or a bar."""

    label: str
    value: float
    low: float = np.nan
    high: float = np.nan
    strong: bool = True


class Series(NamedTuple):
    """Points of a plot with a line and marks as matplotlib names them; ``error`` has the lengths of arms."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str = FIRST
    line: str = "-"
    mark: str = "o"
    error: np.ndarray | None = None


class Chart:
    """What is drawn; `_told` has its numbers in words, for readers who cannot see it."""

    def _told(self) -> str:
        raise NotImplementedError

    def _in(self, axes: Axes) -> None:
        raise NotImplementedError

    @property
    def _tall(self) -> float:
        """The height in inches."""
        return 3.4

    def figure(self) -> Figure:
        """The chart as a matplotlib figure, whose background is transparent."""
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        look: Any = dict.fromkeys(inked, INK) | {"font.size": 10, "text.parse_math": False}
        with mpl.rc_context(look):
            figure = Figure(figsize=(_WIDE, self._tall), layout="constrained", facecolor="none")
            FigureCanvasAgg(figure)
            axes = figure.subplots()
            self._in(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.patch.set_visible(False)
        return figure

    def svg(self, name: str, title: str) -> str:
        """The chart as an ``<svg>`` element in the colours of its page, described by its numbers."""
        import matplotlib as mpl

        file = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the page has its own letters
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            self.figure().savefig(file, format="svg", transparent=True, metadata=nothing)
        # Its own element and its style have no use on a page.
        head, _, drawn = file.getvalue().partition("</style>\n </defs>")
        size = re.findall('viewBox="[^"]*"', head)[0]
        for colour, variable in _ON_PAGES.items():
            drawn = drawn.replace(colour, variable)
        named = f'<title id="{name}-title">{html.escape(visible_field(title))}</title>'
        told = f'<desc id="{name}-desc">{html.escape(visible(self._told()))}.</desc>'
        labelled = f'role="img" aria-labelledby="{name}-title {name}-desc"'
        return f"<svg {size} {labelled}>{named}{told}{_UNUSED_ID.sub('', drawn).rstrip()}"


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

    @property
    def _tall(self) -> float:
        return 0.8 + 0.58 * max(len(self.rows), 1)

    def _in(self, axes: Axes) -> None:
        value, low, high = np.array([row[1:4] for row in self.rows], dtype=float).T
        hollow = np.array([not row.strong for row in self.rows])
        places = np.arange(len(value))
        known = np.isfinite(low) & np.isfinite(high)
        middle, half = (low[known] + high[known]) / 2, (high[known] - low[known]) / 2  # not around a value outside
        axes.plot(value, places, "o", color=FIRST, zorder=3)
        axes.plot(value[hollow], places[hollow], "o", mfc=GROUND, color=FIRST, zorder=4)
        axes.errorbar(middle, places[known], xerr=half, fmt="none", capsize=4, lw=2, color=FIRST)
        if self.compared:
            _mark_zero(axes, places, ":")
        words = []
        for row in self.rows:
            numbers = with_interval(row.value, row.low, row.high, sign=self.compared) if np.isfinite(row.value) else ""
            words.append(f"{short(row.label, _WIDEST)}\n{numbers}".rstrip())
        _name_rows(axes, words, self.axis, self.sides)


@dataclass(frozen=True)
class Bars(Chart):
    """Bars from 0: positive ones right in the first colour, negative ones left in the second."""

    rows: Sequence[ChartRow]
    axis: str = ""
    sides: Sides | None = None

    def _told(self) -> str:
        return "; ".join(f"{row.label}: {number(row.value)}" for row in self.rows)

    @property
    def _tall(self) -> float:
        return 0.8 + 0.42 * max(len(self.rows), 1)

    def _in(self, axes: Axes) -> None:
        value = np.array([row.value for row in self.rows], dtype=float)
        places = np.arange(len(value))
        axes.barh(places, value, 0.3, color=[SECOND if each < 0 else FIRST for each in value])
        _mark_zero(axes, places, "-")
        _name_rows(axes, [short(row.label, _WIDEST) for row in self.rows], self.axis, self.sides)


@dataclass(frozen=True)
class Lines(Chart):
    """Lines and points over two scales that hold 0."""

    series: Sequence[Series]
    x_axis: str
    y_axis: str
    marked: tuple[float, str] | None = None

    def _told(self) -> str:
        seen = [each for each in self.series if each.mark]
        points = ((each.name, *point) for each in seen for point in zip(each.x, each.y, strict=True))
        return "; ".join(f"{name}, at {number(x)}: {number(y)}" for name, x, y in points)

    def _in(self, axes: Axes) -> None:
        for each in self.series:
            axes.plot(each.x, each.y, color=each.colour, ls=each.line, marker=each.mark, ms=4, label=each.name)
            if each.error is not None:
                arms = np.nan_to_num(each.error, posinf=0.0)
                axes.errorbar(each.x, each.y, yerr=arms, fmt="none", capsize=3, color=each.colour)
        if self.marked is not None:
            axes.axvline(self.marked[0], color=INK, lw=1, ls=":", label=self.marked[1])
        axes.update_datalim([(0.0, 0.0)])
        axes.autoscale_view()
        axes.locator_params(nbins=6)
        axes.set(xlabel=self.x_axis, ylabel=self.y_axis)
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))


def framed(svg: str) -> str:
    """A chart with the colours that a report's page has, for a place that has none, such as a notebook."""
    return f'<div style="max-width: 34rem; {_VARIABLES}">{svg}</div>\n'


def _mark_zero(axes: Axes, places: np.ndarray, line: Literal["-", ":"]) -> None:
    """Mark 0 in rows, int64[r], below their words."""
    axes.vlines(np.zeros(len(places)), places - 0.2, places + 0.25, INK, line, lw=1)


def _name_rows(axes: Axes, words: Sequence[str], axis: str, sides: Sides | None) -> None:
    """Each row below its words, from the top, and what the scale and its two sides mean."""
    for place, each in enumerate(words):
        axes.text(0, place - 0.2, each, va="bottom", transform=axes.get_yaxis_transform())
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(words) - 0.6, -0.8)
    axes.locator_params(axis="x", nbins=6)
    below = [axis] if sides is None else [axis, f"← {short(sides[0], 22)} · {short(sides[1], 22)} →"]
    axes.set_xlabel("\n".join(below))


def short(text: str, most: int) -> str:
    """A label on one line, cut in its middle."""
    text, half = visible_field(str(text)), (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[-half:]}"
