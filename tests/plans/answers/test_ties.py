"""Ties are ties: rankers that are equal under the labels are never told apart where nothing is left to chance."""

import re

import numpy as np
import pandas as pd
import pytest
from populations import HostilePopulation, plain
from samples import wanted

from pt_active import Experiment, Plan, Report

MEASURES = [
    *("DCG@10", "P@10", "ERR@10", "nDCG@10", "AP@10"),
    *(pytest.param(each, marks=pytest.mark.slow) for each in ("DCG(gain='linear')@10", "RBP(p=0.8)@10", "RR@10")),
]
DRAWINGS = (None, "depth", "successive")
OF_MEASURE = {"ERR@10": (None, "depth"), "RR@10": (None, "depth")} | dict.fromkeys(
    ("nDCG@10", "AP@10"), (None, "depth", "surprises")
)
"""How measures can be sampled that are not additive."""

OF_DRAWING = {
    None: ("P@10", "ERR@10", "nDCG@10"),
    "depth": ("P@10", "ERR@10", "nDCG@10"),
    "surprises": ("nDCG@10", "AP"),
    "successive": ("P@10",),
}
PAIR = {"first": "b", "second": "a"}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def equal(script, monkeypatch):
    module = script("equal_rankers")
    monkeypatch.setattr(module, "QUERIES", 6)
    return module


def check_tied(plan: Plan, labels: pd.DataFrame) -> None:
    """Nothing is found in a census, by any answer."""
    ranking = plan.rank(labels)
    assert ranking.names == tuple(sorted(plan.rankers))
    assert ranking.groups == (ranking.names,)
    for each in ranking.comparisons:
        assert (each.standard_error, each.pvalue, each.winner) == (0, 1, None)
        ends = (each.difference, *each.confidence_interval())
        assert ends == (0, 0, 0)
        assert not np.signbit(ends).any()


def sampled(measure: str, seed: int) -> str | None:
    """A way to sample that the measure allows."""
    ways = OF_MEASURE.get(measure, DRAWINGS)
    return ways[seed % len(ways)]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 100), marks=pytest.mark.slow)], ids=str)
def test_equal_rankers_are_not_told_apart(equal, measure, seeds):
    """In a census, by any answer; and in sampled queries, which tie."""
    for seed in seeds:
        plan, labels = equal.planned(seed, measure, sampled(measure, seed), 1.0, 2 + seed % 4)
        check_tied(plan, labels)
        assert not any(equal.found_by(plan, labels).values())
        plan, labels = equal.planned(seed, measure, None, 0.5, 3)
        for found in plan.rank(labels).comparisons:
            assert (found.difference, found.standard_error, found.pvalue, found.winner) == (0, 0, 1, None)
            assert np.isnan(found.confidence_interval()).all()


@pytest.mark.parametrize("drawing", [*DRAWINGS, "surprises"])
def test_no_error_is_no_evidence(equal, drawing):
    """A third of the labels: a difference has an error, or it is 0 with a p-value of 1, or there is no test.

    Labels that are all alike show none: lines through them leave nothing of the model but rounding.
    """
    for seed, measure in enumerate(OF_DRAWING[drawing]):
        plan, labels = equal.planned(seed, measure, drawing, 1 / 3, 3)
        for each in plan.rank(labels).comparisons:
            assert not 0 < each.standard_error <= 1e-6
            if each.difference == 0:
                assert each.pvalue == 1
            else:
                assert abs(each.difference) > 1e-12
                assert each.standard_error != 0 or np.isnan(each.pvalue)
        for each in plan.rank(labels.assign(label=0)).comparisons:
            assert each.winner is None
            assert each.difference == 0 or abs(each.difference) > 1e-12


def nearly_equal(seed: int, share: float) -> HostilePopulation:
    """Rankers that differ in one query alone, with a small share of the traffic, in which b is better."""
    pool, qrels = plain(seed, 6)
    label = pool.merge(qrels, on=["qid", "docno"])["label"]
    one = next(qid for qid, rows in label.groupby(pool["qid"]) if rows.min() == 0 and rows.max() > 0)
    here = pool["qid"] == one
    ideal = label[here].rank(ascending=False, method="first").astype(int) - 1
    rank_a, rank_b = pool["rank_a"].copy(), pool["rank_a"].copy()
    rank_b[here], rank_a[here] = ideal, ideal.max() - ideal
    ranks = {"rank_a": rank_a, "score_a": -rank_a, "rank_b": rank_b, "score_b": -rank_b}
    return HostilePopulation(pool.assign(**ranks, traffic=np.where(here, share, 1.0)), qrels)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_small_difference_is_a_difference_in_a_census(measure):
    for seed, share in enumerate((1e-6, 1e-7)):
        pool, qrels = nearly_equal(seed, share)
        drawing = sampled(measure, seed)
        how = {"level": "query" if drawing is None else "document", "design": drawing, "seed": seed}
        plan = Plan.create(pool, None, measure, budget=1e4, **how)
        labels = wanted(plan, qrels)
        found, ranking = plan.compare(labels, **PAIR), plan.rank(labels)
        assert 0 < found.difference < share * 20
        assert (found.winner, found.pvalue) == ("b", 0)
        assert (set(ranking.groups), ranking.names) == ({("a",), ("b",)}, ("b", "a"))
        once = {"looks": None, "queries": "these"}
        assert plan.gate(labels, rule="better", **PAIR, **once).outcome == "pass"
        assert plan.gate(labels, 0.0, first="a", second="b", **once).outcome == "fail"
        if drawing in (None, "successive"):
            assert plan.status(labels, **PAIR).winner == "b"


