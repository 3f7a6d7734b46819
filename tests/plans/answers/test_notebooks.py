"""A notebook shows the printed text, and names cannot break its page."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pt_active import ActiveTest, ModelCheck, Outlook, Plan, Report, Runs, compare_learners
from pt_active.demo.collection import DemoCollection
from pt_active.risk import Audit, ZeroOne

EVIL = "<b>&"


class Learner(pt.Estimator):
    def fit(self, *data: object) -> Learner:
        return self

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        return inp.assign(score=np.arange(len(inp))[::-1])


@pytest.fixture(scope="module")
def graded(demo: DemoCollection, grades: pt.Transformer) -> pd.DataFrame:
    frame = (Runs(**{EVIL: demo.runs["production"]}, other=demo.runs["candidate"], depth=10) >> grades)(demo.topics)
    return frame.assign(guess=0, truth=1)


@pytest.fixture(scope="module")
def everything(graded: pd.DataFrame, demo: DemoCollection) -> dict[str, object]:
    plan = Plan.create(graded, None, "DCG@10", budget=300, level="query")
    audit = Audit.create(graded, {EVIL: "guess", "other": "truth"}, ZeroOne(), budget=80)
    qrels, labels = demo.judge(plan.assessments), demo.judge(audit.assessments)
    test = ActiveTest.create(graded, None, "DCG@10").next_round(20)
    learners = {EVIL: Learner(), "other": Learner() >> Learner()}
    rows = demo.judge(graded)
    return {
        "plan": plan,
        "estimate": plan.estimate(qrels)[EVIL],
        "comparison": plan.compare(qrels),
        "ranking": plan.rank(qrels),
        "audit": audit,
        "share": Audit.create(graded, {EVIL: "guess"}, ZeroOne(), budget=10**6).estimate(rows)[EVIL],
        "audit's comparison": audit.compare(labels),
        "audit's ranking": audit.rank(labels),
        "status": plan.status(qrels),
        "outlook": Outlook.of_plan(plan, qrels),
        "check": ModelCheck.of(plan, qrels),
        "report": Report.of(plan, qrels),
        "active test": test,
        "active estimate": test.estimate(demo.judge(test.assessments)),
        "learners": compare_learners(learners, rows[["qid", "docno"]], rows, "nDCG@5", folds=3, progress=False),
    }


WHAT = ["plan", "estimate", "comparison", "ranking", "audit", "share", "audit's comparison", "audit's ranking"]
CHARTED = {"estimate", "comparison", "ranking", "share", "audit's comparison", "audit's ranking", "report"}
CHARTED |= {"active estimate"}
"""What a notebook shows below a chart."""

WHAT += ["status", "outlook", "report", "active test", "active estimate", "learners"]


@pytest.mark.parametrize("what", WHAT)
def test_notebooks_show_the_text_escaped(everything: dict[str, object], what: str) -> None:
    shown = everything[what]._repr_html_()
    assert EVIL in str(everything[what])
    assert EVIL not in shown
    chart, _, text = shown.partition("<pre>")
    assert f"<pre>{text}" == f"<pre>{html.escape(str(everything[what]))}</pre>"
    assert chart == "" if what not in CHARTED else re.fullmatch(r"<div [^>]*><svg .*</svg></div>\n", chart, re.DOTALL)


@pytest.mark.parametrize("what", sorted(set(CHARTED) - {"report"}))
def test_results_have_a_figure(everything: dict[str, object], what: str) -> None:
    result = everything[what]
    (axes,) = result.plot().axes
    drawn = axes.lines[0].get_xdata()
    if what == "comparison":
        np.testing.assert_allclose(drawn, [result.difference])
        assert axes.get_xlabel() == f"difference in DCG@10\n← for other · for {EVIL} →"
    elif "ranking" in what:
        np.testing.assert_allclose(drawn, [each.difference for each in result.comparisons])
    elif what == "audit's comparison":
        assert axes.get_xlabel().endswith(f"← for {EVIL} · for other →")  # the one that errs less
    else:
        np.testing.assert_allclose(drawn, [result.value])


def test_a_plan_shows_what_to_expect(everything: dict[str, object], graded: pd.DataFrame) -> None:
    plan = everything["plan"]
    (axes,) = plan.plot().axes
    assert {each.get_label() for each in axes.lines} >= {"queries, passive", "queries, hedged"}
    assert [each.get_xdata()[0] for each in axes.lines if each.get_linestyle() == ":"][-1] == plan.manifest["spent"]
    census = Plan.create(graded, None, "DCG@10", budget=1e6, level="query")
    with pytest.raises(ValueError, match="nothing to draw: everything was judged"):
        census.plot()
