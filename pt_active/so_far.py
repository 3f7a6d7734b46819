"""A plan cut to what is judged without a gap from its first draw [theory 10]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.documents.growth import rounds_judged
from pt_active.documents.planning import sample_columns as round_columns
from pt_active.documents.rounds import judged_before
from pt_active.documents.tables import worklist
from pt_active.growth import foreign_labels
from pt_active.labels import known_labels
from pt_active.measures import parse_measure
from pt_active.plan_tables import PlanTables
from pt_active.query_growth import DrawingOrder, queries_judged
from pt_active.query_plan import sample_columns as query_columns
from pt_active.sampling import Sample


def cut_to_judged(tables: PlanTables, qrels: pd.DataFrame) -> PlanTables:
    """A plan of what is judged.

    Args:
        tables: Of the plan.
        qrels: The labels so far.

    Returns:
        The plan itself if all of it is judged. Else, of queries, the first n in the order in which they were drawn,
        with ``π = min(1, q T)``, T the priority of the next; of documents, the rounds before the first gap.

    Raises:
        ValueError: If the labels do not fit the plan, nothing is judged, or the plan knows no order.
    """
    label = known_labels(tables.pool.keys, frames.checked_qrels(qrels, tables.pool.max_grade))
    return _of_documents(tables, label) if tables.rounds else _of_queries(tables, label)


def _of_queries(tables: PlanTables, label: np.ndarray) -> PlanTables:
    order, pool = DrawingOrder.of(tables.queries), tables.pool
    measure = parse_measure(tables.manifest["arguments"]["measure"])
    foreign_labels(
        (label >= 0) & pool.seen(measure) & ~order.asked(len(pool.queries))[pool.query_of_document], "queries"
    )
    n = queries_judged(pool, label, measure, order)
    if n == order.drawn:
        return tables
    if n == 0:
        raise ValueError(
            f"nothing is judged so far: the query that comes first, {pool.qids[order.rows[0]]}, lacks labels"
        )
    queries = tables.queries.assign(**query_columns(_first(order, n, len(pool.queries))))
    listed = tables.assessments["qid"].isin(pool.qids[order.rows[:n]])
    assessments = tables.assessments[listed].reset_index(drop=True)
    cut = {"unit": "queries", "of": order.drawn, "to": n}
    manifest = _manifest(tables, queries, assessments, cut, float(order.cost[:n].sum()), census=False)
    return replace(tables, queries=queries, assessments=assessments, manifest=manifest)


def _first(order: DrawingOrder, n: int, size: int) -> Sample:
    """The first n queries as `sampling.priorities` would have drawn them with a budget that ended there."""
    first = order.rows[:n]
    draws, inclusion, importance = np.zeros(size, dtype=np.int64), np.full(size, np.nan), np.full(size, np.nan)
    draws[first] = 1
    inclusion[first] = np.minimum(1.0, order.q[:n] * order.threshold[n - 1])
    importance[first] = n * order.weight[:n] / inclusion[first]
    return Sample(draws, importance, inclusion)


def _of_documents(tables: PlanTables, label: np.ndarray) -> PlanTables:
    pool, drawn = tables.pool, judged_before(tables.rounds)
    foreign_labels((label >= 0) & ~drawn, "documents")
    n = rounds_judged(tables.rounds, label)
    if n == len(tables.rounds):
        return tables
    if n == 0:
        lacking = int((tables.rounds[0].sample.drawn & (label < 0)).sum())
        raise ValueError(
            f"nothing is judged so far: {lacking} documents of round 1 have no label, and a round of documents can "
            "only be used as a whole"
        )
    last = tables.rounds[n - 1]
    queries = tables.queries.assign(**round_columns(pool, last), q_prob=last.sample.design.opening)
    assessments = worklist(pool, last.sample, None)
    described = tables.manifest["rounds"][:n]
    cut = {"unit": "rounds", "of": len(tables.rounds), "to": n}
    spent, census = float(sum(each["spent"] for each in described)), tables.rounds[n - 1].expected <= 0
    manifest = _manifest(tables, queries, assessments, cut, spent, census) | {"rounds": described}
    return replace(tables, queries=queries, assessments=assessments, manifest=manifest, rounds=tables.rounds[:n])


def _manifest(
    tables: PlanTables,
    queries: pd.DataFrame,
    assessments: pd.DataFrame,
    cut: dict[str, Any],
    spent: float,
    census: bool,
) -> dict[str, Any]:
    """The manifest of the whole plan, but for what was cut."""
    before = tables.manifest.get("cut", cut)
    draws = len(assessments) if cut["unit"] == "rounds" and cut["to"] > 1 else int(queries["q_draws"].sum())
    counts = {"sampled_queries": int((queries["q_draws"] > 0).sum()), "draws": draws, "assessments": len(assessments)}
    return tables.manifest | {
        "cut": cut | {"of": before["of"]},
        "counts": tables.manifest["counts"] | counts,
        "spent": spent,
        "census": census,
    }