@pytest.mark.parametrize(
    ("measure", "drawing", "unit"),
    [("DCG@10", None, 1e-9), ("DCG@10", "successive", 1e9), ("ERR@10", None, 1e9), ("ERR@10", "depth", 1e-9)],
)
def test_neither_the_order_of_rows_nor_the_unit_of_the_traffic_breaks_a_tie(equal, measure, drawing, unit):
    pool, qrels = (frame.sample(frac=1, random_state=seed) for seed, frame in enumerate(equal.releases(5, every=True)))
    level = "query" if drawing is None else "document"
    traffic = unit * (1 + pool["qid"].str[1:].astype(int))
    plan = Plan.create(pool.assign(traffic=traffic), None, measure, budget=1e4, level=level, design=drawing)
    check_tied(plan, wanted(plan, qrels))


@pytest.mark.parametrize(("looks", "level"), [(None, "query"), ("always", "query"), ("always", "document")])
def test_all_looks_end_with_exactly_equal(equal, looks, level):
    plan, labels = equal.planned(1, "DCG@10", None if level == "query" else "successive", 1.0, 2)
    status = plan.status(labels, looks=looks)
    ends = (status.value, status.low, status.high, status.standard_error)
    assert (status.answer, ends) == ("stop: exactly equal", (0, 0, 0, 0))
    assert not np.signbit(ends).any()


@pytest.mark.parametrize("looks", [None, "always"])
@pytest.mark.parametrize("seed", range(2))
def test_a_difference_of_exactly_the_margin_does_not_exceed_it(looks, seed):
    """P@10 differs by a multiple of 1/60, which sums miss on both sides."""
    pool, qrels = nearly_equal(seed, 1.0)
    plan = Plan.create(pool, None, "P@10", budget=1e4, level="document", seed=seed)
    labels, label = wanted(plan, qrels), pool.merge(qrels, on=["qid", "docno"])["label"] > 0
    hits_a, hits_b = (int((label & (pool[f"rank_{name}"] < 10)).sum()) for name in "ab")
    exact = (hits_b - hits_a) / 60
    assert exact > 0
    worse, better = {"first": "a", "second": "b"}, PAIR | {"rule": "better"}
    for margin, outcomes in ((exact, ["pass", "fail"]), (exact * (1 - 1e-6), ["fail", "pass"])):
        gates = [plan.gate(labels, margin, looks=looks, queries="these", **each) for each in (worse, better)]
        assert [gate.outcome for gate in gates] == outcomes


@pytest.mark.parametrize(("measure", "drawing", "rankers"), [("DCG@10", None, 2), ("AP@10", "depth", 3)])
def test_reports_say_that_they_are_equal(equal, measure, drawing, rankers):
    plan, labels = equal.planned(1, measure, drawing, 1.0, rankers)
    report = Report.of(plan, labels)
    for text in (report.to_json(), report.to_html()):
        assert not re.search(r"[-−]0\.0000|p = 0\b|p-value\s+0\b|\"pvalue\": 0\.0|\"value\": -?\d\.\d+e-1\d", text)
        assert "exactly equal" in text
    assert all(each.equal and each.winner is None for each in report.differences)
    printed = str(plan.compare(labels, first="b", second="a"))
    for said in (
        "none, the two are exactly equal",
        "+0.0000   95% interval [0.0000, 0.0000]   SE 0.0000   for these 6 queries\n",
        "p-value     1\n",
        "+0.0000   no interval   SE 0.0000   for queries like them",
    ):
        assert said in printed


def test_the_table_of_an_experiment_has_no_gain_and_no_loss(equal):
    pool, qrels = equal.releases(1, "abc", every=True)
    plan = Plan.create(pool, None, "DCG@10", budget=1e4, level="query")
    runs = {name: pool[["qid", "docno"]].assign(score=pool[f"score_{name}"]) for name in "abc"}
    frame = Experiment(runs, plan, qrels, ["nDCG@10"], baseline="a", correction="holm").set_index("name").drop("a")
    assert (frame[["nDCG@10 +", "nDCG@10 -"]] == 0).all(axis=None)
    assert (frame["nDCG@10 p-value"] == 1).all()
    assert not frame["nDCG@10 reject"].any()
