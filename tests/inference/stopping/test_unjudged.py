"""Labels that are not there, although later ones are: nothing is proved that all labels would not prove."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pt_active.inference.stopping.bets import Stakes, excluded, interval, log_capital
from pt_active.inference.stopping.draws import Draws, Units

N = 7
STAKES = Stakes(np.array([0.1, 0.6, 3.0]), np.array([0.4, 0.4, 0.2]))
TRUTHS = (-4.0, -1.0, -0.2, 0.0, 0.3, 1.5)


def population(seed: int) -> Units:
    rng = np.random.default_rng(seed)
    low, high = -rng.random(N) * [1, 1, 5, 1, 0, 1, 1], rng.random(N)
    mean, variance = rng.uniform(low, high), rng.random(N) * 0.3
    return Units.one_by_one(rng.uniform(0.2, 3, N), mean, variance, low, high, settled=0.4)


def in_steps(seed: int) -> Units:
    """Draws that make several units known: the first two at once, and the last two."""
    units = population(seed)
    known_at, drawn_at = np.array([0, 0, 1, 2, 3, 4, 4]), np.array([1, 2, 3, 4, 6])
    return Units(units.rate, units.mean, units.variance, units.low, units.high, known_at, drawn_at, 0.4)


def lacking(units: Units, contribution: np.ndarray, gone: tuple[int, ...], narrow: float, draws: int) -> Draws:
    """The draws if some units are not judged; ``narrow`` is how far their bounds shrink towards the contribution."""
    away = np.isin(np.arange(N), gone)
    ends = [end + narrow * (contribution - end) for end in (units.low, units.high)]
    least, most = (np.where(away, end, contribution) for end in ends)
    return units.judged(np.where(away, np.clip(units.mean, least, most), contribution), draws, least, most)


@pytest.mark.parametrize("narrow", [0.0, 0.5])
@pytest.mark.parametrize("kind", [population, in_steps])
@pytest.mark.parametrize("seed", range(6))
def test_bets_never_win_more_than_with_all_labels(seed: int, kind: type, narrow: float) -> None:
    """Path by path, for every set of units that is not judged, and labels at the bounds and between them."""
    units, rng = kind(seed), np.random.default_rng(100 + seed)
    draws = len(units.drawn_at)
    labels = [
        units.low,
        units.high,
        np.where(rng.random(N) < 0.5, units.low, units.high),
        rng.uniform(units.low, units.high),
    ]
    for contribution in labels:
        whole = units.judged(contribution, draws)
        for size in (1, 2, 4):
            for gone in combinations(range(N), size):
                some = lacking(units, contribution, gone, narrow, draws)
                for known, full in ((some, whole), (some.mirrored, whole.mirrored)):
                    assert (known.least <= full.least + 1e-12).all()
                    assert (known.most >= full.most - 1e-12).all()
                    for truth in TRUTHS:
                        less, more = log_capital(known, STAKES, truth), log_capital(full, STAKES, truth)
                        # Near a bound the bet stakes nearly all, and rounding is magnified.
                        assert (less <= more + 1e-6).all()


@pytest.mark.parametrize("seed", range(4))
def test_draws_before_the_first_gap_prove_what_they_did(seed: int) -> None:
    units = population(seed)
    contribution = np.random.default_rng(seed).uniform(units.low, units.high)
    some, first = lacking(units, contribution, (4,), 0.0, N), units.judged(contribution, 4)
    for known, before in ((some, first), (some.mirrored, first.mirrored)):
        for truth in TRUTHS:
            np.testing.assert_array_equal(log_capital(known, STAKES, truth)[:4], log_capital(before, STAKES, truth))
    wide, narrow = interval(first, STAKES, 0.3), interval(some, STAKES, 0.3)
    assert wide[0] - 1e-3 <= narrow[0] <= narrow[1] <= wide[1] + 1e-3


def test_without_gaps_nothing_changes() -> None:
    units = population(9)
    contribution = np.random.default_rng(9).uniform(units.low, units.high)
    plain, said = units.judged(contribution, N), units.judged(contribution, N, contribution, contribution)
    assert plain.estimate() == said.estimate()
    np.testing.assert_array_equal(plain.variances, np.stack([plain.variance] * 2))
    assert interval(plain, STAKES, 0.1) == interval(said, STAKES, 0.1)
    assert excluded(plain, STAKES, 0.0, 0.5) == excluded(said, STAKES, 0.0, 0.5)


def test_the_estimate_has_the_gaps_as_expected_and_their_variance_in_its_error() -> None:
    units = population(3)
    contribution = np.random.default_rng(3).uniform(units.low, units.high)
    some, filled = lacking(units, contribution, (2,), 0.0, N), contribution.copy()
    filled[2] = units.mean[2]
    whole = units.judged(filled, N)
    weight = np.where(np.arange(N) == 2, 0.0, 1 / whole.expected)
    weight /= weight.sum()
    value, error = some.estimate()
    assert value == pytest.approx(float(weight @ whole.value))
    # What the third draw makes known moves the fourth and all after it.
    own = weight[3:].sum() ** 2 * min(units.variance[2], (units.high[2] - units.low[2]) ** 2 / 4)
    assert error**2 == pytest.approx(some.trust[-1] * (1 / (1 / whole.expected)[np.arange(N) != 2].sum() + own))
    assert some.trust[-1] == pytest.approx((20 + ((whole.value - whole.base[:-1]) ** 2 / whole.expected).sum()) / 26)
    np.testing.assert_allclose(log_capital(some.as_expected, STAKES, 0.1)[:-1], log_capital(whole, STAKES, 0.1)[:-1])


def test_the_parts_of_what_is_not_judged_are_kept_when_draws_are_cut_and_joined() -> None:
    units = population(5)
    contribution = np.random.default_rng(5).uniform(units.low, units.high)
    some = lacking(units, contribution, (1, 3), 0.5, N)
    for part in (some.first(4), some.mirrored.mirrored.first(4)):
        np.testing.assert_array_equal(log_capital(part, STAKES, 0.1), log_capital(some, STAKES, 0.1)[:4])
    begun = units.judged(contribution, 0)
    np.testing.assert_array_equal(log_capital(begun.then(some), STAKES, 0.1), log_capital(some, STAKES, 0.1))


@pytest.mark.parametrize("seed", range(6))
def test_gaps_of_an_earlier_block_never_let_bets_win_more_in_a_later_one(seed: int) -> None:
    """Three units of a first block, of which some are not judged; the other four follow in a second block."""
    units, rng = population(seed), np.random.default_rng(200 + seed)
    rate, mean = rng.uniform(0.2, 3, 4), rng.uniform(units.low[3:], units.high[3:])
    second = rate, mean, units.variance[3:], units.low[3:], units.high[3:]

    def played(contribution: np.ndarray, gone: tuple[int, ...]) -> Draws:
        first = lacking(units, contribution, gone, 0.0, 3)
        away = np.isin(np.arange(3), gone)
        # The second block may expect something else of what is not judged than the first did.
        guess = np.clip(units.mean[:3] + 0.1, units.low[:3], units.high[:3])
        settled = 0.4 + float(np.where(away, guess, contribution[:3]).sum())
        unsettled = float((guess - units.low[:3])[away].sum()), float((units.high[:3] - guess)[away].sum())
        return first.then(Units.one_by_one(*second, settled, unsettled).judged(contribution[3:], 4))

    for contribution in (units.low, units.high, rng.uniform(units.low, units.high)):
        full = played(contribution, ())
        for gone in [(0,), (1,), (0, 2), (0, 1, 2)]:
            some = played(contribution, gone)
            for known, whole in ((some, full), (some.mirrored, full.mirrored)):
                assert (known.least <= whole.least + 1e-12).all()
                assert (known.most >= whole.most - 1e-12).all()
                for truth in TRUTHS:
                    less, more = log_capital(known, STAKES, truth), log_capital(whole, STAKES, truth)
                    assert (less <= more + 1e-6).all()
