"""Do the labels that a plan has reach a ranker that came after it?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ordered_run
from pt_active.plans.answers.judged_documents import MAX_UNREACHED_SHARE
from pt_active.plans.answers.results import Comparison
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.sampled import sampled
from pt_active.relevance.bounds import expectation_errors
from pt_active.relevance.measures import cutoff_of, has_rank_form


@dataclass(frozen=True)
class Reach:
    """How much of a later ranker the labels of a plan can tell.

    Attributes:
        ranker: The later ranker.
        seen: Its documents that the measure sees, in the plan's queries.
        outside: Those of them that are not in the plan's pool, and count as not relevant.
        unasked: Those of them in drawn queries that the plan does not ask for, and that count as not relevant.
        unreached: Share of the model's variance in documents of the pool that could never be drawn.
        worst: How far the truth can lie below and above what the estimate takes for granted of these documents,
            whatever their labels are: a number from 0 down and one from 0 up. None if that is not known.
        told: Whether so little lies in documents of the pool that could never be drawn that an interval can hold.
        equal: Whether the measure cannot tell the ranker from the baseline, whatever the labels are.
        rising: Whether the measure never falls if a document is more relevant than it counts.
    """

    ranker: str
    seen: int
    outside: int
    unasked: int
    unreached: float
    worst: tuple[float, float] | None
    told: bool
    equal: bool
    rising: bool

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the ranker is out of reach."""
        return self.told and not self.strangers and not self.unreached and self.worst == (0.0, 0.0)

    @property
    def strangers(self) -> int:
        """The number of its documents that count as not relevant because the plan does not know them."""
        return self.outside + self.unasked

    def allows(self, passes: bool) -> bool:
        """Whether what the labels prove of the ranker holds for all of it.

        Documents that the plan does not know count as not relevant, so the ranker is at least as good as it seems if
        the measure is `rising`: a pass holds, a fail does not.
        """
        return self.told and (not self.strangers or (passes and self.rising))

    def __str__(self) -> str:
        said = []
        if self.outside:
            counted = f"{self.outside} of the {how_many('document', self.seen)} of {self.ranker} that the measure sees"
            verb = agreeing("is", self.outside)
            said.append(f"{counted} {verb} not in the plan's pool, and counted as not relevant")
        if self.unasked:
            counted = f"{how_many('document', self.unasked)} of {self.ranker} in drawn queries"
            verb = agreeing("is", self.unasked)
            said.append(f"{counted}, not asked for by this plan, {verb} counted as not relevant")
        if self.worst is None:
            said.append("what it ranks lies in part where this plan never asks, and no limits of that are known")
        elif self.unreached or self.worst != (0.0, 0.0):
            share = f"{self.unreached:.0%}" if self.unreached >= 0.005 else "less than 1%"
            count = ", worst cases {:+.4g} and {:+.4g}".format(*self.worst)
            said.append(
                f"{share} of the variance expected of it lies in documents that this plan never asks for{count}"
            )
        return "; ".join(said)


def reach_of(
    tables: PlanTables,
    measure: irm.Measure,
    pair: tuple[int, int],
    run: pd.DataFrame,
    comparison: Comparison,
    unasked: int = 0,
) -> Reach:
    """How much of a later ranker the labels of a plan can tell."""
    pool, name = tables.pool, tables.pool.names[pair[0]]
    run = ordered_run(run, name, measure.params.get("cutoff"))
    run = run[run["qid"].isin(pool.qids)]
    inside = len(run.merge(pool.keys, on=["qid", "docno"]))
    worst, outside = _worst(tables, measure, pair), len(run) - inside
    cutoff, ranks = cutoff_of(measure), pool.ranks[list(pair)]
    seen = ranks if cutoff is None else np.where(ranks <= cutoff, ranks, 0)
    return Reach(
        ranker=name,
        seen=len(run),
        outside=outside,
        unasked=unasked,
        unreached=comparison.basis.unreached,
        worst=worst,
        told=worst is not None and comparison.basis.unreached <= MAX_UNREACHED_SHARE,
        equal=not outside and bool((seen[0] == seen[1]).all()),
        rising=has_rank_form(measure),
    )


def with_unasked(
    tables: PlanTables, later: PlanTables, measure: irm.Measure, labels: pd.DataFrame
) -> tuple[pd.DataFrame, int]:
    """The labels with grade 0 for what a later ranker has in the drawn queries and the plan does not ask for.

    If all of these have labels, they count, and otherwise none of them: what a ranker is taken for must not depend on
    who chose which of them to judge.
    """
    if tables.rounds:
        return labels, 0
    pool = later.pool
    drawn = (tables.queries["q_draws"].to_numpy() > 0)[pool.query_of_document]
    rows = drawn & pool.seen(measure) & ~tables.pool.seen(measure)
    keys = pool.keys.loc[rows, ["qid", "docno"]]
    labels = checked_qrels(labels, pool.max_grade)
    asked = labels.merge(keys, how="left", on=["qid", "docno"], indicator="where")["where"].to_numpy() == "left_only"
    if int((~asked).sum()) == len(keys):
        return labels, 0
    return pd.concat([labels[asked], keys.assign(label=0)], ignore_index=True), len(keys)


def known_equal(comparison: Comparison) -> Comparison:
    """The comparison of two rankers that are equal whatever the labels are."""
    known = {"difference": 0.0, "standard_error": 0.0, "pvalue": 1.0, "degrees_of_freedom": np.inf}
    return replace(comparison, **known, degenerate=False, tails=None)  # type: ignore[arg-type]


def _worst(tables: PlanTables, measure: irm.Measure, pair: tuple[int, int]) -> tuple[float, float] | None:
    """How far a difference can be from its estimate because of documents that could never be drawn [theory 14]."""
    pool, contrast = tables.pool, np.zeros(len(tables.pool.names))
    contrast[list(pair)] = 1.0, -1.0
    low = high = 0.0
    for share, grades, never in sampled(tables).never_drawn():
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
