"""Labels that belong to no document: how many there are, lost zeros, and where that is said."""

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.frames.strays import NO_STRAYS, lost_zeros, stray_labels

KEYS = [("q1", "0471"), ("q1", "Doc A"), ("007", "d1"), ("q1", "x1")]


def strays(keys, given, lacking=None):
    lacking = np.ones(len(keys), dtype=bool) if lacking is None else lacking
    frame, labels = (pd.DataFrame(pairs, columns=["qid", "docno"]) for pairs in (keys, given))
    return stray_labels(frame, np.array(lacking), labels)


@pytest.mark.parametrize(
    ("given", "number", "example", "meant"),
    [
        ([("q1", "471")], 1, "document '471' of query 'q1'", "document '0471' of query 'q1' without its"),
        ([("7", "d1")], 1, "document 'd1' of query '7'", "document 'd1' of query '007'"),
        ([("q1", "zz"), ("q1", "00471")], 2, "document '00471' of query 'q1'", "document '0471'"),
        ([("q1", "doc a"), ("q1", "zz"), ("q9", "zz")], 2, "document 'doc a' of query 'q1'", ""),
        ([("q1", "0471"), ("q9", "zz")], 0, "", ""),
    ],
)
def test_labels_of_unknown_documents_are_counted_with_one_of_them_and_lost_zeros(given, number, example, meant):
    found = strays(KEYS, given)
    assert (found.number, found.example) == (number, example)
    assert found.hint.startswith(f"{example} may be {meant}" if meant else "")
    assert bool(found.hint) == bool(found.caution) == bool(meant)
    assert found == NO_STRAYS or f"of documents that are not in the plan, such as {example}" in found.counted


@pytest.mark.parametrize(
    ("keys", "labelled", "refused"),
    [
        ([("q", "7"), ("q", "007")], 1, True),
        ([("7", "d"), ("07", "d")], 1, True),
        ([("q", "7"), ("q", "007")], 2, False),
        ([("q", "7"), ("q", "012"), ("q", "007")], 2, False),  # ids kept their zeros
        ([("q", "7"), ("p", "007")], 1, False),
        ([("q", "0"), ("q", "d07")], 1, False),
    ],
)
def test_a_label_that_may_be_meant_for_two_documents_is_refused(keys, labelled, refused):
    lacking = np.arange(len(keys)) >= labelled
    if refused:
        with pytest.raises(ValueError, match="has a label and document '.*0.*' has none: if a spreadsheet"):
            strays(keys, keys[:labelled], lacking)
    else:
        assert strays(keys, keys[:labelled], lacking) == NO_STRAYS


def test_only_documents_without_a_label_can_have_been_meant_and_lost_zeros_of_ids_are_counted():
    assert strays(KEYS, [("q1", "471")], [False, True, True, True]).hint == ""
    assert lost_zeros(["051", "052", "x"], ["51", "52"]) == "2 ids have other leading zeros, such as '051' for '51'"
    assert lost_zeros(["a1"], ["a01"]) == ""


@pytest.mark.filterwarnings("ignore:.* ignored")
@pytest.mark.parametrize("level", ["query", "document"])
def test_lost_zeros_are_said_where_labels_lack_and_beside_answers(level, graded):
    frame = graded.assign(docno=graded["docno"].str.replace("d", "0", regex=False))
    plan = Plan.create(frame, None, DCG @ 10, budget=200, seed=1, level=level)
    labels = plan.assessments[["qid", "docno"]].assign(label=1)
    short = labels["docno"].str.lstrip("0")
    wrong = labels.assign(docno=[short[0], *labels["docno"][1:]])
    example = f"document '{short[0]}' of query '{labels['qid'][0]}'"
    with pytest.raises(ValueError, match=f"1 sampled document has no label.* such as {example}; {example} may be"):
        plan.compare(wrong)
    with pytest.raises(ValueError, match=r"no label belongs to a (sampled|drawn) document.* may be document '0"):
        plan.compare(labels.assign(docno=short))
    for answer in (plan.compare(wrong, missing="nonrelevant"), plan.status(wrong)):
        assert f"such as {example}" in str(answer)
        assert "without its leading zeros" in str(answer)
