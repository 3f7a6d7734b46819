"""What state is a plan in, by the labels so far, and what does one more change [theory 10, 14]?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.frames.qrels import check_policy, check_some_known, checked_qrels, known_labels
from pt_active.frames.records import is_records
from pt_active.frames.strays import NO_STRAYS, Strays
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import NEW
from pt_active.inference.stopping.boundaries import SPENDING
from pt_active.inference.stopping.looks import ALWAYS, cost_to_resolve, prospect, verdicts
from pt_active.plans.answers.basis import TOO_FEW, UNTOLD
from pt_active.plans.answers.gaps import Said, said_of
from pt_active.plans.answers.labelled_plan import Point, at_the_end, points_so_far
from pt_active.plans.answers.looks import Growing, Growth, Question, growing, growth_of
from pt_active.plans.answers.results import Comparison, ConfidenceInterval, Estimate
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
from pt_active.plans.making.judgments import qrels_of, records_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.parts import in_parts
from pt_active.plans.making.sampled import strays_of, strays_told

_MIN_FORESEEN = 10
"""With fewer labels, the status does not say how many more it will take: the error is a guess of the model."""


def missing_policy(tables: PlanTables, missing: str | None, looks: str | None) -> str:
    """What a status does about documents without a label before others that have one."""
    bridged = looks == ALWAYS or (looks in SPENDING and in_parts(tables))
    if missing is None:
        return "expected" if bridged else "error"
    check_policy(missing)
    if missing == "expected" and not bridged:
        raise ArgumentError(
            Argument("missing", missing),
            " would leave the error of these documents out of the intervals of such looks; use ",
            Argument("looks", ALWAYS),
            ", whose bets assume the worst case, or ",
            Argument("missing", "nonrelevant"),
        )
    return missing


def plan_status(
    tables: PlanTables, qrels: pd.DataFrame, question: Question, records: pd.DataFrame | None = None
) -> Status:
    """The state of a plan."""
    qrels = checked_qrels(qrels, tables.pool.max_grade)
    label = labels_so_far(tables, qrels)
    (point,) = points_so_far(tables, label, [question.contrast], question.how, records)
    if question.looks == ALWAYS:
        sequence = sequence_of(tables, label, question.measure, question.bridged)
        state = _proved_status(sequence, question, point)
    else:
        sample = growing(tables, label, question.looks, question.bridged)
        state = status_of_looks(sample, question, point, records)
    return with_strays(state, strays_told(tables, qrels, label))


def with_strays(status: Status, strays: Strays) -> Status:
    """The status with the labels that belong to no document of the plan."""
    return replace(status, unknown=strays)


def status_of_looks(sample: Growing, question: Question, point: Point, records: pd.DataFrame | None) -> Status:
    """The state by looks that rest on normal approximations."""
    tables, grown, result = sample.tables, growth_of(sample, question), None
    if question.looks is None and len(grown.past.cost):
        result = at_the_end(tables, sample.label, question.contrast, question.how, records)
    state = _looked_status(tables, question, grown, point, result)
    if point.beside is None:
        return state
    grown = grown if question.looks is None else growth_of(sample, question.turned)
    other = None if result is None else result.beside
    return replace(state, beside=_looked_status(tables, question.turned, grown, point.beside, other))


def _looked_status(
    tables: PlanTables, question: Question, grown: Growth, point: Point, result: Estimate | Comparison | None
) -> Status:
    """The state for one population; ``result`` is that of the one look at the end."""
    nothing = dict.fromkeys(("e_value", "more", "more_high"), np.nan)
    if question.looks is None and point.refusal in (TOO_FEW, UNTOLD):
        point = replace(point, apart=0.0, refusal="")
    point = replace(point, refusal=point.refusal or point.unusable)
    looked = _reached(grown, question, point.apart, None if result is None else result.confidence_interval())
    ahead = _ahead(grown, question, looked["resolution"] is not None)
    return Status(**(_about(tables, question, point) | nothing | grown.counts | looked | ahead))


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
    progress, turned, beside = sequence.progress, question.turned, None
    if point.beside is not None:
        margin, apart = question.margin or 0.0, point.beside.apart
        other = verdict_of(proof, margin, question.compared, turned.alpha, apart)
        beside = status_of(sequence, turned, proof, other, point.beside)
    paid, spent, judged = progress.paid, progress.spent, progress.judged
    ahead = nothing_foreseen(bool(verdict.resolution)) if ahead is None else ahead
    about: dict[str, Any] = _about(sequence.source.tables, question, point) | ahead
    return Status(
        **about,
        beside=beside,
        resolution=RESOLUTIONS.get(verdict.resolution),
        resolved_at=float(paid[verdict.at]) if verdict.resolution else None,
        low=verdict.low,
        high=verdict.high,
        e_value=verdict.e_value,
        unit=progress.unit,
        judged=judged,
        drawn=progress.drawn,
        n_judged=int(progress.documents[progress.complete].sum()),
        left_out=progress.left_out,
        waiting=progress.waiting,
        spent=float(paid[-1]),
        budget=float(spent[progress.drawn]),
        next_look=judged + 1 if judged < progress.drawn else None,
        everything=float(spent[-1]),
        overturned=RESOLUTIONS.get(verdict.overturned),
        open=progress.open,
    )


def _about(tables: PlanTables, question: Question, point: Point) -> dict[str, Any]:
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
    }


def foreseen(
    sequence: UnitSequence, point: Point, resolved: bool, prospect: Callable[[], Prospect]
) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed``, if labels are enough to tell and draws left to do it."""
    progress = sequence.progress
    reach, open_units = progress.reach, ~progress.complete[: progress.reach]
    few = progress.documents[progress.complete].sum() < _MIN_FORESEEN
    over = reach == len(progress.cost) or (progress.open and reach == progress.drawn)
    if point.refusal or resolved or few or over:
        return nothing_foreseen(resolved)
    seen, spent, labels = prospect(), progress.spent, np.r_[0, np.cumsum(progress.documents)]
    # The order of a block goes on behind what was drawn of it, where another block may have begun.
    more = labels[np.minimum(seen.draws, len(labels) - 1)] - labels[reach]
    more = np.where(seen.draws == NEVER, np.inf, more + progress.documents[:reach][open_units].sum())
    further = spent[np.minimum(seen.draws, progress.drawn)] - spent[reach] + progress.cost[:reach][open_units].sum()
    likely, high = np.quantile(more, [0.5, 0.9], method="higher" if np.isinf(more).any() else "linear")
    return {
        "chance": float((seen.draws <= progress.drawn).mean()),
        "further": float(further.mean()),
        "more": float(likely) if np.isfinite(high) else np.nan,
        "more_high": float(high) if np.isfinite(high) else np.nan,
        "needed": np.nan if seen.needed == NEVER else float(spent[min(seen.needed, len(spent) - 1)]),
    }


