"""A model set right by the labels so far: weighted estimating equations with few parameters [theory 7, AI].

The labels were not drawn uniformly, so each counts ``1/Ê{δ|g}``; what is solved is then what would be solved if the
whole pool were labelled.
"""

from __future__ import annotations

import numpy as np

PRIOR_SCALE = 1.0
"""Standard deviation of the Gaussian prior on the parameters, around those that leave the model as it is. It keeps them
finite where the labels are few or of one grade only."""

LEAST = 1e-6
"""Probabilities below it count as it: a model that rules a grade out can be told otherwise."""


def recalibrated_grades(
    grades: np.ndarray, labels: np.ndarray, weights: np.ndarray, prior_scale: float = PRIOR_SCALE
) -> np.ndarray:
    """``P'(y = k) ∝ exp(α_k + β log f_k)``, ``α_0 = 0``: multinomial recalibration, for two grades the logistic one.

    Solves ``Σ_i a_i (1[y_i = k] − P'_ik) = α_k/σ²`` for each k and
    ``Σ_i a_i Σ_k (1[y_i = k] − P'_ik) log f_ik = (β − 1)/σ²``, a the weights over their mean among the
    labelled. For two grades it is ``logit P' = α + β logit f``.

    Args:
        grades: float64[N, G+1], f.
        labels: int64[N], y; -1 where there is none.
        weights: float64[N], positive, ``1/Ê``; not read where there is no label.
        prior_scale: σ of the prior; large for none.

    Returns:
        float64[N, G+1]; ``grades`` themselves if there is no label.

    Raises:
        ValueError: If a label lies above G, or a weight or the scale is not positive.
    """
    from scipy.optimize import minimize

    _check_weights(labels, weights, grades.shape[1], prior_scale)
    known = labels >= 0
    if not known.any():
        return grades
    features = np.log(np.maximum(grades, LEAST))
    start = np.r_[np.zeros(grades.shape[1] - 1), 1.0]
    share = weights[known] / weights[known].mean()
    found = minimize(
        recalibration_objective,
        start,
        args=(features[known], labels[known], share, prior_scale),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-8},
    )
    return _probabilities(found.x, features)


def recalibration_objective(
    parameters: np.ndarray, features: np.ndarray, labels: np.ndarray, weights: np.ndarray, prior_scale: float
) -> tuple[float, np.ndarray]:
    """The negative log posterior whose gradient is the estimating equation of `recalibrated_grades`, over n.

    Args:
        parameters: float64[G+1], α_1 … α_G and β.
        features: float64[n, G+1], log f.
        labels: int64[n].
        weights: float64[n], a.
        prior_scale: σ.

    Returns:
        The value and its gradient, float64[G+1].
    """
    from scipy.special import logsumexp

    n, prior = len(labels), parameters - np.r_[np.zeros(len(parameters) - 1), 1.0]
    score = np.r_[0.0, parameters[:-1]] + parameters[-1] * features
    logarithm = score - logsumexp(score, axis=1, keepdims=True)
    value = -(weights * logarithm[np.arange(n), labels]).sum() + (prior**2).sum() / (2 * prior_scale**2)
    off = weights[:, None] * (np.exp(logarithm) - np.eye(features.shape[1])[labels])
    gradient = np.r_[off.sum(axis=0)[1:], (off * features).sum()] + prior / prior_scale**2
    return float(value) / n, gradient / n


def recalibrated_line(model: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``α + β f`` by weighted least squares: linear recalibration of a regression.

    Solves ``Σ a (y − α − β f)(1, f) = 0``.

    Args:
        model: float64[N], f.
        values: float64[N], y; NaN where there is no label.
        weights: float64[N], positive; not read where there is no label.

    Returns:
        float64[N]; the model itself where the labels do not determine a line.

    Raises:
        ValueError: If a weight is not positive.
    """
    known = np.isfinite(values)
    _check_positive(weights[known])
    if not known.any() or np.ptp(model[known]) <= 1e-12 * np.abs(model[known]).max():
        return model
    share = weights[known] / weights[known].sum()
    centre, mean = share @ model[known], share @ values[known]
    apart = share * (model[known] - centre)
    slope = (apart @ values[known]) / (apart @ (model[known] - centre))
    return np.asarray(mean + slope * (model - centre))


def _probabilities(parameters: np.ndarray, features: np.ndarray) -> np.ndarray:
    score = np.r_[0.0, parameters[:-1]] + parameters[-1] * features
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _check_weights(labels: np.ndarray, weights: np.ndarray, grades: int, prior_scale: float) -> None:
    if labels.max(initial=-1) >= grades:
        raise ValueError(f"labels must not be above the highest grade, {grades - 1}, got {labels.max()}")
    if not prior_scale > 0:
        raise ValueError(f"prior_scale must be a positive number, got {prior_scale}")
    _check_positive(weights[labels >= 0])


def _check_positive(weights: np.ndarray) -> None:
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError("weights of labels must be positive numbers")
