"""The moments of measures that are neither additive nor cascade, estimated from seeded draws of label vectors.

nDCG and AP have compiled evaluators; all other measures are evaluated by `ir_measures`.
"""

from __future__ import annotations

from collections.abc import Callable

import ir_measures
import ir_measures.measures as irm
import numpy as np

from pt_active.frames.progress import bar

Evaluator = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From labels, int64[B, n], and ranks, int32[k, n], of one query to values, float64[B, k]."""


def sampled_moments(
    measure: irm.Measure,
    indptr: np.ndarray,
    ranks: np.ndarray,
    grades: np.ndarray,
    samples: int,
    seed: int,
    progress: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample mean and covariance of a measure over seeded label vectors of each query [theory 3]."""
    if samples < 2:
        raise ValueError(f"Monte Carlo needs at least 2 label vectors a query, got {samples}")
    m, k = len(indptr) - 1, len(ranks)
    mean, covariance = np.zeros((m, k)), np.zeros((m, k, k))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    cumulative = np.cumsum(grades, axis=1)
    evaluate = evaluator(measure, grades.shape[1] - 1)
    for x in bar(range(m), f"label vectors for {measure}", unit="query", shown=progress, delay=1):
        documents = slice(indptr[x], indptr[x + 1])
        labels = _draw_labels(cumulative[documents], samples, rng)
        values = evaluate(labels, ranks[:, documents])
        mean[x] = values.mean(axis=0)
        covariance[x] = np.atleast_2d(np.cov(values, rowvar=False))
    error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2) / samples)
    return mean, covariance, error


def _draw_labels(cumulative: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """int64[samples, n], grades drawn from the cumulative probabilities of n documents, float64[n, G+1]."""
    uniform = rng.random((samples, len(cumulative)))
    labels = np.zeros(uniform.shape, dtype=np.int64)
    for bound in cumulative[:, :-1].T:
        labels += uniform > bound
    return labels


def evaluator(measure: irm.Measure, max_grade: int) -> Evaluator:
    """The fastest function that evaluates a measure for many label vectors of one query at once."""
    if measure.NAME == "Judged" or measure.params.get("judged_only"):
        raise ValueError(
            f"{measure} depends on which documents are judged, so a sample of judgments cannot estimate it"
        )
    worth = compiled_worth(measure, max_grade)
    if worth is None:
        return _with_ir_measures(measure)
    from pt_active.relevance import _revealed_kernels

    about = worth, measure.NAME == "AP", measure.params.get("cutoff") or np.iinfo(np.int64).max
    return lambda labels, ranks: _revealed_kernels.measured(labels, ranks, *about)


def is_compiled(measure: irm.Measure) -> bool:
    """Whether a measure has a compiled evaluator, which takes microseconds for a label vector."""
    return measure.NAME in ("nDCG", "AP")


def compiled_worth(measure: irm.Measure, max_grade: int) -> np.ndarray | None:
    """float64[G+1], the gain of each grade for nDCG, and 1 for relevant grades for AP; None if nothing is compiled."""
    if not is_compiled(measure):
        return None
    grade = np.arange(max_grade + 1)
    if measure.NAME == "AP":
        return (grade >= measure["rel"]).astype(float)
    gain = (2.0**grade - 1 if measure["dcg"] == "exp-log2" else grade).astype(float)
    for label, value in (measure.params.get("gains") or {}).items():
        if 0 <= label <= max_grade:
            gain[label] = value
    return gain


def _with_ir_measures(measure: irm.Measure) -> Evaluator:
    def evaluate(labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        names = [str(z) for z in range(labels.shape[1])]
        qrels = {str(b): dict(zip(names, row, strict=True)) for b, row in enumerate(labels.tolist())}
        fixed = ir_measures.evaluator([measure], qrels)
        return np.column_stack([_values(fixed, rank, names, len(labels)) for rank in ranks])

    return evaluate


def _values(fixed: ir_measures.Evaluator, rank: np.ndarray, names: list[str], samples: int) -> np.ndarray:
    """float64[samples], the values of one system, whose ranking is repeated as one query per label vector."""
    scores = {names[z]: -float(rank[z]) for z in np.flatnonzero(rank)}
    if not scores:
        return np.zeros(samples)
    run = {str(b): scores for b in range(samples)}
    values = np.zeros(samples)
    for metric in fixed.iter_calc(run):
        values[int(metric.query_id)] = metric.value
    return values
