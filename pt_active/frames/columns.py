"""The columns of PyTerrier's frames: ids, ranks, grades and query attributes, checked once when a frame comes in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Number

import numpy as np
import pandas as pd

from pt_active.frames.checks import document_of, how_many, shown, some, unfit
from pt_active.frames.ids import first_rows, id_codes

GRADE_COLUMN = re.compile(r"^grade_(\d+)$")  # The probability that a document has a grade, ``grade_0 … grade_G``

DESIGN_COLUMN = re.compile(  # A column that a design or a sample adds to each query
    r"^q_(prob|cost|weight|draws|importance|inclusion|priority|opening_cost|drawing|believed|cov|(mean|var|mc_error)_.+)$"
)


def with_string_ids(frame: pd.DataFrame, place: str = "row") -> pd.DataFrame:
    """Return a shallow copy whose ``qid`` and ``docno`` are strings, each of them checked."""
    frame = frame.copy(deep=False)
    for column in frame.columns.intersection(["qid", "docno"]):
        given = frame[column]
        if frame.empty:
            frame[column] = given.astype(str)
            continue
        if given.isna().any() or pd.api.types.infer_dtype(given, skipna=False) != "string":
            frame[column] = given.map(_id_text)
        text = frame[column].str
        wrong = np.asarray((text.strip() == "") | text.contains("\0", regex=False), dtype=bool)
        if wrong.any():
            expected = f"a {column} that is text or a whole number, not empty and without NUL"
            raise unfit(place_of(frame.index[wrong][0], place), expected, shown(given[wrong].iloc[0]))
    return frame


def _id_text(value: object) -> str:
    """An id as text; empty if the value is none."""
    is_id = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
    return str(value) if is_id else ""


def as_numbers(column: pd.Series) -> np.ndarray:
    """float64[N], the numbers of a column, also those written as text; NaN for what is no number."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        column = column.astype(object).map(_plain_number)
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def _plain_number(value: object) -> object:
    """A number, or a text that may be one; None for truth values, dates, lists, and whole numbers beyond a float."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, Number)):
        return None
    return None if isinstance(value, int) and abs(value) >= 2**53 else value


def finite_numbers(frame: pd.DataFrame, column: str, place: str = "row") -> np.ndarray:
    """float64[N], a column of a frame of documents whose values must be finite numbers."""
    values = as_numbers(frame[column])
    refuse_rows(frame, ~np.isfinite(values), column, "a finite number", place)
    return values


def refuse_rows(
    frame: pd.DataFrame, wrong: np.ndarray | pd.Series, column: str, expected: str, place: str = "row"
) -> None:
    """Raise if any row is marked in ``wrong``, bool[N], naming the first by its index."""
    marked = np.asarray(wrong, dtype=bool)
    if marked.any():
        row = frame[marked].iloc[0]
        a = "an" if column[0] in "aeiou" else "a"
        of = f"{a} {column} that is {expected}, for {document_of(row['qid'], row['docno'])}"
        raise unfit(place_of(row.name, place), of, shown(row[column]))


def place_of(label: object, unit: str = "row") -> str:
    """Where a row stands, from its index: ``row 3`` for a number, and texts as they are."""
    return label if isinstance(label, str) else f"{unit} {label}"


def check_pairs(frame: pd.DataFrame, what: str, place: str = "") -> None:
    """Raise if a frame has more than one row for a query and document; no id may be missing."""
    query = id_codes(frame["qid"])[0]
    pair = np.sort((query << 32) + pd.factorize(frame["docno"])[0])
    if (pair[1:] == pair[:-1]).any():
        repeated = first_rows(query, frame["docno"]) != np.arange(len(frame))
        row = frame[repeated].iloc[0]
        twice = f"document {shown(row.docno)} occurs more than once in query {shown(row.qid)}"
        where = f" ({place} {row.name})" if place else ""
        raise ValueError(f"{what}: {how_many('duplicate row', int(repeated.sum()))}; {twice}{where}")


def grade_columns(columns: Iterable[object]) -> list[str]:
    """The columns ``grade_0 … grade_G`` of a frame, in order."""
    grades = sorted(int(m.group(1)) for c in columns if (m := GRADE_COLUMN.match(str(c))))
    if grades and grades != list(range(len(grades))):
        raise ValueError(f"grade columns must run from grade_0 without a gap, got {grades}")
    if len(grades) == 1:
        raise ValueError("there must be at least two grades, got grade_0 alone")
    return [f"grade_{g}" for g in grades]


def ranker_names(columns: Iterable[object]) -> list[str]:
    """The rankers of a union frame, from its ``rank_<name>`` columns, in column order."""
    return [str(c)[len("rank_") :] for c in columns if str(c).startswith("rank_")]


def query_columns(columns: Iterable[object]) -> list[str]:
    """The columns of the query: those that start with ``q``, and ``traffic``, but for those that a plan added."""
    return [str(c) for c in columns if (str(c).startswith("q") or c == "traffic") and not DESIGN_COLUMN.match(str(c))]


def unused_weights(columns: Iterable[object]) -> str:
    """What to do about a column of topics that is called as if it held weights; empty if there is none."""
    names = [str(name) for name in columns if str(name).casefold() in ("weight", "weights", "traffic")]
    if not names or "traffic" in names:
        return ""
    return f"the column {names[0]} is not used; if queries are to count by it, call it traffic"


def with_query_columns(frame: pd.DataFrame, topics: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows whose query is in the topics, and take the query columns from the topics."""
    if topics["qid"].duplicated().any():
        raise ValueError(f"topics hold a query twice: {some(topics['qid'][topics['qid'].duplicated()])}")
    known = topics[query_columns(topics.columns)]
    rest = frame[[c for c in frame.columns if c == "qid" or c not in known.columns]]
    code, qids = id_codes(frame["qid"])
    row = pd.Index(known["qid"]).get_indexer(qids)[code]
    if (row < 0).any():
        rest, row = rest[row >= 0], row[row >= 0]
    added = {name: known[name].array.take(row) for name in known.columns if name != "qid"}
    return rest.reset_index(drop=True).assign(**added)


