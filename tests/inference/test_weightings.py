"""LUR, AILUR and AIIPW: unbiased by enumeration, and their errors by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from pt_active.inference import statistics, weightings
from pt_active.inference.weightings import (
    WEIGHTINGS,
    aiipw,
    ailur,
    estimate_mean,
    estimate_statistic,
    level_weights,
    lur,
    round_estimators,
)
from pt_active.sampling.draws import draw_round
from pt_active.sampling.sample import Steps

VALUES = np.array([3.0, -1.0, 0.5, 7.0, 2.0, 0.0])
MODEL = np.array([2.0, 0.0, 1.0, 4.0, 4.0, 1.0])
LUR_FAMILY = ("lur", "lur_difference", "lur_regression")


def rounds_of(drawn: list[tuple[list[int], list[float]]], size: list[float], independent: bool, n: int) -> Steps:
    """Rounds from the instances drawn in each step and their probabilities."""
    step, probability = np.zeros(n, dtype=int), np.full(n, np.nan)
    for number, (who, chance) in enumerate(drawn, 1):
        step[who], probability[who] = number, chance
    return Steps(np.arange(n, dtype=float), step, probability, np.array(size, float), np.full(len(size), independent))


def learnt(left: list[int], known: list[int]) -> np.ndarray:
    """Sizes that depend on the labels so far, in an arbitrary way that no sensible design would use."""
    seen = sum(VALUES[i] for i in known)
    return np.array([0.5 + abs(np.sin(i + seen)) + 0.3 * VALUES[i] * (seen > 2) for i in left]).clip(0.2)


# --- all that can happen: (chance, rounds) ---------------------------------------------------------------------------


def one_at_a_time(n: int, draws: int) -> Iterator[tuple[float, Steps]]:
    for order in permutations(range(n), draws):
        chance, steps = 1.0, []
        for t, instance in enumerate(order):
            left = [i for i in range(n) if i not in order[:t]]
            size = learnt(left, list(order[:t]))
            q = size[left.index(instance)] / size.sum()
            chance, steps = chance * q, [*steps, ([instance], [q])]
        yield chance, rounds_of(steps, [1] * draws, False, n)


def two_poisson_rounds(n: int) -> Iterator[tuple[float, Steps]]:
    first = np.linspace(0.2, 0.7, n)
    for one in product([0, 1], repeat=n):
        known = [i for i in range(n) if one[i]]
        left = [i for i in range(n) if not one[i]]
        size = learnt(left, known)
        second = np.minimum(0.9, size / size.max()) if left else np.zeros(0)
        for two in product([0, 1], repeat=len(left)):
            new = [i for i, drawn in zip(left, two, strict=True) if drawn]
            chance = np.prod(np.where(one, first, 1 - first)) * np.prod(np.where(two, second, 1 - second))
            chances = [p for p, drawn in zip(second, two, strict=True) if drawn]
            yield chance, rounds_of([(known, list(first[known])), (new, chances)], [1.7, 1.2], True, n)


def two_fixed_rounds(n: int) -> Iterator[tuple[float, Steps]]:
    """Two of n, each pair with its own chance; then two of the rest, each pair with one that the labels decide."""

    def pairs(left: list[int], known: list[int]) -> list[tuple[float, tuple[int, int], list[float]]]:
        both = list(combinations(left, 2))
        size = learnt(left, known)
        chance = np.array([size[left.index(a)] * size[left.index(b)] for a, b in both])
        chance /= chance.sum()
        inclusion = {i: sum(c for c, pair in zip(chance, both, strict=True) if i in pair) for i in left}
        return [(c, pair, [inclusion[i] for i in pair]) for c, pair in zip(chance, both, strict=True)]

    everyone = list(range(n))
    for chance, first, pi in pairs(everyone, []):
        rest = [i for i in everyone if i not in first]
        for again, second, rho in pairs(rest, list(first)):
            yield chance * again, rounds_of([(list(first), pi), (list(second), rho)], [2, 2], False, n)


WORLDS: dict[str, Callable[[], Iterator[tuple[float, Steps]]]] = {
    "one at a time": lambda: one_at_a_time(5, 4),
    "poisson": lambda: two_poisson_rounds(5),
    "fixed": lambda: two_fixed_rounds(5),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("estimator", LUR_FAMILY)
def test_lur_is_unbiased_whatever_the_labels_decide(world: str, estimator: str, monkeypatch) -> None:
    monkeypatch.setattr(weightings, "MIN_LABELS_FOR_LINE", 2)
    total, mean, lines = 0.0, 0.0, 0
    for chance, rounds in WORLDS[world]():
        total += chance
        if not rounds.drawn.any():
            level = level_weights(rounds.size, 5)
            slope = 0.0 if estimator == "lur" else 1.0
            mean += chance * slope * level.sum() * MODEL[:5].mean()
            continue
        mean += chance * float(estimate_mean(rounds, VALUES[:5], estimator, MODEL[:5]).value)
        lines += int((weightings.lines_before(rounds, VALUES[:5], MODEL[:5])[1] != 1).any())
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(VALUES[:5].mean(), abs=1e-12)
    assert lines > 0, "no line was ever drawn"


def test_the_variance_of_poisson_rounds_is_unbiased() -> None:
    first, second, claimed = 0.0, 0.0, 0.0
    for chance, rounds in two_poisson_rounds(5):
        weighting = lur(rounds)
        known = np.where(rounds.drawn, VALUES[:5], 0.0)
        value = weighting.weights @ known
        first, second = first + chance * value, second + chance * value**2
        claimed += chance * weighting.variance(known)
    assert claimed == pytest.approx(second - first**2, abs=1e-12)


def test_the_variance_of_uniform_single_draws_is_unbiased() -> None:
    """Over all orders in which some of five instances can come one at a time."""
    value, claimed = [], []
    for order in permutations(range(5), 3):
        rounds = rounds_of([([i], [1 / (5 - t)]) for t, i in enumerate(order)], [1] * 3, False, 5)
        weighting, known = lur(rounds), np.where(rounds.drawn, VALUES[:5], 0.0)
        value.append(weighting.weights @ known)
        claimed.append(weighting.variance(known))
    assert np.mean(claimed) == pytest.approx(np.var(value), abs=1e-12)


def test_one_at_a_time_it_is_lure() -> None:
    """``(1/M) Σ v_m ℓ_m``, ``v_m = 1 + (N−M)/(N−m) (1/((N−m+1) q_m) − 1)`` (Farquhar et al. 2021)."""
    rng = np.random.default_rng(1)
    rounds = draw_round(Steps.none_yet(rng.normal(size=20)), rng.random(20) + 0.1, 8, "single", rng)
    values, order = rng.normal(size=20), np.argsort(rounds.step)[12:]
    m, q = np.arange(1, 9), rounds.probability[order]
    weight = 1 + (20 - 8) / (20 - m) * (1 / ((20 - m + 1) * q) - 1)
    assert estimate_mean(rounds, values, "lur").value == pytest.approx((weight @ values[order]) / 8, abs=1e-14)


def test_level_weights_are_the_sources_and_average_to_one() -> None:
    j = np.arange(1, 8)
    source = 30 * (30 - 7) / ((30 - j) * (30 - j + 1))
    assert source.mean() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(level_weights(np.ones(7), 30) * 7, source, atol=1e-13)
    size = np.array([5.0, 2.0, 10.0])
    uniform = (30 - np.cumsum(size) + size) * (30 - np.cumsum(size)) / size
    np.testing.assert_allclose(level_weights(size, 30), (1 / uniform) / (1 / uniform).sum(), atol=1e-14)
    np.testing.assert_array_equal(level_weights(np.array([5.0, 25.0]), 30), [0, 1])
    np.testing.assert_array_equal(level_weights(np.array([5.0, 40.0, 3.0]), 30), [0, 1, 0])


# --- kernel estimators -----------------------------------------------------------------------------------------------


def test_the_variance_in_strata_is_that_of_simple_random_samples() -> None:
    """With leave-one-out residuals ``n (y − ȳ)/(n − 1)``, ``Σ r²(1 − f)/n²`` is ``s² (1 − f)/(n − 1)``."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=50)
    once = draw_round(Steps.none_yet(np.zeros(50)), np.ones(50), 12, "fixed", rng)
    expected = values[once.drawn].var(ddof=1) * (1 - 12 / 50) / 11
    for name in ("aiipw", "ailur", "aiipw_ratio", "ailur_ratio"):
        assert estimate_mean(once, values, name).standard_error ** 2 == pytest.approx(expected, rel=1e-12)
    assert estimate_mean(once, values, "lur").standard_error ** 2 == pytest.approx(expected * 11 / 12, rel=1e-12)


