"""By how much is each ranker better than each other, with intervals that agree with the test?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pt_active.frames.checks import how_many
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.relative import RelativeChange, near_zero, relative_change
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status

MAX_PAIRS = 45
"""With more pairs, only those with the best ranker have a change in percent."""

_MAX_NAMED = 3
"""With more pairs whose intervals hold by themselves, they are counted and not named."""


@dataclass(frozen=True)
class Difference:
    """The difference of two rankers: in the order in which they were named, or of a ranking, the better one first.

    Attributes:
        confidence: Level of the interval; of all pairs of a report together, but for those that stand ``alone``.
        winner: The better ranker if that is sure at this level; None if it is not.
        relative: The difference as a share of the second's value; None if it was not computed.
        certain: Whether nothing was left to chance.
        floor: The part of the standard error that no label lowers.
        alone: Whether only a later step of Holm's test tells the pair apart. Its interval then has the level of that
            step, and holds by itself.
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


def differences(
    judged: Judged, result: Estimate | Comparison | Ranking, status: Status | None, how: How[Any]
) -> tuple[Difference, ...]:
    """The differences that a result holds, best pair first, with their shares; none of one ranker."""
    if status is not None and isinstance(result, Comparison):
        assert status.second is not None
        base = _base(judged, status.second, how)
        share = None if near_zero(base) else RelativeChange(base.name, base.value, status.value / base.value)
        return (replace(_of_status(status), relative=share),)
    found = without_shares(result)
    if isinstance(result, Comparison):
        return (replace(found[0], relative=_relative(judged, result, how)),)
    if not isinstance(result, Ranking):
        return ()
    best, few, pairs = result.names[0], len(result.comparisons) <= MAX_PAIRS, []
    for pair, each, level in zip(result.comparisons, found, result.pair_confidences, strict=True):
        shared = few or best in each.names
        share = _relative(judged, pair, replace(how, confidence=level)) if shared else None
        pairs.append(replace(each, relative=share))
    return tuple(pairs)


def without_shares(result: Estimate | Comparison | Ranking) -> tuple[Difference, ...]:
    """The differences that a result holds, best pair first; none of one ranker."""
    if isinstance(result, Comparison):
        return (_difference(result, result.winner, result.confidence_level),)
    if not isinstance(result, Ranking):
        return ()
    pairs = []
    for pair, winner, level in zip(result.comparisons, result.winners, result.pair_confidences, strict=True):
        alone = level != result.pair_confidence
        confidence = level if alone else pair.confidence_level
        pairs.append(replace(_difference(pair, winner, level), confidence=confidence, alone=alone))
    return tuple(pairs)


def how_sure(pairs: Sequence[Difference], confidence: float) -> str:
    """With what confidence the intervals of many pairs hold, in words."""
    said = f"The intervals are simultaneous: all hold at once with {100 * confidence:g} % confidence"
    alone = [pair.what for pair in pairs if pair.alone]
    if not alone:
        return f"{said}."
    named = ", ".join(alone) if len(alone) <= _MAX_NAMED else how_many("pair", len(alone))
    return (
        f"{said}, except for {named}. Only a later step of Holm's test tells them apart, and the interval, at the "
        "level of that step, holds for the pair by itself."
    )


def _difference(pair: Comparison, winner: str | None, confidence: float) -> Difference:
    low, high = pair.confidence_interval(confidence)
    best = pair.better if pair.certain and pair.difference else winner
    ends = pair.first, pair.second, pair.difference, low, high
    floor = pair.floor if pair.holds_for_new else 0.0
    return Difference(*ends, confidence, best, None, pair.standard_error, pair.certain, floor=floor)


def _relative(judged: Judged, pair: Comparison, how: How[Any]) -> RelativeChange | None:
    return relative_change(judged, pair, _base(judged, pair.second, how), how)


def _of_status(status: Status) -> Difference:
    """The difference with the interval that is valid at all looks; its share has none, since the base has none."""
    assert status.second is not None
    ends = status.first, status.second, status.value, status.low, status.high
    return Difference(*ends, status.confidence, status.winner, None, status.standard_error)


def for_others(result: Estimate | Comparison | Ranking, status: Status | None) -> tuple[Difference, ...]:
    """The differences for the queries that were not asked for; none of one ranker, or if nothing is known of them."""
    if status is not None and status.beside is not None:
        return () if status.second is None else (_of_status(status.beside),)
    return () if result.beside is None else without_shares(result.beside)


def _base(judged: Judged, name: str, how: How[Any]) -> Estimate:
    return judged.estimate(judged.names.index(name), replace(how, reference="effective"))
