"""What do labels say about drawn queries, and what would other samples have shown [theory 5]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.qrels import LOOK_SO_FAR, missing_pairs
from pt_active.frames.strays import NO_STRAYS, Strays
from pt_active.inference.estimators import Controls, Estimator, estimator_named, scale_of
from pt_active.inference.new_queries import by_drawn_query
from pt_active.inference.reference import Replayed, labellings, redrawn, replayed, rescaled_grades
from pt_active.inference.ties import settled
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import Contrast, How, Judged, LabelledPlan, Measured, Parts
from pt_active.plans.making.labelled import label_calibration, measured_values, model_means, query_chance
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.queries import sample_of
from pt_active.relevance.measures import has_rank_form, rank_form
from pt_active.relevance.moments import Evaluator, evaluator, is_compiled, variable_values
from pt_active.sampling.sample import Sample

REPLAY_SEED = 0  # Seed of simulated labels and draws, so that the same labels have the same interval


@dataclass(frozen=True)
class QueryReplays:
    """Replays of a sample of queries."""

    pool: Pool  # All queries, or a group of them
    sample: Sample  # The queries that were drawn, with their q
    measure: irm.Measure  # What is measured
    label: np.ndarray  # int64[N], -1 where there is none

    @property
    def possible(self) -> bool:
        """Whether the sample can be drawn again, and the measure is quick to compute."""
        drawn_again = self.sample.q is not None and self.sample.stratum is None and not self.sample.census
        return drawn_again and (has_rank_form(self.measure) or is_compiled(self.measure))

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[K, m, k], the measure of every ranker and query under K labellings."""
        seen, inside = self.pool.seen(self.measure), np.isin(self.pool.query_of_document, self.sample.rows)
        known = np.where(seen & inside, self.label, -1)
        weight = np.ones(len(known))
        weight[inside] = 1 / query_chance(self.pool.select(self.sample.rows), self.sample)
        grades = rescaled_grades(self.pool.grades, known, weight)
        drawn = labellings(grades, self.pool.by_name, REPLAY_SEED)
        return np.stack([measured_values(self.pool, self.measure, each) for each in drawn])

    @cached_property
    def _redrawn(self) -> dict[int, Sample]:
        return {}

    def of(self, number: int, contrast: Contrast, weigh: Estimator, controls: Controls) -> Replayed:
        """The errors of an estimator in samples like the one that was drawn."""
        if number not in self._redrawn:
            self._redrawn[number] = redrawn(self.sample, number, np.random.default_rng(REPLAY_SEED))
        return replayed(contrast.of(self._values), self._redrawn[number], weigh, controls)


@dataclass(frozen=True)
class JudgedQueries(Judged):
    """The s sampled queries with their measured values."""

    sample: Sample  # The queries that were drawn, among the m of the pool
    values: np.ndarray  # float64[s, k], the measure of each ranker on each sampled query
    pool_weight: np.ndarray  # float64[m], p of all queries
    pool_model: np.ndarray  # float64[m, k], the measure that the model expects of all queries; NaN if it gives none
    replays: QueryReplays | None = None  # Samples like this one, with labels from the model; None if there are none

    def measured(self, contrast: Contrast, how: How) -> Measured:
        """Estimate the mean over all queries with an estimator in `estimators.ESTIMATORS`."""
        values, controls = contrast.of(self.values), Controls(self.pool_weight, contrast.of(self.pool_model))
        weigh, replays = estimator_named(how.estimator).weigh, self.replays
        weighting = weigh(self.sample, controls).at(values)
        mean = weighting.estimate(values)
        sizes = contrast.size(self.values), self.pool_weight, contrast.size(self.pool_model)
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=replace(self.basis, estimator=how.estimator),
            certain=self.basis.census,
            scale=float(scale_of(self.sample, *sizes)),
            replayed=None
            if replays is None
            else partial(replays.of, contrast=contrast, weigh=weigh, controls=controls),
            unlike=len(values) - int(np.unique(values, return_counts=True)[1].max()),
            by_query=by_drawn_query(self.sample, weighting, self.pool_weight, controls.model, values),
        )

    def pull(self, contrast: np.ndarray, estimator: str) -> tuple[float, np.ndarray]:
        """An estimator as ``base + Σ a (ℓ − M)``: the base and the weights a, float64[s].

        With ``regression`` they are those of the trust in its line that the labels lead to.
        """
        controls = Controls(self.pool_weight, self.pool_model @ contrast)
        weighting = estimator_named(estimator).weigh(self.sample, controls).at(self.values @ contrast)
        return float(weighting.estimate(np.nan_to_num(self.sample.of(controls.model))).value), weighting.weights


