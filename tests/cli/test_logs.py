"""``pt-active sample-queries`` writes what ``pt-active plan`` reads."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from small_collection import QUERIES, RUNS, UNIFORM, data, run, write

from pt_active import Plan

pytest.importorskip("duckdb")


@pytest.fixture
def log(files: Path) -> tuple[str, ...]:
    """The words of a sample of half of the queries, whose traffic and texts stand in a table."""
    lines = "".join(f'{qid},{1 + place % 3},"what, is {qid}"\n' for place, qid in enumerate(QUERIES))
    write(files / "queries.csv", f"qid,traffic,query\n{lines}")
    return "sample-queries", *RUNS, "--weight", "queries.csv", "--size", str(len(QUERIES) // 2)


def test_from_a_log_to_a_verdict(log: tuple[str, ...]) -> None:
    made = data(*log, "--out", "sampled")
    assert (made["queries"], made["drawn"], made["certain"]) == (len(QUERIES), len(QUERIES) // 2, 0)
    runs = [word for name in "ab" for word in ("--run", f"{name}=sampled/{name}.parquet")]
    words = "--topics", "sampled/topics.csv", *UNIFORM, "--measure", "DCG@5", "--budget", "60"
    data("plan", *runs, *words, "--out", "plan")
    plan, topics = Plan.load("plan"), pd.read_csv("sampled/topics.csv", dtype={"qid": str}).set_index("qid")
    assert (plan.assessments["query"] == "what, is " + plan.assessments["qid"]).all()
    weight = plan.queries.set_index("qid")["q_weight"]
    assert weight.to_numpy() == pytest.approx((topics["traffic"] / topics["traffic"].sum()).loc[weight.index])
    plan.assessments.assign(label=1).to_csv("judged.csv", index=False)
    assert data("status", "plan", "judged.csv", "--queries", "new")["queries"] == "new"


def test_the_hint_plans_from_the_sample(log: tuple[str, ...]) -> None:
    said = run(*log, "--out", "sampled")
    assert "--run a=sampled/a.parquet --run b=sampled/b.parquet --topics sampled/topics.csv" in said
