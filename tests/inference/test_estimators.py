"""Estimators against their formulas longhand; intervals, p-values and corrections by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.inference.estimators import (
    ESTIMATORS,
    Controls,
    effective_size,
    estimator_named,
    horvitz_thompson,
    regression,
    snis,
)
from pt_active.inference.intervals import interval, score_interval
from pt_active.inference.significance import corrected_pvalues, two_sided_pvalue
from pt_active.sampling.sample import Sample

# --- the formulas of theory 5, draw by draw -------------------------------------------------------------------------


def longhand_snis(v, y, model, pool_mean, pool_variance):
    n, total = len(v), math.fsum(v)
    value = math.fsum(v[i] * y[i] for i in range(n)) / total
    s_squared = n * total**-2 * math.fsum(v[i] ** 2 * (y[i] - value) ** 2 for i in range(n))
    return value, math.sqrt(s_squared / n), longhand_effective(v) - 1


def longhand_mean(terms):
    n = len(terms)
    mean = math.fsum(terms) / n
    variance = math.fsum((term - mean) ** 2 for term in terms) / (n - 1)
    return mean, math.sqrt(variance / n), n - 1


def longhand_ht(v, y, model, pool_mean, pool_variance):
    return longhand_mean([a * b for a, b in zip(v, y, strict=True)])


def longhand_difference(v, y, model, pool_mean, pool_variance):
    residuals = [v[i] * (y[i] - model[i]) for i in range(len(v))]
    value, error, degrees = longhand_mean(residuals)
    return pool_mean + value, error, degrees


def longhand_slope(v, y, model, pool_variance):
    """The slope and how sure it is, from the draws that are given."""
    draws, total, degrees = range(len(v)), math.fsum(v), longhand_effective(v) - 2
    w = [v[i] / total for i in draws]
    y = [value - math.fsum(w[i] * y[i] for i in draws) for value in y]
    model = [value - math.fsum(w[i] * model[i] for i in draws) for value in model]
    spread = math.fsum(w[i] * model[i] ** 2 for i in draws)
    covariance = math.fsum(w[i] * y[i] * model[i] for i in draws)
    if covariance <= 0 or degrees <= 0:
        return 0.0, 0.0
    explained = covariance**2 / spread
    ratio = degrees * explained / (math.fsum(w[i] * y[i] ** 2 for i in draws) - explained)
    sure = max(0, 1 - 6 / ratio)
    slope = min(1, covariance / (spread + (1 - sure) * max(pool_variance - spread, 0)))
    return slope * max(0, 1 - 1 / ratio), sure


def longhand_regression(v, y, model, pool_mean, pool_variance):
    draws, total = range(len(v)), math.fsum(v)
    w = [v[i] / total for i in draws]
    y_mean = math.fsum(w[i] * y[i] for i in draws)
    m_mean = math.fsum(w[i] * model[i] for i in draws)
    slope, sure = longhand_slope(v, y, model, pool_variance)
    others = [longhand_slope(*(part[:i] + part[i + 1 :] for part in (v, y, model)), pool_variance)[0] for i in draws]
    slopes = [(1 - sure) * slope + sure * other for other in others]
    value = y_mean + math.fsum(w[i] * slopes[i] * (pool_mean - model[i]) for i in draws)
    residual = [(y[i] - y_mean - others[i] * (model[i] - m_mean)) / (1 - w[i]) for i in draws]
    error = math.sqrt(math.fsum((w[i] * residual[i]) ** 2 for i in draws))
    return value, error, longhand_effective(v) - 2


def longhand_effective(v):
    return math.fsum(v) ** 2 / math.fsum(a * a for a in v)


LONGHAND = {
    "snis": longhand_snis,
    "ht": longhand_ht,
    "difference": longhand_difference,
    "regression": longhand_regression,
}


def of_draws(weigh, v, y, model, pool_mean, pool_variance=0.1):
    """An estimate from draws with the weights v, one row for each draw."""
    return weigh(*drawn(np.ones(len(v)), v, model, pool_mean, pool_variance)).estimate(y)


def drawn(count, v, model, pool_mean, pool_variance=0.1):
    """Draws with the weights v, from a population whose mean and variance two undrawn units determine."""
    n, little = count.sum(axis=-1, keepdims=True), np.full(len(v), 1e-200)
    ends = pool_mean + np.array([-1, 1]) * math.sqrt(pool_variance)
    controls = Controls(np.r_[little, 0.5, 0.5], np.r_[model, ends])
    return Sample(np.arange(len(v)), count, n * little / v, repeated=True), controls


WEIGH = {name: kind.weigh for name, kind in ESTIMATORS.items()}


def random_draws(seed, n):
    rng = np.random.default_rng(seed)
    importance, model = rng.gamma(2, 0.5, n), rng.normal(0.3, 0.2, n)
    slope = 0.7 if seed % 4 else -0.7  # A model of the wrong sign has no line
    return importance, slope * model + rng.normal(0, 0.1, n), model, float(rng.normal(0.3, 0.1))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(ESTIMATORS)), st.integers(0, 2**32 - 1), st.integers(3, 60))
def test_each_estimator_equals_its_formula(name, seed, n):
    sample = random_draws(seed, n)
    estimate = of_draws(WEIGH[name], *sample)
    value, error, degrees = LONGHAND[name](*[part.tolist() for part in sample[:3]], sample[3], 0.1)
    assert estimate.value == pytest.approx(value, rel=1e-10, abs=1e-12)
    assert estimate.standard_error == pytest.approx(error, rel=1e-9)
    assert estimate.degrees_of_freedom == pytest.approx(degrees, rel=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_count_is_as_many_draws_and_a_row_is_a_sample_of_its_own(name):
    v, y, model, pool_mean = random_draws(3, 12)
    count = np.random.default_rng(4).poisson(1.5, (5, 12))
    batch = WEIGH[name](*drawn(count, v, model, pool_mean)).estimate(y)
    for sample, n in enumerate(count):
        apart = of_draws(WEIGH[name], *(np.repeat(column, n) for column in (v, y, model)), pool_mean)
        for field, found in vars(batch).items():
            assert found[sample] == pytest.approx(getattr(apart, field), rel=1e-10)


@pytest.mark.parametrize("noise", [0.5, 5.0])
def test_regression_of_ten_draws_is_nearly_unbiased_and_no_worse_than_the_mean(noise):
    """Its bias is below .1 of its standard deviation, on skewed values, with straight, bent and too steep models."""
    rng = np.random.default_rng(8)
    truth, seen = rng.gamma(1.5, 1, 400), rng.normal(0, noise, 400)
    rows = rng.random((4000, 400)).argpartition(10, axis=1)[:, :10]
    sample = Sample(rows, np.ones_like(rows), np.full(rows.shape, 10 / 400))
    for model in (truth + seen, 3 * (truth + seen), np.exp(0.3 * (truth + seen))):
        controls = Controls(np.full(400, 1 / 400), model)
        error = regression(sample, controls).estimate(truth[rows]).value - truth.mean()
        assert abs(error.mean()) < 0.1 * error.std()
        plain = snis(sample, controls).estimate(truth[rows]).value - truth.mean()
        assert (error**2).mean() < 1.05 * (plain**2).mean()


# --- score intervals ------------------------------------------------------------------------------------------------

UNIT = (0.0, 1.0)


@pytest.mark.parametrize("level", [0.8, 0.999])
@pytest.mark.parametrize("successes", [0, 7, 40])
def test_the_score_interval_of_a_plain_share_is_wilsons(successes, level):
    from statsmodels.stats.proportion import proportion_confint

    share = successes / 40
    error = math.sqrt(share * (1 - share) / 40)
    found = score_interval(share, error, np.inf, level, UNIT, 40)
    assert found == pytest.approx(proportion_confint(successes, 40, 1 - level, "wilson"), abs=1e-12)


def longhand_variance(mean, bounds):
    return mean - bounds[0] if np.isinf(bounds[1]) else (mean - bounds[0]) * (bounds[1] - mean)


@pytest.mark.parametrize("bounds", [UNIT, (-2.0, 3.0), (0.0, np.inf), (0.25, 9.0)])
def test_the_ends_of_a_score_interval_are_where_the_score_is_the_quantile(bounds):
    """``|R̂ − θ| = t SE √(V(θ)/V(R̂))`` at each end."""
    rng = np.random.default_rng(30)
    for _ in range(50):
        value = bounds[0] + (min(bounds[1], 5) - bounds[0]) * rng.uniform(0.05, 0.95)
        nearest = min(value - bounds[0], bounds[1] - value)
        error, degrees = rng.uniform(0.01, 1) * nearest, rng.uniform(2, 90)
        ends = score_interval(value, error, degrees, 0.9, bounds, 50.0)
        assert bounds[0] <= ends[0] < value < ends[1] <= bounds[1]
        for end in ends:
            scale = math.sqrt(longhand_variance(end, bounds) / longhand_variance(value, bounds))
            assert abs(value - end) == pytest.approx(stats.t.ppf(0.95, degrees) * error * scale, rel=1e-9)


# --- degenerate samples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_draw_has_a_value_and_no_spread(name):
    estimate = of_draws(WEIGH[name], np.array([0.8]), np.array([0.6]), np.array([0.5]), 0.4)
    assert estimate.value == pytest.approx({"snis": 0.6, "ht": 0.48, "difference": 0.48, "regression": 0.6}[name])
    assert math.isnan(estimate.standard_error)
    assert estimate.degrees_of_freedom <= 0
    assert interval(estimate.value, estimate.standard_error, estimate.degrees_of_freedom, 0.95) == (-np.inf, np.inf)
    assert two_sided_pvalue(estimate.value, estimate.standard_error, estimate.degrees_of_freedom) == 1


@pytest.mark.parametrize("level", [0.1, 0.25, 1 / 3, 1e6])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_constant_model_does_not_move_the_estimate_at_all(level, size):
    """Also if rounding makes it uneven: weighted means of .1 are not .1 to the last bit, nor .1 + .2 − .2."""
    for seed in range(20):
        v, y, noise, _ = random_draws(seed, 7)
        twice = (0.1 + noise + 0.7) - (0.7 + noise + 0.1)  # the model expects the same of two rankers
        for model in (np.full(7, level), level + noise - noise, level + 1e-15 * noise, level + twice):
            estimate = of_draws(regression, v, size * y, model, level, 1e-32)
            assert estimate.value == of_draws(snis, v, size * y, model, level).value


def test_too_few_effective_draws_give_an_infinite_interval():
    v, y, model = np.array([10.0, 0.1, 0.1, 0.1]), np.array([0.1, 0.5, 0.9, 0.3]), np.array([0.2, 0.6, 0.5, 0.1])
    assert effective_size(np.ones_like(v), v) < 2
    estimate = of_draws(regression, v, y, model, 0.4)
    assert estimate.standard_error > 0
    assert interval(estimate.value, estimate.standard_error, estimate.degrees_of_freedom, 0.9) == (-np.inf, np.inf)
    assert two_sided_pvalue(estimate.value, estimate.standard_error, estimate.degrees_of_freedom) == 1


# --- references, intervals, p-values, names -------------------------------------------------------------------------


def test_unknown_estimator():
    assert estimator_named("snis").weigh is snis
    assert estimator_named("ht").weigh is horvitz_thompson
    with pytest.raises(
        ValueError, match=r"unknown estimator 'mean'; the estimators are regression, snis, ht, difference"
    ):
        estimator_named("mean")


def test_interval_from_the_tables():
    """t(.975; 10) = 2.228139, z(.975) = 1.959964, t(.95; 4) = 2.131847."""
    assert interval(1.0, 0.5, 10, 0.95) == pytest.approx((1 - 0.5 * 2.228139, 1 + 0.5 * 2.228139), abs=1e-6)
    assert interval(1.0, 0.5, np.inf, 0.95) == pytest.approx((1 - 0.5 * 1.959964, 1 + 0.5 * 1.959964), abs=1e-6)
    assert interval(0.0, 1.0, 4, 0.9) == pytest.approx((-2.131847, 2.131847), abs=1e-6)
    assert interval(0.2, 0.0, 10, 0.95) == (0.2, 0.2)
    assert interval(0.2, 0.1, 0, 0.95) == (-np.inf, np.inf)
    assert interval(0.2, 0.1, -0.5, 0.95) == (-np.inf, np.inf)
    assert interval(0.2, np.nan, 5, 0.95) == (-np.inf, np.inf)


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, np.nan])
def test_confidence_level_out_of_range(level):
    with pytest.raises(ValueError, match=r"confidence_level must lie between 0 and 1, got"):
        interval(0.0, 1.0, 5, level)


def test_pvalue_from_the_tables():
    """P(|t_10| > 2.228139) = .05, P(|z| > 1.959964) = .05."""
    assert two_sided_pvalue(2.228139, 1, 10) == pytest.approx(0.05, abs=1e-6)
    assert two_sided_pvalue(-1.959964, 1, np.inf) == pytest.approx(0.05, abs=1e-6)
    assert two_sided_pvalue(0, 1, 10) == 1
    assert two_sided_pvalue(0, 0, 10) == 1
    assert two_sided_pvalue(0.1, 0, 10) == 0
    assert two_sided_pvalue(0.1, 0.01, 0) == 1
    assert two_sided_pvalue(0.1, np.nan, 10) == 1


def test_holm_by_hand():
    pvalues = np.array([0.01, np.nan, 0.04, 0.03])
    reject, corrected = corrected_pvalues(pvalues, 0.05, "holm")
    np.testing.assert_allclose(corrected, [0.03, np.nan, 0.06, 0.06])
    assert reject.tolist() == [True, False, False, False]
    assert np.isnan(corrected_pvalues(np.array([np.nan]), 0.05, "holm")[1]).all()


@pytest.mark.parametrize("method", ["holm", "bonferroni", "fdr_bh"])
def test_corrections_are_those_of_statsmodels_also_with_ties(method, monkeypatch):
    from statsmodels.stats.multitest import multipletests

    monkeypatch.setattr("gc.collect", lambda: None)  # it runs at every call, and takes longer than all else here
    rng = np.random.default_rng(0)
    for size in np.repeat(range(1, 9), 10):
        pvalues = np.round(rng.random(size) ** 3, 2)
        found, theirs = corrected_pvalues(pvalues, 0.05, method), multipletests(pvalues, method=method)
        np.testing.assert_array_equal(found[0], theirs[0])
        np.testing.assert_array_equal(found[1], theirs[1])
