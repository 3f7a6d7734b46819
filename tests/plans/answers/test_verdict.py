"""When bets say stop: verdicts that stay, equivalence, one ranker, and verdicts on all pairs at once."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered

from pt_active import DCG, Plan
from pt_active.inference.stopping.bets import Stakes, interval
from pt_active.inference.stopping.draws import Units
from pt_active.plans.answers.status import Status
from pt_active.showing.printed import plain_rows

QUERIES = 40
LEVELS: dict[str, dict[str, Any]] = {
    "query": {"budget": 300, "level": "query"},
    "document": {"budget": 250, "level": "document", "design": "successive"},
}


@pytest.fixture(scope="module")
def pool(graded):
    """Rankers for plans of one or two of them.

    ``good`` ranks by the expected grade, ``bad`` the other way round, and ``same`` as ``good`` but for a swap of the
    first two in half of the queries; ``twin`` is ``good``.
    """
    pool = graded[graded.qid.isin(graded.qid.unique()[:QUERIES])][lambda frame: frame.rank_production.between(0, 11)]
    pool = pool.drop(columns=list(pool.filter(regex="^(rank|score)_"))).reset_index(drop=True)
    expected = pool.filter(like="grade_").to_numpy() @ np.arange(4)
    rank = pd.Series(expected).groupby(pool.qid).rank(ascending=False, method="first").astype(int) - 1
    swapped = rank.where(~pool.qid.isin(pool.qid.unique()[:20]) | (rank > 1), 1 - rank)
    return pool.assign(rank_good=rank, rank_bad=11 - rank, rank_same=swapped, rank_twin=rank)


def planned(pool: pd.DataFrame, level: str, *names: str, **changes: Any) -> Plan:
    """A plan of some of the rankers."""
    ranks = [f"rank_{name}" for name in names]
    others = [column for column in pool.filter(like="rank_") if column not in ranks]
    frame = pool.drop(columns=others).assign(**{f"score_{name}": -pool[f"rank_{name}"] for name in names})
    return Plan.create(frame, None, DCG @ 10, seed=3, **LEVELS[level] | changes)


def statuses(plan: Plan, labels: pd.DataFrame, parts: int, **asked: Any) -> list[Status]:
    come = ordered(plan, labels)
    return [plan.status(come.head(n), **asked) for n in np.linspace(0, len(come), parts).astype(int)]


BOTH = pytest.mark.parametrize("level", LEVELS)


@pytest.mark.parametrize(("level", "names"), [("query", ("good", "bad")), ("document", ("bad", "good"))])
def test_a_verdict_stays(level, names, pool, labels):
    """The winner has bet well: one of two bettors, who share the stake, has won twice twenty times his own."""
    found = statuses(planned(pool, level, *names), labels, 8, first=names[0], second=names[1])
    first = next(i for i, status in enumerate(found) if status.resolved)
    assert 0 < first < len(found) - 1
    evidence = [status.e_value for status in found]
    assert evidence == sorted(evidence)
    assert evidence[first - 1] < 40
    assert evidence[first] >= 20
    for status in found[1:first]:
        assert status.resolved_at is None
        assert 0 <= status.chance <= 1
        assert 0 <= status.further <= status.budget - status.spent + 1e-9
        assert 0 < status.more <= status.more_high
        assert status.spent < status.needed <= status.everything
    for status in found[first:]:
        assert (status.winner, status.resolved_at) == ("good", found[first].resolved_at)
        assert (status.chance, status.further, status.more) == (1.0, 0.0, 0.0)
        assert status.advice == "stop judging"
        shown = "certain" if np.isinf(status.e_value) else f"e-value {status.e_value:.3g}"
        assert status.answer == f"stop: good is better ({shown})"
    assert found[first - 1].spent < found[first].resolved_at <= found[first].spent


ENDS = {
    "better": (("good", "bad"), 300, None, "stop: good is better"),
    "hardly different": (("good", "same"), 300, 0.6, "stop: equivalent within ±0.6"),
    "equal within a margin": (("good", "same"), 1e6, 0.2, "stop: equivalent within ±0.2"),
    "equal": (("good", "same"), 1e6, None, "stop: exactly equal"),
    "unable to differ": (("good", "twin"), 300, None, "stop: exactly equal"),
    "one ranker": (("good",), 350, 2.5, "stop: known within ±2.5"),
}
"""Rankers, a budget, a margin and the answer; those that are equal are so since all documents are relevant."""


@pytest.mark.filterwarnings("ignore:the model sees no variance")
@pytest.mark.parametrize("end", ENDS)
@BOTH
def test_a_verdict_falls_with_the_label_that_proves_it(level, end, pool, labels):
    """A label costs 1."""
    names, budget, margin, answer = ENDS[end]
    plan = planned(pool, level, *names, budget=budget)
    come = ordered(plan, labels.assign(label=1) if budget == 1e6 else labels)
    last = plan.status(come, margin=margin)
    assert last.answer.startswith(answer)
    assert last.winner == ("good" if end == "better" else None)
    n = int(last.resolved_at)
    now, before = (plan.status(come.head(max(each, 0)), margin=margin) for each in (n, n - 1))
    assert (now.resolution, now.resolved_at) == (last.resolution, n)
    assert before.resolved == (n == 0) == (end == "unable to differ")
    if end == "better":
        assert before.low <= 0 < now.low
    elif end == "one ranker":
        assert now.high - now.low <= 2 * margin < before.high - before.low
        assert (now.second, np.isnan(now.e_value)) == (None, True)
    elif margin:
        assert -margin <= now.low <= now.high <= margin
        assert max(-before.low, before.high) > margin


def test_one_ranker_needs_a_margin_and_equality_is_known_within_a_margin_before(pool, labels):
    alone, pair = planned(pool, "query", "good"), planned(pool, "query", "good", "same", budget=1e6)
    with pytest.raises(ValueError, match="the plan has one ranker: pass margin="):
        alone.status(labels)
    near, exact = (pair.status(labels.assign(label=1), margin=margin) for margin in (0.2, None))
    assert near.resolved_at < exact.resolved_at


def test_an_estimate_that_contradicts_the_verdict_is_explained(pool, labels):
    plan = planned(pool, "document", "good", "bad")
    won = plan.status(ordered(plan, labels))
    assert won.remark is None
    assert replace(won, resolution="second", value=-1.0, low=-2.0, high=-0.5).remark is None
    outside = replace(won, resolution=None, value=won.high + 0.1)
    assert replace(outside, value=np.nan).remark is None
    for status, said in (
        (replace(won, value=-0.1), "the estimate now contradicts the verdict, which was reached earlier"),
        (replace(won, overturned="second"), f"an earlier verdict, {won.second} is better, was false"),
        (replace(won, low=np.nan, high=np.nan), "the bets have excluded every value"),
        (outside, "the estimate lies outside the interval, which no later label widens"),
    ):
        assert said in status.remark


def test_an_interval_that_excludes_everything_is_none():
    """A lucky beginning excludes all small values, and what follows all large ones."""
    units = Units(np.ones(400), np.zeros(400), np.ones(400), -np.ones(400), np.ones(400))
    swing = np.r_[np.ones(10), -np.ones(120), np.zeros(270)]
    assert np.isfinite(interval(units.judged(swing, 10), Stakes(np.array([200.0]), np.ones(1)), 0.5)).all()
    assert np.isnan(interval(units.judged(swing, 130), Stakes(np.array([200.0]), np.ones(1)), 0.5)).all()


TRIO = ("good", "bad", "same")


@pytest.fixture(scope="module", params=LEVELS)
def trio(request, pool):
    return planned(pool, request.param, *TRIO, budget={"query": 300, "document": 120}[request.param])


@pytest.fixture(scope="module")
def judged(trio, labels):
    return ordered(trio, labels)


@pytest.fixture(scope="module")
def truth(pool, labels):
    whole = planned(pool, "query", *TRIO, budget=1e6)
    return {name: found.value for name, found in whole.estimate(labels).items()}


def test_verdicts_on_pairs_are_right_and_stay_and_intervals_contain_the_truth(trio, judged, truth):
    before = trio.status(judged.head(0))
    assert (before.answer, str(before).count("nothing is judged")) == ("0 of 3 pairs are settled", 3)
    assert [(each.first, each.second) for each in before.pairs] == list(combinations(TRIO, 2))
    for part in np.linspace(0, len(judged), 5).astype(int)[1:]:
        status = trio.status(judged.head(part))
        for each, earlier in zip(status.pairs, before.pairs, strict=True):
            assert each.low < truth[each.first] - truth[each.second] < each.high
            assert each.winner in (None, max(each.first, each.second, key=truth.__getitem__))
            assert each.resolved == (each.e_value >= 20)
            assert each.e_value >= earlier.e_value
            if earlier.resolved:
                assert (each.resolution, each.resolved_at) == (earlier.resolution, earlier.resolved_at)
            assert each.resolved_at is None or earlier.resolved or each.resolved_at > earlier.spent
        before = status
    assert [each.winner for each in status.pairs] == ["good", None, "same"]
    assert (status.settled, status.resolved, status.slowest) == (2, False, status.pairs[1])


def test_all_pairs_together_prove_less_than_each_alone(trio, judged):
    """The bets on one of three pairs are those on that pair alone at a third of the level."""
    evidence = []
    for each in trio.status(judged).pairs:
        pair = {"first": each.first, "second": each.second}
        alone, usual = (trio.status(judged, **pair, confidence=level) for level in (1 - 0.05 / 3, 0.95))
        evidence.append((alone.e_value, each.e_value))
        assert (each.value, each.standard_error) == (alone.value, alone.standard_error)
        assert (each.low, each.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
        assert usual.high - usual.low < each.high - each.low
        # The step-down makes later pairs earlier.
        assert not each.resolved or each.resolved_at <= alone.resolved_at
    # By Holm, evidence on a direction is divided by 6 for the strongest one, by 5 for the next, …; alone, by 2.
    alone, together = np.array(sorted(evidence, reverse=True)).T
    assert together == pytest.approx(np.minimum.accumulate(alone * [2 / 6, 2 / 5, 2 / 4]), rel=1e-9)


@pytest.mark.parametrize("queries", ["these", "new"])
@BOTH
def test_four_rankers_are_a_table_whose_claims_are_the_verdicts(pool, labels, level: str, queries: str) -> None:
    names = ("good", "bad", "same", "twin")
    plan = planned(pool, level, *names, budget={"query": 400, "document": 150}[level])
    before = plan.status(labels.head(0), queries=queries)
    assert before.headline.startswith("4 of 4 rankers may be the best by DCG@10 for ")
    assert np.isnan(before.boards[0].values).all()
    assert str(before).count("–") >= 4
    status = plan.status(ordered(plan, labels), queries=queries)
    board, other = status.boards
    assert (board.population.name, {board.population.name, other.population.name}) == (queries, {"these", "new"})
    for found in (board, other):
        of_them = [each if each.population.name == found.population.name else each.beside for each in status.pairs]
        won = {(each.winner, each.second if each.winner == each.first else each.first) for each in of_them}
        claimed = {(found.names[a], found.names[b]) for a, b in np.argwhere(found.better)}
        assert claimed == {pair for pair in won if pair[0] is not None}
        frame = found.frame().set_index("name")
        assert frame["best"].to_dict() == {name: name not in {worse for _, worse in claimed} for name in names}
        assert frame["rank_low"].to_dict() == {name: 1 + sum(b == name for _, b in claimed) for name in names}
    assert ("good", "bad") in {
        (board.names[a], board.names[b]) for a, b in np.argwhere(board.better)
    } or queries == "new"
    estimates = plan.estimate(ordered(plan, labels))
    assert board.values.tolist() == sorted((each.value for each in estimates.values()), reverse=True)
    assert (board.ends[:, 0] < board.values).all()
    assert (board.values < board.ends[:, 1]).all()
    assert str(status).startswith(f"{status.headline}\n")
    assert status.to_dict()["rankers"] == plain_rows(board.frame())
