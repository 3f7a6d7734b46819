"""The gate: what passes, what fails, what is not decided, and what it says."""

import numpy as np
import pandas as pd
import pytest
from drawn_order import prefix as first
from samples import wanted

from pt_active import DCG, Plan


@pytest.fixture(scope="module")
def pair(graded):
    """The candidate first. It is better by .72."""
    ranks = ["rank_production", "score_production"]
    return graded[[*graded.columns.drop(ranks), *ranks]]


@pytest.fixture(scope="module")
def plan(pair):
    return Plan.create(pair, None, DCG @ 10, budget=1300, level="query", seed=3)


@pytest.mark.parametrize(("queries", "margin"), [("these", 0.3), ("new", 0.3), ("new", 1.5)])
def test_the_gate_is_the_interval_of_the_status_against_the_threshold(plan, labels, queries, margin):
    seen = set()
    for n in (0, 8, 99):
        judged = first(plan, labels, n)
        state = plan.status(judged, queries=queries)
        # A hundredth of the way beyond an end of the interval, something is decided; before it, nothing.
        near = (end + share * (state.high - state.low) for end in (state.low, state.high) for share in (-0.01, 0.01))
        for threshold in (-margin, margin, *(each for each in near if np.isfinite(each))):
            rule = "better" if threshold > 0 else "non-inferior"
            gate = plan.gate(judged, abs(threshold), rule, queries=queries)
            outcome = "pass" if state.low > threshold else "fail" if state.high < threshold else "unresolved"
            assert gate.outcome == outcome
            assert (gate.to_dict()["outcome"], gate.to_dict()["threshold"]) == (outcome, threshold)
            assert gate.question.endswith(f", for {queries} queries?")
            assert (gate.status.value, gate.status.low) == pytest.approx((state.value, state.low), nan_ok=True)
            seen.add(gate.outcome)
    assert seen == {"pass", "fail", "unresolved"}


def few_differ(queries: int, seed: int) -> tuple[Plan, pd.DataFrame]:
    """Nine in ten queries are ties; b is better by 1 in 7 of 8 of the others, and a by 7 in the rest."""
    rng, qid = np.random.default_rng(seed), np.repeat(np.arange(queries).astype(str), 2)
    differs, heavy = rng.random(queries) < 0.1, rng.random(queries) < 1 / 8
    first_label, second_label = np.where(differs & heavy, 3, 0), np.where(differs & ~heavy, 1, 0)
    keys = pd.DataFrame({"qid": qid, "docno": ["x", "y"] * queries})
    pool = keys.assign(rank_b=[1, 0] * queries, rank_a=[0, 1] * queries, grade_0=0.7, grade_1=0.1, grade_2=0.1)
    qrels = keys.assign(label=np.c_[first_label, second_label].ravel())
    return Plan.create(pool.assign(grade_3=0.1), None, DCG @ 1, budget=1e9, level="query", seed=seed), qrels


@pytest.mark.parametrize("looks", ["always", None])
def test_no_gate_passes_where_few_queries_differ(looks):
    plans = [few_differ(60, seed) for seed in range(8)]
    gates = [plan.gate(qrels, 0.0, looks=looks, queries="new") for plan, qrels in plans]
    assert {each.outcome for each in gates} == {"unresolved"}
    told = [each for each in gates if each.status.population.caution]
    assert len(told) > 5
    for each in told:
        assert each.answer == "unresolved: too few queries differ to decide for new ones"
    plan, qrels = plans[1]
    said = "judged queries have another value than the rest, so the interval for new queries may miss more often"
    for queries in ("these", "new"):
        assert said in plan.compare(qrels, queries=queries).note
        assert said in str(plan.status(qrels, None, queries=queries))
    assert said not in str(plan.status(qrels, queries="these"))  # there is no interval for new ones


def test_what_no_label_can_change_is_decided_at_once():
    """Documents of gain 0 or 1 at rank 1: after one query of two, the difference lies in [0, 1] or [−1, 0]."""
    keys = pd.DataFrame({"qid": ["1", "1", "2", "2"], "docno": ["a", "b", "a", "b"]})
    pool = keys.assign(rank_new=[0, 1] * 2, rank_old=[1, 0] * 2, grade_0=0.5, grade_1=0.5)
    plan = Plan.create(pool, None, "P@1", draws=2, level="query", design="passive", defensive=1.0)
    one = first(plan, keys.assign(label=[1, 0, 1, 0]), 1)
    turned = one.assign(label=1 - one["label"])
    assert plan.status(one).low == pytest.approx(0, abs=1e-6)
    asked = ((one, "non-inferior"), (turned, "better"), (turned, "non-inferior"))
    outcomes = [plan.gate(labels, 0.0, rule, queries="these").outcome for labels, rule in asked]
    assert outcomes == ["pass", "fail", "unresolved"]


def test_a_plan_without_an_order_is_gated_at_the_end(pair, labels):
    one = Plan.create(pair, None, "DCG@10", budget=300, design="depth", seed=1)
    plan = one.extend(100)
    judged = pd.concat([wanted(each, labels) for each in (one, plan)])
    message = "the documents were drawn at once, so nothing can be proved after each label; .* make a plan with design="
    with pytest.raises(ValueError, match=message):
        one.gate(judged, 0.02, looks="always", queries="these")
    census = Plan.create(pair, None, "nDCG@10", budget=1e9)
    for each, qrels in ((plan, judged), (census, labels)):
        assert each.gate(qrels, 0.5, looks=None, queries="these").outcome == "pass"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"queries": None}, "queries is needed: 'new' decides for queries like those of the pool"),
        ({"queries": "all"}, "queries must be 'these' or 'new', got 'all'"),
        ({"margin": float("nan")}, "margin must be a number from 0, got nan"),
        ({"rule": "worse"}, "unknown rule 'worse'; it is one of non-inferior, better"),
        ({"looks": "obrien-fleming"}, "is for plans that come in parts; use looks=.always. if the plan has an"),
        ({"first": "x"}, "no ranker 'x' in this plan"),
        ({"confidence": 1.0}, "confidence must"),
    ],
)
def test_bad_arguments_are_named(plan, labels, arguments, message):
    with pytest.raises(ValueError, match=message):
        plan.gate(labels, **{"margin": 0.1, "queries": "these"} | arguments)


def test_one_ranker_has_no_gate(graded, labels):
    single = Plan.create(graded.drop(columns=["rank_production", "score_production"]), None, DCG @ 10, budget=100)
    with pytest.raises(ValueError, match="a comparison needs two rankers"):
        single.gate(labels, 0.1, queries="these")
