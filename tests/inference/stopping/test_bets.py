"""Bets against enumeration of all orders of small pools, and hostile populations by simulation."""

from dataclasses import replace
from itertools import chain, combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.inference.stopping.bets import Stakes, excluded, holm, interval, log_capital, log_capitals
from pt_active.inference.stopping.draws import Units

LOW, HIGH = np.array([-1.0, 0.0, -0.5, -2.0]), np.array([1.0, 3.0, 0.25, -0.5])

STAKES = Stakes(np.array([0.2, 1.5, 40.0]), np.array([0.5, 0.3, 0.2]))

BOLD = Stakes(np.array([1e6]), np.ones(1))
"""A bet that is as large as its cap allows."""

PLAIN = Units(np.ones(4), np.zeros(4), np.ones(4), LOW, HIGH)


MODELS = {
    "middle": ((LOW + HIGH) / 2, (HIGH - LOW) ** 2 / 12),
    "overconfident and wrong": (HIGH, np.full(4, 1e-12)),
    "sure of everything": (LOW, np.zeros(4)),
    "sure of one": (LOW + 0.1, np.array([0, 1.0, 1.0, 1.0])),
    "outside reason": (np.array([9.0, -7.0, 30.0, 0.0]), np.array([1e6, 1e-9, 1.0, 0.1])),
}

RATES = {"equal": [1.0, 1.0, 1.0, 1.0], "unequal": [1.0, 30.0, 0.2, 4.0], "tiny": [1.0, 1e-7, 1.0, 1e3]}


@pytest.mark.parametrize(
    ("model", "rates"), [*((model, "unequal") for model in MODELS), ("middle", "equal"), ("sure of one", "tiny")]
)
def test_the_game_is_fair_at_the_truth_for_any_labels_model_and_rates(model, rates):
    """Over all orders of the units, the mean of the capital is 1 after each draw, on both sides."""
    parts = np.array([RATES[rates], *MODELS[model], LOW, HIGH])
    orders = list(map(list, permutations(range(4))))
    chances = np.prod([parts[0, o] / np.cumsum(parts[0, o][::-1])[::-1] for o in orders], axis=1)
    assert chances.sum() == pytest.approx(1)
    inside = np.random.default_rng(1).uniform(LOW, HIGH, (2, 4))
    corners = list(product(*zip(LOW, HIGH, strict=True)))[::2]
    found = []
    for contribution in np.array([*corners, *inside]):
        whole = [Units(*parts[:, o]).judged(contribution[o], 4) for o in orders]
        for stakes, sign in product((STAKES, BOLD), (1, -1)):
            sides, truth = [each if sign > 0 else each.mirrored for each in whole], sign * float(contribution.sum())
            capital = np.exp([log_capital(each, stakes, truth) for each in sides])
            np.testing.assert_allclose(chances @ capital, 1, rtol=1e-6)  # Bets near a bound magnify rounding.
            for alpha in (0.05, 0.2, 0.5, 0.8):
                ever = chances @ [excluded(each, stakes, truth, alpha) >= 0 for each in sides]
                assert ever <= alpha + 1e-9
                found.append(float(ever))
    # The level is nearly used up for some labels, so that a game that favours the gambler would show.
    assert np.max(found) > (1e-8 if rates == "tiny" else 0.2)


def test_values_are_the_sums_of_the_definition():
    """Z, its bounds and its expected variance, term by term."""
    rate, mean, variance = np.array([[3.0, 1.0, 0.5, 2.0], [0.1, 0.7, 0.0, -1.0], [1.0, 2.0, 3.0, 4.0]])
    c = np.array([0.3, 2.0, -0.25, -1.5])
    draws = Units(rate, mean, variance, LOW, HIGH).judged(c, 4)
    expected = []
    for t in range(4):
        base, left = c[:t].sum() + mean[t:].sum(), rate[t:].sum()
        least, most = (((end - mean) / rate)[t:] * left for end in (LOW, HIGH))
        value, spread = base + (c - mean)[t] / rate[t] * left, left * (variance / rate)[t:].sum()
        expected.append((base, value, base + min(0.0, least.min()), base + max(0.0, most.max()), spread))
    found = draws.base[:4], draws.value, *draws.reach, draws.expected
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)
    for ends, bound in ((draws.least, LOW), (draws.most, HIGH)):
        np.testing.assert_allclose(ends, [c[:t].sum() + bound[t:].sum() for t in range(5)])


