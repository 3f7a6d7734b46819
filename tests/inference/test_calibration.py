"""The line through weighted labels: against other ways to compute it."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import WLS

from pt_active.inference.calibration import MIN_CALIBRATION_DF, Calibration, calibration, calibration_bins


def sampled(seed, queries=40, each=6):
    """Expectations, values, chances and queries of documents whose values are right on average."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), each)
    mean = rng.gamma(1.0, size=len(query))
    shared = rng.normal(0, 0.3, queries)[query]
    observed = mean * (1 + shared) + rng.normal(0, 0.5, len(query))
    return mean, observed, rng.uniform(0.1, 1, len(query)), query


def by_statsmodels(observed, sides, chance, query):
    """Weighted least squares and errors of clusters, of which the mean score is 0."""
    m = len(np.unique(query))
    line = WLS(observed, sides, weights=1 / chance)
    found = line.fit(cov_type="cluster", cov_kwds={"groups": query, "use_correction": False})
    return found.params, found.bse * np.sqrt(m / (m - 1))


def test_it_is_weighted_least_squares_with_errors_by_query():
    mean, observed, chance, query = sampled(0)
    found = calibration(mean, observed, chance, query)
    line, errors = by_statsmodels(observed, np.column_stack([np.ones_like(mean), mean]), chance, query)
    assert [found.intercept, found.slope] == pytest.approx(list(line), rel=1e-10)
    assert [found.intercept_error, found.slope_error] == pytest.approx(list(errors), rel=1e-10)


def test_degrees_of_freedom_fall_where_one_query_carries_the_error():
    """The parts of the error of two queries are equal, so that rounding would decide whether a model misleads."""
    mean, observed, chance, query = sampled(4)
    shifted = calibration(mean, observed + np.where(query == 3, 50 * (mean - 0.5), 0), chance, query)
    assert shifted.degrees_of_freedom < 3
    assert not shifted.misleads
    assert calibration(mean, observed, chance, query).degrees_of_freedom > MIN_CALIBRATION_DF
    assert {calibration(*sampled(seed, queries=2)).degrees_of_freedom for seed in range(20)} == {MIN_CALIBRATION_DF}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda mean: mean - 0.35, "too low by a third"),
        (lambda mean: 0.5 * mean, "too low by half"),
        (lambda mean: mean + 0.5, "too high by half"),
        (lambda mean: 3.0 * mean, "too high by a factor of 3"),
    ],
)
def test_the_level_is_judged_beside_the_slope(change, said):
    mean, observed, chance, query = sampled(6, queries=400)
    found = calibration(change(mean), observed, chance, query)
    weight = 1 / chance / (1 / chance).sum()
    assert [found.expected, found.observed] == pytest.approx([weight @ change(mean), weight @ observed])
    assert found.off == said


@pytest.mark.parametrize(
    ("slope", "error", "degrees", "misleads"),
    [
        (1.0, 0.1, 50, False),
        (0.2, 0.1, 50, True),
        (0.2, 0.1, 4, False),
        (0.45, 0.1, 50, False),
        (2.5, 0.1, 50, True),
        (2.1, 0.1, 50, False),
        (-0.1, 0.4, 50, True),
        (-0.1, 0.6, 50, False),
        (np.nan, np.nan, 0, False),
    ],
)
def test_only_slopes_that_are_surely_far_from_one_mislead(slope, error, degrees, misleads):
    found = Calibration(slope, error, 0.0, 0.1, degrees, 100, 50)
    assert found.misleads is misleads
    assert bool(found.caution) is misleads


def test_what_says_nothing_is_not_blamed():
    flat = calibration(np.full(20, 0.3), np.arange(20.0), np.ones(20), np.arange(20))
    assert np.isnan([flat.slope, *flat.interval]).all()
    assert not flat.misleads
    lone = calibration(np.r_[0.5, np.ones(5)], np.ones(6), np.ones(6), np.zeros(6, dtype=int))
    assert np.isnan(lone.slope)
    assert lone.off == ""


@pytest.mark.parametrize(
    ("chances", "message"), [([], "needs labelled documents"), ([1.0, 0.0], "positive chance, got 0")]
)
def test_bad_input_is_refused(chances, message):
    chance = np.array(chances)
    with pytest.raises(ValueError, match=message):
        calibration(chance, chance, chance, np.arange(len(chance)))


def test_bins_are_weighted_means_with_errors_by_query():
    mean, observed, chance, query = sampled(5)
    bins = calibration_bins(mean, observed, chance, query, bins=4)
    assert bins.documents.tolist() == [60, 60, 60, 60]
    for number, (low, high) in enumerate(zip(bins.low, bins.high, strict=True)):
        here = (mean >= low) & (mean <= high)
        sides = np.ones(60)
        parts = (by_statsmodels(of[here], sides, chance[here], query[here]) for of in (mean, observed, observed - mean))
        (expected, _), (seen, _), (_, error) = parts
        found = bins.expected[number], bins.observed[number], bins.standard_error[number]
        assert found == pytest.approx((*expected, *seen, *error), abs=1e-12)
    same = calibration_bins(np.ones(6), np.arange(6.0), np.ones(6), np.zeros(6, int))
    assert same.documents.tolist() == [6]
    assert np.isnan(same.standard_error[0])


def test_samples_centre_on_the_line_of_all_and_know_their_errors():
    """400 samples find a bias of .15 standard deviations, a variance a quarter off, and a coverage 3.3 points off.

    A right level is called wrong as rarely as the interval allows.
    """
    found, rng = [], np.random.default_rng(3)
    for seed in range(400):
        sample = sampled(1000 + seed, queries=120)
        drawn = rng.random(len(sample[2])) < sample[2]
        found.append(calibration(*(part[drawn] for part in sample)))
    slopes, squares = np.array([(each.slope, each.slope_error**2) for each in found]).T
    assert abs(slopes.mean() - 1) <= 3 * slopes.std(ddof=1) / np.sqrt(400)
    spread = (slopes - slopes.mean()) ** 2
    assert abs(squares.mean() - spread.mean()) <= 3 * np.hypot(squares.std(), spread.std()) / np.sqrt(400)
    covered = np.mean([each.interval[0] <= 1 <= each.interval[1] for each in found])
    assert abs(covered - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / 400)
    assert not any(each.misleads for each in found)
    wrong = np.mean([calibration(*sampled(seed, queries=12)).off != "" for seed in range(400)])
    assert wrong < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
