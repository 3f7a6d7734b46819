"""What do a plan and its labels say altogether, as one HTML file or as plain data?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import THESE
from pt_active.inference.ties import difference
from pt_active.plans.answers.agreement import agreement_of
from pt_active.plans.answers.contributions import Contributions, slices_of
from pt_active.plans.answers.gaps import filled, said_of
from pt_active.plans.answers.judged import Contrast, How, Judged, LabelledPlan
from pt_active.plans.answers.labelled_plan import asked, judged_with, labelled_plan, with_worst_case
from pt_active.plans.answers.looks import USUAL, Question, looks_asked
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.ranking import Ranking, Result, rank_judged
from pt_active.plans.answers.report.differences import budget_table, differences, foreseen, further
from pt_active.plans.answers.report.findings import Findings, compared
from pt_active.plans.answers.report.headline import WhoJudged
from pt_active.plans.answers.report.sections import page_of, verdict_of
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import state_of
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.judgments import records_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.rankers import named_pair
from pt_active.plans.making.sampled import cut_to_judged
from pt_active.relevance.digits import rounded
from pt_active.relevance.measures import cutoff_of
from pt_active.showing.charts import framed
from pt_active.showing.page import Beside, Page, Returned

N_QUERIES = 6  # Queries in which two rankings are shown side by side
N_DOCUMENTS = 10  # Documents of each of these rankings that are shown at most
_N_CANDIDATES = 40  # Queries of most of which is judged, as a share, among which those that differ most are looked for

_SLICE_COLUMNS = (
    *("column", "value", "queries", "share", "name", "estimator", "judged"),
    *("estimate", "standard_error", "low", "high", "note"),
)
"""Columns of the table of slices, needed if it has no rows."""


class Report(Findings):
    """What a plan and its labels show, as a page or as plain data."""

    @classmethod
    def of(
        cls,
        plan: KeptArtifact[PlanTables],
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        queries: str = THESE,
        clusters: str | None = None,
        slices: Sequence[str] = (),
        first: str | None = None,
        second: str | None = None,
        status: Status | None = None,
        records: pd.DataFrame | None = None,
        texts: pd.DataFrame | None = None,
    ) -> Report:
        """Gather everything that a plan and its labels show.

        Args:
            plan: Of queries or of documents.
            qrels: Its labels, of all rounds.
            measure: The measure of the results; the plan's own if left out. Budget curve and model check are always for
                the plan's own.
            estimator: A name in `estimators.ESTIMATORS`; for plans of documents one in
                `documents.DOCUMENT_ESTIMATORS`.
            confidence: Level of all intervals.
            missing: What to do about a sampled document without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).
            queries: The queries that the first sentence holds for, ``"these"`` of the pool or ``"new"`` ones like them;
                the answer for the others stands below it.
            clusters: A column of the topics whose equal values mark queries that belong together.
            slices: Columns of ``plan.queries``; each gives one group of queries per value.
            first: The ranker that is compared, to compare two of more; all are ranked if left out.
            second: The ranker that it is compared with.
            status: The result of `Plan.status` for these labels, which then need not be complete: the report is of
                `Plan.so_far`, and its answer is that of the status, whose interval is valid at all looks.
            records: The records that the qrels follow from; the standard errors then contain the judges' variance, and
                the report says who judged and when, and how far the judges agree.
            texts: ``docno, text``, to show documents with their texts; those that the plan keeps if left out.

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the plan, a column does not make groups, or the
                status is of another measure, of other rankers or of other labels.
        """
        if isinstance(slices, str):
            raise ValueError(f'slices must be a list of columns; write slices=["{slices}"]')
        records = None if records is None else records_of_plan(plan.tables, records)
        if status is not None and status.filled:
            qrels = filled(qrels, said_of(plan.tables, qrels, records).gaps)
        tables = plan.tables if status is None else cut_to_judged(plan.tables, qrels)
        how = asked(tables, measure, estimator, confidence, missing, queries=queries, clusters=clusters)
        labelled = labelled_plan(tables, qrels)
        judged = judged_with(labelled, records, how)
        result = _result(judged, how, first, second)
        if not isinstance(result, Ranking):
            contrast = Contrast(*(_places(judged.names, result) or (0,)))
            result = with_worst_case(result, labelled, contrast, how, records)
        if status is not None:
            _check_status(status, result)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            made = cls._gathered(labelled, how, judged, result, status)
            pair, known = _places(judged.names, result), texts_of(tables.assessments, texts)
            if status is None and isinstance(result, Comparison):
                made = replace(made, ahead=_ahead(labelled, pair, how, records))
            sliced = pair if isinstance(result, Comparison) else None
            groups = [each for column in slices for each in slices_of(labelled, column, sliced, how)]
            agreement = None if records is None else agreement_of(records, tables.pool.max_grade)
            counting, sizes = int(tables.pool.seen(tables.measure).sum()), tables.manifest.counts
            measured = tables.manifest.arguments.measure
            return replace(
                made,
                campaign=WhoJudged.of(result.basis, records, sizes.documents, sizes.queries, measured, counting),
                agreement=agreement if agreement is not None and len(agreement.judges) > 1 else None,
                beside=() if pair is None else side_by_side(labelled, pair, how.measure, known),
                slices=pd.DataFrame([row for each in groups for row in each.rows()], columns=_SLICE_COLUMNS),
                texts=known,
            )

    @classmethod
    def _gathered(
        cls, labelled: LabelledPlan, how: How, judged: Judged, result: Result, status: Status | None
    ) -> Report:
        """The report of a result, with everything else that the labels say about it."""
        made, names = labelled.tables.manifest, judged.names
        pilot, forecast = Pilot.of_labelled(labelled, how.missing), foreseen(labelled.tables)
        budget, budget_note, curve = budget_table(made, forecast, how, pilot)
        one = Contrast(*(_places(names, result) or (0,)))
        contrast = one.weights(len(names))
        pairs, estimates = differences(judged, result, status, how), _estimates(result, status)
        half = np.nan if pairs else float(np.ptp(estimates[["low", "high"]].to_numpy())) / 2
        floor = result.floor / result.standard_error if isinstance(result, Estimate) and result.holds_for_new else 0.0
        return cls(
            result=result,
            estimates=estimates,
            budget=budget,
            budget_note=budget_note,
            contributions=Contributions.of_labelled(labelled, contrast, how),
            contrast=one.named(names),
            check=ModelCheck.of_pilot(pilot, forecast),
            slices=pd.DataFrame(columns=_SLICE_COLUMNS),
            made=made,
            status=status,
            curve=curve,
            differences=pairs,
            further=further(curve, made.spent, pairs, half, floor),
        )

    @cached_property
    def _page(self) -> Page:
        return page_of(self)

    def _picture(self) -> str:
        return framed(verdict_of(self).svg)

    def to_json(self) -> str:
        """`to_dict` as text, for a dashboard."""
        return self._page.json()

    def to_html(self) -> str:
        """The report as one HTML page that loads no other file."""
        return self._page.html()

    def save(self, path: str | Path) -> Path:
        """Write the report to a new file.

        Args:
            path: The file, which gets `to_json` if its name ends with ``.json``, and otherwise `to_html`.

        Returns:
            The path.

        Raises:
            FileExistsError: If the path exists.
            FileNotFoundError: If its folder does not.
        """
        self._page.save(Path(path))
        return Path(path)


def _ahead(
    labelled: LabelledPlan, pair: tuple[int, int] | None, how: How, records: pd.DataFrame | None
) -> Status | None:
    """The state of a pair by the looks that its plan is made for; None if there is none such."""
    if pair is None or how.estimator != ESTIMATOR:
        return None
    tables = labelled.tables
    looks, confidence = looks_asked(tables, USUAL), how.confidence
    question = Question(pair, how.measure, looks, None, confidence, queries=how.queries, clusters=how.clusters)
    try:
        return state_of(tables, labelled.label, question, records)
    except ValueError:  # The sample is looked at as a whole alone, or says nothing at these looks.
        return None


def _check_status(status: Status, result: Result) -> None:
    """Raise if the status is of another measure, of other rankers or of other labels than the result."""
    if isinstance(result, Ranking):
        raise ValueError("a status is of two rankers: name them as first= and second=")
    pair = (result.first, result.second) if isinstance(result, Comparison) else (result.name, None)
    if (status.first, status.second, status.measure) != (*pair, result.basis.measure):
        other = " − ".join(filter(None, pair))
        raise ValueError(
            f"the status is of {status.measure} of {status.what}, the report of {result.basis.measure} of {other}"
        )
    if result.population is not None and status.holds_for_new != result.holds_for_new:
        raise ValueError(f"the status is of {status.population.label}, the report of {result.population.label}")
    if status.estimator != result.basis.estimator:
        raise ValueError(f"the status is by {status.estimator}, the report by {result.basis.estimator}")
    if not np.isclose(status.value, result.point, rtol=1e-9, atol=1e-12):
        said = f"the status estimates {status.point}, and these labels say {result.point:+.4f}"
        raise ValueError(f"{said}: it comes from other labels; ask for a new one")


def _result(judged: Judged, how: How, first: str | None, second: str | None) -> Result:
    names = judged.names
    if len(names) == 1 and first is None and second is None:
        return judged.estimate(0, how)
    if len(names) > 2 and first is None and second is None:
        return rank_judged(judged, how)
    one, other = named_pair(names, first, second)
    return judged.compare(one, other, how)


def _places(names: tuple[str, ...], result: Result) -> tuple[int, int] | None:
    """Indices of the two rankers whose difference is taken apart; None if there is one ranker."""
    pair = compared(result)
    return None if pair is None else (names.index(pair[0]), names.index(pair[1]))


def _estimates(result: Result, status: Status | None) -> pd.DataFrame:
    """The difference, or each ranker; with a status, its interval, which is valid at all looks."""
    each = result.estimates if isinstance(result, Ranking) else (result,)
    rows = [(one.what, one.point, one.standard_error, *one.confidence_interval()) for one in each]
    if status is not None:
        rows = [(status.what, status.value, status.standard_error, status.low, status.high)]
    return pd.DataFrame(rows, columns=["name", "estimate", "standard_error", "low", "high"])


def side_by_side(
    labelled: LabelledPlan, pair: tuple[int, int], measure: irm.Measure, texts: Mapping[str, str]
) -> tuple[Beside, ...]:
    """The judged queries in which two rankers differ most."""
    pool, label, depth = labelled.tables.pool, labelled.label, min(cutoff_of(measure) or N_DOCUMENTS, N_DOCUMENTS)
    ranks = pool.ranks[list(pair)]
    ranks = np.where(ranks <= depth, ranks, 0)  # int[2, N], 0 for what is not shown
    rows = _candidates(labelled, np.flatnonzero(ranks.any(axis=0)))
    if not len(rows):
        return ()
    some, given = pool.select(rows), label[np.isin(pool.query_of_document, rows)]
    known = replace(some, grades=np.where((given >= 0)[:, None], np.eye(pool.max_grade + 1)[given], some.grades))
    values = known.moments(measure).mean[:, list(pair)]
    apart = difference(values[:, 0], values[:, 1])
    order = np.argsort(-rounded(np.abs(apart)), kind="stable")[:N_QUERIES]
    order = order[apart[order] != 0]
    return tuple(_beside(labelled, int(rows[place]), ranks, values[place], texts) for place in order)


def _candidates(labelled: LabelledPlan, first: np.ndarray) -> np.ndarray:
    """int64[r], increasing: the drawn queries of whose first documents, given by their numbers, most is judged."""
    pool = labelled.tables.pool
    asked, known = (
        np.bincount(pool.query_of_document[each], minlength=len(pool.queries))
        for each in (first, first[labelled.label[first] >= 0])
    )
    rows = labelled.drawn[known[labelled.drawn] > 0]
    share = known[rows] / asked[rows]
    return np.sort(rows[np.argsort(-share, kind="stable")[:_N_CANDIDATES]])


def _beside(
    labelled: LabelledPlan, row: int, ranks: np.ndarray, values: np.ndarray, texts: Mapping[str, str]
) -> Beside:
    pool, label = labelled.tables.pool, labelled.label
    shown = pool.indptr[row] + np.flatnonzero(ranks[:, pool.indptr[row] : pool.indptr[row + 1]].any(axis=0))
    expected = pool.grades[shown] @ np.arange(pool.max_grade + 1)
    at: dict[tuple[int, int], Returned] = {}
    for document, grade in zip(shown, expected, strict=True):
        docno, given = str(pool.docno[document]), int(label[document])
        seen = Returned(docno, given if given >= 0 else None, float(grade), str(texts.get(docno, "")))
        at |= {(side, int(rank)): seen for side, rank in enumerate(ranks[:, document])}
    deepest = max((rank for _, rank in at), default=0)
    places = tuple((at.get((0, rank)), at.get((1, rank))) for rank in range(1, deepest + 1))
    query = pool.queries.iloc[row]
    text = query["query"] if "query" in pool.queries.columns and pd.notna(query["query"]) else ""
    known = int((label[shown] >= 0).sum())
    return Beside(str(query["qid"]), str(text), (float(values[0]), float(values[1])), known, len(shown), places)


def texts_of(assessments: pd.DataFrame, texts: pd.DataFrame | None = None) -> dict[str, str]:
    """The texts of documents by docno, from those that a plan keeps for its judges and from further ones."""
    frames = [frame for frame in (assessments, texts) if frame is not None and "text" in frame.columns]
    both = [frame[["docno", "text"]].dropna() for frame in frames]
    return {str(d): str(t) for frame in both for d, t in zip(frame["docno"], frame["text"], strict=True)}
