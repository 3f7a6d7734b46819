"""A reference distribution for intervals of few draws: replays under the recalibrated grade model [theory 5].

The t distribution is right if errors are about normal. Where few units carry the mean it is too narrow, and the grade
model tells so beforehand. So labels are drawn from the model, with its share of each grade set to that of the sample,
the drawing and the estimate are replayed, and the quantiles of ``(R̂ − R)/SE`` are compared with those of t.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pt_active.inference.estimators import Controls, Estimator
from pt_active.sampling.chances import EXPONENTIAL, Law
from pt_active.sampling.draws import draw_priorities
from pt_active.sampling.sample import Sample

REPLAYS = 400  # Samples that a reference is simulated from, at least
_MOST_REPLAYS = 20_000  # Samples that a reference is simulated from, at most
MAX_DRAWS = 1000  # With so many effective draws or more, ``auto`` takes t without a replay
# So many documents of each grade are added to those that were seen and to those that were expected
_PRIOR_DOCUMENTS = 4.0
_SURPRISING = 0.05  # A label that has a smaller probability speaks against the model
_LABELLED_DOCUMENTS = 4e6  # Documents that get a simulated label, about, in all labellings together
_LABELLINGS = (40, 100)  # The fewest and the most labellings; each is sampled several times
_UNITS = 1e7  # Units whose priorities are kept in memory at once
# With fewer degrees of freedom there is no interval: it would be 13 standard errors wide on each side at 95 %
_LEAST_DEGREES = 1.0
_FARTHEST = 20.0  # An end that is so many times as far away as by t has no bound
_NO_ERROR = 1e-9  # A standard error below this share of the largest value is rounding


# A share of the degrees of freedom; normal errors have all of them, those of a difference with many ties about .4
FEW = 0.2


class Replayed(NamedTuple):
    """What replays of a sample show."""

    errors: np.ndarray  # float64[R], ``(R̂ − R)/SE`` in increasing order; infinite where a sample shows no error
    degrees: float  # ``2 E(S)²/Var S`` of ``S = V̂/c``, c the variance that each sample is expected to show


class Tails(NamedTuple):
    """How far the ends of an interval are from its estimate."""

    low: float  # The distance of the lower end, in those of t, at least 1; infinite without a bound
    high: float  # That of the upper end
    degrees: float  # Degrees of freedom of t; 0 if there are too few for an interval

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return self.degrees > 0 and max(self.low, self.high) < _FARTHEST

    def facing(self, distance: float) -> float:
        """The factor of the end that lies towards 0 from an estimate."""
        return self.low if distance > 0 else self.high


def rescaled_grades(grades: np.ndarray, label: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A model's grade shares, scaled to those of the labels: ``(1 − ε) P' + ε s``, ``P'(g) ∝ w_g P(g)`` [theory 5]."""
    known = label >= 0
    if not known.any():
        return grades
    a = weight[known] * weight[known].sum() / (weight[known] ** 2).sum()
    observed = np.bincount(label[known], weights=a, minlength=grades.shape[1])
    expected = a @ grades[known]
    scaled = grades * (observed + _PRIOR_DOCUMENTS) / (expected + _PRIOR_DOCUMENTS)
    scaled /= scaled.sum(axis=1, keepdims=True)
    share = (observed + _PRIOR_DOCUMENTS * grades.mean(axis=0)) / (a.sum() + _PRIOR_DOCUMENTS)
    improbable = scaled[known] < _SURPRISING
    chance = np.where(improbable, scaled[known], 0.0).sum(axis=1)
    excess = float(a @ (improbable[np.arange(len(a)), label[known]] - chance))
    stray = (max(excess, 0.0) + 1) / (a.sum() + 2)
    return np.asarray((1 - stray) * scaled + stray * share)


