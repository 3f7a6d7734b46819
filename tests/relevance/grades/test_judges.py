"""Judges: the forms of their answers, and what they say about grades, one by one and together."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from pt_active import JudgeGrades
from pt_active.demo.collection import demo_collection
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades.judges import judge_table, mean_of_judges

COLLECTION = demo_collection(queries=120)
RUN = COLLECTION.past_run.merge(COLLECTION.past_topics, on="qid").merge(COLLECTION.documents, on="docno")
QRELS = COLLECTION.past_qrels
LABEL = RUN.merge(QRELS, on=["qid", "docno"])["label"].to_numpy()


def noisy(seed, right=0.7):
    """A judge's labels: the right one with some probability, else any."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(LABEL)) < right, LABEL, rng.integers(0, 4, len(LABEL)))


def frame_of(labels):
    return RUN[["qid", "docno"]].assign(label=labels)


class TestForms:
    PAIRS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"]})

    @pytest.mark.parametrize(
        ("columns", "want"),
        [
            ({"label": [0, 2, 1]}, [[1, 0, 0], [0, 0, 1], [0, 1, 0]]),
            ({"votes_0": [3, 0, 1], "votes_1": [1, 5, 1]}, [[0.75, 0.25], [0, 1], [0.5, 0.5]]),
            ({"votes_0": [0.2, 0.1, 1], "votes_1": [0.8, 0.9, 0]}, [[0.2, 0.8], [0.1, 0.9], [1, 0]]),
        ],
    )
    def test_frames(self, columns, want):
        table = judge_table(self.PAIRS.astype({"qid": int}).assign(**columns))
        assert table[["qid", "docno"]].equals(self.PAIRS)
        assert_allclose(table.drop(columns=["qid", "docno"]), want)

    def test_files(self, tmp_path):
        def table(name, text):
            (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
            return judge_table(str(tmp_path / name))

        found = table("labels.csv", "qid,docno,label,model\n301,FT-1,1,gpt\n301,FT-2,0,gpt\n")
        assert found[["qid", "docno"]].to_numpy().tolist() == [["301", "FT-1"], ["301", "FT-2"]]
        assert_allclose(found[[0, 1]], [[0, 1], [1, 0]])
        votes = table("votes.tsv.gz", "qid\tdocno\tvotes_0\tvotes_1\n1\ta\t1\t3\n")
        assert_allclose(votes[[0, 1]], [[0.25, 0.75]])
        assert table("llm.qrels", "1 0 a 2\n1 0 b 0\n")[2].tolist() == [1, 0]
        with pytest.raises(ValueError, match="bad.csv: column label: expected numbers; got 'good'"):
            table("bad.csv", "qid,docno,label\n1,a,good\n")


class TestWithoutLabelsOfPeople:
    PAIRS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"]})
    NEAR = np.array([[1, 0.4, 0.16], [0.4, 1, 0.4], [0.16, 0.4, 1]]) / np.array([[1.56], [1.8], [1.56]])

    def grades(self, model):
        return model.transform(self.PAIRS)[["grade_0", "grade_1", "grade_2"]].to_numpy()

    def check(self, model, wanted):
        assert_allclose(self.grades(model), rounded_grades(wanted), rtol=1e-9)

    def test_each_grade_further_off_is_less_probable(self):
        self.check(JudgeGrades(self.PAIRS.assign(label=[0, 2, 1]), 2), self.NEAR[[0, 2, 1]])
        votes = self.PAIRS.assign(votes_0=[3, 0, 1], votes_1=[0, 1, 1], votes_2=[1, 1, 0])
        self.check(JudgeGrades(votes, 2), np.array([[3, 0, 1], [0, 2, 2], [2, 2, 0]]) / 4 @ self.NEAR)
        # A judge may have fewer grades than people, or more.
        self.check(JudgeGrades(self.PAIRS.assign(label=[0, 1, 1]), 2), self.NEAR[[0, 1, 1]])
        self.check(JudgeGrades(self.PAIRS.assign(label=[0, 3, 1]), 2), self.NEAR[[0, 2, 1]])

    def test_a_pair_that_the_judge_left_out_is_like_those_that_it_has(self):
        seen = self.PAIRS.head(2).assign(label=[0, 2])
        self.check(JudgeGrades(seen, 2), np.vstack([self.NEAR[[0, 2]], self.NEAR[[0, 2]].mean(axis=0)]))
        with pytest.warns(UserWarning, match="the judge saw no document"):
            self.grades(JudgeGrades(seen.assign(qid="9"), 2))

    def test_several_judges_have_the_mean(self):
        one, other = self.PAIRS.assign(label=[0, 2, 1]), self.PAIRS.assign(label=[1, 1, 1])
        want = (self.NEAR[[0, 2, 1]] + self.NEAR[[1, 1, 1]]) / 2
        self.check(mean_of_judges({"one": one, "other": other}, 2), want)
        said = JudgeGrades(one, 2).described("one, other")
        assert said.startswith("Grade model: what one, other says, not checked by any human label.")

    def test_labels_say_how_far_the_judge_is_trusted(self):
        model = JudgeGrades(frame_of(noisy(1)), 3).fit(RUN, QRELS)
        assert model.agreement_ == pytest.approx((noisy(1) == LABEL).mean())
        assert f"it agrees with {model.agreement_:.0%} of them" in model.described()
