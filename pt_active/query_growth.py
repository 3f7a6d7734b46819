"""How far the queries of a plan are judged, in the order in which they were drawn [theory 10]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.budget import ErrorCurve
from pt_active.estimators import estimator_named, is_rounding, mean_and_variance
from pt_active.growth import ESTIMATOR, Growth, Question, foreign_labels, to_come
from pt_active.judged import match_labels, measured_values
from pt_active.labels import whole_labels
from pt_active.plan_labels import model_means
from pt_active.plan_tables import PlanTables
from pt_active.pool import Pool
from pt_active.sequential import Looks, critical_values, information, look_sizes, nested_estimates

_AHEAD = 50
"""Sizes beyond the plan that are looked at."""


@dataclass(frozen=True)
class DrawingOrder:
    """The queries that can be drawn, in the order in which they come; arrays have one row each.

    Attributes:
        rows: int64[r], in the pool.
        q: float64[r].
        weight: float64[r], p.
        cost: float64[r], λ.
        threshold: float64[r], the priority of the query that comes next; infinite after the last.
        drawn: How many of them the plan asks for.
    """

    rows: np.ndarray
    q: np.ndarray
    weight: np.ndarray
    cost: np.ndarray
    threshold: np.ndarray
    drawn: int

    @classmethod
    def of(cls, queries: pd.DataFrame) -> DrawingOrder:
        """Read it off the plan's table of all queries.

        Raises:
            ValueError: If the plan draws with replacement, or was saved before the order was kept.
        """
        if "q_priority" not in queries.columns:
            raise ValueError(
                "the plan was saved in format 3, which does not keep the order in which queries come; judge all that "
                "it asks for and compare, or make a new plan"
            )
        priority = queries["q_priority"].to_numpy(dtype=np.float64)
        if np.isnan(priority).any():
            raise ValueError(
                "the plan draws with replacement, so it knows its sample as a whole and no beginning of it; judge all "
                "that it asks for and compare, or make a plan with replace=False"
            )
        rows = np.argsort(priority, kind="stable")
        rows = rows[np.isfinite(priority[rows])]
        q, weight, cost = (queries[c].to_numpy(dtype=np.float64)[rows] for c in ("q_prob", "q_weight", "q_cost"))
        drawn = int((queries["q_draws"].to_numpy() > 0).sum())
        return cls(rows, q, weight, cost, np.append(priority[rows], np.inf)[1:], drawn)

    def asked(self, size: int) -> np.ndarray:
        """bool[m], the queries that the plan asks for, of ``size`` in its pool."""
        found = np.zeros(size, dtype=bool)
        found[self.rows[: self.drawn]] = True
        return found

    @property
    def curve(self) -> ErrorCurve:
        """The errors that the design expects, for which ``a ∝ λ (q/p)²``: no label has a say in them."""
        unit = np.ones_like(self.q)
        return ErrorCurve(self.q, self.cost * self.q**2, self.cost, unit, np.arange(len(unit)), share=self.weight)


def grown_queries(tables: PlanTables, qrels: pd.DataFrame, question: Question) -> Growth:
    """A sample of queries.

    Args:
        tables: Of the plan.
        qrels: As `frames.checked_qrels` returns them.
        question: What is asked.

    Raises:
        ValueError: As `DrawingOrder.of`, or if the looks are unknown.
    """
    order = DrawingOrder.of(tables.queries)
    if cut := tables.manifest.get("cut"):
        order = replace(order, drawn=cut["of"])
    label = whole_labels(tables.pool.keys, qrels)
    judged = queries_judged(tables.pool, label, question.measure, order)
    spent, sizes = np.cumsum(order.cost), look_sizes(question.looks, order.drawn)
    time = information(order.curve, spent[sizes - 1], spent[order.drawn - 1])
    critical = critical_values(question.looks, sizes, time, 1 - question.confidence)
    passed = int((sizes <= judged).sum())
    return Growth(
        past=_past(tables, qrels, question, order, sizes[:passed], time[:passed], critical[:passed]),
        plan=to_come(spent[sizes - 1][passed:], time[passed:], critical[passed:]),
        rest=_rest(order, question),
        counts={
            **_labels(tables.pool, label, question, order, judged),
            "judged": judged,
            "drawn": order.drawn,
            "waiting": f"query {tables.pool.qids[order.rows[judged]]}" if judged < order.drawn else None,
            "spent": float(spent[judged - 1]) if judged else 0.0,
            "budget": float(spent[order.drawn - 1]),
            "next_look": int(sizes[passed]) if passed < len(sizes) else None,
            "everything": float(tables.manifest["pool_cost"]),
        },
    )


def _past(
    tables: PlanTables,
    qrels: pd.DataFrame,
    question: Question,
    order: DrawingOrder,
    sizes: np.ndarray,
    time: np.ndarray,
    critical: np.ndarray,
) -> Looks:
    """What the queries say at each look so far."""
    first = order.rows[: sizes[-1] if len(sizes) else 0]
    n, expected = len(first), question.contrast(model_means(tables, question.measure))
    values = question.contrast(_values(tables.pool, qrels, question.measure, first))
    found = nested_estimates(
        estimator_named(ESTIMATOR),
        order.q[:n],
        order.threshold[:n],
        order.weight[:n],
        values,
        expected[first],
        *mean_and_variance(tables.pool.query_weight, expected),
        sizes.tolist(),
    )
    largest = np.maximum.accumulate(np.abs(values))[sizes - 1]
    still = is_rounding(found.standard_error, np.ones((len(sizes), 1)), largest[:, None])
    error = np.where(np.isinf(time), 0.0, np.where(still, np.nan, found.standard_error))
    return Looks(np.cumsum(order.cost)[sizes - 1], time, found.value, error, found.degrees_of_freedom, critical)


def _rest(order: DrawingOrder, question: Question) -> Looks:
    """Larger samples than the plan's; looks that were planned are over by then, so one is left at each."""
    spent = np.cumsum(order.cost)
    beyond = np.unique(np.linspace(order.drawn, len(spent), _AHEAD).astype(np.int64))[1:]
    time = information(order.curve, spent[beyond - 1], spent[order.drawn - 1])
    looks = "always" if question.looks == "always" else None
    return to_come(spent[beyond - 1], time, critical_values(looks, beyond, time, 1 - question.confidence))


