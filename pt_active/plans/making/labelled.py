"""What do the labels say about the rankings in a pool?"""

from __future__ import annotations

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.calibration import Calibration, calibration
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import has_rank_form, rank_form
from pt_active.relevance.moments import Moments, document_moments, evaluator
from pt_active.sampling.sample import Sample

_LEAST_CHANCE = 0.25
"""In the check of a grade model, documents count as if none had been less probable than this share of the median."""


def model_means(tables: PlanTables, measure: irm.Measure) -> np.ndarray:
    """``M(x)`` of every ranker and query under the grade model, float64[m, k], for any measure."""
    if measure == tables.measure:
        return tables.queries[[f"q_mean_{name}" for name in tables.pool.names]].to_numpy()
    return tables.pool.moments(measure).mean


def model_moments(tables: PlanTables, measure: irm.Measure) -> Moments:
    """The moments of a measure, from the plan's tables if they hold the covariance of all rankers."""
    pool, queries = tables.pool, tables.queries
    if len(pool.names) > 2 or measure != tables.measure or tables.manifest.later_rankers:
        return pool.moments(measure)
    mean, variance = (queries[[f"q_{what}_{name}" for name in pool.names]].to_numpy() for what in ("mean", "var"))
    covariance = variance[:, :, None] * np.eye(len(pool.names))
    if len(pool.names) == 2:
        covariance[:, 0, 1] = covariance[:, 1, 0] = queries["q_cov"].to_numpy()
    return Moments(mean, covariance)


def document_variable(measure: irm.Measure, pool: Pool) -> tuple[str, np.ndarray]:
    """The value that a measure gives to each grade of a document; grade models are checked on it."""
    if not has_rank_form(measure):
        return "grade", np.arange(pool.max_grade + 1.0)
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))
    return "gain" if form.family == "additive" else "stopping probability", form.values


def query_chance(sampled: Pool, sample: Sample) -> np.ndarray:
    """float64[N], the probability that each document's query was drawn (with replacement: n q over its draws)."""
    return np.asarray((sample.expected / sample.count)[sampled.query_of_document])


def label_calibration(pool: Pool, measure: irm.Measure, label: np.ndarray, chance: np.ndarray) -> Calibration | None:
    """How well the labels of a sample agree with the grade model; None if there are no labels."""
    use = (label >= 0) & (chance > 0) & pool.seen(measure)
    if not use.any():
        return None
    _, values = document_variable(measure, pool)
    chance = bounded_chance(chance[use])
    return calibration(pool.grades[use] @ values, values[label[use]], chance, pool.query_of_document[use])


def bounded_chance(chance: np.ndarray) -> np.ndarray:
    """float64[n], the probabilities of labelled documents, none far below the median.

    A few labels with huge weights would carry the check of a grade model; it is valid with any weights.
    """
    return np.maximum(chance, _LEAST_CHANCE * np.median(chance))


def measured_values(pool: Pool, measure: irm.Measure, label: np.ndarray) -> np.ndarray:
    """The measure of every ranker for each sampled query, float64[s, k]; ``label`` is int64[N], -1 counting as 0."""
    if has_rank_form(measure):
        grades = np.eye(pool.max_grade + 1)[np.maximum(label, 0)]
        return document_moments(measure, pool.indptr, pool.ranks, grades, pool.max_grade)
    evaluate = evaluator(measure, pool.max_grade)
    queries = [slice(*ends) for ends in zip(pool.indptr[:-1], pool.indptr[1:], strict=True)]
    return np.vstack([evaluate(np.maximum(label[z], 0)[None, :], pool.ranks[:, z]) for z in queries])


def judged_values(pool: Pool, label: np.ndarray, measure: irm.Measure, order: np.ndarray) -> np.ndarray:
    """The measured values of fully judged queries, float64[n, k]; ``order`` is int64[n]."""
    if len(order) == 0:
        return np.empty((0, len(pool.names)))
    rows = np.sort(order)
    labels = label[np.isin(pool.query_of_document, rows)]
    return measured_values(pool.select(rows), measure, labels)[np.searchsorted(rows, order)]
