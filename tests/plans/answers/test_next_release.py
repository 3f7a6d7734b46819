"""Gates of rankers that came after a plan: what its labels reach is decided, and nothing else."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pt_active import DCG, ERR, Plan, measure_values
from pt_active.cli.app import app
from pt_active.demo.collection import DemoCollection


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    """Nearly everything that counts for the difference is drawn."""
    return Plan.create(graded, None, DCG @ 10, budget=700, level="document", seed=2)


@pytest.fixture(scope="module")
def labels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


@pytest.fixture(scope="module")
def candidate(demo: DemoCollection, plan: Plan) -> pd.DataFrame:
    run = demo.runs["candidate"]
    return run[run["qid"].isin(plan.tables.pool.qids)][["qid", "docno", "score"]]


def with_strangers(run: pd.DataFrame, number: int) -> pd.DataFrame:
    """A run with documents that nobody has seen at its first ranks, in as many queries."""
    top = run.groupby("qid").head(1).head(number)
    return pd.concat([run, top.assign(docno="stranger", score=run["score"].max() + 1)], ignore_index=True)


def test_a_ranker_of_the_plan_is_decided_as_before(plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame) -> None:
    known = plan.gate(labels, 0.2, looks=None, first="candidate", second="production")
    later = plan.gate_later(labels, candidate, "production", 0.2, name="again")
    assert later.outcome == known.outcome
    assert (later.status.value, later.status.low, later.status.high) == pytest.approx(
        (known.status.value, known.status.low, known.status.high)
    )
    assert later.reach is not None
    assert later.reach.is_whole
    assert "reach" not in str(later)


def test_strangers_leave_a_pass_and_take_a_fail(plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame) -> None:
    run = with_strangers(candidate, 3)
    passed = plan.gate_later(labels, run, "production", 5.0)
    assert passed.outcome == "pass"
    assert "3 of the " in str(passed)
    assert "not in the plan's pool, and taken as not relevant" in str(passed)
    failed = plan.gate_later(labels, candidate, "production", 5.0, "better")
    assert failed.outcome == "fail"
    unsure = plan.gate_later(labels, run, "production", 5.0, "better")
    assert (unsure.outcome, unsure.decided_at) == ("unresolved", None)
    assert unsure.answer == "unresolved: the labels of this plan do not reach next far enough"
    assert unsure.advice == "make a new plan with next and production, and judge what is new"
    assert unsure.to_dict()["reach"]["outside"] == 3


def test_strangers_decide_nothing_of_a_normalised_measure(graded: pd.DataFrame, demo: DemoCollection) -> None:
    plan = Plan.create(graded, None, "nDCG@10", budget=500, seed=1)
    labels, run = demo.judge(plan.assessments), demo.runs["candidate"][["qid", "docno", "score"]]
    assert plan.gate_later(labels, run, "production", 0.5, name="same").outcome == "pass"
    assert plan.gate_later(labels, with_strangers(run, 1), "production", 0.5).outcome == "unresolved"


def test_what_the_plan_never_asks_for_decides_nothing(plan: Plan, labels: pd.DataFrame, graded: pd.DataFrame) -> None:
    """The ranker puts first what both rankers of the plan had below the cutoff."""
    low = ~graded[["rank_candidate", "rank_production"]].isin(range(10)).any(axis=1)
    assert low.any()
    run = graded[["qid", "docno"]].assign(score=low + np.linspace(0, 0.5, len(graded)))
    gate = plan.gate_later(labels, run, "production", 0.4)
    assert gate.outcome == "unresolved"
    assert gate.reach is not None
    assert not gate.reach.told
    assert gate.reach.unreached > 0.05
    assert "of the variance expected of it lies in documents that this plan never asks for" in str(gate)


def test_all_has_to_be_judged(plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame) -> None:
    gate = plan.gate_later(labels.head(50), candidate, "production", 0.4)
    assert gate.outcome == "unresolved"
    assert gate.advice == "judge the rest of the plan, then ask again"


@pytest.mark.parametrize("measure", [DCG @ 3, ERR(max_rel=2) @ 3, "P@3", "RR@3", "RBP(p=0.5)@3"], ids=str)
def test_measures_rise_with_every_label(measure: object) -> None:
    """By enumeration of all labels of three documents: what counts as not relevant never makes a ranker look better."""
    run = pd.DataFrame({"qid": "q", "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})

    def value(grades: tuple[int, ...]) -> float:
        # A fourth document keeps the query in the qrels.
        qrels = pd.DataFrame({"qid": "q", "docno": ["a", "b", "c", "d"], "label": [*grades, 1]})
        return float(measure_values(run, qrels, measure)["value"].iloc[0])  # type: ignore[arg-type]

    values = {grades: value(grades) for grades in itertools.product(range(3), repeat=3)}
    for grades, place in itertools.product(values, range(3)):
        if grades[place]:
            lower = (*grades[:place], 0, *grades[place + 1 :])
            assert values[lower] <= values[grades] + 1e-12


def test_the_command_says_what_the_library_says(
    plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan.save("plan")
    labels.to_csv("labels.csv", index=False)
    run = with_strangers(candidate, 3)
    lines = run.assign(q0="Q0", rank=0, tag="x")[["qid", "q0", "docno", "rank", "score", "tag"]]
    lines.to_csv("next.run", sep=" ", header=False, index=False)
    asked = ["gate", "plan", "labels.csv", "--run", "next=next.run"]

    def gate(*words: str) -> tuple[int, str, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = CliRunner().invoke(app, [*asked, *words])
        return found.exit_code, found.stdout, found.stderr

    code, said, _ = gate("--second", "production", "--margin", "5")
    assert (code, said.strip()) == (0, str(plan.gate_later(labels, run, "production", 5.0)))
    assert gate("--second", "production", "--margin", "5", "--better")[0] == 3
    assert (
        "say --second, the ranker that --run would replace: one of 'production', 'candidate'"
        in gate("--margin", "5")[2]
    )
    assert "--run is the first ranker" in gate("--margin", "5", "--first", "candidate")[2]
    assert "--run is the first ranker" in gate("--margin", "5", "--looks", "always")[2]
    assert gate("--second", "production", "--run", "candidate=next.run", "--margin", "5")[0] == 2
    assert np.isfinite(plan.gate_later(labels, run, "production", 5.0).status.low)
