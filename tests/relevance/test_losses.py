"""Losses compared with counts of a confusion matrix, and their moments under the label model with enumeration."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, mean_squared_error, precision_score, recall_score

from pt_active.relevance.introspection import gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import MIN_PROBABILITY, CrossEntropy, described, from_description, label_table
from pt_active.risk import F1, Accuracy, CostMatrix, FMeasure, GaussianSquared, Precision, Recall, Squared, ZeroOne
from pt_active.rounds import AUC

COSTS = CostMatrix([[0, 1, 4], [0.5, 0, 2], [3, 1.5, 0]])
LOSS_LIST = [ZeroOne(), Accuracy(), Squared(), COSTS, Precision(), Recall(rel=2), F1(), FMeasure(0.3, rel=2)]


def labelled(seed, n=60, k=1):
    """Grades that k predictors say, float64[n, k], and labels."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, k)).astype(float), rng.integers(0, 3, n).astype(float)


MEASURED = [
    (ZeroOne(), lambda y, f: (f != y).mean()),
    (Accuracy(), accuracy_score),
    (Squared(), mean_squared_error),
    (COSTS, lambda y, f: np.mean([COSTS.matrix[int(a)][int(b)] for a, b in zip(f, y, strict=True)])),
    (Precision(rel=2), lambda y, f: precision_score(y >= 2, f >= 2)),
    (Recall(rel=2), lambda y, f: recall_score(y >= 2, f >= 2)),
    (F1(rel=1), lambda y, f: f1_score(y >= 1, f >= 1)),
]


@pytest.mark.parametrize(("loss", "expected"), MEASURED)
def test_risks_are_those_of_scikit_learn(loss, expected):
    prediction, label = labelled(1)
    u, w = loss.terms(prediction[:, 0], label)
    assert u.sum() / w.sum() == pytest.approx(expected(label, prediction[:, 0]))


@pytest.mark.parametrize("loss", [COSTS, F1(slice="long"), GaussianSquared()], ids=str)
def test_a_description_gives_the_loss_back(loss):
    assert from_description(described(loss)) == loss


REFUSED = [
    *((partial(FMeasure, eta), "eta must (lie between 0 and 1|be a number), got") for eta in (1.5, np.nan, "x", [1])),
    *((partial(each, rel=0), "rel must be at least 1, got 0") for each in (F1, AUC)),
    *((partial(F1, rel=rel), "rel must be (a whole number|at least 1), got") for rel in (1.5, "1", True)),
    (partial(CostMatrix, [[0, 1], [1]]), "rows of one length"),
    (partial(CostMatrix, [[0, 1]]), "two or more rows"),
    (CostMatrix, "two or more rows"),
    (partial(CostMatrix, [[0, -1], [1, 0]]), "not negative"),
    (partial(CostMatrix, [[0, np.inf], [1, 0]]), "finite"),
    (partial(Recall(rel=3).grades_allowed, 2), "above the highest grade, 2"),
    (partial(COSTS.grades_allowed, 3), "has 3 columns, but the labels have 4 grades"),
    (partial(described, type("Mine", (ZeroOne,), {})()), "unknown loss"),
    (partial(GaussianSquared().decision, np.eye(2)), r"the squared error of grades is Squared\(\)"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


QUARTERS = np.array([row for row in product((0.0, 0.25, 0.5, 0.75, 1.0), repeat=3) if sum(row) == 1])
DISTRIBUTIONS = np.vstack([np.random.default_rng(11).dirichlet(np.full(3, 0.7), 200), QUARTERS])
"""Random distributions, and all those with multiples of ¼, which include ties."""


@pytest.mark.parametrize("loss", [ZeroOne(), COSTS, CostMatrix([[0, 1, 1], [0, 1, 1]])], ids=str)
def test_the_decision_is_the_lowest_grade_of_least_expected_loss(loss):
    losses, _ = loss.terms(np.arange(loss.grades_allowed(2) + 1.0)[:, None], np.arange(3.0))
    risks = (DISTRIBUTIONS @ losses.T).round(12)
    np.testing.assert_array_equal(loss.decision(DISTRIBUTIONS), risks.argmin(axis=1))


def test_other_decisions():
    np.testing.assert_array_equal(Accuracy().decision(DISTRIBUTIONS), ZeroOne().decision(DISTRIBUTIONS))
    assert CrossEntropy().decision(DISTRIBUTIONS) is DISTRIBUTIONS
    for rel in (1, 2):
        called = [sum(row[rel:]) >= 0.5 for row in DISTRIBUTIONS]
        for loss in (Precision(rel), Recall(rel), F1(rel), FMeasure(0.3, rel)):
            np.testing.assert_array_equal(loss.decision(DISTRIBUTIONS), np.multiply(called, float(rel)))


def test_cross_entropy_is_the_negative_log_of_what_was_said_of_the_label():
    grades, label = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]]), np.array([2.0, 0.0])
    u, w = CrossEntropy().terms(grades, label)
    np.testing.assert_allclose(u, [-np.log(0.3), -np.log(MIN_PROBABILITY)], rtol=1e-14)
    np.testing.assert_array_equal(w, 1)
    table, _ = label_table(CrossEntropy(), grades, 3, np.array([True, False]))
    np.testing.assert_allclose(table, [-np.log(grades[0]), np.zeros(3)], rtol=1e-14)


