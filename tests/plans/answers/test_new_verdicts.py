"""Verdicts and gates for queries like those of the pool, at any time and at planned looks [theory 16]."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered

from pt_active import DCG, Plan
from pt_active.inference.new_queries import MIN_GROUPS, SHARE_OF_LABELS
from pt_active.inference.stopping.bets import interval
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.sequence import sequence_of
from pt_active.plans.answers.status_of_plan import labels_so_far

LEVELS = ("query", "document")


@pytest.fixture(scope="module", params=LEVELS)
def plan(graded: pd.DataFrame, topics: pd.DataFrame, request: pytest.FixtureRequest) -> Plan:
    return Plan.create(graded, topics, DCG @ 10, budget=600, level=request.param, seed=3)


@pytest.fixture(scope="module")
def judged(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    return ordered(plan, labels)


def test_the_interval_is_that_of_the_bets_at_its_share_of_the_level_and_wider(plan, judged) -> None:
    for n in (60, 300):
        state = plan.status(judged.head(n), queries="new", confidence=0.9)
        label = labels_so_far(plan.tables, judged.head(n))
        proof = sequence_of(plan.tables, label, plan.measure).proof(Contrast(0, 1), 0.1)
        low, high = interval(proof.draws, proof.stakes, 0.1 * SHARE_OF_LABELS)
        assert (state.low, state.high) == pytest.approx((low - state.apart, high + state.apart))


def test_a_census_is_as_far_apart_as_the_paired_t_test_says(census, labels) -> None:
    state = census.status(labels, queries="new", confidence=1 - 0.05 / (1 - SHARE_OF_LABELS))
    by_t = census.compare(labels, queries="new", confidence=0.95)
    low, high = by_t.confidence_interval()
    # t has as many degrees of freedom as the terms show, here fewer than the queries.
    assert 1 <= (state.high - state.low) / (high - low) < 1.1
    assert (state.beside.low, state.beside.high) == pytest.approx((state.value, state.value))


def test_it_has_no_e_value_and_is_never_certain(census, labels) -> None:
    these, new = census.status(labels), census.status(labels, queries="new")
    assert these.answer.endswith("(certain)")
    assert new.answer == f"stop: {these.winner} is better for new queries"
    assert (new.winner, np.isnan(new.e_value)) == (these.winner, True)
    assert "certain" not in str(new)
    assert "evidence" not in str(new)
    data = json.loads(json.dumps(new.to_dict(), allow_nan=False))
    assert (data["queries"], data["e_value"], data["new_low"]) == ("new", None, new.low)


def test_both_intervals_are_told_the_one_asked_for_first(plan, judged) -> None:
    for looks in ("always", None):
        these, new = (plan.status(judged, looks, queries=each) for each in ("these", "new"))
        words = "for these 120 queries", "for queries like them"
        assert str(these).index(words[0]) < str(these).index(words[1])
        assert str(new).index(words[1]) < str(new).index(words[0])
        assert (these.beside.low, new.beside.low) == pytest.approx((new.low, these.low), nan_ok=True)
        assert these.to_dict()["new_high"] == new.to_dict()["high"]


def test_what_is_proved_of_new_queries_is_proved_of_these(plan, judged) -> None:
    found = set()
    for n in (50, len(judged) // 2, len(judged)):
        these, new = (plan.status(judged.head(n), margin=0.5, queries=each) for each in ("these", "new"))
        assert new.apart > 0
        assert new.high - new.low > these.high - these.low
        assert new.resolution in (None, these.resolution) or these.resolution is not None
        assert not new.winner or new.winner == these.winner
        found.add(new.winner)
    assert None in found


@pytest.mark.parametrize("few", ["queries", "clusters", "weights"])
def test_a_pool_of_few_queries_has_no_verdict_at_any_time(graded, topics, labels, few) -> None:
    m, clusters = len(topics), "qneed" if few == "clusters" else None
    kept = {
        "queries": topics.head(MIN_GROUPS - 1),
        "clusters": topics.assign(qneed=[str(row % (MIN_GROUPS - 1)) for row in range(m)]),
        "weights": topics.assign(traffic=[50.0] + [1.0] * (m - 1)),
    }[few]
    pool = graded[graded["qid"].isin(kept["qid"])]
    plan = Plan.create(pool, kept, DCG @ 10, budget=1e9, level="query", seed=1)
    state = plan.status(labels, queries="new", clusters=clusters)
    assert (state.resolution, state.low) == (None, -np.inf)
    assert state.answer == "no verdict at any time for new queries"
    more = "queries, so that none has much of the traffic" if few == "weights" else "queries"
    assert state.advice == f"add {more}, or look once, at the end"
    assert f"looks at any time need {MIN_GROUPS} queries or clusters" in str(state)
    assert np.isfinite(plan.status(labels, None, queries="new", clusters=clusters).low)
    assert plan.gate(labels, 5.0, queries="new", clusters=clusters).outcome == "unresolved"
    assert plan.status(labels).resolved


def test_queries_that_all_have_one_value_do_not_tell_how_others_differ(graded, topics, labels) -> None:
    ranks = graded["rank_candidate"]
    same = graded.assign(rank_production=ranks, score_production=-ranks.astype(float))
    plan = Plan.create(same, topics, DCG @ 10, budget=1e9, level="query", seed=1)
    assert plan.status(labels).answer == "stop: exactly equal"
    state = plan.status(labels, margin=1.0, queries="new")
    assert (state.resolved, state.refusal) == (False, "the labels so far do not tell how far queries differ")


def test_clusters_are_one_draw_each(plan, judged) -> None:
    apart = [plan.status(judged, queries="new", clusters=each).apart for each in (None, "qneed")]
    by_t = [plan.compare(judged, queries="new", clusters=each).population for each in (None, "qneed")]
    assert apart[0] != apart[1]
    state = plan.status(judged, queries="new", clusters="qneed")
    assert (by_t[1].clusters, state.population) == (40, by_t[1])
    assert "for queries like them, as 40 clusters" in str(state)


def test_all_pairs_share_the_level(graded, topics, labels) -> None:
    ranks = graded["rank_candidate"]
    turned = (graded.groupby("qid")["rank_candidate"].transform("max") - ranks).where(ranks >= 0, -1)
    three = graded.assign(rank_other=turned, score_other=-turned.astype(float))
    plan = Plan.create(three, topics, DCG @ 10, budget=1e9, level="query", seed=1)
    new, these = plan.status(labels, queries="new"), plan.status(labels)
    for pair, own in zip(new.pairs, these.pairs, strict=True):
        one = plan.status(labels, confidence=1 - 0.05 / 3, queries="new", first=pair.first, second=pair.second)
        assert (pair.low, pair.high, pair.winner) == pytest.approx((one.low, one.high, one.winner))
        assert (own.beside.low, own.beside.high) == pytest.approx((pair.low, pair.high))
    assert "e-value" not in str(new)
    assert str(new).count("these [") == 3
    assert str(new).splitlines()[0].endswith("in large samples of queries, for queries like them")


def test_no_label_settles_what_lies_in_the_queries(plan, judged) -> None:
    state = plan.status(judged.head(300), queries="new")
    if state.refusal:  # too few queries have labels to tell how they differ
        assert state.unit == "query"
        assert state.judged < MIN_GROUPS
        return
    gate = plan.gate(judged.head(300), -(state.value - state.apart / 2) if state.value < 0 else 0.0, queries="new")
    assert gate.status.chance < 0.6
    assert np.isnan(gate.status.needed)
    assert "add queries" in gate.status.advice or gate.status.within_reach


def test_a_gate_asks_for_which_queries(plan, judged) -> None:
    with pytest.raises(ValueError, match="queries is needed: 'new' decides for queries like those of the pool"):
        plan.gate(judged, 0.4)
    with pytest.raises(ValueError, match="queries must be 'these' or 'new', got 'all'"):
        plan.gate(judged, 0.4, queries="all")
