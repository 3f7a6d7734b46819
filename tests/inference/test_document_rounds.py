"""Rounds of judging whose grade model learns from the labels so far: unbiased, and honest about their error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pt_active import parse_measure
from pt_active.inference.documents import DocumentEstimate, cautious_variance, widened
from pt_active.inference.methods import Method
from pt_active.inference.replay import LabelledPool, Repetitions, replay
from pt_active.inference.rounds import Round, draw_round, estimate_rounds, judged_before, round_weights
from pt_active.relevance.measures import rank_form
from pt_active.sampling.documents import RoundSettings, natural_drawing
from pt_active.sampling.pools import DocumentPool, GradedPool, Variables

QUERIES, DOCUMENTS, ROUNDS, BUDGET = 60, 8, 5, 16.0
PRIOR = np.array([0.5, 0.3, 0.2])
CONTRAST = np.array([1.0, -1.0])


def labelled(measure: str) -> tuple[LabelledPool, np.ndarray]:
    """Two systems, labels that depend on a score and the query, a model that knows neither, and the scores."""
    rng = np.random.default_rng(5)
    size = QUERIES * DOCUMENTS
    ranks = [rng.random((QUERIES, DOCUMENTS)).argsort(axis=1).argsort(axis=1).ravel() + 1 for _ in range(2)]
    score = rng.random(size)
    chance = np.clip(score**2 + np.repeat(0.15 * rng.normal(size=QUERIES), DOCUMENTS), 0.02, 0.9)
    label = (rng.random(size) < chance).astype(int) + (rng.random(size) < 0.6 * chance)
    form = rank_form(parse_measure(measure, 2), 2, DOCUMENTS)
    indptr, weight = np.arange(QUERIES + 1) * DOCUMENTS, np.full(QUERIES, 1 / QUERIES)
    seen = DocumentPool(form, indptr, np.stack(ranks).astype(np.int32), weight)
    return LabelledPool(GradedPool(seen, np.tile(PRIOR, (size, 1)), np.ones(size), 0.0), label), score


def refitted(label: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Grade probabilities: the share of each grade among the labels so far, in four bands of the score."""
    grades, band = np.empty((len(score), 3)), np.digitize(score, [0.25, 0.5, 0.75])
    for b in range(4):
        counts = np.bincount(label[(band == b) & (label >= 0)], minlength=3) + 2 * PRIOR
        grades[band == b] = counts / counts.sum()
    return grades


def five_rounds(pool: LabelledPool, score: np.ndarray, seed: int) -> tuple[list[Round], np.ndarray]:
    """Five rounds, and the labels known after them."""
    rng = np.random.default_rng([1, seed])
    settings = RoundSettings(natural_drawing(pool.graded.seen.form))
    rounds: list[Round] = []
    known = np.full(len(pool.label), -1)
    for _ in range(ROUNDS):
        grades, labels = (refitted(known, score), known) if rounds else (None, None)
        rounds.append(draw_round(pool.graded, settings, BUDGET, rng, grades=grades, labels=labels))
        known = np.where(rounds[-1].sample.drawn, pool.label, known)
    return rounds, known


def pooled(pool: LabelledPool, score: np.ndarray, rounds: list[Round], known: np.ndarray) -> float:
    """The tempting alternative: one sample, with the probability of each document to be drawn in any round."""
    seen = pool.graded.seen
    left = np.ones(len(known))
    for each in rounds:
        left *= 1 - each.sample.design.opening[seen.query] * each.sample.design.inclusion
    mean = refitted(known, score) @ seen.form.values
    judged = np.flatnonzero(known >= 0)
    error = (CONTRAST @ seen.gradients(mean) * (seen.form.values[pool.label] - mean))[judged] / (1 - left[judged])
    return float(seen.weight @ (seen.values(mean) @ CONTRAST) + error.sum() / QUERIES)


@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_five_rounds_cover_the_truth_and_pooling_them_does_not(measure: str) -> None:
    """400 repetitions detect a bias of .15 standard deviations, a coverage of .9, and a variance a quarter too low."""
    pool, score = labelled(measure)
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


@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_few_degrees_of_freedom_ask_for_the_models_caution(measure: str) -> None:
    pool, _ = labelled(measure)
    settings = RoundSettings("spread" if measure == "DCG@5" else "depth")
    drawn = draw_round(pool.graded, settings, 40.0, np.random.default_rng(0))
    variables = Variables.of(pool.graded.seen.form, pool.graded.grades)
    cautious = cautious_variance(pool.graded.seen, drawn.sample, variables, CONTRAST)
    assert cautious == pytest.approx(drawn.expected, rel=1e-9 if measure == "DCG@5" else 0.1)
    for degrees, share in ((45.0, 0.0), (30.0, 0.0), (15.0, 0.25), (0.0, 1.0), (-1.0, 1.0)):
        found = widened(DocumentEstimate(0.5, 0.01, 0.02, degrees, 9.0), cautious)
        assert found.cautious == pytest.approx(share * cautious)
        assert found.variance == pytest.approx(0.03 + share * cautious)
    nothing = DocumentEstimate(0.5, 0.0, 0.0, 3.0, 9.0)
    assert widened(nothing, cautious) is nothing


