"""Estimators against their formulas longhand; intervals, p-values and corrections by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.inference.estimators import ESTIMATORS, Controls, regression, snis
from pt_active.inference.intervals import interval, score_interval, score_statistic
from pt_active.inference.significance import corrected_pvalues, two_sided_pvalue
from pt_active.sampling.sample import Sample


def longhand_effective(v):
    return v.sum() ** 2 / (v**2).sum()


def longhand_snis(v, y, model, pool_mean, pool_variance):
    value = (v * y).sum() / v.sum()
    error = math.sqrt((v**2 * (y - value) ** 2).sum()) / v.sum()
    return value, error, longhand_effective(v) - 1


def longhand_difference(v, y, model, pool_mean, pool_variance):
    terms = v * (y - model)
    return pool_mean + terms.mean(), stats.sem(terms), len(v) - 1


def longhand_ht(v, y, model, pool_mean, pool_variance):
    return longhand_difference(v, y, 0.0, 0.0, pool_variance)


def longhand_slope(v, y, model, pool_variance):
    """The slope and how sure it is, from the draws that are given."""
    w, degrees = v / v.sum(), longhand_effective(v) - 2
    y, model = y - w @ y, model - w @ model
    spread, covariance = w @ model**2, w @ (y * model)
    if covariance <= 0 or degrees <= 0:
        return 0.0, 0.0
    explained = covariance**2 / spread
    ratio = degrees * explained / (w @ y**2 - explained)
    sure = max(0, 1 - 6 / ratio)
    slope = min(1, covariance / (spread + (1 - sure) * max(pool_variance - spread, 0)))
    return slope * max(0, 1 - 1 / ratio), sure


def longhand_regression(v, y, model, pool_mean, pool_variance):
    w = v / v.sum()
    slope, sure = longhand_slope(v, y, model, pool_variance)
    without = [[np.delete(part, i) for part in (v, y, model)] for i in range(len(v))]
    others = np.array([longhand_slope(*parts, pool_variance)[0] for parts in without])
    slopes = (1 - sure) * slope + sure * others
    value = w @ y + w @ (slopes * (pool_mean - model))
    residual = (y - w @ y - others * (model - w @ model)) / (1 - w)
    return value, math.sqrt(((w * residual) ** 2).sum()), longhand_effective(v) - 2


LONGHAND = {
    "snis": longhand_snis,
    "ht": longhand_ht,
    "difference": longhand_difference,
    "regression": longhand_regression,
}


def of_draws(name, v, y, model, pool_mean, pool_variance=0.1):
    """An estimate from draws with the weights v, one row for each draw."""
    draws = drawn(np.ones(len(v)), v, model, pool_mean, pool_variance)
    return ESTIMATORS[name].estimate(*draws, y)


def drawn(count, v, model, pool_mean, pool_variance=0.1):
    """Draws with the weights v, from a population whose mean and variance two undrawn units determine."""
    n, little = count.sum(axis=-1, keepdims=True), np.full(len(v), 1e-200)
    ends = pool_mean + np.array([-1, 1]) * math.sqrt(pool_variance)
    controls = Controls(np.r_[little, 0.5, 0.5], np.r_[model, ends])
    return Sample(np.arange(len(v)), count, n * little / v, repeated=True), controls


def random_draws(seed, n):
    rng = np.random.default_rng(seed)
    importance, model = rng.gamma(2, 0.5, n) ** (1 if seed % 3 else 4), rng.normal(0.3, 0.2, n)
    slope = 0.7 if seed % 4 else -0.7  # A model of the wrong sign has no line
    return importance, slope * model + rng.normal(0, 0.1, n), model, float(rng.normal(0.3, 0.1))


@settings(max_examples=60)
@given(st.sampled_from(list(ESTIMATORS)), st.integers(0, 2**32 - 1), st.integers(3, 60))
def test_each_estimator_equals_its_formula(name, seed, n):
    sample = random_draws(seed, n)
    estimate = of_draws(name, *sample)
    value, error, degrees = LONGHAND[name](*sample, 0.1)
    assert estimate.value == pytest.approx(value, rel=1e-10, abs=1e-12)
    assert estimate.standard_error == pytest.approx(error, rel=1e-9)
    assert estimate.degrees_of_freedom == pytest.approx(degrees, rel=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_count_is_as_many_draws_and_a_row_is_a_sample_of_its_own(name):
    v, y, model, pool_mean = random_draws(3, 12)
    count = np.random.default_rng(4).poisson(1.5, (5, 12))
    batch = ESTIMATORS[name].estimate(*drawn(count, v, model, pool_mean), y)
    for sample, n in enumerate(count):
        apart = of_draws(name, *(np.repeat(column, n) for column in (v, y, model)), pool_mean)
        for field in ("value", "standard_error", "degrees_of_freedom"):
            assert getattr(batch, field)[sample] == pytest.approx(getattr(apart, field), rel=1e-10)


@pytest.mark.parametrize("noise", [0.5, 5.0])
def test_regression_of_ten_draws_is_nearly_unbiased_and_no_worse_than_the_mean(noise):
    """Its bias is below .1 of its standard deviation, with straight, bent and too steep models."""
    rng = np.random.default_rng(8)
    truth, seen = rng.gamma(1.5, 1, 400), rng.normal(0, noise, 400)
    rows = rng.random((4000, 400)).argpartition(10, axis=1)[:, :10]
    sample = Sample(rows, np.ones_like(rows), np.full(rows.shape, 10 / 400))
    for model in (truth + seen, 3 * (truth + seen), np.exp(0.3 * (truth + seen))):
        controls = Controls(np.full(400, 1 / 400), model)
        error = regression(sample, controls, truth[rows]).value - truth.mean()
        assert abs(error.mean()) < 0.1 * error.std()
        plain = snis(sample, controls, truth[rows]).value - truth.mean()
        assert (error**2).mean() < 1.05 * (plain**2).mean()


@pytest.mark.parametrize(("level", "size"), [(0.1, 1e-3), (0.25, 1.0), (1 / 3, 1e3), (1e6, 1.0)])
def test_a_constant_model_does_not_move_the_estimate_at_all(level, size):
    """Also if rounding makes it uneven: means of .1 are not .1 to the last bit, nor .1 + .2 − .2."""
    for seed in range(20):
        v, y, noise, _ = random_draws(seed, 7)
        plain = of_draws("snis", v, size * y, noise, level).value
        twice = (0.1 + noise + 0.7) - (0.7 + noise + 0.1)  # expected of two rankers alike
        for model in (np.full(7, level), level + noise - noise, level + 1e-15 * noise, level + twice):
            assert of_draws("regression", v, size * y, model, level, 1e-32).value == plain


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_draw_has_a_value_and_no_spread(name):
    estimate = of_draws(name, np.array([0.8]), np.array([0.6]), np.array([0.5]), 0.4)
    assert estimate.value == pytest.approx(0.6 if name in ("snis", "regression") else 0.48)
    assert math.isnan(estimate.standard_error)
    assert estimate.degrees_of_freedom <= 0


@pytest.mark.parametrize("degrees", [2.5, 10, np.inf])
def test_intervals_and_pvalues_are_those_of_students_t(degrees):
    expected = stats.t.interval(0.9, degrees, 0.2, 0.1)
    assert interval(0.2, 0.1, degrees, 0.9) == pytest.approx(expected, abs=1e-9)
    assert two_sided_pvalue(-0.2, 0.1, degrees) == pytest.approx(2 * stats.t.sf(2, degrees), abs=1e-9)


@pytest.mark.parametrize(
    ("value", "error", "degrees", "ends", "pvalue"),
    [
        (0.2, 0.0, 10, (0.2, 0.2), 0),
        (0.0, 0.0, 10, (0.0, 0.0), 1),
        *((0.2, error, left, (-np.inf, np.inf), 1) for error, left in ((0.1, 0), (0.1, -0.5), (np.nan, 5))),
    ],
)
def test_certainty_and_ignorance(value, error, degrees, ends, pvalue):
    assert interval(value, error, degrees, 0.95) == ends
    assert two_sided_pvalue(value, error, degrees) == pvalue


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, np.nan])
def test_confidence_level_out_of_range(level):
    with pytest.raises(ValueError, match=r"confidence_level must lie between 0 and 1, got"):
        interval(0.0, 1.0, 5, level)


@pytest.mark.parametrize("method", ["holm", "bonferroni", "fdr_bh"])
def test_corrections_are_those_of_statsmodels_also_with_ties(method, monkeypatch):
    from statsmodels.stats.multitest import multipletests

    monkeypatch.setattr("gc.collect", lambda: None)  # it runs at every call, and takes longer than all else here
    rng = np.random.default_rng(0)
    for size in np.repeat(range(1, 9), 5):
        pvalues = np.round(rng.random(size) ** 3, 2)
        reject, corrected = corrected_pvalues(np.r_[pvalues, np.nan], 0.05, method)
        theirs = multipletests(pvalues, method=method)
        np.testing.assert_array_equal(reject, np.r_[theirs[0], False])
        np.testing.assert_array_equal(corrected, np.r_[theirs[1], np.nan])
    assert np.isnan(corrected_pvalues(np.array([np.nan]), 0.05, method)[1]).all()


@pytest.mark.parametrize("level", [0.8, 0.999])
@pytest.mark.parametrize("successes", [0, 7, 40])
def test_the_score_interval_of_a_plain_share_is_wilsons(successes, level):
    from statsmodels.stats.proportion import proportion_confint

    share = successes / 40
    found = score_interval(share, math.sqrt(share * (1 - share) / 40), np.inf, level, (0.0, 1.0), 40)
    assert found == pytest.approx(proportion_confint(successes, 40, 1 - level, "wilson"), abs=1e-12)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-2.0, 3.0), (0.0, np.inf), (0.25, 9.0)])
def test_the_ends_of_a_score_interval_are_where_the_score_is_the_quantile(bounds):
    """``|R̂ − θ| = t SE √(V(θ)/V(R̂))`` at each end."""

    def variance(mean):
        return (mean - bounds[0]) * (1.0 if np.isinf(bounds[1]) else bounds[1] - mean)

    rng = np.random.default_rng(30)
    for _ in range(20):
        value = bounds[0] + (min(bounds[1], 5) - bounds[0]) * rng.uniform(0.05, 0.95)
        error = rng.uniform(0.01, 1) * min(value - bounds[0], bounds[1] - value)
        degrees = rng.uniform(2, 90)
        ends = np.array(score_interval(value, error, degrees, 0.9, bounds, 50.0))
        assert bounds[0] <= ends[0] < value < ends[1] <= bounds[1]
        quantile = stats.t.ppf(0.95, degrees)
        np.testing.assert_allclose(abs(value - ends), quantile * error * np.sqrt(variance(ends) / variance(value)))
        statistic, _ = score_statistic(np.full(2, value), np.full(2, error), ends, bounds, 50.0)
        np.testing.assert_allclose(statistic, [quantile, -quantile], rtol=1e-6)
