"""Every transformer of the package takes a frame without rows, and returns one with the columns of any other."""

import pkgutil
from importlib import import_module

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

import pt_active
from pt_active import (
    ColdGrades,
    Draw,
    ForestGrades,
    JudgeGrades,
    MixtureGrades,
    OrderedLogitGrades,
    PriorGrades,
    Runs,
    SamplingDistribution,
    UniformGrades,
)

TOPICS = pd.DataFrame({"qid": [f"q{i}" for i in range(12)], "query": [f"words {i}" for i in range(12)]})
RUN = TOPICS[["qid"]].merge(pd.DataFrame({"docno": [f"d{i}" for i in range(6)], "score": np.arange(6.0)}), how="cross")
TURNED = RUN.assign(score=-RUN["score"])
QRELS = RUN[["qid", "docno"]].assign(label=np.arange(len(RUN)) % 7 % 3)
RUNS = Runs(a=RUN, b=TURNED)

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


def check(transformer: pt.Transformer, empty: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """What a transformer makes of a frame without rows."""
    made = transformer(empty)
    assert made.empty
    assert list(made.columns) == list(transformer(full).columns)
    ids = made[made.columns.intersection(["qid", "docno"])]
    assert {str(kind) for kind in ids.dtypes} <= {"object", "str"}
    return made


@pytest.mark.filterwarnings("ignore:.*convergence|.*stopped early|.*documents down to rank|.*mislead")
@pytest.mark.parametrize("name", GRADES)
@pytest.mark.parametrize("pool", [RUN, RUNS(TOPICS)], ids=["run", "union"])
def test_grade_models(name, pool):
    model, empty = GRADES[name], pool.iloc[:0] if pool is RUN else RUNS(TOPICS.iloc[:0])
    if hasattr(model, "fit"):
        if name != "judge":
            assert list(model(empty).columns[-3:]) == ["grade_0", "grade_1", "grade_2"]
        model.fit(pool, QRELS)
    for each in (empty, pool.iloc[:0]):
        check(model, each, pool)


@pytest.mark.parametrize("level", DESIGNS)
def test_the_road_from_topics_to_a_sample(level):
    full = TOPICS.assign(lang="en")
    empty = full.iloc[:0]
    for step in (RUNS, UniformGrades(2), DESIGNS[level], Draw(budget=40)):
        empty, full = check(step, empty, full), step(full)


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(each) for each in kind.__subclasses__()))


def test_no_transformer_is_left_out():
    for module in pkgutil.walk_packages(pt_active.__path__, "pt_active."):
        import_module(module.name)
    ours = {each for each in subclasses(pt.Transformer) if each.__module__.startswith("pt_active.")}
    tried = {type(each) for each in (*GRADES.values(), RUNS, *DESIGNS.values(), Draw(budget=1))}
    assert ours - tried <= {base for each in tried for base in each.__mro__[1:]}