def test_capital_is_the_product_of_the_definition():
    draws = PLAIN.judged(np.array([1, 2, 0.25, -0.5]), 4)
    shown, capital = 20.0, STAKES.share.copy()
    for t in range(4):
        variance = draws.expected[t] * shown / (20 + t)
        bet = np.minimum(STAKES.signal / variance, 0.95 / max(0.3 - draws.reach[0, t], 1e-12))
        capital *= 1 + bet * (draws.value[t] - 0.3)
        assert draws.variance[t] == pytest.approx(variance)
        shown += (draws.value[t] - draws.base[t]) ** 2 / draws.expected[t]
        assert np.exp(log_capital(draws, STAKES, 0.3)[t]) == pytest.approx(capital.sum())
        part = draws.first(t + 1)
        np.testing.assert_allclose(np.exp(log_capitals(part, STAKES, 0.3)[0]), capital)


def test_a_tie_is_not_excluded_by_rounding():
    """Contributions that sum to 0, of which floating-point sums leave 5e-17."""
    contribution = np.tile([0.1, 0.2, -0.3], 5)
    units = Units(np.ones(15), np.zeros(15), np.full(15, 0.1), np.full(15, -1.0), np.ones(15))
    draws = units.judged(contribution, 15)
    assert draws.least[-1] != 0
    assert excluded(draws, STAKES, 0.0, 0.99) != 15
    assert max(draws.least[-1], draws.mirrored.least[-1]) > 0
    quiet = Stakes(np.array([1e-9]), np.ones(1))
    assert excluded(draws, quiet, 0.0, 0.05) == excluded(draws.mirrored, quiet, 0.0, 0.05) == -1


@pytest.mark.parametrize("sign", [1, -1])
def test_draws_that_show_nothing_win_nothing_by_rounding(sign):
    """Many units of which all is known and the model is sure, after a few that summed to 0 but for rounding."""
    c = np.r_[0.1, 0.2, -0.3, np.zeros(500)] * sign
    known = np.arange(503) > 2
    width, variance = np.where(known, 0.0, 1e-3 + np.abs(c)), np.where(known, 0.0, 1e-10)
    draws = Units(np.ones(503), np.zeros(503), variance, -width, width).judged(c, 503)
    stakes = Stakes.planned(float(draws.expected[0]), 500, 10, 0.05)
    for side in (draws, draws.mirrored):
        np.testing.assert_allclose(np.diff(log_capital(side, stakes, 0.0)[3:]), 0, atol=1e-5)


@pytest.mark.parametrize("variance", [0.0, 1e-300, 1e200])
def test_a_model_that_is_sure_or_boundless_gives_numbers(variance):
    c = np.array([1.0, 3.0, 0.25, -0.5])
    units = Units(np.array([1e-9, 1.0, 1e9, 1.0]), LOW, np.full(4, variance), LOW, HIGH)
    stakes, draws = stakes_of(units), units.judged(c, 4)
    for side, bets, truth in product((draws, draws.mirrored), (stakes, BOLD), (-1e9, -3.75, 0.0, 3.75, 1e9)):
        assert np.isfinite(log_capital(side, bets, truth)).all()
    assert np.isfinite(draws.first(2).estimate()).all()
    low, high = interval(draws.first(2), stakes, 0.05)
    assert low <= 3.75 <= high


def test_a_capital_without_end_stays_a_number():
    """5,000 draws against a value that is far off: the capital exceeds the largest float."""
    units = Units(*np.outer([1.0, 0.5, 0.01, 0.0, 1.0], np.ones(5000)))
    draws, stakes = units.judged(np.ones(5000), 5000), stakes_of(units)
    path = log_capital(draws, stakes, 2500.0)
    assert np.isfinite(path).all()
    assert path[-1] > 710
    assert 0 < excluded(draws, stakes, 2500.0, 1e-300) < 5000


