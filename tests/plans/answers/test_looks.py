"""The state of a plan at planned and at asymptotic looks: judged prefixes, verdicts, prospects, and rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn_order import prefix
from samples import wanted
from scipy import stats

from pt_active import DCG, OrderedLogitGrades, Plan, Runs, UnitCost
from pt_active.demo.collection import DemoCollection, demo_collection
from pt_active.inference.stopping.boundaries import half_widths, mixture_boundary
from pt_active.inference.stopping.looks import ASYMPTOTIC, MIN_DEGREES, MIN_PLANNED, Looks, critical_values
from pt_active.plans.answers.looks import Question, growing, growth_of
from pt_active.plans.answers.status_of_plan import labels_so_far
from pt_active.plans.making.queries import DrawingOrder

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


@pytest.fixture(scope="module")
def long(graded: pd.DataFrame) -> Plan:
    """A plan of so many queries that looks at any time have intervals before its end."""
    return Plan.create(graded, None, DCG @ 10, draws=100, seed=3)


@pytest.fixture(scope="module")
def many() -> tuple[Plan, pd.DataFrame]:
    """A plan of so many queries that three of its five planned looks have intervals, and all labels."""
    demo = demo_collection(seed=7, queries=500)
    grades = OrderedLogitGrades(max_grade=3).fit(demo.past_run, demo.past_qrels)
    pool = (Runs(**demo.runs, depth=8) >> grades)(demo.topics)
    return Plan.create(pool, None, DCG @ 5, draws=400, seed=56), demo.judge(pool)


@pytest.mark.parametrize("looks", [ASYMPTOTIC, "obrien-fleming", "pocock"])
def test_an_answer_stays(looks: str, many: tuple[Plan, pd.DataFrame]) -> None:
    found = [many[0].status(prefix(*many, n), looks) for n in range(0, 401, 80)]
    first = next(i for i, status in enumerate(found) if status.resolved)
    assert 0 < first < len(found) - 1
    for status in found[first:]:
        assert (status.winner, status.resolved_at) == ("candidate", found[first].resolved_at)
        assert (status.chance, status.further, status.advice) == (1.0, 0.0, "stop judging")
    assert all(status.resolved_at is None and status.winner is None for status in found[:first])
    # The verdict of one look stays although the interval of a later one contains 0.
    assert looks != ASYMPTOTIC or found[4].low < 0 < found[4].high


def test_planned_looks_wait_for_their_turn(many: tuple[Plan, pd.DataFrame]) -> None:
    """The looks are at each fifth of 400 queries, with 200 degrees of freedom or more."""
    before = many[0].status(prefix(*many, 239), "pocock")
    at, after = (many[0].status(prefix(*many, n), "pocock") for n in (240, 241))
    assert math.isnan(before.low)
    assert (before.next_look, at.next_look) == (240, 320)
    assert (at.low, at.high) == (after.low, after.high)
    assert before.remark is None
    assert "next look   after 240 queries" in str(before)
    assert "interval    none" in str(before)
    assert many[0].compare(wanted(*many)).degrees_of_freedom > MIN_PLANNED


@pytest.mark.parametrize("looks", ["obrien-fleming", "pocock"])
def test_looks_that_can_have_no_interval_spend_no_error(looks: str, many: tuple[Plan, pd.DataFrame]) -> None:
    plan, nothing = many[0], labels_so_far(many[0].tables, many[1].head(0))
    planned, sizes = (
        growth_of(growing(plan.tables, nothing, looks), question(plan, looks)).plan,
        np.array([240, 320, 400]),
    )
    order = DrawingOrder.of(plan.tables)
    assert planned.cost.tolist() == np.cumsum(order.cost)[sizes - 1].tolist()
    np.testing.assert_allclose(planned.critical, critical_values(looks, sizes, planned.time, 0.05), rtol=1e-9)


@pytest.mark.parametrize("looks", ["obrien-fleming", "pocock"])
def test_small_plans_have_no_planned_interval_and_say_so(looks: str, plan: Plan, labels: pd.DataFrame) -> None:
    status = plan.status(wanted(plan, labels), looks, margin=50.0)
    assert math.isfinite(status.value)
    assert (status.low, status.high, status.resolution) == (-math.inf, math.inf, None)
    assert status.to_dict()["low"] is None
    assert f"interval    none, 95%, valid after each fifth of the plan ({looks})" in str(status)
    note = "these looks have no interval below 200 degrees of freedom; look once, at the end, or use"
    assert f"note        {note}" in str(status)
    early = plan.status(prefix(plan, labels, 10), looks)
    assert (early.next_look, math.isnan(early.low)) == (early.drawn, True)


def test_looks_of_large_samples_begin_at_fifty_degrees_of_freedom(long: Plan, labels: pd.DataFrame) -> None:
    """No verdict is possible before, whatever the labels are: not even within a margin of all differences."""
    begun = []
    for n in (2, 30, 56, 62, 66, 80):
        some = prefix(long, labels, n)
        status = long.status(some, ASYMPTOTIC, margin=1e3)
        enough = long.so_far(some).compare(some).degrees_of_freedom >= MIN_DEGREES
        assert (status.resolution is not None, math.isfinite(status.low)) == (enough, enough)
        assert (status.remark is None) == enough
        begun.append(enough)
    assert begun[2:] == sorted(begun[2:])
    assert (begun[0], begun[-1]) == (False, True)
    assert "valid at any time in large samples, with 50 degrees of freedom or more" in str(status)


def test_equivalence_within_a_margin(long: Plan, labels: pd.DataFrame) -> None:
    status = long.status(prefix(long, labels, 70), ASYMPTOTIC, margin=20.0, confidence=0.9999)
    assert (status.resolution, status.winner) == ("within", None)
    assert status.answer == "stop: equivalent within ±20"
    assert long.status(prefix(long, labels, 70), ASYMPTOTIC, margin=1e-6).resolution != "within"


@pytest.mark.slow
def test_the_prospect_is_kept_on_average(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    """The probabilities given before the first interval, against how often it was resolved by the end."""
    said, came = [], []
    for seed in range(25):
        plan = Plan.create(graded, None, DCG @ 10, draws=80, seed=seed)
        status = plan.status(prefix(plan, labels, 30), ASYMPTOTIC)
        if not status.resolved:
            said.append(status.chance)
            came.append(plan.status(wanted(plan, labels), ASYMPTOTIC).resolved)
            assert 0 <= status.further <= status.budget - status.spent + 1e-9
    spread = math.sqrt(np.mean(np.array(said) * (1 - np.array(said))) / len(said))
    assert abs(np.mean(said) - np.mean(came)) <= 3 * spread + 0.15


def test_a_census_leaves_nothing_to_chance(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=10_000, seed=3, level="query")
    assert plan.manifest["census"]
    for looks in (None, "pocock", ASYMPTOTIC):
        status = plan.status(wanted(plan, labels), looks)
        assert (status.low, status.high) == pytest.approx((status.value, status.value), rel=1e-9)
        assert status.value == pytest.approx(plan.compare(wanted(plan, labels)).difference, rel=1e-12)
        assert status.winner == "candidate"
    part = plan.status(prefix(plan, labels, 70), ASYMPTOTIC)
    assert part.low < part.value < part.high


def test_unresolvable_says_what_would_be_needed(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, draws=16, seed=5)
    status = plan.status(wanted(plan, labels), ASYMPTOTIC)
    assert (status.judged, status.chance, status.further) == (16, 0.0, 0.0)
    assert status.answer == "this budget did not settle it"
    assert status.budget < status.needed <= status.everything
    lacking = int(np.ceil(status.needed - status.spent))
    assert (
        replace(status, needed=status.needed - 0.4).advice
        == status.advice
        == (
            f"judge about {lacking} more documents, {int(status.spent) + lacking} in all: that settles it four times "
            "out of five if the estimate is right"
        )
    )
    more = f"{status.needed - status.spent:.4g}"
    dear = replace(status, cost_unit=" hours").advice
    assert dear.startswith(f"judge for about {more} hours more, {status.needed:.4g} in all")
    other = replace(status, n_judged=status.n_judged + 1).advice
    assert other.startswith(f"keep judging, for about {more} more, {status.needed:.4g} in all: that settles it four")


# --- clocks -----------------------------------------------------------------------------------------------------------


def question(plan: Plan, looks: str | None) -> Question:
    return Question((0, 1), plan.measure, looks, None, 0.95)


def test_the_clock_of_queries_is_that_of_a_design_that_is_best(plan: Plan) -> None:
    """``q ∝ √(g/λ)`` makes ``Σ g/q · Σ λ q`` smallest, so the curve's g is ``λ q²``; costs differ."""
    order = DrawingOrder.of(plan.tables)
    rng, curve = np.random.default_rng(1), order.curve
    assert np.ptp(order.cost) > 0
    np.testing.assert_allclose(curve.gain / curve.gain.sum(), order.cost * order.q**2 / (order.cost @ order.q**2))

    def product_of(q: np.ndarray) -> float:
        return float((curve.gain / q).sum() * (order.cost @ q))

    for _ in range(20):
        other = order.q * np.exp(0.05 * rng.normal(size=len(order.q)))
        assert product_of(order.q) < product_of(other)


