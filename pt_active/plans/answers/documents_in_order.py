"""What do the labels so far prove, where documents come one after the other [theory 14]?"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.inference.rounds import Round, judged_before
from pt_active.inference.stopping.draws import Draws, Units
from pt_active.inference.stopping.looks import ASYMPTOTIC
from pt_active.plans.answers.beyond import stakes_of_population, with_others
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.proof import Progress, Proof, counted
from pt_active.plans.answers.units import (
    Contributions,
    check_reached,
    document_stakes,
    document_units,
    judged_from_the_top,
)
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import foreign_labels
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.rest import Rest
from pt_active.relevance.measures import has_rank_form
from pt_active.sampling.chances import within_budget
from pt_active.sampling.sample import Prices
from pt_active.sampling.successive import Succession, succession_of


class _Block(NamedTuple):
    """A round of documents that come one after the other.

    Attributes:
        order: Its order.
        drawn: How many of its draws were asked for.
        judged: bool[number of draws], which of these are judged.
        complete: bool[number of draws], which of these count.
    """

    order: Succession
    drawn: int
    judged: np.ndarray
    complete: np.ndarray


class DocumentSequence:
    """A plan of documents that come one after the other, in one block or in several with refitted grades.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.
        bridged: Whether documents count that come after one that is not judged.

    Raises:
        ArgumentError: If a round was drawn at once.
    """

    def __init__(self, tables: PlanTables, label: np.ndarray, bridged: bool = True) -> None:
        self.tables, self.label, self.bridged = tables, label, bridged
        self._units: dict[tuple[Contrast, int, int], tuple[Units, Contributions]] = {}
        pool, overhead = tables.pool, tables.manifest.arguments.per_query
        prices = Prices(pool.indptr, pool.document_cost, overhead)
        found = [succession_of(each.sample, prices) for each in tables.rounds]
        self.successions = [each for each in found if each is not None]
        if len(self.successions) < len(tables.rounds):
            other = ", or make a plan with ", Argument("design", "successive")
            raise ArgumentError(
                f"the documents were drawn at once, by {tables.manifest.arguments.design}, so nothing can be proved "
                "after each label; when all is judged, use ",
                Argument("looks", None),
                ", after each of many rounds ",
                Argument("looks", ASYMPTOTIC),
                *(other if has_rank_form(tables.measure) else ()),
            )
        if self.successions[0].design.unit != "document":
            check_whole(tables, "prove anything before all is judged", "ask at the end: ", Argument("looks", None))

    def labelled(self, label: np.ndarray) -> DocumentSequence:
        """The same order with more labels; what does not depend on them is not computed again.

        Shapes: label int64[N].
        """
        other = copy(self)
        for name in ("progress", "_blocks"):
            vars(other).pop(name, None)
        other.label = label
        return other

    @property
    def _rest(self) -> Rest | None:
        """What the plan does not keep of its population; it has one round then."""
        return self.tables.manifest.rest

    @cached_property
    def _blocks(self) -> list[_Block]:
        """The rounds; one that is not fully judged is the last that counts, unless its documents can be bounded."""
        blocks, before = [], True
        budgets = [each.budget for each in self.tables.manifest.rounds]
        for each, order, budget in zip(self.tables.rounds, self.successions, budgets, strict=True):
            drawn = self._asked(order, each)
            judged = self._judged(order, drawn)
            blocks.append(_Block(order, drawn, judged, counted(judged, self.bridged) & before))
            whole = bool(judged[:drawn].all())
            before = before and (whole or (self._bridges_rounds and not _chosen_by_cost(order, drawn, budget)))
        return blocks

    @property
    def _bridges_rounds(self) -> bool:
        """What a document adds to a cascade depends on those above it, so that no bound on it alone is of use."""
        return self.bridged and self.successions[0].design.unit != "step"

    def _judged(self, order: Succession, drawn: int) -> np.ndarray:
        """bool[number of draws], which of the draws of a round are fully judged."""
        has = self.label >= 0
        if order.design.unit == "step":
            documents = order.design.order
            query = self.tables.pool.query_of_document[documents]
            has = judged_from_the_top(documents, query, self.label)
        starts = np.r_[0, order.ends[:-1]]
        return np.asarray(np.logical_and.reduceat(has[order.order], starts) & (np.arange(len(starts)) < drawn))

    @cached_property
    def progress(self) -> Progress:
        """How far the documents are judged."""
        pool, drawn = self.tables.pool, judged_before(self.tables.rounds)
        foreign_labels((self.label >= 0) & ~drawn, "documents")
        cost, count, complete, used, waiting = [], [], [], np.zeros(len(drawn), dtype=bool), None
        for number, (order, asked, judged, counting) in enumerate(self._blocks):
            end = len(order.ends) if number == len(self._blocks) - 1 else asked
            ends = np.r_[0, order.ends]
            cost.append(np.diff(np.r_[0.0, order.spent][ends])[:end])
            if self._rest is not None and end > asked:
                cost[-1][asked:] = self._rest.cost / (end - asked)
            count.append(np.diff(ends)[:end])
            complete.append(counting[:end])
            used[order.order[np.repeat(counting, np.diff(ends))]] = True
            if waiting is None and not judged[:asked].all():
                first = order.order[ends[int(judged.argmin())] :]
                lacking = first[self.label[first] < 0][0]
                waiting = f"document {pool.docno[lacking]} of query {pool.qids[pool.query_of_document[lacking]]}"
        return Progress(
            unit=self.successions[0].design.unit,
            cost=np.concatenate(cost),
            drawn=sum(each.drawn for each in self._blocks),
            complete=np.concatenate(complete),
            documents=np.concatenate(count),
            waiting=waiting,
            left_out=int((drawn & ~used & (self.label >= 0)).sum()),
        )

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged documents say of a contrast."""
        blocks = list(self._proved(contrast))
        draws, units, _ = blocks[0]
        if self._rest is not None and self._rest.units:
            stakes = stakes_of_population(units, self._rest, alpha)
        else:
            budget = float(self.tables.manifest.arguments.budget or 0)
            stakes = document_stakes(units, self.successions[0], budget, alpha)
        for later, _, _ in blocks[1:]:
            draws = draws.then(later)
        return Proof(draws, *blocks[-1][1:], stakes)

    def _proved(self, contrast: Contrast) -> Iterator[tuple[Draws, Units, int]]:
        """The draws, the units and the number of draws that count of each block, up to the last that is begun."""
        last = max((number for number, each in enumerate(self._blocks) if each.complete.any()), default=0)
        for number, (order, drawn, judged, counting) in enumerate(self._blocks):
            units, contributions = self._block(contrast, number)
            reach = int(np.flatnonzero(counting)[-1]) + 1 if counting.any() else 0
            reach = drawn if number < last else reach
            value, least, most = contributions(self.label)
            draws, whole = units.judged(value, reach, least, most), number < last or bool(judged[:drawn].all())
            followed = number + 1 < len(self._blocks) and whole
            if followed and _chosen_by_cost(order, drawn, self.tables.manifest.rounds[number].budget):
                draws = draws.without_next(units)
            yield draws, units, reach
            if not whole:
                return

    def _block(self, contrast: Contrast, number: int) -> tuple[Units, Contributions]:
        """The units of a block, which change only while labels of earlier blocks come in."""
        pool, rounds = self.tables.pool, self.tables.rounds
        drawn = judged_before(rounds[:number]) if number else np.zeros(len(self.label), dtype=bool)
        passed = drawn & (self.label < 0)
        key = contrast, number, int(passed.sum())
        if key not in self._units:
            seen, before = seen_by(self.tables.measure, pool), np.where(drawn, self.label, -1)
            order, weights = self.successions[number], contrast.weights(len(pool.names))
            about = None if self._rest is None else self._rest.of(contrast.first, contrast.second)
            if about is not None:
                check_reached(about.never, "documents")
            added = None if about is None else about.added
            units, known = document_units(seen, rounds[number].grades, order, before, passed, weights, added)
            if about is not None and about.beyond is not None:
                units = with_others(units, len(units.rate) - self._asked(order, rounds[number]), about.beyond)
            self._units[key] = units, known
        return self._units[key]

    @staticmethod
    def _asked(order: Succession, drawn: Round) -> int:
        """How many draws a round asks for."""
        return int(np.searchsorted(order.ends, int(drawn.sample.drawn.sum()), side="right"))


def _chosen_by_cost(order: Succession, drawn: int, budget: float) -> bool:
    """Whether another unit might have been drawn than the one that would have overspent, so that costs tell of it."""
    if drawn == len(order.ends):
        return False
    spent = order.spent[order.ends - 1]
    cheapest = np.diff(np.r_[0.0, spent])[drawn:].min()
    # What a step costs depends on what is known, so any may have been left out.
    return order.design.unit == "step" or bool(within_budget(np.r_[0.0, spent][drawn] + cheapest, budget))