def slice_rows(frame: pd.DataFrame, column: str | None) -> np.ndarray:
    """bool[N], whether each row is in the slice."""
    if column is None:
        return np.ones(len(frame), dtype=bool)
    if not isinstance(column, str) or column not in frame.columns:
        raise ValueError(f"slice must name a column of the pool that is true or false, got {column!r}")
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    refuse_rows(frame, ~np.isin(values, (0.0, 1.0)), column, "true or false")
    if not values.any():
        raise ValueError(f"the slice {column!r} holds no pair")
    return values > 0


def check_grades(frame: pd.DataFrame, grades: np.ndarray, order: np.ndarray | None = None) -> None:
    """Raise if a row of grade probabilities, float64[N, G+1], is not a distribution.

    ``order`` is int64[N], the rows of the frame to which the probabilities belong.
    """
    # A product sums short rows several times as fast as `sum`; NaN fails the comparison.
    wrong = ~(np.abs(grades @ np.ones(grades.shape[1]) - 1) <= 1e-6)
    if grades.min(initial=0.0) < 0:
        wrong |= (grades < 0).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        row = frame.iloc[first if order is None else order[first]]
        such = f"{document_of(row['qid'], row['docno'])}: {grades[first].tolist()}"
        broken = f"those of {how_many('document', int(wrong.sum()))} are not, such as {such}"
        raise ValueError(f"grade probabilities must be at least 0 and sum to 1; {broken}")


def numbers_in(frame: pd.DataFrame, column: str) -> np.ndarray:
    """float64[N], a column that must hold numbers; NaN where there is none."""
    values = as_numbers(frame[column])
    wrong = np.isnan(values) & frame[column].notna().to_numpy()
    if wrong.any():
        raise ValueError(f"the column {column!r} must hold numbers, got {shown(frame[column][wrong].iloc[0])}")
    return values
