"""Whether the difference of two rankers is more than chance [T 3.2]."""

from __future__ import annotations

import numpy as np


def two_sided_pvalue(difference: float, standard_error: float, degrees: float) -> float:
    """Two-sided p-value of ``H0: Δ = 0`` from ``Δ̂/SE`` on the t distribution [T 3.2, theory 5].

    Args:
        difference: Δ̂.
        standard_error: Of the difference.
        degrees: Of freedom; infinite for the normal.

    Returns:
        A number in [0, 1]. With a standard error of zero, 1 if there is no difference and 0 if there is; 1 if
        there are no degrees of freedom left, since nothing can then be concluded.
    """
    if not degrees > 0 or not np.isfinite(standard_error):
        return 1.0
    if standard_error == 0:
        return float(difference == 0)
    from scipy import special

    statistic = abs(difference) / standard_error
    return float(2 * (special.ndtr(-statistic) if np.isinf(degrees) else special.stdtr(degrees, -statistic)))


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
