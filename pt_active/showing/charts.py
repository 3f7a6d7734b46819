"""How is a chart drawn as SVG whose text keeps its size on every screen?

Places along the width are percentages and places along the height are pixels, so a chart is as wide as its page, and
its letters are not scaled with it. The colours are those of Okabe and Ito as variables of the page; marks and lines
differ too.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pt_active.frames.visible import visible, visible_field
from pt_active.showing.rounding import MINUS

FIRST, SECOND, INK, FAINT, LINE = "var(--first)", "var(--second)", "var(--ink)", "var(--faint)", "var(--line)"

_COLOURS = (
    "--first: #0072b2; --second: #c25400; --ink: currentColor; --faint: currentColor; --line: currentColor; "
    "--ground: transparent"
)
"""The colours of charts outside of a report, where text has that of its surroundings."""

_LEFT, _RIGHT = 3.0, 97.0
"""Ends of the scale, in percent of the width: marks and tick labels need room beyond them."""

_CUT = (34, 44, 60)
"""Lengths to which labels are cut, in characters: the first at which they stay distinct is used."""

_ONE_LINE = 42
"""A label and its numbers share a line if they have at most so many characters."""

_TICK_ROOM = 36
"""Characters that all tick labels of a scale may have together, so that they do not overlap on a phone."""


@dataclass(frozen=True)
class Row:
    """A row of a chart.

    Attributes:
        label: What it shows.
        value: The estimate, or the end of a bar.
        low: Lower end of the interval; NaN if there is none.
        high: Upper end of the interval.
        text: The numbers in words, beside the label.
        strong: Whether the mark is filled.
    """

    label: str
    value: float
    low: float = np.nan
    high: float = np.nan
    text: str = ""
    strong: bool = True


@dataclass(frozen=True)
class Scale:
    """A linear scale from data to percent of the width, with its ticks.

    Attributes:
        low: The value at its left end.
        high: The value at its right end.
    """

    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float] | np.ndarray) -> Scale:
        """The scale over the finite ones of some values."""
        known = np.asarray(values, dtype=float)
        known = known[np.isfinite(known)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        room = 0.04 * (high - low) or abs(low) * 0.1 or 1.0
        return cls(low - room, high + room)

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        return float(np.clip((value - self.low) / (self.high - self.low), 0, 1))

    def at(self, value: float) -> str:
        """Where a value lies, in percent of the width."""
        return f"{_LEFT + (_RIGHT - _LEFT) * self.share(value):.2f}%"

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round values on the scale with their labels, which have room beside each other."""
        span = self.high - self.low
        for step in _steps(span):
            first = int(np.ceil(self.low / step - 1e-9))
            values = [step * n for n in range(first, int(np.floor(self.high / step + 1e-9)) + 1)]
            labels = [_tick(value, step) for value in values]
            if len(values) <= most and sum(map(len, labels)) + 2 * len(labels) <= _TICK_ROOM:
                return list(zip(values, labels, strict=True))
        return []


def _steps(span: float) -> list[float]:
    power = 10.0 ** np.floor(np.log10(span / 10))
    return [power * factor for factor in (1, 2, 5, 10, 20, 50)]


def _tick(value: float, step: float) -> str:
    places = max(0, -int(np.floor(np.log10(step * (1 + 1e-9)))))
    return f"{value + 0.0:.{places}f}".replace("-", MINUS) if places < 7 else f"{value:.2g}".replace("-", MINUS)


def intervals(
    rows: Sequence[Row], null: float | None = None, axis: str = "", sides: tuple[str, str] | None = None
) -> Drawing:
    """Estimates with their intervals, one below the other."""
    ends = [end for row in rows for end in (row.value, row.low, row.high)]
    scale = Scale.over(ends + ([] if null is None else [null]))
    drawing, top = Drawing(), 0.0
    one_line = _on_one_line(rows)
    for row, label in zip(rows, cut_labels([row.label for row in rows]), strict=True):
        top = _heading(drawing, row, label, top, one_line)
        y = top + 10
        if null is not None:
            drawing.line(scale.at(null), top, scale.at(null), top + 26, INK, 1, "3 3")
        if np.isfinite(row.low) and np.isfinite(row.high):
            drawing.line(scale.at(row.low), y, scale.at(row.high), y, FIRST, 3)
            for each in (row.low, row.high):
                drawing.line(scale.at(each), y - 6, scale.at(each), y + 6, FIRST, 2)
        if np.isfinite(row.value):
            drawing.dot(scale.at(row.value), y, FIRST, row.strong)
        top += 26
    drawing.axis(scale, top, axis, sides)
    return drawing


