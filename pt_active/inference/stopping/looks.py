"""Looks at a growing sample: when do their intervals hold, and will further ones answer a question [theory 10]?

Estimates from samples of which each holds the one before behave like a Brownian motion ``B(t) = t (θ̂ − θ)`` whose time
is the information ``t = 1/Var(θ̂)``, since ``Cov(θ̂_j, θ̂_k) = Var(θ̂_k)`` for j before k. A boundary limits ``|B(t)|/√t =
|θ̂ − θ|/SE``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.ties import difference

ALWAYS = "always"  # The name for looks at any time whose verdicts hold for any data, by bets (`bets`)

PLANNED = "obrien-fleming"  # The name for looks after each part of a plan, by `obrien_fleming`

MIN_LABELS = 30  # Looks before the last one have no interval with fewer labels: the error is not known well enough

PLANNED_LOOKS = 5  # Number of looks of a group-sequential plan, at equal steps
POWER = 0.8  # The probability with which the labels that are asked for settle a question

SIMULATED_PATHS = 4000  # Simulated continuations of the judging

FIRST, SECOND, WITHIN = "first", "second", "within"
"""Verdicts: the first is better, the second is better, or neither by more than the margin."""

_NODES = 160  # Nodes of the Gauss-Legendre rule that integrates over a continuation region
_MAX_ERRORS = 9.0  # The limit of integration, in standard errors
_TINY = np.finfo(np.float64).tiny  # Added to probabilities so that the logarithm of 0 is finite


Ends: TypeAlias = np.ndarray | float
"""One or many ends of intervals, float64[...]."""


class Claim(NamedTuple):
    """That the truth lies above (or below) a value, or at it if that is enough."""

    value: float
    above: bool
    or_equal: bool = False

    def true_of(self, low: Ends, high: Ends) -> np.ndarray:
        """bool[...], whether it is true of all that lies between two ends."""
        room = difference(low, self.value) if self.above else difference(self.value, high)
        return np.asarray((room > 0) | (self.or_equal & (room == 0)))


@dataclass(frozen=True)
class Goal:
    """What settles a question.

    Attributes:
        claims: Verdict → what has to be true for it.
        half_width: Of a single ranker, for which there are no claims, how narrow its interval has to be.
    """

    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    half_width: float | None = None

    @classmethod
    def of(cls, margin: float | None, compared: bool = True) -> Goal:
        """To know which of two is better, or that neither is by more than a margin; or to know the value of one."""
        if not compared:
            return cls(half_width=margin)
        edge = margin or 0.0
        within = Claim(-edge, True, True), Claim(edge, False, True)
        return cls({FIRST: (Claim(0.0, True),), SECOND: (Claim(0.0, False),), WITHIN: within})

    def moved(self, apart: float) -> Goal:
        """What has to be shown of a mean from which the truth may lie so far apart."""
        if self.half_width is not None:
            return Goal(half_width=self.half_width - apart)
        return Goal({name: tuple(_moved(claim, apart) for claim in each) for name, each in self.claims.items()})

    def verdicts(self, low: Ends, high: Ends) -> dict[str, np.ndarray]:
        """Verdict → bool[...], whether an interval gives it."""
        if self.half_width is not None:
            return {WITHIN: np.asarray(high - low <= 2 * self.half_width)}
        several = self.claims.items()
        return {name: np.all([claim.true_of(low, high) for claim in each], axis=0) for name, each in several}

    def reached(self, low: Ends, high: Ends) -> np.ndarray:
        """bool[...], whether an interval gives any verdict."""
        return np.asarray(np.any(list(self.verdicts(low, high).values()), axis=0))

    def room(self, value: float) -> float:
        """The half-width of the widest interval around a value that gives a verdict."""
        if self.half_width is not None:
            return self.half_width
        return max(min(_distance(claim, value) for claim in each) for each in self.claims.values())


def _distance(claim: Claim, value: float) -> float:
    """How far a value lies inside of what is claimed."""
    return value - claim.value if claim.above else claim.value - value


def _moved(claim: Claim, apart: float) -> Claim:
    return claim._replace(value=claim.value + (apart if claim.above else -apart))


def obrien_fleming(spent: np.ndarray, alpha: float) -> np.ndarray:
    """``4 Φ(−z/√s)``, z the ``1 − α/4`` quantile: little is spent before the end [Lan and DeMets 1983]."""
    from scipy import special

    return np.asarray(4 * special.ndtr(special.ndtri(alpha / 4) / np.sqrt(spent)))


def spending_boundary(spent: Sequence[float], time: Sequence[float], alpha: float) -> np.ndarray:
    """The boundaries of planned looks, between which B is a Brownian motion, by `obrien_fleming` [Lan and DeMets 1983].

    Look k crosses for the first time with the probability that is spent at it, which is found by integrating the
    density of what has stayed inside [Armitage, McPherson and Rowe 1969].

    Args:
        spent: The share of the sample that is judged at each look, increasing, in (0, 1].
        time: The information at each look, increasing, in any unit.
        alpha: In (0, 1), two-sided.

    Returns:
        float64[L], critical values of ``|θ̂ − θ|/SE``.

    Raises:
        ValueError: If an argument is out of range.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"the confidence level must lie between 0 and 1, got {1 - alpha:g}")
    part, clock = np.asarray(spent, dtype=np.float64), np.asarray(time, dtype=np.float64)
    for name, numbers in (("spent", part), ("time", clock)):
        if not (len(part) == len(clock) and (np.diff(numbers, prepend=0) > 0).all() and np.isfinite(numbers).all()):
            raise ValueError(f"{name} must be increasing positive numbers, one a look; got {numbers.tolist()}")
    if part[-1] > 1 + 1e-12:
        raise ValueError(f"spent must not pass 1, got {part.tolist()}")
    error = np.diff(obrien_fleming(part, alpha), prepend=0.0)
    return _recursion(tuple(error.tolist()), tuple(clock.tolist())).copy()


