"""Judges: the forms of their answers, and what they say about grades, one by one and together."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from pt_active import JudgeGrades
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades.judges import judge_table, mean_of_judges

PAIRS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"]})
NEAR = np.array([[1, 0.4, 0.16], [0.4, 1, 0.4], [0.16, 0.4, 1]]) / np.array([[1.56], [1.8], [1.56]])


def test_votes_of_a_frame_are_shares():
    table = judge_table(PAIRS.astype({"qid": int}).assign(votes_0=[3, 0, 0.2], votes_1=[1, 5, 0.8]))
    assert table[["qid", "docno"]].equals(PAIRS)
    assert_allclose(table[[0, 1]], [[0.75, 0.25], [0, 1], [0.2, 0.8]])


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("labels.csv", "qid,docno,label,model\n1,a,1,gpt\n1,b,0,gpt\n", [["1", "a", 0, 1], ["1", "b", 1, 0]]),
        ("votes.tsv.gz", "qid\tdocno\tvotes_0\tvotes_1\n1\ta\t1\t3\n", [["1", "a", 0.25, 0.75]]),
        ("llm.qrels", "1 0 a 1\n1 0 b 0\n", [["1", "a", 0, 1], ["1", "b", 1, 0]]),
    ],
)
def test_files(name, text, want, tmp_path):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert judge_table(str(tmp_path / name)).to_numpy().tolist() == want


def check(model, want):
    grades = model.transform(PAIRS)[["grade_0", "grade_1", "grade_2"]]
    assert_allclose(grades, rounded_grades(want), rtol=1e-9)


def test_grades_without_labels_of_people():
    """A judge may have fewer grades than people, or more; a pair that it left out is like those that it has."""
    check(JudgeGrades(PAIRS.assign(label=[0, 3, 1]), 2), NEAR[[0, 2, 1]])
    votes = PAIRS.assign(votes_0=[3, 0, 1], votes_1=[1, 4, 3])
    check(JudgeGrades(votes, 2), np.array([[3, 1], [0, 4], [1, 3]]) / 4 @ NEAR[:2])
    seen = PAIRS.head(2).assign(label=[0, 2])
    check(JudgeGrades(seen, 2), np.vstack([NEAR[[0, 2]], NEAR[[0, 2]].mean(axis=0)]))
    with pytest.warns(UserWarning, match="the judge saw no document"):
        JudgeGrades(seen.assign(qid="9"), 2).transform(PAIRS)


def test_several_judges_have_the_mean():
    one, other = PAIRS.assign(label=[0, 2, 1]), PAIRS.assign(label=[1, 1, 1])
    check(mean_of_judges({"one": one, "other": other}, 2), (NEAR[[0, 2, 1]] + NEAR[[1, 1, 1]]) / 2)


def test_labels_say_how_far_the_judge_is_trusted():
    people = pd.DataFrame({"qid": "1", "docno": [f"d{z}" for z in range(40)], "label": np.arange(40) % 3})
    model = JudgeGrades(people.assign(label=np.arange(40) % 4 % 3), 2).fit(people[["qid", "docno"]], people)
    assert model.agreement_ == pytest.approx((np.arange(40) % 3 == np.arange(40) % 4 % 3).mean())
    assert f"it agrees with {model.agreement_:.0%} of them" in model.described()