def bars(rows: Sequence[Row], axis: str = "", sides: tuple[str, str] | None = None) -> Drawing:
    """Bars from 0, positive ones in the first colour and to the right, negative ones in the second.

    A row whose value is NaN is a heading of those below it.
    """
    scale = Scale.over([0.0, *(row.value for row in rows)])
    drawing, top, one_line = Drawing(), 0.0, _on_one_line(rows)
    for row, label in zip(rows, cut_labels([row.label for row in rows]), strict=True):
        top = _heading(drawing, row, label, top, one_line)
        if not np.isfinite(row.value):
            top += 4
            continue
        ends = sorted((scale.share(0.0), scale.share(row.value)))
        left, wide = (_LEFT + (_RIGHT - _LEFT) * ends[0], (_RIGHT - _LEFT) * (ends[1] - ends[0]))
        drawing.box(f"{left:.2f}%", top + 2, f"{wide:.2f}%", 10, FIRST if row.value >= 0 else SECOND)
        drawing.line(scale.at(0.0), top - 1, scale.at(0.0), top + 15, INK, 1)
        top += 20
    drawing.axis(scale, top, axis, sides)
    return drawing


@dataclass(frozen=True)
class Series:
    """Points of a plot.

    Attributes:
        name: What they are.
        x: float64[n].
        y: float64[n].
        colour: Their colour.
        dash: The pattern of the line through them; empty if it is solid, None if there is no line.
        mark: ``dot``, ``box``, or empty if there are no marks.
        error: float64[n], the length of the arms; None if there are none.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str = FIRST
    dash: str | None = ""
    mark: str = "dot"
    error: np.ndarray | None = None


def plot(series: Sequence[Series], x_axis: str, y_axis: str, marked: tuple[float, str] | None = None) -> Drawing:
    """Lines and points over two linear scales, which begin at 0."""
    tall, drawing = 260, Drawing()
    across = Scale(0.0, 1.04 * max([*(float(each.x.max()) for each in series), marked[0] if marked else 0.0]))
    up = Scale(0.0, 1.06 * max(float((each.y + (0 if each.error is None else each.error)).max()) for each in series))
    top = 16
    for each in series:
        drawing.key(each, top)
        top += 20
    drawing.text(0, top + 4, y_axis, colour=FAINT, size=12)
    top += 14

    def place(value: float) -> float:
        return top + tall * (1 - up.share(value))

    for value, label in up.ticks():
        drawing.line(f"{_LEFT}%", place(value), f"{_RIGHT}%", place(value), LINE, 1)
        drawing.text(f"{_LEFT}%", place(value) - 3, label, colour=FAINT, size=12)
    if marked is not None:
        drawing.line(across.at(marked[0]), top, across.at(marked[0]), top + tall, INK, 1, "3 3")
        drawing.text(
            across.at(marked[0]), top + 12, f"{marked[1]} ", anchor="end" if across.share(marked[0]) > 0.5 else "start"
        )
    for each in series:
        if each.dash is not None:
            points = [(100 * across.share(x), place(y)) for x, y in zip(each.x, each.y, strict=True)]
            drawing.path(points, each.colour, each.dash, top + tall)
        for number in range(len(each.x)) if each.mark else ():
            x, y = float(each.x[number]), float(each.y[number])
            if each.error is not None and np.isfinite(each.error[number]):
                arm = float(each.error[number])
                drawing.line(across.at(x), place(y - arm), across.at(x), place(y + arm), each.colour, 2)
            drawing.mark(across.at(x), place(y), each.colour, each.mark)
    drawing.axis(across, top + tall, x_axis)
    return drawing


class Drawing:
    """Elements of a chart, and its height."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.height = 0.0

    def text(
        self, x: str | float, y: float, words: str, anchor: str = "start", colour: str = INK, size: int = 14
    ) -> None:
        """A line of text; ``y`` is its foot."""
        where = f'x="{x}" y="{y:.0f}" text-anchor="{anchor}"'
        self._add(f'<text {where} style="fill: {colour}; font-size: {size}px">{_escaped(words)}</text>', y)

    def line(self, x1: str, y1: float, x2: str, y2: float, colour: str, wide: float, dash: str = "") -> None:
        """A straight line."""
        ends = f'x1="{x1}" y1="{y1:.1f}" x2="{x2}" y2="{y2:.1f}"'
        dashes = f"; stroke-dasharray: {dash}" if dash else ""
        self._add(f'<line {ends} style="stroke: {colour}; stroke-width: {wide}{dashes}"/>', max(y1, y2))

    def dot(self, x: str, y: float, colour: str, filled: bool = True, size: float = 5.5) -> None:
        """A circle, filled with its colour or with that of the page."""
        inside = colour if filled else "var(--ground)"
        self._add(
            f'<circle cx="{x}" cy="{y:.1f}" r="{size}" style="fill: {inside}; stroke: {colour}; stroke-width: 2"/>', y
        )

    def mark(self, x: str, y: float, colour: str, kind: str) -> None:
        """A mark of a series: a dot or a box."""
        if kind == "dot":
            self.dot(x, y, colour, size=3.5)
        else:
            self._add(
                f'<rect x="{x}" y="{y:.1f}" width="8" height="8" style="fill: {colour}; translate: -4px -4px"/>', y
            )

    def box(self, x: str, y: float, wide: str, tall: float, colour: str) -> None:
        """A rectangle."""
        self._add(
            f'<rect x="{x}" y="{y:.1f}" width="{wide}" height="{tall}" style="fill: {colour}"/>',
            y + tall,
        )

    def path(self, points: Sequence[tuple[float, float]], colour: str, dash: str, tall: float) -> None:
        """A line through points, given in percent of the scale and in pixels."""
        steps = " ".join(f"{x:.2f},{y:.1f}" for x, y in points)
        dashes = f"; stroke-dasharray: {dash}" if dash else ""
        style = f"fill: none; stroke: {colour}; stroke-width: 2{dashes}"
        where = f'x="{_LEFT}%" y="0" width="{_RIGHT - _LEFT}%" height="{tall:.0f}" viewBox="0 0 100 {tall:.0f}"'
        line = f'<polyline points="{steps}" vector-effect="non-scaling-stroke" style="{style}"/>'
        self._add(f'<svg {where} preserveAspectRatio="none">{line}</svg>', tall)

    def key(self, each: Series, y: float) -> None:
        """A line of the legend."""
        if each.dash is not None:
            self.line("0", y - 5, "28", y - 5, each.colour, 2, each.dash)
        if each.mark:
            self.mark("14", y - 5, each.colour, each.mark)
        self.text(36, y, each.name)

    def axis(self, scale: Scale, y: float, name: str, sides: tuple[str, str] | None = None) -> None:
        """A scale below the chart, with what it shows and what its two sides mean."""
        self.line("0", y, "100%", y, INK, 1)
        for value, label in scale.ticks():
            self.line(scale.at(value), y, scale.at(value), y + 5, INK, 1)
            self.text(scale.at(value), y + 18, label, anchor="middle", size=12)
        y += 36
        if name:
            self.text("50%", y, name, anchor="middle", size=13)
            y += 18
        if sides is not None:
            self.text("50%", y, f"← {short(sides[0], 22)} · {short(sides[1], 22)} →", anchor="middle", size=13)

    def _add(self, part: str, foot: float) -> None:
        self.parts.append(part)
        self.height = max(self.height, foot + 4)

    def svg(self, name: str, title: str, description: str) -> str:
        """The chart as an ``<svg>`` element."""
        words = f'<title id="{name}-title">{_escaped(title)}</title>\n'
        words += f'<desc id="{name}-desc">{html.escape(visible(description))}</desc>\n'
        head = f'<svg width="100%" height="{self.height:.0f}" role="img"'
        body = "\n".join(self.parts)
        return f'{head} aria-labelledby="{name}-title {name}-desc">\n{words}{body}\n</svg>'


def framed(svg: str) -> str:
    """A chart with the colours that a report's page has, for a place that has none, such as a notebook."""
    return f'<div style="max-width: 40rem; {_COLOURS}">{svg}</div>\n'


def _heading(drawing: Drawing, row: Row, label: str, top: float, one_line: bool) -> float:
    """The label of a row and its numbers, on one line or on two; returns where the row's marks begin."""
    drawing.text(0, top + 15, label)
    if row.text and one_line:
        drawing.text("100%", top + 15, row.text, anchor="end", colour=FAINT, size=13)
    elif row.text:
        top += 17
        drawing.text(0, top + 15, row.text, colour=FAINT, size=13)
    return top + 19


def _on_one_line(rows: Sequence[Row]) -> bool:
    labels = cut_labels([row.label for row in rows])
    return max((len(label) + len(row.text) for label, row in zip(labels, rows, strict=True)), default=0) <= _ONE_LINE


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