@lru_cache
def _recursion(error: tuple[float, ...], clock: tuple[float, ...]) -> np.ndarray:
    """Critical values, float64[L], from the error to spend at each look and its time."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    place, density = np.zeros(1), np.ones(1)
    before, critical = 0.0, []
    for spend, now in zip(error, clock, strict=True):
        step = np.sqrt(now - before)
        edge = _edge(place, density, step, spend, _MAX_ERRORS * np.sqrt(now))
        inside = edge * nodes
        kernel = np.exp(-0.5 * ((inside[:, None] - place) / step) ** 2) / (step * np.sqrt(2 * np.pi))
        place, density, before = inside, edge * weights * (kernel @ density), now
        critical.append(edge / np.sqrt(now))
    return np.array(critical)


def _edge(place: np.ndarray, density: np.ndarray, step: float, spend: float, reach: float) -> float:
    """The edge beyond which a path that starts at ``place`` ends after one step with the probability to be spent."""
    from scipy import optimize, special

    def excess(edge: float) -> float:
        return float(np.log(2 * density @ special.ndtr((place - edge) / step) + _TINY) - np.log(spend + _TINY))

    return reach if excess(reach) >= 0 else float(optimize.brentq(excess, 0.0, reach, xtol=1e-12 * reach))


def release_level(number: int, alpha: float) -> float:
    """``6α/(π² j²)``, the level of release j ≥ 1 of a sequence that may go on for ever [theory 14].

    All of them add up to α. So the probability that any test errs is at most α, whatever labels and baselines the tests
    share, and whichever errs first.
    """
    return float(6 * alpha / (np.pi * number) ** 2)


def half_widths(critical: np.ndarray, standard_error: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """SE times the t quantile with the tail of each normal critical value; standard_error, degrees float64[..., L]."""
    from scipy import special

    usable = (np.asarray(degrees) > 0) & np.isfinite(standard_error) & np.isfinite(critical)
    tail = special.ndtr(-np.where(np.isfinite(critical), critical, 0.0))
    quantile = -special.stdtrit(np.where(usable, degrees, 1.0), tail)
    return np.where(usable, quantile * np.where(usable, standard_error, 0.0), np.inf)


class Seen(NamedTuple):
    """What one look shows; the ``floor`` is the part of the standard error that no label lowers."""

    value: float
    standard_error: float
    half_width: float
    floor: float = 0.0


@dataclass(frozen=True)
class Looks:
    """A growing sample at each of L looks; all arrays are float64[L]."""

    cost: np.ndarray  # The cost of the sample so far
    time: np.ndarray  # The expected information of the sample, in any unit; infinite if everything is judged
    value: np.ndarray  # The estimate
    standard_error: np.ndarray  # The standard error; 0 if everything is judged, NaN if it cannot be estimated
    degrees: np.ndarray  # Degrees of freedom
    critical: np.ndarray  # The critical value of ``|θ̂ − θ|/SE``
    open: np.ndarray  # How far labels that lack may move the estimate, either way; 0 if none does

    def part(self, which: slice) -> Looks:
        """Some of the looks."""
        return Looks(*(column[which] for column in vars(self).values()))

    def at_one_look(self, alpha: float) -> Seen:
        """What the first look shows if it is the only one."""
        from scipy import special

        error, critical = float(self.standard_error[0]), special.ndtri(1 - alpha / 2)
        half = half_widths(np.array([critical]), self.standard_error[:1], self.degrees[:1])
        return Seen(float(self.value[0]), error, float(half[0]))

    @property
    def half_width(self) -> np.ndarray:
        """Half-widths of intervals that hold at all looks together; 0 if everything is judged."""
        half = half_widths(self.critical, self.standard_error, self.degrees)
        return self.open + np.where(np.isinf(self.time) & (self.standard_error == 0), 0.0, half)

    def to_come(self, now: Looks) -> Looks:
        """These looks as they are foreseen: variance is inverse to time, degrees of freedom proportional to cost."""
        error = now.standard_error[0] * np.sqrt(now.time[0] / self.time)
        degrees = now.degrees[0] * self.cost / now.cost[0]
        value = np.full(len(error), now.value[0])
        return replace(self, value=value, standard_error=error, degrees=degrees)


def prospect(now: Looks, coming: Looks, goal: Goal) -> tuple[float, float]:
    """The chance of a verdict at looks to come, and the expected cost, simulated [Spiegelhalter et al. 1986]."""
    if len(coming.cost) == 0:
        return 0.0, float(now.cost[0])
    rng = np.random.default_rng(0)
    variance = now.standard_error[0] ** 2
    truth = now.value[0] + np.sqrt(variance) * rng.standard_normal(SIMULATED_PATHS)
    information = coming.time / now.time[0] / variance
    finite = np.isfinite(information)
    step = np.diff(information[finite], prepend=1 / variance)
    noise = rng.standard_normal((SIMULATED_PATHS, len(step))) * np.sqrt(step)
    score = now.value[0] / variance + np.cumsum(truth[:, None] * step + noise, axis=1)
    value = np.repeat(truth[:, None], len(finite), axis=1)
    value[:, finite] = score / information[finite]
    half = coming.to_come(now).half_width
    decided = goal.reached(value - half, value + half)
    resolved = decided.any(axis=1)
    at = np.where(resolved, decided.argmax(axis=1), len(finite) - 1)
    return float(resolved.mean()), float(coming.cost[at].mean())


def cost_to_resolve(now: Looks, coming: Looks, goal: Goal) -> float:
    """The cost of the first look to come that has a verdict with `POWER` if the estimate is the truth; NaN if none."""
    looks = coming.to_come(now)
    half = looks.half_width + _spare(goal) * looks.standard_error
    decided = goal.reached(looks.value - half, looks.value + half)
    return float(coming.cost[decided.argmax()]) if decided.any() else np.nan


def cost_of_one_look(curve: ErrorCurve | None, spent: float, now: Seen, goal: Goal) -> float:
    """The total cost with which one look has a verdict with `POWER` if the estimate is the truth; NaN if none has."""
    if curve is None or not (0 < spent < curve.total and now.standard_error > 0 and np.isfinite(now.half_width)):
        return np.nan
    wanted = goal.room(now.value) / (now.half_width / now.standard_error + _spare(goal))
    return curve.budget_falling_to(wanted / now.standard_error, spent, now.floor / now.standard_error)


def _spare(goal: Goal) -> float:
    """How many standard errors an estimate must have to spare so that others give the same verdict with `POWER`."""
    from scipy import special

    return 0.0 if goal.half_width is not None else float(special.ndtri(POWER))
