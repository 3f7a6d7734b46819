"""How does a report put a result into one sentence, and a chart into words?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.showing.rounding import minus, number

_MAX_NAMED_RANKERS = 5
"""Rankers that the sentence names, at most."""

_N_CONTRIBUTIONS = 10
"""Contributions that the description of the chart lists."""


def answer_in_words(result: Estimate | Comparison | Ranking) -> str:
    """A result in one sentence, with four decimals."""
    if isinstance(result, Ranking):
        return _ranked(result)
    return minus(_compared(result) if isinstance(result, Comparison) else _estimated(result))


def status_in_words(status: Status) -> str:
    """The state of the judging in two sentences, with the interval that is valid at all looks."""
    done = "all" if status.judged == status.drawn else f"{status.judged}"
    head = f"{status.answer[0].upper()}{status.answer[1:]}. With {done} of {status.counted(status.drawn)} judged"
    if not np.isfinite([status.value, status.low]).all():
        return f"{head}, there is no interval yet."
    interval = f"{status.confidence:.0%} interval {status.low:.4f} to {status.high:.4f}, valid {status.valid}"
    return f"{head}, {status.what} is {minus(status.point)} in {status.measure} ({minus(interval)})."


def _estimated(estimate: Estimate) -> str:
    return f"{estimate.name} has {estimate.basis.measure} {estimate.value:.4f}{_interval(estimate)}."


def _compared(comparison: Comparison) -> str:
    first, second, winner, measure = comparison.first, comparison.second, comparison.winner, comparison.basis.measure
    size = f"by {abs(comparison.difference):.4f} in {measure}"
    if comparison.basis.census and not comparison.degenerate:
        equal = f"{first} and {second} are exactly equal in {measure}"
        return f"Everything was judged: {f'{winner} is better, {size}' if winner else equal}."
    if winner is not None:
        other = second if winner == first else first
        return f"{winner} is better than {other}, {size}{_interval(comparison, comparison.difference < 0)}."
    difference = f"{first} − {second} is {comparison.difference:+.4f} in {measure}{_interval(comparison)}"
    return f"The labels do not tell {first} and {second} apart: {difference}."


def _interval(result: Estimate | Comparison, turned: bool = False) -> str:
    """The interval in brackets; if turned, that of the second ranker minus the first."""
    low, high = result.confidence_interval()
    low, high = (-high, -low) if turned else (low, high)
    if result.basis.census and not result.degenerate:
        return ", from judging everything"
    if not np.isfinite([low, high]).all():
        return ", and the sample cannot say how far off that is"
    test = f", p = {result.pvalue:.2g}" if isinstance(result, Comparison) else ""
    return f" ({result.confidence_level:.0%} interval {low:.4f} to {high:.4f}{test})"


def _ranked(ranking: Ranking) -> str:
    best = ranking.names[0]
    joined = sorted(
        {name for group in ranking.groups if best in group for name in group} - {best}, key=ranking.names.index
    )
    resolved, pairs = sum(w is not None for w in ranking.winners), how_many("pair", len(ranking.comparisons))
    apart = f"{resolved} of {pairs} {agreeing('is', resolved)} told apart"
    head = f"Of {len(ranking.names)} rankers {best} stands first in {ranking.basis.measure}"
    if not joined:
        return f"{head} and is told apart from all others; {apart}."
    rest = len(joined) - _MAX_NAMED_RANKERS
    named = ", ".join(joined[:_MAX_NAMED_RANKERS]) + (f" and {rest} more" if rest > 0 else "")
    return f"{head}, but cannot be told apart from {named}; {apart}."


def reassures(result: Estimate | Comparison | Ranking) -> bool:
    """Whether the note of a result is good news: all was judged and nothing is missing."""
    return result.basis.census and not (result.basis.missing or result.basis.label_caution)


# --- charts in words, for readers who cannot see them ----------------------------------------------------------------


def _with_interval(row: Any) -> str:
    return f"{row.name} {number(row.estimate)} from {number(row.low)} to {number(row.high)}"


def estimates_in_words(table: pd.DataFrame, answer: str) -> str:
    """The chart of estimates, from ``name, estimate, low, high``; it begins with the answer."""
    return f"{answer} {'; '.join(_with_interval(row) for row in table.itertuples())}."


def slices_in_words(table: pd.DataFrame, null: float | None) -> str:
    """The chart of groups, from ``name, estimate, low, high``.

    It begins with the number of intervals without the null value, or without one with the lowest and highest estimate.
    """
    if null is None:
        least, most = (table.iloc[int(row)] for row in (table["estimate"].argmin(), table["estimate"].argmax()))
        message = f"The lowest is {least['name']} with {number(least['estimate'])}, "
        message += f"the highest {most['name']} with {number(most['estimate'])}"
    else:
        apart = int(((table["low"] > null) | (table["high"] < null)).sum())
        message = f"{null:g} lies outside {apart} of {how_many('interval', len(table))}"
    return f"{message}. {'; '.join(_with_interval(row) for row in table.itertuples())}."


def budget_in_words(table: pd.DataFrame, spent: float) -> str:
    """The chart of half-widths, from ``level, design, budget, half_width``; it begins with those at what was spent."""
    here = table[table["budget"] == spent]
    message = " and ".join(f"± {number(row.half_width)} with {_method(row)}" for row in here.itertuples())
    rest = "; ".join(
        f"{_method(row)}, at {number(row.budget)}: ± {number(row.half_width)}" for row in table.itertuples()
    )
    return f"At the cost of this plan, {number(spent)}, the expected half-width is {message}. {rest}."


def _method(row: Any) -> str:
    """What is drawn and by which design, such as ``queries, passive``."""
    return f"{'documents' if row.level == 'document' else 'queries'}, {row.design}"


def design_in_words(table: pd.DataFrame) -> str:
    """The chart of how much was to be judged, from ``axis, low, high, chance, chance_of``."""
    ends = [
        f"over the {axis} it goes from {number(rows['chance'].iloc[0])} to {number(rows['chance'].iloc[-1])}"
        for axis, rows in table.groupby("axis", sort=False)
    ]
    what = str(table["chance_of"].iloc[0])
    rest = "; ".join(f"{r.axis} {number(r.low)} to {number(r.high)}: {number(r.chance)}" for r in table.itertuples())
    return f"{what[0].upper()}{what[1:]}: {', '.join(ends)}. {rest}."


def contributions_in_words(table: pd.DataFrame, sides: tuple[str, str]) -> str:
    """The chart of the largest contributions."""
    up, down = int((table["contribution"] > 0).sum()), int((table["contribution"] < 0).sum())
    named = table["query"].where(table["query"].notna(), table["qid"]) if "query" in table.columns else table["qid"]
    top = zip(named.head(_N_CONTRIBUTIONS), table["contribution"].head(_N_CONTRIBUTIONS), strict=True)
    rest = "; ".join(f"{name}: {number(value)}" for name, value in top)
    moved = f"{up} moved the estimate {sides[1]} and {down} {sides[0]}"
    return f"Of {how_many('query', len(table))} {moved}. Most of all {rest}."


def calibration_in_words(bins: pd.DataFrame, slope: float) -> str:
    """The chart of bins of documents, from ``expected, observed`` and the slope of the line through the labels."""
    rest = "; ".join(f"expected {number(r.expected)}, labels {number(r.observed)}" for r in bins.itertuples())
    if not np.isfinite(slope):
        return f"No line can be drawn through the labels. {rest}."
    return f"The line through the labels has slope {slope:.2f}; 1 would be right on average. {rest}."
