"""Surprises against the enumeration of all labels and of all samples [theory 20]."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from pt_active.inference.documents import cautious_variance, document_estimate
from pt_active.inference.surprises import recalibration, surprises
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
    return RevealedPool.of(form, INDPTR, RANKS[:systems], WEIGHT, key)


def beliefs() -> np.ndarray:
    return np.random.default_rng(5).dirichlet([2.0, 1.0, 1.0], 8)


def by_enumeration(pool: RevealedPool, query: int, classes: InClasses, shown: dict[int, int]) -> tuple:
    """P[C, n, G+1] without the labels shown, and F[C, k] and A[C, n, G+1, k] with them, over all labels of a query."""
    documents = np.arange(INDPTR[query], INDPTR[query + 1])
    (shifts,), _ = classes.classes
    top, n, k = classes.logits.shape[1], len(documents), len(pool.ranks)
    chances = np.empty((len(shifts), n, top + 1))
    for c, (common, slope, *steps) in enumerate(shifts):
        for z, d in enumerate(documents):
            logit = classes.logits[d] + common + slope * classes.slope_covariate[d] + np.cumsum([0.0, *steps])
            above = 1 / (1 + np.exp(-np.minimum.accumulate(logit)))
            chances[c, z] = -np.diff(np.r_[1.0, above, 0.0])
    grade_of = [int(np.flatnonzero(classes.level(np.arange(3)) == level)[0]) for level in range(top + 1)]
    mean, given = np.zeros((len(shifts), k)), np.zeros((len(shifts), n, top + 1, k))
    for levels in product(range(top + 1), repeat=n):
        whole = np.eye(3)[np.zeros(8, dtype=int)]
        whole[documents] = np.eye(3)[[grade_of[level] for level in levels]]
        value = pool.values(whole)[query]
        single = np.ones((len(shifts), n))
        for z, level in enumerate(levels):
            known = shown.get(z)
            single[:, z] = float(known == level) if known is not None else chances[:, z, level]
        mean += single.prod(axis=1)[:, None] * value
        for z, level in enumerate(levels):
            given[:, z, level] += np.delete(single, z, axis=1).prod(axis=1)[:, None] * value
    return chances, mean, given


@pytest.mark.parametrize("measure", MEASURES)
def test_expected_squares_are_those_of_all_labels(measure: str) -> None:
    pool, grades = pool_of(measure), beliefs()
    classes = drawing.in_classes(pool, grades)
    forms = np.stack([pair_form(2), np.eye(2) / 2, np.outer([1, 0], [1, 0])])
    shares = np.random.default_rng(1).random((2, 8))
    squares, _, products = drawing.label_effects(pool, grades, forms, shares)
    np.testing.assert_allclose(np.einsum("frq,srq->fs", forms, products), squares @ shares.T, rtol=1e-9)
    weight = np.exp(classes.classes[1][0])
    for query in range(2):
        chances, mean, given = by_enumeration(pool, query, classes, {})
        effect = given - mean[:, None, None]
        expected = np.einsum("c,czg,czgr,frq,czgq->fz", weight, chances, effect, forms, effect)
        found = squares[:, INDPTR[query] : INDPTR[query + 1]]
        # AP is exact; nDCG is averaged over 30 label vectors.
        np.testing.assert_allclose(
            found, expected, **({"rtol": 1e-9} if "AP" in measure else {"rtol": 0.3, "atol": 4e-3})
        )


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
        labelled = [z for z in range(INDPTR[query], INDPTR[query + 1]) if level[z] >= 0]

        def posterior(points: np.ndarray, log_prior: np.ndarray, labelled: list[int] = labelled) -> np.ndarray:
            total = log_prior.copy()
            for z in labelled:
                first = classes.logits[z, 0] + points[:, 0] + points[:, 1] * classes.slope_covariate[z]
                second = np.minimum(first, classes.logits[z, 1] + first - classes.logits[z, 0] + points[:, 2])
                above = 1 / (1 + np.exp(-np.column_stack([first, second])))
                chance = -np.diff(np.column_stack([np.ones(len(points)), above, np.zeros(len(points))]), axis=1)
                total += np.log(np.maximum(chance[:, level[z]], 1e-12))
            weight = np.exp(total - total.max())
            return weight / weight.sum()

        exact, found = posterior(grid * deviation, -0.5 * (grid**2).sum(axis=1)), posterior(shift, log)
        mean = exact @ grid
        spread = np.sqrt(exact @ (grid - mean) ** 2)
        assert (np.abs(found @ shift / deviation - mean) < 0.4 * spread).all()
        near = np.sqrt(found @ (shift / deviation - found @ shift / deviation) ** 2)
        assert ((near / spread > 0.6) & (near / spread < 1.4)).all()


def sample_of(drawn: np.ndarray, chance: np.ndarray) -> TwoPhase:
    design = DocumentDesign("surprises", np.arange(8), np.ones(2), chance)
    return TwoPhase(design, Sample.once(np.ones(2)), drawn, np.zeros(2, dtype=bool), float(drawn.sum()))


@pytest.mark.parametrize("contrast", [[1.0, 0.0], [1.0, -1.0]])
def test_ap_is_corrected_by_what_the_other_labels_lead_to_expect(contrast: list[float]) -> None:
    pool, grades, contrast = pool_of("AP"), beliefs(), np.array(contrast)
    chance, drawn = np.linspace(0.3, 0.8, 8), np.isin(np.arange(8), [0, 2, 3, 5])
    observed = np.where(drawn[:, None], np.eye(3)[LABEL], grades)
    found = surprises(pool, sample_of(drawn, chance), grades, observed, contrast)
    used = np.flatnonzero(contrast)
    classes = drawing.in_classes(pool, grades, used)
    level = np.where(drawn, classes.level(LABEL), -1)
    classes = classes.recalibrated(recalibration(classes, level, np.arange(2)), level)
    part = replace(pool, ranks=pool.ranks[used])
    for query in range(2):
        here = np.arange(INDPTR[query], INDPTR[query + 1])
        shown = {z: int(level[d]) for z, d in enumerate(here) if level[d] >= 0}
        chances, mean, given = by_enumeration(part, query, classes, shown)
        mean, given = mean @ contrast[used], given @ contrast[used]
        likely = {z: chances[:, z, y] for z, y in shown.items()}
        prior = np.exp(classes.classes[1][0])
        posterior = prior * np.prod(list(likely.values()), axis=0)
        expected = posterior @ mean / posterior.sum()
        for z, y in shown.items():
            others = posterior / likely[z] / (posterior / likely[z]).sum()
            effect, belief = others @ (given[:, z] - mean[:, None]), others @ chances[:, z]
            delta = effect[y] - belief @ effect
            assert found.surprise[here[z]] == pytest.approx(delta, abs=1e-10)
            expected += (1 / chance[here[z]] - 1) * delta
        assert found.value[query] == pytest.approx(expected, abs=1e-10)


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


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_the_cautious_error_of_a_contrast_is_that_of_its_gains(share: float) -> None:
    pool, grades, chance = pool_of("AP"), beliefs(), np.r_[0.0, np.linspace(0.3, 1.0, 7)]
    for contrast in np.array([[1.0, 0.0], [1.0, -1.0]]):
        (gain,) = drawing.surprise_gains(pool, grades, np.outer(contrast, contrast)[None], 0.1)
        expected = (gain[1:] * (1 / (share * chance[1:]) - 1)).sum()
        assert drawing.cautious_error(pool, grades, chance, share, contrast, 0.1) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weight", [WEIGHT, WEIGHT / 50])
def test_the_error_has_what_hangs_on_the_classes(weight: np.ndarray) -> None:
    """The squared distance to the estimate with nearer classes, at least as if it had a random sign in each query."""
    pool, grades, sizes = replace(pool_of("AP"), weight=weight), beliefs(), set()
    for judged, contrast in product(([0, 2, 3, 5], [1, 4, 6, 7], [0, 1, 5, 7]), np.array([[1.0, -1.0], [1.0, 0.0]])):
        drawn = np.isin(np.arange(8), judged)
        sample, observed = sample_of(drawn, np.full(8, 0.5)), np.where(drawn[:, None], np.eye(3)[LABEL], grades)
        found = surprises(pool, sample, grades, observed, contrast)
        estimate = document_estimate(pool, sample, grades, observed, contrast)
        far = weight * (found.value - found.narrowed)
        together, apart = far.sum() ** 2, (far**2).sum()
        assert estimate.variance - estimate.first - estimate.second == pytest.approx(max(together, apart), rel=1e-9)
        assert estimate.value == pytest.approx(weight @ found.value, abs=1e-12)
        sizes.add(bool(together > apart))
    assert sizes == {True, False}


@pytest.mark.parametrize("measure", MEASURES)
def test_with_all_labels_the_estimate_is_the_measure(measure: str) -> None:
    pool, truth = pool_of(measure), np.eye(3)[LABEL]
    estimate = document_estimate(
        pool, sample_of(np.ones(8, dtype=bool), np.ones(8)), beliefs(), truth, np.array([1.0, -1.0])
    )
    assert estimate.value == pytest.approx(WEIGHT @ pool.values(truth) @ [1, -1], abs=1e-12)
    assert estimate.second == 0 == estimate.first


def test_labels_that_were_known_before_count_with_certainty() -> None:
    pool, grades = pool_of("AP"), beliefs()
    before = np.where(np.arange(8) % 2 == 0, LABEL, -1)
    known = np.where((before >= 0)[:, None], np.eye(3)[LABEL], grades)
    drawn = before < 0
    observed = np.eye(3)[LABEL]
    half = surprises(
        pool.taught(grades, before), sample_of(drawn, np.full(8, 0.5)), known, observed, np.array([1.0, 0.0])
    )
    assert (half.chance[~drawn] == 1).all()
    for which in (drawn, np.zeros(8, dtype=bool)):
        found = surprises(
            pool.taught(grades, np.where(which, -1, LABEL)),
            sample_of(which, np.ones(8)),
            np.where(which[:, None], grades, np.eye(3)[LABEL]),
            observed,
            np.array([1.0, 0.0]),
        )
        np.testing.assert_allclose(found.value, pool.values(observed)[:, 0], atol=1e-12)


def every_sample(chance: np.ndarray, raises: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """All samples of one pass through two queries of four documents, and their probabilities."""
    found = []
    for first in permutations(range(2)):
        sides = [[np.flatnonzero((raises == side) & (np.arange(8) // 4 == x)) for side in (0, 1)] for x in first]
        for parts in product(*(permutations(part) for query in sides for part in query)):
            order = np.array([z for part in parts for z in part])
            ends = np.cumsum(chance[order])
            cuts = np.unique(np.r_[0.0, ends % 1, 1.0])
            for low, high in pairwise(cuts):
                reached = np.floor(ends - (low + high) / 2 + 1)
                drawn = np.zeros(8, dtype=bool)
                drawn[order] = np.diff(reached, prepend=0.0) > 0
                found.append((high - low, drawn))
    total = sum(weight for weight, _ in found)
    return [(weight / total, drawn) for weight, drawn in found]


CHANCE = np.array([0.75, 0.5, 0.25, 0.5, 0.25, 0.75, 0.5, 0.5])
RAISES = np.array([0, 1, 1, 0, 1, 0, 1, 1])


def test_one_pass_draws_each_document_with_its_probability() -> None:
    share = sum(weight * drawn for weight, drawn in every_sample(CHANCE, RAISES))
    np.testing.assert_allclose(share, CHANCE, atol=1e-12)
    design = DocumentDesign("surprises", np.arange(8), np.ones(2), CHANCE, raises=RAISES.astype(bool))
    rng, prices = np.random.default_rng(1), drawing.Costs(INDPTR, np.ones(8), 0.0)
    number = 2000
    counts = np.zeros(8)
    for _ in range(number):
        drawn = drawing.drawn_in_one_pass(design, prices, rng)
        assert drawn.sum() == 4
        counts += drawn
    assert (np.abs(counts / number - CHANCE) < 3.5 * np.sqrt(CHANCE * (1 - CHANCE) / number)).all()


@pytest.mark.parametrize("measure", ["AP", "nDCG@2"])
@pytest.mark.parametrize("contrast", [[1.0, 0.0], [1.0, -1.0]])
def test_the_mean_over_all_samples_is_nearly_the_truth(measure: str, contrast: list[float]) -> None:
    """What pairs of labels add is left: here at most a fifth of a standard deviation, with two labels a query."""
    pool, grades, contrast = pool_of(measure), beliefs(), np.array(contrast)
    samples: dict[bytes, float] = {}
    for weight, drawn in every_sample(CHANCE, RAISES):
        samples[drawn.tobytes()] = samples.get(drawn.tobytes(), 0.0) + weight
    found = []
    for kept, weight in samples.items():
        drawn = np.frombuffer(kept, dtype=bool)
        observed = np.where(drawn[:, None], np.eye(3)[LABEL], grades)
        estimate = document_estimate(pool, sample_of(drawn, CHANCE), grades, observed, contrast)
        found.append((weight, estimate.value, estimate.variance))
    weight, value, variance = np.array(found).T
    truth, mean = WEIGHT @ pool.values(np.eye(3)[LABEL]) @ contrast, weight @ value
    deviation = np.sqrt(weight @ (value - mean) ** 2)
    assert abs(mean - truth) < 0.2 * deviation
    assert 0.75 < np.sqrt(weight @ variance) / deviation < 1.1


def test_the_first_part_of_a_sample_has_the_cautious_variance_of_its_chances() -> None:
    pool, grades, drawn = pool_of("AP"), beliefs(), np.isin(np.arange(8), [0, 2, 3, 5])
    sample, known = sample_of(drawn, 0.4 * np.linspace(0.3, 0.8, 8)), Variables(grades, grades, grades)
    plain, part = (
        cautious_variance(pool, replace(sample, share=share), known, np.array([1.0, -1.0])) for share in (1.0, 0.4)
    )
    assert part == pytest.approx(plain, rel=1e-9)
