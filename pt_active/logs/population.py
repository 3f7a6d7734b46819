"""All queries, of which a plan keeps those that were drawn, and sums of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.columns import with_query_columns
from pt_active.logs.partition import PartitionQuestion, partition_pool
from pt_active.logs.rows import Rows
from pt_active.plans.making.artifact import digest
from pt_active.plans.making.manifest import LevelChoice, Manifest
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.pool_columns import query_weights
from pt_active.plans.making.rest import Rest


@dataclass(frozen=True)
class AllQueries:
    """What partitions say of all queries."""

    rows: Rows  # the numbers of all queries and documents
    queries: pd.DataFrame  # their query columns
    question: PartitionQuestion  # what was asked of the partitions
    topics: pd.DataFrame | None  # the target population; None for all queries
    choice: LevelChoice | None  # why documents or whole queries are drawn; None if that was told
    read: Callable[[np.ndarray], pd.DataFrame]  # places, int64[n] → the graded frame of these, from a second pass

    @cached_property
    def measure(self) -> irm.Measure:
        """The measure with its parameters."""
        return self.question.parsed(self.rows.max_grade)

    @cached_property
    def weight(self) -> np.ndarray:
        """float64[m], p."""
        return query_weights(self.queries)

    def kept(self, places: np.ndarray) -> tuple[Pool, pd.DataFrame]:
        """The pool of some queries, int64[n], and its graded frame."""
        graded = self.read(places)
        if "query" in self.queries.columns or self.topics is not None:
            graded = with_query_columns(graded, self.queries.iloc[places])
        pool, _ = partition_pool(graded, self.question)
        if not np.array_equal(pool.qids, self.queries["qid"].to_numpy(dtype=object)[places]):
            raise ValueError("the second pass over the runs found other queries than the first; did the files change?")
        return pool, graded

    def manifest(self, made: Manifest, rest: Rest | None, **entries: Any) -> Manifest:
        """The manifest of a plan of some queries as one of all, of which others are kept as ``rest``."""
        rows = self.rows
        counts = replace(made.counts, queries=len(rows.qid), documents=int(rows.documents.sum()))
        topics = None if self.topics is None else digest(self.topics)
        inputs = {"pool": rows.digest(), "topics": topics}
        about: dict[str, Any] = {
            "counts": counts,
            "inputs": inputs,
            "pool_cost": float(rows.cost.sum()),
            "choice": self.choice,
        }
        return replace(made, rest=rest, **about, **entries)


def with_rows(pool: Pool, table: pd.DataFrame) -> Pool:
    """The pool of the kept queries with the weights of the plan, and the rows that stand for all others."""
    more = np.full(len(table) - len(pool.queries), pool.indptr[-1])
    return replace(
        pool,
        queries=table[[c for c in table.columns if c in pool.queries.columns or c == "traffic"]],
        indptr=np.concatenate([pool.indptr, more]),
        query_cost=table["q_cost"].to_numpy(),
        query_weight=table["q_weight"].to_numpy(),
    )
