"""Gates rarely let a regression through, and catch one of twice the margin as often as the outlook promises."""

import numpy as np
import pandas as pd
import pytest
from populations import plain

from pt_active import Outlook, Plan

pytestmark = pytest.mark.slow

SEEDS = 60


def pool_with_regression() -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """A fair grade model; the candidate ``a`` has the last two of its first eight documents in each place before."""
    pool, qrels = plain(1, 120)
    worse = pool["rank_a"].where(pool["rank_a"] > 7, (pool["rank_a"] + 3) % 8)
    pool = pool.assign(rank_a=worse, score_a=-worse.astype(float))
    census = Plan.create(pool, None, "DCG@10", budget=1e9, level="query")
    return pool, qrels, census.compare(qrels).difference


@pytest.mark.filterwarnings("ignore:.*hand-picked")
def test_gates_err_as_seldom_as_they_say_and_find_what_the_outlook_promises():
    """A regression of twice the margin, of the margin, and of half of it, at the end of a plan."""
    pool, qrels, truth = pool_with_regression()
    assert truth < 0
    foreseen = Outlook.of(pool, None, "DCG@10").until_known(-truth / 2, progress=False).set_index("design")
    how = {"budget": foreseen.cost_90["successive"], "level": "document", "design": "successive"}
    found: dict[float, list[str]] = {0.5: [], 1 - 1e-9: [], 2.0: []}
    for seed in range(SEEDS):
        plan = Plan.create(pool, None, "DCG@10", **how, seed=seed)
        for times, outcomes in found.items():
            outcomes.append(plan.gate(qrels, -times * truth, queries="these").outcome)
    twice, same, half = ({word: np.equal(each, word).mean() for word in ("pass", "fail")} for each in found.values())
    often, seldom = 0.9 - 3 * np.sqrt(0.9 * 0.1 / SEEDS), 0.025 + 3 * np.sqrt(0.025 * 0.975 / SEEDS)
    assert min(twice["fail"], half["pass"]) >= often
    assert max(twice["pass"], same["pass"], half["fail"]) <= seldom
