"""From files and frames of answers to one table, and from scores to labels.

Files in ``samples`` are the tools' own, shortened: Inspect 0.3.285 (mockllm), promptfoo 0.121.20 (echo),
LM-evaluation-harness 0.4.13 (dummy) and TREC AutoJudge (``Report`` of autojudge-base 1.0.0). The lines of TREC RAG have
the keys that its guidelines name.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import Answers, parse_measure
from pt_active.answers.formats import FORMATS, read_rows
from pt_active.answers.scales import ScoreScale
from pt_active.answers.table import answer_table
from pt_active.relevance.measures import rank_form

SAMPLES = Path(__file__).parent / "samples"

LONG = pd.DataFrame({"item": [1, 1, 2, 2], "system": ["a", "b"] * 2, "question": ["x?", "x?", "y?", "y?"]})
LONG = LONG.assign(answer=["red", "blue", "same", "same"], score=[1.0, 0.0, 0.5, None])
WIDE = pd.DataFrame({"item": [1, 2], "question": ["x?", "y?"], "answer_a": ["red", "same"]})
WIDE = WIDE.assign(answer_b=["blue", "same"], score_a=[1.0, 0.5], score_b=[0.0, None])


def test_long_wide_and_by_system_are_one_table():
    long = answer_table(LONG)
    spelled = LONG.rename(columns={"item": " Item", "system": "Model", "answer": "Answer", "score": "SCORE"})
    frames = {name: part.drop(columns="system") for name, part in LONG.groupby("system")}
    for other in (WIDE, frames, LONG.iloc[::-1], spelled):
        pd.testing.assert_frame_equal(answer_table(other)[long.columns], long)


def test_a_question_may_be_the_item():
    wide = answer_table(pd.DataFrame({"Question": ["x?", "y?"], "Answer_New": ["u", "v"], "answer_old": ["w", "w"]}))
    said = (wide["item"] + wide["system"] + wide["answer"]).tolist()
    assert said == ["x?Newu", "x?oldw", "y?Newv", "y?oldw"]


def test_frames_of_pyterrier_and_inspect_are_taken():
    """Where nothing else names systems, those of Inspect's ``samples_df`` are its evaluations, and not its scorers."""
    rows = pd.DataFrame({"qid": ["1"], "query": ["x?"]})
    table = answer_table({"a": rows.assign(qanswer="u"), "b": rows.assign(qanswer="v")})
    assert table[["answer", "question"]].to_numpy().tolist() == [["u", "x?"], ["v", "x?"]]
    frame = pd.DataFrame({"id": [1, 2], "epoch": 1, "input": ["x?", "y?"], "score_match": ["C", "I"]})
    assert answer_table({"a": frame, "b": frame})["score_match"].tolist() == [1.0, 1.0, 0.0, 0.0]
    rows = LONG.drop(columns="answer").rename(columns={"system": "eval_id"}).assign(score_match=1.0, score_includes=0.0)
    assert answer_table(rows)["system"].tolist() == ["a", "b"] * 2


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        ("csv", lambda path: LONG.to_csv(path, index=False)),
        ("tsv", lambda path: LONG.to_csv(path, index=False, sep="\t")),
        ("jsonl", lambda path: LONG.to_json(path, orient="records", lines=True)),
        ("parquet", LONG.to_parquet),
    ],
)
def test_files_are_read(ending, write, tmp_path):
    write(tmp_path / f"answers.{ending}")
    found, expected = answer_table(tmp_path / f"answers.{ending}"), answer_table(LONG)
    assert found["docno"].tolist() == expected["docno"].tolist()
    pd.testing.assert_series_equal(pd.to_numeric(found["score"]), expected["score"])


def test_an_answer_does_not_tell_its_system_and_the_same_text_is_one_answer():
    by_item = answer_table(LONG).set_index("item")["docno"]
    assert by_item["1"].nunique() == 2
    assert by_item["2"].nunique() == 1
    assert not by_item.str.contains("a$|b$").all()


