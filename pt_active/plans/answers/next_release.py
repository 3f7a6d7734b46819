"""Do the labels that a plan has reach a ranker that came after it?"""

from __future__ import annotations

from dataclasses import dataclass

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.runs import ordered_run
from pt_active.plans.answers.results import Comparison
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import has_rank_form


@dataclass(frozen=True)
class Reach:
    """How much of a later ranker the labels of a plan can tell.

    Attributes:
        ranker: The later ranker.
        seen: Its documents that the measure sees, in the plan's queries.
        outside: Those of them that are not in the plan's pool, and count as not relevant.
        unreached: Share of the model's variance in documents of the pool that could never be drawn.
        told: Whether the comparison with the baseline has an interval.
        rising: Whether the measure never falls if a document is more relevant than it counts.
    """

    ranker: str
    seen: int
    outside: int
    unreached: float
    told: bool
    rising: bool

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the ranker is out of reach."""
        return self.told and not self.outside and not self.unreached

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
        if self.unreached:
            share = f"{self.unreached:.0%}" if self.unreached >= 0.005 else "less than 1%"
            said.append(f"{share} of the variance expected of it lies in documents that this plan never asks for")
        return "; ".join(said)


def reach_of(pool: Pool, measure: irm.Measure, name: str, run: pd.DataFrame, comparison: Comparison) -> Reach:
    """How much of a later ranker the labels of a plan can tell.

    Args:
        pool: The plan's pool.
        measure: The plan's measure.
        name: The later ranker.
        run: Its ``qid, docno, score``.
        comparison: What the labels say of it and the baseline.
    """
    run = ordered_run(run, name, measure.params.get("cutoff"))
    run = run[run["qid"].isin(pool.qids)]
    known = pd.DataFrame({"qid": pool.qids[pool.query_of_document], "docno": pool.docno})
    inside = len(run.merge(known, on=["qid", "docno"]))
    low, _ = comparison.confidence_interval()
    return Reach(
        name, len(run), len(run) - inside, comparison.basis.unreached, bool(np.isfinite(low)), has_rank_form(measure)
    )
