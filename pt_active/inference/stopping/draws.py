"""What draws in successive order show of a total [theory 14].

The next unit is x with probability ``q(x)/Q``, Q being the sum of q over those that are left. What is known, what the
model expects of the rest, and the error of the model in the unit drawn make the Z of `bets`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.inference.ties import ROUNDING


@dataclass(frozen=True)
class Unjudged:
    """How far the labels that are not there could move each draw at the worst, float64[n]; else as is expected."""

    below: np.ndarray  # How far each Z could lie below its value
    above: np.ndarray  # How far it could lie above
    base_below: np.ndarray  # How far the estimate before each draw could lie below its value
    base_above: np.ndarray  # How far it could lie above
    later: np.ndarray  # The variance that the model expects of all later Z because of what the draw makes known

    @classmethod
    def none(cls, draws: int) -> Unjudged:
        """Nothing is lacking."""
        return cls(*np.zeros((5, draws)))

    def first(self, n: int) -> Unjudged:
        """What could move the first n draws."""
        return Unjudged(*(column[:n] for column in vars(self).values()))

    @property
    def mirrored(self) -> Unjudged:
        """What could move the draws of −R."""
        return Unjudged(self.above, self.below, self.base_above, self.base_below, self.later)

    @property
    def judged(self) -> np.ndarray:
        """bool[n], the draws whose unit is judged."""
        return (self.below == self.base_below) & (self.above == self.base_above)

    def squares(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest square that the error of each draw could have, float64[n] each."""
        low, high = error - (self.below - self.base_below), error + (self.above - self.base_above)
        ends = low**2, high**2
        return np.where((low < 0) & (high > 0), 0.0, np.minimum(*ends)), np.maximum(*ends)

    def variance(self, weight: np.ndarray) -> float:
        """The variance that the model expects of ``Σ weight · Z`` because of these labels."""
        return float((np.cumsum(weight[::-1])[::-1] ** 2 * self.later).sum())


_BELIEVED = 20.0  # Number of draws that the model's expectation of the variance counts for

_NO_VARIANCE = 1e-15
"""A variance below this share of that of the first draw counts as this share, since it is what rounding left of 0."""

_SMALLEST = 1e-100  # The smallest size of a difference, where all bounds are 0


@dataclass(frozen=True)
class Units:
    """A population in the order in which its units come, each made known by one draw; arrays are float64[N]."""

    rate: np.ndarray  # q, positive, in any unit: the next unit is x with probability ``q(x)/Σ_rest q``
    mean: np.ndarray  # m, what the model expects of each contribution
    variance: np.ndarray  # What the model expects of ``(c − m)²``
    low: np.ndarray  # The smallest contribution that a unit can make, which is known before its labels
    high: np.ndarray  # The largest

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            numbers = self.rate, self.mean, self.variance, self.low, self.high, self.rate.sum() / self.rate
        if not ((self.rate > 0).all() and all(np.isfinite(each).all() for each in numbers)):
            raise ValueError("rates must be positive, and all numbers of the units finite")
        if not ((self.low <= self.high).all() and (self.variance >= 0).all()):
            raise ValueError("the bounds of a unit are in the wrong order, or a variance is negative")

    @cached_property
    def left(self) -> np.ndarray:
        """Q before each draw: the sum of q over the units that are not known."""
        return _rest(self.rate)

    @cached_property
    def worst(self) -> np.ndarray:
        """The smallest error ``(c − m) Q/q`` that each draw can show, given what is known before it."""
        return -self._extreme(self.mean - self.low)

    @cached_property
    def best(self) -> np.ndarray:
        """The largest error ``(c − m) Q/q`` that each draw can show, given what is known before it."""
        return self._extreme(self.high - self.mean)

    def _extreme(self, error: np.ndarray) -> np.ndarray:
        most = np.maximum(error / self.rate, 0.0)
        return np.asarray(np.maximum.accumulate(most[::-1])[::-1] * self.left)

    def _shown(self, values: np.ndarray, draws: int) -> np.ndarray:
        """float64[n], ``x Q/q`` of the unit that each of the first draws makes known."""
        return np.asarray((values / self.rate)[:draws] * self.left[:draws])

    @cached_property
    def expected(self) -> np.ndarray:
        """The model's mean square of the error that each draw shows: ``Q Σ_rest v/q``, but above 0."""
        expected = _rest(self.variance / self.rate) * self.left
        least = max(ROUNDING * float((self.high - self.low).sum()), _SMALLEST) ** 2
        return np.asarray(np.maximum(expected, _NO_VARIANCE * expected.max(initial=0.0) + least))

    def judged(
        self,
        contribution: np.ndarray,
        draws: int,
        least: np.ndarray | None = None,
        most: np.ndarray | None = None,
    ) -> Draws:
        """What the first draws say.

        Args:
            contribution: float64[N], c; read only for units that the first draws make known. For a unit that is not
                fully judged, what is expected of it.
            draws: n, the number of draws whose labels are there, or assumed as the worst case.
            least: float64[N], the smallest contribution that the labels so far allow; c if left out.
            most: float64[N], the largest.

        Raises:
            ValueError: If a contribution lies outside the bounds of its unit, since nothing could be proved then.
        """
        known = np.arange(len(self.rate)) < draws
        least, most = (contribution if end is None else end for end in (least, most))
        slack = 1e-9 * (self.high - self.low).max(initial=0.0)
        inside = (least >= self.low - slack) & (most <= self.high + slack)
        if not inside[known].all():
            raise ValueError("a contribution lies outside the bounds of its unit")
        least, most = (np.clip(end, self.low, self.high) for end in (least, most))
        contribution = np.clip(contribution, least, most)
        error = np.where(known, contribution - self.mean, 0.0)
        expected, lowest, highest = (float(part.sum()) for part in (self.mean, self.low, self.high))
        base = expected + _so_far(error, draws)
        worst, best = base[:-1] + self.worst[:draws], base[:-1] + self.best[:draws]
        below, above = np.where(known, contribution - least, 0.0), np.where(known, most - contribution, 0.0)
        # Rounding must not take a value past its bounds, since a bet may stake nearly all on them.
        value = np.clip(base[:-1] + self._shown(error, draws), worst, best)
        return Draws(
            value=value,
            worst=worst,
            best=best,
            expected=self.expected[:draws],
            least=lowest + _so_far(np.where(known, least - self.low, 0.0), draws),
            most=highest + _so_far(np.where(known, most - self.high, 0.0), draws),
            base=base,
            unjudged=self._unjudged(below, above, (value - worst, best - value)),
        )

    def _unjudged(self, below: np.ndarray, above: np.ndarray, room: tuple[np.ndarray, np.ndarray]) -> Unjudged:
        """What draws could have shown of units that could contribute so much less or more, float64[N] each.

        None could have shown more than is possible, float64[n] below and above its value.
        """
        draws = len(room[0])
        if not (below.any() or above.any()):
            return Unjudged.none(draws)
        base_below, base_above = (_so_far(part, draws)[:-1] for part in (below, above))
        # No variable has a larger variance than one at the two ends of its range.
        variance = np.minimum(self.variance, (below + above) ** 2 / 4)
        return Unjudged(
            below=base_below + np.minimum(self._shown(below, draws), room[0]),
            above=base_above + np.minimum(self._shown(above, draws), room[1]),
            base_below=base_below,
            base_above=base_above,
            later=np.diff(_so_far(variance, draws)),
        )


