"""What does the first screen of a report say, and the result in a sentence, to people who did not take part?"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import JUDGED, checked_records, latest
from pt_active.inference.new_queries import NEW
from pt_active.inference.ties import difference
from pt_active.plans.answers.basis import EVERYTHING, Basis, promised
from pt_active.plans.answers.ranking import Ranking, Result
from pt_active.plans.answers.report.differences import Difference, RelativeChange, for_others, without_shares
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.kept import PlanTables
from pt_active.showing.page import MEASURED, OPEN, SETTLED, Headline
from pt_active.showing.printed import Facts, capital, listed
from pt_active.showing.rounding import MINUS, decimals, fixed, from_to, share, with_interval

_UNKNOWN = "These labels do not show how far off that is."


def campaign_of(basis: Basis, tables: PlanTables, records: pd.DataFrame | None) -> dict[str, str]:
    """How much was judged of how much, who judged, and when."""
    return {"judged": _extent(basis, tables)} | _who_and_when(records)


def _extent(basis: Basis, tables: PlanTables) -> str:
    """How much was judged of how much."""
    sizes, measure = tables.manifest.counts, tables.manifest.arguments.measure
    pairs, of = "query–document pairs", sizes.documents
    counting = int(tables.pool.seen(tables.measure).sum())
    if basis.n_judged <= counting < sizes.documents:
        of = counting
        part = f"{basis.n_judged:,} of the {of:,} {pairs} that count for {measure}"
    else:
        part = f"{basis.n_judged:,} of {of:,} {pairs}"
    part += f" ({share(basis.n_judged, of)})"
    if basis.n_queries == sizes.queries:
        return f"{part}, in all {how_many('query', sizes.queries)}"
    return f"{part}, in {basis.n_queries:,} of {sizes.queries:,} queries"


def _who_and_when(records: pd.DataFrame | None) -> dict[str, str]:
    """Who judged, and on which days; today's is that of the report."""
    who = when = "not recorded in the labels"
    if records is not None:
        said = latest(checked_records(records))
        said = said[said["status"] == JUDGED]
        names = said["annotator"].value_counts().index.tolist()
        who = f"{how_many('judge', len(names))}: {listed(names)}"
        if days := sorted({day[:10] for day in said["time"] if day}):
            when = " to ".join(dict.fromkeys((days[0], days[-1])))
    return {"judged by": who, "when": f"{when}; report written on {datetime.date.today().isoformat()}"}


def headline(
    result: Result,
    pairs: Sequence[Difference],
    status: Status | None,
    campaign: dict[str, str],
    ahead: Status | None,
) -> Headline:
    """The first screen of the report of a plan."""
    assert result.population is not None
    extent, *who = campaign.items()
    said = result if status is None else status
    facts = [extent, ("holds for", result.population.in_words), *_for_others(result, status)]
    facts += [("guarantee", promised(said.guarantee, said.assumptions)), *who]
    facts.append(("next", _next(result, pairs, status, ahead)))
    if isinstance(result, Estimate):
        return _of_one(result, status, facts)
    return _of_many(result, pairs, facts) if isinstance(result, Ranking) else _of_pair(result, pairs[0], status, facts)


def _of_one(result: Estimate, status: Status | None, facts: Facts) -> Headline:
    measure, (low, high) = result.basis.measure, result.confidence_interval()
    value, level = result.value, result.confidence_level
    if status is not None:
        value, low, high, level = status.value, status.low, status.high, status.confidence
    number = with_interval(value, low, high)
    known = result.certain or difference(high, low) == 0
    meaning = _exact(result.name) if known else _between(low, high, level)
    answer = f"{result.name} has {measure} {number}." if np.isfinite(value) else f"{result.name} has no {measure} yet."
    question = f"How good is {result.name}?"
    return Headline(question, MEASURED, answer, measure, number, "", "", meaning, facts)


def _of_pair(result: Comparison, pair: Difference, status: Status | None, facts: Facts) -> Headline:
    one, other = result.first, result.second
    question, where = f"Which is better, {one} or {other}?", _where(result)
    settled = bool(pair.winner or pair.certain or (status is not None and status.resolved))
    if pair.winner:
        answer = f"{pair.winner} is better than {other if pair.winner == one else one}{where}."
    elif settled:
        margin = None if status is None else status.margin
        equal = f"equally good within ±{margin:g}" if margin else "exactly equal"
        answer = f"{one} and {other} are {equal}{where}."
    else:
        answer = f"These labels do not show whether {one} or {other} is better{where}."
    state = SETTLED if settled else OPEN
    measure, of = result.basis.measure, pair.what
    known = bool(np.isfinite(pair.value))
    number = with_interval(pair.value, pair.low, pair.high, sign=True) if known else ""
    always = status is not None and status.looks is not None and pair.has_interval and not pair.certain
    meaning = _meant(pair) + (f" The interval is valid {status.valid}." if always and status else "")
    return Headline(question, state, answer, measure, number, of, in_percent(pair.relative), meaning, facts)


