"""Ratios of weighted means: risks, slices and strata [theory 6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pt_active.inference.estimators import (
    Controls,
    MeanEstimate,
    degrees_left,
    estimator_named,
    ratio_or_zero,
)
from pt_active.inference.statistics import Evaluated, minus, ratio_of
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class Scores:
    """Losses and weights of one predictor: those of the drawn pairs, and those that the label model expects of all."""

    numerator: np.ndarray  # float64[..., n], u, weight times loss of the drawn pairs
    weight: np.ndarray  # float64[..., n], w of the drawn pairs
    expected_numerator: np.ndarray  # float64[N], ``E[u]`` of all pairs
    expected_weight: np.ndarray  # float64[N], ``E[w]`` of all pairs

    def scale(self, pair_weight: np.ndarray) -> float:
        """No less than the sum of the absolute terms of a risk; see `ties.is_rounding`."""
        numerator, weight = pair_weight @ np.abs(self.expected_numerator), pair_weight @ self.expected_weight
        largest = ratio_or_zero(np.abs(self.numerator), self.weight).max(initial=0.0)
        return float(largest + ratio_or_zero(numerator, weight))


def domain_estimate(
    scores: Sequence[Scores], sample: Sample, pair_weight: np.ndarray, estimator: str, differ: np.ndarray | bool = True
) -> MeanEstimate:
    """The risk of one predictor, or the difference of two, by equal weights that no label changes [T 3.31].

    A mean over part of the pool, ``Σ_D p w δ / Σ p w``, of the loss, or of the first minus the second of two. D are the
    pairs that ``differ``, bool[N], with δ = 0 on the others. ``difference`` divides by ``Σ_D p w``, which is known.
    """
    first, *others = scores
    numerator, expected = first.numerator, first.expected_numerator
    for other in others:
        numerator, expected = numerator - other.numerator, expected - other.expected_numerator
    weight = first.expected_weight * differ
    values, model, mass = ratio_or_zero(numerator, first.weight), ratio_or_zero(expected, weight), pair_weight * weight
    controls = Controls(mass / mass.sum(), model)
    mean = estimator_named(estimator, "pair").estimate(sample, controls, values)
    return _scaled(mean, mass.sum() / (pair_weight * first.expected_weight).sum())


def linearised(scores: Sequence[Scores], weights: np.ndarray, count: np.ndarray) -> Evaluated:
    """The ratio ``Ĝ = Σ v u / Σ v w`` of one predictor, or the first minus the second of two predictors [T 3.31]."""
    ratios = [ratio_of(score.numerator, score.weight, weights, count) for score in scores]
    return ratios[0] if len(scores) == 1 else minus(ratios[0], ratios[1])


def ratio_estimate(scores: Sequence[Scores], sample: Sample, pair_weight: np.ndarray, estimator: str) -> MeanEstimate:
    """Estimate the risk of one predictor, or the difference of two, whatever its weights depend on [T 3.31]."""
    kind = estimator_named(estimator, "pair")
    importance = sample.importance(pair_weight)
    ratio, parts, expected = linearised(scores, importance, sample.count), [], []
    for score, sign in zip(scores, (1, -1), strict=False):
        total = (sample.count * importance * score.weight).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts += [sign / total, -sign * (sample.count * importance * score.numerator).sum(axis=-1) / total**2]
        expected += [score.expected_numerator, score.expected_weight]
    controls = Controls(pair_weight, np.array(expected), ratio.own_share, np.stack(parts, axis=-1))
    mean = _scaled(kind.estimate(sample, controls, ratio.gradient), (sample.count * importance).sum(axis=-1))
    counting = np.min([degrees_left(sample, importance * score.weight, kind.fitted) for score in scores], axis=0)
    idle = np.maximum(degrees_left(sample, importance, kind.fitted) - counting, 0.0)
    return MeanEstimate(ratio.value + mean.value, mean.standard_error, mean.degrees_of_freedom - idle)


def stratified_estimate(scores: Sequence[Scores], sample: Sample) -> MeanEstimate:
    """Estimate a risk, or the difference of two, from a stratified sample."""
    assert sample.stratum is not None
    ratio = linearised(scores, 1 / sample.expected, sample.count)
    values = ratio.gradient * (1 / sample.expected).sum(axis=-1)[..., None]
    mean = stratified_mean(values, sample.of(sample.stratum), np.bincount(sample.stratum))
    return MeanEstimate(ratio.value + mean.value, mean.standard_error, mean.degrees_of_freedom)


def _scaled(mean: MeanEstimate, factor: np.ndarray | float) -> MeanEstimate:
    return MeanEstimate(mean.value * factor, mean.standard_error * factor, mean.degrees_of_freedom)


def stratified_mean(values: np.ndarray, stratum: np.ndarray, size: np.ndarray) -> MeanEstimate:
    """``Σ P_h ȳ_h``, its error and Satterthwaite's degrees. Shapes: values, stratum [..., n], size int64[K]."""
    within = (stratum[..., None] == np.arange(len(size))).astype(np.float64)
    drawn = within.sum(axis=-2)
    average = np.einsum("...n,...nk->...k", values, within) / drawn
    centred = values - np.einsum("...k,...nk->...n", average, within)
    spread = np.einsum("...n,...nk->...k", centred**2, within) / (drawn - 1)
    share = size / size.sum()
    terms = share**2 * (1 - drawn / size) * spread / drawn
    total = terms.sum(axis=-1)
    least = float(values.shape[-1] - len(size))
    degrees = np.where(total > 0, ratio_or_zero(total**2, (terms**2 / (drawn - 1)).sum(axis=-1)), least)
    return MeanEstimate(average @ share, np.sqrt(total), degrees)
