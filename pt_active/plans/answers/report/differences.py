"""By how much is each ranker better than each other, and how many more labels would settle the rest?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.inference.replay import YARDSTICK
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import POWER
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


def differences(judged: Judged, result: Result, status: Status | None, how: How[Any]) -> tuple[Difference, ...]:
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
    return Difference(*ends, status.confidence, status.winner, None, status.standard_error)


def for_others(result: Result, status: Status | None) -> tuple[Difference, ...]:
    """The differences for the queries that were not asked for; none of one ranker, or if nothing is known of them."""
    if status is not None and status.beside is not None:
        return () if status.second is None else (_of_status(status.beside),)
    return () if result.beside is None else without_shares(result.beside)


def _base(judged: Judged, name: str, how: How[Any]) -> Estimate:
    return judged.estimate(judged.names.index(name), replace(how, reference="effective"))


@dataclass(frozen=True)
class Further:
    """What to judge next: further ``labels`` of ``all`` that are left, to settle who of two is better.

    ``doubled`` is half the width of their interval if as much again is spent; NaN stands for what is not known.
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
                return "Add queries: no number of labels on these halves the interval for new ones."
            return (
                f"Add queries. If the true difference of {self.better} and {self.other} is the one estimated now, no "
                "number of labels on these settles it for new ones."
            )
        if self.better is None:
            return f"About {roughly(self.labels)} more labels would halve the interval." if self.within_reach else ""
        if not self.within_reach:
            narrowed = f" Twice as many labels would narrow the interval to about {self.narrowed}."
            said = (
                f"If {self.better} and {self.other} differ as little as estimated now, only judging most of the pool "
                "would show it: decide on other grounds, such as cost."
            )
            return said + narrowed if np.isfinite(self.doubled) else said
        return (
            f"Judge about {roughly(self.labels)} more {self.what}, and look once. If the true difference of "
            f"{self.better} and {self.other} is the one estimated now, that settles it four times out of five."
        )


def further(
    curve: ErrorCurve | None, spent: float, pairs: Sequence[Difference], half_width: float, floor: float = 0.0
) -> Further | None:
    """The labels that are still needed; None if nothing is, or nobody can say.

    The error falls with the budget as the curve of the plan's own way of sampling does, from where it stands now. For
    new queries a share of it, the ``floor`` of a single ranker, does not fall [theory 16].
    """
    from scipy import special

    if curve is None or not 0 < spent < curve.total:
        return None
    if not pairs:
        return _reaching(curve, spent, 0.5, None, floor) if np.isfinite(half_width) and half_width > 0 else None
    open_pairs = [pair for pair in pairs if pair.winner is None and pair.has_interval and pair.standard_error > 0]
    if not open_pairs:
        return None
    pair = open_pairs[0]
    quantile = (pair.high - pair.low) / 2 / pair.standard_error
    wanted = abs(pair.value) / (quantile + special.ndtri(POWER))
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
    """`Outlook.table` of plain random queries and of the plan's way of sampling, and that way's curve, or why none."""

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
