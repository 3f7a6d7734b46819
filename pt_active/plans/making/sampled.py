"""What did a plan draw: the documents that it asks for, in which order, and its judged part."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, document_of, how_many
from pt_active.frames.qrels import (
    check_highest_grade,
    check_judged,
    check_some_known,
    checked_qrels,
    known_labels,
    warn_of_ignored,
    whole_labels,
)
from pt_active.frames.strays import Strays, stray_labels
from pt_active.plans.making.documents import expected_of, judged_part, with_documents
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import Cut
from pt_active.plans.making.pool import worklist
from pt_active.plans.making.queries import DrawingOrder, place_of, sample_columns

_MIN_BEFORE_GAP = 10
"""With fewer labels before the first gap, and as many after it or more, there is no estimate."""


class NothingJudged(ValueError):
    """The unit that comes first lacks a label, or one so early that nearly all labels come after it."""


def wanted_documents(tables: PlanTables) -> np.ndarray:
    """bool[N], the drawn documents, or the documents of the drawn queries."""
    if tables.documents:
        return tables.documents.sample.drawn
    return np.asarray((tables.queries["q_draws"].to_numpy() > 0)[tables.pool.query_of_document])


def labels_of(tables: PlanTables, qrels: pd.DataFrame) -> tuple[np.ndarray, int]:
    """The label of each wanted document, int64[N], -1 for all others; and how many labels are of others."""
    pool, wanted = tables.pool, wanted_documents(tables)
    check_judged(qrels)
    check_highest_grade(qrels[qrels["qid"].isin(pool.qids[pool.query_of_document[wanted]])], pool.max_grade)
    label = np.where(wanted, whole_labels(pool.keys, qrels), -1)
    check_some_known(label >= 0, pool.keys[wanted], qrels, "a sampled document")
    ignored, what = _labels_of_others(tables, qrels, label)
    warn_of_ignored(ignored, what)
    return label, ignored


def _labels_of_others(tables: PlanTables, qrels: pd.DataFrame, label: np.ndarray) -> tuple[int, str]:
    """How many labels are not of the sampled documents or queries, and of what they are."""
    if tables.documents:
        return len(qrels) - int((tables.documents.sample.drawn & (label >= 0)).sum()), "documents that were not drawn"
    sampled = tables.pool.qids[tables.queries["q_draws"].to_numpy() > 0]
    other = qrels.loc[~qrels["qid"].isin(sampled), "qid"]
    number = other.nunique()
    return len(other), f"{how_many('query', number)} that {agreeing('was', number)} not sampled"


def cut_to_labels(tables: PlanTables, label: np.ndarray) -> PlanTables:
    """The plan of what is judged without a gap, by labels int64[N].

    Raises:
        NothingJudged: If that is nothing, or so little that an estimate would leave out nearly all labels.
    """
    pool, wanted, place = tables.pool, wanted_documents(tables), place_of(tables)
    known, lacks = wanted & (label >= 0), wanted & (label < 0)
    cut = (_cut_documents if tables.documents else _cut_queries)(tables, label)
    used = 0 if cut is None else int((wanted_documents(cut) & known).sum())
    if cut is not None and not used < _MIN_BEFORE_GAP <= known.sum() - used:
        return cut
    first = int(np.argmin(np.where(lacks, place, np.inf)))
    more = int((lacks & (place <= place[known & np.isfinite(place)].max(initial=-np.inf))).sum()) - 1
    named = document_of(pool.qids[pool.query_of_document[first]], pool.docno[first])
    so_far = "nothing is judged" if cut is None else f"{used} of {how_many('label', int(known.sum()))} are judged"
    lack = f"and {more:,} more lack" if more > 0 else "lacks"
    raise NothingJudged(f"{so_far} so far without a gap: {named} {lack} a label; judge what comes first")


def _cut_queries(tables: PlanTables, label: np.ndarray) -> PlanTables | None:
    """The plan of the queries that are judged without a gap; None if there is none."""
    order, pool, measure = DrawingOrder.of(tables), tables.pool, tables.measure
    absent = pool.seen(measure) & (label < 0)
    complete = np.bincount(pool.query_of_document[absent], minlength=len(pool.queries)) == 0
    n = sum(1 for _ in takewhile(bool, complete[order.rows[: order.drawn]]))
    if n == order.drawn:
        return tables
    if n == 0:
        return None
    queries = tables.queries.assign(**sample_columns(order.first(n), pool.query_weight))
    # An extended plan has kept the list of its new queries alone.
    extended = tables.manifest.extended
    assessments = worklist(pool, pool.of_queries(measure, order.rows[:n])) if extended else tables.assessments
    assessments = assessments[assessments["qid"].isin(pool.qids[order.rows[:n]])].reset_index(drop=True)
    before = tables.manifest.cut
    cut = Cut("queries", before.of if before else order.drawn, n)
    return replace(tables, queries=queries, assessments=assessments).counted(census=False, cut=cut)


def _cut_documents(tables: PlanTables, label: np.ndarray) -> PlanTables | None:
    """The plan of the documents that are judged without a gap, with the tables of the whole; None if there are none."""
    whole = tables.documents
    assert whole is not None
    if (label[whole.sample.drawn] >= 0).all():
        return tables
    if (sample := judged_part(tables, label)) is None:
        return None
    before, numbers = tables.manifest.cut, [int(each.drawn.sum()) for each in (whole.sample, sample)]
    cut = Cut("documents", before.of if before else numbers[0], numbers[1])
    drawn = replace(whole, sample=sample, expected=expected_of(tables, sample.design))
    return replace(tables, documents=drawn, manifest=replace(tables.manifest, cut=cut))


def strays_of(tables: PlanTables, qrels: pd.DataFrame, label: np.ndarray | None = None) -> Strays:
    """The labels that belong to no document of a plan."""
    pool = tables.pool
    label = whole_labels(pool.keys, qrels) if label is None else label
    return stray_labels(pool.keys, wanted_documents(tables) & pool.seen(tables.measure) & (label < 0), qrels)


def strays_told(tables: PlanTables, qrels: pd.DataFrame, label: np.ndarray) -> Strays:
    """The same; warns of labels of the pool, or of other queries, that are not of what was sampled."""
    strays = strays_of(tables, qrels, label)
    number, what = _labels_of_others(tables, qrels, label)
    if number > strays.number:
        warn_of_ignored(number, what)
    return strays


def cut_to_judged(tables: PlanTables, qrels: pd.DataFrame) -> PlanTables:
    """Cut a plan to what is judged."""
    qrels = checked_qrels(qrels, tables.pool.max_grade)
    label = known_labels(tables.pool.keys, qrels)
    strays_told(tables, qrels, label)
    cut = cut_to_labels(tables, label)
    if cut is tables or cut.documents is None:
        return cut
    sample = cut.documents.sample
    return with_documents(tables, sample, sample.design, sample.drawn, cut=cut.manifest.cut)