def test_a_text_that_a_system_repeats_is_several_answers_that_another_shares():
    rows = pd.DataFrame({"item": "1", "system": [*"aaabbb"], "run": [1, 2, 3] * 2, "answer": ["u", "u ", *"vuvw"]})
    docnos = answer_table(rows).groupby("system")["docno"].agg(set)
    assert len(docnos["a"]) == len(docnos["b"]) == 3
    assert len(docnos["a"] & docnos["b"]) == 2


RUNS = pd.concat([LONG.assign(run=1), LONG.assign(run=2).iloc[:3]])


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (LONG.iloc[:0], "no answers"),
        (LONG.drop(columns=["item", "question"]), "need a column item, or question"),
        (LONG.drop(columns="system"), "column system"),
        (LONG.iloc[:3], "system 'b' has no answer for item '2'"),
        (pd.concat([LONG, LONG.iloc[:1]]), "more than one answer to item '1'; several runs"),
        (RUNS, "system 'b' has 1 run where others have 2 for item '2'"),
        (LONG.assign(question=["x?", "z?", "y?", "y?"]), "item '1' has more than one question"),
        (LONG.assign(system=["a", None, "a", "b"]), "row 1: expected a system; it is empty"),
        (LONG.assign(item=[1, 1, None, 2]), "row 2: expected an item; it is empty"),
        (LONG.assign(cluster=["x", "x", None, None]), "item '2' has no cluster"),
        (LONG.drop(columns="system").assign(score=1), "answers are of one system, which the table does not name"),
        (WIDE.assign(answer="gold"), "column answer belongs to no system beside 'answer_a', 'answer_b'"),
        (WIDE.assign(score_gpt=1), "column score_gpt belongs to no system"),
        (WIDE.assign(Answer_a="red"), "the column answer_a is there more than once"),
        (LONG.assign(cost=[1, 0, 1, 1]), "item '1', system 'b': expected a number above 0 as cost; got 0"),
        (LONG.assign(cost=[1, None, 1, 1]), "expected a number above 0 as cost; got"),
        (LONG.assign(cost=[1, np.inf, 1, 1]), "expected a number above 0 as cost; got inf"),
        (LONG.assign(score_gpt=["1", "high", "1", "1"]), "'b': expected a number as score_gpt; got 'high'"),
        (LONG.assign(weight=["1", "high", "1", "1"]), "'b': expected a number as weight; got 'high'"),
        (LONG.assign(score=[[1]] * 4), r"item '1', system 'a': expected a number as score; got \[1\]"),
    ],
)
def test_tables_that_do_not_fit_are_refused(frame, said):
    with pytest.raises(ValueError, match=said):
        answer_table(frame)


def test_what_one_row_says_of_an_item_is_known_of_all_its_answers_in_any_order():
    rows = LONG.assign(question=["x?", None, None, "y?"], cluster=[None, "u", "v", None], reference=None, cost=1)
    table = answer_table(rows)
    assert table["question"].tolist() == ["x?", "x?", "y?", "y?"]
    assert table["cluster"].tolist() == ["u", "u", "v", "v"]
    pd.testing.assert_frame_equal(answer_table(rows.iloc[::-1]), table)


def test_cells_that_hold_parts_or_numbers_are_texts_and_empty_answers_are_one():
    parts = LONG.assign(answer=[["re", "d"], {"text": "blue"}, 7, np.array(["a", "b"])], question=[["x"]] * 2 + [5] * 2)
    table = answer_table(parts.assign(cluster=[[1]] * 4))
    assert table["answer"].tolist() == ["re\nd", "blue", "7", "a\nb"]
    assert table["question"].tolist() == ["x", "x", "5", "5"]
    empty = answer_table(LONG.assign(answer=["red", None, " ", ""]))
    assert empty["answer"].tolist() == ["red", *["(empty answer)"] * 3]
    assert empty["docno"].nunique() == 3


def test_inspect_and_lm_evaluation_harness():
    inspect = read_rows(SAMPLES / "inspect.json").sort_values(["item", "run"])
    harness = read_rows(SAMPLES / "lm_eval.jsonl")
    columns = ["item", "question", "answer", "reference"]
    assert inspect[columns].iloc[0].tolist() == ["fr", "Capital of France?", "Paris", "Paris"]
    assert harness[columns].iloc[1].tolist() == [1, "Capital of Italy?", "lol", "Rome"]
    assert inspect[["item", "run"]].to_numpy().tolist() == [["fr", 1], ["fr", 2], ["it", 1], ["it", 2]]
    assert set(inspect["system"]) == {"mockllm/model"}
    for rows, score in ((inspect, "score_includes"), (harness, "score_exact_match")):
        assert ((rows["answer"] == rows["reference"]) == rows[score]).all()


