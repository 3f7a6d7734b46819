"""``pt-active plan --out-of-core`` chooses what ``pt-active plan`` chooses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from small_collection import complaint, data, invoke, run

from pt_active import Plan
from pt_active.demo.collection import DemoCollection

ASKED = ("plan", "--measure", "DCG@10", "--budget", "150", "--max-grade", "3")


@pytest.fixture
def folder(demo: DemoCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, each in demo.runs.items():
        rows = each[["qid", "docno", "score"]]
        rows.iloc[::2].to_parquet(f"{name}-0.parquet")
        rows.iloc[1::2].to_parquet(f"{name}-1.parquet")
        rows.to_parquet(f"{name}.parquet")
    docnos = pd.concat(demo.runs.values())["docno"].unique()
    pd.DataFrame({"docno": docnos, "text": [f"text of {docno}" for docno in docnos]}).to_parquet("texts.parquet")
    demo.topics[["qid", "query"]].to_csv("topics.tsv", sep="\t", header=False, index=False)
    return tmp_path


def runs(demo: DemoCollection, suffix: str) -> list[str]:
    return [word for name in demo.runs for word in ("--run", f"{name}={name}{suffix}.parquet")]


@pytest.mark.parametrize("level", [(), ("--level", "query")])
def test_from_runs_to_a_verdict(demo: DemoCollection, folder: Path, level: tuple[str, ...]) -> None:
    more = "--topics", "topics.tsv", "--texts", "texts.parquet", *level
    made = data(*ASKED, *runs(demo, "-*"), "--out", "plan", "--out-of-core", *more)
    run(*ASKED, *runs(demo, ""), "--out", "whole", *more)
    assert made["grades"].startswith("Grade model: none")
    one, other = Plan.load("plan"), Plan.load("whole")
    pd.testing.assert_frame_equal(one.assessments, other.assessments[one.assessments.columns], check_like=True)
    assert one.assessments["text"].str.startswith("text of").all()
    assert (one.assessments["query"] == other.assessments["query"]).all()
    demo.judge(one.assessments).to_csv("judged.csv", index=False)
    state = data("status", "plan", "judged.csv")
    assert state["judged"] == state["drawn"]
    pair = list(demo.runs)[:2]
    told = run("status", "plan", "judged.csv", "--first", pair[0], "--second", pair[1])
    assert pair[0] in told


@pytest.mark.parametrize("level", ["query", "document"])
def test_nothing_is_proposed_that_such_a_plan_refuses(demo: DemoCollection, folder: Path, level: str) -> None:
    run(*ASKED, *runs(demo, ""), "--out", "plan", "--out-of-core", "--level", level)
    plan = Plan.load("plan")
    demo.judge(plan.assessments).to_csv("all.csv", index=False)
    drawn = plan.assessments["qid"].drop_duplicates()
    some = plan.assessments[plan.assessments["qid"].isin(drawn.head(len(drawn) // 2))]
    demo.judge(some).to_csv("some.csv", index=False)
    pair = [word for role, name in zip(("--first", "--second"), demo.runs, strict=False) for word in (role, name)]
    for words in (
        ("status", "plan", "all.csv", *pair),
        ("status", "plan", "some.csv", *pair),
        ("gate", "plan", "all.csv", *pair, "--margin", "0.001", "--queries", "these"),
        ("gate", "plan", "some.csv", *pair, "--margin", "0.001", "--queries", "these"),
    ):
        said = invoke(*words).output
        assert "pt-active report" not in said
        assert "pt-active extend" not in said
        assert "would settle it" not in said
        assert "more documents" not in said
    refused = complaint("status", "plan", "all.csv", *pair, "--measure", "DCG@10", "--queries", "new")
    assert "does not keep what is known of each query, so it has no answer for new ones: --queries these" in refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--level", "document", "--measure", "ERR@10"), "the documents of ERR@10 are drawn in memory only"),
        (("--design", "depth"), "leave out --design depth"),
        (("--lenient",), "leave out --lenient"),
        (("--cost", "log-length"), "needs the text of every document"),
        (("--measure", "nDCG@10", "--level", "query"), "need Monte Carlo"),
        (("--run", "more=nowhere-*.parquet"), "no file matches"),
    ],
)
def test_what_does_not_fit_is_refused(demo: DemoCollection, folder: Path, words: tuple[str, ...], message: str) -> None:
    assert message in complaint(*ASKED, *runs(demo, ""), "--out", "plan", "--out-of-core", *words)
    assert not Path("plan").exists()


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [600, 1000, 1200, 1500, 2000, 2500])
@pytest.mark.parametrize("level", ["query", "document"])
def test_short_memory_is_no_plan_in_one_line(demo: DemoCollection, folder: Path, megabytes: int, level: str) -> None:
    """In processes of their own, which take seconds: libraries crash or wait for ever where they are not stopped."""
    resource = pytest.importorskip("resource")
    words = [sys.executable, "-m", "pt_active", *ASKED, *runs(demo, "-*"), "--out-of-core", "--out", "plan"]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000,) * 2)

    ended = subprocess.run([*words, "--level", level], preexec_fn=limited, capture_output=True, text=True, timeout=120)
    assert ended.returncode == (2 if megabytes < 1200 else 0)
    assert ended.stderr.count("\n") == (megabytes < 1200)
    assert ended.stderr == "" or ended.stderr.startswith("error: there is not enough memory")
    assert Path("plan").exists() == (ended.returncode == 0)
