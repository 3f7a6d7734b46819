"""Shared by the replays of judging until a verdict: the order of a plan, drawn again with other clocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pt_active import Plan
from pt_active.frames.qrels import whole_labels
from pt_active.inference.stopping.bets import excluded
from pt_active.inference.stopping.draws import Draws, Units
from pt_active.inference.stopping.verdicts import Proof
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.answers.sequence import UnitSequence, sequence_of
from pt_active.plans.making.kept import PlanTables
from pt_active.sampling.successive import priorities_of


@dataclass(frozen=True)
class Sequence:
    """The units of a plan in one order, all of them judged.

    Attributes:
        proof: What their labels prove, draw by draw.
        progress: What they cost, and how many labels each draw takes.
        query: int64[n], the index in the pool of the query of each draw.
    """

    proof: Proof
    progress: UnitSequence
    query: np.ndarray

    def labels(self, draws: int) -> int:
        """The number of labels that the first draws take; all if ``draws`` is -1, for never."""
        return int(self.progress.documents[: draws if draws >= 0 else None].sum())

    def resolved_at(self, alpha: float) -> int:
        """The number of draws after which a difference from 0 is first proved; -1 if it never is."""
        draws, stakes = self.proof.draws, self.proof.stakes
        times = [excluded(side, stakes, 0.0, alpha / 2) for side in (draws, draws.mirrored)]
        return min((each for each in times if each >= 0), default=-1)


def reordered(tables: PlanTables, rng: np.random.Generator) -> PlanTables:
    """The plan with its units in another random order, and with all of them asked for."""
    if tables.documents is None:
        q = tables.queries["q_prob"].to_numpy()
        with np.errstate(divide="ignore"):
            priority = rng.exponential(size=len(q)) / q
        return replace(tables, queries=tables.queries.assign(q_priority=priority, q_draws=(q > 0).astype(int)))
    whole = tables.documents.sample
    design = whole.design
    priority = priorities_of(design, rng.exponential(size=len(design.inclusion)))
    sample = replace(whole, priority=priority, drawn=np.isfinite(priority))
    return replace(tables, documents=replace(tables.documents, sample=sample))


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
        again = reordered(tables, rng)
        # Labels of documents that cannot change the result would be warned of.
        label = np.where(again.documents.sample.drawn, label, -1) if again.documents else label
        sequence = sequence_of(again, label, tables.measure)
        yield Sequence(sequence.proof(Contrast(*pair), alpha), sequence, _queries(sequence))


def _queries(sequence: UnitSequence) -> np.ndarray:
    return sequence.tables.pool.query_of_document[sequence.order[sequence.ends - 1]]


def ever_excluded(draws: Draws, proof: Proof, truth: float, alpha: float) -> bool:
    """Whether either side excludes a value after any of the draws, so that no interval holds it from then on."""
    sides = (draws, truth), (draws.mirrored, -truth)
    return any(excluded(side, proof.stakes, value, alpha / 2) >= 0 for side, value in sides)


def contributions(proof: Proof) -> np.ndarray:
    """float64[n], what each unit contributes, in the order of units that come one by one and are all judged."""
    return np.asarray(proof.units.mean + np.diff(proof.draws.base))


def flipped(proof: Proof, sign: np.ndarray) -> Draws:
    """The draws if the contributions of some units had the other sign, as if two rankers traded places there.

    Args:
        proof: Of units that come one by one, all of them judged.
        sign: float64[n], 1 or −1.
    """
    units = proof.units
    low, high = np.where(sign > 0, (units.low, units.high), (-units.high, -units.low))
    traded = Units(units.rate, sign * units.mean, units.variance, low, high)
    return traded.judged(sign * contributions(proof), len(sign))
