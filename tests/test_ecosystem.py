"""Transformers among those of PyTerrier: written, compared, cut and named."""

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import P
from pandas.testing import assert_frame_equal

import pt_active
from pt_active import (
    Draw,
    Experiment,
    JudgeGrades,
    MixtureGrades,
    Plan,
    PriorGrades,
    Runs,
    UniformGrades,
)

TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]})
A = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["d1", "d2", "d3"], "score": [3.0, 2.0, 1.0]})
B = A.assign(score=[1.0, 2.0, 3.0])
QRELS = A[["qid", "docno"]].assign(label=[1, 0, 1])

WRITTEN = [
    "Draw()",
    "Draw(budget=300)",
    "Draw(budget=300, seed=1)",
    "Draw(draws=300, replace=True)",
    "SamplingDistribution('DCG@10')",
    "SamplingDistribution(DCG@10, design='optimal', level='query')",
    "SamplingDistribution(ERR(max_rel=3)@5, cost=ColumnCost(column='minutes', per_query=2.0), pairs={('a', 'b'): 1.0})",
    "UniformGrades(3)",
    "ColdGrades(3)",
    "PriorGrades(3, bands=(1, 10))",
    "OrderedLogitGrades(3)",
    "OrderedLogitGrades(3, prior_scale=2.0)",
    "ForestGrades(3, kind='classifier', seed=1)",
    "JudgeGrades('llm.qrels', 3)",
    "MixtureGrades(ColdGrades(3), JudgeGrades('llm.qrels', 3))",
    "Runs(depth=10, first=UniformGrades(3), **{'bm25-rm3': Draw()})",
]
"""Transformers as ``repr`` writes them."""


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_shown_can_be_typed_again(text):
    names = {name: getattr(pt_active, name) for name in pt_active.__all__}
    made = eval(text, names)
    assert repr(made) == text
    assert (made, hash(made)) == (eval(text, names), hash(eval(text, names)))
    assert sum(made == eval(other, names) for other in WRITTEN) == 1


EQUAL = [
    (Runs(a=A, b=B), Runs(a=A.copy(), b=B.copy()), True),
    (Runs(a=A, b=B), Runs(b=B, a=A), False),  # The first ranker orders the pool
    (Runs(a=A, b=B), Runs(a=A, b=A), False),
    (Runs(a=A), Runs(a=pt.Transformer.from_df(A)), False),
    (JudgeGrades(QRELS, 1), JudgeGrades("llm.qrels", 1), False),
    (Draw(300), Draw(np.float64(300)), True),
    (PriorGrades(1, np.array([1, 3])), PriorGrades(1, np.array([1, 3])), True),
    (PriorGrades(1, np.array([1, 3])), PriorGrades(1, (1, 3)), False),
    (UniformGrades(1) >> Draw(3), UniformGrades(1) >> Draw(3), True),
    (Draw(3), "Draw(budget=3)", False),
]


@pytest.mark.parametrize(("one", "other", "equal"), EQUAL)
def test_equal_settings_make_equal_transformers(one, other, equal):
    assert (one == other, other == one) == (equal, equal)
    assert not equal or hash(one) == hash(other)


def test_a_fitted_model_equals_itself_alone():
    fitted, again = (PriorGrades(1).fit(A, QRELS) for _ in range(2))
    assert fitted not in (again, PriorGrades(1))
    assert MixtureGrades(fitted) == MixtureGrades(fitted) != MixtureGrades(again)


def test_frames_and_unknown_objects_are_shown_without_addresses():
    runs = Runs(np.int64(5), a=A, b=pt.Transformer.from_df(B))
    assert repr(runs) == "Runs(depth=5, a=<frame of 3 rows>, b=<pyterrier.transformer.SourceTransformer>)"


def test_an_experiment_runs_what_pipelines_share_once():
    calls = []
    ranker = pt.apply.generic(lambda topics: calls.append(len(topics)) or A)
    systems = [
        Runs(a=ranker) >> UniformGrades(1) >> pt.apply.doc_score(lambda row: -row["rank_a"]),
        Runs(a=ranker) >> UniformGrades(1) >> pt.apply.doc_score(lambda row: row["score_a"]),
    ]
    table = pt.Experiment(systems, TOPICS, QRELS, [P @ 1], ["rank", "score"], plan="tree", verbose=False)
    assert (table["P@1"].tolist(), sum(calls)) == ([1.0, 1.0], 2)


@pytest.mark.parametrize(("depth", "k", "kept"), [(None, 1, 1), (2, 1, 1), (1, 2, 1), (None, 2, 2)])
def test_a_cutoff_cuts_each_ranking(depth, k, kept):
    runs = Runs(depth, allow_missing_queries=True, a=A, b=B)
    wanted = Runs(kept, allow_missing_queries=True, a=A, b=B)
    compiled = ((pt.Transformer.identity() >> runs) % k).compile()
    assert runs % k == runs.fuse_rank_cutoff(k) == wanted
    for cut in (runs % k, compiled):
        assert_frame_equal(cut(TOPICS), wanted(TOPICS))


def test_a_table_names_systems_without_addresses():
    plan = Plan.create(Runs(a=A, b=B) >> UniformGrades(1), TOPICS, "P@1", budget=3, level="query")
    systems = [pt.Transformer.from_df(A), A, pt.Transformer.from_df(B) >> pt.apply.generic(lambda run: run)]
    assert Experiment(systems, plan, QRELS, ["P@1"])["name"].tolist() == ["run_0", "run_1", "run_2"]
