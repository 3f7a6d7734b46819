"""Plans whose labels come in the order in which they were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from samples import wanted

from pt_active import Plan
from pt_active.plans.making.queries import in_drawing_order


def ordered(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what a plan asks for, in the order in which its units come."""
    return in_drawing_order(plan.tables, "drawn")[["qid", "docno"]].merge(labels, on=["qid", "docno"])


def in_order(plan: Plan) -> list[str]:
    """The drawn queries in their order."""
    return plan.sample.sort_values("q_priority").qid.tolist()


def prefix(plan: Plan, labels: pd.DataFrame, n: int) -> pd.DataFrame:
    """The labels of the first queries."""
    return wanted(plan, labels)[lambda frame: frame.qid.isin(in_order(plan)[:n])]


def small_pool(seed: int, rankers: int = 2) -> pd.DataFrame:
    """30 queries of 4 documents each, in random orders, with grades from 0 to 2."""
    rng, rows = np.random.default_rng(seed), []
    for number in range(30):
        ranks = [rng.permutation(4) for _ in range(rankers)]
        for place in range(4):
            row = {"qid": f"q{number:02}", "docno": f"d{place}"}
            rows.append(row | {f"rank_{name}": ranks[i][place] for i, name in enumerate("abc"[:rankers])})
    grades = rng.dirichlet([1, 1, 1], len(rows))
    return pd.DataFrame(rows).assign(grade_0=grades[:, 0], grade_1=grades[:, 1], grade_2=grades[:, 2])


def small_plan(level: str, pool: pd.DataFrame, budget: float) -> Plan:
    """A plan of such a pool whose units come one after the other."""
    design: dict[str, Any] = {"design": "successive"} if level == "document" else {}
    return Plan.create(pool, None, "DCG@3", budget=budget, level=level, seed=3, **design)


def judged_by_ann(plan: Plan) -> pd.DataFrame:
    """Records of all documents in the order in which they come, with grades from 0 to 2."""
    keys = in_drawing_order(plan.tables)[["qid", "docno"]].reset_index(drop=True)
    return keys.assign(label=np.arange(len(keys)) * 7 % 3, annotator="ann", status="judged")
