"""Mean and covariance of a measure, per query, when labels are drawn from the graded-relevance model."""

from __future__ import annotations

from dataclasses import dataclass

import ir_measures.measures as irm
import numpy as np

from pt_active.relevance import montecarlo
from pt_active.relevance.measures import RankForm, has_rank_form, rank_form


@dataclass(frozen=True)
class Moments:
    """What the model expects of k systems on m queries [theory 3].

    Attributes:
        mean: float64[m, k], ``M(x)``.
        covariance: float64[m, k, k], ``C(x)``.
        monte_carlo_error: float64[m, k], the standard error of ``mean`` from drawing label vectors; None
            where the moments are exact.
    """

    mean: np.ndarray
    covariance: np.ndarray
    monte_carlo_error: np.ndarray | None = None

    def of(self, systems: list[int]) -> Moments:
        """The moments of some of the systems, in the order given."""
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
    quasi_linear: bool = True,
    progress: bool = False,
) -> Moments:
    """Moments of a measure under independent document labels [theory 3].

    Exact for additive and cascade measures, in time linear in the documents (times the pairs of systems, and
    for cascade measures the logarithm of the list length); by seeded Monte Carlo for any other.

    Args:
        measure: As `parse_measure` returns it.
        indptr: int64[m+1], the documents of query x are ``indptr[x]:indptr[x+1]``.
        ranks: int32[k, N], rank of each document in each system from 1; 0 = not retrieved.
        grades: float64[N, G+1], ``P(y = g)``.
        samples: Label vectors per query for Monte Carlo.
        seed: Of the Monte Carlo draws.
        quasi_linear: Whether two-system cascade moments use the segment tree or the plain double loop.
        progress: Whether Monte Carlo shows a progress bar.

    Returns:
        The moments; ``monte_carlo_error`` is None where they are exact.

    Raises:
        ValueError: If a grade lies above ERR's ``max_rel``.
    """
    if not has_rank_form(measure):
        return Moments(*montecarlo.sampled_moments(measure, indptr, ranks, grades, samples, seed, progress))
    form = rank_form(measure, grades.shape[1] - 1, int(ranks.max(initial=0)))
    return _exact(form, indptr, ranks, grades @ np.column_stack([form.values, form.values**2]), quasi_linear)


def document_moments(
    measure: irm.Measure, indptr: np.ndarray, ranks: np.ndarray, values: np.ndarray, max_grade: int
) -> np.ndarray:
    """The measure when each document's variable is known or replaced by its mean.

    An additive measure is linear and a cascade measure multilinear in the document variables [theory 2], so
    this is the measure itself for observed labels and its expectation where ``values`` holds means.

    Args:
        measure: An additive or cascade measure.
        indptr: int64[m+1].
        ranks: int32[k, N].
        values: float64[N, G+1], one-hot for an observed label, probabilities for a missing one.
        max_grade: G.

    Returns:
        float64[m, k].
    """
    form = rank_form(measure, max_grade, int(ranks.max(initial=0)))
    return variable_values(form, indptr, ranks, values @ form.values)


def variable_values(form: RankForm, indptr: np.ndarray, ranks: np.ndarray, variable: np.ndarray) -> np.ndarray:
    """A measure as a function of its document variables, whatever real numbers they are [theory 2].

    Args:
        form: Of the measure.
        indptr: int64[m+1].
        ranks: int32[k, N].
        variable: float64[N], the gain or κ of each document.

    Returns:
        float64[m, k].
    """
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
    """``d_s(z)`` of an additive measure, float64[k, N]; 0 where a system does not retrieve the document."""
    return np.r_[0.0, form.weights, 0.0][np.minimum(ranks, len(form.weights) + 1)]


def _exact(form: RankForm, indptr: np.ndarray, ranks: np.ndarray, variable: np.ndarray, quasi_linear: bool) -> Moments:
    """Moments from the mean and raw second moment of each document's variable, float64[N, 2]."""
    from pt_active.relevance import _kernels

    m, k = len(indptr) - 1, len(ranks)
    mean, covariance = np.zeros((m, k)), np.zeros((m, k, k))
    if form.family == "additive":
        _kernels.additive_moments(indptr, ranks, variable, form.weights, mean, covariance)
    else:
        _kernels.cascade_moments(indptr, ranks, variable, form.weights, quasi_linear, mean, covariance)
    return Moments(mean, covariance)
