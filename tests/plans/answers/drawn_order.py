"""A plan of queries whose labels come in the order in which they were drawn."""

from __future__ import annotations

import pandas as pd

from pt_active import Plan


def wanted(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what a plan asks for."""
    return plan.assessments[["qid", "docno"]].merge(labels)


def in_order(plan: Plan) -> list[str]:
    """The drawn queries in their order."""
    return plan.sample.sort_values("q_priority").qid.tolist()


def prefix(plan: Plan, labels: pd.DataFrame, n: int) -> pd.DataFrame:
    """The labels of the first queries."""
    return wanted(plan, labels)[lambda frame: frame.qid.isin(in_order(plan)[:n])]
