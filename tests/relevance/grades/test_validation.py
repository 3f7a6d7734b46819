"""Few training labels are said before anything is planned, and models are judged on queries that they have not seen."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import GradeReport, JudgeGrades, OrderedLogitGrades, PriorGrades
from pt_active.demo.collection import demo_collection
from pt_active.relevance.grades.validation import Slope, folds_of, out_of_fold

COLLECTION = demo_collection(queries=60)
RUN, QRELS = COLLECTION.past_run, COLLECTION.past_qrels
JUDGED = RUN.merge(QRELS, on=["qid", "docno"])


def said(qrels, unjudged=None, run=RUN, model=None):
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (model or OrderedLogitGrades(3)).fit(run, qrels, unjudged=unjudged)
    return [str(each.message) for each in caught]


def sparse(share=0.098, seed=0):
    """Labels of a small part of the run, more of them relevant than in the whole."""
    chance = np.where(JUDGED["label"] > 0, 1.6, 0.6) * share
    return QRELS.merge(JUDGED[np.random.default_rng(seed).random(len(JUDGED)) < chance][["qid", "docno"]])


class TestFit:
    def test_full_labels_say_nothing(self):
        assert said(QRELS) == said(QRELS, run=QRELS[["qid", "docno"]], model=JudgeGrades(QRELS, 3)) == []

    @pytest.mark.parametrize("which", ["positives", "a part"])
    def test_few_judged(self, which):
        few = QRELS[QRELS["label"] > 1] if which == "positives" else sparse()
        (message,) = said(few)
        wanted = r"only \d+ of 200 documents down to rank 10 of the training run are judged.* nonrelevant or missing"
        assert re.match(wanted, message)
        assert said(few, "missing") == said(few, "nonrelevant") == []

    def test_positives_only_with_the_rest_nonrelevant_are_all_labels(self):
        got = OrderedLogitGrades(3).fit(RUN, QRELS[QRELS["label"] > 0], unjudged="nonrelevant").transform(RUN)
        pd.testing.assert_frame_equal(got, OrderedLogitGrades(3).fit(RUN, QRELS).transform(RUN))

    def test_ranks_below_the_tenth_do_not_matter(self):
        top = QRELS.merge(JUDGED[JUDGED.groupby("qid")["score"].rank(ascending=False) <= 10][["qid", "docno"]])
        assert len(top) < len(QRELS) / 1.5
        assert said(top) == []
        with pytest.raises(ValueError, match="unknown unjudged 'no'; it is one of missing, nonrelevant"):
            OrderedLogitGrades(3).fit(RUN, QRELS, unjudged="no")


class TestValidation:
    def test_out_of_fold_by_hand(self):
        """All documents of a query are in one fold, and each is graded once."""
        labels, qid = JUDGED["label"].to_numpy(), JUDGED["qid"].to_numpy(dtype=object)
        got, tested = out_of_fold(PriorGrades(3), JUDGED, labels), np.zeros(len(qid), dtype=int)
        for train, test in folds_of(qid):
            assert not set(qid[train]) & set(qid[test])
            tested += test
            model = PriorGrades(3).fit(JUDGED[train], JUDGED[train][["qid", "docno", "label"]])
            np.testing.assert_array_equal(got[test], model.transform(JUDGED[test]).filter(like="grade_"))
        assert (tested == 1).all()

    def test_the_slope_covers_the_true_one_as_often_as_it_says(self):
        rng, covered = np.random.default_rng(0), 0
        grades = rng.dirichlet(np.ones(3), 400)
        expected, qid = grades @ np.arange(3), np.repeat(np.arange(40), 10)
        for _ in range(400):
            labels = 0.7 * expected + np.repeat(rng.normal(0, 0.3, 40), 10) + rng.normal(0, 0.5, 400)
            slope = Slope.of(grades, labels, qid)
            covered += slope.low <= 0.7 <= slope.high
        assert abs(covered / 400 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 400)

    def test_the_slope_is_that_of_least_squares_with_queries_as_clusters(self):
        rng, qid = np.random.default_rng(3), np.array([4, 7, 7, 2, 4, 7, 2, 9, 9, 9])
        grades, labels = rng.dirichlet(np.ones(3), 10), rng.integers(0, 3, 10)
        design = np.column_stack([np.ones(10), grades @ np.arange(3)])
        inverse = np.linalg.inv(design.T @ design)
        parameters = inverse @ design.T @ labels
        scores = [design[own].T @ (labels - design @ parameters)[own] for own in (qid == each for each in (2, 4, 7, 9))]
        error = np.sqrt(4 / 3 * (inverse @ sum(np.outer(each, each) for each in scores) @ inverse)[1, 1])
        slope, reach = Slope.of(grades, labels, qid), 3.182446305284263 * error  # the 97.5 % point of t with 3 degrees
        assert (slope.low, slope.value, slope.high) == pytest.approx(parameters[1] + reach * np.array([-1, 0, 1]))

    @pytest.mark.parametrize(
        ("grades", "labels"), [([[0.5, 0.5], [0.5, 0.5]], [0, 1]), ([[0.5, 0.5], [0.4, 0.6]], [1, 1])]
    )
    def test_a_constant_model_and_labels_of_one_grade_have_no_slope(self, grades, labels):
        slope = Slope.of(np.array(grades * 3), np.array(labels * 3), np.array([1, 1, 2, 2, 3, 3]))
        assert np.isnan(slope.value)


def test_the_report_of_a_good_model_and_of_a_wrong_signed_one():
    good = GradeReport.cross_validated(OrderedLogitGrades(3), RUN, QRELS)
    assert good.slope.low < 1 < good.slope.high
    assert good.n_unjudged == 0
    wrong = GradeReport.cross_validated(_WrongSigned(3), RUN, QRELS)
    assert wrong.slope.high < 0
    assert wrong.likelihood < good.likelihood


class _WrongSigned(OrderedLogitGrades):
    def _predict(self, frame):
        return super()._predict(frame)[:, ::-1]
