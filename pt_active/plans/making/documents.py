"""How is a plan made that draws documents, how does it go on, and in which parts is it judged [theory 9]?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.clocks import Seed, clocks
from pt_active.frames.columns import with_string_ids
from pt_active.inference.documents import expected_variance
from pt_active.inference.drawn_documents import DrawnDocuments, drawn_by, pool_sizes
from pt_active.inference.stopping.looks import PLANNED_LOOKS
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, PlanSource
from pt_active.plans.making.pool import Pool, graded_pool, query_design, worklist
from pt_active.plans.making.rankers import stored_weights
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import SUCCESSIVE, DrawingSettings, usual_variance
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes, TwoPhase
from pt_active.sampling.successive import at, planned_threshold, succession_of
from pt_active.sampling.two_phase import draw_documents, from_the_top, parts_by_queries

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing", "q_believed"]
"""Columns that `size_frame` adds to the query columns and ``docno``."""

_STAGE = 1_000_003
"""What keeps the parts independent of the draws of the same seed."""


def size_frame(
    pool: Pool,
    measure: irm.Measure,
    design: str | None,
    per_query: float,
    defensive: float | None = None,
    pairs: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row per document: how probable its judging should be, relative to the others."""
    graded = graded_pool(pool, measure, per_query)
    drawing = design or graded.usual_drawing
    defensive = usual_variance(graded.seen.form) if defensive is None else defensive
    sizes = pool_sizes(graded, DrawingSettings(drawing, defensive, pairs=pairs, serves_singles=True))
    query = pool.query_of_document
    place = np.full(len(query), -1)
    place[sizes.order] = np.arange(len(sizes.order)) - np.searchsorted(query[sizes.order], query[sizes.order])
    table = pool.queries.iloc[query].reset_index(drop=True).assign(docno=pool.docno)
    columns = {"doc_size": sizes.size, "doc_cost": pool.document_cost, "doc_place": place}
    return table.assign(**columns, q_opening_cost=per_query, q_drawing=drawing, q_believed=pool.believed("document"))


def draw_frame(sizes: pd.DataFrame, budget: float | None, seed: Seed) -> pd.DataFrame:
    """Draw from a frame of `size_frame`, whatever the order of its rows."""
    if budget is None:
        raise ValueError("documents are drawn to a budget: pass budget=, and not draws=")
    sizes = with_string_ids(sizes).sort_values(["qid", "doc_place", "docno"]).reset_index(drop=True)
    query, qids = pd.factorize(sizes["qid"])
    indptr = np.searchsorted(query, np.arange(len(qids) + 1))
    size, cost = sizes["doc_size"].to_numpy(float), sizes["doc_cost"].to_numpy(float)
    overhead, drawing = float(sizes["q_opening_cost"].iloc[0]), str(sizes["q_drawing"].iloc[0])
    prices = Costs(indptr, cost, overhead)
    positive = DocumentSizes(np.flatnonzero(size > 0), size, np.zeros_like(size))
    design = document_design(positive, drawing, prices, float(budget))
    clock = clocks(seed, sizes["qid"], sizes["docno"])
    sample = draw_documents(design, prices, float(budget), np.random.default_rng(seed), clock)
    sizes["inclusion"] = sample.chance(query)
    return sizes[sample.drawn].reset_index(drop=True)


def plan_of_documents(source: PlanSource, arguments: PlanArguments) -> PlanTables:
    """A plan of documents."""
    if arguments.budget is None or arguments.draws is not None:
        raise ValueError('documents are drawn to a budget: pass budget=, and not draws=, with level="document"')
    if arguments.replace:
        raise ValueError('a document is judged once: replace=True does not go with level="document"')
    pool, budget = source.pool, float(arguments.budget)
    graded = graded_pool(pool, source.measure, arguments.per_query)
    seed = arguments.seed, pool.believed("document")
    rng = np.random.default_rng(seed)
    clock = clocks(seed, pool.qids[pool.query_of_document], pool.docno)
    settings = document_settings(arguments, pool.names)
    sizes = pool_sizes(graded, settings)
    drawn = drawn_by(sizes, graded, settings, budget, rng, clock)
    not_empty(drawn.sample.drawn)
    queries = query_design(pool, drawn.sample.design.opening, pool.moments(source.measure))
    queries = queries.assign(**opening_columns(pool, drawn.sample))
    assessments = worklist(pool, drawn.sample.drawn, drawn.sample.chance(pool.query_of_document), source.frame)
    tables = PlanTables.new(source, arguments, queries, assessments, drawn.certain, drawn)
    tables.gain.append(sizes.gain)
    return tables


def not_empty(drawn: np.ndarray) -> None:
    """Raise if no document is drawn, bool[N]."""
    if not drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")


def document_settings(arguments: PlanArguments, names: tuple[str, ...]) -> DrawingSettings:
    """How the documents of a plan are chosen."""
    pairs = stored_weights(arguments.pairs, names)
    return DrawingSettings(arguments.design, arguments.defensive, pairs, serves_singles=True)


