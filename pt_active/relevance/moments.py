"""The mean and covariance of a measure, query by query, if labels are drawn from the graded-relevance model.

They are exact for additive and cascade measures, and estimated from seeded label vectors for all others: nDCG and AP
have compiled evaluators, the rest is evaluated by `ir_measures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement

import ir_measures
import ir_measures.measures as irm
import numpy as np

from pt_active.frames.progress import bar
from pt_active.relevance.digits import product
from pt_active.relevance.measures import RankForm, has_rank_form, rank_form

Evaluator = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From labels, int64[B, n], and ranks, int32[k, n], of one query to values, float64[B, k]."""


@dataclass(frozen=True)
class Moments:
    """The moments of a measure for k systems on m queries, under the graded-relevance model [theory 3]."""

    mean: np.ndarray  # float64[m, k], ``M(x)``
    covariance: np.ndarray  # float64[m, k, k], ``C(x)``
    monte_carlo_error: np.ndarray | None = None  # float64[m, k], the standard error of a sampled ``mean``


def label_moments(
    measure: irm.Measure,
    indptr: np.ndarray,
    ranks: np.ndarray,
    grades: np.ndarray,
    *,
    samples: int = 1000,
    seed: int = 0,
    progress: bool = False,
) -> Moments:
    """The moments of a measure if the labels of documents are independent [theory 3].

    Exact ones take time linear in the number of documents, times the pairs of systems, and for cascade
    measures times the ranks that count.

    Args:
        measure: The result of `parse_measure`.
        indptr: int64[m+1]; the documents of query x are ``indptr[x]:indptr[x+1]``.
        ranks: int32[k, N], rank of each document in each system, from 1; 0 = not retrieved.
        grades: float64[N, G+1], ``P(y = g)``.
        samples: The number of label vectors per query for Monte Carlo.
        seed: The seed of the Monte Carlo draws.
        progress: Whether Monte Carlo shows a progress bar.

    Returns:
        The moments; ``monte_carlo_error`` is None if they are exact.

    Raises:
        ValueError: If a grade is above ERR's ``max_rel``.
    """
    m, k, max_grade = len(indptr) - 1, len(ranks), grades.shape[1] - 1
    mean, covariance = np.zeros((m, k)), np.zeros((m, k, k))
    if not has_rank_form(measure):
        if samples < 2:
            raise ValueError(f"Monte Carlo needs at least 2 label vectors a query, got {samples}")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        cumulative = np.cumsum(grades, axis=1)
        evaluate = evaluator(measure, max_grade)
        for x in bar(range(m), f"drawing labels for {measure}", unit="query", shown=progress, delay=1):
            documents = slice(indptr[x], indptr[x + 1])
            uniform = rng.random((samples, indptr[x + 1] - indptr[x]))
            labels = np.zeros(uniform.shape, dtype=np.int64)
            for bound in cumulative[documents, :-1].T:
                labels += uniform > bound
            values = evaluate(labels, ranks[:, documents])
            mean[x] = values.mean(axis=0)
            covariance[x] = np.atleast_2d(np.cov(values, rowvar=False))
        return Moments(mean, covariance, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2) / samples))
    form = rank_form(measure, max_grade, int(ranks.max(initial=0)))
    variable = np.ascontiguousarray(product(grades, np.column_stack([form.values, form.values**2])))
    if form.family == "additive":
        mean = variable_values(form, indptr, ranks, variable[:, 0])
        query, discount = np.repeat(np.arange(m), np.diff(indptr)), discounts(form, ranks)
        variance = np.maximum(variable[:, 1] - variable[:, 0] ** 2, 0.0)
        for a, b in combinations_with_replacement(range(k), 2):
            terms = discount[a] * discount[b] * variance
            covariance[:, a, b] = covariance[:, b, a] = np.bincount(query, terms, m)
        return Moments(mean, covariance)
    from pt_active.relevance import _kernels

    _kernels.cascade_moments(indptr, ranks, variable, form.weights, mean, covariance)
    return Moments(mean, covariance)


