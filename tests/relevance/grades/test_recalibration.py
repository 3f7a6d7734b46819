"""The recalibration of grades: its estimating equations, and its effect on biased models."""

import numpy as np
import pytest
from scipy.special import expit

from pt_active.relevance.grades.recalibration import recalibrated_grades


def distorted(n, seed):
    """An overconfident and biased predictor: logit P = 0.7 + 0.5 logit f."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n) * 2
    truth, said = expit(0.7 + 0.5 * score), expit(score)
    return np.column_stack([1 - said, said]), (rng.random(n) < truth).astype(int), truth


def test_multinomial_recalibration_solves_its_equation():
    """``Σ a (y_k − P'_k) = α_k`` and ``Σ a Σ_k (y_k − P'_k) log f_k = β − 1``, a = weights over their mean.

    So the prior weighs as much as one label of average weight.
    """
    rng = np.random.default_rng(5)
    grades, weights = rng.dirichlet(np.ones(3), size=200), rng.random(200) + 0.2
    labels = np.array([rng.choice(3, p=row) for row in grades])
    labels[rng.random(200) < 0.5] = -1
    found, known = recalibrated_grades(grades, labels, weights), labels >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1)
    odds, before = (np.log(each[:, 1:] / each[:, :1]) for each in (found, grades))
    lines = np.array([np.polyfit(before[:, k], odds[:, k], 1) for k in (0, 1)])
    off = (weights[known] / weights[known].mean())[:, None] * (np.eye(3)[labels] - found)[known]
    np.testing.assert_allclose(off.sum(axis=0)[1:], lines[:, 1], atol=1e-4)
    np.testing.assert_allclose((off * np.log(grades[known])).sum(), lines[:, 0] - 1, atol=1e-4)


def test_recalibration_finds_the_truth_and_the_prior_keeps_it_finite():
    grades, labels, truth = distorted(5000, 7)
    found = recalibrated_grades(grades, labels, np.ones(5000))
    assert np.abs(found[:, 1] - truth).max() < 0.04
    few = np.where(np.arange(5000) < 3, 1, -1)
    cautious = recalibrated_grades(grades, few, np.ones(5000))
    assert ((cautious > 0) & (cautious < 1)).all()
    assert np.abs(cautious - grades).max() < 0.5
    assert recalibrated_grades(grades, np.full(5000, -1), np.ones(5000)) is grades


@pytest.mark.parametrize(
    ("label", "weight", "message"),
    [
        (2, 1, "labels must not be above the highest grade, 1, got 2"),
        (1, 0, "weights of labels must be positive"),
    ],
)
def test_bad_arguments(label, weight, message):
    grades, labels = distorted(6, 1)[0], np.array([0, label, -1, -1, -1, -1])
    with pytest.raises(ValueError, match=message):
        recalibrated_grades(grades, labels, np.full(6, weight))
