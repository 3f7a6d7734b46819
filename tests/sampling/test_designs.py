"""Sampling distributions against their equations, written out query by query."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.plans.making.pool import Pool, design_table
from pt_active.relevance.costs import ColumnCost
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import Moments, label_moments
from pt_active.sampling.designs import DESIGNS, defensive_share, sampling_distribution

SEEDS = st.integers(0, 2**32 - 1)


def random_instance(seed, systems, queries=9, uniform=False):
    """Moments of correlated systems, costs between .2 and 9, and query weights."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(queries, systems, systems)) * rng.uniform(0.05, 0.5, size=(queries, 1, 1))
    moments = Moments(rng.uniform(0, 1, (queries, systems)), root @ root.transpose(0, 2, 1))
    weight = np.full(queries, 1 / queries) if uniform else rng.dirichlet(np.ones(queries))
    return moments, rng.uniform(0.2, 9, queries), weight


def normalised(values):
    return [value / math.fsum(values) for value in values]


def single(moments, system):
    return moments.mean[:, system].tolist(), moments.covariance[:, system, system].tolist()


def contrast(moments, a, b):
    """``M_1 − M_2`` and ``C_11 + C_22 − 2 C_12`` of every query."""
    mean = [row[a] - row[b] for row in moments.mean.tolist()]
    variance = [c[a][a] + c[b][b] - 2 * c[a][b] for c in moments.covariance.tolist()]
    return mean, variance


def equation_610(mean, variance, cost, weight):
    """``q ∝ p √((M − Ř)² + C) / √λ``; for a difference this is equation 6.11."""
    risk = math.fsum(p * m for p, m in zip(weight, mean, strict=True))
    rows = zip(mean, variance, cost, weight, strict=True)
    return normalised([p * math.sqrt((m - risk) ** 2 + c) / math.sqrt(price) for m, c, price, p in rows])


def assisted(mean, variance, cost, weight):
    """q ∝ p √(C + C̄) / √λ."""
    average = math.fsum(p * c for p, c in zip(weight, variance, strict=True))
    rows = zip(variance, cost, weight, strict=True)
    return normalised([p * math.sqrt(c + average) / math.sqrt(price) for c, price, p in rows])


def average(parts):
    return [math.fsum(values) / len(parts) for values in zip(*parts, strict=True)]


def pairwise(formula, moments, cost, weight):
    """Equation 5.16: the average of the q of all pairs; of one system its own q."""
    pairs = list(itertools.combinations(range(moments.mean.shape[1]), 2))
    contrasts = [contrast(moments, a, b) for a, b in pairs] or [single(moments, 0)]
    return average([formula(*each, cost, weight) for each in contrasts])


FORMULAS = {
    "optimal": lambda moments, uniform, cost, p: pairwise(equation_610, moments, cost, p),
    "assisted": lambda moments, uniform, cost, p: pairwise(assisted, moments, cost, p),
    "active_uniform_cost": lambda moments, uniform, cost, p: pairwise(equation_610, moments, np.ones_like(cost), p),
    "active_uniform_grades": lambda moments, uniform, cost, p: pairwise(equation_610, uniform, cost, p),
    "passive": lambda moments, uniform, cost, p: p,
    "cost_only": lambda moments, uniform, cost, p: normalised(p / np.sqrt(cost)),
    "risk_mixture": lambda moments, uniform, cost, p: average(
        [equation_610(*single(moments, s), cost, p) for s in range(moments.mean.shape[1])]
    ),
}
FORMULAS["hedged"] = lambda *given: average([FORMULAS[name](*given) for name in ("assisted", "active_uniform_grades")])


def assert_exact(q, expected):
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-12)
    assert q.sum() == pytest.approx(1, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(sorted(DESIGNS)), st.integers(1, 4), st.booleans(), st.floats(0.01, 1))
def test_each_design_and_its_mixture_are_the_equations(seed, name, systems, equal, defensive):
    moments, cost, weight = random_instance(seed, systems, uniform=equal)
    uniform, _, _ = random_instance(seed + 1, systems)
    pure = FORMULAS[name](moments, uniform, cost, weight)
    assert_exact(sampling_distribution(name, moments, cost, weight, 0, uniform), pure)
    q = sampling_distribution(name, moments, cost, weight, defensive, uniform)
    assert (weight / q).max() <= 1 / defensive + 1e-9
    assert_exact(q, [(1 - defensive) * a + defensive * p for a, p in zip(pure, weight, strict=True)])


def of_design(name, moments, cost, weight, defensive=0.1, uniform=None):
    """The same moments under uniform grades as under the model, unless others are given."""
    return sampling_distribution(name, moments, cost, weight, defensive, uniform or moments)


def test_active_uniform_grades_takes_every_grade_as_equally_likely():
    rng, measure = np.random.default_rng(12), parse_measure("DCG@3")
    frame = pd.DataFrame({"qid": np.repeat([f"q{x}" for x in range(6)], 5), "docno": [f"d{z}" for z in range(30)]})
    frame["rank_0"], frame["rank_1"] = (np.concatenate([rng.permutation(5) for _ in range(6)]) for _ in range(2))
    frame[[f"grade_{g}" for g in range(4)]], frame["price"] = rng.dirichlet(np.ones(4), 30), rng.uniform(0.5, 3, 30)
    pool = Pool.from_frame(frame, measure, ColumnCost("price"))
    frame[[f"grade_{g}" for g in range(4)]] = 0.25
    flat = Pool.from_frame(frame, measure, ColumnCost("price"))
    table = design_table(pool, measure, "active_uniform_grades", defensive=0)
    expected = pairwise(equation_610, flat.moments(measure), flat.query_cost, flat.query_weight)
    assert_exact(table["q_prob"].to_numpy(), expected)
    np.testing.assert_allclose(table["q_mean_0"], pool.moments(measure).mean[:, 0])