def test_promptfoo():
    answers = Answers(SAMPLES / "promptfoo.json")
    assert answers.systems == ("echo 0", "echo 1", "mock 2", "mock 3")
    assert set(answers.table["item"].head(3)) | set(answers.table["question"].head(3)) == {"0", "France"}
    assert answers.table["answer"].tolist()[:3] == ["Answer: France", "In a word: France", "ANSWER: FRANCE"]
    assert answers.table["score"].tolist()[:3] == [0.5, 1, 0]


ABOUT = {"team_id": "t", "run_id": "r"}
SAID = [{"text": "Paris.", "citations": [0]}, {"text": "On the Seine.", "citations": [1]}]
TREC = {
    "rag": {"metadata": ABOUT | {"topic_id": "1"}, "responses": SAID, "references": ["d1", "d2"]},
    "older": {"run_id": "r", "topic_id": "1", "topic": "capital?", "references": ["d1", "d2"], "answer": SAID},
    "ragtime": {"metadata": ABOUT | {"narrative_id": "1"}, "responses": SAID, "references": ["d1", "d2"]},
    "autojudge": json.loads((SAMPLES / "autojudge.jsonl").read_text()),
}


@pytest.mark.parametrize("name", TREC)
def test_trec_rag(name, tmp_path):
    (tmp_path / "run.jsonl").write_text(json.dumps(TREC[name]) + "\n")
    rows = read_rows(tmp_path / "run.jsonl")
    assert rows[["item", "system", "answer"]].to_numpy().tolist() == [["1", "r", "Paris.\nOn the Seine."]]


def test_other_json_is_a_table_whose_lines_are_objects_and_each_format_is_told_from_the_others(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"item": 1, "system": "a"}\n')
    assert read_rows(tmp_path / "x.jsonl").to_dict("records") == [{"item": 1, "system": "a"}]
    (tmp_path / "x.jsonl").write_text('{"item": 1}\n[2]\n')
    with pytest.raises(ValueError, match=r"x\.jsonl: line 2: expected (a JSON object|JSON)"):
        read_rows(tmp_path / "x.jsonl")
    assert not any(set(one.known_by) <= set(other.known_by) for one, other in permutations(FORMATS.values(), 2))


SCALES = {
    "0-1": [0, 1],
    "1-5": [1, 2, 3, 4, 5],
    "0-1:0.25": [0, 0.25, 0.5, 0.75, 1],
    "-2-2": [-2, -1, 0, 1, 2],
}


@pytest.mark.parametrize("text", SCALES)
def test_a_label_stands_for_its_score_in_the_measure(text):
    scale = ScoreScale.parsed(text)
    values = rank_form(parse_measure(scale.measure()), scale.max_grade, 1).values
    np.testing.assert_allclose(values[scale.labels(pd.Series(SCALES[text]))], SCALES[text], atol=1e-12)
    assert np.ptp(values) == scale.high - scale.low
    given = pd.Series(np.linspace(scale.low, scale.high, 13))  # a judge's score between two counts for both
    shares = scale.shares(given)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares @ scale.scores, given, atol=1e-12)


@pytest.mark.parametrize("text", ["", "5", "1-1", "5-1", "0-1:0", "0-1:0.3", "0-2000", "good-bad"])
def test_a_scale_that_is_none_and_scores_off_a_scale_are_refused(text):
    with pytest.raises(ValueError, match="scale"):
        ScoreScale.parsed(text)
    with pytest.raises(ValueError, match=r"row 1: expected a score from 1 to 5; got '7'"):
        ScoreScale.parsed("1-5").shares(pd.Series(["2", "7"]))
    with pytest.raises(ValueError, match=r"must be one of 1, 2, 3, 4, 5; got 2.5"):
        ScoreScale.parsed("1-5").labels(pd.Series([2.5]))
