"""Rankers that came after the plan, on the labels of the plan."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.measures import cutoff_of
from pt_active.plan_tables import PlanTables
from pt_active.pool import Pool


def with_rankers(tables: PlanTables, measure: irm.Measure, runs: Mapping[str, pd.DataFrame]) -> PlanTables:
    """Add rankers to a plan's pool; its sample stays as it is.

    Args:
        tables: Of the plan.
        measure: The plan's, for what the model expects of the new rankers.
        runs: Name → ``qid, docno, score``.

    Raises:
        ValueError: If there is no run, a name is taken, or a run is malformed or answers none of the queries.
    """
    if not runs:
        raise ValueError("with_rankers needs at least one run: with_rankers(name=run, …)")
    if taken := [name for name in runs if name in tables.pool.names]:
        raise ValueError(f"the plan has a ranker {taken[0]!r} already")
    pool = tables.pool
    depth = cutoff_of(measure)
    ranks = np.vstack([pool.ranks, *[_ranks(pool, name, run, depth) for name, run in runs.items()]])
    pool = replace(pool, names=(*pool.names, *runs), ranks=np.ascontiguousarray(ranks))
    moments = pool.moments(measure)
    columns = {f"q_mean_{name}": moments.mean[:, s] for s, name in enumerate(pool.names)}
    columns |= {f"q_var_{name}": moments.covariance[:, s, s] for s, name in enumerate(pool.names)}
    queries = tables.queries.drop(columns="q_cov", errors="ignore").assign(**columns)
    later = [*tables.manifest.get("later_rankers", []), *runs]
    manifest = tables.manifest | {"rankers": list(pool.names), "later_rankers": later}
    return replace(tables, pool=pool, queries=queries, manifest=manifest)


def _ranks(pool: Pool, name: str, run: pd.DataFrame, depth: int | None) -> np.ndarray:
    """int32[1, N], ranks of the pool's documents in a run, from 1; the warning counts those above the cutoff."""
    run = frames.ordered_run(run, name)
    run = run[run["qid"].isin(pool.qids)]
    if run.empty:
        raise ValueError(f"run {name!r} answers none of the plan's {len(pool.queries)} queries; do the qids match?")
    documents = pd.DataFrame({"qid": pool.qids[pool.query_of_document], "docno": pool.docno})
    rank = documents.merge(run[["qid", "docno", "rank"]], how="left", on=["qid", "docno"])["rank"]
    depth = len(run) if depth is None else depth
    seen = int((run["rank"] < depth).sum())
    unknown = seen - int((rank < depth).sum())
    if unknown:
        warnings.warn(
            f"run {name!r}: {unknown} of its {seen} documents that the plan's measure sees are not in the plan's pool "
            "and count as not relevant",
            stacklevel=4,
        )
    return (rank.fillna(-1).to_numpy(np.int32) + np.int32(1))[None, :]
