"""For which queries does an answer hold [theory 16]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown
from pt_active.frames.columns import query_columns
from pt_active.inference.new_queries import MIN_GROUPS, NEW, SHARE_OF_LABELS, THESE, ByQuery, widened_by_queries
from pt_active.inference.ties import ROUNDING, settled
from pt_active.plans.answers.basis import Basis

TOO_FEW = (
    f"looks at any time need {MIN_GROUPS} queries or clusters for new queries, and unequal weights count as fewer; one "
    "look at the end does not"
)
"""Why a pool has no answer at any time for new queries."""

UNTOLD = "the labels so far do not tell how far queries differ"
"""Why there is none yet."""

_SUFFICIENT_DEGREES = 10
"""With fewer degrees of freedom an interval has a caution."""

_FEW = 0.2
"""Terms that show a smaller share of their degrees of freedom come from few queries; normal ones show all of them."""


@dataclass(frozen=True)
class QueriesMeant:
    """The queries that an answer holds for.

    Attributes:
        name: ``"these"`` for the queries of the pool, ``"new"`` for those that they are a sample of.
        queries: How many queries of the pool count.
        clusters: How many clusters they form; None if each query is its own.
    """

    name: str
    queries: int
    clusters: int | None = None

    @property
    def label(self) -> str:
        """The queries in two words, for charts and tables."""
        return f"{self.name} queries"

    @property
    def in_words(self) -> str:
        """The queries, as a reader of a report knows them."""
        if self.name == THESE:
            return str(self)
        like = f"queries like these {self.queries:,}" if self.queries > 1 else "queries like this one"
        return like if self.clusters is None else f"{like}, in {how_many('cluster', self.clusters)}"

    def __str__(self) -> str:
        if self.name == THESE:
            return f"these {how_many('query', self.queries)}" if self.queries > 1 else "this query"
        return "queries like them" + ("" if self.clusters is None else f", as {how_many('cluster', self.clusters)}")


def meant(by_query: ByQuery, clusters: str | None) -> tuple[QueriesMeant, QueriesMeant]:
    """The queries of the pool, and those that they are a sample of."""
    groups = None if clusters is None else by_query.groups
    return QueriesMeant(THESE, by_query.queries), QueriesMeant(NEW, by_query.queries, groups)


def gap_to_new(by_query: ByQuery | None, confidence: float) -> dict[str, Any]:
    """How far the mean of new queries may lie from that of the pool's at any time, and why if that is not known.

    ``by_query`` is None if the labels so far do not tell how queries differ.
    """
    apart = np.inf if by_query is None else by_query.apart((1 - SHARE_OF_LABELS) * (1 - confidence))
    refusal = UNTOLD if by_query is None else TOO_FEW
    return {"apart": apart, "refusal": "" if np.isfinite(apart) else refusal}


def clustered(by_query: ByQuery, topics: pd.DataFrame, column: str | None) -> ByQuery:
    """The values of queries with their clusters: the values of a column of the topics."""
    if column is None:
        return by_query
    known = query_columns(topics.columns)
    if column not in known:
        raise ValueError(
            f"clusters are the values of a column that the topics had before planning, and there is no column "
            f"{shown(column)}; the plan has {', '.join(known)}. Columns of topics stay with a plan if their names "
            "start with q, such as qneed"
        )
    missing = topics["qid"][topics[column].isna()]
    if len(missing):
        raise ValueError(f"query {shown(missing.iloc[0])} has no value in the column {shown(column)} of clusters")
    return replace(by_query, group=np.asarray(pd.factorize(topics[column])[0], dtype=np.int64))


def for_new_queries(fields: dict[str, Any], by_query: ByQuery, scale: float) -> dict[str, Any]:
    """The fields of an answer for the pool's queries, as they are for queries like them; ``scale`` as in `Measured`."""
    if fields["degenerate"]:
        return fields
    error, degrees, tails = widened_by_queries(
        fields["standard_error"], fields["degrees_of_freedom"], fields["tails"], by_query
    )
    error = float(settled(error, scale))
    caution, refusal = _caution(by_query), _refusal(by_query, error)
    basis: Basis = fields["basis"]
    if basis.error_of_queries is not None and not refusal:
        basis = replace(basis, error_of_queries=float(np.hypot(basis.error_of_queries, np.sqrt(by_query.spread))))
    basis = replace(basis, interval_caution=refusal or caution or basis.interval_caution)
    about = {"basis": basis, "standard_error": error, "degrees_of_freedom": degrees, "tails": tails}
    return fields | about | {"degenerate": bool(refusal)}


def _refusal(by_query: ByQuery, error: float) -> str:
    """Why there is no interval for new queries; empty if there is one."""
    if by_query.groups < 2 or np.isnan(error):
        return "one query says nothing of other queries: no interval, no test"
    if by_query.degrees < 1 - ROUNDING:
        return "nearly all of the weight lies on one query, which says nothing of others: no interval, no test"
    if error == 0:
        return "all queries have the same value, so they do not tell how others differ: no interval, no test"
    return ""


def _caution(by_query: ByQuery) -> str:
    """What limits the trust in an interval for new queries; empty if nothing does."""
    own, shown_degrees = by_query.degrees, by_query.shown
    units = "queries" if by_query.group is None else "clusters"
    misses = "so the interval for new queries may miss more often than its level says"
    if shown_degrees < _FEW * own and shown_degrees < _SUFFICIENT_DEGREES:
        return f"few {units} carry the spread: they show {shown_degrees:.1f} of {own:.0f} degrees of freedom, {misses}"
    if own < _SUFFICIENT_DEGREES:
        return f"there are few {units}, {own:.1f} degrees of freedom, {misses}"
    return ""
