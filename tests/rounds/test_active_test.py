"""Active tests on frames: rounds of queries and of pairs, from their making to the estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from samples import wanted
from scipy import stats
from scipy.special import expit
from sklearn.metrics import average_precision_score, f1_score, log_loss, precision_score, recall_score, roc_auc_score

from pt_active import DCG, Runs, measure_values
from pt_active.demo.collection import DemoCollection
from pt_active.inference.weightings import inclusion_regression, round_estimators
from pt_active.relevance.grades.recalibration import recalibrated_grades
from pt_active.relevance.losses import GaussianSquared, Loss, PairMeasure
from pt_active.risk import Audit
from pt_active.rounds import (
    AP,
    AUC,
    F1,
    Accuracy,
    ActiveTest,
    CostMatrix,
    CrossEntropy,
    FMeasure,
    Precision,
    Recall,
    Squared,
    ZeroOne,
)
from pt_active.rounds.active_test import STRATEGIES
from pt_active.rounds.instances import PairInstances, QueryInstances
from pt_active.sampling.chances import defended, inclusion_probabilities
from pt_active.sampling.designs import sampling_distribution
from pt_active.sampling.draws import ROUND_DRAWINGS


def labelled_pairs(n: int = 300) -> pd.DataFrame:
    """Pairs with a predictor that is right in parts, the true label, features and a slice."""
    rng = np.random.default_rng(1)
    score = rng.normal(size=n)
    truth = rng.random(n) < expit(score + 0.3)
    pairs = pd.DataFrame({"qid": [f"q{i % 30}" for i in range(n)], "docno": [f"d{i:04d}" for i in range(n)]})
    pairs = pairs.assign(grade_0=expit(-1.5 * score), grade_1=expit(1.5 * score), label=truth.astype(int))
    features = np.column_stack([score, rng.normal(size=n)])
    return pairs.assign(features=list(features), short=rng.random(n) < 0.4)


PAIRS = labelled_pairs()
QRELS = PAIRS[["qid", "docno", "label"]]
PLAIN = ActiveTest.create(PAIRS, None, CrossEntropy(), seed=2)


def in_rounds(test: ActiveTest, strategies: list[str], qrels: pd.DataFrame = QRELS, size: int = 25, **options) -> tuple:
    """The test after some rounds, and the labels of all of them."""
    labels = [qrels.iloc[:0]]
    for strategy in strategies:
        known = pd.concat(labels)
        test = test.next_round(size, known if len(known) else None, strategy, **options)
        labels.append(wanted(test, qrels))
    return test, pd.concat(labels)


@pytest.fixture(scope="module")
def queries(demo: DemoCollection, pipeline: pt.Transformer) -> ActiveTest:
    return ActiveTest.create(pipeline, demo.topics, DCG @ 10, seed=3)


@pytest.fixture(scope="module")
def truth(demo: DemoCollection, graded: pd.DataFrame) -> pd.DataFrame:
    return demo.judge(graded)


def means(demo: DemoCollection, truth: pd.DataFrame, measure: str) -> float:
    """The difference of both rankers by a measure."""
    first, second = (measure_values(run, truth, measure)["value"].mean() for run in demo.runs.values())
    return first - second


@pytest.mark.parametrize("drawing", ROUND_DRAWINGS)
def test_rounds_of_queries_estimate_the_difference(demo, queries, truth, drawing: str) -> None:
    strategies = ["ori", "rec", "rf" if drawing == "fixed" else "ori", "uniform"]
    test, labels = in_rounds(queries, strategies, truth, drawing=drawing)
    exact = means(demo, truth, "DCG@10")
    for estimator in round_estimators():
        if drawing == "single" and estimator.startswith("ailur"):
            continue
        found = test.estimate(labels, estimator=estimator)
        assert found.name == "production − candidate"
        assert abs(found.value - exact) <= 4 * found.standard_error, estimator
        assert 0 < found.standard_error < 1
        assert found.basis.n_queries == int(test.rounds.drawn.sum())
    assert [row["strategy"] for row in test.manifest["rounds"]] == strategies
    assert drawing == "poisson" or [row["drawn"] for row in test.manifest["rounds"]] == [25] * 4
    assert labels.groupby(["qid", "docno"]).size().max() == 1


def test_a_census_is_the_truth(demo, queries, truth) -> None:
    test, labels = in_rounds(queries, ["ori", "uniform"], truth, size=60)
    assert test.rounds.census
    for measure in ("DCG@10", "ERR(max_rel=3)@10"):
        found = test.estimate(labels, measure=measure)
        assert found.value == pytest.approx(means(demo, truth, measure), abs=1e-9)
        assert found.confidence_interval() == pytest.approx((found.value, found.value))
        assert "no sampling error" in found.note
    with pytest.raises(ValueError, match="nothing left to draw"):
        test.next_round(1)


@pytest.mark.parametrize("rankers", [["production"], ["production", "candidate"]])
def test_queries_are_drawn_by_the_optimal_design_at_equal_costs(demo, grades, rankers: list) -> None:
    topics = demo.topics.assign(traffic=np.arange(1.0, len(demo.topics) + 1))
    frame = (Runs(**{name: demo.runs[name] for name in rankers}, depth=15) >> grades)(topics)
    queries = QueryInstances.of(frame, DCG @ 10)
    pool, size = queries.pool, queries.size(queries.grades)
    moments = pool.moments(DCG @ 10)
    q = sampling_distribution("optimal", moments, np.ones(len(size)), pool.query_weight, defensive=0)
    np.testing.assert_allclose(size / size.sum(), q, atol=1e-14)
    model = queries.statistic(DCG @ 10, np.zeros(len(queries.frame), dtype=int))[1]
    np.testing.assert_allclose(model, queries.score(), atol=1e-14)
    means = moments.mean @ [1, -1][: len(rankers)]
    assert model.mean() == pytest.approx(pool.query_weight @ means, abs=1e-12)


MEASURED: dict[Callable[..., PairMeasure], Callable[[np.ndarray, np.ndarray], float]] = {
    CrossEntropy: log_loss,
    ZeroOne: lambda y, p: np.mean(y != (p >= 0.5)),
    Accuracy: lambda y, p: np.mean(y == (p >= 0.5)),
    Squared: lambda y, p: np.mean((y - p) ** 2),
    Precision: lambda y, p: precision_score(y, p >= 0.5),
    Recall: lambda y, p: recall_score(y, p >= 0.5),
    F1: lambda y, p: f1_score(y, p >= 0.5),
    AUC: roc_auc_score,
    AP: average_precision_score,
}


@pytest.mark.parametrize("measure", MEASURED, ids=lambda measure: str(measure()))
def test_a_census_of_pairs_is_what_scikit_learn_says(measure: Callable[..., PairMeasure]) -> None:
    test, labels = in_rounds(PLAIN, ["ori", "rec"], size=150)
    for pairs, asked in ((PAIRS, measure()), (PAIRS[PAIRS["short"]], measure(slice="short"))):
        exact = MEASURED[measure](pairs["label"].to_numpy(), pairs["grade_1"].to_numpy())
        found = [test.estimate(labels, asked, estimator).value for estimator in (None, "lur")]
        assert found == pytest.approx([exact, exact], abs=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rounds_of_pairs_estimate_every_measure(strategy: str) -> None:
    first = strategy if strategy in ("ori", "uniform") else "ori"
    test, labels = in_rounds(PLAIN, [first, strategy, strategy], size=40)
    for measure in MEASURED if strategy == "ori" else (CrossEntropy, Recall, AUC):
        exact = MEASURED[measure](PAIRS["label"].to_numpy(), PAIRS["grade_1"].to_numpy())
        found = test.estimate(labels, measure(), "lur")
        assert abs(found.value - exact) <= 4 * found.standard_error, measure
        assert found.basis.level == "pair"
        assert "120 pairs of 30 queries in 3 rounds" in str(found)
        assert found.note == ""
    assert ("assumes that draws depend" in test.estimate(labels).note) == (strategy == "rf")


def test_recalibration_weighs_each_label_by_how_improbable_it_was() -> None:
    first = ActiveTest.create(PAIRS, None, CrossEntropy(), seed=5).next_round(60)
    pairs = PAIRS.sort_values(["qid", "docno"])
    grades, drawn = pairs[["grade_0", "grade_1"]].to_numpy(), first.rounds.drawn
    weights = 1 / np.where(drawn, inclusion_regression(first.rounds), 1.0)
    believed = recalibrated_grades(grades, np.where(drawn, pairs["label"], -1), weights)
    size = -(believed * np.log(grades)).sum(axis=1)[~drawn]
    chance = pd.Series(inclusion_probabilities(defended(size), 40), pairs["docno"][~drawn])
    found = first.next_round(40, wanted(first, QRELS), "rec").assessments
    np.testing.assert_allclose(found["inclusion"], chance[found["docno"]], atol=1e-12)


@pytest.mark.parametrize(("measure", "needs"), [(AUC(), "labels of both classes"), (Recall(), "an instance")])
def test_one_class_leaves_auc_undefined_and_says_so(measure: PairMeasure, needs: str) -> None:
    test, labels = in_rounds(PLAIN, ["ori"], size=20)
    found = test.estimate(labels.assign(label=0), measure)
    assert np.isnan([found.value, *found.confidence_interval()]).all()
    assert f"{measure} is undefined: it needs {needs}" in found.note


def test_a_poisson_round_may_draw_nothing() -> None:
    tests = (ActiveTest.create(PAIRS.head(3), None, Squared(), seed=seed) for seed in range(200))
    test = next(each for each in (t.next_round(1, drawing="poisson") for t in tests) if each.assessments.empty)
    assert "drawn     0 of 3 pairs" in str(test)
    assert list(test.assessments.columns) == ["qid", "docno", "inclusion"]
    with pytest.raises(ValueError, match="no round has drawn anything, .*: call next_round"):
        test.estimate(QRELS)
    assert len(test.next_round(2).assessments) == 2


def drawn(size: float = 5, **options) -> None:
    PLAIN.next_round(size, **options)


def estimated(**asked) -> None:
    test, labels = in_rounds(PLAIN, ["ori"])
    test.estimate(labels, **asked)


def made(measure: str | PairMeasure, frame: pd.DataFrame = PAIRS, **columns) -> None:
    ActiveTest.create(frame.assign(**columns), None, measure)


THREE = {"rank_a": 0, "rank_b": 0, "rank_c": 0, "docno": "d", "qid": PAIRS["docno"]}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: drawn(qrels=QRELS, strategy="rec"), "learns from labels: draw the first round"),
        (lambda: drawn(strategy="best"), "unknown strategy 'best'; it is one of ori, rec, rf, uniform"),
        (lambda: drawn(size=2.5), "size must be a whole number, got 2.5"),
        (lambda: drawn(drawing="systematic"), "unknown drawing"),
        (lambda: estimated(estimator="snis"), "unknown estimator 'snis'; the estimators are lur"),
        (lambda: estimated(measure=ZeroOne(slice="long")), "must name a column of the pool .*, got 'long'"),
        (lambda: estimated(measure=AUC(slice="grade_1")), "row 0: expected a grade_1 that is true or false"),
        (lambda: estimated(measure=Precision(), estimator="lur_difference"), "lur_difference is for means"),
        (lambda: estimated(measure="AUC"), r"a loss or an area, such as Precision\(rel=2\) or AUC\(\), got 'AUC'"),
        (lambda: made(AUC()), r"draw for CrossEntropy\(\), and estimate AUC"),
        (lambda: made("cross_entropy"), "the pool has no ranker, so its grades are tested"),
        (lambda: made(Precision(rel=2)), "rel=2 is above the highest grade, 1"),
        (lambda: made(CostMatrix([[0, 1, 2], [1, 0, 1]])), "has 3 columns, but the labels have 2 grades"),
        (lambda: made(GaussianSquared()), r"real labels without grades; the squared error of grades is Squared\(\)"),
        (lambda: made(ZeroOne(slice="short"), short=False), "the slice 'short' holds no pair"),
        (lambda: made(Squared(), PAIRS.iloc[:0]), "need rows, and the predictor's probabilities"),
        (lambda: made(Squared(), PAIRS.drop(columns="docno")), "it lacks 'docno'"),
        (lambda: made(Squared(), pd.concat([PAIRS, PAIRS.head(1)])), "the pairs: 1 duplicate row;"),
        (lambda: made(Squared(), grade_1=0.9), "grade probabilities must be at least 0 and sum to 1"),
        (lambda: made("DCG@10", **THREE), "one ranker or the"),
    ],
)
def test_what_cannot_be_drawn_or_asked_is_refused(ask: Callable[[], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_where_nothing_went_wrong_shares_and_areas_have_intervals_of_the_labels_that_count() -> None:
    """Of n labels drawn uniformly, all of them right, Wilson's interval begins at ``n/(n + t²)`` [W]."""
    perfect = PAIRS.assign(label=(PAIRS["grade_1"] > 0.5).astype(int))
    test = ActiveTest.create(perfect, None, Accuracy(), seed=3)
    test, labels = in_rounds(test, ["uniform"], perfect, size=40)
    positive = int(labels["label"].sum())
    count = {ZeroOne(): 40, Precision(): positive, AUC(): min(positive, 40 - positive)}
    for measure, n in count.items():
        found = test.estimate(labels, measure, "lur")
        t = stats.t.ppf(0.975, n - 1)
        assert (found.standard_error, found.n_effective) == (0, pytest.approx(n, rel=1e-9))
        expected = (0, t**2 / (n + t**2)) if isinstance(measure, ZeroOne) else (n / (n + t**2), 1)
        assert found.confidence_interval() == pytest.approx(expected, abs=1e-9), measure
        assert f"that of {n:.1f} pairs drawn at random of which none is an exception" in found.note


