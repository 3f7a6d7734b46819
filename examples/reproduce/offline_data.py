"""Fully labelled test pools from data that scikit-learn includes, without downloads.

The tasks are to distinguish the digits 4 and 9, and to predict the diabetes data. Models learn from one half. The test
pool has another distribution: for the digits, noisy copies of the other half, every second one shifted by a pixel; for
diabetes, draws from the other half that prefer a high body mass index, with noise in their features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from audit_replays import Problem, geometric, graded_problem
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import ARDRegression, BayesianRidge, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pt_active.relevance.introspection import gaussian_introspection
from pt_active.risk import Squared, ZeroOne

NOISE = 2.0
"""Standard deviation of the noise added to each pixel (0 … 16) of the test digits."""


@dataclass(frozen=True)
class Split:
    """Training data, and a test pool of another distribution.

    Attributes:
        train: float64[n, d], features.
        train_label: float64[n], labels.
        test: float64[N, d], features of the test pool.
        test_label: float64[N], labels of the test pool.
    """

    train: np.ndarray
    train_label: np.ndarray
    test: np.ndarray
    test_label: np.ndarray


def digits(seed: int) -> Split:
    """4 (label 0) against 9 (label 1); the test pool holds noisy copies of the other half, half of them shifted."""
    data = load_digits()
    wanted = np.isin(data.target, (4, 9))
    image, label = data.images[wanted], (data.target[wanted] == 9).astype(float)
    rng = np.random.default_rng(seed)
    learn = rng.permutation(len(label)) < len(label) // 2
    shifts = [(0, 0), (0, 0), (0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)]
    moved = np.concatenate([np.roll(image[~learn], shift, axis=(1, 2)) for shift in shifts])
    moved = moved + rng.normal(0, NOISE, moved.shape)
    flat = image[learn].reshape(learn.sum(), -1)
    return Split(flat, label[learn], moved.reshape(len(moved), -1), np.tile(label[~learn], len(shifts)))


def diabetes(seed: int) -> Split:
    """Disease progression in standard deviations; the test pool prefers a high body mass index."""
    data = load_diabetes()
    label = (data.target - data.target.mean()) / data.target.std()
    rng = np.random.default_rng(seed)
    learn = rng.permutation(len(label)) < len(label) // 2
    chance = np.exp(data.data[~learn, 2] / data.data[:, 2].std())
    rows = np.flatnonzero(~learn)[rng.choice((~learn).sum(), 1000, p=chance / chance.sum())]
    features = data.data[rows] + rng.normal(0, 0.5 * data.data.std(), (1000, data.data.shape[1]))
    return Split(data.data[learn], label[learn], features, label[rows])


def classified(split: Split, model: object, size: int, rng: np.random.Generator) -> Problem:
    """A classifier trained on part of the training half, with its own probabilities.

    Args:
        split: The data.
        model: A scikit-learn classifier.
        size: Number of training examples.
        rng: Generator that chooses them; both labels occur.
    """
    rows = np.concatenate(
        [[np.argmin(split.train_label), np.argmax(split.train_label)], rng.permutation(len(split.train_label))]
    )
    grades = model.fit(split.train[rows[:size]], split.train_label[rows[:size]]).predict_proba(split.test)
    return graded_problem(ZeroOne(), grades.argmax(axis=1).astype(float), grades, split.test_label)


def regressed(split: Split, size: int, rng: np.random.Generator) -> Problem:
    """A Bayesian ridge regression trained on part of the training half, with its own predictive variance."""
    rows = rng.permutation(len(split.train_label))[:size]
    model = BayesianRidge().fit(split.train[rows], split.train_label[rows])
    mean, spread = model.predict(split.test, return_std=True)
    n = len(mean)
    view = gaussian_introspection(mean[:, None], spread[:, None] ** 2, np.full(n, 1 / n), np.ones(n, dtype=bool))
    density = np.exp(-0.5 * ((split.test_label - mean) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    return Problem(view, *Squared().terms(mean, split.test_label), True, geometric(density), np.inf)


def logistic() -> object:
    """A logistic regression on scaled pixels."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))


def naive_bayes() -> object:
    """Gaussian naive Bayes, whose probabilities are far too certain, since pixels are not independent."""
    return GaussianNB(var_smoothing=1e-2)


def regressions() -> list[Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]]:
    """Five learners, each (features, labels, test features) → mean and variance of the test labels."""
    return [
        lambda *data: _with_deviation(BayesianRidge(), *data),
        lambda *data: _with_deviation(ARDRegression(), *data),
        lambda *data: _with_deviation(_process(), *data),
        _forest_variance,
        _neighbour_variance,
    ]


def _with_deviation(
    model: object, train: np.ndarray, label: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    scaler = StandardScaler().fit(train)
    mean, spread = model.fit(scaler.transform(train), label).predict(scaler.transform(test), return_std=True)
    return mean, spread**2


def _process() -> object:
    kernel = ConstantKernel(0.5) * RBF(5.0) + WhiteKernel(0.5)
    return GaussianProcessRegressor(kernel, n_restarts_optimizer=0, random_state=0)


def _forest_variance(train: np.ndarray, label: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A forest; the variance is the spread of the trees plus the out-of-bag error."""
    forest = RandomForestRegressor(100, min_samples_leaf=3, oob_score=True, random_state=0).fit(train, label)
    trees = np.stack([tree.predict(test) for tree in forest.estimators_])
    return trees.mean(axis=0), trees.var(axis=0) + ((forest.oob_prediction_ - label) ** 2).mean()


def _neighbour_variance(train: np.ndarray, label: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest neighbours; the variance is the spread of their labels."""
    nearest = label[NearestNeighbors(n_neighbors=10).fit(train).kneighbors(test, return_distance=False)]
    return nearest.mean(axis=1), nearest.var(axis=1, ddof=1)
