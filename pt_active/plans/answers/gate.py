"""May a ranker be released in place of another [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import check_known, within
from pt_active.inference.new_queries import NEW, POPULATIONS, THESE, check_population
from pt_active.inference.stopping.looks import ALWAYS, Claim, Goal
from pt_active.plans.answers.basis import TOO_FEW
from pt_active.plans.answers.looks import Question
from pt_active.plans.answers.status import ADD_QUERIES, Status
from pt_active.plans.answers.status_of_plan import plan_status
from pt_active.plans.making.kept import PlanTables
from pt_active.showing.printed import Facts, Printed, printed

OUTCOMES = PASS, FAIL, UNRESOLVED = "pass", "fail", "unresolved"
"""Whether the candidate is proved to be what it has to be, or proved not to be, or neither yet."""

NON_INFERIOR, BETTER = RULES = ("non-inferior", "better")
"""What the candidate has to be: not worse than the baseline by more than the margin, or better by more than it."""


class Rule(NamedTuple):
    """What a candidate has to be to pass."""

    name: str
    margin: float

    @classmethod
    def of(cls, name: str, margin: float | None) -> Rule:
        """The rule that was asked for."""
        check_known("rule", name, RULES)
        if name == NON_INFERIOR and margin is None:
            raise ValueError("margin is needed: by how much may the candidate be worse?")
        return cls(name, 0.0 if margin is None else float(within("margin", margin, 0.0)))

    @property
    def threshold(self) -> float:
        """The value that the difference, candidate minus baseline, has to exceed."""
        return -self.margin if self.name == NON_INFERIOR else self.margin

    @property
    def goal(self) -> Goal:
        """What has to be shown to pass or to fail; a non-inferior difference may be exactly the threshold."""
        equal = self.name == NON_INFERIOR
        passes, fails = Claim(self.threshold, True, equal), Claim(self.threshold, False, not equal)
        return Goal({PASS: (passes,), FAIL: (fails,)})

    def of_candidate(self, outcome: str, baseline: str) -> str:
        """What the candidate is if that is the outcome, in words."""
        if self.name == BETTER:
            more = f" by more than {self.margin:g}" if self.margin else ""
            return f"{'better' if outcome == PASS else 'not better'} than {baseline}{more}"
        if not self.margin:
            return f"{'no worse' if outcome == PASS else 'worse'} than {baseline}"
        return f"{'at most' if outcome == PASS else 'more than'} {self.margin:g} worse than {baseline}"


class Release(NamedTuple):
    """The place of a gate among the releases of a ledger.

    ``claims`` counts the others that have passed; ``level`` limits the probability that this one passes wrongly, and
    that it fails wrongly; ``level_of_all`` the probability that any release ever does.
    """

    ledger: str
    number: int
    claims: int
    level: float
    level_of_all: float

    def __str__(self) -> str:
        passed = f"{self.number} of {self.ledger}; claims so far {self.claims}; this one tested at {self.level:.2g}"
        return f"{passed}, so that any wrong claim ever has a probability of at most {self.level_of_all:.3g}"


@dataclass(frozen=True)
class Gate(Printed):
    """Whether a candidate may replace a baseline.

    Attributes:
        status: What the labels so far say about the difference, candidate minus baseline, without a verdict which is
            better. What it foresees is the decision of the gate.
        rule: What the candidate has to be.
        outcome: ``"pass"`` or ``"fail"`` if it is proved, otherwise ``"unresolved"``.
        decided_at: What had been spent when it was proved; None while unresolved.
        release: Its place in the ledger of a project; None without one.
    """

    status: Status
    rule: Rule
    outcome: str
    decided_at: float | None
    release: Release | None = None

    @property
    def question(self) -> str:
        """What was asked, in words."""
        state = self.status
        passes = self.rule.of_candidate(PASS, state.second or "")
        return f"is {state.first} {passes}, for {state.population.name} queries?"

    @property
    def answer(self) -> str:
        """The outcome and the reason, in one sentence."""
        state = self.status
        if self.outcome != UNRESOLVED:
            return f"{self.outcome}: {state.first} is {self.rule.of_candidate(self.outcome, state.second or '')}"
        if state.refusal == TOO_FEW:
            return f"{self.outcome}: too few queries differ to decide for new ones"
        return f"{self.outcome}: the labels so far do not decide it"

    @property
    def advice(self) -> str:
        """What to do next, in one sentence."""
        if self.outcome == PASS:
            return f"release {self.status.first}"
        if self.outcome == FAIL:
            return f"keep {self.status.second}"
        if self.status.refusal == TOO_FEW:
            return ADD_QUERIES if self.status.population.traffic else "add queries"
        if self.status.looks is None and self.status.judged == self.status.drawn and not self.status.refusal:
            return f"a look at the end decides once; make a new plan, or use looks {ALWAYS!r} from the first label"
        return self.status.advice

    def to_dict(self) -> dict[str, object]:
        """Every number and sentence, ready for JSON."""
        hidden = {"resolved_at", "winner", "overturned", "e_value", "margin"}
        state = {name: each for name, each in self.status.to_dict().items() if name not in hidden}
        for name in ("resolution", *(f"{each}_resolution" for each in POPULATIONS)):
            state.pop(name, None)  # which of the two is better is not what a gate decides
        own = {name: getattr(self, name) for name in ("outcome", "decided_at", "question", "answer", "advice")}
        rule = {"rule": self.rule.name, "margin": self.rule.margin, "threshold": self.rule.threshold}
        return state | rule | own | ({} if self.release is None else {"release": self.release._asdict()})

    def facts(self) -> Facts:
        """Names and values, as printed."""
        gaps = {name for name, _ in self.status.gap_facts}
        shown = {"estimate", "interval", *POPULATIONS, "judged", "unknown"} | gaps
        facts = [each for each in self.status.facts() if each[0] in shown]
        since = "" if self.decided_at is None else f", after {self.decided_at:.6g}{self.status.cost_unit}"
        facts.append(("threshold", f"{self.rule.threshold:+g}" if self.rule.margin else "0"))
        if self.release is not None:
            facts.append(("release", str(self.release)))
        if self.status.caution:
            facts.append(("note", self.status.caution))
        return [*facts, ("answer", f"{self.answer}{since}"), ("next", self.advice)]

    def __str__(self) -> str:
        return printed(f"{self.status.measure}: {self.question}", self.facts())


def population_asked(queries: str | None) -> str:
    """The queries that a gate decides for; it has no default, since the answer differs."""
    if queries is None:
        raise ValueError(
            f"queries is needed: {NEW!r} decides for queries like those of the pool, such as tomorrow's, of which "
            f"these are a sample; {THESE!r} for these alone"
        )
    return check_population(queries)


def gate_of(
    tables: PlanTables, qrels: pd.DataFrame, question: Question, rule: Rule, records: pd.DataFrame | None = None
) -> Gate:
    """The gate by bets, which hold at any time, or by the first look that resolves, after a part or at the end."""
    state = plan_status(tables, qrels, replace(question, aimed_at=rule.goal), records)
    outcome, decided_at = state.resolution or UNRESOLVED, state.resolved_at
    beside = None if state.beside is None else replace(state.beside, resolution=None, resolved_at=None)
    state = replace(state, resolution=None, resolved_at=None, beside=beside)
    if question.looks is None and state.judged == state.drawn and not state.population.enough:
        outcome, decided_at = UNRESOLVED, None
        nothing = dict.fromkeys(("low", "high", "chance", "further", "needed"), np.nan)
        state = replace(state, refusal=TOO_FEW, **nothing)  # type: ignore[arg-type]
    return Gate(state, rule, outcome, decided_at)
