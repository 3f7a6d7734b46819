"""Losses compared with counts of a confusion matrix, and their moments under the label model with enumeration."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import fbeta_score, precision_score, recall_score

from pt_active.relevance.introspection import gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import (
    LOSSES,
    MIN_PROBABILITY,
    CrossEntropy,
    Loss,
    described,
    from_description,
    label_table,
)
from pt_active.risk import F1, Accuracy, CostMatrix, FMeasure, GaussianSquared, Precision, Recall, Squared, ZeroOne
from pt_active.rounds import AP, AUC

COSTS = CostMatrix([[0, 1, 4], [0.5, 0, 2], [3, 1.5, 0]])
LOSS_LIST = [ZeroOne(), Accuracy(), Squared(), COSTS, Precision(), Recall(rel=2), F1(), FMeasure(0.3, rel=2)]


def labelled(seed: int, n: int = 60, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, k)).astype(float), rng.integers(0, 3, n).astype(float)


def risk(loss: Loss, prediction: np.ndarray, label: np.ndarray) -> float:
    u, w = loss.terms(prediction, label)
    return u.sum() / w.sum()


# --- losses ---------------------------------------------------------------------------------------------------------


def test_shares_of_errors_squares_and_costs() -> None:
    prediction, label = labelled(0)
    f = prediction[:, 0]
    pairs = list(zip(f, label, strict=True))
    assert risk(ZeroOne(), f, label) == pytest.approx(sum(a != b for a, b in pairs) / 60)
    assert risk(Accuracy(), f, label) == pytest.approx(sum(a == b for a, b in pairs) / 60)
    assert risk(Squared(), f + 0.25, label) == pytest.approx(sum((a + 0.25 - b) ** 2 for a, b in pairs) / 60)
    costs = sum(COSTS.matrix[int(a)][int(b)] for a, b in pairs) / 60
    assert risk(COSTS, f, label) == pytest.approx(costs)


@pytest.mark.parametrize("rel", [1, 2])
def test_precision_recall_and_f1_are_scikit_learns(rel: int) -> None:
    prediction, label = labelled(1)
    f, y = prediction[:, 0] >= rel, label >= rel
    assert risk(Precision(rel=rel), prediction[:, 0], label) == pytest.approx(precision_score(y, f))
    assert risk(Recall(rel=rel), prediction[:, 0], label) == pytest.approx(recall_score(y, f))
    assert risk(F1(rel=rel), prediction[:, 0], label) == pytest.approx(fbeta_score(y, f, beta=1))


def test_names() -> None:
    shown = [str(loss) for loss in (ZeroOne(), Precision(rel=2), Recall(), F1(slice="long"), FMeasure(0.3), Squared())]
    assert shown == ["Error", "Precision(rel=2)", "Recall", "F1(slice='long')", "F(eta=0.3)", "SquaredError"]


@pytest.mark.parametrize("loss", [*LOSS_LIST, GaussianSquared(), CrossEntropy(slice="long")], ids=str)
def test_a_description_gives_the_loss_back(loss: Loss) -> None:
    assert from_description(described(loss)) == loss
    assert described(loss)["loss"] in LOSSES
    with pytest.raises(ValueError, match="unknown loss"):
        described(type("Mine", (ZeroOne,), {})())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (partial(FMeasure, eta), "eta must be a number between 0 and 1, got")
            for eta in (1.5, -0.1, np.nan, "x", [1])
        ),
        *(
            (partial(kind, rel=0), "rel must be a whole number of at least 1")
            for kind in (Precision, Recall, F1, AUC, AP)
        ),
        *((partial(FMeasure, 0.5, rel=rel), "rel must be a whole number") for rel in (0, 1.5, "1", None, True)),
        (lambda: CostMatrix([[0, 1], [1]]), "rows of one length"),
        (lambda: CostMatrix([[0, 1]]), "two or more rows"),
        (lambda: CostMatrix(), "two or more rows"),
        (lambda: CostMatrix([[0, -1], [1, 0]]), "not negative"),
        (lambda: CostMatrix([[0, np.inf], [1, 0]]), "finite"),
        (lambda: Recall(rel=3).grades_allowed(2), "above the highest grade, 2"),
        (lambda: COSTS.grades_allowed(3), "has 3 columns, but the labels have 4 grades"),
    ],
)
def test_bad_arguments(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# --- decisions of a distribution ------------------------------------------------------------------------------------

DISTRIBUTIONS = [
    np.random.default_rng(11).dirichlet(np.full(3, 0.7), 200),
    np.array([list(row) for row in product((0.0, 0.25, 0.5, 0.75, 1.0), repeat=3) if sum(row) == 1]),
]
"""Random distributions, and all those with multiples of ¼, which include ties."""


def expected_losses(loss: Loss, predictions: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """``Σ_y P(y) ℓ(f, y)`` of each prediction f for each distribution, by explicit sums."""
    found = np.zeros((len(grades), len(predictions)))
    for (i, row), (j, f) in product(enumerate(grades), enumerate(predictions)):
        found[i, j] = sum(p * float(loss.terms(np.array(f), np.array(float(y)))[0]) for y, p in enumerate(row))
    return found


@pytest.mark.parametrize("grades", DISTRIBUTIONS)
@pytest.mark.parametrize("loss", [ZeroOne(), COSTS, CostMatrix([[0, 1, 1], [0, 1, 1]])], ids=str)
def test_the_decision_is_the_lowest_grade_of_least_expected_loss(loss: Loss, grades: np.ndarray) -> None:
    rows = loss.grades_allowed(2) + 1
    risks = expected_losses(loss, np.arange(float(rows)), grades).round(12)
    np.testing.assert_array_equal(loss.decision(grades), risks.argmin(axis=1))


@pytest.mark.parametrize("grades", DISTRIBUTIONS)
def test_other_decisions(grades: np.ndarray) -> None:
    np.testing.assert_array_equal(Accuracy().decision(grades), ZeroOne().decision(grades))
    assert CrossEntropy().decision(grades) is grades
    for rel in (1, 2):
        called = [sum(row[rel:]) >= 0.5 for row in grades]
        for loss in (Precision(rel), Recall(rel), F1(rel), FMeasure(0.3, rel)):
            np.testing.assert_array_equal(loss.decision(grades) >= rel, called)
            assert set(loss.decision(grades)) <= {0.0, float(rel)}
    with pytest.raises(ValueError, match=r"real labels without grades; the squared error of grades is Squared\(\)"):
        GaussianSquared().decision(grades)


def test_cross_entropy_is_the_negative_log_of_what_was_said_of_the_label() -> None:
    grades, label = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]]), np.array([2.0, 0.0])
    u, w = CrossEntropy().terms(grades, label)
    np.testing.assert_allclose(u, [-np.log(0.3), -np.log(MIN_PROBABILITY)], rtol=1e-14)
    np.testing.assert_array_equal(w, 1)
    table, _ = label_table(CrossEntropy(), grades, 3, np.array([True, False]))
    np.testing.assert_allclose(table, [-np.log(grades[0]), np.zeros(3)], rtol=1e-14)


# --- what the label model expects -----------------------------------------------------------------------------------


def enumerated(
    loss: Loss, predictions: np.ndarray, grades: np.ndarray, p: np.ndarray, member: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Introspective risk, mean and covariance of (u − Ǧ w)/W by explicit sums over each pair's label."""
    n, k = predictions.shape
    u, w = np.zeros((n, k, grades.shape[1])), np.zeros((n, k, grades.shape[1]))
    for x, s, g in product(range(n), range(k), range(grades.shape[1])):
        found = loss.terms(np.array(predictions[x, s]), np.array(float(g)))
        u[x, s, g], w[x, s, g] = (float(part) * member[x] for part in found)
    expected = [sum(p[x] * grades[x, g] * t[x, :, g] for x in range(n) for g in range(grades.shape[1])) for t in (u, w)]
    introspective = expected[0] / expected[1]
    part = (u - introspective[None, :, None] * w) / expected[1][None, :, None]
    mean, covariance = np.zeros((n, k)), np.zeros((n, k, k))
    for x in range(n):
        mean[x] = sum(grades[x, g] * part[x, :, g] for g in range(grades.shape[1]))
        for g in range(grades.shape[1]):
            covariance[x] += grades[x, g] * np.outer(part[x, :, g] - mean[x], part[x, :, g] - mean[x])
    return introspective, mean, covariance


