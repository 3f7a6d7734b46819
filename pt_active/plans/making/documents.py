"""How is a plan made that draws documents, in one round or several [theory 9]?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError, within
from pt_active.frames.clocks import clocks
from pt_active.frames.columns import with_string_ids
from pt_active.inference.rounds import Round, draw_round, pool_sizes
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, PlanSource, RoundEntry, plan_manifest
from pt_active.plans.making.pool import Pool, graded_pool, known_texts, query_design
from pt_active.plans.making.rankers import stored_weights
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import (
    SUCCESSIVE,
    SURPRISES,
    RoundSettings,
    natural_drawing,
    succession_unit,
    usual_variance,
)
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Costs, DocumentSizes, TwoPhase
from pt_active.sampling.two_phase import draw_documents

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_size", "q_opening_cost", "q_drawing"]
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
    natural = natural_drawing(graded.seen.form, len(pool.names), per_query)
    drawing = design or ("depth" if natural == SURPRISES else natural)
    if drawing == SUCCESSIVE and graded.seen.form.family == "cascade":
        raise ValueError("a frame of sizes does not hold the steps of a cascade; draw them with Plan.create")
    if drawing == SURPRISES:
        raise ValueError("a frame of sizes does not hold which labels raise a measure; draw surprises with Plan.create")
    defensive = usual_variance(graded.seen.form) if defensive is None else defensive
    sizes = pool_sizes(graded, RoundSettings(drawing, defensive, pairs=pairs, serves_singles=True), graded.grades)
    query = pool.query_of_document
    place = np.full(len(query), -1)
    place[sizes.order] = np.arange(len(sizes.order)) - np.searchsorted(query[sizes.order], query[sizes.order])
    table = pool.queries.iloc[query].reset_index(drop=True).assign(docno=pool.docno)
    opening = np.zeros(len(query)) if sizes.opening is None else sizes.opening[query]
    columns = {"doc_size": sizes.size, "doc_cost": pool.document_cost, "doc_place": place, "q_opening_size": opening}
    return table.assign(**columns, q_opening_cost=per_query, q_drawing=drawing)


def draw_frame(sizes: pd.DataFrame, budget: float | None, seed: int) -> pd.DataFrame:
    """Draw from a frame of `size_frame`, whatever the order of its rows."""
    if budget is None:
        raise ArgumentError(
            "documents are drawn to a budget: pass ",
            Argument("budget", asked=True),
            ", and not ",
            Argument("draws", asked=True),
        )
    sizes = with_string_ids(sizes).sort_values(["qid", "doc_place", "docno"]).reset_index(drop=True)
    query, qids = pd.factorize(sizes["qid"])
    indptr = np.searchsorted(query, np.arange(len(qids) + 1))
    size, cost = sizes["doc_size"].to_numpy(float), sizes["doc_cost"].to_numpy(float)
    overhead, drawing = float(sizes["q_opening_cost"].iloc[0]), str(sizes["q_drawing"].iloc[0])
    unit, prices = "query" if overhead > 0 else "document", Costs(indptr, cost, overhead)
    opening = sizes["q_opening_size"].to_numpy(float)[indptr[:-1]]
    positive = DocumentSizes(
        np.flatnonzero(size > 0), size, np.zeros_like(size), unit, opening if opening.any() else None
    )
    design = document_design(positive, drawing, prices, float(budget))
    clock = clocks(seed, sizes["qid"], sizes["docno"] if unit == "document" else None)
    sample = draw_documents(design, prices, float(budget), np.random.default_rng(seed), clock)
    sizes["inclusion"] = sample.chance(query)
    return sizes[sample.drawn].reset_index(drop=True)


def worklist(pool: Pool, sample: TwoPhase, texts: pd.DataFrame | None) -> pd.DataFrame:
    """The documents that a person judges in a round: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``."""
    drawn = np.flatnonzero(sample.drawn)
    table = known_texts(pool, texts, drawn).assign(inclusion=sample.chance(pool.query_of_document)[drawn])
    return table.sort_values(["qid", "docno"]).reset_index(drop=True)


def first_round(source: PlanSource, arguments: PlanArguments) -> PlanTables:
    """A plan of one round of documents."""
    budget = budget_of_documents(arguments)
    pool, frame = source.pool, source.frame
    graded = source.graded or graded_pool(pool, source.measure, arguments.per_query)
    rng = np.random.default_rng(arguments.seed)
    clock, settings = clock_of(pool, graded, arguments.seed, 0), round_settings(arguments, pool.names)
    drawn = not_empty(draw_round(graded, settings, budget, rng, clock=clock))
    queries = query_design(pool, drawn.sample.design.opening, pool.moments(source.measure))
    queries = queries.assign(**sample_columns(pool, drawn))
    assessments = worklist(pool, drawn.sample, frame if "text" in frame.columns else None)
    spent, census = drawn.sample.spent, drawn.certain
    manifest = plan_manifest(arguments, source, queries, assessments, census=census, spent=spent)
    manifest = replace(manifest, rounds=(round_entry(drawn, float(arguments.budget or 0), arguments.seed),))
    return PlanTables(pool, queries, assessments, manifest, (drawn,))


def budget_of_documents(arguments: PlanArguments) -> float:
    """What the first round may spend."""
    if arguments.budget is None or arguments.draws is not None:
        asked = Argument("budget", asked=True), ", and not ", Argument("draws", asked=True)
        raise ArgumentError("documents are drawn to a budget: pass ", *asked, ", with ", Argument("level", "document"))
    if arguments.replace:
        both = Argument("replace", True), " does not go with ", Argument("level", "document")
        raise ArgumentError("a document is judged once: ", *both)
    within("defensive", arguments.defensive, 0)
    return float(arguments.budget)


def round_entry(
    drawn: Round, budget: float, seed: int, refitted: bool = False, labels: str | None = None
) -> RoundEntry:
    """The record of a round."""
    return RoundEntry(
        budget=budget,
        seed=seed,
        spent=drawn.sample.spent,
        assessments=int(drawn.sample.drawn.sum()),
        expected_variance=drawn.expected,
        refitted=refitted,
        labels=labels,
        comparable_variance=drawn.comparable,
    )


def clock_of(pool: Pool, graded: GradedPool, seed: int, stage: int) -> np.ndarray:
    """float64[N], the exponential variables of what comes at once in a successive drawing."""
    qid, unit = pool.qids[pool.query_of_document], succession_unit(graded.seen.form, graded.per_query)
    return clocks(seed, qid, None if unit == "query" else pool.docno, stage=stage)


def not_empty(drawn: Round) -> Round:
    """The round itself."""
    if not drawn.sample.drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")
    return drawn


def round_settings(arguments: PlanArguments, names: tuple[str, ...]) -> RoundSettings:
    """The settings of the design of a plan's rounds."""
    pairs = stored_weights(arguments.pairs, names)
    return RoundSettings(
        arguments.design, arguments.defensive, arguments.objective, pairs, arguments.budget, serves_singles=True
    )


def sample_columns(pool: Pool, drawn: Round) -> dict[str, np.ndarray]:
    """``q_draws`` (1 where documents of a query were drawn), ``q_importance`` (p/Π) and ``q_inclusion`` (Π)."""
    has = np.bincount(pool.query_of_document[drawn.sample.drawn], minlength=len(pool.queries)) > 0
    inclusion = np.where(has, drawn.sample.opening, np.nan)
    return {"q_draws": has.astype(np.int64), "q_importance": pool.query_weight / inclusion, "q_inclusion": inclusion}


def rounds_judged(rounds: Sequence[Round], label: np.ndarray) -> int:
    """The number of rounds that are fully judged, up to the first that is not; ``label`` is int64[N]."""
    return sum(1 for _ in takewhile(lambda each: bool((label[each.sample.drawn] >= 0).all()), rounds))
