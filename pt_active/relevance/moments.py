"""The mean and covariance of a measure, query by query, if labels are drawn from the graded-relevance model."""

from __future__ import annotations

from dataclasses import dataclass

import ir_measures.measures as irm
import numpy as np

from pt_active.relevance import montecarlo
from pt_active.relevance.digits import product
from pt_active.relevance.measures import RankForm, has_rank_form, rank_form


@dataclass(frozen=True)
class Moments:
    """The moments of a measure for k systems on m queries, under the graded-relevance model [theory 3]."""

    mean: np.ndarray  # float64[m, k], ``M(x)``
    covariance: np.ndarray  # float64[m, k, k], ``C(x)``
    monte_carlo_error: np.ndarray | None = None  # float64[m, k], the standard error of a sampled ``mean``

    def of(self, systems: list[int]) -> Moments:
        """The moments of some of the systems, in the given order."""
        error = self.monte_carlo_error
        return Moments(
            self.mean[:, systems],
            self.covariance[:, systems][:, :, systems],
            None if error is None else error[:, systems],
        )


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

    They are exact for additive and cascade measures, and estimated by seeded Monte Carlo for any other. The exact ones
    take time linear in the number of documents, times the pairs of systems, and for cascade measures times the
    logarithm of the list length.

    Args:
        measure: A measure with its parameters, the result of `parse_measure`.
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
    if not has_rank_form(measure):
        return Moments(*montecarlo.sampled_moments(measure, indptr, ranks, grades, samples, seed, progress))
    from pt_active.relevance import _kernels

    form, m, k = rank_form(measure, grades.shape[1] - 1, int(ranks.max(initial=0))), len(indptr) - 1, len(ranks)
    variable = product(grades, np.column_stack([form.values, form.values**2]))
    mean, covariance = np.zeros((m, k)), np.zeros((m, k, k))
    compute = _kernels.additive_moments if form.family == "additive" else _kernels.cascade_moments
    compute(indptr, ranks, variable, form.weights, mean, covariance)
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
        _kernels.cascade_values(indptr, ranks, np.column_stack([variable, variable]), form.weights, values)
        return values
    query = np.repeat(np.arange(len(values)), np.diff(indptr))
    for system, terms in enumerate(discounts(form, ranks) * variable):
        values[:, system] = np.bincount(query, weights=terms, minlength=len(values))
    return values


def discounts(form: RankForm, ranks: np.ndarray) -> np.ndarray:
    """float64[k, N]: ``d_s(z)``, the rank weight of each document in each system under an additive measure."""
    return np.r_[0.0, form.weights, 0.0][np.minimum(ranks, len(form.weights) + 1)]