@pytest.mark.parametrize("loss", LOSS_LIST, ids=str)
def test_moments_equal_the_enumeration(loss):
    """Of the risk and of ``(u − Ǧ w)/W``, by sums over the labels of each pair; 60 % of the pairs count."""
    rng, (predictions, _) = np.random.default_rng(3), labelled(4, n=25, k=3)
    grades, p, member = rng.dirichlet(np.ones(3), 25), rng.dirichlet(np.ones(25)), rng.random(25) < 0.6
    view = introspection(label_tables(loss, predictions, 3, member), grades, p, loss.proportion)
    terms = loss.terms(predictions[:, :, None], np.arange(3.0))
    u, w = (np.broadcast_to(each, (25, 3, 3)) * member[:, None, None] for each in terms)  # pair, predictor, label
    numerator, weight = (np.einsum("x,xg,xsg->s", p, grades, each) for each in (u, w))
    part = (u - (numerator / weight)[:, None] * w) / weight[:, None]
    mean = np.einsum("xg,xsg->xs", grades, part)
    off = part - mean[:, :, None]
    for found, expected in (
        (view.risk, numerator / weight),
        (view.moments.mean, mean),
        (view.moments.covariance, np.einsum("xg,xsg,xtg->xst", grades, off, off)),
        (p @ view.numerator, numerator),
        (p @ view.weight, weight),
    ):
        assert found == pytest.approx(expected, abs=1e-12)


def test_gaussian_moments_equal_quadrature():
    rng = np.random.default_rng(5)
    f, tau2, p = rng.normal(size=(6, 2)), rng.uniform(0.2, 2, (6, 2)), rng.dirichlet(np.ones(6))
    node, mass = np.polynomial.hermite_e.hermegauss(12)
    label = f[:, :, None] + np.sqrt(tau2)[:, :, None] * node
    losses = (label[:, None] - f[:, :, None, None]) ** 2  # pair, predictor, component, node
    mass = np.tile(mass / mass.sum(), (2, 1)) / 2  # component, node
    mean, product_ = np.einsum("xacn,cn->xa", losses, mass), np.einsum("xacn,xbcn,cn->xab", losses, losses, mass)
    view = gaussian_introspection(f, tau2, p, np.ones(6, dtype=bool))
    for found, expected in (
        (view.numerator, mean),
        (view.risk, p @ mean),
        (view.moments.mean, mean - p @ mean),
        (view.moments.covariance, product_ - mean[:, :, None] * mean[:, None, :]),
    ):
        assert found == pytest.approx(expected, abs=1e-12)
    sliced = gaussian_introspection(f, tau2, p, np.arange(6) < 5)
    assert sliced.risk == pytest.approx(p[:5] @ mean[:5] / p[:5].sum(), abs=1e-12)
    assert not sliced.moments.mean[5].any() | sliced.moments.covariance[5].any()


@pytest.mark.parametrize(
    ("loss", "relevant", "risk"),
    [(ZeroOne(), [0, 1, 1, 0], 0.005), (ZeroOne(), [1, 0, 0, 1], 0.995), (Recall(), [0] * 4, 0.5)],
)
def test_a_certain_model_is_taken_with_a_grain_of_salt(loss, relevant, risk):
    """Also recall where the model sees nothing relevant."""
    p, prediction = np.full(4, 0.25), np.array([[0.0], [1.0], [1.0], [0.0]])
    view = introspection(
        label_tables(loss, prediction, 2, np.ones(4, dtype=bool)), np.eye(2)[relevant], p, proportion=True
    )
    assert view.risk == pytest.approx([risk], abs=1e-12)
    if loss == Recall():
        assert p @ view.weight == pytest.approx([0.005])
    else:
        assert view.moments.covariance[:, 0, 0] == pytest.approx(np.full(4, risk * (1 - risk)), abs=1e-12)
