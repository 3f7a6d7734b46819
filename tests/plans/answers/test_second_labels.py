"""For documents that wait for a second judge the worst case is assumed, and their first label is not used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_order import judged_by_ann, small_plan, small_pool

from pt_active import Plan
from pt_active.plans.answers.status import Status


def pool(rankers: int = 2) -> pd.DataFrame:
    return small_pool(8, rankers)


def plan_of(level: str, rankers: int = 2) -> Plan:
    return small_plan(level, pool(rankers), 80)


def judged(plan: Plan, twice: list[int]) -> pd.DataFrame:
    """All documents, judged by Ann; those of some places are due to another judge."""
    records = judged_by_ann(plan)
    return records.assign(judges=np.where(records.index.isin(twice), 2, 1))


@pytest.mark.parametrize("level", ["query", "document"])
def test_what_is_due_counts_as_if_it_had_no_label(level: str) -> None:
    plan, due = plan_of(level), [2, 9, 30]
    records = judged(plan, due)
    rest = records.drop(index=due)
    state = plan.status(records)
    assert isinstance(state, Status)
    assert state.due == 3
    assert 1 <= state.open <= 3
    assert replace(state, due=0) == plan.status(rest)
    assert "3 documents have a label that does not count yet: another judge is asked" in str(state)
    assert state == plan.status(records[["qid", "docno", "label"]], records=records)
    gate = plan.gate(records, 0.2, queries="these")
    assert (gate.outcome, gate.status.low, gate.status.due) == (
        plan.gate(rest, 0.2, queries="these").outcome,
        state.low,
        3,
    )
    assert "waiting" in str(gate)
    # Nobody passed them over, so nothing is filled in for them.
    assert plan.status(records, missing="nonrelevant") == state
    for missing in ("error", "nonrelevant"):
        with pytest.raises(
            ValueError, match=r"3 documents have a label that does not count yet: .*; or look at what is judged so far"
        ):
            plan.compare(records, missing=missing)
    pairs = plan_of(level, rankers=3)
    assert "1 document has a label that does not count yet" in str(pairs.status(judged(pairs, [4])))


@pytest.mark.parametrize("level", ["query", "document"])
def test_whatever_the_second_judge_says_nothing_is_taken_back(level: str) -> None:
    """With the second labels the evidence is no smaller, the interval lies within, and nothing has changed."""
    plan, due = plan_of(level), [3, 20]
    records = judged(plan, due)
    state = plan.status(records)
    assert isinstance(state, Status)
    for labels in ((0, 2), (None, 1)):
        second = records.loc[due].assign(annotator="ben", label=pd.array(labels, dtype="Int64"))
        second["status"] = ["skipped" if label is None else "judged" for label in labels]
        whole = plan.status(pd.concat([records, second], ignore_index=True))
        assert (whole.open, whole.due, whole.changed, whole.judged) == (0, 0, 0, whole.drawn)
        assert whole.e_value >= state.e_value * (1 - 1e-9)
        assert state.low - 1e-6 <= whole.low <= whole.high <= state.high + 1e-6


def test_a_look_at_the_end_waits_for_what_is_due() -> None:
    plan = plan_of("query")
    records = judged(plan, [9])
    state = plan.status(records, None)
    assert isinstance(state, Status)
    assert state.judged < plan.status(records.assign(judges=1), None).judged
    assert state.due == 1
