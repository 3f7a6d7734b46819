"""Has enough been judged, or should judging go on [theory 10]?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.qrels import checked_qrels, known_labels
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.stopping.looks import ALWAYS, FIRST, SECOND, WITHIN, cost_to_resolve, prospect, verdicts
from pt_active.plans.answers.progress import Growth, Question, grown_documents, grown_queries
from pt_active.plans.making.artifact import Facts, Printed, printed
from pt_active.plans.making.kept import PlanTables

_MIN_CHANCE = 0.05
"""With a lower probability of being resolved, the budget is said not to suffice."""

_VALID = {None: "at the end", ALWAYS: "at any time"}
"""Looks → when the interval is valid, in words."""

_RESOLUTIONS = {FIRST: "first", SECOND: "second", WITHIN: "within"}
"""Verdict → `Status.resolution`."""


@dataclass(frozen=True)
class Status(Printed):
    """What the labels so far say, and whether to go on judging.

    Attributes:
        measure: The measure, with all its parameters.
        first: The ranker that is compared, or the only one.
        second: The ranker that it is compared with; None if there is one ranker.
        estimator: The name of the estimator.
        looks: When the state may be looked at: ``"always"``, a name in `boundaries.SPENDING`, or None for the end.
        confidence: Level at which *all* intervals at all looks hold together.
        margin: Differences up to this do not matter (or the half-width that is wanted); None if it was not given.
        resolution: ``"first"`` or ``"second"`` is better, ``"within"`` the margin, or None while unresolved.
        resolved_at: What had been spent at the look that resolved it; None while unresolved.
        value: The estimate at the last look; NaN before the first.
        low: Lower end of its interval.
        high: Upper end of its interval.
        standard_error: The standard error of the estimate.
        unit: The unit of ``judged``, ``drawn`` and ``next_look``: ``queries``, or ``rounds`` of documents.
        judged: How many units are judged, without a gap from the first that was drawn.
        drawn: How many units the plan asks for.
        n_judged: The number of labels that were used.
        left_out: The number of labels beyond the first gap.
        waiting: The first unit that is not judged; None if nothing is left to judge.
        spent: What the judged units cost.
        budget: What all drawn units cost.
        next_look: How many units have to be judged for the next look; None if there is none.
        chance: Probability of being resolved by the end of the plan; NaN if it cannot be computed.
        further: Expected further cost until it is resolved or the plan ends; NaN if it cannot be computed.
        needed: Total cost that would resolve it if the estimate were the truth; NaN if it cannot be computed.
        everything: What it costs to judge everything that can change the result: the whole pool, or in a plan of
            documents those that count, with another round for those that were not drawn.
        cost_unit: The unit of costs as a suffix of a number, such as ``" hours"``; empty if the cost names none.
    """

    measure: str
    first: str
    second: str | None
    estimator: str
    looks: str | None
    confidence: float
    margin: float | None
    resolution: str | None
    resolved_at: float | None
    value: float
    low: float
    high: float
    standard_error: float
    unit: str
    judged: int
    drawn: int
    n_judged: int
    left_out: int
    waiting: str | None
    spent: float
    budget: float
    next_look: int | None
    chance: float
    further: float
    needed: float
    everything: float
    cost_unit: str = ""

    @property
    def resolved(self) -> bool:
        """Whether judging can stop."""
        return self.resolution is not None

    @property
    def winner(self) -> str | None:
        """The better ranker; None while unresolved, or if they are equivalent within the margin."""
        return {"first": self.first, "second": self.second}.get(self.resolution or "")

    @property
    def answer(self) -> str:
        """The state, in one sentence."""
        if self.winner is not None:
            return f"resolved: {self.winner} is better"
        if self.resolution is not None and self.second is None:
            return f"resolved: known within ±{self.margin:g}"
        if self.resolution is not None:
            return f"resolved: equivalent within ±{self.margin:g}" if self.margin else "resolved: exactly equal"
        if self.judged == self.drawn:
            return "unresolved, and all that the plan asks for is judged: unresolvable with this budget"
        if self.chance < _MIN_CHANCE:
            return f"unresolvable with this budget, but for a chance of {self.chance:.1%}"
        return "unresolved"

    @property
    def advice(self) -> str:
        """What to do next, in one sentence."""
        if self.resolved:
            return "stop judging"
        if self.judged < self.drawn and not self.chance < _MIN_CHANCE:
            if np.isnan(self.chance):
                return f"judge on, from {self.waiting}"
            left = f"{self.budget - self.spent:.6g}{self.cost_unit} left"
            return (
                f"judge on, from {self.waiting}: expected further cost {self.further:.4g} of the {left}, resolved by "
                f"then with a chance of {self.chance:.0%}"
            )
        if np.isnan(self.needed):
            return "judge everything, or accept that the labels do not say"
        whole = ", for all that can change the result" if self.needed >= self.everything else ""
        return (
            f"about {self.needed:.4g}{self.cost_unit} would have to be spent in all{whole}, were the estimate the truth"
        )

    def to_dict(self) -> dict[str, object]:
        """Every number and sentence, ready for JSON: NaN and infinite numbers become None."""
        content = asdict(self) | {"winner": self.winner, "answer": self.answer, "advice": self.advice}
        return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in content.items()}

    @property
    def what(self) -> str:
        """What is estimated: a ranker, or the difference of two."""
        return self.first if self.second is None else f"{self.first} − {self.second}"

    @property
    def valid(self) -> str:
        """When the interval is valid, in words."""
        return _VALID.get(self.looks, f"at planned looks ({self.looks})")

    @property
    def point(self) -> str:
        """The estimate as printed; a difference has its sign."""
        return f"{self.value:.4f}" if self.second is None else f"{self.value:+.4f}"

    def counted(self, number: int) -> str:
        """A number of queries or rounds in words: ``1 query``, ``3 rounds``."""
        return how_many("round" if self.unit == "rounds" else "query", number)

    def __str__(self) -> str:
        return printed(f"{self.measure}: {self.what} ({self.estimator})", self._facts())

    def _facts(self) -> Facts:
        interval = f"[{self.low:.4f}, {self.high:.4f}]" if np.isfinite(self.low) else "none"
        estimate = "none yet" if np.isnan(self.value) else f"{self.point}   SE {self.standard_error:.4f}"
        spent = f"{self.spent:.6g} of {self.budget:.6g}{self.cost_unit} spent"
        since = f", since {self.resolved_at:.6g}{self.cost_unit} were spent" if self.resolved_at is not None else ""
        facts = [
            ("estimate", estimate),
            ("interval", f"{interval}, {self.confidence:.0%}, valid {self.valid}"),
            ("judged", f"{self.judged} of {self.counted(self.drawn)}: {how_many('label', self.n_judged)}, {spent}"),
        ]
        if self.left_out:
            facts.append(
                ("left out", f"{how_many('label', self.left_out)} from {self.waiting} on, which is not fully judged")
            )
        if self.next_look is not None and self.looks != ALWAYS and not self.resolved:
            facts.append(("next look", f"after {self.counted(self.next_look)}"))
        return [*facts, ("answer", f"{self.answer}{since}"), ("next", self.advice)]


def plan_status(tables: PlanTables, qrels: pd.DataFrame, question: Question) -> Status:
    """The state of a plan.

    Args:
        tables: The plan's content.
        qrels: The labels so far.
        question: What is asked.

    Raises:
        ValueError: If the labels do not fit the plan, the plan has no order, or such looks are not possible for it.
    """
    qrels = checked_qrels(qrels, tables.pool.max_grade)
    if len(qrels):
        known_labels(tables.pool.keys, qrels)
    grown = (grown_documents if tables.rounds else grown_queries)(tables, qrels, question)
    names = tables.pool.names
    about: dict[str, Any] = {
        "measure": str(question.measure),
        "first": names[question.pair[0]],
        "second": names[question.pair[1]] if question.compared else None,
        "estimator": ESTIMATOR,
        "looks": question.looks,
        "confidence": question.confidence,
        "margin": question.margin,
        "cost_unit": tables.manifest.arguments.unit,
    }
    return Status(**(about | grown.counts | _reached(grown, question) | _ahead(grown, question)))


def _reached(grown: Growth, question: Question) -> dict[str, Any]:
    """The fields of `Status` on the looks so far; the first look that resolves decides, so that an answer stays."""
    past, half = grown.past, grown.past.half_width
    verdict = verdicts(past.value, half, question.margin or 0.0, question.compared)
    at = int((verdict > 0).argmax()) if (verdict > 0).any() else None
    value, error, wide = (float(x[-1]) if len(x) else np.nan for x in (past.value, past.standard_error, half))
    return {
        "resolution": None if at is None else _RESOLUTIONS[int(verdict[at])],
        "resolved_at": None if at is None else float(past.cost[at]),
        "value": value,
        "low": value - wide,
        "high": value + wide,
        "standard_error": error,
    }


def _ahead(grown: Growth, question: Question) -> dict[str, float]:
    """The fields ``chance``, ``further`` and ``needed`` of `Status`."""
    margin, past = question.margin or 0.0, grown.past
    if (verdicts(past.value, past.half_width, margin, question.compared) > 0).any():
        return {"chance": 1.0, "further": 0.0, "needed": np.nan}
    now = past.part(slice(-1, None))
    if len(now.cost) == 0 or not (now.standard_error[0] > 0 and now.degrees[0] > 0):
        return {"chance": np.nan, "further": np.nan, "needed": np.nan}
    chance, cost = prospect(now, grown.plan, margin, question.compared)
    needed = cost_to_resolve(now, grown.plan.then(grown.rest), margin, question.compared)
    return {"chance": chance, "further": max(0.0, cost - grown.counts["spent"]), "needed": needed}
