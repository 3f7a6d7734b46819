"""May a ranker be released in place of another [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import within
from pt_active.frames.qrels import checked_qrels
from pt_active.inference.new_queries import NEW, POPULATIONS, THESE, check_population
from pt_active.inference.stopping.bets import excluded
from pt_active.inference.stopping.foresight import Claim
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.inference.ties import difference
from pt_active.plans.answers.basis import TOO_FEW
from pt_active.plans.answers.gaps import Said
from pt_active.plans.answers.labelled_plan import Point, points_so_far
from pt_active.plans.answers.looks import PartsInOrder, Question, Rounds, growing
from pt_active.plans.answers.sequence import Proof, UnitSequence, sequence_of
from pt_active.plans.answers.status import ADD_QUERIES, Status
from pt_active.plans.answers.status_of_plan import (
    foreseen,
    labels_so_far,
    status_of,
    status_of_looks,
    with_strays,
)
from pt_active.plans.answers.verdict import Prospect, prospect_of, verdict_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.sampled import strays_told
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
        if name not in RULES:
            raise ValueError(f'rule="{name}" is unknown; it is one of {", ".join(RULES)}')
        if name == NON_INFERIOR and margin is None:
            raise ValueError("margin is needed: by how much may the candidate be worse?")
        return cls(name, 0.0 if margin is None else float(within("margin", margin, 0.0)))

    @property
    def threshold(self) -> float:
        """The value that the difference, candidate minus baseline, has to exceed."""
        return -self.margin if self.name == NON_INFERIOR else self.margin

    @property
    def allows_equality(self) -> bool:
        """Whether a difference that is known to be exactly the threshold passes."""
        return self.name == NON_INFERIOR

    def of_candidate(self, outcome: str, baseline: str) -> str:
        """What the candidate is if that is the outcome, in words."""
        if self.name == BETTER:
            more = f" by more than {self.margin:g}" if self.margin else ""
            return f"{'better' if outcome == PASS else 'not better'} than {baseline}{more}"
        if not self.margin:
            return f"{'no worse' if outcome == PASS else 'worse'} than {baseline}"
        return f"{'at most' if outcome == PASS else 'more than'} {self.margin:g} worse than {baseline}"


@dataclass(frozen=True)
class Gate(Printed):
    """Whether a candidate may replace a baseline.

    Attributes:
        status: What the labels so far say about the difference, candidate minus baseline. What it foresees is the
            decision of the gate, and its ``resolution`` is not read.
        rule: What the candidate has to be.
        outcome: ``"pass"`` or ``"fail"`` if it is proved, otherwise ``"unresolved"``.
        decided_at: What had been spent when it was proved; None while unresolved.
    """

    status: Status
    rule: Rule
    outcome: str
    decided_at: float | None

    def with_said(self, said: Said, given: bool) -> Gate:
        """The gate with what is known of the labels, as `Status.with_said`."""
        return replace(self, status=self.status.with_said(said, given))

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
        return state | rule | own

    def facts(self) -> Facts:
        """Names and values, as printed."""
        gaps = {name for name, _ in self.status.gap_facts}
        shown = {"estimate", "interval", *POPULATIONS, "judged", "filled", "unknown"} | gaps
        facts = [each for each in self.status.facts() if each[0] in shown]
        since = "" if self.decided_at is None else f", after {self.decided_at:.6g}{self.status.cost_unit}"
        facts.append(("threshold", f"{self.rule.threshold:+g}" if self.rule.margin else "0"))
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
    qrels = checked_qrels(qrels, tables.pool.max_grade)
    label = labels_so_far(tables, qrels)
    (point,) = points_so_far(tables, label, [question.contrast], question.how, records)
    if question.looks == ALWAYS:
        gate = _by_bets(sequence_of(tables, label, question.measure, question.bridged), question, rule, point)
    else:
        sample = growing(tables, label, question.bridged)
        gate = _by_looks(sample, question, rule, status_of_looks(sample, question, point, records))
    return replace(gate, status=with_strays(gate.status, strays_told(tables, qrels, label)))


def _by_bets(sequence: UnitSequence, question: Question, rule: Rule, point: Point) -> Gate:
    proof = sequence.proof(question.contrast, question.level)
    outcome, draws = (UNRESOLVED, 0) if point.refusal else _proved(proof, rule, question.alpha, point.apart)
    verdict = replace(verdict_of(proof, 0.0, True, question.alpha, point.apart), resolution=0, at=0)
    claims = [[Claim(rule.threshold + point.apart, True)], [Claim(rule.threshold - point.apart, False)]]

    def prospect() -> Prospect:
        return prospect_of(proof, verdict, point, claims, question.alpha)

    ahead = foreseen(sequence, point, outcome != UNRESOLVED, prospect)
    state = status_of(sequence, question, proof, verdict, point, ahead)
    decided_at = None if outcome == UNRESOLVED else float(sequence.paid[draws])
    return Gate(state, rule, outcome, decided_at)


def _by_looks(sample: UnitSequence | Rounds, question: Question, rule: Rule, state: Status) -> Gate:
    state = replace(state, resolution=None, resolved_at=None)
    looks = [(state.low, state.high, state.spent)]
    if question.looks is not None and isinstance(sample, PartsInOrder):
        past, _ = sample.looks(question)
        wide = past.half_width + state.apart
        looks = list(zip(past.value - wide, past.value + wide, past.cost.tolist(), strict=True))
    elif state.judged == state.drawn and not state.population.enough:
        return Gate(replace(state, low=np.nan, high=np.nan, refusal=TOO_FEW), rule, UNRESOLVED, None)
    found = [(_outcome(rule, low, high), cost) for low, high, cost in looks]
    outcome, at = next((each for each in found if each[0] != UNRESOLVED), (UNRESOLVED, None))
    return Gate(state, rule, outcome, at)


def _proved(proof: Proof, rule: Rule, alpha: float, apart: float) -> tuple[str, int]:
    """What the draws so far prove, and how many of them it took; what is known for certain comes first."""
    draws, close = proof.draws, proof.draws.rounding
    above, below = rule.threshold + apart, rule.threshold - apart
    if rule.allows_equality:
        certain = {PASS: draws.least >= above - close, FAIL: draws.most < below - close}
    else:
        certain = {PASS: draws.least > above + close, FAIL: draws.most <= below + close}
    known = {outcome: int(so.argmax()) for outcome, so in certain.items() if so.any()}
    bets = {
        PASS: excluded(draws, proof.stakes, above, alpha / 2),
        FAIL: excluded(draws.mirrored, proof.stakes, -below, alpha / 2),
    }
    proved = {outcome: at for outcome, at in bets.items() if at >= 0 and known.keys() <= {outcome}}
    proved |= {outcome: min(at, proved.get(outcome, at)) for outcome, at in known.items()}
    first = min(proved, key=lambda outcome: proved[outcome], default=UNRESOLVED)
    return first, proved.get(first, 0)


def _outcome(rule: Rule, low: float, high: float) -> str:
    """What an interval decides."""
    above, below = difference(low, rule.threshold), difference(high, rule.threshold)
    passes = above > 0 or (rule.allows_equality and above == 0)
    fails = below < 0 or (not rule.allows_equality and below == 0)
    return PASS if passes else FAIL if fails else UNRESOLVED
