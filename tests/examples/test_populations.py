"""Hostile populations: the true difference is 0, and each attacks what it says."""

import numpy as np
import pandas as pd
import pytest
from populations import POPULATIONS, HostilePopulation

from pt_active import Plan
from pt_active.frames.columns import grade_columns


def values(found: HostilePopulation) -> pd.DataFrame:
    """Weight of each query, and both rankers' DCG and number of relevant documents in their first ten."""
    frame = found.pool.merge(found.qrels, on=["qid", "docno"])
    of = {"weight": frame.get("traffic", pd.Series(1.0, frame.index))}
    for ranker in "ab":
        rank = frame[f"rank_{ranker}"]
        of[f"dcg_{ranker}"] = (2.0 ** frame["label"] - 1) / np.log2(rank + 2) * (rank < 10)
        of[f"p_{ranker}"] = (frame["label"] > 0) & (rank < 10)
    return pd.DataFrame(of).groupby(frame["qid"]).agg({name: "sum" for name in of} | {"weight": "first"})


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("queries", [200, 75])
def test_neither_ranker_is_better(name, queries):
    for seed in range(2):
        table = values(POPULATIONS[name](seed, queries))
        assert len(table) == queries
        for measure in ("dcg", "p"):
            difference = table[f"{measure}_a"] - table[f"{measure}_b"]
            assert abs(difference @ table["weight"]) / table["weight"].sum() < 1e-12
        assert (table["dcg_a"] != table["dcg_b"]).any()


@pytest.mark.parametrize("name", POPULATIONS)
def test_a_population_is_what_a_plan_takes(name):
    pool, qrels = POPULATIONS[name](1, 75)
    ranks = pool.groupby("qid")[["rank_a", "rank_b"]].agg(lambda rank: sorted(rank) == list(range(12)))
    assert ranks.all(axis=None)
    grades = pool[grade_columns(pool.columns)]
    np.testing.assert_allclose(grades.sum(axis=1), 1)
    assert qrels["label"].between(0, grades.shape[1] - 1).all()
    plan = Plan.create(pool, None, "DCG@10", budget=10**6, level="query")
    assert plan.compare(qrels, first="a", second="b").difference == pytest.approx(0, abs=1e-12)
