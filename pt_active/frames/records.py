"""Records of judgments: who gave which label to which document, and when."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame
from pt_active.frames.columns import as_numbers, refuse_rows, with_string_ids
from pt_active.frames.qrels import HIGHEST_LABEL

SAID_COLUMNS = ["qid", "docno", "label", "annotator", "status", "time", "note", "plan"]
"""The columns of records that every file of them has: strings, but for ``label``, which is Int64."""

RECORD_COLUMNS = [*SAID_COLUMNS, "judges"]
"""All columns of records. ``judges``, int64, is how many people are asked to judge the document."""

JUDGED, SKIPPED, UNJUDGEABLE = "judged", "skipped", "unjudgeable"
STATUSES = (JUDGED, SKIPPED, UNJUDGEABLE)
"""What an annotator did with a document: gave it a grade, left it to others, or said that nobody can judge it."""

ADJUDICATOR = "adjudicator"
"""The annotator whose label settles a document, whatever others say about it: the organiser, where judges disagree."""

MAX_PASSES = 2  # Judges who may skip a document, or say that it cannot be judged, until nobody else is asked
_OPTIONAL = ("time", "note", "plan")  # Columns that are empty where a frame lacks them
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)")
"""ISO 8601 in UTC, such as ``2026-03-01T09:30:00Z``."""


def is_records(frame: object) -> bool:
    """Whether a frame holds records of judgments rather than qrels: it says who judged, and with what outcome."""
    return isinstance(frame, pd.DataFrame) and {"annotator", "status"} <= set(frame.columns)


def checked_records(records: pd.DataFrame) -> pd.DataFrame:
    """Check records of judgments and give their columns one type each."""
    given = data_frame("records", records, *[name for name in SAID_COLUMNS if name not in _OPTIONAL])
    frame = with_string_ids(given).reindex(columns=RECORD_COLUMNS)
    for name in ("annotator", "status", *_OPTIONAL):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").map(str)
    refuse_rows(frame, ~frame["status"].isin(STATUSES), "status", f"one of {', '.join(STATUSES)}")
    label = as_numbers(frame["label"])
    judged = (frame["status"] == JUDGED).to_numpy()
    sound = (label == np.floor(label)) & (label >= 0) & (label <= HIGHEST_LABEL)
    refuse_rows(frame, judged & ~sound, "label", f"a whole number from 0 to {HIGHEST_LABEL}")
    refuse_rows(frame, ~judged & frame["label"].notna().to_numpy(), "label", f"empty unless the status is {JUDGED}")
    frame["label"] = pd.array(np.where(judged, label, np.nan), dtype="Int64")
    written = frame["time"].map(lambda text: bool(_TIME.fullmatch(text))).astype(bool)
    there_is = pd.to_datetime(frame["time"].where(written), format="ISO8601", utc=True, errors="coerce").notna()
    refuse_rows(frame, ~there_is & (frame["time"] != ""), "time", "ISO 8601 in UTC, such as 2026-03-01T09:30:00Z")
    judges = np.where(frame["judges"].isna(), 1.0, as_numbers(frame["judges"]))
    refuse_rows(frame, ~((judges == np.floor(judges)) & (judges >= 1)), "judges", "a whole number from 1")
    return frame.assign(time=frame["time"].str.replace("+00:00", "Z", regex=False), judges=judges.astype(np.int64))


def latest(records: pd.DataFrame) -> pd.DataFrame:
    """The last record of each annotator on each document, in their order: a correction is a new record.

    If all records have a time, the latest counts; otherwise the last row does.
    """
    order = as_they_came(records)
    again = records.iloc[order].duplicated(["qid", "docno", "annotator"], keep="last").to_numpy()
    return records.iloc[np.sort(order[~again])]


def as_they_came(records: pd.DataFrame) -> np.ndarray:
    """int64[N], the rows in the order of time if all have one, and otherwise in their own order."""
    if len(records) == 0 or (records["time"] == "").any():
        return np.arange(len(records))
    times = pd.to_datetime(records["time"], format="ISO8601", utc=True)
    return np.argsort(times.to_numpy(), kind="stable")


def still_wanted(judges: int, judged: int, passed: int) -> int:
    """How many more people a document needs."""
    if passed >= MAX_PASSES or (judged and judged + passed >= judges):
        return 0
    return max(0, judges - judged)
