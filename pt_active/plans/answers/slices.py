"""Estimates for groups of queries, from the labels of the whole sample [theory 5]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import query_columns
from pt_active.inference.estimators import ESTIMATOR, estimator_named
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.judged_queries import JudgedQueries
from pt_active.plans.answers.labelled_plan import LabelledPlan, asked, labelled_plan
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.kept import PlanTables

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
    plan: KeptArtifact[PlanTables],
    qrels: pd.DataFrame,
    column: str,
    pair: tuple[int, int] | None = None,
    measure: irm.Measure | None = None,
    estimator: str = ESTIMATOR,
    confidence: float = 0.95,
    missing: str = "error",
) -> list[Slice]:
    """Estimate within each group of queries.

    Args:
        plan: Of queries or of documents.
        qrels: Its labels, of all rounds.
        column: Of the topics, before planning; its name starts with ``q``.
        pair: Two rankers to compare; each ranker is estimated if left out.
        measure: Another measure than the plan's, on the same labels.
        estimator: A name in `estimators.ESTIMATORS`, or where documents were drawn in `documents.DOCUMENT_ESTIMATORS`.
        confidence: Of each interval.
        missing: What to do about a document without a label: ``"error"``, ``"nonrelevant"`` or ``"expected"``.

    Returns:
        One a value, in the order of the values as text.

    Raises:
        ValueError: If the topics had no such column, it has more than `MOST` values, or as `Plan.estimate` does.
    """
    how = asked(plan.tables, measure, estimator, confidence, missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return slices_of(labelled_plan(plan.tables, qrels), column, pair, how)


def slices_of(
    labelled: LabelledPlan[Any], column: str, pair: tuple[int, int] | None, how: How[irm.Measure]
) -> list[Slice]:
    """Estimate within each group of queries.

    Within a group that was known before drawing, ``p`` becomes ``p/P`` with its share P, and the probabilities of its
    queries stay what they were; with replacement q becomes ``q/Q``, given how many draws fell into the group. The
    intervals are each for itself: with many groups some miss. A group with fewer than `FEW` effective draws of queries
    is estimated by ``snis`` where ``regression`` is asked for.

    Args:
        labelled: A plan with its labels.
        column: Of the topics, before planning; its name starts with ``q``.
        pair: Two rankers to compare; each ranker is estimated if there are none.
        how: What is asked.

    Raises:
        ValueError: If the topics had no such column, it has more than `MOST` values, or labels are missing.
    """
    pool, found = labelled.tables.pool, []
    for value, rows in _groups(labelled.tables.queries, column):
        share = float(pool.query_weight[rows].sum())
        judged = labelled.within(rows, share, how) if share > 0 else None
        found.append(Slice(column, value, len(rows), share, () if judged is None else _results(judged, pair, how)))
    return found


def _results(judged: Judged, pair: tuple[int, int] | None, how: How[irm.Measure]) -> tuple[Comparison | Estimate, ...]:
    if isinstance(judged, JudgedQueries) and judged.basis.n_effective < FEW:
        how = replace(how, estimator="snis") if estimator_named(how.estimator).fitted > 1 else how
    if pair is not None:
        first, second = pair
        return (judged.compare(first, second, how),)
    return tuple(judged.estimate(s, how) for s in range(len(judged.names)))


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
