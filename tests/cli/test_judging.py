"""Worklists for tools, and what tools export, on the command line."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from small_collection import COLD, data, exported, label, planned, run, write

from pt_active import Plan


def test_the_loop_through_a_tool(files):
    """Two people give each document the same grade in Label Studio."""
    planned(*COLD, "--budget", "24")
    said = run("export", "plan", "--out", "tasks.json", "--format", "label-studio")
    assert "20 documents to judge are in tasks.json. Beside it, for the tool: tasks.config.xml." in said
    assert "The plan has no texts, so judges see ids alone: pass --texts FILE here" in said
    line = "pt-active import label-studio EXPORTED-FILE --plan plan --out tasks-records.jsonl"
    assert line in said
    tasks = json.loads((files / "tasks.json").read_text())
    for task in tasks:
        grade = str(label(task["data"]["qid"], int(task["data"]["docno"][2:])))
        result = [{"from_name": "label", "type": "choices", "value": {"choices": [grade]}}]
        given = [{"completed_by": who, "result": result, "was_cancelled": False} for who in (1, 2)]
        task["annotations"] = given
    write(files / "export.json", json.dumps(tasks))
    said = run(*line.replace("EXPORTED-FILE", "export.json").split()[1:])
    assert "40 records of 2 annotators in tasks-records.jsonl: 40 judged." in said
    assert said.endswith("pt-active status plan tasks-records.jsonl\n")
    exported()
    expected = Plan.load("plan").compare(pd.read_csv("plan.csv")[["qid", "docno", "label"]])
    found = data("status", "plan", "tasks-records.jsonl")
    assert found["result"]["difference"] == pytest.approx(expected.difference)
    assert (found["judged"], found["agreement"]["twice"]) == (found["drawn"], 20)
    agreement = "Agreement of 2 judges: alpha 1.000 (ordinal); 20 documents, 100.0% by two or more."
    assert agreement in run("status", "plan", "tasks-records.jsonl")
    run("report", "plan", "tasks-records.jsonl", "--out", "report.html")
    page = (files / "report.html").read_text(encoding="utf-8")
    assert "1, 2: quadratic kappa 1.000, 20 documents, 100% the same" in page


def test_texts_and_words_for_grades_go_along(judged):
    words = ("export", "plan", "--out", "t.json", "--format", "label-studio", "--texts", "texts.tsv")
    assert "has no texts" not in run(*words, "--grade-names", "a,b,c")
    assert json.loads((judged / "t.json").read_text())[0]["data"]["text"].startswith("word ")
    assert 'value="b" alias="1"' in (judged / "t.config.xml").read_text()
    rows = pd.read_csv("plan.csv", dtype=str)[["qid", "docno"]]
    given = [rows.assign(label=word, annotator=who) for word, who in (("a", "ann"), ("c", "bob"))]
    pd.concat(given).to_csv("words.csv", index=False)
    named = ("status", "plan", "words.csv", "--measure", "DCG@5", "--grade-names", "a,b,c")
    assert data(*named)["estimates"]["a"]["value"] == 0