def nothing_foreseen(resolved: bool) -> dict[str, float]:
    """The fields of `Status` from ``chance`` to ``needed`` with a verdict, or if nothing can be foreseen."""
    unknown = dict.fromkeys(("chance", "further", "more", "more_high", "needed"), np.nan)
    return unknown | ({"chance": 1.0, "further": 0.0, "more": 0.0, "more_high": 0.0} if resolved else {})


def _reached(grown: Growth, question: Question, apart: float, interval: ConfidenceInterval | None) -> dict[str, Any]:
    """The fields of `Status` on the looks so far; the first look that resolves decides, so that an answer stays.

    The one look at the end has its own interval. The truth may lie ``apart`` from that of the pool's queries.
    """
    past = grown.past
    value, half = past.value, past.half_width + apart
    if interval is not None:
        value, half = np.array([sum(interval) / 2]), np.array([(interval.high - interval.low) / 2])
    verdict = verdicts(value, half, question.margin or 0.0, question.compared)
    at = int((verdict > 0).argmax()) if (verdict > 0).any() else None
    if interval is None:
        middle, wide = (float(x[-1]) if len(x) else np.nan for x in (value, half))
        interval = ConfidenceInterval(middle - wide, middle + wide)
    return {
        "resolution": None if at is None else RESOLUTIONS[int(verdict[at])],
        "resolved_at": None if at is None else float(past.cost[at - len(value)]),
        **interval._asdict(),
    }


