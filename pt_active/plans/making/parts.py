"""How far is a round of documents judged that can be used in part: documents that come in order, or in parts?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.rounds import Round
from pt_active.inference.stopping.looks import PLANNED_LOOKS
from pt_active.plans.making.documents import expected_of, graded_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import RoundEntry
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.sampling.parts import first_parts, parts_of
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.successive import succession_of

_STAGE = 1_000_003
"""What keeps the parts independent of the draws of the same seed; no round of a plan reaches it."""


def in_parts(tables: PlanTables) -> bool:
    """Whether the only round of a plan comes in parts, after each of which one may look."""
    rounds, manifest = tables.rounds, tables.manifest
    changed = manifest.cut or manifest.later_rankers or manifest.id != manifest.origin
    return len(rounds) == 1 and not changed and rounds[0].sample.design.drawing != SUCCESSIVE


def samples_of_parts(tables: PlanTables) -> list[TwoPhase]:
    """What the first parts of a plan are as samples of their own: of one part, of two, and so on up to all.

    Documents that come one after the other are cut where equal shares of the budget end. Queries that are judged from
    the top come as a whole, spread over the parts.
    """
    sample, prices = tables.rounds[0].sample, graded_of(tables).prices
    numbers = range(1, PLANNED_LOOKS)
    if order := succession_of(sample, prices):
        limit = min(tables.manifest.rounds[0].budget, float(order.spent[-1]))
        return [*(order.first(order.within(limit * k / PLANNED_LOOKS)) for k in numbers), sample]
    manifest = tables.manifest
    rng = np.random.default_rng([manifest.arguments.seed, _STAGE, int(manifest.drawn or "0", 16)])
    part = parts_of(sample, prices, PLANNED_LOOKS, rng)
    return [*(first_parts(sample, prices, part, k, PLANNED_LOOKS) for k in numbers), sample]


def part_of(tables: PlanTables) -> np.ndarray:
    """int64[N], the part in which each document comes, from 1; 0 for documents that were not drawn."""
    drawn = np.array([each.drawn for each in samples_of_parts(tables)])
    return np.where(drawn[-1], PLANNED_LOOKS + 1 - drawn.sum(axis=0), 0)


def rounds_of_parts(tables: PlanTables) -> list[Round]:
    """The same as rounds of their own."""
    return [_of_first(tables, each) for each in samples_of_parts(tables)]


def judged_part(tables: PlanTables, label: np.ndarray, judged: int) -> tuple[Round, RoundEntry] | None:
    """What of a round is judged without a gap and can be used alone, as if its budget had ended there."""
    sample, budget = tables.rounds[judged].sample, tables.manifest.rounds[judged].budget
    if in_parts(tables):
        first = [each for each in samples_of_parts(tables) if (label[each.drawn] >= 0).all()][-1:]
    else:
        order = succession_of(sample, graded_of(tables).prices)
        first = [order.first(order.judged(sample.drawn & (label >= 0)))] if order else []
    if not first or not first[0].drawn.any():
        return None
    part = _of_first(tables, first[0])
    return part, RoundEntry.of(part, budget)


def _of_first(tables: PlanTables, first: TwoPhase) -> Round:
    return Round(first, tables.pool.grades, expected_of(tables, first.design))
