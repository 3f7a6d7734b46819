"""Which units does a plan have, in which order do they come, and what do labels let them contribute [theory 14]?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.inference.rounds import judged_before
from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Units
from pt_active.inference.stopping.looks import ASYMPTOTIC
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.units import (
    Contributions,
    Known,
    check_reached,
    document_stakes,
    document_units,
    judged_from_the_top,
    kept_sums,
    partly_judged,
    planned_stakes,
    query_units,
    with_stand_ins,
)
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import judged_values, model_moments
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import DrawingOrder
from pt_active.relevance.bounds import contrast_bounds
from pt_active.relevance.measures import has_rank_form
from pt_active.relevance.moments import Moments
from pt_active.sampling.chances import EXPONENTIAL, within_budget
from pt_active.sampling.designs import contrast_moments
from pt_active.sampling.sample import Costs
from pt_active.sampling.successive import succession_of


@dataclass(frozen=True)
class Block:
    """Units that were drawn together and come one after the other.

    Shapes: documents int64[n] in their order, ends int64[T] how many have come with each draw, cost float64[T].
    """

    documents: np.ndarray
    ends: np.ndarray
    cost: np.ndarray
    asked: int
    budget: float = np.inf
    nested: bool = False

    @cached_property
    def counts(self) -> np.ndarray:
        """int64[T], how many documents come with each draw."""
        return np.diff(self.ends, prepend=0)

    def judged(self, has: np.ndarray) -> np.ndarray:
        """bool[T], which draws that the plan asks for have all labels; ``has`` is bool[N]."""
        lacking = np.r_[0, np.cumsum(~has[self.documents])]
        return np.asarray((np.diff(lacking[self.ends], prepend=0) == 0) & (np.arange(len(self.ends)) < self.asked))

    @cached_property
    def chosen_by_cost(self) -> bool:
        """Whether another unit might have been drawn than the one that would have overspent, so that costs tell of it.

        What a step costs depends on what is known, so any may have been left out.
        """
        left = self.cost[self.asked :]
        return len(left) > 0 and (
            self.nested or bool(within_budget(self.cost[: self.asked].sum() + left.min(), self.budget))
        )


class UnitSource(ABC):
    """What depends on the kind of unit: the blocks, and what each unit contributes to a contrast."""

    unit: str
    blocks: Sequence[Block]
    counted: np.ndarray | bool = True
    """bool[N], the documents whose labels can be used at all."""

    def __init__(self, tables: PlanTables) -> None:
        self.tables = tables
        self.kept: dict[tuple[object, ...], tuple[Units, Contributions]] = {}

    @property
    def wanted(self) -> np.ndarray:
        """bool[N], the documents that the plan asks for."""
        wanted = np.zeros(len(self.tables.pool.docno), dtype=bool)
        for each in self.blocks:
            wanted[each.documents[: each.ends[each.asked - 1] if each.asked else 0]] = True
        return wanted

    def has(self, number: int, label: np.ndarray) -> np.ndarray:
        """bool[N], the labels that count in a block."""
        return np.asarray(label >= 0)

    @abstractmethod
    def named(self, document: int) -> str:
        """The unit of a document, in words."""

    @abstractmethod
    def units(self, contrast: Contrast, number: int, label: np.ndarray) -> tuple[Units, Contributions]:
        """The units of a block, and what labels let them contribute."""

    def stakes(self, units: Units, alpha: float) -> Stakes:
        """How bets on the units of the first block are spread; they must not depend on the order to come."""
        rest, arguments = self.tables.manifest.rest, self.tables.manifest.arguments
        if rest is not None and rest.units:
            return Stakes.planned(float(units.expected[0]), rest.units, rest.expected_draws, alpha)
        return self.planned(units, float(arguments.budget or arguments.draws or 0), alpha)

    @abstractmethod
    def planned(self, units: Units, budget: float, alpha: float) -> Stakes:
        """Bets for about as many draws as a budget pays for."""


class _Queries(UnitSource):
    unit = "query"

    def __init__(self, tables: PlanTables, measure: irm.Measure) -> None:
        super().__init__(tables)
        self.measure = measure
        if not tables.manifest.any_time or measure != tables.measure:
            check_whole(tables, "prove anything before all is judged", "ask at the end: ", Argument("looks", None))
        self.order = order = DrawingOrder.of(tables)
        if order.law is not EXPONENTIAL:
            raise ArgumentError(
                "the plan was saved in an earlier format, whose queries come in another order; use ",
                Argument("looks", ASYMPTOTIC),
            )
        pool, rows = tables.pool, order.rows
        self.counted = pool.seen(measure)
        place = np.full(len(pool.queries), len(rows))
        place[rows] = np.arange(len(rows))
        own = np.flatnonzero(self.counted & (place[pool.query_of_document] < len(rows)))
        own = own[np.argsort(place[pool.query_of_document[own]], kind="stable")]
        ends = np.cumsum(np.bincount(place[pool.query_of_document[own]], minlength=len(rows)))
        cut = tables.manifest.cut
        # A census asks for queries too that the design never draws.
        self.blocks = [Block(own, ends, order.cost, min(cut.of if cut else order.drawn, len(rows)))]
        self._values = np.full((len(rows), len(pool.names)), np.nan)

    def named(self, document: int) -> str:
        return f"query {self.tables.pool.qids[self.tables.pool.query_of_document[document]]}"

    def units(self, contrast: Contrast, number: int, label: np.ndarray) -> tuple[Units, Contributions]:
        if (contrast,) not in self.kept:
            pool, order, weights = self.tables.pool, self.order, contrast.weights(len(self.tables.pool.names))
            bounds = contrast_bounds(self.measure, pool.indptr, pool.ranks, pool.max_grade, weights)
            moments = contrast_moments(self._moments, contrast.first, contrast.second)
            units = query_units(order.rows, order.q, moments, bounds, pool.query_weight)
            rest = self.tables.manifest.rest
            if rest is not None and (others := kept_sums(rest, contrast)) is not None:
                units = with_stand_ins(units, rest.stand_ins, others)
            self.kept[contrast,] = units, lambda label: self._known(contrast, units, label)
        return self.kept[contrast,]

    def _known(self, contrast: Contrast, units: Units, label: np.ndarray) -> Known:
        pool, rows, (block,) = self.tables.pool, self.order.rows, self.blocks
        complete = block.judged(self.has(0, label))
        new = np.flatnonzero(complete & np.isnan(self._values).all(axis=1))
        if len(new):
            self._values[new] = judged_values(pool, label, self.measure, rows[new])
        known = Known(*[pool.query_weight[rows] * contrast.of(self._values)] * 3)
        if complete[: last_of(complete)].all():
            return known
        partly = partly_judged(self.measure, pool, label, contrast.weights(len(pool.names)), units, rows)
        return Known(*(np.where(complete, each, part) for each, part in zip(known, partly, strict=True)))

    @cached_property
    def _moments(self) -> Moments:
        return model_moments(self.tables, self.measure)

    def planned(self, units: Units, budget: float, alpha: float) -> Stakes:
        by_number = self.tables.manifest.arguments.draws is not None
        return planned_stakes(units, np.ones(len(self.order.cost)) if by_number else self.order.cost, budget, alpha)


class _Documents(UnitSource):
    def __init__(self, tables: PlanTables) -> None:
        super().__init__(tables)
        pool, manifest = tables.pool, tables.manifest
        overhead = manifest.arguments.per_query
        prices = Costs(pool.indptr, pool.document_cost, overhead)
        found = [succession_of(each.sample, prices) for each in tables.rounds]
        self.successions = [each for each in found if each is not None]
        if len(self.successions) < len(tables.rounds):
            other = ", or make a plan with ", Argument("design", "successive")
            raise ArgumentError(
                f"the documents were drawn at once, by {manifest.arguments.design}, so nothing can be proved "
                "after each label; when all is judged, use ",
                Argument("looks", None),
                ", after each of many rounds ",
                Argument("looks", ASYMPTOTIC),
                *(other if has_rank_form(tables.measure) else ()),
            )
        self.unit = self.successions[0].design.unit
        if self.unit != "document":
            check_whole(tables, "prove anything before all is judged", "ask at the end: ", Argument("looks", None))
        self.blocks = [self._block(number) for number in range(len(tables.rounds))]

    def _block(self, number: int) -> Block:
        order, sample, manifest = self.successions[number], self.tables.rounds[number].sample, self.tables.manifest
        asked = int(np.searchsorted(order.ends, int(sample.drawn.sum()), side="right"))
        cost = np.diff(order.spent[order.ends - 1], prepend=0.0)
        if manifest.rest is not None and len(cost) > asked:
            cost[asked:] = manifest.rest.cost / (len(cost) - asked)
        nested = self.unit == "step"
        return Block(order.order, order.ends, cost, asked, manifest.rounds[number].budget, nested)

    @property
    def wanted(self) -> np.ndarray:
        return judged_before(self.tables.rounds)

    def has(self, number: int, label: np.ndarray) -> np.ndarray:
        if not self.blocks[number].nested:
            return super().has(number, label)
        documents = self.successions[number].design.order
        return judged_from_the_top(documents, self.tables.pool.query_of_document[documents], label)

    def named(self, document: int) -> str:
        pool = self.tables.pool
        return f"document {pool.docno[document]} of query {pool.qids[pool.query_of_document[document]]}"

    def units(self, contrast: Contrast, number: int, label: np.ndarray) -> tuple[Units, Contributions]:
        """The units of a block, which change only while labels of earlier blocks come in."""
        pool, rounds, rest = self.tables.pool, self.tables.rounds, self.tables.manifest.rest
        drawn = judged_before(rounds[:number]) if number else np.zeros(len(label), dtype=bool)
        passed = drawn & (label < 0)
        key = contrast, number, int(passed.sum())
        if key not in self.kept:
            seen, before = seen_by(self.tables.measure, pool), np.where(drawn, label, -1)
            about = None if rest is None else rest.of(contrast.first, contrast.second)
            if about is not None:
                check_reached(about.never, "documents")
            added, weights = None if about is None else about.added, contrast.weights(len(pool.names))
            order = self.successions[number]
            units, known = document_units(seen, rounds[number].grades, order, before, passed, weights, added)
            if about is not None and about.beyond is not None:
                units = with_stand_ins(units, len(units.rate) - self.blocks[number].asked, about.beyond)
            self.kept[key] = units, known
        return self.kept[key]

    def planned(self, units: Units, budget: float, alpha: float) -> Stakes:
        return document_stakes(units, self.successions[0], budget, alpha)


def blocks_of(tables: PlanTables, measure: irm.Measure) -> UnitSource:
    """The units of a plan."""
    return _Documents(tables) if tables.rounds else _Queries(tables, measure)


def last_of(counts: np.ndarray) -> int:
    """The number of draws up to the last that counts."""
    return int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
