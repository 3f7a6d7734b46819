"""How many more labels would settle a question, and which interval would other budgets bring?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from pt_active.inference.replay import YARDSTICK
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.outlook import BUDGET_SHARES, Outlook, method_of
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.report.differences import Difference
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import Manifest
from pt_active.showing.rounding import roughly

POWER = 0.8
"""The probability with which the labels that are asked for settle the question."""

_MOST = 0.5
"""If more than this share of all that can be judged is needed, the advice is to decide on other grounds."""


@dataclass(frozen=True)
class Further:
    """What to judge next: further ``labels`` of ``all`` that are left, to settle who of two is better.

    ``doubled`` is half the width of their interval if as much again is spent; NaN stands for what cannot be said.
    ``bound`` says that no number of labels settles it, since there are too few queries.
    """

    labels: float
    all: float
    better: str | None = None
    other: str | None = None
    doubled: float = np.nan
    what: str = "documents"
    bound: bool = False

    @property
    def within_reach(self) -> bool:
        """Whether judging more is sensible, as opposed to judging nearly everything."""
        return bool(self.labels < _MOST * self.all)

    @property
    def narrowed(self) -> str:
        """Half the width of the interval after as many labels again."""
        return f"±{self.doubled:.2g}"

    @property
    def advice(self) -> str:
        """What to do, in a sentence or two."""
        if self.bound:
            if self.better is None:
                return "Add queries: no number of labels on these halves the interval for others like them."
            return (
                f"Add queries. If the true difference of {self.better} and {self.other} is what it looks like now, no "
                "number of labels on these settles it for others like them."
            )
        if self.better is None:
            return f"About {roughly(self.labels)} more labels would halve the interval." if self.within_reach else ""
        if not self.within_reach:
            narrowed = f" As many labels again would narrow their interval to about {self.narrowed}."
            said = (
                f"If {self.better} and {self.other} differ as little as it looks now, most of the pool would have to "
                "be judged to see it: decide on other grounds, such as cost."
            )
            return said + narrowed if np.isfinite(self.doubled) else said
        return (
            f"Judge about {roughly(self.labels)} more {self.what}. If the true difference of {self.better} and "
            f"{self.other} is what it looks like now, that settles it four times out of five."
        )


def further(
    curve: ErrorCurve | None, spent: float, pairs: Sequence[Difference], half_width: float, floor: float = 0.0
) -> Further | None:
    """The labels that are still needed; None if nothing is, or nobody can say.

    The error falls over the budget as the curve of the plan's own way to sample does, from where it stands now. For new
    queries a share of it, the ``floor`` of a single ranker, does not fall [theory 16].
    """
    if curve is None or not 0 < spent < curve.total:
        return None
    if not pairs:
        return _reaching(curve, spent, 0.5, None, floor) if np.isfinite(half_width) and half_width > 0 else None
    open_pairs = [pair for pair in pairs if pair.winner is None and pair.has_interval and pair.standard_error > 0]
    if not open_pairs:
        return None
    pair = open_pairs[0]
    quantile = (pair.high - pair.low) / 2 / pair.standard_error
    wanted = abs(pair.value) / (quantile + stats.norm.ppf(POWER))
    return _reaching(curve, spent, wanted / pair.standard_error, pair, pair.floor / pair.standard_error)


def _reaching(curve: ErrorCurve, spent: float, ratio: float, pair: Difference | None, floor: float) -> Further:
    """The labels at which the error is a given share of that of today, of which a share does not fall."""
    if ratio <= floor:
        first, second = (None, None) if pair is None else _better_first(pair)
        return Further(np.inf, np.inf, first, second, bound=True)
    wanted = np.sqrt((min(ratio, 1.0) ** 2 - floor**2) / (1 - floor**2)) * curve.standard_error(spent)
    budget = curve.budget_for(lambda each: curve.standard_error(each) <= wanted)
    now, then, whole = (curve.counts(each)[0] for each in (spent, max(budget, spent), curve.total))
    if pair is None:
        return Further(max(float(then - now), 1.0), float(whole - now))
    half = (pair.high - pair.low) / 2
    fallen = curve.standard_error(2 * spent) / curve.standard_error(spent) if 2 * spent < curve.total else np.nan
    again = half * np.sqrt(floor**2 + (1 - floor**2) * fallen**2)
    return Further(max(float(then - now), 1.0), float(whole - now), *_better_first(pair), float(again))


def _better_first(pair: Difference) -> tuple[str, str]:
    first, second = pair.names
    return (first, second) if pair.value >= 0 else (second, first)


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
