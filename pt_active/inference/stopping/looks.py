"""A growing sample: its estimate at each look, and the chance that further looks resolve a question [theory 10]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pt_active.inference.stopping.boundaries import half_widths
from pt_active.inference.stopping.error_curve import ErrorCurve

ALWAYS = "always"  # The name for looks at any time whose verdicts hold for any data, by bets (`bets`)

PLANNED = "obrien-fleming"  # The name for looks after each part of a plan, by `boundaries.obrien_fleming`

MIN_LABELS = 30  # Looks before the last one have no interval with fewer labels: the error is not known well enough

PLANNED_LOOKS = 5  # Number of looks of a group-sequential plan, at equal steps
POWER = 0.8  # The probability with which the labels that are asked for settle a question

SIMULATED_PATHS = 4000  # Simulated continuations of the judging

FIRST, SECOND, WITHIN = 1, 2, 3
"""Verdicts: the first is better, the second is better, or neither by more than the margin. 0 stands for no verdict."""


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


def verdicts(value: np.ndarray, half_width: np.ndarray, margin: float, compared: bool) -> np.ndarray:
    """The verdicts of intervals, int64[...]: `FIRST`, `SECOND`, `WITHIN` or 0."""
    if not compared:
        return np.where(half_width <= margin, WITHIN, 0)
    with np.errstate(invalid="ignore"):
        verdict = np.where(np.abs(value) + half_width <= margin, WITHIN, 0)
        verdict = np.where(value + half_width < 0, SECOND, verdict)
        return np.where(value - half_width > 0, FIRST, verdict)


def prospect(now: Looks, coming: Looks, margin: float, compared: bool) -> tuple[float, float]:
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
    decided = np.broadcast_to(verdicts(value, _widths(now, coming), margin, compared) > 0, value.shape)
    resolved = decided.any(axis=1)
    at = np.where(resolved, decided.argmax(axis=1), len(finite) - 1)
    return float(resolved.mean()), float(coming.cost[at].mean())


def cost_to_resolve(now: Looks, coming: Looks, margin: float, compared: bool) -> float:
    """The cost of the first look to come that has a verdict with `POWER` if the estimate is the truth; NaN if none."""
    from scipy import special

    half = _widths(now, coming)
    if compared:
        half = half + special.ndtri(POWER) * _errors(now, coming)
    decided = verdicts(np.full(len(coming.cost), now.value[0]), half, margin, compared) > 0
    return float(coming.cost[decided.argmax()]) if decided.any() else np.nan


def cost_of_one_look(curve: ErrorCurve | None, spent: float, now: Seen, margin: float, compared: bool) -> float:
    """The total cost with which one look has a verdict with `POWER` if the estimate is the truth; NaN if none has."""
    from scipy import special

    if curve is None or not (0 < spent < curve.total and now.standard_error > 0 and np.isfinite(now.half_width)):
        return np.nan
    quantile = now.half_width / now.standard_error
    wanted = margin / quantile
    if compared:
        wanted = max(abs(now.value), margin - abs(now.value)) / (quantile + special.ndtri(POWER))
    return curve.budget_falling_to(wanted / now.standard_error, spent, now.floor / now.standard_error)


def _errors(now: Looks, coming: Looks) -> np.ndarray:
    return np.asarray(now.standard_error[0] * np.sqrt(now.time[0] / coming.time))


def _widths(now: Looks, coming: Looks) -> np.ndarray:
    """Expected half-widths of looks to come: variance is inverse to time, degrees of freedom proportional to cost."""
    error = _errors(now, coming)
    degrees = now.degrees[0] * coming.cost / now.cost[0]
    return np.where(np.isinf(coming.time), 0.0, half_widths(coming.critical, error, degrees))
