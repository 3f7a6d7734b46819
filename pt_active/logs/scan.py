"""How is a plan made from runs that do not fit into memory?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
import pandas as pd
import pyterrier as pt
from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from pt_active.frames.atomic import temporary_folder
from pt_active.frames.checks import whole_number
from pt_active.frames.columns import with_string_ids
from pt_active.frames.progress import bar
from pt_active.frames.visible import check_visible
from pt_active.logs.files import Partition, Partitions, matching, partitioned, read_partitions, read_queries
from pt_active.logs.planning import Settings, plan_by
from pt_active.logs.rows import PartitionQuestion
from pt_active.plans.making.rankers import Pairs
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import Cost


def scan(
    depth: int | None = None,
    *,
    allow_missing_queries: bool = False,
    partitions: int | None = None,
    workers: int | None = None,
    folder: str | Path | None = None,
    **rankers: str | Path | Sequence[str | Path],
) -> ScannedRuns:
    """Runs in files, which are read when a plan is made of them, partition by partition.

    Args:
        depth: Documents to keep of each ranking; None keeps all.
        allow_missing_queries: Whether a ranker may return nothing for queries that others answer.
        partitions: How many parts the queries are split into; by the number of rows if left out. The plan does not
            depend on it.
        workers: How many processes work on partitions; as many as there are cores if left out.
        folder: Where partitions are kept while the plan is made; the system's folder for temporary files if left out.
            It needs about as much room as the runs in Parquet.
        **rankers: Name → a file, a pattern such as ``runs/*.parquet``, or a list of these. Parquet with ``qid, docno,
            score``, or TREC runs, compressed or not.

    Raises:
        FileNotFoundError: If no file matches.
        ValueError: If there is no ranker, or a name is not usable.
    """
    if not rankers:
        raise ValueError("scan needs at least one ranker: scan(name=files, …)")
    check_visible("ranker", rankers)
    files = {name: tuple(matching(name, given)) for name, given in rankers.items()}
    for name, value in (("depth", depth), ("partitions", partitions), ("workers", workers)):
        if value is not None:
            whole_number(name, value, 1)
    kept = None if folder is None else Path(folder)
    return ScannedRuns(files, depth, allow_missing_queries, partitions, workers, kept)


@dataclass(frozen=True)
class ScannedRuns:
    """Runs in files, as `scan` found them."""

    files: dict[str, tuple[Path, ...]]  # ranker → files; all else is as `scan` takes it
    depth: int | None = None
    allow_missing_queries: bool = False
    partitions: int | None = None
    workers: int | None = None
    folder: Path | None = None

    def plan(
        self,
        grades: pt.Transformer,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure,
        cost: Cost | None = None,
        budget: float | None = None,
        design: str | None = None,
        seed: int = 0,
        *,
        draws: int | None = None,
        replace: bool = False,
        defensive: float | None = None,
        pairs: Pairs | None = None,
        level: str | None = None,
    ) -> Plan:
        """Choose what to judge, as ``Plan.create`` does on the same runs.

        The same queries or documents are drawn in the same order with the same probabilities. The plan keeps the
        queries of what was drawn with their documents; of all others it keeps sums. So it estimates and compares its
        own measure; what needs the documents of other queries is refused: `Plan.extend`, `Plan.report`, other
        measures. `Plan.status` of queries before the end is for one or two rankers, and of documents where
        opening a query costs nothing, or after each part of a plan for nDCG or AP.

        ``grades`` is a fitted grade model; what it says about a document may depend on its query alone. Without topics
        all queries are the target population. Documents are drawn for an additive measure such as ``DCG@10``, by
        ``successive``, ``spread`` or ``poisson``; of a cascade such as ``"ERR(max_rel=4)@20"`` whole queries are. For
        other measures, such as nDCG and AP, documents are drawn by ``depth``. All else is as in `Plan.create`.

        Raises:
            ValueError: If an argument is out of range, a file is malformed, or whole queries
                are asked for and the measure needs Monte Carlo.
        """
        settings = Settings(measure, cost, budget, draws, design, seed, replace, defensive, pairs, level)
        known = None if topics is None else with_string_ids(topics)
        question = settings.question(tuple(self.files), grades, self.depth, self.allow_missing_queries)
        with temporary_folder(self.folder) as folder:
            found = partitioned(self.files, folder, self.partitions, known)
            engine = _Files(found, tuple(self.files), self.workers or cpu_count())
            return plan_by(engine, question, settings, known, folder)


@dataclass(frozen=True)
class _Files:
    """Partitions in files, which several processes read."""

    found: Partitions
    names: tuple[str, ...]  # the rankers in the order of the files
    jobs: int  # how many processes work on partitions

    def each(
        self, function: Callable[[pd.DataFrame, PartitionQuestion], Any], question: PartitionQuestion, what: str
    ) -> Iterable[Any]:
        """What a function says about each partition; a terminal shows the progress."""
        parts = self.found.parts
        several = self.jobs > 1 and len(parts) > 1
        asked = partial(_said, function=function, question=question)
        try:
            with _ended_processes_told():
                results = (
                    get_reusable_executor(max_workers=self.jobs).map(asked, parts) if several else map(asked, parts)
                )
                for said in bar(results, f"{what} of partitions", total=len(parts), unit="part", delay=2):
                    yield from said
        finally:
            if several:
                _end_processes()

    def documents(self, qids: Sequence[str]) -> pd.DataFrame:
        return read_queries(self.found.whole, self.names, qids)


def _said(
    parts: Sequence[Partition], function: Callable[[pd.DataFrame, PartitionQuestion], Any], question: PartitionQuestion
) -> list[Any]:
    return [function(part, question) for part in read_partitions(parts, question.names)]


@contextmanager
def _ended_processes_told() -> Iterator[None]:
    """A process that was ended, by itself or by the system, is an error about memory."""
    try:
        yield
    except BrokenProcessPool:
        raise MemoryError(
            "a process that worked on the runs was ended; have fewer workers, or more partitions"
        ) from None


def _end_processes() -> None:
    """End the processes that worked on partitions, which would keep their memory for minutes."""
    get_reusable_executor().shutdown(wait=True)
