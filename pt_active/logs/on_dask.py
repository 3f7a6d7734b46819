"""Plans from runs on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import some
from pt_active.frames.columns import with_string_ids
from pt_active.logs.planning import Settings, plan_by
from pt_active.logs.rows import PARTITION_COLUMNS, RANKER, PartitionQuestion
from pt_active.plans.plan import Plan


def plan(
    runs: Any,
    grades: pt.Transformer,
    topics: pd.DataFrame | None,
    settings: Settings,
    *,
    names: Sequence[str],
    depth: int | None = None,
    allow_missing_queries: bool = False,
) -> Plan:
    """Choose what to judge, as `ScannedRuns.plan` does on one machine.

    The partitions of the frame go through the workers, and numbers of queries or documents come back. A partition that
    is lost with its worker is computed again, with the same rows. There are two passes over the frame, and a third
    where the level is open and opening queries costs something; ``runs.persist()`` shuffles once for all of them.

    Args:
        runs: A ``dask.dataframe`` with ``run, qid, docno, score``, where ``run`` names the ranker. All rows of a query
            must be in one partition; ``runs.shuffle("qid")`` brings them together.
        grades: A fitted grade model; what it says about a document may depend on its query alone.
        topics: ``qid`` (+ ``query``, ``traffic``), the target population of queries; None for all queries.
        settings: How queries or documents are sampled.
        names: The rankers in the order of the plan.
        depth: Documents to keep of each ranking; None keeps all.
        allow_missing_queries: Whether a ranker may return nothing for queries that others answer.

    Raises:
        ValueError: If a column is missing, a query is split over partitions, or the runs or an argument are not as
            `ScannedRuns.plan` needs them.
    """
    if absent := [column for column in PARTITION_COLUMNS if column not in runs.columns]:
        raise ValueError(f"the frame needs the columns {', '.join(PARTITION_COLUMNS)}; it lacks {some(absent)}")
    question = settings.question(tuple(names), grades, depth, allow_missing_queries)
    return plan_by(_OnDask(runs[PARTITION_COLUMNS]), question, settings, topics)


@dataclass(frozen=True)
class _OnDask:
    runs: Any

    def each(
        self, function: Callable[[pd.DataFrame, PartitionQuestion], Any], question: PartitionQuestion, what: str
    ) -> Iterable[Any]:
        import dask

        asked = dask.delayed(question)
        return list(dask.compute(*(dask.delayed(_said)(each, function, asked) for each in self.runs.to_delayed())))

    def documents(self, qids: Sequence[str]) -> pd.DataFrame:
        import dask

        wanted = dask.delayed(frozenset(qids))
        found = [dask.delayed(_of_queries)(each, wanted) for each in self.runs.to_delayed()]
        return pd.concat(dask.compute(*found), ignore_index=True)


def _said(
    partition: pd.DataFrame, function: Callable[[pd.DataFrame, PartitionQuestion], Any], question: PartitionQuestion
) -> Any:
    return function(_plain(partition), question)


def _of_queries(partition: pd.DataFrame, qids: frozenset[str]) -> pd.DataFrame:
    partition = _plain(partition)
    return partition[partition["qid"].isin(qids)]


def _plain(partition: pd.DataFrame) -> pd.DataFrame:
    """The rows with strings as ids and as names of rankers, whichever types Parquet and Dask gave them."""
    return with_string_ids(partition.reset_index(drop=True)).assign(
        **{RANKER: partition[RANKER].astype(str).to_numpy()}
    )
