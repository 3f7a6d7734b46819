"""Which interval would other budgets bring?"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pt_active.inference.replay import YARDSTICK
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.outlook import BUDGET_SHARES, Outlook, method_of
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import Manifest


class Budgets(NamedTuple):
    """`Outlook.table` of plain random queries and of the plan's way to sample, and that way's curve, or why none."""

    table: pd.DataFrame = pd.DataFrame()
    note: str = ""
    curve: ErrorCurve | None = None


def foreseen(tables: PlanTables) -> Forecast | None:
    """The pool and costs for the budget curve and the model check; None if errors cannot or need not be foreseen."""
    return None if tables.manifest.later_rankers or tables.manifest.census else Forecast.of(tables)


def budget_table(made: Manifest, forecast: Forecast | None, how: How[Any], pilot: Pilot | None = None) -> Budgets:
    """The budget curve of a plan, or why there is none."""
    if made.later_rankers:
        return Budgets(note="rankers were added later, and the costs of their documents are not known")
    if forecast is None:
        said = "everything was judged, so there is no sampling error that a budget could reduce"
        return Budgets(note=said)
    own = method_of(made.arguments, how.estimator)
    outlook = Outlook.looked(forecast, [YARDSTICK, own], pilot)
    if not np.isfinite(list(outlook.optimism.values())).all():
        said = "the model expects no error at all, so the labels cannot correct its opinion of itself"
        return Budgets(note=said)
    spent, whole = made.spent, next(iter(outlook.curves.values())).total
    grid = sorted(
        {spent, *(share * whole for share in BUDGET_SHARES), *(spent * f for f in (0.5, 2.0) if spent * f < whole)}
    )
    with warnings.catch_warnings():
        # The smallest shares of a small pool buy next to nothing, which nobody has asked for here.
        warnings.simplefilter("ignore", UserWarning)
        return Budgets(outlook.table(grid, confidence=how.confidence), "", outlook.curves[own])
