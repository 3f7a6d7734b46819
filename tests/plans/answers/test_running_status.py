"""A plan that is followed label by label says what its status says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered

from pt_active import DCG, Plan
from pt_active.plans.answers.gaps import Said
from pt_active.plans.answers.looks import Question
from pt_active.plans.answers.status_of_plan import RunningStatus


@pytest.mark.parametrize("level", ["query", "document"])
def test_each_addition_says_what_the_status_of_all_labels_says(level, labels, graded) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=300, level=level, seed=3)
    labels, following = ordered(plan, labels), plan.follow(margin=0.5)
    seen = 0
    for size in (0, 1, 2, 30, 31, 120, 121, len(labels)):
        status = following.add(labels.iloc[seen:size])
        assert str(status) == str(plan.status(labels.head(size), margin=0.5))
        seen = size


def test_labels_may_come_in_any_order_and_twice(labels, graded) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=200, level="document", seed=3)
    labels, following = ordered(plan, labels), plan.follow()
    following.add(labels.iloc[100:160])
    following.add(labels.iloc[120:150])
    some = following.add(labels.iloc[:50])
    assert (some.judged, some.open) == (110, 50)
    whole = plan.status(labels.iloc[[*range(50), *range(100, 160)]])
    assert some == whole.with_said(Said(()), given=False)
    assert len(whole.blocked) == 50
    stray = labels.head(2).assign(docno=["nothing", "nowhere"])
    assert following.add(pd.concat([labels.iloc[50:100], stray])).judged == 160


def test_a_block_with_new_grades_is_followed_too(labels, graded) -> None:
    first = Plan.create(graded, None, DCG @ 10, budget=100, level="document", seed=3)
    every, labels = labels, ordered(first, labels)
    columns = [f"grade_{g}" for g in range(4)]
    plan = first.extend(80, labels, graded.assign(**dict.fromkeys(columns, 0.25)))
    more = ordered(plan, every)
    following = plan.follow()
    following.add(labels.iloc[:60])
    following.add(pd.concat([labels.iloc[60:], more.head(20)]))
    status = following.add(more.iloc[20:70])
    assert status.judged == 170
    assert str(status) == str(plan.status(pd.concat([labels, more.head(70)])))
    # What comes late of the first block is known to the second one.
    late = plan.follow()
    for part in (pd.concat([labels.drop(index=7), more.head(70)]), labels.loc[[7]]):
        status = late.add(part)
    assert str(status) == str(plan.status(pd.concat([labels, more.head(70)])))


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_label_that_changes_counts_as_it_is_now_and_is_counted(level, labels, graded) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=300, level=level, seed=3)
    labels, following = ordered(plan, labels), plan.follow()
    following.add(labels.head(60))
    corrected = labels.assign(label=labels["label"].where(labels.index > 1, 3 - labels["label"]))
    state = following.add(corrected.head(2))
    expected = plan.status(corrected.head(60))
    assert (state.value, state.low, state.high) == (expected.value, expected.low, expected.high)
    assert (state.changed, state.voided, expected.changed) == (2, False, 0)
    assert "2 labels changed after they had counted; earlier looks do not count" in str(state)
    assert following.add(corrected.iloc[60:90]).changed == following.add(corrected.head(90)).changed == 2
    with pytest.raises(ValueError, match="above"):
        following.add(labels.iloc[90:91].assign(label=9))
    assert following.add(labels.iloc[90:92]).n_judged == plan.status(corrected.head(92)).n_judged


def test_labels_that_change_after_a_verdict_are_said_and_undo_it(labels, graded) -> None:
    """A judge who favours the first ranker is found out, and all labels are given anew."""
    plan = Plan.create(graded, None, DCG @ 10, budget=400, level="document", seed=3)
    labels, following = ordered(plan, labels), plan.follow()
    known = graded.set_index(["qid", "docno"]).loc[labels.set_index(["qid", "docno"]).index]
    ranks = known[["rank_production", "rank_candidate"]].replace(-1, 99).to_numpy()
    partial = labels.assign(label=np.where(ranks[:, 0] < ranks[:, 1], 3, 0))
    assert following.add(partial.head(150)).winner == "production"
    state = following.add(labels.head(150))
    different = int((partial["label"] != labels["label"]).head(150).sum())
    assert (state.winner, state.changed, state.voided) == (None, different, True)
    assert f"{different} labels changed since the verdict; earlier looks do not count" in str(state)
    assert state.e_value == plan.status(labels.head(150)).e_value


def test_only_looks_at_any_time_can_be_followed(graded) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=300, seed=3, level="query")
    with pytest.raises(ValueError, match="only looks 'always' can be followed"):
        RunningStatus(plan.tables, Question((0, 1), plan.measure, "pocock", None, 0.95))
