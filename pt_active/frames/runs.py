"""The order of a run, as trec_eval defines it: by descending score, then by descending docno."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, how_many, shown
from pt_active.frames.columns import as_numbers, check_pairs, finite_numbers, with_string_ids
from pt_active.frames.ids import Texts, id_codes, numbered, texts


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


def ordered_run(run: pd.DataFrame, name: str) -> pd.DataFrame:
    """Order a run as trec_eval does: by descending score at single precision, then by descending docno."""
    run, rows, rank, *_ = ranking_of(run, name)
    run = run.take(rows).reset_index(drop=True)
    run["rank"] = rank
    return run


def ranking_of(run: pd.DataFrame, name: str, depth: int | None = None, topics: pd.Series | None = None) -> RunOrder:
    """The order of a run as `ordered_run` gives it, or of its rows for some topics, without moving rows."""
    what = f"run {shown(name)}"
    if data_frame(what, run, "qid", "docno", "score").empty:
        raise ValueError(f"{what} is empty")
    run = with_string_ids(run)
    score = finite_numbers(run, "score")
    run = run.reset_index(drop=True)
    query, qids = id_codes(run["qid"])
    if topics is not None:
        answered = pd.Index(topics).get_indexer(qids) >= 0
        if not answered.any():
            raise ValueError(f"{what} answers none of the topics ({len(topics)} in all); do the qids match?")
        if not answered.all():
            run, score = run[answered[query]].reset_index(drop=True), score[answered[query]]
            query, qids = id_codes(run["qid"])
    order = _trec_order(query, _single(score), run["docno"])
    ordered = query[order]
    rank = _position_in_group(ordered)
    if "rank" in run.columns:
        _warn_if_reordered(run["rank"].take(order), ordered, _single(score)[order], what)
    if depth is not None:
        order, rank = order[rank < depth], rank[rank < depth]
    return RunOrder(run, order, rank, query, qids)


class Union(NamedTuple):
    """The documents that some rankers return, query by query, by the ranks of the first ranker, then of the next."""

    qids: pd.Index
    query: np.ndarray  # int64[M], the query of each document
    docno: Texts
    ranks: np.ndarray  # int32[k, M], from 1; 0 = not retrieved
    places: list[np.ndarray]  # int64[n] for each ranker, which documents its rows are


def united(rankings: Mapping[str, RunOrder]) -> Union:
    """The union of some rankings, whose queries come in the order of their first appearance."""
    each = list(rankings.values())
    qids = each[0].qids.append([one.qids for one in each[1:]]).unique()
    query = np.concatenate([qids.get_indexer(one.qids)[one.query[one.rows]] for one in each])
    docno = pd.concat([one.run["docno"].take(one.rows) for one in each], ignore_index=True)
    place, first = numbered(query, docno)
    ends = np.cumsum([len(one.rows) for one in each])[:-1]
    ranks = np.zeros((len(each), len(first)), dtype=np.int32)
    for (name, one), rank, at in zip(rankings.items(), ranks, np.split(place, ends), strict=True):
        rank[at] = one.rank + 1
        if np.count_nonzero(rank) < len(at):
            check_pairs(one.run.take(one.rows), f"run {shown(name)}")
    order = rank_order(query[first], ranks)
    moved = np.empty_like(order)
    moved[order] = np.arange(len(order))
    rows = first[order]
    return Union(qids, query[rows], texts(docno).take(rows), ranks[:, order], np.split(moved[place], ends))


def _single(score: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return score.astype(np.float32)


def _trec_order(query: np.ndarray, score: np.ndarray, docno: pd.Series) -> np.ndarray:
    """int64[N], rows by query code, int64[N], descending score, float32[N], and descending docno."""
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
    rank = as_numbers(given)
    inverted = (rank[1:] < rank[:-1]) & (query[1:] == query[:-1]) & (score[1:] < score[:-1])
    if inverted.any():
        where = f"in {how_many('query', len(np.unique(query[1:][inverted])))}; the scores decide, as in trec_eval"
        warnings.warn(f"{what}: the rank column disagrees with the order of the scores {where}", stacklevel=5)


def rank_order(query: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """int64[N], the rows query by query, by the first ranker's ranks, then, where it has none, by the next one's."""
    key = np.full(len(query), len(ranks) << 31)
    for s in range(len(ranks))[::-1]:
        np.copyto(key, (s << 31) + ranks[s].astype(np.int64), where=ranks[s] > 0)
    # One integer for query, ranker and rank: there is no memory for the pool of 2³² / (k+1) queries that would not fit.
    key += query * ((len(ranks) + 1) << 31)
    return np.argsort(key, kind="stable")


def check_ranks(
    qids: np.ndarray, query: np.ndarray, rank: np.ndarray, name: str, score: np.ndarray | None = None
) -> None:
    """Check the ranks of a ranker, int32[N] from 1, and its scores, float64[N], if it has any.

    Raise if two documents have one rank, or none has rank 0; warn if ranks are left out, or if scores contradict them.
    """
    what = f"run {shown(name)}"
    rows = np.flatnonzero(rank > 0)
    rows = rows[np.argsort((query[rows] << 32) + rank[rows], kind="stable")]
    of, at = query[rows], rank[rows] - 1
    same = of[1:] == of[:-1]
    twice = same & (at[1:] == at[:-1])
    if twice.any():
        z = np.argmax(twice)
        raise ValueError(f"{what}: query {shown(qids[of[z]])} has more than one document at rank {at[z]}")
    place = _position_in_group(of)
    late = at > place
    if len(late) and late[place == 0].all():
        lowest = f"its lowest rank is {at.min()} or more in every query, and ranks begin at 0"
        raise ValueError(f"{what}: {lowest}; subtract {at.min()} from rank_{name}")
    if late.any():
        gaps = f"{how_many('row', int(late.sum()), 'is')} below a rank without a document"
        warnings.warn(f"{what}: {gaps}, which counts as not relevant", stacklevel=4)
    if score is not None:
        single = _single(score[rows])
        if wrong := int(((single[1:] > single[:-1]) & same).sum()):
            said = f"score_{name} is above that of the rank before in {how_many('row', wrong)}"
            warnings.warn(f"{what}: {said}; the ranks count", stacklevel=4)
