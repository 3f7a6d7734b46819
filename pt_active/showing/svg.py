"""How are marks and words drawn as SVG whose text keeps its size on every screen?

Places along the width are percentages and places along the height are pixels, so a chart is as wide as its page, and
its letters are not scaled with it. The colours are those of Okabe and Ito as variables of the page.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pt_active.frames.visible import visible, visible_field
from pt_active.showing.rounding import MINUS

FIRST, SECOND, INK, FAINT, LINE = "first", "second", "ink", "faint", "line"

_COLOURS = (
    "--first: #0072b2; --second: #c25400; --ink: currentColor; --faint: currentColor; --line: currentColor; "
    "--ground: transparent"
)
"""The colours of charts outside of a report, where text has that of its surroundings."""

LEFT, WIDE = 3.0, 94.0
"""Begin and width of the scale, in percent of the width: marks and tick labels need room beyond them."""

_CUT = (34, 44, 60)  # Lengths to which labels are cut, in characters: the first at which they stay distinct is used
_ONE_LINE = 42  # A label and its numbers share a line if they have at most so many characters
_TICK_ROOM = 36  # Characters that all tick labels of a scale may have together, so that they do not overlap on a phone

Sides = tuple[str, str]  # What values left and right of 0 mean


class ChartRow(NamedTuple):
    """A row of a chart: an estimate, whose mark is hollow unless it is strong, or a bar, with its numbers in words."""

    label: str
    value: float
    low: float = np.nan
    high: float = np.nan
    strong: bool = True
    text: str = ""


class Series(NamedTuple):
    """Points of a plot; ``dash`` is empty for a solid line, None for none, ``error`` has the lengths of arms."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str = FIRST
    dash: str | None = ""
    mark: str = "dot"
    error: np.ndarray | None = None