def test_more_than_is_left_is_drawn_with_a_warning() -> None:
    test = ActiveTest.create(PAIRS, None, ZeroOne()).next_round(280)
    with pytest.warns(UserWarning, match="size=1000, but only 20 are left: the round draws them all"):
        last = test.next_round(1000)
    assert len(last.assessments) == 20


COSTS = CostMatrix([[0, 1, 4, 5], [0.5, 0, 2, 3], [3, 1.5, 0, 1], [9, 4, 1, 0]])


def frame_of(grades: np.ndarray) -> pd.DataFrame:
    keys = pd.DataFrame({"qid": "q", "docno": [f"d{i:03d}" for i in range(len(grades))]})
    return keys.join(pd.DataFrame(grades).add_prefix("grade_"))


@pytest.mark.parametrize("loss", [CrossEntropy(), ZeroOne(), Squared(), Recall(2), FMeasure(0.3), COSTS], ids=str)
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
    scores = {Recall(2): grades[:, 2:].sum(axis=1), CrossEntropy(): entropy, ZeroOne(): 1 - grades.max(axis=1)}
    for loss, score in scores.items():
        np.testing.assert_allclose(PairInstances.of(frame, loss).score(), score, atol=1e-14)
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
    test = ActiveTest.create(pool, None, loss).next_round(40)
    note = test.estimate(wanted(test, pool), estimator="aiipw_ratio").note
    assert ("assumes that draws depend" in note) != known
