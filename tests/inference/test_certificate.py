"""How far two leaderboards agree, against scipy and enumeration; and what the estimates say of it, by simulation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from samples import errors_of
from scipy import stats

from pt_active.inference.certificate import agreement, agreement_intervals, favours

ALPHA = 0.05


def by_enumeration(judge: list[float], people: list[float], top: int) -> tuple[float, float]:
    """τ_ap as its paper defines it, by random choices of a ranker and of one above it, and the overlap."""
    order = sorted(range(len(judge)), key=lambda a: -judge[a])
    right = []
    for place, lower in enumerate(order[1:], start=1):
        above = [a for a in order[:place] if judge[a] > judge[lower]]
        if above:
            right.append(np.mean([np.sign(people[a] - people[lower]) for a in above]))
    ways = [list(each) for each in permutations(order)]
    best = [sum(a in sorted(way, key=lambda a: -judge[a])[:top] for way in ways) for a in order]
    of_people = [sum(a in sorted(way, key=lambda a: -people[a])[:top] for way in ways) for a in order]
    return float(np.mean(right)), sum(map(min, best, of_people)) / len(ways) / top


@pytest.mark.parametrize("judge", [[4, 3, 2, 1], [0.1, 0.4, 0.3, 0.2], [2, 2, 1, 0], [1, 0, 0, 0]])
@pytest.mark.parametrize("top", [1, 2, 3])
def test_agreement_is_that_of_scipy_and_of_enumeration(judge: list[float], top: int) -> None:
    people = np.array([*permutations([0.4, 0.3, 0.2, 0.1]), *set(permutations([0.4, 0.4, 0.2, 0.1]))])
    tau, tau_ap, overlap = agreement(np.array(judge, dtype=float), people, top)
    np.testing.assert_allclose(tau, [stats.kendalltau(judge, each)[0] for each in people], rtol=0, atol=1e-12)
    expected = np.array([by_enumeration(judge, each.tolist(), top) for each in people])
    np.testing.assert_allclose(np.transpose([tau_ap, overlap]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("top", [1, 2, 3])
def test_neither_the_order_of_rankers_breaks_ties_nor_does_a_judge_that_is_right_lose_by_them(top: int) -> None:
    judge, people = np.array([2.0, 1, 1, 1, 0]), np.array([0.1, 0.4, 0.3, 0.2, 0.3])
    orders = [list(each) for each in permutations(range(5))]
    found = np.array([agreement(judge[order], people[None, order], top) for order in orders])
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), rtol=0, atol=1e-12)
    assert agreement(judge, judge[None], top) == pytest.approx(1.0)


def some_runs(k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """True values and a covariance of errors in which every third run is nearly the one before it."""
    rng = np.random.default_rng(seed)
    root, values = rng.normal(0, 0.02, (k, k)), rng.uniform(0.3, 0.7, k)
    for run in range(1, k, 3):
        root[run], values[run] = root[run - 1] + rng.normal(0, 0.002, k), values[run - 1] + rng.normal(0, 0.005)
    return values, root @ root.T / 4


JUDGES = {
    "right": lambda truth, error, rng: truth,
    "bent": lambda truth, error, rng: np.exp(5 * truth),
    "wrong about documents": lambda truth, error, rng: truth + 2 * error,
    "wrong about runs": lambda truth, error, rng: truth + rng.normal(0, 0.05, len(truth)),
    "useless": lambda truth, error, rng: rng.permutation(truth),
}


@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize("k", [9, *(pytest.param(k, marks=pytest.mark.slow) for k in (3, 18))])
def test_intervals_hold_where_the_plain_tau_is_too_low(k: int, kind: str) -> None:
    samples, held = 40, []
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        truth, covariance = some_runs(k, seed)
        wrong, error = rng.multivariate_normal(np.zeros(k), covariance, 2, method="eigh")
        judge, top = JUDGES[kind](truth, wrong, rng), max(k // 3, 1)
        found = agreement_intervals(truth + error, errors_of(covariance), judge, top, ALPHA)
        true = agreement(judge, truth[None], top)[:, 0]
        held.append((found[:, 1] <= true + 1e-12) & (true <= found[:, 2] + 1e-12))
    assert (np.mean(held, axis=0) >= 1 - ALPHA - 3 * np.sqrt(ALPHA * (1 - ALPHA) / samples)).all()


def test_runs_that_are_the_same_do_not_make_the_judge_look_right() -> None:
    """Twins whose difference is known to be 0 say nothing of how far the judge is off."""
    truth, covariance = some_runs(9, 4)
    judge = truth + np.random.default_rng(5).normal(0, 0.05, 9)
    twice = np.repeat(np.arange(9), 2)
    one = agreement_intervals(truth, errors_of(covariance), judge, 3, ALPHA)[0]
    two = agreement_intervals(truth[twice], errors_of(covariance[np.ix_(twice, twice)]), judge[twice], 6, ALPHA)[0]
    np.testing.assert_allclose(two, one, rtol=0, atol=0.1)


def test_intervals_of_groups_hold_at_once() -> None:
    truth, covariance = some_runs(6, 8)
    group, off = np.array([0, 1, 0, 2, 1, 1]), truth - 0.5
    favoured, half = favours(off, group, errors_of(covariance), ALPHA)
    means = [off[group == g].mean() - off[group != g].mean() for g in range(3)]
    np.testing.assert_allclose(favoured, means, rtol=0, atol=1e-12)
    drawn = np.random.default_rng(9).multivariate_normal(np.zeros(6), covariance, 20_000)
    errors = np.stack([drawn[:, group == g].mean(1) - drawn[:, group != g].mean(1) for g in range(3)])
    assert (np.abs(errors) <= half[:, None]).all(axis=0).mean() == pytest.approx(1 - ALPHA, abs=0.01)
    assert not favours(off, group, np.zeros((6, 6)), ALPHA)[1].any()


def test_what_is_expected_lies_in_its_interval() -> None:
    """Also if fewer draws than the interval leaves out are far off, or if all are equal up to rounding."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        judge, root = np.r_[0.0, 1.0, np.round(rng.normal(size=5))], rng.normal(0, 10 ** rng.uniform(-4, -1), (7, 7))
        found = agreement_intervals(judge / 10 + rng.normal(0, 0.02, 7), errors_of(root @ root.T), judge, 2, ALPHA)
        assert (found[:, 1] <= found[:, 0]).all()
        assert (found[:, 0] <= found[:, 2]).all()
