"""What labels say of every drawn query of a plan [theory 5]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.qrels import LOOK_SO_FAR, missing_pairs
from pt_active.inference.estimators import Controls, effective_size, estimator_named, is_rounding
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured
from pt_active.plans.answers.results import Basis
from pt_active.plans.making.labelled import label_calibration, measured_values, query_chance
from pt_active.plans.making.pool import Pool
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class JudgedQueries(Judged):
    """What the labels say of s sampled queries.

    Attributes:
        sample: The queries that were drawn, as rows of the pool's m.
        values: float64[s, k], measured.
        pool_weight: float64[m], p of all queries.
        pool_model: float64[m, k], expected by the grade model of all queries; NaN where it has no opinion.
    """

    sample: Sample
    values: np.ndarray
    pool_weight: np.ndarray
    pool_model: np.ndarray

    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """The mean over all queries, by an estimator in `estimators.ESTIMATORS`."""
        values, controls = contrast.of(self.values), Controls(self.pool_weight, contrast.of(self.pool_model))
        mean = estimator_named(how.estimator).weigh(self.sample, controls).estimate(values)
        census, count = self.basis.census, self.sample.count
        nothing = census and bool(is_rounding(np.abs(mean.value), count, values))
        return Measured(
            value=0.0 if nothing else float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=replace(self.basis, estimator=how.estimator),
            certain=census,
            still=bool(is_rounding(mean.standard_error, count, values)),
        )


class LabelledQueries(NamedTuple):
    """All queries of a plan, or a group of them, with what was drawn and the labels that came back.

    Attributes:
        pool: The queries.
        sample: Those that were drawn.
        model: float64[m, k], what the grade model expects of the measure.
        label: int64[N], -1 where there is none.
        ignored: How many labels belong to queries that were not drawn.
    """

    pool: Pool
    sample: Sample
    model: np.ndarray
    label: np.ndarray
    ignored: int


def judged_queries(labelled: LabelledQueries, how: How[irm.Measure]) -> JudgedQueries:
    """Measure the drawn queries.

    Args:
        labelled: Queries and labels.
        how: The measure, and what to do about missing labels.

    Raises:
        ValueError: If a document that the measure sees has no label, and the policy does not allow it.
    """
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
        missing=missing_pairs(sampled.keys, seen & (label < 0), how.missing, otherwise=otherwise),
        missing_policy=how.missing,
        ignored=labelled.ignored,
    )
    line = None if sample.census else label_calibration(sampled, measure, label, query_chance(sampled, sample))
    return JudgedQueries(
        names=pool.names,
        basis=replace(basis, model_caution="" if line is None else line.caution),
        sample=sample,
        values=measured_values(sampled, measure, label, expected=how.missing == "expected"),
        pool_weight=pool.query_weight,
        pool_model=labelled.model,
    )
