"""Plans from runs on a Spark cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import some
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

    ``runs`` is a Spark frame with ``run, qid, docno, score``, where ``run`` names the ranker. All rows of a query must
    be in one partition; ``runs.repartition(n, "qid")`` brings them together. The other arguments are those of
    `on_dask.plan`.

    Raises:
        ValueError: As `on_dask.plan` does. What is wrong with rows comes as an error of Spark that holds the message.
    """
    from pyspark.sql import functions

    if absent := [column for column in PARTITION_COLUMNS if column not in runs.columns]:
        raise ValueError(f"the frame needs the columns {', '.join(PARTITION_COLUMNS)}; it lacks {some(absent)}")
    question = settings.question(tuple(names), grades, depth, allow_missing_queries)
    texts = [functions.col(column).cast("string").alias(column) for column in (RANKER, "qid", "docno")]
    runs = runs.select(*texts, functions.col("score").cast("double").alias("score"))

    return plan_by(_OnSpark(runs), question, settings, topics)


@dataclass(frozen=True)
class _OnSpark:
    runs: Any

    def each(
        self, function: Callable[[pd.DataFrame, PartitionQuestion], Any], question: PartitionQuestion, what: str
    ) -> Iterable[Any]:
        def said(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            # Spark hands a partition over in batches, which may cut a query in two.
            partition = pd.concat([pd.DataFrame(columns=PARTITION_COLUMNS), *batches], ignore_index=True)
            yield pd.DataFrame({"said": [pickle.dumps(function(partition, question))]})

        return (pickle.loads(bytes(part["said"])) for part in self.runs.mapInPandas(said, "said binary").collect())

    def documents(self, qids: Sequence[str]) -> pd.DataFrame:
        from pyspark.sql import functions

        return self.runs.where(functions.col("qid").isin(list(qids))).toPandas()
