"""What state is a plan in, by the labels so far, and what does one more change [theory 10, 14]?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.progress import bar
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import THESE
from pt_active.inference.stopping.looks import ALWAYS, Seen, cost_of_one_look, cost_to_resolve, prospect
from pt_active.inference.stopping.verdicts import (
    NEVER,
    Proof,
    Verdict,
    pair_verdicts,
    prospect_of,
    verdict_of,
)
from pt_active.plans.answers.basis import JUDGES_APART, LABELS_RIGHT, TOO_FEW, UNTOLD, assumptions_of
from pt_active.plans.answers.forecast import foreseen, method_of
from pt_active.plans.answers.gaps import read_labels
from pt_active.plans.answers.labelled_plan import Point, plan_so_far, points_so_far
from pt_active.plans.answers.looks import PartsInOrder, Question, growing
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.sequence import UnitOrder, UnitSequence
from pt_active.plans.answers.status import Status
from pt_active.plans.making.kept import PlanTables

_MIN_FORESEEN = 10
"""With fewer labels, the status does not say how many more it will take: the error is a guess of the model."""


def plan_status(
    tables: PlanTables, qrels: pd.DataFrame, question: Question, records: pd.DataFrame | None = None
) -> Status:
    """The state of a plan for one question."""
    label, known = read_labels(tables, qrels, records)
    (status,) = states(tables, label, [question], records, known)
    return status


def states(
    tables: PlanTables,
    label: np.ndarray,
    questions: Sequence[Question],
    records: pd.DataFrame | None = None,
    known: dict[str, Any] | None = None,
) -> list[Status]:
    """The states of a ranker, of a pair or of all pairs together, by the labels of a plan's documents, int64[N].

    The questions differ in their pairs alone. ``known`` are the fields of `Status` on labels beside their values.
    """
    (asked, *others) = questions
    contrasts = [question.contrast for question in questions]
    sample = growing(tables, label, asked)  # First, since it computes at once what the estimates need too
    points = points_so_far(tables, label, asked.measure, contrasts, asked.settings, records)
    # Bets take the labels as they are; the error of judges is in the other intervals.
    judges = LABELS_RIGHT if records is None or asked.looks == ALWAYS else JUDGES_APART
    about = {
        "measure": tables.named(asked.measure),
        "estimator": ESTIMATOR,
        "looks": asked.looks,
        "confidence": asked.confidence,
        "margin": asked.margin,
        "cost_unit": tables.manifest.arguments.unit,
        "assumed": (judges, *assumptions_of(tables, asked.measure)),
        **sample.counts,
        **(known or {}),
    }
    proofs: list[Proof | None] = [None] * len(questions)
    verdicts: list[Verdict | None] = [None] * len(questions)
    if isinstance(sample, UnitSequence) and asked.looks is not None:
        bets = [sample.proof(each.contrast, each.level) for each in questions]
        proofs = [*bets]
        if others and asked.contrast.second is not None and asked.queries == THESE:
            verdicts = [*pair_verdicts(bets, 1 - asked.confidence)]
    found = list(zip(questions, points, proofs, verdicts, strict=True))
    waiting = bar(found, "comparing", unit="pair", delay=1, leave=False, shown=len(found) > 1)
    return [
        _state(sample, question, estimates, proof, verdict, about, records)
        for question, estimates, proof, verdict in waiting
    ]


def _state(
    sample: UnitOrder,
    question: Question,
    points: tuple[Point, Point],
    proof: Proof | None,
    of_pairs: Verdict | None,
    about: dict[str, Any],
    records: pd.DataFrame | None,
) -> Status:
    """The state for the queries that are meant, with that for the others beside it.

    ``proof`` is what bets are on, None at other looks, and ``of_pairs`` the verdict of many pairs together.
    """
    names, contrast, both = sample.tables.pool.names, question.contrast, list[Status]()
    result = None if proof is not None else _result(sample, question, records)
    for asked, point in zip((question, question.turned), points, strict=True):
        if asked.looks is None and point.refusal in (TOO_FEW, UNTOLD):
            point = replace(point, apart=0.0, refusal="")
        if asked.looks != ALWAYS:
            point = replace(point, refusal=point.refusal or point.unusable)
        if proof is not None:
            meant = asked is question and not point.refusal
            verdict = of_pairs if meant else None
            if verdict is None:
                verdict = verdict_of(proof, asked.goal, asked.alpha, point.apart)
            fields = _by_bets(sample, verdict)
            if meant and asked.pairs == 1 and verdict.resolution is None:
                these = next(each for each in points if each.population.name == THESE)
                fields |= _foreseen(sample, asked, (these.value, these.standard_error), point.apart, proof, verdict)
        elif isinstance(sample, PartsInOrder) and asked.looks is not None:
            fields = _after_parts(sample, asked, point.apart)
        elif result is None:
            fields = {"next_look": sample.drawn}
        else:
            fields = _at_the_end(sample, asked, result if asked is question else result.beside)
        if fields.get("resolution"):
            fields = {"chance": 1.0, "further": 0.0} | fields
        state = Status(
            first=names[contrast.first],
            second=None if contrast.second is None else names[contrast.second],
            value=point.value,
            standard_error=point.standard_error,
            population=point.population,
            apart=point.apart,
            refusal=point.refusal,
            **(about | fields),
        )
        both.append(state)
    return replace(both[0], beside=both[1])


def _by_bets(sequence: UnitOrder, verdict: Verdict) -> dict[str, Any]:
    """The fields of `Status` at any time."""
    fields = {name: getattr(verdict, name) for name in ("resolution", "low", "high", "e_value", "overturned")}
    fields["next_look"] = sequence.judged + 1 if sequence.judged < sequence.drawn else None
    if verdict.resolution is not None:
        fields |= {"resolved_at": float(sequence.paid[verdict.at]), "more": 0.0, "more_high": 0.0}
    return fields


def _foreseen(
    sequence: UnitOrder,
    question: Question,
    estimate: tuple[float, float],
    apart: float,
    proof: Proof,
    verdict: Verdict,
) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed``, if labels are enough to tell and draws left to do it.

    ``estimate`` is the value and the error for the pool's queries, from which the truth may lie ``apart``.
    """
    reach, documents, cost = sequence.reach, sequence.documents, sequence.cost
    gaps = ~sequence.complete[:reach]
    few = documents[sequence.complete].sum() < _MIN_FORESEEN
    if few or reach == len(cost) or (sequence.open and reach == sequence.drawn):
        return {}
    seen = prospect_of(proof, verdict, question.goal, estimate, question.alpha, apart)
    spent, labels = sequence.spent, np.r_[0, np.cumsum(documents)]
    more = labels[np.minimum(seen.draws, len(labels) - 1)] - labels[reach]
    more = np.where(seen.draws == NEVER, np.inf, more + documents[:reach][gaps].sum())
    further = spent[np.minimum(seen.draws, sequence.drawn)] - spent[reach] + cost[:reach][gaps].sum()
    likely, high = np.quantile(more, [0.5, 0.9], method="higher" if np.isinf(more).any() else "linear")
    known = np.isfinite(high)
    needed = np.nan if seen.needed == NEVER else float(spent[min(seen.needed, len(spent) - 1)])
    return {
        "chance": float((seen.draws <= sequence.drawn).mean()),
        "further": float(further.mean()),
        "more": float(likely) if known else np.nan,
        "more_high": float(high) if known else np.nan,
        "needed": float(np.minimum(needed, sequence.counts["everything"])),
    }