def document_moments(
    measure: irm.Measure, indptr: np.ndarray, ranks: np.ndarray, values: np.ndarray, max_grade: int
) -> np.ndarray:
    """The expectation of a measure given some of the labels.

    An additive measure is linear and a cascade measure multilinear in the document variables [theory 2]. So its
    expectation follows from the mean of each variable; if all labels are known, it is the measure itself.

    Args:
        measure: An additive or cascade measure.
        indptr: int64[m+1]; the documents of query x are ``indptr[x]:indptr[x+1]``.
        ranks: int32[k, N], rank of each document in each system, from 1; 0 = not retrieved.
        values: float64[N, G+1], one-hot for a known label, probabilities for a missing one.
        max_grade: G, the highest grade.

    Returns:
        float64[m, k].
    """
    form = rank_form(measure, max_grade, int(ranks.max(initial=0)))
    return variable_values(form, indptr, ranks, product(values, form.values))


def variable_values(form: RankForm, indptr: np.ndarray, ranks: np.ndarray, variable: np.ndarray) -> np.ndarray:
    """float64[m, k], the measure as a function of its document variables, which may be any real numbers [theory 2]."""
    from pt_active.relevance import _kernels

    values = np.zeros((len(indptr) - 1, len(ranks)))
    if form.family == "cascade":
        both, nothing = np.column_stack([variable, variable]), np.zeros(0, dtype=np.int64)
        step = np.zeros(ranks.shape)
        _kernels.cascade_steps(indptr, ranks, both, variable, nothing, form.weights, values, step)
        return values
    query = np.repeat(np.arange(len(values)), np.diff(indptr))
    for system, terms in enumerate(discounts(form, ranks) * variable):
        values[:, system] = np.bincount(query, weights=terms, minlength=len(values))
    return values


def discounts(form: RankForm, ranks: np.ndarray) -> np.ndarray:
    """float64[k, N]: ``d_s(z)``, the rank weight of each document in each system under an additive measure."""
    return np.r_[0.0, form.weights, 0.0][np.minimum(ranks, len(form.weights) + 1)]


def evaluator(measure: irm.Measure, max_grade: int) -> Evaluator:
    """The fastest function that evaluates a measure for many label vectors of one query at once."""
    if measure.NAME == "Judged" or measure.params.get("judged_only"):
        raise ValueError(
            f"{measure} depends on which documents are judged, so a sample of judgments cannot estimate it"
        )
    worth = compiled_worth(measure, max_grade)
    if worth is None:
        return partial(_by_ir_measures, measure)
    from pt_active.relevance import _revealed_kernels

    about = worth, measure.NAME == "AP", measure.params.get("cutoff") or np.iinfo(np.int64).max
    in_memory = np.ascontiguousarray  # the loops are compiled for each order of arrays in memory
    return lambda labels, ranks: _revealed_kernels.measured(in_memory(labels), in_memory(ranks), *about)


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


def _by_ir_measures(measure: irm.Measure, labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The ranking of each system is repeated as one query per label vector."""
    names, values = [str(z) for z in range(labels.shape[1])], np.zeros((len(labels), len(ranks)))
    qrels = {str(b): dict(zip(names, row, strict=True)) for b, row in enumerate(labels.tolist())}
    fixed = ir_measures.evaluator([measure], qrels)
    for system, rank in enumerate(ranks):
        scores = {names[z]: -float(rank[z]) for z in np.flatnonzero(rank)}
        try:
            for metric in fixed.iter_calc(dict.fromkeys(qrels, scores)) if scores else ():
                values[int(metric.query_id), system] = metric.value
        except ZeroDivisionError:
            raise ValueError(f"ir_measures cannot compute {measure} for all labels: it divides by zero") from None
    return values
