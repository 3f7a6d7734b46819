"""A growing sample: its estimate at each look, and the chance that further looks resolve a question [theory 10]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pt_active.inference.estimators import Controls, Estimator, MeanEstimate
from pt_active.inference.stopping.boundaries import SPENDING, half_widths, mixture_boundary, spending_boundary
from pt_active.inference.stopping.draws import Aligned
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.sampling.sample import Sample

ALWAYS = "always"  # The name for looks at any time whose verdicts hold for any data, by bets (`bets`)

ASYMPTOTIC = "asymptotic"
"""The name for looks at any time whose intervals hold for large samples only, by a normal mixture."""

MIN_DEGREES = 50  # Looks at any time by a normal mixture have no interval with fewer degrees of freedom

MIN_PLANNED = 200
"""Planned looks have no interval with fewer degrees of freedom. With so many, a single look keeps its level where one
query in eight carries the difference; where one in 32 does, it needs more (``examples/reproduce/hostile.py``)."""

PLANNED_LOOKS = 5  # Number of looks of a group-sequential plan, at equal steps
_STACKED = 1 << 15  # Units of all samples that are estimated from at a time

_UNREACHED = 1e100
"""Stands for the inclusion probability of units beyond the end of a sample, so that they weigh nothing in any sum."""

POWER = 0.8  # The probability with which the labels that are asked for settle a question

SIMULATED_PATHS = 4000  # Simulated continuations of the judging

FIRST, SECOND, WITHIN = 1, 2, 3
"""Verdicts: the first is better, the second is better, or neither by more than the margin. 0 stands for no verdict."""


def look_names() -> tuple[str, ...]:
    """The names of looks: at any time by bets or by a normal mixture, or `PLANNED_LOOKS` by a rule of `SPENDING`."""
    return ALWAYS, ASYMPTOTIC, *SPENDING


@dataclass(frozen=True)
class Looks(Aligned):
    """A growing sample at each of L looks; all arrays are float64[L]."""

    cost: np.ndarray  # The cost of the sample so far
    time: np.ndarray  # The expected information of the sample, in any unit; infinite if everything is judged
    value: np.ndarray  # The estimate
    standard_error: np.ndarray  # The standard error; 0 if everything is judged, NaN if it cannot be estimated
    degrees: np.ndarray  # Degrees of freedom
    critical: np.ndarray  # The critical value of ``|θ̂ − θ|/SE``
    open: np.ndarray  # How far labels that lack may move the estimate, either way; 0 if none does

    @property
    def half_width(self) -> np.ndarray:
        """Half-widths of intervals that hold at all looks together; 0 if everything is judged."""
        half = half_widths(self.critical, self.standard_error, self.degrees)
        return self.open + np.where(np.isinf(self.time) & (self.standard_error == 0), 0.0, half)


def nested_estimates(
    estimator: Estimator, samples: Iterable[Sample], controls: Controls, values: np.ndarray
) -> MeanEstimate:
    """The estimates from samples of increasing size along one drawing order, values float64[n] [theory 10]."""
    several = [estimator(each, controls).estimate(values[: each.rows.shape[1]]) for each in _stacked(samples)]
    fields = ("value", "standard_error", "degrees_of_freedom")
    return MeanEstimate(*(np.concatenate([np.empty(0), *(getattr(each, f) for each in several)]) for f in fields))


def _stacked(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples of which each is the beginning of the next, some at a time as rows of one sample."""
    some = list[Sample]()
    for sample in samples:
        if some and (len(some) + 1) * len(sample.rows) > _STACKED:
            yield _as_rows(some)
            some.clear()
        some.append(sample)
    if some:
        yield _as_rows(some)


def _as_rows(samples: list[Sample]) -> Sample:
    rows = np.broadcast_to(samples[-1].rows, (len(samples), len(samples[-1].rows)))
    count, expected = np.zeros(rows.shape, dtype=np.int64), np.full(rows.shape, _UNREACHED)
    for i, sample in enumerate(samples):
        count[i, : len(sample.rows)], expected[i, : len(sample.rows)] = sample.count, sample.expected
    return Sample(rows, count, expected, samples[-1].repeated)