def test_the_variance_of_a_slice_is_that_of_a_simple_random_sample_of_it() -> None:
    """``s² (1 − f)/m`` over the m labels in the slice, times ``m/(m − 1)`` for leave-one-out residuals."""
    rng = np.random.default_rng(4)
    values, inside = rng.normal(size=50), (rng.random(50) < 0.5).astype(float)
    once = draw_round(Steps.none_yet(np.zeros(50)), np.ones(50), 12, "fixed", rng)
    m = int((once.drawn & (inside > 0)).sum())
    assert 2 < m < 10
    expected = values[once.drawn & (inside > 0)].var(ddof=1) * (1 - 12 / 50) / (m - 1)
    statistic = statistics.ratio(values * inside, inside)
    for name, factor in (("aiipw", 1), ("ailur_ratio", 1), ("lur", 11 / 12)):
        found = estimate_statistic(once, statistic, name)
        assert found.standard_error**2 == pytest.approx(expected * factor, rel=1e-12), name
        assert found.degrees_of_freedom == pytest.approx(m - 1, rel=1e-12)


def test_ailur_takes_the_rounds_apart() -> None:
    rng, g = np.random.default_rng(5), np.random.default_rng(6).normal(size=80)
    rounds = Steps.none_yet(g)
    for _ in range(3):
        rounds = draw_round(rounds, np.exp(g), 10, "fixed", rng)
    values, h = rng.normal(size=80), 0.8
    level = level_weights(rounds.size, 80)
    total = 0.0
    for step in (1, 2, 3):
        known = (rounds.step > 0) & (rounds.step < step)
        left, new = ~known, rounds.step == step
        near = np.maximum(0, 1 - ((g[:, None] - g) / h) ** 2) * left
        pi = near @ new / near.sum(axis=1)
        total += level[step - 1] * (values[known].sum() + (values[new] / pi[new]).sum()) / 80
    assert ailur(rounds, h).weights @ values == pytest.approx(total, abs=1e-12)
    assert ailur(rounds, h).weights.sum() != pytest.approx(1, abs=1e-3)
    assert estimate_mean(rounds, values, "ailur_ratio", bandwidth=h).value == pytest.approx(
        total / ailur(rounds, h).weights.sum(), abs=1e-12
    )


