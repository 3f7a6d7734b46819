"""Answers for the pool's queries, and for queries like them, through plans [theory 16]."""

import json

import numpy as np
import pytest
from drawn_order import ordered
from samples import wanted
from scipy import stats

from pt_active import DCG, Plan, Report
from pt_active.frames.qrels import whole_labels
from pt_active.inference.new_queries import MIN_GROUPS, SHARE_OF_LABELS
from pt_active.inference.stopping.bets import interval
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.answers.sequence import sequence_of

BOTH = pytest.mark.parametrize("level", ["query", "document"])


@pytest.mark.parametrize(("level", "measure"), [("query", "DCG@10"), ("document", "ERR(max_rel=3)@10")])
def test_a_census_answers_for_new_queries_as_the_paired_t_test_does(graded, labels, differences, level, measure):
    plan = Plan.create(graded, None, measure, budget=1e9, level=level, seed=1)
    expected = stats.ttest_1samp(differences(measure), 0.0)
    result = plan.compare(wanted(plan, labels), queries="new")
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert result.confidence_interval() == pytest.approx(expected.confidence_interval())
    assert result.degrees_of_freedom == pytest.approx(119)
    assert result.beside.confidence_interval() == pytest.approx((result.difference, result.difference))


@BOTH
def test_the_answer_for_new_queries_is_wider_and_both_are_told(graded, labels, level):
    plan = Plan.create(graded, None, DCG @ 10, budget=300, level=level, seed=1)
    judged = wanted(plan, labels)
    these, new = plan.compare(judged), plan.compare(judged, queries="new")
    assert these.difference == new.difference
    errors = these.standard_error, new.standard_error
    assert errors == (new.beside.standard_error, these.beside.standard_error)
    assert errors[0] < errors[1]
    row = these.to_dict()
    assert (row["low"], row["high"]) == (row["these_low"], row["these_high"])
    assert row["new_low"] < row["these_low"] < row["these_high"] < row["new_high"]
    if level == "document":
        parts = new.basis.error_of_queries, new.basis.error_of_documents, new.basis.error_of_model
        assert np.linalg.norm(parts) == pytest.approx(errors[1], rel=1e-9)
    states = (plan.status(judged, queries=each).details for each in ("these", "new"))
    for first, second in ((str(these), str(new)), states):
        assert 0 < first.index("for these 120 queries") < first.index("for queries like them")
        assert 0 < second.index("for queries like them") < second.index("for these 120 queries")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("traffic", "has_interval"), [(10.0, True), (1e4, False)])
def test_one_query_with_nearly_all_of_the_traffic_says_nothing_of_others(graded, labels, topics, traffic, has_interval):
    heavy = topics.assign(traffic=np.where(np.arange(len(topics)) == 0, traffic, 1.0))
    plan = Plan.create(graded, heavy, DCG @ 10, budget=300, level="document", seed=1)
    new = plan.compare(wanted(plan, labels), queries="new")
    assert np.isfinite(new.confidence_interval()).all() == has_interval
    assert ("nearly all of the weight lies on one query" in str(new)) != has_interval


def test_clusters_are_one_draw_of_new_queries(census, labels, topics, differences):
    need = topics.set_index("qid")["qneed"]
    needs = differences("DCG@10").groupby(need).mean()
    result = census.compare(labels, queries="new", clusters="qneed")
    assert topics["qneed"].value_counts().nunique() == 1
    assert result.pvalue == pytest.approx(stats.ttest_1samp(needs, 0.0).pvalue, rel=1e-9)
    alone, state = (census.status(labels, queries="new", clusters=each) for each in (None, "qneed"))
    assert alone.apart != state.apart
    assert (result.population.clusters, state.population) == (40, result.population)


def test_what_says_nothing_of_other_queries_says_why(graded, few, labels, topics):
    plan = Plan.create(graded, topics.assign(qall="all"), DCG @ 10, budget=1e9, seed=1)
    result = plan.compare(labels, queries="new", clusters="qall")
    assert result.note == "one query says nothing of other queries: no interval, no test"
    same = few.assign(rank_production=few["rank_candidate"], score_production=few["score_candidate"])
    plan = Plan.create(same, None, DCG @ 10, budget=1e9, level="query", seed=1)
    assert plan.compare(labels, queries="new").note.startswith("all queries have the same value")
    state = plan.status(labels, margin=1, queries="new")
    assert (state.resolved, state.refusal) == (False, "the labels so far do not tell how far queries differ")


def test_columns_that_make_no_clusters_are_refused(graded, labels, topics):
    some = topics.assign(qneed=topics["qneed"].where(np.arange(len(topics)) != 4))
    plan = Plan.create(graded, some, DCG @ 10, budget=1e9, seed=1)
    for asked, message in (
        ({"clusters": "q_prob"}, "there is no column 'q_prob'; the plan has"),
        ({"clusters": "qneed"}, f"query '{some['qid'].iloc[4]}' has no value in the column 'qneed'"),
    ):
        with pytest.raises(ValueError, match=message):
            plan.compare(labels, queries="new", **asked)


