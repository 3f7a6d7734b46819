"""A notebook shows the printed text, and names cannot break its page."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pt_active import ActiveTest, Outlook, Plan, Report, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.risk import Audit, ZeroOne

EVIL = "<b>&"
UNCHARTED = ("plan", "audit", "status", "outlook", "active test")


@pytest.fixture(scope="module")
def graded(demo: DemoCollection, grades: pt.Transformer) -> pd.DataFrame:
    runs = Runs(**{EVIL: demo.runs["production"]}, other=demo.runs["candidate"], depth=10)
    return (runs >> grades)(demo.topics.head(60)).assign(guess=0, truth=1)


@pytest.fixture(scope="module")
def everything(graded: pd.DataFrame, demo: DemoCollection) -> dict[str, object]:
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
        "comparison": plan.compare(qrels),
        "ranking": plan.rank(qrels),
        "audit's comparison": audit.compare(labels),
        "active estimate": test.estimate(demo.judge(test.assessments)),
    }


def test_notebooks_show_the_text_escaped(everything: dict[str, object]) -> None:
    for what, each in everything.items():
        shown = each._repr_html_()
        assert EVIL in str(each), what
        assert EVIL not in shown, what
        chart, _, text = shown.partition("<pre>")
        assert text == f"{html.escape(str(each))}</pre>", what
        drawn = re.fullmatch(r"<div [^>]*><svg .*</svg></div>\n", chart, re.DOTALL)
        assert chart == "" if what in UNCHARTED else drawn, what


def test_results_have_a_figure(everything: dict[str, object]) -> None:
    below = {}
    for what in ("estimate", "comparison", "audit's comparison", "active estimate"):
        (axes,) = everything[what].plot().axes
        value = getattr(everything[what], "value", None) or everything[what].difference
        np.testing.assert_allclose(axes.lines[0].get_xdata(), [value])
        below[what] = axes.get_xlabel()
    assert below["comparison"] == f"difference in DCG@10\n← for other · for {EVIL} →"
    assert below["audit's comparison"].endswith(f"← for {EVIL} · for other →")  # the one that errs less


def test_a_plan_shows_what_to_expect(everything: dict[str, object], graded: pd.DataFrame) -> None:
    plan = everything["plan"]
    (axes,) = plan.plot().axes
    assert {each.get_label() for each in axes.lines} >= {"queries, passive", "queries, hedged"}
    assert [each.get_xdata()[0] for each in axes.lines if each.get_linestyle() == ":"][-1] == plan.manifest["spent"]
    census = Plan.create(graded, None, "DCG@10", budget=1e6, level="query")
    with pytest.raises(ValueError, match="nothing to draw: everything was judged"):
        census.plot()
