"""What does a plan keep of queries that were not drawn, when there are too many to keep?"""

from __future__ import annotations

from dataclasses import replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.columns import with_query_columns
from pt_active.logs.bounds import with_bounds
from pt_active.logs.merging import digest_of
from pt_active.logs.partition import QueryRows, Question, partition_pool
from pt_active.plans.making.artifact import digest
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, Source, plan_manifest
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.queries import documents_to_judge
from pt_active.plans.making.rest import Rest
from pt_active.relevance.moments import Moments
from pt_active.sampling.sample import Sample


def stand_ins(queries: pd.DataFrame, others: np.ndarray, moments: Moments, names: tuple[str, ...]) -> pd.DataFrame:
    """2k rows in the place of many queries that were not drawn.

    They have equal shares of the weight, cost and q of these. Their means lie at ``M̄ ± √k s_j``, with the columns s_j
    of a root of the weighted covariance of M. So ``Σ p M`` and ``Σ p (M − a)(M − a)'`` over the population are as they
    were, and with them all that the estimators know of it. Their priority is the smallest of those that they stand for,
    which is the threshold of the sample.

    Shapes: others int64[r].
    """
    weight = queries["q_weight"].to_numpy()[others]
    total, k = float(weight.sum()), len(names)
    if not total > 0:
        return queries.iloc[:0]
    share = weight / total
    mean = share @ moments.mean[others]
    apart = np.sqrt(share)[:, None] * (moments.mean[others] - mean)
    # The rows of R in QR = apart are a root of the covariance, also where it is singular.
    root = np.sqrt(k) * np.linalg.qr(apart, mode="r")
    points = np.vstack([mean + root, mean - root, np.tile(mean, (2 * (k - len(root)), 1))])
    within = share @ moments.covariance[others].reshape(len(others), -1)
    rows = pd.DataFrame({"qid": [f"(other queries, {i} of {2 * k})" for i in range(1, 2 * k + 1)]})
    sums = {name: float(queries[name].to_numpy()[others].sum()) / (2 * k) for name in ("q_prob", "q_cost")}
    rows = rows.assign(**sums, q_weight=total / (2 * k), q_draws=0, q_importance=np.nan, q_inclusion=np.nan)
    rows["q_priority"] = queries["q_priority"].to_numpy()[others].min()
    covariance = within.reshape(k, k)
    for s, name in enumerate(names):
        rows[f"q_mean_{name}"], rows[f"q_var_{name}"] = points[:, s], covariance[s, s]
    if k == 2:
        rows["q_cov"] = covariance[0, 1]
    if "traffic" in queries.columns:
        rows["traffic"] = float(pd.to_numeric(queries["traffic"]).to_numpy(float)[others].sum()) / (2 * k)
    return rows.reindex(columns=queries.columns)


def plan_of_drawn(
    queries: pd.DataFrame,
    sample: Sample,
    rows: QueryRows,
    graded: pd.DataFrame,
    question: Question,
    arguments: PlanArguments,
    measure: irm.Measure,
    topics: pd.DataFrame | None,
) -> PlanTables:
    """A plan that keeps the drawn queries with their documents, and rows that stand for all other queries."""
    drawn, names = sample.rows, question.names
    others = np.setdiff1d(np.arange(len(queries)), drawn)
    points = stand_ins(queries, others, rows.moments, names)
    kept = pd.concat([queries.iloc[drawn], points], ignore_index=True) if len(points) else queries.iloc[drawn]
    kept = kept.astype(queries.dtypes.to_dict()).reset_index(drop=True)
    if "query" in queries.columns or topics is not None:
        graded = with_query_columns(graded, kept)
    pool = with_rows(partition_pool(graded, question), kept)
    assessments = documents_to_judge(pool, measure, np.arange(len(drawn)), graded)
    spent = float(rows.cost[drawn].sum())
    made = plan_manifest(
        arguments, Source(pool, measure, graded, None), kept, assessments, census=sample.census, spent=spent
    )
    counts = replace(made.counts, queries=len(queries), documents=int(rows.documents.sum()))
    inputs = {"pool": digest_of(rows), "topics": None if topics is None else digest(topics)}
    rest = Rest(len(others), counts.documents - len(pool.docno), len(points)) if len(others) else None
    if rest is not None and len(points) and not arguments.replace:
        rest = with_bounds(rest, rows, queries, arguments, len(names))
    manifest = replace(made, counts=counts, inputs=inputs, pool_cost=float(rows.cost.sum()), rest=rest)
    return PlanTables(pool, kept, assessments, manifest)


def with_rows(pool: Pool, kept: pd.DataFrame) -> Pool:
    """The pool of the drawn queries with the weights of the plan, and the rows that stand for all others."""
    more = len(kept) - len(pool.queries)
    if not np.array_equal(pool.qids, kept["qid"].to_numpy(dtype=object)[: len(pool.queries)]):
        raise ValueError("the second pass over the runs found other queries than the first; did the files change?")
    columns = [c for c in kept.columns if c in pool.queries.columns or c == "traffic"]
    return replace(
        pool,
        queries=kept[columns],
        indptr=np.concatenate([pool.indptr, np.full(more, pool.indptr[-1])]),
        query_cost=kept["q_cost"].to_numpy(),
        query_weight=kept["q_weight"].to_numpy(),
    )