def queries_judged(pool: Pool, label: np.ndarray, measure: irm.Measure, order: DrawingOrder) -> int:
    """How many queries have labels for all documents that the measure sees, up to the first that has not.

    Args:
        pool: All queries.
        label: int64[N], -1 where there is none.
        measure: What is to be measured.
        order: In which the queries come.
    """
    absent = pool.seen(measure) & (label < 0)
    complete = np.bincount(pool.query_of_document[absent], minlength=len(pool.queries)) == 0
    return sum(1 for _ in takewhile(bool, complete[order.rows[: order.drawn]]))


def _values(pool: Pool, qrels: pd.DataFrame, measure: irm.Measure, order: np.ndarray) -> np.ndarray:
    """float64[n, k], measured, of some queries in their order."""
    if len(order) == 0:
        return np.empty((0, len(pool.names)))
    rows = np.sort(order)
    part = pool.select(rows)
    labels = match_labels(part, qrels[qrels["qid"].isin(part.qids)], measure, "error")
    return measured_values(part, measure, labels.label, expected=False)[np.searchsorted(rows, order)]


def _labels(pool: Pool, label: np.ndarray, question: Question, order: DrawingOrder, judged: int) -> dict[str, object]:
    """How many labels are used, and how many lie beyond the first gap."""
    place = np.full(len(pool.queries), len(order.rows))
    place[order.rows] = np.arange(len(order.rows))
    document = place[pool.query_of_document]
    has = (label >= 0) & pool.seen(question.measure)
    foreign_labels(has & (document >= order.drawn), "queries")
    left_out = has & (document >= judged) & (document < order.drawn)
    return {"unit": "queries", "n_judged": int((has & (document < judged)).sum()), "left_out": int(left_out.sum())}
