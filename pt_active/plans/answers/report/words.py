"""How does a report put a result into one sentence?"""

from __future__ import annotations

import numpy as np

from pt_active.frames.checks import agreeing, how_many
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.showing.rounding import minus

_MAX_NAMED_RANKERS = 5
"""Rankers that the sentence names, at most."""


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
