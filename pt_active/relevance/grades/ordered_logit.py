"""The proportional odds model of `OrderedLogitGrades`, fitted by maximum a posteriori [T 6.4]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from pt_active.relevance.grades import fitting


@dataclass(frozen=True)
class OrderedLogit:
    """Proportional odds: ``P(y ≤ g | x) = 1 / (1 + exp(w·x̃ − θ_g))``, where x̃ are the standardised features."""

    grades: np.ndarray  # int64[K], the grades that occurred in training, increasing
    thresholds: np.ndarray  # float64[K-1], θ, increasing
    weights: np.ndarray  # float64[d], w
    centre: np.ndarray  # float64[d], the mean of each feature in training
    scale: np.ndarray  # float64[d], the standard deviation of each feature in training; 1 if the feature was constant
    n: float  # the number of training documents, or the sum of their weights

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """float64[N, K], the probability of each grade that occurred in training."""
        score = ((features - self.centre) / self.scale) @ self.weights
        lower, upper = (ends[None, :] - score[:, None] for ends in _cell_ends(self.thresholds))
        # The product equals expit(upper) − expit(lower), which would cancel in the tails.
        return expit(upper) * expit(-lower) * -np.expm1(lower - upper)

    def all_grades(self, features: np.ndarray, max_grade: int) -> np.ndarray:
        """float64[N, G+1], the grades 0 … G, also those that did not occur in training."""
        return fitting.widened(self.probabilities(features), self.grades, max_grade, self.n)


def fit_ordered_logit(
    features: np.ndarray, labels: np.ndarray, prior_scale: float, weights: np.ndarray | None = None
) -> OrderedLogit:
    """Fit by maximum a posteriori with ``w ~ N(0, prior_scale²)``; a warning if the optimiser stops early."""
    grades, codes = np.unique(labels, return_inverse=True)
    centre, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > 1e-12 * np.abs(centre), spread, 1.0)
    # The search begins where every document has the marginal distribution of the grades.
    marginal = logit(np.cumsum(np.bincount(codes))[:-1] / len(codes))
    start = np.concatenate([marginal[:1], np.log(np.diff(marginal)), np.zeros(features.shape[1])])
    standardised = np.where(scale == spread, (features - centre) / scale, 0.0)
    fitted = fitting.optimum(
        ordered_logit_objective, start, (standardised, codes, prior_scale, weights), "ordered logit"
    )
    cuts, n = len(grades) - 1, len(labels) if weights is None else max(float(weights.sum()), 1.0)
    return OrderedLogit(grades, _thresholds(fitted[:cuts]), fitted[cuts:], centre, scale, n)


def ordered_logit_objective(
    parameters: np.ndarray,
    features: np.ndarray,
    codes: np.ndarray,
    prior_scale: float,
    weights: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Negative log posterior and gradient; ``log σ(u) + log σ(−l) + log(1 − e^{l−u})`` does not cancel in tails."""
    n, cuts = len(codes), len(parameters) - features.shape[1]
    slopes = parameters[cuts:]
    score = features @ slopes
    lower, upper = (ends[codes] - score for ends in _cell_ends(_thresholds(parameters[:cuts])))
    loglik = -np.logaddexp(0, -upper) - np.logaddexp(0, lower) + np.log(-np.expm1(lower - upper))
    gap = np.exp(lower - upper) / -np.expm1(lower - upper)
    by_upper, by_lower = expit(-upper) + gap, -expit(lower) - gap
    if weights is not None:
        loglik, by_upper, by_lower = weights * loglik, weights * by_upper, weights * by_lower
    value = -loglik.sum() + (slopes**2).sum() / (2 * prior_scale**2)
    by_threshold = -np.bincount(codes, by_upper, cuts + 1)[:-1] - np.bincount(codes, by_lower, cuts + 1)[1:]
    by_slope = features.T @ (by_upper + by_lower) + slopes / prior_scale**2
    # Each parameter of the cuts moves all thresholds from its own upwards.
    moved = np.cumsum(by_threshold[::-1])[::-1]
    gradient = np.concatenate([moved[:1], moved[1:] * np.exp(parameters[1:cuts]), by_slope])
    return float(value) / n, gradient / n


def _cell_ends(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper end of each grade on the latent scale, float64[K] each."""
    return np.concatenate([[-np.inf], thresholds]), np.concatenate([thresholds, [np.inf]])


def _thresholds(cut_parameters: np.ndarray) -> np.ndarray:
    """float64[K-1], θ from the parameters ``θ_0, log(θ_1 − θ_0), …``."""
    return np.cumsum(np.concatenate([cut_parameters[:1], np.exp(cut_parameters[1:])]))