@pytest.mark.parametrize("looks", [ASYMPTOTIC, "pocock", None])
def test_beyond_the_plan_one_look_is_left_unless_any_is_allowed(looks: str | None, plan: Plan, labels: pd.DataFrame):
    label = labels_so_far(plan.tables, prefix(plan, labels, 14))
    rest = growth_of(growing(plan.tables, label, looks), question(plan, looks)).rest
    finite = np.isfinite(rest.time)
    assert (finite.sum(), finite.all()) == (len(finite) - 1, False)
    expected = mixture_boundary(rest.time[finite], 0.05) if looks == ASYMPTOTIC else stats.norm.isf(0.025)
    np.testing.assert_allclose(rest.critical[finite], np.broadcast_to(expected, finite.sum()), rtol=1e-9)
    assert rest.cost[-1] == pytest.approx(plan.manifest["pool_cost"])


# --- rounds of documents ----------------------------------------------------------------------------------------------


Rounds = tuple[Plan, pd.DataFrame, pd.DataFrame]
"""A plan of two rounds, the labels of the first round, and the labels of both."""


def two_rounds(graded: pd.DataFrame, labels: pd.DataFrame, budget: float) -> Rounds:
    one = Plan.create(graded, None, DCG @ 10, budget=budget, level="document", design="spread", seed=12)
    first = wanted(one, labels)
    two = one.extend(budget, first)
    return two, first, pd.concat([first, wanted(two, labels)])


