"""Every answer says what it guarantees, and what has to be true for that."""

import json
import warnings

import numpy as np
import pytest
from ir_measures import RR, nDCG

from pt_active import DCG, Plan

RIGHT = "the labels are right"
RANDOM = "the pool's queries are a random sample of them"
OUTSIDE = "documents outside the pool are not relevant"
BIAS = "the bias of single documents is small beside the error"
UNLABELLED = "documents without a label are not relevant"


@pytest.mark.parametrize(
    ("measure", "level", "budget", "look", "end", "assumed"),
    [
        (DCG @ 10, "document", 300, "any time", "large samples", ()),
        (DCG @ 10, "query", 300, "any time", "large samples", ()),
        (nDCG @ 10, "document", 300, "large samples", "large samples", (OUTSIDE, BIAS)),
        (RR @ 10, "document", 300, "large samples", "large samples", ()),
        (DCG @ 10, "document", 100_000, "exact", "exact", ()),
    ],
)
def test_each_way_of_looking_has_its_guarantee(graded, demo, measure, level, budget, look, end, assumed):
    plan = Plan.create(graded, demo.topics, measure, level=level, budget=budget, seed=1)
    labels = demo.judge(plan.assessments)
    state, result = plan.status(labels), plan.compare(labels)
    assert (state.guarantee, result.guarantee) == (look, end)
    assert state.assumptions == result.assumptions == (RIGHT, *assumed)
    new = plan.status(labels, queries="new"), plan.compare(labels, queries="new")
    for each in new:
        assert (each.guarantee, each.assumptions) == ("large samples", (RIGHT, *assumed, RANDOM))
    for answer in (state, result, *new, plan.rank(labels), *plan.estimate(labels).values()):
        kept = json.loads(json.dumps(answer.to_dict()))
        assert (kept["guarantee"], kept["assumptions"]) == (answer.guarantee, list(answer.assumptions))
        if np.isfinite(getattr(answer, "low", 0.0)):  # else there is no interval to promise something of
            assert answer.guarantee.split()[-1] in str(answer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        filled = plan.compare(labels.iloc[5:], missing="nonrelevant")
    assert filled.assumptions == (RIGHT, *assumed, UNLABELLED)
