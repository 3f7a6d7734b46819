"""The foreseen end of bets against real continuations of populations that the model describes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pt_active.inference.stopping.bets import Stakes, excluded
from pt_active.inference.stopping.draws import Units
from pt_active.inference.stopping.foresight import Ahead, Claim, decided_after

ALPHA = 0.025

WINNER = [[Claim(0.0, above=True)], [Claim(0.0, above=False)]]


def population(rng: np.random.Generator, n: int, shift: float) -> tuple[np.ndarray, Units]:
    """Contributions that are 0 or the size of their unit, in the order in which they come, and what is believed."""
    size, chance = rng.normal(shift, 1, n), rng.beta(0.6, 1.8, n)
    variance = size**2 * chance * (1 - chance)
    rate = np.sqrt(variance) + 0.2 * np.abs(size)
    order = np.argsort(rng.exponential(size=n) / rate)
    model = size * chance, variance, np.minimum(size, 0), np.maximum(size, 0)
    return (size * (rng.random(n) < chance))[order], Units(*(part[order] for part in (rate, *model)))


def stakes_of(units: Units, planned: int) -> Stakes:
    return Stakes.planned(float(units.expected[0]), len(units.rate), planned, 2 * ALPHA)


def test_the_foreseen_share_of_decided_continuations_is_that_of_real_ones() -> None:
    n, judged, marks = 800, 100, np.array([200, 350, 600, 799])
    rng, foreseen, real = np.random.default_rng(0), [], []
    for seed in range(60):
        c, units = population(rng, n, rng.choice([0.0, 0.1, 0.2]))
        stakes, whole = stakes_of(units, 300), units.judged(c, n)
        ends = [excluded(side, stakes, 0.0, ALPHA) for side in (whole, whole.mirrored)]
        end = min((x for x in ends if x >= 0), default=n)
        if end <= judged:
            continue
        draws = whole.first(judged)
        ahead, (value, error) = Ahead.of(units, judged, float(draws.trust[-1])), draws.estimate()
        truths = value + error * np.random.default_rng(seed).standard_normal(80)
        block = decided_after(draws, stakes, ahead, WINNER, ALPHA, truths, seed)
        foreseen.append((ahead.last[block][:, None] <= marks).mean(axis=0))
        real.append(end <= marks)
    difference = np.array(foreseen) - np.array(real)
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert len(difference) > 30
    assert 0.2 < np.mean(real) < 0.95
    assert (np.abs(difference.mean(axis=0)) <= 3 * error + 0.1).all()


def even(n: int, variance: float, low: float, high: float) -> Units:
    return Units(np.ones(n), np.zeros(n), *(np.full(n, x) for x in (variance, low, high)))


def without_noise(*of: Any) -> int:
    """The block after which a verdict is reached if all goes on as it would on average."""
    *known, truth = of
    return int(decided_after(*known, np.array([truth]), None)[0])


def test_without_noise_the_end_is_that_of_the_formula() -> None:
    """One bet whose cap is never met: θ R Σ 1/σ² − θ² Σ 1/σ²/2 reaches the logarithm of 1/α."""
    n, truth, theta = 2000, 30.0, 25.0
    units = even(n, 0.003, -0.1, 0.1)
    draws, stakes = units.judged(np.zeros(n), 0), Stakes(np.array([theta]), np.ones(1))
    ahead = Ahead.of(units, 0, 1.0)
    growth = np.cumsum((theta * truth - theta**2 / 2) / units.expected)
    count = int((growth >= np.log(1 / ALPHA)).argmax()) + 1
    for claim in (Claim(0.0, above=True), Claim(2 * truth, above=False)):
        block = without_noise(draws, stakes, ahead, [[claim]], ALPHA, truth)
        assert 0 < block < len(ahead.last) - 1
        assert ahead.last[block - 1] < count <= ahead.last[block]


@pytest.mark.parametrize("above", [True, False])
def test_without_noise_a_cap_limits_the_bets_on_the_side_that_can_lose(above: bool) -> None:
    """Contributions that can fall far short of the model on one side and hardly on the other."""
    n, theta, sign = 2000, 200.0, 1.0 if above else -1.0
    units = even(n, 0.0005, *np.sort([-0.2 * sign, 0.01 * sign]))
    draws, stakes = units.judged(np.zeros(n), 0), Stakes(np.array([theta]), np.ones(1))
    ahead, truth = Ahead.of(units, 0, 1.0), sign * 20.0
    cap = 0.95 * ahead.variance / (0.2 * (n - np.r_[0, ahead.last[:-1]] - np.diff(np.r_[0, ahead.last]) // 2) - 20.0)
    bet = np.minimum(theta, np.where(cap > 0, cap, np.inf))
    growth = np.cumsum((bet * 20.0 - bet**2 / 2) * ahead.information)
    assert (bet < theta)[:60].all()
    block = without_noise(draws, stakes, ahead, [[Claim(0.0, above)]], ALPHA, truth)
    # The room about the middle of a block is known to within one draw.
    assert abs(block - int((growth >= np.log(1 / ALPHA)).argmax())) <= 1
    assert 0 < block < len(ahead.last) - 1


def test_a_verdict_needs_all_of_its_claims_and_the_first_verdict_counts() -> None:
    c, units = population(np.random.default_rng(4), 1000, 0.0)
    draws, stakes = units.judged(c, 20), stakes_of(units, 200)
    ahead = Ahead.of(units, 20, 1.0)
    near, far = Claim(-60.0, above=True), Claim(200.0, above=False)
    single = [without_noise(draws, stakes, ahead, [[claim]], ALPHA, 10.0) for claim in (near, far)]
    assert single[0] != single[1]
    assert without_noise(draws, stakes, ahead, [[near, far]], ALPHA, 10.0) == max(single)
    assert without_noise(draws, stakes, ahead, [[near], [far]], ALPHA, 10.0) == min(single)


def test_a_model_that_is_sure_of_the_rest_foresees_numbers() -> None:
    n = 50
    variance = np.r_[np.ones(10), np.zeros(n - 10)]
    units = Units(np.ones(n), np.zeros(n), variance, np.full(n, -1.0), np.ones(n))
    draws = units.judged(np.r_[np.ones(10), np.zeros(n - 10)], 10)
    with np.errstate(all="raise", under="ignore"):
        ahead = Ahead.of(units, 10, float(draws.trust[-1]))
        block = decided_after(draws, stakes_of(units, 20), ahead, WINNER, ALPHA, np.full(5, 10.0))
    assert np.isfinite(ahead.information).all()
    assert (block < len(ahead.last) - 1).all()
