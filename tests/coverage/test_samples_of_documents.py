"""Samples of single documents, in one round and in several: bias and coverage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.documents import document_estimate, predicted
from pt_active.inference.replay import LabelledPool, Method, Repetitions, replay
from pt_active.inference.rounds import Round, draw_round, estimate_rounds
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.sample import Costs
from pt_active.sampling.two_phase import draw_documents

CONTRAST = np.array([1.0, -1.0])

AT_ONCE = {"additive": "spread", "cascade": "depth"}
"""Family of a measure → how the documents of a sample are drawn at once."""


def refitted(prior: np.ndarray, label: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Grade probabilities: the share of each grade among the labels so far, in four bands of the score."""
    grades, band = np.empty((len(score), 3)), np.digitize(score, [0.25, 0.5, 0.75])
    for b in range(4):
        counts = np.bincount(label[(band == b) & (label >= 0)], minlength=3) + 2 * prior
        grades[band == b] = counts / counts.sum()
    return grades


def five_rounds(pool: LabelledPool, score: np.ndarray, seed: int) -> tuple[list[Round], np.ndarray]:
    """The rounds, and what is known after them."""
    rng = np.random.default_rng([1, seed])
    settings = RoundSettings(AT_ONCE[pool.graded.seen.form.family])
    rounds: list[Round] = []
    known = np.full(len(pool.label), -1)
    for _ in range(5):
        grades, labels = (refitted(pool.graded.grades[0], known, score), known) if rounds else (None, None)
        rounds.append(draw_round(pool.graded, settings, 16.0, rng, grades=grades, labels=labels))
        known = np.where(rounds[-1].sample.drawn, pool.label, known)
    return rounds, known


def pooled(pool: LabelledPool, score: np.ndarray, rounds: list[Round], known: np.ndarray) -> float:
    """What it is tempting to do: one sample, in which each document has the chance to be drawn in any round."""
    seen = pool.graded.seen
    left = np.ones(len(known))
    for each in rounds:
        left *= 1 - each.sample.design.opening[seen.query] * each.sample.design.inclusion
    mean = refitted(pool.graded.grades[0], known, score) @ seen.form.values
    judged = np.flatnonzero(known >= 0)
    error = (CONTRAST @ seen.gradients(mean) * (seen.form.values[pool.label] - mean))[judged] / (1 - left[judged])
    return float(seen.weight @ (seen.values(mean) @ CONTRAST) + error.sum() / len(seen.weight))


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_five_rounds_cover_the_truth_and_pooling_them_does_not(labelled_documents, measure: str) -> None:
    """400 repetitions find a bias of .15 standard deviations, a coverage of .9 and a variance a quarter too low."""
    pool, score = labelled_documents(measure)
    repetitions, found, naive = 400, [], []
    for seed in range(repetitions):
        rounds, known = five_rounds(pool, score, seed)
        found.append(estimate_rounds(pool.graded.seen, rounds, known, CONTRAST, "difference"))
        naive.append(pooled(pool, score, rounds, known))
    error = np.array([each.value for each in found]) - pool.truth
    spread = np.array([each.standard_error for each in found])
    quantile = stats.t.ppf(0.975, [each.degrees_of_freedom for each in found])
    coverage, luck = np.mean(np.abs(error) <= quantile * spread), np.sqrt(0.95 * 0.05 / repetitions)
    assert abs(error.mean()) <= 3 * error.std() / np.sqrt(repetitions)
    assert 0.94 - 3 * luck <= coverage <= 0.965 + 3 * luck
    told = spread**2 - np.array([each.cautious for each in found])
    assert np.mean(told) == pytest.approx(error.var(), rel=3 * np.sqrt(2 / repetitions) + 0.05)
    pooled_error = np.array(naive) - pool.truth
    assert abs(pooled_error.mean()) > 8 * pooled_error.std() / np.sqrt(repetitions)


