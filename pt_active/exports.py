"""Worklists for judges, in the formats that judging tools read, and the way back.

Each format is one entry of `FORMATS`: a function that writes assessments as text, one that reads the file
once it is filled in, and a pattern that recognises such a file by its first line.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.files import LABEL, QRELS, first_line, naming, read_columns, read_json_lines
from pt_active.frames import UNJUDGED, check_pairs, checked_qrels, some, with_string_ids

_SHOWN = ("qid", "docno", "query", "text")
_JUDGED = ("qid", "docno", "label")


class Format(NamedTuple):
    """A worklist format.

    Attributes:
        write: From an assessments frame to the text of the file.
        read: From a filled-in file to ``qid, docno, label``, with the labels as they stand there; the index
            says where each row stands.
        place: What the index counts, such as ``line``.
        first_line: Matches the first line of such a file.
    """

    write: Callable[[pd.DataFrame], str]
    read: Callable[[str | Path], pd.DataFrame]
    place: str
    first_line: re.Pattern[str]


def write_assessments(assessments: pd.DataFrame, path: str | Path, format: str = "trec") -> None:
    """Write what is to be judged as a file in which judges fill in the labels.

    Formats:

    - ``trec``: lines of ``qid 0 docno -1``; in TREC qrels -1 says "pooled, not judged".
    - ``csv``: a table with the columns qid, docno, query, text (as far as there are such) and an empty label.
    - ``jsonl``: the same, an object a line, with ``"label": null``.

    The file is written whole or not at all.

    Args:
        assessments: ``qid, docno``, and what the judges should see of ``query`` and ``text``. Other columns
            (such as ``inclusion``) stay inside.
        path: The file to write.
        format: A key of `FORMATS`.

    Raises:
        FileExistsError: If there is such a file already: it may hold judgments.
        ValueError: If the format is not known, there is nothing to judge, a column is missing, a pair stands
            there twice, or an id does not fit the format.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {some(FORMATS)}, got {format!r}")
    if Path(path).exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    content = FORMATS[format].write(_worklist(assessments))
    with pt.io.finalized_open(str(path), "b") as stream:
        stream.write(content.encode("utf-8"))


def read_judgments(path: str | Path) -> pd.DataFrame:
    """Read the labels that judges filled in.

    The format (any of `FORMATS`, plain qrels included) is recognised by the first line. Pairs whose label is
    still empty, null or -1 are not judged; they are left out.

    Args:
        path: The filled-in file.

    Returns:
        ``qid, docno, label``; ``attrs["unjudged"]`` holds the number of pairs left out.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit its format, a label is not a grade, or a pair
            has two labels.
    """
    opening = first_line(path)
    format = next(f for f in FORMATS.values() if f.first_line.match(opening))
    given = format.read(path)
    with naming(path):
        labels = _grades(given, format.place)
        qrels = checked_qrels(given.assign(label=labels))
    qrels.attrs["unjudged"] = int((labels == UNJUDGED).sum())
    return qrels


def _worklist(assessments: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in ("qid", "docno") if name not in assessments.columns]
    if missing:
        raise ValueError(f"assessments need the columns qid and docno; missing: {some(missing)}")
    if assessments.empty:
        raise ValueError("assessments: there is nothing to judge, the frame is empty")
    worklist = with_string_ids(assessments)
    check_pairs(worklist, "assessments")
    return worklist[[name for name in _SHOWN if name in worklist.columns]]


def _grades(given: pd.DataFrame, place: str) -> np.ndarray:
    """The labels as numbers, -1 where there is none."""
    text = given["label"].map(lambda label: "" if pd.isna(label) else str(label).strip())
    numbers = pd.to_numeric(text.astype(object), errors="coerce").to_numpy(dtype=np.float64)
    grades = np.where(text == "", UNJUDGED, numbers)
    wrong = ~LABEL.holds(grades)
    if wrong.any():
        row = given[wrong].iloc[0]
        raise ValueError(
            f"{place} {row.name}: expected a label that is {LABEL.says}, or none, for document {row.docno!r} "
            f"of query {row.qid!r}; got {str(row.label)!r}"
        )
    return grades


def _write_trec(worklist: pd.DataFrame) -> str:
    for name in ("qid", "docno"):
        unfit = worklist[name][worklist[name].str.contains(r"\s|^$", regex=True)]
        if len(unfit):
            raise ValueError(f"format 'trec' takes no {name} with white space: {some(unfit)}; use another format")
    return "\n".join(worklist["qid"] + " 0 " + worklist["docno"] + f" {UNJUDGED}") + "\n"


def _read_trec(path: str | Path) -> pd.DataFrame:
    return read_columns(path, QRELS)


def _write_csv(worklist: pd.DataFrame) -> str:
    return worklist.assign(label="").to_csv(index=False, lineterminator="\n")


def _read_csv(path: str | Path) -> pd.DataFrame:
    """Read a table with a header, as spreadsheets save it: separated by comma, semicolon or tab."""
    separator = re.search("[,;\t]", first_line(path))
    with naming(path):
        table = pd.read_csv(
            path,
            sep=separator.group() if separator else ",",
            dtype=str,
            na_filter=False,
            encoding="utf-8-sig",
            index_col=False,
        )
        missing = [name for name in _JUDGED if name not in table.columns]
        if missing:
            raise ValueError(f"row 1: expected a header with {some(_JUDGED)}; missing: {some(missing)}")
    return table[list(_JUDGED)].set_axis(range(2, len(table) + 2))


def _write_jsonl(worklist: pd.DataFrame) -> str:
    shown = worklist.astype(object).where(worklist.notna(), None)
    rows = shown.assign(label=None).to_dict(orient="records")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _read_jsonl(path: str | Path) -> pd.DataFrame:
    return read_json_lines(path, _JUDGED)


FORMATS: dict[str, Format] = {
    "csv": Format(_write_csv, _read_csv, "row", re.compile(r"(?!\s*\{)(?=.*\bqid\b)(?=.*\bdocno\b)")),
    "jsonl": Format(_write_jsonl, _read_jsonl, "line", re.compile(r"\s*\{")),
    "trec": Format(_write_trec, _read_trec, "line", re.compile("")),
}
"""The formats by name, in the order in which they are tried on a file; ``trec`` takes what is left."""
