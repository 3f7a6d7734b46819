"""Document-level estimates by enumeration of every outcome of both phases: unbiased, with the variance they state."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.inference import documents
from pt_active.inference.documents import FOLDS, DocumentEstimate, combined, document_estimate, predicted
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import Costs, DocumentDesign, Sample, TwoPhase

MEASURES = ["DCG@2", "DCG(gain='linear')", "ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR"]
CONTRASTS = [[1.0], [0.0, -1.0, 1.0]]
MODELS = ["useless", "wrong"]
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


def model_means(pool, truth, model):
    top = pool.form.values.max()
    noise = np.random.default_rng(1).uniform(0, 0.4, len(truth)) * top
    return {"calibrated": 0.6 * truth + noise, "useless": np.full(len(truth), 0.3 * top), "wrong": top - truth}[model]


def design_of(drawing, opening=OPENING, inclusion=INCLUSION, order=None):
    order = np.arange(len(inclusion)) if order is None else np.asarray(order)
    return DocumentDesign(drawing, order[inclusion[order] > 0], np.asarray(opening), inclusion)


def enumerate_fixed(enumerated, measure, contrast, model, design, estimator="difference", share=0.0):
    pool, truth = small_pool(measure, len(contrast))
    contrast, means = np.array(contrast), model_means(pool, truth, model)
    means = np.where((design.inclusion > 0) & (design.opening > 0)[pool.query], means, truth)
    found = enumerated(
        pool, design, lambda sample: predicted(pool, sample, means, truth, contrast, estimator), truth, contrast, share
    )
    return float(pool.weight @ pool.values(truth) @ contrast), *found


DESIGNS = {
    "successive": design_of("successive"),
    "never": design_of("successive", inclusion=INCLUSION * [1, 0, 1, 1, 1]),
    "certain": design_of("successive", opening=[1.0, 0.0, 0.35]),
    "depth": design_of("depth", inclusion=np.array([0.25, 1.0, 0.7, 0.35, 0.35]), order=[1, 2, 0, 4, 3]),
    "short": design_of("depth", inclusion=np.array([0.0, 0.8, 0.4, 0.6, 0.2]), order=[1, 2, 0, 3, 4]),
}
CAN_BE_DRAWN = [
    (measure, name)
    for measure in MEASURES
    for name, design in DESIGNS.items()
    if design.nested or measure.startswith("DCG")
]


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("measure", "name"), CAN_BE_DRAWN)
def test_estimates_are_unbiased_and_so_is_their_variance(enumerated, measure, contrast, model, name):
    truth, value, (first, second), true = enumerate_fixed(enumerated, measure, contrast, model, DESIGNS[name])
    assert value == pytest.approx(truth, abs=1e-10)
    assert first == pytest.approx(true[0], abs=1e-10)
    assert second == pytest.approx(true[1], abs=1e-10)


@pytest.mark.parametrize("measure", MEASURES[:2])
@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["successive", "never", "certain"])
@pytest.mark.parametrize("share", [0.9])
def test_corrections_within_queries_keep_estimates_and_their_variance_unbiased(
    enumerated, measure, contrast, model, name, share
):
    truth, value, (first, second), true = enumerate_fixed(
        enumerated, measure, contrast, model, DESIGNS[name], share=share
    )
    assert value == pytest.approx(truth, abs=1e-10)
    assert first == pytest.approx(true[0], abs=1e-10)
    assert second == pytest.approx(true[1], abs=1e-10)


# --- what the design promises ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems", "drawing"),
    [("DCG@2", 1, "depth"), ("DCG", 2, "depth"), ("ERR(max_rel=2)", 1, "depth"), ("ERR(max_rel=2)@2", 1, "depth")],
)
def test_the_variance_that_a_design_minimises_is_the_one_that_labels_of_its_model_give(
    enumerated, measure, systems, drawing, overhead
):
    """``Σ g (1/ψ − 1)`` against the variance of both phases, averaged over all labels."""
    indptr = np.array([0, 3, 4])
    pool, _ = small_pool(measure, systems, indptr)
    grades = np.random.default_rng(4).dirichlet(np.ones(3), 4)
    grades[0] = [0.5, 0, 0.5]
    variables, cost = Variables.of(pool.form, grades), np.array([1.0, 2.0, 0.5, 1.0])
    sizes = document_sizes(pool, variables, cost, RoundSettings(drawing, defensive=0.0))
    design = document_design(sizes, drawing, Costs(indptr, cost, overhead), 2.2)
    psi = design.opening[pool.query] * design.inclusion
    promised = (sizes.gain * (1 / np.where(psi > 0, psi, 1) - 1)).sum()
    contrast, expected = np.array([1.0, -1.0])[:systems], 0.0
    for labels in itertools.product(range(3), repeat=4):
        chance = math.prod(grades[np.arange(4), labels])
        if chance > 0:
            truth = pool.form.values[list(labels)]
            _, _, true = enumerated(pool, design, lambda _: variables.mean, truth, contrast)
            expected += chance * true[2]
    assert expected == pytest.approx(promised, rel=1e-9)


# --- regression -----------------------------------------------------------------------------------------------------


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


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(MEASURES), st.integers(0, FOLDS - 1))
def test_the_line_of_a_fold_knows_nothing_of_its_labels_and_draws(seed, measure, fold):
    pool, truth, sample, mean = many_queries(seed, measure)
    contrast, own = np.array([1.0, -1.0]), pool.query % FOLDS == fold
    found = predicted(pool, sample, mean, truth, contrast, "regression")
    rng = np.random.default_rng(seed)
    drawn = np.where(own, rng.random(len(own)) < 0.5, sample.drawn) & (sample.design.inclusion > 0)
    other = np.where(own, rng.permutation(truth), truth)
    opening = np.where(np.arange(len(pool.weight)) % FOLDS == fold, 0.9, sample.opening)
    again = TwoPhase(sample.design, Sample.once(opening), drawn, 0.0)
    np.testing.assert_array_equal(predicted(pool, again, mean, other, contrast, "regression")[own], found[own])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("measure", ["DCG@2", "RR"])
def test_the_line_is_that_of_weighted_least_squares_through_the_other_folds(measure, seed):
    """A cascade has a line in the mean alone, clipped to its range; an additive measure one in the gradient too."""
    pool, truth, sample, mean = many_queries(seed, measure)
    contrast = np.array([1.0, -1.0])
    found = predicted(pool, sample, mean, truth, contrast, "regression")
    psi = sample.opening[pool.query] * sample.design.inclusion
    root = np.abs(contrast @ pool.gradients(mean)) * pool.weight[pool.query]
    root *= np.sqrt(1 - psi) / np.where(psi > 0, psi, 1)
    for fold in range(FOLDS):
        rows = sample.drawn & (pool.query % FOLDS != fold) & (root > 0)
        also = [contrast @ pool.gradients(mean)] if measure == "DCG@2" else []
        sides = np.column_stack([np.ones_like(mean), mean, *also])
        line = sides @ np.linalg.lstsq(sides[rows] * root[rows, None], truth[rows] * root[rows], rcond=None)[0]
        here = (pool.query % FOLDS == fold) & (sample.design.inclusion > 0)
        np.testing.assert_allclose(found[here], line[here] if also else line[here].clip(0, 1), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(found[sample.design.inclusion == 0], mean[sample.design.inclusion == 0])


def test_regression_stays_between_the_values_of_a_cascade():
    pool, truth, sample, mean = many_queries(3, "ERR(max_rel=2)")
    found = predicted(pool, sample, mean, 40 * truth - 20 * mean, np.array([1.0, 0.0]), "regression")
    possible = sample.design.inclusion > 0
    assert found[possible].min() == 0
    assert found[possible].max() == pool.form.values.max()


@pytest.mark.parametrize(("measure", "drawing"), [("DCG", "successive"), ("ERR(max_rel=2)", "depth")])
def test_regression_is_unbiased(enumerated, measure, drawing, monkeypatch):
    """Three queries, each in a fold of its own, whose depths do not depend on each other."""
    monkeypatch.setattr(documents, "MIN_QUERIES_FOR_LINE", 0)
    indptr = np.array([0, 2, 4, 6])
    pool, truth = small_pool(measure, 2, indptr, seed=2)
    design = design_of(drawing, np.ones(3), np.array([0.8, 0.5, 0.7, 0.4, 0.6, 0.3]))
    means, contrast = model_means(pool, truth, "wrong"), np.array([1.0, -1.0])
    value, _, _ = enumerated(
        pool, design, lambda sample: predicted(pool, sample, means, truth, contrast, "regression"), truth, contrast
    )
    assert value == pytest.approx(pool.weight @ pool.values(truth) @ contrast, abs=1e-10)


def test_few_queries_whose_depths_have_a_fixed_cost_together_are_not_corrected():
    """Regression of 8 queries was biased, and had up to 11 times the squared error of the difference."""
    for queries in (8, 40):
        pool, truth, sample, mean = many_queries(1, "RR", queries)
        nested = replace(sample, design=replace(sample.design, drawing="depth"))
        found = predicted(pool, nested, mean, truth, np.array([1.0, -1.0]), "regression")
        assert (found == mean).all() == (queries == 8)


# --- degenerate samples, degrees of freedom, rounds -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "drawing"), [*((name, "depth") for name in MEASURES), *((name, "successive") for name in MEASURES[:2])]
)
@pytest.mark.parametrize("estimator", ["regression", "difference", "ht"])
def test_with_everything_drawn_the_value_is_exact(measure, drawing, estimator):
    pool, truth = small_pool(measure, 2)
    contrast, design = np.array([1.0, -1.0]), design_of(drawing, np.array([1.0, 0, 1.0]), np.ones(5))
    sample = TwoPhase(design, Sample.once(design.opening), np.ones(5, dtype=bool), 5.0)
    mean = predicted(pool, sample, model_means(pool, truth, "wrong"), truth, contrast, estimator)
    found = document_estimate(pool, sample, mean, truth, contrast)
    assert found.value == pytest.approx(pool.weight @ pool.values(truth) @ contrast)
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


def test_rounds_are_added_up():
    first, second = (
        DocumentEstimate(1.0, 0.2, 0.3, 8.0, 5.0, np.array([0.5, 1.5])),
        DocumentEstimate(2.0, 0.1, 0.3, 0.0, 3.0, np.array([2.0, 2.0])),
    )
    found = combined([first, second, DocumentEstimate(9.0, 9, 9, 9, 9, np.full(2, 9.0))], np.array([0.25, 0.75, 0.0]))
    assert found.value == pytest.approx(1.75)
    assert found.variance == pytest.approx(0.25**2 * 0.5 + 0.75**2 * 0.4)
    a, b = 0.25**2 * 0.5, 0.75**2 * 0.4
    assert found.degrees_of_freedom == pytest.approx((a + b) ** 2 / (a**2 / 8 + b**2 / 1))
    assert found.n_effective == 8
    np.testing.assert_allclose(found.of_query, [0.25 * 0.5 + 0.75 * 2, 0.25 * 1.5 + 0.75 * 2])
    assert combined([second], np.ones(1)) is second
