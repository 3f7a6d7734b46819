"""What do the labels so far prove, in the order in which units come [theory 14]?"""

from __future__ import annotations

from copy import copy
from functools import cached_property

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.inference.stopping.draws import Units
from pt_active.inference.stopping.looks import ASYMPTOTIC
from pt_active.plans.answers.beyond import stakes_of_population, whole_population
from pt_active.plans.answers.documents_in_order import DocumentSequence
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.proof import Progress, Proof, counted
from pt_active.plans.answers.units import (
    Known,
    QueryOrder,
    partly_judged,
    planned_stakes,
    query_units,
)
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import foreign_labels, judged_values
from pt_active.plans.making.queries import DrawingOrder
from pt_active.relevance.bounds import contrast_bounds
from pt_active.relevance.moments import Moments
from pt_active.sampling.chances import EXPONENTIAL
from pt_active.sampling.designs import contrast_moments


class QuerySequence:
    """A plan of queries, which come in successive order.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.
        measure: What is measured.
        bridged: Whether queries count that come after one that is not fully judged.

    Raises:
        ArgumentError: If the plan has no successive order.
    """

    def __init__(self, tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool = True) -> None:
        self.tables, self.label, self.measure, self.bridged = tables, label, measure, bridged
        self._units: dict[Contrast, Units] = {}
        if not tables.manifest.any_time or measure != tables.measure:
            check_whole(tables, "prove anything before all is judged", "ask at the end: ", Argument("looks", None))
        self.order = DrawingOrder.of(tables)
        self._measured = np.full((len(self.order.rows), len(tables.pool.names)), np.nan)
        if self.order.law is not EXPONENTIAL:
            raise ArgumentError(
                "the plan was saved in an earlier format, whose queries come in another order; use ",
                Argument("looks", ASYMPTOTIC),
            )

    @cached_property
    def progress(self) -> Progress:
        """How far the queries are judged."""
        pool, order = self.tables.pool, self.order
        cut = self.tables.manifest.cut
        # A census asks for queries too that the design never draws.
        drawn = min(cut.of if cut else order.drawn, len(order.rows))
        seen, whole = pool.seen(self.measure), np.arange(len(order.rows)) < drawn
        labelled = np.bincount(pool.query_of_document[seen & (self.label >= 0)], minlength=len(pool.queries))
        counts = np.bincount(pool.query_of_document[seen], minlength=len(pool.queries))
        judged = whole & (labelled == counts)[order.rows]
        place = np.full(len(pool.queries), len(order.rows))
        place[order.rows] = np.arange(len(order.rows))
        foreign_labels((self.label >= 0) & seen & (place[pool.query_of_document] >= drawn), "queries")
        complete = counted(judged, self.bridged)
        waiting = np.flatnonzero(whole & ~judged)
        return Progress(
            unit="query",
            cost=order.cost,
            drawn=drawn,
            complete=complete,
            documents=counts[order.rows],
            waiting=f"query {pool.qids[order.rows[waiting[0]]]}" if len(waiting) else None,
            left_out=int(labelled[order.rows[whole & ~complete]].sum()),
        )

    @cached_property
    def _moments(self) -> Moments:
        """The moments of the plan's measure, from its tables if they hold the covariance of all rankers."""
        pool, queries = self.tables.pool, self.tables.queries
        if len(pool.names) > 2 or self.measure != self.tables.measure or self.tables.manifest.later_rankers:
            return pool.moments(self.measure)
        mean, variance = (queries[[f"q_{what}_{name}" for name in pool.names]].to_numpy() for what in ("mean", "var"))
        covariance = np.zeros((len(mean), len(pool.names), len(pool.names)))
        for s in range(len(pool.names)):
            covariance[:, s, s] = variance[:, s]
        if len(pool.names) == 2:
            covariance[:, 0, 1] = covariance[:, 1, 0] = queries["q_cov"].to_numpy()
        return Moments(mean, covariance)

    def labelled(self, label: np.ndarray) -> QuerySequence:
        """The same order with more labels; what the labels so far said is not computed again.

        Shapes: label int64[N].
        """
        other = copy(self)
        vars(other).pop("progress", None)
        other.label = label
        return other

    def _values(self) -> np.ndarray:
        """float64[n, k], the values of the queries in the order in which they come; NaN where they are not judged."""
        new = np.flatnonzero(self.progress.complete & np.isnan(self._measured).all(axis=1))
        if len(new):
            values = judged_values(self.tables.pool, self.label, self.measure, self.order.rows[new])
            self._measured = self._measured.copy()
            self._measured[new] = values
        return self._measured

    def _population(self, contrast: Contrast) -> Units:
        if contrast not in self._units:
            pool, order, weights = self.tables.pool, self.order, contrast.weights(len(self.tables.pool.names))
            bounds = contrast_bounds(self.measure, pool.indptr, pool.ranks, pool.max_grade, weights)
            moments = contrast_moments(self._moments, contrast.first, contrast.second)
            units = query_units(QueryOrder(order.rows, order.q), moments, bounds, pool.query_weight)
            self._units[contrast] = whole_population(units, self.tables.manifest.rest, contrast)
        return self._units[contrast]

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged queries say of a contrast."""
        pool, order, progress = self.tables.pool, self.order, self.progress
        rows, units = order.rows, self._population(contrast)
        known = Known(*[pool.query_weight[rows] * contrast.of(self._values())] * 3)
        if progress.open:
            partly = partly_judged(self.measure, pool, self.label, contrast.weights(len(pool.names)), units, rows)
            known = Known(*(np.where(progress.complete, each, part) for each, part in zip(known, partly, strict=True)))
        arguments = self.tables.manifest.arguments
        cost = order.cost if arguments.draws is None else np.ones(len(rows))
        budget, rest = float(arguments.budget or arguments.draws or 0), self.tables.manifest.rest
        stakes = stakes_of_population(units, rest, alpha) if rest else planned_stakes(units, cost, budget, alpha)
        return Proof(units.judged(known.value, progress.reach, *known[1:]), units, progress.reach, stakes)


def sequence_of(
    tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool = True
) -> QuerySequence | DocumentSequence:
    """The order in which the units of a plan come, with the labels so far.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.
        measure: What is measured; in plans of documents it is the plan's own.
        bridged: Whether units count that come after one that is not fully judged.

    Raises:
        ValueError: If the plan has no successive order.
    """
    return DocumentSequence(tables, label, bridged) if tables.rounds else QuerySequence(tables, label, measure, bridged)
