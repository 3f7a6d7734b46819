"""Labels that belong to no document: what they may have meant, and where that is said."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.frames.strays import MISTYPED, OTHER, SPELLING, ZEROS, stray_labels

KEYS = pd.DataFrame(
    [("q1", "d0471"), ("q1", "d0500"), ("q1", "Doc A"), ("007", "d1"), ("q008", "d2"), ("q1", "x1"), ("q1", "x2")],
    columns=["qid", "docno"],
)


def strays(*pairs, lacking=None):
    lacking = np.ones(len(KEYS), dtype=bool) if lacking is None else lacking
    return stray_labels(KEYS, lacking, pd.DataFrame(pairs, columns=["qid", "docno"]))


@pytest.mark.parametrize(
    ("pair", "kind", "hint"),
    [
        (("q1", "d0417"), MISTYPED, "document 'd0417' of query 'q1' is not in the plan; did you mean 'd0471'?"),
        (("q1", "d047"), MISTYPED, "did you mean 'd0471'?"),
        (("q1", "d00471"), ZEROS, "did you mean 'd0471'?"),
        (("q1", "d9471"), MISTYPED, "did you mean 'd0471'?"),
        (("q1", "e500"), OTHER, None),
        (("q1", "d500"), ZEROS, "did you mean 'd0500'?"),
        (("q1", "doc a"), SPELLING, "did you mean 'Doc A'?"),
        (("q1", "Doc A "), SPELLING, "did you mean 'Doc A'?"),
        (("q1", "\ufeffDoc A"), SPELLING, "did you mean 'Doc A'?"),
        (("7", "d1"), ZEROS, "query '7' is not in the plan; did you mean '007'?"),
        (("8", "d2"), ZEROS, "query '8' is not in the plan; did you mean 'q008'?"),
        (("Q1", "D0471"), SPELLING, "document 'D0471' of query 'Q1' is not in the plan; did you mean 'd0471' of 'q1'?"),
        (("q1", "x3"), OTHER, None),
        (("q1", "zzz"), OTHER, None),
    ],
)
def test_close_misses_are_named(pair, kind, hint):
    found = strays(pair)
    assert found.kinds == {kind: 1}
    assert (hint in found.hint) if hint else not found.hints
    assert bool(found.caution) == bool(hint)


def test_only_documents_without_a_label_can_have_been_meant():
    assert strays(("q1", "d0471"), ("q99", "d0471")).kinds == {}
    assert strays(("q1", "d0417"), lacking=KEYS["docno"] != "d0471").kinds == {OTHER: 1}


def test_all_are_counted_and_few_are_named():
    found = strays(("q1", "d0417"), ("q1", "d050"), ("q1", "x"), ("q1", "other"), ("q1", "doc a"), ("7", "d1"))
    assert found.kinds == {SPELLING: 1, ZEROS: 1, MISTYPED: 2, OTHER: 2}
    assert len(found.hints) == 3
    kinds = "1 case or spaces, 1 leading zeros, 2 mistyped, 2 other"
    assert found.counted == f"6 labels of documents that are not in the plan ({kinds})"


def test_a_document_is_meant_once_and_not_by_one_of_many_strangers():
    assert strays(("q1", "d0472"), ("q1", "d0741")).kinds == {OTHER: 2}
    strangers = [("q1", f"stranger {i}") for i in range(139)]
    assert strays(("q1", "d0417"), *strangers).kinds == {MISTYPED: 1, OTHER: 139}
    assert strays(("q1", "d0417"), ("q1", "doc a"), *strangers).kinds == {SPELLING: 1, OTHER: 140}


def test_one_slip_is_found_among_all_ids_at_every_distance():
    """Against the distance of Damerau and Levenshtein, by its recursive definition."""
    from functools import cache

    from pt_active.frames.strays import _is_slip

    def distance(a: str, b: str) -> int:
        @cache
        def d(i: int, j: int) -> int:
            if not i or not j:
                return i + j
            ways = [d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1])]
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                ways.append(d(i - 2, j - 2) + 1)
            return min(ways)

        return d(len(a), len(b))

    rng = np.random.default_rng(5)
    for _ in range(2000):
        a, b = ("".join(rng.choice(list("ab1"), rng.integers(1, 6))) for _ in range(2))
        if a != b:
            assert _is_slip(a, b) == (distance(a, b) == 1), (a, b)


@pytest.fixture(scope="module", params=["query", "document"])
def plan(graded: pd.DataFrame, request: pytest.FixtureRequest) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=200, seed=1, level=request.param)


@pytest.fixture(scope="module")
def labels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)[["qid", "docno", "label"]]


def test_a_mistyped_docno_is_named_where_its_label_is_missed(plan: Plan, labels: pd.DataFrame) -> None:
    docno = labels["docno"].iloc[0]
    wrong = labels.assign(docno=[f"{docno}x", *labels["docno"][1:]])
    hint = f"document '{docno}x' of query '{labels['qid'].iloc[0]}' is not in the plan; did you mean '{docno}'?"
    with pytest.raises(ValueError, match="1 sampled document has no label") as caught:
        plan.compare(wrong)
    assert hint in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plan.compare(wrong, missing="nonrelevant")
    assert found.basis.unknown == {MISTYPED: 1}
    assert hint in found.note
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (said["unknown"], said["unknown_kinds"]) == (1, {MISTYPED: 1})
    assert "unknown     1 label of documents that are not in the plan (1 mistyped)" in str(found)
    status = plan.status(wrong)
    assert status.unknown == {MISTYPED: 1}
    assert hint in str(status)
    assert status.to_dict()["unknown_kinds"] == {MISTYPED: 1}


def test_other_labels_of_the_plans_queries_are_counted_without_a_caution(plan: Plan, labels: pd.DataFrame) -> None:
    more = pd.DataFrame({"qid": labels["qid"].iloc[:3], "docno": ["aa", "bb", "cc"], "label": 1})
    found = plan.compare(pd.concat([labels, more]))
    assert found.basis.unknown == {OTHER: 3}
    assert not found.basis.label_caution
    assert plan.compare(labels).basis.unknown == {}


def test_lost_zeros_are_said_if_no_label_fits(plan: Plan, labels: pd.DataFrame) -> None:
    zeros = labels.assign(docno=labels["docno"].str.replace("d0+", "d", regex=True))
    if not (zeros["docno"] == labels["docno"]).all():
        zeros = zeros[zeros["docno"] != labels["docno"]]
        with pytest.raises(ValueError, match=r"no label belongs to a (sampled|drawn) document.*did you mean 'd0"):
            plan.compare(zeros)
