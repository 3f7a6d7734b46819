"""Document-level estimates by enumeration of every outcome of both phases; their rounds, lines and corrections.

Also of nDCG, AP and any other measure from documents judged to a random depth [theory 11].
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from pt_active.inference import documents
from pt_active.inference.documents import (
    FOLDS,
    DocumentEstimate,
    cautious_variance,
    document_estimate,
    expected_variance,
    predicted,
    widened,
)
from pt_active.inference.drawn_documents import drawn_by, pool_sizes
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.relevance.revealed import revealed_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import DrawingSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import Costs, DocumentDesign, TwoPhase

MEASURES = ["DCG@2", "DCG(gain='linear')", "ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR"]
DIFFERENCE = np.array([1.0, -1.0])
INCLUSION = np.array([1.0, 0.7, 0.25, 0.5, 0.35])
OPENING = np.array([0.6, 0.0, 0.35])
INDPTR = np.array([0, 3, 3, 5])


def second_phases(design, indptr):
    """Each query's outcomes of the second phase: probability and documents."""
    for a, b in itertools.pairwise(indptr):
        mine = design.order[(design.order >= a) & (design.order < b)]
        pi = design.inclusion[mine]
        if design.nested:
            chance = -np.diff(np.r_[1.0, pi, 0.0])
            yield [(chance[n], mine[:n]) for n in range(len(mine) + 1)]
        else:
            every = np.array(list(itertools.product([True, False], repeat=len(mine))), dtype=bool)
            yield [(np.where(taken, pi, 1 - pi).prod(), mine[taken]) for taken in every]


def all_outcomes(design, indptr):
    """Each outcome of both phases: its probability, the number of that of the second phase, and the sample."""
    sure = [[p] if p in (0, 1) else [1.0, 0.0] for p in design.opening]
    for group, combination in enumerate(itertools.product(*second_phases(design, indptr))):
        chance = math.prod(p for p, _ in combination)
        for opened in np.array(list(itertools.product(*sure))) if chance > 0 else ():
            both = chance * np.where(opened > 0, design.opening, 1 - design.opening).prod()
            drawn = np.zeros(indptr[-1], dtype=bool)
            for came, (_, taken) in zip(opened, combination, strict=True):
                drawn[taken] = came > 0
            yield both, group, TwoPhase(design, opened * design.opening, drawn, 0.0)


def enumerated(pool, design, mean_of, truth, contrast, share=0.0):
    """Expectations of an estimate and its variances, and the true variances: first phase, second, together."""
    chance, groups, fields = [], [], []
    for p, group, sample in all_outcomes(design, pool.indptr):
        mean = mean_of(sample)
        drawn = sample.drawn if mean.ndim == 1 else sample.drawn[:, None]
        estimate = document_estimate(pool, sample, mean, np.where(drawn, truth, mean), contrast, share)
        fields.append((estimate.value, estimate.first, estimate.second))
        chance.append(p)
        groups.append(group)
    chance, (value, *parts), groups = np.array(chance), np.array(fields).T, np.unique(groups, return_inverse=True)[1]
    assert chance.sum() == pytest.approx(1)
    total = chance @ (value - chance @ value) ** 2
    mass, of_group = (np.bincount(groups, weights=each) for each in (chance, chance * value))
    within = chance @ value**2 - of_group**2 @ (1 / mass)
    return chance @ value, [chance @ part for part in parts], (within, total - within, total)


def check(pool, design, mean_of, truth, contrast, share=0.0):
    """The estimate is unbiased, and so are the variances of both phases."""
    mean, parts, true = enumerated(pool, design, mean_of, truth, contrast, share)
    assert mean == pytest.approx(float(pool.weight @ pool.values(truth) @ contrast), abs=1e-10)
    np.testing.assert_allclose(parts, true[:2], atol=1e-10)


def small_pool(measure, systems, indptr=INDPTR, seed=0):
    """Queries of 3, 0 and 2 documents, one of which only one ranker retrieves; and labels."""
    rng = np.random.default_rng(seed)
    lengths = np.diff(indptr)
    ranks = np.vstack([np.concatenate([rng.permutation(n) + 1 for n in lengths]) for _ in range(systems)])
    if systems > 1:
        ranks[1, indptr[1] - 1] = 0
    form = rank_form(parse_measure(measure), 2, int(ranks.max()))
    truth = form.values[rng.integers(0, 3, indptr[-1])]
    truth[0] = form.values[2]
    return DocumentPool(form, indptr, ranks.astype(np.int32), rng.dirichlet(np.ones(len(lengths)))), truth


