"""From graded frames to designs, through the transformers."""

import warnings

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pt_active import (
    DCG,
    ERR,
    ColumnCost,
    Draw,
    LogLengthCost,
    Plan,
    Runs,
    SamplingDistribution,
    UniformGrades,
    UnitCost,
)
from pt_active.cli.files import with_texts_of

TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"], "traffic": [3.0, 1.0]})
A = pd.DataFrame({"qid": list("1112"), "docno": list("abca"), "score": [3.0, 2, 1, 1]})
B = pd.DataFrame({"qid": list("1122"), "docno": list("bdea"), "score": [9.0, 8, 2, 1]})


def united() -> pd.DataFrame:
    return (Runs(first=A, second=B) >> UniformGrades(max_grade=1))(TOPICS)


def test_union_of_runs():
    frame = Runs(first=A, second=B)(TOPICS)
    assert "".join(frame["qid"] + frame["docno"]) == "1a1b1c1d2a2e"
    assert frame["rank_first"].tolist() == [0, 1, 2, -1, 0, -1]
    assert frame["rank_second"].tolist() == [-1, 0, -1, 1, 1, 0]
    assert frame.score_first.isna().sum() == 2
    assert set(frame["query"]) == {"one", "two"}
    assert set(frame.traffic) == {1.0, 3.0}


