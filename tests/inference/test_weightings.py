"""LUR, AILUR and AIIPW: unbiased by enumeration, and their errors by hand; kernel regression by all pairs."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from pt_active.inference import statistics, weightings
from pt_active.inference.weightings import estimate_mean, estimate_statistic, level_weights, lur
from pt_active.sampling.draws import draw_round
from pt_active.sampling.sample import Steps

VALUES = np.array([3.0, -1.0, 0.5, 7.0, 2.0])
MODEL = np.array([2.0, 0.0, 1.0, 4.0, 4.0])
LUR_FAMILY = ("lur", "lur_difference", "lur_regression")


def learnt(known):
    """Sizes that depend on the labels so far, in an arbitrary way that no sensible design would use."""
    seen = VALUES[known].sum()
    return (0.5 + np.abs(np.sin(np.arange(5) + seen)) + 0.3 * VALUES * (seen > 2)).clip(0.2)


def one_at_a_time(draws, sizes=learnt):
    """Every order of draws of single instances, and its probability."""
    for order in permutations(range(5), draws):
        chance, step, probability = 1.0, np.zeros(5, dtype=int), np.full(5, np.nan)
        for number, instance in enumerate(order, 1):
            size = sizes(step > 0)
            probability[instance] = size[instance] / size[step == 0].sum()
            step[instance] = number
            chance *= probability[instance]
        yield chance, Steps(np.arange(5.0), step, probability, np.ones(draws), np.zeros(draws, dtype=bool))


def two_poisson_rounds():
    """Each instance comes in the first round, in the second, or in none."""
    first = np.linspace(0.2, 0.7, 5)
    for each in product(range(3), repeat=5):
        step, left = np.array(each), np.array(each) != 1
        size = learnt(~left)
        second = np.minimum(0.9, size / size[left].max(initial=0.2))
        now = np.where(step == 1, first, 1 - first)
        chance = now.prod() * np.where(step == 2, second, 1 - second)[left].prod()
        probability = np.choose(step, [np.nan, first, second])
        yield chance, Steps(np.arange(5.0), step, probability, np.array([1.7, 1.2]), np.ones(2, dtype=bool))


@pytest.mark.parametrize("world", [lambda: one_at_a_time(4), two_poisson_rounds], ids=["one at a time", "poisson"])
@pytest.mark.parametrize("estimator", LUR_FAMILY)
def test_lur_is_unbiased_whatever_the_labels_decide(world, estimator, monkeypatch):
    monkeypatch.setattr(weightings, "MIN_LABELS_FOR_LINE", 2)
    total, mean, lines = 0.0, 0.0, 0
    for chance, rounds in world():
        total += chance
        if not rounds.drawn.any():  # Nothing is left to correct what the model expects.
            mean += chance * (estimator != "lur") * level_weights(rounds.size, 5).sum() * MODEL.mean()
            continue
        mean += chance * float(estimate_mean(rounds, VALUES, estimator, MODEL).value)
        lines += int((weightings.lines_before(rounds, VALUES, MODEL)[1] != 1).any())
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(VALUES.mean(), abs=1e-12)
    assert lines > 0, "no line was ever drawn"


@pytest.mark.parametrize("outcomes", [two_poisson_rounds(), one_at_a_time(3, np.ones_like)], ids=["poisson", "single"])
def test_the_variance_of_what_is_drawn_by_itself_is_unbiased(outcomes):
    found = []
    for chance, rounds in outcomes:
        weighting, known = lur(rounds), np.where(rounds.drawn, VALUES, 0.0)
        found.append((chance, weighting.weights @ known, weighting.variance(known)))
    chance, value, claimed = np.transpose(found)
    assert chance @ claimed == pytest.approx(chance @ value**2 - (chance @ value) ** 2, abs=1e-12)


def test_one_at_a_time_it_is_lure():
    """``(1/M) Σ v_m ℓ_m``, ``v_m = 1 + (N−M)/(N−m) (1/((N−m+1) q_m) − 1)`` (Farquhar et al. 2021)."""
    rng = np.random.default_rng(1)
    rounds = draw_round(Steps.none_yet(rng.normal(size=20)), rng.random(20) + 0.1, 8, "single", rng)
    values, order = rng.normal(size=20), np.argsort(rounds.step)[12:]
    m, q = np.arange(1, 9), rounds.probability[order]
    weight = 1 + (20 - 8) / (20 - m) * (1 / ((20 - m + 1) * q) - 1)
    assert estimate_mean(rounds, values, "lur").value == pytest.approx((weight @ values[order]) / 8, abs=1e-14)


def test_level_weights_are_inverse_variances_of_uniform_draws():
    size = np.array([5.0, 2.0, 10.0])
    uniform = (30 - np.cumsum(size) + size) * (30 - np.cumsum(size)) / size
    np.testing.assert_allclose(level_weights(size, 30), (1 / uniform) / (1 / uniform).sum(), atol=1e-14)
    np.testing.assert_array_equal(level_weights(np.array([5.0, 40.0, 3.0]), 30), [0, 1, 0])


def one_round(score, labels, seed=0, drawing="fixed"):
    return draw_round(Steps.none_yet(score), np.exp(score), labels, drawing, np.random.default_rng(seed))


def test_the_variance_of_a_slice_is_that_of_a_simple_random_sample_of_it():
    """``s² (1 − f)/m`` over the m labels in the slice, times ``m/(m − 1)`` for leave-one-out residuals."""
    rng = np.random.default_rng(4)
    values, inside = rng.normal(size=50), (rng.random(50) < 0.5).astype(float)
    once = one_round(np.zeros(50), 12, 4)
    counts = once.drawn & (inside > 0)
    m = int(counts.sum())
    expected = values[counts].var(ddof=1) * (1 - 12 / 50) / (m - 1)
    statistic = statistics.ratio(values * inside, inside)
    for name, factor in (("aiipw", 1), ("ailur_ratio", 1), ("lur", 11 / 12)):
        found = estimate_statistic(once, statistic, name)
        assert found.standard_error**2 == pytest.approx(expected * factor, rel=1e-12), name
        assert found.degrees_of_freedom == pytest.approx(m - 1, rel=1e-12), name


def kernel_rounds():
    """Three rounds of 10 of 80, values, and the kernel of all pairs."""
    rng, g = np.random.default_rng(5), np.random.default_rng(6).normal(size=80)
    rounds = Steps.none_yet(g)
    for _ in range(3):
        rounds = draw_round(rounds, np.exp(g), 10, "fixed", rng)
    return rounds, rng.normal(size=80), all_pairs(g, 0.8)


def test_ailur_takes_the_rounds_apart():
    rounds, values, near = kernel_rounds()
    weight = np.zeros(80)
    for step, level in enumerate(level_weights(rounds.size, 80), 1):
        known, new = (rounds.step > 0) & (rounds.step < step), rounds.step == step
        pi = near @ new / (near @ ~known)
        weight += level * (known + new / np.where(new, pi, 1)) / 80
    assert weight.sum() != pytest.approx(1, abs=1e-3)
    for name, expected in (("ailur", weight @ values), ("ailur_ratio", weight @ values / weight.sum())):
        found = estimate_mean(rounds, values, name, bandwidth=0.8).value
        assert found == pytest.approx(expected, abs=1e-12)


def test_aiipw_is_the_printed_sum():
    rounds, values, near = kernel_rounds()
    pi = near @ rounds.drawn / near.sum(axis=1)
    expected = (values[rounds.drawn] / pi[rounds.drawn]).sum() / 80
    assert estimate_mean(rounds, values, "aiipw", bandwidth=0.8).value == pytest.approx(expected, abs=1e-12)


STATISTICS = {
    "mean": lambda s, y, v: statistics.mean(v),
    "ratio": lambda s, y, v: statistics.ratio(v * y, 0.5 * (y + (s > 0))),
    "AUC": lambda s, y, v: statistics.area_under_roc(s, y),
    "AP": lambda s, y, v: statistics.average_precision(s, y),
    "AUC of a slice": lambda s, y, v: statistics.within(statistics.area_under_roc(s, y), np.arange(len(s)) % 3 > 0),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_gradients_are_derivatives_and_own_shares_tell_what_is_left_without_a_label(name):
    """``T − T_{−i} = a e/(1 − own_share)`` for ratios and areas under ROC."""
    rng = np.random.default_rng(10)
    score, relevant = rng.integers(-2, 3, 40) / 2, rng.integers(0, 2, 40).astype(float)
    weights = np.where(rng.random(40) < 0.7, rng.random(40) + 0.1, 0.0)
    statistic = STATISTICS[name](score, relevant, rng.normal(size=40))
    found = statistic(weights)
    for i in np.flatnonzero(weights):
        step = 1e-6 * (np.arange(40) == i)
        slope = (statistic(weights + step).value - statistic(weights - step).value) / 2e-6
        assert found.gradient[i] == pytest.approx(slope, abs=1e-7)
        if name not in ("mean", "AP"):
            without = statistic(np.where(step > 0, 0.0, weights)).value
            away = weights[i] * found.gradient[i] / (1 - found.own_share[i])
            assert found.value - without == pytest.approx(away, abs=1e-12)


def test_degrees_of_freedom_are_those_of_the_labels_that_count():
    """One fixed round, so ``a ∝ 1/π``."""
    rng = np.random.default_rng(14)
    score, inside, relevant = rng.normal(size=60), rng.random(60) < 0.4, (rng.random(60) < 0.8).astype(float)
    rounds = one_round(score, 25)
    a = np.where(rounds.drawn, 1 / np.where(rounds.drawn, rounds.probability, 1), 0)

    def effective(part):
        return (a * part).sum() ** 2 / ((a * part) ** 2).sum()

    precision = statistics.average_precision(score, relevant)
    for statistic, expected in (
        (statistics.mean(score), effective(1)),
        (statistics.ratio(score * inside, inside / 1.0), effective(inside)),
        (statistics.area_under_roc(score, relevant), min(effective(relevant), effective(1 - relevant))),
        (statistics.within(precision, inside), effective(relevant * inside)),
    ):
        found = estimate_statistic(rounds, statistic, "lur")
        assert (found.effective, found.degrees_of_freedom) == pytest.approx((expected, expected - 1), rel=1e-12)
    found = estimate_mean(rounds, score, "lur_difference", score)
    assert found.degrees_of_freedom == pytest.approx(effective(1) - 1, rel=1e-12)


@pytest.mark.parametrize(("name", "kind"), [("lur", "AUC"), ("aiipw_ratio", "ratio")])
def test_a_single_label_that_counts_has_no_standard_error(name, kind):
    rounds = one_round(np.random.default_rng(17).normal(size=40), 15)
    one = np.where(np.arange(40) == np.flatnonzero(rounds.drawn)[3], 1.0, 0.0)
    statistic = statistics.ratio(one, one) if kind == "ratio" else STATISTICS[kind](rounds.score, one, one)
    with np.errstate(divide="raise", invalid="raise"):
        found = estimate_statistic(rounds, statistic, name)
    assert np.isfinite(found.value)
    assert np.isnan(found.standard_error)
    assert found.effective == pytest.approx(1, abs=1e-12)
    for alone in LUR_FAMILY:
        assert np.isnan(estimate_mean(one_round(MODEL, 1), VALUES, alone, MODEL).standard_error)


@settings(max_examples=15)
@given(st.integers(0, 2**16))
def test_areas_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    score, relevant = rng.integers(0, 6, 25) / 5, np.r_[0.0, 1.0, rng.integers(0, 2, 23)]
    weights = rng.random(25) + 0.01
    for ours, theirs in (
        (statistics.area_under_roc, roc_auc_score),
        (statistics.average_precision, average_precision_score),
    ):
        expected = theirs(relevant, score, sample_weight=weights)
        assert ours(score, relevant)(weights).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("estimator", "drawing", "bandwidth", "message"),
    [
        ("lur_regression", "fixed", None, "lur_regression needs what the model expects"),
        ("ailur", "single", None, "one draw does not tell how probable it was"),
        *(("aiipw", "fixed", h, f"a positive number or 'cross_validated', got {h}") for h in (0, -1.0, True, np.nan)),
    ],
)
def test_bad_arguments(estimator, drawing, bandwidth, message):
    with pytest.raises(ValueError, match=message):
        estimate_mean(one_round(MODEL, 3, drawing=drawing), VALUES, estimator, bandwidth=bandwidth)


def all_pairs(score, bandwidth):
    apart = (score[:, None] - score[None, :]) / bandwidth
    return np.where(np.abs(apart) < 1, 1 - apart**2, 0.0)


@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=1, max_size=30), st.floats(0.01, 20))
def test_sums_are_those_over_all_pairs(score, bandwidth):
    g, values = np.array(score), np.random.default_rng(0).normal(size=(2, len(score)))
    found = weightings.kernel_sums(g, values, bandwidth)
    np.testing.assert_allclose(found, values @ all_pairs(g, bandwidth), atol=1e-12)


@pytest.mark.parametrize(("ends", "shift"), [([1e9, -1e9], 0), ([], 1e4)])
def test_a_score_far_out_costs_no_precision(ends, shift):
    g = np.r_[np.random.default_rng(1).normal(size=300), ends]
    values = np.random.default_rng(2).normal(size=(1, len(g)))
    found = weightings.kernel_sums(g + shift, values, 0.3)
    np.testing.assert_allclose(found, values @ all_pairs(g, 0.3), atol=1e-9)


def test_regression_and_what_is_predicted_without_oneself():
    g, y = np.random.default_rng(2).normal(size=(2, 60))
    kernel = all_pairs(g, 0.3)
    np.testing.assert_allclose(weightings.nadaraya_watson(g, y, 0.3), kernel @ y / kernel.sum(axis=1), atol=1e-12)
    np.fill_diagonal(kernel, 0.0)
    weight, plain = kernel.sum(axis=1), (y.sum() - y) / 59
    expected = np.where(weight > 0, kernel @ y / np.maximum(weight, 1e-300), plain)
    np.testing.assert_allclose(weightings.left_out(g, y, 0.3), expected, atol=1e-9)
    assert (weight == 0).any(), "the case without a neighbour should occur"


def test_the_rule_of_thumb_shrinks_with_the_labels_and_scales_with_the_score():
    g, rule_of_thumb = np.random.default_rng(3).normal(size=2000), weightings.rule_of_thumb
    assert rule_of_thumb(g, 1000) == pytest.approx(rule_of_thumb(g, 1) / 10)
    assert rule_of_thumb(7 * g, 50) == pytest.approx(7 * rule_of_thumb(g, 50))
    assert rule_of_thumb(np.r_[g, 1e4], 50) == pytest.approx(rule_of_thumb(g, 50), rel=0.1)
    assert rule_of_thumb(np.r_[np.zeros(99), 1.0], 1) == pytest.approx(np.sqrt(0.01 * 0.99))


def test_cross_validation_takes_narrow_windows_for_what_bends_and_wide_ones_for_noise():
    g, noise = np.random.default_rng(4).normal(size=(2, 800))
    for values, expected in ((np.sin(24 * g), weightings.CANDIDATES[0]), (noise, weightings.CANDIDATES[-1])):
        found = weightings.cross_validated_bandwidth(g, values, 800)
        assert found == pytest.approx(expected * weightings.rule_of_thumb(g, 800))
