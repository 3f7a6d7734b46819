"""What a user could install instead, each in a few lines: from units and a number of labels to an estimate.

A *unit* is what is drawn and judged as a whole: a query, a document (its part of DCG), or an item that two systems
answer. A method that needs a package that is not installed is left out by `installed`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from scipy import stats
from track_baselines import inclusion_of

LEVEL = 0.95


class Units(NamedTuple):
    """Units whose mean is asked for, float64[N] each.

    Attributes:
        value: The value of each unit, read only where it is drawn.
        expected: The value that the grade model or the judge expects.
        spread: The standard deviation that the model expects, positive where a unit may be drawn.
        labels: How many labels a unit costs, on average.
    """

    value: np.ndarray
    expected: np.ndarray
    spread: np.ndarray
    labels: float


class Answer(NamedTuple):
    """An estimate and the ends of its 95 % interval; NaN where a method has none for a sample."""

    value: float
    low: float
    high: float


def random_units(units: Units, labels: float, rng: np.random.Generator) -> np.ndarray:
    """int64[n], as many random units as the labels pay for."""
    return rng.permutation(len(units.value))[: max(round(labels / units.labels), 2)]


def chances(units: Units, labels: float) -> np.ndarray:
    """float64[N], inclusion probabilities proportional to the spreads; they sum to the number of units paid for."""
    return inclusion_of(units.spread, min(labels / units.labels, (units.spread > 0).sum()))


def paired_t(units: Units, labels: float, rng: np.random.Generator) -> Answer:
    """The mean of random units with its t interval."""
    drawn = units.value[random_units(units, labels, rng)]
    return Answer(float(drawn.mean()), *stats.t.interval(LEVEL, len(drawn) - 1, drawn.mean(), stats.sem(drawn)))


def ppi(units: Units, labels: float, rng: np.random.Generator) -> Answer:
    """PPI++ on random units; the predictions of all units are known."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    drawn = random_units(units, labels, rng)
    parts = units.value[drawn], units.expected[drawn], np.delete(units.expected, drawn)
    ends = ppi_mean_pointestimate(*parts), *ppi_mean_ci(*parts, alpha=1 - LEVEL)
    return Answer(*(float(np.squeeze(each)) for each in ends))


def glide(units: Units, labels: float, rng: np.random.Generator) -> Answer:
    """Active statistical inference: the probabilities of GLIDE's active sampler, found as a cut and not numerically."""
    from glide.estimators import ASIMeanEstimator

    chance = chances(units, labels)
    drawn = rng.random(len(chance)) < chance
    truth = np.where(drawn, units.value, np.nan)
    # GLIDE leaves units without a chance out: what is expected of them is known, and adds to the mean of the others.
    may = chance > 0
    try:
        found = ASIMeanEstimator().estimate(truth[may], units.expected[may], chance[may])
    except ValueError:  # Its error is NaN, as that of no or one unit
        return Answer(np.nan, np.nan, np.nan)
    share, rest = may.mean(), units.expected[~may].sum() / len(may)
    low, high = found.confidence_interval.lower_bound, found.confidence_interval.upper_bound
    return Answer(*(float(share * each + rest) for each in (found.mean, low, high)))


def few_humans(units: Units, labels: float, rng: np.random.Generator) -> Answer:
    """The active mean of fewhumans, with the same probabilities."""
    from fewhumans.estimators.active import active_mean

    chance = chances(units, labels)
    drawn = np.flatnonzero(rng.random(len(chance)) < chance)
    expected, value = ({str(row): float(of[row]) for row in range(len(of))} for of in (units.expected, units.value))
    ids = [str(row) for row in drawn]
    found = active_mean(expected, {row: value[row] for row in ids}, dict(zip(ids, chance[drawn].tolist(), strict=True)))
    return Answer(found.value, found.lo, found.hi)


def svy_greg(units: Units, labels: float, rng: np.random.Generator) -> Answer:
    """A systematic sample with probabilities proportional to the spreads, and the regression estimator of svy."""
    import polars as pl
    import svy

    may, size = units.spread > 0, len(units.value)
    frame = pl.DataFrame(
        {"value": units.value[may], "expected": units.expected[may], "size": units.spread[may], "one": 1.0}
    )
    number = min(round(labels / units.labels), len(frame))
    drawn = svy.Sample(frame, svy.Design(mos="size")).sampling.pps_sys(
        n=number, rstate=int(rng.integers(2**31)), certainty_threshold=1.0
    )
    controls = {"expected": float(frame["expected"].sum()), "one": float(len(frame))}
    total = drawn.weighting.calibrate(controls=controls).estimation.total("value").to_polars()
    rest = units.expected[~may].sum()
    return Answer(*(float((total[end][0] + rest) / size) for end in ("est", "lci", "uci")))


Method = Callable[[Units, float, np.random.Generator], Answer]

METHODS: dict[str, tuple[str, Method]] = {
    "paired t": ("scipy", paired_t),
    "PPI++": ("ppi_py", ppi),
    "GLIDE, active": ("glide", glide),
    "fewhumans, active": ("fewhumans", few_humans),
    "svy, PPS and GREG": ("svy", svy_greg),
}
"""Name → the package that it needs, and the method."""


def installed() -> tuple[dict[str, Method], list[str]]:
    """The methods whose package is there, and the names of the others."""
    there = {name: method for name, (package, method) in METHODS.items() if find_spec(package)}
    return there, [name for name in METHODS if name not in there]
