"""Plans that judge single documents: from their making to the verdict, in rounds, with later measures and rankers."""

import warnings

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pt_active import (
    DCG,
    ERR,
    ColumnCost,
    Plan,
    Runs,
    UniformGrades,
    measure_values,
)
from pt_active.demo.collection import DemoCollection
from pt_active.plans.answers.board import board_table

BUDGET = 250


@pytest.fixture(scope="module")
def plan(demo: DemoCollection, pipeline: pt.Transformer) -> Plan:
    return Plan.create(pipeline, demo.topics, DCG @ 10, budget=BUDGET, level="document", seed=4)


@pytest.fixture(scope="module")
def qrels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


def test_a_plan_asks_for_documents_that_can_matter(plan, graded):
    found = plan.assessments
    assert len(found) == plan.manifest["spent"] <= BUDGET
    assert len(found) > 0.9 * BUDGET
    assert found["inclusion"].between(0, 1, inclusive="right").all()
    assert found["query"].notna().all()
    ranks = graded.merge(found[["qid", "docno"]])
    within = [ranks[f"rank_{name}"].between(0, 9) for name in plan.rankers]
    assert (within[0] | within[1]).all()
    agreed = ranks["rank_production"] == ranks["rank_candidate"]
    assert 0 < agreed.sum() < 0.05 * len(ranks)
    assert plan.manifest["arguments"]["design"] == "successive"


@pytest.mark.parametrize(("measure", "design"), [(DCG @ 10, "successive"), (ERR @ 10, "depth")])
def test_a_census_is_exact_for_other_measures_and_rankers_too(measure, design, demo):
    top = demo.runs["production"].query("rank < 10").drop(columns="rank")
    runs = {"production": top, "turned": top.assign(score=-top["score"])}
    pool = (Runs(production=demo.runs["production"]) >> UniformGrades(3)).transform(demo.topics)
    plan = Plan.create(pool, None, measure, budget=1e6, level="document", design=design)
    labels = demo.judge(plan.assessments)
    plan = plan.with_rankers(turned=runs["turned"])
    for asked in (DCG @ 10, DCG @ 5, "P@5", *([ERR(max_rel=3) @ 10] if design == "depth" else [])):
        for name, found in plan.estimate(labels, measure=asked).items():
            assert found.value == pytest.approx(measure_values(runs[name], labels, asked).value.mean(), abs=1e-9)
            assert found.standard_error == 0


@pytest.mark.parametrize("measure", ["nDCG@10", "AP"])
def test_measures_of_the_whole_pool_need_documents_judged_from_the_top(measure, plan, qrels, graded):
    with pytest.raises(ValueError, match="of this measure are drawn by surprises or depth, not by successive"):
        Plan.create(graded, None, measure, budget=50, level="document", design="successive")
    for asked in (measure, "ERR@10"):
        with pytest.raises(ValueError, match=r'serve additive measures, .* with design="depth" serve every measure'):
            plan.compare(qrels, measure=asked)


@pytest.mark.parametrize(("budget", "few"), [(20, True), (200, False)])
def test_few_queries_judged_from_the_top_are_few_draws(budget, few, graded):
    plan = Plan.create(graded, None, ERR @ 10, budget=budget, level="document", design="depth")
    assert ("from few queries" in plan.caution) == few


def test_a_certain_model_is_not_believed(demo, graded):
    certain = graded.assign(grade_0=1.0, grade_1=0.0, grade_2=0.0, grade_3=0.0)
    with pytest.warns(UserWarning, match="the model is certain of every grade that can matter"):
        plan = Plan.create(certain, None, DCG @ 10, budget=300, level="document")
    found = plan.compare(demo.judge(plan.assessments))
    assert found.standard_error > 0


def test_more_labels_never_take_the_interval_away(demo, graded):
    """By ERR few documents are uncertain at the end; up to nearly all of 1,200 labels, the interval becomes shorter."""
    alone = graded.drop(columns=["rank_candidate", "score_candidate"])
    widths = []
    for budget in (240, 600, 960, 1140):
        plan = Plan.create(alone, None, ERR @ 10, budget=budget, level="document", seed=1)
        low, high = plan.estimate(demo.judge(plan.assessments))["production"].confidence_interval()
        widths.append(high - low)
    assert np.isfinite(widths).all()
    assert (np.diff(widths) < 0).all()


