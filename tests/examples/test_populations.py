"""Hostile populations: the true difference is 0, and each attacks what it says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from populations import POPULATIONS, HostilePopulation

from pt_active import Plan
from pt_active.frames.columns import grade_columns

SEEDS = range(2)


def values(found: HostilePopulation, cutoff: int = 10) -> pd.DataFrame:
    """Both rankers' DCG and precision of each query and its weight, by a plain loop over the frames."""
    rows: dict[str, dict[str, float]] = {}
    for row in found.pool.merge(found.qrels, on=["qid", "docno"]).to_dict("records"):
        of = rows.setdefault(row["qid"], {f"{m}_{r}": 0.0 for m in ("dcg", "p") for r in "ab"})
        of["weight"] = row.get("traffic", 1.0)
        for ranker in "ab":
            if 0 <= row[f"rank_{ranker}"] < cutoff:
                of[f"dcg_{ranker}"] += (2 ** row["label"] - 1) / math.log2(row[f"rank_{ranker}"] + 2)
                of[f"p_{ranker}"] += (row["label"] > 0) / cutoff
    return pd.DataFrame.from_dict(rows, orient="index")


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("queries", [200, 75])
def test_neither_ranker_is_better(name, queries):
    for seed in SEEDS:
        found = POPULATIONS[name](seed, queries)
        table = values(found)
        assert len(table) == queries
        for measure in ("dcg", "p"):
            difference = table[f"{measure}_a"] - table[f"{measure}_b"]
            assert abs(difference @ table["weight"]) / table["weight"].sum() < 1e-12
        assert (table["dcg_a"] != table["dcg_b"]).any()


@pytest.mark.parametrize("name", POPULATIONS)
def test_a_population_is_what_a_plan_takes(name):
    found = POPULATIONS[name](1)
    ranks = found.pool[["rank_a", "rank_b"]]
    assert (ranks.groupby(found.pool["qid"]).agg(lambda rank: sorted(rank) == list(range(12)))).all(axis=None)
    np.testing.assert_allclose(found.pool[grade_columns(found.pool.columns)].sum(axis=1), 1)
    assert found.qrels["label"].between(0, len(grade_columns(found.pool.columns)) - 1).all()
    plan = Plan.create(found.pool, None, "DCG@10", budget=10**6, level="query")
    census = plan.compare(found.qrels, first="a", second="b")
    assert census.difference == pytest.approx(0, abs=1e-12)
