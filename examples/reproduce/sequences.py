"""Shared by the replays of judging until a verdict: the order of a plan, drawn again with other clocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pt_active import Plan
from pt_active.frames.qrels import whole_labels
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.sequence import Progress, Proof, sequence_of
from pt_active.plans.making.kept import PlanTables
from pt_active.sampling.successive import priorities_of


@dataclass(frozen=True)
class Sequence:
    """The units of a plan in one order, all of them judged.

    Attributes:
        proof: What their labels prove, draw by draw.
        progress: What they cost, and how many labels each draw takes.
    """

    proof: Proof
    progress: Progress

    def labels(self, draws: int) -> int:
        """The number of labels that the first draws take; all if ``draws`` is -1, for never."""
        return int(self.progress.documents[: draws if draws >= 0 else None].sum())


def reordered(tables: PlanTables, rng: np.random.Generator) -> PlanTables:
    """The plan with its units in another random order, and with all of them asked for."""
    if not tables.rounds:
        q = tables.queries["q_prob"].to_numpy()
        with np.errstate(divide="ignore"):
            priority = rng.exponential(size=len(q)) / q
        return replace(tables, queries=tables.queries.assign(q_priority=priority, q_draws=(q > 0).astype(int)))
    (each,) = tables.rounds
    design, indptr = each.sample.design, tables.pool.indptr
    clock = rng.exponential(size=len(design.inclusion))
    if design.unit == "query":
        clock = np.repeat(rng.exponential(size=len(indptr) - 1), np.diff(indptr))
    priority = priorities_of(design, indptr, clock)
    sample = replace(each.sample, priority=priority, drawn=np.isfinite(priority))
    return replace(tables, rounds=(replace(each, sample=sample),))


def sequences(
    plan: Plan, qrels: pd.DataFrame, repetitions: int, seed: int, alpha: float = 0.05, pair: tuple[int, ...] = (0, 1)
) -> Iterator[Sequence]:
    """Judge the units of a plan one after the other, in many random orders, until all are judged.

    Args:
        plan: Of queries, or of documents with ``design="successive"``; its budget is what the bets are planned for.
        qrels: All labels.
        repetitions: How many orders.
        seed: Seed of the orders.
        alpha: The level of the bets.
        pair: Indices of the two rankers, or of the only one.
    """
    tables, rng = plan.tables, np.random.default_rng(seed)
    label = whole_labels(tables.pool.keys, qrels)
    for _ in range(repetitions):
        sequence = sequence_of(reordered(tables, rng), label, tables.measure)
        yield Sequence(sequence.proof(Contrast(*pair), alpha), sequence.progress)
