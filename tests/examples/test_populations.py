"""Hostile populations: the true difference is 0, and each attacks what it says."""

import numpy as np
import pandas as pd
import pytest
from populations import POPULATIONS, HostilePopulation

from pt_active import Plan


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
def test_neither_ranker_is_better_and_a_plan_takes_it(name):
    for seed, queries in ((0, 200), (1, 75)):
        found = POPULATIONS[name](seed, queries)
        table = values(found)
        assert len(table) == queries
        for measure in ("dcg", "p"):
            difference = table[f"{measure}_a"] - table[f"{measure}_b"]
            assert abs(difference @ table["weight"]) / table["weight"].sum() < 1e-12
        assert (table["dcg_a"] != table["dcg_b"]).any()
    plan = Plan.create(found.pool, None, "DCG@10", budget=10**6, level="query")
    assert plan.compare(found.qrels, first="a", second="b").difference == pytest.approx(0, abs=1e-12)
