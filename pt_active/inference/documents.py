"""From the labels of drawn documents to a mean and its standard error [theory 9].

Each document variable of an additive measure is replaced by one that has the right mean whatever the model says:
``κ̃ = μ + (I/π)(κ − μ)``. Under the drawing ``depth`` the labels of a query become known from the top; the
expectation then changes by a step with each label, and the steps are weighted by ``1/π`` instead. That is unbiased for
any measure [theory 11].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pt_active.inference.class_fit import FOLDS
from pt_active.inference.estimators import ratio_or_zero
from pt_active.inference.residuals import query_residuals
from pt_active.inference.ties import is_rounding
from pt_active.sampling.documents import hedged
from pt_active.sampling.drawings import DEFENSIVE_VARIANCE, REVEALED_VARIANCE, SURPRISES
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentDesign, TwoPhase
from pt_active.sampling.surprises import cautious_error

MIN_QUERIES_FOR_LINE = 30  # With fewer queries judged from the top, means are not corrected


@dataclass(frozen=True)
class DocumentEstimate:
    """An estimated mean over queries, and the parts of its variance."""

    value: float  # The estimate
    first: float  # Variance due to the choice of queries
    second: float  # Variance due to the choice of documents
    degrees_of_freedom: float  # Those of the t distribution that the interval uses
    n_effective: float  # The number of documents of equal influence that would be as informative
    of_query: np.ndarray  # float64[m], the estimate of each query, ``M + (1/Π)(ℓ̃ − M)``
    cautious: float = 0.0  # Variance that is added because few documents carry the estimate of the variance
    scale: float = 0.0  # The sum of the absolute terms of the value; see `ties.is_rounding`
    misfit: float = 0.0  # See `surprises.misfit`

    @property
    def variance(self) -> float:
        """The variance of both phases, which only rounding can make negative, and what caution adds."""
        return max(self.first + self.second, 0.0) + self.cautious

    @property
    def standard_error(self) -> float:
        """Root of the variance."""
        return float(np.sqrt(self.variance))


def predicted(
    pool: DocumentPool,
    sample: TwoPhase,
    mean: np.ndarray,
    observed: np.ndarray,
    contrast: np.ndarray,
    estimator: str,
) -> np.ndarray:
    """The values that stand in for unknown document variables, float64[N]."""
    if estimator not in tuple(DOCUMENT_ESTIMATORS):
        raise ValueError(
            f"unknown estimator {estimator!r} at the level of documents; it is one of {', '.join(DOCUMENT_ESTIMATORS)}"
        )
    if isinstance(pool, RevealedPool):
        reached = (sample.design.inclusion > 0)[:, None]
        return np.where(reached, pool.form.values[0], mean) if estimator == "ht" else mean
    stands_for = DOCUMENT_ESTIMATORS[estimator](pool, sample, mean, observed, contrast)
    return np.where(sample.design.inclusion > 0, stands_for, mean)


def corrected_means(
    pool: DocumentPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrast: np.ndarray
) -> np.ndarray:
    """The model's means, corrected by lines through the labels of other queries and clipped to a cascade's range.

    Depths cost nearly the same together, so those of few other queries tell that of a query, and so does their line.
    """
    if sample.design.nested and len(np.unique(pool.query[sample.design.order])) < MIN_QUERIES_FOR_LINE:
        return mean
    slopes, chance, fold = contrast @ pool.gradients(mean), sample.chance(pool.query), pool.query % FOLDS
    sides = np.column_stack([mean, slopes] if pool.form.family == "additive" else [mean])
    drawn = np.flatnonzero(sample.drawn & (chance < 1) & (slopes != 0))
    query, chance, error = pool.query[drawn], chance[drawn], (observed - mean)[drawn]
    root = np.abs(slopes[drawn]) * pool.weight[query] * np.sqrt(1 - chance) / chance
    corrected = mean.copy()
    for number in range(FOLDS):
        here, others = fold == number, fold[drawn] != number
        weight, known = root[others], sides[drawn[others]]
        if not weight.any():
            continue
        centre = weight**2 @ known / (weight @ weight)
        columns = weight[:, None] * np.column_stack([np.ones(len(weight)), known - centre])
        shift, *slope = np.linalg.lstsq(columns, weight * error[others], rcond=None)[0]
        corrected[here] += shift + (sides[here] - centre) @ np.array(slope)
    return np.clip(corrected, 0.0, pool.form.values.max()) if pool.form.family == "cascade" else corrected


DOCUMENT_ESTIMATORS: dict[str, Callable[[DocumentPool, TwoPhase, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "regression": corrected_means,
    "difference": lambda pool, sample, mean, observed, contrast: mean,
    "ht": lambda pool, sample, mean, observed, contrast: np.zeros_like(mean),
}
"""What stands in for μ of documents that can be drawn, by name, as a function of the arguments of `predicted`: the
model's means corrected by lines through the labels, the model's means as they are, or zero."""


def document_estimate(
    pool: DocumentPool,
    sample: TwoPhase,
    mean: np.ndarray,
    observed: np.ndarray,
    contrast: np.ndarray,
    share: float = 0.0,
) -> DocumentEstimate:
    """Estimate a mean over queries of a contrast of systems [theory 9].

    ``R̂ = Σ p [M + (1/Π)(ℓ̃ − M)]`` over the opened queries, whose values ``ℓ̃`` are themselves estimated from documents.
    The variance is estimated by ``Σ p² (ℓ̃ − M)² (1 − Π)/Π²`` for the choice of queries and ``Σ p² V̂/Π`` for that of
    documents. It is unbiased for ``depth`` and ``successive``.

    Args:
        pool: The pool as the measure sees it.
        sample: What was drawn.
        mean: float64[N], what stands in for unknown documents, see `predicted`.
        observed: float64[N], the values that the labels give; equal to ``mean`` for documents without a label.
        contrast: float64[k], 1 for a system, 1 and −1 for a difference.
        share: The share of the variance of errors that documents of a query are taken to have in common, for additive
            measures; see `residuals.coefficients`.
    """
    residuals = query_residuals(pool, sample, mean, observed, contrast, share)
    opening, values = sample.opening, pool.values(mean)
    model, size = values @ contrast, np.abs(values) @ np.abs(contrast)
    step, weight = residuals.step, ratio_or_zero(pool.weight, opening)
    first = (1 - opening) * (weight * step) ** 2
    second = weight * pool.weight * residuals.variance
    parts = np.maximum(first + second, 0.0)
    influence = (residuals.influence * weight[pool.query])[sample.drawn]
    doubts = np.zeros((1, 1)) if residuals.doubt is None else weight * residuals.doubt
    return DocumentEstimate(
        value=float(pool.weight @ model + weight @ step),
        first=float(first.sum()),
        second=max(float(second.sum()), 0.0),
        degrees_of_freedom=_ratio(3 * parts.sum() ** 2, (parts**2).sum()) - 1 if (parts > 0).sum() > 1 else 0.0,
        n_effective=_ratio(influence.sum() ** 2, (influence**2).sum()),
        cautious=max(max(float(each.sum()) ** 2, float(each @ each)) for each in doubts),
        of_query=model + ratio_or_zero(step, opening),
        scale=float(pool.weight @ size + weight @ (size + residuals.size)),
        misfit=residuals.misfit,
    )


def _ratio(a: float, b: float) -> float:
    return float(a / b) if b > 0 else 0.0


def cautious_variance(pool: DocumentPool, sample: TwoPhase, variables: Variables, contrast: np.ndarray) -> float:
    """The variance ``Σ p² D² v (1/ψ − 1)`` that the grade model expects, with v from `hedged` [theory 9]."""
    design, mean = sample.design, variables.mean
    if isinstance(pool, RevealedPool) and design.drawing == SURPRISES:
        chance = pool.once(lambda: design.chance(pool.query), design.opening, design.inclusion)
        return cautious_error(pool, mean, chance, contrast, REVEALED_VARIANCE)
    if isinstance(pool, RevealedPool):
        (square,) = pool.squares(design.order, mean, contrast[None])
        gain = pool.cautious(design.order, square, pool.differs(contrast), REVEALED_VARIANCE)
    else:
        cautious = hedged(variables, (contrast @ pool.gradients(mean))[None, :], DEFENSIVE_VARIANCE)
        gradient = contrast @ pool.gradients(mean, cautious.variance)
        gain = (pool.weight[pool.query] * gradient) ** 2 * cautious.variance
    return expected_variance(pool, design, gain)


def expected_variance(pool: DocumentPool, design: DocumentDesign, gain: np.ndarray) -> float:
    """``Σ g (1/ψ − 1)`` over the documents that could be drawn, with ``ψ = Π π``."""
    chance = design.chance(np.repeat(np.arange(len(pool.weight)), np.diff(pool.indptr)))
    return float(gain @ ratio_or_zero(1 - chance, chance))


_CAUTIOUS_DEGREES = 2.0  # Degrees of freedom that the variance which the cautious model expects counts for


def widened(estimate: DocumentEstimate, cautious: float) -> DocumentEstimate:
    """Where labels show less than the cautious model expects, ``V̂ = (ν V̂ + 2 V)/(ν + 2)``, as if V had two degrees."""
    if is_rounding(estimate.standard_error, estimate.scale):
        return estimate
    share = _CAUTIOUS_DEGREES / (max(estimate.degrees_of_freedom, 0.0) + _CAUTIOUS_DEGREES)
    return replace(estimate, cautious=estimate.cautious + share * max(cautious - estimate.variance, 0.0))