@pytest.mark.parametrize(
    ("place", "value"),
    [*((0, rate) for rate in (0, -1, np.nan, 5e-324)), (1, np.nan), (2, -1.0), (3, 4.0), (4, np.inf)],
)
def test_units_of_which_nothing_could_be_proved_raise(place, value):
    parts = np.array([np.ones(4), np.zeros(4), np.ones(4), LOW, HIGH])
    parts[place, 1] = value
    with pytest.raises(ValueError, match=r"positive|wrong order"):
        Units(*parts)


@pytest.mark.parametrize("outside", [-1.1, 1.1, np.nan])
def test_a_contribution_outside_its_bounds_raises(outside):
    with pytest.raises(ValueError, match="outside the bounds"):
        PLAIN.judged(np.array([outside, 0.0, 0.0, -1.0]), 1)
    PLAIN.judged(np.array([0.0, outside, 0.0, -1.0]), 1)


@st.composite
def judged_units(draw):
    """Units, of which some are known, and contributions, of which some lie at their bounds."""
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    low = rng.normal(size=n)
    high = low + rng.exponential(size=n) * (rng.random(n) < draw(st.sampled_from([0.5, 1.0])))
    c = np.where(rng.random(n) < 0.3, low, np.where(rng.random(n) < 0.3, high, rng.uniform(low, high)))
    mean = rng.uniform(low - 0.5, high + 0.5)
    variance = rng.exponential(size=n) * draw(st.sampled_from([0.0, 1e-4, 0.3]))
    return Units(rng.exponential(size=n) ** 2 + 1e-3, mean, variance, low, high), c


def stakes_of(units):
    return Stakes.planned(float(units.expected[0]), len(units.rate), 5, 0.3)


@settings(max_examples=20)
@given(judged_units(), st.sampled_from([0.05, 0.5, 0.9]))
def test_an_interval_holds_what_is_not_excluded(case, alpha):
    units, c = case
    stakes = stakes_of(units)
    for n in {0, len(c) // 2, len(c)}:
        draws = units.judged(c, n)
        low, high = interval(draws, stakes, alpha)
        np.testing.assert_allclose(interval(draws.mirrored, stakes, alpha), [-high, -low], atol=1e-8)
        close = 1e-8 + 1e-3 * (draws.estimate()[1] if n else 0.0)
        grid = np.linspace(draws.least[0] - 1, draws.most[0] + 1, 60)
        up = np.array([excluded(draws, stakes, r, alpha / 2) for r in grid])
        down = np.array([excluded(draws.mirrored, stakes, -r, alpha / 2) for r in grid])
        # What lies below an excluded value is excluded no later, and above likewise.
        assert (np.diff(np.where(up < 0, n + 1, up)) >= 0).all()
        assert (np.diff(np.where(down < 0, n + 1, down)) <= 0).all()
        if not ((up >= 0) & (down >= 0)).any():
            outside = (up >= 0) | (down >= 0)
            assert outside[(grid < low - close) | (grid > high + close)].all()
            assert not outside[(grid > low + close) & (grid < high - close)].any()


def test_nothing_judged_and_nothing_to_judge():
    draws = PLAIN.judged(np.full(4, np.nan), 0)
    assert interval(draws, STAKES, 0.05) == (LOW.sum(), HIGH.sum())
    assert [excluded(draws, STAKES, truth, 0.05) for truth in (-2.0, -4.0)] == [-1, 0]
    assert len(log_capital(draws, STAKES)) == 0
    assert np.isnan(draws.estimate()).all()
    assert interval(Units(*np.zeros((5, 0))).judged(np.zeros(0), 0), STAKES, 0.05) == (0.0, 0.0)
    sure = Units(np.ones(3), np.zeros(3), np.ones(3), np.arange(3.0), np.arange(3.0))
    assert interval(sure.judged(np.arange(3.0), 1), STAKES, 0.05) == (3.0, 3.0)


@given(st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0, 7.5, 40.0, 1e300, np.inf]), min_size=1, max_size=6))
def test_holm_rejects_what_the_tests_of_all_sets_reject(values):
    """Closed testing by Bonferroni: a set is rejected if its largest e-value reaches its size over the level."""
    evidence, places = np.array(values), range(len(values))
    sets = list(chain.from_iterable(combinations(places, size) for size in range(1, len(values) + 1)))
    brute = [min(evidence[list(s)].max() / len(s) for s in sets if h in s) for h in places]
    np.testing.assert_allclose(holm(evidence), brute, rtol=1e-12)
    np.testing.assert_array_equal(holm(np.stack([evidence, evidence[::-1]]))[1][::-1], holm(evidence))