@pytest.fixture(scope="module")
def rounds(graded: pd.DataFrame, labels: pd.DataFrame) -> Rounds:
    return two_rounds(graded, labels, 120)


def test_each_round_is_a_look(rounds: tuple) -> None:
    plan, first, both = rounds
    early, late = plan.status(first, ASYMPTOTIC), plan.status(both, ASYMPTOTIC)
    assert (early.unit, early.judged, late.judged, late.drawn) == ("round", 1, 2, 2)
    assert (late.n_judged, late.left_out) == (len(both), 0)
    compared = plan.compare(both, reference="effective")
    assert late.value == pytest.approx(compared.difference, rel=1e-12)
    assert late.standard_error == pytest.approx(compared.standard_error, rel=1e-12)
    fixed = plan.status(both, looks=None)
    assert (fixed.low, fixed.high) == pytest.approx(tuple(plan.compare(both).confidence_interval()), rel=1e-9)
    assert late.low < fixed.low < fixed.high < late.high
    expected = np.array([each.expected for each in plan.tables.rounds])
    boundary = mixture_boundary(np.array([(expected[0] / expected).sum()]), 0.05)
    degrees = np.array([compared.degrees_of_freedom])
    half = half_widths(boundary, np.array([compared.standard_error]), degrees)[0]
    assert (late.low, late.high) == pytest.approx((late.value - half, late.value + half), rel=1e-9)


def test_what_has_no_interval_at_the_end_has_none_at_a_look(graded, labels, demo: DemoCollection) -> None:
    """A later ranker depends on documents that could not be drawn; the error of the others is known."""
    plan, _, both = two_rounds(graded, labels, 200)
    run = demo.runs["candidate"]
    upside_down = run[run["rank"] < 15].assign(score=lambda kept: -kept["score"]).drop(columns="rank")
    pair = {"first": "production", "second": "later"}
    later = plan.with_rankers(later=upside_down)
    with pytest.warns(UserWarning, match="no interval and no test"):
        compared = later.compare(both, **pair)
    assert compared.standard_error > 0
    assert compared.degrees_of_freedom > MIN_DEGREES
    assert np.isnan(compared.confidence_interval().low)
    for looks in (ASYMPTOTIC, None):
        status = later.status(both, looks, **pair)
        assert not np.isfinite([status.low, status.high]).any()
        assert status.winner is None
        assert "interval    none" in str(status)


