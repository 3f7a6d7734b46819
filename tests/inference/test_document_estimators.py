"""Document-level estimates by enumeration of every outcome of both phases; their rounds, lines and corrections."""

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
from pt_active.inference.residuals import COMMON_SHARE
from pt_active.inference.rounds import drawn_by, pool_sizes
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import Costs, DocumentDesign, Sample, TwoPhase
from pt_active.sampling.two_phase import draw_documents

MEASURES = ["DCG@2", "DCG(gain='linear')", "ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR"]
CONTRASTS = [[1.0], [0.0, -1.0, 1.0]]
DIFFERENCE = np.array([1.0, -1.0])
INCLUSION = np.array([1.0, 0.7, 0.25, 0.5, 0.35])
OPENING = np.array([0.6, 0.0, 0.35])
INDPTR = np.array([0, 3, 3, 5])


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


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("model", ["useless", "wrong"])
@pytest.mark.parametrize(("measure", "name", "share"), CASES)
def test_estimates_are_unbiased_and_so_is_their_variance(enumerated, measure, contrast, model, name, share):
    """Also with corrections within queries, of which a share is common."""
    (pool, truth), contrast, design = small_pool(measure, len(contrast)), np.array(contrast), DESIGNS[name]
    means = wrong(pool, truth) if model == "wrong" else np.full(5, 0.3 * pool.form.values.max())
    means = np.where((design.inclusion > 0) & (design.opening > 0)[pool.query], means, truth)
    value, parts, true = enumerated(pool, design, lambda _: means, truth, contrast, share)
    assert value == pytest.approx(float(pool.weight @ pool.values(truth) @ contrast), abs=1e-10)
    np.testing.assert_allclose(parts, true[:2], atol=1e-10)


@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems"), [("DCG@2", 1), ("DCG", 2), ("ERR(max_rel=2)", 1), ("ERR(max_rel=2)@2", 1)]
)
def test_the_variance_that_a_design_minimises_is_the_one_that_labels_of_its_model_give(
    enumerated, measure, systems, overhead
):
    """``Σ g (1/ψ − 1)`` against the variance of both phases, averaged over all labels."""
    indptr = np.array([0, 3, 4])
    pool, _ = small_pool(measure, systems, indptr)
    grades = np.random.default_rng(4).dirichlet(np.ones(3), 4)
    grades[0] = [0.5, 0, 0.5]
    variables, cost = Variables.of(pool.form, grades), np.array([1.0, 2.0, 0.5, 1.0])
    sizes = document_sizes(pool, variables, cost, RoundSettings("depth", defensive=0.0))
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
    sample = TwoPhase(design, Sample.once(opened * design.opening), drawn, 0.0)
    return pool, truth, sample, rng.uniform(0, pool.form.values.max(), 3 * m)


