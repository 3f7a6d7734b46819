"""Gates of rankers that came after a plan keep their level, whatever the model says about documents out of reach."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from populations import plain

from pt_active import Outlook, Plan

pytestmark = pytest.mark.slow

SEEDS = 150

GRADES = ["grade_0", "grade_1", "grade_2", "grade_3"]


def slip(share: float) -> float:
    """Three standard errors."""
    return float(3 * np.sqrt(share * (1 - share) / SEEDS))


def released() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ranker b is in production; a, which moves the first eight documents of b, is what the plan is made for."""
    pool, qrels = plain(1, 120)
    return with_candidate(pool, moved(pool, 3)), qrels


def moved(pool: pd.DataFrame, places: int) -> pd.Series:
    return pool["rank_b"].where(pool["rank_b"] > 7, (pool["rank_b"] + places) % 8)


def with_candidate(pool: pd.DataFrame, rank: pd.Series) -> pd.DataFrame:
    return pool.assign(rank_a=rank, score_a=-rank.astype(float))


def truth_of(pool: pd.DataFrame, rank: pd.Series, qrels: pd.DataFrame) -> float:
    """The difference of a ranker and b, from all labels."""
    census = Plan.create(with_candidate(pool, rank), None, "DCG@10", budget=1e9, level="query")
    return census.compare(qrels).difference


def run_of(pool: pd.DataFrame, rank: pd.Series) -> pd.DataFrame:
    return pool[["qid", "docno"]].assign(score=-rank.astype(float))


def test_a_later_regression_that_the_labels_reach_is_caught_as_promised() -> None:
    """The plan has the budget that its outlook wants for a; the later ranker moves the same documents elsewhere."""
    pool, qrels = released()
    promised = Outlook.of(pool, None, "DCG@10").until_known(-truth_of(pool, pool["rank_a"], qrels) / 2, progress=False)
    budget = promised.set_index("design").cost_90["successive"]
    rank = moved(pool, 2)
    truth, outcomes = truth_of(pool, rank, qrels), []
    for seed in range(SEEDS):
        plan = Plan.create(pool, None, "DCG@10", budget=budget, level="document", design="successive", seed=seed)
        gates = [
            plan.gate_later(qrels, run_of(pool, rank), "b", share * -truth, queries="these")
            for share in (0.5, 1 - 1e-9, 2)
        ]
        outcomes.append([gate.outcome for gate in gates])
        assert gates[0].reach is not None
        assert gates[0].reach.is_whole
    twice, boundary, none = np.array(outcomes).T
    assert (twice == "fail").mean() >= 0.9 - slip(0.9)
    assert (twice == "pass").mean() <= 0.025 + slip(0.025)
    assert (boundary == "pass").mean() <= 0.025 + slip(0.025)
    assert (none == "fail").mean() <= 0.025 + slip(0.025)


@pytest.mark.filterwarnings("ignore:the model sees no variance in anything")
@pytest.mark.parametrize("doubt", [0.0, 1e-4])
@pytest.mark.parametrize(("believed", "true", "wrong"), [(3, 0, "pass"), (0, 3, "fail")])
def test_a_model_that_is_wrong_about_what_the_plan_never_asks_for_decides_nothing(
    believed: int, true: int, wrong: str, doubt: float
) -> None:
    """A tenth of the queries has a document first that was below the cutoff of both rankers, and is misjudged there."""
    pool, qrels = released()
    below = pool["rank_b"] >= 10
    pool.loc[below, GRADES] = doubt / 3
    pool.loc[below, f"grade_{believed}"] = 1 - doubt
    never = pool.loc[below, ["qid", "docno"]].merge(qrels.reset_index(), on=["qid", "docno"])["index"]
    qrels = qrels.assign(label=qrels["label"].where(~qrels.index.isin(never), true))
    some = pool["qid"].isin(sorted(pool["qid"].unique())[:12])
    rank = pool["rank_b"].where(~(some & (pool["rank_b"] == 10)), -1)
    truth, outcomes, shares = truth_of(pool, rank, qrels), [], []
    rule, margin = ("non-inferior", -truth) if truth < 0 else ("better", truth)
    for seed in range(SEEDS):
        plan = Plan.create(pool, None, "DCG@10", budget=400, level="document", design="successive", seed=seed)
        # The ranker is worse than the margin allows by next to nothing; or it is better by a little more than that.
        gate = plan.gate_later(qrels, run_of(pool, rank), "b", margin * (1 - 1e-6), rule, queries="these")
        assert gate.reach is not None
        outcomes.append(gate.outcome)
        shares.append(gate.reach.unreached)
    assert (np.array(outcomes) == wrong).mean() <= 0.025 + slip(0.025)
    assert (np.array(shares) > 0).all() == (doubt > 0)
    assert max(shares) < 0.05
