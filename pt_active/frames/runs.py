"""The order of a run, as trec_eval defines it: by descending score, then by descending docno."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, how_many, shown, some
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.ids import id_codes, is_range

_SORTED = 1 << 17  # Rows that are sorted at a time, or those of a query if it has more


def ranked_run(run: pd.DataFrame, name: str = "run") -> pd.DataFrame:
    """Order a run as `ordered_run` does, and check that no document occurs twice in a query."""
    ranked = ordered_run(run, name)
    check_pairs(ranked, f"run {shown(name)}")
    return ranked


class RunOrder(NamedTuple):
    """The order of a run, whose rows stay where they are."""

    run: pd.DataFrame  # its rows as they came, with string ids
    rows: np.ndarray  # int64[n], the rows query by query (in order of first appearance) and rank by rank
    rank: np.ndarray  # int64[n], their ranks, from 0
    query: np.ndarray  # int64[N], the query of each row of the run
    qids: pd.Index


def ordered_run(run: pd.DataFrame, name: str, depth: int | None = None) -> pd.DataFrame:
    """Order a run as trec_eval does: by descending score at single precision, then by descending docno."""
    run, rows, rank, *_ = ranking_of(run, name, depth)
    run = (run if is_range(rows, len(run)) else run.take(rows)).reset_index(drop=True)
    run["rank"] = rank
    return run


def ranking_of(run: pd.DataFrame, name: str, depth: int | None = None, topics: pd.Series | None = None) -> RunOrder:
    """The order of a run as `ordered_run` gives it, or of its rows for some topics, without moving rows."""
    what = f"run {shown(name)}"
    if missing := {"qid", "docno", "score"} - set(data_frame(what, run).columns):
        raise ValueError(f"{what} needs the columns qid, docno, score; it lacks {some(sorted(missing))}")
    if run.empty:
        raise ValueError(f"{what} is empty")
    if depth is not None and depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    run = with_string_ids(run).reset_index(drop=True)
    query, qids = id_codes(run["qid"])
    if topics is not None:
        answered = pd.Index(topics).get_indexer(qids) >= 0
        if not answered.any():
            raise ValueError(f"{what} answers none of the topics ({len(topics)} in all); do the qids match?")
        if not answered.all():
            run = run[answered[query]].reset_index(drop=True)
            query, qids = id_codes(run["qid"])
    score = pd.to_numeric(run["score"]).to_numpy(dtype=np.float64)
    if np.isnan(score).any():
        raise ValueError(f"{what}: {how_many('score', int(np.isnan(score).sum()), 'is')} not a number")
    order = _trec_order(query, score, run["docno"])
    ordered = query if _ascend(query) else query[order]
    rank = _position_in_group(ordered)
    if "rank" in run.columns:
        _warn_if_reordered(run["rank"].take(order), ordered, _single(score)[order], what)
    if depth is not None:
        order, rank = order[rank < depth], rank[rank < depth]
    return RunOrder(run, order, rank, query, qids)


def _trec_order(query: np.ndarray, score: np.ndarray, docno: pd.Series) -> np.ndarray:
    """int64[N], rows by query code, int64[N], descending score, float64[N], and descending docno."""
    if not _ascend(query):
        return _sorted_rows(query, _single(score), docno)
    # The rows come query by query, so those of some queries can be sorted at a time, in little memory.
    ends = np.searchsorted(query, query[_SORTED::_SORTED])
    order = np.empty(len(query), dtype=np.int64)
    for start, stop in pairwise(np.unique(np.r_[0, ends, len(query)]).tolist()):
        block = slice(start, stop)
        order[block] = _sorted_rows(query[block], _single(score[block]), docno.iloc[block]) + start
    return order


def _ascend(query: np.ndarray) -> bool:
    return bool((query[1:] >= query[:-1]).all())


def _single(score: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return score.astype(np.float32)


def _sorted_rows(query: np.ndarray, score: np.ndarray, docno: pd.Series) -> np.ndarray:
    """The rows sorted as `_trec_order` does; ``score`` is float32[N]."""
    # Strings are slow to sort, so docnos are compared only where the integer keys of query and score are equal.
    key = query.astype(np.int64) << 32
    key |= _descending_code(score)
    if (key[1:] > key[:-1]).all():
        return np.arange(len(key))
    # Rows mostly come query by query, and a stable sort makes use of it.
    order = np.argsort(key, kind="stable")
    same = np.diff(key.take(order)) == 0
    if not same.any():
        return order
    tied = np.append(same, False) | np.append(False, same)
    block = np.append(0, np.cumsum(~same))[tied]
    rows = order[tied]
    names = pd.Categorical(docno.iloc[rows].astype(object)).codes
    order[tied] = rows[np.lexsort((-names.astype(np.int64), block))]
    return order


def _descending_code(score: np.ndarray) -> np.ndarray:
    """uint32[N], codes that ascend as the float32 scores descend."""
    # The bits of IEEE floats sort as integers, except that negative numbers sort backwards. Adding 0 turns −0 into +0.
    bits = (score + np.float32(0)).view(np.uint32)
    np.bitwise_xor(bits, np.uint32((1 << 31) - 1), out=bits, where=bits < np.uint32(1 << 31))
    return bits


def _position_in_group(group: np.ndarray) -> np.ndarray:
    """int64[N], the position from 0 of each row among consecutive rows of the same group."""
    start = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    return np.arange(len(group)) - np.repeat(start, np.diff(start, append=len(group)))


def _warn_if_reordered(given: pd.Series, query: np.ndarray, score: np.ndarray, what: str) -> None:
    rank = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64)
    inverted = (rank[1:] < rank[:-1]) & (query[1:] == query[:-1]) & (score[1:] < score[:-1])
    if inverted.any():
        where = f"in {how_many('query', len(np.unique(query[1:][inverted])))}; the scores decide, as in trec_eval"
        warnings.warn(f"{what}: the rank column disagrees with the order of the scores {where}", stacklevel=5)
