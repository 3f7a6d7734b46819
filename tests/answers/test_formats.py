"""Files of tools for evaluation.

Those in ``samples`` are the tools' own, shortened: Inspect (mockllm), DeepEval (ExactMatchMetric), MLflow
(``log_table``), RAGAS 0.4.3 (ExactMatch, StringPresence) and Langfuse (``ExperimentItemsResponse`` of its client
5.0.4). The lines of the others have the keys that their documentation or source names.
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


def test_lm_evaluation_harness(tmp_path: Path) -> None:
    entry = {"doc": {"question": "2+2?"}, "target": "4", "filtered_resps": ["4"], "metrics": ["exact_match"]}
    path = lines(tmp_path / "s.jsonl", [{"doc_id": i, **entry, "exact_match": 1.0 - i} for i in range(2)])
    rows = read_rows(path)
    assert rows[["item", "question", "answer", "reference", "score_exact_match"]].values.tolist() == [
        [0, "2+2?", "4", "4", 1.0],
        [1, "2+2?", "4", "4", 0.0],
    ]


def test_promptfoo(tmp_path: Path) -> None:
    def result(test: int, prompt: int, output: str, score: float) -> dict[str, object]:
        about = {"testIdx": test, "promptIdx": prompt, "vars": {"country": ("France", "Italy")[test]}, "score": score}
        provider, raw = {"id": "openai:gpt-4o", "label": ""}, {"raw": f"prompt {prompt}", "label": f"prompt {prompt}"}
        return about | {"provider": provider, "prompt": raw, "response": {"output": output}, "success": score > 0.5}

    cells = [(0, 0, "Paris", 1), (0, 1, "Paris.", 1), (1, 0, "Rome", 1), (1, 1, "Milan", 0)]
    path = tmp_path / "output.json"
    path.write_text(json.dumps({"evalId": "eval-x", "results": {"version": 3, "results": [result(*c) for c in cells]}}))
    answers = Answers(path)
    assert answers.systems == ("openai:gpt-4o 0", "openai:gpt-4o 1")
    assert answers.table["question"].tolist() == ["France", "France", "Italy", "Italy"]
    assert answers.table[["answer", "score"]].values.tolist() == [
        ["Paris", 1],
        ["Paris.", 1],
        ["Rome", 1],
        ["Milan", 0],
    ]


def test_mlflow() -> None:
    rows = read_rows(SAMPLES / "mlflow.json")
    assert rows[["item", "question", "answer", "reference", "score_exact_match_score"]].values.tolist() == [
        ["Capital of France?", "Capital of France?", "Paris", "Paris", 1.0],
        ["Capital of Italy?", "Capital of Italy?", "Milan", "Rome", 0.0],
    ]
    assert not rows.columns.str.contains("token").any()


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
    rows = read_rows(lines(tmp_path / "run.jsonl", [old if older else new]))
    assert rows[["item", "system", "answer"]].values.tolist() == [["1", "r", "Paris.\nOn the Seine."]]


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
