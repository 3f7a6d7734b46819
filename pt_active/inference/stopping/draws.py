"""What draws in successive order show of a total [theory 14].

The next unit is x with probability ``q(x)/Q``, Q being the sum of q over those that are left. What is known, what the
model expects of the rest, and the error of the model in the unit drawn make the Z of `bets`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from pt_active.inference.ties import ROUNDING

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
    def reach(self) -> np.ndarray:
        """float64[2, N], the least and the largest ``(c − m) Q/q`` that each draw can show, given those before it."""
        most = np.maximum(np.stack([self.mean - self.low, self.high - self.mean]) / self.rate, 0.0)
        return np.maximum.accumulate(most[:, ::-1], axis=1)[:, ::-1] * self.left * [[-1.0], [1.0]]

    def _shown(self, values: np.ndarray, draws: int) -> np.ndarray:
        """float64[..., n], ``x Q/q`` of the unit that each of the first draws makes known."""
        return np.asarray((values / self.rate)[..., :draws] * self.left[:draws])

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
        ends = np.stack([contribution if end is None else end for end in (least, most)])
        bounds = np.stack([self.low, self.high])
        slack = 1e-9 * (self.high - self.low).max(initial=0.0)
        if not ((ends[0] >= self.low - slack) & (ends[1] <= self.high + slack))[known].all():
            raise ValueError("a contribution lies outside the bounds of its unit")
        ends = np.clip(ends, *bounds)
        contribution = np.clip(contribution, *ends)
        error = np.where(known, contribution - self.mean, 0.0)
        apart = np.where(known, ends - contribution, 0.0)
        base, lacking = float(self.mean.sum()) + _so_far(error, draws), _so_far(apart, draws)
        reach = base[:-1] + self.reach[:, :draws]
        # Rounding must not take a value past its bounds, since a bet may stake nearly all on them. Nor could missing
        # labels have shown more than is possible.
        value = np.clip(base[:-1] + self._shown(error, draws), *reach)
        shown = np.clip(self._shown(apart, draws), *reach - value)
        return Draws(
            value=value,
            ends=value + lacking[:, :-1] + shown,
            reach=reach + lacking[:, :-1],
            expected=self.expected[:draws],
            judged=(shown == 0).all(axis=0),
            # No variable has a larger variance than one at the two ends of its range.
            later=np.minimum(self.variance, (apart[1] - apart[0]) ** 2 / 4)[:draws],
            bounds=bounds.sum(axis=1)[:, None] + _so_far(np.where(known, ends - bounds, 0.0), draws),
            base=base,
            bases=base + lacking,
        )


def _rest(values: np.ndarray) -> np.ndarray:
    """float64[N], the sum over each unit and all later ones."""
    return np.asarray(np.cumsum(values[::-1])[::-1])


def _so_far(values: np.ndarray, draws: int | None = None) -> np.ndarray:
    """float64[..., n+1], the sum over the units that are known before the first and after each draw."""
    sums = np.cumsum(values[..., :draws], axis=-1)
    return np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)


@dataclass(frozen=True)
class Draws:
    """What n draws say about the truth R. Labels that are missing count as is expected, but in all ends."""

    value: np.ndarray  # float64[n], Z; the mean of each, given those before it, is R
    ends: np.ndarray  # float64[2, n], the smallest and the largest Z that the labels allow
    reach: np.ndarray  # float64[2, n], the smallest and the largest that each could have had, given those before it
    expected: np.ndarray  # float64[n], the variance that the model expects of each, given those before it; positive
    judged: np.ndarray  # bool[n], the draws whose unit is judged
    later: np.ndarray  # float64[n], the variance of all later Z that the model expects of the labels that each lacks
    bounds: np.ndarray  # float64[2, n+1], the smallest and the largest R before the first and after each draw
    base: np.ndarray  # float64[n+1], ``Σ_known c + Σ_rest m`` before the first and after each draw
    bases: np.ndarray  # float64[2, n+1], the smallest and the largest of these that the labels allow

    @property
    def least(self) -> np.ndarray:
        """float64[n+1], the smallest R that is possible before the first and after each draw."""
        return np.asarray(self.bounds[0])

    @property
    def most(self) -> np.ndarray:
        """float64[n+1], the largest."""
        return np.asarray(self.bounds[1])

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
        return self._trust(self.judged, (self.value - self.base[:-1]) ** 2)

    def _trust(self, counted: np.ndarray, square: np.ndarray) -> np.ndarray:
        shown, count = _so_far(np.where(counted, square / self.expected, 0.0)), _so_far(counted)
        return np.asarray((_BELIEVED + shown) / (_BELIEVED + count))

    @cached_property
    def variance(self) -> np.ndarray:
        """float64[n], the variance foreseen of each draw from those before it."""
        return np.asarray(self.expected * self.trust[:-1])

    @property
    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest square that the error of each draw could have, float64[n] each."""
        low, high = errors = self.ends - self.bases[:, :-1]
        least, most = np.sort(errors**2, axis=0)
        return np.where((low < 0) & (high > 0), 0.0, least), most

    @cached_property
    def variances(self) -> np.ndarray:
        """float64[2, n], the smallest and the largest variance that may have been foreseen of each draw.

        They differ only if labels are lacking.
        """
        every = np.ones(len(self.value), dtype=bool)
        return np.stack([self.expected * self._trust(every, square)[:-1] for square in self.squares])

    def first(self, n: int) -> Draws:
        """The first n draws."""
        columns, number = [getattr(self, each.name) for each in fields(self)], len(self.value)
        return Draws(*(column[..., : n + column.shape[-1] - number] for column in columns))

    @cached_property
    def mirrored(self) -> Draws:
        """The draws of −R."""
        turned = {name: -getattr(self, name)[::-1] for name in ("ends", "reach", "bounds", "bases")}
        return replace(self, value=-self.value, base=-self.base, **turned)

    def estimate(self) -> tuple[float, float]:
        """The mean of Z where it is judged, weighted by the inverse of its expected variance; its standard error."""
        if not self.judged.any():
            return np.nan, np.nan
        if not self.most[-1] - self.least[-1] > self.rounding:
            return float(self.plain(self.base[-1])), 0.0
        weight = np.where(self.judged, self.expected.min() / self.expected, 0.0)
        total = float(weight.sum())
        unjudged = float((_rest(weight / total) ** 2 * self.later).sum())
        variance = self.trust[-1] * (self.expected.min() / total + unjudged)
        return float(weight @ self.value / total), float(np.sqrt(variance))
