"""Gates rarely let a regression through, and catch one of twice the margin as often as the outlook promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from populations import plain

from pt_active import Outlook, Plan

pytestmark = pytest.mark.slow

SEEDS = 60

SLIP = 3 * np.sqrt(0.025 * 0.975 / SEEDS)
"""Three standard errors of a share of .025."""


def pool_with_regression() -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """A fair grade model; the candidate ``a`` has the last two of its first eight documents in each place before."""
    pool, qrels = plain(1, 120)
    worse = pool["rank_a"].where(pool["rank_a"] > 7, (pool["rank_a"] + 3) % 8)
    pool = pool.assign(rank_a=worse, score_a=-worse.astype(float))
    census = Plan.create(pool, None, "DCG@10", budget=1e9, level="query")
    return pool, qrels, census.compare(qrels).difference


@pytest.fixture(scope="module")
def outcomes() -> pd.DataFrame:
    """The outcome of the gate of each seed at the end of a plan, for each threshold."""
    pool, qrels, truth = pool_with_regression()
    assert truth < 0
    margin = -truth / 2
    foreseen = Outlook.of(pool, None, "DCG@10").until_known(margin, progress=False).set_index("design")
    budget = foreseen.cost_90["successive"]
    rows = []
    for seed in range(SEEDS):
        plan = Plan.create(pool, None, "DCG@10", budget=budget, level="document", design="successive", seed=seed)
        rows.append(
            {
                "twice": plan.gate(qrels, margin, queries="these").outcome,
                "boundary": plan.gate(qrels, -truth * (1 - 1e-9), queries="these").outcome,
                "none": plan.gate(qrels, -2 * truth, queries="these").outcome,
            }
        )
    return pd.DataFrame(rows)


@pytest.mark.filterwarnings("ignore:.*hand-picked")
def test_a_regression_of_twice_the_margin_is_caught_as_promised(outcomes: pd.DataFrame) -> None:
    share = (outcomes.twice == "fail").mean()
    assert share >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / SEEDS)
    assert (outcomes.twice == "pass").mean() <= 0.025 + SLIP


def test_a_regression_of_the_margin_seldom_passes(outcomes: pd.DataFrame) -> None:
    assert (outcomes.boundary == "pass").mean() <= 0.025 + SLIP


def test_half_of_the_margin_passes_as_often_as_twice_of_it_fails(outcomes: pd.DataFrame) -> None:
    assert (outcomes.none == "fail").mean() <= 0.025 + SLIP
    assert (outcomes.none == "pass").mean() >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / SEEDS)