def test_a_document_is_judged_once() -> None:
    pool, score = labelled("DCG@5")
    rounds, known = five_rounds(pool, score, 0)
    drawn = np.sum([each.sample.drawn for each in rounds], axis=0)
    assert drawn.max() == 1
    np.testing.assert_array_equal(judged_before(rounds), drawn > 0)
    np.testing.assert_array_equal(known >= 0, drawn > 0)


def test_weights_are_known_before_a_round_is_drawn() -> None:
    pool, _ = labelled("DCG@5")
    settings = RoundSettings("spread")
    first, again = (draw_round(pool.graded, settings, 40.0, np.random.default_rng(seed)) for seed in (1, 2))
    assert first.expected == again.expected
    dear = draw_round(pool.graded, settings, 120.0, np.random.default_rng(3))
    weights = round_weights([first, dear])
    assert weights.sum() == pytest.approx(1)
    assert weights[1] / weights[0] == pytest.approx(first.expected / dear.expected)


def test_a_round_that_judges_the_rest_decides_alone() -> None:
    pool, _ = labelled("ERR@5")
    settings = RoundSettings("depth")
    first = draw_round(pool.graded, settings, 40.0, np.random.default_rng(1))
    known = np.where(first.sample.drawn, pool.label, -1)
    rest = draw_round(pool.graded, settings, 1e6, np.random.default_rng(2), labels=known)
    assert rest.expected == 0
    np.testing.assert_array_equal(round_weights([first, rest]), [0, 1])
    known = np.where(rest.sample.drawn, pool.label, known)
    found = estimate_rounds(pool.graded.seen, [first, rest], known, CONTRAST, "regression")
    assert found.value == pytest.approx(pool.truth, abs=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("measure", "drawing"), [("DCG@5", "spread"), ("DCG@5", "poisson"), ("ERR@5", "depth")])
def test_replays_are_unbiased_and_swap_systems(measure: str, drawing: str) -> None:
    pool, _ = labelled(measure)
    methods = [Method(drawing, name) for name in ("difference", "regression")]
    budgets, how = [60.0], Repetitions(300, 1)
    (chunk, *rest) = replay(pool, methods, budgets, how)
    assert len(rest) == 2
    for name in ("difference", "regression"):
        errors = np.concatenate([each[name].error for each in (chunk, *rest)], axis=1)[0]
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(errors.size)
    assert (chunk["difference"].spent <= 60).all()
    np.testing.assert_array_equal(chunk["difference"].spent, chunk["difference"].n_judged)
    again = next(replay(pool, methods[:1], budgets, how))
    np.testing.assert_array_equal(again["difference"].estimate, chunk["difference"].estimate)
    null = list(replay(pool, methods[:1], budgets, replace(how, null=True)))
    truths = {float(each["difference"].truth[0]) for each in null}
    assert len(truths) == 3
    for each in null:
        errors = each["difference"].error[0]
        assert abs(errors.mean()) <= 4 * errors.std() / np.sqrt(errors.size)


def test_replays_in_rounds() -> None:
    pool, _ = labelled("DCG@5")
    in_one, budgets, how = Method("spread", "difference"), [60.0], Repetitions(100, 1)
    (one,) = replay(pool, [in_one], budgets, how)
    (five,) = replay(pool, [replace(in_one, rounds=5)], budgets, how)
    assert (five["difference"].n_judged > 45).all()
    assert five["difference"].error.std() < 1.3 * one["difference"].error.std()
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        next(replay(pool, [replace(in_one, rounds=0)], budgets, how))


def spoilt(model: str) -> np.ndarray:
    """Grade probabilities that follow the scores of `labelled`, other documents' scores, or their opposite."""
    _, score = labelled("DCG")
    score = {"calibrated": score, "useless": np.random.default_rng(1).permutation(score), "wrong-signed": 1 - score}[
        model
    ]
    chance = np.clip(score**2, 0.02, 0.9)
    both, one = chance * 0.6 * chance, chance * (1 - 0.6 * chance) + (1 - chance) * 0.6 * chance
    return np.column_stack([1 - both - one, one, both])


@pytest.mark.parametrize(
    ("measure", "model"),
    [("DCG@5", "wrong-signed"), ("DCG", "useless"), ("ERR@5", "wrong-signed"), ("ERR", "calibrated")],
)
def test_a_thousand_replays_centre_on_the_truth(measure: str, model: str) -> None:
    """3 standard errors of 1,000 replays: detects a bias of .1 standard deviations of the estimate."""
    pool, _ = labelled(measure)
    pool = replace(pool, graded=replace(pool.graded, grades=spoilt(model), per_query=1.0))
    drawing = natural_drawing(pool.graded.seen.form)
    chunks = replay(pool, [Method(drawing, "difference")], [60.0], Repetitions(1000, 2))
    error = np.concatenate([each["difference"].error[0] for each in chunks])
    assert error.size == 1000
    assert abs(error.mean()) <= 3 * error.std() / np.sqrt(error.size)
