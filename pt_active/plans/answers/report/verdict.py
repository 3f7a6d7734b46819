"""Which picture stands below the first screen of a report?"""

from __future__ import annotations

import numpy as np

from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.differences import Difference, how_sure
from pt_active.plans.answers.report.findings import Findings
from pt_active.plans.answers.report.headline import in_percent
from pt_active.plans.answers.report.words import estimates_in_words
from pt_active.plans.answers.results import Comparison
from pt_active.showing import charts
from pt_active.showing.charts import Row
from pt_active.showing.rounding import MINUS, decimals, with_interval
from pt_active.showing.shown import Section, Shown

MAX_OPEN_PAIRS = 10
"""With more pairs, those of more than five rankers, they stand among the details."""

MAX_PAIRS = 28
"""Pairs in the chart of all pairs: eight rankers have so many."""


def verdict_of(report: Findings) -> list[Section]:
    """The pictures that belong to the answer."""
    return _of_many(report) if isinstance(report.result, Ranking) else [_of_few(report)]


def sides_of(report: Findings) -> tuple[str, str]:
    """The directions of negative and of positive contributions, in words."""
    return ("down", "up") if report.pair is None else (f"towards {report.pair[1]}", f"towards {report.pair[0]}")


def axis_of(report: Findings) -> tuple[str, tuple[str, str] | None]:
    """What a scale of estimates shows, and for whom its two sides are."""
    measure = report.result.basis.measure
    if not isinstance(report.result, Comparison):
        return measure, None if report.pair is None else (f"for {report.pair[1]}", f"for {report.pair[0]}")
    return f"difference in {measure}", (f"for {report.result.second}", f"for {report.result.first}")


def _of_few(report: Findings) -> Section:
    result, shown = report.result, report.estimates
    null, (axis, sides) = (0.0, axis_of(report)) if isinstance(result, Comparison) else (None, axis_of(report))
    text = report.headline.number
    row = shown.iloc[0]
    rows = [Row(str(row["name"]), float(row["estimate"]), float(row["low"]), float(row["high"]), text)]
    caption = "The point is the estimate, the bar its interval"
    if isinstance(result, Comparison):
        pair = report.differences[0]
        rows = [Row(pair.what, pair.value, pair.low, pair.high, text, _settled(pair))]
        caption += f"; right of the dotted line {pair.first} is better, left of it {pair.second}"
    said = estimates_in_words(shown, report.answer)
    svg = charts.intervals(rows, null, axis, sides).svg("estimates", "Estimates with intervals", said)
    return Section("", svg=svg, caption=f"{caption}.", tables=[])


def _settled(pair: Difference) -> bool:
    return pair.winner is not None or pair.certain or pair.equal


def _of_many(report: Findings) -> list[Section]:
    result = report.result
    assert isinstance(result, Ranking)
    best, measure = result.names[0], result.basis.measure
    to_best = [pair for pair in report.differences if best in pair.names]
    rows = [_row(pair) for pair in to_best[:MAX_PAIRS]]
    said = estimates_in_words(report.estimates, report.answer)
    sides = "the other is ahead", f"{charts.short(best, 14)} is ahead"
    chart = charts.intervals(rows, 0.0, f"difference in {measure}", sides)
    svg = chart.svg("estimates", f"Differences of {best} to the others with intervals", said)
    caption = (
        f"How far {best} is ahead of each other ranker. Filled: told apart from it; hollow: not. "
        f"{how_sure(to_best[:MAX_PAIRS], 1 - result.alpha)} A difference is estimated by itself, more precisely than "
        "the values of two rankers, so it need not be their difference."
    )
    pairs = [_pairs(report, result)] if len(report.differences) <= MAX_OPEN_PAIRS else []
    return [Section("", svg=svg, caption=caption, open=_groups(report, result)), *pairs]


def many_pairs(report: Findings) -> list[Section]:
    """All pairs, if there are so many that they do not fit on the sheet of the answer."""
    many = isinstance(report.result, Ranking) and len(report.differences) > MAX_OPEN_PAIRS
    return [_pairs(report, report.result)] if many and isinstance(report.result, Ranking) else []


def _row(pair: Difference) -> Row:
    """A difference in a chart."""
    text = with_interval(pair.value, pair.low, pair.high, sign=True)
    return Row(pair.what, pair.value, pair.low, pair.high, text, pair.winner is not None)


def _groups(report: Findings, result: Ranking) -> Shown:
    """Every ranker with its place, its value and its letters, which say who cannot be told apart."""
    to_best = {name: pair for pair in report.differences for name in pair.names[::-1]}
    rows = []
    for place, each in enumerate(result.estimates, start=1):
        pair = to_best.get(each.name)
        low, high = (np.nan, np.nan) if pair is None else (pair.low, pair.high)
        value = f"{each.value:.{_places(low, high)}f}".replace("-", MINUS)
        cells = [(str(place), True), (each.name, False), (value, True), (result.letters[each.name], False)]
        rows.append(cells)
    columns = ["place", "ranker", result.basis.measure, "groups"]
    return Shown("Rankers that share a letter cannot be told apart by these labels", columns, rows)


def _places(low: float, high: float) -> int:
    return decimals(low, high) if np.isfinite([low, high]).all() else 4


def _pairs(report: Findings, result: Ranking) -> Section:
    """All pairs: a chart, and a table with the differences in percent."""
    pairs = report.differences
    rows = [_row(each) for each in pairs[:MAX_PAIRS]]
    said = "; ".join(f"{row.label}: {row.text}, {'told apart' if row.strong else 'not told apart'}" for row in rows)
    chart = charts.intervals(rows, 0.0, f"difference in {result.basis.measure}")
    svg = chart.svg("pairs", "Differences of all pairs with intervals", said)
    cells = [
        [
            (each.first, False),
            (each.second, False),
            (with_interval(each.value, each.low, each.high, sign=True), True),
            (in_percent(each.relative), False),
            (each.verdict, False),
        ]
        for each in pairs
    ]
    columns = ["first", "second", "first − second", "change in %", "verdict"]
    table = Shown("All pairs, with their intervals", columns, cells)
    more = "" if len(pairs) <= MAX_PAIRS else f" The chart shows the first {MAX_PAIRS} of {len(pairs)} pairs."
    caption = f"Filled: told apart by Holm's test; hollow: not. {how_sure(pairs, 1 - result.alpha)}{more}"
    return Section("All pairs", svg=svg, caption=caption, tables=[table])
