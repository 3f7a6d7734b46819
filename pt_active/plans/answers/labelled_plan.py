"""How are a plan and its labels joined, all of them or what is judged so far, and the error of judges with them?

One set of labels has one estimate of each ranker and of each difference: the regression on what is judged without a
gap. What is judged in part does not enter it. The interval beside it is that of the question, and its name says which:
of a fixed sample, or at any time [theory 5, 9, 14].
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.progress import bar
from pt_active.frames.qrels import checked_qrels, label_columns
from pt_active.frames.records import ADJUDICATOR, latest
from pt_active.inference.agreement import coincidences, judges_variance, second_opinions
from pt_active.inference.new_queries import NEW, THESE, ByQuery
from pt_active.plans.answers.basis import QueriesMeant, clustered, gap_to_new, meant
from pt_active.plans.answers.judged import Contrast, How, Judged, LabelledPlan
from pt_active.plans.answers.judged_documents import DocumentPlan
from pt_active.plans.answers.judged_queries import QueryPlan
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.sampled import NothingJudged, cut_to_labels, labels_of, strays_of, wanted_documents
from pt_active.relevance.measures import check_minus_ones, parse_measure

Result = TypeVar("Result", bound=Estimate | Comparison)


def asked(tables: PlanTables, measure: str | irm.Measure | None = None, *how: Any, **named: Any) -> How:
    """Check what is asked of a plan's labels, with the fields of `How` after the measure."""
    wanted = tables.measure if measure is None else parse_measure(measure, tables.pool.max_grade)
    return How(wanted, *how, **named)


def labelled_plan(tables: PlanTables, qrels: pd.DataFrame) -> LabelledPlan:
    """Join the labels of a plan to the queries or documents that it drew.

    If the plan was cut to what is judged, labels of the part that was cut off are dropped without a warning.
    """
    check_minus_ones(tables.measure, label_columns(qrels)["label"])
    qrels = checked_qrels(qrels)
    strays = strays_of(tables, qrels)
    if tables.manifest.cut:
        qrels = qrels.merge(tables.pool.keys.loc[wanted_documents(tables), ["qid", "docno"]], on=["qid", "docno"])
    return _plan(tables)(tables, *labels_of(tables, qrels), strays)


def _plan(tables: PlanTables) -> type[LabelledPlan]:
    return DocumentPlan if tables.documents else QueryPlan


def plan_so_far(tables: PlanTables, label: np.ndarray) -> LabelledPlan:
    """A plan cut to what is judged, with its labels, int64[N]: what every estimate is from while labels come in."""
    cut = cut_to_labels(tables, label)
    return _plan(cut)(cut, np.where(wanted_documents(cut), label, -1))


@dataclass(frozen=True)
class Point:
    """An estimate while labels come in, and the queries that it is for."""

    value: float  # NaN if nothing is judged without a gap
    standard_error: float  # NaN if the labels do not tell it
    population: QueriesMeant  # The queries
    apart: float = 0.0  # How far their mean may lie from that of the pool's queries; infinite if that is not known
    refusal: str = ""  # Why it is not known; empty if it is
    unusable: str = ""  # Why labels give no interval by normal approximations; empty if they may
    beside: Point | None = None  # The same for the other queries

    @property
    def of_pool(self) -> Point:
        """The estimate for the queries of the pool."""
        return self.beside if self.apart and self.beside else self


