"""Runs of which wrong lines are dropped and counted: the plan keeps the count, and its report shows it."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from pt_active import DCG, Plan, Runs
from pt_active.cli.app import app
from pt_active.demo.collection import DemoCollection
from pt_active.frames.trec import read_run

GOOD = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 3 t\n"
BAD = {
    "q1 Q0 d3 3 nan t": ("score that is not a finite number", "score 'nan', which is not a finite number"),
    "q1 Q0 d3 3 t": ("wrong number of columns", "5 columns"),
    "q1 Q0 d3 3 1 my tag": ("wrong number of columns", "7 columns"),
    "q1 Q0 d3 x 1 t": ("rank that is not a number", "rank 'x', which is not a number"),
    "q1 Q0 d1 9 9 t": ("document that occurred before", "document 'd1' of query 'q1', again"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_wrong_line_is_dropped_and_counted(bad, end, tmp_path):
    (tmp_path / "good").write_text(GOOD, newline="")
    (tmp_path / "bad").write_text((GOOD + "\n" + bad + "\n").replace("\n", end), newline="")
    with pytest.raises(ValueError, match="bad: line 5: "):
        read_run(tmp_path / "bad")
    kind, said = BAD[bad]
    with pytest.warns(UserWarning, match=rf"bad: 1 line was dropped: {kind} \(1\); line 5: {said}"):
        run = read_run(tmp_path / "bad", on_error="skip")
    assert run.attrs["dropped"] == {"lines": 1, "kinds": {kind: 1}, "examples": [f"line 5: {said}"]}
    pd.testing.assert_frame_equal(run, read_run(tmp_path / "good", on_error="skip"))
    assert "dropped" not in read_run(tmp_path / "good", on_error="skip").attrs


def test_all_mistakes_at_once(tmp_path):
    lines = [*BAD, "q9 Q0 d\udce9 1 1 t", *GOOD.splitlines(), "q1 Q0 d2 1 7 t"]
    (tmp_path / "bad").write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with pytest.warns(UserWarning, match="7 lines were dropped: .*; …"):
        run = read_run(tmp_path / "bad", on_error="skip")
    # The first of duplicates is kept: that of q1, d1 is among the lines that were wrong by themselves otherwise.
    kept = run[["qid", "docno", "score"]].to_numpy().tolist()
    assert kept == [["q1", "d1", 9.0], ["q1", "d2", 1.5], ["q2", "d1", 3.0]]
    kinds = Counter(kind for kind, _ in BAD.values()) + Counter(
        ["bytes that are not UTF-8", "document that occurred before"]
    )
    assert run.attrs["dropped"]["kinds"] == kinds
    assert len(run.attrs["dropped"]["examples"]) == 5


def test_a_run_of_nothing_else_is_refused(tmp_path):
    (tmp_path / "bad").write_text("q1 Q0 d3 3 nan t\nx y")
    with pytest.raises(ValueError, match="bad: none of its 2 lines fits; expected 6 .*; line 1 has score 'nan', which"):
        read_run(tmp_path / "bad", on_error="skip")
    with pytest.raises(ValueError, match="on_error must be one of raise, skip, got 'ignore'"):
        read_run(tmp_path / "bad", on_error="ignore")


def test_rows_of_parquet_are_dropped_too(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"qid": [1, 1, 1], "docno": list("aba"), "score": [2.0, None, 1.0]}).to_parquet(path)
    with pytest.warns(UserWarning, match="; row 2: a score that is not .*; row 3: document 'a' of query '1', again"):
        assert read_run(path, on_error="skip")["docno"].tolist() == ["a"]


@pytest.fixture
def folder(demo: DemoCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, run in demo.runs.items():
        lines = [f"{r.qid} Q0 {r.docno} {r.rank} {r.score!r} t" for r in run[run["rank"] < 12].itertuples()]
        Path(f"{name}.run").write_text("\n".join([*lines, lines[0], "q1 Q0 x 1 nan t"]))
    return tmp_path


def test_plans_budgets_and_reports_say_what_was_dropped_of_runs_and_training_runs(
    folder: Path, demo: DemoCollection
) -> None:
    first, second = list(demo.runs)
    lines = [f"{row.qid} 0 {row.docno} {row.label}" for row in demo.qrels.itertuples()]
    Path("past.qrels").write_text("\n".join(lines))
    runs = ["--run", f"{first}={first}.run", "--run", f"{second}={second}.run", "--measure", "DCG@10"]
    uniform = ["plan", *runs, "--budget", "300", "--grades", "uniform", "--max-grade", "3", "--out", "p"]
    refused = CliRunner().invoke(app, uniform)
    assert refused.exit_code == 2
    assert "which is not a finite number" in refused.output
    trained = [*runs, "--train-run", f"{first}.run", "--train-qrels", "past.qrels"]
    training = [first, second, f"{first}.run (training)"]
    for command, rankers in (
        (uniform, [first, second]),
        (["plan", *trained, "--budget", "300", "--out", "q"], training),
        (["budget", *trained, "--width", "1"], training),
    ):
        made = CliRunner().invoke(app, [*command, "--lenient", "--json", "--quiet"])
        assert made.exit_code == 0, made.output
        dropped = json.loads(made.stdout)["dropped"]
        assert [each["ranker"] for each in dropped] == rankers
        kinds = {"document that occurred before": 1, "score that is not a finite number": 1}
        assert [each["kinds"] for each in dropped] == [kinds] * len(rankers)
        assert any(", again" in example for example in dropped[-1]["examples"])
    plan = Plan.load("p")
    assert f"dropped   2 lines of run {first}: document that occurred before (1), score" in str(plan)
    plan.report("page.html", demo.judge(plan.assessments))
    assert f"Run {first}: 2 lines were dropped: document that occurred before (1)" in Path("page.html").read_text()


def test_a_pool_made_in_python_keeps_the_count_through_a_grade_model(
    folder: Path, demo: DemoCollection, grades
) -> None:
    runs = {name: read_run(f"{name}.run", on_error="skip") for name in demo.runs}
    graded = (Runs(**runs) >> grades)(demo.topics)
    for topics in (None, demo.topics):
        plan = Plan.create(graded, topics, DCG @ 10, budget=300, level="query")
        assert [each["lines"] for each in plan.manifest["dropped"]] == [2, 2]
        saved = Plan.load(plan.save(folder / f"plan{topics is None}").path)
        assert saved.manifest == plan.manifest
    later = saved.with_rankers(late=next(iter(runs.values())))
    assert [each["ranker"] for each in later.manifest["dropped"]] == [*runs, "late"]


@pytest.mark.parametrize("score", ["inf", "-Infinity", "1e400"])
def test_infinite_scores_are_refused_by_line_or_dropped(score, tmp_path):
    (tmp_path / "a.run").write_text(f"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 {score} t\n")
    with pytest.raises(ValueError, match=f"a.run: line 2: expected 6 columns, .*; got score '{score}', which is not a"):
        read_run(tmp_path / "a.run")
    pd.DataFrame({"qid": "q1", "docno": ["d1", "d2"], "score": [2.0, float(score)]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a.parquet: row 2: expected a finite number as score; got -?inf"):
        read_run(tmp_path / "a.parquet")
