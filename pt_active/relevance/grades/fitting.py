"""Functions on arrays that fit graded-relevance models to features and labels, and compare them [T 6.3, 6.4].

Every model gives each grade a positive probability, even a grade that no training document has, so that no label has
likelihood 0: half a document of each grade is added to the training labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

PSEUDO_COUNT = 0.5
"""Documents added to the number of documents of each grade: Jeffreys' prior of a multinomial distribution."""

NEAR = 0.4
"""How much less probable each further grade is than the next nearer one to a judge's, if nothing is known of the judge.
With four grades the judge is then right with the probability .51 to .62."""

_NEWTON_STEPS = 3  # Steps from where the search for an optimum ends; each leaves about a millionth of the distance

_STEP = 1e-5  # The difference in a parameter, of the order of 1, from which second derivatives are computed

_ROWS_AT_ONCE = 65_536  # Rows that a forest predicts at once, which bounds the memory for their leaves


def marginal(labels: np.ndarray, max_grade: int) -> np.ndarray:
    """float64[G+1], the smoothed share of each grade among the labels: ``(n_g + ½) / (n + (G + 1) / 2)``."""
    counts = np.bincount(labels, minlength=max_grade + 1) + PSEUDO_COUNT
    return counts / counts.sum()


def widened(probabilities: np.ndarray, grades: np.ndarray, max_grade: int, n: float) -> np.ndarray:
    """Smooth the probabilities of the grades in training over all grades: ``(n P + ½) / (n + (G + 1) / 2)``."""
    wide = np.full((len(probabilities), max_grade + 1), PSEUDO_COUNT)
    wide[:, grades] += n * probabilities
    return wide / wide.sum(axis=1, keepdims=True)


def assumed_confusion(votes: int, max_grade: int, near: float = NEAR) -> np.ndarray:
    """float64[H+1, G+1], ``P(y = g | vote h) ∝ near^|g − h|``: a judge that no human label has checked."""
    chance = near ** np.abs(np.arange(max_grade + 1) - np.arange(votes + 1)[:, None])
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def label_counts(group: np.ndarray, labels: np.ndarray, groups: int, max_grade: int) -> np.ndarray:
    """int64[groups, G+1], how often each label occurs in each group."""
    width = max_grade + 1
    return np.bincount(group * width + labels, minlength=groups * width).reshape(groups, width)


def shrunk(counts: np.ndarray, prior: np.ndarray, smoothing: float = 5.0) -> np.ndarray:
    """The shares of counts in each row, shrunk towards the prior as if by ``smoothing`` more observations."""
    counts = counts + smoothing * prior
    return counts / counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class GradeForest:
    """A random forest with the distribution of the training labels in each leaf."""

    forest: RandomForestRegressor
    leaf_grades: tuple[np.ndarray, ...]  # per tree, float64[nodes, G+1], the labels' shares in each node

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """float64[N, G+1], the label distribution of each row's leaf, averaged over the trees."""
        found = np.empty((len(features), self.leaf_grades[0].shape[1]))
        for at in range(0, len(features), _ROWS_AT_ONCE):
            rows = slice(at, at + _ROWS_AT_ONCE)
            leaves = self.forest.apply(features[rows])
            found[rows] = sum(grades[leaves[:, tree]] for tree, grades in enumerate(self.leaf_grades))
        return found / len(self.leaf_grades)


