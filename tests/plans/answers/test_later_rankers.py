"""Rankers that came after a plan: what its labels show of them, and what they do not decide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection


@pytest.mark.parametrize(("level", "looks"), [("document", "always"), ("query", None)])
def test_where_nobody_judged_most_of_a_ranker_there_is_no_interval_and_no_verdict(
    level: str, looks: str | None, graded: pd.DataFrame, demo: DemoCollection, tmp_path: Path
) -> None:
    """Each of its first ten documents in four of five queries is a stranger."""
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level=level, seed=2)
    labels, run = demo.judge(plan.assessments), demo.runs["candidate"][["qid", "docno", "score"]]
    strange = run["qid"].isin(run["qid"].unique()[::5])
    run = run.assign(docno=run["docno"].where(strange, "new " + run["docno"]))
    with pytest.warns(UserWarning, match="not in the plan's pool"):
        later = plan.with_rankers(next=run)
    pair = {"first": "next", "second": "production"}
    compared = later.compare(labels, **pair)
    assert np.isnan(compared.confidence_interval()).all()
    assert np.isnan(compared.pvalue)
    assert "80% of the documents of next that the measure sees are not in the plan's pool" in compared.note
    assert np.isnan(later.estimate(labels)["next"].confidence_interval()).all()
    assert np.isfinite(later.estimate(labels)["candidate"].confidence_interval()).all()
    with pytest.warns(UserWarning, match="not in the plan's pool"):
        ranking = later.rank(labels)
    decided = [winner for each, winner, _ in ranking.tests if "next" in (each.first, each.second)]
    assert decided == [None, None]
    state = later.status(labels, looks, **pair)
    said = state.to_dict()
    assert not any(said.get(name) for name in said if name.endswith(("low", "high", "resolution", "winner")))
    assert "not in the plan's pool" in str(state)
    assert state.advice == "make a new plan with all rankers that are compared"
    with pytest.raises(ValueError, match="'next' came after the plan, whose labels decide no gate about it"):
        later.gate(labels, 0.2, looks=looks, queries="these", **pair)
    if looks == "always":
        (first, *_) = [each for each in later.status(labels, looks).pairs if "next" in (each.first, each.second)]
        assert (first.resolution, first.low, first.high) == (None, -np.inf, np.inf)
    assert (
        "not show whether next or production is better"
        in later.report(tmp_path / "page.html", labels, **pair).headline.answer
    )
