"""Documents whose ids and texts are hard on files, and what records of them say."""

from __future__ import annotations

import pandas as pd
from judging_round_trips import DOCUMENTS

__all__ = ["DOCUMENTS", "said"]


def said(records: pd.DataFrame) -> list[tuple[object, ...]]:
    """qid, docno, label, annotator, status and note of each record, in the order of their ids."""
    labels = [None if pd.isna(label) else int(label) for label in records["label"]]
    columns = [records[name] for name in ("annotator", "status", "note")]
    return sorted(zip(records["qid"], records["docno"], labels, *columns, strict=True), key=str)
