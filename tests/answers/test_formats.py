"""Files of tools for evaluation.

Those in ``samples`` are the tools' own, shortened: Inspect 0.3.285 (mockllm), promptfoo 0.121.20 (echo),
LM-evaluation-harness 0.4.13 (dummy) and TREC AutoJudge (``Report`` of autojudge-base 1.0.0). The lines of TREC RAG have
the keys that its guidelines name.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pt_active import Answers
from pt_active.answers.formats import FORMATS, read_rows

SAMPLES = Path(__file__).parent / "samples"


def lines(path: Path, entries: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return path


def test_inspect() -> None:
    rows = read_rows(SAMPLES / "inspect.json")
    columns = ["item", "run", "system", "question", "answer", "reference", "score_includes"]
    told = rows.sort_values(["item", "run"])[columns].values.tolist()
    assert [each[:2] for each in told] == [["fr", 1], ["fr", 2], ["it", 1], ["it", 2]]
    assert told[0] == ["fr", 1, "mockllm/model", "Capital of France?", "Paris", "Paris", 1.0]
    assert {(each[4] == each[5]) == each[6] for each in told} == {True}
    assert {each[6] for each in told} == {0.0, 1.0}


def test_lm_evaluation_harness_and_promptfoo() -> None:
    rows = read_rows(SAMPLES / "lm_eval.jsonl")
    assert rows[["item", "question", "answer", "reference", "score_exact_match"]].values.tolist() == [
        [0, "Capital of France?", "lol", "Paris", 0.0],
        [1, "Capital of Italy?", "lol", "Rome", 0.0],
    ]
    answers = Answers(SAMPLES / "promptfoo.json")
    assert answers.systems == ("echo 0", "echo 1", "mock 2", "mock 3")
    assert answers.table[["item", "question", "answer", "score"]].values.tolist()[:3] == [
        ["0", "France", "Answer: France", 0.5],
        ["0", "France", "In a word: France", 1],
        ["0", "France", "ANSWER: FRANCE", 0],
    ]


@pytest.mark.parametrize("older", [False, True])
def test_trec_rag(older: bool, tmp_path: Path) -> None:
    said = [{"text": "Paris.", "citations": [0]}, {"text": "On the Seine.", "citations": [1]}]
    new = {"metadata": {"team_id": "t", "run_id": "r", "topic_id": "1"}, "responses": said, "references": ["d1", "d2"]}
    old = {"run_id": "r", "topic_id": "1", "topic": "capital?", "references": ["d1", "d2"], "answer": said}
    paths = [lines(tmp_path / "run.jsonl", [old if older else new]), SAMPLES / "autojudge.jsonl"]
    for rows in map(read_rows, paths):
        assert rows[["item", "system", "answer"]].values.tolist() == [["1", "r", "Paris.\nOn the Seine."]]
    new["metadata"]["narrative_id"] = new["metadata"].pop("topic_id")  # as in RAGTIME
    assert read_rows(lines(tmp_path / "ragtime.jsonl", [new]))["item"].tolist() == ["1"]


def test_other_json_is_a_table_and_each_format_is_told_from_the_others(tmp_path: Path) -> None:
    rows = read_rows(lines(tmp_path / "x.jsonl", [{"item": 1, "system": "a", "answer": "u"}]))
    assert rows.to_dict("records") == [{"item": 1, "system": "a", "answer": "u"}]
    for name, one in FORMATS.items():
        for other, two in FORMATS.items():
            assert name == other or not set(one.known_by) <= set(two.known_by)


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"item": 1}\n[2]\n')
    with pytest.raises(ValueError, match=r"x\.jsonl: line 2: expected (a JSON object|JSON)"):
        read_rows(path)
