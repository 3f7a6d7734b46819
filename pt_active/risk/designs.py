"""Where to spend labels when predictors are audited: the designs of `designs`, and those for pairs that differ [AC]."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pt_active.designs import DEFENSIVE, DESIGNS

GAP_DESIGNS = {"disagreement": 0, "active_inf": 1, "active_0": 2}
"""Designs for two predictors that ask only where they differ: ``q ∝ p |f_1 − f_2|^e``, by the exponent e [AC].

`disagreement` (the source's active≠) needs no label model: it is `optimal` for the zero-one loss with uninformative
binary grades and no difference. `active_0` and `active_inf` are the limits of the squared loss's design where the
predictive variance is nothing, and where it is everything."""

STRATIFIED = "stratified"
"""The name of the baseline of `stratified`."""

AUDIT_DESIGNS = (*DESIGNS, *GAP_DESIGNS, STRATIFIED)
"""All designs of an audit by name."""


def check_design(design: str) -> None:
    """Refuse a name that is no design.

    Raises:
        ValueError: With the names that there are.
    """
    if design not in AUDIT_DESIGNS:
        raise ValueError(f"unknown design {design!r}; the designs are {', '.join(AUDIT_DESIGNS)}")


def default_defensive(design: str) -> float:
    """ε if none is said: 0 where q is to be 0 on pairs whose difference is known to be 0."""
    return 0.0 if design in GAP_DESIGNS else DEFENSIVE


def gap_distribution(
    design: str, predictions: np.ndarray, cost: np.ndarray, weight: np.ndarray, defensive: float = 0.0
) -> np.ndarray:
    """``q ∝ p |f_1 − f_2|^e / √λ`` on the pairs where two predictors differ [AC].

    For more than two predictors the average over their pairs, but for those that never differ.

    Args:
        design: A name in `GAP_DESIGNS`.
        predictions: float64[N, k], f.
        cost: float64[N], λ.
        weight: float64[N], p, sums to 1.
        defensive: ε of the defensive mixture.

    Returns:
        float64[N], sums to 1; with ``defensive=0`` zero where all predictors agree.

    Raises:
        ValueError: If there is one predictor, none differ anywhere, or ``defensive`` lies outside [0, 1].
    """
    if not 0 <= defensive <= 1:
        raise ValueError(f"defensive must lie between 0 and 1, got {defensive}")
    if predictions.shape[1] < 2:
        raise ValueError(f"the design {design!r} compares predictors; there is only one")
    gaps = [np.abs(predictions[:, a] - predictions[:, b]) for a, b in combinations(range(predictions.shape[1]), 2)]
    scores = [weight * np.where(gap > 0, gap ** GAP_DESIGNS[design], 0.0) / np.sqrt(cost) for gap in gaps]
    parts = [score / score.sum() for score in scores if score.sum() > 0]
    if not parts:
        raise ValueError("the predictors agree on every pair: their difference is known to be 0, without any label")
    return np.asarray((1 - defensive) * np.mean(parts, axis=0) + defensive * weight)
