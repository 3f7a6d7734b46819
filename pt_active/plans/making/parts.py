"""How far is a round of documents judged that can be used in part: documents that come in order, or in parts?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pt_active.inference.rounds import Round
from pt_active.inference.stopping.looks import PLANNED_LOOKS
from pt_active.plans.making.documents import expected_of, graded_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import RoundEntry
from pt_active.sampling.parts import first_parts, leaning, parts_of
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.successive import succession_of

_STAGE = 1_000_003
"""What keeps the parts independent of the draws of the same seed; no round of a plan reaches it."""


def in_parts(tables: PlanTables) -> bool:
    """Whether the only round of a plan comes in parts, after each of which one may look."""
    rounds, manifest = tables.rounds, tables.manifest
    changed = manifest.cut or manifest.later_rankers
    return len(rounds) == 1 and not changed and rounds[0].sample.priority is None


def part_of(tables: PlanTables) -> np.ndarray:
    """int64[N], the part in which each document comes, from 1; 0 for documents that were not drawn."""
    sample, drawn = tables.rounds[0].sample, int(tables.manifest.drawn or "0", 16)
    rng = np.random.default_rng([tables.manifest.arguments.seed, _STAGE, drawn])
    turn = rng.permutation(tables.manifest.counts.queries)
    return parts_of(sample, graded_of(tables).prices, leaning(tables.pool.ranks), turn, PLANNED_LOOKS, rng)


def rounds_of_parts(tables: PlanTables) -> list[Round]:
    """What the first parts of a plan are as rounds of their own: of one part, of two, and so on up to all."""
    (whole,), part, prices = tables.rounds, part_of(tables), graded_of(tables).prices
    numbers = range(1, PLANNED_LOOKS + 1)
    samples = (first_parts(whole.sample, prices, part, k, PLANNED_LOOKS) for k in numbers)
    return [_of_first(tables, whole, each) for each in samples]


def judged_part(tables: PlanTables, label: np.ndarray, judged: int) -> tuple[Round, RoundEntry] | None:
    """What of a round is judged without a gap and can be used alone, as if its budget had ended there."""
    whole, entry = tables.rounds[judged], tables.manifest.rounds[judged]
    if in_parts(tables):
        lacking = part_of(tables)[whole.sample.drawn & (label < 0)].min()
        if lacking == 1:
            return None
        part = rounds_of_parts(tables)[lacking - 2]
        return part, RoundEntry.of(part, entry.budget)
    order = succession_of(whole.sample, graded_of(tables).prices)
    if order is None or not (first := order.judged(whole.sample.drawn & (label >= 0))):
        return None
    share = order.threshold(first) / order.threshold(int(whole.sample.drawn.sum()))
    part = _of_first(tables, whole, replace(order.first(first), share=max(share, np.finfo(float).tiny)))
    return part, RoundEntry.of(part, entry.budget)


def _of_first(tables: PlanTables, whole: Round, first: TwoPhase) -> Round:
    """A round of what comes first of another."""
    return replace(whole, sample=first, expected=expected_of(tables, first.design))
