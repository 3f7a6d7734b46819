"""What would other samples of an audit have shown, if its label model were as doubtful as its labels [theory 5, 6]?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference.estimators import MeanEstimate, effective_size
from pt_active.inference.intervals import score_statistic
from pt_active.inference.label_model import fitted
from pt_active.inference.ratios import Scores
from pt_active.inference.reference import Replayed, degrees_shown, expected_variances, redrawn, studentised
from pt_active.relevance.introspection import Introspection, introspection
from pt_active.relevance.losses import Terms
from pt_active.risk.pairs import Pairs
from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.sample import Sample

REPLAY_SEED = 0  # Of simulated labels and draws, so that the same labels have the same interval
_CELLS = 4e6  # Draws of all samples that are in memory at once

Estimated = Callable[[Sequence[Scores], Sample], MeanEstimate]
"""From the losses of one or two predictors in a sample, or in many, to an estimate."""


class DrawnPairs(NamedTuple):
    """R samples with simulated labels."""

    sample: Sample  # Repeated draws of a pair come next to each other
    label: np.ndarray  # int64[R, n]
    first: np.ndarray  # bool[R, n], whether a pair is listed for the first time
    normal: np.ndarray  # float64[R], standard normal variables, for the labels of all pairs that were not drawn


@dataclass(frozen=True)
class PairReplays:
    """Replays of a sample of pairs."""

    pairs: Pairs  # All pairs of the audit
    sample: Sample  # The pairs that were drawn
    label: np.ndarray  # float64[n], their labels; NaN where there is none
    kept: dict[int, DrawnPairs] = field(default_factory=dict, repr=False, compare=False)  # By their number

    @property
    def possible(self) -> bool:
        """Whether the sample can be drawn again, and there is a label model."""
        q = self.sample.q
        if q is None or self.sample.census or self.pairs.is_gaussian:
            return False
        return self.sample.repeated or int(self.sample.draws) < int((q > 0).sum())

    @cached_property
    def _grades(self) -> np.ndarray:
        """float64[N, G+1], the label model, fitted to the labels."""
        pairs, known = self.pairs, ~np.isnan(self.label)
        rows, closest = self.sample.rows[known], pairs.closest_grades
        model = fitted(pairs.grades[rows], closest[rows], self.label[known].astype(np.int64))
        return model.grades(pairs.grades, closest)

    @cached_property
    def _expected(self) -> Introspection:
        """What the fitted model expects of all pairs."""
        pairs = self.pairs
        return introspection(pairs.tables, self._grades, pairs.weight, pairs.loss.proportion)

    def drawn(self, number: int) -> DrawnPairs:
        """Samples like the one that was drawn, with labels of the fitted model."""
        if number not in self.kept:
            rng = np.random.default_rng(REPLAY_SEED)
            sample = redrawn(self.sample, number, rng, UNIFORM)
            first, bounds = np.ones_like(sample.rows, dtype=bool), self._grades.cumsum(axis=1)[:, :-1]
            first[:, 1:] = (sample.rows[:, 1:] != sample.rows[:, :-1]) | (not sample.repeated)
            # A pair that is drawn again keeps its label.
            place = np.maximum.accumulate(np.where(first, np.arange(sample.rows.shape[1]), 0), axis=1)
            uniform = np.take_along_axis(rng.random(sample.rows.shape), place, axis=1)
            label = (uniform[..., None] > bounds[sample.rows]).sum(axis=-1)
            self.kept[number] = DrawnPairs(sample, label, first, rng.normal(size=number))
        return self.kept[number]

    def errors(
        self,
        number: int,
        predictors: Sequence[int],
        estimate: Estimated,
        bounds: tuple[float, float] | None,
    ) -> Replayed:
        """The errors of an estimate in samples like the one that was drawn."""
        drawn, weight, view = self.drawn(number), self.pairs.weight, self.pairs.introspection
        sample, terms = drawn.sample, self._terms(predictors, drawn)
        parts, size = [], max(1, int(_CELLS / sample.rows.shape[1]))
        for few in (slice(start, start + size) for start in range(0, number, size)):
            scores = [
                Scores(u[few], w[few], view.numerator[:, s], view.weight[:, s])
                for s, (u, w) in zip(predictors, terms, strict=True)
            ]
            each = sample.rows[few], sample.count[few], sample.expected[few]
            mean = estimate(scores, replace(sample, rows=each[0], count=each[1], expected=each[2]))
            parts.append((mean.value, mean.standard_error))
        value, error = (np.concatenate(each) for each in zip(*parts, strict=True))
        variance = self._variance(predictors)
        usual = expected_variances(sample, weight, variance)
        truth = self._truth(drawn, predictors, terms, variance)
        finite = np.isfinite(value) & np.isfinite(error)
        value, error, truth, usual = (each[finite] for each in (value, error, truth, usual))
        alike = np.zeros(len(value), dtype=np.int64)
        if bounds is None:
            largest = np.max([np.abs(u).max(axis=1) for u, _ in terms], axis=0)
            return studentised(value - truth, error, usual, largest[finite], alike)
        importance = sample.importance(weight)
        effective = np.min([effective_size(sample.count, importance * w) for _, w in terms], axis=0)
        statistic, square = score_statistic(value, error, truth, bounds, effective[finite])
        square = np.divide(square, usual, out=np.zeros_like(square), where=usual > 0)
        # A sample whose losses all lie at a bound has an infinite variance, of which no degrees are left to show.
        with np.errstate(invalid="ignore"):
            return Replayed(np.sort(statistic), degrees_shown(square, alike))

    def _terms(self, predictors: Sequence[int], drawn: DrawnPairs) -> list[Terms]:
        """Numerator and weight of each predictor's loss at simulated labels, float64[R, n] each."""
        cells, tables = (drawn.sample.rows, drawn.label), self.pairs.tables
        return [(tables[s][0][cells], tables[s][1][cells]) for s in predictors]

    def _variance(self, predictors: Sequence[int]) -> np.ndarray:
        """float64[N], the variance of each pair's part in the risk, or in the difference, under the fitted model."""
        sign = np.zeros(len(self.pairs.names))
        sign[list(predictors)] = [1.0, -1.0][: len(predictors)]
        return np.asarray(np.einsum("a,nab,b->n", sign, self._expected.moments.covariance, sign))

    def _truth(
        self,
        drawn: DrawnPairs,
        predictors: Sequence[int],
        terms: Sequence[Terms],
        variance: np.ndarray,
    ) -> np.ndarray:
        """The risk, or the difference, over all pairs; labels of pairs that were not drawn make a normal sum."""
        expected, p, rows = self._expected, self.pairs.weight, drawn.sample.rows
        share, risk = p[rows] * drawn.first, np.zeros(len(rows))
        for s, both, sign in zip(predictors, terms, (1, -1), strict=False):
            means = expected.numerator[:, s], expected.weight[:, s]
            pairs = zip(both, means, strict=True)
            u, w = (p @ m + (share * (seen - m[rows])).sum(axis=1) for seen, m in pairs)
            risk += sign * u / w
        spread = p**2 * variance
        unknown = np.maximum(spread.sum() - (spread[rows] * drawn.first).sum(axis=1), 0.0)
        # The sum changes its sign if two predictors change places, and does not depend on their order in the audit.
        sums = [float(p @ expected.numerator[:, s]) for s in predictors]
        sign = -1 if sums[0] < sums[-1] else 1
        return np.asarray(risk + sign * np.sqrt(unknown) * drawn.normal)
