"""Answers for the pool's queries, and for queries like them, through plans [theory 16]."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active import DCG, Plan, UnitCost
from pt_active.plans.answers.contributions import slices_of
from pt_active.plans.answers.judged import Contrast, How
from pt_active.plans.answers.labelled_plan import labelled_plan


@pytest.mark.parametrize(
    ("level", "measure"), [("query", "DCG@10"), ("document", "ERR@10"), ("query", "nDCG@10"), ("document", "AP(rel=2)")]
)
def test_a_census_answers_for_new_queries_as_the_paired_t_test_does(graded, demo, topics, level, measure) -> None:
    plan = Plan.create(graded, topics, measure, budget=1e9, level=level, seed=1)
    labels = demo.judge(plan.assessments)
    by_query = plan.judged(labels).measured(Contrast(0, 1), How(plan.measure)).by_query
    expected = stats.ttest_1samp(by_query.value, 0.0)
    result = plan.compare(labels, queries="new")
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert result.confidence_interval() == pytest.approx(expected.confidence_interval())
    assert result.degrees_of_freedom == pytest.approx(len(by_query.value) - 1)
    assert result.beside.confidence_interval() == pytest.approx((result.difference, result.difference))


@pytest.mark.parametrize("level", ["query", "document"])
def test_the_answer_for_new_queries_is_wider_and_both_are_told(graded, demo, topics, level) -> None:
    plan = Plan.create(graded, topics, DCG @ 10, budget=300, level=level, seed=1)
    labels = demo.judge(plan.assessments)
    these, new = plan.compare(labels), plan.compare(labels, queries="new")
    assert these.difference == new.difference
    assert these.standard_error < new.standard_error
    assert (these.beside.standard_error, new.beside.standard_error) == (new.standard_error, these.standard_error)
    said = f"for these {len(topics)} queries", "for queries like them"
    assert all(each in str(these) and each in str(new) for each in said)
    assert str(these).index(said[0]) < str(these).index(said[1])
    assert str(new).index(said[1]) < str(new).index(said[0])
    row = these.to_dict()
    assert (row["low"], row["high"]) == (row["these_low"], row["these_high"])
    assert row["new_low"] < row["these_low"] < row["these_high"] < row["new_high"]
    assert new.to_dict()["queries"] == "new"
    if level == "document":
        parts = new.basis.error_of_queries, new.basis.error_of_documents, new.basis.error_of_model
        assert np.sqrt(np.sum(np.square(parts))) == pytest.approx(new.standard_error, rel=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("traffic", "has_interval"), [(10.0, True), (1e4, False)])
def test_one_query_with_nearly_all_of_the_traffic_says_nothing_of_others(
    graded, demo, topics, traffic: float, has_interval: bool
) -> None:
    heavy = topics.assign(traffic=np.where(np.arange(len(topics)) == 0, traffic, 1.0))
    plan = Plan.create(graded, heavy, DCG @ 10, budget=300, level="document", seed=1)
    new = plan.compare(demo.judge(plan.assessments), queries="new")
    assert np.isfinite(new.confidence_interval()).all() == has_interval
    assert ("nearly all of the weight lies on one query" in str(new)) != has_interval


@pytest.mark.parametrize("measure", ["DCG@10", "AP(rel=2)"])
def test_documents_in_opened_queries_give_values_of_queries(graded, demo, topics, measure) -> None:
    cost = UnitCost(per_query=5.0)
    plan = Plan.create(graded, topics, measure, budget=300, level="document", cost=cost, seed=1)
    judged = plan.judged(demo.judge(plan.assessments))
    measured = judged.measured(Contrast(0, 1), How(plan.measure))
    by_query, basis = measured.by_query, measured.basis
    assert basis.n_queries < len(topics)
    assert by_query.weight @ by_query.value == pytest.approx(measured.value, rel=1e-9)
    sampling = basis.error_of_queries**2 + basis.error_of_documents**2
    assert by_query.variance == pytest.approx(sampling, rel=1e-9)


def test_clusters_are_one_draw_of_new_queries(census, labels, topics) -> None:
    values = census.judged(labels).measured(Contrast(0, 1), How(census.measure)).by_query.value
    need = topics.set_index("qid")["qneed"].loc[census.tables.pool.qids]
    needs = pd.Series(values).groupby(need.to_numpy()).mean()
    result = census.compare(labels, queries="new", clusters="qneed")
    assert f"as {len(needs)} clusters" in str(result)
    assert topics["qneed"].value_counts().nunique() == 1
    assert result.pvalue == pytest.approx(stats.ttest_1samp(needs, 0.0).pvalue, rel=1e-9)


def test_one_cluster_that_is_judged_in_full_says_why_it_has_no_interval_for_new_queries(graded, demo, topics) -> None:
    plan = Plan.create(graded, topics.assign(qall="all"), DCG @ 10, budget=1e9, seed=1)
    result = plan.compare(demo.judge(plan.assessments), queries="new", clusters="qall")
    assert result.note == "one query says nothing of other queries: no interval, no test"
    assert "for queries like them, as 1 cluster\n" in str(result)


def test_ties_in_all_queries_that_are_judged_say_why_there_is_no_interval_for_new_ones(census, labels) -> None:
    judged = census.judged(labels)
    result = judged.compare(0, 0, How(census.measure, queries="new"))
    assert result.note.startswith("all queries have the same value")


def test_unknown_populations_and_clusters_are_refused(graded, demo, topics) -> None:
    some = topics.assign(qneed=topics["qneed"].where(np.arange(len(topics)) != 4))
    plan = Plan.create(graded, some, DCG @ 10, budget=1e9, seed=1)
    labels = demo.judge(plan.assessments)
    for asked, message in (
        ({"clusters": "qkind"}, "there is no column 'qkind'; the plan has"),
        ({"clusters": "q_prob"}, "there is no column 'q_prob'; the plan has"),
        ({"clusters": "qneed"}, f"query '{some['qid'].iloc[4]}' has no value in the column 'qneed'"),
        ({"queries": "all"}, "queries must be 'these' or 'new', got 'all'"),
    ):
        with pytest.raises(ValueError, match=message):
            plan.compare(labels, **{"queries": "new"} | asked)


@pytest.mark.parametrize("level", ["query", "document"])
def test_groups_of_queries_answer_for_new_queries_of_their_kind(graded, demo, topics, level) -> None:
    half = topics.assign(qhalf=np.where(np.arange(len(topics)) % 2, "odd", "even"))
    plan = Plan.create(graded, half, DCG @ 10, budget=1e9, level=level, seed=1)
    labels, how = demo.judge(plan.assessments), How(plan.measure, queries="new")
    labelled = labelled_plan(plan.tables, labels)
    by_query = labelled.judged(how).measured(Contrast(0, 1), how).by_query
    of_half = pd.Series(half["qhalf"].to_numpy(), index=half["qid"]).loc[plan.tables.pool.qids].to_numpy()
    for each in slices_of(labelled, "qhalf", (0, 1), how):
        values = by_query.value[of_half == each.value]
        low, high = stats.ttest_1samp(values, 0.0).confidence_interval()
        (row,), (result,) = each.rows(), each.results
        assert result.standard_error == pytest.approx(stats.sem(values))
        # One half is skewed, so that its interval is wider than that of the paired t-test.
        ends = [row["low"], row["high"]]
        assert (ends == pytest.approx([low, high])) == (abs(stats.skew(values)) <= np.sqrt(len(values) / 50))
        assert ends[0] <= low + 1e-9
        assert ends[1] >= high - 1e-9
        assert result.population.queries == each.n_queries
