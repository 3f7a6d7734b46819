"""The command `simulate`: runs with their judgments."""

import re

import numpy as np
import pandas as pd
import pytest
from small_collection import DOCUMENTS, QUERIES, RUNS, data, invoke, label, qrels_lines, run, write

from pt_active import DCG, measure_values
from pt_active.cli.files import RunFiles
from pt_active.cli.replays import cross_graded, judged_runs
from pt_active.frames.trec import read_qrels, read_run

PASSIVE = ("--measure", "DCG@5", "--budget", "60", "--design", "passive", "--repetitions", "10")


def test_all_asked_designs_and_budgets_are_tried(files):
    write(files / "all.qrels", qrels_lines(QUERIES))
    words = ("simulate", *RUNS, "--qrels", "all.qrels", *PASSIVE, "--budget", "40", "--seed", "3")
    rows = data(*words, "--design", "hedged", "--out", "table.csv")["rows"]
    tried = {(row["design"], row["budget"]) for row in rows}
    assert tried == {(design, budget) for design in ("passive", "hedged") for budget in (40, 60)}
    assert all(row["repetitions"] == 10 and row["spent"] <= row["budget"] for row in rows)
    written = pd.read_csv("table.csv")
    assert written["rmse"].tolist() == pytest.approx([row["rmse"] for row in rows])
    assert "label-equivalents" in run(*words)


def test_judged_runs(files):
    write(files / "all.qrels", qrels_lines(QUERIES))
    labels = read_qrels("all.qrels")
    values = [measure_values(read_run(file), labels, DCG @ 5)["value"].mean() for file in ("a.run.gz", "b.run")]
    for runs, truth in ((RUNS, values[0] - values[1]), (RUNS[:2], values[0])):
        row, *_ = data("simulate", *runs, "--qrels", "all.qrels", *PASSIVE)["rows"]
        assert row["truth"] == pytest.approx(truth)
    write(files / "some.qrels", qrels_lines(QUERIES[:20]).replace("D-3 ", "D-x "))
    result = invoke("simulate", *RUNS, "--qrels", "some.qrels", *PASSIVE)
    idle, absent = result.stderr.splitlines()
    assert idle.startswith("warning: 10 queries are left out, without a label: 'née-")
    assert re.match(r"warning: \d+ of \d+ documents of the runs have no label and count as grade 0: \('née-", absent)


def test_no_query_is_graded_by_a_model_that_has_seen_its_labels(files):
    def graded(qrels):
        write(files / "of.qrels", qrels)
        return cross_graded(*judged_runs(RunFiles(run=list(RUNS[1::2])), files / "of.qrels", None), files / "of.qrels")

    other = "".join(f"{QUERIES[0]} 0 D-{d} {2 - label(QUERIES[0], d)}\n" for d in range(DOCUMENTS))
    before, after = graded(qrels_lines(QUERIES)), graded(qrels_lines(QUERIES[1:]) + other)
    own, columns = before["qid"] == QUERIES[0], ["qid", "docno", "grade_0", "grade_1", "grade_2"]
    pd.testing.assert_frame_equal(after.loc[own, columns], before.loc[own, columns])
    assert not np.allclose(after.loc[~own, "grade_0"], before.loc[~own, "grade_0"])
