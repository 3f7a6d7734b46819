"""The command `plan`: grade models, and what is typed and what the project file sets."""

import json

import numpy as np
import pandas as pd
import pytest
from small_collection import (
    COLD,
    MEASURED,
    PAST,
    QUERIES,
    RUNS,
    TRAINING,
    complaint,
    data,
    invoke,
    keyed,
    planned,
    qrels_lines,
    run,
    write,
)

from pt_active import Plan

LLM = ("--judge", "llm=judge.qrels")
UNCHECKED = "Grade model: what llm says, not checked by any human label."
ROOM = "\nGrades are 0 to 2, the highest that the judge gives; if people may give more, pass --max-grade."


@pytest.mark.parametrize(
    ("keys", "words", "top", "first", "last"),
    [
        ({}, TRAINING, 2, "", ""),
        ({"grades": "forest"}, (*TRAINING, "--train-run", "past2.run"), 2, "", ""),
        ({"grades": "prior", "depth": 5}, (*TRAINING, "--max-grade", "3"), 3, "", ""),
        ({"grades": "uniform"}, COLD, 2, "", ""),
        ({}, COLD, 2, "Grade model: none", ""),
        ({}, LLM, 2, UNCHECKED, ROOM),
        ({}, (*LLM, "--max-grade", "3"), 3, UNCHECKED, ""),
        ({}, (*LLM, *TRAINING[2:]), 2, "Grade model: llm, corrected by 300 human labels; it agrees with 100%", ""),
        ({}, (*LLM, *TRAINING), 2, "Grade model: llm, corrected by 200 human labels; it agrees with 100%", ""),
    ],
)
def test_grade_models(files, keys, words, top, first, last):
    keyed(level="query", **keys)
    made = planned(*words)
    assert made["rankers"] == ["a", "b"]
    assert 0 < made["spent"] <= 100
    told = made.get("grades", "")
    assert told.startswith(first)
    assert told.endswith(last)
    assert ("Grades are" in told) == bool(last)
    grades = Plan.load("plan").tables.pool.grades
    assert grades.shape[1] == top + 1
    assert (keys.get("grades") == "uniform") == bool((grades == grades[0, 0]).all())


def test_a_stray_label_is_not_the_top_grade(files):
    write(files / "stray.qrels", qrels_lines(PAST) + f"{PAST[0]} 0 D-new 9\n")
    trained = ("--train-run", "past.run", "--train-qrels", "stray.qrels")
    said = complaint("plan", *RUNS, *MEASURED, *trained)
    assert said.startswith("stray.qrels: 1 label is above 2, such as 9, and the grades between have none")
    assert said.endswith("if this is meant to be, pass max_grade=9")
    planned(*trained, "--max-grade", "9")


def test_a_table_that_people_filled_in_trains_the_model_as_qrels_do(files):
    rows = [line.split() for line in qrels_lines(PAST).splitlines()]
    filled = pd.DataFrame(rows, columns=["qid", "query", "docno", "label"])
    filled.to_csv("past.csv", index=False)
    for kind in ("qrels.gz", "csv"):
        planned("--train-run", "past.run", "--train-qrels", f"past.{kind}", "--out", kind)
    by_qrels, by_table = (Plan.load(kind).tables.pool.grades for kind in ("qrels.gz", "csv"))
    np.testing.assert_array_equal(by_table, by_qrels)


def test_what_is_typed_and_what_the_project_file_sets_reach_the_plan(files):
    keyed(cost="log-length", per_query=0.5, design="optimal", seed=4, defensive=0.25, budget=30, texts="texts.tsv")
    words = ("--measure", "ERR@5", "--budget", "9", "--out", "plan")
    arguments = data("plan", *RUNS, *COLD, *words)["arguments"]
    assert {
        "measure": "ERR(max_rel=2)@5",
        "cost": "LogLengthCost(column='text', per_query=0.5)",
        "per_query": 0.5,
        "design": "optimal",
        "level": "query",
        "seed": 4,
        "budget": 9,
        "defensive": 0.25,
    }.items() <= arguments.items()


def test_a_graded_pool_instead_of_runs(files):
    planned(*TRAINING)
    Plan.load("plan").tables.pool.document_frame().to_parquet("graded.parquet")
    keyed(pool="graded.parquet", level="query", seed=1)
    assert run("plan", *MEASURED[:-1], "again").startswith("Plan for DCG@5 of a, b")
    pd.testing.assert_frame_equal(Plan.load("again").queries, Plan.load("plan").queries)
    assert data("plan", "--run", "x=b.run", *COLD, *MEASURED[:-1], "runs")["rankers"] == ["x"]


def test_topics_choose_the_queries_and_missing_texts_are_counted(files):
    write(files / "few.tsv", f"{QUERIES[0]}\tone\n{QUERIES[3]}\ttwo\nstranger\tthree\n")
    words = ("--measure", "DCG@5", "--budget", "1000", "--out", "plan", "--topics", "few.tsv", "--json")
    result = invoke("plan", *RUNS, *COLD, *words)
    made = json.loads(result.stdout)
    assert (made["counts"]["queries"], made["census"]) == (2, True)
    assert "warning: 1 topic has no document" in result.stderr
    listed = Plan.load("plan").assessments["docno"]
    write(files / "one.tsv", f"{listed.iloc[0]}\tone\n")
    told = invoke("export", "plan", "--out", "e.jsonl", "--texts", "one.tsv").stderr
    assert told.startswith(f"warning: one.tsv: no text for {listed.nunique() - 1} documents: ")
