"""May judging stop, or should it go on [theory 10, 14]?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.qrels import MISSING_LABELS, checked_qrels, known_labels
from pt_active.frames.strays import Strays
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.stopping.looks import (
    ALWAYS,
    ASYMPTOTIC,
    FIRST,
    MIN_DEGREES,
    SECOND,
    WITHIN,
    cost_to_resolve,
    needed_degrees,
    prospect,
    verdicts,
)
from pt_active.plans.answers.gaps import Gap, in_words
from pt_active.plans.answers.progress import Growth, Question, grown_documents, grown_queries
from pt_active.plans.answers.sequence import DocumentSequence, Progress, Proof, QuerySequence, sequence_of
from pt_active.plans.answers.verdict import Verdict, prospect_of, verdict_of
from pt_active.plans.making.artifact import Facts, Printed, printed
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import strays_of

_MIN_CHANCE = 0.05
"""With a lower probability of being resolved, the budget is said not to settle the question."""

_MIN_FORESEEN = 10
"""With fewer labels, nothing is said of how many more labels it will take: the error is a guess of the model."""

_VALID = {
    None: "at the end",
    ALWAYS: "at any time, for any data",
    ASYMPTOTIC: f"at any time in large samples, from {MIN_DEGREES} degrees of freedom on",
}
"""Looks → when the interval is valid, in words."""

_RESOLUTIONS = {FIRST: "first", SECOND: "second", WITHIN: "within"}
"""Verdict → `Status.resolution`."""

SEQUENTIAL = "sequential"
"""The name of the estimator of looks at any time by bets: the weighted mean of what each draw says."""


@dataclass(frozen=True, eq=False)
class Status(Printed):
    """What the labels so far say, and whether to go on judging.

    Attributes:
        measure: The measure, with all its parameters.
        first: The ranker that is compared, or the only one.
        second: The ranker that it is compared with; None if there is one ranker.
        estimator: The name of the estimator; ``sequential`` for looks at any time by bets.
        looks: When the state may be looked at: a name of `looks.look_names`, or None for the end.
        confidence: Level at which *all* intervals at all looks hold together.
        margin: Differences up to this do not matter (or the half-width that is wanted); None if it was not given.
        resolution: ``"first"`` or ``"second"`` is better, ``"within"`` the margin, or None while unresolved.
        resolved_at: What had been spent at the look that resolved it; None while unresolved.
        value: The estimate at the last look; NaN before the first.
        low: Lower end of its interval.
        high: Upper end of its interval.
        standard_error: The standard error of the estimate.
        e_value: With ``looks="always"``, the largest evidence so far against no difference: how many times the stake
            bets against it have won. Its inverse is a p-value that holds at any time. NaN otherwise.
        unit: The unit of ``judged``, ``drawn`` and ``next_look``: ``query``, ``document``, ``step`` (a document of a
            cascade with those above it), or ``round`` of documents.
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
        more: With ``looks="always"``, the number of further labels until it is resolved, as probably more as less, if
            the budget does not end it; NaN if it cannot be computed.
        more_high: The number of further labels that suffices with a probability of 0.9.
        needed: Total cost that would resolve it if the estimate were the truth; NaN if it cannot be computed.
        everything: What it costs to judge everything that can change the result: the whole pool, or in a plan of
            documents those that count, with another round for those that were not drawn.
        cost_unit: The unit of costs as a suffix of a number, such as ``" hours"``; empty if the cost names none.
        overturned: An earlier verdict, ``"first"``, ``"second"`` or ``"within"``, that what is judged by now shows to
            have been false; None if there is none.
        unknown: Kind → number of labels of the plan's queries that belong to no document of the plan, as in `Basis`.
        label_caution: Which labels may have been meant for documents that lack one; empty if there are none.
        blocked: The documents that were passed over and hold up the labels after them, the first of them first.
        filled: How many documents that were passed over count as not relevant, as was asked for.
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
    e_value: float
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
    more: float
    more_high: float
    needed: float
    everything: float
    cost_unit: str = ""
    overturned: str | None = None
    unknown: Mapping[str, int] = field(default_factory=dict)
    label_caution: str = ""
    blocked: tuple[Gap, ...] = ()
    filled: int = 0

    def with_gaps(self, gaps: tuple[Gap, ...], missing: str) -> Status:
        """The state with the documents that were passed over.

        Args:
            gaps: The documents.
            missing: ``"error"`` if they hold up the labels after them; otherwise they have been given labels.
        """
        blocks = missing == MISSING_LABELS[0]
        return replace(self, blocked=gaps if blocks else (), filled=0 if blocks else len(gaps))

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
            return f"stop: {self.winner} is better{self._evidence}"
        if self.resolution is not None and self.second is None:
            return f"stop: known within ±{self.margin:g}"
        if self.resolution is not None:
            return f"stop: equivalent within ±{self.margin:g}" if self.margin else "stop: exactly equal"
        if self.judged == self.drawn:
            return "this budget did not settle it"
        return "not settled yet" if self.within_reach else "this budget will not settle it"

    @property
    def within_reach(self) -> bool:
        """Whether the rest of the budget may settle it."""
        return self.judged < self.drawn and not self.chance < _MIN_CHANCE

    @property
    def _evidence(self) -> str:
        if np.isnan(self.e_value):
            return ""
        return " (certain)" if np.isinf(self.e_value) else f" (e-value {self.e_value:.3g})"

    @property
    def _e_value(self) -> str:
        """The e-value, its p-value and what a verdict takes, in words."""
        if np.isinf(self.e_value):
            return "certain: no further label can change the verdict"
        needed = "" if self.resolved else f" (a winner needs {1 / (1 - self.confidence):.4g})"
        return f"e-value {self.e_value:.3g}{needed}, p = {1 / self.e_value:.3g}"

    @property
    def advice(self) -> str:
        """What to do next, in one sentence."""
        if self.resolved:
            return "stop judging"
        if self.within_reach:
            return f"judge on, from {self.waiting}{self._outlook}"
        if np.isnan(self.needed):
            return "judge everything, or accept that the labels do not say"
        whole = ", for all that can change the result" if self.needed >= self.everything else ""
        return (
            f"about {self.needed:.4g}{self.cost_unit} would have to be spent in all{whole}, were the estimate the truth"
        )

    @property
    def _outlook(self) -> str:
        """What can be expected of the labels to come, as the end of a sentence."""
        if np.isnan(self.chance):
            return ""
        left = f"{self.budget - self.spent:.6g}{self.cost_unit} left"
        if np.isnan(self.more):
            cost = f"expected further cost {self.further:.4g} of the {left}"
            return f": {cost}, settled by then with a chance of {self.chance:.0%}"
        return (
            f": about {how_many('more label', round(self.more))}, {self.more_high:.0f} with bad luck; the {left} "
            f"settle it with a chance of {self.chance:.0%}"
        )

    def __eq__(self, other: object) -> bool:
        # Numbers that are unknown in both are equal, which NaN is not.
        return isinstance(other, Status) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.measure, self.first, self.second, self.looks, self.judged, self.spent))

    def to_dict(self) -> dict[str, object]:
        """Every number and sentence, ready for JSON: NaN and infinite numbers become None."""
        content = asdict(self) | {"winner": self.winner, "answer": self.answer, "advice": self.advice}
        content["blocked"] = [each._asdict() for each in self.blocked]
        content |= {"unknown": sum(self.unknown.values()), "unknown_kinds": dict(self.unknown)}
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

    @property
    def remark(self) -> str | None:
        """Why the estimate and the verdict or the interval seem to contradict each other; None if they do not."""
        known = np.isfinite(self.value)
        rare = f"this is one of the {1 - self.confidence:.0%} of campaigns in which bets may fail"
        if self.overturned:
            said = {"first": f"{self.first} is better", "second": f"{self.second} is better"}
            before = said.get(self.overturned, "equivalent")
            return f"an earlier verdict, {before}, was false, as all that is judged by now shows; {rare}"
        if known and self.looks == ALWAYS and np.isnan(self.low):
            return f"the bets have excluded every value, so there is no interval; {rare}"
        if known and self.winner is not None and (self.value > 0) != (self.winner == self.first):
            return (
                "the estimate now has the other sign than the verdict, which fell earlier and keeps its level; "
                "estimates wander, verdicts stay"
            )
        if known and self.looks == ALWAYS and not self.low <= self.value <= self.high:
            return "the estimate lies outside the interval, which no later label widens"
        if known and self.looks not in (None, ALWAYS) and not np.isfinite(self.low):
            least = needed_degrees(self.looks)
            return f"these looks have no interval below {least} degrees of freedom; the looks {ALWAYS!r} have one"
        return None

    def counted(self, number: int) -> str:
        """A number of units in words: ``1 query``, ``3 rounds``."""
        return how_many(self.unit, number)

    def __str__(self) -> str:
        return printed(f"{self.measure}: {self.what} ({self.estimator})", self.facts())

    def facts(self) -> Facts:
        """Names and values, as printed."""
        interval = f"[{self.low:.4f}, {self.high:.4f}]" if np.isfinite(self.low) else "none"
        error = "not known yet" if np.isnan(self.standard_error) else f"{self.standard_error:.4f}"
        estimate = "none yet" if np.isnan(self.value) else f"{self.point}   SE {error}"
        spent = f"{self.spent:.6g} of {self.budget:.6g}{self.cost_unit} spent"
        since = f", after {self.resolved_at:.6g}{self.cost_unit}" if self.resolved_at is not None else ""
        facts = [
            ("estimate", estimate),
            ("interval", f"{interval}, {self.confidence:.0%}, valid {self.valid}"),
            ("judged", f"{self.judged} of {self.counted(self.drawn)}: {how_many('label', self.n_judged)}, {spent}"),
        ]
        if not np.isnan(self.e_value):
            facts.append(("evidence", self._e_value))
        if self.left_out:
            facts.append(
                ("left out", f"{how_many('label', self.left_out)} from {self.waiting} on, which is not fully judged")
            )
        if self.blocked:
            facts.append(("blocked", f"by {in_words(self.blocked)}"))
        if self.filled:
            facts.append(("filled", f"{how_many('document', self.filled)} without a label taken as not relevant"))
        if self.next_look is not None and self.looks not in (ALWAYS, ASYMPTOTIC) and not self.resolved:
            facts.append(("next look", f"after {self.counted(self.next_look)}"))
        if self.unknown:
            facts.append(("unknown", Strays(self.unknown).counted))
        if note := "; ".join(filter(None, (self.remark, self.label_caution))):
            facts.append(("note", note))
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
    return with_strays(_plan_status(tables, qrels, question), strays_of(tables, qrels))