@pytest.mark.parametrize("measure", ["DCG@2", "RR", "ERR(max_rel=2)"])
def test_the_line_is_that_of_weighted_least_squares_through_the_other_folds(measure):
    """A cascade has a line in the mean alone, clipped to its range; an additive measure one in the gradient too."""
    pool, truth, sample, mean = many_queries(1, measure)
    truth = 40 * truth - 20 * mean if measure.startswith("ERR") else truth
    found, gradient = predicted(pool, sample, mean, truth, DIFFERENCE, "regression"), DIFFERENCE @ pool.gradients(mean)
    psi, top = sample.opening[pool.query] * sample.design.inclusion, pool.form.values.max()
    root = np.abs(gradient) * pool.weight[pool.query] * np.sqrt(1 - psi) / np.where(psi > 0, psi, 1)
    for fold in range(FOLDS):
        rows = sample.drawn & (pool.query % FOLDS != fold) & (root > 0)
        also = [gradient] if measure == "DCG@2" else []
        sides = np.column_stack([np.ones_like(mean), mean, *also])
        line = sides @ np.linalg.lstsq(sides[rows] * root[rows, None], truth[rows] * root[rows], rcond=None)[0]
        here = (pool.query % FOLDS == fold) & (sample.design.inclusion > 0)
        expected = line[here] if also else line[here].clip(0, top)
        np.testing.assert_allclose(found[here], expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(found[sample.design.inclusion == 0], mean[sample.design.inclusion == 0])


@pytest.mark.parametrize(("measure", "drawing"), [("DCG", "successive"), ("ERR(max_rel=2)", "depth")])
def test_regression_is_unbiased(enumerated, measure, drawing, monkeypatch):
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


@pytest.mark.parametrize(("measure", "drawing"), [("ERR(max_rel=2)@2", "depth"), ("DCG@2", "successive")])
@pytest.mark.parametrize("estimator", ["regression", "difference", "ht"])
def test_with_everything_drawn_the_value_is_exact(measure, drawing, estimator):
    pool, truth = small_pool(measure, 2)
    design = design_of(drawing, np.array([1.0, 0, 1.0]), np.ones(5))
    sample = TwoPhase(design, Sample.once(design.opening), np.ones(5, dtype=bool), 5.0)
    mean = predicted(pool, sample, wrong(pool, truth), truth, DIFFERENCE, estimator)
    found = document_estimate(pool, sample, mean, truth, DIFFERENCE)
    assert found.value == pytest.approx(pool.weight @ pool.values(truth) @ DIFFERENCE)
    assert found.standard_error == 0


def test_degrees_of_freedom_and_effective_documents():
    form = rank_form(parse_measure("P@1"), 1, 1)
    pool = DocumentPool(form, np.arange(4), np.ones((1, 3), dtype=np.int32), np.array([0.5, 0.3, 0.2]))
    pi, opening = np.array([0.5, 0.25, 0.8]), np.array([1.0, 0.5, 0.9])
    design, opened = design_of("successive", opening, pi), Sample.once(opening)
    sample = TwoPhase(design, opened, np.ones(3, bool), 3.0)
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
    settings = RoundSettings("successive" if measure == "DCG@5" else "depth")
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


def test_errors_in_common_cost_less_and_the_stated_variance_is_right():
    """A model that knows nothing, and labels of a query that correlate by about .5: a saving by a quarter."""
    rng, m, size, rows = np.random.default_rng(0), 60, 480, []
    ranks = rng.random((2, m, 8)).argsort(axis=2).reshape(2, -1).astype(np.int32) + 1
    pool = DocumentPool(rank_form(parse_measure("DCG"), 1, 8), np.arange(m + 1) * 8, ranks, np.full(m, 1 / m))
    latent = np.sqrt(0.7) * rng.normal(size=m)[pool.query] + np.sqrt(0.3) * rng.normal(size=size)
    truth, variables = pool.form.values[(latent > 0).astype(int)], Variables.of(pool.form, np.full((size, 2), 0.5))
    prices = Costs(pool.indptr, np.ones(size), 0.0)
    sizes = document_sizes(pool, variables, np.ones(size), RoundSettings("successive"))
    design = document_design(sizes, "successive", prices, 200.0)
    aim = pool.weight @ pool.values(truth) @ DIFFERENCE
    for _ in range(200):
        sample = draw_documents(design, prices, 200.0, rng)
        given = variables.mean, np.where(sample.drawn, truth, variables.mean), DIFFERENCE
        plain, corrected = (document_estimate(pool, sample, *given, share) for share in (0.0, COMMON_SHARE))
        rows.append(((plain.value - aim) ** 2, (corrected.value - aim) ** 2, corrected.variance))
    plain, corrected, stated = np.transpose(rows)
    gained, surplus = plain - corrected, stated - corrected
    assert gained.mean() > 3 * gained.std() / np.sqrt(200)
    assert corrected.mean() < 0.8 * plain.mean()
    assert abs(surplus.mean()) < 3 * surplus.std() / np.sqrt(200)
