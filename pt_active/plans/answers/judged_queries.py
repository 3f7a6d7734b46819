"""How are rankers estimated from the labels of drawn queries [theory 5]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.qrels import LOOK_SO_FAR, missing_pairs
from pt_active.frames.strays import Strays
from pt_active.inference.estimators import Controls, effective_size, estimator_named, scale_of
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured
from pt_active.plans.answers.replayed import QueryReplays
from pt_active.plans.making.labelled import label_calibration, measured_values, query_chance
from pt_active.plans.making.pool import Pool
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class JudgedQueries(Judged):
    """The s sampled queries with their measured values.

    Attributes:
        sample: The queries that were drawn, among the m of the pool.
        values: float64[s, k], the measure of each ranker on each sampled query.
        pool_weight: float64[m], p of all queries.
        pool_model: float64[m, k], the measure that the grade model expects of all queries; NaN if it gives none.
        replays: Samples like this one, with labels from the grade model; None if they cannot be drawn.
    """

    sample: Sample
    values: np.ndarray
    pool_weight: np.ndarray
    pool_model: np.ndarray
    replays: QueryReplays | None = None

    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """Estimate the mean over all queries with an estimator in `estimators.ESTIMATORS`."""
        values, controls = contrast.of(self.values), Controls(self.pool_weight, contrast.of(self.pool_model))
        weigh, replays = estimator_named(how.estimator).weigh, self.replays
        mean = weigh(self.sample, controls).estimate(values)
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
        )


class LabelledQueries(NamedTuple):
    """All queries of a plan, or a group of them, with the sample and the labels.

    Attributes:
        pool: The queries.
        sample: The queries that were drawn.
        model: float64[m, k], the measure that the grade model expects.
        label: int64[N], -1 where there is none.
        ignored: The number of labels of queries that were not drawn.
        strays: The labels that belong to no document of the plan.
    """

    pool: Pool
    sample: Sample
    model: np.ndarray
    label: np.ndarray
    ignored: int
    strays: Strays = Strays()


def judged_queries(labelled: LabelledQueries, how: How[irm.Measure]) -> JudgedQueries:
    """Measure the drawn queries."""
    pool, sample, measure = labelled.pool, labelled.sample, how.measure
    sampled, label = pool.select(sample.rows), labelled.label[np.isin(pool.query_of_document, sample.rows)]
    seen, otherwise = sampled.seen(measure), () if sample.repeated else LOOK_SO_FAR
    basis = Basis(
        measure=str(measure),
        estimator="",
        n_draws=int(sample.draws),
        n_queries=len(sample.rows),
        n_judged=int((seen & (label >= 0)).sum()),
        n_effective=float(effective_size(sample.count, sample.importance(pool.query_weight))),
        census=sample.census,
        missing=missing_pairs(
            sampled.keys, seen & (label < 0), how.missing, otherwise=otherwise, strays=labelled.strays
        ),
        missing_policy=how.missing,
        ignored=labelled.ignored,
        unknown=labelled.strays.kinds,
        label_caution=labelled.strays.caution,
    )
    line = None if sample.census else label_calibration(sampled, measure, label, query_chance(sampled, sample))
    replays = QueryReplays(pool, sample, measure, labelled.label)
    return JudgedQueries(
        names=pool.names,
        basis=replace(basis, model_caution="" if line is None else line.caution),
        sample=sample,
        values=measured_values(sampled, measure, label, expected=how.missing == "expected"),
        pool_weight=pool.query_weight,
        pool_model=labelled.model,
        replays=replays if replays.possible else None,
    )