def with_strays(status: Status, strays: Strays) -> Status:
    """The status with the labels that belong to no document of the plan."""
    return replace(status, unknown=strays.kinds, label_caution=strays.caution)


def _plan_status(tables: PlanTables, qrels: pd.DataFrame, question: Question) -> Status:
    if question.looks == ALWAYS:
        return proved_status(tables, sequence_of(tables, labels_so_far(tables, qrels), question.measure), question)
    if len(qrels):
        known_labels(tables.pool.keys, qrels)
    grown = (grown_documents if tables.rounds else grown_queries)(tables, qrels, question)
    nothing = dict.fromkeys(("e_value", "more", "more_high"), np.nan)
    about = _about(tables, question) | {"estimator": ESTIMATOR}
    return Status(**(about | nothing | grown.counts | _reached(grown, question) | _ahead(grown, question)))


def labels_so_far(tables: PlanTables, qrels: pd.DataFrame) -> np.ndarray:
    """int64[N], the label of each document of the pool; -1 where there is none.

    Args:
        tables: The plan's content.
        qrels: As `qrels.checked_qrels` returns them; may be empty.

    Raises:
        ValueError: If there are labels, but none belongs to a document of the plan.
    """
    return known_labels(tables.pool.keys, qrels) if len(qrels) else np.full(len(tables.pool.docno), -1, dtype=np.int64)


