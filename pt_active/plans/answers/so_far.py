"""What is estimated from the labels of a plan, whoever asks, and however far it is judged [theory 5, 9, 14]?

One set of labels has one estimate of each ranker and of each difference: the regression on what is judged without a
gap. What is judged in part does not enter it. The interval beside it is that of the question, and its name says which:
of a fixed sample, or at any time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.plans.answers.cut import NothingJudged
from pt_active.plans.answers.judged import Contrast, How, Judged, inferred
from pt_active.plans.answers.judges_error import judged_with
from pt_active.plans.answers.labelled_plan import plan_so_far
from pt_active.plans.answers.results import ConfidenceInterval
from pt_active.plans.making.kept import PlanTables


class Point(NamedTuple):
    """A point estimate.

    Attributes:
        value: The estimate; NaN if nothing is judged without a gap.
        standard_error: Its standard error; NaN if the labels do not tell it.
    """

    value: float
    standard_error: float


def points_so_far(
    tables: PlanTables,
    label: np.ndarray,
    measure: irm.Measure,
    contrasts: Sequence[Contrast],
    records: pd.DataFrame | None = None,
) -> list[Point]:
    """The estimates of contrasts, those of `Plan.compare` and `Plan.estimate` for `Plan.so_far`.

    They come without warnings: the state of the judging says what is lacking.

    Shapes: label int64[N].
    """
    how = How(measure, reference="effective")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            labelled = plan_so_far(tables, label)
        except NothingJudged:
            return [Point(np.nan, np.nan) for _ in contrasts]
        judged, cut = judged_with(labelled, records, how), labelled.tables.manifest.cut
        # What a plan keeps of documents beyond it is the error that the model expects of all of its sample.
        partial = tables.manifest.rest is not None and bool(tables.rounds) and cut is not None
        return [_point(judged, each, how, partial) for each in contrasts]


def interval_at_the_end(
    tables: PlanTables,
    label: np.ndarray,
    contrast: Contrast,
    how: How[irm.Measure],
    records: pd.DataFrame | None = None,
) -> ConfidenceInterval:
    """The interval of a fixed sample, that of `Plan.compare` and `Plan.estimate`, once all of it is judged.

    Shapes: label int64[N].
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return judged_with(plan_so_far(tables, label), records, how).result(contrast, how).confidence_interval()


def _point(judged: Judged, contrast: Contrast, how: How[irm.Measure], partial: bool) -> Point:
    """The estimate of one contrast; ``partial`` says that what the model expects of the error is not known."""
    measured = judged.measured(contrast, how)
    error = float(judged.with_judges(contrast, inferred(measured, how))["standard_error"])
    told = np.isfinite(error) and (measured.certain or error > 0) and not (partial and measured.basis.error_of_model)
    return Point(measured.value, error if told else np.nan)
