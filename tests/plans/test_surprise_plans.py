"""Plans of nDCG and AP whose documents are drawn by surprises, from their making to the answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import ColumnCost, Outlook, Plan, UnitCost, measure_values
from pt_active.demo.collection import DemoCollection
from pt_active.plans.answers.contributions import Contributions
from pt_active.plans.answers.labelled_plan import asked, labelled_plan

BUDGET = 300
HOW = {"level": "document", "design": "surprises"}


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, "AP", budget=BUDGET, seed=4, **HOW)


@pytest.fixture(scope="module")
def qrels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


@pytest.fixture(scope="module")
def truth(graded: pd.DataFrame, demo: DemoCollection) -> dict[str, float]:
    labels, value = demo.judge(graded[["qid", "docno"]]), {}
    for name in ("candidate", "production"):
        run = graded.loc[graded[f"rank_{name}"] >= 0, ["qid", "docno"]]
        run = run.assign(score=-graded[f"rank_{name}"].astype(float))
        value[name] = measure_values(run, labels, "AP")["value"].mean()
    return value


def test_the_budget_is_spent_on_nearly_all_queries(plan: Plan) -> None:
    assert len(plan.assessments) == BUDGET == plan.tables.manifest.spent
    assert plan.assessments["qid"].nunique() > 0.8 * len(plan.queries)


def test_it_is_the_default_for_ap_of_two_rankers_that_opens_queries_for_nothing(graded: pd.DataFrame) -> None:
    def drawn(frame: pd.DataFrame, measure: str, per_query: float = 0.0) -> str:
        cost = UnitCost(per_query=per_query)
        plan = Plan.create(frame, None, measure, cost, budget=BUDGET, level="document")
        return plan.tables.manifest.arguments.design

    third = graded.assign(rank_third=graded["rank_candidate"])
    assert drawn(graded, "AP") == drawn(graded, "AP(rel=2)@10") == "surprises"
    assert drawn(graded.drop(columns="rank_production"), "AP") == "surprises"
    assert {drawn(graded, "AP", 2.0), drawn(third, "AP"), drawn(graded, "nDCG@10"), drawn(graded, "RR")} == {"depth"}


def test_a_plan_that_was_drawn_by_depth_keeps_its_drawing(graded: pd.DataFrame, demo, tmp_path: Path) -> None:
    plan = Plan.create(graded, None, "AP", budget=BUDGET, level="document", design="depth")
    plan.save(tmp_path / "plan")
    again = Plan.load(tmp_path / "plan")
    qrels = demo.judge(plan.assessments)
    assert again.compare(qrels).to_frame().equals(plan.compare(qrels).to_frame())
    assert again.extend(100, qrels).tables.manifest.arguments.design == "depth"


def test_less_than_a_label_a_query_is_a_plan(graded: pd.DataFrame, demo: DemoCollection) -> None:
    plan = Plan.create(graded, None, "AP", budget=60, **HOW)
    assert len(plan.assessments) == 60
    assert plan.compare(demo.judge(plan.assessments)).standard_error > 0


def test_the_estimate_is_near_the_truth(plan: Plan, qrels: pd.DataFrame, truth: dict[str, float]) -> None:
    found = plan.compare(qrels, first="candidate", second="production")
    assert abs(found.difference - truth["candidate"] + truth["production"]) < 3 * found.standard_error
    for name, each in plan.estimate(qrels).items():
        assert abs(each.value - truth[name]) < 3 * each.standard_error


@pytest.mark.parametrize("measure", ["AP", "AP(rel=2)@10", "nDCG@10", "nDCG(dcg='exp-log2')"])
def test_if_all_is_judged_the_estimate_is_the_measure(measure: str, graded, demo) -> None:
    few = graded[graded["qid"].isin(sorted(graded["qid"].unique())[:9])]
    plan, labels = Plan.create(few, None, measure, budget=1e6, **HOW), demo.judge(few[["qid", "docno"]])
    for name, each in plan.estimate(labels).items():
        run = few.loc[few[f"rank_{name}"] >= 0, ["qid", "docno"]].assign(score=-few[f"rank_{name}"].astype(float))
        assert each.value == pytest.approx(measure_values(run, labels, measure)["value"].mean(), abs=1e-12)
        assert each.standard_error == 0


def test_a_saved_plan_answers_as_before(plan: Plan, qrels: pd.DataFrame, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan")
    again = Plan.load(tmp_path / "plan")
    assert again.compare(qrels).to_frame().equals(plan.compare(qrels).to_frame())
    assert "drawn by surprises" in str(again)
    assert "AP" in str(plan.report(tmp_path / "report.html", qrels))


def test_labels_of_earlier_rounds_count_with_certainty(plan: Plan, qrels: pd.DataFrame, demo, truth) -> None:
    second = plan.extend(200, qrels, seed=2)
    labels = pd.concat([qrels, demo.judge(second.assessments)])
    assert not labels.duplicated(["qid", "docno"]).any()
    both = second.compare(labels, first="candidate", second="production")
    assert both.standard_error < plan.compare(qrels).standard_error
    assert abs(both.difference - truth["candidate"] + truth["production"]) < 3 * both.standard_error
    third = second.extend(1e6, labels, seed=3)
    census = third.compare(pd.concat([labels, demo.judge(third.assessments)]), first="candidate")
    assert census.difference == pytest.approx(truth["candidate"] - truth["production"], abs=1e-12)


@pytest.mark.parametrize("cost", [ColumnCost("doc_length"), UnitCost(per_query=3)], ids=["documents", "queries"])
def test_costs_are_kept_to(cost, graded: pd.DataFrame, demo: DemoCollection) -> None:
    lengths = 1 + pd.util.hash_array(graded["docno"].to_numpy(dtype=object)) % 5
    plan = Plan.create(graded.assign(doc_length=lengths.astype(float)), None, "AP", cost, budget=600, seed=1, **HOW)
    assert 0.95 * 600 <= plan.tables.manifest.spent <= 600
    assert plan.compare(demo.judge(plan.assessments)).standard_error > 0


def test_contributions_add_up(plan: Plan, qrels: pd.DataFrame) -> None:
    contrast = np.array([1.0, -1.0])
    taken = Contributions.of_labelled(labelled_plan(plan.tables, qrels), contrast, asked(plan.tables))
    difference = plan.compare(qrels, first=plan.rankers[0], second=plan.rankers[1]).difference
    assert taken.base + taken.queries["contribution"].sum() == pytest.approx(difference, abs=1e-12)


def test_the_same_labels_answer_other_questions_but_not_of_cascades(plan: Plan, qrels: pd.DataFrame) -> None:
    for measure in ("nDCG@10", "AP@5", "P@5"):
        assert plan.compare(qrels, measure=measure).standard_error > 0
    with pytest.raises(ValueError, match="estimate nDCG, AP and additive measures alone"):
        plan.compare(qrels, measure="ERR@10")
    with pytest.raises(ValueError, match="not drawn by surprises"):
        plan.compare(qrels, measure="Bpref")


@pytest.mark.parametrize("measure", ["DCG@10", "ERR@10", "Bpref"])
def test_other_measures_are_refused(measure: str, graded: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="surprises"):
        Plan.create(graded, None, measure, budget=BUDGET, **HOW)


def test_many_rankers_of_which_two_agree(graded: pd.DataFrame, demo: DemoCollection) -> None:
    many = graded.assign(rank_copy=graded["rank_candidate"])
    for objective in ("mean", "largest"):
        plan = Plan.create(many, None, "AP", budget=BUDGET, objective=objective, seed=2, **HOW)
        labels = demo.judge(plan.assessments)
        found = plan.compare(labels, first="copy", second="candidate")
        assert (found.difference, found.standard_error) == (0, 0)
        assert len(plan.rank(labels).comparisons) == 3


def test_the_outlook_foresees_the_error(plan: Plan, qrels: pd.DataFrame) -> None:
    rows = Outlook.of_plan(plan).table([BUDGET]).set_index("design")
    error = plan.compare(qrels).standard_error
    assert rows.loc["surprises", "standard_error"] / 1.6 < error < 1.6 * rows.loc["surprises", "standard_error"]


def test_the_order_of_rows_plays_no_part(plan: Plan, graded: pd.DataFrame) -> None:
    again = Plan.create(graded.sample(frac=1, random_state=1), None, "AP", budget=BUDGET, seed=4, **HOW)
    pd.testing.assert_frame_equal(again.assessments, plan.assessments)


def test_ndcg_comes_with_a_caution(plan: Plan, qrels: pd.DataFrame) -> None:
    assert "biased where high grades are rare" in plan.compare(qrels, measure="nDCG@10").basis.caution
    assert plan.compare(qrels).basis.caution == ""