def test_sixty_runs_are_united_without_a_warning_of_pandas(tmp_path):
    texts = tmp_path / "texts.tsv"
    texts.write_text("".join(f"{docno}\ttext of {docno}\n" for docno in "abc"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool = with_texts_of(texts, (Runs(**{f"r{k}": A for k in range(60)}) >> UniformGrades(max_grade=1))(TOPICS))
    assert pool["text"].tolist() == [f"text of {docno}" for docno in pool["docno"]]
    assert (pool[[f"rank_r{k}" for k in range(60)]].nunique(axis=1) == 1).all()


def test_rankers_must_answer_the_same_queries():
    with pytest.raises(ValueError, match="run 'second' has no documents for 1 query that .*'2'"):
        Runs(first=A, second=B[B.qid == "1"])(TOPICS)
    frame = Runs(first=A, second=B[B.qid == "1"], allow_missing_queries=True)(TOPICS)
    assert set(frame.qid) == {"1", "2"}
    with pytest.raises(ValueError, match="run 'first' answers none of the topics \\(2 in all\\)"):
        Runs(first=A.assign(qid="7"))(TOPICS)
    with pytest.raises(ValueError, match="run 'second': 1 duplicate row;"):
        Runs(first=A, second=pd.concat([B, B.iloc[:1]]))(TOPICS)


def test_transformer_rankers_and_inspection():
    ranker = pt.Transformer.from_df(A.assign(text="t"))
    distribution = SamplingDistribution(DCG @ 2, level="query")
    pipeline = Runs(a=ranker, b=B) >> UniformGrades(max_grade=2) >> distribution >> Draw(draws=3)
    declared = pt.inspect.transformer_outputs(pipeline, ["qid", "query"])
    assert declared == list(pipeline(TOPICS[["qid", "query"]]).columns)
    assert pt.inspect.subtransformers(Runs(a=ranker, b=B)) == {"a": ranker}


@pt.testing.transformer_test_class
def RunsTest() -> pt.Transformer:
    return Runs(a=A, b=B)


@pt.testing.transformer_test_class
def SamplingDistributionTest() -> pt.Transformer:
    return SamplingDistribution(DCG @ 10, level="query")


@pt.testing.transformer_test_class
def DrawTest() -> pt.Transformer:
    return Draw(budget=10)


def test_query_weights_and_costs():
    graded = united()
    table = SamplingDistribution(DCG @ 2, UnitCost(per_query=0.5), "passive", level="query")(graded)
    assert table.q_weight.tolist() == table.q_prob.tolist() == [0.75, 0.25]
    assert table.q_cost.tolist() == [3.5, 2.5]
    costs = graded.assign(doc_cost=[1.0, 2.0, 99.0, 5.0, 4.0, 6.0])
    assert SamplingDistribution(DCG @ 2, ColumnCost(), level="query")(costs).q_cost.tolist() == [8.0, 10.0]
    assert SamplingDistribution("nDCG@2", ColumnCost(), level="query")(costs).q_cost.tolist() == [107.0, 10.0]


@pytest.mark.parametrize("cost", [LogLengthCost(per_query=0.25), LogLengthCost("length", per_query=0.25)])
def test_log_length_cost_averages_one_a_query(cost):
    graded = united().assign(text=["a b c", "a", "", "x", "one two", "y z"], length=[3, 1, 0, 1, 2, 2])
    expected = np.array([np.log([4, 2, 2, 2]).sum(), np.log([3, 3]).sum()])
    table = SamplingDistribution(DCG, cost, level="query")(graded)
    assert table.q_cost.to_numpy() == pytest.approx(expected / expected.mean() + 0.25)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("grade_0", [np.nan] + [0.5] * 5, "must be at least 0 and sum to 1; .* document 'a' of query '1'"),
        ("grade_0", [-0.5] + [0.5] * 5, "must be at least 0 and sum to 1"),
        ("grade_0", [0.6] + [0.5] * 5, "must be at least 0 and sum to 1"),
        ("rank_first", [0.5, 1, 2, -1, 0, -1], "a rank_first that is a whole number from 0, .* of query '1'; got 0.5"),
        ("rank_first", [0, 0, 2, -1, 0, -1], "run 'first': query '1' has more than one document at rank 0"),
        (
            "rank_first",
            [1, 2, 3, -1, 1, -1],
            "run 'first': its lowest rank is 1 or more in every query, and ranks begin",
        ),
        ("rank_second", [-1, 2, -1, 4, 3, 2], "its lowest rank is 2 or more in every .* ranks begin at 0; subtract 2"),
        ("traffic", [-1] * 6, "traffic must be finite"),
        ("traffic", [0] * 6, "traffic is 0 for every query"),
        ("rank_a", [0, 1, 2**31 - 1, 0, 1, 2], "a rank_a that is a whole number from 0"),
        ("docno", ["a", "a", "c", "d", "a", "e"], "the pool: 1 duplicate row;"),
        ("grade_3", [0.0] * 6, "without a gap"),
        ("doc_cost", [1, 2, 3, 4, 5, 0.0], "costs must be positive"),
        ("doc_cost", [1, 2, 3, 4, 5, np.nan], "no finite value"),
        ("length", [-1, 1, 1, 1, 1, 1], "lengths must not be negative"),
    ],
)
def test_malformed_pools(column, values, message):
    graded = united().assign(**{column: values})
    cost = {"doc_cost": ColumnCost(), "length": LogLengthCost("length")}.get(column, UnitCost())
    with pytest.raises(ValueError, match=message):
        SamplingDistribution(DCG, cost, level="query")(graded)


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("rank_first", [0, 2, 4, -1, 0, -1], "run 'first': 2 rows are below a rank without a document"),
        ("rank_first", [1, 2, 3, -1, 0, -1], "run 'first': 3 rows are below a rank without a document"),
        ("rank_second", [-1, 0, -1, 1, 2, 0], "run 'second': 1 row is below a rank without a document"),
        ("score_first", [1, 2, 3, None, 1, None], "run 'first': score_first is above that of the rank before in 2"),
        ("score_second", [None, 2, None, 1, 1, 2], ""),
        ("score_second", [None, 1, None, 1 + 1e-9, 1, 1], ""),  # ties at single precision, as in trec_eval
    ],
)
def test_gaps_and_contradictions_of_ranks_are_said(column, values, said):
    graded = united().assign(**{column: pd.Series(values, dtype=float)}).sample(frac=1, random_state=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Plan.create(graded, None, DCG @ 2, budget=3, level="query")
    assert [str(each.message)[: len(said)] for each in caught] == ([said] if said else [])


def test_missing_columns_are_pyterrier_errors():
    for step, frame, name in (
        (SamplingDistribution(DCG @ 2, level="query"), Runs(a=A)(TOPICS), "grade_0"),
        (Draw(draws=3), TOPICS, "q_prob"),
    ):
        with pytest.raises(pt.validate.InputValidationError, match=name):
            step(frame)


def test_unknown_names_list_the_known_ones(graded):
    known = "unknown design 'best'; for queries it is one of hedged, assisted, optimal, passive"
    with pytest.raises(ValueError, match=known):
        SamplingDistribution(DCG @ 10, design="best")(graded)
    with pytest.raises(ValueError, match="either budget= or draws="):
        Draw()(SamplingDistribution(DCG @ 10, level="query")(graded))


def test_a_plain_run_counts_as_one_ranker(demo, grades):
    plain = grades(demo.runs["candidate"])
    table = SamplingDistribution(DCG @ 10, level="query")(plain)
    named = SamplingDistribution(DCG @ 10, level="query")((Runs(run=demo.runs["candidate"]) >> grades)(demo.topics))
    assert table.q_mean_run.tolist() == pytest.approx(named.q_mean_run.tolist(), abs=1e-12)
    assert table.q_prob.tolist() == pytest.approx(named.q_prob.tolist(), abs=1e-12)


def test_measures_by_monte_carlo_have_its_error(graded):
    graded = graded[graded["qid"].isin(graded["qid"].unique()[:30])]
    table = SamplingDistribution("nDCG@10", level="query")(graded)
    assert table.q_prob.sum() == pytest.approx(1, abs=1e-12)
    assert (table.q_weight / table.q_prob).max() <= 10 + 1e-9
    assert "q_mc_error_candidate" in table
    assert "q_mc_error_candidate" not in SamplingDistribution(ERR @ 10, level="query")(graded)


def test_row_order_and_names_do_not_matter(graded):
    design, draw = SamplingDistribution(ERR @ 10, level="query"), Draw(budget=600, seed=5)
    renamed = graded.assign(docno="x" + graded.docno).sample(frac=1, random_state=1)
    expected, table = draw(design(graded)), design(renamed)
    pd.testing.assert_frame_equal(draw(table), expected)
    shuffled = table.sample(frac=1, random_state=2)
    drawn = draw(shuffled)
    assert drawn.qid.tolist() == [qid for qid in shuffled.qid if qid in set(expected.qid)]
    assert drawn.set_index("qid").q_draws.to_dict() == expected.set_index("qid").q_draws.to_dict()
