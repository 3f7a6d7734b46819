"""Which files hold answers? A table, or what a tool for evaluation wrote: one entry of `FORMATS` a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import shown
from pt_active.frames.sources import Source, naming, read_source
from pt_active.frames.tables import is_parquet, json_value, read_parquet, read_spreadsheet


class AnswerFormat(NamedTuple):
    """Where the JSON of a tool has what."""

    known_by: tuple[str, ...]  # keys of its object, or of each object where there is one a line
    entries: str  # the key of the list with an entry for each answer; empty if each line is one
    # Column → where it is: keys, one in the other, of the entry or else of the object; the first that is there.
    # What ``+`` joins is one value.
    columns: Mapping[str, tuple[str, ...]]
    # A mapping of names to scores, a list of names whose scores are in the entry, or one number.
    scores: str = ""


FORMATS = {
    "inspect": AnswerFormat(
        ("eval", "samples"),
        "samples",
        {
            "item": ("id",),
            "run": ("epoch",),
            "system": ("eval.model",),
            "question": ("input",),
            "answer": ("output.completion",),
            "reference": ("target",),
        },
        "scores",
    ),
    "lm-eval": AnswerFormat(
        ("doc_id", "filtered_resps"),
        "",
        {
            "item": ("doc_id",),
            "question": ("doc.question", "doc.query", "doc.prompt"),
            "answer": ("filtered_resps",),
            "reference": ("target",),
        },
        "metrics",
    ),
    "promptfoo": AnswerFormat(
        ("evalId", "results"),
        "results.results",
        {
            "item": ("testIdx",),
            "system": ("provider.label+promptIdx", "provider.id+promptIdx"),
            "question": ("vars", "testCase.vars"),
            "answer": ("response.output",),
        },
        "score",
    ),
    "trec-rag": AnswerFormat(
        ("metadata", "responses"),
        "",
        {
            "item": ("metadata.topic_id", "metadata.narrative_id"),
            "system": ("metadata.run_id",),
            "answer": ("responses",),
        },
    ),
    "trec-rag-2024": AnswerFormat(
        ("run_id", "topic_id", "answer"),
        "",
        {"item": ("topic_id",), "system": ("run_id",), "question": ("topic",), "answer": ("answer",)},
    ),
}
"""Tool → where it has what. Inspect's log is that with ``log_format="json"``, LM-evaluation-harness's that of
``--log_samples``, promptfoo's that of ``--output FILE.json``. Those of TREC RAG are submissions, also to AutoJudge."""

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""What Inspect's letters are worth: correct, partial, incorrect, no answer."""


def read_rows(path: str | Path) -> pd.DataFrame:
    """Read answers: Parquet, JSON lines, one of `FORMATS`, or a table with commas, semicolons or tabs."""
    if is_parquet(path):
        return read_parquet(path)
    source = read_source(path)
    with naming(path):
        if source.suffix in (".json", ".jsonl"):
            return _of_objects(dict(_objects(source)))
        table = read_spreadsheet(source)
        return table.where(table != "", None)


def _objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, with the number of their lines."""
    whole = source.suffix == ".json"
    texts = [(1, source.text)] if whole else [(n, line) for n, line in source.lines() if line.strip()]
    for number, text in texts:
        try:
            value = json_value(text)
        except ValueError as error:
            raise error if whole else ValueError(f"line {number}: {error}") from error
        for entry in value if whole and isinstance(value, list) else [value]:
            if not isinstance(entry, dict):
                raise ValueError(f"line {number}: expected a JSON object, got {shown(entry)}")
            yield number, entry
            number += 1


def _of_objects(objects: dict[int, dict[str, Any]]) -> pd.DataFrame:
    if not objects:
        raise ValueError("the file has no answers")
    keys = next(iter(objects.values())).keys()
    format = next((each for each in FORMATS.values() if keys >= set(each.known_by)), None)
    if format is None:
        return pd.DataFrame.from_dict(objects, orient="index")
    rows = {}
    for number, whole in objects.items():
        entries = (_at(whole, format.entries) or ()) if format.entries else [whole]
        for place, entry in enumerate(entries):
            rows[number + place] = _row(format, whole | entry if isinstance(entry, dict) else whole)
    return pd.DataFrame.from_dict(rows, orient="index")


def _row(format: AnswerFormat, entry: dict[str, Any]) -> dict[str, Any]:
    """An answer as a row of the table."""
    row = {}
    for name, places in format.columns.items():
        found = [value for place in places if (value := _joined(entry, place)) is not None]
        if found:
            row[name] = text_of(found[0])
    for name, score in _scores(format, entry):
        number = LETTERS.get(score, score) if isinstance(score, str) else score
        if isinstance(number, (int, float)):
            row[re.sub(r"[ /]", "_", name.rstrip("_"))] = float(number)
    return row


def _scores(format: AnswerFormat, entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The columns of the scores in an entry with what stands there."""
    given = _at(entry, format.scores) if format.scores else None
    if isinstance(given, (int, float)):
        yield "score", given
    elif isinstance(given, dict):
        for name, score in given.items():
            yield f"score_{name}", score.get("value") if isinstance(score, dict) else score
    else:
        for name in given or ():
            yield f"score_{name}", entry.get(name)


def _joined(entry: dict[str, Any], path: str) -> Any:
    """What is at a path, or at several joined by ``+``; None if one is not there."""
    parts = [_at(entry, each) for each in path.split("+")]
    if None in parts or (len(parts) > 1 and "" in parts):
        return None
    return parts[0] if len(parts) == 1 else " ".join(map(str, parts))


def _at(value: Any, path: str) -> Any:
    """What is at the keys of a path; None if it is not there."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_of(value: Any) -> Any:
    """A text, also of one that comes in parts: sentences with citations, messages of a chat, or single texts."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, list):
        parts = [part.get("text", part.get("content")) if isinstance(part, dict) else part for part in value]
        return "\n".join(str(part) for part in parts if part is not None)
    if isinstance(value, dict):
        return "\n".join(str(part) if len(value) == 1 else f"{name}: {part}" for name, part in value.items())
    return value