def _result(sample: UnitOrder, question: Question, records: pd.DataFrame | None) -> Estimate | Comparison | None:
    """The answer of a look at the end; None before, and after parts."""
    if question.looks is not None or sample.judged < sample.drawn:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labelled = plan_so_far(sample.tables, sample.label, question.measure, records)
        return labelled.result(question.contrast, question.settings)


def _at_the_end(sample: UnitOrder, question: Question, result: Estimate | Comparison | None) -> dict[str, Any]:
    """The fields of `Status` by one look, once everything is judged."""
    assert result is not None
    (low, high), spent = result.confidence_interval(), sample.counts["budget"]
    seen = _verdict(question, np.array([low]), np.array([high]), [spent])
    if seen["resolution"] is None:
        floor = result.floor if result.holds_for_new else 0.0
        now = Seen(result.point, result.standard_error, (high - low) / 2, floor)
        seen |= {"chance": 0.0, "further": 0.0, "needed": _needed_at_once(sample.tables, question, spent, now)}
    return seen


def _after_parts(sample: PartsInOrder, question: Question, apart: float) -> dict[str, Any]:
    """The fields of `Status` by looks after parts; the first that resolves decides, so that an answer stays.

    The truth may lie ``apart`` from that of the pool's queries.
    """
    past, coming = sample.looks(question)
    seen: dict[str, Any] = {"next_look": sample.reach + 1 if sample.reach < sample.drawn else None}
    if not len(past.value):
        return seen
    half = past.half_width + apart
    seen |= _verdict(question, past.value - half, past.value + half, past.cost)
    if not np.isfinite(past.half_width[-1]):
        seen |= {"low": np.nan, "high": np.nan}
    now = past.part(slice(-1, None))
    told = now.standard_error[0] > 0 and now.degrees[0] > 0
    if seen["resolution"] is not None or question.queries != THESE or not told:
        return seen
    chance, cost = prospect(now, coming, question.goal)
    needed = cost_to_resolve(now, coming, question.goal)
    if np.isnan(needed):
        spent, once = float(now.cost[0]), now.at_one_look(question.alpha)
        needed = _needed_at_once(sample.tables, question, spent, once)
    return seen | {"chance": chance, "further": max(0.0, cost - sample.counts["spent"]), "needed": needed}


def _verdict(
    question: Question, low: np.ndarray, high: np.ndarray, cost: Sequence[float] | np.ndarray
) -> dict[str, Any]:
    """The first verdict of the intervals at some looks, what it cost, and the last interval, as fields of `Status`."""
    ends = {"low": float(low[-1]), "high": float(high[-1])}
    times = {name: int(at.argmax()) for name, at in question.goal.verdicts(low, high).items() if at.any()}
    if not times:
        return {"resolution": None, "resolved_at": None, **ends}
    first = min(times, key=times.__getitem__)
    return {"resolution": first, "resolved_at": float(cost[times[first]]), **ends}


def _needed_at_once(tables: PlanTables, question: Question, spent: float, now: Seen) -> float:
    """The total cost with which one look settles the question; NaN for pairs of many, where it is not foreseen.

    The errors of larger samples of the same kind are those that the grade model expects.
    """
    forecast = None if question.pairs > 1 else foreseen(tables)
    if forecast is None:
        return np.nan
    curve, _ = forecast.curve(method_of(tables.manifest.arguments))
    return cost_of_one_look(curve, spent, now, question.goal)
