"""How do the rows of all partitions become one sample of queries?"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown, some
from pt_active.frames.columns import query_table, with_string_ids
from pt_active.logs.partition import QueryRows
from pt_active.plans.making.pool import Pool, query_design
from pt_active.plans.making.pool_columns import query_weights
from pt_active.relevance.digits import GRADE_BITS, rounded
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import sampling_distribution

if TYPE_CHECKING:
    from typing import Self


def merged(parts: Iterable[QueryRows | None]) -> QueryRows:
    """The rows of all partitions, sorted by qid, so that the partitioning leaves no trace."""
    rows = [part for part in parts if part is not None]
    if not rows:
        raise ValueError("the pool is empty: no ranker returned a document for any query")
    check_same_grades(part.max_grade for part in rows)
    uniform = [part.uniform for part in rows if part.uniform is not None]
    together = QueryRows(
        np.concatenate([part.qid for part in rows]),
        np.concatenate([part.cost for part in rows]),
        np.concatenate([part.documents for part in rows]),
        _stacked([part.moments for part in rows]),
        _stacked(uniform) if uniform else None,
        np.concatenate([part.low for part in rows]),
        np.concatenate([part.high for part in rows]),
        rows[0].max_grade,
    )
    order = np.argsort(together.qid, kind="stable")
    together = together.taken(order)
    check_not_split(together.qid)
    return together


def check_same_grades(heights: Iterable[int]) -> None:
    """Raise if the grade model had other grades in some partitions."""
    if len(different := set(heights)) > 1:
        raise ValueError(f"the grade model has other grades in some partitions: up to {sorted(different)}")


def check_not_split(qid: np.ndarray) -> None:
    """Raise if a query is in two partitions.

    Shapes: qid object[n].
    """
    split = np.flatnonzero(qid[1:] == qid[:-1])
    if len(split):
        raise ValueError(
            f"query {shown(qid[split[0]])} is split over partitions, as {how_many('query', len(split))} "
            f"{agreeing('is', len(split))} in all; partition the runs by qid, so that all rows of a query are in one"
        )


def _stacked(moments: list[Moments]) -> Moments:
    return Moments(np.concatenate([m.mean for m in moments]), np.concatenate([m.covariance for m in moments]))


class Rows(Protocol):
    """Rows of queries, which can be taken."""

    @property
    def qid(self) -> np.ndarray:
        """object[n]."""

    def taken(self, rows: np.ndarray) -> Self:
        """Some of the rows, int64[s]."""


SomeRows = TypeVar("SomeRows", bound=Rows)


def with_topics(rows: SomeRows, topics: pd.DataFrame | None) -> tuple[SomeRows, pd.DataFrame]:
    """The rows of the queries in the topics, and a table of their query columns."""
    if topics is None:
        return rows, pd.DataFrame({"qid": rows.qid})
    topics = with_string_ids(topics)
    if topics["qid"].duplicated().any():
        raise ValueError(f"topics hold a query twice: {some(topics['qid'][topics['qid'].duplicated()])}")
    place = pd.Index(topics["qid"]).get_indexer(pd.Index(rows.qid, dtype=object))
    if not (place >= 0).any():
        raise ValueError(f"the runs answer none of the topics ({len(topics)} in all); do the qids match?")
    absent = np.setdiff1d(np.arange(len(topics)), place)
    if len(absent):
        warnings.warn(
            f"{how_many('topic', len(absent), 'has')} no document from any ranker and "
            f"{agreeing('is', len(absent))} left out of the pool, so estimates say nothing about "
            f"{some(topics['qid'].iloc[absent])}",
            stacklevel=3,
        )
    rows = rows.taken(np.flatnonzero(place >= 0))
    return rows, query_table(topics, list(rows.qid))


def design_of(
    rows: QueryRows,
    queries: pd.DataFrame,
    names: tuple[str, ...],
    design: str,
    defensive: float,
    pairs: np.ndarray | None,
) -> pd.DataFrame:
    """The table of `pool.design_table` from the rows of all queries.

    Shapes: pairs float64[k(k−1)/2].
    """
    pool = pool_without_documents(rows, queries, names)
    q = sampling_distribution(design, rows.moments, rows.cost, pool.query_weight, defensive, rows.uniform, pairs)
    return query_design(pool, q, rows.moments)


def pool_without_documents(rows: QueryRows, queries: pd.DataFrame, names: tuple[str, ...]) -> Pool:
    """All queries with their costs and weights, and no documents."""
    return Pool(
        names,
        queries,
        np.empty(0, dtype=object),
        np.zeros(len(rows.qid) + 1, dtype=np.int64),
        np.empty((len(names), 0), dtype=np.int32),
        np.empty((0, rows.max_grade + 1)),
        np.empty(0),
        rows.cost,
        query_weights(queries),
    )


def digest_of(rows: QueryRows) -> str:
    """A fingerprint of what the rows say, by which inputs are recognised; 64 hexadecimal digits."""
    sha = hashlib.sha256("\0".join(rows.qid.tolist()).encode("utf-8", "surrogatepass"))
    sha.update(np.ascontiguousarray(rows.documents).tobytes())
    for values in (rows.cost, rows.moments.mean, rows.moments.covariance):
        sha.update((rounded(values, GRADE_BITS) + 0.0).tobytes())
    return sha.hexdigest()
