"""Hostile populations: the true difference is 0, and each attacks what it says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from populations import POPULATIONS, HostilePopulation, skewed

from pt_active import Plan
from pt_active.frames.columns import grade_columns
from pt_active.inference.replay import Population
from pt_active.sampling.designs import contrast_moments
from pt_active.studies.simulate import labelled_population

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


def replayable(found: HostilePopulation) -> Population:
    return labelled_population(found.pool.merge(found.qrels, on=["qid", "docno"]), "DCG@10")


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


SHARES = {"skewed": (25, 175), "skewed_mirrored": (175, 25), "skewed_32": (6, 186), "skewed_32_mirrored": (186, 6)}


@pytest.mark.parametrize(("name", "shares"), [*SHARES.items(), ("dominant", (1, 199))])
def test_one_ranker_is_better_in_most_queries(name, shares):
    """The numbers of queries in which a and b are better; the rest are ties."""
    for seed in SEEDS:
        difference = replayable(POPULATIONS[name](seed)).target
        assert ((difference > 1e-12).sum(), (difference < -1e-12).sum()) == shares


def claims(name: str) -> np.ndarray:
    """Means over seeds: promised over true variance of a difference, and the correlations of difference and value."""
    rows = []
    for seed in range(6):
        population = replayable(POPULATIONS[name](seed))
        model, variance = contrast_moments(population.moments, 0, 1)
        pairs = (population.target, model), (population.values[:, 0], population.moments.mean[:, 0])
        same = [np.corrcoef(*pair)[0, 1] if pair[1].std() > 0 else 0.0 for pair in pairs]
        rows.append([variance.mean() / ((population.target - model) ** 2).mean(), *same])
    return np.mean(rows, axis=0)


def test_models_are_as_good_or_bad_as_they_are_said_to_be():
    promised, of_difference, of_value = claims("plain")
    assert 0.7 < promised < 1.4
    assert of_difference > 0.4
    assert of_value > 0.7
    assert claims("overconfident")[0] < 0.1
    assert (claims("wrong")[1:] < [-0.02, -0.4]).all()
    for seed in SEEDS:
        pool = POPULATIONS["constant"](seed).pool
        assert len(pool[grade_columns(pool.columns)].drop_duplicates()) == 1


def test_impossible_populations():
    with pytest.raises(ValueError, match="one_in must be a power of 2 of at least 4, got 12"):
        skewed(0, one_in=12)
    with pytest.raises(ValueError, match="skewed in one of 32 queries needs as many; got 31"):
        skewed(0, 31, one_in=32)
    with pytest.raises(ValueError, match="a population with a dominant query needs others; got 1 in all"):
        POPULATIONS["dominant"](0, 1)
