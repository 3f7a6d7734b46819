"""The units of a plan in their order, how far they are judged, and what they contribute to a contrast [theory 14]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Units
from pt_active.inference.stopping.verdicts import Proof
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.making.documents import gain_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import judged_values, model_moments
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.plans.making.queries import DrawingOrder
from pt_active.relevance.bounds import contrast_bounds, document_bounds
from pt_active.relevance.measures import RankForm, has_rank_form
from pt_active.relevance.moments import Moments, discounts
from pt_active.sampling.chances import expected_size
from pt_active.sampling.designs import contrast_moments
from pt_active.sampling.documents import hedged
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.successive import Succession, succession_of

RANGE_VARIANCE = 1e-3
"""Share of its squared range that is added to the variance of each unit, so that none counts as certain."""


class UnitOrder:
    """The units of a plan in the order in which they come, and how far they are judged.

    Attributes:
        tables: The plan.
        label: int64[N], the labels so far; -1 where there is none.
        order: int64[n], the documents in their order.
        ends: int64[T], how many of them have come with each unit; ``documents`` is how many come with it alone.
        cost: float64[T], what each unit costs.
        drawn: How many units the plan asks for.
        complete: bool[T], which units count; all their documents have labels, but in parts with gaps.
        open: The number of units with gaps although they count, or later ones do.
        reach: The number of units up to the last that counts; ``judged`` are those of them without a gap.
        spent: float64[T+1], what units cost before the first and up to each if all are judged.
        paid: float64[T+1], what those that count cost.
    """

    unit: str

    def __init__(
        self,
        tables: PlanTables,
        label: np.ndarray,
        bridged: bool,
        order: np.ndarray,
        ends: np.ndarray,
        cost: np.ndarray,
        drawn: int,
    ) -> None:
        self.tables, self.label = tables, label
        self.order, self.ends, self.cost, self.drawn = order, ends, cost, drawn
        self.documents = np.diff(ends, prepend=0)
        # int64[T], how many documents of each unit have no label
        self.lacking = np.diff(np.r_[0, np.cumsum(label[order] < 0)][ends], prepend=0)
        self.complete = self._counting(bridged)
        reached = np.flatnonzero(self.complete)
        self.reach = int(reached[-1]) + 1 if len(reached) else 0
        self.open = int((self.lacking[: self.reach] > 0).sum())
        self.judged = self.reach - self.open
        self.spent = np.r_[0.0, np.cumsum(cost)]
        self.paid = np.r_[0.0, np.cumsum(np.where(self.complete, cost, 0.0))]

    def _counting(self, bridged: bool) -> np.ndarray:
        """bool[T], which units count; ``bridged`` says whether those do that come after one with gaps."""
        judged = (self.lacking == 0) & (np.arange(len(self.ends)) < self.drawn)
        return judged if bridged else np.logical_and.accumulate(judged)

    @cached_property
    def counts(self) -> dict[str, Any]:
        """The fields of `Status` from ``unit`` to ``budget``, and ``everything``."""
        has, wanted = self.label >= 0, self.order[: self.ends[self.drawn - 1] if self.drawn else 0]
        used = self.order[np.repeat(self.complete, self.documents)]
        lacking = wanted[~has[wanted]]
        unpaid = self.tables.pool.document_cost[used[~has[used]]].sum()
        return {
            "unit": self.unit,
            "n_judged": int(has[used].sum()),
            "left_out": int(has[np.setdiff1d(wanted, used)].sum()),
            "judged": self.judged,
            "open": self.open,
            "drawn": self.drawn,
            "waiting": self.named(lacking[0]) if len(lacking) else None,
            "spent": float(self.paid[-1] - unpaid),
            "budget": float(self.spent[self.drawn]),
            "everything": everything_of(self.tables),
        }

    def named(self, document: int) -> str:
        """The unit of a document, in words: the document itself unless a subclass has others."""
        pool = self.tables.pool
        return f"document {pool.docno[document]} of query {pool.qids[pool.query_of_document[document]]}"


class UnitSequence(UnitOrder, ABC):
    """Units of which each was drawn from those that were left. Subclasses know what they contribute."""

    @abstractmethod
    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged units say about a contrast, and bets that do not depend on the order to come."""


