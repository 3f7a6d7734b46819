"""Forecasts say when they rest on little: few queries in the pilot, and budgets that buy next to nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Outlook, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.inference.replay import YARDSTICK


def piloted(graded: pd.DataFrame, demo: DemoCollection, **how: object) -> Outlook:
    plan = Plan.create(graded, None, DCG @ 10, seed=2, **how)
    return Outlook.of_plan(plan, demo.judge(plan.assessments))


@pytest.mark.parametrize("draws", [1, 2, 3, 30])
def test_few_queries_are_said_to_be_few(draws, graded: pd.DataFrame, demo: DemoCollection) -> None:
    outlook = piloted(graded, demo, draws=draws)
    table = outlook.table([300])
    assert np.isfinite(table["standard_error"]).all()
    said = outlook.notes(table)
    assert said == ([] if draws == 30 else said)
    counted = "1 query" if draws == 1 else f"{draws} queries"
    assert (f"The pilot has {counted}. Below 30, chance decides which errors it shows" in str(outlook)) == (draws < 30)


def test_a_pilot_without_any_variance_promises_no_certainty(graded: pd.DataFrame) -> None:
    """All documents get the same label, so the rankers hardly differ; the error is not forecast to be 0."""
    plan = Plan.create(graded, None, DCG @ 10, draws=4, seed=2)
    outlook = Outlook.of_plan(plan, plan.assessments[["qid", "docno"]].assign(label=0))
    before = Outlook.of(graded, None, DCG @ 10).curves[YARDSTICK]
    assert outlook.optimism[YARDSTICK] == 0
    assert outlook.curves[YARDSTICK].variance(300) == pytest.approx(2 / (2 + 4 - 1) * before.variance(300))


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