def test_a_little_that_a_plan_cannot_tell_widens_the_interval(demo, graded):
    plan = Plan.create(graded, None, DCG @ 10, budget=300, level="document")
    qrels = demo.judge(plan.assessments)
    swapped = demo.runs["candidate"].copy()
    first, second = swapped.index[swapped["qid"] == swapped["qid"].iloc[0]][[4, 5]]
    swapped.loc[[first, second], "docno"] = swapped.loc[[second, first], "docno"].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        later = plan.with_rankers(later=swapped).compare(qrels, first="later", second="production")
    assert 0 <= later.basis.unreached < 0.05
    assert np.isfinite(later.confidence_interval()).all()


@pytest.mark.parametrize(("measure", "least"), [(DCG @ 10, 240), ("AP", 285)])
def test_costs_of_documents_and_queries_are_paid(measure, least, demo, graded):
    priced = graded.assign(doc_cost=graded["docno"].str[1:].astype(int) % 5 + 1.0)
    plan = Plan.create(priced, None, measure, cost=ColumnCost(per_query=6), budget=300, level="document", seed=2)
    found = plan.assessments.merge(priced[["qid", "docno", "doc_cost"]])
    assert plan.manifest["spent"] == found["doc_cost"].sum() + 6 * found["qid"].nunique()
    assert least < plan.manifest["spent"] <= 300
    assert plan.compare(demo.judge(plan.assessments)).standard_error > 0


def test_rankers_that_came_later(plan, qrels, demo):
    same = plan.with_rankers(again=demo.runs["candidate"])
    own, later = (same.compare(qrels, first=name, second="production") for name in ("candidate", "again"))
    assert later.difference == pytest.approx(own.difference)
    run = demo.runs["candidate"].groupby("qid").head(12).reset_index(drop=True)
    run.loc[0, "docno"] = "not-in-the-pool"
    with pytest.warns(UserWarning, match="1 of its 1200 documents that the plan's measure sees is not in the plan's"):
        assert plan.with_rankers(later=run).rankers == ("production", "candidate", "later")
    for runs, message in (
        ({"candidate": run}, "has a ranker 'candidate' already"),
        ({"other": run.assign(qid="x")}, "answers none of the plan's"),
        ({}, "at least one run"),
    ):
        with pytest.raises(ValueError, match=message):
            plan.with_rankers(**runs)


@pytest.mark.parametrize("level", ["document", "query"])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_what_is_outside_the_pool_is_said_wherever_a_later_ranker_is(share, level, demo, graded):
    plan = Plan.create(graded, None, DCG @ 10, budget=300, level=level, seed=2)
    run = demo.runs["candidate"][["qid", "docno", "score"]].reset_index(drop=True)
    run["docno"] = run["docno"].where(np.random.default_rng(0).random(len(run)) > share, "new " + run["docno"])
    first, *others = sorted(run["qid"].unique())
    with pytest.warns(UserWarning, match=f"'late' has no documents for 1 query of the plan: '{first}'; it scores 0"):
        later = plan.with_rankers(late=run[run["qid"].isin(others)])
    one = later.status(qrels := demo.judge(plan.assessments), first="late", second="production")
    every = later.status(qrels)
    if share < 0.05:
        outside = later.tables.manifest.strangers["late"]
        assert f"documents outside the pool are not relevant ({outside:.1%} of those of late)" in str(one)
        return
    assert one.guarantee == "any time"
    assert one.headline == f"late − production is not settled: {one.value:+.4f} in DCG@10"
    assert one.refusal in str(every)
    assert one.advice == every.advice == "make a new plan with all rankers that are compared"


def test_all_pairs_are_not_asked_at_the_end_alone(demo, graded):
    plan = Plan.create(graded, None, "nDCG@10", budget=300, level="document").with_rankers(late=demo.runs["candidate"])
    with pytest.raises(ValueError, match="^a look at the end is for one pair: pass first= and .* let `rank` test all"):
        plan.status(demo.judge(plan.assessments))


