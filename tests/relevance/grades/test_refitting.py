"""Grades fitted to the labels of a plan."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pt_active import DCG, ColdGrades, Plan, Runs
from pt_active.demo.collection import demo_collection
from pt_active.inference.rounds import draw_round, estimate_rounds, judged_before
from pt_active.plans.making.labelled import measured_values, round_chance
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.grades.refitting import refitted_grades
from pt_active.sampling.drawings import RoundSettings

COLLECTION = demo_collection(queries=60)
QRELS = COLLECTION.past_qrels
POOL = Runs(**dict(list(COLLECTION.runs.items())[:2])).transform(COLLECTION.topics)


def drawn(rng, queries=60, documents=12):
    """A pool whose grades depend on the second ranker, and labels of documents drawn with unequal chances."""
    query = np.repeat(np.arange(queries), documents)
    ranks = np.stack([np.concatenate([rng.permutation(documents) + 1 for _ in range(queries)]) for _ in range(2)])
    truth = (rng.random(len(query)) < 1 / (1 + 0.4 * ranks[1])).astype(int) * 2
    chance = np.where(ranks[0] <= 3, 0.8, 0.25)
    labels = np.where(rng.random(len(query)) < chance, truth, -1)
    return query, ranks, truth, chance, labels


class TestRefit:
    def test_it_finds_the_ranker_that_tells_grades(self):
        rng = np.random.default_rng(0)
        query, ranks, truth, chance, labels = drawn(rng)
        flat = np.full((len(query), 3), 1 / 3)
        few = np.where(np.cumsum(labels >= 0) < 10, labels, -1)
        assert refitted_grades(ranks, flat, few, chance, query) is flat
        grades = refitted_grades(ranks, flat, labels, chance, query)
        assert_allclose(grades.sum(axis=1), 1)
        assert (grades > 0).all()
        rest = labels < 0
        assert np.corrcoef(grades[rest] @ np.arange(3), truth[rest])[0, 1] > 0.25

    def test_all_models_are_compared_on_all_labels(self):
        """Where the labels of a part of the queries are all of one grade, models learn its share."""
        query, ranks = np.repeat(np.arange(6), 4), (np.arange(24) % 4 + 1)[None, :]
        labels, flat = np.where(query == 0, 2, 0), np.tile([0.5, 0.2, 0.3], (24, 1))
        grades = refitted_grades(ranks, flat, labels, np.full(24, 0.5), query)
        assert_array_equal(grades, flat)

    def test_grades_that_are_right_stay(self):
        rng = np.random.default_rng(2)
        query, ranks, _, chance, _ = drawn(rng)
        grades = rng.dirichlet([0.3, 0.3, 0.3], len(query))
        truth = (rng.random(len(query))[:, None] > grades.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        labels = np.where(rng.random(len(query)) < chance, truth, -1)
        assert_array_equal(refitted_grades(ranks, grades, labels, chance, query), grades)


@pytest.mark.slow
def test_three_refitted_rounds_are_unbiased_and_their_errors_are_right():
    """Seeded simulation, three standard errors."""
    rng = np.random.default_rng(0)
    qids = POOL["qid"].unique()[:25]
    pool = Pool.from_frame(ColdGrades(3).transform(POOL[POOL["qid"].isin(qids)]), DCG @ 5)
    graded = graded_pool(pool, DCG @ 5, 0.0)
    truth = COLLECTION.judge(pool.keys)["label"].to_numpy()
    settings = RoundSettings("spread", 1.0, weighed_at=30.0)
    values = measured_values(pool, DCG @ 5, truth)
    errors, variances, refitted = [], [], 0
    for _ in range(60):
        rounds, known, grades = [], None, None
        for _ in range(3):
            rounds.append(draw_round(graded, settings, 30.0, rng, grades=grades, labels=known))
            known = np.where(judged_before(rounds), truth, -1)
            chance = round_chance(pool, rounds)
            grades = refitted_grades(pool.ranks, pool.grades, known, chance, pool.query_of_document)
            refitted += grades is not pool.grades
        estimate = estimate_rounds(graded.seen, rounds, known, np.array([1.0, -1.0]), "difference")
        errors.append(estimate.value - (values[:, 0] - values[:, 1]).mean())
        variances.append(estimate.first + estimate.second)
    error = np.array(errors)
    assert refitted > 120
    assert abs(error.mean()) < 3 * error.std() / np.sqrt(len(error))
    assert abs(np.mean(variances) / (error**2).mean() - 1) < 3 * np.sqrt(2 / len(error))


def test_a_plan_in_rounds_learns_from_its_labels():
    plan = Plan.create(ColdGrades(3).transform(POOL), None, "DCG@10", budget=60, level="document")
    second = plan.extend(60, COLLECTION.judge(plan.assessments), "refit")
    assert len(second.tables.rounds) == 2
    assert second.manifest["rounds"][1]["refitted"]
    assert not second.tables.rounds[1].sample.drawn[plan.tables.rounds[0].sample.drawn].any()
    with pytest.raises(ValueError, match="grades are a frame, a pipeline, or grades=\"refit\", got 'again'"):
        plan.extend(60, QRELS, "again")
    with pytest.raises(ValueError, match="learns from the labels so far, and there are none"):
        plan.extend(60, None, "refit")
