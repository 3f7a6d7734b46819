"""``pt-active gate``: exit codes, files for pipelines, and what to do."""

import json
import re
from xml.etree import ElementTree

import pandas as pd
import pytest
from small_collection import invoke, run

from pt_active import DCG, Plan


@pytest.fixture(scope="module")
def made(tmp_path_factory, graded, demo):
    """A plan in which the candidate is better by .72, with all its labels and with the first few of them."""
    folder = tmp_path_factory.mktemp("gate")
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level="document", seed=2).save(folder / "plan")
    listed = pd.read_csv(plan.export(folder / "worklist.csv", format="csv"), dtype=str)[["qid", "docno"]]
    labels = listed.merge(demo.judge(graded))
    labels.to_csv(folder / "all.csv", index=False)
    labels.head(60).to_csv(folder / "few.csv", index=False)
    holes = labels.head(60).assign(zero="0")
    holes["label"] = holes["label"].mask(holes.index.isin([3, 30]), -1)
    columns = holes[["qid", "zero", "docno", "label"]]
    columns.to_csv(folder / "holes.qrels", sep=" ", header=False, index=False)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


ASKED = ("--queries", "these", "--first", "candidate", "--second", "production")
CASES = [
    ("all.csv", "--better", 0, "pass", None),
    ("all.csv", "--margin 0.1 --first production --second candidate", 1, "fail", "failure"),
    ("all.csv", "--better --margin 2", 1, "fail", "failure"),
    ("few.csv", "--margin 0.01", 3, "unresolved", "error"),
    ("few.csv", "--margin 0.01 --looks end", 3, "unresolved", "error"),
    ("holes.qrels", "--margin 0.01", 3, "unresolved", "error"),
    ("holes.qrels", "--margin 0.01 --looks end", 3, "unresolved", "error"),
]


@pytest.mark.parametrize(("labels", "words", "code", "outcome", "kind"), CASES)
def test_the_exit_code_and_the_case_of_a_pipeline_are_the_outcome(folder, tmp_path, labels, words, code, outcome, kind):
    path = tmp_path / "gate.xml"
    path.write_text("of an earlier run")
    asked = ("gate", "plan", labels, *ASKED, *words.split())
    found = invoke(*asked, "--json", "--junit", path)
    assert (found.exit_code, json.loads(found.stdout)["outcome"]) == (code, outcome)
    suite = ElementTree.parse(path).getroot()
    (case,) = suite
    assert (suite.tag, suite.get("tests"), case.get("classname")) == ("testsuite", "1", "DCG@10")
    counts = [suite.get(name) for name in ("failures", "errors")]
    assert counts == [str(int(kind == each)) for each in ("failure", "error")]
    assert [each.tag for each in case] == [kind or "system-out"]
    said = invoke(*asked).stdout
    assert said.startswith("DCG@10: is candidate ") or "production" in words
    assert ("(no label)" in said) == ("holes" in labels)


def test_an_undecided_gate_says_what_to_do(folder):
    asked = ("gate", "plan", "few.csv", *ASKED, "--margin", "0.3")
    said = invoke(*asked).stdout
    assert re.search(r"keep judging, from document d\d+ of query q\d+: about \d+ more labels", said)
    assert "pt-active export plan" in said
    assert "pt-active" not in invoke(*asked, "--quiet").stdout


def test_a_plan_that_comes_in_parts_is_looked_at_after_each(folder, graded, demo):
    few = graded[graded["qid"].isin(graded["qid"].unique()[:40])]
    plan = Plan.create(few, None, "nDCG@10", budget=150, seed=1).save("drawn-at-once")
    plan.assessments[["qid", "docno"]].merge(demo.judge(graded)).to_csv("at-once.csv", index=False)
    asked = ("drawn-at-once", "at-once.csv")
    said = run("status", *asked, "--details")
    assert "judged      5 of 5 parts" in said
    assert "valid after each fifth of the plan (obrien-fleming)" in said
    assert invoke("gate", *asked, "--queries", "these", "--margin", "0.5").exit_code == 0
    early = invoke("status", *asked, "--looks", "always")
    assert "once all are judged, use --looks end" in early.stderr
