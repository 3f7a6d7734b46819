"""How far is a plan of documents judged that can be used in part, and in which parts does it come?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.stopping.looks import PLANNED_LOOKS
from pt_active.plans.making.kept import PlanTables
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.successive import succession_of
from pt_active.sampling.two_phase import parts_by_queries

_STAGE = 1_000_003
"""What keeps the parts independent of the draws of the same seed."""


def in_parts(tables: PlanTables) -> bool:
    """Whether the documents of a plan come in parts, after each of which one may look."""
    made, drawn = tables.manifest, tables.documents
    changed = made.cut or made.later_rankers or made.extended
    return drawn is not None and not changed and drawn.sample.design.drawing != SUCCESSIVE


def parts_of_plan(tables: PlanTables) -> list[TwoPhase]:
    """What the first parts of a plan are as samples of their own: of one part, of two, and so on up to all.

    Documents that come one after the other are cut where equal shares of the budget end. Queries that are judged from
    the top come as a whole, spread over the parts.
    """
    assert tables.documents is not None
    made, prices, sample = tables.manifest, tables.prices, tables.documents.sample
    if order := succession_of(sample, prices):
        return order.parts(made.limit, PLANNED_LOOKS)
    rng = np.random.default_rng([made.arguments.seed, _STAGE, int(made.drawn or "0", 16)])
    return parts_by_queries(sample, prices, PLANNED_LOOKS, rng)


def part_of(tables: PlanTables) -> np.ndarray:
    """int64[N], the part in which each document comes, from 1; 0 for documents that were not drawn."""
    drawn = np.array([each.drawn for each in parts_of_plan(tables)])
    return np.where(drawn[-1], PLANNED_LOOKS + 1 - drawn.sum(axis=0), 0)


def judged_part(tables: PlanTables, label: np.ndarray) -> TwoPhase | None:
    """What is judged without a gap and can be used alone, as if its budget had ended there; None if nothing is."""
    assert tables.documents is not None
    sample, has = tables.documents.sample, label >= 0
    if in_parts(tables):
        found = [each for each in parts_of_plan(tables) if has[each.drawn].all()][-1:]
    else:
        order = succession_of(sample, tables.prices)
        found = [order.first(order.judged(sample.drawn & has))] if order else []
    return found[0] if found and found[0].drawn.any() else None
