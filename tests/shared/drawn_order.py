"""Plans whose labels come in the order in which they were drawn."""

from typing import Any

import numpy as np
import pandas as pd
from samples import wanted

from pt_active import Plan
from pt_active.plans.making.queries import in_drawing_order


def ordered(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what a plan asks for, in the order in which its units come."""
    return in_drawing_order(plan.tables)[["qid", "docno"]].merge(labels, on=["qid", "docno"])


def in_order(plan: Plan) -> list[str]:
    """The drawn queries in their order."""
    return plan.sample.sort_values("q_priority").qid.tolist()


def prefix(plan: Plan, labels: pd.DataFrame, n: int) -> pd.DataFrame:
    """The labels of the first queries."""
    return wanted(plan, labels)[lambda frame: frame.qid.isin(in_order(plan)[:n])]


def small_pool(seed: int, rankers: int = 2) -> pd.DataFrame:
    """30 queries of 4 documents each, in random orders, with grades from 0 to 2."""
    rng = np.random.default_rng(seed)
    ranks = np.array([[rng.permutation(4) for _ in range(rankers)] for _ in range(30)])
    grades = rng.dirichlet([1, 1, 1], 120)
    keys = pd.DataFrame({"qid": [f"q{n // 4:02}" for n in range(120)], "docno": [f"d{n % 4}" for n in range(120)]})
    ranked = keys.assign(**{f"rank_{name}": ranks[:, i].ravel() for i, name in enumerate("abc"[:rankers])})
    return ranked.assign(**{f"grade_{grade}": grades[:, grade] for grade in range(3)})


def small_plan(level: str, pool: pd.DataFrame, budget: float) -> Plan:
    """A plan of such a pool whose units come one after the other."""
    design: dict[str, Any] = {"design": "successive"} if level == "document" else {}
    return Plan.create(pool, None, "DCG@3", budget=budget, level=level, seed=3, **design)


def judged_by_ann(plan: Plan) -> pd.DataFrame:
    """Records of all documents in the order in which they come, with grades from 0 to 2."""
    keys = in_drawing_order(plan.tables)[["qid", "docno"]].reset_index(drop=True)
    return keys.assign(label=np.arange(len(keys)) * 7 % 3, annotator="ann", status="judged")
