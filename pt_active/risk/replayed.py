"""What would other samples of an audit have shown, if its label model were as doubtful as its labels [theory 5, 6]?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference.estimators import MeanEstimate, effective_size
from pt_active.inference.intervals import score_statistic
from pt_active.inference.label_model import fitted
from pt_active.inference.ratios import Scores
from pt_active.inference.reference import Replayed, degrees_shown, expected_variances, redrawn, studentised
from pt_active.relevance.introspection import Introspection, introspection
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
        rows, label = self.sample.rows[known], self.label[known].astype(np.int64)
        closest = pairs.closest_grades
        return fitted(pairs.grades[rows], closest[rows], label).grades(pairs.grades, closest)

    @cached_property
    def _expected(self) -> Introspection:
        """What the fitted model expects of all pairs."""
        return introspection(self.pairs.tables, self._grades, self.pairs.weight, self.pairs.loss.proportion)

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
        self, number: int, predictors: Sequence[int], estimate: Estimated, bounds: tuple[float, float] | None
    ) -> Replayed:
        """The errors of an estimate in samples like the one that was drawn."""
        drawn, view = self.drawn(number), self.pairs.introspection
        terms = [self._terms(s, drawn) for s in predictors]
        scores = [
            Scores(u, w, view.numerator[:, s], view.weight[:, s]) for s, (u, w) in zip(predictors, terms, strict=True)
        ]
        mean, truth = self._estimated(estimate, scores, drawn.sample), self._truth(drawn, predictors, terms)
        kept = np.isfinite(mean.value) & np.isfinite(mean.standard_error)
        value, error, truth = mean.value[kept], mean.standard_error[kept], truth[kept]
        usual = expected_variances(drawn.sample, self.pairs.weight, self._variance(predictors))[kept]
        alike = np.zeros(len(value), dtype=np.int64)
        if bounds is None:
            size = np.max([np.abs(u).max(axis=1) for u, _ in terms], axis=0)
            return studentised(value - truth, error, usual, size[kept], alike)
        importance = drawn.sample.importance(self.pairs.weight)
        effective = np.min([effective_size(drawn.sample.count, importance * w) for _, w in terms], axis=0)
        statistic, variance = score_statistic(value, error, truth, bounds, effective[kept])
        square = np.divide(variance, usual, out=np.zeros_like(variance), where=usual > 0)
        # A sample whose losses all lie at a bound has an infinite variance, of which no degrees are left to show.
        with np.errstate(invalid="ignore"):
            return Replayed(np.sort(statistic), degrees_shown(square, alike))

    def _variance(self, predictors: Sequence[int]) -> np.ndarray:
        """float64[N], the variance of each pair's part in the risk, or in the difference, under the fitted model."""
        sign = np.zeros(len(self.pairs.names))
        sign[list(predictors)] = [1.0, -1.0][: len(predictors)]
        return np.asarray(np.einsum("a,nab,b->n", sign, self._expected.moments.covariance, sign))

    def _estimated(self, estimate: Estimated, scores: Sequence[Scores], samples: Sample) -> MeanEstimate:
        """The estimates of many samples, computed for as many at once as memory allows."""
        number, n = samples.rows.shape
        chunk = max(1, int(_CELLS / n))
        parts = []
        for few in (slice(start, start + chunk) for start in range(0, number, chunk)):
            some = replace(samples, rows=samples.rows[few], count=samples.count[few], expected=samples.expected[few])
            parts.append(estimate([each.of(few) for each in scores], some))
        names = [each.name for each in fields(MeanEstimate)]
        return MeanEstimate(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def _terms(self, predictor: int, drawn: DrawnPairs) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and weight of a predictor's loss at simulated labels, float64[R, n] each."""
        u, w = self.pairs.tables[predictor]
        return u[drawn.sample.rows, drawn.label], w[drawn.sample.rows, drawn.label]

    def _truth(
        self, drawn: DrawnPairs, predictors: Sequence[int], terms: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        """The risk, or the difference, over all pairs; labels of pairs that were not drawn make a normal sum."""
        expected, p = self._expected, self.pairs.weight
        rows, risks = drawn.sample.rows, []
        for s, both in zip(predictors, terms, strict=True):
            means = expected.numerator[:, s], expected.weight[:, s]
            seen = [(p[rows] * drawn.first * (u - mean[rows])).sum(axis=1) for u, mean in zip(both, means, strict=True)]
            risks.append((p @ means[0] + seen[0]) / (p @ means[1] + seen[1]))
        variance = p**2 * self._variance(predictors)
        unknown = np.maximum(variance.sum() - (variance[rows] * drawn.first).sum(axis=1), 0.0)
        risk = risks[0] if len(risks) == 1 else risks[0] - risks[1]
        # The sum changes its sign if two predictors change places, and does not depend on their order in the audit.
        sums = [float(p @ expected.numerator[:, s]) for s in predictors]
        sign = -1 if sums[0] < sums[-1] else 1
        return np.asarray(risk + sign * np.sqrt(unknown) * drawn.normal)
