"""Rounds of judged documents where two systems are equal: their errors are a martingale."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pt_active.inference.replay import LabelledPool, random_swaps
from pt_active.inference.rounds import draw_round, estimate_rounds
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, GradedPool

REPETITIONS = 300
"""Of rounds in which the null is true: find a level of .09 and a bias of .17 standard deviations."""


@pytest.fixture(scope="module")
def null_rounds() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Errors, standard errors, degrees of freedom [repetitions, 5 rounds] and the clock, systems swapped at random."""
    rng, m, n = np.random.default_rng(6), 60, 8
    score = rng.random(m * n)
    grades = np.stack([1 - score, score / 2, score / 2], axis=1)
    label = (rng.random((m * n, 1)) > grades.cumsum(axis=1)).sum(axis=1)
    form = rank_form(parse_measure("DCG@5", 2), 2, n)
    ranks = np.stack([rng.random((m, n)).argsort(axis=1).argsort(axis=1).ravel() + 1 for _ in range(2)])
    seen = DocumentPool(form, np.arange(m + 1) * n, ranks.astype(np.int32), np.full(m, 1 / m))
    pool, contrast = LabelledPool(GradedPool(seen, grades, np.ones(m * n), 0.0), label), np.array([1.0, -1.0])
    found = np.empty((4, REPETITIONS, 5))
    for r in range(REPETITIONS):
        now, drawn, known = pool.swapped(random_swaps(m, rng)[0]), [], np.full(m * n, -1)
        for k in range(5):
            drawn.append(draw_round(now.graded, RoundSettings("successive"), 20.0, rng))
            known = np.where(drawn[-1].sample.drawn, label, known)
            estimate = estimate_rounds(now.graded.seen, drawn, known, contrast, "regression")
            expected = np.array([each.expected for each in drawn])
            time = (expected[0] / expected).sum()
            found[:, r, k] = estimate.value - now.truth, estimate.standard_error, estimate.degrees_of_freedom, time
    return tuple(found)  # type: ignore[return-value]


@pytest.mark.slow
def test_errors_of_rounds_are_a_martingale(null_rounds: tuple[np.ndarray, ...]) -> None:
    """``Cov(θ̂_j, θ̂_k) = Var(θ̂_k)`` where rounds are weighted by what they are expected to tell."""
    error, _, _, time = null_rounds
    for j, k in ((0, 1), (1, 2), (0, 2)):
        score = time * error
        step = score[:, j] * (score[:, k] - score[:, j])
        assert abs(step.mean()) <= 3 * step.std() / math.sqrt(REPETITIONS)
