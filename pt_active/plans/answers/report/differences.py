"""By how much is each ranker better than each other, and how many more labels would settle the rest?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.inference.replay import YARDSTICK
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import Seen, cost_of_one_look
from pt_active.inference.ties import difference
from pt_active.plans.answers.forecast import Forecast, method_of
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.outlook import BUDGET_SHARES, Outlook
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.ranking import Result
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import Manifest
from pt_active.showing.rounding import roughly

_MOST = 0.5  # If more than this share of all that can be judged is needed, the advice is to decide on other grounds
_MAX_NAMED = 3  # With more pairs whose intervals hold by themselves, they are counted and not named


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
        floor: The part of the standard error that no label lowers.
        alone: Whether only a later step of Holm's test tells the pair apart. Its interval then has the level of that
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
    standard_error: float
    certain: bool = False
    alone: bool = False
    floor: float = 0.0

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


def differences(judged: Judged, result: Result, status: Status | None, how: How) -> tuple[Difference, ...]:
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
            standard_error=pair.standard_error,
            certain=pair.certain,
            alone=alone,
            floor=pair.floor if pair.holds_for_new else 0.0,
        )
        found.append(each)
    return tuple(found)


def how_sure(pairs: Sequence[Difference], confidence: float) -> str:
    """With what confidence the intervals of many pairs hold, in words."""
    said = f"The intervals are simultaneous: all hold at once with {100 * confidence:g}% confidence"
    alone = [pair.what for pair in pairs if pair.alone]
    if not alone:
        return f"{said}."
    named = ", ".join(alone) if len(alone) <= _MAX_NAMED else how_many("pair", len(alone))
    return (
        f"{said}, except for {named}. Only a later step of Holm's test tells these apart; such an interval has the "
        "level of that step, and holds for its pair alone."
    )


def _of_status(status: Status) -> Difference:
    """The difference with the interval that is valid at all looks."""
    assert status.second is not None
    ends = status.first, status.second, status.value, status.low, status.high
    known = bool(difference(status.high, status.low) == 0)
    return Difference(*ends, status.confidence, status.winner, None, status.standard_error, known)


def for_others(result: Result, status: Status | None) -> tuple[Difference, ...]:
    """The differences for the queries that were not asked for; none of one ranker, or if nothing is known of them."""
    if status is not None and status.beside is not None:
        return () if status.second is None else (_of_status(status.beside),)
    return () if result.beside is None else without_shares(result.beside)


def _base(judged: Judged, name: str, how: How) -> Estimate:
    return judged.estimate(judged.names.index(name), replace(how, replays=False))


@dataclass(frozen=True)
class Further:
    """What to judge next, if one look follows: further ``labels`` of ``all`` that are left.

    They settle who of two is better, or halve the interval of the only ranker. NaN says that no number of labels does.
    """

    labels: float
    all: float
    better: str | None = None
    other: str | None = None

    @property
    def within_reach(self) -> bool:
        """Whether judging more is sensible, as opposed to judging nearly everything."""
        return bool(self.labels < _MOST * self.all)

    @property
    def advice(self) -> str:
        """What to do, in a sentence or two."""
        if self.better is None:
            if np.isnan(self.labels):
                return "Add queries: no number of labels on these halves the interval for new ones."
            return f"About {roughly(self.labels)} more labels would halve the interval." if self.within_reach else ""
        if np.isnan(self.labels):
            return (
                f"Add queries. If the true difference of {self.better} and {self.other} is the one estimated now, no "
                "number of labels on these settles it for new ones."
            )
        if not self.within_reach:
            return (
                f"If {self.better} and {self.other} differ as little as estimated now, only judging most of the pool "
                "would show it: decide on other grounds, such as cost."
            )
        return (
            f"Judge about {roughly(self.labels)} more documents, and look once. If the true difference of "
            f"{self.better} and {self.other} is the one estimated now, that settles it four times out of five."
        )


def further(
    curve: ErrorCurve | None, spent: float, pairs: Sequence[Difference], half_width: float, floor: float = 0.0
) -> Further | None:
    """The labels that are still needed before one look; None if nothing is, or nobody can say.

    The ``floor`` is the share of a single ranker's error that does not fall for new queries [theory 16].
    """
    if curve is None or not 0 < spent < curve.total:
        return None
    if not pairs:
        if not (np.isfinite(half_width) and half_width > 0):
            return None
        return _labels_to(curve, spent, curve.budget_falling_to(0.5, spent, floor))
    open_pairs = [pair for pair in pairs if pair.winner is None and pair.has_interval and pair.standard_error > 0]
    if not open_pairs:
        return None
    pair = open_pairs[0]
    seen = Seen(pair.value, pair.standard_error, (pair.high - pair.low) / 2, pair.floor)
    first, second = pair.names if pair.value >= 0 else pair.names[::-1]
    return _labels_to(curve, spent, cost_of_one_look(curve, spent, seen, 0.0, True), first, second)


def _labels_to(curve: ErrorCurve, spent: float, budget: float, *names: str) -> Further:
    """The labels from what is spent to a budget; NaN if there is none."""
    now, then, whole = (np.nan if np.isnan(each) else curve.counts(each)[0] for each in (spent, budget, curve.total))
    labels = np.nan if np.isnan(then) else max(float(then - now), 1.0)
    return Further(labels, float(whole - now), *names)


class Budgets(NamedTuple):
    """`Outlook.table` of plain random queries and of the plan's way of sampling, and that way's curve, or why none."""

    table: pd.DataFrame = pd.DataFrame()
    note: str = ""
    curve: ErrorCurve | None = None


def foreseen(tables: PlanTables) -> Forecast | None:
    """The pool and costs for the budget curve and the model check; None if errors cannot or need not be foreseen."""
    return None if tables.manifest.later_rankers or tables.manifest.census else Forecast.of(tables)


def budget_table(made: Manifest, forecast: Forecast | None, how: How, pilot: Pilot | None = None) -> Budgets:
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
    near = [spent * factor for factor in (0.5, 2.0) if spent * factor < whole]
    grid = sorted({spent, *(share * whole for share in BUDGET_SHARES), *near})
    with warnings.catch_warnings():
        # The smallest shares of a small pool buy next to nothing, which nobody has asked for here.
        warnings.simplefilter("ignore", UserWarning)
        return Budgets(outlook.table(grid, confidence=how.confidence), "", outlook.curves[own])
