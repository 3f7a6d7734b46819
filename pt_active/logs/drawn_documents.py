"""How is a plan of documents made from the numbers of all, and what does it keep of those that were not drawn?"""

from __future__ import annotations

from dataclasses import replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.columns import with_query_columns
from pt_active.inference.rounds import Round, drawn_by
from pt_active.logs.document_rows import DocumentRows
from pt_active.logs.drawn import with_rows
from pt_active.logs.partition import Question, partition_pool
from pt_active.logs.sizes import Documents, sizes_in_blocks
from pt_active.logs.undrawn import Drawn, all_contrasts, rest_of_contrast
from pt_active.plans.making.artifact import digest
from pt_active.plans.making.documents import (
    budget_of_documents,
    first_entry,
    not_empty,
    round_settings,
    sample_columns,
    worklist,
)
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import LevelChoice, PlanArguments, Source, plan_manifest
from pt_active.plans.making.pool import Pool, query_design
from pt_active.plans.making.rest import Rest, RestOfDocuments
from pt_active.relevance.measures import rank_form
from pt_active.sampling.chances import expected_size
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import DocumentDesign, Sample, TwoPhase

_TO_COME = 2
"""So many of the documents that come next are kept with their queries: two units must stand for all that may follow."""

OTHERS = "(other queries)"
"""The id of the row that stands for the queries that are not kept."""


def all_documents(rows: DocumentRows, measure: irm.Measure, weight: np.ndarray, overhead: float) -> Documents:
    """All documents as the measure sees them.

    Shapes: weight float64[m].
    """
    return Documents(rows, rank_form(measure, rows.max_grade, rows.deepest), weight, overhead)


def drawn_documents(documents: Documents, arguments: PlanArguments, names: tuple[str, ...]) -> tuple[Round, np.ndarray]:
    """The round that `first_round` draws in memory, without its grades, and bool[N], what can change the result."""
    budget, rows = budget_of_documents(arguments), documents.rows
    settings = round_settings(arguments, names)
    sizes = sizes_in_blocks(documents, settings)
    pool = GradedPool(documents.pool, np.empty((len(rows.mean), 0)), rows.cost, documents.overhead)
    rng = np.random.default_rng(arguments.seed)
    return not_empty(drawn_by(sizes, sizes.gain, pool, settings, budget, rng, rows.clock)), sizes.gain > 0


def kept_queries(documents: Documents, sample: TwoPhase, matters: np.ndarray) -> Drawn:
    """The queries that a plan keeps: those of drawn documents, and of the next ones that would come.

    Shapes: matters bool[N].
    """
    indptr = documents.rows.indptr
    wanted, more = np.flatnonzero(sample.drawn), np.empty(0, dtype=np.int64)
    if sample.priority is not None:
        more = np.flatnonzero(np.isfinite(sample.priority) & ~sample.drawn)
        if len(more) > _TO_COME:
            more = more[np.argsort(sample.priority[more], kind="stable")[:_TO_COME]]
    kept = np.zeros(len(indptr) - 1, dtype=bool)
    kept[np.searchsorted(indptr, np.r_[wanted, more], side="right") - 1] = True
    return Drawn(sample, kept, sample.design.unit == "document" and len(more) == _TO_COME, matters)


def rest_of(documents: Documents, drawn: Drawn, budget: float) -> Rest | None:
    """What a plan keeps of queries of which nothing was drawn; None if there are none."""
    rows, design, others = documents.rows, drawn.sample.design, ~drawn.kept
    if not others.any():
        return None
    to_come = design.inclusion[design.order] > 0
    left = design.order[to_come & ~drawn.sample.drawn[design.order]]
    further = left[drawn.matters[left]]
    opened = len(np.unique(np.searchsorted(rows.indptr, further, side="right")))
    units, expected = 0, 0.0
    if drawn.looked_at and design.rate is not None:
        units = len(design.order)
        expected = expected_size(design.rate[design.order], rows.cost[design.order], budget)
    return Rest(
        queries=int(others.sum()),
        documents=int(rows.documents[others].sum()),
        stand_ins=1,
        units=units,
        expected_draws=expected,
        sums=tuple(rest_of_contrast(documents, drawn, each) for each in all_contrasts(len(rows.ranks))),
        seen=len(rows.mean),
        useless=int((design.inclusion == 0).sum()),
        cost=float(rows.cost[left].sum()),
        further=float(rows.cost[further].sum() + documents.overhead * opened),
    )


