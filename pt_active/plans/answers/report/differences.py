"""By how much is each ranker better than each other, and how many more labels would settle the rest?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.inference.replay import YARDSTICK
from pt_active.inference.ties import difference
from pt_active.plans.answers.forecast import Forecast, method_of
from pt_active.plans.answers.labelled import Labelled, Settings
from pt_active.plans.answers.outlook import BUDGET_SHARES, Outlook
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.ranking import Result
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.manifest import Manifest
from pt_active.showing.printed import listed


@dataclass(frozen=True)
class RelativeChange:
    """The difference of two rankers over the value ``base`` of the ranker ``of``."""

    of: str
    base: float
    change: float


@dataclass(frozen=True)
class Difference:
    """The difference of two rankers: in the order in which they were named, or of a ranking, the better one first.

    Attributes:
        confidence: Level of the interval; of all pairs of a report together, but for those that stand ``alone``.
        winner: The better ranker if that is sure at this level; None if it is not.
        relative: The difference as a share of the second's value; None if that may be 0.
        certain: Whether nothing was left to chance.
        alone: Whether only a later step of the test tells the pair apart. Its interval then has the level of that
            step, and holds for the pair alone.
    """

    first: str
    second: str
    value: float
    low: float
    high: float
    confidence: float
    winner: str | None
    relative: RelativeChange | None
    certain: bool = False
    alone: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """The two rankers."""
        return self.first, self.second

    @property
    def what(self) -> str:
        """The difference, with a minus between the two."""
        return f"{self.first} − {self.second}"

    @property
    def equal(self) -> bool:
        """Whether nothing was left to chance, and there is no difference."""
        return self.certain and self.value == 0

    @property
    def verdict(self) -> str:
        """Who is better, in a few words."""
        if self.equal:
            return "exactly equal"
        return f"{self.winner} is better" if self.winner else "not told apart"

    @property
    def has_interval(self) -> bool:
        """Whether the error of the difference is known."""
        return bool(np.isfinite([self.low, self.high]).all())


def differences(judged: Labelled, result: Result, status: Status | None, how: Settings) -> tuple[Difference, ...]:
    """The differences that a result holds, best pair first, with their shares; none of one ranker."""
    if isinstance(result, Estimate):
        return ()
    pairs = without_shares(result) if status is None else (_of_status(status),)
    bases = {name: _base(judged, name, how) for name in {pair.second for pair in pairs}}
    return tuple(replace(pair, relative=_relative(pair, bases[pair.second])) for pair in pairs)


def _relative(pair: Difference, base: Estimate) -> RelativeChange | None:
    """The difference as a share; None if the base or its interval reaches 0, or its scale goes below."""
    if "low=-" in base.basis.measure or not base.value > 0 or base.confidence_interval().low <= 0:
        return None
    return RelativeChange(base.name, base.value, pair.value / base.value) if np.isfinite(pair.value) else None


def without_shares(result: Result) -> tuple[Difference, ...]:
    """The differences that a result holds, best pair first; none of one ranker."""
    if isinstance(result, Estimate):
        return ()
    usual = result.confidence_level if isinstance(result, Comparison) else result.pair_confidence
    tests = [(result, result.winner, usual)] if isinstance(result, Comparison) else result.tests
    found = []
    for pair, winner, level in tests:
        low, high = pair.confidence_interval(level)
        alone = level != usual
        each = Difference(
            *(pair.first, pair.second, pair.difference, low, high),
            confidence=level if alone else pair.confidence_level,
            winner=pair.better if pair.certain and pair.difference else winner,
            relative=None,
            certain=pair.certain,
            alone=alone,
        )
        found.append(each)
    return tuple(found)


def how_sure(pairs: Sequence[Difference], confidence: float) -> str:
    """With what confidence the intervals of many pairs hold, in words."""
    said = f"The intervals are simultaneous: all hold at once with {100 * confidence:g}% confidence"
    alone = [pair.what for pair in pairs if pair.alone]
    if not alone:
        return f"{said}."
    return (
        f"{said}, except for {listed(alone)}. Only a later step of the test tells these apart; such an interval has "
        "the level of that step, and holds for its pair alone."
    )


def _of_status(status: Status) -> Difference:
    """The difference with the interval that is valid at all looks."""
    assert status.second is not None
    ends = status.first, status.second, status.value, status.low, status.high
    known = bool(difference(status.high, status.low) == 0)
    return Difference(*ends, status.confidence, status.winner, None, known)


def for_others(result: Result, status: Status | None) -> tuple[Difference, ...]:
    """The differences for the queries that were not asked for; none of one ranker, or if nothing is known of them."""
    if status is not None and status.beside is not None:
        return () if status.second is None else (_of_status(status.beside),)
    return () if result.beside is None else without_shares(result.beside)


def _base(judged: Labelled, name: str, how: Settings) -> Estimate:
    return judged.estimate(judged.names.index(name), replace(how, replays=False))


class Budgets(NamedTuple):
    """`Outlook.table` of plain random queries and of the plan's way of sampling, or why there is none."""

    table: pd.DataFrame = pd.DataFrame()
    note: str = ""


def budget_table(made: Manifest, forecast: Forecast | None, how: Settings, pilot: Pilot | None = None) -> Budgets:
    """The budget curve of a plan, or why there is none."""
    if made.later_rankers:
        return Budgets(note="rankers were added later, and the costs of their documents are not known")
    if forecast is None:
        return Budgets(note="everything was judged, so there is no sampling error that a budget could reduce")
    own = method_of(made.arguments, how.estimator)
    outlook = Outlook.looked(forecast, [YARDSTICK, own], pilot)
    if not np.isfinite(list(outlook.optimism.values())).all():
        return Budgets(note="the grade model expects no error at all, so the labels cannot correct its forecast")
    spent, whole = made.spent, next(iter(outlook.curves.values())).total
    grid = sorted({spent, *(share * whole for share in BUDGET_SHARES)})
    with warnings.catch_warnings():
        # The smallest shares of a small pool buy next to nothing, which nobody has asked for here.
        warnings.simplefilter("ignore", UserWarning)
        return Budgets(outlook.table(grid, confidence=how.confidence))
