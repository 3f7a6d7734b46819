"""Transformers among those of PyTerrier: written, compared, cut, named, planned, and given frames without rows."""

import pkgutil
from importlib import import_module

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import P
from pandas.testing import assert_frame_equal

import pt_active
from pt_active import (
    ColdGrades,
    Draw,
    Experiment,
    ForestGrades,
    JudgeGrades,
    MixtureGrades,
    OrderedLogitGrades,
    Plan,
    PriorGrades,
    Runs,
    SamplingDistribution,
    UniformGrades,
    UnitCost,
    plan_of,
)

TOPICS = pd.DataFrame({"qid": [f"q{i}" for i in range(12)], "query": [f"words {i}" for i in range(12)]})
A = TOPICS[["qid"]].merge(pd.DataFrame({"docno": [f"d{i}" for i in range(6)], "score": np.arange(6.0)}), how="cross")
B = A.assign(score=-A["score"])
QRELS = A[["qid", "docno"]].assign(label=np.arange(len(A)) % 7 % 3)
RUNS = Runs(a=A, b=B)

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
    "PriorGrades(3)",
    "OrderedLogitGrades(3)",
    "OrderedLogitGrades(3, prior_scale=2.0)",
    "ForestGrades(3, seed=1)",
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


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (RUNS, Runs(a=A.copy(), b=B.copy()), True),
        (RUNS, Runs(b=B, a=A), False),  # The first ranker orders the pool
        (RUNS, Runs(a=A, b=A), False),
        (Runs(a=A), Runs(a=pt.Transformer.from_df(A)), False),
        (JudgeGrades(QRELS, 1), JudgeGrades("llm.qrels", 1), False),
        (Draw(300), Draw(np.float64(300)), True),
        (UniformGrades(1) >> Draw(3), UniformGrades(1) >> Draw(3), True),
        (Draw(3), "Draw(budget=3)", False),
    ],
)
def test_equal_settings_make_equal_transformers(one, other, equal):
    assert (one == other, other == one) == (equal, equal)
    assert not equal or hash(one) == hash(other)


def test_a_fitted_model_equals_itself_alone():
    fitted, again = (PriorGrades(2).fit(A, QRELS) for _ in range(2))
    assert fitted not in (again, PriorGrades(2))
    assert MixtureGrades(fitted) == MixtureGrades(fitted) != MixtureGrades(again)


def test_an_experiment_runs_what_pipelines_share_once():
    calls = []
    ranker = pt.apply.generic(lambda topics: calls.append(len(topics)) or A)
    orders = (lambda row: -row["rank_a"], lambda row: row["score_a"])
    systems = [Runs(a=ranker) >> UniformGrades(1) >> pt.apply.doc_score(order) for order in orders]
    table = pt.Experiment(systems, TOPICS, QRELS, [P @ 1], ["rank", "score"], plan="tree", verbose=False)
    assert table["P@1"].nunique() == 1
    assert sum(calls) == len(TOPICS)


@pytest.mark.parametrize(("depth", "k", "kept"), [(None, 1, 1), (2, 1, 1), (1, 2, 1), (None, 2, 2)])
def test_a_cutoff_cuts_each_ranking(depth, k, kept):
    runs, wanted = Runs(depth, a=A, b=B), Runs(kept, a=A, b=B)
    assert len(wanted(TOPICS)) == 2 * kept * len(TOPICS)  # Both rankings have other documents on top
    compiled = ((pt.Transformer.identity() >> runs) % k).compile()
    assert runs % k == runs.fuse_rank_cutoff(k) == wanted
    for cut in (runs % k, compiled):
        assert_frame_equal(cut(TOPICS), wanted(TOPICS))


def test_frames_unknown_objects_and_systems_are_shown_without_addresses():
    runs = Runs(np.int64(5), a=A, b=pt.Transformer.from_df(B))
    assert repr(runs) == "Runs(depth=5, a=<frame of 72 rows>, b=<pyterrier.transformer.SourceTransformer>)"
    plan = Plan.create(RUNS >> UniformGrades(2), TOPICS, "P@1", budget=72, level="query")
    systems = [pt.Transformer.from_df(A), A, pt.Transformer.from_df(B) >> pt.apply.generic(lambda run: run)]
    assert Experiment(systems, plan, QRELS, ["P@1"])["name"].tolist() == ["run_0", "run_1", "run_2"]