def _where(result: Result) -> str:
    """For which queries a verdict holds, at the end of its sentence."""
    if result.population is None:
        return ""
    queries = replace(result.population, traffic="").in_words
    return f" {'for' if result.population.name == NEW else 'on'} {queries}"


def _for_others(result: Result, status: Status | None) -> Facts:
    """What the labels say for the other queries: of new ones beside these of the pool, or of these beside new ones."""
    other = result.beside
    if other is None or other.population is None:
        return []
    if isinstance(other, Ranking):
        said = f"{other.answer}."
    elif isinstance(result, Comparison):
        pairs = for_others(result, status)
        settled = bool(pairs[0].winner or pairs[0].certain)
        said = f"{pairs[0].verdict if settled else 'Not settled'}. {_meant(pairs[0])}"
    elif status is not None and status.beside is not None:
        said = _between(status.beside.low, status.beside.high, status.confidence)
    else:
        said = _exact(other.what) if other.certain else _between(*other.confidence_interval(), other.confidence_level)
    return [("new queries" if other.population.name == NEW else "these alone", said)]


def _of_many(result: Ranking, pairs: Sequence[Difference], facts: Facts) -> Headline:
    question = f"Which of {len(result.names)} rankers is best: {listed(result.names, ' or ')}?"
    first, measure = result.estimates[0], result.basis.measure
    number = with_interval(first.value, *first.confidence_interval())
    apart = sum(pair.winner is not None for pair in pairs)
    told = f"{apart} of {how_many('pair', len(pairs))} of rankers can be told apart"
    meaning = ". ".join(filter(None, (told, capital(result.luck_in_words))))
    state = SETTLED if result.settled else OPEN
    return Headline(question, state, f"{result.headline}.", measure, number, first.name, "", f"{meaning}.", facts)


def _exact(what: str) -> str:
    return f"Everything that counts for {what} was judged, so it is exact."


def _between(low: float, high: float, level: float) -> str:
    """What the interval of one ranker means."""
    if not np.isfinite([low, high]).all():
        return _UNKNOWN
    return f"With {_sure(level)}, the true value lies between {from_to(low, high).replace(' to ', ' and ')}."


def _meant(pair: Difference) -> str:
    """What an interval means for the two rankers."""
    if pair.certain:
        return _exact(pair.what)
    if not pair.has_interval:
        return _UNKNOWN
    places = decimals(pair.low, pair.high)
    if pair.low > 0 or pair.high < 0:
        ahead, least, most = (pair.first, pair.low, pair.high) if pair.low > 0 else (pair.second, -pair.high, -pair.low)
        near, far = fixed(least, places), fixed(most, places)
        by = f"by {near} to {far}" if float(near) else f"by at most {far}"
        return f"With {_sure(pair.confidence)}, {ahead} is better {by}."
    ends = (-pair.low, pair.high) if pair.value >= 0 else (pair.high, -pair.low)
    worse, better = (fixed(end, places) for end in ends)
    return (
        f"{pair.first if pair.value >= 0 else pair.second} looks better by {fixed(abs(pair.value), places)}; with "
        f"{_sure(pair.confidence)}, it is between {worse} worse and {better} better."
    )


def in_percent(change: RelativeChange | None) -> str:
    """The relative change in words; empty if there is none."""
    if change is None:
        return ""
    places = 1 if abs(change.base) >= 10 else 2
    of = f"{change.of}'s {fixed(change.base, places)}"
    rounded = fixed(100 * change.change, 0, sign=True)
    return f"about {rounded}% of {of}" if float(rounded.replace(MINUS, "-")) else f"less than 1% of {of}"


def _sure(level: float) -> str:
    places = 2 - int(np.floor(np.log10(100 * (1 - level))))
    return f"{round(100 * level, places):.12g}% confidence"


def _next(result: Result, pairs: Sequence[Difference], status: Status | None, ahead: Status | None) -> str:
    """What to do next, in a sentence."""
    if status is not None:
        return _advised(status)
    other = None if result.holds_for_new else result.beside
    sure = other is None or all(pair.winner or pair.certain for pair in without_shares(other))
    these = "" if sure else " for these queries"
    if result.basis.census and not result.holds_for_new:
        return f"Nothing: everything that can change the answer{these} is judged."
    if pairs and all(pair.winner or pair.equal for pair in pairs):
        return f"Nothing: the question is settled{these}."
    if result.basis.census:
        return f"Add queries if that is not enough: {EVERYTHING[result.basis.level]} was judged."
    if ahead is not None and not ahead.resolved:
        return f"For {ahead.what}, {ahead.advice}." if isinstance(result, Ranking) else _advised(ahead)
    if not pairs:
        return "Nothing, unless the interval is too wide for your decision; then keep judging."
    return "Judge more, or choose on other grounds between rankers that cannot be told apart."


def _advised(status: Status) -> str:
    return f"{capital(status.advice)}."
