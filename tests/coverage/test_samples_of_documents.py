"""Samples of single documents, one of them and several: bias and coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pt_active.inference.replay import Method, Repetitions, replay
from pt_active.inference.rounds import draw_round, estimate_rounds, judged_before
from pt_active.sampling.drawings import RoundSettings, natural_drawing

CONTRAST = np.array([1.0, -1.0])


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_five_samples_cover_the_truth(labelled_documents, measure: str) -> None:
    """400 repetitions find a bias of .15 standard deviations, a coverage of .9 and a variance a quarter too low."""
    pool, _ = labelled_documents(measure)
    settings = RoundSettings(natural_drawing(pool.graded.seen.form))
    repetitions, found = 400, []
    for seed in range(repetitions):
        rng = np.random.default_rng([1, seed])
        rounds = [draw_round(pool.graded, settings, 16.0, rng) for _ in range(5)]
        known = np.where(judged_before(rounds), pool.label, -1)
        found.append(estimate_rounds(pool.graded.seen, rounds, known, CONTRAST, "difference"))
    error = np.array([each.value for each in found]) - pool.truth
    spread = np.array([each.standard_error for each in found])
    quantile = stats.t.ppf(0.975, [each.degrees_of_freedom for each in found])
    coverage, luck = np.mean(np.abs(error) <= quantile * spread), np.sqrt(0.95 * 0.05 / repetitions)
    assert abs(error.mean()) <= 3 * error.std() / np.sqrt(repetitions)
    assert 0.94 - 3 * luck <= coverage <= 0.965 + 3 * luck
    told = spread**2 - np.array([each.cautious for each in found])
    assert np.mean(told) == pytest.approx(error.var(), rel=3 * np.sqrt(2 / repetitions) + 0.05)


@pytest.mark.parametrize(("measure", "drawing"), [("DCG@5", "depth"), ("ERR@5", "depth"), ("DCG@5", "successive")])
def test_replays_are_unbiased_and_swap_systems(labelled_documents, measure: str, drawing: str) -> None:
    pool, _ = labelled_documents(measure)
    methods = [Method(drawing, name) for name in ("difference", "regression")]
    budgets, how = [60.0], Repetitions(80, 1)
    found = replay(pool, methods, budgets, how)
    for each in found.values():
        errors = each.error[0]
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(80)
    plain = found["difference"]
    assert (plain.spent <= 60).all()
    np.testing.assert_array_equal(plain.spent, plain.n_judged)
    null = replay(pool, methods[:1], budgets, replace(how, null=True))["difference"]
    assert len(np.unique(null.truth)) > 75
    for errors in (null.truth, null.error[0]):
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(80)
