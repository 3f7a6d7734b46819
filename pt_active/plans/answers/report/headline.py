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
from pt_active.plans.answers.report.differences import Difference, RelativeChange, for_others
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.kept import PlanTables
from pt_active.showing.page import MEASURED, OPEN, SETTLED, Headline
from pt_active.showing.printed import Facts, capital, listed
from pt_active.showing.rounding import MINUS, fixed, from_to, share, with_interval


def campaign_of(basis: Basis, tables: PlanTables, records: pd.DataFrame | None) -> dict[str, str]:
    """How much was judged of how much, who judged, and on which days; today's is that of the report."""
    sizes, counting = tables.manifest.counts, int(tables.pool.seen(tables.measure).sum())
    pairs = f"query–document pairs that count for {tables.manifest.arguments.measure}"
    judged = f"{basis.n_judged:,} of the {counting:,} {pairs} ({share(basis.n_judged, counting)})"
    who = when = "not recorded in the labels"
    if records is not None:
        said = latest(checked_records(records))
        said = said[said["status"] == JUDGED]
        names = said["annotator"].value_counts().index.tolist()
        who = f"{how_many('judge', len(names))}: {listed(names)}"
        if days := sorted({day[:10] for day in said["time"] if day}):
            when = " to ".join(dict.fromkeys((days[0], days[-1])))
    return {
        "judged": f"{judged}, in {basis.n_queries:,} of {how_many('query', sizes.queries)}",
        "judged by": who,
        "when": f"{when}; report written on {datetime.date.today().isoformat()}",
    }


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
    facts = [extent, ("holds for", result.population.in_words), *_of_others(result, status)]
    facts += [("guarantee", promised(said.guarantee, said.assumptions)), *who]
    facts.append(("next", _next(result, pairs, status, ahead)))
    if isinstance(result, Estimate):
        return _of_one(result, status, facts)
    return _of_many(result, pairs, facts) if isinstance(result, Ranking) else _of_pair(result, pairs[0], status, facts)


def _of_one(result: Estimate, status: Status | None, facts: Facts) -> Headline:
    measure, value, (low, high) = result.basis.measure, result.value, result.confidence_interval()
    if status is not None:
        value, low, high = status.value, status.low, status.high
    number = with_interval(value, low, high)
    meaning = _meaning(result.name, low, high, result.confidence_level, result.certain)
    answer = f"{result.name} has {measure} {number}." if np.isfinite(value) else f"{result.name} has no {measure} yet."
    question = f"How good is {result.name}?"
    return Headline(question, MEASURED, answer, measure, number, "", "", meaning, facts)


def _of_pair(result: Comparison, pair: Difference, status: Status | None, facts: Facts) -> Headline:
    one, other, population = result.first, result.second, result.population
    assert population is not None
    where = f"{'for' if population.name == NEW else 'on'} {replace(population, traffic='').in_words}"
    settled = bool(pair.winner or pair.certain or (status is not None and status.resolved))
    if pair.winner:
        answer = f"{pair.winner} is better than {other if pair.winner == one else one} {where}."
    elif settled:
        margin = None if status is None else status.margin
        equal = f"equally good within ±{margin:g}" if margin else "exactly equal"
        answer = f"{one} and {other} are {equal} {where}."
    else:
        answer = f"These labels do not show whether {one} or {other} is better {where}."
    number = with_interval(pair.value, pair.low, pair.high, sign=True) if np.isfinite(pair.value) else ""
    meaning = _of_difference(pair)
    if status is not None and status.looks is not None and pair.has_interval and not pair.certain:
        meaning += f" The interval is valid {status.valid}."
    return Headline(
        question=f"Which is better, {one} or {other}?",
        state=SETTLED if settled else OPEN,
        answer=answer,
        measure=result.basis.measure,
        number=number,
        of=pair.what,
        relative=in_percent(pair.relative),
        meaning=meaning,
        facts=facts,
    )


def _of_many(result: Ranking, pairs: Sequence[Difference], facts: Facts) -> Headline:
    first, apart = result.estimates[0], sum(pair.winner is not None for pair in pairs)
    told = f"{apart} of {how_many('pair', len(pairs))} of rankers can be told apart"
    return Headline(
        question=f"Which of {len(result.names)} rankers is best: {listed(result.names, ' or ')}?",
        state=SETTLED if result.settled else OPEN,
        answer=f"{result.headline}.",
        measure=result.basis.measure,
        number=with_interval(first.value, *first.confidence_interval()),
        of=first.name,
        relative="",
        meaning=f"{'. '.join(filter(None, (told, capital(result.luck_in_words))))}.",
        facts=facts,
    )


def _of_others(result: Result, status: Status | None) -> Facts:
    """What the labels say for the other queries: of new ones beside these of the pool, or of these beside new ones."""
    other = result.beside
    assert other is not None
    assert other.population is not None
    if isinstance(other, Ranking):
        said = f"{other.answer}."
    elif isinstance(other, Comparison):
        (pair,) = for_others(result, status)
        said = f"{pair.verdict if pair.winner or pair.certain else 'Not settled'}. {_of_difference(pair)}"
    else:
        seen = None if status is None else status.beside
        ends = other.confidence_interval() if seen is None else (seen.low, seen.high)
        said = _meaning(other.what, *ends, other.confidence_level, other.certain)
    return [("new queries" if other.population.name == NEW else "these alone", said)]


def _of_difference(pair: Difference) -> str:
    """What the interval of two rankers means; of the one that seems better minus the other one."""
    what, low, high = pair.what, pair.low, pair.high
    if pair.value < 0:
        what, low, high = f"{pair.second} − {pair.first}", -high, -low
    return _meaning(what, low, high, pair.confidence, pair.certain)


def _meaning(what: str, low: float, high: float, level: float, certain: bool) -> str:
    """What an interval means."""
    if certain or difference(high, low) == 0:
        return f"Everything that counts for {what} was judged, so it is exact."
    if not np.isfinite([low, high]).all():
        return "These labels do not show how far off that is."
    return f"With {_sure(level)}, the true value of {what} lies between {from_to(low, high).replace(' to ', ' and ')}."


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
        return f"{capital(status.advice)}."
    if result.basis.census and not result.holds_for_new:
        return "Nothing: everything that can change the answer is judged."
    if pairs and all(pair.winner or pair.equal for pair in pairs):
        return "Nothing: the question is settled."
    if result.basis.census:
        return f"Add queries if that is not enough: {EVERYTHING[result.basis.level]} was judged."
    if ahead is not None and not ahead.resolved:
        return f"For {ahead.what}, {ahead.advice}." if isinstance(result, Ranking) else f"{capital(ahead.advice)}."
    return "Judge more, if the interval is too wide for your decision."
