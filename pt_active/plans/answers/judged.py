"""What labels say of every drawn query of a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import level
from pt_active.frames.qrels import LOOK_SO_FAR, checked_qrels
from pt_active.inference.estimators import effective_size, estimator_named, is_rounding, mean_and_variance
from pt_active.inference.intervals import reference_degrees
from pt_active.inference.rounds import judged_before
from pt_active.plans.answers.judged_documents import JudgedDocuments, judged_documents
from pt_active.plans.answers.results import Basis, Comparison, Estimate
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import (
    label_calibration,
    match_labels,
    measured_values,
    model_means,
    query_chance,
    sample_arrays,
)
from pt_active.plans.making.pool import Pool

CUT = (
    "the plan was cut to what is judged; the interval is that of a sample whose end was fixed beforehand, `status` has "
    "the one that holds however often one has looked"
)
"""The caution of estimates from a plan that was cut."""


def judged_plan(
    tables: PlanTables, measure: irm.Measure, qrels: pd.DataFrame, missing: str
) -> JudgedSample | JudgedDocuments:
    """Bring the labels of a plan together with its sample; see `judged_sample` and `judged_documents`.

    A plan that was cut to what is judged takes no notice of labels of what was cut off.
    """
    cut = tables.manifest.cut is not None
    qrels = _of_sample(tables, qrels) if cut else qrels
    judged: JudgedSample | JudgedDocuments
    if tables.rounds:
        judged = judged_documents(tables.pool, tables.rounds, measure, qrels, missing)
    else:
        census, means = tables.manifest.census, model_means(tables, measure)
        judged = judged_sample(tables.pool, tables.queries, measure, means, qrels, missing, census)
    return replace(judged, basis=replace(judged.basis, stopping_caution=CUT)) if cut else judged


def _of_sample(tables: PlanTables, qrels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what was sampled."""
    pool, qrels = tables.pool, checked_qrels(qrels)
    drawn = tables.queries["q_draws"].to_numpy() > 0
    wanted = judged_before(tables.rounds) if tables.rounds else drawn[pool.query_of_document]
    return qrels.merge(pool.keys.loc[wanted, ["qid", "docno"]], on=["qid", "docno"])


@dataclass(frozen=True)
class JudgedSample:
    """One row a sampled query.

    Attributes:
        names: The k rankers.
        draws: int64[s], how often each query was drawn.
        importance: float64[s], p/q, or n p/π without replacement.
        inclusion: float64[s], π; None with replacement.
        values: float64[s, k], measured.
        model: float64[s, k], expected by the grade model; NaN where it has no opinion.
        pool_weight: float64[m], p of all queries.
        pool_model: float64[m, k], M of all queries.
        basis: What every inference from it rests on, but for the estimator.
    """

    names: tuple[str, ...]
    draws: np.ndarray
    importance: np.ndarray
    inclusion: np.ndarray | None
    values: np.ndarray
    model: np.ndarray
    pool_weight: np.ndarray
    pool_model: np.ndarray
    basis: Basis

    def estimate(self, ranker: int, estimator: str, reference: str, confidence: float) -> Estimate:
        """Estimate the performance of one ranker [theory 5].

        Args:
            ranker: Its index in ``names``.
            estimator: A name in `estimators.ESTIMATORS`.
            reference: A name in `intervals.REFERENCES`.
            confidence: Level of the interval, in (0, 1).
        """
        columns = self.values[:, ranker], self.model[:, ranker], self.pool_model[:, ranker]
        value, fields = self._infer(*columns, estimator, reference, confidence)
        return Estimate(name=self.names[ranker], value=value, **fields)

    def compare(self, first: int, second: int, estimator: str, reference: str, confidence: float) -> Comparison:
        """Estimate and test the difference of two rankers, first minus second [theory 5]; see `estimate`."""
        values = self.values[:, first] - self.values[:, second]
        model = self.model[:, first] - self.model[:, second]
        pool_model = self.pool_model[:, first] - self.pool_model[:, second]
        difference, fields = self._infer(values, model, pool_model, estimator, reference, confidence)
        return Comparison.tested(self.names[first], self.names[second], difference, fields)

    def _infer(
        self,
        values: np.ndarray,
        model: np.ndarray,
        pool_model: np.ndarray,
        estimator: str,
        reference: str,
        confidence: float,
    ) -> tuple[float, dict]:
        confidence = level("confidence", confidence)
        pool = mean_and_variance(self.pool_weight, pool_model)
        mean = estimator_named(estimator)(self.draws, self.importance, values, model, *pool, self.inclusion)
        error, census = float(mean.standard_error), self.basis.census
        degrees = reference_degrees(reference, mean.degrees_of_freedom, self.basis.n_draws)
        still = bool(is_rounding(mean.standard_error, self.draws, values))
        nothing = census and bool(is_rounding(np.abs(mean.value), self.draws, values))
        fields = {
            "basis": Basis(**{**vars(self.basis), "estimator": estimator}),
            "standard_error": 0.0 if census or still else error,
            "degrees_of_freedom": np.inf if census else float(degrees),
            "confidence_level": confidence,
            "degenerate": bool(self.basis.missing) if census else still,
        }
        return 0.0 if nothing else float(mean.value), fields


def judged_sample(
    pool: Pool,
    queries: pd.DataFrame,
    measure: irm.Measure,
    model: np.ndarray,
    qrels: pd.DataFrame,
    missing: str,
    census: bool,
) -> JudgedSample:
    """Bring the labels of a plan together with its sample.

    Args:
        pool: All queries.
        queries: The plan's table of all queries, with the columns of its sample.
        measure: The measure to estimate.
        model: float64[m, k], what the grade model expects of it.
        qrels: The labels that came back.
        missing: One of `qrels.MISSING_POLICIES`.
        census: Whether all queries were to be judged.

    Raises:
        ValueError: As `match_labels` does.
    """
    rows = np.flatnonzero(queries["q_draws"].to_numpy() > 0)
    sampled = pool.select(rows)
    draws, importance, inclusion = sample_arrays(queries.iloc[rows])
    labels = match_labels(sampled, qrels, measure, missing, "" if inclusion is None else LOOK_SO_FAR)
    basis = Basis(
        measure=str(measure),
        estimator="",
        n_draws=int(draws.sum()),
        n_queries=len(rows),
        n_judged=int((sampled.seen(measure) & (labels.label >= 0)).sum()),
        n_effective=float(effective_size(draws, importance)),
        census=census,
        missing=labels.missing,
        missing_policy=missing,
        ignored=labels.ignored,
    )
    line = (
        None if census else label_calibration(sampled, measure, labels.label, query_chance(sampled, draws, importance))
    )
    basis = replace(basis, model_caution="" if line is None else line.caution)
    values = measured_values(sampled, measure, labels.label, expected=missing == "expected")
    about_pool = pool.query_weight, model
    return JudgedSample(pool.names, draws, importance, inclusion, values, model[rows], *about_pool, basis)
