"""Designs of audits: the sources' closed forms, and the baselines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pt_active.relevance.introspection import gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import Loss
from pt_active.risk import FMeasure, ZeroOne
from pt_active.sampling.designs import gap_distribution, sampling_distribution

N = 40
ONES, EVERY = np.ones(N), np.ones(N, dtype=bool)
RNG = np.random.default_rng(11)
P, RHO, COST = RNG.dirichlet(np.full(N, 3.0)), RNG.uniform(0.05, 0.95, N), RNG.uniform(0.5, 3, N)
GRADES, BINARY = RNG.dirichlet(np.ones(3), N), np.column_stack([1 - RHO, RHO])

pytestmark = pytest.mark.filterwarnings("ignore:.*can never be drawn")


def design_of(loss: Loss, f: np.ndarray, grades: np.ndarray, design: str = "optimal", cost=ONES) -> np.ndarray:
    """The design of predictions float64[N, k] under a label model float64[N, G+1]."""
    view = introspection(label_tables(loss, f, grades.shape[1], EVERY), grades, P, loss.proportion)
    return sampling_distribution(design, view.moments, cost, P, defensive=0.0)


def gaussian_design(f: np.ndarray, variances: np.ndarray) -> np.ndarray:
    moments = gaussian_introspection(f, variances, P, EVERY).moments
    return sampling_distribution("optimal", moments, ONES, P, defensive=0.0)


def assert_proportional(q: np.ndarray, score: np.ndarray, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(q, score / score.sum(), rtol=0, atol=tolerance)


def test_zero_one() -> None:
    """[ARE 12], with costs."""
    wrong = 1 - GRADES.max(axis=1)
    risk, f = P @ wrong, GRADES.argmax(axis=1)[:, None].astype(float)
    score = P * np.sqrt((1 - 2 * risk) * wrong + risk**2) / np.sqrt(COST)
    assert_proportional(design_of(ZeroOne(), f, GRADES, cost=COST), score)


def test_squared_with_gaussian_variance() -> None:
    """[ARE 13]."""
    risk = P @ COST
    score = P * np.sqrt(3 * COST**2 - 2 * risk * COST + risk**2)
    assert_proportional(gaussian_design(RHO[:, None], COST[:, None]), score)


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_f_measures(eta: float) -> None:
    """[T 4.18–4.20]."""
    f = (RHO > 0.4).astype(float)
    g = P @ (f * RHO) / (P @ (eta * f + (1 - eta) * RHO))
    positive = np.sqrt(RHO * (1 - g) ** 2 + eta**2 * g**2 * (1 - RHO))
    score = P * np.where(f == 1, positive, (1 - eta) * g * np.sqrt(RHO))
    assert_proportional(design_of(FMeasure(eta), f[:, None], BINARY), score)


def test_difference_of_zero_one() -> None:
    """[AC Deriv. 4]."""
    f = np.random.default_rng(1).integers(0, 2, (N, 2)).astype(float)
    above = f[:, 0] - f[:, 1]
    assert set(above) == {-1, 0, 1}
    gap = P @ (above * (1 - 2 * RHO))
    score = P * np.where(above != 0, np.sqrt(1 - 2 * above * gap * (1 - 2 * RHO) + gap**2), abs(gap))
    assert_proportional(design_of(ZeroOne(), f, BINARY), score)


def test_difference_of_squared() -> None:
    """[AC Deriv. 5]; its two limits are the baselines."""
    f, tau2 = np.random.default_rng(4).normal(size=(N, 2)), BINARY + 0.1
    gap = f[:, 0] - f[:, 1]
    assert_proportional(gaussian_design(f, tau2), P * np.sqrt(gap**2 * (gap**2 + 2 * tau2.sum(axis=1))))
    for design, variance in (("active_0", 0.0), ("active_inf", 1e7)):
        limit = gaussian_design(f, np.full((N, 2), variance))
        assert_proportional(gap_distribution(design, f, ONES, P), limit, 1e-7)


def test_three_predictors_share_the_pairwise_designs() -> None:
    f = np.random.default_rng(2).integers(0, 3, (N, 3)).astype(float)
    pairs = [design_of(ZeroOne(), f[:, list(pair)], GRADES) for pair in combinations(range(3), 2)]
    assert_proportional(design_of(ZeroOne(), f, GRADES), np.mean(pairs, axis=0))
    own = [design_of(ZeroOne(), f[:, [s]], GRADES) for s in range(3)]
    assert_proportional(design_of(ZeroOne(), f, GRADES, "risk_mixture"), np.mean(own, axis=0))


@pytest.mark.parametrize(("design", "exponent"), [("disagreement", 0), ("active_inf", 1), ("active_0", 2)])
def test_gap_designs(design: str, exponent: int) -> None:
    f = np.random.default_rng(3).integers(0, 4, (N, 2)).astype(float)
    gap = np.abs(f[:, 0] - f[:, 1])
    score = np.where(gap > 0, P * gap**exponent / np.sqrt(COST), 0.0)
    assert_proportional(gap_distribution(design, f, COST, P), score)
    mixed = gap_distribution(design, f, COST, P, defensive=0.25)
    assert_proportional(mixed, 0.75 * score / score.sum() + 0.25 * P)
    # Of three, the pairs that differ share the design.
    assert_proportional(gap_distribution(design, f[:, [0, 0, 1]], COST, P), score)
