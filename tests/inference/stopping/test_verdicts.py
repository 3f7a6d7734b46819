"""The foreseen end of bets against real continuations of populations that the model describes; bets that failed."""

import numpy as np
import pytest

from pt_active.inference.stopping.bets import Stakes, excluded
from pt_active.inference.stopping.draws import Units
from pt_active.inference.stopping.looks import FIRST, SECOND, WITHIN, Claim, Goal
from pt_active.inference.stopping.verdicts import Ahead, Proof, decided_after, pair_verdicts, prospect_of, verdict_of

ALPHA = 0.025

WINNER = [[Claim(0.0, above=True)], [Claim(0.0, above=False)]]


def population(rng, n, shift):
    """Contributions that are 0 or the size of their unit, in the order in which they come, and what is believed."""
    size, chance = rng.normal(shift, 1, n), rng.beta(0.6, 1.8, n)
    variance = size**2 * chance * (1 - chance)
    rate = np.sqrt(variance) + 0.2 * np.abs(size)
    order = np.argsort(rng.exponential(size=n) / rate)
    model = size * chance, variance, np.minimum(size, 0), np.maximum(size, 0)
    return (size * (rng.random(n) < chance))[order], Units(*(part[order] for part in (rate, *model)))


def proof_of(c, units, judged, planned):
    stakes = Stakes.planned(float(units.expected[0]), len(units.rate), planned, 2 * ALPHA)
    return Proof(units.judged(c, judged), units, stakes)


def test_the_foreseen_share_of_decided_continuations_is_that_of_real_ones():
    n, judged, marks = 800, 100, np.array([200, 350, 600, 799])
    rng, foreseen, real = np.random.default_rng(0), [], []
    for seed in range(60):
        c, units = population(rng, n, rng.choice([0.0, 0.1, 0.2]))
        proof, whole = proof_of(c, units, judged, 300), units.judged(c, n)
        ends = [excluded(side, proof.stakes, 0.0, ALPHA) for side in (whole, whole.mirrored)]
        end = min((x for x in ends if x >= 0), default=n)
        if end <= judged:
            continue
        ahead, (value, error) = Ahead.of(proof), proof.draws.estimate()
        truths = value + error * np.random.default_rng(seed).standard_normal(80)
        block = decided_after(proof, ahead, WINNER, ALPHA, truths, seed)
        foreseen.append((ahead.last[block][:, None] <= marks).mean(axis=0))
        real.append(end <= marks)
    difference = np.array(foreseen) - np.array(real)
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert len(difference) > 30
    assert 0.2 < np.mean(real) < 0.95
    assert (np.abs(difference.mean(axis=0)) <= 3 * error + 0.1).all()


def even(n, variance, low, high):
    return Units(np.ones(n), np.zeros(n), *(np.full(n, x) for x in (variance, low, high)))


def alone(units, theta):
    """Units of which none is judged, and one bet."""
    return Proof(units.judged(np.zeros(len(units.rate)), 0), units, Stakes(np.array([theta]), np.ones(1)))


def without_noise(proof, verdicts, truth):
    """What lies ahead, and the block after which a verdict is reached if all goes on as it would on average."""
    ahead = Ahead.of(proof)
    return ahead, int(decided_after(proof, ahead, verdicts, ALPHA, np.array([truth]), None)[0])


def test_without_noise_the_end_is_that_of_the_formula():
    """One bet whose cap is never met: θ R Σ 1/σ² − θ² Σ 1/σ²/2 reaches the logarithm of 1/α."""
    truth, theta = 30.0, 25.0
    units = even(2000, 0.003, -0.1, 0.1)
    growth = np.cumsum((theta * truth - theta**2 / 2) / units.expected)
    count = int((growth >= np.log(1 / ALPHA)).argmax()) + 1
    for claim in (Claim(0.0, above=True), Claim(2 * truth, above=False)):
        ahead, block = without_noise(alone(units, theta), [[claim]], truth)
        assert 0 < block < len(ahead.last) - 1
        assert ahead.last[block - 1] < count <= ahead.last[block]


