"""What does a plan keep, and how is it stored?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError, how_many
from pt_active.inference.rounds import Round
from pt_active.plans.making.invariants import check_assessments, check_tables
from pt_active.plans.making.manifest import READABLE_FORMATS, Manifest
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.plans.making.stored import Stored, write_tables
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.drawings import succession_unit
from pt_active.sampling.sample import DocumentDesign, Sample, TwoPhase

_MAX_NAMED_RANKERS = 10
"""If a plan has more rankers, their number is printed instead of their names."""


@dataclass(frozen=True)
class PlanTables:
    """The content of a plan.

    Attributes:
        pool: All queries with their sampled rankings and grades.
        queries: The design of all queries with ``q_draws``, ``q_importance``, ``q_inclusion``, and in plans of
            queries ``q_priority``: queries are drawn in increasing order of it.
        assessments: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``: the documents that a person judges.
        manifest: Seed, versions, arguments, counts and digests of the inputs.
        rounds: The rounds of a plan that samples documents; empty if it samples queries.
        gain: What each document adds to the expected variance, float64[N], computed when it is first needed.
    """

    pool: Pool
    queries: pd.DataFrame
    assessments: pd.DataFrame
    manifest: Manifest
    rounds: tuple[Round, ...] = ()
    gain: list[np.ndarray] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def measure(self) -> irm.Measure:
        """What the sample was designed for."""
        return parse_measure(self.manifest.arguments.measure)


def check_whole(tables: PlanTables, what: str, *remedy: str | Argument) -> None:
    """Raise if a plan does not keep all queries that it was drawn from."""
    if (rest := tables.manifest.rest) is not None:
        others = f"{rest.queries} of {tables.manifest.counts.queries} queries"
        kept = f"the plan was made from runs larger than memory and keeps only sums of {others}, so it cannot {what}"
        raise ArgumentError(kept, *(("; ", *remedy) if remedy else ()))


def in_words(tables: PlanTables) -> str:
    """A plan as printed: what it asks for and what that costs."""
    manifest, counts, arguments = tables.manifest, tables.manifest.counts, tables.manifest.arguments
    repeated = f"{how_many('draw', counts.draws)} " if arguments.replace else "drawn "
    kind = "census" if manifest.census else f"{repeated}by {arguments.design}"
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
    return (
        f"Plan for {arguments.measure} of {rankers}\n"
        f"  judge     {judge}{again} ({kind})\n"
        f"  cost      {manifest.spent:.6g} of {manifest.pool_cost:.6g}{unit} for the whole pool of "
        f"{how_many('query', counts.queries)}{_saved(tables)}{cut_line}{_expected(manifest)}{_dropped(manifest)}"
    )


def _expected(manifest: Manifest) -> str:
    """The printed line on the level that was chosen; empty if the plan was told, or is not as it was made."""
    if manifest.choice is None or manifest.census or manifest.cut or manifest.extensions or len(manifest.rounds) > 1:
        return ""
    return f"\n  chosen    {manifest.choice}"


def _dropped(manifest: Manifest) -> str:
    """The printed lines on runs of which lines were dropped when they were read."""
    return "".join(
        f"\n  dropped   {how_many('line', each.lines)} of run {each.ranker}: "
        + ", ".join(f"{kind} ({number})" for kind, number in each.kinds.items())
        for each in manifest.dropped
    )


def _saved(tables: PlanTables) -> str:
    """The printed line on documents that cannot change the result; empty for plans of queries."""
    if not tables.rounds:
        return ""
    rest, see = tables.manifest.rest, np.isfinite(tables.pool.document_cost)
    seen, useless = int(see.sum()), int((see & (tables.rounds[0].sample.design.inclusion == 0)).sum())
    if rest is not None:
        seen, useless = rest.seen, rest.useless
    documents = how_many("document", seen)
    return f"\n  saved     {useless} of {documents} cannot change the result" if useless else ""


def write_plan(tables: PlanTables, folder: Path) -> None:
    """Write a plan into an empty folder: Parquet files and ``manifest.json`` with their digests."""
    frames = {"documents": tables.pool.document_frame(), "queries": tables.queries, "assessments": tables.assessments}
    write_tables(folder, frames | (round_tables(tables.rounds) if tables.rounds else {}), tables.manifest)


def read_plan(folder: Path) -> PlanTables:
    """Read a saved plan."""
    stored = Stored.open(folder, "plan", READABLE_FORMATS)
    with stored.checked():
        manifest = Manifest.from_json(stored.values)
        names = ["documents", "queries", "assessments", *_round_files(manifest)]
    tables = {name: stored.table(name) for name in names}
    with stored.checked():
        check_tables(tables, manifest)
        frames = {name: table.frame for name, table in tables.items()}
        pool = Pool.from_tables(frames["documents"], frames["queries"], manifest.log_keys)
        rounds = rounds_from(pool, frames, manifest)
        read = PlanTables(pool, frames["queries"], frames["assessments"], manifest, rounds)
        check_assessments(tables["assessments"], pool, read.queries, rounds)
    return read


def _round_files(manifest: Manifest) -> list[str]:
    if not manifest.rounds:
        return []
    refitted = [f"grades_{number}" for number, entry in enumerate(manifest.rounds, 1) if number > 1 and entry.refitted]
    return ["rounds", "round_queries", *refitted]


def round_tables(rounds: Sequence[Round]) -> dict[str, pd.DataFrame]:
    """The rounds as frames, by file name."""
    documents, queries = [], []
    for number, each in enumerate(rounds, start=1):
        sample, design, order = each.sample, each.sample.design, each.sample.design.order
        row = {"inclusion": design.inclusion[order], "drawn": sample.drawn[order]}
        if sample.priority is not None and design.rate is not None:
            row |= {"rate": design.rate[order], "priority": sample.priority[order]}
        documents.append(pd.DataFrame({"round": number, "document": order, **row}))
        row = {"planned_opening": sample.design.opening, "opening": sample.opening, "apart": sample.apart}
        queries.append(pd.DataFrame({"round": number, **row}))
    tables = {"rounds": pd.concat(documents, ignore_index=True), "round_queries": pd.concat(queries, ignore_index=True)}
    for number, each in enumerate(rounds[1:], start=2):
        if each.grades is not rounds[0].grades:
            tables[f"grades_{number}"] = pd.DataFrame({f"grade_{g}": column for g, column in enumerate(each.grades.T)})
    return tables


def rounds_from(pool: Pool, tables: Mapping[str, pd.DataFrame], manifest: Manifest) -> tuple[Round, ...]:
    """Rebuild the rounds from the frames that `round_tables` made."""
    rounds = []
    for number, entry in enumerate(manifest.rounds, start=1):
        documents, queries = (table[table["round"] == number] for table in (tables["rounds"], tables["round_queries"]))
        order = documents["document"].to_numpy()
        inclusion, drawn = np.zeros(len(pool.docno)), np.zeros(len(pool.docno), dtype=bool)
        inclusion[order], drawn[order] = documents["inclusion"], documents["drawn"]
        design = DocumentDesign(manifest.arguments.design, order, queries["planned_opening"].to_numpy(), inclusion)
        opened, apart = Sample.once(queries["opening"].to_numpy()), queries["apart"].to_numpy()
        sample = TwoPhase(design, opened, drawn, apart, float(entry.spent))
        if "priority" in documents.columns:
            sample = _in_order(sample, documents, unit_of_succession(pool, manifest))
        refitted = tables.get(f"grades_{number}")
        grades = pool.grades if refitted is None else np.ascontiguousarray(refitted.to_numpy(dtype=np.float64))
        rounds.append(Round(sample, grades, float(entry.expected_variance), entry.comparable_variance))
    return tuple(rounds)


def _in_order(sample: TwoPhase, documents: pd.DataFrame, unit: str) -> TwoPhase:
    """The sample with the rates and priorities in the columns of its round."""
    order, size = sample.design.order, len(sample.drawn)
    rate, priority = np.zeros(size), np.full(size, np.inf)
    rate[order], priority[order] = documents["rate"], documents["priority"]
    return replace(sample, design=replace(sample.design, unit=unit, rate=rate), priority=priority)


def unit_of_succession(pool: Pool, manifest: Manifest) -> str:
    """What comes at once if the documents of a plan are drawn one after the other."""
    arguments = manifest.arguments
    return succession_unit(seen_by(parse_measure(arguments.measure), pool).form, arguments.per_query)
