"""Files of tools for evaluation.

Those in ``samples`` are the tools' own, shortened: Inspect 0.3.285 (mockllm), DeepEval 4.3.1 (ExactMatchMetric),
promptfoo 0.121.20 (echo), LM-evaluation-harness 0.4.13 (dummy), MLflow 3.17.2 (``log_table``; ``genai.evaluate``),
RAGAS 0.4.3 (ExactMatch, StringPresence), Langfuse (``ExperimentItemsResponse`` of its client 5.0.4) and TREC AutoJudge
(``Report`` of autojudge-base 1.0.0). The lines of TREC RAG have the keys that its guidelines name.
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


def test_deepeval() -> None:
    rows = read_rows(SAMPLES / "deepeval.json")
    assert rows[["item", "question", "answer", "reference", "score_Exact_Match"]].values.tolist() == [
        ["fr", "Capital of France?", "Paris", "Paris", 1.0],
        ["it", "Capital of Italy?", "Milan", "Rome", 0.0],
    ]
    answers = Answers({"a": SAMPLES / "deepeval.json", "b": SAMPLES / "deepeval.json"})
    assert answers.systems == ("a", "b")
    assert answers.judges == ["score_Exact_Match"]


def test_lm_evaluation_harness() -> None:
    rows = read_rows(SAMPLES / "lm_eval.jsonl")
    assert rows[["item", "question", "answer", "reference", "score_exact_match"]].values.tolist() == [
        [0, "Capital of France?", "lol", "Paris", 0.0],
        [1, "Capital of Italy?", "lol", "Rome", 0.0],
    ]


def test_promptfoo() -> None:
    answers = Answers(SAMPLES / "promptfoo.json")
    assert answers.systems == ("echo 0", "echo 1", "mock 2", "mock 3")
    assert answers.table[["item", "question", "answer", "score"]].values.tolist()[:5] == [
        ["0", "France", "Answer: France", 0.5],
        ["0", "France", "In a word: France", 1],
        ["0", "France", "ANSWER: FRANCE", 0],
        ["0", "France", "IN A WORD: FRANCE", 0.5],
        ["1", "Italy", "Answer: Italy", 0],
    ]


def test_mlflow() -> None:
    rows = read_rows(SAMPLES / "mlflow.json")
    assert rows[["item", "question", "answer", "reference", "score_exact_match_score"]].values.tolist() == [
        ["Capital of France?", "Capital of France?", "Paris", "Paris", 1.0],
        ["Capital of Italy?", "Capital of Italy?", "Milan", "Rome", 0.0],
    ]
    assert not rows.columns.str.contains("token").any()
    rows = read_rows(SAMPLES / "mlflow_genai.json")
    assert rows[["item", "answer", "reference", "score_exact", "score_half"]].values.tolist() == [
        ["Capital of France?", "Paris", "Paris", 1.0, 0.5],
        ["Capital of Italy?", "Milan", "Rome", 0.0, 0.5],
    ]
    assert not rows.columns.str.contains("expected").any()


def test_what_people_and_judges_of_mlflow_say(tmp_path: Path) -> None:
    said = [("LLM_JUDGE", "correct", "yes"), ("HUMAN", "helpful", "no")]
    assessments = [
        {"assessment_name": name, "source": {"source_type": source}, "feedback": {"value": value}}
        for source, name, value in said
    ]
    entry = {"request": "q", "response": "a", "assessments": assessments}
    rows = read_rows(lines(tmp_path / "x.jsonl", [entry]))
    assert rows[["score_correct", "label_helpful"]].values.tolist() == [[1.0, 0.0]]


def test_ragas() -> None:
    rows = read_rows(SAMPLES / "ragas.jsonl")
    assert rows[["item", "answer", "reference", "score_exact_match", "score_string_present"]].values.tolist() == [
        ["What is the capital of Peru?", "Lima", "Lima", 1.0, 1.0],
        ["Who wrote Emma?", "It was Jane Austen.", "Jane Austen", 0.0, 1.0],
    ]


def test_langfuse() -> None:
    """Experiments on a dataset, with the scores of an evaluator and those that people gave in an annotation queue."""
    rows = read_rows(SAMPLES / "langfuse.json")
    columns = ["item", "system", "question", "answer", "reference", "score_correct", "label_helpful"]
    told = rows[columns].astype(object).fillna("none").values.tolist()
    assert told[0] == ["fr", "new", "Capital of France?", "Paris", "Paris", 1.0, 1.0]
    assert told[1] == ["fr", "old", "Capital of France?", "Paris", "Paris", 1.0, "none"]
    answers = Answers(rows)
    assert answers.judges == ["score_correct"]
    labels = answers.labels(rows.rename(columns={"label_helpful": "score"}))
    assert sorted(labels["label"]) == [0, 1, 1]


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
    with pytest.raises(ValueError, match=r"x\.jsonl: line 2: expected a JSON object"):
        read_rows(path)