def plan_of_drawn_documents(
    documents: Documents,
    drawn: Round,
    kept: Drawn,
    queries: pd.DataFrame,
    graded: pd.DataFrame,
    question: Question,
    arguments: PlanArguments,
    topics: pd.DataFrame | None,
    choice: LevelChoice | None,
) -> PlanTables:
    """A plan that keeps the queries of drawn documents, and sums over all others."""
    rows, measure = documents.rows, question.parsed(documents.rows.max_grade)
    rest = rest_of(documents, kept, float(arguments.budget or 0))
    if "query" in queries.columns or topics is not None:
        graded = with_query_columns(graded, queries[kept.kept])
    part = partition_pool(graded, question)
    table = _query_table(documents, kept, queries, part, rest, measure)
    pool = replace(with_rows(part, table), place=table["q_place"].to_numpy())
    kept_round = _kept_round(documents, drawn, kept, pool, measure)
    table = table.assign(**sample_columns(pool, kept_round), q_prob=kept_round.sample.design.opening)
    assessments = worklist(pool, kept_round.sample, None)
    source = Source(pool, measure, graded, None, choice)
    spent, census = drawn.sample.spent, drawn.certain
    made = plan_manifest(arguments, source, table, assessments, census=census, spent=spent)
    counts = replace(made.counts, queries=len(rows.qid), documents=int(rows.documents.sum()))
    inputs = {"pool": rows.digest(), "topics": None if topics is None else digest(topics)}
    made = replace(made, counts=counts, inputs=inputs, pool_cost=float(rows.query_cost.sum()), rest=rest)
    manifest = replace(made, rounds=(first_entry(arguments, drawn),))
    return PlanTables(pool, table, assessments, manifest, (kept_round,))


def _query_table(
    documents: Documents, kept: Drawn, queries: pd.DataFrame, part: Pool, rest: Rest | None, measure: irm.Measure
) -> pd.DataFrame:
    """The design of the queries that are kept, with a row for all others and ``q_place``."""
    place = np.flatnonzero(kept.kept)
    own = queries.iloc[place].reset_index(drop=True)
    known = replace(part, queries=own, query_weight=documents.weight[place])
    table = query_design(known, np.ones(len(place)), part.moments(measure)).assign(q_place=place)
    if rest is None:
        return table
    others = ~kept.kept
    total = float(documents.weight[others].sum())
    row: dict[str, object] = {"qid": OTHERS, "q_prob": 0.0, "q_cost": float(documents.rows.query_cost[others].sum())}
    row |= {"q_weight": total, "q_place": -1}
    for s, name in enumerate(part.names):
        row[f"q_mean_{name}"] = _expected(rest.of(s, None)) / total if total > 0 else 0.0
        row[f"q_var_{name}"] = 0.0
    if len(part.names) == 2:
        row["q_cov"] = 0.0
    if "traffic" in queries.columns:
        row["traffic"] = float(pd.to_numeric(queries["traffic"]).to_numpy(float)[others].sum())
    last = pd.DataFrame([row]).reindex(columns=table.columns)
    whole = pd.concat([table, last.dropna(axis=1)], ignore_index=True)
    return whole.astype({name: kind for name, kind in table.dtypes.items() if kind.kind in "iufb"})


def _expected(about: RestOfDocuments) -> float:
    """``Σ p M`` over the queries that are not kept."""
    return float(sum(about.mean) + about.settled)


def _kept_round(documents: Documents, drawn: Round, kept: Drawn, pool: Pool, measure: irm.Measure) -> Round:
    """The round with the documents of the pool alone."""
    rows, sample, design = documents.rows, drawn.sample, drawn.sample.design
    queries = np.flatnonzero(kept.kept)
    source = rows.documents_of(queries)
    places = np.flatnonzero(pool.seen(measure))
    same = len(source) == len(places) and np.array_equal(
        np.minimum(pool.ranks[:, places], np.iinfo(np.int16).max), rows.ranks[:, source]
    )
    if not same:
        raise ValueError("the second pass over the runs found other documents than the first; did the files change?")
    size, more = len(pool.docno), len(pool.queries) - len(queries)

    def of(values: np.ndarray, fill: float | bool) -> np.ndarray:
        own = np.full(size, fill, dtype=values.dtype)
        own[places] = values[source]
        return own

    chosen = np.zeros(len(rows.mean), dtype=bool)
    chosen[source] = True
    order = places[np.searchsorted(source, design.order[chosen[design.order]])]
    rate = None if design.rate is None else of(design.rate, 0.0)
    opening, opened = (np.r_[each[queries], np.zeros(more)] for each in (design.opening, sample.opening))
    own = DocumentDesign(design.drawing, order, opening, of(design.inclusion, 0.0), design.unit, rate)
    priority = None if sample.priority is None else of(sample.priority, np.inf)
    apart = np.r_[sample.apart[queries], np.zeros(more, dtype=bool)]
    two_phase = TwoPhase(own, Sample.once(opened), of(sample.drawn, False), apart, sample.spent, priority)
    return replace(drawn, sample=two_phase, grades=pool.grades)
