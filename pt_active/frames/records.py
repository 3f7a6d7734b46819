"""What is the record of a judgment: who said what of which document, and when?"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, shown
from pt_active.frames.columns import with_string_ids
from pt_active.frames.qrels import HIGHEST_LABEL

RECORD_COLUMNS = ["qid", "docno", "label", "annotator", "status", "time", "note", "plan"]
"""The columns of records: strings, but for ``label``, which is Int64."""

JUDGED, SKIPPED, UNJUDGEABLE = "judged", "skipped", "unjudgeable"

STATUSES = (JUDGED, SKIPPED, UNJUDGEABLE)
"""What an annotator did with a document: gave it a grade, left it to others, or said that nobody can judge it."""

ADJUDICATOR = "adjudicator"
"""The annotator whose label settles a document, whatever others say of it: the organiser, where judges disagree."""

_OPTIONAL = ("time", "note", "plan")
"""Columns that are empty where a frame lacks them."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)")
"""ISO 8601 in UTC, such as ``2026-03-01T09:30:00Z``."""


def is_records(frame: object) -> bool:
    """Whether a frame holds records of judgments rather than qrels: it says who judged, and with what outcome."""
    return isinstance(frame, pd.DataFrame) and {"annotator", "status"} <= set(frame.columns)


def checked_records(records: pd.DataFrame) -> pd.DataFrame:
    """Check records of judgments and give their columns one type each.

    Args:
        records: `RECORD_COLUMNS`; ``time``, ``note`` and ``plan`` may be missing, which says that they are unknown.
            The index holds the numbers of the rows, for messages.

    Returns:
        `RECORD_COLUMNS` in this order, strings but for ``label`` (Int64, <NA> unless the status is ``judged``), with
        the same index. Times end in ``Z``.

    Raises:
        ValueError: If a column is missing, an id is missing or empty, a status is unknown, a label is missing or is
            not a whole number from 0, a document that was not judged has a label, or a time is not ISO 8601 in UTC.
            The message has the row.
    """
    given = data_frame("records", records, *[name for name in RECORD_COLUMNS if name not in _OPTIONAL])
    frame = with_string_ids(given).reindex(columns=RECORD_COLUMNS)
    for name in ("annotator", "status", *_OPTIONAL):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").map(str)
    for name in ("qid", "docno"):
        refuse_rows(frame, frame[name].str.strip() == "", name, "not empty")
    refuse_rows(frame, ~frame["status"].isin(STATUSES), "status", f"one of {', '.join(STATUSES)}")
    numbers = frame["label"].map(lambda value: None if isinstance(value, (bool, np.bool_)) else value)
    label = pd.to_numeric(numbers, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    judged = (frame["status"] == JUDGED).to_numpy()
    sound = (label == np.floor(label)) & (label >= 0) & (label <= HIGHEST_LABEL)
    refuse_rows(frame, judged & ~sound, "label", f"a whole number from 0 to {HIGHEST_LABEL}")
    refuse_rows(frame, ~judged & frame["label"].notna().to_numpy(), "label", f"empty unless the status is {JUDGED}")
    frame["label"] = pd.array(np.where(judged, label, np.nan), dtype="Int64")
    timed = frame["time"].map(lambda text: not text or bool(_TIME.fullmatch(text))).astype(bool)
    refuse_rows(frame, ~timed, "time", "ISO 8601 in UTC, such as 2026-03-01T09:30:00Z")
    return frame.assign(time=frame["time"].str.replace("+00:00", "Z", regex=False))


def refuse_rows(records: pd.DataFrame, wrong: np.ndarray | pd.Series, column: str, expected: str) -> None:
    """Raise if any row is marked.

    Args:
        records: ``qid, docno`` and the column; the index holds the numbers of the rows, or where they stand in words.
        wrong: bool[N], the rows that are not as they should be.
        column: The column that is wrong.
        expected: What its value should be, in words.

    Raises:
        ValueError: With the first such row, what was expected and what came.
    """
    marked = np.asarray(wrong, dtype=bool)
    if marked.any():
        at = int(np.argmax(marked))
        row, place = records.iloc[at], place_of(records.index[at])
        raise ValueError(
            f"{place}: expected a {column} that is {expected}, for document {shown(row['docno'])} of query "
            f"{shown(row['qid'])}; got {shown(row[column])}"
        )


def place_of(label: object) -> str:
    """Where a record stands, from the index: ``row 3`` for a number, and texts as they are."""
    return label if isinstance(label, str) else f"row {label}"


def latest(records: pd.DataFrame) -> pd.DataFrame:
    """The last record of each annotator on each document: a correction is a new record, which replaces the earlier.

    Args:
        records: As `checked_records` returns them. If all have a time, the latest counts; otherwise the last row does.

    Returns:
        The rows that count, in their order.
    """
    order = np.arange(len(records))
    if len(records) and (records["time"] != "").all():
        times = pd.to_datetime(records["time"], format="ISO8601", utc=True)
        order = np.argsort(times.to_numpy(), kind="stable")
    again = records.iloc[order].duplicated(["qid", "docno", "annotator"], keep="last").to_numpy()
    return records.iloc[np.sort(order[~again])]
