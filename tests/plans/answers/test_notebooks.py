"""A notebook shows the printed text, and names cannot break its page."""

import html
import re

import numpy as np
import pytest

from pt_active import ActiveTest, Outlook, Plan, Report, Runs
from pt_active.risk import Audit, ZeroOne

EVIL = "<b>&"
UNCHARTED = ("estimates", "audit's estimates", "plan", "audit", "status", "outlook", "active test")


@pytest.fixture(scope="module")
def graded(demo, grades):
    runs = Runs(**{EVIL: demo.runs["production"]}, other=demo.runs["candidate"], depth=10)
    return (runs >> grades)(demo.topics.head(60)).assign(guess=0, truth=1)


@pytest.fixture(scope="module")
def everything(graded, demo):
    plan = Plan.create(graded, None, "DCG@10", budget=300, level="query")
    audit = Audit.create(graded, {EVIL: "guess", "other": "truth"}, ZeroOne(), budget=80)
    test = ActiveTest.create(graded, None, "DCG@10").next_round(20)
    qrels, labels = demo.judge(plan.assessments), demo.judge(audit.assessments)
    return {
        "plan": plan,
        "audit": audit,
        "status": plan.status(qrels),
        "outlook": Outlook.of_plan(plan, qrels),
        "active test": test,
        "report": Report.of(plan, qrels),
        "estimate": plan.estimate(qrels)[EVIL],
        "estimates": plan.estimate(qrels),
        "audit's estimates": audit.estimate(labels),
        "comparison": plan.compare(qrels),
        "ranking": plan.rank(qrels),
        "audit's comparison": audit.compare(labels),
        "active estimate": test.estimate(demo.judge(test.assessments)),
    }


def test_notebooks_show_the_text_escaped(everything):
    for what, each in everything.items():
        chart, _, text = each._repr_html_().partition("<pre>")
        assert EVIL in str(each), what
        assert EVIL not in chart, what
        assert text == f"{html.escape(str(each))}</pre>", what
        assert bool(re.fullmatch(r"<div [^>]*><svg .*</svg></div>\n", chart, re.DOTALL)) == (what not in UNCHARTED)


def test_results_have_a_figure(everything):
    sides = {
        "comparison": f"difference in DCG@10\n← for other · for {EVIL} →",
        "audit's comparison": f"← for {EVIL} · for other →",  # the one that errs less
    }
    for what in ("estimate", "comparison", "audit's comparison", "active estimate"):
        (axes,) = everything[what].plot().axes
        np.testing.assert_allclose(axes.lines[0].get_xdata(), [everything[what].point])
        assert axes.get_xlabel().endswith(sides.get(what, ""))


def test_a_plan_shows_what_to_expect(everything, graded):
    (axes,) = everything["plan"].plot().axes
    assert {each.get_label() for each in axes.lines} >= {"queries, passive", "queries, hedged"}
    dotted = [each.get_xdata()[0] for each in axes.lines if each.get_linestyle() == ":"]
    assert dotted[-1] == everything["plan"].manifest["spent"]
    census = Plan.create(graded, None, "DCG@10", budget=1e6, level="query")
    with pytest.raises(ValueError, match="nothing to draw: everything was judged"):
        census.plot()