class Scale(NamedTuple):
    """A linear scale from data to percent of the width, with its ticks."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float]) -> Scale:
        """The scale over the finite ones of some values."""
        known = [value for value in values if np.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        room = 0.04 * (high - low) or abs(low) * 0.1 or 1.0
        return cls(low - room, high + room)

    @classmethod
    def with_zero(cls, values: np.ndarray, room: float) -> Scale:
        """The scale over 0 and some values, float64[N], with room beyond them."""
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        wide = room * ((high - low) or 1.0)
        return cls(low - (wide if low < 0 else 0.0), high + wide)

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        return float(np.clip((value - self.low) / (self.high - self.low), 0, 1))

    def at(self, value: float) -> str:
        """Where a value lies, in percent of the width."""
        return f"{LEFT + WIDE * self.share(value):.2f}%"

    def ticks(self) -> list[tuple[float, str]]:
        """Round values on the scale with their labels, which have room beside each other."""
        power = 10.0 ** np.floor(np.log10((self.high - self.low) / 10))
        for step in (power * factor for factor in (1, 2, 5, 10, 20, 50)):
            first, last = int(np.ceil(self.low / step - 1e-9)), int(np.floor(self.high / step + 1e-9))
            values = [step * n for n in range(first, last + 1)]
            places = max(0, -int(np.floor(np.log10(step * (1 + 1e-9)))))
            form = f".{places}f" if places < 7 else ".2g"
            labels = [f"{value + 0.0:{form}}".replace("-", MINUS) for value in values]
            if len(values) <= 6 and sum(map(len, labels)) + 2 * len(labels) <= _TICK_ROOM:
                return list(zip(values, labels, strict=True))
        return []


class Canvas:
    """Elements of a chart, its height, and where the next row begins."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.height = self.top = 0.0

    def svg(self, name: str, title: str, words: str) -> str:
        """The chart as an ``<svg>`` element."""
        head = f'<svg width="100%" height="{self.height:.0f}" role="img" aria-labelledby="{name}-title {name}-desc">'
        told = f'<desc id="{name}-desc">{html.escape(visible(words))}</desc>'
        return "\n".join([head, f'<title id="{name}-title">{_escaped(title)}</title>', told, *self.parts, "</svg>"])

    def _add(self, part: str, foot: float) -> None:
        self.parts.append(part)
        self.height = max(self.height, foot + 4)

    def text(
        self, x: str | float, y: float, words: str, anchor: str = "start", colour: str = INK, size: int = 14
    ) -> None:
        """A line of words whose foot is ``y``."""
        where = f'x="{x}" y="{y:.0f}" text-anchor="{anchor}"'
        self._add(f'<text {where} style="fill: var(--{colour}); font-size: {size}px">{_escaped(words)}</text>', y)

    def line(self, x1: str, y1: float, x2: str, y2: float, colour: str, wide: float, dash: str = "") -> None:
        """A straight line."""
        ends = f'x1="{x1}" y1="{y1:.1f}" x2="{x2}" y2="{y2:.1f}"'
        self._add(f'<line {ends} style="{_stroke(colour, wide, dash)}"/>', max(y1, y2))

    def dot(self, x: str, y: float, colour: str, filled: bool = True, size: float = 5.5) -> None:
        """A circle, filled with its colour or with that of the page."""
        inside = f"fill: var(--{colour if filled else 'ground'})"
        self._add(f'<circle cx="{x}" cy="{y:.1f}" r="{size}" style="{inside}; {_stroke(colour, 2)}"/>', y)

    def box(self, where: str, y: float, colour: str, tall: float, style: str = "") -> None:
        """A rectangle."""
        self._add(f'<rect y="{y:.1f}" {where} style="fill: var(--{colour}){style}"/>', y + tall)

    def mark(self, x: str, y: float, series: Series) -> None:
        """A mark of a series."""
        if series.mark == "dot":
            self.dot(x, y, series.colour, size=3.5)
        else:
            self.box(f'x="{x}" width="8" height="8"', y, series.colour, 0, "; translate: -4px -4px")

    def path(self, points: Sequence[tuple[float, float]], colour: str, dash: str, tall: float) -> None:
        """A line through points, given in percent of the scale and in pixels."""
        steps = " ".join(f"{x:.2f},{y:.1f}" for x, y in points)
        style = f'vector-effect="non-scaling-stroke" style="fill: none; {_stroke(colour, 2, dash)}"'
        where = f'x="{LEFT}%" y="0" width="{WIDE}%" height="{tall:.0f}" viewBox="0 0 100 {tall:.0f}"'
        self._add(f'<svg {where} preserveAspectRatio="none"><polyline points="{steps}" {style}/></svg>', tall)

    def key(self, series: Series, y: float) -> None:
        """A line of the legend."""
        if series.dash is not None:
            self.line("0", y - 5, "28", y - 5, series.colour, 2, series.dash)
        if series.mark:
            self.mark("14", y - 5, series)
        self.text(36, y, series.name)

    def headed(self, rows: Sequence[ChartRow]) -> Iterator[ChartRow]:
        """Each row below its label and its numbers, which stand on one line or on two."""
        labels = cut_labels([row.label for row in rows])
        longest = max((len(label) + len(row.text) for label, row in zip(labels, rows, strict=True)), default=0)
        for row, label in zip(rows, labels, strict=True):
            self.text(0, self.top + 15, label)
            if row.text and longest <= _ONE_LINE:
                self.text("100%", self.top + 15, row.text, "end", FAINT, 13)
            elif row.text:
                self.top += 17
                self.text(0, self.top + 15, row.text, colour=FAINT, size=13)
            self.top += 19
            yield row

    def axis(self, scale: Scale, name: str, sides: Sides | None = None) -> None:
        """A scale below the chart, with what it shows and what its two sides mean."""
        y = self.top
        self.line("0", y, "100%", y, INK, 1)
        for value, label in scale.ticks():
            self.line(scale.at(value), y, scale.at(value), y + 5, INK, 1)
            self.text(scale.at(value), y + 18, label, "middle", size=12)
        below = [*([name] if name else []), *([] if sides is None else [toward(sides)])]
        for place, words in enumerate(below):
            self.text("50%", y + 36 + 18 * place, words, "middle", size=13)


def framed(svg: str) -> str:
    """A chart with the colours that a report's page has, for a place that has none, such as a notebook."""
    return f'<div style="max-width: 40rem; {_COLOURS}">{svg}</div>\n'


def toward(sides: Sides) -> str:
    """What both sides of a scale mean, on one line."""
    return f"← {short(sides[0], 22)} · {short(sides[1], 22)} →"


def _stroke(colour: str, wide: float, dash: str = "") -> str:
    return f"stroke: var(--{colour}); stroke-width: {wide}" + (f"; stroke-dasharray: {dash}" if dash else "")


def cut_labels(names: Sequence[str]) -> list[str]:
    """Short labels of the names; distinct names keep distinct labels if possible."""
    for length in _CUT:
        cut = [short(name, length) for name in names]
        if len(set(cut)) == len(set(names)):
            break
    return cut


def short(text: str, most: int) -> str:
    """A label on one line, cut in its middle."""
    text, half = visible_field(str(text)), (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[-half:]}"


def _escaped(words: str) -> str:
    return html.escape(visible_field(words))