def proved_status(tables: PlanTables, sequence: QuerySequence | DocumentSequence, question: Question) -> Status:
    """The state of a plan at any time by bets.

    Args:
        tables: The plan's content.
        sequence: The order of its units, with the labels so far.
        question: What is asked.
    """
    proof, progress = sequence.proof(question.contrast, 1 - question.confidence), sequence.progress
    verdict = verdict_of(proof, question.margin or 0.0, question.compared, 1 - question.confidence)
    return status_of(tables, question, progress, verdict, _foreseen(proof, progress, verdict, question))


def status_of(
    tables: PlanTables, question: Question, progress: Progress, verdict: Verdict, ahead: dict[str, float]
) -> Status:
    """The state by bets.

    Args:
        tables: The plan's content.
        question: What is asked.
        progress: How far the plan is judged.
        verdict: What is proved.
        ahead: The fields of `Status` from ``chance`` to ``needed``.
    """
    spent, judged = progress.spent, progress.judged
    about: dict[str, Any] = _about(tables, question) | ahead
    return Status(
        **about,
        estimator=SEQUENTIAL,
        resolution=_RESOLUTIONS.get(verdict.resolution),
        resolved_at=float(spent[verdict.at]) if verdict.resolution else None,
        value=verdict.value,
        low=verdict.low,
        high=verdict.high,
        standard_error=verdict.standard_error,
        e_value=verdict.e_value,
        unit=progress.unit,
        judged=judged,
        drawn=progress.drawn,
        n_judged=int(progress.documents[:judged].sum()),
        left_out=progress.left_out,
        waiting=progress.waiting,
        spent=float(spent[judged]),
        budget=float(spent[progress.drawn]),
        next_look=judged + 1 if judged < progress.drawn else None,
        everything=float(spent[-1]),
        overturned=_RESOLUTIONS.get(verdict.overturned),
    )


