"""Do the labels that a plan has reach a ranker that came after it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.runs import ordered_run
from pt_active.inference.rounds import round_weights
from pt_active.plans.answers.results import Comparison
from pt_active.plans.making.kept import PlanTables
from pt_active.relevance.bounds import expectation_errors
from pt_active.relevance.measures import has_rank_form


@dataclass(frozen=True)
class Reach:
    """How much of a later ranker the labels of a plan can tell.

    Attributes:
        ranker: The later ranker.
        seen: Its documents that the measure sees, in the plan's queries.
        outside: Those of them that are not in the plan's pool, and count as not relevant.
        unreached: Share of the model's variance in documents of the pool that could never be drawn.
        worst: How far the truth can lie below and above what the estimate takes for granted of these documents,
            whatever their labels are: a number from 0 down and one from 0 up. None if that is not known.
        told: Whether the comparison with the baseline has an interval.
        rising: Whether the measure never falls if a document is more relevant than it counts.
    """

    ranker: str
    seen: int
    outside: int
    unreached: float
    worst: tuple[float, float] | None
    told: bool
    rising: bool

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the ranker is out of reach."""
        return self.told and not self.outside and not self.unreached and self.worst == (0.0, 0.0)

    def allows(self, passes: bool) -> bool:
        """Whether what the labels prove of the ranker holds for all of it.

        Documents outside the pool count as not relevant, so the ranker is at least as good as it seems if the measure
        is `rising`: a pass holds, a fail does not.

        Args:
            passes: Whether a pass is proved, rather than a fail.
        """
        return self.told and (not self.outside or (passes and self.rising))

    def __str__(self) -> str:
        said = []
        if self.outside:
            counted = f"{self.outside} of the {how_many('document', self.seen)} of {self.ranker} that the measure sees"
            verb = agreeing("is", self.outside)
            said.append(f"{counted} {verb} not in the plan's pool, and taken as not relevant")
        if self.unreached or self.worst != (0.0, 0.0):
            share = f"{self.unreached:.0%}" if self.unreached >= 0.005 else "less than 1%"
            count = "" if self.worst is None else ", which count at their worst, {:+.4g} to {:+.4g}".format(*self.worst)
            said.append(
                f"{share} of the variance expected of it lies in documents that this plan never asks for{count}"
            )
        return "; ".join(said)


def reach_of(
    tables: PlanTables, measure: irm.Measure, pair: tuple[int, int], run: pd.DataFrame, comparison: Comparison
) -> Reach:
    """How much of a later ranker the labels of a plan can tell.

    Args:
        tables: The plan's content, with the later ranker.
        measure: The plan's measure.
        pair: Indices of the later ranker and of the one that it would replace.
        run: Its ``qid, docno, score``.
        comparison: What the labels say of it and the baseline.
    """
    pool, name = tables.pool, tables.pool.names[pair[0]]
    run = ordered_run(run, name, measure.params.get("cutoff"))
    run = run[run["qid"].isin(pool.qids)]
    known = pd.DataFrame({"qid": pool.qids[pool.query_of_document], "docno": pool.docno})
    inside = len(run.merge(known, on=["qid", "docno"]))
    low, _ = comparison.confidence_interval()
    worst = _worst(tables, measure, pair)
    return Reach(
        ranker=name,
        seen=len(run),
        outside=len(run) - inside,
        unreached=comparison.basis.unreached,
        worst=worst,
        told=worst is not None and bool(np.isfinite(low)),
        rising=has_rank_form(measure),
    )


def _worst(tables: PlanTables, measure: irm.Measure, pair: tuple[int, int]) -> tuple[float, float] | None:
    """How far a difference can be from its estimate because of documents that could never be drawn [theory 14]."""
    pool, contrast = tables.pool, np.zeros(len(tables.pool.names))
    contrast[list(pair)] = 1.0, -1.0
    low = high = 0.0
    for share, grades, never in _never_drawn(tables):
        if not never.any():
            continue
        try:
            errors = expectation_errors(measure, pool.indptr, pool.ranks, grades, contrast, never)
        except ValueError:  # The measure has no known bounds.
            return None
        below, above = (float(pool.query_weight @ error) for error in errors)
        low, high = low + share * below, high + share * above
    # In plans of queries, the line through the labels may expect anything of such a query.
    return None if not tables.rounds and (low or high) else (low, high)


def _never_drawn(tables: PlanTables) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """The weight of each round, its grades, and which documents it neither could draw nor knew, bool[N]."""
    if not tables.rounds:
        q, draws = tables.queries["q_prob"].to_numpy(), tables.queries["q_draws"].to_numpy()
        yield 1.0, tables.pool.grades, ((q <= 0) & (draws == 0))[tables.pool.query_of_document]
        return
    known = np.zeros(len(tables.pool.docno), dtype=bool)
    for share, each in zip(round_weights(tables.rounds), tables.rounds, strict=True):
        yield float(share), each.grades, ~known & (each.sample.design.inclusion <= 0)
        known |= each.sample.drawn
