"""Pairs with a predictor under test: what rounds draw for each loss, slices, and hard judges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from samples import wanted

from pt_active.relevance.losses import Loss
from pt_active.risk import Audit
from pt_active.rounds import (
    F1,
    ActiveTest,
    CostMatrix,
    CrossEntropy,
    FMeasure,
    Recall,
    Squared,
    ZeroOne,
)
from pt_active.rounds.instances import PairInstances

COSTS = CostMatrix([[0, 1, 4, 5], [0.5, 0, 2, 3], [3, 1.5, 0, 1], [9, 4, 1, 0]])
LOSSES = [CrossEntropy(), ZeroOne(), Squared(), Recall(2), FMeasure(0.3), COSTS]


def frame_of(grades: np.ndarray) -> pd.DataFrame:
    columns = {f"grade_{g}": column for g, column in enumerate(grades.T)}
    return pd.DataFrame({"qid": "q", "docno": [f"d{i:03d}" for i in range(len(grades))]} | columns)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_sizes_are_expectations_over_all_labels(loss: Loss) -> None:
    """``√Σ_y P(y) (u − Ǧ w)²`` by explicit sums, of the cross-entropy ``Σ_y P(y) u``; nothing outside the slice.

    Of errors they are [ARE 12], of precision, recall and F1 [T 4.18–4.20].
    """
    rng = np.random.default_rng(1)
    tested, believed = rng.dirichlet(np.ones(4), size=(2, 9))
    member, labels = rng.random(9) < 0.6, np.arange(4.0)
    loss = type(loss)(**{**vars(loss), "slice": "part"})
    terms = loss.terms(loss.decision(tested)[:, None], labels)
    u, w = (np.broadcast_to(each, (9, 4)) * member[:, None] for each in terms)
    risk = 0.0 if isinstance(loss, CrossEntropy) else (believed * u).sum() / (believed * w).sum()
    power = 1 if isinstance(loss, CrossEntropy) else 2
    expected = ((believed * (u - risk * w) ** power).sum(axis=1)) ** (1 / power)
    found = PairInstances.of(frame_of(tested).assign(part=member), loss).size(believed)
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=1e-13)


def test_the_score_is_what_the_loss_looks_at() -> None:
    """``P(y ≥ rel)`` for precision and its kin and for two grades, else the expected loss."""
    grades = np.random.default_rng(4).dirichlet(np.ones(4), size=9)
    frame, entropy = frame_of(grades), -(grades * np.log(grades)).sum(axis=1)
    np.testing.assert_allclose(PairInstances.of(frame, Recall(2)).score(), grades[:, 2:].sum(axis=1), atol=1e-15)
    np.testing.assert_allclose(PairInstances.of(frame, CrossEntropy()).score(), entropy, atol=1e-14)
    np.testing.assert_allclose(PairInstances.of(frame, ZeroOne()).score(), 1 - grades.max(axis=1), atol=1e-14)
    binary = np.array([[0.95, 0.05], [0.38, 0.62]])
    np.testing.assert_array_equal(PairInstances.of(frame_of(binary), CrossEntropy()).score(), binary[:, 1])


@pytest.fixture(scope="module")
def pool() -> pd.DataFrame:
    """200 pairs of grades 0–3, their labels and a slice."""
    rng = np.random.default_rng(2)
    grades = rng.dirichlet([2, 1, 1, 0.5], size=200)
    label = [rng.choice(4, p=row) for row in grades]
    return frame_of(grades).assign(label=label, long=rng.random(200) < 0.4)


@pytest.mark.parametrize("loss", [Squared(), F1(2), COSTS], ids=str)
def test_an_audit_of_the_decisions_says_the_same_of_all_labels(pool: pd.DataFrame, loss: Loss) -> None:
    loss = type(loss)(**{**vars(loss), "slice": "long"})
    decided = pool.assign(f=loss.decision(pool.filter(like="grade_").to_numpy()))
    audit = Audit.create(decided, {"f": "f"}, loss, draws=200)
    judged = audit.estimate(wanted(audit, pool))["f"]
    found = ActiveTest.create(pool, None, loss, seed=1).next_round(200).estimate(pool[["qid", "docno", "label"]])
    assert found.value == pytest.approx(judged.value, abs=1e-12)
    assert found.basis.measure == judged.basis.measure == str(loss)


def test_the_slice_of_the_loss_decides_what_is_drawn_and_what_is_estimated(pool: pd.DataFrame) -> None:
    test = ActiveTest.create(pool, None, ZeroOne(slice="long"), seed=1).next_round(85)
    drawn = pool.merge(test.assessments[["docno"]], on="docno")
    assert drawn["long"].mean() > 0.8
    wrong = pool.filter(like="grade_").to_numpy().argmax(axis=1) != pool["label"]
    for measure, truth in ((None, wrong[pool["long"]].mean()), (ZeroOne(), wrong.mean())):
        found = test.estimate(wanted(test, pool), measure)
        assert abs(found.value - truth) < 4 * found.standard_error
        assert (found.basis.estimator, found.note) == ("lur", "")


@pytest.mark.parametrize(
    ("loss", "known"),
    [(CrossEntropy(), True), (F1(2), True), (Squared(), False), (COSTS, False), (ZeroOne(slice="long"), False)],
    ids=str,
)
def test_kernel_estimators_warn_where_the_draws_look_beyond_the_score(pool, loss: Loss, known: bool) -> None:
    """Sizes of the first round are a function of g for some losses, and then no note is due."""
    pairs = PairInstances.of(pool, loss)
    ranked = pairs.size(pairs.grades)[np.argsort(pairs.score(), kind="stable")]
    jumps = np.abs(np.diff(ranked)).mean() / np.abs(np.diff(np.sort(ranked))).mean()
    assert (jumps < 10) == known
    test = ActiveTest.create(pool, None, loss).next_round(40)
    note = test.estimate(wanted(test, pool), estimator="aiipw_ratio").note
    assert ("assumes that draws depend" in note) != known


def test_slices_of_queries(pipeline, demo) -> None:
    topics = demo.topics.assign(q_long=np.arange(len(demo.topics)) % 3 == 0)
    test = ActiveTest.create(pipeline, topics, "DCG@10").next_round(len(topics))
    inside = ActiveTest.create(pipeline, topics[topics["q_long"]], "DCG@10").next_round(40)
    alone = inside.estimate(demo.judge(inside.assessments))
    found = test.estimate(demo.judge(test.assessments), slice="q_long")
    assert found.value == pytest.approx(alone.value, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_judge_of_single_grades_is_sent_to_audit(pool: pd.DataFrame) -> None:
    hard = frame_of(np.eye(4)[pool["label"]])
    with pytest.warns(UserWarning, match=r"certain of the grade of every pair, .* pt_active\.Audit"):
        ActiveTest.create(hard, None, ZeroOne())
    hard.loc[0, [f"grade_{g}" for g in range(4)]] = 0.25
    ActiveTest.create(hard, None, CrossEntropy())