@pytest.mark.parametrize("level", ["document", "query"])
def test_a_later_ranker_stands_in_the_table_with_the_share_that_nobody_is_asked_about(level, demo, graded):
    """By brute force: of its first ten of each query, those outside the pool and those that could never be drawn."""
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level=level, seed=2)
    run, rng = demo.runs["candidate"][["qid", "docno", "score"]].reset_index(drop=True), np.random.default_rng(0)
    run["docno"] = run["docno"].where(rng.random(len(run)) > 0.02, "new " + run["docno"])
    run["score"] += rng.normal(size=len(run))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        later = plan.with_rankers(late=run)
        ranking = later.rank(demo.judge(plan.assessments), missing="nonrelevant")
    top = graded[graded[["rank_production", "rank_candidate"]].isin(range(10)).any(axis=1)]
    asked = set(zip(top["qid"], top["docno"], strict=True))
    if level == "document":
        tables = plan.tables
        keys = tables.pool.keys[tables.documents.sample.design.inclusion > 0]
        asked = set(zip(keys["qid"], keys["docno"], strict=True))
    seen = run.sort_values("score", ascending=False).groupby("qid").head(10)
    share = 1 - np.mean([pair in asked for pair in zip(seen["qid"], seen["docno"], strict=True)])
    frame = ranking.to_frame().set_index("name")
    assert 0.02 < frame["unasked"]["late"] == pytest.approx(share)
    assert [row["unasked"] for row in ranking.to_dict()["rankers"]] == list(ranking.unasked)
    line = next(line for line in str(ranking).splitlines() if line.strip().startswith("late "))
    assert f" {share:.1%} " in line
    assert "documents outside the pool are not relevant (" in "; ".join(ranking.assumptions)
    assert "unasked     share of what the measure sees and nobody is ever asked about" in str(ranking)
    assert f"{share:.1%}" in board_table(ranking.boards, "DCG@10")["unasked"].tolist()
    assert "unasked" not in plan.rank(demo.judge(plan.assessments), missing="nonrelevant").to_frame()


@pytest.mark.parametrize(("level", "looks"), [("document", "always"), ("query", None)])
@pytest.mark.filterwarnings("ignore:.*not in the plan's pool")
def test_where_nobody_judged_most_of_a_ranker_there_is_no_interval_and_no_verdict(level, looks, graded, demo, tmp_path):
    """Each of its first ten documents in four of five queries is a stranger."""
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level=level, seed=2)
    labels, run = demo.judge(plan.assessments), demo.runs["candidate"][["qid", "docno", "score"]]
    known = run["qid"].isin(run["qid"].unique()[::5])
    later = plan.with_rankers(next=run.assign(docno=run["docno"].where(known, "new " + run["docno"])))
    pair = {"first": "next", "second": "production"}
    compared = later.compare(labels, **pair)
    assert np.isnan(compared.confidence_interval()).all()
    assert np.isnan(compared.pvalue)
    assert "80% of the documents of next that the measure sees are not in the plan's pool" in compared.note
    estimates = later.estimate(labels)
    assert np.isnan(estimates["next"].confidence_interval()).all()
    assert np.isfinite(estimates["candidate"].confidence_interval()).all()
    tests = later.rank(labels).tests
    assert [winner for each, winner, _ in tests if "next" in (each.first, each.second)] == [None, None]
    state = later.status(labels, looks, **pair)
    said = state.to_dict()
    assert not any(said.get(name) for name in said if name.endswith(("low", "high", "resolution", "winner")))
    assert state.advice == "make a new plan with all rankers that are compared"
    with pytest.raises(ValueError, match="'next' came after the plan, whose labels decide no gate about it"):
        later.gate(labels, 0.2, looks=looks, queries="these", **pair)
    if looks == "always":
        (first, *_) = [each for each in later.status(labels, looks).pairs if "next" in (each.first, each.second)]
        assert (first.resolution, first.low, first.high) == (None, -np.inf, np.inf)
    answer = later.report(tmp_path / "page.html", labels, **pair).headline.answer
    assert "not show whether next or production is better" in answer
