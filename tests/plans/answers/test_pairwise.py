"""All pairs of rankers together: verdicts that hold for all at once, in numbers, on the screen and in JSON."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered
from samples import wanted

from pt_active import DCG, OrderedLogitGrades, Plan, Runs, measure_values
from pt_active.demo.collection import DemoCollection
from pt_active.frames.qrels import whole_labels
from pt_active.inference.stopping.bets import excluded, holm, log_capital
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.sequence import sequence_of

QUERIES, PAIRS = 60, 3


@pytest.fixture(scope="module")
def runs(demo: DemoCollection) -> dict[str, pd.DataFrame]:
    """The two rankers of the demonstration and one that knows nothing."""
    blind = demo.runs["candidate"].drop(columns="rank")
    blind = blind.assign(score=np.random.default_rng(3).normal(size=len(blind)))
    return demo.runs | {"blind": blind[blind.qid.isin(demo.topics.qid)]}


@pytest.fixture(scope="module")
def pool(demo: DemoCollection, grades: OrderedLogitGrades, runs: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return (Runs(**runs, depth=10) >> grades)(demo.topics.head(QUERIES))


@pytest.fixture(scope="module")
def labels(demo: DemoCollection, pool: pd.DataFrame) -> pd.DataFrame:
    return demo.judge(pool)


@pytest.fixture(scope="module", params=["query", "document"])
def plan(request: pytest.FixtureRequest, pool: pd.DataFrame) -> Plan:
    return Plan.create(pool, None, DCG @ 10, budget=500, seed=3, level=request.param)


@pytest.fixture(scope="module")
def judged(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    return ordered(plan, labels)


@pytest.fixture(scope="module")
def status(plan: Plan, judged: pd.DataFrame) -> PairStatus:
    return plan.status(judged)


@pytest.fixture(scope="module")
def truth(runs: dict[str, pd.DataFrame], labels: pd.DataFrame) -> dict[str, float]:
    qids = labels.qid.unique()
    values = {name: measure_values(run, labels, DCG @ 10).set_index("qid").value for name, run in runs.items()}
    return {name: value[qids].mean() for name, value in values.items()}


def test_verdicts_are_right_and_intervals_contain_the_truth(status: PairStatus, runs, truth) -> None:
    assert [(each.first, each.second) for each in status.pairs] == list(combinations(runs, 2))
    for each in status.pairs:
        assert each.low < truth[each.first] - truth[each.second] < each.high
        assert each.resolved == (each.e_value >= 20)
        assert each.winner in (None, max(each.first, each.second, key=truth.__getitem__))
    assert [each.winner for each in status.pairs[1:]] == ["production", "candidate"]
    assert (status.settled, status.resolved) == (2, False)
    assert status.slowest == status.pairs[0]


def test_all_pairs_together_prove_less_than_each_alone(plan: Plan, judged: pd.DataFrame, status: PairStatus) -> None:
    """The bets on one of three pairs are those on that pair alone at a third of the level."""
    for each in status.pairs:
        alone = plan.status(judged, first=each.first, second=each.second, confidence=1 - 0.05 / PAIRS)
        assert each.e_value <= alone.e_value
        assert (each.value, each.standard_error) == (alone.value, alone.standard_error)
        assert (each.low, each.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
        usual = plan.status(judged, first=each.first, second=each.second)
        assert usual.high - usual.low < each.high - each.low


def test_evidence_is_adjusted_for_all_directions_of_all_pairs(plan: Plan, judged: pd.DataFrame, status) -> None:
    sequence = sequence_of(plan.tables, whole_labels(plan.tables.pool.keys, judged), DCG @ 10)
    proofs = [sequence.proof(Contrast(*pair), 0.05 / PAIRS) for pair in combinations(range(3), 2)]
    sides = [(side, each.stakes) for each in proofs for side in (each.draws, each.draws.mirrored)]
    largest = np.array([max(0.0, log_capital(side, stakes).max()) for side, stakes in sides])
    adjusted = holm(np.exp(np.minimum(largest, 700))).reshape(PAIRS, 2).max(axis=1)
    assert [each.e_value for each in status.pairs] == pytest.approx(adjusted.tolist(), rel=1e-9)
    for each, proof in zip(status.pairs[1:], proofs[1:], strict=True):
        # Alone, at the level of the first step, it would have been as late; the step-down makes later pairs earlier.
        draws = proof.draws if each.winner == each.first else proof.draws.mirrored
        strict = excluded(draws, proof.stakes, 0.0, 0.05 / (2 * PAIRS))
        assert each.resolved_at <= sequence.spent[strict]


def test_verdicts_stay_and_evidence_grows(plan: Plan, judged: pd.DataFrame) -> None:
    before = plan.status(judged.head(0))
    assert before.answer == "0 of 3 pairs are settled"
    assert str(before).count("nothing is judged") == PAIRS
    assert before.advice == f"keep judging, from {before.pairs[0].waiting}"
    for part in np.linspace(0, len(judged), 5).astype(int)[1:]:
        status = plan.status(judged.head(part))
        for each, earlier in zip(status.pairs, before.pairs, strict=True):
            assert each.e_value >= earlier.e_value
            if earlier.resolved:
                assert (each.resolution, each.resolved_at) == (earlier.resolution, earlier.resolved_at)
            assert each.resolved_at is None or earlier.resolved or each.resolved_at > earlier.spent
        before = status


def test_all_labels_settle_all_pairs(plan: Plan, pool: pd.DataFrame, labels: pd.DataFrame, truth) -> None:
    arguments = plan.tables.manifest.arguments
    whole = Plan.create(pool, None, DCG @ 10, budget=1e6, seed=3, level=arguments.level, design=arguments.design)
    status = whole.status(wanted(whole, labels))
    assert (status.resolved, status.settled) == (True, PAIRS)
    assert (status.answer, status.advice) == ("stop: all 3 pairs are settled", "stop judging")
    for each in status.pairs:
        expected = truth[each.first] - truth[each.second]
        assert (each.low, each.value, each.high) == pytest.approx((expected, expected, expected), abs=1e-9)
        assert each.e_value == np.inf
        assert each.answer == f"stop: {each.winner} is better (certain)"
    assert str(status).count("certain") == PAIRS
    assert json.loads(json.dumps(status.to_dict(), allow_nan=False))["pairs"][0]["e_value"] is None


def test_one_screen(status: PairStatus) -> None:
    content = json.loads(json.dumps(status.to_dict(), allow_nan=False))
    table = status.table()
    assert table.better.tolist() == [None, "production", "candidate"]
    assert table.difference.tolist() == [each["value"] for each in content["pairs"]]
    assert (content["confidence"], content["answer"]) == (0.95, "2 of 3 pairs are settled")
    assert content["advice"] == "extend the plan, or accept that the other pairs stay open"
    lines = str(status).splitlines()
    assert lines[0] == "DCG@10: all pairs together, 95%, valid at any time, for any data, for these 60 queries"
    assert len(lines) == 1 + PAIRS + 3
    first = status.pairs[0]
    assert "production − candidate" in lines[1]
    assert f"{first.value:+.4f} [{first.low:.4f}, {first.high:.4f}]" in lines[1]
    assert lines[1].endswith("open")
    assert lines[2].endswith("production is better")
