"""What do the columns of a pool's frame say: ranks, costs and weights?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import shown, some
from pt_active.frames.columns import check_pairs, ranker_names
from pt_active.frames.ids import id_codes
from pt_active.frames.runs import ranked_run
from pt_active.frames.visible import check_visible
from pt_active.relevance.costs import Cost, check_per_query
from pt_active.relevance.measures import cutoff_of, has_rank_form

SINGLE = "run"
"""The name of the only ranker of a plain R frame."""

_ROW = "pt_active row"
"""The column that keeps the place of each row of a plain R frame while it is ordered."""


def sorted_codes(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, sorted, and int64[n], the index of each row's value among them."""
    code, unordered = id_codes(column)
    distinct = np.asarray(unordered, dtype=object)
    order = np.argsort(distinct)
    return distinct[order], np.argsort(order)[code]


def ranks_of(frame: pd.DataFrame, query: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Names, and ranks from 1 as int32[k, N] (0: not retrieved); ``query`` is int64[N], the query of each row."""
    names = ranker_names(frame.columns)
    if not names:
        run = ranked_run(frame.assign(**{_ROW: np.arange(len(frame))}), SINGLE)
        ranks = np.empty((1, len(run)), dtype=np.int32)
        ranks[0, run[_ROW].to_numpy()] = run["rank"].to_numpy() + 1
        return (SINGLE,), ranks
    check_visible("ranker", names)
    check_pairs(frame, "the pool", query)
    ranks = np.empty((len(names), len(frame)), dtype=np.int32)
    for s, name in enumerate(names):
        rank = frame[f"rank_{name}"].to_numpy(dtype=np.float64)
        wrong = ~((rank >= -1) & (rank == np.floor(rank)) & (rank < np.iinfo(np.int32).max))
        if wrong.any():
            z = int(np.argmax(wrong))
            row = frame.iloc[z]
            raise ValueError(
                f"run {shown(name)}: rank {rank[z]:g} of document {shown(row.docno)} in query {shown(row.qid)}; "
                "ranks are whole numbers from 0, and -1 where the ranker does not retrieve the document"
            )
        ranks[s] = rank
    ranks += 1
    return tuple(names), ranks


def rank_order(query: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """int64[N], the rows query by query, by the first ranker's ranks, then, where it has none, by the next one's."""
    key = np.full(len(query), len(ranks) << 31)
    for s in range(len(ranks))[::-1]:
        np.copyto(key, (s << 31) + ranks[s].astype(np.int64), where=ranks[s] > 0)
    # One integer for query, ranker and rank: there is no memory for the pool of 2³² / (k+1) queries that would not fit.
    key += query * ((len(ranks) + 1) << 31)
    return np.argsort(key, kind="stable")


def check_ranks(qids: np.ndarray, query: np.ndarray, ranks: np.ndarray, names: tuple[str, ...]) -> None:
    """Raise if a ranker has two documents at one rank."""
    for name, rank in zip(names, ranks, strict=True):
        # One integer for each query and rank, so that a single sort finds all duplicates.
        key = query[rank > 0] * (np.int64(rank.max(initial=0)) + 1) + rank[rank > 0]
        key.sort(kind="stable")
        twice = np.flatnonzero(key[1:] == key[:-1])
        if len(twice):
            x, i = divmod(int(key[twice[0]]), int(rank.max()) + 1)
            raise ValueError(f"run {shown(name)}: query {shown(qids[x])} has more than one document at rank {i - 1}")


def seen_documents(ranks: np.ndarray, measure: irm.Measure) -> np.ndarray:
    """bool[N], the documents above the measure's cutoff in some ranker; ``ranks`` is int32[k, N], 0 = not retrieved."""
    if not has_rank_form(measure):
        # nDCG's ideal ranking and the number of relevant documents are those of the whole pool.
        return np.ones(ranks.shape[1], dtype=bool)
    cutoff = cutoff_of(measure)
    within = ranks > 0 if cutoff is None else (ranks > 0) & (ranks <= cutoff)
    return np.asarray(within.any(axis=0))


def costs_of(
    columns: Mapping[str, np.ndarray], qids: np.ndarray, query: np.ndarray, seen: np.ndarray, cost: Cost
) -> tuple[np.ndarray, np.ndarray]:
    """Costs of the documents that the measure sees (NaN elsewhere), and of the queries."""
    overhead = check_per_query(cost)
    document_cost = np.full(len(query), np.nan)
    which = slice(None) if seen.all() else seen
    document_cost[which] = cost.document_costs(columns, query[which])
    total = np.bincount(query[which], weights=document_cost[which], minlength=len(qids)) + overhead
    if not (total > 0).all():
        raise ValueError(
            f"query {shown(qids[np.argmin(total)])} has no document above the measure's cutoff in any ranker"
        )
    return document_cost, total


class Columns(Mapping[str, np.ndarray]):
    """Columns of some rows of a frame, copied only when a cost asks for them."""

    def __init__(self, frame: pd.DataFrame, rows: np.ndarray) -> None:
        self.frame = frame
        self.rows = rows

    def __getitem__(self, column: str) -> np.ndarray:
        return self.frame[column].to_numpy()[self.rows]

    def __iter__(self) -> Iterator[str]:
        return iter(map(str, self.frame.columns))

    def __len__(self) -> int:
        return len(self.frame.columns)


def query_weights(queries: pd.DataFrame) -> np.ndarray:
    """float64[m], p: proportional to ``traffic``, or uniform without it."""
    if "traffic" not in queries.columns:
        return np.full(len(queries), 1 / len(queries))
    traffic = pd.to_numeric(queries["traffic"]).to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(traffic) & (traffic >= 0))
    if wrong.any():
        raise ValueError(f"traffic must be finite and not negative; it is not for {some(queries['qid'][wrong])}")
    if traffic.sum() == 0:
        raise ValueError("traffic is 0 for every query, so there is nothing to estimate")
    return traffic / traffic.sum()
