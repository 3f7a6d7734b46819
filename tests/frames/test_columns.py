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


def qrels(*labels: object) -> pd.DataFrame:
    return pd.DataFrame({"qid": "q", "docno": [f"d{i}" for i in range(len(labels))], "label": list(labels)})


@given(
    st.lists(
        st.tuples(st.sampled_from("qp"), st.sampled_from("abcdef"), st.sampled_from([-1.5, 0.0, -0.0, 1.0, 1e30])),
        min_size=1,
        unique_by=lambda t: t[:2],
    )
)
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
    ("run", "message"),
    [
        (RUN.iloc[:0], "run 'x' is empty"),
        (pd.concat([RUN, RUN.iloc[:1]]), "run 'x': 1 duplicate row; document 'a' .* query 'q'"),
        (RUN.assign(score=[1, np.nan, 2]), "row 1: expected a score that is a finite .* 'b' of query 'q'; got nan"),
        (RUN.drop(columns="score"), "lacks 'score'"),
        (RUN.assign(qid=["q", None, "p"]), "row 1: expected a qid .*; got (None|nan)"),
    ],
)
def test_malformed_runs(run, message):
    with pytest.raises(ValueError, match=message):
        ranked_run(run, "x")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ((1.5,), "row 0: expected a label that is a whole number from -2 to 1000, for document 'd0' .*; got 1.5"),
        ((np.nan, 1), "row 0: expected a label .*; got nan"),
        ((1001,), "whole number from -2 to 1000"),
        ((10**400,), "whole number from -2"),
        ((4,), "not above the highest grade, 3, for document 'd0' of query 'q'; got 4"),
    ],
)
def test_malformed_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        checked_qrels(qrels(*labels), max_grade=3)


def test_good_labels_stand_once_and_are_whole_numbers():
    assert len(checked_qrels(pd.concat([qrels(1, 2), qrels(1, 2)]))) == 2
    with pytest.raises(ValueError, match=r"document 'd0' of query 'q' has different labels: \[0, 1\]"):
        checked_qrels(pd.concat([qrels(1), qrels(0)]))
    assert checked_qrels(qrels("2", "0")).label.tolist() == [2, 0]
    assert checked_qrels(qrels(2.0, 0.0)).label.dtype == np.int64
