"""How many more labels: one number for the same labels, whoever is asked, and by which looks it is meant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from samples import wanted
from typer.testing import CliRunner

from pt_active import DCG, Plan
from pt_active.cli.app import app
from pt_active.plans.answers.report.report import Report

PLANS = {
    "at any time": ("always", {"measure": DCG @ 10, "level": "document"}),
    "whole queries": ("always", {"measure": DCG @ 10, "level": "query"}),
    "in parts": ("obrien-fleming", {"measure": "nDCG@10", "level": "document"}),
}


@pytest.mark.parametrize("kind", PLANS)
def test_all_answers_say_how_many_more_labels_it_takes_in_one_number(
    kind: str, few: pd.DataFrame, labels: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    looks, made = PLANS[kind]
    plan = Plan.create(few, None, budget=90, seed=2, **made).save("plan")  # type: ignore[arg-type]
    judged = wanted(plan, labels)
    judged.to_csv("judged.csv", index=False)
    state, once = plan.status(judged), plan.status(judged, None)
    assert (state.looks, state.resolved, once.resolved) == (looks, False, False)
    assert state.spent < state.needed
    said = state.advice
    assert said.endswith("that settles it four times out of five if the estimate is right") or "accept" in said

    def answered(*words: str) -> str:
        found = CliRunner().invoke(app, [*words, "plan", "judged.csv"])
        assert found.exit_code == 0, found.output
        return str(found.stdout)

    report = Report.of(plan, judged)
    assert report.to_dict()["needed"] == state.needed
    assert said in answered("status")
    assert said[1:] in dict(report.headline.facts)["next"][1:]
    assert json.loads(answered("budget", "--json"))["needed"] == state.needed
    # One look at the end takes fewer than bets, and says that it is one; beyond the parts of a plan it is all there is.
    assert once.needed < state.needed if looks == "always" else once.needed == state.needed
    assert "and look once: that settles it four times out of five" in once.advice
    assert once.advice in answered("status", "--looks", "end")


def test_one_look_at_as_many_labels_has_the_power_that_it_promises(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    """The half-width that a plan of this size has leaves 0 outside with 0.84 standard errors to spare."""
    plan = Plan.create(graded, None, DCG @ 10, budget=120, level="document", seed=2)
    once = plan.status(wanted(plan, labels), None)
    larger = Plan.create(graded, None, DCG @ 10, budget=once.needed, level="document", seed=2)
    errors = []
    for seed in range(6):
        again = Plan.create(graded, None, DCG @ 10, budget=once.needed, level="document", seed=seed)
        errors.append(again.compare(wanted(again, labels)).standard_error)
    assert larger.manifest["spent"] == pytest.approx(once.needed, abs=2)
    assert abs(once.value) / np.mean(errors) == pytest.approx(1.98 + 0.84, rel=0.2)