def fit_forest(
    features: np.ndarray, labels: np.ndarray, max_grade: int, trees: int, min_leaf: int, seed: int
) -> GradeForest:
    """Grow a forest, and count all labels, and the smoothed marginal as one more document, in its leaves."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(n_estimators=trees, min_samples_leaf=min_leaf, random_state=seed, n_jobs=-1)
    forest.fit(features, labels)
    leaves, prior = forest.apply(features), marginal(labels, max_grade)
    nodes = [tree.tree_.node_count for tree in forest.estimators_]
    counts = (label_counts(leaves[:, t], labels, n, max_grade) for t, n in enumerate(nodes))
    return GradeForest(forest, tuple(shrunk(of_tree, prior, smoothing=1.0) for of_tree in counts))


def optimum(
    objective: Callable[..., tuple[float, np.ndarray]], start: np.ndarray, arguments: tuple[Any, ...], what: str
) -> np.ndarray:
    """float64[d], where a convex function with a gradient is least, the same on every processor [theory 17]."""
    if len(start) == 0:
        return start
    from scipy.optimize import minimize

    options = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-7}
    found = minimize(objective, start, args=arguments, jac=True, method="L-BFGS-B", options=options)
    if not found.success:
        warnings.warn(f"the {what} fit stopped early: {found.message}", stacklevel=4)
        return np.asarray(found.x)
    at, steps = found.x, _STEP * np.eye(len(start))
    sides = [[objective(at + sign * step, *arguments)[1] for sign in (1, -1)] for step in steps]
    curvature = np.array([above - below for above, below in sides]) / (2 * _STEP)
    for _ in range(_NEWTON_STEPS):
        at = at - np.linalg.solve((curvature + curvature.T) / 2, objective(at, *arguments)[1])
    return np.asarray(at)


@dataclass(frozen=True)
class OrderedLogit:
    """Proportional odds: ``P(y ≤ g | x) = 1 / (1 + exp(w·x̃ − θ_g))``, where x̃ are the standardised features."""

    grades: np.ndarray  # int64[K], the grades that occurred in training, increasing
    thresholds: np.ndarray  # float64[K-1], θ, increasing
    weights: np.ndarray  # float64[d], w
    centre: np.ndarray  # float64[d], the mean of each feature in training
    scale: np.ndarray  # float64[d], the standard deviation of each feature in training; 1 if the feature was constant
    n: int  # the number of training documents
    max_grade: int  # G, the highest grade, which need not occur in training

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """float64[N, G+1], the probability of each grade, also of those that did not occur in training."""
        from scipy.special import expit

        score = ((features - self.centre) / self.scale) @ self.weights
        lower, upper = (ends[None, :] - score[:, None] for ends in _cell_ends(self.thresholds))
        # The product equals expit(upper) − expit(lower), which would cancel in the tails.
        occurred = expit(upper) * expit(-lower) * -np.expm1(lower - upper)
        return widened(occurred, self.grades, self.max_grade, self.n)


def fit_ordered_logit(features: np.ndarray, labels: np.ndarray, max_grade: int, prior_scale: float) -> OrderedLogit:
    """Fit by maximum a posteriori with ``w ~ N(0, prior_scale²)``; a warning if the optimiser stops early."""
    from scipy.special import logit

    grades, codes = np.unique(labels, return_inverse=True)
    centre, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > 1e-12 * np.abs(centre), spread, 1.0)
    # The search begins where every document has the marginal distribution of the grades.
    marginal = logit(np.cumsum(np.bincount(codes))[:-1] / len(codes))
    start = np.concatenate([marginal[:1], np.log(np.diff(marginal)), np.zeros(features.shape[1])])
    standardised = np.where(scale == spread, (features - centre) / scale, 0.0)
    arguments = standardised, codes, prior_scale
    fitted = optimum(ordered_logit_objective, start, arguments, "ordered logit")
    cuts = len(grades) - 1
    return OrderedLogit(grades, _thresholds(fitted[:cuts]), fitted[cuts:], centre, scale, len(labels), max_grade)


def ordered_logit_objective(
    parameters: np.ndarray, features: np.ndarray, codes: np.ndarray, prior_scale: float
) -> tuple[float, np.ndarray]:
    """Negative log posterior and gradient; ``log σ(u) + log σ(−l) + log(1 − e^{l−u})`` does not cancel in tails."""
    from scipy.special import expit

    n, cuts = len(codes), len(parameters) - features.shape[1]
    slopes = parameters[cuts:]
    score = features @ slopes
    lower, upper = (ends[codes] - score for ends in _cell_ends(_thresholds(parameters[:cuts])))
    loglik = -np.logaddexp(0, -upper) - np.logaddexp(0, lower) + np.log(-np.expm1(lower - upper))
    gap = np.exp(lower - upper) / -np.expm1(lower - upper)
    by_upper, by_lower = expit(-upper) + gap, -expit(lower) - gap
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
