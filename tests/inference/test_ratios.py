"""Estimates of risks against their formulas longhand, and by enumeration of samples."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from samples import pool_scores, rows_of

from pt_active.inference.estimators import MeanEstimate, estimators_of
from pt_active.inference.ratios import (
    Domain,
    Scores,
    difference_domain,
    domain_estimate,
    linearised,
    ratio_estimate,
    risk_domain,
    stratified_estimate,
    stratified_mean,
)
from pt_active.relevance.losses import Loss
from pt_active.risk import F1, Precision, Recall, ZeroOne
from pt_active.sampling.draws import allocation, draw_strata, strata_by
from pt_active.sampling.sample import Sample


def random_scores(rng: np.random.Generator, n: int) -> Scores:
    w, expected = rng.uniform(0.1, 2, n), rng.uniform(0.1, 2, n)
    return Scores(w * rng.random(n), w, expected * rng.random(n), expected)


def once(v: np.ndarray) -> Sample:
    """The first of equally weighted pairs, each drawn once with replacement, with weights proportional to v."""
    return Sample(np.arange(len(v)), np.ones(len(v), dtype=int), 1 / v, repeated=True)


def without(v: np.ndarray, pi: np.ndarray) -> tuple[Sample, np.ndarray]:
    """Pairs drawn once without replacement, and their p, such that ``n p/π`` is proportional to v."""
    return Sample(np.arange(len(pi)), np.ones(len(pi), dtype=int), pi), v * pi / (v @ pi)


def plain(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


# --- formulas longhand ----------------------------------------------------------------------------------------------


def test_the_ratio_is_that_of_the_source() -> None:
    """[T 3.31] and its variance, draw by draw."""
    rng = np.random.default_rng(0)
    s, v, n = random_scores(rng, 12), rng.uniform(0.2, 3, 12), 12
    ratio = math.fsum(v * s.numerator) / math.fsum(v * s.weight)
    loss = s.numerator / s.weight
    variance = n * math.fsum(v * s.weight) ** -2 * math.fsum(v**2 * s.weight**2 * (loss - ratio) ** 2)
    for found in (
        ratio_estimate([s], once(v), plain(12), "snis"),
        domain_estimate(risk_domain(replace(s, expected_weight=s.weight), plain(12)), once(v), "snis"),
    ):
        assert found.value == pytest.approx(ratio, abs=1e-12)
        assert found.standard_error == pytest.approx(math.sqrt(variance / n), abs=1e-12)
        effective = math.fsum(v * s.weight) ** 2 / math.fsum((v * s.weight) ** 2)
        assert found.degrees_of_freedom == pytest.approx(effective - 1)


def test_the_difference_of_ratios_longhand() -> None:
    rng = np.random.default_rng(1)
    first, second, v, pi = random_scores(rng, 9), random_scores(rng, 9), rng.uniform(0.2, 3, 9), rng.uniform(0, 1, 9)
    found = ratio_estimate([first, second], *without(v, pi), "snis")
    parts, ratios = [], []
    for s in (first, second):
        ratio = math.fsum(v * s.numerator) / math.fsum(v * s.weight)
        parts.append((s.numerator - ratio * s.weight) / (math.fsum(v * s.weight) / math.fsum(v)))
        ratios.append(ratio)
    d = parts[0] - parts[1]
    assert found.value == pytest.approx(ratios[0] - ratios[1], abs=1e-12)
    error = math.sqrt(math.fsum((1 - pi) * v**2 * d**2)) / math.fsum(v)
    assert found.standard_error == pytest.approx(error, abs=1e-12)


def test_a_difference_has_the_degrees_of_freedom_of_the_ratio_that_rests_on_fewer_draws() -> None:
    rng = np.random.default_rng(19)
    first, second, v = random_scores(rng, 9), random_scores(rng, 9), rng.uniform(0.2, 3, 9)
    second = replace(second, weight=np.where(np.arange(9) < 4, second.weight, 0.0))
    alone = [ratio_estimate([s], once(v), plain(9), "snis").degrees_of_freedom for s in (first, second)]
    assert alone[1] < 3 < alone[0]
    for pair in ([first, second], [second, first]):
        found = ratio_estimate(pair, once(v), plain(9), "snis").degrees_of_freedom
        assert found == pytest.approx(alone[1])


def test_residuals_of_a_ratio_are_those_of_the_ratio_without_the_draw() -> None:
    """If the model says nothing, ``SE² = Σ (1 − π) (v (u − Ĝ_(i) w)/Σ v w)²``, ``Ĝ_(i)`` the ratio of the others."""
    rng = np.random.default_rng(17)
    s, v, pi = random_scores(rng, 10), rng.uniform(0.2, 3, 10), rng.uniform(0, 1, 10)
    s = replace(s, expected_numerator=np.full(10, 0.3), expected_weight=np.full(10, 0.6))
    variance, total = 0.0, math.fsum(v * s.weight)
    for i in range(10):
        others = np.delete(np.arange(10), i)
        ratio = math.fsum((v * s.numerator)[others]) / math.fsum((v * s.weight)[others])
        variance += (1 - pi[i]) * (v[i] * (s.numerator[i] - ratio * s.weight[i]) / total) ** 2
    found = ratio_estimate([s], *without(v, pi), "regression")
    assert found.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)


def test_one_draw_that_counts_says_nothing_of_the_error_of_a_ratio() -> None:
    one = Scores(np.array([0, 1.0, 0]), np.array([0, 1.0, 0]), np.full(3, 0.2), np.full(3, 0.5))
    found = ratio_estimate([one], once(np.ones(3)), plain(3), "regression")
    assert not np.isfinite(found.standard_error)
    assert found.degrees_of_freedom <= 0


def test_the_own_share_of_a_difference_is_that_of_the_ratio_that_rests_on_fewer_draws() -> None:
    rng = np.random.default_rng(18)
    scores, v = [random_scores(rng, 9), random_scores(rng, 9)], rng.uniform(0.2, 3, 9)
    shares = [v * s.weight / (v @ s.weight) for s in scores]
    assert linearised(scores, v, np.ones(9)).own_share == pytest.approx(np.maximum(*shares))
    assert linearised(scores[:1], v, np.ones(9)).own_share == pytest.approx(shares[0])
    fewest = min(1 / (share @ share) for share in shares)
    assert linearised(scores, v, np.ones(9)).effective == pytest.approx(fewest)


def test_unknown_estimator() -> None:
    s = random_scores(np.random.default_rng(5), 3)
    for call in (
        lambda: ratio_estimate([s], once(np.ones(3)), plain(3), "ht"),
        lambda: domain_estimate(risk_domain(s, plain(3)), once(np.ones(3)), "ht"),
    ):
        with pytest.raises(ValueError, match="unknown estimator 'ht'; the estimators are regression, snis, difference"):
            call()


@pytest.mark.parametrize("estimator", estimators_of("pair"))
def test_no_drawn_pair_with_a_weight_is_undefined(estimator: str) -> None:
    zero = Scores(np.zeros(3), np.zeros(3), np.full(3, 0.2), np.full(3, 0.5))
    assert np.isnan(ratio_estimate([zero], once(np.ones(3)), plain(3), estimator).value)


# --- by enumeration of all samples ----------------------------------------------------------------------------------

POOL = 5


@pytest.fixture
def small() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Predictions of two, labels, ρ, p and q of five pairs."""
    f = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]], dtype=float)
    y, rho = np.array([1.0, 0, 1, 0, 0]), np.array([0.7, 0.4, 0.6, 0.2, 0.5])
    return f, y, rho, np.array([0.1, 0.3, 0.2, 0.15, 0.25]), np.array([0.3, 0.0, 0.2, 0.0, 0.5])


