"""Worklists: written for judges, and read back with their labels.

Each format is one entry of `FORMATS`. Tables are read by `pt_active.judging.files`, since they may say who judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pt_active.frames.atomic import write_file
from pt_active.frames.checks import check_known, data_frame, file_path, shown, some
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.qrels import UNJUDGED, checked_qrels
from pt_active.frames.sources import Source, naming
from pt_active.frames.tables import json_value, read_json_lines
from pt_active.frames.trec import QRELS, read_columns
from pt_active.frames.visible import guarded, json_text, visible

_SHOWN = ("qid", "docno", "query", "text")  # The columns of a worklist that judges read
_JUDGED = ("qid", "docno", "label")  # The columns that a filled-in file must have
_MAX_OPENING = 10_000  # Characters of a first line that show its format; patterns would take long on more
FORMAT = "trec"
"""The default format of worklists; also that in which files are read whose first line fits no other format."""

TABLE_FORMAT = "csv"  # The format for people who fill in labels in a spreadsheet


def _read_trec(source: Source) -> pd.DataFrame:
    return read_columns(source, QRELS)


class Format(NamedTuple):
    """A worklist format."""

    write: Callable[[pd.DataFrame], str]  # from an assessments frame to the text of the file
    read: Callable[[Source], pd.DataFrame] = _read_trec  # to ``qid, docno, label`` of filled-in lines
    first_line: re.Pattern[str] = re.compile(r"(?!)")  # A pattern that matches the first line of such a file
    by_query: bool = False  # whether it names queries by their texts, and has no document without a label


def write_assessments(assessments: pd.DataFrame, path: str | Path, format: str = FORMAT) -> None:
    """Write the pairs to be judged to a file in which judges fill in the labels.

    Formats:

    - ``trec``: lines of ``qid 0 docno -1``; in TREC qrels -1 means "pooled, not judged".
    - ``csv``: a table with qid, docno, query, text (those that the assessments have) and an empty label. A cell that
      a spreadsheet would take for a formula gets an apostrophe in front, which `judging.files.read_labels` removes.
    - ``jsonl``: a JSON object per line with the same keys and ``"label": null``.
    - ``opensearch``: the known labels as a judgment list, which OpenSearch's Search Relevance Workbench imports.

    Args:
        assessments: ``qid, docno``, and optionally ``query`` and ``text`` for the judges. A column ``label`` holds the
            labels that are already known, NaN where there is none. Other columns are not written.
        path: The file to write, of which nothing is left if writing fails.
        format: A key of `FORMATS`.

    Raises:
        FileExistsError: If the file already exists, since it may contain judgments.
        ValueError: If the format is not known, there is nothing to judge, a pair occurs twice, or a column is missing
            or does not fit the format.
    """
    check_known("format", format, FORMATS)
    if data_frame("assessments", assessments, "qid", "docno").empty:
        raise ValueError("assessments: there is nothing to judge, the frame is empty")
    worklist = with_string_ids(assessments)
    check_pairs(worklist, "assessments")
    worklist = worklist[[name for name in (*_SHOWN, "label") if name in worklist.columns]]
    write_file(file_path("path", path), FORMATS[format].write(worklist))


def judgments_in(source: Source, check: Callable[[pd.Series], None]) -> pd.DataFrame:
    """The labels in a filled-in file, without those that are still empty, null or -1.

    The first line determines the format, which is any of `FORMATS` that is no table, or plain qrels.

    Args:
        source: The file.
        check: Raises if a label that stands in the file does not suit the measure.

    Returns:
        ``qid, docno, label``; ``attrs["by_query"]`` says whether the qid is the text of the query.

    Raises:
        ValueError: If the file is empty, a line does not fit its format, a label is not a grade, or a pair has two.
    """
    opening = source.first_line()[:_MAX_OPENING]
    format = next((each for each in FORMATS.values() if each.first_line.match(opening)), FORMATS[FORMAT])
    with naming(source):
        try:
            given = format.read(source)
        except ValueError as error:
            if source.suffix != ".csv":
                raise
            hint = "a CSV table needs a first line that names its columns: qid,docno,label"
            raise ValueError(f"{error}; {hint}") from error
        check(given["label"])
        qrels = checked_qrels(given, place="line")
    qrels.attrs["by_query"] = format.by_query
    return qrels


def qids_of_texts(qrels: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """The labels of a file that names queries by their texts, with the qids that have these texts among known ones."""
    texts = _texts_of(known)
    own = {text: _only(texts[text], text) if text in texts else text for text in qrels["qid"].unique()}
    return qrels.assign(qid=qrels["qid"].map(own))


def _texts_of(documents: pd.DataFrame) -> dict[str, list[str]]:
    """Text → the qids of the queries that have it; a query without a text is known by its qid."""
    queries = documents.drop_duplicates("qid").astype({"qid": str})
    text = queries["query"].fillna(queries["qid"]) if "query" in queries else queries["qid"]
    return {str(name): list(qids) for name, qids in queries["qid"].groupby(text.astype(str).str.strip())}


def _only(qids: list[str], text: str) -> str:
    if len(qids) > 1:
        raise ValueError(f"OpenSearch knows queries by their texts, and {some(qids)} have the same text, {shown(text)}")
    return qids[0]


def _with_labels(worklist: pd.DataFrame, unfilled: object) -> pd.DataFrame:
    """The worklist with the labels that are already known, and ``unfilled`` where there is none."""
    known = worklist["label"] if "label" in worklist else [None] * len(worklist)
    labels = [unfilled if pd.isna(label) else int(label) for label in known]
    return worklist.assign(label=pd.Series(labels, index=worklist.index, dtype=object))


def _write_trec(worklist: pd.DataFrame) -> str:
    for name in ("qid", "docno"):
        if wrong := some(worklist[name][worklist[name].str.contains(r"\s", regex=True)]):
            raise ValueError(f"format 'trec' takes no {name} with white space: {wrong}; use another format")
    rows = _with_labels(worklist, UNJUDGED)[list(_JUDGED)].itertuples(index=False, name=None)
    return "".join(f"{qid} 0 {docno} {label}\n" for qid, docno, label in rows)


def _write_csv(worklist: pd.DataFrame) -> str:
    shown = [name for name in ("query", "text") if name in worklist]
    texts = {name: worklist[name].map(lambda text: visible(text) if isinstance(text, str) else text) for name in shown}
    return _with_labels(worklist.assign(**texts).apply(guarded), "").to_csv(index=False, lineterminator="\n")


def _write_jsonl(worklist: pd.DataFrame) -> str:
    shown = _with_labels(worklist, None).astype(object)
    rows = shown.where(shown.notna(), None).to_dict(orient="records")
    return "".join(json_text(row) + "\n" for row in rows)


def _read_jsonl(source: Source) -> pd.DataFrame:
    rows = read_json_lines(source, _JUDGED)
    return rows[rows["label"].map(lambda label: label not in (None, "")).astype(bool)]


def _write_opensearch(worklist: pd.DataFrame) -> str:
    known = worklist.dropna(subset="label") if "label" in worklist else worklist.head(0)
    if known.empty:
        raise ValueError("a judgment list of OpenSearch holds labels, and none is known")
    text = {_only(qids, text): text for text, qids in _texts_of(known).items()}
    lists: dict[str, list[dict[str, str]]] = {}
    for qid, docno, label in zip(known["qid"], known["docno"], known["label"].astype(int), strict=True):
        lists.setdefault(text[qid], []).append({"docId": docno, "rating": str(label)})
    rated = [{"query": query, "ratings": ratings} for query, ratings in lists.items()]
    return json_text({"name": "pt_active", "type": "IMPORT_JUDGMENT", "judgmentRatings": rated}, indent=1) + "\n"


def _read_opensearch(source: Source) -> pd.DataFrame:
    """Read a judgment list, as it is imported, or as `GET …/judgments/ID` returns it."""
    wanted, whole = "one judgment list of OpenSearch, with judgmentRatings", json_value(source.text)
    try:
        (about,) = [whole] if "judgmentRatings" in whole else [each["_source"] for each in whole["hits"]["hits"]]
        rows = [
            {"qid": each["query"].strip(), "docno": one["docId"], "label": one["rating"]}
            for each in about["judgmentRatings"]
            for one in each["ratings"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"expected {wanted}: query, and ratings with docId and rating") from error
    places = [f"rating {number}" for number in range(1, len(rows) + 1)]
    return pd.DataFrame(rows, places, _JUDGED, dtype=object)


FORMATS: dict[str, Format] = {
    "csv": Format(_write_csv),
    "opensearch": Format(
        _write_opensearch, _read_opensearch, re.compile(r'\s*\{(\s*$|.*"judgmentRatings")'), by_query=True
    ),
    "jsonl": Format(_write_jsonl, _read_jsonl, re.compile(r"\s*\{")),
    "trec": Format(_write_trec),
}
"""The formats by name, in the order in which they are tried on a file. A new format needs a function that writes, one
that reads, and an entry here."""
