"""A label model that is fitted to the labels of a sample of pairs, for its replays [theory 5, 6].

Audits are lost where the label model is too sure of itself: pairs that it is certain of are hardly drawn. So the
model is made as doubtful as the labels of the drawn pairs show it should be, before labels are drawn from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Prior precision of ``log τ`` around 0, of the shifts of grades, and of the reliances on predictors
_PRIOR = np.array([1.0, 4.0, 2.0])
_PRIOR_PAIRS = 50.0  # The prior of ε weighs as much as so many pairs whose labels the model expects
_LEAST = 1e-30  # The least probability of a grade; a smaller one has no logarithm
_ROUNDING = 1e-9  # Logarithms that differ by less, as those of a uniform model do, say nothing


class LabelModel(NamedTuple):
    """A label model after the labels: ``P'(y) = (1 − ε) S(y) + ε s(y)``, ``S(y) ∝ P(y)^τ exp(β_y + Σ κ 1[f = y])``."""

    power: float  # τ; below 1 if the model is too sure of itself
    shift: np.ndarray  # float64[G+1], β; 0 for grade 0
    reliance: np.ndarray  # float64[k], κ, by how much labels agree more with each predictor than the model says
    stray: float  # ε, the share of labels that have nothing to do with the model
    share: np.ndarray  # float64[G+1], s, the shares of the grades among the labels

    def grades(self, grades: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """``P'`` of pairs, float64[N, G+1]."""
        score = self.power * np.log(np.maximum(grades, _LEAST)) + self.shift
        for kappa, column in zip(self.reliance, predicted.T, strict=True):
            score[np.arange(len(score)), column] += kappa
        score = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray((1 - self.stray) * score / score.sum(axis=1, keepdims=True) + self.stray * self.share)


def fitted(grades: np.ndarray, predicted: np.ndarray, label: np.ndarray, as_sure: bool = False) -> LabelModel:
    """The label model of greatest posterior density. Shapes: grades [n, G+1], predicted int64[n, k], label int64[n]."""
    from scipy import optimize

    size, k = grades.shape[1], predicted.shape[1]
    share = (np.bincount(label, minlength=size) + 1 / size) / (len(label) + 1)
    log, own = np.log(np.maximum(grades, _LEAST)), np.eye(size)[label]
    agrees = np.eye(size)[predicted]
    precision = np.repeat(_PRIOR, [1, size - 1, k])

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        power, stray = np.exp(theta[0]), 1 / (1 + np.exp(-theta[-1]))
        beta, kappa = np.r_[0.0, theta[1:size]], theta[size:-1]
        score = power * log + beta + np.einsum("nkg,k->ng", agrees, kappa)
        score = np.exp(score - score.max(axis=1, keepdims=True))
        score /= score.sum(axis=1, keepdims=True)
        hit, by_chance = (score * own).sum(axis=1), share[label]
        total = np.maximum((1 - stray) * hit + stray * by_chance, _LEAST)
        pull = ((1 - stray) * hit / total)[:, None] * (own - score)
        gradient = np.r_[power * (pull * log).sum(), pull.sum(axis=0)[1:], np.einsum("ng,nkg->k", pull, agrees), 0.0]
        gradient[-1] = ((by_chance - hit) / total).sum() * stray * (1 - stray) - _PRIOR_PAIRS * stray
        gradient[:-1] -= precision * theta[:-1]
        value = np.log(total).sum() + _PRIOR_PAIRS * np.log1p(-stray) - (precision * theta[:-1] ** 2).sum() / 2
        return -value, -gradient

    start = np.zeros(1 + size + k)
    start[-1] = -4.0
    doubt = [(0.0, 0.0), (-12.0, -12.0)] if as_sure else [(-4.0, 1.0), (-12.0, 4.0)]
    bounds = [doubt[0], *[(-8.0, 8.0)] * (size - 1 + k), doubt[1]]
    theta = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    stray = 1 / (1 + np.exp(-theta[-1]))
    return LabelModel(float(np.exp(theta[0])), np.r_[0.0, theta[1:size]], theta[size:-1], float(stray), share)


def surprise(grades: np.ndarray, predicted: np.ndarray, label: np.ndarray) -> float:
    """By how many standard deviations labels surprise a model more than it expects: the score test of ``τ = 1``."""
    return excess_surprise(grades, fitted(grades, predicted, label, as_sure=True).grades(grades, predicted), label)


def excess_surprise(grades: np.ndarray, expected: np.ndarray, label: np.ndarray) -> float:
    """``Σ (E[log P(y)] − log P(y))`` over its standard deviation; positive if P is too sure."""
    log = np.log(np.maximum(grades, _LEAST))
    mean = (expected * log).sum(axis=1)
    variance = (expected * (log - mean[:, None]) ** 2).sum()
    excess = (mean - log[np.arange(len(label)), label]).sum()
    if variance > _ROUNDING * len(label):
        return float(excess / np.sqrt(variance))
    return float(np.copysign(np.inf, excess)) if abs(excess) > _ROUNDING * len(label) else 0.0
