"""``pt-active gate``: exit codes, and what to do."""

import json
import re

import pandas as pd
import pytest
from small_collection import invoke

ASKED = ("--queries", "these")
CASES = [
    ("plan.csv", "--better --first b --second a", 0, "pass"),
    ("plan.csv", "--margin 0.1", 1, "fail"),
    ("plan.csv", "--better --margin 2", 1, "fail"),
    ("part.csv", "--margin 0.01", 3, "unresolved"),
    ("holes.csv", "--margin 0.01", 3, "unresolved"),
    ("holes.csv", "--margin 0.01 --looks end", 3, "unresolved"),
]


@pytest.mark.parametrize(("labels", "words", "code", "outcome"), CASES)
def test_the_exit_code_is_the_outcome(judged, labels, words, code, outcome):
    part = pd.read_csv("part.csv")
    part.assign(label=part["label"].mask(part.index.isin([3, 30]), -1)).to_csv("holes.csv", index=False)
    asked = ("gate", "plan", labels, *ASKED, *words.split())
    found = invoke(*asked, "--json")
    assert (found.exit_code, json.loads(found.stdout)["outcome"]) == (code, outcome)
    assert ("(no label)" in invoke(*asked).stdout) == ("holes" in labels)


def test_an_undecided_gate_says_what_to_do(judged):
    asked = ("gate", "plan", "part.csv", *ASKED, "--margin", "0.3")
    said = invoke(*asked).stdout
    assert re.search(r"keep judging, from query née-\d+/x: about \d+ more labels", said)
    assert "pt-active export plan" in said
    assert "pt-active" not in invoke(*asked, "--quiet").stdout
