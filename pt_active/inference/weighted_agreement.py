"""How far do a judge and people agree beyond chance, from a sample with known probabilities [theory 12]?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pt_active.inference.agreement import ordinal_alpha, quadratic_kappa
from pt_active.inference.estimators import Controls, MeanEstimate, estimator_named
from pt_active.sampling.sample import Sample

# From the shares of all (grade of the judge, grade of people), float64[G+1, G+1], and the number of pairs in the pool
# to a coefficient of agreement
Coefficient = Callable[[np.ndarray, int], float]


def kappa(shares: np.ndarray, pairs: int) -> float:
    """Cohen's kappa with quadratic weights of a judge and people; NaN if chance leaves no disagreement."""
    return quadratic_kappa(shares)


def alpha(shares: np.ndarray, pairs: int) -> float:
    """Krippendorff's ordinal alpha of a judge and people, who both labelled all pairs; NaN if all labels are equal."""
    return ordinal_alpha(pairs * (shares + shares.T))


# The coefficients of agreement by the name that is printed
COEFFICIENTS: dict[str, Coefficient] = {"Kappa": kappa, "Alpha": alpha}

_STEP = 1e-6  # Half the change of a share from which the slope of a coefficient is computed


def agreement_estimate(
    coefficient: Coefficient,
    said: Sequence[np.ndarray],
    label: np.ndarray,
    expected: np.ndarray,
    sample: Sample,
    p: np.ndarray,
    estimator: str,
) -> MeanEstimate:
    """Estimate a coefficient of one judge, or the first minus the second of two.

    The coefficient T of the weighted shares is linearised: a pair that was labelled changes it by ``z = ∂T/∂share − Σ
    share ∂T/∂share`` times its weight. The mean of z over the pool, which the labels and the model estimate, corrects
    T, and its standard error is that of T (Deville 1999).

    Shapes: label int64[n], expected float64[N, G+1], p float64[N].
    """
    importance = sample.importance(p)
    share = sample.count * importance
    share = share / share.sum()
    pool, sign = int((p > 0).sum()), (1.0, -1.0)
    value, slope, model = 0.0, np.zeros(len(label)), np.zeros(len(p))
    for grade, direction in zip(said, sign, strict=False):
        shares = np.zeros((expected.shape[1],) * 2)
        np.add.at(shares, (grade[sample.rows], label), share)
        gradient = _gradient(coefficient, shares, pool)
        gradient -= (shares * gradient).sum()
        value += direction * coefficient(shares, pool)
        slope += direction * gradient[grade[sample.rows], label]
        model += direction * (expected * gradient[grade]).sum(axis=1)
    if not np.isfinite(value):
        return MeanEstimate(np.asarray(np.nan), np.asarray(np.nan), np.asarray(0.0))
    mean = estimator_named(estimator, "pair").weigh(sample, Controls(p, model)).estimate(slope)
    return MeanEstimate(value + mean.value, mean.standard_error, mean.degrees_of_freedom)


def _gradient(coefficient: Coefficient, shares: np.ndarray, pairs: int) -> np.ndarray:
    """``∂T/∂share`` of every cell by central differences, float64[G+1, G+1]."""
    slope = np.empty_like(shares)
    for cell in np.ndindex(*shares.shape):
        step = np.zeros_like(shares)
        step[cell] = _STEP
        slope[cell] = (coefficient(shares + step, pairs) - coefficient(shares - step, pairs)) / (2 * _STEP)
    return slope