def wrong(pool, truth):
    """Means of a model that takes what is relevant for what is not."""
    return pool.form.values.max() - truth


def design_of(drawing, opening=OPENING, inclusion=INCLUSION, order=None):
    order = np.arange(len(inclusion)) if order is None else np.asarray(order)
    return DocumentDesign(drawing, order[inclusion[order] > 0], np.asarray(opening), inclusion)


DESIGNS = {
    "successive": design_of("successive"),
    "never": design_of("successive", inclusion=INCLUSION * [1, 0, 1, 1, 1]),
    "certain": design_of("successive", opening=[1.0, 0.0, 0.35]),
    "depth": design_of("depth", inclusion=np.array([0.25, 1.0, 0.7, 0.35, 0.35]), order=[1, 2, 0, 4, 3]),
    "short": design_of("depth", inclusion=np.array([0.0, 0.8, 0.4, 0.6, 0.2]), order=[1, 2, 0, 3, 4]),
}
CASES = [
    *((measure, name, 0.0) for measure in MEASURES for name in ("depth", "short")),
    *((measure, name, share) for measure in MEASURES[:2] for name in list(DESIGNS)[:3] for share in (0.0, 0.9)),
]


@pytest.mark.parametrize("contrast", [[1.0], [0.0, -1.0, 1.0]])
@pytest.mark.parametrize("model", ["useless", "wrong"])
@pytest.mark.parametrize(("measure", "name", "share"), CASES)
def test_estimates_are_unbiased_and_so_is_their_variance(measure, contrast, model, name, share):
    """Also with corrections within queries, of which a share is common."""
    (pool, truth), contrast, design = small_pool(measure, len(contrast)), np.array(contrast), DESIGNS[name]
    means = wrong(pool, truth) if model == "wrong" else np.full(5, 0.3 * pool.form.values.max())
    means = np.where((design.inclusion > 0) & (design.opening > 0)[pool.query], means, truth)
    check(pool, design, lambda _: means, truth, contrast, share)


@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems"), [("DCG@2", 1), ("DCG", 2), ("ERR(max_rel=2)", 1), ("ERR(max_rel=2)@2", 1)]
)
def test_the_variance_that_a_design_minimises_is_the_one_that_labels_of_its_model_give(measure, systems, overhead):
    """``Σ g (1/ψ − 1)`` against the variance of both phases, averaged over all labels."""
    indptr = np.array([0, 3, 4])
    pool, _ = small_pool(measure, systems, indptr)
    grades = np.random.default_rng(4).dirichlet(np.ones(3), 4)
    grades[0] = [0.5, 0, 0.5]
    variables, cost = Variables.of(pool.form, grades), np.array([1.0, 2.0, 0.5, 1.0])
    sizes = document_sizes(pool, variables, cost, DrawingSettings("depth", defensive=0.0))
    design = document_design(sizes, "depth", Costs(indptr, cost, overhead), 2.2)
    psi = design.opening[pool.query] * design.inclusion
    promised = (sizes.gain * (1 / np.where(psi > 0, psi, 1) - 1)).sum()
    contrast, expected = DIFFERENCE[:systems], 0.0
    for labels in itertools.product(range(3), repeat=4):
        chance = math.prod(grades[np.arange(4), labels])
        if chance > 0:
            truth = pool.form.values[list(labels)]
            _, _, true = enumerated(pool, design, lambda _: variables.mean, truth, contrast)
            expected += chance * true[2]
    assert expected == pytest.approx(promised, rel=1e-9)


def many_queries(seed, measure, m=2 * FOLDS + 1):
    rng = np.random.default_rng(seed)
    indptr = np.arange(m + 1) * 3
    pool, truth = small_pool(measure, 2, indptr, seed)
    inclusion = np.where(np.arange(3 * m) % 7, rng.uniform(0.2, 1, 3 * m), 0)
    design = design_of("successive", rng.uniform(0.3, 1, m), inclusion)
    opened = rng.random(m) < 0.8
    drawn = (rng.random(3 * m) < 0.8) & opened[pool.query] & (design.inclusion > 0)
    sample = TwoPhase(design, opened * design.opening, drawn, 0.0)
    return pool, truth, sample, rng.uniform(0, pool.form.values.max(), 3 * m)


