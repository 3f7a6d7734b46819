"""Surprises against the enumeration of all labels and of all samples [theory 20]."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special

from pt_active.inference.documents import cautious_variance, document_estimate
from pt_active.inference.surprises import recalibration, single_shares, surprises
from pt_active.relevance.classes import LENIENCY, SLOPE, TILT, InClasses
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.revealed import revealed_form
from pt_active.sampling import surprises as drawing
from pt_active.sampling.pools import Variables
from pt_active.sampling.revealed import RevealedPool, pair_form
from pt_active.sampling.sample import DocumentDesign, Sample, TwoPhase

INDPTR = np.array([0, 4, 8])
RANKS = np.array([[1, 2, 3, 4, 2, 1, 3, 0], [3, 1, 0, 2, 1, 2, 0, 3]], dtype=np.int32)
LABEL = np.array([2, 0, 1, 2, 0, 1, 0, 2])
WEIGHT = np.array([0.7, 0.3])
MEASURES = ["AP", "AP(rel=2)@3", "nDCG", "nDCG(dcg='exp-log2')@2"]


def pool_of(measure: str, systems: int = 2) -> RevealedPool:
    form, key = revealed_form(parse_measure(measure, 2), 2), np.arange(8, dtype=np.uint64) * np.uint64(7919)
    return RevealedPool(form, INDPTR, RANKS[:systems], WEIGHT, key)


def beliefs() -> np.ndarray:
    return np.random.default_rng(5).dirichlet([2.0, 1.0, 1.0], 8)


def class_chances_of(classes: InClasses, documents: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """P(level) of documents in each class, float64[C, n, L+1]."""
    line = shifts[:, :1] + shifts[:, 1:2] * classes.slope_covariate[documents]
    steps = np.cumsum(np.c_[np.zeros(len(shifts)), shifts[:, 2:]], axis=1)
    logit = classes.logits[documents] + line[:, :, None] + steps[:, None, :]
    above = special.expit(np.minimum.accumulate(logit, axis=2))
    return -np.diff(above, axis=2, prepend=1.0, append=0.0)


def every_labelling(pool: RevealedPool, query: int, classes: InClasses) -> tuple[np.ndarray, np.ndarray]:
    """All levels of the documents of a query, int64[A, n], and what the measure is with them, float64[A, k]."""
    documents, top = np.arange(INDPTR[query], INDPTR[query + 1]), classes.logits.shape[1]
    grade_of = [int(np.flatnonzero(classes.level(np.arange(3)) == level)[0]) for level in range(top + 1)]
    every, values = np.array(list(product(range(top + 1), repeat=len(documents)))), []
    for levels in every:
        whole = np.eye(3)[np.zeros(8, dtype=int)]
        whole[documents] = np.eye(3)[[grade_of[level] for level in levels]]
        values.append(pool.values(whole)[query])
    return every, np.array(values)


@pytest.mark.parametrize("measure", MEASURES)
def test_expected_squares_are_those_of_all_labels(measure: str) -> None:
    pool, grades = pool_of(measure), beliefs()
    classes = drawing.in_classes(pool, grades)
    forms = np.stack([pair_form(2), np.eye(2) / 2, np.outer([1, 0], [1, 0])])
    shares = np.random.default_rng(1).random((2, 8))
    squares, products = drawing.label_effects(pool, grades, forms, shares)
    np.testing.assert_allclose(np.einsum("frq,srq->fs", forms, products), squares @ shares.T, rtol=1e-9)
    weight = np.exp(classes.classes[1][0])
    for query in range(2):
        here = np.arange(INDPTR[query], INDPTR[query + 1])
        every, values = every_labelling(pool, query, classes)
        chances = class_chances_of(classes, here, classes.classes[0][0])
        single = chances[:, np.arange(4), every]  # [C, A, 4]
        others = [np.delete(single, z, axis=2).prod(axis=2) for z in range(4)]
        levels = every[:, :, None] == np.arange(chances.shape[2])
        effect = np.einsum("zca,azg,ak->czgk", others, levels, values)
        effect = effect - (single.prod(axis=2) @ values)[:, None, None]
        expected = np.einsum("c,czg,czgr,frq,czgq->fz", weight, chances, effect, forms, effect)
        found = squares[:, here]
        # AP is exact; nDCG is averaged over 30 label vectors.
        close = {"rtol": 1e-9} if "AP" in measure else {"rtol": 0.3, "atol": 4e-3}
        np.testing.assert_allclose(found, expected, **close)


def posterior(classes: InClasses, labelled: np.ndarray, shifts: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """The probability of each class once the labels of some documents are known."""
    chance = class_chances_of(classes, labelled, shifts)
    chance = chance[:, np.arange(len(labelled)), classes.known[labelled]]
    return special.softmax(log_prior + np.log(np.maximum(chance, 1e-12)).sum(axis=1))


@pytest.mark.parametrize("systems", [1, 2])
def test_the_classes_of_a_query_lie_where_its_labels_say(systems: int) -> None:
    """Their mean and deviation are those of the posterior, summed over a fine grid of shifts."""
    pool, level = pool_of("nDCG", systems), np.where(np.arange(8) % 4 < 3, LABEL, -1)
    classes = replace(drawing.in_classes(pool, beliefs()), known=level)
    shifts, logs = classes.told_by_labels()
    deviation = np.array([LENIENCY, SLOPE, TILT])
    axis = np.linspace(-3.5, 3.5, 29)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    for query, (shift, log) in enumerate(zip(shifts, logs, strict=True)):
        labelled = np.flatnonzero((level >= 0) & (np.arange(8) // 4 == query))
        exact = posterior(classes, labelled, grid * deviation, -0.5 * (grid**2).sum(axis=1))
        found = posterior(classes, labelled, shift, log)
        mean = exact @ grid
        spread = np.sqrt(exact @ (grid - mean) ** 2)
        assert (np.abs(found @ shift / deviation - mean) < 0.4 * spread).all()
        near = np.sqrt(found @ (shift / deviation - found @ shift / deviation) ** 2)
        assert ((near / spread > 0.6) & (near / spread < 1.4)).all()


def sample_of(drawn: np.ndarray, chance: np.ndarray) -> TwoPhase:
    design = DocumentDesign("surprises", np.arange(8), np.ones(2), chance)
    return TwoPhase(design, Sample.once(np.ones(2)), drawn, float(drawn.sum()))


class Told(NamedTuple):
    """What labels say about a query: as the compiled loops, by enumeration."""

    value: np.ndarray  # float64[k]
    effect: dict[int, np.ndarray]  # float64[L+1, k] of each labelled document
    likely: dict[int, np.ndarray]  # float64[L+1]
    every: float  # The likelihood of all labels
    others: dict[int, float]  # … and of all but that of each labelled document


def enumerated(
    pool: RevealedPool, query: int, classes: InClasses, told: tuple[np.ndarray, ...], level: np.ndarray, single: bool
) -> Told:
    """By all labellings, which are independent in each class; ``single`` are those with one document above level 0."""
    here = np.arange(INDPTR[query], INDPTR[query + 1])
    every, values = every_labelling(pool, query, classes)
    (shifts, logs), level = (each[min(query, len(each) - 1)] for each in told), level[here]

    def joint(shifts: np.ndarray) -> np.ndarray:
        found = class_chances_of(classes, here, shifts)[:, np.arange(len(here)), every].prod(axis=2)
        found = found * ((every > 0).sum(axis=1) == 1) if single else found
        return found / found.sum(axis=1, keepdims=True)

    def agrees(shown: np.ndarray) -> np.ndarray:
        return ((shown < 0) | (every == shown)).all(axis=1)

    chance, prior = joint(shifts), np.exp(logs)
    labelled = np.flatnonzero(level >= 0)
    without = {z: np.where(np.arange(len(here)) == z, -1, level) for z in labelled}
    likelihood = {z: prior * (chance @ agrees(shown)) for z, shown in without.items()}
    all_labels = prior * (chance @ agrees(level))
    effect, likely = {}, {}
    if single:
        (belief,) = joint(np.zeros((1, shifts.shape[1])))
        value = mean = belief @ values
        for z in labelled:
            alone = (every == 0).sum(axis=1) == len(here) - 1
            likely[z] = np.array([belief @ (every[:, z] == g) for g in range(classes.logits.shape[1] + 1)])
            given = [values[alone & (every[:, z] == g)] - mean for g in range(1, len(likely[z]))]
            effect[z] = np.concatenate([np.zeros((1, len(mean))), *given])
            value = value + effect[z][level[z]] - likely[z] @ effect[z]
    else:
        value = all_labels / all_labels.sum() @ (chance * agrees(level) @ values / (chance @ agrees(level))[:, None])
        for z, shown in without.items():
            posterior = likelihood[z] / likelihood[z].sum()
            here_too = [(every[:, z] == g) & agrees(shown) for g in range(classes.logits.shape[1] + 1)]
            likely[z] = np.array([posterior @ (chance @ each / (chance @ agrees(shown))) for each in here_too])
            given = np.stack([(chance * each) @ values / (chance @ each)[:, None] for each in here_too])
            effect[z] = np.einsum("c,gck->gk", posterior, given)
    return Told(value, effect, likely, all_labels.sum(), {z: each.sum() for z, each in likelihood.items()})


DRAWN = ([0, 2, 3, 5], [1, 4, 6], [1, 2, 4, 5, 6, 7], [3, 4, 5, 6, 7], list(range(8)))


@pytest.mark.parametrize("measure", MEASURES)
def test_where_one_document_is_relevant_and_that_is_known_nothing_is_biased(measure: str) -> None:
    """The mean over all samples of independent draws, for each of its places and levels, whatever the model says."""
    from pt_active.sampling._surprise_kernels import told_by_labels

    pool, chance = pool_of(measure), np.linspace(0.2, 0.9, 8)
    classes = drawing.in_classes(pool, beliefs())
    levels, values = every_labelling(pool, 0, classes)
    for truth, expected in zip(levels, values, strict=True):
        if (truth > 0).sum() != 1:
            continue
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


@pytest.mark.parametrize("contrast", [[1.0, 0.0], [1.0, -1.0]])
@pytest.mark.parametrize("judged", DRAWN)
def test_ap_is_corrected_by_what_the_other_labels_lead_to_expect(contrast: list[float], judged: list[int]) -> None:
    """With the distances between classes, and the share of known items, that make the labels most likely."""
    pool, grades, contrast = pool_of("AP"), beliefs(), np.array(contrast)
    chance, drawn = np.linspace(0.3, 0.8, 8), np.isin(np.arange(8), judged)
    observed = np.where(drawn[:, None], np.eye(3)[LABEL], grades)
    found = surprises(pool, sample_of(drawn, chance), grades, observed, contrast)
    used = np.flatnonzero(contrast)
    classes = drawing.in_classes(pool, grades, used)
    level = np.where(drawn, classes.level(LABEL), -1)
    shift, part = recalibration(classes, level, np.arange(2)), replace(pool, ranks=pool.ranks[used])

    def corrected(kinds: list[tuple[Told, Told]], share: float) -> list[float]:
        values = []
        for query, (usual, single) in enumerate(kinds):
            mixed = share * single.every / ((1 - share) * usual.every + share * single.every)
            value = ((1 - mixed) * usual.value + mixed * single.value) @ contrast[used]
            for z in usual.effect:
                mixed = share * single.others[z] / ((1 - share) * usual.others[z] + share * single.others[z])
                effect = ((1 - mixed) * usual.effect[z] + mixed * single.effect[z]) @ contrast[used]
                likely, place = (1 - mixed) * usual.likely[z] + mixed * single.likely[z], INDPTR[query] + z
                value += (1 / chance[place] - 1) * (effect[level[place]] - likely @ effect)
            values.append(value)
        return values

    by_spread = []
    for spread in (1.0, 0.5, 0.0):
        now = classes.recalibrated(shift, level, spread)
        kinds = [[enumerated(part, x, now, now.classes, level, single) for single in (False, True)] for x in range(2)]
        with np.errstate(divide="ignore"):
            shares = single_shares(np.log([single.every / usual.every for usual, single in kinds]))
        likelihood = sum(np.log((1 - shares.best) * a.every + shares.best * b.every) for a, b in kinds)
        by_spread.append((likelihood, kinds, shares))
    place = int(np.argmax([likelihood for likelihood, *_ in by_spread]))
    likelihood_of_best, kinds, shares = by_spread[place]
    best = np.array(corrected(kinds, shares.best))
    expected = [corrected(kinds, share) for share in (shares.fewest, shares.most)]
    for less, kinds, shares in (by_spread[other] for other in (place - 1, place + 1) if 0 <= other < 3):
        far = min(1.0, np.sqrt(1.92 / max(likelihood_of_best - less, 1e-9))) if place == 1 else 1.0
        expected.append(best + far * (corrected(kinds, shares.best) - best))
    np.testing.assert_allclose(found.value, best, atol=1e-7)
    np.testing.assert_allclose(found.others, expected, atol=1e-7)


@pytest.mark.parametrize("advantage", [[0.3, -np.inf, 1.2, 0.4], [0.5, 2.0], [-3.0] * 40, [-np.inf] * 3, [0.0] * 5])
def test_shares_are_those_of_the_likelihood(advantage: list[float]) -> None:
    """The maximum and both ends by a fine grid; a grid of 200 shares is that exact."""
    fine = np.linspace(0, 1, 100001)
    with np.errstate(divide="ignore"):
        log = np.log((1 - fine)[:, None] + fine[:, None] * np.exp(advantage)).sum(axis=1)
    inside = fine[log >= log.max() - 1.92]
    best, low, high, most = single_shares(np.array(advantage))
    assert (low, high) == (pytest.approx(inside[0], abs=0.005), pytest.approx(inside[-1], abs=0.005))
    assert low <= best <= high
    assert np.log(1 - best + best * np.exp(advantage)).sum() == pytest.approx(most, abs=1e-9)
    assert most >= log.max() - 0.01


def test_many_rankers_have_the_classes_of_all_and_differences_of_their_values() -> None:
    """A copy of each of two rankers changes neither the mean log rank, nor what the labels of one of them say."""
    grades, drawn = beliefs(), np.isin(np.arange(8), [0, 2, 3, 5])
    observed, sample = np.where(drawn[:, None], np.eye(3)[LABEL], grades), sample_of(drawn, np.linspace(0.3, 0.8, 8))
    two = pool_of("AP")
    four = two.ranked(np.ascontiguousarray(np.repeat(two.ranks, 2, axis=0)))
    singles = [surprises(four, sample, grades, observed, each) for each in np.eye(4)]
    for a, b in ((0, 1), (0, 2), (3, 1)):
        pair = surprises(four, sample, grades, observed, np.eye(4)[a] - np.eye(4)[b])
        np.testing.assert_allclose(pair.value, singles[a].value - singles[b].value, atol=1e-12)
        np.testing.assert_allclose(pair.surprise, singles[a].surprise - singles[b].surprise, atol=1e-12)
        assert (pair.spread == 0).all() == (a // 2 == b // 2)
    one = two.ranked(np.array([[1, 2, 4, 3, 2, 1, 0, 3]], dtype=np.int32))
    same = one.ranked(np.ascontiguousarray(np.repeat(one.ranks, 4, axis=0)))
    own, found = (surprises(p, sample, grades, observed, np.eye(len(p.ranks))[0]) for p in (one, same))
    for left, right in zip(own, found, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-12)


@pytest.mark.parametrize("contrast", [[1.0, 0.0], [1.0, -1.0]])
def test_the_cautious_variance_is_that_of_the_gains(contrast: list[float]) -> None:
    pool, grades, contrast = pool_of("AP"), beliefs(), np.array(contrast)
    chance = np.r_[0.0, np.linspace(0.3, 1.0, 7)]
    sample = sample_of(chance > 0, chance)
    (gain,) = drawing.surprise_gains(pool, grades, np.outer(contrast, contrast)[None], 0.1)
    found = cautious_variance(pool, sample, Variables(grades, grades), contrast)
    assert found == pytest.approx((gain[1:] * (1 / chance[1:] - 1)).sum(), rel=1e-9)


@pytest.mark.parametrize("weight", [WEIGHT, WEIGHT / 50])
def test_the_error_has_what_hangs_on_the_classes(weight: np.ndarray) -> None:
    """The largest squared distance to the estimate with nearer classes, or another share of known items.

    At least as if it had a random sign in each query.
    """
    pool, grades, sizes = replace(pool_of("AP"), weight=weight), beliefs(), set()
    for judged, contrast in product(([0, 2, 3, 5], [1, 4, 6, 7], [0, 1, 5, 7]), np.array([[1.0, -1.0], [1.0, 0.0]])):
        drawn = np.isin(np.arange(8), judged)
        sample, observed = sample_of(drawn, np.full(8, 0.5)), np.where(drawn[:, None], np.eye(3)[LABEL], grades)
        found = surprises(pool, sample, grades, observed, contrast)
        estimate = document_estimate(pool, sample, grades, observed, contrast)
        far = weight * (found.value - found.others)
        together, apart = far.sum(axis=1) ** 2, (far**2).sum(axis=1)
        largest = max(*together, *apart)
        assert estimate.variance - estimate.first - estimate.second == pytest.approx(largest, rel=1e-9)
        assert estimate.value == pytest.approx(weight @ found.value, abs=1e-12)
        sizes.add(largest in together)
    assert sizes == {True, False}


@pytest.mark.parametrize("measure", MEASURES)
def test_with_all_labels_the_estimate_is_the_measure(measure: str) -> None:
    pool, truth = pool_of(measure), np.eye(3)[LABEL]
    everything = sample_of(np.ones(8, dtype=bool), np.ones(8))
    estimate = document_estimate(pool, everything, beliefs(), truth, np.array([1.0, -1.0]))
    assert estimate.value == pytest.approx(WEIGHT @ pool.values(truth) @ [1, -1], abs=1e-12)
    assert estimate.second == 0 == estimate.first


CHANCE = np.array([0.75, 0.5, 0.25, 0.5, 0.25, 0.75, 0.5, 0.5])


@pytest.mark.parametrize(("measure", "contrast"), [("AP", [1.0, -1.0]), ("nDCG@2", [1.0, 0.0])])
def test_the_mean_over_all_samples_is_nearly_the_truth(measure: str, contrast: list[float]) -> None:
    """What pairs of labels add is left: here at most a fifth of a standard deviation, with two labels a query."""
    pool, grades, contrast = pool_of(measure), beliefs(), np.array(contrast)
    samples = np.array([each for each in product([False, True], repeat=8) if sum(each) == 4])
    weight = np.where(samples, CHANCE, 1 - CHANCE).prod(axis=1)
    weight /= weight.sum()
    chance, found = weight @ samples, []
    for drawn in samples:
        observed = np.where(drawn[:, None], np.eye(3)[LABEL], grades)
        estimate = document_estimate(pool, sample_of(drawn, chance), grades, observed, contrast)
        found.append((estimate.value, estimate.first + estimate.second))
    value, variance = np.array(found).T
    truth, mean = WEIGHT @ pool.values(np.eye(3)[LABEL]) @ contrast, weight @ value
    deviation = np.sqrt(weight @ (value - mean) ** 2)
    assert abs(mean - truth) < 0.2 * deviation
    assert 0.75 < np.sqrt(weight @ variance) / deviation < 1.3
