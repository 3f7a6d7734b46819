"""Surprises against the enumeration of all labels and of all samples [theory 20]."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, special, stats

from pt_active.inference.class_fit import class_shares, misfit, recalibration, shift_by_labels
from pt_active.inference.documents import cautious_variance, document_estimate
from pt_active.inference.surprises import surprises
from pt_active.relevance import _class_kernels as kernels
from pt_active.relevance.classes import LENIENCY, SLOPE, TILT
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.revealed import revealed_form
from pt_active.sampling import surprises as drawing
from pt_active.sampling._surprise_kernels import told_by_labels
from pt_active.sampling.drawings import DrawingSettings
from pt_active.sampling.pools import Variables
from pt_active.sampling.revealed import RevealedPool, pair_form
from pt_active.sampling.sample import DocumentDesign, TwoPhase

INDPTR = np.array([0, 4, 8])
RANKS = np.array([[1, 2, 3, 4, 2, 1, 3, 0], [3, 1, 0, 2, 1, 2, 0, 3]], dtype=np.int32)
LABEL = np.array([2, 0, 1, 2, 0, 1, 0, 2])
TRUTH = np.eye(3)[LABEL]
BELIEFS = np.random.default_rng(5).dirichlet([2.0, 1.0, 1.0], 8)
WEIGHT = np.array([0.7, 0.3])
DIFFERENCE = np.array([1.0, -1.0])
ALONE = np.array([1.0, 0.0])
MEASURES = ["AP", "AP(rel=2)@3", "nDCG", "nDCG(dcg='exp-log2')@2"]


def pool_of(measure):
    form, key = revealed_form(parse_measure(measure, 2), 2), np.arange(8, dtype=np.uint64) * np.uint64(7919)
    return RevealedPool(form, INDPTR, RANKS, WEIGHT, key)


def sample_of(drawn, chance):
    design = DocumentDesign("surprises", np.arange(8), np.ones(2), chance)
    return TwoPhase(design, np.ones(2), drawn, float(drawn.sum()))


def told(estimate, pool, drawn, chance, contrast):
    """What `surprises` or `document_estimate` says of a sample."""
    observed = np.where(drawn[:, None], TRUTH, BELIEFS)
    return estimate(pool, sample_of(drawn, chance), BELIEFS, observed, contrast)


def class_chances_of(classes, documents, shifts):
    """P(level) of documents in each class, float64[C, n, L+1]."""
    line = shifts[:, :1] + shifts[:, 1:2] * classes.slope_covariate[documents]
    steps = np.cumsum(np.c_[np.zeros(len(shifts)), shifts[:, 2:]], axis=1)
    logit = classes.logits[documents] + line[:, :, None] + steps[:, None, :]
    above = special.expit(np.minimum.accumulate(logit, axis=2))
    return -np.diff(above, axis=2, prepend=1.0, append=0.0)


def every_labelling(pool, query, classes):
    """All levels of the documents of a query, int64[A, 4], and what the measure is with them, float64[A, k]."""
    top = classes.logits.shape[1]
    grade_of = np.array([np.flatnonzero(classes.level(np.arange(3)) == level)[0] for level in range(top + 1)])
    every, values = np.array(list(product(range(top + 1), repeat=4))), []
    for levels in every:
        whole = np.eye(3)[np.tile(grade_of[levels], 2)]
        values.append(pool.values(whole)[query])
    return every, np.array(values)


def test_classes_lie_around_the_posterior_of_their_query_and_have_the_weights_of_the_prior():
    rng, indptr, deviation = np.random.default_rng(4), np.array([0, 3, 8]), np.array([1.0, 0.6, 0.4])
    logits = -np.sort(-rng.normal(size=(8, 2)), axis=1)
    covariate, level = rng.normal(size=8), np.array([2, -1, 0, 1, 1, 2, -1, 0])
    wide, points = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    found = np.zeros((2, 5, 3)), np.zeros((2, 5))
    kernels.place_classes(
        indptr, (None, None, logits, covariate, level, None, None, None), wide, points, deviation, found
    )
    moved = SimpleNamespace(logits=logits, slope_covariate=covariate)
    floor = np.diag((kernels.FLOOR**2 + kernels.LEAST_FLOOR**2) * deviation**2)
    for x, (shifts, logs) in enumerate(zip(*found, strict=True)):
        known = indptr[x] + np.flatnonzero(level[indptr[x] : indptr[x + 1]] >= 0)
        weight = stats.norm(scale=deviation).pdf(wide).prod(axis=1)
        weight /= stats.norm(scale=kernels.WIDE * deviation).pdf(wide).prod(axis=1)
        chances = class_chances_of(moved, known, wide)
        weight *= chances[:, np.arange(len(known)), level[known]].prod(axis=1)
        spread = np.cov(wide.T, aweights=weight, ddof=0) + floor
        placed = np.average(wide, axis=0, weights=weight) + kernels.BROADER * points @ np.linalg.cholesky(spread).T
        assert shifts == pytest.approx(placed, rel=1e-9)
        prior = stats.norm(scale=deviation).logpdf(placed).sum(axis=1) - stats.norm.logpdf(points).sum(axis=1)
        assert logs - logs.max() == pytest.approx(prior - prior.max(), rel=1e-9, abs=1e-12)


def test_the_classes_of_a_query_lie_where_its_labels_say():
    """Their mean and deviation are those of the posterior, summed over a fine grid of shifts."""
    level, deviation = np.where(np.arange(8) % 4 < 3, LABEL, -1), np.array([LENIENCY, SLOPE, TILT])
    classes, axis = replace(drawing.in_classes(pool_of("nDCG"), BELIEFS), known=level), np.linspace(-3.5, 3.5, 29)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)

    def posterior(labelled, shifts, logs):
        chance = class_chances_of(classes, labelled, shifts)[:, np.arange(3), level[labelled]]
        weight = special.softmax(logs + np.log(np.maximum(chance, 1e-12)).sum(axis=1))
        mean = weight @ shifts / deviation
        return mean, np.sqrt(weight @ (shifts / deviation - mean) ** 2)

    for start, shifts, logs in zip(INDPTR, *classes.told_by_labels(), strict=False):
        mean, spread = posterior(start + np.arange(3), grid * deviation, -0.5 * (grid**2).sum(axis=1))
        found, apart = posterior(start + np.arange(3), shifts, logs)
        assert (np.abs(found - mean) < 0.4 * spread).all()
        assert ((apart / spread > 0.6) & (apart / spread < 1.4)).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_expected_squares_are_those_of_all_labels(measure):
    pool = pool_of(measure)
    classes = drawing.in_classes(pool, BELIEFS)
    forms = np.stack([pair_form(2), np.eye(2) / 2, np.outer([1, 0], [1, 0])])
    shares = np.random.default_rng(1).random((2, 8))
    squares, products = drawing.label_effects(pool, BELIEFS, forms, shares)
    np.testing.assert_allclose(np.einsum("frq,srq->fs", forms, products), squares @ shares.T, rtol=1e-9)
    weight = np.exp(classes.classes[1][0])
    for query in range(2):
        here = np.arange(4) + INDPTR[query]
        every, values = every_labelling(pool, query, classes)
        chances = class_chances_of(classes, here, classes.classes[0][0])
        single = chances[:, np.arange(4), every]  # [C, A, 4]
        others = [np.delete(single, z, axis=2).prod(axis=2) for z in range(4)]
        levels = every[:, :, None] == np.arange(chances.shape[2])
        effect = np.einsum("zca,azg,ak->czgk", others, levels, values)
        effect = effect - (single.prod(axis=2) @ values)[:, None, None]
        expected = np.einsum("c,czg,czgr,frq,czgq->fz", weight, chances, effect, forms, effect)
        # AP is exact; nDCG is averaged over 30 label vectors.
        close = {"rtol": 1e-9} if "AP" in measure else {"rtol": 0.3, "atol": 4e-3}
        np.testing.assert_allclose(squares[:, here], expected, **close)


def enumerated(pool, query, classes, level, single):
    """What labels say about a query, by all labellings, which are independent in each class.

    Its value float64[k], the effects float64[L+1, k] and chances float64[L+1] of labelled documents, and the
    likelihood of all labels and of all but one; ``single`` are labellings with one document above level 0.
    """
    every, values = every_labelling(pool, query, classes)
    shifts, logs = (each[min(query, len(each) - 1)] for each in classes.classes)
    level, relevant = level[INDPTR[query] :][:4], (every > 0).sum(axis=1)

    def chances(shifts):
        found = class_chances_of(classes, np.arange(4) + INDPTR[query], shifts)[:, np.arange(4), every].prod(axis=2)
        found = found * (relevant == 1) if single else found
        return found / found.sum(axis=1, keepdims=True)

    def joint(shown):
        return np.exp(logs)[:, None] * chance * ((shown < 0) | (every == shown)).all(axis=1)

    chance, labelled = chances(shifts), np.flatnonzero(level >= 0)
    without = {z: joint(np.where(np.arange(4) == z, -1, level)) for z in labelled}
    at = {z: [every[:, z] == g for g in range(classes.logits.shape[1] + 1)] for z in labelled}
    if single:
        (belief,) = chances(np.zeros((1, shifts.shape[1])))
        value = belief @ values
        likely = {z: np.array([belief[has].sum() for has in at[z]]) for z in labelled}
        given = {z: [(values[(relevant == 1) & has] - value)[0] for has in at[z][1:]] for z in labelled}
        effect = {z: np.vstack([np.zeros_like(value), *given[z]]) for z in labelled}
        value = value + sum(effect[z][level[z]] - likely[z] @ effect[z] for z in labelled)
    else:
        value = joint(level).sum(axis=0) @ values / joint(level).sum()
        likely = {z: np.array([some[:, has].sum() for has in at[z]]) / some.sum() for z, some in without.items()}
        effect = {}
        for z, some in without.items():
            given = [some[:, has] @ values[has] / some[:, has].sum(axis=1, keepdims=True) for has in at[z]]
            effect[z] = np.einsum("c,gck->gk", some.sum(axis=1) / some.sum(), given)
    others = {z: some.sum() for z, some in without.items()}
    return SimpleNamespace(value=value, effect=effect, likely=likely, every=joint(level).sum(), others=others)


def without_relevant(usual, level):
    """What the labels of a query say if no document is relevant, see `enumerated`."""
    zero = {z: np.zeros_like(effect) for z, effect in usual.effect.items()}
    lowest = {z: np.eye(len(each))[0] for z, each in usual.likely.items()}
    others = {z: float((np.delete(level, z) <= 0).all()) for z in usual.others}
    return SimpleNamespace(
        value=0 * usual.value, effect=zero, likely=lowest, every=float((level <= 0).all()), others=others
    )


def mixed(share, likelihoods, parts):
    """The mean of two parts by their share and likelihoods."""
    second = share * likelihoods[1] / ((1 - share) * likelihoods[0] + share * likelihoods[1])
    return (1 - second) * parts[0] + second * parts[1]


def with_empty(usual, share, level):
    """Labels that are independent given a class, or with a probability all of level 0."""
    both = usual, without_relevant(usual, level)
    others = {z: [each.others[z] for each in both] for z in usual.others}

    def of_documents(name):
        return {z: mixed(share, others[z], [getattr(each, name)[z] for each in both]) for z in others}

    every, value = [each.every for each in both], [each.value for each in both]
    found = SimpleNamespace(every=(1 - share) * every[0] + share * every[1], value=mixed(share, every, value))
    found.others = {z: (1 - share) * first + share * second for z, (first, second) in others.items()}
    found.effect, found.likely = of_documents("effect"), of_documents("likely")
    return found


@pytest.mark.parametrize("measure", MEASURES)
def test_where_one_document_is_relevant_and_that_is_known_nothing_is_biased(measure):
    """The mean over all samples of independent draws, for each of its places and levels, whatever the model says."""
    pool, chance = pool_of(measure), np.linspace(0.2, 0.9, 8)
    classes = drawing.in_classes(pool, BELIEFS)
    levels, values = every_labelling(pool, 0, classes)
    alone = (levels > 0).sum(axis=1) == 1
    for truth, expected in zip(levels[alone], values[alone], strict=True):
        mean = np.zeros(2)
        for drawn in product([False, True], repeat=4):
            level, rows = np.r_[np.where(drawn, truth, -1), np.full(4, -1)], np.flatnonzero(drawn)
            now, shape = replace(classes, known=level), (len(rows), classes.logits.shape[1] + 1)
            value, effect, likely = np.zeros((2, 2)), np.zeros((2, *shape)), np.zeros(shape)
            found = value, effect, likely, np.zeros(2), np.zeros(len(rows))
            told_by_labels(INDPTR, now.compiled, now.classes, tuple(map(np.zeros_like, found)), found)
            delta = effect[:, np.arange(len(rows)), truth[rows]] - (likely * effect).sum(axis=2)
            weight = np.where(drawn, chance[:4], 1 - chance[:4]).prod()
            mean += weight * (value[:, 0] + delta @ (1 / chance[rows] - 1))
        np.testing.assert_allclose(mean, expected, atol=1e-12)


@pytest.mark.parametrize("contrast", [ALONE, DIFFERENCE], ids=["alone", "difference"])
@pytest.mark.parametrize("judged", [[0, 2, 3, 5], [1, 4, 6], [1, 2, 4, 5, 6, 7], [3, 4, 5, 6, 7], list(range(8))])
def test_ap_is_corrected_by_what_the_other_labels_lead_to_expect(contrast, judged):
    """With the distances between classes, and the shares of empty queries and known items, that are most likely."""
    pool, chance, drawn = pool_of("AP"), np.linspace(0.3, 0.8, 8), np.isin(np.arange(8), judged)
    found, used = told(surprises, pool, drawn, chance, contrast), np.flatnonzero(contrast)
    classes = drawing.in_classes(pool, BELIEFS, used)
    level = np.where(drawn, classes.level(LABEL), -1)
    shift, part = shift_by_labels(classes, level), replace(pool, ranks=pool.ranks[used])

    deviation = np.zeros(8)

    def corrected(kinds, share):
        values = []
        for query, both in enumerate(kinds):
            value = mixed(share, [each.every for each in both], [each.value for each in both]) @ contrast[used]
            for z in both[0].effect:
                likelihoods, place = [each.others[z] for each in both], INDPTR[query] + z
                effect = mixed(share, likelihoods, [each.effect[z] for each in both]) @ contrast[used]
                likely = mixed(share, likelihoods, [each.likely[z] for each in both])
                value += (1 / chance[place] - 1) * (effect[level[place]] - likely @ effect)
                deviation[place] = np.sqrt(likely @ (effect - likely @ effect) ** 2)
            values.append(value)
        return np.array(values)

    def most_likely(first, second):
        with np.errstate(divide="ignore"):
            return class_shares(np.log([b.every / a.every for a, b in zip(first, second, strict=True)]))

    by_spread = []
    for spread in (1.0, 0.5, 0.0):
        now = classes.recalibrated(shift, level, spread)
        usual, single = ([enumerated(part, x, now, level, alone) for x in range(2)] for alone in (False, True))
        of_empty = most_likely(usual, [without_relevant(each, level[4 * x :][:4]) for x, each in enumerate(usual)])
        kinds_of = {}
        for share in (of_empty.best, of_empty.fewest, of_empty.most):
            mixed_in = [with_empty(each, share, level[4 * x :][:4]) for x, each in enumerate(usual)]
            kinds_of[share] = list(zip(mixed_in, single, strict=True)), most_likely(mixed_in, single)
        kinds, shares = kinds_of[of_empty.best]
        likelihood = sum(np.log((1 - shares.best) * a.every + shares.best * b.every) for a, b in kinds)
        by_spread.append((likelihood, kinds, shares, [kinds_of[end] for end in of_empty[1:3]]))
    place = int(np.argmax([likelihood for likelihood, *_ in by_spread]))
    likelihood_of_best, kinds, shares, ends = by_spread[place]
    best, spread = corrected(kinds, shares.best), deviation.copy()
    expected = [corrected(kinds, share) for share in (shares.fewest, shares.most)]
    expected += [corrected(kinds_of_end, of_end.best) for kinds_of_end, of_end in ends]
    for less, kinds, shares, _ in (by_spread[other] for other in (place - 1, place + 1) if 0 <= other < 3):
        far = min(1.0, np.sqrt(1.92 / max(likelihood_of_best - less, 1e-9))) if place == 1 else 1.0
        expected.append(best + far * (corrected(kinds, shares.best) - best))
    np.testing.assert_allclose(found.value, best, atol=1e-7)
    np.testing.assert_allclose(found.spread, spread, atol=1e-7)
    np.testing.assert_allclose(found.others, expected, atol=1e-7)
    estimate, query_of = told(document_estimate, pool, drawn, chance, contrast), np.repeat([0, 1], 4)
    variance = (WEIGHT[query_of] ** 2 * (1 - chance) * (found.surprise / chance) ** 2)[drawn].sum()
    assert estimate.first + estimate.second == pytest.approx(variance, abs=1e-7)


@pytest.mark.parametrize("advantage", [[0.3, -np.inf, 1.2, 0.4], [0.5, 2.0], [-3.0] * 40, [-np.inf] * 3, [0.0] * 5])
def test_shares_are_those_of_the_likelihood(advantage):
    """The maximum and both ends by a fine grid; a grid of 200 shares is that exact."""
    fine = np.linspace(0, 1, 100001)
    with np.errstate(divide="ignore"):
        log = np.log((1 - fine)[:, None] + fine[:, None] * np.exp(advantage)).sum(axis=1)
    inside = fine[log >= log.max() - 1.92]
    best, low, high, most = class_shares(np.array(advantage))
    assert (low, high) == (pytest.approx(inside[0], abs=0.005), pytest.approx(inside[-1], abs=0.005))
    assert low <= best <= high
    assert np.log(1 - best + best * np.exp(advantage)).sum() == pytest.approx(most, abs=1e-9)
    assert most >= log.max() - 0.01


def test_the_labels_of_other_queries_shift_logits_by_a_ridge_regression() -> None:
    """With penalties 0.1 of what all have in common, 2 of slopes, and 1 of what the second level has beside."""
    classes = drawing.in_classes(pool_of("nDCG"), BELIEFS)
    level, logits = np.where(np.arange(8) == 6, -1, classes.level(LABEL)), classes.logits
    steepness = (logits[:, 0] - logits[:, 0].mean()) / logits[:, 0].std()
    sides = np.column_stack([classes.covariates, steepness])
    penalty = np.r_[0.1, np.full(sides.shape[1] - 1, 2.0), 1.0]

    def shift(line: np.ndarray) -> np.ndarray:
        return (sides @ line[:-1])[:, None] + [0.0, line[-1]]

    def loss(line: np.ndarray) -> float:
        logit, above = (logits + shift(line))[others], level[others, None] >= [1, 2]
        return count * (np.logaddexp(0, logit) - above * logit).sum() + 0.5 * penalty @ line**2

    for query, weight in product(range(2), ([1.0, 1.0], [0.3, 0.8])):
        found = recalibration(classes, level, np.arange(2), np.array(weight))
        here = np.arange(8) // 4 == query
        others, count = ~here & (level >= 0), weight[1 - query]
        line = optimize.minimize(loss, np.zeros(len(penalty)), tol=1e-10).x
        np.testing.assert_allclose(found[here], shift(line)[here], atol=1e-4)


@pytest.mark.parametrize(("share", "empty"), [(0.0, 0.0), (0.3, 0.0), (0.2, 0.4)])
def test_the_misfit_is_studentised_by_the_moments_of_all_labels(share: float, empty: float) -> None:
    """Of three labels in each query: independent given a class, none relevant, or one document drawn by its odds."""
    pool = pool_of("AP")
    classes = drawing.in_classes(pool, BELIEFS)
    classes = replace(classes, known=np.where(np.arange(8) % 4 < 3, classes.level(LABEL), -1))
    every, odds = np.array(list(product([0, 1], repeat=3))), np.exp(classes.logits[:, 0])
    (shifts,), (logs,) = classes.classes
    off, moments = [], []
    for start in INDPTR[:2]:
        here = np.arange(start, start + 3)
        usual = class_chances_of(classes, here, shifts)[:, np.arange(3), every].prod(axis=2)
        single = np.where(every.sum(axis=1) == 1, every @ odds[here], 0) / odds[start : start + 4].sum()
        single[0] = 1 - single.sum()
        mixed, number = (1 - empty) * np.exp(logs) @ usual, every.sum(axis=1)
        mixed[0] += empty
        chance = (1 - share) * mixed + share * single
        off.append((classes.known[here] > 0).sum() - chance @ number)
        moments.append([chance @ (number - chance @ number) ** power for power in (2, 3, 4)])
    two, three, four = np.sum(moments, axis=0)
    slope = three / two
    variance = four - sum(each[0] ** 2 for each in moments) - slope * three
    expected = (np.square(off).sum() - two - slope * np.sum(off)) / np.sqrt(1 + variance)
    assert misfit(classes, share, empty) == pytest.approx(expected, rel=1e-9)


def test_many_rankers_have_the_classes_of_all_and_differences_of_their_values():
    """A copy of each of two rankers changes neither the mean log rank, nor what the labels of one of them say."""
    drawn, chance, two = np.isin(np.arange(8), [0, 2, 3, 5]), np.linspace(0.3, 0.8, 8), pool_of("AP")
    four = two.ranked(np.ascontiguousarray(np.repeat(two.ranks, 2, axis=0)))
    singles = [told(surprises, four, drawn, chance, each) for each in np.eye(4)]
    for a, b in ((0, 1), (0, 2), (3, 1)):
        pair = told(surprises, four, drawn, chance, np.eye(4)[a] - np.eye(4)[b])
        np.testing.assert_allclose(pair.value, singles[a].value - singles[b].value, atol=1e-12)
        assert (pair.spread == 0).all() == (a // 2 == b // 2)
    one = two.ranked(np.array([[1, 2, 4, 3, 2, 1, 0, 3]], dtype=np.int32))
    same = one.ranked(np.ascontiguousarray(np.repeat(one.ranks, 4, axis=0)))
    own, found = (told(surprises, pool, drawn, chance, np.eye(len(pool.ranks))[0]) for pool in (one, same))
    for left, right in zip(own, found, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-12)


def test_where_no_label_moves_a_contrast_all_documents_count_alike():
    gains = drawing.surprise_gains(pool_of("AP"), BELIEFS, np.zeros((1, 2, 2)), 0.1)
    np.testing.assert_allclose(gains, [WEIGHT.repeat(4) ** 2], rtol=1e-12)


def test_documents_of_queries_in_which_no_pair_differs_serve_single_rankers_alone():
    pool = pool_of("AP").ranked(np.where(INDPTR[1] <= np.arange(8), RANKS[:1], RANKS))
    for serves, number in ((False, 4), (True, 8)):
        settings = DrawingSettings("surprises", serves_singles=serves)
        sizes = drawing.surprise_sizes(pool, BELIEFS, np.ones(8), settings)
        assert sorted(sizes.order) == list(range(number))


def test_one_pass_over_the_labels_foresees_the_errors_of_several_samples():
    pool, chances = pool_of("AP"), [np.r_[0.0, np.linspace(low, 1.0, 7)] for low in (0.1, 0.3, 0.6)]
    drawing.foresee_cautious_errors(pool, BELIEFS, chances)
    for contrast, chance in product((ALONE, DIFFERENCE), chances):
        asked = BELIEFS, chance, contrast, 0.1
        found, expected = (drawing.cautious_error(each, *asked) for each in (pool, pool_of("AP")))
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("contrast", [ALONE, DIFFERENCE], ids=["alone", "difference"])
def test_the_cautious_variance_is_that_of_the_gains(contrast):
    pool, chance = pool_of("AP"), np.r_[0.0, np.linspace(0.3, 1.0, 7)]
    (gain,) = drawing.surprise_gains(pool, BELIEFS, np.outer(contrast, contrast)[None], 0.1)
    found = cautious_variance(pool, sample_of(chance > 0, chance), Variables(BELIEFS, BELIEFS), contrast)
    assert found == pytest.approx((gain[1:] * (1 / chance[1:] - 1)).sum(), rel=1e-9)


@pytest.mark.parametrize("weight", [WEIGHT, WEIGHT / 50])
def test_the_error_has_what_hangs_on_the_classes(weight):
    """The largest squared distance to the estimate with nearer classes, or another share of known items.

    At least as if it had a random sign in each query.
    """
    pool, sizes = replace(pool_of("AP"), weight=weight), set()
    for judged, contrast in product(([0, 2, 3, 5], [1, 4, 6, 7], [0, 1, 5, 7]), (DIFFERENCE, ALONE)):
        of = pool, np.isin(np.arange(8), judged), np.full(8, 0.5), contrast
        found, estimate = told(surprises, *of), told(document_estimate, *of)
        far = weight * (found.value - found.others)
        together, apart = far.sum(axis=1) ** 2, (far**2).sum(axis=1)
        largest = max(*together, *apart)
        assert estimate.variance - estimate.first - estimate.second == pytest.approx(largest, rel=1e-9)
        assert estimate.value == pytest.approx(weight @ found.value, abs=1e-12)
        sizes.add(largest in together)
    assert sizes == {True, False}


@pytest.mark.parametrize(("measure", "contrast"), [("AP", DIFFERENCE), ("nDCG@2", ALONE)], ids=["AP", "nDCG"])
def test_the_mean_over_all_samples_is_nearly_the_truth(measure, contrast):
    """What pairs of labels add is left: here at most a fifth of a standard deviation, with two labels a query."""
    pool, odds = pool_of(measure), np.array([0.75, 0.5, 0.25, 0.5, 0.25, 0.75, 0.5, 0.5])
    samples = np.array([each for each in product([False, True], repeat=8) if sum(each) == 4])
    weight = np.where(samples, odds, 1 - odds).prod(axis=1)
    weight /= weight.sum()
    found = [told(document_estimate, pool, drawn, weight @ samples, contrast) for drawn in samples]
    value, variance = np.array([(each.value, each.first + each.second) for each in found]).T
    truth, mean = WEIGHT @ pool.values(TRUTH) @ contrast, weight @ value
    deviation = np.sqrt(weight @ (value - mean) ** 2)
    assert abs(mean - truth) < 0.2 * deviation
    assert 0.75 < np.sqrt(weight @ variance) / deviation < 1.3


@pytest.mark.parametrize(
    ("measure", "noise", "empty"),
    [("AP", (0.7, 0.7), 0), ("AP", (0.1, 9.0), 0), ("AP", (1.0,), 1 / 3), ("nDCG@5", (1.0,), 1 / 3)],
    ids=["near-tied", "clear", "AP", "nDCG"],
)
def test_estimates_from_few_labels_are_near_the_truth_and_cover_it(measure, noise, empty):
    """Of the difference of two rankers by a tenth of the labels, and of one by a fifth.

    Rankers order documents by what a fair model expects of them, and noise. For one ranker a third of the queries have
    no relevant document, which the model does not know: the bias is less than half of an error.
    """
    queries, share, samples, size = (80, 0.2, 25, 960) if empty else (60, 0.1, 40, 720)
    rng = np.random.default_rng(5 if empty else 3)
    beliefs = rng.dirichlet([3.0 if empty else 2.0, 1.0, 1.0], size)
    truth = np.eye(3)[(rng.random((size, 1)) > beliefs.cumsum(axis=1)[:, :-1]).sum(axis=1)]
    truth[np.repeat(rng.random(queries) < empty, 12)] = np.eye(3)[0]
    merit = beliefs @ np.arange(3) + np.array(noise)[:, None] * rng.normal(size=(len(noise), size))
    ranks = stats.rankdata(-merit.reshape(-1, queries, 12), axis=2).reshape(len(noise), -1).astype(np.int32)
    form, key = revealed_form(parse_measure(measure, 2), 2), np.arange(size, dtype=np.uint64)
    design = DocumentDesign("surprises", np.arange(size), np.ones(queries), np.full(size, share))
    pool = RevealedPool(form, 12 * np.arange(queries + 1), ranks, np.full(queries, 1 / queries), key)
    contrast, found = np.ones(1) if empty else DIFFERENCE, []
    for seed in range(samples):
        drawn = np.random.default_rng(seed).random(size) < share
        sample = TwoPhase(design, np.ones(queries), drawn, float(drawn.sum()))
        observed = np.where(drawn[:, None], truth, beliefs)
        found.append(document_estimate(replace(pool), sample, beliefs, observed, contrast))
    off = np.array([each.value for each in found]) - pool.values(truth).mean(axis=0) @ contrast
    error = np.array([each.standard_error for each in found])
    assert (np.abs(off) <= 1.96 * error).mean() > 0.95 - 3 * np.sqrt(0.05 * 0.95 / samples)
    if empty:
        assert all(abs(each.misfit) < 3.5 for each in found)
        assert abs(off.mean()) < 0.5 * error.mean()