@dataclass(frozen=True)
class QueryPlan(LabelledPlan):
    """A plan that drew queries, with its labels."""

    @cached_property
    def sample(self) -> Sample:
        """The queries that were drawn."""
        return sample_of(self.tables)

    def _made(self, how: How) -> JudgedQueries:
        model = model_means(self.tables, how.measure)
        return _judged(self.tables.pool, self.sample, model, self.label, how, self.strays)

    def within(self, rows: np.ndarray, share: float, how: How) -> JudgedQueries | None:
        """The sample within a group of queries.

        ``p`` becomes ``p/P`` with the share P of the group, and the inclusion probabilities of its queries do not
        change. With replacement q becomes ``q/Q``, given how many draws fell into the group.
        """
        label = self.label[np.isin(self.tables.pool.query_of_document, rows)]
        if not (label >= 0).any():
            return None
        pool = self.tables.pool.select(rows)
        sample = self.sample.within(np.isin(np.arange(len(self.tables.queries)), rows))
        certain = int((sample.expected == 1).sum()) if not sample.repeated else 0
        sample = replace(sample, census=certain == int((pool.query_weight > 0).sum()))
        pool, model = replace(pool, query_weight=pool.query_weight / share), self.judged(how).pool_model[rows]
        judged = _judged(pool, sample, model, label, how)
        return replace(judged, basis=replace(judged.basis, model_caution=""))

    def parts(self, contrast: np.ndarray, how: How) -> Parts:
        """An estimate taken apart; the effect of a label is ``a (ℓ − Σ_y P(y) ℓ(y instead of its label))``."""
        judged, grades, size = self.judged(how), self.tables.pool.grades, len(self.label)
        base, pull = judged.pull(contrast, how.estimator)
        value = settled(judged.values @ contrast, np.abs(judged.values) @ np.abs(contrast))
        model = judged.sample.of(judged.pool_model @ contrast)
        share = judged.sample.count * judged.sample.importance(judged.pool_weight)
        columns = {"weight": share / share.sum(), "value": value, "expected": model}
        columns["contribution"] = pull * (value - np.nan_to_num(model))
        use = (self.label >= 0) & self.tables.pool.seen(how.measure)
        effect = -(grades * self.changes(contrast, how, np.ones(grades.shape, dtype=bool))).sum(axis=1)
        return Parts(base, self.drawn, columns, self.label, effect, np.full(size, np.nan), use)

    def changes(self, contrast: np.ndarray, how: How, others: np.ndarray) -> np.ndarray:
        """float64[N, G+1], how far an estimate would move with other labels; 0 for documents without one."""
        pool, label, change = self.tables.pool, self.label, np.zeros(others.shape)
        others = others & ((label >= 0) & pool.seen(how.measure))[:, None]
        evaluate, pull = _valuation(pool, how.measure), self.judged(how).pull(contrast, how.estimator)[1]
        for weight, query in zip(pull, self.drawn, strict=True):
            rows = slice(pool.indptr[query], pool.indptr[query + 1])
            place, grade = np.nonzero(others[rows])
            labels = np.tile(np.maximum(label[rows], 0), (len(place) + 1, 1))
            labels[np.arange(len(place)), place] = grade
            values = evaluate(labels, pool.ranks[:, rows]) @ contrast
            change[rows][place, grade] = weight * (values[:-1] - values[-1])
        return change

    @cached_property
    def chance(self) -> np.ndarray:
        """float64[N], the probability that each document's query was drawn (with replacement: n q over its draws)."""
        pool, chance = self.tables.pool, np.zeros(len(self.label))
        inside = np.isin(pool.query_of_document, self.drawn)
        chance[inside] = query_chance(pool.select(self.drawn), self.sample)
        return chance


def _judged(
    pool: Pool,
    sample: Sample,
    model: np.ndarray,
    label: np.ndarray,
    how: How,
    strays: Strays = NO_STRAYS,
) -> JudgedQueries:
    """Measure the drawn queries of a pool; ``model`` is float64[m, k], and ``label`` int64[N]."""
    measure, sampled = how.measure, pool.select(sample.rows)
    known, seen = label[np.isin(pool.query_of_document, sample.rows)], sampled.seen(measure)
    otherwise = "" if sample.repeated else LOOK_SO_FAR
    missing = missing_pairs(sampled.keys, seen & (known < 0), how.missing, otherwise=otherwise, strays=strays)
    line = None if sample.census else label_calibration(sampled, measure, known, query_chance(sampled, sample))
    replays = QueryReplays(pool, sample, measure, label)
    basis = Basis.of(
        sample,
        pool.query_weight,
        measure=str(measure),
        n_queries=len(sample.rows),
        n_judged=int((seen & (known >= 0)).sum()),
        missing=missing,
        missing_policy=how.missing,
        model_caution="" if line is None else line.caution,
    )
    return JudgedQueries(
        topics=pool.queries,
        names=pool.names,
        basis=basis,
        sample=sample,
        values=measured_values(sampled, measure, known),
        pool_weight=pool.query_weight,
        pool_model=model,
        replays=replays if replays.possible else None,
    )


def _valuation(pool: Pool, measure: irm.Measure) -> Evaluator:
    """A function of one query, (labels int64[b, n], ranks int32[k, n]) → float64[b, k].

    It is compiled for additive and cascade measures.
    """
    if not has_rank_form(measure):
        return evaluator(measure, pool.max_grade)
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))

    def evaluate(labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        copies, n = labels.shape
        many = np.ascontiguousarray(np.tile(ranks, (1, copies)))
        return variable_values(form, np.arange(copies + 1) * n, many, form.values[labels].ravel())

    return evaluate
