"""Labels that belong to no document: how many there are, lost zeros, and where that is said."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.frames.strays import NO_STRAYS, lost_zeros, stray_labels

KEYS = pd.DataFrame([("q1", "0471"), ("q1", "Doc A"), ("007", "d1"), ("q1", "x1")], columns=["qid", "docno"])


def strays(*pairs, lacking=None):
    lacking = np.ones(len(KEYS), dtype=bool) if lacking is None else lacking
    return stray_labels(KEYS, lacking, pd.DataFrame(pairs, columns=["qid", "docno"]))


@pytest.mark.parametrize(
    ("pairs", "number", "example", "hint"),
    [
        (
            [("q1", "471")],
            1,
            "document '471' of query 'q1'",
            "document '471' of query 'q1' may be document '0471' of query 'q1' without its",
        ),
        (
            [("7", "d1")],
            1,
            "document 'd1' of query '7'",
            "document 'd1' of query '7' may be document 'd1' of query '007'",
        ),
        (
            [("q1", "zz"), ("q1", "00471")],
            2,
            "document '00471' of query 'q1'",
            "document '00471' of query 'q1' may be document '0471'",
        ),
        ([("q1", "doc a"), ("q1", "zz"), ("q9", "zz")], 2, "document 'doc a' of query 'q1'", ""),
        ([("q1", "0471"), ("q9", "zz")], 0, "", ""),
    ],
)
def test_labels_of_unknown_documents_are_counted_with_one_of_them_and_lost_zeros(pairs, number, example, hint):
    found = strays(*pairs)
    assert (found.number, found.example) == (number, example)
    assert found.hint.startswith(hint)
    assert bool(found.hint) == bool(found.caution) == bool(hint)
    assert found == NO_STRAYS or f"of documents that are not in the plan, such as {example}" in found.counted


def test_only_documents_without_a_label_can_have_been_meant():
    assert strays(("q1", "471"), lacking=KEYS["docno"] != "0471").hint == ""


@pytest.mark.parametrize(
    ("keys", "given", "meant"),
    [
        ([("q", "7"), ("q", "007")], [("q", "7")], True),
        ([("7", "d"), ("07", "d")], [("7", "d")], True),
        ([("q", "7"), ("q", "007"), ("q", "012")], [("q", "7"), ("q", "012")], False),  # ids kept their zeros
        ([("q", "7"), ("q", "007")], [("q", "7"), ("q", "007")], False),
        ([("q", "7"), ("p", "007")], [("q", "7")], False),
        ([("q", "0"), ("q", "d07")], [("q", "0")], False),
    ],
)
def test_a_label_that_may_be_meant_for_two_documents_is_refused(keys, given, meant):
    frame, labels = (pd.DataFrame(pairs, columns=["qid", "docno"]) for pairs in (keys, given))
    lacking = np.array([pair not in given for pair in keys])
    if not meant:
        assert stray_labels(frame, lacking, labels) == NO_STRAYS
        return
    with pytest.raises(ValueError, match="has a label and document '.*0.*' has none: if a spreadsheet"):
        stray_labels(frame, lacking, labels)


def test_ids_with_other_leading_zeros():
    assert lost_zeros(["051", "052", "x"], ["51", "52"]) == "2 ids have other leading zeros, such as '051' for '51'"
    assert lost_zeros(["a1"], ["a01"]) == ""


@pytest.fixture(scope="module", params=["query", "document"])
def plan(graded: pd.DataFrame, request: pytest.FixtureRequest) -> Plan:
    frame = graded.assign(docno=graded["docno"].str.replace("d", "0", regex=False))
    return Plan.create(frame, None, DCG @ 10, budget=200, seed=1, level=request.param)


@pytest.fixture(scope="module")
def labels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    named = plan.assessments.assign(docno="d" + plan.assessments["docno"].str[1:])
    return plan.assessments[["qid", "docno"]].assign(label=demo.judge(named)["label"].to_numpy())


def test_lost_zeros_are_said_where_a_label_is_missed(plan: Plan, labels: pd.DataFrame) -> None:
    short = labels["docno"].iloc[0].lstrip("0")
    wrong = labels.assign(docno=[short, *labels["docno"][1:]])
    example = f"document '{short}' of query '{labels['qid'].iloc[0]}'"
    with pytest.raises(ValueError, match="1 sampled document has no label") as caught:
        plan.compare(wrong)
    assert f"1 label of documents that are not in the plan, such as {example}; {example} may be" in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plan.compare(wrong, missing="nonrelevant")
    assert found.basis.unknown.number == 1
    assert "without its leading zeros" in found.note
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["unknown"] == 1
    assert f"unknown     1 label of documents that are not in the plan, such as {example}" in str(found)
    status = plan.status(wrong)
    assert status.unknown.number == status.to_dict()["unknown"] == 1
    assert "without its leading zeros" in str(status)


def test_other_labels_of_the_plans_queries_are_counted_without_a_caution(plan: Plan, labels: pd.DataFrame) -> None:
    more = pd.DataFrame({"qid": labels["qid"].iloc[:3], "docno": ["aa", "bb", "cc"], "label": 1})
    found = plan.compare(pd.concat([labels, more]))
    assert found.basis.unknown.number == 3
    assert not found.basis.unknown.caution
    assert plan.compare(labels).basis.unknown == NO_STRAYS


def test_lost_zeros_are_said_if_no_label_fits(plan: Plan, labels: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"no label belongs to a (sampled|drawn) document.* may be document '0"):
        plan.compare(labels.assign(docno=labels["docno"].str.lstrip("0")))
