"""Recalibration of a model by the labels so far, with weighted estimating equations of few parameters [theory 7, AI].

Labels that were not drawn uniformly are weighted by ``1/Ê{δ|g}``. The weighted equations then estimate those that a
fully labelled pool would give.
"""

from __future__ import annotations

import numpy as np

from pt_active.relevance.grades import fitting

PRIOR_SCALE = 1.0
"""Standard deviation of the Gaussian prior on the parameters, whose mean leaves the model unchanged. The prior keeps
the parameters finite if there are few labels, or labels of one grade only."""

MIN_PROBABILITY = 1e-6  # Smaller probabilities count as this, so that labels can correct a model that rules out a grade


def recalibrated_grades(grades: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``P'(y = k) ∝ exp(α_k + β log f_k)``, ``α_0 = 0``: multinomial recalibration, or logistic for two grades.

    It solves ``Σ_i a_i (1[y_i = k] − P'_ik) = α_k/σ²`` for each k and
    ``Σ_i a_i Σ_k (1[y_i = k] − P'_ik) log f_ik = (β − 1)/σ²``, where a are the weights divided by the mean weight of
    the labels, and σ is `PRIOR_SCALE`. For two grades it is ``logit P' = α + β logit f``.

    Args:
        grades: float64[N, G+1], f.
        labels: int64[N], y; -1 where there is none.
        weights: float64[N], ``1/Ê``, positive; not used where there is no label.

    Returns:
        float64[N, G+1], P'; ``grades`` unchanged if there is no label.

    Raises:
        ValueError: If a label is above G, or a weight is not positive.
    """
    known = labels >= 0
    if labels.max(initial=-1) >= grades.shape[1]:
        raise ValueError(f"labels must not be above the highest grade, {grades.shape[1] - 1}, got {labels.max()}")
    if not (np.isfinite(weights[known]) & (weights[known] > 0)).all():
        raise ValueError("weights of labels must be positive numbers")
    if not known.any():
        return grades
    logs = np.log(np.maximum(grades, MIN_PROBABILITY))
    start = np.r_[np.zeros(grades.shape[1] - 1), 1.0]
    arguments = logs[known], labels[known], weights[known] / weights[known].mean()
    parameters = fitting.optimum(recalibration_objective, start, arguments, "recalibration")
    score = np.r_[0.0, parameters[:-1]] + parameters[-1] * logs
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def recalibration_objective(
    parameters: np.ndarray, features: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """The negative log posterior per label, whose gradient is zero where the estimating equations hold."""
    from scipy.special import logsumexp

    n, prior = len(labels), parameters - np.r_[np.zeros(len(parameters) - 1), 1.0]
    score = np.r_[0.0, parameters[:-1]] + parameters[-1] * features
    logarithm = score - logsumexp(score, axis=1, keepdims=True)
    value = -(weights * logarithm[np.arange(n), labels]).sum() + (prior**2).sum() / (2 * PRIOR_SCALE**2)
    off = weights[:, None] * (np.exp(logarithm) - np.eye(features.shape[1])[labels])
    gradient = np.r_[off.sum(axis=0)[1:], (off * features).sum()] + prior / PRIOR_SCALE**2
    return float(value) / n, gradient / n
