"""Judgments meet the sample: measured values, model values and weights of every draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.arguments import level
from pt_active.calibration import Calibration, calibration
from pt_active.estimators import effective_size, estimator_named, is_rounding, mean_and_variance, reference_degrees
from pt_active.labels import (
    LOOK_SO_FAR,
    Labels,
    check_judged,
    check_policy,
    missing_pairs,
    warn_of_ignored,
    whole_labels,
)
from pt_active.measures import has_rank_form, rank_form
from pt_active.moments import document_moments
from pt_active.montecarlo import evaluator, sampled_moments
from pt_active.pool import Pool
from pt_active.results import Basis, Comparison, Estimate


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
            reference: A name in `estimators.REFERENCES`.
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


def sample_arrays(sample: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """How often each drawn query was drawn, its importance, and π, which is None with replacement.

    Args:
        sample: ``q_draws, q_importance, q_inclusion`` of drawn queries.
    """
    draws, importance, inclusion = (sample[f"q_{what}"].to_numpy() for what in ("draws", "importance", "inclusion"))
    return draws, importance, None if np.isnan(inclusion).any() else inclusion


def match_labels(pool: Pool, qrels: pd.DataFrame, measure: irm.Measure, missing: str, otherwise: str = "") -> Labels:
    """Find the label of each document of the sampled queries.

    Args:
        pool: The sampled queries alone.
        qrels: ``qid, docno, label``, as they came back.
        measure: Decides which documents need a label.
        missing: One of `labels.MISSING_POLICIES`.
        otherwise: As for `labels.missing_pairs`.

    Returns:
        The labels; a warning says how many belong to queries that were not sampled.

    Raises:
        ValueError: If a label is not one of the model's grades, no label belongs to the sample, or a document that
            the measure sees has none and ``missing`` is ``"error"``.
    """
    check_policy(missing)
    qrels = frames.checked_qrels(qrels)
    check_judged(qrels)
    sampled = qrels["qid"].isin(pool.qids)
    frames.check_highest_grade(qrels[sampled], pool.max_grade)
    ignored = int((~sampled).sum())
    warn_of_ignored(ignored, f"{qrels['qid'][~sampled].nunique()} queries that were not sampled")
    label = whole_labels(pool.keys, qrels)
    if (label < 0).all():
        raise ValueError(
            "no label belongs to a sampled document; do the qids and docnos of the qrels match the plan's?"
        )
    absent = pool.seen(measure) & (label < 0)
    return Labels(label, missing_pairs(pool.keys, absent, missing, otherwise=otherwise), ignored)


def document_variable(measure: irm.Measure, pool: Pool) -> tuple[str, np.ndarray]:
    """What a measure makes of a document's grade, by which a grade model is checked.

    Returns:
        ``gain`` or ``stopping probability`` and its values by grade, float64[G+1]; for a measure that is neither
        additive nor a cascade the ``grade`` itself.
    """
    if not has_rank_form(measure):
        return "grade", np.arange(pool.max_grade + 1.0)
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))
    return "gain" if form.family == "additive" else "stopping probability", form.values


def query_chance(sampled: Pool, draws: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """float64[N], the inclusion probability of each document's query; with replacement the expected draws per draw.

    Args:
        sampled: The drawn queries alone.
        draws: int64[s].
        importance: float64[s].
    """
    chance = sampled.query_weight / (draws * importance / draws.sum())
    return np.asarray(chance[sampled.query_of_document])


def label_calibration(
    pool: Pool, measure: irm.Measure, label: np.ndarray, chance: np.ndarray, grades: np.ndarray | None = None
) -> Calibration | None:
    """How the labels of a sample agree with the grade model, or None without any.

    Args:
        pool: That the labels are of.
        measure: Decides which documents count, and what their grades are worth.
        label: int64[N]; -1 where there is none.
        chance: float64[N], with which each labelled document was to be judged.
        grades: float64[N, G+1], those to check; the pool's if left out.
    """
    use = (label >= 0) & (chance > 0) & pool.seen(measure)
    if not use.any():
        return None
    _, values = document_variable(measure, pool)
    grades = pool.grades if grades is None else grades
    return calibration(grades[use] @ values, values[label[use]], chance[use], pool.query_of_document[use])


def measured_values(pool: Pool, measure: irm.Measure, label: np.ndarray, expected: bool) -> np.ndarray:
    """The measure of every ranker for each sampled query.

    Args:
        pool: The sampled queries alone.
        measure: As `parse_measure` returns it.
        label: int64[N]; -1 where there is none.
        expected: Whether a missing label counts as the model expects it, rather than as grade 0.

    Returns:
        float64[s, k]. With ``expected`` the conditional expectation given the labels: exact for additive and
        cascade measures, since they are multilinear, by Monte Carlo for others.
    """
    known = np.eye(pool.max_grade + 1)[np.maximum(label, 0)]
    grades = np.where((label < 0)[:, None], pool.grades, known) if expected else known
    if has_rank_form(measure):
        return document_moments(measure, pool.indptr, pool.ranks, grades, pool.max_grade)
    if expected and (label < 0).any():
        return sampled_moments(measure, pool.indptr, pool.ranks, grades, samples=1000, seed=0, progress=True)[0]
    evaluate = evaluator(measure, pool.max_grade)
    queries = [slice(*ends) for ends in zip(pool.indptr[:-1], pool.indptr[1:], strict=True)]
    return np.vstack([evaluate(np.maximum(label[z], 0)[None, :], pool.ranks[:, z]) for z in queries])


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
        missing: One of `labels.MISSING_POLICIES`.
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
