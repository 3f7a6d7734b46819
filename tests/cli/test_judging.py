"""Worklists for tools, and what tools export, on the command line."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from small_collection import data, run

from pt_active import Plan

POOL = pd.DataFrame(
    [(f"{q:03}", f"d{d}", d, 2 - d, 0.4, 0.3, 0.3) for q in range(8) for d in range(3)],
    columns=["qid", "docno", "rank_a", "rank_b", "grade_0", "grade_1", "grade_2"],
)
LABEL = (POOL["qid"].astype(int) + POOL["rank_a"]) % 3


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    return Plan.create(POOL, None, "DCG@3", budget=24, seed=2, level="query").save("plan")


def test_the_loop_through_a_tool(tmp_path, plan: Plan) -> None:
    """Two people give each document the same grade in Label Studio."""
    said = run("export", "plan", "--out", "tasks.json", "--format", "label-studio")
    assert "24 documents to judge are in tasks.json. Beside it, for the tool: tasks.config.xml." in said
    assert "The plan has no texts, so judges see ids alone: pass --texts FILE here" in said
    line = "pt-active import label-studio EXPORTED-FILE --plan plan --out tasks-records.jsonl"
    assert line in said
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    for task in tasks:
        grade = str((int(task["data"]["qid"]) + int(task["data"]["docno"][1:])) % 3)
        result = [{"from_name": "label", "type": "choices", "value": {"choices": [grade]}}]
        given = [{"completed_by": who, "result": result, "was_cancelled": False} for who in (1, 2)]
        task["annotations"] = given
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    said = run(*line.replace("EXPORTED-FILE", "export.json").split()[1:])
    assert "48 records of 2 annotators in tasks-records.jsonl: 48 judged." in said
    assert said.endswith("pt-active status plan tasks-records.jsonl\n")
    expected = plan.compare(POOL[["qid", "docno"]].assign(label=LABEL)).difference
    found = data("status", "plan", "tasks-records.jsonl")
    assert (found["result"]["difference"], found["judged"]) == pytest.approx((expected, 8))
    assert found["agreement"]["twice"] == 24
    said = run("status", "plan", "tasks-records.jsonl")
    assert "Agreement of 2 judges: alpha 1.000 (ordinal); 24 documents, 100.0% by two or more." in said
    run("report", "plan", "tasks-records.jsonl", "--out", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "1, 2: quadratic kappa 1.000, 24 documents, 100% the same" in page


def test_texts_and_words_for_grades_go_along(tmp_path, plan: Plan) -> None:
    texts = [json.dumps({"docno": f"d{i}", "text": f"text {i}"}) for i in range(3)]
    (tmp_path / "texts.jsonl").write_text("\n".join(texts) + "\n")
    words = "export plan --out t.json --format label-studio --texts texts.jsonl --grade-names a,b,c"
    assert "has no texts" not in run(*words.split())
    assert json.loads((tmp_path / "t.json").read_text())[0]["data"]["text"].startswith("text ")
    assert 'value="b" alias="1"' in (tmp_path / "t.config.xml").read_text()
    rows = POOL[["qid", "docno"]]
    words = [rows.assign(label=label, annotator=who) for label, who in (("a", "ann"), ("c", "bob"))]
    pd.concat(words).to_csv(tmp_path / "words.csv", index=False)
    named = ("status", "plan", "words.csv", "--measure", "DCG@3", "--grade-names", "a,b,c")
    assert data(*named)["estimates"]["a"]["value"] == 0
