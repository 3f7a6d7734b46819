"""What state is a plan in, by the labels so far, and what does one more change [theory 10, 14]?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.qrels import check_policy, checked_qrels, known_labels
from pt_active.frames.strays import Strays
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import NEW
from pt_active.inference.stopping.looks import ALWAYS, Seen, cost_of_one_look, cost_to_resolve, prospect, verdicts
from pt_active.plans.answers.basis import TOO_FEW, UNTOLD
from pt_active.plans.answers.labelled_plan import (
    Point,
    at_the_end,
    labelled_plan,
    points_so_far,
    worst_case,
)
from pt_active.plans.answers.looks import PartsInOrder, Question, Rounds, curve_of, growing
from pt_active.plans.answers.promises import JUDGES_APART, LABELS_RIGHT, assumptions_of
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.sequence import Proof, UnitSequence, sequence_of
from pt_active.plans.answers.status import RESOLUTIONS, Status
from pt_active.plans.answers.verdict import (
    NEVER,
    Prospect,
    Verdict,
    claims_on,
    prospect_of,
    verdict_of,
    width_prospect_of,
)
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.sampled import strays_told

_UNKNOWN = dict.fromkeys(("chance", "further", "more", "more_high", "needed"), np.nan)
"""The fields of `Status` that are foreseen, where nothing is."""

_MIN_FORESEEN = 10
"""With fewer labels, the status does not say how many more it will take: the error is a guess of the model."""


def missing_policy(missing: str | None, looks: str | None) -> str | None:
    """What a status does about documents without a label before others that have one; None is the worst case."""
    if missing is not None:
        check_policy(missing)
        return missing
    return None if looks is not None else "error"


def plan_status(
    tables: PlanTables, qrels: pd.DataFrame, question: Question, records: pd.DataFrame | None = None
) -> Status:
    """The state of a plan."""
    qrels = checked_qrels(qrels, tables.pool.max_grade)
    label = labels_so_far(tables, qrels)
    return with_strays(state_of(tables, label, question, records), strays_told(tables, qrels, label))


def state_of(tables: PlanTables, label: np.ndarray, question: Question, records: pd.DataFrame | None = None) -> Status:
    """The state of a plan by the labels of its documents, int64[N]."""
    (point,) = points_so_far(tables, label, [question.contrast], question.how, records)
    if question.looks == ALWAYS:
        return _proved_status(sequence_of(tables, label, question.measure, question.bridged), question, point)
    return status_of_looks(growing(tables, label, question.bridged), question, point, records)


def with_worst(
    status: Status, tables: PlanTables, qrels: pd.DataFrame, question: Question, records: pd.DataFrame | None
) -> Status:
    """The status with the ends of its interval in the worst case of the labels that people passed over."""
    if not (status.filled and np.isfinite(status.low)):
        return status
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # The status has warned of all that is wrong with the labels.
        if question.looks is None:
            how = replace(question.how, missing="nonrelevant")
            worst = worst_case(labelled_plan(tables, qrels), question.contrast, how, records)
        else:
            state = plan_status(tables, qrels, question, records)
            worst = state.low, state.high
    return replace(status, worst=worst)


def with_strays(status: Status, strays: Strays) -> Status:
    """The status with the labels that belong to no document of the plan."""
    return replace(status, unknown=strays)


def status_of_looks(
    sample: UnitSequence | Rounds, question: Question, point: Point, records: pd.DataFrame | None
) -> Status:
    """The state by looks that rest on normal approximations: at the end, or after each part."""
    counts, result = sample.counts, None
    if question.looks is None and counts["judged"] == counts["drawn"]:
        result = at_the_end(sample.tables, sample.label, question.contrast, question.how, records)
    both, turned = [], None if result is None else result.beside
    for asked, at, found in ((question, point, result), (question.turned, point.beside, turned)):
        if at is None:
            continue
        if asked.looks is None and at.refusal in (TOO_FEW, UNTOLD):
            at = replace(at, apart=0.0, refusal="")
        at = replace(at, refusal=at.refusal or at.unusable)
        if isinstance(sample, PartsInOrder) and asked.looks is not None:
            seen = _after_parts(sample, asked, at.apart)
        else:
            seen = _at_the_end(sample.tables, counts, asked, found)
        both.append(
            Status(**(_about(sample.tables, asked, at, records) | _UNKNOWN | {"e_value": np.nan} | counts | seen))
        )
    return replace(both[0], beside=both[1]) if len(both) > 1 else both[0]


def _at_the_end(
    tables: PlanTables, counts: dict[str, Any], question: Question, result: Estimate | Comparison | None
) -> dict[str, Any]:
    """The fields of `Status` by one look, once everything is judged."""
    if result is None:
        return _verdict(0, None, (np.nan, np.nan), counts["drawn"])
    margin, (low, high), spent = question.margin or 0.0, result.confidence_interval(), counts["budget"]
    value, half = (low + high) / 2, (high - low) / 2
    verdict = int(verdicts(np.array([value]), np.array([half]), margin, question.compared)[0])
    seen = _verdict(verdict, spent, (low, high), None)
    if verdict:
        return seen
    floor = result.floor if result.holds_for_new else 0.0
    now = Seen(result.point, result.standard_error, half, floor)
    return seen | {"chance": 0.0, "further": 0.0, "needed": _needed_at_once(tables, question, spent, now)}


def _after_parts(sample: PartsInOrder, question: Question, apart: float) -> dict[str, Any]:
    """The fields of `Status` by looks after parts; the first that resolves decides, so that an answer stays.

    The truth may lie ``apart`` from that of the pool's queries.
    """
    past, coming = sample.looks(question)
    margin, value, half = question.margin or 0.0, past.value, past.half_width + apart
    verdict = verdicts(value, half, margin, question.compared)
    at = int((verdict > 0).argmax()) if (verdict > 0).any() else -1
    known = len(value) > 0 and np.isfinite(past.half_width[-1])
    ends = (value[-1] - half[-1], value[-1] + half[-1]) if known else (np.nan, np.nan)
    after = sample.reach + 1 if sample.reach < len(sample.spent) else None
    if at >= 0:
        return _verdict(int(verdict[at]), float(past.cost[at]), ends, after)
    seen, now = _verdict(0, None, ends, after), past.part(slice(-1, None))
    told = len(value) > 0 and now.standard_error[0] > 0 and now.degrees[0] > 0
    if question.queries == NEW or not told:
        return seen
    chance, cost = prospect(now, coming, margin, question.compared)
    needed = cost_to_resolve(now, coming, margin, question.compared)
    if np.isnan(needed):
        needed = _needed_at_once(sample.tables, question, float(now.cost[0]), now.at_one_look(question.alpha))
    return seen | {"chance": chance, "further": max(0.0, cost - sample.counts["spent"]), "needed": needed}


def _needed_at_once(tables: PlanTables, question: Question, spent: float, now: Seen) -> float:
    """The total cost with which one look settles the question; NaN for pairs of many, where it is not foreseen."""
    if question.pairs > 1:
        return np.nan
    return cost_of_one_look(curve_of(tables), spent, now, question.margin or 0.0, question.compared)


def _verdict(verdict: int, at: float | None, ends: tuple[float, float], after: int | None) -> dict[str, Any]:
    """The fields of `Status` on the verdict, the interval, and the next look."""
    found = {"resolution": RESOLUTIONS.get(verdict), "resolved_at": at if verdict else None, "next_look": after}
    ahead = {"chance": 1.0, "further": 0.0} if verdict else {}
    return found | ahead | {"low": float(ends[0]), "high": float(ends[1])}


def labels_so_far(tables: PlanTables, qrels: pd.DataFrame) -> np.ndarray:
    """int64[N], the label of each document of the pool; -1 where there is none."""
    return known_labels(tables.pool.keys, qrels) if len(qrels) else np.full(len(tables.pool.docno), -1, dtype=np.int64)


def _proved_status(sequence: UnitSequence, question: Question, point: Point) -> Status:
    """The state of a plan at any time by bets."""
    alpha, margin = question.alpha, question.margin or 0.0
    proof = sequence.proof(question.contrast, question.level)
    verdict = verdict_of(proof, margin, question.compared, alpha, point.apart)

    def prospect() -> Prospect:
        if not question.compared:
            return width_prospect_of(proof, verdict, margin, point.apart)
        return prospect_of(proof, verdict, point, claims_on(margin, point.apart), alpha)

    ahead = foreseen(sequence, point, bool(verdict.resolution), prospect)
    return status_of(sequence, question, proof, verdict, point, ahead)


def status_of(
    sequence: UnitSequence,
    question: Question,
    proof: Proof,
    verdict: Verdict,
    point: Point,
    ahead: dict[str, float] | None = None,
) -> Status:
    """The state by bets, with that for the other queries beside it if these are known; ``ahead`` is from `foreseen`."""
    turned, beside = question.turned, None
    if point.beside is not None:
        margin, apart = question.margin or 0.0, point.beside.apart
        other = verdict_of(proof, margin, question.compared, turned.alpha, apart)
        beside = status_of(sequence, turned, proof, other, point.beside)
    about, counts = _about(sequence.tables, question, point), sequence.counts
    ahead = nothing_foreseen(bool(verdict.resolution)) if ahead is None else ahead
    return Status(
        **(about | counts | ahead | {"needed": float(np.minimum(ahead["needed"], counts["everything"]))}),
        beside=beside,
        resolution=RESOLUTIONS.get(verdict.resolution),
        resolved_at=float(sequence.paid[verdict.at]) if verdict.resolution else None,
        low=verdict.low,
        high=verdict.high,
        e_value=verdict.e_value,
        next_look=sequence.judged + 1 if sequence.judged < sequence.drawn else None,
        overturned=RESOLUTIONS.get(verdict.overturned),
    )


def _about(tables: PlanTables, question: Question, point: Point, records: pd.DataFrame | None = None) -> dict[str, Any]:
    """The fields of `Status` that tell what was asked, and the estimate."""
    names = tables.pool.names
    return {
        "measure": tables.named(question.measure),
        "first": names[question.pair[0]],
        "second": names[question.pair[1]] if question.compared else None,
        "estimator": ESTIMATOR,
        "looks": question.looks,
        "confidence": question.confidence,
        "margin": question.margin,
        "cost_unit": tables.manifest.arguments.unit,
        "value": point.value,
        "standard_error": point.standard_error,
        "population": point.population,
        "apart": point.apart,
        "refusal": point.refusal,
        "assumed": (LABELS_RIGHT if records is None else JUDGES_APART, *assumptions_of(tables, question.measure)),
    }


def foreseen(
    sequence: UnitSequence, point: Point, resolved: bool, prospect: Callable[[], Prospect]
) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed``, if labels are enough to tell and draws left to do it."""
    reach, documents, cost = sequence.reach, sequence.documents, sequence.source.order.cost
    gaps = ~sequence.complete[:reach]
    few = documents[sequence.complete].sum() < _MIN_FORESEEN
    over = reach == len(cost) or (sequence.open and reach == sequence.drawn)
    if point.refusal or resolved or few or over:
        return nothing_foreseen(resolved)
    seen, spent, labels = prospect(), sequence.spent, np.r_[0, np.cumsum(documents)]
    more = labels[np.minimum(seen.draws, len(labels) - 1)] - labels[reach]
    more = np.where(seen.draws == NEVER, np.inf, more + documents[:reach][gaps].sum())
    further = spent[np.minimum(seen.draws, sequence.drawn)] - spent[reach] + cost[:reach][gaps].sum()
    likely, high = np.quantile(more, [0.5, 0.9], method="higher" if np.isinf(more).any() else "linear")
    return {
        "chance": float((seen.draws <= sequence.drawn).mean()),
        "further": float(further.mean()),
        "more": float(likely) if np.isfinite(high) else np.nan,
        "more_high": float(high) if np.isfinite(high) else np.nan,
        "needed": np.nan if seen.needed == NEVER else float(spent[min(seen.needed, len(spent) - 1)]),
    }


def nothing_foreseen(resolved: bool) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed`` with a verdict, or if nothing can be foreseen."""
    settled = {"chance": 1.0, "further": 0.0, "more": 0.0, "more_high": 0.0}
    return _UNKNOWN | (settled if resolved else {})
