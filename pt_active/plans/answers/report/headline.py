"""What does the first screen of a report say, and the result in a sentence, to people who did not take part?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pt_active.frames.checks import agreeing, how_many
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.relative import RelativeChange
from pt_active.plans.answers.report.campaign import WhoJudged
from pt_active.plans.answers.report.differences import Difference
from pt_active.plans.answers.report.further import Further
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.showing.printed import Facts
from pt_active.showing.rounding import MINUS, decimals, fixed, from_to, minus, roughly, with_interval
from pt_active.showing.shown import MEASURED, OPEN, SETTLED, Headline

_MAX_NAMED_RANKERS = 5
"""Rankers that the sentence names, at most."""


def headline(
    result: Estimate | Comparison | Ranking,
    pairs: Sequence[Difference],
    status: Status | None,
    campaign: WhoJudged,
    more: Further | None,
) -> Headline:
    """The first screen of the report of a plan."""
    facts = [("judged", campaign.extent), ("holds for", campaign.scope)]
    facts += [("by", campaign.people), ("when", campaign.days), ("next", _next(result, pairs, status, more))]
    if isinstance(result, Estimate):
        return _of_one(result, status, facts)
    return _of_many(result, pairs, facts) if isinstance(result, Ranking) else _of_pair(result, pairs[0], status, facts)


def _of_one(result: Estimate, status: Status | None, facts: Facts) -> Headline:
    measure, (low, high) = result.basis.measure, result.confidence_interval()
    value, level = result.value, result.confidence_level
    if status is not None:
        value, low, high, level = status.value, status.low, status.high, status.confidence
    number = with_interval(value, low, high)
    meaning = "How far off that is cannot be said from these labels."
    if result.basis.census and not result.degenerate:
        meaning = "Everything was judged, so this is exact."
    elif np.isfinite([low, high]).all():
        meaning = f"The true value lies between {from_to(low, high).replace(' to ', ' and ')} with {_sure(level)}."
    answer = f"{result.name} has {measure} {number}." if np.isfinite(value) else f"{result.name} has no {measure} yet."
    question = f"How good is {result.name}?"
    return Headline(question, MEASURED, answer, measure, number, "", "", meaning, facts)


def _of_pair(result: Comparison, pair: Difference, status: Status | None, facts: Facts) -> Headline:
    question = f"Which is better, {result.first} or {result.second}?"
    equal = status is not None and status.resolved and status.winner is None
    state = SETTLED if pair.winner or pair.certain or equal else OPEN
    if pair.winner:
        answer = f"{pair.winner} is better than {pair.second if pair.winner == pair.first else pair.first}."
    elif equal and status is not None:
        within = f" within ±{status.margin:g}" if status.margin else ""
        answer = f"{result.first} and {result.second} are equally good{within}."
    elif pair.certain:
        answer = f"{result.first} and {result.second} are exactly equal."
    else:
        answer = f"These labels do not show which of {result.first} and {result.second} is better."
    measure, of = result.basis.measure, pair.what
    known = bool(np.isfinite(pair.value))
    number = with_interval(pair.value, pair.low, pair.high, sign=True) if known else ""
    always = status is not None and status.looks is not None and pair.has_interval
    meaning = _meant(pair) + (f" The interval is valid {status.valid}." if always and status else "")
    return Headline(question, state, answer, measure, number, of, in_percent(pair.relative), meaning, facts)


def _of_many(result: Ranking, pairs: Sequence[Difference], facts: Facts) -> Headline:
    best, *rest = result.names
    question = f"Which of {len(result.names)} rankers is best: {', '.join([best, *rest][:-1])} or {rest[-1]}?"
    ahead = {pair.second: pair for pair in pairs if pair.first == best}
    equal = [name for name, pair in ahead.items() if pair.equal]
    open_ones = [name for name, pair in ahead.items() if pair.winner != best and not pair.equal]
    apart = sum(pair.winner is not None for pair in pairs)
    counted = f"{apart} of {how_many('pair', len(pairs))} of rankers can be told apart."
    if not open_ones and equal:
        answer = (
            f"{', '.join([best, *equal[:-1]])} and {equal[-1]} are exactly equal, and the best of {len(result.names)}"
        )
        answer += " rankers."
    elif not open_ones:
        answer = f"{best} is the best of {len(result.names)} rankers."
    else:
        named = [best, *equal, *open_ones]
        answer = f"The best is {', '.join(named[:-1])} or {named[-1]}; these labels do not show which."
    first = ahead[rest[0]]
    number = with_interval(first.value, first.low, first.high, sign=True)
    measure, of = result.basis.measure, first.what
    meaning = f"{counted} {_meant(first)}"
    state = OPEN if open_ones else SETTLED
    return Headline(question, state, answer, measure, number, of, in_percent(first.relative), meaning, facts)


def _meant(pair: Difference) -> str:
    """What an interval means for the two rankers."""
    if pair.certain:
        return "Everything was judged, so this is exact."
    if not pair.has_interval:
        return "How far off the difference is cannot be said from these labels."
    places = decimals(pair.low, pair.high)
    if pair.low > 0 or pair.high < 0:
        ahead, least, most = (pair.first, pair.low, pair.high) if pair.low > 0 else (pair.second, -pair.high, -pair.low)
        near, far = fixed(least, places), fixed(most, places)
        by = f"by between {near} and {far}" if float(near) else f"by at most {far}"
        alone = (
            "; this interval holds by itself, at the step of Holm's test that tells them apart" if pair.alone else ""
        )
        return f"With {_sure(pair.confidence)} {ahead} is better {by}{alone}."
    ends = (-pair.low, pair.high) if pair.value >= 0 else (pair.high, -pair.low)
    worse, better = (fixed(end, places) for end in ends)
    return (
        f"{pair.first if pair.value >= 0 else pair.second} looks better by {fixed(abs(pair.value), places)}; with "
        f"{_sure(pair.confidence)} the truth lies between {worse} worse and {better} better."
    )


def in_percent(change: RelativeChange | None) -> str:
    """The relative change with its interval; without one if the error of the base is not known."""
    if change is None or not np.isfinite(change.change):
        return ""
    places = 1 if abs(change.base) >= 10 else 2
    of = f"{change.of}'s {fixed(change.base, places)}"
    if not change.has_interval:
        rounded = fixed(100 * change.change, 0, sign=True)
        return f"about {rounded} % of {of}" if float(rounded.replace(MINUS, "-")) else f"less than 1 % of {of}"
    value, low, high = (100 * each for each in (change.change, change.low, change.high))
    return f"{with_interval(value, low, high, ' %', sign=True)} of {of}"


def _sure(level: float) -> str:
    places = 2 - int(np.floor(np.log10(100 * (1 - level))))
    return f"{round(100 * level, places):.12g} % confidence"


def _next(
    result: Estimate | Comparison | Ranking, pairs: Sequence[Difference], status: Status | None, more: Further | None
) -> str:
    """What to do next, in a sentence."""
    if status is not None:
        return _next_of_status(status)
    if result.basis.census:
        return "Nothing: all that can change the answer is judged."
    if pairs and all(pair.winner or pair.equal for pair in pairs):
        return "Nothing: the question is settled."
    if more is not None and more.advice:
        return more.advice
    if not pairs:
        return "Nothing: keep judging only if the interval is too wide for the decision."
    return "Judge more, or decide on other grounds among those that cannot be told apart."


def _next_of_status(status: Status) -> str:
    if status.resolved:
        return "Nothing: judging can stop here."
    if status.open:
        return f"Judge what was passed over, from {status.waiting}; until then it counts at its worst."
    unit = how_many(status.unit, 2).partition(" ")[2]
    if status.within_reach:
        if np.isfinite(status.more):
            odds = f"; those of the plan that are left settle it with a chance of {status.chance:.0%}"
            return f"Judge on: about {roughly(max(status.more, 1))} more labels may do{odds}."
        return f"Judge on: {status.drawn - status.judged} {unit} of the plan are left."
    if not np.isfinite(status.needed):
        return "Judge everything, or accept that the labels do not say."
    if status.needed >= status.everything:
        return "Decide on other grounds: all of the pool would have to be judged to see so small a difference."
    further = max(status.needed - status.spent, 1)
    what = f"{status.cost_unit} of judging" if status.cost_unit else " labels"
    return (
        f"This budget is too small. About {roughly(further)} more{what} would settle it, if the true difference "
        "is what it looks like now."
    )


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
