"""A sample that grows: what it says at each look, and where it is heading [theory 10]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pt_active.inference.estimators import Controls, Estimator, MeanEstimate
from pt_active.inference.stopping.boundaries import SPENDING, half_widths, mixture_boundary, spending_boundary
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.sampling.sample import Sample

ALWAYS = "always"
"""The name of looks at any time."""

PLANNED_LOOKS = 5
"""Looks of a group-sequential plan, at equal steps."""

SIMULATED_PATHS = 4000
"""Simulated continuations of the judging."""

FIRST, SECOND, WITHIN = 1, 2, 3
"""Verdicts: the first is better, the second is, or neither by more than the margin. 0 is none."""


def look_names() -> tuple[str, ...]:
    """How often one may look: at any time, or at `PLANNED_LOOKS` looks that spend the error by a rule of `SPENDING`.

    A rule that is added to `SPENDING` is one of them. None, which has no name, means a look at the end alone.
    """
    return ALWAYS, *SPENDING


@dataclass(frozen=True)
class Looks:
    """A growing sample at each of L looks, all float64[L].

    Attributes:
        cost: Spent so far.
        time: The information that is expected of the sample, in any unit; infinite where all is judged.
        value: The estimate.
        standard_error: Of the estimate; 0 where all is judged, NaN where it cannot be told.
        degrees: Of freedom.
        critical: What ``|θ̂ − θ|/SE`` may become.
    """

    cost: np.ndarray
    time: np.ndarray
    value: np.ndarray
    standard_error: np.ndarray
    degrees: np.ndarray
    critical: np.ndarray

    @property
    def half_width(self) -> np.ndarray:
        """Of the intervals, which hold at all looks together; 0 where all is judged."""
        half = half_widths(self.critical, self.standard_error, self.degrees)
        return np.where(np.isinf(self.time) & (self.standard_error == 0), 0.0, half)

    def part(self, which: slice) -> Looks:
        """Some of the looks."""
        return Looks(*(column[which] for column in vars(self).values()))

    def then(self, later: Looks) -> Looks:
        """These looks and later ones."""
        return Looks(*(np.r_[a, b] for a, b in zip(vars(self).values(), vars(later).values(), strict=True)))


def nested_estimates(
    estimator: Estimator, samples: Iterable[Sample], controls: Controls, values: np.ndarray
) -> MeanEstimate:
    """The estimates from the first units of one drawing order, for several numbers of them [theory 10].

    Args:
        estimator: One of `estimators.ESTIMATORS`.
        samples: L samples, each the beginning of the next, as `draws.priorities` would have drawn them with budgets
            that ended there.
        controls: Of the population.
        values: float64[n], measured, in the order drawn.

    Returns:
        Fields float64[L].
    """
    rows = [estimator(sample, controls).estimate(values[: len(sample.rows)]) for sample in samples]
    fields = ("value", "standard_error", "degrees_of_freedom")
    return MeanEstimate(*(np.array([float(getattr(row, field)) for row in rows]) for field in fields))


def look_sizes(looks: str | None, total: int) -> np.ndarray:
    """After how many of all queries one looks, int64[L], increasing; the last look is the end.

    Raises:
        ValueError: If the name is not one of `look_names`.
    """
    check_looks(looks)
    if looks is None:
        return np.array([total])
    if looks == ALWAYS:
        return np.arange(1, total + 1)
    return np.unique(np.ceil(np.arange(1, PLANNED_LOOKS + 1) * total / PLANNED_LOOKS).astype(np.int64))


def information(curve: ErrorCurve, spent: np.ndarray, unit: float) -> np.ndarray:
    """``1/Var(θ̂)`` that a design expects after some expense, in units of what it expects of a whole budget.

    Args:
        curve: The errors that are expected.
        spent: float64[L].
        unit: The budget whose information is 1; if it pays for all, half of it.

    Returns:
        float64[L]; infinite where everything is judged.
    """
    if curve.variance(unit) == 0:
        unit = unit / 2
    variance = np.array([curve.variance(float(budget)) for budget in spent])
    with np.errstate(divide="ignore"):
        return np.asarray(curve.variance(unit) / variance)


def critical_values(looks: str | None, sizes: np.ndarray, time: np.ndarray, alpha: float) -> np.ndarray:
    """The critical values of `Looks`.

    Args:
        looks: One of `look_names`, or None.
        sizes: int64[L], of *all* looks; the error is spent in proportion to them.
        time: float64[L], the expected information at each, 1 where it is to be narrowest; infinite where all is judged.
        alpha: Two-sided error.

    Returns:
        float64[L].
    """
    from scipy import special

    check_looks(looks)
    if looks == ALWAYS:
        return mixture_boundary(time, alpha)
    if looks is None:
        return np.full(len(sizes), special.ndtri(1 - alpha / 2))
    chance = np.isfinite(time)
    found = np.full(len(sizes), np.inf)
    if chance.any():
        found[chance] = spending_boundary((sizes / sizes[-1])[chance], time[chance], alpha, looks)
    return found


def check_looks(looks: str | None) -> None:
    """Raise if ``looks`` is neither None nor one of `look_names`.

    Raises:
        ValueError: With the names that there are.
    """
    if looks is not None and looks not in look_names():
        raise ValueError(f"unknown looks {looks!r}; it is one of {', '.join(look_names())}, or None for the end alone")


def verdicts(value: np.ndarray, half_width: np.ndarray, margin: float, compared: bool) -> np.ndarray:
    """What intervals say, int64[...]: `FIRST`, `SECOND`, `WITHIN` or 0.

    Args:
        value: float64[...], an estimate; of a difference, first minus second, if ``compared``.
        half_width: float64[...], of its interval.
        margin: Differences up to this do not matter; of a single ranker, the half-width that is wanted.
        compared: Whether the estimate is of a difference.
    """
    if not compared:
        return np.where(half_width <= margin, WITHIN, 0)
    with np.errstate(invalid="ignore"):
        found = np.where(np.abs(value) + half_width <= margin, WITHIN, 0)
        found = np.where(value + half_width < 0, SECOND, found)
        return np.where(value - half_width > 0, FIRST, found)


def prospect(now: Looks, coming: Looks, margin: float, compared: bool, seed: int = 0) -> tuple[float, float]:
    """The chance of being resolved at one of the looks to come, and the expected cost by then or by the last of them.

    Follows many ways in which the rest may go: the truth is drawn from ``N(θ̂, SE²)``, and the score ``t θ̂_t`` goes on
    from where it stands as a Brownian motion with that drift [Spiegelhalter et al. 1986, predictive power].

    Args:
        now: The last look, L = 1, unresolved, with an interval.
        coming: The looks to come; value and standard error are not read.
        margin: As in `verdicts`, like ``compared``.
        compared: Of two systems.
        seed: Of the paths.
    """
    if len(coming.cost) == 0:
        return 0.0, float(now.cost[0])
    rng = np.random.default_rng(seed)
    variance = now.standard_error[0] ** 2
    truth = now.value[0] + np.sqrt(variance) * rng.standard_normal(SIMULATED_PATHS)
    information = coming.time / now.time[0] / variance
    finite = np.isfinite(information)
    step = np.diff(information[finite], prepend=1 / variance)
    noise = rng.standard_normal((SIMULATED_PATHS, len(step))) * np.sqrt(step)
    score = now.value[0] / variance + np.cumsum(truth[:, None] * step + noise, axis=1)
    value = np.repeat(truth[:, None], len(finite), axis=1)
    value[:, finite] = score / information[finite]
    found = np.broadcast_to(verdicts(value, _widths(now, coming), margin, compared) > 0, value.shape)
    resolved = found.any(axis=1)
    at = np.where(resolved, found.argmax(axis=1), len(finite) - 1)
    return float(resolved.mean()), float(coming.cost[at].mean())


def enough(now: Looks, coming: Looks, margin: float, compared: bool) -> float:
    """The least cost of the looks to come at which the estimate as it stands would be resolved; NaN if none is."""
    found = verdicts(np.full(len(coming.cost), now.value[0]), _widths(now, coming), margin, compared) > 0
    return float(coming.cost[found.argmax()]) if found.any() else np.nan


def _widths(now: Looks, coming: Looks) -> np.ndarray:
    """Expected half-widths of looks to come: variance falls with the time, degrees of freedom grow with the cost."""
    error = now.standard_error[0] * np.sqrt(now.time[0] / coming.time)
    degrees = now.degrees[0] * coming.cost / now.cost[0]
    half = half_widths(coming.critical, error, degrees)
    return np.where(np.isinf(coming.time), 0.0, half)
