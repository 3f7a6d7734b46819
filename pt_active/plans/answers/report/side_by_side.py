"""In which judged queries do two rankers differ most, and what did each return?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.inference.ties import difference
from pt_active.plans.answers.judged import LabelledPlan
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import cutoff_of
from pt_active.showing.shown import Beside, Returned

N_QUERIES = 6
"""Queries that are shown."""

N_DOCUMENTS = 10
"""Documents of each ranking that are shown at most."""

_N_CANDIDATES = 40
"""Queries among which those that differ most are looked for: those of which most is judged, as a share."""


def side_by_side(
    labelled: LabelledPlan[Any], pair: tuple[int, int], measure: irm.Measure, texts: Mapping[str, str]
) -> tuple[Beside, ...]:
    """The judged queries in which two rankers differ most."""
    pool = labelled.tables.pool
    rows = _candidates(labelled, pair, measure)
    if not len(rows):
        return ()
    some, label = pool.select(rows), labelled.label[np.isin(pool.query_of_document, rows)]
    known = replace(some, grades=np.where((label >= 0)[:, None], np.eye(pool.max_grade + 1)[label], some.grades))
    values = known.moments(measure).mean[:, list(pair)]
    apart = difference(values[:, 0], values[:, 1])
    order = np.argsort(-np.abs(apart), kind="stable")[:N_QUERIES]
    order = order[apart[order] != 0]
    return tuple(_beside(some, label, int(row), pair, values[row], measure, texts) for row in order)


def _candidates(labelled: LabelledPlan[Any], pair: tuple[int, int], measure: irm.Measure) -> np.ndarray:
    """int64[r], increasing: the drawn queries of whose first documents most is judged."""
    pool = labelled.tables.pool
    first = _first(pool, pair, measure)
    count = len(pool.indptr) - 1
    asked = np.bincount(pool.query_of_document[first], minlength=count)
    known = np.bincount(pool.query_of_document[first & (labelled.label >= 0)], minlength=count)
    rows = labelled.drawn[known[labelled.drawn] > 0]
    share = known[rows] / asked[rows]
    return np.sort(rows[np.argsort(-share, kind="stable")[:_N_CANDIDATES]])


def _first(pool: Pool, pair: tuple[int, int], measure: irm.Measure) -> np.ndarray:
    """bool[N], the documents that are shown of the two rankers."""
    ranks = pool.ranks[list(pair)]
    return np.asarray(((ranks > 0) & (ranks <= _depth(measure))).any(axis=0))


def _depth(measure: irm.Measure) -> int:
    return min(cutoff_of(measure) or N_DOCUMENTS, N_DOCUMENTS)


def _beside(
    pool: Pool,
    label: np.ndarray,
    row: int,
    pair: tuple[int, int],
    values: np.ndarray,
    measure: irm.Measure,
    texts: Mapping[str, str],
) -> Beside:
    mine = np.arange(pool.indptr[row], pool.indptr[row + 1])
    shown = mine[_first(pool, pair, measure)[mine]]
    expected = pool.grades[shown] @ np.arange(pool.max_grade + 1)
    at: dict[tuple[int, int], Returned] = {}
    for document, grade in zip(shown, expected, strict=True):
        docno, given = str(pool.docno[document]), int(label[document])
        seen = Returned(docno, given if given >= 0 else None, float(grade), str(texts.get(docno, "")))
        at |= {(side, int(pool.ranks[ranker, document])): seen for side, ranker in enumerate(pair)}
    deepest = max((rank for _, rank in at if rank <= _depth(measure)), default=0)
    ranks = tuple((at.get((0, rank)), at.get((1, rank))) for rank in range(1, deepest + 1))
    query = pool.queries.iloc[row]
    text = query["query"] if "query" in pool.queries.columns and pd.notna(query["query"]) else ""
    known = int((label[shown] >= 0).sum())
    return Beside(str(query["qid"]), str(text), (float(values[0]), float(values[1])), known, len(shown), ranks)


def texts_of(assessments: pd.DataFrame, texts: pd.DataFrame | None = None) -> dict[str, str]:
    """The texts of documents by docno, from those that a plan keeps for its judges and from further ones."""
    frames = [frame for frame in (assessments, texts) if frame is not None and "text" in frame.columns]
    both = [frame[["docno", "text"]].dropna() for frame in frames]
    return {str(d): str(t) for frame in both for d, t in zip(frame["docno"], frame["text"], strict=True)}
