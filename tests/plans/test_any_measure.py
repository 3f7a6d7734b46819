"""Plans of single documents for measures that are neither additive nor cascades, from their making to the answers."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active import Outlook, Plan, UnitCost, measure_values
from pt_active.demo.collection import DemoCollection
from pt_active.plans.answers.contributions import Contributions, slices_of
from pt_active.plans.answers.labelled_plan import asked, labelled_plan

BUDGET = 400


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, "nDCG@10", budget=BUDGET, level="document", seed=4)


@pytest.fixture(scope="module")
def qrels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


def test_a_plan_asks_for_documents_down_to_a_random_depth(plan: Plan) -> None:
    assert plan.tables.manifest.arguments.design == "depth"
    assert 0.97 * BUDGET <= len(plan.assessments) <= BUDGET
    assert plan.assessments["inclusion"].between(0, 1, inclusive="right").all()


@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG(dcg='exp-log2')@5", "AP", "AP(rel=2)@10", "Bpref", "R@5"])
def test_if_all_is_judged_the_estimate_is_the_measure(measure: str, graded, demo) -> None:
    few = graded[graded["qid"].isin(sorted(graded["qid"].unique())[:12])]
    plan = Plan.create(few, None, measure, budget=1e6, level="document")
    labels = demo.judge(few[["qid", "docno"]])
    value = {}
    for name in plan.rankers:
        run = few.loc[few[f"rank_{name}"] >= 0, ["qid", "docno"]].assign(score=-few[f"rank_{name}"].astype(float))
        value[name] = measure_values(run, labels, measure)["value"].mean()
    found = plan.compare(demo.judge(plan.assessments), first="candidate")
    assert found.difference == pytest.approx(value["candidate"] - value["production"], abs=1e-12)
    assert found.standard_error == 0
    if measure == "AP":
        estimates = plan.estimate(labels)
        assert {name: estimates[name].value for name in value} == pytest.approx(value, abs=1e-12)


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10_000), queries=st.integers(5, 12), measure=st.sampled_from(["nDCG@5", "AP(rel=2)", "RR"]))
def test_the_interval_of_a_difference_turns_with_it(seed: int, queries: int, measure: str) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"qid": np.repeat([f"q{q}" for q in range(queries)], 5), "query": "lamp"})
    frame["docno"] = [f"d{d}" for d in range(len(frame))]
    for name in ("a", "b"):
        frame[f"rank_{name}"] = np.concatenate([rng.permutation(5) for _ in range(queries)])
    frame[["grade_0", "grade_1", "grade_2"]] = rng.dirichlet([2, 1, 1], len(frame))
    plan = Plan.create(frame, None, measure, budget=2 * queries, level="document", seed=seed)
    labels = plan.assessments[["qid", "docno"]].assign(label=rng.integers(0, 3, len(plan.assessments)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few documents
        one, other = (plan.compare(labels, first=name) for name in ("a", "b"))
    turned = [-end for end in reversed(other.confidence_interval())]
    assert one.confidence_interval() == pytest.approx(turned, nan_ok=True)
    assert one.pvalue == pytest.approx(other.pvalue, nan_ok=True)


def test_rounds_learn_from_the_labels_so_far(plan: Plan, qrels: pd.DataFrame, graded, demo) -> None:
    refitted = graded.assign(grade_0=graded["grade_1"], grade_1=graded["grade_0"])
    second = plan.extend(200, qrels, seed=2)
    labels = pd.concat([qrels, demo.judge(second.assessments)])
    third = second.extend(1e6, labels, grades=refitted, seed=3)
    everything = pd.concat([labels, demo.judge(third.assessments)])
    assert not everything.duplicated(["qid", "docno"]).any()
    both, census = second.compare(labels), third.compare(everything)
    assert both.basis.n_judged == len(labels)
    assert census.standard_error == 0
    assert abs(both.difference - census.difference) < 4 * both.standard_error
    assert second.so_far(qrels).compare(qrels).difference == plan.compare(qrels).difference


def test_the_effects_of_labels_add_up_to_the_estimate(plan: Plan, qrels: pd.DataFrame) -> None:
    labelled = labelled_plan(plan.tables, qrels)
    taken = Contributions.of_labelled(labelled, np.array([1.0, -1.0]), asked(plan.tables))
    difference = plan.compare(qrels, first=plan.rankers[0], second=plan.rankers[1]).difference
    assert taken.base + taken.queries["contribution"].sum() == pytest.approx(difference, abs=1e-12)
    effects = taken.documents.groupby("qid")["effect"].sum()
    np.testing.assert_allclose(effects[taken.queries["qid"]], taken.queries["contribution"], atol=1e-12)
    assert taken.documents["weight"].sum() == pytest.approx(1)


def test_labels_of_a_plan_for_dcg_estimate_ndcg_and_say_what_they_do_not_reach(graded, demo) -> None:
    """The ideal ranking needs documents below the cutoff, which the plan for DCG never asks for."""
    plan = Plan.create(graded, None, "DCG@10", budget=BUDGET, level="document", design="depth", seed=1)
    labels = demo.judge(plan.assessments)
    with pytest.warns(UserWarning, match="were never to be judged for this plan"):
        found = plan.estimate(labels, measure="nDCG@10")["candidate"]
    assert found.basis.unreached > 0.05
    assert np.isnan(found.confidence_interval()[0])
    other = Plan.create(graded, None, "AP", budget=BUDGET, level="document", seed=1)
    assert other.compare(demo.judge(other.assessments), measure="nDCG@10").basis.unreached == 0


@pytest.mark.parametrize("objective", ["mean", "largest"])
def test_many_rankers_of_which_two_agree(graded: pd.DataFrame, demo, objective: str) -> None:
    many = graded.assign(rank_copy=graded["rank_candidate"])
    plan = Plan.create(many, None, "nDCG@5", budget=300, level="document", objective=objective, seed=2)
    labels = demo.judge(plan.assessments)
    found = plan.compare(labels, first="copy", second="candidate")
    assert (found.difference, found.standard_error) == (0, 0)
    twins = many.drop(columns=["rank_production"])
    alike = Plan.create(twins, None, "nDCG@5", budget=300, level="document")
    found = alike.compare(demo.judge(alike.assessments))
    assert (found.difference, found.standard_error) == (0, 0)
    assert all(each.standard_error > 0 for each in alike.estimate(demo.judge(alike.assessments)).values())


def test_other_questions_to_the_same_labels(plan: Plan, qrels: pd.DataFrame, graded, demo, tmp_path: Path) -> None:
    for measure in ("AP", "DCG@5", "ERR(max_rel=3)@10"):
        assert plan.compare(qrels, measure=measure).standard_error > 0
    release = (
        demo.runs["candidate"].drop(columns="rank", errors="ignore").assign(score=lambda run: run["score"].round(2))
    )
    assert plan.with_rankers(release=release).compare(qrels, first="release", second="production").standard_error > 0
    status = plan.status(qrels, looks="asymptotic")
    assert status.unit == "round"
    assert "nDCG@10" in str(plan.report(tmp_path / "report.html", qrels))
    lengths = graded.assign(qlong=graded["query"].str.len() > 12)
    sliced = Plan.create(lengths, None, "nDCG@10", UnitCost(per_query=2), budget=BUDGET, level="document", seed=1)
    labelled = labelled_plan(sliced.tables, demo.judge(sliced.assessments))
    groups = slices_of(labelled, "qlong", (0, 1), asked(sliced.tables))
    assert sum(group.share for group in groups) == pytest.approx(1)


def test_the_outlook_foresees_the_error_that_the_plan_shows(plan: Plan, qrels: pd.DataFrame) -> None:
    """Within a factor of 2, since 45 queries show the variance."""
    rows = Outlook.of_plan(plan).table([BUDGET]).set_index("design")
    error = plan.compare(qrels).standard_error
    assert rows.loc["depth", "standard_error"] / 2 < error < 2 * rows.loc["depth", "standard_error"]
    assert rows.loc["depth", "standard_error"] < rows.loc["passive", "standard_error"]