@pytest.mark.parametrize(
    ("measure", "drawing"),
    [
        ("DCG@5", "spread"),
        ("ERR@5", "depth"),
        ("DCG@5", "successive"),
        pytest.param("ERR@5", "successive", marks=pytest.mark.slow),
    ],
)
def test_replays_are_unbiased_and_swap_systems(labelled_documents, measure: str, drawing: str) -> None:
    pool, _ = labelled_documents(measure)
    methods = [Method(drawing, name) for name in ("difference", "regression")]
    budgets, how = [60.0], Repetitions(200, 1)
    found = replay(pool, methods, budgets, how)
    for each in found.values():
        errors = each.error[0]
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(200)
    plain = found["difference"]
    assert (plain.spent <= 60).all()
    np.testing.assert_array_equal(plain.spent, plain.n_judged)
    again = replay(pool, methods[:1], budgets, replace(how, number=100))["difference"]
    np.testing.assert_array_equal(again.estimate, plain.estimate[:, :100])
    null = replay(pool, methods[:1], budgets, replace(how, null=True))["difference"]
    assert len(np.unique(null.truth)) > 190
    for errors in (null.truth, null.error[0]):
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(200)


def spoilt(model: str, score: np.ndarray) -> np.ndarray:
    """Grade probabilities that follow other documents' scores, or the opposite of the scores."""
    score = 1 - score if model == "wrong-signed" else np.random.default_rng(1).permutation(score)
    chance = np.clip(score**2, 0.02, 0.9)
    both, one = chance * 0.6 * chance, chance * (1 - 0.6 * chance) + (1 - chance) * 0.6 * chance
    return np.column_stack([1 - both - one, one, both])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "model"),
    [("DCG", "useless"), ("ERR@5", "wrong-signed")],
)
def test_a_thousand_replays_centre_on_the_truth(labelled_documents, measure: str, model: str) -> None:
    """3 standard errors of 1,000 replays: finds a bias of .1 standard deviations of the estimate."""
    pool, score = labelled_documents(measure)
    pool = replace(pool, graded=replace(pool.graded, grades=spoilt(model, score), per_query=1.0))
    drawing = AT_ONCE[pool.graded.seen.form.family]
    error = replay(pool, [Method(drawing, "difference")], [60.0], Repetitions(1000, 2))["difference"].error[0]
    assert abs(error.mean()) <= 3 * error.std() / np.sqrt(error.size)


@pytest.mark.parametrize(
    ("drawing", "measure", "contrast", "estimator", "overhead"),
    [
        ("spread", "DCG@4", [1.0, -1.0], "difference", 0.0),
        ("spread", "ERR(max_rel=2)", [1.0], "ht", 2.0),
        ("poisson", "DCG@4", [1.0], "ht", 2.0),
        ("depth", "ERR(max_rel=2)@3", [1.0, -1.0], "difference", 2.0),
    ],
)
def test_estimates_are_unbiased_when_the_budget_drops_queries(
    random_documents, drawing, measure, contrast, estimator, overhead
):
    """3 standard errors of 1,200 samples: finds a bias of .09 standard deviations of the estimate."""
    pool, variables, truth, cost = random_documents(5, measure, 12, len(contrast))
    contrast, budget = np.array(contrast), 13.0 + 2 * overhead
    sizes = document_sizes(pool, variables, cost, overhead, RoundSettings(drawing, 0.5))
    design = document_design(sizes, drawing, Costs(pool.indptr, cost, overhead), budget)
    rng, found, dropped = np.random.default_rng(7), [], 0
    for _ in range(1200):
        sample = draw_documents(design, Costs(pool.indptr, cost, overhead), budget, rng)
        dropped += (sample.opening[design.opening > 0] == 0).any()
        mean = predicted(pool, sample, variables.mean, truth, contrast, estimator)
        observed = np.where(sample.drawn, truth, mean)
        found.append(document_estimate(pool, sample, mean, observed, contrast).value)
    assert dropped > 120
    gap = np.array(found) - pool.weight @ pool.values(truth) @ contrast
    assert abs(gap.mean()) < 3 * gap.std() / math.sqrt(len(gap))