@pytest.mark.parametrize("estimator", ["snis", "regression"])
def test_the_known_zero_counts_with_its_known_share(small, estimator: str) -> None:
    """The estimate is that on the pairs that differ, times their share."""
    f, y, rho, p, _ = small
    scores, differ = pool_scores(ZeroOne(), f, y, rho, p), f[:, 0] != f[:, 1]
    rows, v = np.array([0, 1, 2, 4, 3]), np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    share = float(p @ differ)
    domain = difference_domain(*(rows_of(s, rows) for s in scores), differ, p)
    found = domain_estimate(domain, Sample(rows, np.ones(5, dtype=int), p[rows] / v, repeated=True), estimator)
    kept, n = differ[rows], int(differ.sum())
    order = np.argsort(rows[kept])
    inner = Sample(np.flatnonzero(differ), np.ones(3, dtype=int), p[differ] / v[kept][order], repeated=True)
    inside = Domain(domain.values[kept][order], domain.model, p * differ, share)
    alone = domain_estimate(inside, inner, estimator)
    assert n == 3
    assert found.value == pytest.approx(share * alone.value, abs=1e-12)
    assert found.standard_error == pytest.approx(share * alone.standard_error, abs=1e-12)
    assert found.degrees_of_freedom == pytest.approx(alone.degrees_of_freedom)