def test_aiipw_is_the_printed_sum() -> None:
    rng, g = np.random.default_rng(7), np.random.default_rng(8).normal(size=80)
    rounds = draw_round(Steps.none_yet(g), np.exp(g), 30, "poisson", rng)
    near = np.maximum(0, 1 - ((g[:, None] - g) / 0.6) ** 2)
    pi = near @ rounds.drawn / near.sum(axis=1)
    values = rng.normal(size=80)
    drawn = rounds.drawn
    assert aiipw(rounds, 0.6).weights @ values == pytest.approx((values[drawn] / pi[drawn]).sum() / 80, abs=1e-12)


@pytest.mark.parametrize("drawing", ["fixed", "poisson", "single"])
def test_when_everything_is_labelled_all_are_exact(drawing: str) -> None:
    rng = np.random.default_rng(9)
    g, values, model = rng.normal(size=(3, 30))
    rounds = draw_round(Steps.none_yet(g), np.exp(g), 12, drawing, rng)
    rounds = draw_round(rounds, np.exp(g), 30, drawing, rng)
    for name in round_estimators():
        if drawing == "single" and name.startswith("ailur"):
            continue
        found = estimate_mean(rounds, values, name, model)
        assert found.value == pytest.approx(values.mean(), abs=1e-12), name
        assert found.standard_error == pytest.approx(0, abs=1e-12), name


