"""Designs of audits: the sources' closed forms, their degenerate cases, and the baselines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pt_active.relevance.introspection import Introspection, gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import Loss
from pt_active.risk import FMeasure, ZeroOne
from pt_active.sampling.designs import check_design, gap_distribution, sampling_distribution

N = 40

pytestmark = pytest.mark.filterwarnings("ignore:.*can never be drawn")


def generic(view: Introspection, p: np.ndarray, cost: np.ndarray | None = None, design: str = "optimal") -> np.ndarray:
    return sampling_distribution(design, view.moments, np.ones(N) if cost is None else cost, p, defensive=0.0)


def view_of(loss: Loss, predictions: np.ndarray, grades: np.ndarray, p: np.ndarray) -> Introspection:
    everything = np.ones(N, dtype=bool)
    return introspection(label_tables(loss, predictions, grades.shape[1], everything), grades, p, loss.proportion)


def normalised(score: np.ndarray) -> np.ndarray:
    return score / score.sum()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.fixture
def p(rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.full(N, 3.0))


@pytest.fixture
def rho(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.05, 0.95, N)


def binary(rho: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - rho, rho])


def test_zero_one(rng, p) -> None:
    """[ARE 12], for four grades and with costs."""
    grades, cost = rng.dirichlet(np.ones(4), N), rng.uniform(0.5, 3, N)
    f = grades.argmax(axis=1)
    sure = grades[np.arange(N), f]
    risk = p @ (1 - sure)
    expected = p * np.sqrt((1 - 2 * risk) * (1 - sure) + risk**2) / np.sqrt(cost)
    found = generic(view_of(ZeroOne(), f[:, None].astype(float), grades, p), p, cost)
    assert found == pytest.approx(normalised(expected), abs=1e-12)


def test_squared_with_gaussian_variance(rng, p) -> None:
    """[ARE 13]."""
    tau2 = rng.uniform(0.1, 3, N)
    risk = p @ tau2
    expected = p * np.sqrt(3 * tau2**2 - 2 * risk * tau2 + risk**2)
    view = gaussian_introspection(rng.normal(size=(N, 1)), tau2[:, None], p, np.ones(N, dtype=bool))
    assert generic(view, p) == pytest.approx(normalised(expected), abs=1e-12)


@pytest.mark.parametrize("eta", [0.0, 0.3, 0.5, 1.0])
def test_f_measures(rng, p, rho, eta: float) -> None:
    """[T 4.18–4.20]."""
    f = (rng.random(N) < rho).astype(float)
    weight = p @ (eta * f + (1 - eta) * rho)
    g = p @ (f * rho) / weight
    positive = np.sqrt(rho * (1 - g) ** 2 + eta**2 * g**2 * (1 - rho))
    expected = p * np.where(f == 1, positive, (1 - eta) * g * np.sqrt(rho))
    view = view_of(FMeasure(eta), f[:, None], binary(rho), p)
    assert view.risk == pytest.approx([g], abs=1e-12)
    assert generic(view, p) == pytest.approx(normalised(expected), abs=1e-12)


def test_difference_of_zero_one(rng, p, rho) -> None:
    """[AC Deriv. 4]."""
    f = rng.integers(0, 2, (N, 2)).astype(float)
    error = np.where(f == 1, 1 - rho[:, None], rho[:, None])
    gap = p @ (error[:, 0] - error[:, 1])
    above, below = f[:, 0] > f[:, 1], f[:, 0] < f[:, 1]
    assert above.any()
    assert below.any()
    sign = np.where(above, -1.0, 1.0)
    expected = p * np.where(above | below, np.sqrt(1 + sign * 2 * gap * (1 - 2 * rho) + gap**2), abs(gap))
    found = generic(view_of(ZeroOne(), f, binary(rho), p), p)
    assert found == pytest.approx(normalised(expected), abs=1e-12)


def test_difference_of_squared(rng, p) -> None:
    """[AC Deriv. 5]; its two limits are the baselines."""
    f, tau2 = rng.normal(size=(N, 2)), rng.uniform(0.1, 3, (N, 2))
    gap = f[:, 0] - f[:, 1]
    everything, cost = np.ones(N, dtype=bool), np.ones(N)
    expected = p * np.sqrt(gap**2 * (gap**2 + 2 * tau2.sum(axis=1)))
    found = generic(gaussian_introspection(f, tau2, p, everything), p)
    assert found == pytest.approx(normalised(expected), abs=1e-12)
    constant = np.ones((N, 2))
    for design, variance in (("active_0", 0.0), ("active_inf", 1e7)):
        limit = generic(gaussian_introspection(f, variance * constant, p, everything), p)
        assert gap_distribution(design, f, cost, p) == pytest.approx(limit, abs=1e-7)


def test_three_predictors_share_the_pairwise_designs(rng, p) -> None:
    grades, f = rng.dirichlet(np.ones(3), N), rng.integers(0, 3, (N, 3)).astype(float)
    pairs = [generic(view_of(ZeroOne(), f[:, list(pair)], grades, p), p) for pair in combinations(range(3), 2)]
    assert generic(view_of(ZeroOne(), f, grades, p), p) == pytest.approx(np.mean(pairs, axis=0), abs=1e-12)
    own = [generic(view_of(ZeroOne(), f[:, [s]], grades, p), p) for s in range(3)]
    mixture = generic(view_of(ZeroOne(), f, grades, p), p, design="risk_mixture")
    assert mixture == pytest.approx(np.mean(own, axis=0), abs=1e-12)


@pytest.mark.parametrize(("design", "exponent"), [("disagreement", 0), ("active_inf", 1), ("active_0", 2)])
def test_gap_designs(rng, p, design: str, exponent: int) -> None:
    f, cost = rng.integers(0, 4, (N, 2)).astype(float), rng.uniform(0.5, 2, N)
    score = [
        a * abs(x - y) ** exponent / c**0.5 if x != y else 0.0 for a, c, (x, y) in zip(p, cost, f.tolist(), strict=True)
    ]
    expected = normalised(np.array(score))
    assert gap_distribution(design, f, cost, p) == pytest.approx(expected, abs=1e-12)
    mixed = gap_distribution(design, f, cost, p, defensive=0.25)
    assert mixed == pytest.approx(0.75 * expected + 0.25 * p, abs=1e-12)


def test_gap_designs_of_three_average_the_pairs_that_differ(rng, p) -> None:
    f = rng.integers(0, 2, (N, 1)).astype(float)
    three = np.column_stack([f, f, 1 - f])
    two = gap_distribution("disagreement", three[:, 1:], np.ones(N), p)
    assert gap_distribution("disagreement", three, np.ones(N), p) == pytest.approx(two, abs=1e-12)


@pytest.mark.parametrize(
    ("predictions", "defensive", "message"),
    [
        (np.zeros((N, 1)), 0.0, "there is only one"),
        (np.ones((N, 2)), 0.0, "agree on every pair"),
        (np.ones((N, 2)), 2, "defensive must lie between 0 and 1, got 2"),
    ],
)
def test_what_gap_designs_refuse(p, predictions, defensive, message) -> None:
    with pytest.raises(ValueError, match=message):
        gap_distribution("active_0", predictions, np.ones(N), p, defensive)
    with pytest.raises(ValueError, match="unknown design 'best'; the designs are .*optimal.*disagreement.*stratified"):
        check_design("best")
