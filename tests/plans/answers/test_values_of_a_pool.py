"""Values of nDCG and AP say of which pool they are, wherever they are printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import Plan
from pt_active.plans.answers.report.report import Report

POOLED = "in the pool (top 15 of 2 runs)"


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, "nDCG@10", budget=300, seed=4)


@pytest.mark.parametrize("measure", ["nDCG@10", "R@5"])
def test_every_answer_names_the_pool(measure: str, graded: pd.DataFrame, labels: pd.DataFrame, tmp_path: Path) -> None:
    few = graded[graded["qid"].isin(graded["qid"].unique()[:20])]
    plan = Plan.create(few, None, measure, budget=100, seed=4, level="document")
    own, said = labels.merge(plan.assessments[["qid", "docno"]]), f"{measure} {POOLED}"
    answers = [plan.compare(own), plan.status(own), plan.rank(own), *plan.estimate(own).values()]
    answers.append(plan.gate(own, 0.1, queries="these"))
    for each in answers:
        assert str(each).startswith(said)
        assert said in json.dumps(each.to_dict())
    assert str(plan).startswith(f"Plan for {said} of production, candidate")
    report = Report.of(plan, own)
    assert said in report.to_html()
    assert said in report.to_json()


def test_a_later_run_or_a_measure_without_ideal_changes_nothing(plan: Plan, labels: pd.DataFrame) -> None:
    own = labels.merge(plan.assessments[["qid", "docno"]])
    later = own.assign(score=np.arange(len(own)))[["qid", "docno", "score"]]
    more = plan.with_rankers(later=later)
    assert more.compare(own, first="later", second="candidate").basis.measure == f"nDCG@10 {POOLED}"
    assert plan.compare(own, "DCG@10").basis.measure == "DCG@10"