@pytest.mark.parametrize("loss", LOSS_LIST, ids=str)
@pytest.mark.parametrize("sliced", [False, True])
def test_moments_equal_the_enumeration(loss: Loss, sliced: bool) -> None:
    rng = np.random.default_rng(3)
    predictions, _ = labelled(4, n=25, k=3)
    grades, p = rng.dirichlet(np.ones(3), 25), rng.dirichlet(np.ones(25))
    member = rng.random(25) < (0.6 if sliced else 1.1)
    view = introspection(label_tables(loss, predictions, 3, member), grades, p, loss.proportion)
    risk_, mean, covariance = enumerated(loss, predictions, grades, p, member)
    assert view.risk == pytest.approx(risk_, abs=1e-12)
    assert view.moments.mean == pytest.approx(mean, abs=1e-12)
    assert view.moments.covariance == pytest.approx(covariance, abs=1e-12)
    assert p @ view.moments.mean == pytest.approx(0, abs=1e-12)
    assert view.risk == pytest.approx((p @ view.numerator) / (p @ view.weight), abs=1e-12)


def test_gaussian_moments_equal_quadrature() -> None:
    rng = np.random.default_rng(5)
    f, tau2, p = rng.normal(size=(6, 2)), rng.uniform(0.2, 2, (6, 2)), rng.dirichlet(np.ones(6))
    node, mass = np.polynomial.hermite_e.hermegauss(12)
    mass = mass / mass.sum()
    label = f[:, :, None] + np.sqrt(tau2)[:, :, None] * node
    losses = (label[:, None] - f[:, :, None, None]) ** 2  # pair, predictor, component, node
    mean = (losses * mass).sum(axis=(2, 3)) / 2
    product_ = np.einsum("xacn,xbcn,n->xab", losses, losses, mass) / 2
    sliced = gaussian_introspection(f, tau2, p, np.arange(6) < 5)
    assert sliced.risk == pytest.approx(p[:5] @ mean[:5] / p[:5].sum(), abs=1e-12)
    assert not sliced.moments.mean[5].any() | sliced.moments.covariance[5].any()
    view = gaussian_introspection(f, tau2, p, np.ones(6, dtype=bool))
    assert view.numerator == pytest.approx(mean, abs=1e-12)
    assert view.risk == pytest.approx(p @ mean, abs=1e-12)
    centred = mean - p @ mean
    assert view.moments.mean == pytest.approx(centred, abs=1e-12)
    covariance = product_ - mean[:, :, None] * mean[:, None, :]
    assert view.moments.covariance == pytest.approx(covariance, abs=1e-12)


