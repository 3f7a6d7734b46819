"""Records of judgments: checked, kept in files, and turned into qrels."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pt_active.frames import records as frame_records
from pt_active.frames.atomic import new_file, write_file
from pt_active.frames.tables import is_parquet
from pt_active.frames.visible import json_text
from pt_active.plans.making.judgments import qrels_of, records_of_plan
from pt_active.plans.plan import Plan

__all__ = ["checked_records", "qrels_of", "write_records"]


def checked_records(frame: pd.DataFrame, plan: Plan | None = None) -> pd.DataFrame:
    """Check records of judgments, and that they belong to a plan.

    Args:
        frame: `RECORD_COLUMNS`; ``time``, ``note``, ``plan`` and ``judges`` may be missing.
        plan: The plan that they should be of; None for any.

    Returns:
        `RECORD_COLUMNS` in this order: strings, but for ``judges``, int64, and ``label``, which is Int64 and <NA>
        unless the status is ``judged``. The index is that of the frame.

    Raises:
        ValueError: If a record is malformed, or is not of the plan, its documents and its grades. The message has the
            row.
    """
    return frame_records.checked_records(frame) if plan is None else records_of_plan(plan.tables, frame)


def write_records(records: pd.DataFrame, path: str | Path) -> Path:
    """Write records to a new file: JSON lines, or Parquet if the name ends in ``.parquet``.

    Raises:
        FileExistsError: If the file exists: records are appended, never overwritten.
        ValueError: If a record is malformed.
    """
    checked, path = checked_records(records), Path(path)
    if is_parquet(path):
        with new_file(path) as unfinished:
            checked.to_parquet(unfinished, index=False)
    else:
        rows = checked.assign(label=checked["label"].astype(object).where(checked["label"].notna(), None))
        lines = [json_text(row) + "\n" for row in rows.astype({"judges": object}).to_dict("records")]
        write_file(path, "".join(lines))
    return path
