"""Documents whose ids and texts are hard on files, and what records of them say."""

from __future__ import annotations

import pandas as pd

DOCUMENTS = pd.DataFrame(
    {
        "qid": ["007", "007", "q,2", "=q3", "q3"],
        "docno": ["0012", "d:1/a b", 'd"2', "-d", "żółć"],
        "query": ["wooden lamp", "wooden lamp", 'a "quick" <b>', "=1+1", "@home"],
        "text": ["plain", "several\nlines; <script>alert(1)</script>", "=HYPERLINK(1)", "x & y", "\ttab"],
    }
)


def said(records: pd.DataFrame) -> list[tuple[object, ...]]:
    """qid, docno, label, annotator, status and note of each record, in the order of their ids."""
    labels = [None if pd.isna(label) else int(label) for label in records["label"]]
    columns = [records[name] for name in ("annotator", "status", "note")]
    return sorted(zip(records["qid"], records["docno"], labels, *columns, strict=True), key=str)
