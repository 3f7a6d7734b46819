"""``pt-active gate``: exit codes, files for pipelines, and what to do."""

import json
import re
from xml.etree import ElementTree

import pandas as pd
import pytest
from small_collection import invoke

from pt_active import DCG, Plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory, graded, demo):
    """A plan in which the candidate is better by .72, with all its labels and with the first few of them."""
    folder = tmp_path_factory.mktemp("gate")
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level="document", seed=2).save(folder / "plan")
    listed = pd.read_csv(plan.export(folder / "worklist.csv", format="csv"), dtype=str)[["qid", "docno"]]
    labels = listed.merge(demo.judge(graded))
    labels.to_csv(folder / "all.csv", index=False)
    labels.head(60).to_csv(folder / "few.csv", index=False)
    return folder


def gate(labels, *words, better=True):
    """What the gate says of the better or of the worse ranker."""
    names = ("candidate", "production") if better else ("production", "candidate")
    first, second = names
    asked = ("--queries", "these", "--first", first, "--second", second)
    return invoke("gate", "plan", labels, *asked, *words)


CASES = {"pass": (0, None), "fail": (1, "failure"), "unresolved": (3, "error")}


@pytest.mark.parametrize(
    ("labels", "words", "better", "outcome"),
    [
        ("all.csv", ("--better",), True, "pass"),
        ("all.csv", ("--margin", "0.1"), False, "fail"),
        ("all.csv", ("--better", "--margin", "2"), True, "fail"),
        ("few.csv", ("--margin", "0.01"), True, "unresolved"),
        ("few.csv", ("--margin", "0.01", "--looks", "end"), True, "unresolved"),
    ],
)
def test_the_exit_code_and_the_case_of_a_pipeline_are_the_outcome(
    folder, tmp_path, monkeypatch, labels, words, better, outcome
):
    monkeypatch.chdir(folder)
    path = tmp_path / "gate.xml"
    path.write_text("of an earlier run")
    code, kind = CASES[outcome]
    found = gate(labels, *words, "--json", "--junit", path, better=better)
    assert found.exit_code == code, found.output
    assert json.loads(found.stdout)["outcome"] == outcome
    suite = ElementTree.parse(path).getroot()
    (case,) = suite
    assert (suite.tag, suite.get("tests"), case.get("classname")) == ("testsuite", "1", "DCG@10")
    counts = [suite.get(name) for name in ("failures", "errors")]
    assert counts == [str(int(kind == each)) for each in ("failure", "error")]
    assert [each.tag for each in case] == [kind or "system-out"]
    assert "candidate" in (case[0].text or "")


@pytest.mark.parametrize("looks", [(), ("--looks", "end")])
def test_qrels_with_holes_assume_the_worst(folder, monkeypatch, looks):
    monkeypatch.chdir(folder)
    labels = pd.read_csv("few.csv", dtype=str).assign(zero="0")
    labels["label"] = labels["label"].mask(labels.index.isin([3, 30]), "-1")
    columns = labels[["qid", "zero", "docno", "label"]]
    columns.to_csv("few.qrels", sep=" ", header=False, index=False)
    told = gate("few.qrels", "--margin", "0.01", *looks)
    assert told.exit_code == 3
    assert told.stdout.startswith("DCG@10: is candidate ")
    assert "(no label)" in told.stdout
    assert "nonrelevant" not in told.stdout


def test_an_undecided_gate_says_what_to_do(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = gate("few.csv", "--margin", "0.3")
    assert found.exit_code == 3
    assert re.search(r"keep judging, from document d\d+ of query q\d+: about \d+ more labels", found.stdout)
    assert "pt-active export plan" in found.stdout
    assert "pt-active" not in gate("few.csv", "--margin", "0.3", "--quiet").stdout


def test_a_plan_that_comes_in_parts_is_looked_at_after_each(folder, graded, demo, monkeypatch):
    monkeypatch.chdir(folder)
    few = graded[graded["qid"].isin(graded["qid"].unique()[:40])]
    plan = Plan.create(few, None, "nDCG@10", budget=150, seed=1).save("drawn-at-once")
    plan.assessments[["qid", "docno"]].merge(demo.judge(graded)).to_csv("at-once.csv", index=False)
    asked = ("drawn-at-once", "at-once.csv")
    status = invoke("status", *asked, "--details")
    assert status.exit_code == 0, status.output
    assert "judged      5 of 5 parts" in status.stdout
    assert "valid after each fifth of the plan (obrien-fleming)" in status.stdout
    assert invoke("gate", *asked, "--queries", "these", "--margin", "0.5").exit_code == 0
    early = invoke("status", *asked, "--looks", "always")
    assert "once all are judged, use --looks end" in early.stderr
