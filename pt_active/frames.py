"""Frames as PyTerrier knows them, checked once on the way in.

Every function takes a frame, leaves it untouched, and returns a checked copy with string ids, so that the
rest of the package never meets an integer qid, a duplicated document or a half label.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from pt_active.arguments import data_frame, shown

UNJUDGED = -1
"""TREC's label for a document that was pooled but not judged: as good as no label."""

SPAM = -2
"""The TREC Web track's label for spam and junk: judged, and worth nothing (grade 0)."""

HIGHEST_LABEL = 1000
"""A label above it is taken for a mistake: 2 to its power has no finite gain."""

GRADE_COLUMN = re.compile(r"^grade_(\d+)$")


DESIGN_COLUMN = re.compile(
    r"^q_(prob|cost|weight|draws|importance|inclusion|priority|opening_cost|drawing|cov|mean_.+|var_.+|mc_error_.+)$"
)


def some(items: Iterable[object], limit: int = 5) -> str:
    """Name the first few items for an error message.

    Args:
        items: What is to be named.
        limit: How many names to print before ``…``.

    Returns:
        ``'a', 'b', … (12 in all)``.
    """
    listed = list(items)
    text = ", ".join(repr(item) for item in listed[:limit])
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"


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


def ranked_run(run: pd.DataFrame, name: str = "run") -> pd.DataFrame:
    """Order a run as trec_eval does and make sure that no document stands twice in a query.

    Args:
        run: A result frame with ``qid``, ``docno`` and ``score``.
        name: The ranker's name, for messages.

    Returns:
        As `ordered_run`.

    Raises:
        ValueError: As `ordered_run`, and if the run holds a duplicate pair.
    """
    ranked = ordered_run(run, name)
    check_pairs(ranked, f"run {name!r}")
    return ranked


def ordered_run(run: pd.DataFrame, name: str, depth: int | None = None) -> pd.DataFrame:
    """Order a run as trec_eval does: score descending, ties by docno descending.

    Scores are compared at single precision, as in trec_eval. A ``rank`` column that came with the run is
    replaced; a warning says so where it contradicts the scores (another order of tied documents is no contradiction).

    Args:
        run: A result frame with ``qid``, ``docno`` and ``score``.
        name: The ranker's name, for messages.
        depth: How many documents to keep for each query; None keeps all.

    Returns:
        The rows sorted by qid (in order of first appearance) and rank, with string ids and ``rank`` from 0.

    Raises:
        ValueError: If the run is empty or has a score that is not a number.
    """
    what = f"run {name!r}"
    missing = {"qid", "docno", "score"} - set(data_frame(what, run).columns)
    if missing:
        raise ValueError(f"{what} needs the columns qid, docno, score; it lacks {some(sorted(missing))}")
    if run.empty:
        raise ValueError(f"{what} is empty")
    if depth is not None and depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    run = with_string_ids(run).reset_index(drop=True)
    score = pd.to_numeric(run["score"]).to_numpy(dtype=np.float64)
    if np.isnan(score).any():
        raise ValueError(f"{what}: {int(np.isnan(score).sum())} scores are not a number")
    query = pd.factorize(run["qid"])[0]
    with np.errstate(over="ignore"):
        single = score.astype(np.float32)
    order = _trec_order(query, single, run["docno"])
    run, query = run.iloc[order].reset_index(drop=True), query[order]
    rank = _position_in_group(query)
    _warn_if_reordered(run, query, single[order], what)
    run["rank"] = rank
    return run if depth is None else run[rank < depth].reset_index(drop=True)


def _trec_order(query: np.ndarray, score: np.ndarray, docno: pd.Series) -> np.ndarray:
    """Row order by query code, score descending, docno descending; docnos are only compared within ties."""
    key = (query.astype(np.int64) << 32) | _descending_code(score)
    order = np.argsort(key)
    same = np.diff(key[order]) == 0
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    block = np.concatenate([[0], np.cumsum(~same)])[tied]
    rows = order[tied]
    names = pd.Categorical(docno.iloc[rows].astype(object)).codes
    order[tied] = rows[np.lexsort((-names.astype(np.int64), block))]
    return order


