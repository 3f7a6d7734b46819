"""A result in one sentence."""

from __future__ import annotations

import numpy as np

from pt_active.ranking import Ranking
from pt_active.results import Comparison, Estimate
from pt_active.status import Status

_NAMED = 5
"""Rankers that the sentence names."""


def answer_in_words(result: Estimate | Comparison | Ranking) -> str:
    """What a result says, for people who read one sentence."""
    if isinstance(result, Ranking):
        return _ranked(result)
    return _compared(result) if isinstance(result, Comparison) else _estimated(result)


def status_in_words(status: Status) -> str:
    """The state of the judging, with the interval that holds however often one has looked."""
    done = "all" if status.judged == status.drawn else f"{status.judged} of {status.drawn}"
    head = f"{status.answer[0].upper()}{status.answer[1:]} ({done} {status.unit} judged)"
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
    apart = f"{sum(w is not None for w in found.winners)} of {len(found.comparisons)} pairs are told apart"
    head = f"Of {len(found.names)} rankers {best} stands first in {found.basis.measure}"
    if not joined:
        return f"{head} and is told apart from all others; {apart}."
    named = ", ".join(joined[:_NAMED]) + (f" and {len(joined) - _NAMED} more" if len(joined) > _NAMED else "")
    return f"{head}, but cannot be told apart from {named}; {apart}."