# --- labels that are not there, although later ones are: nothing is proved that all labels would not prove ------------


def population(seed):
    rng = np.random.default_rng(seed)
    low, high = -rng.random(7) * [1, 1, 5, 1, 0, 1, 1], rng.random(7)
    mean, variance = rng.uniform(low, high), rng.random(7) * 0.3
    return Units(rng.uniform(0.2, 3, 7), mean, variance, low, high)


def lacking(units, contribution, gone, narrow, draws):
    """The draws if some units are not judged, and their bounds, which shrink so far towards the contribution."""
    away = np.isin(np.arange(7), gone)
    ends = np.stack([end + narrow * (contribution - end) for end in (units.low, units.high)])
    least, most = np.where(away, ends, contribution)
    filled = np.where(away, np.clip(units.mean, least, most), contribution)
    return units.judged(filled, draws, least, most), ends[:, gone]


def completed(units, contribution, gone, labels, draws=7):
    """The draws if all units are judged, and what all of them contribute."""
    filled = contribution.copy()
    filled[gone] = labels
    return units.judged(filled, draws), float(filled.sum())


@settings(max_examples=20)
@given(
    units=st.builds(population, st.integers(0, 10**6)),
    seed=st.integers(0, 10**6),
    gone=st.lists(st.integers(0, 6), min_size=1, max_size=2, unique=True),
    narrow=st.floats(0, 1),
    truth=st.floats(-4, 2),
    number=st.integers(1, 7),
)
def test_evidence_and_interval_with_gaps_hold_for_every_completion(units, seed, gone, narrow, truth, number):
    """Labels are at the bounds of their units or between them, and gaps at all combinations of ends, mean and more."""
    rng = np.random.default_rng(seed)
    share = np.where(rng.random(7) < 0.4, rng.integers(0, 2, 7), rng.random(7))
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


def test_the_estimate_has_the_gaps_as_expected_and_their_variance_in_its_error():
    units = population(3)
    contribution = np.random.default_rng(3).uniform(units.low, units.high)
    some, _ = lacking(units, contribution, [2], 0.0, 7)
    whole, _ = completed(units, contribution, [2], units.mean[2])
    weight = np.where(np.arange(7) == 2, 0.0, 1 / whole.expected)
    weight /= weight.sum()
    value, error = some.estimate()
    assert value == pytest.approx(float(weight @ whole.value))
    # What the third draw makes known moves the fourth and all after it.
    own = weight[3:].sum() ** 2 * min(units.variance[2], (units.high[2] - units.low[2]) ** 2 / 4)
    assert error**2 == pytest.approx(some.trust[-1] * (1 / (1 / whole.expected)[np.arange(7) != 2].sum() + own))
    assert some.trust[-1] == pytest.approx((20 + ((whole.value - whole.base[:-1]) ** 2 / whole.expected).sum()) / 26)
    as_expected = {"ends": np.stack([some.value] * 2), "bases": np.stack([some.base] * 2)}
    judged = replace(some, reach=whole.reach, **as_expected)
    np.testing.assert_allclose(log_capital(judged, STAKES, 0.1)[:-1], log_capital(whole, STAKES, 0.1)[:-1])