GRADES = {
    "uniform": UniformGrades(2),
    "cold": ColdGrades(2),
    "prior": PriorGrades(2),
    "logit": OrderedLogitGrades(2),
    "forest": ForestGrades(2, trees=2),
    "judge": JudgeGrades(QRELS, 2),
    "mixture": MixtureGrades(UniformGrades(2), PriorGrades(2)),
}
DESIGNS = {level: SamplingDistribution("DCG@5", level=level) for level in ("query", "document")}


def without_rows(transformer: pt.Transformer, empty: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """What a transformer makes of a frame without rows: one with the columns of any other."""
    made = transformer(empty)
    assert made.empty
    assert list(made.columns) == list(transformer(full).columns)
    ids = made[made.columns.intersection(["qid", "docno"])]
    assert {str(kind) for kind in ids.dtypes} <= {"object", "str"}
    return made


@pytest.mark.filterwarnings("ignore:.*convergence|.*stopped early|.*documents down to rank|.*mislead")
@pytest.mark.parametrize("name", GRADES)
@pytest.mark.parametrize("pool", [A, RUNS(TOPICS)], ids=["run", "union"])
def test_grade_models_take_frames_without_rows(name, pool):
    model, empty = GRADES[name], pool.iloc[:0] if pool is A else RUNS(TOPICS.iloc[:0])
    if hasattr(model, "fit"):
        if name != "judge":
            assert list(model(empty).columns[-3:]) == ["grade_0", "grade_1", "grade_2"]
        model.fit(pool, QRELS)
    for each in (empty, pool.iloc[:0]):
        without_rows(model, each, pool)


@pytest.mark.parametrize("level", DESIGNS)
def test_the_road_from_topics_to_a_sample_takes_frames_without_rows(level):
    full = TOPICS.assign(lang="en")
    empty = full.iloc[:0]
    for step in (RUNS, UniformGrades(2), DESIGNS[level], Draw(budget=40)):
        empty, full = without_rows(step, empty, full), step(full)


@pytest.mark.parametrize(
    ("rankers", "design", "replace"), [(1, None, False), (1, "optimal", True), (2, None, True), (2, "optimal", False)]
)
def test_a_plan_has_the_sample_that_the_pipeline_returns(demo, grades, rankers, replace, design):
    runs, topics = Runs(**dict(list(demo.runs.items())[:rankers])), demo.topics.head(40)
    distribution = SamplingDistribution("DCG@10", UnitCost(2.0), level="query", design=design)
    road = runs >> grades >> distribution >> Draw(300, replace=replace, seed=4)
    sample, plan = road(topics), plan_of(road, topics)
    same = [column for column in sample.columns if column in plan.sample.columns and column != "q_believed"]
    assert {"qid", "q_prob", "q_draws", "q_importance", "q_inclusion"} <= set(same)
    assert_frame_equal(sample[same], plan.sample[same])
    arguments = ("DCG@10", UnitCost(2.0), 300, design, "query", 4)
    assert Plan.create(runs >> grades, topics, *arguments, replace=replace, defensive=0.1).id == plan.id


def test_a_graded_pool_may_stand_in_place_of_topics_and_another_pipeline_is_refused(demo, grades):
    pool = (Runs(**demo.runs) >> grades)(demo.topics)
    end = SamplingDistribution("DCG@10", level="query") >> Draw(draws=12)
    assert plan_of(end, pool).sample["qid"].tolist() == end(pool)["qid"].tolist()
    for road in (Draw(300), Runs(**demo.runs) >> grades, grades >> SamplingDistribution("DCG@10")):
        with pytest.raises(ValueError, match="ends in SamplingDistribution"):
            plan_of(road, demo.topics)


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(each) for each in kind.__subclasses__()))


def test_no_transformer_is_left_out():
    for module in pkgutil.walk_packages(pt_active.__path__, "pt_active."):
        import_module(module.name)
    ours = {each for each in subclasses(pt.Transformer) if each.__module__.startswith("pt_active.")}
    tried = {type(each) for each in (*GRADES.values(), RUNS, *DESIGNS.values(), Draw(budget=1))}
    assert ours - tried <= {base for each in tried for base in each.__mro__[1:]}