def _ahead(grown: Growth, question: Question, resolved: bool) -> dict[str, float]:
    """The fields ``chance``, ``further`` and ``needed`` of `Status`, for looks that rest on normal approximations."""
    margin, now = question.margin or 0.0, grown.past.part(slice(-1, None))
    open_ended = resolved or question.queries == NEW or len(now.cost) == 0
    if open_ended or not (now.standard_error[0] > 0 and now.degrees[0] > 0):
        return {name: nothing_foreseen(resolved)[name] for name in ("chance", "further", "needed")}
    least = float(grown.least)
    chance, cost = prospect(now, grown.plan, margin, question.compared, least)
    needed = cost_to_resolve(now, grown.plan.then(grown.rest), margin, question.compared, least)
    return {"chance": chance, "further": max(0.0, cost - grown.counts["spent"]), "needed": needed}


class RunningStatus:
    """A plan that is followed while labels come in: `add` takes new ones alone and returns the `Status`.

    It keeps what does not depend on the new labels, and so is several times faster than asking again with all labels.

    Args:
        tables: The plan's content.
        question: What is asked; only looks at any time can be followed.

    Raises:
        ValueError: If the plan has no successive order, or the looks are others.
    """

    def __init__(self, tables: PlanTables, question: Question) -> None:
        if question.looks != ALWAYS:
            raise ValueError(f"only looks {ALWAYS!r} can be followed label by label, got {question.looks!r}")
        keys = tables.pool.keys
        self._tables, self._question = tables, question
        self._rows = pd.MultiIndex.from_arrays([keys["qid"], keys["docno"]])
        self._label = np.full(len(keys), -1, dtype=np.int64)
        self._counted = self._label
        self._unknown = pd.DataFrame(columns=["qid", "docno", "label"])
        self._records: pd.DataFrame | None = None
        self._decided = False
        self._changed, self._since = np.zeros((2, len(keys)), dtype=bool)
        self._sequence = sequence_of(tables, self._label, question.measure)

    def add(self, labels: pd.DataFrame) -> Status:
        """Take new labels, and say whether judging can stop."""
        said, open_again = Said(()), np.empty(0, dtype=np.int64)
        if is_records(labels):
            new = records_of_plan(self._tables, labels)
            self._records = new if self._records is None else pd.concat([self._records, new], ignore_index=True)
            decided = qrels_of(self._records)
            said = said_of(self._tables, decided, self._records)
            now = new[["qid", "docno"]].drop_duplicates().merge(decided, how="left", on=["qid", "docno"])
            unsettled = now["label"].isna()
            labels, open_again = now[~unsettled], self._rows_of(now[unsettled])
        status = self._added(checked_qrels(labels, self._tables.pool.max_grade), open_again)
        self._decided |= status.resolved
        voided = bool(self._since.any())
        changed = int((self._since if voided else self._changed).sum())
        return status.with_said(said._replace(changed=changed, voided=voided), given=False)

    def _rows_of(self, documents: pd.DataFrame) -> np.ndarray:
        """int64[n], the rows of documents in the pool; -1 for others."""
        return np.asarray(self._rows.get_indexer(pd.MultiIndex.from_frame(documents[["qid", "docno"]])))

    def _added(self, new: pd.DataFrame, open_again: np.ndarray) -> Status:
        """The status with new labels, and without those of some rows."""
        rows = self._rows_of(new)
        known = rows >= 0
        if len(new):
            check_some_known(known, self._tables.pool.keys, new)
        rows, before, label = rows[known], self._label, self._label.copy()
        label[rows], label[open_again] = new["label"].to_numpy(dtype=np.int64)[known], -1
        changed = (self._counted >= 0) & (label >= 0) & (label != self._counted)
        self._changed, self._since = self._changed | changed, self._since | (changed & self._decided)
        self._label, self._counted = label, np.where(label >= 0, label, self._counted)
        if ((before >= 0) & (label != before)).any():  # What the labels said about the units is computed again.
            self._sequence = sequence_of(self._tables, label, self._question.measure)
        else:
            self._sequence = replace(self._sequence, label=label)
        if not known.all():
            self._unknown = pd.concat([self._unknown, new[~known]]).drop_duplicates(["qid", "docno"])
        strays = strays_of(self._tables, self._unknown, label) if len(self._unknown) else NO_STRAYS
        (point,) = points_so_far(self._tables, label, [self._question.contrast], self._question.how, self._records)
        return with_strays(_proved_status(self._sequence, self._question, point), strays)
