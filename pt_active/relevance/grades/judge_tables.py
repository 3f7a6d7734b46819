"""The forms in which answers of a judge, such as an LLM, may come."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from pt_active.frames.checks import shown
from pt_active.frames.columns import with_string_ids
from pt_active.frames.sources import naming, read_source
from pt_active.frames.tables import is_parquet, json_value, read_parquet, read_table
from pt_active.frames.trec import read_qrels
from pt_active.relevance.grades.features import vote_shares

ID_COLUMNS = {"topic_id": "qid", "query_id": "qid", "doc_id": "docno", "docid": "docno", "passage_id": "docno"}
"""Other tools' names of ids, which are renamed where ``qid`` and ``docno`` are missing."""

_ANSWERS = ("label", "probability")
_PROBABILITY = re.compile(r"^prob_(\d+)$")

_UMBRELA_GRADE = re.compile(r'"?(?:o|o_score|overall|overall[ _]score|final[ _]score|score)"?\s*:\s*([0-3])\b', re.I)


def judge_table(judge: pd.DataFrame | str | Path) -> pd.DataFrame:
    """The answers of a judge as shares of votes.

    Args:
        judge: A file, as `read_judge` reads it, or a frame: ``qid, docno`` (or ``topic_id, doc_id``, …) and one of
            ``votes_0 … votes_H``, ``prob_0 … prob_H``, ``prob_yes, prob_no``, ``probability`` (of being relevant)
            or ``label``.

    Returns:
        ``qid, docno`` as strings, and the shares of the labels in columns ``0 … H``. Pairs without an answer are left
        out.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a column is missing, a pair occurs twice, or an answer is not a finite number.
    """
    frame = judge if isinstance(judge, pd.DataFrame) else read_judge(judge)
    frame = frame.rename(columns={old: new for old, new in ID_COLUMNS.items() if new not in frame.columns})
    votes = _as_votes(frame)
    if votes is not None:
        return vote_shares(votes)
    return vote_shares(frame)


def judge_labels(judge: pd.DataFrame | str | Path) -> pd.DataFrame:
    """One label a pair: the grade with the most votes of the judge, the lowest of those that are tied."""
    table = judge_table(judge)
    return table[["qid", "docno"]].assign(label=votes_in(table).argmax(axis=1))


def votes_in(table: pd.DataFrame) -> np.ndarray:
    """float64[N, H+1], the shares of the votes in a table of `judge_table`."""
    return table.drop(columns=["qid", "docno"]).to_numpy(dtype=np.float64)


def read_judge(path: str | Path) -> pd.DataFrame:
    """Read the answers of a judge.

    Args:
        path: Parquet; a table with a header whose name has ``.csv`` or ``.tsv``; or TREC qrels, such as those of
            TREC's LLM judges and of ``umbrela evaluate``. All but Parquet may be compressed.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is malformed.
    """
    suffixes = Path(path).suffixes
    if is_parquet(path):
        return read_parquet(Path(path))
    separator = next((each for suffix, each in ((".csv", ","), (".tsv", "\t")) if suffix in suffixes), None)
    if separator is None:
        return read_qrels(path)
    with naming(path):
        table = read_table(read_source(path), separator, ())
        answers = [c for c in table.columns if c in _ANSWERS or c.startswith(("votes_", "prob_"))]
        return table.assign(**{c: _numbers(table[c]) for c in answers})


def umbrela_labels(path: str | Path, pairs: pd.DataFrame) -> pd.DataFrame:
    """The labels that umbrela gave, matched by the texts, since its output has no ids.

    An answer in which umbrela found no grade, which umbrela itself counts as grade 0, is left out.

    Args:
        path: umbrela's output: one JSON object per line, or one list, with ``query``, ``passage``, ``judgment`` and the
            model's answer, ``predition`` or ``prediction``, if it was kept.
        pairs: ``qid, docno, query, text``.

    Returns:
        ``qid, docno, label``.

    Raises:
        ValueError: If the file is malformed, or none of its texts is among the pairs.
    """
    with naming(path):
        text = "\n".join(line for _, line in read_source(path).lines())
        if text.lstrip().startswith("["):
            entries = json_value(text)
        else:
            entries = [json_value(line) for line in text.split("\n") if line.strip()]
        rows = [(e["query"], e["passage"], _umbrela_grade(e)) for e in entries if isinstance(e, dict)]
    given = pd.DataFrame(rows, columns=["query", "text", "label"]).dropna(subset="label")
    given = given.drop_duplicates(["query", "text"]).astype({"label": np.int64})
    matched = with_string_ids(pairs).merge(given, on=["query", "text"])
    if matched.empty:
        said = "no query and passage is among the pairs; are their texts those that umbrela was given?"
        raise ValueError(f"{path}: {said}")
    return matched[["qid", "docno", "label"]].drop_duplicates(["qid", "docno"]).reset_index(drop=True)


def _umbrela_grade(entry: dict[str, object]) -> int | None:
    answer = entry.get("predition", entry.get("prediction"))
    if isinstance(answer, str):
        found = _UMBRELA_GRADE.search(answer)
        return int(found[1]) if found else None
    return int(json.loads(str(entry["judgment"])))


def _numbers(column: pd.Series) -> pd.Series:
    values = pd.to_numeric(column.str.strip(), errors="coerce")
    wrong = values.isna() & (column.str.strip() != "")
    if wrong.any():
        raise ValueError(f"column {column.name}: expected numbers; got {shown(column[wrong].iloc[0])}")
    return values


def _as_votes(frame: pd.DataFrame) -> pd.DataFrame | None:
    """The frame with its probabilities as votes; None if it has none."""
    if any(str(c).startswith("votes_") for c in frame.columns):
        return None
    named = {c: f"votes_{m[1]}" for c in frame.columns if (m := _PROBABILITY.match(str(c)))}
    if not named and {"prob_yes", "prob_no"} <= set(frame.columns):
        named = {"prob_no": "votes_0", "prob_yes": "votes_1"}
    if not named and "probability" in frame.columns:
        probability = pd.to_numeric(frame["probability"])
        frame = frame.assign(votes_0=1 - probability, votes_1=probability)
        named = {"votes_0": "votes_0", "votes_1": "votes_1"}
    if not named or not {"qid", "docno"} <= set(frame.columns):
        return None
    answered = frame[list(named)].notna().all(axis=1)
    return frame.loc[answered, ["qid", "docno", *named]].rename(columns=named)
