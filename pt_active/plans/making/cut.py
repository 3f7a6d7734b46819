"""Which plan is left if only what is judged counts?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.qrels import checked_qrels, known_labels
from pt_active.inference.rounds import judged_before
from pt_active.plans.making.documents import rounds_judged, worklist
from pt_active.plans.making.documents import sample_columns as round_columns
from pt_active.plans.making.extension import judged_part
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import foreign_labels
from pt_active.plans.making.manifest import Cut
from pt_active.plans.making.pool import known_texts
from pt_active.plans.making.queries import DrawingOrder, documents_to_judge, queries_judged
from pt_active.plans.making.queries import sample_columns as query_columns


class NothingJudged(ValueError):
    """The unit that comes first lacks a label."""


def cut_to_judged(tables: PlanTables, qrels: pd.DataFrame) -> PlanTables:
    """Cut a plan to what is judged."""
    label = known_labels(tables.pool.keys, checked_qrels(qrels, tables.pool.max_grade))
    cut = cut_to_labels(tables, label)
    if cut is not tables and tables.rounds:
        check_whole(tables, "be cut to what is judged", "its status says what the labels prove so far")
    return cut


def cut_to_labels(tables: PlanTables, label: np.ndarray) -> PlanTables:
    """`cut_to_judged` for int64[N], the label of each document, -1 where there is none."""
    return _of_documents(tables, label) if tables.rounds else _of_queries(tables, label)


def _of_queries(tables: PlanTables, label: np.ndarray) -> PlanTables:
    order, pool, measure = DrawingOrder.of(tables), tables.pool, tables.measure
    asked = np.isin(pool.query_of_document, order.rows[: order.drawn])
    foreign_labels((label >= 0) & pool.seen(measure) & ~asked, "queries")
    n = queries_judged(pool, label, measure, order)
    if n == order.drawn:
        return tables
    if n == 0:
        raise NothingJudged(
            f"nothing is judged so far: the query that comes first, {pool.qids[order.rows[0]]}, lacks labels"
        )
    queries = tables.queries.assign(**query_columns(order.first(n), pool.query_weight))
    if tables.manifest.extensions:  # An extended plan has kept the list of its new queries alone.
        assessments = documents_to_judge(pool, measure, order.rows[:n], known_texts(pool))
    else:
        listed = tables.assessments["qid"].isin(pool.qids[order.rows[:n]])
        assessments = tables.assessments[listed].reset_index(drop=True)
    cut_off = replace(tables, queries=queries, assessments=assessments)
    cut, spent = Cut("queries", order.drawn, n), float(order.cost[:n].sum())
    return _with_manifest(cut_off, cut, int(queries["q_draws"].sum()), spent, census=False)


def _of_documents(tables: PlanTables, label: np.ndarray) -> PlanTables:
    pool, drawn = tables.pool, judged_before(tables.rounds)
    foreign_labels((label >= 0) & ~drawn, "documents")
    n = rounds_judged(tables.rounds, label)
    if n == len(tables.rounds):
        return tables
    rounds, entries, cut = tables.rounds[:n], tables.manifest.rounds[:n], Cut("rounds", len(tables.rounds), n)
    if part := judged_part(tables, label, n):
        rounds, entries = (*rounds, part[0]), (*entries, part[1])
        cut = Cut("documents", int(drawn.sum()), int(judged_before(rounds).sum()))
    if not rounds and tables.rounds[0].sample.priority is not None:
        raise NothingJudged("nothing is judged so far: the documents that come first lack labels")
    if not rounds:
        lacking = int((tables.rounds[0].sample.drawn & (label < 0)).sum())
        raise NothingJudged(
            f"nothing is judged so far: {how_many('document', lacking)} of round 1 {agreeing('has', lacking)} no "
            "label; a round of documents can only be used as a whole"
        )
    last = rounds[-1]
    queries = tables.queries.assign(**round_columns(pool, last), q_prob=last.sample.design.opening)
    assessments = worklist(pool, last.sample, None)
    draws = len(assessments) if len(rounds) > 1 else int(queries["q_draws"].sum())
    manifest = replace(tables.manifest, rounds=entries)
    cut_off = replace(tables, queries=queries, assessments=assessments, rounds=rounds, manifest=manifest)
    return _with_manifest(cut_off, cut, draws, float(sum(each.spent for each in entries)), last.certain)


def _with_manifest(tables: PlanTables, cut: Cut, draws: int, spent: float, census: bool) -> PlanTables:
    """The cut plan with its manifest."""
    manifest, sampled = tables.manifest, int((tables.queries["q_draws"] > 0).sum())
    counts = replace(manifest.counts, sampled_queries=sampled, draws=draws, assessments=len(tables.assessments))
    cut = replace(cut, of=(manifest.cut or cut).of)
    return replace(tables, manifest=replace(manifest, cut=cut, counts=counts, spent=spent, census=census))
