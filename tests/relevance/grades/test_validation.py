"""Few training labels are said before anything is planned, and models are judged on queries that they have not seen."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import GradeReport, JudgeGrades, OrderedLogitGrades, PriorGrades
from pt_active.demo.collection import demo_collection
from pt_active.relevance.grades.validation import folds_of, out_of_fold

COLLECTION = demo_collection(queries=60)
RUN, QRELS = COLLECTION.past_run, COLLECTION.past_qrels
JUDGED = RUN.merge(QRELS, on=["qid", "docno"])


def said(qrels, unjudged=None, run=RUN, model=None):
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (model or OrderedLogitGrades(3)).fit(run, qrels, unjudged=unjudged)
    return [str(each.message) for each in caught]


class TestFit:
    def test_full_labels_say_nothing(self):
        assert said(QRELS) == said(QRELS, run=QRELS[["qid", "docno"]], model=JudgeGrades(QRELS, 3)) == []

    def test_few_judged(self):
        few = QRELS[QRELS["label"] > 1]
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


def test_the_report_of_a_good_model_and_of_a_wrong_signed_one():
    good = GradeReport.cross_validated(OrderedLogitGrades(3), RUN, QRELS)
    assert good.n_unjudged == 0
    wrong = GradeReport.cross_validated(_WrongSigned(3), RUN, QRELS)
    assert wrong.likelihood < good.likelihood


class _WrongSigned(OrderedLogitGrades):
    def _predict(self, frame):
        return super()._predict(frame)[:, ::-1]
