"""A result in one sentence, and charts in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status

_NAMED = 5
"""Rankers that the sentence names."""

_TOLD = 10
"""Contributions that are told."""


def answer_in_words(result: Estimate | Comparison | Ranking) -> str:
    """What a result says, for people who read one sentence."""
    if isinstance(result, Ranking):
        return _ranked(result)
    return _compared(result) if isinstance(result, Comparison) else _estimated(result)


def status_in_words(status: Status) -> str:
    """The state of the judging, with the interval that holds however often one has looked."""
    some = f"{status.judged} of {status.counted(status.drawn)}"
    done = f"all {status.unit}" if status.judged == status.drawn else some
    head = f"{status.answer[0].upper()}{status.answer[1:]} ({done} judged)"
    if not np.isfinite([status.value, status.low]).all():
        return f"{head}: there is no interval yet."
    interval = f"{status.confidence:.0%} interval {status.low:.4f} to {status.high:.4f}, valid {status.valid}"
    return f"{head}: {status.what} is {status.point} in {status.measure} ({interval})."


def _estimated(found: Estimate) -> str:
    return f"{found.name} has {found.basis.measure} {found.value:.4f}{_interval(found)}."


def _compared(found: Comparison) -> str:
    size = f"by {abs(found.difference):.4f} in {found.basis.measure}"
    if found.basis.census and not found.degenerate:
        better = found.winner or "neither"
        return f"Everything was judged: {better} is better, {size}."
    if found.winner is not None:
        other = found.second if found.winner == found.first else found.first
        return f"{found.winner} is better than {other}, {size}{_interval(found, found.difference < 0)}."
    pair = f"{found.first} and {found.second}"
    what = f"{found.first} − {found.second} is {found.difference:+.4f} in {found.basis.measure}"
    return f"The labels do not tell {pair} apart: {what}{_interval(found)}."


def _interval(found: Estimate | Comparison, turned: bool = False) -> str:
    """The interval in brackets; turned, that of the second ranker minus the first."""
    low, high = found.confidence_interval()
    low, high = (-high, -low) if turned else (low, high)
    if found.basis.census and not found.degenerate:
        return ", from judging everything"
    if not np.isfinite([low, high]).all():
        return ", and the sample cannot say how far off that is"
    test = f", p = {found.pvalue:.2g}" if isinstance(found, Comparison) else ""
    return f" ({found.confidence_level:.0%} interval {low:.4f} to {high:.4f}{test})"


def _ranked(found: Ranking) -> str:
    best = found.names[0]
    joined = sorted({name for group in found.groups if best in group for name in group} - {best}, key=found.names.index)
    resolved, pairs = sum(w is not None for w in found.winners), how_many("pair", len(found.comparisons))
    apart = f"{resolved} of {pairs} {agreeing('is', resolved)} told apart"
    head = f"Of {len(found.names)} rankers {best} stands first in {found.basis.measure}"
    if not joined:
        return f"{head} and is told apart from all others; {apart}."
    named = ", ".join(joined[:_NAMED]) + (f" and {len(joined) - _NAMED} more" if len(joined) > _NAMED else "")
    return f"{head}, but cannot be told apart from {named}; {apart}."


def number(value: Any) -> str:
    """A number as the page shows it: four digits that count, whole ones as they are, – for none."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value}"
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def reassures(result: Estimate | Comparison | Ranking) -> bool:
    """Whether the note of a result is no warning, since all was judged and nothing is missing."""
    return result.basis.census and not result.basis.missing


# --- what charts show, for those who do not see them -----------------------------------------------------------------


def _with_interval(row: Any) -> str:
    return f"{row.name} {number(row.estimate)} from {number(row.low)} to {number(row.high)}"


def estimates_in_words(table: pd.DataFrame, answer: str) -> str:
    """Estimates with their intervals: ``name, estimate, low, high``, after the answer."""
    return f"{answer} {'; '.join(_with_interval(row) for row in table.itertuples())}."


def slices_in_words(table: pd.DataFrame, null: float | None) -> str:
    """Estimates of groups: ``name, estimate, low, high``; how many hold the null, or the least and the most."""
    if null is None:
        least, most = (table.iloc[int(row)] for row in (table["estimate"].argmin(), table["estimate"].argmax()))
        message = f"The least is {least['name']} with {number(least['estimate'])}, "
        message += f"the most {most['name']} with {number(most['estimate'])}"
    else:
        apart = int(((table["low"] > null) | (table["high"] < null)).sum())
        message = f"{null:g} lies outside {apart} of {how_many('interval', len(table))}"
    return f"{message}. {'; '.join(_with_interval(row) for row in table.itertuples())}."


def budget_in_words(table: pd.DataFrame, spent: float) -> str:
    """Half-widths over the budget: ``level, design, budget, half_width``, those of what was spent first."""
    here = table[table["budget"] == spent]
    message = " and ".join(f"± {number(row.half_width)} with {drawn_how(row)}" for row in here.itertuples())
    rest = "; ".join(
        f"{drawn_how(row)}, at {number(row.budget)}: ± {number(row.half_width)}" for row in table.itertuples()
    )
    return f"What this plan cost, {number(spent)}, is expected to bring {message}. {rest}."


def drawn_how(row: Any) -> str:
    """``queries, passive``."""
    return f"{'documents' if row.level == 'document' else 'queries'}, {row.design}"


def design_in_words(table: pd.DataFrame) -> str:
    """How much was to be judged, over cost and expectation: ``axis, low, high, chance, chance_of``."""
    ends = [
        f"over the {axis} it goes from {number(rows['chance'].iloc[0])} to {number(rows['chance'].iloc[-1])}"
        for axis, rows in table.groupby("axis", sort=False)
    ]
    what = str(table["chance_of"].iloc[0])
    rest = "; ".join(f"{r.axis} {number(r.low)} to {number(r.high)}: {number(r.chance)}" for r in table.itertuples())
    return f"{what[0].upper()}{what[1:]}: {', '.join(ends)}. {rest}."


def contributions_in_words(table: pd.DataFrame, sides: tuple[str, str]) -> str:
    """The largest contributions, by the texts of their queries: ``qid`` (+ ``query``), ``contribution``.

    Args:
        table: One row a query, largest first.
        sides: What negative and positive ones say.
    """
    up, down = int((table["contribution"] > 0).sum()), int((table["contribution"] < 0).sum())
    named = table["query"].where(table["query"].notna(), table["qid"]) if "query" in table.columns else table["qid"]
    top = zip(named.head(_TOLD), table["contribution"].head(_TOLD), strict=True)
    rest = "; ".join(f"{name}: {number(value)}" for name, value in top)
    moved = f"{up} moved the estimate {sides[1]} and {down} {sides[0]}"
    return f"Of {how_many('query', len(table))} {moved}. Most of all {rest}."


def calibration_in_words(bins: pd.DataFrame, slope: float) -> str:
    """Bins of documents: ``expected, observed``, and the slope of the line through the labels."""
    rest = "; ".join(f"expected {number(r.expected)}, labels {number(r.observed)}" for r in bins.itertuples())
    if not np.isfinite(slope):
        return f"No line can be drawn through the labels. {rest}."
    return f"The line through the labels has slope {slope:.2f}; 1 would be right on average. {rest}."