@pytest.mark.parametrize("above", [True, False])
def test_without_noise_a_cap_limits_the_bets_on_the_side_that_can_lose(above):
    """Contributions that can fall far short of the model on one side and hardly on the other."""
    n, theta, sign = 2000, 200.0, 1.0 if above else -1.0
    units = even(n, 0.0005, *np.sort([-0.2 * sign, 0.01 * sign]))
    ahead, block = without_noise(alone(units, theta), [[Claim(0.0, above)]], sign * 20.0)
    cap = 0.95 * ahead.variance / (0.2 * (n - np.r_[0, ahead.last[:-1]] - np.diff(np.r_[0, ahead.last]) // 2) - 20.0)
    bet = np.minimum(theta, np.where(cap > 0, cap, np.inf))
    growth = np.cumsum((bet * 20.0 - bet**2 / 2) * ahead.information)
    assert (bet < theta)[:60].all()
    # The room about the middle of a block is known to within one draw.
    assert abs(block - int((growth >= np.log(1 / ALPHA)).argmax())) <= 1
    assert 0 < block < len(ahead.last) - 1


def test_a_verdict_needs_all_of_its_claims_and_the_first_verdict_counts():
    c, units = population(np.random.default_rng(4), 1000, 0.0)
    near, far, proof = Claim(-60.0, above=True), Claim(200.0, above=False), proof_of(c, units, 20, 200)
    asked = [[near]], [[far]], [[near, far]], [[near], [far]]
    first, second, both, either = (without_noise(proof, verdicts, 10.0)[1] for verdicts in asked)
    assert first != second
    assert (both, either) == (max(first, second), min(first, second))


def test_a_model_that_is_sure_of_the_rest_foresees_numbers():
    known = np.r_[np.ones(10), np.zeros(40)]
    proof = proof_of(known, Units(np.ones(50), np.zeros(50), known, np.full(50, -1.0), np.ones(50)), 10, 20)
    with np.errstate(all="raise", under="ignore"):
        ahead = Ahead.of(proof)
        block = decided_after(proof, ahead, WINNER, ALPHA, np.full(5, 10.0))
    assert np.isfinite(ahead.information).all()
    assert (block < len(ahead.last) - 1).all()


def test_four_of_five_continuations_are_settled_by_then():
    """If the estimate were the truth; 3 standard errors of 10 numbers, each from 200 continuations, are 0.04."""
    c, units = population(np.random.default_rng(2), 800, 0.1)
    proof, goal = proof_of(c, units, 100, 300), Goal.of(None)
    given = proof, verdict_of(proof, goal, 2 * ALPHA), goal, (proof.draws.estimate()[0], 0.0), 2 * ALPHA
    found = [prospect_of(*given, seed=seed) for seed in range(10)]
    by_then, before = (np.mean([of(each.draws, each.needed) for each in found]) for of in (np.less_equal, np.less))
    assert before - 0.04 <= 0.8 <= by_then + 0.04


def lucky(last, judged=3):
    """Two draws for the first ranker, and a third that decides the truth ``2 + last``; bets are as large as may be."""
    size, zeros = np.array([1.0, 1.0, 3.0]), np.zeros(3)
    units = Units(size, zeros, size**2, -size, size)
    return Proof(units.judged(np.array([1.0, 1.0, last]), judged), units, Stakes(np.array([1e6]), np.ones(1)))


def verdicts_of(proof):
    """At a level at which two lucky draws are a verdict."""
    return [verdict_of(proof, Goal.of(None), 0.6), *pair_verdicts([proof], 0.6)]


@pytest.mark.parametrize(("last", "resolution"), [(-2.5, SECOND), (-2.0, WITHIN), (-1.0, FIRST)])
def test_what_is_known_for_certain_overturns_what_bets_have_said(last, resolution):
    for verdict in verdicts_of(lucky(last, 2)):
        assert (verdict.resolution, verdict.at, verdict.overturned) == (FIRST, 2, None)
    for verdict in verdicts_of(lucky(last)):
        later = (2, None) if resolution == FIRST else (3, FIRST)
        assert (verdict.resolution, verdict.at, verdict.overturned) == (resolution, *later)
        assert np.isinf(verdict.e_value) == (resolution != WITHIN)
    assert lucky(last).draws.estimate() == pytest.approx((2 + last, 0.0))
