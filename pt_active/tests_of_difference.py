"""Whether the difference of two rankers is more than chance [T 3.2]."""

from __future__ import annotations

import numpy as np


def two_sided_pvalue(
    difference: np.ndarray | float, standard_error: np.ndarray | float, degrees: np.ndarray | float
) -> np.ndarray:
    """Two-sided p-value of ``H0: Δ = 0`` from ``Δ̂/SE`` on the t distribution [T 3.2, theory 5].

    Args:
        difference: Δ̂, of one comparison or an array of them, like the others.
        standard_error: Of the difference.
        degrees: Of freedom; infinite for the normal.

    Returns:
        Numbers in [0, 1]. With a standard error of zero, 1 if there is no difference and 0 if there is; 1 if
        there are no degrees of freedom left, since nothing can then be concluded.
    """
    from scipy import special

    usable = (np.asarray(degrees) > 0) & np.isfinite(standard_error)
    statistic = absolute_statistic(difference, standard_error)
    return np.where(usable, 2 * special.stdtr(np.where(usable, degrees, 1.0), -statistic), 1.0)


def cross_validated_error(differences: np.ndarray, corrected: bool = True) -> np.ndarray:
    """Standard error of the mean difference ``δ̄`` of two learning algorithms over ``J = R K`` folds [CV].

    ``SE² = (1/J + 1/(K − 1)) s²`` with ``s² = Σ (δ − δ̄)²/(J − 1)``. The first term alone is the plain K-fold paired
    t-test [CV], which takes the folds as independent. The second is for their training sets, which overlap: a test
    fold has ``1/(K − 1)`` the size of its training set [NB; BF where R > 1]. The t distribution has ``J − 1``
    degrees of freedom.

    Args:
        differences: float64[..., R, K], δ of the K folds of each of R repeats.
        corrected: Whether the second term counts.

    Returns:
        float64[...].
    """
    repeats, folds = differences.shape[-2:]
    overlap = 1 / (folds - 1) if corrected else 0.0
    variance = differences.reshape(*differences.shape[:-2], -1).var(axis=-1, ddof=1)
    return np.sqrt((1 / (repeats * folds) + overlap) * variance)


def absolute_statistic(difference: np.ndarray | float, standard_error: np.ndarray | float) -> np.ndarray:
    """``|Δ̂|/SE``: 0 if there is no difference, infinite if there is one and the standard error is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(difference) == 0, 0.0, np.abs(difference) / np.asarray(standard_error))


def corrected_pvalues(pvalues: np.ndarray, alpha: float, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Correct p-values of several comparisons; NaN (the baseline itself) stays out.

    Args:
        pvalues: float64[k].
        alpha: Family-wise level.
        method: A name that statsmodels' ``multipletests`` knows.

    Returns:
        bool[k], which are rejected, and float64[k], the corrected p-values.
    """
    from statsmodels.stats.multitest import multipletests

    reject, corrected = np.zeros(len(pvalues), dtype=bool), np.full(len(pvalues), np.nan)
    tested = ~np.isnan(pvalues)
    if tested.any():
        reject[tested], corrected[tested] = multipletests(pvalues[tested], alpha=alpha, method=method)[:2]
    return reject, corrected
