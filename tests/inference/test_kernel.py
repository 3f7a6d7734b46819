"""Kernel regression in N log N against the sum over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pt_active.inference.weightings import (
    CANDIDATES,
    cross_validated_bandwidth,
    kernel_sums,
    left_out,
    nadaraya_watson,
    rule_of_thumb,
)


def all_pairs(score: np.ndarray, bandwidth: float) -> np.ndarray:
    apart = (score[:, None] - score[None, :]) / bandwidth
    return np.where(np.abs(apart) < 1, 1 - apart**2, 0.0)


scores = st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=1, max_size=30)


@given(scores, st.floats(0.01, 20), st.integers(0, 2**16))
def test_sums_are_those_over_all_pairs(score: list, bandwidth: float, seed: int) -> None:
    g = np.array(score)
    values = np.random.default_rng(seed).normal(size=(2, len(g)))
    np.testing.assert_allclose(kernel_sums(g, values, bandwidth), values @ all_pairs(g, bandwidth), atol=1e-12)


def test_a_score_far_out_costs_no_precision() -> None:
    rng = np.random.default_rng(1)
    g = np.concatenate([rng.normal(size=300), [1e9, -1e9]])
    values = rng.normal(size=(1, len(g)))
    np.testing.assert_allclose(kernel_sums(g, values, 0.3), values @ all_pairs(g, 0.3), atol=1e-9)
    near = np.abs(g) < 1e6
    within = kernel_sums(g[near] + 1e4, values[:, near], 0.3)
    np.testing.assert_allclose(within, values[:, near] @ all_pairs(g[near], 0.3), atol=1e-9)


def test_regression_and_what_is_predicted_without_oneself() -> None:
    rng = np.random.default_rng(2)
    g, y = rng.normal(size=60), rng.normal(size=60)
    kernel = all_pairs(g, 0.5)
    np.testing.assert_allclose(nadaraya_watson(g, y, 0.5), kernel @ y / kernel.sum(axis=1), atol=1e-12)
    np.fill_diagonal(kernel, 0.0)
    weight = kernel.sum(axis=1)
    plain = (y.sum() - y) / 59
    expected = np.where(weight > 0, kernel @ y / np.maximum(weight, 1e-300), plain)
    np.testing.assert_allclose(left_out(g, y, 0.5), expected, atol=1e-9)
    assert (weight == 0).any(), "the case without a neighbour should occur"


def test_the_rule_of_thumb_shrinks_with_the_labels_and_scales_with_the_score() -> None:
    g = np.random.default_rng(3).normal(size=2000)
    assert rule_of_thumb(g, 1000) == pytest.approx(rule_of_thumb(g, 1) / 10)
    assert rule_of_thumb(7 * g, 50) == pytest.approx(7 * rule_of_thumb(g, 50))
    outlying = np.concatenate([g, [1e4]])
    assert rule_of_thumb(outlying, 50) == pytest.approx(rule_of_thumb(g, 50), rel=0.1)
    assert rule_of_thumb(np.r_[np.zeros(99), 1.0], 1) == pytest.approx(np.sqrt(0.01 * 0.99))


def test_cross_validation_takes_narrow_windows_for_what_bends_and_wide_ones_for_noise() -> None:
    rng = np.random.default_rng(4)
    g = rng.normal(size=800)
    rule = rule_of_thumb(g, 800)
    assert cross_validated_bandwidth(g, np.sin(24 * g), 800) == pytest.approx(CANDIDATES[0] * rule)
    assert cross_validated_bandwidth(g, rng.normal(size=800), 800) == pytest.approx(CANDIDATES[-1] * rule)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan])
def test_a_bandwidth_that_is_none(bandwidth: float) -> None:
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        nadaraya_watson(np.arange(3.0), np.ones(3), bandwidth)


def test_a_score_that_is_no_number() -> None:
    with pytest.raises(ValueError, match=r"not finite: 1\)"):
        nadaraya_watson(np.array([0.0, np.nan]), np.ones(2), 1.0)
