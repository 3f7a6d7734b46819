"""Which rows have equal ids? Answered with whole numbers."""

from __future__ import annotations

from typing import TypeAlias

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


def among(column: pd.Series, ids: pd.Series | pd.Index | np.ndarray) -> np.ndarray:
    """bool[N], whether each id of a column is one of some others."""
    code, distinct = id_codes(column)
    return distinct.astype(object).isin(np.asarray(ids, dtype=object))[code]


def numbered(query: np.ndarray, docno: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the pairs of a query, int64[N], and a docno in the order in which they first appear.

    Returns:
        int64[N], the number of each row's pair, and int64[M], the first row of each pair.
    """
    code = pd.factorize(docno)[0]
    number, distinct = pd.factorize(query * np.int64(code.max(initial=0) + 1) + code)
    first = np.empty(len(distinct), dtype=np.int64)
    # The last value that is written stays, which is the first row's.
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first


def first_rows(query: np.ndarray, docno: pd.Series) -> np.ndarray:
    """int64[N], the first row that has the same query and the same docno as each row."""
    number, first = numbered(query, docno)
    return first[number]