@BOTH
def test_groups_of_queries_answer_for_new_queries_of_their_kind(graded, labels, topics, differences, level):
    half = topics.assign(qhalf=np.where(np.arange(len(topics)) % 2, "odd", "even"))
    plan = Plan.create(graded, half, DCG @ 10, budget=1e9, level=level, seed=1)
    of_half = half.set_index("qid")["qhalf"]
    for each in Report.of(plan, labels, queries="new", slices=["qhalf"]).slices.itertuples():
        values = differences("DCG@10")[of_half == each.value]
        low, high = stats.ttest_1samp(values, 0.0).confidence_interval()
        assert each.estimate == pytest.approx(values.mean(), rel=1e-9)
        assert each.standard_error == pytest.approx(stats.sem(values))
        # One half is skewed, so that its interval is wider than that of the paired t-test.
        usual = abs(stats.skew(values)) <= np.sqrt(len(values) / 50)
        assert ([each.low, each.high] == pytest.approx([low, high])) == usual
        assert each.low <= low + 1e-9
        assert each.high >= high - 1e-9


@pytest.fixture(scope="module", params=["query", "document"])
def plan(graded, topics, request):
    return Plan.create(graded, topics, DCG @ 10, budget=600, level=request.param, seed=3)


@pytest.fixture(scope="module")
def judged(plan, labels):
    return ordered(plan, labels)


def test_the_interval_is_that_of_the_bets_at_its_share_of_the_level_and_wider(plan, judged):
    for n in (60, 300):
        state = plan.status(judged.head(n), queries="new", confidence=0.9)
        label = whole_labels(plan.tables.pool.keys, judged.head(n))
        proof = sequence_of(plan.tables, label, plan.measure).proof(Contrast(0, 1), 0.1)
        low, high = interval(proof.draws, proof.stakes, 0.1 * SHARE_OF_LABELS)
        assert (state.low, state.high) == pytest.approx((low - state.apart, high + state.apart))


def test_a_census_is_as_far_apart_as_the_paired_t_test_says_and_never_certain(census, labels):
    state = census.status(labels, queries="new", confidence=1 - 0.05 / (1 - SHARE_OF_LABELS))
    low, high = census.compare(labels, queries="new", confidence=0.95).confidence_interval()
    # t has as many degrees of freedom as the terms show, here fewer than the queries.
    assert 1 <= (state.high - state.low) / (high - low) < 1.1
    assert (state.beside.low, state.beside.high) == pytest.approx((state.value, state.value))
    these, new = census.status(labels), census.status(labels, queries="new")
    assert these.answer.endswith("(certain)")
    assert new.answer == f"stop: {these.winner} is better for new queries"
    assert not any(word in str(new) for word in ("certain", "evidence"))
    data = json.loads(json.dumps(new.to_dict(), allow_nan=False))
    assert (data["queries"], data["e_value"], data["new_low"]) == ("new", None, new.low)


def test_what_is_proved_of_new_queries_is_proved_of_these(plan, judged):
    found = set()
    for n in (50, len(judged) // 2, len(judged)):
        these, new = (plan.status(judged.head(n), margin=0.5, queries=each) for each in ("these", "new"))
        assert new.apart > 0
        assert new.high - new.low > these.high - these.low
        assert (these.beside.low, new.beside.low) == pytest.approx((new.low, these.low), nan_ok=True)
        assert new.resolution in (None, these.resolution) or these.resolution is not None
        assert not new.winner or new.winner == these.winner
        found.add(new.winner)
    assert None in found


@pytest.mark.parametrize("few", ["queries", "clusters", "weights"])
def test_a_pool_of_few_queries_has_no_verdict_at_any_time(graded, topics, labels, few):
    m, clusters = len(topics), "qneed" if few == "clusters" else None
    kept = {
        "queries": topics.head(MIN_GROUPS - 1),
        "clusters": topics.assign(qneed=[str(row % (MIN_GROUPS - 1)) for row in range(m)]),
        "weights": topics.assign(traffic=[50.0] + [1.0] * (m - 1)),
    }[few]
    pool = graded[graded["qid"].isin(kept["qid"])]
    plan = Plan.create(pool, kept, DCG @ 10, budget=1e9, level="query", seed=1)
    state = plan.status(labels, queries="new", clusters=clusters)
    assert (state.resolution, state.low) == (None, -np.inf)
    assert state.answer == "no verdict at any time for new queries"
    more = "queries, so that none has much of the traffic" if few == "weights" else "queries"
    assert state.advice == f"add {more}, or look once, at the end"
    assert np.isfinite(plan.status(labels, None, queries="new", clusters=clusters).low)
    assert plan.gate(labels, 5.0, queries="new", clusters=clusters).outcome == "unresolved"
    assert plan.status(labels).resolved


def test_all_pairs_share_the_level(few, labels):
    ranks = few["rank_candidate"]
    turned = (few.groupby("qid")["rank_candidate"].transform("max") - ranks).where(ranks >= 0, -1)
    three = few.assign(rank_other=turned, score_other=-turned.astype(float))
    plan = Plan.create(three, None, DCG @ 10, budget=1e9, level="query", seed=1)
    new, these = plan.status(labels, queries="new"), plan.status(labels)
    for pair, own in zip(new.pairs, these.pairs, strict=True):
        one = plan.status(labels, confidence=1 - 0.05 / 3, queries="new", first=pair.first, second=pair.second)
        assert (pair.low, pair.high, pair.winner) == pytest.approx((one.low, one.high, one.winner))
        assert (own.beside.low, own.beside.high) == pytest.approx((pair.low, pair.high))
    assert str(new).count("these [") == 3
    assert str(new).splitlines()[0].endswith("in large samples of queries, for queries like them")
