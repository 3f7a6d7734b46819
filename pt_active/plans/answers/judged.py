"""What labels say of every drawn query of a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import level
from pt_active.frames.qrels import LOOK_SO_FAR, checked_qrels
from pt_active.inference.estimators import Controls, effective_size, estimator_named, is_rounding
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
)
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.queries import sample_of
from pt_active.sampling.sample import Sample

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
    cut = "cut" in tables.manifest
    qrels = _of_sample(tables, qrels) if cut else qrels
    judged: JudgedSample | JudgedDocuments
    if tables.rounds:
        judged = judged_documents(tables.pool, tables.rounds, measure, qrels, missing)
    else:
        sample = sample_of(tables.queries, bool(tables.manifest["census"]))
        judged = judged_sample(tables.pool, sample, measure, model_means(tables, measure), qrels, missing)
    return replace(judged, basis=replace(judged.basis, stopping_caution=CUT)) if cut else judged


def _of_sample(tables: PlanTables, qrels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what was sampled."""
    pool, qrels = tables.pool, checked_qrels(qrels)
    drawn = tables.queries["q_draws"].to_numpy() > 0
    wanted = judged_before(tables.rounds) if tables.rounds else drawn[pool.query_of_document]
    return qrels.merge(pool.keys.loc[wanted, ["qid", "docno"]], on=["qid", "docno"])


@dataclass(frozen=True)
class JudgedSample:
    """What the labels say of s sampled queries.

    Attributes:
        names: The k rankers.
        sample: The queries that were drawn, as rows of the pool's m.
        values: float64[s, k], measured.
        pool_weight: float64[m], p of all queries.
        pool_model: float64[m, k], expected by the grade model of all queries; NaN where it has no opinion.
        basis: What every inference from it rests on, but for the estimator.
    """

    names: tuple[str, ...]
    sample: Sample
    values: np.ndarray
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
        columns = self.values[:, ranker], self.pool_model[:, ranker]
        value, fields = self._infer(*columns, estimator, reference, confidence)
        return Estimate(name=self.names[ranker], value=value, **fields)

    def compare(self, first: int, second: int, estimator: str, reference: str, confidence: float) -> Comparison:
        """Estimate and test the difference of two rankers, first minus second [theory 5]; see `estimate`."""
        values = self.values[:, first] - self.values[:, second]
        pool_model = self.pool_model[:, first] - self.pool_model[:, second]
        difference, fields = self._infer(values, pool_model, estimator, reference, confidence)
        return Comparison.tested(self.names[first], self.names[second], difference, fields)

    def _infer(
        self, values: np.ndarray, pool_model: np.ndarray, estimator: str, reference: str, confidence: float
    ) -> tuple[float, dict]:
        confidence = level("confidence", confidence)
        weighting = estimator_named(estimator).weigh(self.sample, Controls(self.pool_weight, pool_model))
        mean, count = weighting.estimate(values), self.sample.count
        error, census = float(mean.standard_error), self.basis.census
        degrees = reference_degrees(reference, mean.degrees_of_freedom, self.basis.n_draws)
        still = bool(is_rounding(mean.standard_error, count, values))
        nothing = census and bool(is_rounding(np.abs(mean.value), count, values))
        fields = {
            "basis": Basis(**{**vars(self.basis), "estimator": estimator}),
            "standard_error": 0.0 if census or still else error,
            "degrees_of_freedom": np.inf if census else float(degrees),
            "confidence_level": confidence,
            "degenerate": bool(self.basis.missing) if census else still,
        }
        return 0.0 if nothing else float(mean.value), fields


def judged_sample(
    pool: Pool, sample: Sample, measure: irm.Measure, model: np.ndarray, qrels: pd.DataFrame, missing: str
) -> JudgedSample:
    """Bring the labels of a plan together with its sample.

    Args:
        pool: All queries.
        sample: The queries that were drawn.
        measure: The measure to estimate.
        model: float64[m, k], what the grade model expects of it.
        qrels: The labels that came back.
        missing: One of `qrels.MISSING_POLICIES`.

    Raises:
        ValueError: As `match_labels` does.
    """
    sampled = pool.select(sample.rows)
    labels = match_labels(sampled, qrels, measure, missing, () if sample.repeated else LOOK_SO_FAR)
    basis = Basis(
        measure=str(measure),
        estimator="",
        n_draws=int(sample.draws),
        n_queries=len(sample.rows),
        n_judged=int((sampled.seen(measure) & (labels.label >= 0)).sum()),
        n_effective=float(effective_size(sample.count, sample.importance(pool.query_weight))),
        census=sample.census,
        missing=labels.missing,
        missing_policy=missing,
        ignored=labels.ignored,
    )
    if not sample.census:
        line = label_calibration(sampled, measure, labels.label, query_chance(sampled, sample))
        basis = replace(basis, model_caution="" if line is None else line.caution)
    values = measured_values(sampled, measure, labels.label, expected=missing == "expected")
    return JudgedSample(pool.names, sample, values, pool.query_weight, model, basis)
