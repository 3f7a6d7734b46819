"""The units of a plan in their order, how far they are judged, and what they show [theory 14]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Draws, Units
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.looks import PLANNED
from pt_active.plans.answers.units import (
    Contributions,
    Known,
    document_stakes,
    document_units,
    partly_judged,
    planned_stakes,
    query_units,
)
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import judged_values, model_moments
from pt_active.plans.making.parts import in_parts
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import DrawingOrder
from pt_active.relevance.bounds import contrast_bounds
from pt_active.relevance.measures import has_rank_form
from pt_active.sampling.designs import contrast_moments
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

    def everything(self, units: Units) -> float:
        """What it costs to judge what the plan asks for, and all else that can change a contrast."""
        return float(self.order.cost.sum())

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
        self._moments = model_moments(tables, measure)
        self._values = np.full((len(rows), len(pool.names)), np.nan)

    def named(self, document: int) -> str:
        return f"query {self.tables.pool.qids[self.tables.pool.query_of_document[document]]}"

    def units(self, contrast: Contrast) -> tuple[Units, Contributions]:
        if contrast not in self.kept:
            pool, drawing, weights = self.tables.pool, self.drawing, contrast.weights(len(self.tables.pool.names))
            bounds = contrast_bounds(self.measure, pool.indptr, pool.ranks, pool.max_grade, weights)
            moments = contrast_moments(self._moments, contrast.first, contrast.second)
            units = query_units(drawing.rows, drawing.q, moments, bounds, pool.query_weight)
            self.kept[contrast] = units, lambda label: self._known(contrast, units, label)
        return self.kept[contrast]

    def _known(self, contrast: Contrast, units: Units, label: np.ndarray) -> Known:
        pool, rows = self.tables.pool, self.drawing.rows
        complete = self.order.judged(label >= 0)
        new = np.flatnonzero(complete & np.isnan(self._values).all(axis=1))
        if len(new):
            self._values[new] = judged_values(pool, label, self.measure, rows[new])
        known = Known(*[pool.query_weight[rows] * contrast.of(self._values)] * 3)
        if complete[: last_of(complete)].all():
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
            at_parts = f', after each of its parts looks="{PLANNED}"' if in_parts(tables) else ""
            other = ', or make a plan with design="successive"' if has_rank_form(tables.measure) else ""
            raise ValueError(
                f"the documents were drawn at once, by {manifest.arguments.design}, so nothing can be proved after "
                f"each label; when everything is judged, use looks=None{at_parts}{other}"
            )
        self.succession, number = found, len(found.order)
        cost = np.diff(found.spent, prepend=0.0)
        self.order = Order(found.order, np.arange(number) + 1, cost, int(sample.drawn.sum()))

    def named(self, document: int) -> str:
        pool = self.tables.pool
        return f"document {pool.docno[document]} of query {pool.qids[pool.query_of_document[document]]}"

    def units(self, contrast: Contrast) -> tuple[Units, Contributions]:
        if contrast not in self.kept:
            pool, weights = self.tables.pool, contrast.weights(len(self.tables.pool.names))
            seen = seen_by(self.tables.measure, pool)
            self.kept[contrast] = document_units(seen, pool.grades, self.succession, weights)
        return self.kept[contrast]

    def everything(self, units: Units) -> float:
        counts = units.high > units.low
        counts[: self.order.asked] = True
        drawn = np.zeros(len(self.tables.pool.docno), dtype=bool)
        drawn[self.order.documents[counts]] = True
        return float(self.succession.prices.spent(drawn).sum())

    def stakes(self, units: Units, alpha: float) -> Stakes:
        return document_stakes(units, self.succession, float(self.tables.manifest.arguments.budget or 0), alpha)


def source_of(tables: PlanTables, measure: irm.Measure) -> UnitSource:
    """The units of a plan."""
    return _Documents(tables) if tables.rounds else _Queries(tables, measure)


def last_of(counts: np.ndarray) -> int:
    """The number of draws up to the last that counts."""
    return int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0


@dataclass(frozen=True)
class Progress:
    """How far the units of a plan are judged, in the order in which they come."""

    unit: str  # What a unit is: ``query`` or ``document``
    cost: np.ndarray  # float64[n], the cost of each draw, of those that the plan asks for and those that could follow
    drawn: int  # How many draws the plan asks for
    complete: np.ndarray  # bool[n], which draws are judged and count
    documents: np.ndarray  # int64[n], how many labels each draw takes
    waiting: str | None  # The first unit that is not judged, in words; None if the plan asks for no more
    left_out: int  # How many labels of the plan belong to units that are not fully judged, or do not count

    @cached_property
    def reach(self) -> int:
        """The number of draws up to the last that is judged."""
        return last_of(self.complete)

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
        """float64[n+1], what the draws cost before the first and up to each if all are judged."""
        return np.r_[0.0, np.cumsum(self.cost)]

    @cached_property
    def paid(self) -> np.ndarray:
        """float64[n+1], what those that are judged cost before the first and up to each."""
        return np.r_[0.0, np.cumsum(np.where(self.complete, self.cost, 0.0))]


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

    @cached_property
    def _judged(self) -> np.ndarray:
        """bool[T], which draws are judged and count."""
        judged = self.source.order.judged(self.label >= 0)
        return judged if self.bridged else np.logical_and.accumulate(judged)

    @cached_property
    def progress(self) -> Progress:
        """How far the units are judged."""
        order, label, counts, used = self.source.order, self.label, self._judged, np.zeros(len(self.label), dtype=bool)
        used[order.documents[np.repeat(counts, order.counts)]] = True
        waiting, judged = None, order.judged(label >= 0)
        if not judged[: order.asked].all():
            at = int(judged.argmin())
            first = order.documents[order.ends[at] - order.counts[at] :]
            waiting = self.source.named(first[label[first] < 0][0])
        return Progress(
            unit=self.source.unit,
            cost=order.cost,
            drawn=order.asked,
            complete=counts,
            documents=order.counts,
            waiting=waiting,
            left_out=int((self.source.wanted & ~used & (label >= 0)).sum()),
        )

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged units say about a contrast."""
        units, contributions = self.source.units(contrast)
        value, least, most = contributions(self.label)
        return Proof(units.judged(value, last_of(self._judged), least, most), units, self.source.stakes(units, alpha))


def sequence_of(tables: PlanTables, label: np.ndarray, measure: irm.Measure, bridged: bool = True) -> UnitSequence:
    """The order in which the units of a plan come, with the labels so far, int64[N].

    Plans of documents measure their own measure. ``bridged`` says whether units count that come after one that is not
    fully judged.

    Raises:
        ValueError: If the plan has no successive order.
    """
    return UnitSequence(source_of(tables, measure), label, bridged)
