"""What does a plan keep of queries that were not drawn, when there are too many to keep?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.logs.rows import AllQueries, Rows, bounded_contrasts, with_rows
from pt_active.plans.answers.units import query_units, sums_after
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, PlanSource, Rest, plan_manifest
from pt_active.plans.making.pool import Pool, query_design
from pt_active.plans.making.queries import documents_to_judge, draw, priority_column, sample_columns
from pt_active.plans.making.rankers import stored_weights
from pt_active.relevance.moments import Moments
from pt_active.sampling.chances import expected_size
from pt_active.sampling.designs import contrast_moments, sampling_distribution
from pt_active.sampling.sample import Sample


def plan_of_queries(population: AllQueries, arguments: PlanArguments) -> PlanTables:
    """A plan that keeps the drawn queries with their documents, and rows that stand for all other queries."""
    rows, measure, moments = population.rows, population.measure, population.rows.moments()
    assert moments is not None
    table, sample = _drawn(population, arguments, moments)
    others = np.setdiff1d(np.arange(len(table)), sample.rows)
    points = stand_ins(table, others, moments, population.question.names)
    kept = pd.concat([table.iloc[sample.rows], points], ignore_index=True) if len(points) else table.iloc[sample.rows]
    kept = kept.astype(table.dtypes.to_dict()).reset_index(drop=True)
    pool, graded = population.kept(sample.rows)
    pool = with_rows(pool, kept)
    assessments = documents_to_judge(pool, measure, np.arange(len(sample.rows)), graded)
    source, spent = PlanSource(pool, measure, graded, None), float(rows.cost[sample.rows].sum())
    made = plan_manifest(arguments, source, kept, assessments, census=sample.census, spent=spent)
    rest = None
    if len(others):
        rest = Rest(len(others), int(rows.documents.sum()) - len(pool.docno), len(points))
        if len(points) and not arguments.replace:
            rest = _with_bounds(rest, rows, moments, table, arguments)
    return PlanTables(pool, kept, assessments, population.manifest(made, rest))


def _drawn(population: AllQueries, arguments: PlanArguments, moments: Moments) -> tuple[pd.DataFrame, Sample]:
    """The design of all queries, and which of them were drawn."""
    rows, names, weight = population.rows, population.question.names, population.weight
    pairs, about = stored_weights(arguments.pairs, names), (arguments.defensive, rows.moments("uniform_"))
    q = sampling_distribution(arguments.design, moments, rows.cost, weight, *about, pairs)
    nothing, ranks = np.empty(0), np.empty((len(names), 0), dtype=np.int32)
    indptr, grades = np.zeros(len(weight) + 1, dtype=np.int64), np.empty((0, rows.max_grade + 1))
    pool = Pool(names, population.queries, nothing, indptr, ranks, grades, nothing, rows.cost, weight)
    table = query_design(pool, q, moments)
    sample = draw(table, arguments.budget, arguments.draws, (arguments.seed, rows.believed), arguments.replace)
    return table.assign(**sample_columns(sample, weight), q_priority=priority_column(sample, len(table))), sample


def stand_ins(queries: pd.DataFrame, others: np.ndarray, moments: Moments, names: tuple[str, ...]) -> pd.DataFrame:
    """2k rows at ``M̄ ± √k s_j``, which have the sums ``p M`` and ``p (M − a)(M − a)'`` of rows not drawn, int64[r]."""
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
    covariance = (share @ moments.covariance[others].reshape(len(others), -1)).reshape(k, k)
    rows = pd.DataFrame({"qid": [f"(other queries, {i} of {2 * k})" for i in range(1, 2 * k + 1)]})
    summed = [name for name in ("q_prob", "q_cost", "traffic") if name in queries.columns]
    rows = rows.assign(**{c: float(pd.to_numeric(queries[c]).to_numpy(float)[others].sum()) / (2 * k) for c in summed})
    rows = rows.assign(q_weight=total / (2 * k), q_draws=0, q_importance=np.nan, q_inclusion=np.nan)
    rows["q_priority"] = queries["q_priority"].to_numpy()[others].min()
    for s, name in enumerate(names):
        rows[f"q_mean_{name}"], rows[f"q_var_{name}"] = points[:, s], covariance[s, s]
    if k == 2:
        rows["q_cov"] = covariance[0, 1]
    return rows.reindex(columns=queries.columns)


def _with_bounds(rest: Rest, rows: Rows, moments: Moments, table: pd.DataFrame, arguments: PlanArguments) -> Rest:
    """The same with what looks at any time need for each contrast, unless nothing could be proved at any time."""
    priority, q, weight = (table[c].to_numpy(dtype=np.float64) for c in ("q_priority", "q_prob", "q_weight"))
    low, high = rows.by_query["low"], rows.by_query["high"]
    order = np.argsort(priority, kind="stable")
    order = order[np.isfinite(priority[order])]
    drawn = int((table["q_draws"].to_numpy() > 0).sum())
    never = np.ones(len(q), dtype=bool)
    never[order] = False
    reached = not ((high > low) & (weight > 0)[:, None])[never].any()
    if not low.shape[1] or not reached or len(order) <= drawn:
        return rest
    contrasts = []
    for column, contrast in enumerate(bounded_contrasts(moments.mean.shape[1])):
        of_contrast = contrast_moments(moments, contrast.first, contrast.second)
        bounds = low[:, column], high[:, column]
        contrasts.append(sums_after(query_units(order, q[order], of_contrast, bounds, weight), drawn, contrast))
    cost = rows.cost[order] if arguments.draws is None else np.ones(len(order))
    expected = expected_size(q[order], cost, float(arguments.budget or arguments.draws or 0))
    return replace(rest, units=len(order), expected_draws=expected, contrasts=tuple(contrasts))
