"""Files of tools for evaluation.

Those in ``samples`` are the tools' own, shortened: Inspect 0.3.285 (mockllm), promptfoo 0.121.20 (echo),
LM-evaluation-harness 0.4.13 (dummy) and TREC AutoJudge (``Report`` of autojudge-base 1.0.0). The lines of TREC RAG have
the keys that its guidelines name.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from pt_active import Answers
from pt_active.answers.formats import FORMATS, read_rows

SAMPLES = Path(__file__).parent / "samples"


COLUMNS = ["item", "question", "answer", "reference"]


def test_inspect_and_lm_evaluation_harness():
    inspect = read_rows(SAMPLES / "inspect.json").sort_values(["item", "run"])
    harness = read_rows(SAMPLES / "lm_eval.jsonl")
    assert inspect[COLUMNS].iloc[0].tolist() == ["fr", "Capital of France?", "Paris", "Paris"]
    assert inspect[["item", "run"]].to_numpy().tolist() == [["fr", 1], ["fr", 2], ["it", 1], ["it", 2]]
    assert set(inspect["system"]) == {"mockllm/model"}
    assert set(inspect["score_includes"]) == {0.0, 1.0}
    assert harness[COLUMNS].iloc[1].tolist() == [1, "Capital of Italy?", "lol", "Rome"]
    for rows, score in ((inspect, "score_includes"), (harness, "score_exact_match")):
        assert ((rows["answer"] == rows["reference"]) == rows[score]).all()


def test_promptfoo():
    answers = Answers(SAMPLES / "promptfoo.json")
    assert answers.systems == ("echo 0", "echo 1", "mock 2", "mock 3")
    assert answers.table[["item", "question", "answer", "score"]].values.tolist()[:3] == [
        ["0", "France", "Answer: France", 0.5],
        ["0", "France", "In a word: France", 1],
        ["0", "France", "ANSWER: FRANCE", 0],
    ]


ABOUT = {"team_id": "t", "run_id": "r"}
SAID = [{"text": "Paris.", "citations": [0]}, {"text": "On the Seine.", "citations": [1]}]
TREC = {
    "rag": {"metadata": ABOUT | {"topic_id": "1"}, "responses": SAID, "references": ["d1", "d2"]},
    "older": {"run_id": "r", "topic_id": "1", "topic": "capital?", "references": ["d1", "d2"], "answer": SAID},
    "ragtime": {"metadata": ABOUT | {"narrative_id": "1"}, "responses": SAID, "references": ["d1", "d2"]},
}


@pytest.mark.parametrize("name", [*TREC, "autojudge"])
def test_trec_rag(name, tmp_path):
    path = SAMPLES / "autojudge.jsonl"
    if name in TREC:
        path = tmp_path / "run.jsonl"
        path.write_text(json.dumps(TREC[name]) + "\n")
    assert read_rows(path)[["item", "system", "answer"]].values.tolist() == [["1", "r", "Paris.\nOn the Seine."]]


def test_other_json_is_a_table_whose_lines_are_objects(tmp_path):
    path, row = tmp_path / "x.jsonl", {"item": 1, "system": "a", "answer": "u"}
    path.write_text(json.dumps(row) + "\n")
    assert read_rows(path).to_dict("records") == [row]
    path.write_text('{"item": 1}\n[2]\n')
    with pytest.raises(ValueError, match=r"x\.jsonl: line 2: expected (a JSON object|JSON)"):
        read_rows(path)


def test_each_format_is_told_from_the_others():
    assert not any(set(one.known_by) <= set(other.known_by) for one, other in permutations(FORMATS.values(), 2))
