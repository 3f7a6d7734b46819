"""The simulated reference of intervals: by enumeration, and against replays of the real drawing and estimate."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active.inference.documents import document_estimate
from pt_active.inference.estimators import ESTIMATORS, Controls, degrees_left, effective_size
from pt_active.inference.reference import (
    FEW,
    Replayed,
    labellings,
    redrawn,
    replayed,
    rescaled_grades,
    studentised,
    tails,
)
from pt_active.inference.replayed_documents import DocumentReplays, Redraws
from pt_active.sampling.chances import EXPONENTIAL, UNIFORM
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import DrawingSettings
from pt_active.sampling.pools import Variables
from pt_active.sampling.sample import Costs, Sample, TwoPhase
from pt_active.sampling.two_phase import draw_documents


def test_shares_are_those_of_the_labels_and_four_more_documents_of_each_grade():
    grades = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.6, 0.3, 0.1]])
    label, weight = np.array([0, 1, -1, 0]), np.array([2.0, 4.0, np.nan, 2.0])
    a = np.array([2.0, 4.0, 2.0]) * 8 / 24
    seen = np.array([a[0] + a[2], a[1], 0.0])
    scaled = grades * (seen + 4) / (a @ grades[[0, 1, 3]] + 4)
    share = (seen + 4 * grades.mean(axis=0)) / (a.sum() + 4)
    stray = 1 / (a.sum() + 2)  # No label has a small probability.
    expected = (1 - stray) * scaled / scaled.sum(axis=1, keepdims=True) + stray * share
    for times in (1, 10):
        np.testing.assert_allclose(rescaled_grades(grades, label, times * weight), expected, rtol=1e-12)
    np.testing.assert_array_equal(rescaled_grades(grades, np.full(4, -1), weight), grades)


@pytest.mark.parametrize(("wrong", "expected"), [(10, 11 / 22 * 10 / 24), (0, 0.0)])
def test_a_model_that_is_certain_and_wrong_is_not_believed(wrong, expected):
    """40 documents of which the model is certain; it is wrong about some of the 20 with labels."""
    label = np.r_[np.zeros(20 - wrong, dtype=int), np.ones(wrong, dtype=int), np.full(20, -1)]
    found = rescaled_grades(np.tile([1.0, 0.0], (40, 1)), label, np.ones(40))
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-12)


def test_labels_have_the_chances_of_the_model_in_any_order():
    grades = np.random.default_rng(0).dirichlet([2, 1, 1], size=50)
    order = np.random.default_rng(1).permutation(50)
    drawn = np.array(list(labellings(grades, order, seed=3)))
    again = np.array(list(labellings(grades[order], np.arange(50), seed=3)))
    np.testing.assert_array_equal(drawn[:, order], again)
    share = np.stack([(drawn == g).mean(axis=0) for g in range(3)], axis=1)
    error = np.sqrt(grades * (1 - grades) / len(drawn))
    assert np.abs((share - grades) / error).max() < 4.5  # The largest of 150 normal deviates.


def test_certain_draws_leave_no_degrees_of_freedom():
    """Ten queries of equal weight, and one that is certain and has half of the weight."""
    p = np.r_[0.5, np.full(20, 0.5 / 20)]
    few = Sample(np.arange(11), np.ones(11, dtype=int), np.r_[1.0, np.full(10, 0.5)])
    importance = few.importance(p)
    assert effective_size(few.count, importance) < 4
    assert degrees_left(few, importance, 1) == pytest.approx(9)
    alike = Sample(np.arange(10), np.ones(10, dtype=int), np.full(10, 1e-9))
    assert degrees_left(alike, alike.importance(np.full(20, 0.05)), 2) == pytest.approx(8, rel=1e-8)


@pytest.mark.parametrize("name", ["snis", "ht", "difference"])
def test_replays_have_the_distribution_of_all_samples(name):
    """All ordered triples of four queries, under one labelling."""
    values, p, q = np.array([0.0, 1.0, 3.0, 7.0]), np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    sample = Sample(np.arange(3), np.ones(3, dtype=int), 3 * q[:3], repeated=True, q=q)
    controls, estimator = Controls(p, np.array([1.0, 1.0, 2.0, 4.0])), ESTIMATORS[name].estimate
    found = replayed(values[None], redrawn(sample, 20_000, np.random.default_rng(1)), estimator, controls)
    triples = np.array(list(itertools.product(range(4), repeat=3)))
    every = Sample(triples, np.ones_like(triples), 3 * q[triples], repeated=True, q=q)
    mean, v = estimator(every, controls, values[triples]), every.importance(p)
    weight, square = q[triples].prod(axis=1), mean.standard_error**2 / (v**2).sum(axis=1)
    error = mean.value - p @ values
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(error == 0, 0.0, error / mean.standard_error)
    for quantile in (-2.0, -1.0, 0.0, 1.0, 2.0):
        share = weight[errors <= quantile].sum()
        seen = (found.errors <= quantile).mean()
        assert abs(seen - share) < 3.5 * np.sqrt(share * (1 - share) / 20_000)
    mean_square = weight @ square
    assert found.degrees == pytest.approx(2 * mean_square**2 / (weight @ (square - mean_square) ** 2), rel=0.05)


Q = np.array([0.4, 0.3, 0.2, 0.05, 0.05])
STRATUM = np.array([1, 0, 0, 1, 1, 0, 0, 2])


@pytest.mark.parametrize(
    ("sample", "law"),
    [
        (Sample(np.arange(3), np.ones(3, dtype=int), np.full(3, 0.5), q=Q), EXPONENTIAL),
        (Sample(np.array([0, 3]), np.full(2, 2), 4 * Q[[0, 3]], repeated=True, q=Q), EXPONENTIAL),
        (Sample(np.arange(2), np.ones(2, dtype=int), np.ones(2), q=np.array([0.6, 0.3, 0.05, 0.05])), UNIFORM),
        (Sample(np.array([1, 2, 0, 7]), np.ones(4, dtype=int), np.ones(4), q=np.ones(8) / 8, stratum=STRATUM), UNIFORM),
    ],
    ids=["exponential", "with replacement", "uniform", "strata"],
)
def test_samples_are_redrawn_as_they_were(sample, law):
    """As many draws, whose weights have the mean 1, even where a pair is certain."""
    found, weighted = redrawn(sample, 5000, np.random.default_rng(0), law), np.zeros((5000, len(sample.q)))
    assert (found.draws == sample.draws).all()
    assert sample.repeated or (np.diff(np.sort(found.rows, axis=1), axis=1) > 0).all()
    np.add.at(weighted, (np.arange(5000)[:, None], found.rows), found.count / found.expected)
    assert (np.abs(weighted.mean(axis=0) - 1) <= 3.5 * weighted.std(axis=0) / np.sqrt(5000) + 1e-12).all()
    if sample.repeated:
        np.testing.assert_allclose(found.expected, 4 * Q[found.rows])
    elif sample.stratum is None:
        assert (found.expected == 1).any() == (law is UNIFORM)
    else:
        assert (np.sort(STRATUM[found.rows], axis=1) == [0, 0, 1, 2]).all()
        np.testing.assert_array_equal(found.expected, np.array([0.5, 1 / 3, 1.0])[STRATUM[found.rows]])


def test_errors_of_samples_without_one_are_infinite():
    usual = np.array([1.0, 2.0, 1.0, 4.0])
    error, one = np.array([0.5, 0.0, 0.0, 1.0]), np.zeros(4, dtype=int)
    found = studentised(np.array([1.0, -2.0, 0.0, -3.0]), error, usual, np.full(4, 10.0), one)
    np.testing.assert_array_equal(found.errors, [-np.inf, -3.0, 0.0, 2.0])
    square = np.array([0.25, 0, 0, 0.25])
    variance = square.var(ddof=1)
    assert found.degrees == pytest.approx(2 * (square.mean() ** 2 - variance / 4) / variance)
    of_each = studentised(np.ones(4), np.array([1.0, 1.0, 3.0, 3.0]), np.ones(4), np.ones(4), np.array([0, 0, 1, 1]))
    assert of_each.degrees == np.inf


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_tails_match_the_quantiles_of_replays(confidence):
    number, level = 20_000 - 1, (1 + confidence) / 2
    even = np.arange(1, number + 1) / (number + 1)
    heavy, light = Replayed(stats.t.ppf(even, 3), 50.0), Replayed(stats.norm.ppf(even) / 2, 50.0)
    factor = stats.t.ppf(level, 3) / stats.t.ppf(level, 50)
    assert tails(heavy, 50.0, confidence) == pytest.approx((factor, factor, 50.0), rel=1e-2)
    assert tails(light, 50.0, confidence) == (1.0, 1.0, 50.0)
    skewed = Replayed(np.sort(np.where(heavy.errors > 0, heavy.errors, light.errors)), 50.0)
    found, turned = tails(skewed, 50.0, confidence), tails(Replayed(-skewed.errors[::-1], 50.0), 50.0, confidence)
    assert found == (pytest.approx(factor, rel=1e-2), 1.0, 50.0)
    assert turned == (found.high, found.low, 50.0)
    assert (found.facing(1.0), found.facing(-1.0)) == (found.low, found.high)
    assert found.bounded


NORMAL = np.sort(np.random.default_rng(0).normal(size=999)) / 3


@pytest.mark.parametrize(
    ("errors", "shown", "degrees", "expected", "bounded"),
    [
        (NORMAL, 5.0, 5 / FEW + 1, (1, 1, 5), True),
        (NORMAL, 5.0, 5 / FEW - 1, (1, 1, 5 / FEW - 1), True),
        (NORMAL, 0.1, 20.0, (np.inf, np.inf, 0), False),
        (np.r_[np.linspace(-1, 1, 900), np.full(100, np.inf)], 20.0, 20.0, (np.inf, 1, 20), False),
    ],
)
def test_few_degrees_in_the_replays_are_those_of_the_interval_and_an_end_may_lack(
    errors, shown, degrees, expected, bounded
):
    found = tails(Replayed(errors, shown), degrees, 0.95)
    assert found == expected
    assert found.bounded == bounded


def replays_of(make, queries, drawing, prices, elsewhere=False):
    """Replays at a cost of opening a query and a budget; what the model expects, or else other values, stands in."""
    pool, *_ = make(7, "DCG@3", queries=queries)
    size, rng = len(pool.query), np.random.default_rng(8)
    grades, cost = np.random.default_rng(7).dirichlet([4, 2, 1], size=size), np.ones(size)
    sizes = document_sizes(pool, Variables.of(pool.form, grades), cost, DrawingSettings(drawing))
    design = document_design(sizes, drawing, Costs(pool.indptr, cost, prices[0]), prices[1])
    stands_for = rng.random(size) * pool.form.values.max() if elsewhere else grades @ pool.form.values
    return DocumentReplays(
        pool, np.array([1.0, -1.0]), Redraws(pool.query, design, grades, np.arange(size)), stands_for
    )


@pytest.mark.parametrize(("drawing", "overhead"), [("depth", 2.0), ("successive", 0.0), ("successive", 3.0)])
def test_replays_of_documents_are_those_of_the_drawing(random_documents, drawing, overhead):
    """Additive measures are linear, so the replays are exact, except for the normal part of what was not drawn.

    The distance of two samples of 300 exceeds .133 with a probability of .01.
    """
    budget, rng, found = 60.0 + 5 * overhead, np.random.default_rng(5), []
    replays = replays_of(random_documents, 60, drawing, (overhead, budget))
    pool, grades, values = replays.pool, replays.redraws.grades, replays.pool.form.values
    prices = Costs(pool.indptr, np.ones(len(pool.query)), overhead)
    for _ in range(300):
        sample = draw_documents(replays.redraws.design, prices, budget, rng)
        truth = values[(rng.random((len(grades), 1)) > grades.cumsum(axis=1)[:, :-1]).sum(axis=1)]
        observed = np.where(sample.drawn, truth, replays.stands_for)
        mean = document_estimate(pool, sample, replays.stands_for, observed, replays.contrast)
        found.append((mean.value - pool.weight @ pool.values(truth) @ replays.contrast) / mean.standard_error)
    assert stats.ks_2samp(found, replays.replayed(300, seed=1).errors).statistic < 0.133


@pytest.mark.parametrize(("drawing", "budget"), [("successive", 40.0), ("depth", 10.0)])
def test_a_replay_is_what_the_estimator_says_of_its_draws_and_labels(random_documents, drawing, budget):
    replays = replays_of(random_documents, 20, drawing, (0.0, budget), elsewhere=True)
    pool, contrast = replays.pool, replays.contrast
    design, grades = replays.redraws.design, replays.redraws.grades
    variables, number = Variables.of(pool.form, grades), 50
    slope = (contrast @ pool.gradients(variables.mean)) * pool.weight[pool.query]
    (draws,) = replays.redraws.drawn(number, 3, None)
    place = np.repeat(np.arange(len(design.order)), np.diff(draws.start))
    part, chance = slope**2 * variables.variance, design.chance(pool.query)
    first = np.flatnonzero(slope)[0]
    errors, shown = np.zeros(number), np.zeros(number)
    for r in range(number):
        rows, drawn = design.order[place[draws.row == r]], np.zeros(len(slope), dtype=bool)
        drawn[rows] = True
        opened = np.where(np.bincount(pool.query[rows], minlength=len(pool.weight)) > 0, design.opening, 0.0)
        sample = TwoPhase(design, opened, drawn, 0.0)
        observed = replays.stands_for.copy()
        observed[rows] = pool.form.values[draws.label[draws.row == r]]
        mean = document_estimate(pool, sample, replays.stands_for, observed, contrast)
        truth = pool.weight @ pool.values(variables.mean) @ contrast + slope[rows] @ (observed - variables.mean)[rows]
        truth += np.sign(slope[first]) * np.sqrt(part[~drawn].sum()) * draws.normal[r]
        errors[r] = (mean.value - truth) / mean.standard_error
        usual = (part[rows] * (1 - chance[rows]) / chance[rows] ** 2).sum()
        shown[r] = mean.variance / usual if usual > 0 else 0.0
    found = replays.replayed(number, 3)
    np.testing.assert_allclose(found.errors, np.sort(errors), rtol=1e-9, atol=1e-9)
    assert found.degrees == pytest.approx(2 * (shown.mean() ** 2 / shown.var(ddof=1) - 1 / number), rel=1e-9)


def test_replays_in_which_everything_is_drawn_have_no_error(random_documents):
    replays = replays_of(random_documents, 20, "successive", (0.0, 1e6), elsewhere=True)
    assert (replays.replayed(50, 3).errors == 0).all()


def test_the_labels_of_a_query_belong_to_one_labelling(random_documents):
    redraws = replays_of(random_documents, 20, "depth", (0.0, 40.0)).redraws
    (draws,) = redraws.drawn(50, 3, 1000)
    place = np.repeat(np.arange(len(redraws.design.order)), np.diff(draws.start))
    label = pd.Series(draws.label).groupby([draws.row, redraws.query[redraws.design.order[place]]])
    assert (label.size() > 1).any()
    assert (label.nunique() == 1).all()
