"""What would other samples of an audit have shown, if its label model were as doubtful as its labels [theory 6, 14]?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.inference.estimators import MeanEstimate, effective_size
from pt_active.inference.intervals import score_statistic
from pt_active.inference.ratios import Scores
from pt_active.inference.reference import Replayed, degrees_shown, studentised
from pt_active.inference.replayed_pairs import drawn_again, fitted, strata_again
from pt_active.relevance.introspection import Introspection, introspection
from pt_active.risk.pairs import Pairs
from pt_active.sampling.sample import Sample

REPLAY_SEED = 0  # Seed of simulated labels and draws, so that the same labels have the same interval
_CELLS = 4e6  # Pairs times samples that are in memory at once
_ESTIMATED = tuple(each.name for each in fields(MeanEstimate))

# From the losses of one or two predictors in a sample, or in many, to an estimate
Estimated = Callable[[Sequence[Scores], Sample], MeanEstimate]


class Drawn(NamedTuple):
    """R samples with simulated labels."""

    sample: Sample  # The samples; repeated draws of a pair come next to each other
    label: np.ndarray  # int64[R, n]
    first: np.ndarray  # bool[R, n], whether a pair is listed for the first time
    normal: np.ndarray  # float64[R], standard normal variables, for the labels of all pairs that were not drawn


@dataclass(frozen=True)
class PairReplays:
    """Replays of a sample of pairs."""

    pairs: Pairs  # All pairs of the audit
    sample: Sample  # The pairs that were drawn
    label: np.ndarray  # float64[n], their labels; NaN where there is none

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
    def _bounds(self) -> np.ndarray:
        """float64[N, G], the cumulative probabilities of the fitted model."""
        return np.asarray(self._grades.cumsum(axis=1)[:, :-1])

    @cached_property
    def _expected(self) -> Introspection:
        """What the fitted model expects of all pairs."""
        pairs = self.pairs
        return introspection(pairs.tables, self._grades, pairs.weight, pairs.loss.proportion)

    @cached_property
    def _drawn(self) -> dict[int, Drawn]:
        return {}

    def drawn(self, number: int) -> Drawn:
        """Samples like the one that was drawn, with labels of the fitted model."""
        if number not in self._drawn:
            self._drawn[number] = self._draw(number)
        return self._drawn[number]

    def _draw(self, number: int) -> Drawn:
        rng = np.random.default_rng(REPLAY_SEED)
        sample, first = self._redrawn(number, rng), np.ones((number, int(self.sample.draws)), dtype=bool)
        first[:, 1:] = (sample.rows[:, 1:] != sample.rows[:, :-1]) | (not sample.repeated)
        # A pair that is drawn again keeps its label.
        place = np.maximum.accumulate(np.where(first, np.arange(first.shape[1]), 0), axis=1)
        uniform = np.take_along_axis(rng.random(first.shape), place, axis=1)
        label = (uniform[..., None] > self._bounds[sample.rows]).sum(axis=-1)
        return Drawn(sample, label, first, rng.normal(size=number))

    def _redrawn(self, number: int, rng: np.random.Generator) -> Sample:
        """As many draws as in the sample, of the same design; those with replacement are sorted."""
        q, n, stratum = self.sample.q, int(self.sample.draws), self.sample.stratum
        assert q is not None
        if self.sample.repeated:
            rows = np.sort(rng.choice(len(q), size=(number, n), p=q / q.sum()), axis=1)
            return Sample(rows, np.ones_like(rows), n * q[rows], repeated=True, q=q)
        if stratum is None:
            rows, expected = drawn_again(q, n, number, rng)
            return Sample(rows, np.ones_like(rows), expected, q=q)
        drawn, size = np.bincount(stratum[self.sample.rows]), np.bincount(stratum)
        rows = strata_again(stratum, drawn, number, rng)
        return Sample(rows, np.ones_like(rows), (drawn / size)[stratum[rows]], q=q, stratum=stratum)

    def errors(
        self,
        number: int,
        predictors: Sequence[int],
        estimate: Estimated,
        bounds: tuple[float, float] | None,
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
        usual, alike = self._usual(drawn, predictors)[kept], np.zeros(len(value), dtype=np.int64)
        if bounds is None:
            size = np.max([np.abs(u).max(axis=1) for u, _ in terms], axis=0)
            return studentised(value - truth, error, usual, size[kept], alike)
        importance = drawn.sample.importance(self.pairs.weight)
        effective = np.min([effective_size(drawn.sample.count, importance * w) for _, w in terms], axis=0)
        statistic, variance = score_statistic(value, error, truth, bounds, effective[kept])
        square = np.divide(variance, usual, out=np.zeros_like(variance), where=usual > 0)
        # A sample whose losses all lie at a bound has an infinite variance, of which no degrees are left to show.
        with np.errstate(invalid="ignore"):
            degrees = degrees_shown(square, alike)
        return Replayed(np.sort(statistic), degrees)

    def _usual(self, drawn: Drawn, predictors: Sequence[int]) -> np.ndarray:
        """The variance that each sample is expected to show, up to a common factor, float64[R]."""
        variance, sample = self._variance(predictors), drawn.sample
        size = variance + variance.mean() if variance.any() else np.ones_like(variance)
        share = sample.importance(self.pairs.weight) / sample.draws[:, None]
        return np.asarray((sample.count * sample.left * share**2 * size[sample.rows]).sum(axis=1))

    def _variance(self, predictors: Sequence[int]) -> np.ndarray:
        """float64[N], the variance of each pair's part in the risk, or in the difference, under the fitted model."""
        sign = np.zeros(len(self.pairs.names))
        sign[list(predictors)] = [1.0, -1.0][: len(predictors)]
        return np.asarray(np.einsum("a,nab,b->n", sign, self._expected.moments.covariance, sign))

    def _estimated(self, estimate: Estimated, scores: Sequence[Scores], samples: Sample) -> MeanEstimate:
        """The estimates of many samples, computed for as many at once as memory allows."""
        number, n = samples.rows.shape
        chunk = int(max(1, _CELLS / self.pairs.weight.size, np.sqrt(_CELLS / n)))
        parts = []
        for start in range(0, number, chunk):
            few = slice(start, start + chunk)
            some = replace(samples, rows=samples.rows[few], count=samples.count[few], expected=samples.expected[few])
            parts.append(estimate([each.of(few) for each in scores], some))
        return MeanEstimate(*(np.concatenate([getattr(part, name) for part in parts]) for name in _ESTIMATED))

    def _terms(self, predictor: int, drawn: Drawn) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and weight of a predictor's loss at simulated labels, float64[R, n] each."""
        u, w = self.pairs.tables[predictor]
        return u[drawn.sample.rows, drawn.label], w[drawn.sample.rows, drawn.label]

    def _truth(
        self, drawn: Drawn, predictors: Sequence[int], terms: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        """The risk, or the difference, over all pairs of each replay, float64[R]."""
        expected, p = self._expected, self.pairs.weight
        rows, risks = drawn.sample.rows, []
        for s, (u, w) in zip(predictors, terms, strict=True):
            sums = [
                p @ mean + (p[rows] * drawn.first * (observed - mean[rows])).sum(axis=1)
                for mean, observed in ((expected.numerator[:, s], u), (expected.weight[:, s], w))
            ]
            risks.append(sums[0] / sums[1])
        variance = p**2 * self._variance(predictors)
        unknown = np.maximum(variance.sum() - (variance[rows] * drawn.first).sum(axis=1), 0.0)
        risk = risks[0] if len(risks) == 1 else risks[0] - risks[1]
        # The sum changes its sign if two predictors change places, and does not hang on their order in the audit.
        sums = [float(p @ expected.numerator[:, s]) for s in predictors]
        sign = -1 if sums[0] < sums[-1] else 1
        return np.asarray(risk + sign * np.sqrt(unknown) * drawn.normal)
