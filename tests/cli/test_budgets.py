"""The command `budget`: how much it takes, from runs, plans and pilots."""

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from small_collection import QUERIES, RUNS, TRAINING, data, exported, keyed, planned, run, worked_on

from pt_active import OrderedLogitGrades, Outlook, Plan
from pt_active.frames.trec import read_qrels, read_run

LEARNED = (*RUNS, *TRAINING, "--measure", "DCG@5")


@pytest.fixture(scope="module")
def pilot_once(collection, tmp_path_factory):
    """A plan of documents from the judged past, and its labels."""
    folder = shutil.copytree(collection, tmp_path_factory.mktemp("pilot"), dirs_exist_ok=True)
    with contextlib.chdir(folder):
        keyed(level="document", seed=1)
        planned(*TRAINING, "--budget", "60")
        exported()
    return folder


@pytest.fixture
def pilot(pilot_once, tmp_path, monkeypatch):
    return worked_on(pilot_once, tmp_path, monkeypatch)


def test_how_much_it_takes_from_runs(files):
    assert run("budget", *LEARNED).startswith("DCG@5 of a, b; expected from the grade model alone")
    found = data("budget", *LEARNED, "--width", "0.2")
    model = OrderedLogitGrades(2).fit(read_run("past.run"), read_qrels("past.qrels.gz"))
    pool = model.transform(pd.read_parquet("pool.parquet").drop(columns="label"))
    table = Outlook.of(pool, None, "DCG@5").budget_for(width=0.2)
    assert [row["budget"] for row in found["rows"]] == pytest.approx(table["budget"])
    assert found["rankers"] == ["a", "b"]


def test_what_a_budget_proposes_is_a_plan(files):
    Path("pt-active.toml").rename("mine.toml")
    said = run("budget", *LEARNED, "--difference", "0.5", "--project", "mine.toml")
    how, line = said.splitlines()[-2:]
    proposed = shlex.split(line)
    assert proposed[:3] == ["pt-active", "plan", "--budget"]
    assert proposed[4:] == ["--project", "mine.toml"]
    Path("mine.toml").write_text("per-query = 2\n" + "\n".join(re.findall(r'\w+ = "\w+"', how)))
    run(*proposed[1:], *LEARNED, "--out", "my-plan")
    arguments = Plan.load("my-plan").manifest["arguments"]
    assert arguments["cost"] == "UnitCost(per_query=2)"
    row = [line.split() for line in said.splitlines()[2:5] if line.split()[0] == arguments["level"]][-1]
    assert arguments["budget"] == pytest.approx(float(row[3]), rel=1e-2)


def test_a_pilot_tells_what_a_plan_lacks(pilot):
    (before, *_), (after, *_) = (data("budget", "plan", *labels)["rows"] for labels in ((), ("plan.csv",)))
    assert ("optimism" in before, "optimism" in after) == (False, True)
    asked = ("budget", "plan", "plan.csv", "--width")
    assert run(*asked, "9").rstrip().endswith("The plan's own budget is enough.")
    proposed = shlex.split(run(*asked, "0.05").splitlines()[-1])
    assert proposed[:5] == ["pt-active", "plan", "--extend", "plan", "--budget"]
    run(*proposed[1:])
    assert Plan.load("plan-more").manifest["limit"] == 60 + float(proposed[5])
    keyed(design="depth")
    run("plan", *RUNS, *TRAINING, "--budget", "60", "--measure", "DCG@5", "--out", "depth")
    said = run("budget", "depth", "--width", "0.05")
    assert re.search(r"Next, draw more:\n  pt-active plan --extend depth --budget [0-9]+", said)


def test_new_queries_take_queries_and_labels(pilot):
    words = ("budget", *LEARNED, "--queries", "new", "--difference", "0.5")
    said, found = run(*words), data(*words)
    like = "DCG@5 of a, b for queries like those of the pool; expected from the grade model alone"
    assert said.startswith(like)
    best = min(found["rows"], key=lambda row: row["budget"])
    more = f"Next, add {best['topics'] - len(QUERIES)} queries like those of the pool, and draw the sample"
    how = f'level = "{best["level"]}" and design = "{best["design"]}" in pt-active.toml'
    assert f"{more} that costs least with {how}" in said
    after = data("budget", "plan", "plan.csv", "--queries", "new", "--width", "0.5")
    assert (after["queries"], after["expected_from"]) == ("new", "the pilot's errors")


@pytest.mark.parametrize("design", ["hedged", "successive", "depth"])
def test_what_a_plan_lacks_is_counted_from_its_budget_if_it_goes_on(files, design):
    level = "query" if design == "hedged" else "document"
    keyed(level=level, design=design, per_query=3.3, seed=1)
    planned(*TRAINING)
    exported()
    assert Plan.load("plan").manifest["spent"] < 99.9
    rows = data("budget", "plan", "plan.csv", "--width", "0.3")["rows"]
    (row,) = (row for row in rows if (row["level"], row["design"]) == (level, design))
    said = run("budget", "plan", "plan.csv", "--width", "0.3")
    assert f"The plan's budget is {row['budget'] - 100:.4g} short of it. Next, draw" in said
    run(*shlex.split(said.splitlines()[-1])[1:])
    if design != "depth":
        assert Plan.load("plan-more").manifest["spent"] <= row["budget"] + 1
        keyed(confidence=0.999999)
        words = ("plan", "plan.csv")
        lacking, line = data("status", *words)["needed"] - 100, run("status", *words).splitlines()[-1]
        proposed = float(re.search("--budget ([0-9.]+)", line)[1])
        assert lacking <= proposed < 1.01 * lacking + 1