def _about(tables: PlanTables, question: Question) -> dict[str, Any]:
    """The fields of `Status` that tell what was asked."""
    names = tables.pool.names
    return {
        "measure": str(question.measure),
        "first": names[question.pair[0]],
        "second": names[question.pair[1]] if question.compared else None,
        "looks": question.looks,
        "confidence": question.confidence,
        "margin": question.margin,
        "cost_unit": tables.manifest.arguments.unit,
    }


def _foreseen(proof: Proof, progress: Progress, verdict: Verdict, question: Question) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed``, for looks at any time by bets."""
    few = progress.documents[: progress.judged].sum() < _MIN_FORESEEN
    if verdict.resolution or few or progress.judged == len(progress.cost):
        return nothing_foreseen(bool(verdict.resolution))
    alpha = 1 - question.confidence
    seen = prospect_of(proof, verdict, question.margin or 0.0, question.compared, alpha)
    spent, labels = progress.spent, np.r_[0, np.cumsum(progress.documents)]
    # The order of a block goes on behind what was drawn of it, where another block may have begun.
    more = labels[np.minimum(seen.draws, len(labels) - 1)] - labels[progress.judged]
    return {
        "chance": float((seen.draws <= progress.drawn).mean()),
        "further": float((spent[np.minimum(seen.draws, progress.drawn)] - spent[progress.judged]).mean()),
        "more": float(np.median(more)),
        "more_high": float(np.quantile(more, 0.9)),
        "needed": float(spent[min(seen.needed, len(spent) - 1)]),
    }


def nothing_foreseen(resolved: bool) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed`` with a verdict, or if nothing can be foreseen."""
    unknown = dict.fromkeys(("chance", "further", "more", "more_high", "needed"), np.nan)
    return unknown | ({"chance": 1.0, "further": 0.0, "more": 0.0, "more_high": 0.0} if resolved else {})


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
    """The fields ``chance``, ``further`` and ``needed`` of `Status`, for looks that rest on normal approximations."""
    margin, past = question.margin or 0.0, grown.past
    if (verdicts(past.value, past.half_width, margin, question.compared) > 0).any():
        return {"chance": 1.0, "further": 0.0, "needed": np.nan}
    now = past.part(slice(-1, None))
    if len(now.cost) == 0 or not (now.standard_error[0] > 0 and now.degrees[0] > 0):
        return {"chance": np.nan, "further": np.nan, "needed": np.nan}
    least = float(needed_degrees(question.looks))
    chance, cost = prospect(now, grown.plan, margin, question.compared, least)
    needed = cost_to_resolve(now, grown.plan.then(grown.rest), margin, question.compared, least)
    return {"chance": chance, "further": max(0.0, cost - grown.counts["spent"]), "needed": needed}
