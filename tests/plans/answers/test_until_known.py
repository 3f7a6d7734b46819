"""The number of labels to a verdict that is foreseen is the number that it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Outlook, Plan, UnitCost
from pt_active.demo.collection import DemoCollection
from pt_active.inference.replay import YARDSTICK, Method
from pt_active.inference.stopping.bets import excluded
from pt_active.plans.answers.simulated_judging import simulated_effort

DIFFERENCE = 1.0
QUERIES, DOCUMENTS = Method("hedged", "regression", False), Method("successive", "regression", False)


def labels_taken(script, plan: Plan, as_the_model_says, runs: int) -> np.ndarray:
    """Labels until the truth is told from a value that lies so far below it, if the model is right."""
    taken = []
    for seed in range(runs):
        labels = as_the_model_says(seed)[["qid", "docno", "label"]]
        for each in script("sequences").sequences(plan, labels, 1, seed):
            draws = each.proof.draws
            taken.append(each.labels(excluded(draws, each.proof.stakes, float(draws.base[-1]) - DIFFERENCE, 0.025)))
    return np.array(taken)


@pytest.mark.parametrize(("method", "level", "slack"), [(QUERIES, "query", 0.05), (DOCUMENTS, "document", 0.2)])
def test_what_is_foreseen_is_what_it_takes_where_the_model_is_right(
    method, level, slack, script, graded, as_the_model_says
) -> None:
    """70 real evaluations against 200 foreseen ones: finds a mean or an upper decile that is off by a fifth.

    3 standard errors of the upper decile are 4 % for queries and 32 % for documents.
    """
    row = Outlook.of(graded, None, DCG @ 10, methods=[method]).until_known(DIFFERENCE, progress=False).iloc[0]
    plan = Plan.create(graded, None, DCG @ 10, budget=row.budget, design=method.design, level=level, seed=0)
    taken = labels_taken(script, plan, as_the_model_says, 70)
    error = taken.std() * np.sqrt(1 / len(taken) + 1 / 200)
    assert abs(row.labels - taken.mean()) <= 3 * error
    assert row.labels_90 == pytest.approx(np.quantile(taken, 0.9), rel=slack)
    assert row.power == pytest.approx((taken <= row.budget).mean(), abs=0.2)
    assert (row.cost, row.cost_90) == (row.labels, row.labels_90)


def test_larger_differences_take_fewer_labels_and_larger_errors_more(
    demo: DemoCollection, graded: pd.DataFrame, sharp: pd.DataFrame
) -> None:
    outlook = Outlook.of(graded, None, DCG @ 10, UnitCost(per_query=2.0), methods=[DOCUMENTS])
    tables = [outlook.until_known(d, progress=False) for d in (0.5, 2.0)]
    assert all((table.cost > table.labels).all() for table in tables)
    small, large = (table.labels[0] for table in tables)
    assert small > 2 * large
    assert outlook.until_known(-2.0, progress=False).labels[0] == large
    pilot = Plan.create(sharp, None, DCG @ 10, budget=300, level="document", seed=1)
    alone = Outlook.of(sharp, None, DCG @ 10, methods=[DOCUMENTS])
    learned = Outlook.of_plan(pilot, demo.judge(pilot.assessments), methods=[DOCUMENTS])
    one, other = (each.until_known(DIFFERENCE, progress=False).labels[0] for each in (alone, learned))
    assert other > 1.3 * one


def test_one_ranker_three_rankers_and_measures_without_exact_moments(graded: pd.DataFrame) -> None:
    alone = graded.drop(columns=["rank_candidate", "score_candidate"])
    alone = alone[alone.rank_production >= 0]
    three = graded.assign(rank_third=graded.rank_production, score_third=graded.score_production)
    for pool, measure in ((alone, "DCG@10"), (three, "DCG@10"), (graded[graded.qid < "q12"], "nDCG@5")):
        table = Outlook.of(pool, None, measure, methods=[QUERIES]).until_known(0.3, progress=False)
        assert 0 < table.labels[0] <= table.labels_90[0] <= len(pool)


def test_each_of_three_pairs_has_a_third_of_the_level(graded: pd.DataFrame) -> None:
    """The replays of the two pairs that differ are those of two rankers at a third of the level."""
    three = graded.assign(rank_third=graded.rank_candidate, score_third=graded.score_candidate)
    all_pairs, one_pair = (
        simulated_effort(
            Outlook.of(pool, None, DCG @ 10, methods=[YARDSTICK]).forecast, YARDSTICK, 1.0, 300, alpha, 1.0, False
        )
        for pool, alpha in ((three, 0.05), (graded, 0.05 / 3))
    )
    differ = np.arange(len(one_pair.labels)) % 3 < 2
    assert all_pairs.labels[differ].tolist() == one_pair.labels[differ].tolist()
    assert len(set(one_pair.labels)) > 20


def test_methods_without_an_order_are_left_out(graded: pd.DataFrame) -> None:
    depth = Method("depth", "regression", False)
    both = Outlook.of(graded, None, DCG @ 10, methods=[YARDSTICK, depth])
    with pytest.warns(UserWarning, match="'depth' draws nothing one by one: see budget_for"):
        assert both.until_known(DIFFERENCE, progress=False).design.tolist() == ["passive"]
    with pytest.raises(ValueError, match='no method draws one unit after the other; add .* design="successive"'):
        Outlook.of(graded, None, DCG @ 10, methods=[depth]).until_known(DIFFERENCE)
    with pytest.raises(ValueError, match="difference must be a number other than 0"):
        both.until_known(0.0)
