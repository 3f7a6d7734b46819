"""Worklists for tools, and what tools export, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from small_collection import data, run

from pt_active import Plan


def frame() -> pd.DataFrame:
    rows = []
    for number in range(8):
        for place in range(3):
            rows.append(
                {"qid": f"{number:03}", "docno": f"d{place}", "rank_a": place, "rank_b": 2 - place, "grade_0": 0.4}
            )
    return pd.DataFrame(rows).assign(grade_1=0.3, grade_2=0.3)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    return Plan.create(frame(), None, "DCG@3", budget=24, seed=2, level="query").save("plan")


def judge(folder: Path) -> None:
    """Fill in Label Studio's export: two people give document i of query q the grade (q + i) % 3."""
    tasks = json.loads((folder / "tasks.json").read_text())
    for task in tasks:
        grade = (int(task["data"]["qid"]) + int(task["data"]["docno"][1:])) % 3
        result = [{"from_name": "label", "type": "choices", "value": {"choices": [str(grade)]}}]
        task["annotations"] = [{"completed_by": who, "result": result, "was_cancelled": False} for who in (1, 2)]
    (folder / "export.json").write_text(json.dumps(tasks))


def test_the_loop_through_a_tool(tmp_path: Path, plan: Plan) -> None:
    said = run("export", "plan", "--out", "tasks.json", "--format", "label-studio")
    assert "24 documents to judge are in tasks.json. Beside it, for the tool: tasks.config.xml." in said
    assert "The plan has no texts, so judges see ids alone: pass --texts FILE here, or when the plan is made." in said
    line = "pt-active import label-studio EXPORTED-FILE --plan plan --out tasks-records.jsonl"
    assert line in said
    judge(tmp_path)
    said = run(*line.replace("EXPORTED-FILE", "export.json").split()[1:])
    assert "48 records of 2 annotators in tasks-records.jsonl: 48 judged." in said
    assert said.endswith("pt-active status plan tasks-records.jsonl\n")
    qrels = frame().assign(
        label=lambda all: [(int(q) + int(d[1:])) % 3 for q, d in zip(all.qid, all.docno, strict=True)]
    )
    expected = plan.compare(qrels[["qid", "docno", "label"]]).difference
    found = data("status", "plan", "tasks-records.jsonl")
    assert (found["result"]["difference"], found["judged"]) == pytest.approx((expected, 8))
    run("report", "plan", "tasks-records.jsonl", "--out", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "1, 2: quadratic kappa 1.000, 24 documents, 100% the same" in page
    said = run("status", "plan", "tasks-records.jsonl")
    assert "Agreement of 2 judges: alpha 1.000 (ordinal); 24 documents, 100.0% by two or more." in said
    assert found["agreement"]["twice"] == 24


def test_the_drawn_order_is_the_default(tmp_path: Path, plan: Plan) -> None:
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    for order in ("drawn", "sorted"):
        plan.export(f"{order}.csv", "csv", order=order)
    written, drawn, by_id = ((tmp_path / f"{name}.csv").read_text() for name in ("plan", "drawn", "sorted"))
    assert written == drawn != by_id


def test_texts_and_names_go_along(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps({"docno": f"d{i}", "text": f"text {i}"}) + "\n" for i in range(3))
    )
    words = "export plan --out t.json --format label-studio --texts texts.jsonl --grade-names a,b,c"
    said = run(*words.split())
    assert "has no texts" not in said
    assert json.loads((tmp_path / "t.json").read_text())[0]["data"]["text"].startswith("text ")
    assert 'value="b" alias="1"' in (tmp_path / "t.config.xml").read_text()


def test_words_and_ties(tmp_path: Path, plan: Plan) -> None:
    rows = frame()[["qid", "docno"]]
    words = pd.concat([rows.assign(label="bad", annotator="ann"), rows.assign(label="good", annotator="bob")])
    words.to_csv(tmp_path / "words.csv", index=False)
    named = ("status", "plan", "words.csv", "--measure", "DCG@3", "--grade-names", "bad,fair,good")
    assert data(*named)["estimates"]["a"]["value"] == 0
