"""Audits of pairs: coverage and bias of risks and of their differences."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from samples import pool_scores, rows_of

from pt_active.inference.estimators import MeanEstimate, effective_size, estimators_of
from pt_active.inference.intervals import interval, score_interval
from pt_active.inference.ratios import (
    Scores,
    difference_domain,
    domain_estimate,
    ratio_estimate,
    risk_domain,
    stratified_mean,
)
from pt_active.relevance.introspection import introspection, label_tables
from pt_active.relevance.losses import Loss
from pt_active.risk import F1, CostMatrix, Precision, Recall, Squared, ZeroOne
from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.designs import gap_distribution, sampling_distribution
from pt_active.sampling.draws import allocation, draw_strata, priorities, strata_by
from pt_active.sampling.sample import Sample

REPLAYS, LABELS = 1000, 100
"""Samples: 3 standard errors find a bias of a tenth of an estimate's standard deviation, or 2 points of coverage."""


@cache
def population() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """2,000 pairs with predictions of two classifiers, labels, and a calibrated ρ."""
    rng = np.random.default_rng(12)
    score = rng.normal(size=2000)
    rho = 1 / (1 + np.exp(-1.5 * score))
    first = (score + rng.normal(scale=0.5, size=2000) > 0).astype(float)
    second = (score + rng.normal(scale=1.0, size=2000) > 0.2).astype(float)
    return np.column_stack([first, second]), (rng.random(2000) < rho).astype(float), rho


@cache
def replayed_draws(loss: Loss, k: int, design: str, labels: int = LABELS) -> Sample:
    """`REPLAYS` samples of pairs, each drawn once."""
    f, _, rho = population()
    f, p, cost = f[:, :k], np.full(len(rho), 1 / len(rho)), np.ones(len(rho))
    tables = label_tables(loss, f, 2, np.ones(len(rho), dtype=bool))
    view = introspection(tables, np.column_stack([1 - rho, rho]), p, loss.proportion)
    q = gap_distribution(design, f, cost, p) if design == "disagreement" else None
    q = sampling_distribution(design, view.moments, cost, p) if q is None else q
    return next(priorities(q, cost, [labels], REPLAYS, np.random.default_rng(13), UNIFORM))


@cache
def replayed(loss: Loss, k: int, design: str, estimator: str, labels: int = LABELS) -> tuple[MeanEstimate, float]:
    """Estimates from all samples, and the truth."""
    f, y, rho = population()
    f, p = f[:, :k], np.full(len(y), 1 / len(y))
    drawn = replayed_draws(loss, k, design, labels)
    everything = pool_scores(loss, f, y, rho, p)
    scores = [rows_of(s, drawn.rows) for s in everything]
    truth = [s.numerator.sum() / s.weight.sum() for s in everything]
    domain = None
    if k == 1 and loss in (ZeroOne(), Precision()):
        domain = risk_domain(scores[0], p)
    if k == 2 and loss == ZeroOne():
        domain = difference_domain(scores[0], scores[1], f[:, 0] != f[:, 1], p)
    if domain is None:
        found = ratio_estimate(scores, drawn, p, estimator)
    else:
        found = domain_estimate(domain, drawn, estimator)
    return found, truth[0] if k == 1 else truth[0] - truth[1]


CASES = [
    (ZeroOne(), 1, "optimal"),
    (Precision(), 1, "optimal"),
    (Recall(), 1, "optimal"),
    (F1(), 1, "optimal"),
    (ZeroOne(), 2, "optimal"),
    (ZeroOne(), 2, "disagreement"),
    (F1(), 2, "optimal"),
]


@pytest.mark.parametrize("estimator", estimators_of("pair"))
@pytest.mark.parametrize(("loss", "k", "design"), CASES, ids=str)
def test_intervals_cover_the_truth_at_100_labels(loss: Loss, k: int, design: str, estimator: str) -> None:
    found, truth = replayed(loss, k, design, estimator)
    spread = found.value, found.standard_error, found.degrees_of_freedom, 0.95
    if k == 1 and estimator != "difference":
        low, high = score_interval(*spread, (0.0, 1.0), LABELS)
    else:
        low, high = interval(*spread)
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.97


World = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Predictions, labels, and what the label model believes of each grade."""


def grade_probabilities(score: np.ndarray, cuts: tuple[float, ...]) -> np.ndarray:
    """Ordered logit."""
    below = 1 / (1 + np.exp(1.5 * (score[:, None] - np.array(cuts))))
    ends = np.zeros((len(score), 1))
    return np.diff(np.concatenate([ends, below, ends + 1], axis=1), axis=1)


@cache
def spoilt_world(wrong: float | None, cuts: tuple[float, ...], power: float, shift: float = 0.0) -> World:
    """2,000 pairs; a judge who guesses a share of them, or who believes the model; the model is too sure of itself."""
    rng = np.random.default_rng(0)
    grades = grade_probabilities(rng.normal(size=2000) + shift, cuts)
    label = (grades.cumsum(axis=1) < rng.random(2000)[:, None]).sum(axis=1).astype(float)
    guess = rng.integers(0, len(cuts) + 1, 2000)
    predicted = grades.argmax(axis=1) if wrong is None else np.where(rng.random(2000) < wrong, guess, label)
    sure = grades**power
    return predicted.astype(float)[:, None], label, sure / sure.sum(axis=1, keepdims=True)


def covered(
    world: World, loss: Loss, highest: float, fixed: bool, design: str = "optimal"
) -> tuple[float, float, float]:
    """Coverage of the score interval and of ± t SE, and mean SE² over the variance, at `LABELS` labels."""
    f, y, grades = world
    p = np.full(len(y), 1 / len(y))
    view = introspection(label_tables(loss, f, grades.shape[1], y >= 0), grades, p, loss.proportion)
    q = sampling_distribution(design, view.moments, np.ones(len(y)), p)
    drawn = next(priorities(q, np.ones(len(y)), [LABELS], REPLAYS, np.random.default_rng(22), UNIFORM))
    everything = Scores(*loss.terms(f[:, 0], y), view.numerator[:, 0], view.weight[:, 0])
    scores, truth = rows_of(everything, drawn.rows), everything.numerator.sum() / everything.weight.sum()
    if fixed:
        found = domain_estimate(risk_domain(scores, p), drawn, "regression")
    else:
        found = ratio_estimate([scores], drawn, p, "regression")
    error = np.where(found.standard_error < 1e-12, 0.0, found.standard_error)
    effective = effective_size(drawn.count, drawn.importance(p) * scores.weight)
    spread = found.value, error, found.degrees_of_freedom, 0.95
    inside = [
        np.mean((low <= truth) & (truth <= high))
        for low, high in (score_interval(*spread, (0.0, highest), effective), interval(*spread))
    ]
    return float(inside[0]), float(inside[1]), float(np.mean(error**2) / found.value.var())


NOISE = 3 * math.sqrt(0.05 * 0.95 / REPLAYS)


BINARY, GRADED = (0.0,), (-0.5, 0.7, 1.8)


RARE_COST = CostMatrix([[0, 1], [20, 0]])


TOO_SURE = [
    (spoilt_world(None, BINARY, 4), ZeroOne(), 1.0, True),
    (spoilt_world(None, BINARY, 4), Precision(), 1.0, True),
    (spoilt_world(None, BINARY, 4), F1(), 1.0, False),
    (spoilt_world(None, GRADED, 4), Squared(), 9.0, True),
]


RARE = [
    (spoilt_world(0.04, GRADED, 1), ZeroOne(), 1.0, True),
    (spoilt_world(0.04, GRADED, 4), Precision(rel=2), 1.0, True),
    (spoilt_world(0.06, BINARY, 1), RARE_COST, 20.0, True),
    (spoilt_world(0.06, BINARY, 4), Recall(), 1.0, False),
]
"""World, loss, its greatest value, and whether its weights are known."""


Case = tuple[World, Loss, float, bool]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "rare"), [*((case, False) for case in TOO_SURE), *((case, True) for case in RARE)], ids=range(8)
)
def test_intervals_cover_where_the_model_is_far_too_sure_or_errors_are_rare(case: Case, rare: bool) -> None:
    """Where errors are rare, an interval without bounds misses them."""
    coverage, without_bounds, ratio = covered(*case)
    assert not rare or without_bounds < 0.93
    assert 0.93 - NOISE <= coverage <= 0.97 + NOISE
    assert abs(coverage - 0.95) <= abs(without_bounds - 0.95)
    assert ratio == pytest.approx(1, abs=0.15)


def test_recall_where_the_model_is_sure_that_relevant_pairs_are_not() -> None:
    """Few of the pairs that it missed are drawn, or none, and the sample cannot know: above 89 % only."""
    coverage, without_bounds, _ = covered(spoilt_world(None, BINARY, 4), Recall(), 1.0, False)
    assert max(0.89, without_bounds) < coverage < 0.93


def test_stratified_intervals_cover_too() -> None:
    f, y, rho = population()
    wrong = (f[:, 0] != y).astype(float)
    chance = np.where(f[:, 0] == 1, 1 - rho, rho)
    stratum = strata_by(chance)
    drawn, size = allocation(stratum, chance, chance * (1 - chance), LABELS), np.bincount(stratum)
    rng, covered, values = np.random.default_rng(14), 0, []
    for _ in range(400):
        chosen = draw_strata(stratum, drawn, rng)
        mean = stratified_mean(wrong[chosen], stratum[chosen], size)
        low, high = interval(mean.value, mean.standard_error, mean.degrees_of_freedom, 0.95)
        covered += low <= wrong.mean() <= high
        values.append(float(mean.value))
    assert abs(covered / 400 - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / 400)
    assert abs(np.mean(values) - wrong.mean()) <= 3 * np.std(values) / math.sqrt(400)
