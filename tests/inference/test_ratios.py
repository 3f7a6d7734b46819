"""Estimates of risks against their formulas longhand, and by enumeration of samples."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from samples import pool_scores

from pt_active.inference.estimators import ESTIMATORS, Controls, estimators_of
from pt_active.inference.ratios import (
    Scores,
    domain_estimate,
    linearised,
    ratio_estimate,
    stratified_estimate,
    stratified_mean,
)
from pt_active.risk import ZeroOne
from pt_active.sampling.draws import allocation, draw_strata, strata_by
from pt_active.sampling.sample import Sample


def random_scores(rng, n):
    w, expected = rng.uniform(0.1, 2, n), rng.uniform(0.1, 2, n)
    return Scores(w * rng.random(n), w, expected * rng.random(n), expected)


def once(v):
    """Equally weighted pairs, each drawn once with replacement, with weights proportional to v."""
    return Sample(np.arange(len(v)), np.ones(len(v), dtype=int), 1 / v, repeated=True)


def without(v, pi):
    """Pairs drawn once without replacement, and p such that ``n p/π`` is proportional to v."""
    return Sample(np.arange(len(pi)), np.ones(len(pi), dtype=int), pi), v * pi / (v @ pi)


def plain(n):
    return np.full(n, 1 / n)


@pytest.mark.parametrize("order", [[0], [0, 1], [1, 0]])
def test_the_ratio_is_that_of_the_source(order):
    """[T 3.31] and its variance; with known weights, also as a mean over part of the pool.

    A difference rests on the ratio that has fewer draws.
    """
    rng = np.random.default_rng(1)
    first, second = random_scores(rng, 9), random_scores(rng, 9)
    second = replace(second, weight=np.where(np.arange(9) < 4, second.weight, 0.0))
    scores, v, pi = [(first, second)[s] for s in order], rng.uniform(0.2, 3, 9), rng.uniform(0, 1, 9)
    value, residual, effective = 0.0, np.zeros(9), []
    for sign, s in zip((1, -1), scores, strict=False):
        total = v @ s.weight
        value += sign * (v @ s.numerator) / total
        residual += sign * v * (s.numerator - (v @ s.numerator) / total * s.weight) / total
        effective.append(total**2 / ((v * s.weight) ** 2).sum())
    assert linearised(scores, v, np.ones(9)).effective == pytest.approx(min(effective))
    for sample, p, left in ((once(v), plain(9), np.ones(9)), (*without(v, pi), 1 - pi)):
        found = [ratio_estimate(scores, sample, p, "snis")]
        if order == [0]:
            known = replace(first, expected_weight=first.weight)
            found.append(domain_estimate([known], sample, p, "snis"))
        for each in found:
            assert each.value == pytest.approx(value, abs=1e-12)
            assert each.standard_error == pytest.approx(np.sqrt(left @ residual**2), abs=1e-12)
            assert not sample.repeated or each.degrees_of_freedom == pytest.approx(min(effective) - 1)


def test_residuals_of_a_ratio_are_those_of_the_ratio_without_the_draw():
    """If the model says nothing, ``SE² = Σ (1 − π) (v (u − Ĝ_(i) w)/Σ v w)²``, ``Ĝ_(i)`` of the others."""
    rng = np.random.default_rng(17)
    s, v, pi = random_scores(rng, 10), rng.uniform(0.2, 3, 10), rng.uniform(0, 1, 10)
    s = replace(s, expected_numerator=np.full(10, 0.3), expected_weight=np.full(10, 0.6))
    u, w = v * s.numerator, v * s.weight
    others = (u.sum() - u) / (w.sum() - w)
    variance = ((1 - pi) * ((u - others * w) / w.sum()) ** 2).sum()
    found = ratio_estimate([s], *without(v, pi), "regression")
    assert found.standard_error == pytest.approx(np.sqrt(variance), abs=1e-12)


@pytest.mark.parametrize("estimator", ["snis", "regression"])
def test_the_known_zero_counts_with_its_known_share(estimator):
    """The estimate is that on the pairs that differ, times their share."""
    rng = np.random.default_rng(3)
    f, y = rng.integers(0, 2, (12, 2)).astype(float), rng.integers(0, 2, 12).astype(float)
    p, differ = rng.dirichlet(np.ones(12)), f[:, 0] != f[:, 1]
    scores, expected = pool_scores(ZeroOne(), f, y, rng.random(12), p), p / rng.uniform(0.5, 3, 12)
    sample = Sample(np.arange(12), np.ones(12), expected, repeated=True)
    found = domain_estimate(scores, sample, p, estimator, differ)
    inner = Sample(np.flatnonzero(differ), np.ones(differ.sum()), expected[differ], repeated=True)
    share, (first, second) = float(p @ differ), scores
    controls = Controls(p * differ / share, (first.expected_numerator - second.expected_numerator) * differ)
    alone = ESTIMATORS[estimator].estimate(inner, controls, (first.numerator - second.numerator)[differ])
    assert found.value == pytest.approx(share * alone.value, abs=1e-12)
    assert found.standard_error == pytest.approx(share * alone.standard_error, abs=1e-12)
    assert found.degrees_of_freedom == pytest.approx(alone.degrees_of_freedom)


@pytest.mark.parametrize("estimator", estimators_of("pair"))
def test_a_census_is_exact(estimator):
    rng = np.random.default_rng(5)
    scores, (everything, p) = [random_scores(rng, 12) for _ in range(2)], without(np.ones(12), np.ones(12))
    scores = [replace(s, expected_numerator=2 * s.numerator, expected_weight=s.weight + 1) for s in scores]
    first, second = (s.numerator.sum() / s.weight.sum() for s in scores)
    for some, expected in ((scores[:1], first), (scores, first - second)):
        assert ratio_estimate(some, everything, p, estimator).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("estimator", "number"), [("regression", 2), ("snis", 1), ("difference", 1)])
def test_many_samples_have_the_estimates_of_each(estimator, number):
    """Eight samples of 6 of 60 pairs."""
    rng = np.random.default_rng(number)
    rows, expected = rng.random((8, 60)).argsort(axis=1)[:, :6], rng.uniform(0.05, 0.9, (8, 6))
    labels, model = (rng.random((number, 2, 8, 6)) > 0.4).astype(float), rng.random((number, 2, 60))

    def estimate(which):
        scores = [Scores(*labels[s][:, which], *model[s]) for s in range(number)]
        sample = Sample(rows[which], np.ones_like(rows[which]), expected[which])
        return vars(ratio_estimate(scores, sample, plain(60), estimator))

    together = estimate(slice(None))
    for r in range(8):
        for name, alone in estimate(r).items():
            assert together[name][r] == pytest.approx(float(alone), rel=1e-8, nan_ok=True), name


def test_the_allocation_makes_the_variance_least():
    rng = np.random.default_rng(7)
    stratum, mean, variance = np.repeat([0, 1, 2], [4, 6, 9]), rng.random(19), rng.random(19) ** 3
    size = np.bincount(stratum)
    spread = np.array([mean[stratum == h].var() + variance[stratum == h].mean() for h in range(3)])
    options = [n for n in product(*(range(2, s + 1) for s in size)) if sum(n) == 11]
    best = min(options, key=lambda n: (size**2 * spread / n).sum())
    assert tuple(allocation(stratum, mean, variance, 11)) == best
    assert allocation(np.repeat([0, 1], [10, 30]), np.zeros(40), np.zeros(40), 20).tolist() == [5, 15]


def test_stratified_mean_and_variance_are_unbiased():
    """Over all samples of 2 of 4 and 3 of 5 pairs."""
    values, stratum, size = np.random.default_rng(8).random(9), np.repeat([0, 1], [4, 5]), np.array([4, 5])
    every = product(combinations(range(4), 2), combinations(range(4, 9), 3))
    rows = np.array([first + second for first, second in every])
    found = stratified_mean(values[rows], stratum[rows], size)
    assert found.value.mean() == pytest.approx(values.mean(), abs=1e-12)
    assert (found.standard_error**2).mean() == pytest.approx(found.value.var(), abs=1e-12)
    assert ((found.degrees_of_freedom > 1) & (found.degrees_of_freedom <= 3 + 1e-9)).all()
    assert stratified_mean(np.full(5, 0.5), stratum[rows[0]], size).degrees_of_freedom == 3


def test_strata_are_drawn_with_the_probabilities_that_are_claimed():
    rng, stratum, drawn = np.random.default_rng(9), np.tile([0, 1, 2], 5), np.array([2, 4, 5])
    chosen = np.array([draw_strata(stratum, drawn, rng) for _ in range(1500)])
    for h in range(3):
        assert (chosen[:, stratum == h].sum(axis=1) == drawn[h]).all()
    expected = drawn[stratum] / 5
    assert (abs(chosen.mean(axis=0) - expected) <= 3.5 * np.sqrt(expected * (1 - expected) / 1500)).all()


def test_a_stratified_ratio_is_weighted_by_the_strata():
    s, stratum, size = random_scores(np.random.default_rng(10), 6), np.repeat([0, 1], 3), np.array([30, 12])
    drawn = Sample(np.r_[0:3, 30:33], np.ones(6), (3 / size)[stratum], stratum=np.repeat([0, 1], size))
    top, bottom = (size @ part.reshape(2, 3).mean(axis=1) for part in (s.numerator, s.weight))
    assert stratified_estimate([s], drawn).value == pytest.approx(top / bottom, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: strata_by(np.zeros(9), 5), "no more than half of the 9 pairs, got 5"),
        (lambda: strata_by(np.zeros(9), 0), "at least 1"),
        (lambda: allocation(np.repeat([0, 1], 5), np.zeros(10), np.zeros(10), 3), "need at least 4 draws, got 3"),
    ],
)
def test_bad_strata(make, message):
    with pytest.raises(ValueError, match=message):
        make()