def test_a_query_without_weight_is_never_drawn():
    moments, cost, weight = random_instance(0, 2)
    weight[3] = 0
    weight /= weight.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in DESIGNS:
            assert of_design(name, moments, cost, weight, 0.1)[3] == 0


def test_few_draws_are_drawn_more_plainly():
    assert [defensive_share(n) for n in (0.5, 1, 4.5)] == [1, 1, 1]
    assert defensive_share(9) == pytest.approx(0.25)
    assert defensive_share(14) > 0.1
    assert [defensive_share(n) for n in (15, 60, np.inf)] == [0.1, 0.1, 0.1]


@pytest.mark.parametrize(
    ("name", "defensive", "message"),
    [
        *(("optimal", each, "defensive must lie between 0 and 1, got") for each in (-0.01, 1.01, np.nan)),
        ("best", 0.1, "unknown design 'best'; the designs are hedged, assisted, optimal, passive"),
        ("hedged", 0.1, "the design 'hedged' needs the moments under uniform grades too"),
    ],
)
def test_what_is_refused(name, defensive, message):
    with pytest.raises(ValueError, match=message):
        sampling_distribution(name, *random_instance(0, 2), defensive)


@pytest.mark.parametrize("name", ["assisted", "optimal", "risk_mixture", "active_uniform_cost"])
def test_without_any_variance_only_weight_and_cost_count(name):
    _, cost, weight = random_instance(1, 1)
    moments = Moments(np.zeros((9, 2)), np.zeros((9, 2, 2)))
    with pytest.warns(UserWarning, match="no variance in anything"):
        q = of_design(name, moments, cost, weight, defensive=0)
    assert_exact(q, normalised(weight / (1 if name == "active_uniform_cost" else np.sqrt(cost))))


@pytest.mark.parametrize("name", ["assisted", "optimal"])
def test_equal_rankings_have_no_variance_but_for_rounding(name):
    rng = np.random.default_rng(0)
    ranks = np.tile(np.arange(1, 21, dtype=np.int32), (2, 8))
    grades = rng.dirichlet(np.full(5, 0.3), 160)
    moments = label_moments(parse_measure("ERR(max_rel=4)@10"), np.arange(0, 161, 20), ranks, grades)
    _, cost, weight = random_instance(0, 1, queries=8)
    with pytest.warns(UserWarning, match="no variance in anything"):
        q = of_design(name, moments, cost, weight, defensive=0)
    assert_exact(q, normalised(weight / np.sqrt(cost)))


def test_a_query_that_the_model_is_certain_of_is_reported_without_a_mixture():
    """If M = Ř and C = 0 in a single query, its optimal q is 0."""
    mean = np.array([[0.2], [0.5], [0.8]])
    covariance = np.array([0.1, 0.0, 0.1]).reshape(3, 1, 1)
    with pytest.warns(UserWarning, match=r"queries with a positive weight have q = 0 .* \(1 in all\)"):
        q = sampling_distribution("optimal", Moments(mean, covariance), np.ones(3), np.full(3, 1 / 3), 0)
    assert q.tolist() == pytest.approx([0.5, 0, 0.5], abs=1e-8)
    assert (sampling_distribution("assisted", Moments(mean, covariance), np.ones(3), np.full(3, 1 / 3), 0) > 0).all()


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from(list(DESIGNS)), st.integers(1, 3))
def test_neither_the_order_of_queries_and_systems_nor_units_matter(seed, name, systems):
    moments, cost, weight = random_instance(seed, systems)
    rng = np.random.default_rng(seed)
    order, swap = rng.permutation(len(cost)), rng.permutation(systems)
    rows = np.ix_(order, swap)
    shuffled = Moments(7 * moments.mean[rows], 49 * moments.covariance[np.ix_(order, swap, swap)])
    q = of_design(name, moments, cost, weight)
    np.testing.assert_allclose(of_design(name, shuffled, 3 * cost[order], weight[order]), q[order], rtol=1e-11)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.001, 1))
def test_no_perturbed_distribution_is_better_than_the_optimal(seed, step):
    """``(Σ p² a/q) (Σ λ q)``, the variance of one draw times its expected cost, is the objective of the Lemma."""
    moments, cost, weight = random_instance(seed, 1)
    mean, variance = (np.array(part) for part in single(moments, 0))
    spread = weight**2 * ((mean - weight @ mean) ** 2 + variance)
    q = sampling_distribution("optimal", moments, cost, weight, defensive=0)
    others = q * np.exp(step * np.random.default_rng(seed).normal(size=(10, len(q))))
    assert (spread @ (1 / q) * (cost @ q) <= (1 / others) @ spread * (others @ cost) * (1 + 1e-12)).all()
