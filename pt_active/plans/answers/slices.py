"""Estimates for groups of queries, from the labels of the whole sample [theory 5]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import query_columns
from pt_active.frames.qrels import checked_qrels
from pt_active.plans.answers.judged import JudgedSample, judged_sample
from pt_active.plans.answers.judged_documents import JudgedDocuments
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.queries import sample_of
from pt_active.plans.plan import Plan

MOST = 20
"""Groups that a column may make."""

FEW = 10
"""Effective draws of a group below which a line through its queries says too little, so that ``regression`` gives way
to ``snis``."""

NONE = "(none)"
"""The group of queries for which a column says nothing."""


@dataclass(frozen=True)
class Slice:
    """What the labels say of the queries with one value of a column.

    Attributes:
        column: Of the queries.
        value: Of the column, as text.
        n_queries: Of the whole pool.
        share: Of the population's weight.
        results: One comparison, or an estimate of each ranker; empty if none of the queries was drawn.
    """

    column: str
    value: str
    n_queries: int
    share: float
    results: tuple[Comparison | Estimate, ...]

    def rows(self) -> list[dict[str, object]]:
        """One row a result: the group, who and how it was estimated, the estimate and its interval, and its note."""
        head = {"column": self.column, "value": self.value, "queries": self.n_queries, "share": self.share}
        if not self.results:
            nothing = dict.fromkeys(("estimate", "standard_error", "low", "high"), np.nan)
            return [
                head
                | {"name": "", "estimator": "", "judged": 0}
                | nothing
                | {"note": "none of these queries was drawn"}
            ]
        return [head | _row(found) for found in self.results]


def _row(found: Comparison | Estimate) -> dict[str, object]:
    low, high = found.confidence_interval()
    return {
        "name": f"{found.first} − {found.second}" if isinstance(found, Comparison) else found.name,
        "estimator": found.basis.estimator,
        "judged": found.basis.n_judged,
        "estimate": found.difference if isinstance(found, Comparison) else found.value,
        "standard_error": found.standard_error,
        "low": low,
        "high": high,
        "note": found.note,
    }


def slices(
    plan: Plan,
    qrels: pd.DataFrame,
    column: str,
    pair: tuple[int, int] | None = None,
    measure: irm.Measure | None = None,
    estimator: str = "regression",
    confidence: float = 0.95,
    missing: str = "error",
) -> list[Slice]:
    """Estimate within each group of queries.

    Within a group that was known before drawing, ``p`` becomes ``p/P`` with its share P, and the probabilities of its
    queries stay what they were; with replacement q becomes ``q/Q``, given how many draws fell into the group. The
    intervals are each for itself: with many groups some miss. A group with fewer than `FEW` effective draws of queries
    is estimated by ``snis`` where ``regression`` is asked for.

    Args:
        plan: Of queries or of documents.
        qrels: Its labels, of all rounds.
        column: Of the topics, before planning; its name starts with ``q``.
        pair: Two rankers to compare; each ranker is estimated if left out.
        measure: Another than the plan's, as `measures.parse_measure` returns it.
        estimator: As for `Plan.estimate`.
        confidence: Of each interval.
        missing: As for `Plan.estimate`.

    Returns:
        One a value, in the order of the values as text.

    Raises:
        ValueError: If the topics had no such column, it has more than `MOST` values, or as `Plan.estimate` does.
    """
    groups = _groups(plan.queries, column)
    found = []
    for value, rows in groups:
        weight = float(plan.tables.pool.query_weight[rows].sum())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            judged = _judged(plan, qrels, rows, weight, measure or plan.measure, missing)
            results = () if judged is None else _results(judged, pair, estimator, confidence)
        found.append(Slice(column, value, len(rows), weight, results))
    return found


def _results(
    judged: JudgedSample | JudgedDocuments, pair: tuple[int, int] | None, estimator: str, confidence: float
) -> tuple[Comparison | Estimate, ...]:
    if isinstance(judged, JudgedSample) and estimator == "regression" and judged.basis.n_effective < FEW:
        estimator = "snis"
    if pair is not None:
        return (judged.compare(*pair, estimator, "effective", confidence),)
    return tuple(judged.estimate(s, estimator, "effective", confidence) for s in range(len(judged.names)))


def _groups(queries: pd.DataFrame, column: str) -> list[tuple[str, np.ndarray]]:
    known = query_columns(queries.columns)
    if column not in known:
        belongs = f"{column!r} is the plan's own" if column in queries.columns else f"there is no column {column!r}"
        raise ValueError(
            f"slices are made by columns that the topics had before planning, and {belongs}; the plan has "
            f"{', '.join(known)}. Columns of topics stay with a plan if their names start with q, such as qlength"
        )
    text = queries[column].map(lambda value: NONE if pd.isna(value) else str(value)).to_numpy(dtype=object)
    values = sorted(set(text))
    if len(values) > MOST:
        raise ValueError(
            f"the column {column!r} has {len(values)} values, such as {some(values, 3)}; at most {MOST} make "
            "slices, so put its values into classes before planning"
        )
    return [(value, np.flatnonzero(text == value)) for value in values]


def _judged(
    plan: Plan, qrels: pd.DataFrame, rows: np.ndarray, share: float, measure: irm.Measure, missing: str
) -> JudgedSample | JudgedDocuments | None:
    """The sample within some queries, or None if it has no label there."""
    qids = plan.tables.pool.qids[rows]
    drawn = qids[plan.tables.queries["q_draws"].to_numpy()[rows] > 0]
    if not plan.tables.rounds:
        qrels = checked_qrels(qrels)
        qrels = qrels[qrels["qid"].isin(drawn)]
        return None if qrels.empty or not share > 0 else _of_queries(plan, qrels, rows, share, measure, missing)
    judged = plan.judged(qrels, measure, missing)
    if not isinstance(judged, JudgedDocuments) or not share > 0:
        return None
    return _of_documents(judged, rows, share, set(qids))


def _of_queries(
    plan: Plan, qrels: pd.DataFrame, rows: np.ndarray, share: float, measure: irm.Measure, missing: str
) -> JudgedSample:
    pool, whole = plan.tables.pool.select(rows), sample_of(plan.tables.queries)
    sample = whole.within(np.isin(np.arange(len(plan.tables.queries)), rows))
    certain = int((sample.expected == 1).sum()) if not sample.repeated else 0
    sample = replace(sample, census=certain == int((pool.query_weight > 0).sum()))
    pool = replace(pool, query_weight=pool.query_weight / share)
    judged = judged_sample(pool, sample, measure, plan.model_means(measure)[rows], qrels, missing)
    return replace(judged, basis=replace(judged.basis, model_caution=""))


def _of_documents(judged: JudgedDocuments, rows: np.ndarray, share: float, qids: set[str]) -> JudgedDocuments | None:
    inside = np.isin(np.arange(len(judged.pool.weight)), rows)
    drawn = np.any([each.sample.drawn for each in judged.rounds], axis=0) & inside[judged.pool.query]
    if not (drawn & (judged.label >= 0)).any():
        return None
    weight = np.where(inside, judged.pool.weight / share, 0.0)
    missing = tuple(each for each in judged.basis.missing if each[0] in qids)
    basis = replace(
        judged.basis,
        n_draws=int(drawn.sum()),
        n_queries=len(np.unique(judged.pool.query[drawn])),
        n_judged=int(drawn.sum()) - len(missing),
        missing=missing,
        model_caution="",
    )
    return replace(judged, pool=replace(judged.pool, weight=weight), basis=basis)
