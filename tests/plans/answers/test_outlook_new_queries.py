"""Budgets for new queries: the floor, the pair of queries and labels, and what a pilot shows of the spread."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Outlook, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.inference.replay import Method

HEDGED = Method("hedged", "regression", with_replacement=False)


def for_new(graded: pd.DataFrame, **how: object) -> Outlook:
    return Outlook.of(graded, None, DCG @ 10, queries="new", **how)


def test_the_table_has_the_floor_and_its_errors_add_up(graded: pd.DataFrame) -> None:
    these, new = (Outlook.of(graded, None, DCG @ 10, queries=name).table() for name in ("these", "new"))
    assert list(new.columns) == [*these.columns, "topics", "floor"]
    assert (new["topics"] == 120).all()
    assert new["floor"].nunique() == 1
    np.testing.assert_allclose(new["standard_error"] ** 2, these["standard_error"] ** 2 + new["floor"] ** 2)


def test_the_floor_is_the_spread_that_labels_from_the_model_have(graded: pd.DataFrame) -> None:
    """400 labellings by the model; the paired t-test's squared error of each, against the floor's square."""
    columns = [f"grade_{grade}" for grade in range(4)]
    grades, rng = graded[columns].to_numpy().cumsum(axis=1), np.random.default_rng(0)
    gain = np.log2(2 + np.arange(20))
    signed = sum(
        sign * np.where((rank >= 0) & (rank < 10), 1 / gain[np.clip(rank, 0, 19)], 0)
        for sign, rank in ((1, graded["rank_production"].to_numpy()), (-1, graded["rank_candidate"].to_numpy()))
    )
    query, squares = pd.factorize(graded["qid"])[0], []
    for _ in range(400):
        label = (rng.random((len(grades), 1)) > grades[:, :-1]).sum(axis=1)
        squares.append(np.bincount(query, signed * (2.0**label - 1)).var(ddof=1) / 120)
    floor = for_new(graded).table()["floor"].iloc[0]
    assert floor**2 == pytest.approx(np.mean(squares), abs=3 * np.std(squares) / 20)


def test_what_no_label_removes_is_said(graded: pd.DataFrame) -> None:
    outlook = for_new(graded)
    table, more = outlook.table(), outlook.budget_for(difference=0.2)
    said = outlook.described(table)
    assert f"Judging everything leaves an error of {table['floor'].iloc[0]:.4g}, the floor of 120 queries: " in said
    assert "queries like those of the pool" in said
    told = f"Add queries, not only labels: the pool has 120, and this takes {more['topics'].iloc[0]:,} for"
    assert told in outlook.described(more)


def test_budget_for_finds_queries_and_labels(graded: pd.DataFrame) -> None:
    outlook = for_new(graded)
    free, dear = (outlook.budget_for(difference=0.4, power=0.9, query_cost=cost) for cost in (0, 20))
    for table in (free, dear):
        assert (table["power"] >= 0.9).all()
        assert (table["power"] < 0.905).all()
    assert (free["floor"] / free["standard_error"]).to_numpy() == pytest.approx(0.5, rel=0.01)
    assert (dear["topics"] < free["topics"]).all()
    assert (dear["budget"] > free["budget"]).all()
    assert "cost" not in free.columns
    assert dear["cost"].to_numpy() == pytest.approx((dear["budget"] + 20 * dear["topics"]).to_numpy())
    assert (dear["cost"] < free["budget"] + 20 * free["topics"]).all()
    few = outlook.budget_for(width=3.0, query_cost=20)
    assert (few["topics"] < 120).all()
    assert not any("floor" in note for note in outlook.notes(few))  # which is not that of the pool's 120 queries
    wide = outlook.budget_for(width=3.0)
    assert (wide["topics"] == 120).all()
    assert (wide["half_width"] <= 3).all()


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_pilot_corrects_the_floor_that_a_useless_model_expects(
    level: str, demo: DemoCollection, graded: pd.DataFrame
) -> None:
    """A model that is sure that every query is alike; the floor is that of all labels within a factor of 1.6."""
    columns = [f"grade_{grade}" for grade in range(4)]
    sure = graded.assign(**dict(zip(columns, [0.97, 0.01, 0.01, 0.01], strict=True)))
    plan = Plan.create(sure, None, DCG @ 10, budget=600, level=level, seed=1)
    labels = demo.judge(plan.assessments)
    census = Plan.create(sure, None, DCG @ 10, budget=1e9, level="query")
    true = census.compare(demo.judge(graded), queries="new").standard_error
    before, after = for_new(sure).table(), for_new(sure, pilot=(plan, labels)).table()
    assert before["floor"].iloc[0] < true / 2
    assert true / 1.6 < after["floor"].iloc[0] < 1.6 * true
    assert (for_new(sure, pilot=(plan, labels)).budget_for(difference=0.5)["power"] >= 0.8).all()


def test_a_census_of_a_past_track_is_a_pilot_whose_spread_is_that_of_its_paired_t_test(
    demo: DemoCollection, graded: pd.DataFrame
) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=1e9, level="query")
    labels = demo.judge(plan.assessments)
    outlook = Outlook.of_plan(plan, labels, methods=[HEDGED], queries="new")
    shown = plan.compare(labels, queries="new").standard_error
    assert outlook.table()["floor"].iloc[0] == pytest.approx(shown, rel=0.05)


def test_clusters_are_what_the_population_is_drawn_in(graded: pd.DataFrame) -> None:
    """Twins of one need tell less of other needs than as many queries, and more than one of each."""
    twins = pd.concat([graded, graded.assign(qid=graded["qid"] + "-again")])
    twins["qneed"] = twins["qid"].str.removesuffix("-again")
    apart, together = for_new(twins).table(), for_new(twins, clusters="qneed").table()
    alone = for_new(graded).table()
    assert apart["floor"].iloc[0] < together["floor"].iloc[0] < alone["floor"].iloc[0]
    with pytest.raises(ValueError, match="there is no column 'need'"):
        for_new(twins, clusters="need").table()


@pytest.mark.filterwarnings("ignore:the model sees no variance")
def test_what_cannot_be_foreseen_is_said(graded: pd.DataFrame) -> None:
    one = graded[graded["qid"] == graded["qid"].iloc[0]]
    tied = graded.assign(rank_candidate=graded["rank_production"], score_candidate=graded["score_production"])
    for pool in (one, tied):
        with pytest.raises(ValueError, match="sees no difference between queries"):
            for_new(pool).table()
    with pytest.raises(ValueError, match="queries must be 'these' or 'new', got 'all'"):
        Outlook.of(graded, None, DCG @ 10, queries="all")
    with pytest.raises(ValueError, match='only for queries="these"'):
        for_new(graded).until_known(0.5)
    with pytest.raises(ValueError, match="query_cost= is for new queries"):
        Outlook.of(graded, None, DCG @ 10).budget_for(width=0.4, query_cost=3)
    with pytest.raises(ValueError, match="query_cost must be a number from 0"):
        for_new(graded).budget_for(width=0.4, query_cost=-1)
    with pytest.raises(ValueError, match="more than 10,000,000 queries"):
        for_new(graded).budget_for(width=1e-6)
