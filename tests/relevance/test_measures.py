"""Definitions of the measures, and agreement with ir_measures, gdeval and trec_eval."""

import ast
import math
import re
import shutil

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active import DCG, ERR, measure_values, parse_measure
from pt_active.relevance import measures

QRELS = pd.DataFrame(
    [("t-1", "a", 3), ("t-1", "b", 0), ("t-1", "c", 1), ("t-2", "a", 0), ("t-2", "z", 2), ("t-3", "a", 1)],
    columns=["qid", "docno", "label"],
)
RUN = pd.DataFrame(
    [("t-1", "b", 3.0), ("t-1", "a", 2.0), ("t-1", "u", 1.5), ("t-1", "c", 1.0), ("t-2", "a", 9.0), ("t-9", "a", 1.0)],
    columns=["qid", "docno", "score"],
)


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        (DCG @ 10, 7 / math.log2(3) + 1 / math.log2(5)),
        (DCG, 7 / math.log2(3) + 1 / math.log2(5)),
        (DCG @ 2, 7 / math.log2(3)),
        ("DCG(gain='linear')@10", 3 / math.log2(3) + 1 / math.log2(5)),
        ("Score@2", 3 / 2),
        ("Score(low=1)@2", (1 + 3) / 2),
        ("Score(step=0.25)@2", 0.75 / 2),
        ("Score(low=-1)@2", (-1 + 2) / 2),
    ],
    ids=str,
)
def test_values_by_hand(measure, wanted):
    assert measure_values(RUN, QRELS, measure)["value"][0] == pytest.approx(wanted, abs=1e-12)


def by_ir_measures(measure, run, qrels, provider=ir_measures):
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    metrics = provider.iter_calc([measure], qrels.rename(columns=names), run.rename(columns=names))
    return {metric.query_id: metric.value for metric in metrics}


THEIRS = {"nDCG(dcg='exp-log2')@3": ir_measures.nDCG(gains={1: 1, 2: 3, 3: 7}) @ 3}  # Theirs needs Perl.


@pytest.mark.parametrize("measure", ["P(rel=2)@3", "RR(rel=2)@4", "nDCG@3", "AP", "Judged@2", "IPrec@0.2", *THEIRS])
def test_parity_with_ir_measures_also_in_ties_which_are_those_of_trec_eval(measure):
    """A query without judgments has no value; one for which nothing is found has 0."""
    rng = np.random.default_rng(7)
    pairs = pd.DataFrame({"qid": np.repeat(list("12345"), 8), "docno": list("abcdefgh") * 5})
    run = pairs.assign(score=rng.integers(0, 3, 40).astype(float))[pairs["qid"] != "5"]
    qrels = pairs.assign(label=rng.integers(0, 3, 40))[(rng.random(40) < 0.7) & (pairs["qid"] != "4")]
    ordered = run.sort_values(["qid", "score", "docno"], ascending=[True, False, False])
    untied = ordered.assign(score=-np.arange(32.0))
    expected = by_ir_measures(THEIRS.get(measure, parse_measure(measure)), untied, qrels)
    found = measure_values(run, qrels, measure).set_index("qid").value
    assert found.to_dict() == pytest.approx({qid: expected.get(qid, 0.0) for qid in "1235"}, abs=1e-12)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_parity_with_gdeval():
    rng = np.random.default_rng(3)
    run = pd.DataFrame({"qid": np.repeat(["1", "2", "3"], 25), "docno": [f"d{i}" for i in range(75)]})
    qrels = run.assign(label=rng.integers(0, 5, 75))
    run["score"] = rng.permutation(75).astype(float)
    theirs = by_ir_measures(ir_measures.ERR @ 20, run, qrels, ir_measures.gdeval)
    for measure in (ERR(max_rel=4) @ 20, ir_measures.ERR @ 20, "ERR@20", ERR @ 20):
        ours = measure_values(run, qrels, measure).set_index("qid").value.to_dict()
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_measures_are_parsed_without_what_python_3_14_dropped(monkeypatch):
    written = ["nDCG(dcg='exp-log2')@20", "nDCG(gains={0:0,1:5})@10", "P(rel=2, judged_only=True)@5", "AP", " RR@10 "]
    expected = [ir_measures.parse_measure(each.strip()) for each in written]
    for gone in ("Num", "Str", "NameConstant", "Bytes", "Ellipsis"):
        monkeypatch.delattr(ast, gone, raising=False)
    assert [measures._written(each) for each in written] == expected


@settings(max_examples=5)
@given(st.permutations(range(len(RUN))), st.permutations(range(len(QRELS))))
def test_row_order_does_not_matter(run_order, qrel_order):
    for measure in (DCG @ 3, ir_measures.nDCG @ 3):
        found = measure_values(RUN.iloc[run_order], QRELS.iloc[qrel_order], measure).sort_values("qid")
        expected = measure_values(RUN, QRELS, measure).sort_values("qid")
        assert found["value"].tolist() == expected["value"].tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDGC_5", "unknown measure 'nDGC_5'; write it as ir_measures does"),
        ("x" * 500, "; write it as ir_measures does"),
        ("DCG@0", "cutoff must be at least 1"),
        ("DCG(gain='cubic')@10", "gain"),
        ("RBP(p=1.5)@10", "p must lie between 0 and 1"),
        ("P", "cutoff"),
        *((wrong, "Score") for wrong in ("Score", "Score(step=0)@1", "Score(step=-1)@1")),
        ("ERR(max_rel=0)@3", "max_rel must be at least 1"),
        (ERR(max_rel=2) @ 10, "grade 3 lies above max_rel=2"),
        (17, "must be an ir_measures measure"),
        ("Accuracy@5", "Accuracy@5 has no value for queries of which nothing, or only what is relevant, is retrieved"),
    ],
)
def test_bad_measures(name, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        measure_values(RUN, QRELS, name)


def test_names_round_trip():
    for name in ("DCG@10", "DCG(gain='linear')@5", "ERR(max_rel=3)@20", "RBP(p=0.5)@10", "Score(low=-1,step=0.5)@1"):
        assert str(parse_measure(name)) == name
    for same in ("ERR@20", ERR @ 20, ir_measures.ERR @ 20):
        assert str(parse_measure(same, max_grade=2)) == "ERR(max_rel=2)@20"
        assert str(parse_measure(same)) == "ERR(max_rel=4)@20"
    assert str(parse_measure("ndcg_cut_10")) == "nDCG@10"


@pytest.mark.parametrize("measure", ["nDCG@10", "P@5"])
def test_qrels_in_which_nothing_is_judged_have_no_values(measure):
    found = measure_values(RUN, QRELS.assign(label=-1), measure)
    assert found.columns.tolist() == ["qid", "value"]
    assert found.empty
