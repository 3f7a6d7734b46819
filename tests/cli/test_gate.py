"""``pt-active gate``: exit codes, files for pipelines, and what to do."""

import json
import re
from xml.etree import ElementTree

import pandas as pd
import pytest
from small_collection import invoke

ASKED = ("--queries", "these")
CASES = [
    ("plan.csv", "--better --first b --second a", 0, "pass", None),
    ("plan.csv", "--margin 0.1", 1, "fail", "failure"),
    ("plan.csv", "--better --margin 2", 1, "fail", "failure"),
    ("part.csv", "--margin 0.01", 3, "unresolved", "error"),
    ("holes.csv", "--margin 0.01", 3, "unresolved", "error"),
    ("holes.csv", "--margin 0.01 --looks end", 3, "unresolved", "error"),
]


@pytest.mark.parametrize(("labels", "words", "code", "outcome", "kind"), CASES)
def test_the_exit_code_and_the_case_of_a_pipeline_are_the_outcome(judged, labels, words, code, outcome, kind):
    part = pd.read_csv("part.csv")
    part.assign(label=part["label"].mask(part.index.isin([3, 30]), -1)).to_csv("holes.csv", index=False)
    path = judged / "gate.xml"
    path.write_text("of an earlier run")
    asked = ("gate", "plan", labels, *ASKED, *words.split())
    found = invoke(*asked, "--json", "--junit", path)
    assert (found.exit_code, json.loads(found.stdout)["outcome"]) == (code, outcome)
    suite = ElementTree.parse(path).getroot()
    (case,) = suite
    assert (suite.tag, suite.get("tests"), case.get("classname")) == ("testsuite", "1", "DCG@5")
    counts = [suite.get(name) for name in ("failures", "errors")]
    assert counts == [str(int(kind == each)) for each in ("failure", "error")]
    (answer,) = case
    assert answer.tag == (kind or "system-out")
    said = invoke(*asked).stdout
    assert said.startswith(answer.text)
    assert ("(no label)" in said) == ("holes" in labels)


def test_an_undecided_gate_says_what_to_do(judged):
    asked = ("gate", "plan", "part.csv", *ASKED, "--margin", "0.3")
    said = invoke(*asked).stdout
    assert re.search(r"keep judging, from query née-\d+/x: about \d+ more labels", said)
    assert "pt-active export plan" in said
    assert "pt-active" not in invoke(*asked, "--quiet").stdout
