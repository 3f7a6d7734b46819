"""Which rows have equal ids? Answered with whole numbers."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

_TEXT = pd.Series([""]).dtype
"""How pandas keeps texts by default: as Arrow's strings from version 3 on, as objects before."""


Texts: TypeAlias = "np.ndarray | pd.api.extensions.ExtensionArray"
"""N ids, as objects or as Arrow's strings; see `texts`."""


def texts(column: pd.Series) -> Texts:
    """The ids of a column as pandas keeps texts by default, so that frames take them without a copy."""
    if column.dtype == _TEXT:
        return column.values
    objects = column.to_numpy(dtype=object)
    try:
        return pd.Series(objects).values
    except UnicodeEncodeError:
        return objects


def id_codes(column: pd.Series) -> tuple[np.ndarray, pd.Index]:
    """int64[N] and the distinct ids, as ``pd.factorize`` gives them; only the first row of a block is looked up."""
    heads = _heads(column)
    code, distinct = pd.factorize(column.take(heads))
    return np.repeat(code, np.diff(heads, append=len(column))), pd.Index(distinct)


def _heads(column: pd.Series) -> np.ndarray:
    """int64, the rows whose value differs from that of the row before."""
    values = column.array
    heads = np.flatnonzero(np.asarray(values[1:] != values[:-1], dtype=bool)) + 1
    return np.concatenate([np.zeros(min(len(column), 1), dtype=np.int64), heads])


def is_range(rows: np.ndarray, size: int) -> bool:
    """Whether some rows are all of ``size`` rows in their own order."""
    return len(rows) == size and bool((rows[1:] > rows[:-1]).all())


def row_type(size: int) -> type[np.signedinteger[Any]]:
    """The smallest type that holds the numbers of so many rows; large frames take half the memory with it."""
    return np.int32 if size <= np.iinfo(np.int32).max else np.int64


def among(column: pd.Series, ids: pd.Series | pd.Index | np.ndarray) -> np.ndarray:
    """bool[N], whether each id of a column is one of some others."""
    code, distinct = id_codes(column)
    return distinct.astype(object).isin(np.asarray(ids, dtype=object))[code]


def first_rows(query: np.ndarray, docno: pd.Series) -> np.ndarray:
    """int64[N], the first row that has the same query and the same docno as each row."""
    code = pd.factorize(docno)[0]
    number, distinct = pd.factorize(query * np.int64(code.max(initial=0) + 1) + code)
    first = np.empty(len(distinct), dtype=np.int64)
    # The last value that is written stays, which is the first row's.
    first[number[::-1]] = np.arange(len(number))[::-1]
    return first[number]


class Numbers(NamedTuple):
    """The pairs of groups and ids, in the order in which they first appear."""

    new: np.ndarray  # int[M], the first row of each
    place: np.ndarray  # int[n], which of them each of the places is
    indptr: np.ndarray  # int64[m+1], those of group x are ``indptr[x]:indptr[x+1]``


def numbered(begin: np.ndarray, end: np.ndarray, rows: np.ndarray, ids: pd.Series) -> Numbers:
    """Number the ids of some rows, int[n], group by group.

    The places in ``rows`` of group x are those from ``begin[r, x]`` to ``end[r, x]`` for each r in turn, int64[k, m].
    """
    begin, end = begin.T, end.T
    size = (end - begin).ravel()
    at = np.repeat(begin.ravel() - (np.cumsum(size) - size), size) + np.arange(size.sum())
    group = np.repeat(np.arange(len(begin)), (end - begin).sum(axis=1))
    code = pd.factorize(ids)[0]
    width = np.int64(code.max(initial=0) + 1)
    number, distinct = pd.factorize(group * width + code[rows[at]])
    new, place = np.empty(len(distinct), dtype=rows.dtype), np.empty_like(rows)
    # The last value that is written stays, which is the first row's.
    new[number[::-1]], place[at] = rows[at[::-1]], number
    indptr = np.concatenate([[0], np.cumsum(np.bincount(distinct // width, minlength=len(begin)))])
    return Numbers(new, place, indptr)
