"""Plans of documents by each way to draw them, and measures that only depth and surprises serve."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from samples import wanted

from pt_active import Outlook, Plan, UnitCost, measure_values

BUDGET = 300

MEASURES = {"successive": "DCG@10", "depth": "nDCG@10", "surprises": "AP"}
DESIGNS = pytest.mark.parametrize("design", MEASURES)


def made(frame: pd.DataFrame, design: str, measure: str | None = None, budget: float = BUDGET, **how: Any) -> Plan:
    about = {"level": "document", "design": design, "seed": 4} | how
    return Plan.create(frame, None, measure or MEASURES[design], budget=budget, **about)


def first(frame: pd.DataFrame, queries: int) -> pd.DataFrame:
    return frame[frame["qid"].isin(sorted(frame["qid"].unique())[:queries])]


def true_values(frame: pd.DataFrame, labels: pd.DataFrame, measure: str) -> dict[str, float]:
    value = {}
    for name in ("production", "candidate"):
        run = frame.loc[frame[f"rank_{name}"] >= 0, ["qid", "docno"]]
        run = run.assign(score=-frame[f"rank_{name}"].astype(float))
        value[name] = measure_values(run, labels, measure)["value"].mean()
    return value


@pytest.fixture(scope="module")
def plans(graded):
    return {design: made(graded, design) for design in MEASURES}


def test_the_budget_is_spent_at_a_random_depth_or_on_nearly_all_queries(plans):
    for plan in plans.values():
        assert 0.97 * BUDGET <= len(plan.assessments) == plan.manifest["spent"] <= BUDGET
        assert plan.assessments["inclusion"].between(0, 1, inclusive="right").all()
    assert plans["surprises"].assessments["qid"].nunique() > 0.8 * len(plans["surprises"].queries)


@pytest.mark.parametrize(
    ("measure", "per_query", "rankers", "design"),
    [
        ("AP(rel=2)@10", 0, 2, "surprises"),
        ("nDCG", 2, 2, "surprises"),
        ("AP", 0, 3, "surprises"),
        ("nDCG@10", 0, 1, "surprises"),
        ("RR", 0, 2, "depth"),
    ],
)
def test_surprises_are_the_default_for_ndcg_and_ap(measure, per_query, rankers, design, graded):
    frame = first(graded, 30).assign(rank_third=graded["rank_candidate"])
    frame = frame.drop(columns=["rank_third", "rank_production"][: 3 - rankers])
    plan = Plan.create(frame, None, measure, UnitCost(per_query), budget=90, level="document")
    assert plan.manifest["arguments"]["design"] == design


@pytest.mark.filterwarnings("ignore:more labels")
@DESIGNS
def test_extensions_add_to_the_labels_so_far_up_to_a_census(plans, design, graded, labels, tmp_path):
    plan, qrels = plans[design], wanted(plans[design], labels)
    truth = true_values(graded, labels, MEASURES[design])
    difference = truth["candidate"] - truth["production"]
    for name, each in plan.estimate(qrels).items():
        assert abs(each.value - truth[name]) < 3 * each.standard_error
    second = plan.extend(200, texts=graded[["docno"]].drop_duplicates().assign(text="words"))
    assert (second.assessments["text"] == "words").all()
    more = pd.concat([qrels, wanted(second, labels)])
    assert second.manifest["spent"] == len(more) <= BUDGET + 200
    both = second.compare(more, first="candidate")
    assert both.basis.n_judged == len(more)
    assert both.standard_error < plan.compare(qrels).standard_error
    assert abs(both.difference - difference) < 3 * both.standard_error
    third = Plan.load(second.extend(1e6).save(tmp_path / "third").path)
    every = pd.concat([more, wanted(third, labels)])
    assert not every.duplicated(["qid", "docno"]).any()
    census = third.compare(every, first="candidate")
    assert (census.difference, census.standard_error) == (pytest.approx(difference, abs=1e-12), 0)
    assert census.note.startswith("everything that matters was judged, so there is no sampling error")
    with pytest.raises(ValueError, match="nothing is left that can change the estimate"):
        third.extend(10)
    if design == "surprises":
        assert second.so_far(qrels).compare(qrels).difference == plan.compare(qrels).difference


def test_labels_of_a_plan_for_dcg_estimate_ndcg_and_say_what_they_do_not_reach(graded, plans, labels):
    """The ideal ranking needs documents below the cutoff, which the plan for DCG never asks for."""
    plan = made(graded, "depth", "DCG@10")
    with pytest.warns(UserWarning, match="documents that this plan never asks for"):
        found = plan.estimate(wanted(plan, labels), measure="nDCG@10")["candidate"]
    assert found.basis.unreached > 0.05
    assert np.isnan(found.confidence_interval()[0])


@DESIGNS
def test_many_rankers_of_which_two_agree(graded, labels, design):
    many = first(graded, 40).assign(rank_copy=graded["rank_candidate"])
    plan = made(many, design, budget=120)
    assert len(plan.rank(wanted(plan, labels)).comparisons) == 3
    for each in (plan, made(many.drop(columns="rank_production"), "depth", budget=120)):
        qrels = wanted(each, labels)
        found = each.compare(qrels, first="copy", second="candidate")
        assert (found.difference, found.standard_error) == (0, 0)
        assert all(estimate.standard_error > 0 for estimate in each.estimate(qrels).values())


def test_surprises_answer_for_ndcg_and_not_for_cascades(plans, labels, graded):
    plan, qrels = plans["surprises"], wanted(plans["surprises"], labels)
    for measure in ("AP", "nDCG@10", "AP@5", "P@5"):
        found = plan.compare(qrels, measure=measure)
        assert found.standard_error > 0
        assert (found.basis.caution, found.basis.unreached) == ("", 0) or measure in ("AP@5", "P@5")
    said = r"serve nDCG, AP and additive measures, .* design=\"depth\" serve every measure"
    for measure, message in (("ERR@10", said), ("Bpref", "not drawn by surprises")):
        with pytest.raises(ValueError, match=message):
            plan.compare(qrels, measure=measure)
    for measure in ("DCG@10", "ERR@10", "Bpref"):
        with pytest.raises(ValueError, match="surprises"):
            made(graded, "surprises", measure)


@pytest.mark.parametrize("design", ["depth", "surprises"])
def test_the_outlook_expects_what_the_manifest_does_and_foresees_the_error(plans, design, labels):
    """Within a factor of 2, since 45 queries show the variance by depth."""
    error = plans[design].compare(wanted(plans[design], labels)).standard_error
    rows = Outlook.of_plan(plans[design]).table([BUDGET]).set_index("design")["standard_error"]
    assert rows[design] ** 2 == pytest.approx(plans[design].manifest["expected_variance"], rel=0.01)
    most = {"depth": 2, "surprises": 1.6}[design]
    assert rows[design] / most < error < most * rows[design]
    assert rows[design] < rows["passive"]
