"""The units of a plan in their order, how far they are judged, and what they show [theory 14]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.rounds import judged_before
from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Draws, Units
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.units import (
    Contributions,
    Known,
    document_stakes,
    document_units,
    partly_judged,
    planned_stakes,
    query_units,
)
from pt_active.plans.making.documents import gain_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import judged_values, model_moments
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import DrawingOrder
from pt_active.relevance.moments import Moments
from pt_active.sampling.sample import Costs
from pt_active.sampling.successive import succession_of


@dataclass(frozen=True)
class Order:
    """Units that come one after the other.

    Shapes: documents int64[n] in their order, ends int64[T] how many have come with each draw, cost float64[T].
    """

    documents: np.ndarray
    ends: np.ndarray
    cost: np.ndarray
    asked: int

    @cached_property
    def counts(self) -> np.ndarray:
        """int64[T], how many documents come with each draw."""
        return np.diff(self.ends, prepend=0)

    def judged(self, has: np.ndarray) -> np.ndarray:
        """bool[T], which draws that the plan asks for have all labels; ``has`` is bool[N]."""
        lacking = np.r_[0, np.cumsum(~has[self.documents])]
        return np.asarray((np.diff(lacking[self.ends], prepend=0) == 0) & (np.arange(len(self.ends)) < self.asked))


class UnitSource(ABC):
    """What depends on the kind of unit: the order, and what each unit contributes to a contrast."""

    unit: str
    order: Order

    def __init__(self, tables: PlanTables) -> None:
        self.tables = tables
        self.kept: dict[Contrast, tuple[Units, Contributions]] = {}

    @property
    def wanted(self) -> np.ndarray:
        """bool[N], the documents that the plan asks for."""
        wanted = np.zeros(len(self.tables.pool.docno), dtype=bool)
        wanted[self.order.documents[: self.order.ends[self.order.asked - 1] if self.order.asked else 0]] = True
        return wanted

    @abstractmethod
    def named(self, document: int) -> str:
        """The unit of a document, in words."""

    @abstractmethod
    def units(self, contrast: Contrast) -> tuple[Units, Contributions]:
        """The units, and what labels let them contribute."""

    def stakes(self, units: Units, alpha: float) -> Stakes:
        """How bets on the units are spread; they must not depend on the order to come."""
        arguments, cost = self.tables.manifest.arguments, self.order.cost
        budget = float(arguments.budget or arguments.draws or 0)
        return planned_stakes(units, cost if arguments.draws is None else np.ones(len(cost)), budget, alpha)


class _Queries(UnitSource):
    unit = "query"

    def __init__(self, tables: PlanTables, measure: irm.Measure) -> None:
        super().__init__(tables)
        self.measure = measure
        self.drawing = drawing = DrawingOrder.of(tables)
        pool, rows = tables.pool, drawing.rows
        place = np.full(len(pool.queries), len(rows))
        place[rows] = np.arange(len(rows))
        place = place[pool.query_of_document]
        own = np.flatnonzero(pool.seen(measure) & (place < len(rows)))
        own = own[np.argsort(place[own], kind="stable")]
        ends = np.cumsum(np.bincount(place[own], minlength=len(rows)))
        cut = tables.manifest.cut
        # A census asks for queries too that the design never draws.
        self.order = Order(own, ends, drawing.cost, min(cut.of if cut else drawing.drawn, len(rows)))
        self._values = np.full((len(rows), len(pool.names)), np.nan)

    @cached_property
    def _moments(self) -> Moments:
        return model_moments(self.tables, self.measure)

    def named(self, document: int) -> str:
        return f"query {self.tables.pool.qids[self.tables.pool.query_of_document[document]]}"

    def units(self, contrast: Contrast) -> tuple[Units, Contributions]:
        if contrast not in self.kept:
            rows, rate = self.drawing.rows, self.drawing.q
            units = query_units(self.tables.pool, self.measure, self._moments, contrast, rows, rate)
            self.kept[contrast] = units, lambda label: self._known(contrast, units, label)
        return self.kept[contrast]

    def _known(self, contrast: Contrast, units: Units, label: np.ndarray) -> Known:
        pool, rows = self.tables.pool, self.drawing.rows
        complete = self.order.judged(label >= 0)
        new = np.flatnonzero(complete & np.isnan(self._values).all(axis=1))
        if len(new):
            self._values[new] = judged_values(pool, label, self.measure, rows[new])
        known = Known(*[pool.query_weight[rows] * contrast.of(self._values)] * 3)
        if not complete[complete.argmin() :].any():
            return known
        partly = partly_judged(self.measure, pool, label, contrast.weights(len(pool.names)), units, rows)
        return Known(*(np.where(complete, each, part) for each, part in zip(known, partly, strict=True)))


class _Documents(UnitSource):
    unit = "document"

    def __init__(self, tables: PlanTables) -> None:
        super().__init__(tables)
        pool, manifest = tables.pool, tables.manifest
        sample = tables.rounds[0].sample
        found = succession_of(sample, Costs(pool.indptr, pool.document_cost, manifest.arguments.per_query))
        if found is None:
            raise ValueError(f"the documents were drawn at once, by {manifest.arguments.design}: they have no order")
        self.succession, number = found, len(found.order)
        cost, cut = np.diff(found.spent, prepend=0.0), manifest.cut
        self.order = Order(found.order, np.arange(number) + 1, cost, cut.of if cut else int(sample.drawn.sum()))

    def named(self, document: int) -> str:
        pool = self.tables.pool
        return f"document {pool.docno[document]} of query {pool.qids[pool.query_of_document[document]]}"

    def units(self, contrast: Contrast) -> tuple[Units, Contributions]:
        if contrast not in self.kept:
            pool, weights = self.tables.pool, contrast.weights(len(self.tables.pool.names))
            seen = seen_by(self.tables.measure, pool)
            self.kept[contrast] = document_units(seen, pool.grades, self.succession, weights)
        return self.kept[contrast]

    def stakes(self, units: Units, alpha: float) -> Stakes:
        return document_stakes(units, self.succession, float(self.tables.manifest.arguments.budget or 0), alpha)


def source_of(tables: PlanTables, measure: irm.Measure) -> UnitSource:
    """The units of a plan."""
    return _Documents(tables) if tables.rounds else _Queries(tables, measure)


def everything_of(tables: PlanTables) -> float:
    """What it costs to judge all that can change a result: the pool, or what is drawn and all else that counts."""
    made, pool = tables.manifest, tables.pool
    if not tables.rounds:
        return float(made.pool_cost)
    prices, drawn = Costs(pool.indptr, pool.document_cost, made.arguments.per_query), judged_before(tables.rounds)
    spent = sum(each.sample.spent for each in tables.rounds)
    return float(spent + (prices.spent(drawn | (gain_of(tables) > 0)) - prices.spent(drawn)).sum())


@dataclass(frozen=True)
class Proof:
    """What the judged units say about a contrast."""

    draws: Draws  # All draws so far
    units: Units  # The units, judged or not
    stakes: Stakes  # How the bets are spread


@dataclass(frozen=True)
class UnitSequence:
    """The units of a plan in the order in which they come, with the labels so far, int64[N]."""

    source: UnitSource
    label: np.ndarray
    bridged: bool

    @property
    def tables(self) -> PlanTables:
        """The plan."""
        return self.source.tables

    @cached_property
    def complete(self) -> np.ndarray:
        """bool[T], which draws are judged and count."""
        judged = self.source.order.judged(self.label >= 0)
        return judged if self.bridged else np.logical_and.accumulate(judged)

    @property
    def documents(self) -> np.ndarray:
        """int64[T], how many labels each draw takes."""
        return self.source.order.counts

    @property
    def drawn(self) -> int:
        """How many draws the plan asks for."""
        return self.source.order.asked

    @cached_property
    def reach(self) -> int:
        """The number of draws up to the last that is judged."""
        return int(np.flatnonzero(self.complete)[-1]) + 1 if self.complete.any() else 0

    @property
    def judged(self) -> int:
        """The number of draws that are judged."""
        return int(self.complete.sum())

    @property
    def open(self) -> int:
        """The number of draws that are not judged although later ones are."""
        return self.reach - self.judged

    @cached_property
    def spent(self) -> np.ndarray:
        """float64[T+1], what the draws cost before the first and up to each if all are judged."""
        return np.r_[0.0, np.cumsum(self.source.order.cost)]

    @cached_property
    def paid(self) -> np.ndarray:
        """float64[T+1], what those that are judged cost before the first and up to each."""
        return np.r_[0.0, np.cumsum(np.where(self.complete, self.source.order.cost, 0.0))]

    @property
    def waiting(self) -> str | None:
        """The first unit that is not judged, in words; None if the plan asks for no more."""
        order, judged = self.source.order, self.source.order.judged(self.label >= 0)
        if judged[: order.asked].all():
            return None
        at = int(judged.argmin())
        first = order.documents[order.ends[at] - order.counts[at] :]
        return self.source.named(first[self.label[first] < 0][0])

    @cached_property
    def counts(self) -> dict[str, Any]:
        """The fields of `Status` from ``unit`` to ``budget``, and ``everything``."""
        order, used = self.source.order, np.zeros(len(self.label), dtype=bool)
        used[order.documents[np.repeat(self.complete, order.counts)]] = True
        return {
            "unit": self.source.unit,
            "n_judged": int(order.counts[self.complete].sum()),
            "left_out": int((self.source.wanted & ~used & (self.label >= 0)).sum()),
            "judged": self.judged,
            "open": self.open,
            "drawn": order.asked,
            "waiting": self.waiting,
            "spent": float(self.paid[-1]),
            "budget": float(self.spent[order.asked]),
            "everything": everything_of(self.tables),
        }

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged units say about a contrast."""
        units, contributions = self.source.units(contrast)
        value, least, most = contributions(self.label)
        return Proof(units.judged(value, self.reach, least, most), units, self.source.stakes(units, alpha))


def sequence_of(tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool = True) -> UnitSequence:
    """The order in which the units of a plan come, with the labels so far, int64[N].

    Plans of documents measure their own measure. ``bridged`` says whether units count that come after one that is not
    fully judged.

    Raises:
        ValueError: If the plan has no successive order.
    """
    return UnitSequence(source_of(tables, measure), label, bridged)