# --- statistics ------------------------------------------------------------------------------------------------------

STATISTICS = {
    "mean": lambda s, y, v: statistics.mean(v),
    "ratio": lambda s, y, v: statistics.ratio(v * y, 0.5 * (y + (s > 0))),
    "AUC": lambda s, y, v: statistics.area_under_roc(s, y),
    "AP": lambda s, y, v: statistics.average_precision(s, y),
    "AUC of a slice": lambda s, y, v: statistics.within(statistics.area_under_roc(s, y), np.arange(len(s)) % 3 > 0),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_gradients_are_derivatives(name: str) -> None:
    rng = np.random.default_rng(10)
    score, relevant = rng.integers(-2, 3, 40) / 2, rng.integers(0, 2, 40).astype(float)
    weights = np.where(rng.random(40) < 0.7, rng.random(40) + 0.1, 0.0)
    statistic = STATISTICS[name](score, relevant, rng.normal(size=40))
    gradient = statistic(weights)[1]
    for i in np.flatnonzero(weights):
        up, down = weights.copy(), weights.copy()
        up[i], down[i] = weights[i] + 1e-6, weights[i] - 1e-6
        assert gradient[i] == pytest.approx((statistic(up)[0] - statistic(down)[0]) / 2e-6, abs=1e-7)


# --- which labels count ----------------------------------------------------------------------------------------------


def effective(a: np.ndarray) -> float:
    return a.sum() ** 2 / (a**2).sum()


def test_degrees_of_freedom_are_those_of_the_labels_that_count() -> None:
    """One fixed round, so ``a ∝ 1/π``: sums over the slice, over what is called relevant, over what is."""
    rng = np.random.default_rng(14)
    score, inside = rng.normal(size=60), rng.random(60) < 0.4
    relevant, called = (rng.random(60) < 0.8).astype(float), (score > 0).astype(float)
    rounds = draw_round(Steps.none_yet(score), np.exp(score), 25, "fixed", rng)
    a = np.where(rounds.drawn, 1 / np.where(rounds.drawn, rounds.probability, 1), 0)
    area, both = statistics.area_under_roc(score, relevant), min(effective(a * relevant), effective(a * (1 - relevant)))
    wanted = {
        "mean": (statistics.mean(score), effective(a)),
        "slice": (statistics.ratio(score * inside, inside / 1.0), effective(a * inside)),
        "precision": (statistics.ratio(called * relevant, called), effective(a * called)),
        "recall": (statistics.ratio(called * relevant, relevant), effective(a * relevant)),
        "F1": (statistics.ratio(called * relevant, (called + relevant) / 2), effective(a * (called + relevant))),
        "AUC": (area, both),
        "AP of a slice": (
            statistics.within(statistics.average_precision(score, relevant), inside),
            effective(a * relevant * inside),
        ),
    }
    assert len({expected for _, expected in wanted.values()}) == len(wanted)
    for name, (statistic, expected) in wanted.items():
        found = estimate_statistic(rounds, statistic, "lur")
        assert found.effective == pytest.approx(expected, rel=1e-12), name
        assert found.degrees_of_freedom == pytest.approx(expected - 1, rel=1e-12), name
    found = estimate_mean(rounds, score, "lur_difference", score)
    assert found.degrees_of_freedom == pytest.approx(effective(a) - 1, rel=1e-12)


@pytest.mark.parametrize("name", ["ratio", "AUC", "AUC of a slice"])
def test_a_label_is_this_far_from_the_statistic_of_the_others(name: str) -> None:
    """``T − T_{−i} = a e/(1 − own_share)``."""
    rng = np.random.default_rng(16)
    score, relevant = rng.integers(-2, 3, 30) / 2, rng.integers(0, 2, 30).astype(float)
    weights = np.where(rng.random(30) < 0.7, rng.random(30) + 0.1, 0.0)
    statistic = STATISTICS[name](score, relevant, rng.normal(size=30))
    found = statistic(weights)
    for i in np.flatnonzero(weights):
        without = statistic(np.where(np.arange(30) == i, 0.0, weights)).value
        away = weights[i] * found.gradient[i] / (1 - found.own_share[i])
        assert found.value - without == pytest.approx(away, abs=1e-12)


@pytest.mark.parametrize("name", ["lur", "aiipw_ratio"])
@pytest.mark.parametrize("kind", ["ratio", "AUC", "AP"])
def test_a_single_label_that_counts_has_no_standard_error(name: str, kind: str) -> None:
    rng = np.random.default_rng(17)
    rounds = draw_round(Steps.none_yet(rng.normal(size=40)), np.ones(40), 15, "fixed", rng)
    one = np.zeros(40)
    one[np.flatnonzero(rounds.drawn)[3]] = 1
    statistic = {
        "ratio": statistics.ratio(one, one),
        "AUC": statistics.area_under_roc(rounds.score, one),
        "AP": statistics.average_precision(rounds.score, one),
    }[kind]
    with np.errstate(divide="raise", invalid="raise"):
        found = estimate_statistic(rounds, statistic, name)
    assert np.isfinite(found.value)
    assert np.isnan(found.standard_error)
    assert found.effective == pytest.approx(1, abs=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 2**16))
