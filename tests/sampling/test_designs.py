"""Sampling distributions against their equations."""

import itertools

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


def normalised(score):
    return score / score.sum()


def single(moments, system):
    return moments.mean[:, system], moments.covariance[:, system, system]


def equation_610(mean, variance, cost, p):
    """``q ∝ p √((M − Ř)² + C) / √λ``; for a difference this is equation 6.11."""
    return normalised(p * np.sqrt((mean - p @ mean) ** 2 + variance) / np.sqrt(cost))


def assisted(mean, variance, cost, p):
    """q ∝ p √(C + C̄) / √λ."""
    return normalised(p * np.sqrt(variance + p @ variance) / np.sqrt(cost))


def residual(mean, variance, cost, p):
    """q ∝ p √C / √λ."""
    return normalised(p * np.sqrt(variance) / np.sqrt(cost))


def pairwise(formula, moments, cost, p):
    """Equation 5.16: the average of the q of all pairs; of one system its own q."""
    M, C = moments.mean, moments.covariance
    pairs = itertools.combinations(range(M.shape[1]), 2)
    contrasts = [(M[:, a] - M[:, b], C[:, a, a] + C[:, b, b] - 2 * C[:, a, b]) for a, b in pairs]
    return np.mean([formula(*each, cost, p) for each in contrasts or [single(moments, 0)]], axis=0)


FORMULAS = {
    "optimal": lambda moments, uniform, cost, p: pairwise(equation_610, moments, cost, p),
    "assisted": lambda moments, uniform, cost, p: pairwise(assisted, moments, cost, p),
    "residual": lambda moments, uniform, cost, p: pairwise(residual, moments, cost, p),
    "active_uniform_cost": lambda moments, uniform, cost, p: pairwise(equation_610, moments, np.ones_like(cost), p),
    "active_uniform_grades": lambda moments, uniform, cost, p: pairwise(equation_610, uniform, cost, p),
    "passive": lambda moments, uniform, cost, p: p,
    "cost_only": lambda moments, uniform, cost, p: normalised(p / np.sqrt(cost)),
    "risk_mixture": lambda moments, uniform, cost, p: np.mean(
        [equation_610(*single(moments, s), cost, p) for s in range(moments.mean.shape[1])], axis=0
    ),
}
FORMULAS["hedged"] = lambda *given: (FORMULAS["assisted"](*given) + FORMULAS["active_uniform_grades"](*given)) / 2


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
    assert_exact(q, (1 - defensive) * pure + defensive * weight)


def of_design(name, moments, cost, weight, defensive=0.1):
    """The same moments under uniform grades as under the model."""
    return sampling_distribution(name, moments, cost, weight, defensive, moments)


def test_active_uniform_grades_takes_every_grade_as_equally_likely():
    rng, measure, grades = np.random.default_rng(12), parse_measure("DCG@3"), [f"grade_{g}" for g in range(4)]
    frame = pd.DataFrame({"qid": np.repeat([f"q{x}" for x in range(6)], 5), "docno": [f"d{z}" for z in range(30)]})
    frame["rank_0"], frame["rank_1"] = (np.concatenate([rng.permutation(5) for _ in range(6)]) for _ in range(2))
    frame[grades], frame["price"] = rng.dirichlet(np.ones(4), 30), rng.uniform(0.5, 3, 30)
    pool = Pool.from_frame(frame, measure, ColumnCost("price"))
    frame[grades] = 0.25
    flat = Pool.from_frame(frame, measure, ColumnCost("price"))
    table = design_table(pool, measure, "active_uniform_grades", defensive=0)
    expected = pairwise(equation_610, flat.moments(measure), flat.query_cost, flat.query_weight)
    assert_exact(table["q_prob"].to_numpy(), expected)
    np.testing.assert_allclose(table["q_mean_0"], pool.moments(measure).mean[:, 0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", DESIGNS)
def test_a_query_without_weight_is_never_drawn(name):
    moments, cost, weight = random_instance(0, 2)
    weight[3] = 0
    assert of_design(name, moments, cost, normalised(weight))[3] == 0


def test_few_draws_are_drawn_more_plainly():
    assert [defensive_share(n) for n in (0.5, 1, 4.5)] == [1, 1, 1]
    assert defensive_share(9) == pytest.approx(0.25)
    assert defensive_share(14) > 0.1
    assert [defensive_share(n) for n in (15, 60, np.inf)] == [0.1, 0.1, 0.1]


def test_a_hedge_needs_both_moments():
    with pytest.raises(ValueError, match="the design 'hedged' needs the moments under uniform grades too"):
        sampling_distribution("hedged", *random_instance(0, 2))


def equal_rankings():
    """Moments of two equal rankings, whose difference has no variance but for rounding."""
    ranks = np.tile(np.arange(1, 21, dtype=np.int32), (2, 9))
    grades = np.random.default_rng(0).dirichlet([0.3] * 5, 180)
    return label_moments(parse_measure("ERR(max_rel=4)@10"), np.arange(0, 181, 20), ranks, grades)


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        *((name, Moments(np.zeros((9, 2)), np.zeros((9, 2, 2)))) for name in ("risk_mixture", "active_uniform_cost")),
        *((name, equal_rankings()) for name in ("assisted", "optimal")),
    ],
)
def test_without_any_variance_only_weight_and_cost_count(name, moments):
    _, cost, weight = random_instance(1, 1)
    with pytest.warns(UserWarning, match="no variance in anything"):
        q = of_design(name, moments, cost, weight, defensive=0)
    assert_exact(q, normalised(weight / (1 if name == "active_uniform_cost" else np.sqrt(cost))))


def test_a_query_that_the_model_is_certain_of_is_reported_without_a_mixture():
    """If M = Ř and C = 0 in a single query, its optimal q is 0."""
    moments = Moments(np.array([[0.2], [0.5], [0.8]]), np.array([0.1, 0.0, 0.1]).reshape(3, 1, 1))
    about = moments, np.ones(3), np.full(3, 1 / 3), 0
    with pytest.warns(UserWarning, match=r"queries with a positive weight have q = 0 .* \(1 in all\)"):
        q = sampling_distribution("optimal", *about)
    assert q.tolist() == pytest.approx([0.5, 0, 0.5], abs=1e-8)
    assert (sampling_distribution("assisted", *about) > 0).all()


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.001, 1))
def test_no_perturbed_distribution_is_better_than_the_optimal(seed, step):
    """``(Σ p² a/q) (Σ λ q)``, the variance of one draw times its expected cost, is the objective of the Lemma."""
    moments, cost, weight = random_instance(seed, 1)
    mean, variance = single(moments, 0)
    spread = weight**2 * ((mean - weight @ mean) ** 2 + variance)
    q = sampling_distribution("optimal", moments, cost, weight, defensive=0)
    others = q * np.exp(step * np.random.default_rng(seed).normal(size=(10, len(q))))
    assert (spread @ (1 / q) * (cost @ q) <= (1 / others) @ spread * (others @ cost) * (1 + 1e-12)).all()
