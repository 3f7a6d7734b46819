"""What does a plan keep, and how is it stored?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, some
from pt_active.inference.rounds import Round
from pt_active.plans.making.manifest import FORMAT_VERSION, Manifest
from pt_active.plans.making.pool import Pool, traffic_told
from pt_active.plans.making.stored import Form
from pt_active.relevance.measures import has_rank_form, parse_measure
from pt_active.sampling.sample import DocumentDesign, Sample, TwoPhase

_MAX_NAMED_RANKERS = 10
"""If a plan has more rankers, their number is printed instead of their names."""


@dataclass(frozen=True)
class PlanTables:
    """The content of a plan.

    The table of queries has the design of all queries with ``q_draws``, ``q_importance`` and ``q_inclusion``, and in
    plans of queries ``q_priority``: queries are drawn in increasing order of it.
    """

    pool: Pool  # all queries with their sampled rankings and grades
    queries: pd.DataFrame
    assessments: pd.DataFrame  # the documents that people judge: qid, docno (+ query, text), inclusion
    manifest: Manifest
    rounds: tuple[Round, ...] = ()  # empty if whole queries are sampled
    # What each document adds to the expected variance, float64[N], computed when it is first needed.
    gain: list[np.ndarray] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def measure(self) -> irm.Measure:
        """What the sample was designed for."""
        return parse_measure(self.manifest.arguments.measure)

    def named(self, measure: irm.Measure | None = None) -> str:
        """A measure, by default the plan's; one that needs all relevant documents names the pool of its values."""
        measure = self.measure if measure is None else measure
        if has_rank_form(measure):
            return str(measure)
        runs = len(self.pool.names) - len(self.manifest.later_rankers)
        depth = self.pool.ranks[:runs].max(initial=0)
        return f"{measure} in the pool (top {depth} of {how_many('run', runs)})"


def check_extendable(tables: PlanTables) -> None:
    """Raise if nothing is left to judge, or the plan is not as it was drawn."""
    if tables.manifest.cut:
        raise ValueError("extend the plan as it was drawn, not the plan that was cut to the labels so far")
    if later := tables.manifest.later_rankers:
        raise ValueError(f"extend the plan as it was made, and add {some(later)} to the extended one")
    if tables.manifest.census:
        raise ValueError("nothing is left that can change the estimate: all is known, or drawn")


def in_words(tables: PlanTables) -> str:
    """A plan as printed: what it asks for and what that costs."""
    manifest, counts, arguments = tables.manifest, tables.manifest.counts, tables.manifest.arguments
    repeated = f"{how_many('draw', counts.draws)}, " if arguments.replace else ""
    kind = "census" if manifest.census else f"{repeated}design: {arguments.design}"
    rounds, unit = len(tables.rounds), arguments.unit
    again, queries = f" in round {rounds}" if rounds > 1 else "", counts.sampled_queries
    if manifest.extensions and not manifest.cut:
        again, queries = f" in extension {len(manifest.extensions)}", manifest.extensions[-1].queries
    longer = manifest.rounds and manifest.rounds[-1].assessments > counts.assessments
    what = "more document" if longer else "document"
    judge = f"{how_many(what, counts.assessments)} of {how_many('query', queries)}"
    names = tables.pool.names
    rankers = ", ".join(names) if len(names) <= _MAX_NAMED_RANKERS else how_many("ranker", len(names))
    cut = manifest.cut
    cut_line = f"\n  cut       to the first {cut.to} of {cut.of} {cut.unit}, which are judged" if cut else ""
    as_made = not (manifest.census or cut or manifest.extensions or rounds > 1 or longer)
    chosen = f"\n  chosen    {manifest.choice}" if manifest.choice and as_made else ""
    traffic = traffic_told(tables.pool.queries, tables.pool.query_weight)
    opening = f"; opening a query costs {arguments.per_query:.3g}{unit}" if arguments.per_query else ""
    return (
        f"Plan for {tables.named()} of {rankers}\n"
        f"  judge     {judge}{again} ({kind})\n"
        f"  cost      {manifest.spent:.6g} of {manifest.pool_cost:.6g}{unit} for the whole pool of "
        f"{how_many('query', counts.queries)}{traffic}{opening}{_saved(tables)}{cut_line}{chosen}"
    )


def _saved(tables: PlanTables) -> str:
    """The printed line on documents that cannot change the result; empty for plans of queries."""
    if not tables.rounds:
        return ""
    see = np.isfinite(tables.pool.document_cost)
    seen, useless = int(see.sum()), int((see & (tables.rounds[0].sample.design.inclusion == 0)).sum())
    documents = how_many("document", seen)
    return f"\n  saved     {useless} of {documents} cannot change the result" if useless else ""


def round_tables(rounds: Sequence[Round]) -> dict[str, pd.DataFrame]:
    """The rounds as frames, by file name."""
    documents, queries = [], []
    for number, each in enumerate(rounds, start=1):
        sample, design, order = each.sample, each.sample.design, each.sample.design.order
        row = {"inclusion": design.inclusion[order], "drawn": sample.drawn[order]}
        if sample.priority is not None and design.rate is not None:
            row |= {"rate": design.rate[order], "priority": sample.priority[order]}
        documents.append(pd.DataFrame({"round": number, "document": order, **row}))
        row = {"planned_opening": sample.design.opening, "opening": sample.opening}
        queries.append(pd.DataFrame({"round": number, **row}))
    return {"rounds": pd.concat(documents, ignore_index=True), "round_queries": pd.concat(queries, ignore_index=True)}


def rounds_from(pool: Pool, tables: Mapping[str, pd.DataFrame], manifest: Manifest) -> tuple[Round, ...]:
    """Rebuild the rounds from the frames that `round_tables` made."""
    rounds = []
    for number, entry in enumerate(manifest.rounds, start=1):
        documents, queries = (table[table["round"] == number] for table in (tables["rounds"], tables["round_queries"]))
        order = documents["document"].to_numpy()
        planned = queries["planned_opening"].to_numpy()
        design = DocumentDesign(manifest.arguments.design, order, planned, _spread(pool, documents, "inclusion"))
        drawn = _spread(pool, documents, "drawn").astype(bool)
        sample = TwoPhase(design, Sample.once(queries["opening"].to_numpy()), drawn, float(entry.spent))
        if "priority" in documents.columns:
            design = replace(design, rate=_spread(pool, documents, "rate"))
            sample = replace(sample, design=design, priority=_spread(pool, documents, "priority", np.inf))
        rounds.append(Round(sample, pool.grades, float(entry.expected_variance)))
    return tuple(rounds)


def _spread(pool: Pool, documents: pd.DataFrame, column: str, others: float = 0.0) -> np.ndarray:
    """float64[N], a column of some documents, and a value for the others."""
    values = np.full(len(pool.docno), others)
    values[documents["document"]] = documents[column]
    return values


def _frames(tables: PlanTables) -> dict[str, pd.DataFrame]:
    frames = {"documents": tables.pool.document_frame(), "queries": tables.queries, "assessments": tables.assessments}
    return frames | (round_tables(tables.rounds) if tables.rounds else {})


def _read(tables: dict[str, pd.DataFrame], manifest: Manifest) -> PlanTables:
    pool = Pool.from_tables(tables["documents"], tables["queries"])
    rounds = rounds_from(pool, tables, manifest)
    return PlanTables(pool, tables["queries"], tables["assessments"], manifest, rounds)


FORM = Form("plan", FORMAT_VERSION, Manifest.from_json, _read, _frames)