def test_areas_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score, relevant = rng.integers(0, 6, 25) / 5, np.r_[0.0, 1.0, rng.integers(0, 2, 23)]
    weights = rng.random(25) + 0.01
    auc = roc_auc_score(relevant, score, sample_weight=weights)
    ap = average_precision_score(relevant, score, sample_weight=weights)
    assert statistics.area_under_roc(score, relevant)(weights)[0] == pytest.approx(auc, abs=1e-12)
    assert statistics.average_precision(score, relevant)(weights)[0] == pytest.approx(ap, abs=1e-12)


def test_one_class_leaves_an_area_undefined() -> None:
    rng = np.random.default_rng(11)
    rounds = draw_round(Steps.none_yet(np.arange(10.0)), np.ones(10), 4, "fixed", rng)
    for statistic in (
        statistics.area_under_roc(np.arange(10.0), np.ones(10)),
        statistics.area_under_roc(np.arange(10.0), np.zeros(10)),
        statistics.average_precision(np.arange(10.0), np.zeros(10)),
        statistics.ratio(np.ones(10), np.zeros(10)),
    ):
        found = estimate_statistic(rounds, statistic, "aiipw")
        assert np.isnan([found.value, found.standard_error, found.degrees_of_freedom]).all()
        assert found.effective == 0


# --- invariances and bad input ---------------------------------------------------------------------------------------


def test_bad_arguments() -> None:
    rng, none = np.random.default_rng(0), Steps.none_yet(np.arange(6.0))
    rounds = draw_round(none, np.ones(6), 3, "fixed", rng)
    with pytest.raises(ValueError, match="no label was drawn yet"):
        estimate_mean(none, VALUES, "lur")
    for name, wrong in product(WEIGHTINGS, (0, -1.0, True, np.nan)):
        with pytest.raises(ValueError, match=f"bandwidth must be a positive number or 'cross_validated', got {wrong}"):
            estimate_mean(rounds, VALUES, name, bandwidth=wrong)
    with pytest.raises(ValueError, match="unknown estimator 'ipw'; for ratios and areas there are lur, ailur"):
        estimate_mean(rounds, VALUES, "ipw")
    with pytest.raises(ValueError, match="lur_difference is for means"):
        estimate_statistic(rounds, statistics.mean(VALUES), "lur_difference")
    with pytest.raises(ValueError, match="lur_regression needs what the model expects"):
        estimate_mean(rounds, VALUES, "lur_regression")
    single = draw_round(none, np.ones(6), 3, "single", rng)
    with pytest.raises(ValueError, match="one draw does not tell how probable it was"):
        estimate_mean(single, VALUES, "ailur")
    lonely = draw_round(none, np.ones(6), 1, "fixed", rng)
    for name in LUR_FAMILY:
        assert np.isnan(estimate_mean(lonely, VALUES, name, MODEL).standard_error)
