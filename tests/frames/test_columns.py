"""Checks of the columns, the order and the labels of runs and qrels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ranked_run

RUN = pd.DataFrame({"qid": ["q", "q", "p"], "docno": ["a", "b", "a"], "score": [1.0, 2.0, 0.5]})


def qrels(*labels):
    return pd.DataFrame({"qid": "q", "docno": [f"d{i}" for i in range(len(labels))], "label": list(labels)})


SCORES = st.sampled_from([-1.5, 0.0, -0.0, 1.0, 1e30])
ROWS = st.tuples(st.sampled_from("qp"), st.sampled_from("abcdef"), SCORES)


@given(st.lists(ROWS, min_size=1, unique_by=lambda row: row[:2]))
def test_order_is_that_of_trec_eval(rows):
    given = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    run = ranked_run(given)
    assert "rank" not in given.columns
    assert run["qid"].unique().tolist() == given["qid"].unique().tolist()
    for qid, group in run.groupby("qid"):
        mine = [(score, docno) for q, docno, score in rows if q == qid]
        assert list(zip(group.score, group.docno, strict=True)) == sorted(mine, reverse=True)
        assert group["rank"].tolist() == list(range(len(mine)))


def test_a_rank_column_that_disagrees_is_overruled_with_a_warning():
    with pytest.warns(UserWarning, match="disagrees .* in 1 query;"):
        ranked_run(RUN.assign(rank=[0, 1, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranked_run(RUN.assign(rank=[1, 0, 0]))
        ranked_run(RUN.assign(rank=[2, 1, 1]))
        ranked_run(RUN.assign(rank=[0, 1, 0], score=1.0))


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (ranked_run, RUN.iloc[:0], "run 'x' is empty"),
        (ranked_run, pd.concat([RUN, RUN.iloc[:1]]), "'x': 1 duplicate row; document 'a' .* query 'q'"),
        (ranked_run, RUN.assign(score=[1, np.nan, 2]), "row 1: expected a score .* 'b' of query 'q'; got nan"),
        (ranked_run, RUN.drop(columns="score"), "lacks 'score'"),
        (ranked_run, RUN.assign(qid=["q", None, "p"]), "row 1: expected a qid .*; got (None|nan)"),
        (checked_qrels, qrels(1.5), "row 0: .* whole number from -2 to 1000, for document 'd0' .*; got 1.5"),
        (checked_qrels, qrels(1001), "whole number from -2 to 1000"),
        (checked_qrels, qrels(0).assign(label=pd.Series([10**400], dtype=object)), "whole number from -2"),
        (checked_qrels, qrels(4), "not above the highest grade, 3, for document 'd0' of query 'q'; got 4"),
        (checked_qrels, pd.concat([qrels(1), qrels(0)]), r"'d0' of query 'q' has different labels: \[0, 1\]"),
    ],
)
def test_what_is_malformed_is_refused(check, given, message):
    with pytest.raises(ValueError, match=message):
        check(given, **({"name": "x"} if check is ranked_run else {"max_grade": 3}))


def test_good_labels_stand_once_and_are_whole_numbers():
    assert len(checked_qrels(pd.concat([qrels(1, 2), qrels(1, 2)]))) == 2
    assert checked_qrels(qrels("2", "0")).label.tolist() == [2, 0]
    assert checked_qrels(qrels(2.0, 0.0)).label.dtype == np.int64
