"""What is estimated from the labels of a plan, whoever asks, and however far it is judged [theory 5, 9, 14]?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.plans.answers.cut import NothingJudged, cut_to_judged
from pt_active.plans.answers.judged import Contrast, How, Judged, inferred
from pt_active.plans.answers.judges_error import judged_with
from pt_active.plans.answers.labelled_plan import LabelledPlan, labelled_plan
from pt_active.plans.making.kept import PlanTables


class Point(NamedTuple):
    """A point estimate.

    Attributes:
        value: The estimate; NaN if nothing is judged without a gap.
        standard_error: Its standard error; NaN if the labels do not tell it.
    """

    value: float
    standard_error: float


@dataclass(frozen=True)
class SoFar:
    """The labels of a plan as far as it is judged without a gap, from which all of its point estimates come.

    Every question about one set of labels has one estimate: the regression on what is judged. What is partly judged
    does not enter it. The interval beside it depends on the question: of a fixed sample, or at any time.

    Attributes:
        labelled: The plan, cut to what is judged, with its labels.
        judged: The same for one measure.
        how: The measure and the estimator.
    """

    labelled: LabelledPlan[Any]
    judged: Judged
    how: How[irm.Measure]

    @classmethod
    def of(
        cls, tables: PlanTables, qrels: pd.DataFrame, how: How[irm.Measure], records: pd.DataFrame | None = None
    ) -> SoFar:
        """Cut a plan to what is judged and join its labels.

        Args:
            tables: The plan's content.
            qrels: The labels so far.
            how: The measure, the estimator and the interval.
            records: As `records.checked_records` returns them, for the error of the judges; None if it is not asked
                for.

        Raises:
            NothingJudged: If the first unit lacks a label.
            ValueError: If the labels do not fit the plan, or the plan cannot be cut.
        """
        labelled = labelled_plan(cut_to_judged(tables, qrels), qrels)
        return cls(labelled, judged_with(labelled, records, how), how)

    def point(self, contrast: Contrast) -> Point:
        """The estimate of a contrast, the one of `Plan.compare` and `Plan.estimate`."""
        measured = self.judged.measured(contrast, self.how)
        error = self.judged.with_judges(contrast, inferred(measured, replace(self.how, reference="effective")))["standard_error"]
        told = np.isfinite(error) and (measured.certain or not measured.still)
        return Point(measured.value, float(error) if told else np.nan)


def points_so_far(
    tables: PlanTables,
    qrels: pd.DataFrame,
    measure: irm.Measure,
    contrasts: list[Contrast],
    records: pd.DataFrame | None = None,
) -> list[Point]:
    """The estimates of contrasts, quietly; the state of the judging says what is lacking.

    Args:
        tables: The plan's content.
        qrels: As `qrels.checked_qrels` returns them; may be empty.
        measure: What is measured.
        contrasts: Rankers, or differences of two.
        records: As `records.checked_records` returns them; None if it is not known who judged.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            so_far = SoFar.of(tables, qrels, How(measure), records) if len(qrels) else None
        except NothingJudged:
            so_far = None
        return [Point(np.nan, np.nan) if so_far is None else so_far.point(each) for each in contrasts]