class _Queries(UnitSequence):
    unit = "query"

    def __init__(self, tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool) -> None:
        self.measure = measure
        self.drawing = drawing = DrawingOrder.of(tables)
        pool, number = tables.pool, len(drawing.rows)
        place = np.full(len(pool.queries), number)
        place[drawing.rows] = np.arange(number)
        place = place[pool.query_of_document]
        order = np.flatnonzero(pool.seen(measure) & (place < number))
        order = order[np.argsort(place[order], kind="stable")]
        ends = np.cumsum(np.bincount(place[order], minlength=number))
        # A census asks for queries too that the design never draws.
        cut = tables.manifest.cut
        drawn = min(cut.of if cut else drawing.drawn, number)
        super().__init__(tables, label, bridged, order, ends, drawing.cost, drawn)

    def named(self, document: int) -> str:
        return f"query {self.tables.pool.qids[self.tables.pool.query_of_document[document]]}"

    @cached_property
    def _moments(self) -> Moments:
        return model_moments(self.tables, self.measure)

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[T, k], the measure of each ranker in the queries that are judged; NaN in others."""
        values = np.full((len(self.ends), len(self.tables.pool.names)), np.nan)
        rows = self.drawing.rows[self.complete]
        values[self.complete] = judged_values(self.tables.pool, self.label, self.measure, rows)
        return values

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        pool, rows, arguments = self.tables.pool, self.drawing.rows, self.tables.manifest.arguments
        units = query_units(pool, self.measure, self._moments, contrast, rows, self.drawing.q)
        expected = np.stack([units.mean, units.low, units.high])
        if self.open and has_rank_form(self.measure):
            seen = seen_by(self.measure, pool)
            if seen.form.family == "additive":
                weight = document_weight(seen, contrast.weights(len(pool.names)))
                parts = document_contributions(seen.form, pool.grades, weight, self.label)
                sums = [np.bincount(seen.query, part, len(pool.queries)) for part in parts]
                expected = np.stack(sums)[:, rows]
        known = pool.query_weight[rows] * contrast.of(self._values)
        value, least, most = np.where(self.complete, known, expected)
        if arguments.draws is not None:
            stakes = planned_stakes(units, np.ones(len(self.cost)), arguments.draws, alpha)
        else:
            stakes = planned_stakes(units, self.cost, float(arguments.budget or 0), alpha)
        return Proof(units.judged(value, self.reach, least, most), units, stakes)


class _Documents(UnitSequence):
    unit = "document"

    def __init__(self, tables: PlanTables, label: np.ndarray, bridged: bool) -> None:
        assert tables.documents is not None
        cut, sample = tables.manifest.cut, tables.documents.sample
        found = succession_of(sample, tables.prices)
        if found is None:
            raise ValueError(f"the documents were drawn at once, by {sample.design.drawing}: they have no order")
        self.succession, ends = found, np.arange(len(found.order)) + 1
        drawn = cut.of if cut else int(sample.drawn.sum())
        super().__init__(tables, label, bridged, found.order, ends, np.diff(found.spent, prepend=0.0), drawn)

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        pool, budget = self.tables.pool, float(self.tables.manifest.arguments.budget or 0)
        seen = seen_by(self.tables.measure, pool)
        weight = document_weight(seen, contrast.weights(len(pool.names)))
        units = document_units(seen.form, pool.grades, self.succession, weight)
        contributions = document_contributions(seen.form, pool.grades, weight, self.label)
        value, least, most = contributions[:, self.order]
        stakes = document_stakes(units, self.succession, budget, alpha)
        return Proof(units.judged(value, self.reach, least, most), units, stakes)


def sequence_of(tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool = True) -> UnitSequence:
    """The order in which the units of a plan come, with the labels so far, int64[N].

    Plans of documents measure their own measure. ``bridged`` says whether units count that come after one that is not
    fully judged.

    Raises:
        ValueError: If the plan has no successive order.
    """
    return _Documents(tables, label, bridged) if tables.documents else _Queries(tables, label, measure, bridged)


def everything_of(tables: PlanTables) -> float:
    """What it costs to judge all that can change a result: the pool, or what is drawn and all else that counts."""
    if tables.documents is None:
        return float(tables.manifest.pool_cost)
    prices, sample = tables.prices, tables.documents.sample
    drawn = sample.drawn
    return float(sample.spent + (prices.spent(drawn | (gain_of(tables) > 0)) - prices.spent(drawn)).sum())


def query_units(
    pool: Pool, measure: irm.Measure, moments: Moments, contrast: Contrast, rows: np.ndarray, rate: np.ndarray
) -> Units:
    """The queries at some rows, in the order in which they come, as units of one contrast."""
    weight = pool.query_weight
    bounds = contrast_bounds(measure, pool.indptr, pool.ranks, pool.max_grade, contrast.weights(len(pool.names)))
    mean, variance = contrast_moments(moments, contrast.first, contrast.second)
    low, high = (weight * bound for bound in bounds)
    _check_reached(high > low, rows, "queries")
    spread = weight**2 * (variance + weight @ variance) + RANGE_VARIANCE * (high - low) ** 2
    mean = np.clip(weight * mean, low, high)
    return Units(rate, mean[rows], spread[rows], low[rows], high[rows])


def document_weight(seen: DocumentPool, contrast: np.ndarray) -> np.ndarray:
    """float64[N], how much the value of each document counts in a contrast, float64[k]."""
    return np.asarray(seen.weight[seen.query] * (contrast @ discounts(seen.form, seen.ranks)))


def document_units(form: RankForm, grades: np.ndarray, order: Succession, weight: np.ndarray) -> Units:
    """The documents as units of one contrast, in which they weigh float64[N]."""
    variables, documents, rate = Variables.of(form, grades), order.order, order.design.rate
    assert rate is not None, "documents that come one after the other have rates"
    _check_reached(weight != 0, documents, "documents")
    low, high = document_bounds(form, weight)
    spread = weight**2 * hedged(variables, weight[None], 1.0).variance + RANGE_VARIANCE * (high - low) ** 2
    columns = rate, weight * variables.mean, spread, low, high
    return Units(*(column[documents] for column in columns))


def document_contributions(form: RankForm, grades: np.ndarray, weight: np.ndarray, label: np.ndarray) -> np.ndarray:
    """float64[3, N]: what documents contribute by their labels, and without one what is expected, least and most."""
    unknown = weight * Variables.of(form, grades).mean, *document_bounds(form, weight)
    return np.where(label >= 0, weight * form.values[label], np.stack(unknown))


def _check_reached(counts: np.ndarray, rows: np.ndarray, what: str) -> None:
    """Raise if units never come that can change the result."""
    if never := int(np.delete(counts, rows).sum()):
        changing = f"{never} {what} that can change the result are never drawn"
        raise ValueError(f"{changing}, so nothing can be proved; `rank` and `compare` estimate it")


def planned_stakes(units: Units, cost: np.ndarray, budget: float, alpha: float) -> Stakes:
    """Bets for about as many draws as a budget is expected to pay for; ``cost`` is float64[T], that of each draw."""
    variance = float(units.expected[0]) if len(units.expected) else 1.0
    return Stakes.planned(variance, len(units.rate), expected_size(units.rate, cost, budget), alpha)


def document_stakes(units: Units, order: Succession, budget: float, alpha: float) -> Stakes:
    """The same for documents; what opens a query depends on the order, so openings count as their share of it all."""
    cost = order.prices.cost[order.order]
    return planned_stakes(units, cost, budget * float(cost.sum() / order.spent[-1]), alpha)
