"""What the labels so far prove by bets: exact at the end, valid on the way, and the same however labels are kept."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered
from samples import wanted

from pt_active import DCG, Plan, Status, UnitCost
from pt_active.frames.qrels import known_labels
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.answers.sequence import sequence_of

QUERIES = 40
DOCUMENTS = {"level": "document", "design": "successive"}
PLANS: dict[str, dict[str, Any]] = {
    "queries": {"budget": 200, "seed": 3, "level": "query"},
    "documents": {"budget": 150, "seed": 3, **DOCUMENTS},
    "opened": {"budget": 180, "seed": 5, "cost": UnitCost(per_query=3), **DOCUMENTS},
}
KINDS = pytest.mark.parametrize("kind", PLANS)
NUMBERS = ("value", "low", "high", "standard_error", "e_value", "spent")
SAID = (*NUMBERS, "resolution", "resolved_at", "judged", "n_judged")


@pytest.fixture(scope="module")
def pool(graded):
    pool = graded[graded.qid.isin(graded.qid.unique()[:QUERIES])]
    ranks = pool[["rank_production", "rank_candidate"]]
    return pool[((ranks >= 0) & (ranks < 12)).any(axis=1)].reset_index(drop=True)


@pytest.fixture(scope="module")
def plans(pool):
    return {kind: Plan.create(pool, None, DCG @ 10, **how) for kind, how in PLANS.items()}


@pytest.fixture(scope="module")
def come(plans, labels):
    """The labels of each plan, in the order in which they come."""
    return {kind: ordered(plan, labels) for kind, plan in plans.items()}


@pytest.fixture(scope="module")
def truth(pool, differences):
    return float(differences("DCG@10")[pool["qid"].unique()].mean())


def said(status: Status) -> list[object]:
    return [getattr(status, name) for name in SAID]


@KINDS
def test_all_labels_are_the_truth(kind, truth, pool, labels):
    plan = Plan.create(pool, None, DCG @ 10, **PLANS[kind] | {"budget": 1e6})
    status = plan.status(wanted(plan, labels))
    assert (status.judged, status.waiting) == (status.drawn, None)
    assert (status.low, status.value, status.high) == pytest.approx((truth, truth, truth), abs=1e-9)
    assert (status.standard_error, status.e_value) == (0.0, np.inf)
    assert status.winner == ("production" if truth > 0 else "candidate")
    assert status.answer == f"stop: {status.winner} is better (certain)"
    assert status.to_dict()["e_value"] is None


@KINDS
def test_intervals_contain_the_truth_and_only_become_narrower(kind, truth, plans, come):
    """The ends of an interval are found to a ten-thousandth of the standard error."""
    low, high, judged = -np.inf, np.inf, -1
    for part in np.linspace(0, len(come[kind]), 6).astype(int):
        status = plans[kind].status(come[kind].head(part))
        assert low <= status.low < truth < status.high <= high
        assert status.judged > judged
        slack = 0.0 if np.isnan(status.standard_error) else 1e-4 * status.standard_error
        low, high, judged = status.low - slack, status.high + slack, status.judged
    assert status.unit == ("query" if kind == "queries" else "document")
    assert (judged, status.n_judged, status.left_out) == (status.drawn, part, 0)
    assert abs(status.value - truth) < 4 * status.standard_error


@KINDS
def test_labels_beyond_a_gap_prove_what_they_prove_whatever_the_label_is(kind, plans, come):
    plan, labels = plans[kind], come[kind]
    gap = len(labels) // 3
    some = labels.drop(index=gap)
    status, before = plan.status(some), plan.status(labels.head(gap))
    assert (status.open, before.open) == (1, 0)
    assert before.judged < status.judged < status.drawn
    assert status.e_value >= before.e_value
    slack = 1e-4 * before.standard_error
    assert before.low - slack <= status.low < status.high <= before.high + slack
    for grade in range(4):
        filled = plan.status(labels.assign(label=labels["label"].where(labels.index != gap, grade)))
        assert status.low - slack <= filled.low < filled.high <= status.high + slack
        assert filled.e_value >= status.e_value - 1e-9
    cut = plan.so_far(some).compare(some)
    assert (status.value, before.value) == pytest.approx((cut.difference, cut.difference), rel=1e-9)


GAIN = np.array([0.0, 1.0, 3.0, 7.0])
RANGE = 1e-3
"""Share of the squared range of a unit that is added to its variance."""


def units_of(plan: Plan, pool: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """The units in their order: chances q, what they add to the difference, and what the model expects of it."""
    table = plan.tables.pool.keys.merge(pool, on=["qid", "docno"]).merge(labels, on=["qid", "docno"])
    ranks = table[["rank_production", "rank_candidate"]].to_numpy()
    discount = np.where((ranks >= 0) & (ranks < 10), 1 / np.log2(ranks.clip(0) + 2.0), 0.0)
    price, grades = (discount[:, 0] - discount[:, 1]) / QUERIES, table.filter(like="grade_").to_numpy()
    mean = grades @ GAIN
    variance = price**2 * (grades @ GAIN**2 - mean**2)
    each = {"value": price * GAIN[table.label], "mean": price * mean, "variance": variance}
    table = table[["qid", "docno"]].assign(**each, range=np.abs(price) * GAIN[3])
    if plan.tables.documents:
        sample = plan.tables.documents.sample
        units = table.assign(q=sample.design.rate, priority=sample.priority)
        common = price**2 * variance.sum() / (price**2).sum()
    else:
        chances = plan.queries.rename(columns={"q_prob": "q", "q_priority": "priority"})
        units = chances[["qid", "q", "priority"]].merge(table.groupby("qid").sum(numeric_only=True), on="qid")
        common = units["variance"].mean()
    units["spread"] = units["variance"] + common + RANGE * units["range"] ** 2
    return units[units["q"] > 0].sort_values("priority")


def estimate_by_hand(units: pd.DataFrame, drawn: int) -> float:
    """``Σ Z/V / Σ 1/V`` over the draws.

    Z is what is known, the model for the rest, and the error of the model in the unit drawn over its share of q. V is
    what the model expects of the square of that error.
    """
    q, value, mean, spread = units[["q", "value", "mean", "spread"]].to_numpy().T
    above = below = 0.0
    for t in range(drawn):
        z = sum(value[:t]) + sum(mean[t:]) + (value[t] - mean[t]) * sum(q[t:]) / q[t]
        v = sum(q[t:]) * sum(spread[t:] / q[t:])
        above, below = above + z / v, below + 1 / v
    return above / below


@pytest.mark.parametrize(
    ("kind", "part"), [("queries", 0.2), ("queries", 1.0), ("documents", 0.2), ("opened", 0.6), ("opened", 1.0)]
)
def test_the_mean_of_what_draws_show_is_that_of_the_formula(kind, part, plans, come, pool, labels):
    plan, units = plans[kind], units_of(plans[kind], pool, labels)
    n = int(part * plan.status(come[kind]).drawn)
    first = come[kind].merge(units.filter(["qid", "docno"]).head(n))
    sequence = sequence_of(plan.tables, known_labels(plan.tables.pool.keys, first), plan.measure)
    shown = sequence.proof(Contrast(0, 1), 0.05).draws.estimate()[0]
    assert (sequence.judged, shown) == (n, pytest.approx(estimate_by_hand(units, n), rel=1e-9))


@pytest.mark.filterwarnings("ignore:.*hand-picked")
@KINDS
def test_neither_the_order_of_rows_nor_repetitions_nor_cuts_matter(kind, pool, plans, come):
    plan, some = plans[kind], come[kind].head(90)
    status = plan.status(some)
    assert plan.status(pd.concat([some, some.head(5)]).sample(frac=1, random_state=1)) == status
    assert said(plan.so_far(some).status(some)) == said(status)
    one = Plan.create(pool.sample(frac=1, random_state=2), None, DCG @ 10, **PLANS[kind]).status(some)
    assert (one.judged, one.resolution, one.waiting) == (status.judged, status.resolution, status.waiting)
    for name in NUMBERS:
        assert getattr(one, name) == pytest.approx(getattr(status, name), rel=1e-9)


@KINDS
def test_an_extension_changes_nothing_that_was_said(kind, plans, come, labels):
    """The bets are spread for the first budget, whatever is added to it."""
    plan, some = plans[kind], come[kind]
    longer = plan.extend(100)
    for part in (40, len(some)):
        before, after = plan.status(some.head(part)), longer.status(some.head(part))
        assert said(before) == said(after)
        assert after.drawn > before.drawn
    assert after.budget == pytest.approx(longer.manifest["spent"])
    assert after.judged == before.drawn
    assert after.waiting is not None
    more = ordered(longer, labels).head(30)
    assert longer.status(pd.concat([some, more])).judged > after.judged


def test_a_later_ranker_needs_labels_of_its_own(demo, pool, labels, truth):
    """The plan holds no moments of a ranker that came later."""
    alone = pool[pool.rank_production >= 0].drop(columns=["rank_candidate", "score_candidate"])
    plan = Plan.create(alone, None, DCG @ 10, draws=12, seed=3).with_rankers(candidate=demo.runs["candidate"])
    judged = wanted(plan, labels)
    some = plan.status(judged)
    assert (some.first, some.second) == ("production", "candidate")
    assert some.low < truth < some.high
    assert some.judged + some.open <= some.drawn
