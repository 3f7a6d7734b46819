"""Labels that are not there, although later ones are: nothing is proved that all labels would not prove."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.inference.stopping.bets import Stakes, excluded, interval, log_capital
from pt_active.inference.stopping.draws import Units

N = 7
STAKES = Stakes(np.array([0.1, 0.6, 3.0]), np.array([0.4, 0.4, 0.2]))


def population(seed):
    rng = np.random.default_rng(seed)
    low, high = -rng.random(N) * [1, 1, 5, 1, 0, 1, 1], rng.random(N)
    mean, variance = rng.uniform(low, high), rng.random(N) * 0.3
    return Units(rng.uniform(0.2, 3, N), mean, variance, low, high)


def lacking(units, contribution, gone, narrow, draws):
    """The draws if some units are not judged, and their bounds, which shrink so far towards the contribution."""
    away = np.isin(np.arange(N), gone)
    ends = np.stack([end + narrow * (contribution - end) for end in (units.low, units.high)])
    least, most = np.where(away, ends, contribution)
    filled = np.where(away, np.clip(units.mean, least, most), contribution)
    return units.judged(filled, draws, least, most), ends[:, gone]


def completed(units, contribution, gone, labels, draws=N):
    """The draws if all units are judged, and what all of them contribute."""
    filled = contribution.copy()
    filled[gone] = labels
    return units.judged(filled, draws), float(filled.sum())


@settings(max_examples=20)
@given(
    units=st.builds(population, st.integers(0, 10**6)),
    seed=st.integers(0, 10**6),
    gone=st.lists(st.integers(0, N - 1), min_size=1, max_size=2, unique=True),
    narrow=st.floats(0, 1),
    truth=st.floats(-4, 2),
    number=st.integers(1, N),
)
def test_evidence_and_interval_with_gaps_hold_for_every_completion(units, seed, gone, narrow, truth, number):
    """Labels are at the bounds of their units or between them, and gaps at all combinations of ends, mean and more."""
    rng = np.random.default_rng(seed)
    share = np.where(rng.random(N) < 0.4, rng.integers(0, 2, N), rng.random(N))
    contribution = units.low + share * (units.high - units.low)
    some, ends = lacking(units, contribution, gone, narrow, number)
    inside = np.clip(units.mean[gone], *ends), rng.uniform(*np.sort(ends, axis=0))
    low, high = interval(some, STAKES, 0.3)
    for labels in product(*zip(*ends, *inside, strict=True)):
        full, total = completed(units, contribution, gone, labels, number)
        for known, whole in ((some, full), (some.mirrored, full.mirrored)):
            assert (log_capital(known, STAKES, truth) <= log_capital(whole, STAKES, truth) + 1e-6).all()
        if any(excluded(side, STAKES, r, 0.15) >= 0 for side, r in ((full, total), (full.mirrored, -total))):
            continue  # The bets with all labels are wrong here, as they may be, and the labels alone make the interval.
        least, most = interval(full, STAKES, 0.3)
        # Ends are found to this distance, and err to the outside.
        close = 1e-4 * max(full.estimate()[1], float(full.most.min() - full.least.max())) + 1e-9
        assert low - close <= least <= most <= high + close


@pytest.mark.parametrize("narrow", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(2))
def test_the_least_and_the_largest_square_are_those_of_all_completions(seed, narrow):
    """A unit whose label may be what the model expects has no error there: the least square is 0, and no more."""
    units, rng, held = population(seed), np.random.default_rng(seed), 0
    contribution = rng.uniform(units.low, units.high)
    for gone in map(list, combinations(range(N), 2)):
        some, ends = lacking(units, contribution, gone, narrow, N)
        every = [completed(units, contribution, gone, labels)[0] for labels in product(*ends.T)]
        errors = [whole.value - whole.base[:-1] for whole in every]  # linear in labels
        low, high = np.min(errors, axis=0), np.max(errors, axis=0)
        least, most = some.squares
        closest = np.where((low < 0) & (high > 0), 0.0, np.minimum(low**2, high**2))
        np.testing.assert_allclose(least, closest, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(most, np.maximum(low**2, high**2), rtol=1e-9, atol=1e-12)
        held += int(((least < 1e-12) & (most > 1e-3)).sum())
    assert held > 0


def test_the_estimate_has_the_gaps_as_expected_and_their_variance_in_its_error():
    units = population(3)
    contribution = np.random.default_rng(3).uniform(units.low, units.high)
    some, _ = lacking(units, contribution, [2], 0.0, N)
    whole, _ = completed(units, contribution, [2], units.mean[2])
    weight = np.where(np.arange(N) == 2, 0.0, 1 / whole.expected)
    weight /= weight.sum()
    value, error = some.estimate()
    assert value == pytest.approx(float(weight @ whole.value))
    # What the third draw makes known moves the fourth and all after it.
    own = weight[3:].sum() ** 2 * min(units.variance[2], (units.high[2] - units.low[2]) ** 2 / 4)
    assert error**2 == pytest.approx(some.trust[-1] * (1 / (1 / whole.expected)[np.arange(N) != 2].sum() + own))
    assert some.trust[-1] == pytest.approx((20 + ((whole.value - whole.base[:-1]) ** 2 / whole.expected).sum()) / 26)
    as_expected = {"low": some.value, "high": some.value, "base_low": some.base, "base_high": some.base}
    judged = replace(some, worst=whole.worst, best=whole.best, **as_expected)
    np.testing.assert_allclose(log_capital(judged, STAKES, 0.1)[:-1], log_capital(whole, STAKES, 0.1)[:-1])