def look_sizes(looks: str | None, total: int) -> np.ndarray:
    """The number of queries judged at each look, int64[L], increasing; the last look is at all of them."""
    check_looks(looks)
    if looks is None:
        return np.array([total])
    if looks == ASYMPTOTIC:
        return np.arange(1, total + 1)
    return np.unique(np.ceil(np.arange(1, PLANNED_LOOKS + 1) * total / PLANNED_LOOKS).astype(np.int64))


def information(curve: ErrorCurve, spent: np.ndarray, unit: float) -> np.ndarray:
    """The information ``1/Var(θ̂)`` that a design expects at some budgets, in units of that of a given budget."""
    if curve.variance(unit) == 0:
        unit = unit / 2
    variance = curve.variances(spent)
    with np.errstate(divide="ignore"):
        return np.asarray(curve.variance(unit) / variance)


def critical_values(looks: str | None, sizes: np.ndarray, time: np.ndarray, alpha: float) -> np.ndarray:
    """The critical values of `Looks`."""
    from scipy import special

    check_looks(looks)
    if looks == ASYMPTOTIC:
        return mixture_boundary(time, alpha)
    if looks is None:
        return np.full(len(sizes), special.ndtri(1 - alpha / 2))
    chance = np.isfinite(time)
    critical = np.full(len(sizes), np.inf)
    if chance.any():
        critical[chance] = spending_boundary((sizes / sizes[-1])[chance], time[chance], alpha, looks)
    return critical


def needed_degrees(looks: str | None) -> int:
    """The degrees of freedom that a look needs: with few, normal approximations name winners falsely too often."""
    return 0 if looks is None else MIN_DEGREES if looks == ASYMPTOTIC else MIN_PLANNED


def check_looks(looks: str | None) -> None:
    """Raise if ``looks`` is neither None nor one of `look_names`."""
    if looks is not None and looks not in look_names():
        raise ValueError(f"unknown looks {looks!r}; it is one of {', '.join(look_names())}, or None for the end alone")


def verdicts(value: np.ndarray, half_width: np.ndarray, margin: float, compared: bool) -> np.ndarray:
    """The verdicts of intervals, int64[...]: `FIRST`, `SECOND`, `WITHIN` or 0."""
    if not compared:
        return np.where(half_width <= margin, WITHIN, 0)
    with np.errstate(invalid="ignore"):
        verdict = np.where(np.abs(value) + half_width <= margin, WITHIN, 0)
        verdict = np.where(value + half_width < 0, SECOND, verdict)
        return np.where(value - half_width > 0, FIRST, verdict)


def prospect(now: Looks, coming: Looks, margin: float, compared: bool, least: float = 0.0) -> tuple[float, float]:
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
    decided = np.broadcast_to(verdicts(value, _widths(now, coming, least), margin, compared) > 0, value.shape)
    resolved = decided.any(axis=1)
    at = np.where(resolved, decided.argmax(axis=1), len(finite) - 1)
    return float(resolved.mean()), float(coming.cost[at].mean())


def cost_to_resolve(now: Looks, coming: Looks, margin: float, compared: bool, least: float = 0.0) -> float:
    """The cost of the first look to come that has a verdict with `POWER` if the estimate is the truth; NaN if none."""
    from scipy import special

    half = _widths(now, coming, least)
    if compared:
        half = half + special.ndtri(POWER) * _errors(now, coming)
    decided = verdicts(np.full(len(coming.cost), now.value[0]), half, margin, compared) > 0
    return float(coming.cost[decided.argmax()]) if decided.any() else np.nan


def _errors(now: Looks, coming: Looks) -> np.ndarray:
    return np.asarray(now.standard_error[0] * np.sqrt(now.time[0] / coming.time))


def _widths(now: Looks, coming: Looks, least: float) -> np.ndarray:
    """Expected half-widths of looks to come: variance is inverse to time, degrees of freedom proportional to cost."""
    error = _errors(now, coming)
    degrees = now.degrees[0] * coming.cost / now.cost[0]
    critical = np.where(degrees >= least, coming.critical, np.inf)
    return np.where(np.isinf(coming.time), 0.0, half_widths(critical, error, degrees))
