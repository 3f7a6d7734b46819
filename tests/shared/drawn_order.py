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


def small_pool(seed: int, rankers: int = 2, queries: int = 30, documents: int = 4) -> pd.DataFrame:
    """Queries with all documents in random orders, and grades from 0 to 2."""
    rng, size = np.random.default_rng(seed), queries * documents
    ranks = np.array([[rng.permutation(documents) for _ in range(rankers)] for _ in range(queries)])
    grades = rng.dirichlet([1, 1, 1], size)
    query, document = np.divmod(np.arange(size), documents)
    keys = pd.DataFrame({"qid": [f"q{n:02}" for n in query], "docno": [f"d{n}" for n in document]})
    ranked = keys.assign(**{f"rank_{name}": ranks[:, i].ravel() for i, name in enumerate("abcd"[:rankers])})
    return ranked.assign(**{f"grade_{grade}": grades[:, grade] for grade in range(3)})


def small_plan(level: str, pool: pd.DataFrame, budget: float) -> Plan:
    """A plan of such a pool whose units come one after the other."""
    design: dict[str, Any] = {"design": "successive"} if level == "document" else {}
    return Plan.create(pool, None, "DCG@3", budget=budget, level=level, seed=3, **design)


def judged_by_ann(plan: Plan) -> pd.DataFrame:
    """Records of all documents in the order in which they come, with grades from 0 to 2."""
    keys = in_drawing_order(plan.tables)[["qid", "docno"]].reset_index(drop=True)
    return keys.assign(label=np.arange(len(keys)) * 7 % 3, annotator="ann", status="judged")
