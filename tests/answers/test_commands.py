"""From a table of answers to a verdict by the commands, with the words of plans."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from made_answers import made, true_scores
from typer.testing import CliRunner, Result

from pt_active import Answers
from pt_active.cli.app import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def run(*words: object) -> str:
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def fill(table: pd.DataFrame, path: Path, scale: str = "0-1", scores: pd.DataFrame | None = None) -> None:
    """Let people score a worklist."""
    labels = Answers(table, scale).labels(true_scores(table) if scores is None else scores)
    worklist = pd.read_csv(path, dtype=str).drop(columns="label").merge(labels, how="left")
    assert worklist["label"].notna().all()
    worklist.to_csv(path, index=False)


def test_five_commands_from_a_table_to_a_verdict(folder: Path) -> None:
    table = made(140, better=1.0)
    table.drop(columns=["truth", "run"]).to_csv("answers.csv", index=False)
    said = run("init", "--answers", "answers.csv", "--budget", 280)
    assert re.search(r"new +an answer to each of 140 items", said)
    assert re.search(r"(?m)^  budget +280 of 280 answers to judge: all, if no verdict comes before$", said)
    run("plan")
    run("export", "--out", "my-plan.csv", "--format", "csv")
    fill(table.drop(columns="run"), folder / "my-plan.csv")
    assert "stop: new is better" in run("status")
    assert "pass: new is at most 0.1 worse than old" in run("gate", "--queries", "new", "--margin", 0.1)
    run("report")
    assert "new is better than old" in (folder / "my-plan.html").read_text(encoding="utf-8")


def test_messages_name_what_is_wrong_and_an_extension_keeps_texts(folder: Path) -> None:
    table = made(30).drop(columns="run")
    table.drop(columns="truth").to_csv("answers.csv", index=False)
    run("init", "--answers", "answers.csv", "--budget", 20)
    run("plan")
    run("export", "--out", "my-plan.csv", "--format", "csv")
    fill(table, folder / "my-plan.csv")
    Path("stray.csv").write_text("qid,docno,label\ni3,none,1\n")
    for words, wanted in (
        (("status", "my-plan", "stray.csv"), "no label belongs to a document of the plan"),
        (("status", "--first", "best"), "no ranker 'best' in this plan"),
        (("plan", "--budget", 1, "--out", "small"), "does not pay for the cheapest query"),
    ):
        told = invoke(*words)
        assert told.exit_code == 2
        assert wanted in told.stderr
    assert "(design: successive)" in run("plan", "--level", "document", "--out", "single")
    run("plan", "--extend", "my-plan", "--budget", 10, "--out", "more")
    assert "status more LABELS more.csv" in run("export", "more", "--out", "more.csv", "--format", "csv")
    assert pd.read_csv("more.csv")["text"].str.startswith("answer ").all()


def test_costs_and_clusters_of_the_table_count_and_the_forecast_leaves_the_unit_to_init(folder: Path) -> None:
    table = made(60).drop(columns=["run"]).assign(cost=lambda t: 1.0 + t.index % 4)
    table.drop(columns="truth").to_csv("answers.csv", index=False)
    said = run("init", "--answers", "answers.csv", "--budget", 100)
    assert re.search(r"(?m)^  clusters +30 clusters, for new items$", said)
    assert "100 of 300, the sum of the column cost (33%)" in said
    assert re.search(r"cost +9\d of 300 units of cost for the whole pool", run("plan"))
    told = invoke("budget", "--difference", 0.2)
    assert re.search(r"query +passive", told.stdout)
    assert "--level" not in told.output
    run("export", "--out", "my-plan.csv", "--format", "csv")
    fill(table, folder / "my-plan.csv")
    assert "for queries like them, as 30 clusters" in run("status")


def test_the_answers_of_another_plan_stay_and_those_of_the_project_are_made_again(folder: Path) -> None:
    made(5).drop(columns=["truth", "run"]).to_csv("answers.csv", index=False)
    run("init", "--answers", "answers.csv", "--budget", 5)
    (folder / "pt-active.toml").unlink()
    told = invoke("init", "--answers", "answers.csv", "--budget", 5)
    assert told.exit_code == 2
    assert "my-plan-answers.parquet exists; remove it, or choose another --plan" in told.stderr
    run("init", "--answers", "answers.csv", "--budget", 5, "--plan", "other")
    for name, own in made(4).drop(columns=["truth", "run", "score"]).groupby("system"):
        own = own.assign(weight=[3.0 if item == "i0" else 1.0 for item in own["item"]])
        own.drop(columns="system").to_json(f"{name}.jsonl", orient="records", lines=True)
    words = "--answers", "new=new.jsonl", "--answers", "old=old.jsonl", "--scale", "0-1:0.5", "--budget", 5
    said = run("init", *words)
    assert re.search(r"weights +items count by traffic \(.* has 50%, so they count as 3\)", said)
    assert "5 of 8 answers" in said
    project = tomllib.loads((folder / "pt-active.toml").read_text())
    assert project["measure"] == "Score(step=0.5)@1"
    assert project["grade-names"] == "score 0,score 0.5,score 1"
    assert run("plan").startswith("Plan for Score(step=0.5)@1 of new, old\n")
    assert (folder / "other").is_dir()


def test_a_preference_is_one_decision_an_item(folder: Path) -> None:
    table = made(60, better=1.5).drop(columns="run")
    table.drop(columns=["truth", "score"]).to_csv("answers.csv", index=False)
    run("init", "--answers", "answers.csv", "--scale", "preference", "--budget", 60)
    run("plan")
    told = run("export", "--out", "my-plan.csv", "--format", "csv")
    assert "A label is 0 (the second is better), 1 (no difference), 2 (the first is better)." in told
    assert len(pd.read_csv("my-plan.csv")) == 60
    by_item = table.pivot(index="item", columns="system", values="truth")
    scores = (by_item["new"] - by_item["old"]).rename("score").reset_index()
    fill(table, folder / "my-plan.csv", "preference", scores)
    assert f"{scores['score'].mean():+.4f}" in run("status")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--answers", "answers.csv", "--budget", 5, "--measure", "AP"), "leave out --run, …"),
        (("--answers", "answers.csv", "--budget", 5, "--scale", "5"), "a scale is written as"),
        (
            ("--answers", "answers.csv", "--budget", 5, "--scale", "1-5"),
            "score is 0, outside 1 to 5; judges and people",
        ),
        (("--answers", "nothing.csv", "--budget", 5), "nothing.csv"),
        (("--answers", "a=answers.csv", "--answers", "a=answers.csv", "--budget", 5), "the name 'a' is taken"),
    ],
)
def test_what_does_not_fit_is_said(folder: Path, words: tuple[object, ...], said: str) -> None:
    made(5).drop(columns=["truth", "run"]).to_csv("answers.csv", index=False)
    result = invoke("init", *words)
    assert result.exit_code != 0
    assert said in result.stderr
    assert not (folder / "pt-active.toml").exists()
