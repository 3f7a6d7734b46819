"""From a table of answers to a verdict by the commands, with the words of plans."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from made_answers import made, true_scores
from typer.testing import CliRunner

from pt_active import Answers
from pt_active.cli.app import app


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: object, code: int = 0) -> str:
    """What a command prints, or what it complains of if it fails."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


def init(table: pd.DataFrame, budget: int, *words: str) -> str:
    table.drop(columns=["truth", "run"]).to_csv("answers.csv", index=False)
    return run("init", "--answers", "answers.csv", "--budget", budget, *words)


def fill(table: pd.DataFrame) -> None:
    """Export a worklist and let people score it."""
    run("export", "--out", "my-plan.csv", "--format", "csv")
    labels = Answers(table.drop(columns="run")).labels(true_scores(table))
    worklist = pd.read_csv("my-plan.csv", dtype=str).drop(columns="label").merge(labels, how="left")
    assert worklist["label"].notna().all()
    worklist.to_csv("my-plan.csv", index=False)


def test_five_commands_from_a_table_to_a_verdict():
    table = made(140, better=1.0)
    assert init(table, 280).startswith("new, old: 140 queries, 280 documents that count for Score@1.\n")
    run("plan")
    fill(table)
    assert run("status").startswith("new is better: +")
    assert "pass: new is at most 0.1 worse than old" in run("gate", "--queries", "new", "--margin", 0.1)
    run("report")
    assert "new is better than old" in Path("my-plan.html").read_text(encoding="utf-8")
    project = Path("pt-active.toml")
    rest = re.sub("(?m)^(level|design|defensive) = .*\n", "", project.read_text())
    project.write_text(f'level = "document"\n{rest}')
    assert "(design: successive)" in run("plan", "--budget", 20, "--out", "single")
    project.write_text(rest)
    run("plan", "--budget", 20, "--out", "small")
    run("plan", "--extend", "small", "--budget", 10, "--out", "more", "--texts", "my-plan-answers.parquet")
    assert "status more LABELS more.csv" in run("export", "more", "--out", "more.csv", "--format", "csv")
    assert pd.read_csv("more.csv")["text"].str.startswith("answer ").all()


def test_costs_and_clusters_of_the_table_count_and_the_forecast_leaves_the_unit_to_init():
    table = made(60).assign(cost=lambda t: 1.0 + t.index % 4)
    init(table, 100)
    assert re.search(r"cost +(9\d|100) of 300 units of cost for the whole pool", run("plan"))
    told = run("budget", "--difference", 0.2)
    assert re.search(r"query +passive", told)
    assert "--level" not in told
    fill(table)
    assert "for queries like them, as 30 clusters" in run("status")


def test_the_answers_of_another_plan_stay_and_those_of_the_project_are_made_again():
    init(made(5), 5)
    Path("pt-active.toml").unlink()
    told = run("init", "--answers", "answers.csv", "--budget", 5, code=2)
    assert "my-plan-answers.parquet exists; remove it, or change the key plan" in told
    Path("pt-active.toml").write_text('plan = "other"\npool = "other-answers.parquet"\n')
    run("init", "--answers", "answers.csv", "--budget", 5)
    table = made(4).drop(columns=["truth", "run", "score"]).assign(weight=[3.0, 3.0, *[1.0] * 6])
    for name, own in table.groupby("system"):
        own.drop(columns="system").to_json(f"{name}.jsonl", orient="records", lines=True)
    words = "--answers", "new=new.jsonl", "--answers", "old=old.jsonl", "--scale", "0-1:0.5", "--budget", 5
    run("init", *words)
    project = tomllib.loads(Path("pt-active.toml").read_text())
    assert (project["measure"], project["grade-names"]) == ("Score(step=0.5)@1", "score 0,score 0.5,score 1")
    said = run("plan")
    assert said.startswith("Plan for Score(step=0.5)@1 of new, old\n")
    assert re.search(r"by traffic \(.* has 50%, so they count as 3\)", said)
    assert Path("other").is_dir()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("init --answers answers.csv --budget 5 --measure AP", "leave out --run, …"),
        ("init --answers answers.csv --budget 5 --scale 5", "a scale is written as"),
        ("init --answers answers.csv --budget 5 --scale 1-5", "score is 0, outside 1 to 5; judges and people"),
        ("init --answers nothing.csv --budget 5", "nothing.csv"),
        ("init --answers a=answers.csv --answers a=answers.csv --budget 5", "the name 'a' is taken"),
        ("status my-plan stray.csv", "no label belongs to a document of the plan"),
        ("status my-plan stray.csv --first best", "no ranker 'best' in this plan"),
        ("plan --budget 1 --out small", "does not pay for the cheapest query"),
    ],
)
def test_what_does_not_fit_is_said(words, said):
    init(made(5), 5)
    run("plan")
    Path("stray.csv").write_text("qid,docno,label\ni3,none,1\n")
    if words.startswith("init"):
        Path("pt-active.toml").unlink()
    assert said in run(*words.split(), code=2)