def _rest(values: np.ndarray) -> np.ndarray:
    """float64[N], the sum over each unit and all later ones."""
    return np.asarray(np.cumsum(values[::-1])[::-1])


def _so_far(values: np.ndarray, draws: int) -> np.ndarray:
    """float64[n+1], the sum over the units that are known before the first and after each draw."""
    return np.r_[0.0, np.cumsum(values[:draws])]


@dataclass(frozen=True)
class Draws:
    """What n draws say about the truth R."""

    value: np.ndarray  # float64[n], Z; the mean of each, given those before it, is R
    worst: np.ndarray  # float64[n], the smallest value that each could have had, given those before it
    best: np.ndarray  # float64[n], the largest
    expected: np.ndarray  # float64[n], the variance that the model expects of each, given those before it; positive
    least: np.ndarray  # float64[n+1], the smallest R that is possible before the first and after each draw
    most: np.ndarray  # float64[n+1], the largest
    base: np.ndarray  # float64[n+1], ``Σ_known c + Σ_rest m`` before the first and after each draw
    unjudged: Unjudged  # What missing labels could have shown

    @property
    def rounding(self) -> float:
        """The size up to which a difference of two sums may be rounding."""
        return max(ROUNDING * float(abs(self.least[0]) + abs(self.most[0])), _SMALLEST)

    def plain(self, value: float) -> float:
        """A sum of contributions, and exactly 0 if it is rounding."""
        return 0.0 if abs(value) <= self.rounding else value

    @cached_property
    def trust(self) -> np.ndarray:
        """float64[n+1], the variance that the draws so far showed over the one that the model expected of them."""
        return self._trust(self.unjudged.judged, (self.value - self.base[:-1]) ** 2)

    def _trust(self, counted: np.ndarray, square: np.ndarray) -> np.ndarray:
        shown, count = (
            np.r_[0.0, np.cumsum(each)] for each in (np.where(counted, square / self.expected, 0.0), counted)
        )
        return np.asarray((_BELIEVED + shown) / (_BELIEVED + count))

    @cached_property
    def variance(self) -> np.ndarray:
        """float64[n], the variance foreseen of each draw from those before it."""
        return np.asarray(self.expected * self.trust[:-1])

    @cached_property
    def variances(self) -> np.ndarray:
        """float64[2, n], the smallest and the largest variance that may have been foreseen of each draw.

        They differ only if labels are lacking.
        """
        squares = self.unjudged.squares(self.value - self.base[:-1])
        every = np.ones(len(self.value), dtype=bool)
        return np.stack([self.expected * self._trust(every, square)[:-1] for square in squares])

    def first(self, n: int) -> Draws:
        """The first n draws."""
        begun = {name: getattr(self, name)[:n] for name in ("value", "worst", "best", "expected")}
        rest = {name: getattr(self, name)[: n + 1] for name in ("least", "most", "base")}
        return Draws(**begun, **rest, unjudged=self.unjudged.first(n))

    @cached_property
    def mirrored(self) -> Draws:
        """The draws of −R."""
        return replace(
            self,
            value=-self.value,
            worst=-self.best,
            best=-self.worst,
            least=-self.most,
            most=-self.least,
            base=-self.base,
            unjudged=self.unjudged.mirrored,
        )

    def estimate(self) -> tuple[float, float]:
        """The mean of Z where it is judged, weighted by the inverse of its expected variance; its standard error."""
        if not self.unjudged.judged.any():
            return np.nan, np.nan
        if not self.most[-1] - self.least[-1] > self.rounding:
            return float(self.plain(self.base[-1])), 0.0
        weight = np.where(self.unjudged.judged, self.expected.min() / self.expected, 0.0)
        total = float(weight.sum())
        variance = self.trust[-1] * (self.expected.min() / total + self.unjudged.variance(weight / total))
        return float(weight @ self.value / total), float(np.sqrt(variance))
