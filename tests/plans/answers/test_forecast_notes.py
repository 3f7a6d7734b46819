"""Forecasts say when they rest on little: few queries in the pilot, and budgets that buy next to nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Outlook, Plan, UniformGrades
from pt_active.demo.collection import DemoCollection
from pt_active.inference.calibration import MAX_DOCUMENT_DEGREES, MAX_OTHER_UNIT_DEGREES, MODEL_ALONE
from pt_active.inference.replay import YARDSTICK, Method
from pt_active.plans.answers.outlook import ASSURANCE
from pt_active.plans.answers.simulated_judging import simulated_effort


def piloted(graded: pd.DataFrame, demo: DemoCollection, **how: object) -> Outlook:
    plan = Plan.create(graded, None, DCG @ 10, seed=2, **how)
    return Outlook.of_plan(plan, demo.judge(plan.assessments))


def test_the_interval_is_that_of_the_variance(graded: pd.DataFrame, demo: DemoCollection) -> None:
    before, after = Outlook.of(graded, None, DCG @ 10, methods=[YARDSTICK]), piloted(graded, demo, draws=5)
    for outlook, optimism, middle in ((before, MODEL_ALONE, 1.0), (after, after.evidence[YARDSTICK], None)):
        row = outlook.table([300]).iloc[0]
        variance = before.curves[YARDSTICK].variance(300)
        ends = variance * optimism.quantile(np.array([1 - ASSURANCE, ASSURANCE]))
        assert np.square([row["low"], row["high"]]) == pytest.approx(ends)
        assert row["standard_error"] ** 2 == pytest.approx(variance * (middle or optimism.median))


def test_budgets_after_a_pilot_allow_for_the_upper_end(graded: pd.DataFrame, demo: DemoCollection) -> None:
    outlook = piloted(graded, demo, draws=5)
    for asked in ({"width": 0.4}, {"difference": 0.6}):
        for row in outlook.budget_for(**asked).itertuples():
            method = Method(row.design, row.estimator, with_replacement=False)
            optimism, curve = outlook.evidence[method], outlook.curves[method]
            cautious = curve.scaled(optimism.quantile(ASSURANCE) / optimism.median)
            assert cautious.standard_error(row.budget) == pytest.approx(row.high)
            assert cautious.at(row.budget).half_width(0.95) == pytest.approx(row.half_width)
            assert curve.at(row.budget).half_width(0.95) < row.half_width
            assert row.assurance == ASSURANCE
    assert "Each budget is enough in 9 of 10 cases" in outlook.described(outlook.budget_for(width=0.4))
    assert "assurance" not in Outlook.of(graded, None, DCG @ 10).budget_for(width=0.4)


@pytest.mark.parametrize("draws", [1, 2, 3, 30])
def test_few_queries_are_said_to_be_few(draws, graded: pd.DataFrame, demo: DemoCollection) -> None:
    outlook = piloted(graded, demo, draws=draws)
    table = outlook.table([300])
    assert np.isfinite(table[["standard_error", "low", "high"]]).all(axis=None)
    assert (table["low"] < table["standard_error"]).all()
    assert (table["standard_error"] < table["high"]).all()
    said = outlook.notes(table)
    assert said == ([] if draws == 30 else said)
    counted = "1 query" if draws == 1 else f"{draws} queries"
    assert (f"The pilot has {counted}. Below 30, chance decides which errors it shows" in str(outlook)) == (draws < 30)


def test_a_pilot_without_any_variance_promises_no_certainty(graded: pd.DataFrame) -> None:
    """All documents get the same label, so the rankers hardly differ; the error is not forecast to be 0."""
    plan = Plan.create(graded, None, DCG @ 10, draws=4, seed=2)
    outlook = Outlook.of_plan(plan, plan.assessments[["qid", "docno"]].assign(label=0))
    plain, before = outlook.evidence[YARDSTICK], Outlook.of(graded, None, DCG @ 10).curves[YARDSTICK]
    assert plain.ratio == 0
    assert 0.2 < outlook.curves[YARDSTICK].variance(300) / before.variance(300) < 1


def flat(graded: pd.DataFrame) -> pd.DataFrame:
    """The pool with a model that expects the same of every document."""
    return UniformGrades(3).transform(graded.drop(columns=[f"grade_{g}" for g in range(4)]))


def test_one_heavy_query_weakens_a_pilot(graded: pd.DataFrame, demo: DemoCollection) -> None:
    """The rankers differ in one of ten queries, whose kurtosis is ``10 (0.9⁴ + 9 0.1⁴)/(0.9² + 9 0.1²)² = 8.11``."""
    plan = Plan.create(flat(graded), None, DCG @ 10, draws=10, seed=2, design="passive")
    pairs = plan.assessments[["qid", "docno"]]
    ranks = pairs.merge(graded).replace({"rank_production": {-1: 99}, "rank_candidate": {-1: 99}})
    higher = ranks["rank_production"] < ranks["rank_candidate"]
    label = np.where(higher & (pairs["qid"] == pairs["qid"][higher].iloc[0]), 3, 0)
    heavy = Outlook.of_plan(plan, pairs.assign(label=label)).evidence[YARDSTICK]
    even = Outlook.of_plan(plan, demo.judge(plan.assessments)).evidence[YARDSTICK]
    assert heavy.degrees == pytest.approx(2 * 9 / (8.11 - 1), rel=0.02)
    assert even.degrees > 1.4 * heavy.degrees


def test_documents_count_for_a_limited_number_of_degrees(graded: pd.DataFrame, demo: DemoCollection) -> None:
    outlook = piloted(graded, demo, budget=900, level="document")
    own = list(outlook.curves)[1]
    assert 8 < outlook.evidence[own].degrees < MAX_DOCUMENT_DEGREES
    assert 4 < outlook.evidence[YARDSTICK].degrees < MAX_OTHER_UNIT_DEGREES
    of_queries = piloted(graded, demo, draws=60).evidence
    assert of_queries[YARDSTICK].degrees > MAX_DOCUMENT_DEGREES > list(of_queries.values())[2].degrees


def test_tiny_budgets_are_answered_with_a_warning(graded: pd.DataFrame, demo: DemoCollection) -> None:
    outlook = Outlook.of(graded, None, DCG @ 10)
    with pytest.warns(
        UserWarning, match=r"fewer than 4 documents .* query passive at 3, .* document successive at 3\."
    ):
        table = outlook.table([3, 300])
    assert "too few for an interval" in outlook.described(table)
    with pytest.warns(UserWarning, match=r"less than two queries, too few for an interval: query passive at 20"):
        outlook.table([20])
    with pytest.warns(UserWarning, match="document successive"):
        outlook.budget_for(width=60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outlook.table()
        outlook.table([100])
    plan = Plan.create(graded, None, DCG @ 10, budget=2, level="document", seed=2)
    with pytest.warns(UserWarning, match="the plan asks for 2 documents only, too few for an interval"):
        pilot = Outlook.of_plan(plan, demo.judge(plan.assessments))
    assert pilot.notes(pilot.table()) == ["The pilot has 2 labels, which say next to nothing about errors."]
    assert max(each.degrees for each in pilot.evidence.values()) <= 0.5


def test_replays_until_known_know_that_a_pilot_is_uncertain(graded: pd.DataFrame, demo: DemoCollection) -> None:
    """A pilot that is certain of the model's errors changes nothing; uncertainty spreads what the replays take."""
    forecast = Outlook.of(graded, None, DCG @ 10).forecast
    small = piloted(graded, demo, draws=3).evidence[YARDSTICK]
    sure = type(small)(1.0, 1e12)
    taken = {
        name: simulated_effort(forecast, YARDSTICK, 1.5, 500, 0.05, optimism, False).labels
        for name, optimism in (("model", None), ("sure", sure), ("small", small))
    }
    np.testing.assert_array_equal(taken["model"], taken["sure"])
    assert taken["small"].std() > 1.2 * taken["model"].std()