def opening_columns(pool: Pool, sample: TwoPhase) -> dict[str, np.ndarray]:
    """The design's ``q_prob`` (Π), ``q_draws`` (1 where documents of a query were drawn), and their weights by Π."""
    has = np.bincount(pool.query_of_document[sample.drawn], minlength=len(pool.queries)) > 0
    inclusion = np.where(has, sample.opening, np.nan)
    columns = {"q_draws": has.astype(np.int64), "q_importance": pool.query_weight / inclusion}
    return columns | {"q_inclusion": inclusion, "q_prob": sample.design.opening}


def extended(tables: PlanTables, more: float) -> PlanTables:
    """A plan that goes on, with the same sizes, to the sum of both budgets."""
    assert tables.documents is not None
    made, before = tables.manifest, tables.documents.sample
    budget, prices = made.limit + more, tables.prices
    if order := succession_of(before, prices):
        planned = at(order.design, planned_threshold(order.design, prices, budget))
        sample = order.drawn_to(budget)
    else:
        arguments, budgets = made.arguments, (made.limit, budget)
        sizes = pool_sizes(graded_of(tables), document_settings(arguments, tables.pool.names))
        earlier, planned = (document_design(sizes, arguments.design, prices, limit) for limit in budgets)
        rng = np.random.default_rng([arguments.seed, tables.pool.believed("document"), int(before.drawn.sum())])
        sample = from_the_top(planned, prices, budget, rng, before, earlier)
    added = sample.drawn & ~before.drawn
    not_empty(added)
    return with_documents(tables, sample, planned, added, limit=budget)


def with_documents(
    tables: PlanTables, sample: TwoPhase, planned: DocumentDesign, asked: np.ndarray, **changes: Any
) -> PlanTables:
    """The plan with another sample, of which people judge some documents, bool[N], and changes of its manifest."""
    pool, drawn = tables.pool, DrawnDocuments(sample, tables.pool.grades, expected_of(tables, planned))
    queries = tables.queries.assign(**opening_columns(pool, sample))
    assessments = worklist(pool, asked, sample.chance(pool.query_of_document))
    changed = replace(tables, queries=queries, assessments=assessments, documents=drawn)
    return changed.counted(drawn.certain, **changes)


def graded_of(tables: PlanTables) -> GradedPool:
    """The pool of a plan as documents are drawn from it."""
    return graded_pool(tables.pool, tables.measure, tables.manifest.arguments.per_query)


def gain_of(tables: PlanTables) -> np.ndarray:
    """float64[N], what each document adds to the variance that the grade model expects."""
    arguments, pool = tables.manifest.arguments, tables.pool
    if not tables.gain:
        tables.gain.append(pool_sizes(graded_of(tables), document_settings(arguments, pool.names)).gain)
    return tables.gain[0]


def expected_of(tables: PlanTables, design: DocumentDesign) -> float:
    """The variance that the grade model expects of a design."""
    return expected_variance(graded_of(tables).seen, design, gain_of(tables))


def in_parts(tables: PlanTables) -> bool:
    """Whether the documents of a plan come in parts, after each of which one may look."""
    made, drawn = tables.manifest, tables.documents
    changed = made.cut or made.later_rankers or made.extended
    return drawn is not None and not changed and drawn.sample.design.drawing != SUCCESSIVE


def parts_of_plan(tables: PlanTables) -> list[TwoPhase]:
    """What the first parts of a plan are as samples of their own: of one part, of two, and so on up to all.

    Documents that come one after the other are cut where equal shares of the budget end. Queries that are judged from
    the top come as a whole, spread over the parts.
    """
    assert tables.documents is not None
    made, prices, sample = tables.manifest, tables.prices, tables.documents.sample
    if order := succession_of(sample, prices):
        return order.parts(made.limit, PLANNED_LOOKS)
    rng = np.random.default_rng([made.arguments.seed, _STAGE, int(made.drawn or "0", 16)])
    return parts_by_queries(sample, prices, PLANNED_LOOKS, rng)


def part_of(tables: PlanTables) -> np.ndarray:
    """int64[N], the part in which each document comes, from 1; 0 for documents that were not drawn."""
    drawn = np.array([each.drawn for each in parts_of_plan(tables)])
    return np.where(drawn[-1], PLANNED_LOOKS + 1 - drawn.sum(axis=0), 0)


def judged_part(tables: PlanTables, label: np.ndarray) -> TwoPhase | None:
    """What is judged without a gap and can be used alone, as if its budget had ended there; None if nothing is."""
    assert tables.documents is not None
    sample, has = tables.documents.sample, label >= 0
    if in_parts(tables):
        found = [each for each in parts_of_plan(tables) if has[each.drawn].all()][-1:]
    else:
        order = succession_of(sample, tables.prices)
        found = [order.first(order.judged(sample.drawn & has))] if order else []
    return found[0] if found and found[0].drawn.any() else None