def labellings(grades: np.ndarray, order: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Labels that a grade model holds possible, int64[N] each, as many as `_LABELLED_DOCUMENTS` allows."""
    rng, bounds, uniform = np.random.default_rng(seed), grades.cumsum(axis=1)[:, :-1].T, np.empty(len(grades))
    for _ in range(int(np.clip(_LABELLED_DOCUMENTS / len(grades), *_LABELLINGS))):
        uniform[order] = rng.random(len(grades))
        yield np.add.reduce([uniform > bound for bound in bounds], dtype=np.int64)


def redrawn(sample: Sample, repetitions: int, rng: np.random.Generator, law: Law = EXPONENTIAL) -> Sample:
    """Samples like a given one: as many draws from the same distribution, sorted if a unit can be drawn again."""
    q, n = sample.q, int(sample.draws)
    assert q is not None
    if sample.repeated:
        rows = np.sort(rng.choice(len(q), size=(repetitions, n), p=q / q.sum()), axis=1)
        return Sample(rows, np.ones_like(rows), n * q[rows], repeated=True, q=q)
    if sample.stratum is None:
        rows, threshold = _first_units(q, n, repetitions, rng, law)
        return Sample(rows, np.ones_like(rows), law.inclusion(q[rows] * threshold))
    size, drawn = np.bincount(sample.stratum), np.bincount(sample.stratum[sample.rows])
    members = np.split(np.argsort(sample.stratum, kind="stable"), np.cumsum(size)[:-1])
    parts = [
        units[_first_units(np.ones(len(units)), number, repetitions, rng, law)[0]]
        for units, number in zip(members, drawn, strict=True)
    ]
    rows = np.concatenate(parts, axis=1)
    return Sample(rows, np.ones_like(rows), (drawn / size)[sample.stratum[rows]], q=q, stratum=sample.stratum)


def _first_units(
    q: np.ndarray, n: int, repetitions: int, rng: np.random.Generator, law: Law
) -> tuple[np.ndarray, np.ndarray]:
    """The units that come first, int64[R, n], by priority, and that of the next one, float64[R, 1]."""
    chunk, found = max(1, int(_UNITS / len(q))), []
    for start in range(0, repetitions, chunk):
        priority = draw_priorities(q, min(chunk, repetitions - start), rng, law)
        priority = np.pad(priority, ((0, 0), (0, 1)), constant_values=np.inf)
        first = np.argpartition(priority, n, axis=1)[:, : n + 1]
        came = np.take_along_axis(priority, first, axis=1)
        order = np.argsort(came, axis=1)
        found.append([np.take_along_axis(each, order, axis=1) for each in (first, came)])
    units, priorities = (np.concatenate(each) for each in zip(*found, strict=True))
    return units[:, :n], priorities[:, n:]


def replayed(values: np.ndarray, samples: Sample, estimator: Estimator, controls: Controls) -> Replayed:
    """The errors of an estimator in many samples, values float64[K, m]."""
    labelling = np.arange(len(samples.rows)) % len(values)
    drawn = values[labelling[:, None], samples.rows]
    mean = estimator(samples, controls, drawn)
    error = mean.value - (values @ controls.p)[labelling]
    usual = expected_variances(samples, controls.p, values.var(axis=0))
    return studentised(error, mean.standard_error, usual, np.abs(drawn).max(axis=1), labelling)


def expected_variances(samples: Sample, p: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The variance that each sample is expected to show, up to a common factor, float64[R]."""
    size = variance + variance.mean() if variance.any() else np.ones_like(variance)
    share = samples.importance(p) / samples.draws[:, None]
    return np.asarray((samples.count * samples.left * share**2 * size[samples.rows]).sum(axis=1))


def studentised(
    error: np.ndarray, standard_error: np.ndarray, usual: np.ndarray, size: np.ndarray, labelling: np.ndarray
) -> Replayed:
    """Errors over their standard errors."""
    rounding = _NO_ERROR * np.maximum(size, np.finfo(float).tiny)
    shown = standard_error > rounding
    hidden = np.where(np.abs(error) > rounding, np.copysign(np.inf, error), 0.0)
    square = np.where(shown, standard_error, 0.0) ** 2
    square = np.divide(square, usual, out=np.zeros_like(square), where=usual > 0)
    degrees = degrees_shown(square, labelling)
    return Replayed(np.sort(np.divide(error, standard_error, out=hidden, where=shown)), degrees)


def degrees_shown(square: np.ndarray, labelling: np.ndarray) -> float:
    """``2 E(S)²/Var S`` from float64[R], S, with unbiased moments within each labelling."""
    number = np.bincount(labelling)
    mean = np.bincount(labelling, square) / number
    spread = np.bincount(labelling, (square - mean[labelling]) ** 2) / np.maximum(number - 1, 1)
    variance = float(spread.mean())
    return float(2 * (mean**2 - spread / number).mean() / variance) if variance > 0 else np.inf


def tails(replays: Replayed, degrees: float, confidence: float) -> Tails:
    """The hull of t and replays [theory 5]."""
    from scipy import special

    errors = replays.errors
    if replays.degrees < FEW * degrees:
        degrees = replays.degrees
    if not degrees >= _LEAST_DEGREES:
        return Tails(np.inf, np.inf, 0.0)
    rank = min(int(np.ceil((1 + confidence) / 2 * (len(errors) + 1))), len(errors)) - 1
    quantile = special.stdtrit(degrees, (1 + confidence) / 2)
    low, high = (max(1.0, float(q / quantile)) for q in (errors[rank], -errors[len(errors) - 1 - rank]))
    return Tails(low, high, degrees)


def replays_for(confidence: float) -> int:
    """The number of replays whose quantile at a level rests on ten or more of them, up to a level of .999."""
    return int(np.clip(np.ceil(20 / (1 - confidence)), REPLAYS, _MOST_REPLAYS))
