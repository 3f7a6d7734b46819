"""How far do judges agree on grades [theory 12]?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pt_active.inference.estimators import Controls, MeanEstimate, estimator_named
from pt_active.sampling.sample import Sample


def coincidences(item: np.ndarray, grade: np.ndarray, grades: int) -> np.ndarray:
    """float64[G+1, G+1], Krippendorff's coincidences: how often two judges of one document give each pair of grades."""
    votes = np.zeros((int(item.max(initial=-1)) + 1, grades))
    np.add.at(votes, (item, grade), 1.0)
    judges = votes.sum(axis=1)
    votes, judges = votes[judges > 1], judges[judges > 1]
    share = votes / (judges - 1)[:, None]
    return np.asarray(share.T @ votes - np.diag(share.sum(axis=0)))


def ordinal_alpha(coincidence: np.ndarray) -> float:
    """Krippendorff's alpha for ordinal grades; NaN if no document has two labels, or all labels are the same.

    ``α = 1 − (n − 1) Σ o δ² / Σ n_c n_k δ²``, δ between the grades c < k ``Σ_{c≤g≤k} n_g − (n_c + n_k)/2``
    [Krippendorff 2004, Content Analysis, ch. 11.3].

    Shapes: coincidence float64[G+1, G+1].
    """
    count = coincidence.sum(axis=1)
    middle = np.cumsum(count) - count / 2
    squared = (middle[:, None] - middle[None, :]) ** 2
    expected = float((np.outer(count, count) * squared).sum())
    if expected <= 0:
        return float("nan")
    return 1.0 - (float(count.sum()) - 1.0) * float((coincidence * squared).sum()) / expected


def quadratic_kappa(confusion: np.ndarray) -> float:
    """Cohen's kappa with quadratic weights; NaN if there is no label, or chance alone leaves no disagreement.

    Shapes: confusion float64[G+1, G+1] or int64[G+1, G+1].
    """
    total = float(confusion.sum())
    if total <= 0:
        return float("nan")
    place = np.arange(len(confusion))
    weight = (place[:, None] - place[None, :]) ** 2
    by_chance = np.outer(confusion.sum(axis=1), confusion.sum(axis=0)) / total
    expected = float((weight * by_chance).sum())
    return float("nan") if expected <= 0 else 1.0 - float((weight * confusion).sum()) / expected


def second_opinions(coincidence: np.ndarray) -> np.ndarray:
    """float64[G+1, G+1], the probability of each grade of another judge (columns), given the grade of the first.

    Shapes: coincidence float64[G+1, G+1].
    """
    size = len(coincidence)
    away = np.abs(np.arange(size)[:, None] - np.arange(size)[None, :])
    moved = np.bincount(away.ravel(), coincidence.ravel(), size) / coincidence.sum()
    either_way = np.stack([(away == distance).sum(axis=1) for distance in range(size)], axis=1)
    usual = moved[away] / np.maximum(either_way[np.arange(size)[:, None], away], 1)
    total = usual.sum(axis=1, keepdims=True)
    # From a grade in the middle no other may be so many grades away as all judges were.
    mixed = coincidence + np.divide(usual, total, out=np.eye(size), where=total > 0)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def judges_variance(
    change: np.ndarray, chance: np.ndarray, label: np.ndarray, judges: np.ndarray, coincidence: np.ndarray
) -> float:
    """The variance of an estimate that comes from who judged, beside that of which documents were drawn [theory 12].

    A document with the grade g moves the estimate by ``d(g')`` if another judge gives it g'. Half the mean square of
    ``d`` is the variance of one judge's label in the estimate; it is exact for additive measures, and for others a
    bound of Efron and Stein's kind. The variance of the draws already holds the share ``1 − π`` of it, since what is
    drawn is seen with its judge's error. So ``V = Σ π_i/r_i ½ Σ_g' P(g'|g_i) d_i(g')²``, r_i the number of judges.

    Shapes: change float64[n, G+1], chance float64[n], label and judges int64[n], coincidence float64[G+1, G+1].
    """
    single = 0.5 * (second_opinions(coincidence)[label] * change**2).sum(axis=1)
    return float((chance * single / judges).sum())


Coefficient = Callable[[np.ndarray, int], float]


COEFFICIENTS: dict[str, Coefficient] = {
    "Kappa": lambda shares, pairs: quadratic_kappa(shares),
    "Alpha": lambda shares, pairs: ordinal_alpha(pairs * (shares + shares.T)),
}

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
