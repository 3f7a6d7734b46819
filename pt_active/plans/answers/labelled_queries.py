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
from pt_active.plans.answers.labelled import REPLAY_SEED, Contrast, LabelledPlan, Measured, Parts, Settings
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import label_calibration, measured_values, query_chance
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import has_rank_form, rank_form
from pt_active.relevance.moments import Evaluator, evaluator, is_compiled, variable_values
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class QueryReplays:
    """Replays of a sample of queries."""

    pool: Pool  # All queries, or a group of them
    sample: Sample  # The queries that were drawn, with their q
    measure: irm.Measure  # What is measured
    label: np.ndarray  # int64[N], -1 where there is none
    chance: np.ndarray  # float64[N], as in `LabelledPlan`

    @property
    def possible(self) -> bool:
        """Whether the sample can be drawn again, and the measure is quick to compute."""
        drawn_again = self.sample.q is not None and self.sample.stratum is None and not self.sample.census
        return drawn_again and (has_rank_form(self.measure) or is_compiled(self.measure))

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[K, m, k], the measure of every ranker and query under K labellings."""
        inside = self.chance > 0
        known = np.where(self.pool.seen(self.measure) & inside, self.label, -1)
        grades = rescaled_grades(self.pool.grades, known, 1 / np.where(inside, self.chance, 1.0))
        drawn = labellings(grades, self.pool.by_name, REPLAY_SEED)
        return np.stack([measured_values(self.pool, self.measure, each) for each in drawn])

    @cached_property
    def _redrawn(self) -> dict[int, Sample]:
        return {}

    def of(self, number: int, contrast: Contrast, estimator: Estimator, controls: Controls) -> Replayed:
        """The errors of an estimator in samples like the one that was drawn."""
        if number not in self._redrawn:
            self._redrawn[number] = redrawn(self.sample, number, np.random.default_rng(REPLAY_SEED))
        return replayed(contrast.of(self._values), self._redrawn[number], estimator, controls)


@dataclass(frozen=True)
class LabelledQueries(LabelledPlan):
    """The s sampled queries with their measured values."""

    sample: Sample  # The queries that were drawn, among the m of the pool
    values: np.ndarray  # float64[s, k], the measure of each ranker on each sampled query
    pool_weight: np.ndarray  # float64[m], p of all queries
    pool_model: np.ndarray  # float64[m, k], the measure that the model expects of all queries; NaN if it gives none
    replays: QueryReplays | None = None  # Samples like this one, with labels from the model; None if there are none

    def measured(self, contrast: Contrast, settings: Settings) -> Measured:
        """Estimate the mean over all queries with an estimator in `estimators.ESTIMATORS`."""
        values, controls = contrast.of(self.values), Controls(self.pool_weight, contrast.of(self.pool_model))
        estimator, replays = estimator_named(settings.estimator).estimate, self.replays
        mean = estimator(self.sample, controls, values)
        sizes = contrast.size(self.values), self.pool_weight, contrast.size(self.pool_model)
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=replace(self.basis, estimator=settings.estimator),
            certain=self.basis.census,
            scale=float(scale_of(self.sample, *sizes)),
            replayed=None
            if replays is None
            else partial(replays.of, contrast=contrast, estimator=estimator, controls=controls),
            unlike=len(values) - int(np.unique(values, return_counts=True)[1].max()),
            by_query=by_drawn_query(self.sample, mean, self.pool_weight, controls.model, values),
        )

    def pull(self, contrast: np.ndarray, estimator: str) -> tuple[float, np.ndarray]:
        """An estimator as ``base + Σ a (ℓ − M)``: the base and the weights a, float64[s].

        With ``regression`` they are those of the trust in its line that the labels lead to.
        """
        controls = Controls(self.pool_weight, self.pool_model @ contrast)
        mean = estimator_named(estimator).estimate(self.sample, controls, self.values @ contrast)
        return float(mean.base + mean.weights @ np.nan_to_num(self.sample.of(controls.model))), mean.weights

    def within(self, rows: np.ndarray, share: float) -> LabelledQueries | None:
        """The same within a group of queries.

        ``p`` becomes ``p/P`` with the share P of the group, and the inclusion probabilities of its queries do not
        change. With replacement q becomes ``q/Q``, given how many draws fell into the group.
        """
        label = self.label[np.isin(self.tables.pool.query_of_document, rows)]
        if not (label >= 0).any():
            return None
        pool = self.tables.pool.select(rows)
        sample = self.sample.within(np.isin(np.arange(len(self.pool_weight)), rows))
        certain = int((sample.expected == 1).sum()) if not sample.repeated else 0
        sample = replace(sample, census=certain == int((pool.query_weight > 0).sum()))
        pool = replace(pool, query_weight=pool.query_weight / share)
        tables, policy = replace(self.tables, pool=pool), self.basis.missing_policy
        found = labelled_queries(tables, sample, self.pool_model[rows], label, self.measure, policy)
        return replace(found, basis=replace(found.basis, model_caution=""))

    def parts(self, contrast: np.ndarray, estimator: str) -> Parts:
        """An estimate taken apart; the effect of a label is ``a (ℓ − Σ_y P(y) ℓ(y instead of its label))``."""
        pool, share = self.tables.pool, self.sample.count * self.sample.importance(self.pool_weight)
        base, pull = self.pull(contrast, estimator)
        value = settled(self.values @ contrast, np.abs(self.values) @ np.abs(contrast))
        model = self.sample.of(self.pool_model @ contrast)
        columns = {"weight": share / share.sum(), "value": value, "expected": model}
        columns["contribution"] = pull * (value - np.nan_to_num(model))
        use = (self.label >= 0) & pool.seen(self.measure)
        effect = -(pool.grades * self.changes(contrast, estimator, np.ones(pool.grades.shape, dtype=bool))).sum(axis=1)
        return Parts(base, self.sample.rows, columns, self.label, effect, np.full(len(use), np.nan), use)

    def changes(self, contrast: np.ndarray, estimator: str, others: np.ndarray) -> np.ndarray:
        """float64[N, G+1], how far an estimate would move with other labels; 0 for documents without one."""
        pool, label, change = self.tables.pool, self.label, np.zeros(others.shape)
        others = others & ((label >= 0) & pool.seen(self.measure))[:, None]
        evaluate, (_, pull) = _valuation(pool, self.measure), self.pull(contrast, estimator)
        for weight, query in zip(pull, self.sample.rows, strict=True):
            rows = slice(pool.indptr[query], pool.indptr[query + 1])
            place, grade = np.nonzero(others[rows])
            labels = np.tile(np.maximum(label[rows], 0), (len(place) + 1, 1))
            labels[np.arange(len(place)), place] = grade
            values = evaluate(labels, pool.ranks[:, rows]) @ contrast
            change[rows][place, grade] = weight * (values[:-1] - values[-1])
        return change


def labelled_queries(
    tables: PlanTables,
    sample: Sample,
    model: np.ndarray,
    label: np.ndarray,
    measure: irm.Measure,
    missing: str,
    strays: Strays = NO_STRAYS,
) -> LabelledQueries:
    """Join labels to the queries of a pool that were drawn.

    Shapes: model float64[m, k], label int64[N].
    """
    pool, sampled = tables.pool, tables.pool.select(sample.rows)
    inside, seen = np.isin(pool.query_of_document, sample.rows), sampled.seen(measure)
    known, chance = label[inside], np.zeros(len(label))
    chance[inside] = query_chance(sampled, sample)
    otherwise = "" if sample.repeated else LOOK_SO_FAR
    unlabelled = missing_pairs(sampled.keys, seen & (known < 0), missing, otherwise=otherwise, strays=strays)
    line = None if sample.census else label_calibration(sampled, measure, known, chance[inside])
    replays = QueryReplays(pool, sample, measure, label, chance)
    basis = Basis.of(
        sample,
        pool.query_weight,
        measure=str(measure),
        n_queries=len(sample.rows),
        n_judged=int((seen & (known >= 0)).sum()),
        missing=unlabelled,
        missing_policy=missing,
        model_caution="" if line is None else line.caution,
    )
    return LabelledQueries(
        pool.names,
        basis,
        tables,
        measure,
        label,
        chance,
        sample=sample,
        values=measured_values(sampled, measure, known),
        pool_weight=pool.query_weight,
        pool_model=model,
        replays=replays if replays.possible else None,
        topics=pool.queries,
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