@pytest.mark.parametrize("measure", ["DCG@2", "RR", "ERR(max_rel=2)"])
def test_the_line_is_that_of_weighted_least_squares_through_the_other_folds(measure):
    """A cascade has a line in the mean alone, clipped to its range; an additive measure one in the gradient too."""
    pool, truth, sample, mean = many_queries(1, measure)
    truth = 40 * truth - 20 * mean if measure.startswith("ERR") else truth
    found, gradient = predicted(pool, sample, mean, truth, DIFFERENCE, "regression"), DIFFERENCE @ pool.gradients(mean)
    psi, top = sample.opening[pool.query] * sample.design.inclusion, pool.form.values.max()
    root = np.abs(gradient) * pool.weight[pool.query] * np.sqrt(1 - psi) / np.where(psi > 0, psi, 1)
    sides = np.column_stack([np.ones_like(mean), mean, gradient])[:, : 3 if measure == "DCG@2" else 2]
    for fold in range(FOLDS):
        rows = sample.drawn & (pool.query % FOLDS != fold) & (root > 0)
        line = sides @ np.linalg.lstsq(sides[rows] * root[rows, None], truth[rows] * root[rows], rcond=None)[0]
        here = (pool.query % FOLDS == fold) & (sample.design.inclusion > 0)
        expected = line[here] if measure == "DCG@2" else line[here].clip(0, top)
        np.testing.assert_allclose(found[here], expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(found[sample.design.inclusion == 0], mean[sample.design.inclusion == 0])


@pytest.mark.parametrize(("measure", "drawing"), [("DCG", "successive"), ("ERR(max_rel=2)", "depth")])
def test_regression_is_unbiased(measure, drawing, monkeypatch):
    """Three queries, each in a fold of its own, whose depths do not depend on each other."""
    monkeypatch.setattr(documents, "MIN_QUERIES_FOR_LINE", 0)
    indptr = np.array([0, 2, 4, 6])
    pool, truth = small_pool(measure, 2, indptr, seed=2)
    design = design_of(drawing, np.ones(3), np.array([0.8, 0.5, 0.7, 0.4, 0.6, 0.3]))

    def line(sample):
        return predicted(pool, sample, wrong(pool, truth), truth, DIFFERENCE, "regression")

    value, _, _ = enumerated(pool, design, line, truth, DIFFERENCE)
    assert value == pytest.approx(pool.weight @ pool.values(truth) @ DIFFERENCE, abs=1e-10)


def test_few_queries_whose_depths_have_a_fixed_cost_together_are_not_corrected():
    """Regression of 8 queries was biased, and had up to 11 times the squared error of the difference."""
    for queries in (8, 40):
        pool, truth, sample, mean = many_queries(1, "RR", queries)
        nested = replace(sample, design=replace(sample.design, drawing="depth"))
        found = predicted(pool, nested, mean, truth, DIFFERENCE, "regression")
        assert (found == mean).all() == (queries == 8)


def test_degrees_of_freedom_and_effective_documents():
    form = rank_form(parse_measure("P@1"), 1, 1)
    pool = DocumentPool(form, np.arange(4), np.ones((1, 3), dtype=np.int32), np.array([0.5, 0.3, 0.2]))
    pi, opening = np.array([0.5, 0.25, 0.8]), np.array([1.0, 0.5, 0.9])
    design = design_of("successive", opening, pi)
    sample = TwoPhase(design, opening, np.ones(3, bool), 3.0)
    found = document_estimate(pool, sample, np.full(3, 0.2), np.ones(3), np.ones(1))
    step = 0.8 / pi
    parts = pool.weight**2 * step**2 * ((1 - opening) / opening**2 + (1 - pi) / opening)
    assert found.first + found.second == pytest.approx(parts.sum())
    assert found.degrees_of_freedom == pytest.approx(3 * parts.sum() ** 2 / (parts**2).sum() - 1)
    influence = pool.weight / (pi * opening)
    assert found.n_effective == pytest.approx(influence.sum() ** 2 / (influence**2).sum())


@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_few_degrees_of_freedom_ask_for_the_models_caution(labelled_documents, measure):
    pool, _ = labelled_documents(measure)
    settings = DrawingSettings("successive" if measure == "DCG@5" else "depth")
    drawn = drawn_by(pool_sizes(pool.graded, settings), pool.graded, settings, 40.0, np.random.default_rng(0))
    variables = Variables.of(pool.graded.seen.form, pool.graded.grades)
    cautious = cautious_variance(pool.graded.seen, drawn.sample, variables, DIFFERENCE)
    gain = pool_sizes(pool.graded, settings).gain
    expected = expected_variance(pool.graded.seen, drawn.sample.design, gain)
    assert cautious == pytest.approx(expected, rel=1e-9 if measure == "DCG@5" else 0.1)
    shown = cautious / 2
    of = DocumentEstimate(0.5, shown / 4, 3 * shown / 4, 3.0, 9.0, np.zeros(1))
    for degrees, share in ((48.0, 0.04), (3.0, 0.4), (0.0, 1.0), (-1.0, 1.0)):
        found = widened(replace(of, degrees_of_freedom=degrees), cautious)
        assert (found.cautious, found.variance) == pytest.approx((share * shown, (1 + share) * shown))
    assert widened(replace(of, first=2 * shown), cautious).cautious == 0
    nothing = replace(of, first=0.0, second=0.0)
    assert widened(nothing, cautious) is nothing


LABEL = np.array([2, 0, 1, 1, 2, 0])
REVEALED = DocumentDesign("depth", np.array([1, 2, 0, 4, 3, 5]), OPENING, np.array([0.25, 1.0, 0.7, 0.35, 0.35, 0.2]))


def made_up(labels, ranks):
    """The square of the share of grades that adds up in even ranks, and a jump where no label is 0."""
    even = (ranks % 2 == 0) & (ranks > 0)
    share = (labels[:, None, :] * even).sum(axis=2) / (1 + labels.sum(axis=1))[:, None]
    return share**2 + 5.0 * (labels > 0).all(axis=1)[:, None]


def revealed_pool(measure, systems, **form):
    """Two queries of three documents, and an empty one between."""
    rng = np.random.default_rng(3)
    ranks = np.vstack([np.r_[rng.permutation(3) + 1, rng.permutation(3) + 1] for _ in range(systems)])
    if systems > 1:
        ranks[1, 2] = 0
    key = rng.integers(0, 2**63, 6).astype(np.uint64)
    made = {"evaluate": made_up} if measure == "made up" else {}
    named = replace(revealed_form(parse_measure("Bpref" if made else measure), 2), **made, **form)
    return RevealedPool(named, np.array([0, 3, 3, 6]), ranks.astype(np.int32), np.array([0.5, 0.1, 0.4]), key)


def beliefs(sure):
    """float64[6, 3], grade probabilities that are useless at 0, wrong, or wrong without a doubt at 1."""
    return sure * np.eye(3)[2 - LABEL] + (1 - sure) / 3


ANY = "nDCG@2", "nDCG(dcg='exp-log2')@2", "nDCG", "AP", "AP(rel=2)@2", "Bpref", "made up"
TOLD = ([1.0], 0.8, "difference"), ([0.0, -1.0, 1.0], 0.8, "ht"), ([0.0, -1.0, 1.0], 1.0, "difference")
FORMS = [{"leniency": leniency, "samples": number} for leniency, number in ((0.0, 1), (0.0, 7), (1.0, 1), (3.0, 30))]
REGRESSIONS = itertools.product(ANY[::3], [([1.0, -1.0], 0.0, "regression")], FORMS)


@pytest.mark.parametrize(("measure", "told", "form"), [*itertools.product(ANY, TOLD, [{}]), *REGRESSIONS])
def test_estimates_of_any_measure_are_unbiased_and_so_is_their_variance(measure, told, form):
    """Also by regression with one label vector or more, and with any leniency."""
    contrast, sure, estimator = np.array(told[0]), *told[1:]
    pool, truth = revealed_pool(measure, len(contrast), **form), np.eye(3)[LABEL]
    check(pool, REVEALED, lambda s: predicted(pool, s, beliefs(sure), truth, contrast, estimator), truth, contrast)


def test_what_is_kept_of_one_document_is_not_taken_for_another_answer():
    """The steps of one label of grade 0 and the simulated steps have all numbers in common that they depend on."""
    pool, order, belief = revealed_pool("nDCG@2", 2), REVEALED.order[:1], beliefs(0.0)
    simulated, labels = pool.simulated(order, belief), np.eye(3)[np.zeros(6, dtype=int)]
    assert pool.steps(order, belief, labels).shape == simulated.shape[1:] == pool.ranks.shape
