"""Documents that were passed over: they are named, and do not blind the status."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import judged_by_ann as drawn
from drawn_order import small_plan, small_pool

from pt_active import Plan
from pt_active.plans.answers.gaps import Gap
from pt_active.plans.answers.status import Status
from pt_active.plans.making.queries import in_drawing_order


def pool(rankers: int = 2) -> pd.DataFrame:
    return small_pool(4, rankers)


def plan_of(level: str, rankers: int = 2) -> Plan:
    return small_plan(level, pool(rankers), 60)


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_skip_is_named_and_can_be_filled(level: str) -> None:
    plan = plan_of(level)
    records = drawn(plan)
    whole = plan.status(records)
    passed = records.index[7]
    skipped = records.astype({"label": object})
    skipped.loc[passed, ["label", "status"]] = [None, "skipped"]
    state = plan.status(skipped, missing="error")
    qid, docno = records.loc[passed, ["qid", "docno"]]
    assert isinstance(state, Status)
    assert state.blocked == (Gap(qid, docno, "ann", "skipped"),)
    assert f"blocked     by document '{docno}' of query '{qid}' (skipped by ann)" in re.sub(
        " {2,}", "     ", str(state)
    )
    assert state.to_dict()["blocked"] == [{"qid": qid, "docno": docno, "annotator": "ann", "status": "skipped"}]
    assert state.judged < whole.judged == state.drawn
    assert state.left_out > 0

    bridged = plan.status(skipped)
    assert isinstance(bridged, Status)
    assert (bridged.blocked, bridged.open) == (state.blocked, 1)
    assert state.judged < bridged.judged == whole.judged - 1
    assert f"passed over document '{docno}' of query '{qid}' (skipped by ann)" in re.sub(" {2,}", " ", str(bridged))

    as_zero = records.assign(label=records["label"].where(records.index != passed, 0))
    other = plan.status(skipped, missing="nonrelevant")
    assert other.filled == 1
    assert other.blocked == ()
    assert replace(other, filled=0, worst=None) == plan.status(as_zero)
    assert other.worst == (bridged.low, bridged.high)
    assert "1 document without a label counted as not relevant, which misleads if people pass over what" in str(other)


def test_the_gaps_come_in_the_order_of_the_draws_and_name_everyone() -> None:
    plan = plan_of("query")
    records = drawn(plan).astype({"label": object})
    for row, who, status in ((10, "bob", "unjudgeable"), (2, "eve", "skipped")):
        records.loc[row, ["label", "annotator", "status"]] = [None, who, status]
    again = records.loc[[10]].assign(annotator="kim", status="skipped")
    blocked = plan.status(pd.concat([records, again])).blocked
    assert [(each.annotator, each.status) for each in blocked] == [("eve", "skipped"), ("bob, kim", "unjudgeable")]
    told = str(plan.status(records.assign(label=None, status="skipped")))
    assert f"… ({len(records)} documents in all)" in told


def test_labels_of_an_extension_count_although_earlier_ones_are_lacking() -> None:
    """Whatever the labels of the gaps are, the state with them proves no less, and its interval lies within."""
    plan = plan_of("document")
    first = drawn(plan)
    longer = plan.extend(60)
    qrels = pd.concat([first, drawn(longer)], ignore_index=True)[["qid", "docno", "label"]]
    places = [3, 20]
    with_gaps = longer.status(qrels.drop(index=places))
    assert isinstance(with_gaps, Status)
    assert (with_gaps.open, with_gaps.left_out, with_gaps.judged) == (2, 0, with_gaps.drawn - 2)
    for labels in product(range(3), repeat=2):
        filled = qrels.copy()
        filled.loc[places, "label"] = labels
        whole = longer.status(filled)
        assert isinstance(whole, Status)
        assert whole.e_value >= with_gaps.e_value * (1 - 1e-9)
        assert with_gaps.low - 1e-6 <= whole.low <= whole.high <= with_gaps.high + 1e-6
    none = longer.status(qrels.drop(index=places), missing="error")
    assert isinstance(none, Status)
    assert none.judged == 3
    assert with_gaps.high - with_gaps.low < none.high - none.low


def test_a_plan_that_was_drawn_at_once_takes_all_that_lacks_a_label_as_not_relevant() -> None:
    plan = Plan.create(pool(), None, "nDCG@3", budget=60, seed=3)
    labels = drawn(plan)[["qid", "docno", "label"]]
    given = labels.assign(label=labels["label"].mask(labels.index % 9 == 4, -1))
    assert plan.status(given, None).answer == "not settled yet"
    state = plan.status(given, None, missing="nonrelevant")
    zeros = given.assign(label=given["label"].clip(lower=0))
    assert isinstance(state, Status)
    assert state.filled == (given["label"] < 0).sum() > 0
    assert state.value == plan.status(zeros, None).value == plan.compare(zeros).difference
    gate = plan.gate(given, 0.1, looks=None, missing="nonrelevant", queries="these")
    assert gate.status.filled == state.filled
    assert gate.status.value == plan.gate(zeros, 0.1, looks=None, queries="these").status.value
    with pytest.raises(ValueError, match=r"sampled documents? ha(s|ve) no label \(-1 is none\): "):
        plan.compare(given)


@pytest.mark.parametrize("looks", ["always", None])
def test_a_gate_takes_what_was_passed_over_as_not_relevant(looks: str | None) -> None:
    plan = plan_of("document")
    labels = drawn(plan)[["qid", "docno", "label"]]
    given, zeros = labels.drop(index=[7, 20]), labels.assign(label=labels["label"].mask(labels.index.isin([7, 20]), 0))
    open_gate, gate = (
        plan.gate(given, 0.5, looks=looks, missing=policy, queries="these") for policy in (None, "nonrelevant")
    )
    assert len(open_gate.status.blocked) == gate.status.filled == 2
    whole = plan.gate(zeros, 0.5, looks=looks, queries="these").to_dict()
    assert gate.to_dict() | {"filled": 0, "worst": None} == whole
    state = plan.status(given, looks, missing="nonrelevant")
    assert isinstance(state, Status)
    assert gate.status.worst == state.worst
    assert state.worst is not None
    assert f"in the worst case the interval is [{state.worst[0]:.4f}, {state.worst[1]:.4f}]" in str(gate)
    assert "judge what was passed over" in plan.status(given, looks).advice
    with pytest.raises(ValueError, match="unknown missing 'some'"):
        plan.gate(given, 0.5, looks=looks, missing="some", queries="these")


@pytest.mark.parametrize(
    ("design", "measure", "rankers"), [("depth", "RR", 1), ("depth", "nDCG@3", 3), ("surprises", "nDCG@3", 2)]
)
def test_parts_count_with_every_label_that_a_gap_may_have(design: str, measure: str, rankers: int) -> None:
    """So nobody can win by what people skip: what is proved with a gap is proved whatever its label is."""
    plan = Plan.create(pool(rankers), None, measure, budget=70, level="document", design=design, seed=3)
    labels = in_drawing_order(plan.tables).merge(drawn(plan))[["qid", "docno", "label"]]
    about: dict[str, Any] = {"margin": 0.5} if rankers == 1 else {"queries": "new"}
    some, gap = labels.drop(index=2), labels.loc[2]
    wholes = [states(plan, labels.assign(label=labels["label"].where(labels.index != 2, y)), **about) for y in range(3)]
    for state, *filled in zip(states(plan, some, **about), *wholes, strict=True):
        assert (state.judged, state.open, state.n_judged, state.spent) == (4, 1, len(some), len(some))
        assert [(each.qid, each.docno) for each in state.blocked] == [(gap.qid, gap.docno)]
        assert state.waiting == f"document {gap.docno} of query {gap.qid}"
        assert np.isnan(state.value)
        for each in (one.beside or one for one in filled):
            other = state.beside or state
            assert other.low - 1e-12 <= each.low <= each.high <= other.high + 1e-12
        assert {each.resolution for each in filled} == {state.resolution} or state.resolution is None
    many = states(plan, labels.drop(index=range(4)), **about)[0]
    assert (many.judged, many.left_out, len(many.blocked)) == (0, len(labels) - 4, 4)
    strict = states(plan, some, missing="error", **about)[0]
    assert (strict.judged, strict.left_out) == (0, len(some))


def states(plan: Plan, labels: pd.DataFrame, **about: Any) -> tuple[Status, ...]:
    found = plan.status(labels, **about)
    return (found,) if isinstance(found, Status) else found.pairs


# --- documents that wait for a second judge: their first label is not used --------------------------------------------


def plan_for_two(level: str, rankers: int = 2) -> Plan:
    return small_plan(level, small_pool(8, rankers), 80)


def judged(plan: Plan, twice: list[int]) -> pd.DataFrame:
    """All documents, judged by Ann; those of some places are due to another judge."""
    records = drawn(plan)
    return records.assign(judges=np.where(records.index.isin(twice), 2, 1))


@pytest.mark.parametrize("level", ["query", "document"])
def test_what_is_due_counts_as_if_it_had_no_label(level: str) -> None:
    plan, due = plan_for_two(level), [2, 9, 30]
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
    pairs = plan_for_two(level, rankers=3)
    assert "1 document has a label that does not count yet" in str(pairs.status(judged(pairs, [4])))


@pytest.mark.parametrize("level", ["query", "document"])
def test_whatever_the_second_judge_says_nothing_is_taken_back(level: str) -> None:
    """With the second labels the evidence is no smaller, the interval lies within, and nothing has changed."""
    plan, due = plan_for_two(level), [3, 20]
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