def _descending_code(score: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 2³² − 1 in the order of the float32 scores, highest first."""
    bits = (score + np.float32(0)).view(np.uint32).astype(np.int64)
    ascending = np.where(bits < 1 << 31, bits + (1 << 31), (1 << 32) - 1 - bits)
    return (1 << 32) - 1 - ascending


def _position_in_group(group: np.ndarray) -> np.ndarray:
    """0, 1, 2, … within each run of equal values."""
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    return np.arange(len(group)) - np.repeat(start, np.diff(np.append(start, len(group))))


def _warn_if_reordered(run: pd.DataFrame, query: np.ndarray, score: np.ndarray, what: str) -> None:
    if "rank" not in run.columns:
        return
    rank = pd.to_numeric(run["rank"], errors="coerce").to_numpy(dtype=np.float64)
    inverted = (rank[1:] < rank[:-1]) & (query[1:] == query[:-1]) & (score[1:] < score[:-1])
    if inverted.any():
        warnings.warn(
            f"{what}: the rank column disagrees with the order of the scores in "
            f"{len(np.unique(query[1:][inverted]))} queries; the scores decide, as in trec_eval",
            stacklevel=4,
        )


def checked_qrels(qrels: pd.DataFrame, max_grade: int | None = None) -> pd.DataFrame:
    """Check relevance judgments and give them whole-number labels.

    ``-1`` (pooled but unjudged) counts as no label: such rows are dropped. ``-2`` (the Web track's spam)
    counts as judged and becomes grade 0. Rows that repeat the same label for a pair are merged.

    Args:
        qrels: A frame with ``qid``, ``docno``, ``label``.
        max_grade: The highest grade that is allowed, if there is one.

    Returns:
        ``qid, docno, label`` with string ids and int64 labels from 0.

    Raises:
        ValueError: If a label is not a whole number, is below -2 or above ``max_grade``, or if a pair has
            two different labels.
    """
    qrels = with_string_ids(label_columns(qrels)).reset_index(drop=True)
    label = pd.to_numeric(qrels["label"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    _refuse_labels(qrels, ~(label == np.floor(label)), "must be whole numbers")
    _refuse_labels(qrels, label > HIGHEST_LABEL, f"must not be above {HIGHEST_LABEL}")
    _refuse_labels(qrels, label < SPAM, "must not be below -2 (-1 is unjudged, -2 is spam)")
    qrels["label"] = np.where(label == SPAM, 0, label).astype(np.int64)
    if max_grade is not None:
        check_highest_grade(qrels, max_grade)
    qrels = qrels[qrels["label"] != UNJUDGED].drop_duplicates().reset_index(drop=True)
    twice = qrels.duplicated(["qid", "docno"], keep=False)
    if twice.any():
        row = qrels[twice].iloc[0]
        labels = sorted(qrels[(qrels.qid == row.qid) & (qrels.docno == row.docno)].label)
        raise ValueError(f"qrels: document {row.docno!r} of query {row.qid!r} has different labels: {labels}")
    return qrels


def check_highest_grade(qrels: pd.DataFrame, max_grade: int) -> None:
    """Refuse labels above the highest grade.

    Args:
        qrels: ``qid, docno, label``, whole numbers.
        max_grade: The highest grade.

    Raises:
        ValueError: If there is one.
    """
    wrong = qrels["label"].to_numpy() > max_grade
    _refuse_labels(qrels, wrong, f"must not be above the highest grade, {max_grade}")


def label_columns(qrels: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, label`` of judgments, as they came.

    Raises:
        ValueError: If that is no frame, or a column is missing.
    """
    columns = ["qid", "docno", "label"]
    if missing := set(columns) - set(data_frame("qrels", qrels).columns):
        raise ValueError(f"qrels need the columns qid, docno, label; they lack {some(sorted(missing))}")
    return qrels[columns]


def _refuse_labels(qrels: pd.DataFrame, wrong: np.ndarray, rule: str) -> None:
    if wrong.any():
        row = qrels[wrong].iloc[0]
        raise ValueError(
            f"qrels: labels {rule}; {int(wrong.sum())} are not, such as {row.label} for document "
            f"{row.docno!r} of query {row.qid!r}"
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
