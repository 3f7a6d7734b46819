"""Comparison of learners: its test by enumeration, its folds, and the data that learners see."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from pt_active import DCG, measure_values
from pt_active.inference.significance import cross_validated_error
from pt_active.studies.crossval import LearnerComparison, compare_learners, fold_numbers

QIDS = [f"q{i:03d}" for i in range(17)]


class SignLearner(pt.Estimator):
    """Learns from the first rows whether larger values of the first feature are better, and spoils all its frames.

    It keeps the queries that it sees in a diary, which its copies share.
    """

    def __init__(self, diary: list[list[Any]]) -> None:
        self.diary, self.slope, self.fits = diary, 0.0, 0

    def __deepcopy__(self, memo: dict) -> SignLearner:
        return copy(self)

    def fit(self, topics_or_res_tr, qrels_tr, topics_or_res_va=None, qrels_va=None) -> None:
        labelled = topics_or_res_tr.head(2).merge(qrels_tr, on=["qid", "docno"])
        self.slope += np.stack(labelled["features"])[:, 0] @ labelled["label"]
        self.fits += 1
        validating = [topics_or_res_va, qrels_va]
        seen = [set() if frame is None else set(frame["qid"]) for frame in (topics_or_res_tr, qrels_tr, *validating)]
        self.diary.append(seen)
        topics_or_res_tr["features"] = 0.0
        qrels_tr["label"] = 0

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        self.diary[-1] += [set(inp["qid"]), self.fits]
        found = inp.assign(score=np.sign(self.slope) * np.stack(inp["features"])[:, 0])
        inp["features"] = 0.0
        return found


def ridge() -> pt.Transformer:
    return pt.ltr.apply_learned_model(Ridge())


def by_feature(feature: int) -> pt.Transformer:
    return pt.apply.doc_score(lambda row: row["features"][feature])


def collection(queries: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Results with features, and qrels with grades 0 to 2, for 5 documents a query."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(queries * 5, 4))
    worth = x @ [1.0, 0.5, 0.3, 0.0] + 0.7 * rng.normal(size=len(x))
    results = pd.DataFrame({"qid": np.repeat([f"q{i:03d}" for i in range(queries)], 5), "query": "words"})
    results = results.assign(docno=[f"d{i:04d}" for i in range(len(x))], features=list(x))
    return results, results[["qid", "docno"]].assign(label=np.digitize(worth, [0.3, 1.2]))


RESULTS, QRELS = collection(17)


def compared(results=RESULTS, qrels=QRELS, learners=None, measure=DCG @ 3, **arguments) -> LearnerComparison:
    learners = {"ridge": ridge(), "one": by_feature(1)} if learners is None else learners
    return compare_learners(learners, results, qrels, measure, **({"folds": 3, "progress": False} | arguments))


@pytest.fixture(scope="module")
def result() -> LearnerComparison:
    return compared(repeats=2)


@pytest.mark.parametrize(("repeats", "folds"), [(1, 2), (1, 8), (3, 2), (2, 4)])
def test_the_squared_errors_are_unbiased_for_the_correlation_that_they_assume(repeats: int, folds: int) -> None:
    """Enumeration of δ = a C + b E with C and all E of ±1: any two folds have the correlation a²/(a² + b²).

    The correction assumes 1/K, the share of the queries that a test fold has; the plain test assumes 0.
    """
    outcomes = np.array(list(product([-1.0, 1.0], repeat=repeats * folds + 1)))
    common, own = outcomes[:, :1], outcomes[:, 1:]
    for corrected, differences in ((True, common + np.sqrt(folds - 1) * own), (False, own)):
        squared = cross_validated_error(differences.reshape(-1, repeats, folds), corrected) ** 2
        assert squared.mean() == pytest.approx(differences.mean(axis=1).var(), abs=1e-12)


def test_the_plain_test_is_scipys_paired_t_test(result: LearnerComparison) -> None:
    plain = replace(result, corrected=False)
    theirs = stats.ttest_rel(plain.per_fold["first"], plain.per_fold["second"])
    assert plain.difference / plain.standard_error == pytest.approx(theirs.statistic, abs=1e-12)
    assert plain.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)
    for level in (0.95, 0.8):
        assert plain.confidence_interval(level) == pytest.approx(tuple(theirs.confidence_interval(level)), abs=1e-12)


def test_the_corrected_test_by_its_definition(result: LearnerComparison) -> None:
    delta = result.per_fold["difference"].to_numpy()
    error = np.sqrt((1 / 6 + 1 / 2) * delta.var(ddof=1))
    assert result.standard_error == pytest.approx(error, abs=1e-12)
    assert result.pvalue == pytest.approx(2 * stats.t.sf(abs(delta.mean() / error), 5), abs=1e-12)
    half = stats.t.ppf(0.975, 5) * error
    assert result.confidence_interval() == pytest.approx((delta.mean() - half, delta.mean() + half), abs=1e-12)
    assert "SE²         variance over folds × (1/6 + 1/2); 1/2 = queries to test / all others" in str(result)


def test_folds_are_even_and_seeded() -> None:
    numbers = fold_numbers(17, 4, 3, seed=5)
    assert [sorted(np.bincount(row)) for row in numbers] == [[4, 4, 4, 5]] * 3
    np.testing.assert_array_equal(numbers[:2], fold_numbers(17, 4, 2, seed=5))
    assert len(np.unique(np.vstack([numbers, fold_numbers(17, 4, 3, seed=6)]), axis=0)) == 6


def test_every_number_is_what_a_loop_by_hand_gives() -> None:
    found, qids = compared(folds=4, repeats=2, seed=3), np.array(QIDS)
    for (repeat, fold), rows in found.per_query.groupby(["repeat", "fold"]):
        tested = qids[fold_numbers(17, 4, 2, seed=3)[repeat] == fold]
        assert rows["qid"].tolist() == tested.tolist()
        inside = RESULTS["qid"].isin(tested)
        training, test = RESULTS[~inside].merge(QRELS), RESULTS[inside]
        features = np.stack(test["features"])
        model = Ridge().fit(np.stack(training["features"]), training["label"])
        for column, score in (("first", model.predict(features)), ("second", features[:, 1])):
            values = measure_values(test.assign(score=score), QRELS, DCG @ 3).set_index("qid")["value"]
            assert rows[column].tolist() == pytest.approx(values[tested].tolist(), abs=1e-12)
    folds = found.per_query.groupby(["repeat", "fold"])["difference"].mean()
    assert found.per_fold["difference"].tolist() == pytest.approx(folds.tolist(), abs=1e-12)
    assert found.per_fold["n_queries"].sum() == 2 * 17
    assert found.difference == pytest.approx(folds.mean(), abs=1e-12)


def test_neither_the_order_of_rows_nor_the_other_learner_changes_anything() -> None:
    learners = {"first rows": SignLearner([]), "one": by_feature(1)}
    turned, labels = (frame.sample(frac=1, random_state=1) for frame in (RESULTS, QRELS))
    found = compared(turned, pd.concat([labels, labels.head(7)]), learners, "nDCG@5").per_query
    pd.testing.assert_frame_equal(found, compared(learners=learners, measure="nDCG@5").per_query)
    assert found["second"].tolist() == compared(measure="nDCG@5").per_query["second"].tolist()


@pytest.mark.parametrize("validation", [0.0, 0.25])
def test_a_learner_is_tested_on_queries_that_it_has_not_seen(validation: float) -> None:
    diary: list[list[Any]] = []
    learners = {"sign": SignLearner(diary), "made": lambda: by_feature(2) >> ridge()}
    compared(learners=learners, validation=validation)
    assert len(diary) == 3
    for training, labelled, validating, their_labels, tested, fits in diary:
        assert fits == 1
        assert training == labelled
        assert validating == their_labels
        assert len(validating) == round(validation * (17 - len(tested)))
        assert training | validating == set(QIDS) - tested
        assert not training & validating
    assert learners["sign"].fits == 0


def test_queries_without_qrels_are_left_out() -> None:
    kept = QRELS[~QRELS["qid"].isin(["q001", "q002"])]
    unjudged = pd.concat([kept, QRELS[QRELS["qid"] == "q002"].assign(label=-1)])
    with pytest.warns(UserWarning, match="queries without qrels are left out, 2 of 17: 'q001', 'q002'"):
        found = compared(RESULTS, unjudged)
    expected = compared(RESULTS[RESULTS["qid"].isin(kept["qid"])])
    pd.testing.assert_frame_equal(found.per_query, expected.per_query)


@pytest.mark.parametrize("queries", [["q003"], QIDS], ids=["one", "every"])
def test_a_query_without_an_answer_counts_nothing(queries: list[str], result: LearnerComparison) -> None:
    silent = pt.apply.generic(lambda res: res[~res["qid"].isin(queries)])
    counted = f"returned nothing for {'1 query' if len(queries) == 1 else '17 queries'}, counted as 0"
    with pytest.warns(UserWarning, match=f"learner 'silent' {counted}"):
        found = compared(learners={"ridge": ridge(), "silent": by_feature(1) >> silent})
    expected = result.per_query[result.per_query["repeat"] == 0]["second"]
    wanted = expected.where(~found.per_query["qid"].isin(queries), 0.0)
    assert found.per_query["second"].tolist() == wanted.tolist()


def answering(answer) -> dict[str, pt.Transformer]:
    return {"a": ridge(), "b": by_feature(0) >> pt.apply.generic(answer)}


WRONG = [
    ({"folds": 18}, "got 18 folds of 17 queries"),
    ({"folds": 1}, "folds must be at least 2, got 1"),
    ({"validation": 1.0}, "validation must be at least 0 and below 1, got 1.0"),
    ({"validation": 0.99}, "leave a training query, got 0.99 of 11 queries"),
    ({"measure": "nDGC@10"}, "unknown measure 'nDGC@10'"),
    ({"measure": "ERR(max_rel=1)@5"}, "grade 2 lies above max_rel=1"),
    ({"results": RESULTS.drop(columns="qid")}, "topics must have the columns qid; it lacks"),
    ({"results": None}, "topics must be a pandas DataFrame, got None"),
    ({"results": pd.concat([RESULTS, RESULTS.head(2)])}, "topics: 2 duplicate rows"),
    ({"qrels": QRELS.assign(qid="other")}, "no query of the topics has qrels"),
    ({"qrels": QRELS.assign(label=0.5)}, "expected a label that is a whole number"),
]
WRONG_LEARNERS = [
    ({"one": ridge()}, "learners must map two names to learners"),
    ({"a": ridge(), "b": lambda: Ridge()}, "learner 'b' must be a PyTerrier transformer, got Ridge"),
    (answering(lambda r: r[["qid"]]), "what learner 'b' returns must have .* it lacks 'docno', 'score'"),
    (answering(lambda r: pd.concat([r, r.head(1)])), "run 'b': 1 duplicate row; document 'd"),
]


@pytest.mark.parametrize(("arguments", "message"), [*WRONG, *(({"learners": a}, said) for a, said in WRONG_LEARNERS)])
def test_bad_arguments_are_found_before_any_training_and_so_are_bad_learners(arguments: dict, message: str) -> None:
    diary: list[list[Any]] = []
    with pytest.raises(ValueError, match=message):
        compared(**{"learners": {"a": SignLearner(diary), "b": by_feature(0)}} | arguments)
    assert diary == []


def test_topics_may_come_without_documents() -> None:
    """With topics alone, the pipelines retrieve the documents."""
    retrieve = pt.apply.generic(lambda topics: RESULTS.merge(topics[["qid"]], on="qid"))
    topics = RESULTS[["qid", "query"]].drop_duplicates()
    found = compared(topics, QRELS, {"ridge": retrieve >> ridge(), "one": retrieve >> by_feature(1)}, folds=2)
    pd.testing.assert_frame_equal(found.per_query, compared(folds=2).per_query)


def test_the_winner_is_the_one_with_the_larger_measure() -> None:
    data, learners = collection(40), {"bad": by_feature(3), "ridge": ridge()}
    forth = compared(*data, learners, folds=5, confidence=0.9)
    back = compared(*data, dict(reversed(learners.items())), folds=5, confidence=0.9)
    assert forth.difference == pytest.approx(-back.difference, abs=1e-12)
    assert forth.pvalue < 0.1
    assert forth.winner == back.winner == "ridge"
    assert replace(forth, confidence_level=1 - forth.pvalue / 2).winner is None


def test_learners_that_differ_by_rounding_are_equal_and_by_a_millionth_are_not(result: LearnerComparison) -> None:
    noise = np.resize([1e-17, -2e-17, 3e-17], len(result.per_query))
    tied = replace(result, per_query=result.per_query.assign(second=result.per_query["first"], difference=noise))
    assert (tied.difference, tied.standard_error, tied.pvalue, tied.winner) == (0, 0, 1, None)
    assert not np.signbit(tied.difference)
    assert "none, since the difference is the same in every fold" in str(tied)
    apart = result.per_query["first"].mean() * 1e-6
    values = {"first": 1 + apart, "second": 1.0, "difference": apart * np.linspace(1, 1.1, len(result.per_query))}
    assert replace(result, per_query=result.per_query.assign(**values)).winner == result.first