# --- bounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "expected"), [(False, 0.005), (True, 0.995)])
def test_a_certain_model_is_taken_with_a_grain_of_salt(wrong: bool, expected: float) -> None:
    prediction = np.array([[0.0], [1.0], [1.0]])
    tables = label_tables(ZeroOne(), prediction, 2, np.ones(3, dtype=bool))
    certain = np.eye(2)[[1, 0, 0] if wrong else [0, 1, 1]]
    view = introspection(tables, certain, np.full(3, 1 / 3), proportion=True)
    assert view.risk == pytest.approx([expected], abs=1e-12)
    assert view.moments.covariance[:, 0, 0] == pytest.approx(np.full(3, expected * (1 - expected)), abs=1e-12)


def test_recall_where_the_model_sees_nothing_relevant() -> None:
    prediction, p = np.array([[1.0], [0.0], [1.0], [0.0]]), np.full(4, 0.25)
    tables = label_tables(Recall(), prediction, 2, np.ones(4, dtype=bool))
    view = introspection(tables, np.eye(2)[[0, 0, 0, 0]], p, proportion=True)
    assert p @ view.weight == pytest.approx([0.005])
    assert view.risk == pytest.approx([0.5])


def test_no_pair_has_a_weight() -> None:
    tables = label_tables(Precision(), np.zeros((3, 1)), 2, np.ones(3, dtype=bool))
    with pytest.raises(ValueError, match="no pair has a weight"):
        introspection(tables, np.full((3, 2), 0.5), np.full(3, 1 / 3), proportion=True)
    with pytest.raises(ValueError, match="no pair has a weight"):
        gaussian_introspection(np.zeros((2, 1)), np.ones((2, 1)), np.full(2, 0.5), np.zeros(2, dtype=bool))
