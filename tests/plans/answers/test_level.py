"""Which level does a plan choose if it is not told, and what does it say about the other?"""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Outlook, Plan, SamplingDistribution, UnitCost
from pt_active.inference.replay import Method
from pt_active.inference.residuals import COMMON_SHARE
from pt_active.plans.answers import forecast as levels
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.making.pool import Pool

BUDGET = 250


@pytest.mark.parametrize("measure", ["DCG@10", "ERR@10", "nDCG@10"])
def test_documents_are_drawn_where_opening_a_query_costs_nothing(measure, few):
    plan = Plan.create(few, None, measure, budget=80, seed=2)
    told = Plan.create(few, None, measure, budget=80, seed=2, level="document")
    assert plan.id == told.id
    choice, arguments = plan.manifest["choice"], plan.manifest["arguments"]
    assert (choice["level"], choice["design"]) == (arguments["level"], arguments["design"])
    assert choice["level"] == "document"
    assert 0 < choice["half_width"] < choice["other_half_width"]
    assert told.manifest["choice"] is None
    assert "chosen" not in str(told)
    # More than 1 is for documents alone: queries keep the usual share.
    careful = Plan.create(few, None, measure, budget=80, seed=2, defensive=5.0).manifest["choice"]
    assert careful["other_half_width"] == choice["other_half_width"]


@pytest.mark.parametrize(
    ("arguments", "level"),
    [
        ({"draws": 9}, "query"),
        ({"budget": BUDGET, "replace": True}, "query"),
        ({"budget": BUDGET, "design": "passive"}, "query"),
        ({"budget": BUDGET, "design": "depth"}, "document"),
        ({"budget": BUDGET, "level": "query"}, "query"),
    ],
)
def test_arguments_that_leave_no_choice_are_followed(arguments, level, graded):
    plan = Plan.create(graded, None, DCG @ 10, **arguments)
    assert plan.manifest["arguments"]["level"] == level
    assert plan.manifest["choice"] is None


@pytest.mark.parametrize("per_query", [0.0, 40.0])
def test_what_is_said_is_what_an_outlook_foresees(per_query, graded):
    cost = UnitCost(per_query=per_query)
    budget = 0.3 * (len(graded) + 120 * per_query)
    choice = Plan.create(graded, None, DCG @ 10, cost, budget=budget).manifest["choice"]
    rows = Outlook.of(graded, None, DCG @ 10, cost).table([budget]).set_index("design")["half_width"]
    for which in ("", "other_"):
        assert choice[f"{which}half_width"] == pytest.approx(rows[choice[f"{which}design"]], rel=1e-6)


def test_both_levels_expect_what_documents_of_a_query_have_in_common(graded):
    """For one ranker, the variance of a query is ``p² D'ΣD`` with ρ of the variance shared; for two it is as it was."""
    queries = Method("hedged", "regression", with_replacement=False)
    alone, measure, cost = graded.drop(columns=["rank_candidate", "score_candidate"]), DCG @ 10, UnitCost(per_query=5)
    forecast, of_two = (Forecast(Pool.from_frame(f, measure, cost), measure, 5) for f in (alone, graded))
    seen = forecast.graded.seen
    values, grades = seen.form.values, forecast.pool.grades
    slope, error = seen.gradients(grades @ values)[0], np.sqrt(grades @ values**2 - (grades @ values) ** 2)
    expected = []
    for first, last in pairwise(seen.indptr):
        part, own = slope[first:last] * error[first:last], np.eye(last - first)
        expected.append(part @ (COMMON_SHARE + (1 - COMMON_SHARE) * own) @ part / len(forecast.pool.query_weight) ** 2)
    np.testing.assert_allclose(forecast.curve(queries)[1], expected, rtol=1e-9)
    documents, gain = forecast.curve(Method("depth", "regression", with_replacement=False))
    np.testing.assert_allclose(np.bincount(seen.query, gain), expected, rtol=1e-9)
    assert documents.gain.sum() == pytest.approx(np.sum(expected))
    assert not of_two.common_gain.any()


def test_queries_are_judged_whole_if_that_is_more_precise(graded, monkeypatch):
    assert "doc_size" in SamplingDistribution(DCG @ 10)(graded)
    monkeypatch.setattr(levels, "_half_width", lambda _, design, budget: 1.0 if design == "hedged" else 2.0)
    plan = Plan.create(graded, None, DCG @ 10, UnitCost(9), budget=600)
    assert plan.manifest["arguments"]["level"] == "query"
    assert re.search(r"chosen    whole queries, hedged: ±1 \(95%(.|\n)*documents, successive, would give ±2", str(plan))
    assert "q_prob" in SamplingDistribution(DCG @ 10, UnitCost(9))(graded)


def test_many_queries_are_thinned_out(graded, monkeypatch):
    """Every second query foresees nearly the errors of all."""
    whole = Plan.create(graded, None, DCG @ 10, budget=BUDGET).manifest["choice"]
    monkeypatch.setattr(levels, "_MAX_QUERIES", 60)
    part = Plan.create(graded, None, DCG @ 10, budget=BUDGET).manifest["choice"]
    assert part != whole
    for width in ("half_width", "other_half_width"):
        assert part[width] == pytest.approx(whole[width], rel=0.15)


@pytest.mark.filterwarnings("ignore:more labels after the parts")
def test_the_choice_is_kept(few, tmp_path):
    plan = Plan.create(few, None, DCG @ 10, budget=BUDGET)
    saved = Plan.load(plan.save(tmp_path / "plan").path)
    assert saved.manifest["choice"] == plan.manifest["choice"]
    assert str(saved) == str(plan)
    twice, census = plan.extend(50), Plan.create(few, None, DCG @ 10, budget=1e6)
    assert twice.manifest["choice"]
    assert census.manifest["census"]
    assert not any("chosen" in str(each) for each in (twice, census))


def test_a_sample_too_small_for_an_interval_has_no_half_width(graded):
    plan = Plan.create(graded, None, DCG @ 10, budget=25)
    assert plan.manifest["choice"]["other_half_width"] is None
    assert "whole queries, hedged, would give no interval" in str(plan)


def test_an_error_that_is_rounding_is_no_error():
    """A ranker that lists every document of a query, of which one is relevant for sure, has a recall of 1."""
    rng, frame = np.random.default_rng(0), pd.DataFrame({"qid": np.repeat([f"q{i}" for i in range(12)], 12)})
    frame["docno"] = [f"d{i}" for i in range(len(frame))]
    frame["rank_a"] = frame.groupby("qid").cumcount()
    frame["grade_0"] = np.where(frame["rank_a"] == 5, 0.0, rng.random(len(frame)))
    plan = Plan.create(frame.assign(grade_1=1 - frame["grade_0"]), None, "R@50", budget=60)
    choice = plan.manifest["choice"]
    assert (choice["half_width"], choice["other_half_width"]) == (0, 0)