def test_a_round_counts_when_all_of_it_is_judged(rounds: tuple) -> None:
    plan, first, both = rounds
    status = plan.status(both.iloc[:-1], ASYMPTOTIC)
    assert (status.judged, status.waiting, status.left_out) == (1, "round 2", len(both) - 1 - len(first))
    assert status.value == plan.status(first, ASYMPTOTIC).value
    assert further(plan, first).cost[-1] == pytest.approx(further(plan, both).cost[-1])  # What was drawn is not again.
    nothing = plan.status(first.iloc[:3], ASYMPTOTIC)
    assert (nothing.judged, math.isnan(nothing.value), nothing.left_out) == (0, True, 3)


def test_rounds_cannot_be_planned_looks(rounds: tuple, tmp_path: Path) -> None:
    plan, first, _ = rounds
    with pytest.raises(ValueError, match="a plan of documents can always be extended"):
        plan.status(first, looks="pocock")
    with pytest.raises(ValueError, match="can only be used as a whole"):
        plan.export(tmp_path / "list.csv", "csv", order="drawn")


def further(plan: Plan, labels: pd.DataFrame) -> Looks:
    return growth_of(
        growing(plan.tables, labels_so_far(plan.tables, labels), ASYMPTOTIC), question(plan, ASYMPTOTIC)
    ).rest


@pytest.mark.parametrize("per_query", [0, 3])
def test_a_further_round_tells_what_a_round_of_its_size_is_expected_to(
    per_query: int, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    """The foreseen information is that of the extended plan, apart from what its draws happen to leave unspent."""
    plan = Plan.create(
        graded, None, DCG @ 10, UnitCost(per_query=per_query), budget=150, level="document", design="spread", seed=4
    )
    first = wanted(plan, labels)
    rest = further(plan, first)
    assert (np.diff(rest.time) > 0).all()
    for more in (100.0, 400.0, 800.0):
        longer = plan.extend(more, first)
        expected = np.array([each.expected for each in longer.tables.rounds])
        foreseen = np.interp(longer.manifest["spent"], rest.cost[:-1], rest.time[:-1])
        assert foreseen == pytest.approx((expected[0] / expected).sum(), rel=0.07)


@pytest.mark.parametrize("per_query", [0, 3])
def test_all_that_can_change_the_result_is_less_than_the_pool(
    per_query: int, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    """Queries in which the rankers agree are not opened, and documents of one ranker alone cannot change anything."""
    alike = graded["qid"].isin(graded["qid"].unique()[:20])
    same = graded.assign(rank_candidate=graded["rank_candidate"].where(~alike, graded["rank_production"]))
    frame, how = same[~alike | (same["rank_production"] >= 0)], {"level": "document", "design": "spread", "seed": 1}
    plan, census = (Plan.create(frame, None, DCG @ 10, UnitCost(per_query), budget=each, **how) for each in (100, 1e5))
    judged = wanted(plan, labels)
    ranks = plan.tables.pool.keys.merge(frame, on=["qid", "docno"])[["rank_production", "rank_candidate"]]
    seen = ranks.where((ranks >= 0) & (ranks < 10), -1)
    left = ~plan.tables.rounds[0].sample.drawn & (seen["rank_production"] != seen["rank_candidate"])
    cost = left.sum() + per_query * plan.tables.pool.keys["qid"][left].nunique()
    everything = plan.status(judged, ASYMPTOTIC).everything
    assert everything == pytest.approx(plan.manifest["spent"] + cost)
    assert everything < plan.manifest["pool_cost"] == census.manifest["spent"]
    rest = further(plan, judged)
    assert rest.cost[-1] == pytest.approx(everything)
    assert np.isinf(rest.time).tolist() == [False] * (len(rest.time) - 1) + [True]
    assert len(further(census, wanted(census, labels)).cost) == 0
    assert census.status(wanted(census, labels), ASYMPTOTIC).everything == pytest.approx(census.manifest["spent"])
