"""The label model that is fitted for replays of audits, and the score statistic."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.estimators import estimators_of
from pt_active.inference.intervals import score_interval, score_statistic
from pt_active.inference.label_model import excess_surprise, fitted, surprise
from pt_active.inference.ratios import Scores, ratio_estimate, stratified_mean
from pt_active.inference.reference import redrawn
from pt_active.sampling.sample import Sample


def model_of(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Grade probabilities, predictions, and the source of randomness."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet([1.0, 0.7, 0.5], n), rng.integers(0, 3, (n, 1)), rng


def labels_of(grades: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(grades))[:, None] > grades.cumsum(axis=1)[:, :-1]).sum(axis=1)


def test_a_model_that_is_too_sure_is_made_as_doubtful_as_its_labels() -> None:
    truth, predicted, rng = model_of(4000, 0)
    label = labels_of(truth, rng)
    sure = truth**4 / (truth**4).sum(axis=1, keepdims=True)
    model = fitted(sure, predicted, label)
    assert model.power == pytest.approx(0.25, abs=0.02)
    assert model.stray < 0.01
    np.testing.assert_allclose(model.grades(sure, predicted), truth, atol=0.05)
    fair = fitted(truth, predicted, label)
    assert fair.power == pytest.approx(1, abs=0.08)
    assert np.abs(fair.reliance).max() < 0.15


def test_stray_labels_and_reliable_predictors_are_found() -> None:
    truth, predicted, rng = model_of(4000, 1)
    sure = np.maximum(truth**8, 1e-6)
    sure /= sure.sum(axis=1, keepdims=True)
    stray = rng.random(4000) < 0.1
    label = np.where(stray, rng.integers(0, 3, 4000), labels_of(sure, rng))
    model = fitted(sure, predicted, label)
    assert model.stray == pytest.approx(0.1, abs=0.03)
    assert model.power == pytest.approx(1, abs=0.15)
    uniform = np.full((4000, 3), 1 / 3)
    label = np.where(rng.random(4000) < 0.9, predicted[:, 0], label)
    grades = fitted(uniform, predicted, label).grades(uniform, predicted)
    agrees = grades[np.arange(4000), predicted[:, 0]].mean()
    assert agrees == pytest.approx((label == predicted[:, 0]).mean(), abs=0.01)
    np.testing.assert_allclose(grades.mean(axis=0), np.bincount(label) / 4000, atol=0.01)


def test_surprise_is_standardised_over_all_labels() -> None:
    grades = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0], [0.05, 0.9, 0.05]])
    labels = [y for y in product(range(3), repeat=3) if grades[np.arange(3), y].prod() > 0]
    chance = np.array([grades[np.arange(3), y].prod() for y in labels])
    values = np.array([excess_surprise(grades, grades, np.array(y)) for y in labels])
    assert chance @ values == pytest.approx(0, abs=1e-9)
    assert chance @ values**2 == pytest.approx(1, abs=1e-9)
    assert excess_surprise(grades, grades, np.array([2, 0, 2])) > 2
    known = np.array([[1.0, 0.0]])
    assert excess_surprise(known, known, np.array([0])) == 0
    assert excess_surprise(known, known, np.array([1])) == np.inf
    uniform, (truth, predicted, rng) = np.full((60, 3), 1 / 3), model_of(60, 4)
    assert surprise(uniform, predicted, labels_of(truth, rng)) == 0


def test_a_predictor_that_knows_more_than_the_model_is_no_surprise() -> None:
    """Labels of pairs that are drawn because a good predictor contradicts the model."""
    truth, predicted, rng = model_of(6000, 3)
    label = labels_of(truth, rng)
    predicted[:, 0] = np.where(rng.random(6000) < 0.9, label, predicted[:, 0])
    drawn = truth[np.arange(6000), predicted[:, 0]] < 0.3
    some = np.flatnonzero(drawn)[:200]
    assert excess_surprise(truth[some], truth[some], label[some]) > 5
    assert surprise(truth[some], predicted[some], label[some]) < 2
    sure = truth**4 / (truth**4).sum(axis=1, keepdims=True)
    assert surprise(sure[:200], predicted[:200], label[:200]) > 2


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, 20.0), (-1.0, 3.0), (0.0, np.inf)])
@pytest.mark.parametrize(("value", "error"), [(0.3, 0.05), (0.01, 0.02), (0.0, 0.0)])
def test_the_statistic_is_the_quantile_at_the_ends_of_the_interval(bounds, value: float, error: float) -> None:
    if error == 0 and not np.isfinite(bounds[1]):
        return
    value = value + bounds[0]
    quantile = stats.t.ppf(0.95, 7)
    ends = np.array(score_interval(value, error, 7, 0.9, bounds, 25.0))
    inside = ends[(ends > bounds[0]) & (ends < bounds[1])]
    statistic, _ = score_statistic(np.full(len(inside), value), np.full(len(inside), error), inside, bounds, 25.0)
    np.testing.assert_allclose(np.abs(statistic), quantile, rtol=1e-6)
    assert (np.sign(statistic) == np.sign(value - inside)).all()
    assert score_statistic(np.array([value]), np.array([error]), np.array([value]), bounds, 25.0)[0][0] == 0


def many_samples(seed: int) -> tuple[list[Scores], Sample, np.ndarray]:
    """Eight samples of 6 of 60 pairs, with the scores of two predictors."""
    rng = np.random.default_rng(seed)
    q, p = rng.dirichlet(np.ones(60)), np.full(60, 1 / 60)
    sample = Sample(np.arange(6), np.ones(6, dtype=int), np.full(6, 0.1), q=q)
    sample = redrawn(sample, 8, rng)
    expectations = rng.random((4, 60))
    scores = [Scores(*(rng.random((2, 8, 6)) > 0.4).astype(float), *expectations[2 * s : 2 * s + 2]) for s in range(2)]
    return scores, sample, p


@pytest.mark.parametrize("estimator", estimators_of("pair"))
@pytest.mark.parametrize("number", [1, 2])
def test_many_samples_have_the_estimates_of_each(estimator: str, number: int) -> None:
    scores, sample, p = many_samples(number)
    ours = ratio_estimate(scores[:number], sample, p, estimator)
    for r in range(8):
        one = [Scores(s.numerator[r], s.weight[r], s.expected_numerator, s.expected_weight) for s in scores[:number]]
        alone = Sample(sample.rows[r], sample.count[r], sample.expected[r])
        wanted = ratio_estimate(one, alone, p, estimator)
        for name in ("value", "standard_error", "degrees_of_freedom"):
            assert getattr(ours, name)[r] == pytest.approx(float(getattr(wanted, name)), rel=1e-8, nan_ok=True), name


def test_strata_of_many_samples_are_those_of_each() -> None:
    rng = np.random.default_rng(4)
    stratum, values = np.tile([0, 0, 1, 1, 1], (3, 1)), rng.random((3, 5))
    values[2] = 0.5
    together = stratified_mean(values, stratum, np.array([10, 20]))
    for r in range(3):
        alone = stratified_mean(values[r], stratum[r], np.array([10, 20]))
        for name in ("value", "standard_error", "degrees_of_freedom"):
            assert getattr(together, name)[r] == pytest.approx(float(getattr(alone, name)), abs=1e-14)
    assert together.degrees_of_freedom[2] == 3
