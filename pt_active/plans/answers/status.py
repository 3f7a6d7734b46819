"""May judging stop, or should it go on [theory 10, 14]?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pt_active.frames.checks import how_many
from pt_active.frames.strays import NO_STRAYS, Strays
from pt_active.inference.new_queries import NEW
from pt_active.inference.stopping.looks import ALWAYS, FIRST, MIN_LABELS, PLANNED, SECOND, WITHIN
from pt_active.plans.answers.basis import (
    ANY_TIME,
    EXACT,
    HOLDS,
    LABELS_RIGHT,
    LARGE_SAMPLES,
    QUERIES_RANDOM,
    TOO_FEW,
    UNTOLD,
    QueriesMeant,
    caution_for_new,
    promised,
)
from pt_active.plans.answers.gaps import Gap, in_words
from pt_active.showing.printed import Facts, Printed, plain, printed
from pt_active.showing.rounding import amount

_ROUNDING = 1e-9
"""Values that differ by less than this share of them are equal."""

_MIN_CHANCE = 0.05
"""With a lower probability of being resolved, the budget is said not to settle the question."""

VALID = {
    None: "at the end",
    ALWAYS: "at any time, for any data",
    PLANNED: f"after each fifth of the plan ({PLANNED})",
}
"""Looks → when the interval is valid, in words."""

_PASSED = ("passed over", "blocked by")
"""The names of the documents that were passed over, if what comes after them counts, and if not."""

ADD_QUERIES = "add queries, so that none has much of the traffic"
"""The advice where few queries have much of the traffic."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Status(Printed):
    """What the labels so far show, and whether to keep judging.

    Attributes:
        measure: The measure, with all its parameters.
        first: The ranker that is compared, or the only one.
        second: The ranker that it is compared with; None if there is one ranker.
        estimator: The name of the estimator.
        looks: When the state may be looked at: ``"always"``, ``"obrien-fleming"``, or None for the end.
        confidence: Level at which *all* intervals at all looks hold together.
        margin: Differences up to this do not matter (or the half-width that is wanted); None if it was not given.
        resolution: ``"first"`` or ``"second"`` is better, ``"within"`` the margin, or None while unresolved.
        resolved_at: What had been spent at the look that resolved it; None while unresolved.
        value: The estimate from what is judged without a gap, first minus second; NaN if nearly nothing is. It is the
            one of `Plan.compare` and `Plan.estimate` for `Plan.so_far`, whatever the looks are.
        low: Lower end of the interval that these looks allow; NaN if they allow none.
        high: Upper end.
        standard_error: The standard error of the estimate; NaN if it is not known.
        e_value: With ``looks="always"``, the largest evidence so far against no difference: how many times the stake
            bets against it have won. Its inverse is a p-value that holds at any time. NaN otherwise.
        unit: The unit of ``judged``, ``drawn`` and ``next_look``: ``query``, ``document``, ``part`` or ``sample``.
        judged: How many units are judged and count; without a gap from the first one if no worst case is assumed.
        drawn: How many units the plan asks for.
        n_judged: The number of labels of these units.
        left_out: The number of labels of other units.
        waiting: The first unit that is not judged; None if nothing is left to judge.
        spent: What the judged units cost.
        budget: What all drawn units cost.
        next_look: How many units have to be judged for the next look; None if there is none.
        chance: Probability of being resolved by the end of the plan; NaN if it cannot be computed.
        further: Expected further cost until it is resolved or the plan ends; NaN if it cannot be computed.
        more: With ``looks="always"``, the number of further labels until it is resolved, as probably more as less, if
            the budget does not end it; NaN if it cannot be computed.
        more_high: The number of further labels that suffices with a probability of 0.9.
        needed: Total cost that would resolve it four times out of five if the estimate were the truth; NaN if unknown.
        everything: What it costs to judge everything that can change the result: the whole pool, or in a plan of
            documents those that count.
        cost_unit: The unit of costs as a suffix of a number, such as ``" minutes"``; empty if the cost names none.
        overturned: An earlier verdict, ``"first"``, ``"second"`` or ``"within"``, that what is judged by now shows to
            have been false; None if there is none.
        unknown: The labels of the plan's queries that belong to no document of the plan, as in `Basis`.
        blocked: The documents that were passed over and have no label, the first of them first.
        open: How many units are not fully judged although later ones are and count. Evidence, interval and verdict
            assume the worst case, and so hold whatever their labels are; the estimate ends before the first of them.
        due: How many documents have a label that does not count yet, since another judge is asked.
        changed: How many labels were others before, as the times of records tell. All is
            computed as if they had always been what they are now, so that earlier looks do not count.
        population: The queries that it holds for.
        apart: How far their mean may lie from that of the pool's queries [theory 16]: 0 for these queries and at the
            end, and infinite if that is not known.
        refusal: Why it is not known, or why there is no interval; empty if there is one.
        assumed: What the plan and its labels assume beside what `assumptions` says of new queries.
        beside: The state for the other queries, whose further labels are not foreseen.
    """

    measure: str
    first: str
    second: str | None
    estimator: str
    looks: str | None
    confidence: float
    margin: float | None
    resolution: str | None = None
    resolved_at: float | None = None
    value: float
    low: float = np.nan
    high: float = np.nan
    standard_error: float
    e_value: float = np.nan
    unit: str
    judged: int
    drawn: int
    n_judged: int
    left_out: int
    waiting: str | None
    spent: float
    budget: float
    next_look: int | None = None
    chance: float = np.nan
    further: float = np.nan
    more: float = np.nan
    more_high: float = np.nan
    needed: float = np.nan
    everything: float
    population: QueriesMeant
    cost_unit: str = ""
    overturned: str | None = None
    unknown: Strays = NO_STRAYS
    blocked: tuple[Gap, ...] = ()
    open: int = 0
    due: int = 0
    changed: int = 0
    apart: float = 0.0
    refusal: str = ""
    assumed: tuple[str, ...] = (LABELS_RIGHT,)
    beside: Status | None = field(default=None, repr=False)

    @property
    def resolved(self) -> bool:
        """Whether judging can stop."""
        return self.resolution is not None

    @property
    def winner(self) -> str | None:
        """The better ranker; None while unresolved, or if they are equivalent within the margin."""
        return {FIRST: self.first, SECOND: self.second}.get(self.resolution or "")

    @property
    def guarantee(self) -> str:
        """``"exact"``, ``"any time"`` or ``"large samples"``: what the interval and the verdict promise."""
        if self.holds_for_new:
            return LARGE_SAMPLES
        if self.high - self.low <= self._rounding < np.inf:
            return EXACT
        return ANY_TIME if self.looks == ALWAYS else LARGE_SAMPLES

    @property
    def _rounding(self) -> float:
        """What is left of the width of the interval once all is known."""
        return _ROUNDING * max(abs(self.low), abs(self.high))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for that, one clause each."""
        return (*self.assumed, *((QUERIES_RANDOM,) if self.holds_for_new else ()))

    @property
    def holds_for_new(self) -> bool:
        """Whether it holds for queries like those of the pool, rather than for these [theory 16]."""
        return self.population.name == NEW

    @property
    def within_reach(self) -> bool:
        """Whether the rest of the budget may settle it."""
        return self.judged < self.drawn and (self.open > 0 or not self.chance < _MIN_CHANCE)

    def __eq__(self, other: object) -> bool:
        # Numbers that are unknown in both are equal, which NaN is not.
        return isinstance(other, Status) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.measure, self.what, self.looks, self.judged, self.n_judged, self.spent, self.resolution))

    def to_dict(self) -> dict[str, object]:
        """Every number and sentence, ready for JSON: NaN and infinite numbers become None."""
        said = {"winner": self.winner, "answer": self.answer, "advice": self.advice, "caution": self.caution}
        content: dict[str, object] = plain(replace(self, beside=None))
        del content["population"], content["beside"], content["assumed"]
        content |= {"guarantee": self.guarantee, "assumptions": list(self.assumptions)}
        content["queries"] = self.population.name
        for state in filter(None, (self, self.beside)):
            for name in ("low", "high", "standard_error", "resolution"):
                content[f"{state.population.name}_{name}"] = plain(getattr(state, name))
        return content | said | {"unknown": self.unknown.number}

    # --- what it says, in sentences ---

    @property
    def what(self) -> str:
        """What is estimated: a ranker, or the difference of two."""
        return self.first if self.second is None else f"{self.first} − {self.second}"

    @property
    def point(self) -> str:
        """The estimate as printed; a difference has its sign."""
        return f"{self.value:.4f}" if self.second is None else f"{self.value:+.4f}"

    @property
    def answer(self) -> str:
        """The state, in one sentence."""
        if self.resolved:
            evidence = self._evidence if self.winner is not None else ""
            return f"stop: {self._found}{evidence}{' for new queries' if self.holds_for_new else ''}"
        if self.refusal == TOO_FEW:
            return "no verdict at any time for new queries"
        if self.judged == self.drawn:
            return "this budget did not settle it"
        return "not settled yet" if self.within_reach else "this budget will not settle it"

    @property
    def _found(self) -> str:
        """What a verdict says of the only ranker, or of the two."""
        if self.winner is not None:
            return f"{self.winner} is better"
        if not self.margin:
            return "exactly equal"
        return f"{'known' if self.second is None else 'equivalent'} within ±{self.margin:g}"

    @property
    def _evidence(self) -> str:
        if np.isnan(self.e_value):
            return ""
        return " (certain)" if np.isinf(self.e_value) else f" (e-value {self.e_value:.3g})"

    @property
    def advice(self) -> str:
        """What to do next, in one sentence."""
        if self.resolved:
            return "stop judging"
        if self.open:
            what = "is open" if self.due else "was passed over"
            return f"judge what {what}, from {self.waiting}; the worst case is assumed until you do"
        if self.blocked and self.left_out:
            return f"judge what was passed over, from {self.waiting}; no later label counts before you do"
        if self.refusal == TOO_FEW:
            once = "look once, at the end" if self.judged == self.drawn else "judge all and look once, at the end"
            return f"{ADD_QUERIES if self.population.traffic else 'add queries'}, or {once}"
        if self.refusal not in ("", UNTOLD):
            return "make a new plan with all rankers that are compared"
        if self.within_reach:
            return f"keep judging, from {self.waiting}{self._outlook}"
        if np.isnan(self.needed) and self.holds_for_new:
            return "add queries: if the estimate is right, no number of labels on these settles it"
        if np.isnan(self.needed):
            return "judge everything, or accept that the question stays open"
        if self.needed >= self.everything:
            return f"{self._lacking}, all that can change the result; or accept that the question stays open"
        # Beyond the parts of a plan there is one look, as at the end of others.
        look = ", and look once" if self.looks != ALWAYS and self.needed > self.budget else ""
        if self.second is None:
            return f"{self._lacking}{look}: enough if the error falls as expected"
        return f"{self._lacking}{look}: that settles it four times out of five if the estimate is right"

    @property
    def _lacking(self) -> str:
        """How much more to judge until `needed` is spent, and what that makes in all."""
        more = self.needed - self.spent
        if self.spent == self.n_judged and not self.cost_unit:
            more = np.ceil(more)
            return f"judge about {amount(more)} more documents, {amount(self.spent + more)} in all"
        return f"judge for about {amount(more)}{self.cost_unit} more, {amount(self.needed)} in all"

    @property
    def _outlook(self) -> str:
        """What can be expected of the labels to come, as the end of a sentence."""
        if np.isnan(self.chance):
            return ""
        left = f"{self.budget - self.spent:.6g}{self.cost_unit} left"
        if np.isnan(self.more):
            further = np.rint(self.further) if self.further >= 10 else self.further
            more = f"about {amount(further)}{self.cost_unit} more"
        else:
            more = f"about {how_many('more label', round(self.more))}, {self.more_high:.0f} with bad luck"
        return f": {more}; with the {left}, the chance of a verdict is {self.chance:.0%}"

    @property
    def valid(self) -> str:
        """When the interval is valid, in words."""
        if self.holds_for_new and self.looks == ALWAYS:
            return "at any time, in large samples of queries"
        return VALID[self.looks]

    @property
    def interval_text(self) -> str:
        """The interval as printed, its level, when it is valid, and the queries that it holds for."""
        holds = f"   for {self.population}"
        if why := self.refusal or self._too_early:
            return f"none{holds}: {why}"
        return f"{_ends(self.low, self.high) or 'none'}, {100 * self.confidence:.6g}%, valid {self.valid}{holds}"

    caution = property(caution_for_new)

    @property
    def _too_early(self) -> str:
        early = bool(np.isnan(self.low)) and self.looks == PLANNED and 0 < self.n_judged < MIN_LABELS
        return f"a look needs {MIN_LABELS} labels" if early else ""

    @property
    def remark(self) -> str | None:
        """Why the estimate and the verdict or the interval seem to contradict each other; None if they do not."""
        rare = f"this is one of the {100 * (1 - self.confidence):.3g}% of campaigns in which bets may fail"
        if self.overturned:
            before = f"{getattr(self, self.overturned)} is better" if self.overturned != WITHIN else "equivalent"
            return f"an earlier verdict, {before}, was false, as all that is judged by now shows; {rare}"
        if self.refusal or np.isnan(self.value):
            return None
        if self.looks == ALWAYS and np.isnan(self.low):
            return f"the bets have excluded every value, so there is no interval; {rare}"
        if self.winner is not None and (self.value > 0) != (self.winner == self.first):
            return (
                "the estimate now contradicts the verdict, which was reached earlier and keeps its level; "
                "estimates wander, verdicts stay"
            )
        close = self._rounding
        if self.looks != ALWAYS or self.low - close <= self.value <= self.high + close:
            return None
        if self.open:
            part = "from what is judged before the first gap"
            return f"the estimate, {part}, lies outside the interval, which rests on all labels"
        return "the estimate lies outside the interval, which no later label widens"

    @property
    def progress(self) -> str:
        """What is judged, and what of the budget is spent."""
        spent = f"{self.spent:.6g} of {self.budget:.6g}{self.cost_unit} spent"
        return f"{self.judged} of {self.counted(self.drawn)}: {how_many('label', self.n_judged)}, {spent}"

    def counted(self, number: int) -> str:
        """A number of units in words: ``1 query``, ``3 parts``."""
        return how_many(self.unit, number)

    @property
    def headline(self) -> str:
        """The answer with its numbers and its promise, in one sentence."""
        if np.isnan([self.value, self.low]).all() and not self.resolved:
            return f"nothing is known of {self.what} yet"
        if self.winner is not None:
            found = self._found
        elif self.resolved:
            who = f"{self.first} is" if self.second is None else f"{self.first} and {self.second} are"
            found = f"{who} {self._found}"
        else:
            found = f"{self.what} is not settled" if self.second is not None or self.margin else self.first
        if np.isnan([self.value, self.low]).all():
            return found
        known = f"{found}: {self._seen} in {self.measure}"
        known += f" for {self.population}" if self.holds_for_new else ""
        if not np.isfinite(self.low):
            return known
        level = 100 * self.confidence
        promise = f"the {level:.6g}% interval holds"
        if self.resolved:
            promise = f"wrong in at most {100 - level:.3g}% of campaigns,"
        if self.guarantee == EXACT:
            promise = "this holds"
        return f"{known}; {promise} {HOLDS[self.guarantee]}"

    @property
    def _seen(self) -> str:
        """The estimate and its interval as printed; a difference is that of the winner to the other one."""
        value, low, high = self.value, self.low, self.high
        if self.winner is not None and self.winner == self.second:
            value, low, high = -value, -high, -low
        point = "" if np.isnan(value) else f"{value:{'' if self.second is None else '+'}.4f}"
        return f"{point} {_ends(low, high)}".strip()

    # --- what it says, line by line ---

    def __str__(self) -> str:
        return printed(self.headline, self.in_short())

    @property
    def details(self) -> str:
        """The state with everything that it rests on, as text."""
        return printed(f"{self.measure}: {self.what} ({self.estimator})", self.facts())

    def in_short(self) -> Facts:
        """At most five lines below the headline: the other queries, what is judged, what limits it, and what to do."""
        facts = []
        if (other := self.beside) is not None:
            known = np.isfinite(other.low)
            # Both are differences to the one that wins for the queries that are meant.
            seen = replace(other, resolution=self.resolution)._seen if known else "no interval"
            why = f": {other.refusal}" if other.refusal else ""
            holds = f", {HOLDS[other.guarantee]}" if known and other.guarantee != self.guarantee else ""
            facts.append((other.population.name, f"{seen} for {other.population}{holds}{why}"))
        facts.append(("judged", self.progress))
        if np.isfinite(self.low):
            facts.append(("assumes", "; ".join(self.assumptions)))
        limits = [self.refusal, self.remark, self.caution, self.unknown.caution, self._too_early]
        limits += [f"{name} {text}" if name in _PASSED else text for name, text in self.gap_facts]
        if note := "; ".join(filter(None, limits)):
            facts.append(("note", note))
        return [*facts, ("next", self.advice)]

    def facts(self) -> Facts:
        """Names and values, as printed."""
        error = "not known yet" if np.isnan(self.standard_error) else f"{self.standard_error:.4f}"
        part = ", from what is judged before the first gap" if self.open else ""
        none = f"none before {self.waiting} has its labels" if self.open or self.left_out else "none yet"
        facts = [
            ("estimate", none if np.isnan(self.value) else f"{self.point}   SE {error}{part}"),
            ("interval", self.interval_text),
            *((each.population.name, each.interval_text) for each in [self.beside] if each is not None),
            ("judged", self.progress),
        ]
        if not np.isnan(self.e_value):
            needed = "" if self.resolved else f" (a winner needs {1 / (1 - self.confidence):.4g})"
            evidence = f"e-value {self.e_value:.3g}{needed}, p = {1 / self.e_value:.3g}"
            certain = "certain: no further label can change the verdict"
            facts.append(("evidence", certain if np.isinf(self.e_value) else evidence))
        facts += self.gap_facts
        if self.next_look is not None and self.looks != ALWAYS and not self.resolved:
            facts.append(("next look", f"after {self.counted(self.next_look)}"))
        if self.unknown.number:
            facts.append(("unknown", self.unknown.counted))
        if np.isfinite(self.low):
            facts.append(("holds", promised(self.guarantee, self.assumptions)))
        if note := "; ".join(filter(None, (self.remark, self.caution, self.unknown.caution))):
            facts.append(("note", note))
        since = f", after {self.resolved_at:.6g}{self.cost_unit}" if self.resolved_at is not None else ""
        return [*facts, ("answer", f"{self.answer}{since}"), ("next", self.advice)]

    @property
    def gap_facts(self) -> Facts:
        """Names and values of what is not judged although later labels are there, and of labels that changed."""
        facts = []
        if self.open:
            what = f"{self.counted(self.open)} not fully judged"
            facts.append(("open", f"{what}: the worst case is assumed, so the interval holds whatever the labels are"))
        if self.left_out:
            since = "" if self.open else f" from {self.waiting} on"
            facts.append(("left out", f"{how_many('label', self.left_out)}{since} do not count yet"))
        if self.blocked:
            facts.append((_PASSED[not self.open], in_words(self.blocked)))
        if self.due:
            counted = how_many("document", self.due, "has")
            facts.append(("waiting", f"{counted} a label that does not count yet: another judge is asked"))
        if self.changed:
            when = f"after {'it' if self.changed == 1 else 'they'} had counted"
            facts.append(("changed", f"{how_many('label', self.changed)} changed {when}; earlier looks do not count"))
        return facts


def _ends(low: float, high: float) -> str:
    return f"[{low:.4f}, {high:.4f}]" if np.isfinite(low) else ""
