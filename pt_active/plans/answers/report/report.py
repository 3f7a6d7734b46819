"""What do a plan and its labels say altogether, as one HTML file or as plain data?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import THESE
from pt_active.plans.answers.agreement import agreement_of
from pt_active.plans.answers.contributions import Contributions, slices_of
from pt_active.plans.answers.forecast import foreseen
from pt_active.plans.answers.labelled import Contrast, Labelled, LabelledPlan, Settings
from pt_active.plans.answers.labelled_plan import labelled_plan, read_qrels, with_worst_case
from pt_active.plans.answers.looks import USUAL, Question, looks_asked
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.ranking import Ranking, Result, rank_judged
from pt_active.plans.answers.report.differences import Difference, budget_table, differences
from pt_active.plans.answers.report.findings import Findings, compared
from pt_active.plans.answers.report.headline import campaign_of
from pt_active.plans.answers.report.sections import page_of, verdict_of
from pt_active.plans.answers.results import Comparison
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import states
from pt_active.plans.making.judgments import records_of_plan
from pt_active.plans.making.kept import Kept, PlanTables
from pt_active.plans.making.rankers import named_pair
from pt_active.plans.making.sampled import cut_to_judged
from pt_active.showing.charts import framed
from pt_active.showing.page import Page

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
        plan: Kept[PlanTables],
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
            qrels: Its labels, with those from before extensions.
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
        tables = plan.tables if status is None else cut_to_judged(plan.tables, qrels)
        settings = Settings(estimator, confidence, queries=queries, clusters=clusters)
        labels = read_qrels(tables, qrels)
        labelled = labelled_plan(tables, labels, measure, missing, records)
        result = _result(labelled, settings, first, second)
        named, place = compared(result), labelled.names.index
        pair = None if named is None else (place(named[0]), place(named[1]))
        contrast = Contrast(*(pair or (0,)))
        if not isinstance(result, Ranking):
            result = with_worst_case(result, labelled, contrast, settings)
        if status is not None:
            _check_status(status, result)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            own = labelled if labelled.measure == tables.measure else labelled_plan(tables, labels, missing=missing)
            pilot, forecast = Pilot.of_labelled(own), foreseen(tables)
            budget, budget_note = budget_table(tables.manifest, forecast, settings, pilot)
            pairs = differences(labelled, result, status, settings)
            sliced = pair if isinstance(result, Comparison) else None
            groups = [each for column in slices for each in slices_of(labelled, column, sliced, settings)]
            agreement = None if records is None else agreement_of(records, tables.pool.max_grade)
            return cls(
                result=result,
                budget=budget,
                budget_note=budget_note,
                contributions=Contributions.of_labelled(labelled, contrast, estimator),
                check=ModelCheck.of_pilot(pilot, forecast),
                slices=pd.DataFrame([row for each in groups for row in each.rows()], columns=_SLICE_COLUMNS),
                made=tables.manifest,
                status=status,
                campaign=campaign_of(result.basis, tables, records),
                agreement=agreement if agreement is not None and len(agreement.judges) > 1 else None,
                differences=pairs,
                ahead=_ahead(labelled, pairs, settings) if status is None else None,
                texts=texts_of(tables.assessments, texts),
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


def _ahead(labelled: LabelledPlan, pairs: Sequence[Difference], settings: Settings) -> Status | None:
    """The state of the first pair that is open, by the looks that its plan is made for; None if there is none such."""
    tables = labelled.tables
    names = next((each.names for each in pairs if each.winner is None and not each.certain), None)
    if names is None or settings.estimator != ESTIMATOR:
        return None
    pair = Contrast(*map(tables.pool.names.index, names))
    try:
        looks = looks_asked(tables, USUAL)
        about = {"queries": settings.queries, "clusters": settings.clusters}
        question = Question(pair, labelled.measure, looks, None, settings.confidence, **about)  # type: ignore[arg-type]
        return states(tables, labelled.label, [question], labelled.records)[0]
    except ValueError:  # The sample is looked at as a whole alone, or says nothing at these looks.
        return None


def _check_status(status: Status, result: Result) -> None:
    """Raise if the status is of another measure, of other rankers or of other labels than the result."""
    if isinstance(result, Ranking):
        raise ValueError("a status is of two rankers: name them as first= and second=")
    basis, population = result.basis, result.population
    assert population is not None
    has = status.what, status.measure, status.estimator, status.population.label
    for said, wanted in zip(has, (result.what, basis.measure, basis.estimator, population.label), strict=True):
        if said != wanted:
            raise ValueError(f"the status is of {said}, the report of {wanted}")
    if not np.isclose(status.value, result.point, rtol=1e-9, atol=1e-12):
        said = f"the status estimates {status.point}, and these labels say {result.point:+.4f}"
        raise ValueError(f"{said}: it comes from other labels; ask for a new one")


def _result(judged: Labelled, how: Settings, first: str | None, second: str | None) -> Result:
    if first is None and second is None and len(judged.names) != 2:
        return judged.estimate(0, how) if len(judged.names) == 1 else rank_judged(judged, how)
    one, other = named_pair(judged.names, first, second)
    return judged.compare(one, other, how)


def texts_of(assessments: pd.DataFrame, texts: pd.DataFrame | None = None) -> dict[str, str]:
    """The texts of documents by docno, from those that a plan keeps for its judges and from further ones."""
    frames = [frame for frame in (assessments, texts) if frame is not None and "text" in frame.columns]
    both = pd.concat([frame[["docno", "text"]].dropna() for frame in frames]) if frames else pd.DataFrame()
    return {str(row.docno): str(row.text) for row in both.itertuples()}
