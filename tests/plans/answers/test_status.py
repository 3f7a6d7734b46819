"""What a status says: sentences, facts, bad input, what it refuses, and how many more labels it takes."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_order import prefix
from samples import wanted

from pt_active import DCG, Plan
from pt_active.plans.answers.report.report import Report


def test_a_hopeless_comparison_is_called_so(graded, labels):
    """A ranker against another that differs from it in one query only."""
    pair = graded.assign(rank_candidate=graded.rank_production)
    swap = (pair.qid == pair.qid.iloc[0]) & pair.rank_candidate.isin([0, 1])
    pair.loc[swap, "rank_candidate"] = 1 - pair.loc[swap, "rank_candidate"]
    plan = Plan.create(pair, None, DCG @ 10, draws=40, design="passive", seed=1)
    status, once = (plan.status(wanted(plan, labels), looks) for looks in ("always", None))
    for each in (status, once):
        assert (each.resolution, each.answer) == (None, "this budget did not settle it")
    assert once.advice == "judge everything, or accept that the question stays open"
    more = f"judge about {status.everything - status.spent:.4g} more documents, {status.everything:.4g} in all"
    assert status.advice.startswith(more)


def test_a_chance_of_a_twentieth_is_hope(plan, labels):
    status = replace(plan.status(prefix(plan, labels, 14)), chance=0.05, needed=700.0)
    assert (status.answer, status.advice[:12]) == ("not settled yet", "keep judging")
    low = replace(status, chance=0.04)
    assert low.answer == "this budget will not settle it"
    more = f"judge about {700 - status.spent:.4g} more documents, 700 in all: that settles it four times out of five"
    assert low.advice.startswith(more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"looks": "end"}, "unknown looks 'end'; it is one of always, obrien-fleming, or None for the end alone"),
        ({"looks": "obrien-fleming"}, 'looks="obrien-fleming" is for plans that come in parts; use'),
        ({"margin": math.nan}, "margin must be a positive number"),
    ],
)
def test_bad_arguments_are_refused(arguments, message, plan, labels):
    with pytest.raises(ValueError, match=message):
        plan.status(wanted(plan, labels), **arguments)


def test_a_plan_without_an_order_is_refused(graded, labels, tmp_path):
    again = Plan.create(graded, None, DCG @ 10, draws=9, seed=3, replace=True)
    judged = wanted(again, labels)
    assert again.queries.q_priority.isna().all()
    for ask in (again.status, again.so_far):
        with pytest.raises(ValueError, match="draws with replacement"):
            ask(judged)
    with pytest.raises(ValueError, match=r'missing="nonrelevant"$'):
        again.compare(judged.head(3))


@pytest.mark.parametrize(
    ("measure", "how"), [("DCG@10", {"level": "query"}), ("DCG@10", {"level": "document"}), ("nDCG@10", {})]
)
def test_the_worst_case_of_skips_stands_beside_an_answer_that_takes_them_as_nonrelevant(measure, how, few, labels):
    """People skip what is relevant and stands higher in the ranking of the better one, which then seems worse."""
    plan = Plan.create(few, None, measure, budget=250, seed=2, **how)
    whole = wanted(plan, labels)
    ranks = whole.merge(few, on=["qid", "docno"])[["rank_production", "rank_candidate"]]
    ranks = ranks.where(ranks >= 0, 99)
    favours = ((ranks["rank_candidate"] < ranks["rank_production"]) & (whole["label"] > 0)).to_numpy()
    kept, right = whole[~favours], plan.compare(whole)
    found = plan.compare(kept, missing="nonrelevant")
    assert (right.winner, found.winner) == ("candidate", "production")
    said = re.search(r"people need not skip at random: .* reaches from (\S+) to (\S+)(;|$)", found.note)
    low, high = map(float, said.groups()[:2])
    own = found.confidence_interval()
    assert low < own.low < own.high < high + 1e-4
    assert low < right.difference < high
    assert not right.basis.skipped


def test_equal_states_have_one_hash(few, labels):
    """Although numbers that are not known are NaN, which equals nothing."""
    plan = Plan.create(few, None, "DCG@10", budget=100, seed=1, level="query")
    states = [plan.status(labels.head(0)), plan.status(labels.head(0)), plan.status(wanted(plan, labels))]
    assert len(set(states)) == 2
    assert len({plan.gate(wanted(plan, labels), 0.1, queries="these") for _ in range(2)}) == 1


def test_a_worst_case_without_an_interval_is_called_so():
    """All labels that are there are equal, so the estimate has no error that the sample tells."""
    keys = pd.DataFrame({"qid": np.repeat([f"q{n}" for n in range(12)], 2), "docno": ["a", "b"] * 12})
    pool = keys.assign(rank_new=[0, 1] * 12, rank_old=[1, 0] * 12, grade_0=0.5, grade_1=0.5)
    plan = Plan.create(pool, None, "P@1", draws=6, level="query", design="passive", defensive=1.0, seed=1)
    found = plan.compare(plan.assessments[["qid", "docno"]].assign(label=0).head(3), missing="nonrelevant")
    assert found.note.endswith("or raise it most, there is no interval")


@pytest.mark.parametrize(("measure", "looks"), [("DCG@10", "always"), ("nDCG@10", "obrien-fleming")])
def test_all_answers_say_how_many_more_labels_it_takes_in_one_number(measure, looks, few, labels):
    pool = few[few["qid"].isin(few["qid"].unique()[:15])]
    plan = Plan.create(pool, None, measure, budget=50, seed=2, level="document")
    judged = wanted(plan, labels)
    state, once, report = plan.status(judged), plan.status(judged, None), Report.of(plan, judged)
    assert (state.looks, state.resolved, once.resolved) == (looks, False, False)
    assert state.spent < state.needed == report.to_dict()["needed"]
    settles = "that settles it four times out of five"
    assert settles in state.advice or "accept" in state.advice
    assert state.advice[1:] in dict(report.headline.facts)["next"][1:]
    # One look at the end takes fewer than bets, and says that it is one; beyond the parts of a plan it is all there is.
    assert once.needed < state.needed if looks == "always" else once.needed == state.needed
