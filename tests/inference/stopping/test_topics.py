"""Numbers of topics against simulation and against the tests that they are computed for."""

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.stopping.topics import residual_variance, topics_for_power, topics_for_width


def test_residual_variance_is_what_topics_and_systems_do_not_explain():
    rng = np.random.default_rng(0)
    effects = rng.normal(size=(40, 1)) + rng.normal(size=(1, 6))
    assert residual_variance(effects) == pytest.approx(0, abs=1e-20)
    noise = 0.3 * rng.normal(size=(4000, 6))
    assert residual_variance(rng.normal(size=(4000, 1)) + noise) == pytest.approx(0.09, rel=3 * np.sqrt(2 / 20000))


def test_two_systems_have_half_the_variance_of_their_difference():
    values = np.random.default_rng(1).normal(size=(30, 2))
    assert residual_variance(values) == pytest.approx(np.var(values[:, 0] - values[:, 1], ddof=1) / 2)


@pytest.mark.parametrize(("variance", "difference", "power"), [(0.04, 0.1, 0.8), (0.04, 0.2, 0.9), (0.01, 0.02, 0.6)])
def test_power_is_reached_and_not_before(variance, difference, power):
    n = topics_for_power(variance, difference, power)
    rng, repetitions = np.random.default_rng(2), 20_000
    sample = rng.normal(difference, np.sqrt(2 * variance), (repetitions, n))
    found = np.mean(stats.ttest_1samp(sample, 0, axis=1).pvalue < 0.05)
    assert found == pytest.approx(power, abs=3 * np.sqrt(power * (1 - power) / repetitions) + 0.02)
    assert found >= power - 3 * np.sqrt(power * (1 - power) / repetitions)


@pytest.mark.parametrize("effect", [0.2, 0.35, 0.5, 0.8])
@pytest.mark.parametrize(("alpha", "power"), [(0.01, 0.9), (0.05, 0.8), (0.05, 0.5)])
def test_numbers_of_topics_are_those_of_sakais_own_formula(effect, alpha, power):
    """``((z_{α/2} + z_β)/Δ)² + z_{α/2}²/2`` with ``Δ = difference/σ_d``, where his spreadsheet starts."""
    z = stats.norm.isf(alpha / 2)
    formula = ((z + stats.norm.ppf(power)) / effect) ** 2 + z**2 / 2
    assert abs(topics_for_power(0.5, effect, power, 1 - alpha) - formula) <= 1.5


@pytest.mark.parametrize(("variance", "width"), [(0.04, 0.1), (0.04, 0.02), (0.5, 1.5)])
def test_width_is_reached_on_average_and_not_before(variance, width):
    n = topics_for_width(variance, width)
    rng = np.random.default_rng(3)

    def mean_half(size):
        spread = np.sqrt(2 * variance * rng.chisquare(size - 1, 200_000) / (size - 1) / size)
        return stats.t.ppf(0.975, size - 1) * spread.mean()

    assert mean_half(n) <= width * 1.003
    assert n == 2 or mean_half(n - 1) > width * 0.997


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: residual_variance(np.ones((3, 1))), "at least two topics by two systems"),
        (lambda: residual_variance(np.full((3, 3), np.nan)), "missing or not finite"),
        (lambda: topics_for_power(0.0, 0.1), "variance must be a positive number"),
        (lambda: topics_for_power(0.1, 0.0), "difference must be a number other than 0"),
        (lambda: topics_for_power(0.1, 0.1, power=1.0), "power must lie between 0.05"),
        (lambda: topics_for_power(0.1, 0.1, confidence=1.0), "confidence must lie between 0 and 1"),
        (lambda: topics_for_width(0.1, 0.0), "width must be a positive number"),
        (lambda: topics_for_width(1.0, 1e-9), "more than 10,000,000 topics"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
