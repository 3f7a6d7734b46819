"""How is a plan made that draws documents, and how does it go on, in its order or by another sample [theory 9]?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import within
from pt_active.frames.clocks import Seed, clocks
from pt_active.frames.columns import with_string_ids
from pt_active.inference.documents import expected_variance
from pt_active.inference.rounds import (
    Round,
    draw_round,
    judged_before,
    pool_sizes,
)
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, PlanSource, RoundEntry
from pt_active.plans.making.pool import Pool, graded_pool, query_design, worklist
from pt_active.plans.making.rankers import stored_weights
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import RoundSettings, usual_variance
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes
from pt_active.sampling.successive import at, planned_threshold, succession_of
from pt_active.sampling.two_phase import draw_documents

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing", "q_believed"]
"""Columns that `size_frame` adds to the query columns and ``docno``."""


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
    sizes = pool_sizes(graded, RoundSettings(drawing, defensive, pairs=pairs, serves_singles=True))
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


def first_round(source: PlanSource, arguments: PlanArguments) -> PlanTables:
    """A plan of one round of documents."""
    if arguments.budget is None or arguments.draws is not None:
        raise ValueError('documents are drawn to a budget: pass budget=, and not draws=, with level="document"')
    if arguments.replace:
        raise ValueError('a document is judged once: replace=True does not go with level="document"')
    within("defensive", arguments.defensive, 0)
    pool, budget = source.pool, float(arguments.budget)
    graded = source.graded or graded_pool(pool, source.measure, arguments.per_query)
    seed = arguments.seed, pool.believed("document")
    rng = np.random.default_rng(seed)
    clock, settings = clock_of(pool, seed, 0), round_settings(arguments, pool.names)
    drawn = draw_round(graded, settings, budget, rng, clock=clock)
    not_empty(drawn.sample.drawn)
    queries = query_design(pool, drawn.sample.design.opening, pool.moments(source.measure))
    queries = queries.assign(**round_columns(pool, drawn))
    assessments = worklist(pool, drawn.sample.drawn, drawn.sample.chance(pool.query_of_document), source.frame)
    return PlanTables.new(source, arguments, queries, assessments, drawn.certain, (drawn,))


def clock_of(pool: Pool, seed: Seed, stage: int) -> np.ndarray:
    """float64[N], the exponential variables of documents in a successive drawing."""
    return clocks(seed, pool.qids[pool.query_of_document], pool.docno, stage=stage)


def not_empty(drawn: np.ndarray) -> None:
    """Raise if no document is drawn, bool[N]."""
    if not drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")


def round_settings(arguments: PlanArguments, names: tuple[str, ...]) -> RoundSettings:
    """The settings of the design of a plan's rounds."""
    pairs = stored_weights(arguments.pairs, names)
    return RoundSettings(arguments.design, arguments.defensive, pairs, serves_singles=True)


def round_columns(pool: Pool, drawn: Round) -> dict[str, np.ndarray]:
    """The design's ``q_prob`` (Π), ``q_draws`` (1 where documents of a query were drawn), and their weights by Π."""
    has = np.bincount(pool.query_of_document[drawn.sample.drawn], minlength=len(pool.queries)) > 0
    inclusion = np.where(has, drawn.sample.opening, np.nan)
    columns = {"q_draws": has.astype(np.int64), "q_importance": pool.query_weight / inclusion}
    return columns | {"q_inclusion": inclusion, "q_prob": drawn.sample.design.opening}


def extended(tables: PlanTables, budget: float) -> PlanTables:
    """A plan that goes on in its order, or one with another sample that is drawn by the same grades."""
    if tables.rounds[-1].sample.priority is not None:
        return _continued(tables, budget)
    graded, arguments, stage = graded_of(tables), tables.manifest.arguments, len(tables.rounds)
    rng = np.random.default_rng([arguments.seed, tables.pool.believed("document"), stage])
    new = draw_round(graded, round_settings(arguments, tables.pool.names), budget, rng)
    not_empty(new.sample.drawn)
    fresh = new.sample.drawn & ~judged_before(tables.rounds)
    new = replace(new, sample=replace(new.sample, spent=float(graded.prices.spent(fresh).sum())))
    return _with_rounds(tables, [*tables.rounds, new], [*tables.manifest.rounds, RoundEntry.of(new, budget)], fresh)


def graded_of(tables: PlanTables) -> GradedPool:
    """The pool of a plan as its rounds draw from it."""
    return graded_pool(tables.pool, tables.measure, tables.manifest.arguments.per_query)


def gain_of(tables: PlanTables) -> np.ndarray:
    """float64[N], what each document adds to the variance that the grade model of the first round expects."""
    arguments, pool = tables.manifest.arguments, tables.pool
    if not tables.gain:
        tables.gain.append(pool_sizes(graded_of(tables), round_settings(arguments, pool.names)).gain)
    return tables.gain[0]


def expected_of(tables: PlanTables, design: DocumentDesign) -> float:
    """The variance that the grade model of the first round expects of a design."""
    return expected_variance(graded_of(tables).seen, design, gain_of(tables))


def _continued(tables: PlanTables, more: float) -> PlanTables:
    """A plan that goes on in its order, with the same rates and priorities, to the sum of both budgets."""
    (last,), (entry,) = tables.rounds, tables.manifest.rounds
    order, budget = succession_of(last.sample, graded_of(tables).prices), entry.budget + more
    assert order is not None
    threshold = planned_threshold(order.design, order.prices, budget)
    new = replace(last, sample=order.drawn_to(budget), expected=expected_of(tables, at(order.design, threshold)))
    added = new.sample.drawn & ~last.sample.drawn
    not_empty(added)
    return _with_rounds(tables, [new], [RoundEntry.of(new, budget)], added)


def _with_rounds(
    tables: PlanTables, drawn: Sequence[Round], entries: Sequence[RoundEntry], fresh: np.ndarray
) -> PlanTables:
    """The plan with other rounds; people judge what is new, bool[N]."""
    pool, new = tables.pool, drawn[-1]
    assessments = worklist(pool, fresh, new.sample.chance(pool.query_of_document))
    queries = tables.queries.assign(**round_columns(pool, new))
    longer = replace(tables, queries=queries, assessments=assessments, rounds=tuple(drawn))
    return longer.counted(tables.manifest.census or new.certain, rounds=tuple(entries))
