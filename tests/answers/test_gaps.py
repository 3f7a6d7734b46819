"""A table of scores with a blank near its beginning."""

from __future__ import annotations

import numpy as np
import pytest
from made_answers import made, true_scores

from pt_active import Answers
from pt_active.plans.making.queries import in_drawing_order


def test_a_blank_in_row_4_of_50_is_named_and_all_other_items_count() -> None:
    table = true_scores(made(60))
    answers = Answers(table.drop(columns="score"), "1-5")
    plan = answers.plan(50)
    scores = table[["item", "system", "score"]].assign(score=lambda rows: 1 + 4 * rows["score"])
    labels = in_drawing_order(plan.tables)[["qid", "docno"]].merge(answers.labels(scores))
    blank = labels.loc[3]
    some = labels.drop(index=3)
    state = plan.status(some)
    assert (state.n_judged, state.left_out, state.open) == (48, 1, 1)
    assert np.isnan(state.value)
    whole = plan.status(labels)
    assert state.low <= whole.low < whole.high <= state.high
    assert f"estimate    none before query {blank.qid} has its labels" in str(state)
    assert f"document '{blank.docno}' of query '{blank.qid}'" in str(state)
    with pytest.raises(
        ValueError, match=f"2 of 49 labels are judged .*: document '{blank.docno}' of query '{blank.qid}' "
    ):
        plan.so_far(some)
    with pytest.raises(ValueError, match=r'judge them, or pass missing="nonrelevant"; or look') as error:
        plan.compare(some)
    assert "nonrelevant" not in str(state)
    assert f"'{blank.docno}'" in str(error.value)
