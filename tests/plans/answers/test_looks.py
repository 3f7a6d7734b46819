"""The state of a plan at a look at the end, extended or not, and after each part of a plan for nDCG or AP."""

import math

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered
from samples import by_t, wanted

from pt_active import DCG, Plan, UnitCost
from pt_active.plans.answers.looks import PLANNED
from pt_active.plans.making.documents import part_of

# --- extended plans of documents --------------------------------------------------------------------------------------


def longer(graded: pd.DataFrame, labels: pd.DataFrame, budget: float) -> tuple[Plan, pd.DataFrame, pd.DataFrame]:
    """An extended plan, its labels before the extension, and all of them."""
    one = Plan.create(graded, None, DCG @ 10, budget=budget, design="depth", seed=12)
    with pytest.warns(UserWarning, match="more labels after the parts of a plan are a second test"):
        two = one.extend(budget)
    return two, wanted(one, labels), pd.concat([wanted(one, labels), wanted(two, labels)])


def test_an_extended_plan_counts_when_all_of_it_is_judged(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan, before, both = longer(graded, labels, 120)
    early, late = plan.status(before), plan.status(both)
    assert (early.looks, early.resolution, math.isnan(early.value)) == (None, None, True)
    assert (early.unit, early.judged, late.judged, late.drawn) == ("sample", 0, 1, 1)
    assert (early.left_out, late.n_judged, late.left_out) == (len(before), len(both), 0)
    compared = by_t(plan.compare, both)
    assert late.value == pytest.approx(compared.difference, rel=1e-12)
    assert late.standard_error == pytest.approx(compared.standard_error, rel=1e-12)
    assert (late.low, late.high) == pytest.approx(tuple(plan.compare(both).confidence_interval()), rel=1e-9)


def test_what_has_no_interval_at_the_end_has_none_at_a_look(graded, labels, demo):
    """A later ranker depends on documents that could not be drawn; the error of the others is known."""
    plan, _, both = longer(graded, labels, 500)
    run = demo.runs["candidate"]
    upside_down = run[run["rank"] < 15].assign(score=lambda kept: -kept["score"]).drop(columns="rank")
    later, pair = plan.with_rankers(later=upside_down), {"first": "production", "second": "later"}
    with pytest.warns(UserWarning, match="no interval and no test"):
        compared = later.compare(both, **pair)
    assert compared.standard_error > 0
    assert np.isnan(compared.confidence_interval().low)
    status = later.status(both, **pair)
    assert not np.isfinite([status.low, status.high]).any()
    assert status.winner is None


@pytest.mark.parametrize("per_query", [0, 3])
def test_all_that_can_change_the_result_is_less_than_the_pool(per_query, graded, labels):
    """Queries in which the rankers agree are not opened, and documents of one ranker alone cannot change anything."""
    alike = graded["qid"].isin(graded["qid"].unique()[:20])
    same = graded.assign(rank_candidate=graded["rank_candidate"].where(~alike, graded["rank_production"]))
    frame, how = same[~alike | (same["rank_production"] >= 0)], {"level": "document", "seed": 1}
    plan, census = (Plan.create(frame, None, DCG @ 10, UnitCost(per_query), budget=each, **how) for each in (100, 1e5))
    ranks = plan.tables.pool.keys.merge(frame, on=["qid", "docno"])[["rank_production", "rank_candidate"]]
    seen = ranks.where((ranks >= 0) & (ranks < 10), -1)
    drawn, qid = plan.tables.documents.sample.drawn, plan.tables.pool.keys["qid"]
    left = ~drawn & (seen["rank_production"] != seen["rank_candidate"])
    cost = left.sum() + per_query * len(set(qid[left]) - set(qid[drawn]))
    for looks in (None, "always"):
        state = plan.status(wanted(plan, labels), looks)
        assert state.everything == pytest.approx(plan.manifest["spent"] + cost)
        assert state.everything < plan.manifest["pool_cost"] == census.manifest["spent"]
        assert not state.needed > state.everything
        done = census.status(wanted(census, labels), looks)
        assert done.everything == pytest.approx(census.manifest["spent"])


# --- parts of plans for nDCG and AP -----------------------------------------------------------------------------------


DESIGNS = {"depth": "nDCG@10", "surprises": "AP"}


@pytest.fixture(scope="module", params=DESIGNS)
def in_parts(request, few):
    design = request.param
    return Plan.create(few, None, DESIGNS[design], budget=200, level="document", design=design, seed=5)


def first(plan: Plan, labels: pd.DataFrame, parts: int) -> pd.DataFrame:
    """The labels of the first parts."""
    inside = (part_of(plan.tables) > 0) & (part_of(plan.tables) <= parts)
    return labels.merge(plan.tables.pool.keys.loc[inside, ["qid", "docno"]])


def test_all_pairs_share_the_level_in_parts_and_a_named_pair_has_it_alone(few, labels):
    third = few.assign(rank_third=few.groupby("qid").cumcount())
    plan = Plan.create(third, None, "AP", budget=150, level="document", seed=4)
    names = {"first": plan.rankers[2], "second": plan.rankers[0]}
    for parts in (2, 5):
        some = first(plan, labels, parts)
        every, alone = plan.status(some), plan.status(some, confidence=1 - 0.05 / 3, **names)
        (found,) = (each for each in every.pairs if {each.first, each.second} == set(names.values()))
        assert (found.low, found.high) == pytest.approx((-alone.high, -alone.low), rel=1e-9)
        for state in (found, alone, plan.gate(some, 0.5, queries="these", **names).status):
            assert (state.looks, state.judged, state.drawn) == (PLANNED, parts, 5)
        assert found.winner == alone.winner
    with pytest.raises(ValueError, match="is for one pair"):
        plan.status(some, None)


def test_a_look_after_each_part_is_the_plan_cut_there(in_parts, labels, tmp_path):
    plan, widths, kept = in_parts, [], Plan.load(in_parts.save(tmp_path / "plan").path)
    for parts in range(1, 6):
        so_far = first(plan, labels, parts)
        state = plan.status(so_far)
        assert kept.status(so_far) == state
        assert (state.looks, state.unit, state.judged, state.drawn) == (PLANNED, "part", parts, 5)
        assert state.n_judged == state.spent == len(so_far)
        assert state.next_look == (parts + 1 if parts < 5 else None)
        more = plan.status(ordered(plan, labels).head(len(so_far) + 5))
        waiting = 5 if parts < 5 else 0  # as labels of a part that is not whole
        assert (more.judged, more.left_out, more.value, more.low) == (parts, waiting, state.value, state.low)
        found = plan.so_far(so_far).compare(so_far)
        shown = state.value, state.standard_error
        assert shown == pytest.approx((found.difference, found.standard_error), rel=1e-12)
        widths.append(state.high - state.low)
    low, high = by_t(plan.compare, so_far).confidence_interval()
    assert all(np.diff(widths) < 0)
    assert 1 <= widths[-1] / (high - low) < 1.1  # all that planned looks cost at the end
    assert state.standard_error == plan.compare(wanted(plan, labels)).standard_error


@pytest.mark.parametrize(("budget", "earliest"), [(60, 3), (25, 5)])
def test_looks_before_the_last_one_need_thirty_labels(budget, earliest, few, labels):
    pool = few[few["qid"].isin(few["qid"].unique()[:20])]
    plan = Plan.create(pool, None, "nDCG@10", budget=budget, level="document", design="surprises", seed=1)
    early, state = (plan.status(first(plan, labels, parts)) for parts in (earliest - 1, earliest))
    assert (np.isfinite(early.low), np.isfinite(state.low)) == (False, True)
    assert early.resolution is None
    assert "interval    none   for these 20 queries: a look needs 30 labels" in early.details


def test_the_first_look_that_decides_a_gate_decides_it(few, labels):
    plan = Plan.create(few, None, "AP", budget=400, level="document", design="surprises", seed=15)
    asked = {"margin": 0.1, "queries": "these"}
    gates = [plan.gate(first(plan, labels, parts), **asked) for parts in range(1, 6)]
    states = [gate.status for gate in gates]
    at = [state.low > -0.1 for state in states].index(True)
    assert 0 < at < 4
    assert [gate.outcome for gate in gates] == ["unresolved"] * at + ["pass"] * (5 - at)
    assert {gate.decided_at for gate in gates[at:]} == {states[at].spent}
    # What is foreseen is the decision of the gate, not which of the two is better.
    assert [(state.chance, state.further) for state in states[at:]] == [(1.0, 0.0)] * (5 - at)
    assert states[at - 1].needed in {state.spent for state in states[at:]}
    assert plan.gate(first(plan, labels, 5), looks=None, **asked).outcome == "pass"


@pytest.mark.slow
def test_all_looks_together_keep_their_level(graded, labels):
    """Rankers are traded at random in 25 queries; an interval that misses the truth at any look is an error.

    Three standard errors of 60 samples are 9 points.
    """
    few = graded[graded["qid"].isin(sorted(graded["qid"].unique())[:25])]
    swap = few["qid"].isin(np.random.default_rng(6).permutation(few["qid"].unique())[:12])
    traded = few.assign(
        rank_production=few["rank_candidate"].where(swap, few["rank_production"]),
        rank_candidate=few["rank_production"].where(swap, few["rank_candidate"]),
    )
    census = Plan.create(traded, None, "AP", budget=1e9, level="query")
    truth, missed, number = census.compare(wanted(census, labels)).difference, 0, 60
    for seed in range(number):
        plan = Plan.create(traded, None, "AP", budget=120, level="document", design="surprises", seed=seed)
        states = [plan.status(first(plan, labels, parts)) for parts in range(1, 6)]
        missed += any(state.low > truth or state.high < truth for state in states)
    assert missed <= 0.06 * number + 3 * np.sqrt(0.06 * 0.94 * number)
