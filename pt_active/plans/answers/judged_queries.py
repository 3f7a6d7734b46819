"""What labels say of every drawn query of a plan [theory 5]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.qrels import LOOK_SO_FAR, missing_pairs
from pt_active.inference.estimators import effective_size, estimator_named, is_rounding, mean_and_variance
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured
from pt_active.plans.answers.results import Basis
from pt_active.plans.making.labelled import label_calibration, measured_values, query_chance, sample_arrays
from pt_active.plans.making.pool import Pool


@dataclass(frozen=True)
class JudgedQueries(Judged):
    """One row a sampled query.

    Attributes:
        draws: int64[s], how often each query was drawn.
        importance: float64[s], p/q, or n p/π without replacement.
        inclusion: float64[s], π; None with replacement.
        values: float64[s, k], measured.
        model: float64[s, k], expected by the grade model; NaN where it has no opinion.
        pool_weight: float64[m], p of all queries.
        pool_model: float64[m, k], M of all queries.
    """

    draws: np.ndarray
    importance: np.ndarray
    inclusion: np.ndarray | None
    values: np.ndarray
    model: np.ndarray
    pool_weight: np.ndarray
    pool_model: np.ndarray

    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """The mean over all queries, by an estimator in `estimators.ESTIMATORS`."""
        values, model = contrast.of(self.values), contrast.of(self.model)
        pool = mean_and_variance(self.pool_weight, contrast.of(self.pool_model))
        mean = estimator_named(how.estimator)(self.draws, self.importance, values, model, *pool, self.inclusion)
        census = self.basis.census
        nothing = census and bool(is_rounding(np.abs(mean.value), self.draws, values))
        return Measured(
            value=0.0 if nothing else float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=replace(self.basis, estimator=how.estimator),
            certain=census,
            still=bool(is_rounding(mean.standard_error, self.draws, values)),
        )


class LabelledQueries(NamedTuple):
    """All queries of a plan, or a group of them, with what was drawn and the labels that came back.

    Attributes:
        pool: The queries.
        queries: The plan's table of them, with the columns of the sample.
        model: float64[m, k], what the grade model expects of the measure.
        label: int64[N], -1 where there is none.
        census: Whether all queries were to be judged.
        ignored: How many labels belong to queries that were not drawn.
    """

    pool: Pool
    queries: pd.DataFrame
    model: np.ndarray
    label: np.ndarray
    census: bool
    ignored: int


def judged_queries(labelled: LabelledQueries, how: How[irm.Measure]) -> JudgedQueries:
    """Measure the drawn queries.

    Args:
        labelled: Queries and labels.
        how: The measure, and what to do about missing labels.

    Raises:
        ValueError: If a document that the measure sees has no label, and the policy does not allow it.
    """
    pool, queries, measure, census = labelled.pool, labelled.queries, how.measure, labelled.census
    rows = np.flatnonzero(queries["q_draws"].to_numpy() > 0)
    sampled, label = pool.select(rows), labelled.label[np.isin(pool.query_of_document, rows)]
    draws, importance, inclusion = sample_arrays(queries.iloc[rows])
    seen, otherwise = sampled.seen(measure), () if inclusion is None else LOOK_SO_FAR
    basis = Basis(
        measure=str(measure),
        estimator="",
        n_draws=int(draws.sum()),
        n_queries=len(rows),
        n_judged=int((seen & (label >= 0)).sum()),
        n_effective=float(effective_size(draws, importance)),
        census=census,
        missing=missing_pairs(sampled.keys, seen & (label < 0), how.missing, otherwise=otherwise),
        missing_policy=how.missing,
        ignored=labelled.ignored,
    )
    line = None if census else label_calibration(sampled, measure, label, query_chance(sampled, draws, importance))
    return JudgedQueries(
        names=pool.names,
        basis=replace(basis, model_caution="" if line is None else line.caution),
        draws=draws,
        importance=importance,
        inclusion=inclusion,
        values=measured_values(sampled, measure, label, expected=how.missing == "expected"),
        model=labelled.model[rows],
        pool_weight=pool.query_weight,
        pool_model=labelled.model,
    )
