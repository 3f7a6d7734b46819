"""The state of a plan at a look at the end: judged prefixes, verdicts, prospects, and rounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_order import prefix
from samples import by_t, wanted

from pt_active import DCG, Plan, UnitCost
from pt_active.demo.collection import DemoCollection

# --- the sample -------------------------------------------------------------------------------------------------------


def test_all_labels_and_one_look_are_the_comparison(plan: Plan, labels: pd.DataFrame) -> None:
    judged = wanted(plan, labels)
    found, status = plan.compare(judged), plan.status(judged, looks=None)
    low, high = found.confidence_interval()
    assert status.value == pytest.approx(found.difference, rel=1e-12)
    assert (status.low, status.high) == pytest.approx((low, high), rel=1e-9)
    assert status.winner == found.winner
    assert (status.judged, status.n_judged) == (status.drawn, found.basis.n_judged)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_census_leaves_nothing_to_chance(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=10_000, seed=3, level="query")
    assert plan.manifest["census"]
    for looks in (None, "always"):
        status = plan.status(wanted(plan, labels), looks)
        assert (status.low, status.high) == pytest.approx((status.value, status.value), rel=1e-9)
        assert status.value == pytest.approx(plan.compare(wanted(plan, labels)).difference, rel=1e-12)
        assert status.winner == "candidate"
    part = plan.status(prefix(plan, labels, 70))
    assert part.low < part.value < part.high


def test_unresolvable_says_what_would_be_needed(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, draws=16, seed=5)
    status = plan.status(wanted(plan, labels), None)
    assert (status.judged, status.chance, status.further) == (16, 0.0, 0.0)
    assert status.answer == "this budget did not settle it"
    assert status.budget < status.needed <= status.everything
    lacking = int(np.ceil(status.needed - status.spent))
    once = "and look once: that settles it four times out of five if the estimate is right"
    more = f"judge about {lacking} more documents, {int(status.spent) + lacking} in all, {once}"
    assert replace(status, needed=status.needed - 0.4).advice == status.advice == more
    more, whole = f"{status.needed - status.spent:.4g}", f"{status.needed:.4g} in all"
    assert replace(status, cost_unit=" hours").advice == f"judge for about {more} hours more, {whole}, {once}"
    assert replace(status, n_judged=status.n_judged + 1).advice == f"judge for about {more} more, {whole}, {once}"


# --- rounds of documents ----------------------------------------------------------------------------------------------


Rounds = tuple[Plan, pd.DataFrame, pd.DataFrame]
"""A plan of two rounds, the labels of the first round, and the labels of both."""


def two_rounds(graded: pd.DataFrame, labels: pd.DataFrame, budget: float, design: str) -> Rounds:
    one = Plan.create(graded, None, DCG @ 10, budget=budget, design=design, seed=12)
    first = wanted(one, labels)
    two = one.extend(budget)
    return two, first, pd.concat([first, wanted(two, labels)])


@pytest.fixture(scope="module")
def rounds(graded: pd.DataFrame, labels: pd.DataFrame) -> Rounds:
    return two_rounds(graded, labels, 120, "depth")


def test_rounds_are_looked_at_once(rounds: tuple) -> None:
    plan, first, both = rounds
    early, late = plan.status(first), plan.status(both)
    assert (early.looks, early.resolution, math.isnan(early.low)) == (None, None, True)
    assert (early.unit, early.judged, late.judged, late.drawn) == ("round", 1, 2, 2)
    assert (late.n_judged, late.left_out) == (len(both), 0)
    compared = by_t(plan.compare, both)
    assert late.value == pytest.approx(compared.difference, rel=1e-12)
    assert late.standard_error == pytest.approx(compared.standard_error, rel=1e-12)
    assert (late.low, late.high) == pytest.approx(tuple(plan.compare(both).confidence_interval()), rel=1e-9)


def test_what_has_no_interval_at_the_end_has_none_at_a_look(graded, labels, demo: DemoCollection) -> None:
    """A later ranker depends on documents that could not be drawn; the error of the others is known."""
    plan, _, both = two_rounds(graded, labels, 500, "depth")
    run = demo.runs["candidate"]
    upside_down = run[run["rank"] < 15].assign(score=lambda kept: -kept["score"]).drop(columns="rank")
    pair = {"first": "production", "second": "later"}
    later = plan.with_rankers(later=upside_down)
    with pytest.warns(UserWarning, match="no interval and no test"):
        compared = later.compare(both, **pair)
    assert compared.standard_error > 0
    assert np.isnan(compared.confidence_interval().low)
    status = later.status(both, **pair)
    assert not np.isfinite([status.low, status.high]).any()
    assert status.winner is None
    assert "interval    none" in str(status)


def test_a_round_counts_when_all_of_it_is_judged(rounds: tuple) -> None:
    plan, first, both = rounds
    status = plan.status(both.iloc[:-1])
    assert (status.judged, status.waiting, status.left_out) == (1, "round 2", len(both) - 1 - len(first))
    assert status.value == plan.status(first).value
    nothing = plan.status(first.iloc[:3])
    assert (nothing.judged, math.isnan(nothing.value), nothing.left_out) == (0, True, 3)


@pytest.mark.parametrize("per_query", [0, 3])
def test_all_that_can_change_the_result_is_less_than_the_pool(
    per_query: int, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    """Queries in which the rankers agree are not opened, and documents of one ranker alone cannot change anything."""
    alike = graded["qid"].isin(graded["qid"].unique()[:20])
    same = graded.assign(rank_candidate=graded["rank_candidate"].where(~alike, graded["rank_production"]))
    frame, how = same[~alike | (same["rank_production"] >= 0)], {"level": "document", "seed": 1}
    plan, census = (Plan.create(frame, None, DCG @ 10, UnitCost(per_query), budget=each, **how) for each in (100, 1e5))
    judged = wanted(plan, labels)
    ranks = plan.tables.pool.keys.merge(frame, on=["qid", "docno"])[["rank_production", "rank_candidate"]]
    seen = ranks.where((ranks >= 0) & (ranks < 10), -1)
    drawn, qid = plan.tables.rounds[0].sample.drawn, plan.tables.pool.keys["qid"]
    left = ~drawn & (seen["rank_production"] != seen["rank_candidate"])
    cost = left.sum() + per_query * len(set(qid[left]) - set(qid[drawn]))
    for looks in (None, "always"):
        state = plan.status(judged, looks)
        assert state.everything == pytest.approx(plan.manifest["spent"] + cost)
        assert state.everything < plan.manifest["pool_cost"] == census.manifest["spent"]
        assert not state.needed > state.everything
        done = census.status(wanted(census, labels), looks)
        assert done.everything == pytest.approx(census.manifest["spent"])
