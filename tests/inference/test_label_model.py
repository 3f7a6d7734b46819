"""The label model that is fitted for replays of audits."""

from itertools import product

import numpy as np
import pytest

from pt_active.inference.label_model import excess_surprise, fitted, surprise


def model_of(n, seed):
    """Grade probabilities, predictions, and the source of randomness."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet([1.0, 0.7, 0.5], n), rng.integers(0, 3, (n, 1)), rng


def labels_of(grades, rng):
    return (rng.random(len(grades))[:, None] > grades.cumsum(axis=1)[:, :-1]).sum(axis=1)


def sharper(grades):
    return grades**4 / (grades**4).sum(axis=1, keepdims=True)


def test_doubts_stray_labels_and_reliable_predictors_are_found():
    truth, predicted, rng = model_of(4000, 0)
    label = labels_of(truth, rng)
    sure = sharper(truth)
    model = fitted(sure, predicted, label)
    assert (model.power, model.stray) == (pytest.approx(0.25, abs=0.02), pytest.approx(0, abs=0.01))
    np.testing.assert_allclose(model.grades(sure, predicted), truth, atol=0.05)
    fair = fitted(truth, predicted, label)
    assert fair.power == pytest.approx(1, abs=0.08)
    assert np.abs(fair.reliance).max() < 0.15
    label = np.where(rng.random(4000) < 0.1, rng.integers(0, 3, 4000), labels_of(sure, rng))
    model = fitted(sure, predicted, label)
    assert (model.power, model.stray) == (pytest.approx(1, abs=0.15), pytest.approx(0.1, abs=0.03))
    uniform = np.full((4000, 3), 1 / 3)
    label = np.where(rng.random(4000) < 0.9, predicted[:, 0], label)
    grades = fitted(uniform, predicted, label).grades(uniform, predicted)
    agrees = grades[np.arange(4000), predicted[:, 0]].mean()
    assert agrees == pytest.approx((label == predicted[:, 0]).mean(), abs=0.01)
    np.testing.assert_allclose(grades.mean(axis=0), np.bincount(label) / 4000, atol=0.01)


def test_surprise_is_standardised_over_all_labels():
    grades = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0], [0.05, 0.9, 0.05]])
    labels = np.array(list(product(range(3), repeat=3)))
    chance = grades[np.arange(3), labels].prod(axis=1)
    values = np.array([excess_surprise(grades, grades, y) for y in labels[chance > 0]])
    chance = chance[chance > 0]
    assert chance @ values == pytest.approx(0, abs=1e-9)
    assert chance @ values**2 == pytest.approx(1, abs=1e-9)
    assert excess_surprise(grades, grades, np.array([2, 0, 2])) > 2
    known = np.array([[1.0, 0.0]])
    assert [excess_surprise(known, known, np.array([label])) for label in (0, 1)] == [0, np.inf]
    truth, predicted, rng = model_of(60, 4)
    assert surprise(np.full((60, 3), 1 / 3), predicted, labels_of(truth, rng)) == 0
    assert surprise(sharper(truth), predicted, labels_of(truth, rng)) > 2
