"""Few training labels are said before anything is planned, and models are judged on queries that they have not seen."""

import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import GradeReport, JudgeGrades, OrderedLogitGrades, PriorGrades
from pt_active.demo.collection import demo_collection
from pt_active.relevance.grades.report import folds_of, out_of_fold

COLLECTION = demo_collection(queries=60)
RUN, QRELS = COLLECTION.past_run, COLLECTION.past_qrels
JUDGED = RUN.merge(QRELS, on=["qid", "docno"])
PAIRS = QRELS[["qid", "docno"]]
RELEVANT = QRELS[QRELS["label"] > 1]
TOP = JUDGED[JUDGED.groupby("qid")["score"].rank(ascending=False) <= 10][["qid", "docno", "label"]]


@pytest.mark.parametrize(
    ("run", "qrels", "unjudged"),
    [(RUN, TOP, None), (RUN, RELEVANT, "missing"), (RUN, RELEVANT, "nonrelevant"), (PAIRS, QRELS, None)],
)
def test_labels_down_to_rank_10_and_a_policy_for_the_rest_say_nothing(run, qrels, unjudged):
    model = JudgeGrades(QRELS, 3) if run is PAIRS else OrderedLogitGrades(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(run, qrels, unjudged=unjudged)


def test_few_labels_have_a_warning():
    wanted = r"only \d+ of 200 documents down to rank 10 of the training run are judged.* nonrelevant or missing"
    with pytest.warns(UserWarning, match=wanted):
        OrderedLogitGrades(3).fit(RUN, RELEVANT)
    with pytest.raises(ValueError, match="unknown unjudged 'no'; it is one of missing, nonrelevant"):
        OrderedLogitGrades(3).fit(RUN, QRELS, unjudged="no")


def test_positives_only_with_the_rest_nonrelevant_are_all_labels():
    got = OrderedLogitGrades(3).fit(RUN, QRELS[QRELS["label"] > 0], unjudged="nonrelevant").transform(RUN)
    pd.testing.assert_frame_equal(got, OrderedLogitGrades(3).fit(RUN, QRELS).transform(RUN))


def test_out_of_fold_by_hand():
    """All documents of a query are in one fold, and each is graded once."""
    labels, qid = JUDGED["label"].to_numpy(), JUDGED["qid"].to_numpy(dtype=object)
    got, tested = out_of_fold(PriorGrades(3), JUDGED, labels), np.zeros(len(qid), dtype=int)
    for train, test in folds_of(qid):
        assert not set(qid[train]) & set(qid[test])
        tested += test
        model = PriorGrades(3).fit(JUDGED[train], JUDGED[train][["qid", "docno", "label"]])
        np.testing.assert_array_equal(got[test], model.transform(JUDGED[test]).filter(like="grade_"))
    assert (tested == 1).all()


class _WrongSigned(OrderedLogitGrades):
    def _predict(self, frame):
        return super()._predict(frame)[:, ::-1]


def test_the_report_of_a_good_model_and_of_a_wrong_signed_one():
    good, wrong = (GradeReport.cross_validated(kind(3), RUN, QRELS) for kind in (OrderedLogitGrades, _WrongSigned))
    assert good.n_unjudged == 0
    assert wrong.likelihood < good.likelihood