@pytest.mark.parametrize("estimator", estimators_of("pair"))
@pytest.mark.parametrize("loss", [ZeroOne(), Precision(), Recall(), F1()], ids=str)
def test_a_census_is_exact(small, estimator: str, loss: Loss) -> None:
    f, y, rho, _, _ = small
    p = np.full(POOL, 1 / POOL)
    scores = pool_scores(loss, f, y, rho, p)
    drawn, _ = without(np.ones(POOL), np.ones(POOL))
    truth = [s.numerator.sum() / s.weight.sum() for s in scores]
    for s, expected in zip(scores, truth, strict=True):
        found = [ratio_estimate([s], drawn, p, estimator)]
        if loss in (ZeroOne(), Precision()):
            found.append(domain_estimate(risk_domain(s, p), drawn, estimator))
        for each in found:
            assert each.value == pytest.approx(expected, abs=1e-12)
    both = ratio_estimate(scores, drawn, p, estimator)
    assert both.value == pytest.approx(truth[0] - truth[1], abs=1e-12)


# --- strata ---------------------------------------------------------------------------------------------------------


def test_strata_have_equal_mass_along_the_confidence() -> None:
    confidence = np.random.default_rng(6).normal(size=23)
    stratum = strata_by(confidence, 5)
    assert sorted(np.bincount(stratum)) == [4, 4, 5, 5, 5]
    ends = [(confidence[stratum == h].min(), confidence[stratum == h].max()) for h in range(5)]
    assert all(low[1] < high[0] for low, high in pairwise(ends))


def test_the_allocation_makes_the_variance_least() -> None:
    rng = np.random.default_rng(7)
    stratum, mean, variance = np.repeat([0, 1, 2], [4, 6, 9]), rng.random(19), rng.random(19) ** 3
    size = np.bincount(stratum)
    spread = [np.mean((mean[stratum == h] - mean[stratum == h].mean()) ** 2 + variance[stratum == h]) for h in range(3)]
    options = [n for n in product(*(range(2, s + 1) for s in size)) if sum(n) == 11]
    best = min(options, key=lambda n: sum(s**2 * d / k for s, d, k in zip(size, spread, n, strict=True)))
    assert tuple(allocation(stratum, mean, variance, 11)) == best
    assert allocation(np.repeat([0, 1], [10, 30]), np.zeros(40), np.zeros(40), 20).tolist() == [5, 15]


def test_stratified_mean_and_variance_are_unbiased() -> None:
    """Over all samples of 2 of 4 and 3 of 5 pairs."""
    values, stratum, size = np.random.default_rng(8).random(9), np.repeat([0, 1], [4, 5]), np.array([4, 5])
    found: list[MeanEstimate] = []
    for first, second in product(combinations(range(4), 2), combinations(range(4, 9), 3)):
        rows = np.array([*first, *second])
        found.append(stratified_mean(values[rows], stratum[rows], size))
    estimates = np.array([each.value for each in found])
    assert estimates.mean() == pytest.approx(values.mean(), abs=1e-12)
    assert np.mean([each.standard_error**2 for each in found]) == pytest.approx(estimates.var(), abs=1e-12)
    assert all(1 < each.degrees_of_freedom <= 3 + 1e-9 for each in found)


def test_strata_are_drawn_with_the_probabilities_that_are_claimed() -> None:
    rng, stratum, drawn = np.random.default_rng(9), np.tile([0, 1, 2], 5), np.array([2, 4, 5])
    chosen = np.array([draw_strata(stratum, drawn, rng) for _ in range(1500)])
    for h in range(3):
        assert (chosen[:, stratum == h].sum(axis=1) == drawn[h]).all()
    expected = drawn[stratum] / 5
    assert (abs(chosen.mean(axis=0) - expected) <= 3.5 * np.sqrt(expected * (1 - expected) / 1500)).all()


def test_a_stratified_ratio_is_weighted_by_the_strata() -> None:
    rng = np.random.default_rng(10)
    s, stratum, size = random_scores(rng, 6), np.array([0, 0, 0, 1, 1, 1]), np.array([30, 12])
    drawn = Sample(np.r_[0:3, 30:33], np.ones(6, dtype=int), (3 / size)[stratum], stratum=np.repeat([0, 1], size))
    found = stratified_estimate([s], drawn)
    top, bottom = (sum(size[h] * c[stratum == h].mean() for h in range(2)) for c in (s.numerator, s.weight))
    assert found.value == pytest.approx(top / bottom, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: strata_by(np.zeros(9), 5), "no more than half of the 9 pairs, got 5"),
        (lambda: strata_by(np.zeros(9), 0), "at least 1"),
        (lambda: allocation(np.repeat([0, 1], 5), np.zeros(10), np.zeros(10), 3), "need at least 4 draws, got 3"),
    ],
)
def test_bad_strata(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
