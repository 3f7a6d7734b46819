"""What does the first screen of a report say, and the result in a sentence, to people who did not take part?"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import JUDGED, checked_records, latest
from pt_active.inference.new_queries import NEW
from pt_active.inference.ties import difference
from pt_active.plans.answers.basis import EVERYTHING, Basis
from pt_active.plans.answers.ranking import Ranking, Result
from pt_active.plans.answers.report.differences import Difference, Further, RelativeChange, for_others, without_shares
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.showing.page import MEASURED, OPEN, SETTLED, Headline
from pt_active.showing.printed import Facts, listed
from pt_active.showing.rounding import MINUS, decimals, fixed, from_to, share, with_interval

_UNKNOWN = "These labels do not show how far off that is."

_MAX_NAMED = 6  # Judges that are named
_MOSTLY = 0.87  # If queries are more than this share of an error, 3/4 of its variance, labels hardly lower it


@dataclass(frozen=True)
class WhoJudged:
    """The judging as a reader asks for it.

    ``level`` is what was drawn, days are like ``2026-03-01``, ``counting`` pairs can change the ``measure``, and what
    is not known is empty or 0.
    """

    judged: int
    documents: int
    queries: int
    all_queries: int
    level: str
    judges: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    written: str = ""
    measure: str = ""
    counting: int = 0

    @classmethod
    def of(
        cls,
        basis: Basis,
        records: pd.DataFrame | None,
        documents: int,
        all_queries: int = 0,
        measure: str = "",
        counting: int = 0,
    ) -> WhoJudged:
        """The campaign of today behind a result."""
        names: tuple[str, ...] = ()
        days = [""]
        if records is not None:
            said = latest(checked_records(records))
            said = said[said["status"] == JUDGED]
            days = sorted(day[:10] for day in said["time"] if day) or days
            names = tuple(str(name) for name in said["annotator"].value_counts(sort=True).index)
        sizes = basis.n_judged, documents, basis.n_queries, all_queries, basis.level
        today = datetime.date.today().isoformat()
        return cls(*sizes, names, days[0], days[-1], today, measure, counting)

    @property
    def extent(self) -> str:
        """How much was judged of how much."""
        part = f"{self.judged:,} of {self.documents:,} query–document pairs ({share(self.judged, self.documents)})"
        if self.judged <= self.counting < self.documents:
            count = f"the {self.counting:,} query–document pairs that count for {self.measure}"
            part = f"{self.judged:,} of {count} ({share(self.judged, self.counting)})"
        if not self.all_queries:
            return part
        if self.queries == self.all_queries:
            return f"{part}, in all {how_many('query', self.all_queries)}"
        return f"{part}, in {self.queries:,} of {self.all_queries:,} queries"

    @property
    def scope(self) -> str:
        """Which queries a result is about."""
        return f"these {how_many('query', self.all_queries)}, not for others" if self.all_queries else "these queries"

    @property
    def people(self) -> str:
        """Who judged."""
        if not self.judges:
            return "not recorded in the labels"
        more = len(self.judges) - _MAX_NAMED
        named = ", ".join(self.judges[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{how_many('judge', len(self.judges))}: {named}"

    @property
    def days(self) -> str:
        """When it was judged, and when the report was written."""
        judged = "not recorded in the labels"
        if self.since:
            judged = self.since if self.since == self.until else f"{self.since} to {self.until}"
        return f"{judged}; report written on {self.written}" if self.written else judged


def headline(
    result: Result,
    pairs: Sequence[Difference],
    status: Status | None,
    campaign: WhoJudged,
    more: Further | Status | None,
) -> Headline:
    """The first screen of the report of a plan."""
    population = result.population
    facts = [("judged", campaign.extent), ("holds for", campaign.scope if population is None else population.in_words)]
    facts += _for_others(result, status)
    facts += [("judged by", campaign.people), ("when", campaign.days), ("next", _next(result, pairs, status, more))]
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
    question = f"Which is better, {result.first} or {result.second}?"
    equal = status is not None and status.resolved and status.winner is None
    state = SETTLED if pair.winner or pair.certain or equal else OPEN
    if pair.winner:
        worse = pair.second if pair.winner == pair.first else pair.first
        answer = f"{pair.winner} is better than {worse}{_where(result)}."
    elif equal and status is not None:
        within = f" within ±{status.margin:g}" if status.margin else ""
        answer = f"{result.first} and {result.second} are equally good{within}{_where(result)}."
    elif pair.certain:
        answer = f"{result.first} and {result.second} are exactly equal{_where(result)}."
    else:
        answer = f"These labels do not show whether {result.first} or {result.second} is better{_where(result)}."
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
    new, more, pairs = other.population.name == NEW, "", for_others(result, status)
    if isinstance(other, Ranking):
        said, *_ = _best_of(other, pairs)
    elif isinstance(result, Comparison):
        settled = bool(pairs[0].winner or pairs[0].certain)
        said = f"{pairs[0].verdict if settled else 'Not settled'}. {_meant(pairs[0])}"
        if new and not settled and result.floor > _MOSTLY * other.standard_error:
            more = "More labels hardly narrow this interval; more queries do."
    elif status is not None and status.beside is not None:
        said = _between(status.beside.low, status.beside.high, status.confidence)
    else:
        said = _exact(other.what) if other.certain else _between(*other.confidence_interval(), other.confidence_level)
    return [("new queries" if new else "these alone", " ".join(filter(None, (said, more))))]


def _of_many(result: Ranking, pairs: Sequence[Difference], facts: Facts) -> Headline:
    question = f"Which of {len(result.names)} rankers is best: {listed(result.names, ' or ')}?"
    answer, settled, first = _best_of(result, pairs)
    number = with_interval(first.value, first.low, first.high, sign=True)
    apart = sum(pair.winner is not None for pair in pairs)
    meaning = f"{apart} of {how_many('pair', len(pairs))} of rankers can be told apart. {_meant(first)}"
    state, measure = SETTLED if settled else OPEN, result.basis.measure
    return Headline(question, state, answer, measure, number, first.what, in_percent(first.relative), meaning, facts)


def _best_of(result: Ranking, pairs: Sequence[Difference]) -> tuple[str, bool, Difference]:
    """Which ranker is best, in a sentence, if that is settled, and its difference to the next that is not equal."""
    best, *rest = result.names
    ahead = {pair.second: pair for pair in pairs if pair.first == best}
    equal = [name for name, pair in ahead.items() if pair.equal]
    open_ones = [name for name, pair in ahead.items() if pair.winner != best and not pair.equal]
    of, where = f"of {how_many('ranker', len(result.names))}", _where(result)
    if open_ones:
        named = listed([best, *equal, *open_ones], " or ")
        answer = f"The best is {named}; these labels do not show which{where}."
    elif equal:
        answer = f"{listed([best, *equal], ' and ')} are exactly equal, and the best {of}{where}."
    else:
        answer = f"{best} is the best {of}{where}."
    return answer, not open_ones, next((each for each in ahead.values() if not each.equal), ahead[rest[0]])


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
        alone = (
            "; this interval holds for the pair alone, at the step of Holm's test that tells it apart"
            if pair.alone
            else ""
        )
        return f"With {_sure(pair.confidence)}, {ahead} is better {by}{alone}."
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


def _next(result: Result, pairs: Sequence[Difference], status: Status | None, more: Further | Status | None) -> str:
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
    if isinstance(more, Status) and not more.resolved:
        return _advised(more)
    if isinstance(more, Further) and more.advice:
        return more.advice
    if not pairs:
        return "Nothing, unless the interval is too wide for your decision; then keep judging."
    return "Judge more, or choose on other grounds between rankers that cannot be told apart."


def _advised(status: Status) -> str:
    return f"{status.advice[0].upper()}{status.advice[1:]}."
