"""Frames as PyTerrier knows them, checked once on the way in.

Every function takes a frame, leaves it untouched, and returns a checked copy with string ids, so that the
rest of the package never meets an integer qid, a duplicated document or a half label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from pt_active.frames.checks import shown, some

GRADE_COLUMN = re.compile(r"^grade_(\d+)$")

DESIGN_COLUMN = re.compile(
    r"^q_(prob|cost|weight|draws|importance|inclusion|priority|opening_cost|drawing|cov|mean_.+|var_.+|mc_error_.+)$"
)


def with_string_ids(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a shallow copy whose ``qid`` and ``docno`` are strings.

    Raises:
        ValueError: If an id is missing (NaN or None).
    """
    frame = frame.copy(deep=False)
    for column in ("qid", "docno"):
        if column not in frame.columns:
            continue
        missing = frame[column].isna()
        if missing.any():
            raise ValueError(f"{int(missing.sum())} rows have no {column}")
        if not _holds_strings(frame[column]):
            frame[column] = frame[column].map(_id_string)
    return frame


def _holds_strings(column: pd.Series) -> bool:
    return pd.api.types.infer_dtype(column, skipna=False) in ("string", "empty")


def _id_string(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def pair_codes(frame: pd.DataFrame) -> np.ndarray:
    """int64[N], a number for each distinct (qid, docno) of a frame without missing ids."""
    query, docno = pd.factorize(frame["qid"])[0], pd.factorize(frame["docno"])[0]
    return query * np.int64(docno.max(initial=0) + 1) + docno


def check_pairs(frame: pd.DataFrame, what: str, codes: np.ndarray | None = None) -> None:
    """Refuse a frame that holds a document twice for one query.

    Args:
        frame: A frame with ``qid`` and ``docno``.
        what: How to call the frame in the message, such as ``run 'candidate'``.
        codes: Its `pair_codes`, where they are known already.

    Raises:
        ValueError: If a (qid, docno) pair stands in more than one row.
    """
    repeated = pd.Series(pair_codes(frame) if codes is None else codes).duplicated().to_numpy()
    if repeated.any():
        row = frame[repeated].iloc[0]
        raise ValueError(
            f"{what}: {int(repeated.sum())} duplicate rows; document {row.docno!r} stands more than once "
            f"in query {row.qid!r}"
        )


def grade_columns(columns: Iterable[object]) -> list[str]:
    """The columns ``grade_0 … grade_G`` of a frame, in order.

    Returns:
        The names, or an empty list if there are none.

    Raises:
        ValueError: If the grades do not run from 0 without a gap, or there is only one.
    """
    found = sorted(int(m.group(1)) for c in columns if (m := GRADE_COLUMN.match(str(c))))
    if found and found != list(range(len(found))):
        raise ValueError(f"grade columns must run from grade_0 without a gap, got {found}")
    if len(found) == 1:
        raise ValueError("there must be at least two grades, got grade_0 alone")
    return [f"grade_{g}" for g in found]


def ranker_names(columns: Iterable[object]) -> list[str]:
    """The rankers of a union frame, from its ``rank_<name>`` columns, in column order."""
    return [str(c)[len("rank_") :] for c in columns if str(c).startswith("rank_")]


def query_columns(columns: Iterable[object]) -> list[str]:
    """The columns that belong to the query: those that start with ``q``, as in PyTerrier, and ``traffic``.

    Not those of a design or a sample, which belong to the plan that they come from.
    """
    return [str(c) for c in columns if (str(c).startswith("q") or c == "traffic") and not DESIGN_COLUMN.match(str(c))]


def query_table(frame: pd.DataFrame, qids: Sequence[str]) -> pd.DataFrame:
    """One row a query with the query columns.

    Args:
        frame: Any frame with ``qid``.
        qids: The queries wanted, in the order wanted.

    Returns:
        The first row of each query; columns that the frame has for a query, ``qid`` first.
    """
    columns = ["qid", *(c for c in query_columns(frame.columns) if c != "qid")]
    table = frame[columns].drop_duplicates("qid").set_index("qid")
    return table.reindex(pd.Index(qids, name="qid")).reset_index()


def with_query_columns(frame: pd.DataFrame, topics: pd.DataFrame) -> pd.DataFrame:
    """Restrict a frame to the queries of the topics, and give it the topics' query columns.

    Args:
        frame: A result frame with string ids.
        topics: One row a query, with string ids.

    Returns:
        The frame's rows whose query is in the topics.

    Raises:
        ValueError: If the topics hold a query twice.
    """
    if topics["qid"].duplicated().any():
        raise ValueError(f"topics hold a query twice: {some(topics['qid'][topics['qid'].duplicated()])}")
    known = topics[query_columns(topics.columns)]
    rest = [c for c in frame.columns if c == "qid" or c not in known.columns]
    return frame[rest].merge(known, on="qid", how="inner")


def slice_rows(frame: pd.DataFrame, column: str | None) -> np.ndarray:
    """bool[N], the rows of a slice; all of them without one.

    Args:
        frame: ``qid, docno``, and the column.
        column: Its name, or None.

    Raises:
        ValueError: If there is no such column, it is not true or false everywhere, or nowhere true.
    """
    if column is None:
        return np.ones(len(frame), dtype=bool)
    if not isinstance(column, str) or column not in frame.columns:
        raise ValueError(f"slice must name a column of the pool that is true or false, got {column!r}")
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~np.isin(values, (0.0, 1.0))
    if wrong.any():
        row = frame.iloc[int(np.argmax(wrong))]
        raise ValueError(
            f"slice {column!r}: values must be true or false; {int(wrong.sum())} are not, such as {shown(row[column])} "
            f"for document {row['docno']!r} of query {row['qid']!r}"
        )
    if not values.any():
        raise ValueError(f"the slice {column!r} holds no pair")
    return values > 0


def check_grades(frame: pd.DataFrame, grades: np.ndarray) -> None:
    """Refuse grade probabilities that are none.

    Args:
        frame: ``qid, docno`` of each row, to name one that is wrong.
        grades: float64[N, G+1].

    Raises:
        ValueError: If one is NaN or negative, or a row does not sum to 1.
    """
    total = grades.sum(axis=1)
    for wrong, rule in (
        (np.isnan(grades).any(axis=1), "must not be NaN; those of {} documents are"),
        ((grades < 0).any(axis=1), "must not be negative; those of {} documents are"),
        (~(np.abs(total - 1) <= 1e-6), "must sum to 1; those of {} documents do not"),
    ):
        if wrong.any():
            z = int(np.argmax(wrong))
            row = frame.iloc[z]
            raise ValueError(
                f"grade probabilities {rule.format(int(wrong.sum()))}, such as document {row.docno!r} of query "
                f"{row.qid!r}: {grades[z].tolist()}"
            )