def points_so_far(
    tables: PlanTables,
    label: np.ndarray,
    contrasts: Sequence[Contrast],
    how: How,
    records: pd.DataFrame | None = None,
) -> list[Point]:
    """The estimates of contrasts, those of `Plan.compare` and `Plan.estimate` for `Plan.so_far`.

    They come without warnings: the state of the judging says what is lacking. The level is that of the answer at any
    time for new queries.

    Shapes: label int64[N].
    """
    how = replace(how, replays=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            labelled = plan_so_far(tables, label)
        except NothingJudged:
            return [_unjudged(tables, how) for _ in contrasts]
        judged = judged_with(labelled, records, how)
        waiting = bar(contrasts, "estimating", unit="pair", delay=1, leave=False, shown=len(contrasts) > 1)
        return [_point(judged, each, how) for each in waiting]


def at_the_end(
    tables: PlanTables,
    label: np.ndarray,
    contrast: Contrast,
    how: How,
    records: pd.DataFrame | None = None,
) -> Estimate | Comparison:
    """What a fixed sample says once all of it is judged, as `Plan.compare` and `Plan.estimate`.

    Shapes: label int64[N].
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return judged_with(plan_so_far(tables, label), records, how).result(contrast, how)


def _point(judged: Judged, contrast: Contrast, how: How) -> Point:
    """The estimate of one contrast."""
    measured, both = judged.measured(contrast, how), []
    unusable = measured.basis.caution if measured.unusable else ""
    for fields in judged.answers(contrast, measured, how):
        error, population = float(fields["standard_error"]), fields["population"]
        certain = measured.certain and population.name == THESE
        told = np.isfinite(error) and (certain or error > 0)
        point = Point(measured.value, error if told else np.nan, population, unusable=unusable)
        if population.name == NEW:
            about = judged.by_query(measured, how)
            point = replace(point, **gap_to_new(None if fields["degenerate"] else about, how.confidence))
        if beyond := judged.beyond(contrast):
            point = replace(point, standard_error=np.nan, apart=np.inf, refusal=beyond)
        both.append(point)
    point, other = both
    return replace(point, beside=other)


def _unjudged(tables: PlanTables, how: How) -> Point:
    """The estimate before anything is judged."""
    weight = tables.pool.query_weight
    queries = clustered(ByQuery(weight, np.zeros(len(weight)), 0.0), tables.pool.queries, how.clusters)
    these, new = (Point(np.nan, np.nan, each) for each in meant(queries, tables.pool.queries, how.clusters))
    new = replace(new, **gap_to_new(None, how.confidence))
    return replace(new, beside=these) if how.queries == NEW else replace(these, beside=new)


def judged_with(labelled: LabelledPlan, records: pd.DataFrame | None, how: How) -> Any:
    """The sample with its labels, whose results contain the error of the judges if there are records [theory 12]."""
    judged = labelled.judged(how)
    return judged if records is None else replace(judged, judges=_error_of_judges(labelled, records, how))


def with_worst_case(
    result: Result, labelled: LabelledPlan, contrast: Contrast, how: How, records: pd.DataFrame | None
) -> Result:
    """The result, whose note says what the interval is in the worst case if labels are missing."""
    if not result.missing:
        return result
    low, high = worst_case(labelled, contrast, how, records)
    reach = f"the interval reaches from {low:.4f} to {high:.4f}" if np.isfinite(high - low) else "there is no interval"
    said = f"people need not skip at random: with missing labels that lower it most, or raise it most, {reach}"
    return replace(result, basis=replace(result.basis, skipped=said))


def worst_case(
    labelled: LabelledPlan, contrast: Contrast, how: How, records: pd.DataFrame | None
) -> tuple[float, float]:
    """The lowest and the highest end of intervals if missing labels are 0, or what moves the estimate down or up most.

    Each is the grade that would do so if it were the only one that is missing.
    """
    tables = labelled.tables
    missing = wanted_documents(tables) & (labelled.label < 0)
    label = np.where(missing, 0, labelled.label)
    others = np.repeat(missing[:, None], tables.pool.max_grade + 1, axis=1)
    weights = contrast.weights(len(tables.pool.names))
    change = replace(labelled, label=label.copy()).changes(weights, how, others)[missing]
    intervals = []
    for grades in (0, change.argmin(axis=1), change.argmax(axis=1)):
        label[missing] = grades
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            judged = judged_with(replace(labelled, label=label.copy(), _kept={}), records, how)
            intervals.append(judged.result(contrast, how).confidence_interval())
    low, high = np.array(intervals).T
    return float(low.min()), float(high.max())


def _error_of_judges(
    labelled: LabelledPlan, records: pd.DataFrame, how: How
) -> Callable[[Judged, Contrast, dict[str, Any]], dict[str, Any]]:
    """A function that puts the error of judges into the fields of a result."""
    judges, coincidence, settled = _who_judged(labelled.tables.pool, records)
    label, rows = labelled.label, np.flatnonzero(labelled.label >= 0)
    twice, known = int((judges[rows] > 1).sum()), np.where(settled, 1, np.maximum(judges, 1))[rows]
    opinion = np.zeros((len(label), len(coincidence)))
    if twice:
        opinion[rows] = second_opinions(coincidence)[label[rows]]
    others = opinion > 0
    others[rows, label[rows]] = False

    def added(judged: Judged, contrast: Contrast, fields: dict[str, Any]) -> dict[str, Any]:
        basis = replace(fields["basis"], judged_twice=float(twice) / max(len(rows), 1))
        if not twice:
            return fields | {"basis": basis}
        change = labelled.changes(contrast.weights(len(judged.names)), how, others)[rows]
        variance = judges_variance(change, labelled.chance[rows], opinion[rows], known)
        before, degrees = fields["standard_error"], fields["degrees_of_freedom"]
        both = before**2 + variance
        if variance > 0 and degrees > 0:
            # Satterthwaite: the error of judges is known from the documents with two labels alone.
            degrees = both**2 / (before**4 / degrees + variance**2 / twice)
        basis = replace(basis, error_of_judges=float(np.sqrt(variance)))
        return fields | {"basis": basis, "standard_error": float(np.sqrt(both)), "degrees_of_freedom": degrees}

    return added


def _who_judged(pool: Pool, records: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The number of judges of each document, int64[N]; their coincidences; bool[N], what an adjudicator settled."""
    keys, last = pool.keys[["qid", "docno"]], latest(records)
    labels = last[last["label"].notna()]
    item = pd.MultiIndex.from_frame(keys).get_indexer(pd.MultiIndex.from_frame(labels[["qid", "docno"]]))
    grade, by_one = labels["label"].to_numpy(dtype=np.int64), (labels["annotator"] == ADJUDICATOR).to_numpy()
    settled = np.isin(np.arange(len(keys)), item[by_one & (item >= 0)])
    item, grade = (each[~by_one & (item >= 0)] for each in (item, grade))
    return np.bincount(item, minlength=len(keys)), coincidences(item, grade, pool.max_grade + 1), settled
