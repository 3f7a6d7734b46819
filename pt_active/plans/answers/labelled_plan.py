"""How are a plan and its labels joined, all of them or what is judged so far, and the error of judges with them?

One set of labels has one estimate of each ranker and of each difference: the regression on what is judged without a
gap. What is judged in part does not enter it. The interval beside it is that of the question, and its name says which:
of a fixed sample, or at any time [theory 5, 9, 14].
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import check_known
from pt_active.frames.progress import bar
from pt_active.frames.qrels import MISSING_POLICIES, checked_qrels, label_columns
from pt_active.frames.records import ADJUDICATOR, latest
from pt_active.frames.strays import NO_STRAYS, Strays
from pt_active.inference.agreement import coincidences, second_opinions
from pt_active.inference.new_queries import NEW, THESE, ByQuery
from pt_active.plans.answers.basis import QueriesMeant, assumptions_of, clustered, gap_to_new, meant
from pt_active.plans.answers.labelled import Contrast, Judges, LabelledPlan, Settings
from pt_active.plans.answers.labelled_documents import LabelledDocuments, labelled_documents
from pt_active.plans.answers.labelled_queries import LabelledQueries, labelled_queries
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.queries import sample_of
from pt_active.plans.making.rankers import unasked_shares
from pt_active.plans.making.sampled import NothingJudged, cut_to_labels, labels_of, strays_of, wanted_documents
from pt_active.relevance.measures import check_minus_ones, parse_measure

Result = TypeVar("Result", bound=Estimate | Comparison)


CUT_CAUTION = (
    "the plan was cut to what is judged: the interval here assumes a number of labels fixed beforehand; that of the "
    "status holds however often you look"
)
"""The caution of estimates from a plan that was cut."""


class Labels(NamedTuple):
    """The labels of what a plan drew, int64[N], -1 where there is none, and what else the qrels have."""

    label: np.ndarray
    ignored: int = 0  # How many labels are of what was not drawn
    strays: Strays = NO_STRAYS  # The labels of no document of the plan


def read_qrels(tables: PlanTables, qrels: pd.DataFrame) -> Labels:
    """The labels of a plan.

    If the plan was cut to what is judged, labels of the part that was cut off are dropped without a warning.
    """
    check_minus_ones(tables.measure, label_columns(qrels)["label"])
    qrels = checked_qrels(qrels)
    strays = strays_of(tables, qrels)
    if tables.manifest.cut:
        qrels = qrels.merge(tables.pool.keys.loc[wanted_documents(tables), ["qid", "docno"]], on=["qid", "docno"])
    return Labels(*labels_of(tables, qrels), strays)


def labelled_plan(
    tables: PlanTables,
    labels: Labels,
    measure: str | irm.Measure | None = None,
    missing: str = "error",
    records: pd.DataFrame | None = None,
) -> LabelledQueries | LabelledDocuments:
    """Join labels to the queries or documents that a plan drew, for one measure, by default the plan's own.

    If there are records of judgments, results contain the error of the judges [theory 12].

    Raises:
        ValueError: If the measure or the policy is unknown, or labels are missing that the policy does not replace.
    """
    check_known("missing", missing, MISSING_POLICIES)
    measure = tables.measure if measure is None else parse_measure(measure, tables.pool.max_grade)
    found: LabelledQueries | LabelledDocuments
    if tables.documents:
        found = labelled_documents(tables, tables.documents, labels.label, measure, missing, labels.strays)
    else:
        sample, model = sample_of(tables), model_means(tables, measure)
        found = labelled_queries(tables, sample, model, labels.label, measure, missing, labels.strays)
    basis = replace(
        found.basis,
        measure=tables.named(measure),
        assumed=assumptions_of(tables, measure),
        ignored=labels.ignored,
        unknown=labels.strays,
        stopping_caution=CUT_CAUTION if tables.manifest.cut else "",
    )
    judges = None if records is None else _judges(tables.pool, labels.label, records)
    found = replace(found, strangers=tables.manifest.strangers, unasked=unasked_shares(tables, measure))
    return replace(found, basis=basis, records=records, judges=judges)


def plan_so_far(
    tables: PlanTables, label: np.ndarray, measure: irm.Measure, records: pd.DataFrame | None
) -> LabelledQueries | LabelledDocuments:
    """A plan cut to what is judged, with its labels, int64[N]: what every estimate is from while labels come in."""
    cut = cut_to_labels(tables, label)
    return labelled_plan(cut, Labels(np.where(wanted_documents(cut), label, -1)), measure, records=records)


@dataclass(frozen=True)
class Point:
    """An estimate while labels come in, and the queries that it is for."""

    value: float  # NaN if nothing is judged without a gap
    standard_error: float  # NaN if the labels do not tell it
    population: QueriesMeant  # The queries
    apart: float = 0.0  # How far their mean may lie from that of the pool's queries; infinite if that is not known
    refusal: str = ""  # Why it is not known; empty if it is
    unusable: str = ""  # Why labels give no interval by normal approximations; empty if they may


def points_so_far(
    tables: PlanTables,
    label: np.ndarray,
    measure: irm.Measure,
    contrasts: Sequence[Contrast],
    settings: Settings,
    records: pd.DataFrame | None = None,
) -> list[tuple[Point, Point]]:
    """The estimates of contrasts, those of `Plan.compare` and `Plan.estimate` for `Plan.so_far`.

    Each is for the queries that are meant and for the others. They come without warnings: the state of the judging
    says what is lacking. The level is that of the answer at any time for new queries.

    Shapes: label int64[N].
    """
    settings = replace(settings, replays=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            labelled = plan_so_far(tables, label, measure, records)
        except NothingJudged:
            return [_unjudged(tables, settings) for _ in contrasts]
        waiting = bar(contrasts, "estimating", unit="pair", delay=1, leave=False, shown=len(contrasts) > 1)
        return [_points(labelled, contrast, settings) for contrast in waiting]


def _points(labelled: LabelledPlan, contrast: Contrast, settings: Settings) -> tuple[Point, Point]:
    """The estimate of one contrast for the queries that are meant, and for the others."""
    measured, both = labelled.measured(contrast, settings), list[Point]()
    unusable = measured.basis.caution if measured.unusable else ""
    for fields in labelled.answers(contrast, measured, settings):
        error, population = float(fields["standard_error"]), fields["population"]
        certain = measured.certain and population.name == THESE
        told = np.isfinite(error) and (certain or error > 0)
        point = Point(measured.value, error if told else np.nan, population, unusable=unusable)
        if population.name == NEW:
            about = None
            if measured.by_query is not None and not fields["degenerate"]:
                about = clustered(measured.by_query, labelled.tables.pool.queries, settings.clusters)
            point = replace(point, **gap_to_new(about, settings.confidence))
        if beyond := labelled.beyond(contrast):
            point = replace(point, standard_error=np.nan, apart=np.inf, refusal=beyond)
        both.append(point)
    meant, other = both
    return meant, other


def _unjudged(tables: PlanTables, settings: Settings) -> tuple[Point, Point]:
    """The estimate before anything is judged."""
    weight = tables.pool.query_weight
    queries = clustered(ByQuery(weight, np.zeros(len(weight)), 0.0), tables.pool.queries, settings.clusters)
    these, new = (Point(np.nan, np.nan, each) for each in meant(queries, tables.pool.queries, settings.clusters))
    new = replace(new, **gap_to_new(None, settings.confidence))
    return (new, these) if settings.queries == NEW else (these, new)


def with_worst_case(result: Result, labelled: LabelledPlan, contrast: Contrast, settings: Settings) -> Result:
    """The result, whose note says what the interval is in the worst case if labels are missing.

    These are 0, or what moves the estimate down or up most, each as if it were the only one that is missing.
    """
    if not result.basis.missing:
        return result
    tables, intervals = labelled.tables, []
    missing = wanted_documents(tables) & (labelled.label < 0)
    others = np.repeat(missing[:, None], tables.pool.max_grade + 1, axis=1)

    def filled(grades: np.ndarray | int) -> LabelledPlan:
        label = labelled.label.copy()
        label[missing] = grades
        return labelled_plan(tables, Labels(label), labelled.measure, records=labelled.records)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        lowest = filled(0)
        change = lowest.changes(contrast.weights(len(tables.pool.names)), settings.estimator, others)[missing]
        for case in (lowest, filled(change.argmin(axis=1)), filled(change.argmax(axis=1))):
            intervals.append(case.result(contrast, settings).confidence_interval())
    low, high = np.min(intervals), np.max(intervals)
    reach = f"the interval reaches from {low:.4f} to {high:.4f}" if np.isfinite(high - low) else "there is no interval"
    said = f"people need not skip at random: with missing labels that lower it most, or raise it most, {reach}"
    return replace(result, basis=replace(result.basis, skipped=said))


def _judges(pool: Pool, label: np.ndarray, records: pd.DataFrame) -> Judges:
    """Who judged the documents with labels, int64[N]."""
    keys, last = pool.keys[["qid", "docno"]], latest(records)
    given = last[last["label"].notna()]
    item = pd.MultiIndex.from_frame(keys).get_indexer(pd.MultiIndex.from_frame(given[["qid", "docno"]]))
    grade, by_one = given["label"].to_numpy(dtype=np.int64), (given["annotator"] == ADJUDICATOR).to_numpy()
    settled = np.isin(np.arange(len(keys)), item[by_one & (item >= 0)])
    item, grade = (column[~by_one & (item >= 0)] for column in (item, grade))
    judges, coincidence = np.bincount(item, minlength=len(keys)), coincidences(item, grade, pool.max_grade + 1)
    rows, opinion = np.flatnonzero(label >= 0), np.zeros((len(keys), len(coincidence)))
    if twice := int((judges[rows] > 1).sum()):
        opinion[rows] = second_opinions(coincidence)[label[rows]]
    return Judges(np.where(settled, 1, np.maximum(judges, 1)), opinion, twice)
