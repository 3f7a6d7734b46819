"""What does a plan keep, and how is it stored?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, some
from pt_active.frames.columns import ranker_names
from pt_active.frames.ids import id_codes
from pt_active.frames.runs import check_ranks
from pt_active.inference.rounds import Round
from pt_active.plans.making.manifest import FORMAT_VERSION, Manifest
from pt_active.plans.making.pool import Pool, seen_by, traffic_told
from pt_active.plans.making.stored import EQUAL, MANIFEST, Form, StoredTable
from pt_active.relevance.measures import has_rank_form, parse_measure
from pt_active.sampling.drawings import succession_unit
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
        return str(measure) if has_rank_form(measure) else f"{measure} in the pool ({self._pooled})"

    @cached_property
    def _pooled(self) -> str:
        runs = len(self.pool.names) - len(self.manifest.later_rankers)
        return f"top {self.pool.ranks[:runs].max(initial=0)} of {how_many('run', runs)}"


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
    as_made = not (manifest.census or cut or manifest.extensions or rounds > 1)
    chosen = f"\n  chosen    {manifest.choice}" if manifest.choice and as_made else ""
    traffic = traffic_told(tables.pool.queries, tables.pool.query_weight)
    opening = f"; opening a query costs {arguments.per_query:.3g}{unit}" if arguments.per_query else ""
    dropped = "".join(
        f"\n  dropped   {how_many('line', each.lines)} of run {each.ranker}: "
        + ", ".join(f"{kind} ({number})" for kind, number in each.kinds.items())
        for each in manifest.dropped
    )
    return (
        f"Plan for {tables.named()} of {rankers}\n"
        f"  judge     {judge}{again} ({kind})\n"
        f"  cost      {manifest.spent:.6g} of {manifest.pool_cost:.6g}{unit} for the whole pool of "
        f"{how_many('query', counts.queries)}{traffic}{opening}{_saved(tables)}{cut_line}{chosen}{dropped}"
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
            rate, priority = np.zeros(len(drawn)), np.full(len(drawn), np.inf)
            rate[order], priority[order] = documents["rate"], documents["priority"]
            form = seen_by(parse_measure(manifest.arguments.measure), pool).form
            design = replace(design, unit=succession_unit(form, manifest.arguments.per_query), rate=rate)
            sample = replace(sample, design=design, priority=priority)
        refitted = tables.get(f"grades_{number}")
        grades = pool.grades if refitted is None else np.ascontiguousarray(refitted.to_numpy(dtype=np.float64))
        rounds.append(Round(sample, grades, float(entry.expected_variance), entry.comparable_variance))
    return tuple(rounds)


def _check_manifest(manifest: Manifest) -> None:
    amounts = {"spent": manifest.spent, "pool_cost": manifest.pool_cost, "per_query": manifest.arguments.per_query}
    for number, entry in enumerate(manifest.rounds, start=1):
        amounts |= {f"{name} of round {number}": getattr(entry, name) for name in ("budget", "spent")}
        if np.isnan([entry.expected_variance, entry.comparable_variance or 0.0]).any():
            raise ValueError(f"{MANIFEST}: the variances of round {number} must be numbers")
    if manifest.rounds and manifest.census and all(entry.expected_variance > 0 for entry in manifest.rounds):
        raise ValueError(f"{MANIFEST}: a census needs a round that leaves nothing to chance")
    if wrong := [name for name, amount in amounts.items() if not amount >= 0]:
        raise ValueError(f"{MANIFEST}: {some(wrong)} must be at least 0")


def _check_queries(queries: StoredTable, manifest: Manifest) -> None:
    queries.ids("qid")
    queries.length(manifest.counts.queries, "query")
    weight = queries.within("q_weight", 0)
    queries.sums_to_one("q_weight")
    queries.within("q_cost", 0, open=True)
    q = queries.within("q_prob", 0, 1)
    if not manifest.rounds:
        queries.sums_to_one("q_prob")
    replace, rule = manifest.arguments.replace, "q_inclusion and q_weight"
    draws, inclusion = queries.drawn("q_", q, weight, rule, replace=replace, rounds=bool(manifest.rounds))
    if not manifest.rounds and draws.sum() != manifest.counts.draws:
        raise ValueError(f"{queries.file} has {draws.sum()} draws, and manifest.json {manifest.counts.draws}")
    if not manifest.rounds and manifest.census and not (inclusion >= 1)[weight > 0].all():
        raise ValueError(f"{queries.file} has queries that were left to chance, and manifest.json none (census)")
    for name in manifest.rankers:
        queries.within(f"q_mean_{name}", -np.inf)
        queries.within(f"q_var_{name}", -EQUAL)
    if not manifest.rounds and not np.isnan(priority := queries.numbers("q_priority")).all():
        last = priority[draws > 0].max(initial=0)
        queries.must("q_priority", priority > 0, "be positive")
        queries.must("q_priority", (draws > 0) | (priority >= last), "put the drawn queries first")


def _check_documents(documents: StoredTable, queries: StoredTable, manifest: Manifest) -> np.ndarray:
    """Raise if a document's row is wrong; int64[N], the query of each."""
    documents.ids("qid", "docno", once=False)
    documents.length(manifest.counts.documents, "document")
    code, qids = id_codes(documents.frame["qid"])
    query = pd.Index(queries.frame["qid"]).get_indexer(qids)[code]
    documents.must("qid", query >= 0, "be in queries.parquet")
    documents.must("qid", np.diff(query, prepend=0) >= 0, "be in the order of queries.parquet")
    if len(np.unique(query)) < len(queries.frame):
        raise ValueError(f"{documents.file} has no document of some query in queries.parquet")
    documents.no_pair_twice("qid", "docno")
    names = tuple(ranker_names(documents.frame.columns))
    if not names or (manifest.rankers and names != tuple(manifest.rankers)):
        raise ValueError(f"{documents.file} has the rankers {some(names)}, and manifest.json {some(manifest.rankers)}")
    ranks = np.array([documents.whole(f"rank_{name}", -1) for name in names]) + 1
    with documents.named():
        check_ranks(queries.frame["qid"].to_numpy(dtype=object), query, ranks, names)
    documents.grades(documents.frame)
    cost = documents.numbers("doc_cost")
    documents.must("doc_cost", np.isnan(cost) | ((cost >= 0) & np.isfinite(cost)), "be at least 0, or empty")
    return query


def _check_rounds(documents: StoredTable, queries: StoredTable, query: np.ndarray, manifest: Manifest) -> None:
    """Raise if what the rounds drew is impossible; ``query`` is int64[N], the query of each document of the pool."""
    rounds, size = len(manifest.rounds), manifest.counts.queries
    number = queries.whole("round", 1)
    queries.length(rounds * size, "query of every round")
    queries.must("round", number == np.repeat(np.arange(rounds) + 1, size), "count the rounds")
    queries.truths("apart")
    queries.within("planned_opening", 0, 1)
    opening = queries.within("opening", 0, 1).reshape(rounds, size)
    of_round, document = documents.whole("round", 1), documents.whole("document")
    documents.must("round", of_round <= rounds, f"be at most {rounds}")
    documents.must("document", document < len(query), "be a row of documents.parquet")
    documents.no_pair_twice("round", "document")
    inclusion, drawn = documents.within("inclusion", 0, 1), documents.truths("drawn")
    documents.must("inclusion", ~drawn | (inclusion > 0), "be positive where drawn")
    counts = np.bincount(of_round[drawn], minlength=rounds + 1)[1:].tolist()
    if counts != [entry.assessments for entry in manifest.rounds]:
        raise ValueError(f"{documents.file} has {counts} drawn documents by round, and manifest.json others")
    documents.must("drawn", ~drawn | (opening[of_round - 1, query[document]] > 0), "be in opened queries only")
    if "priority" in documents.frame.columns:
        documents.within("rate", 0)
        documents.must("priority", documents.numbers("priority") >= 0, "be at least 0")


def _frames(tables: PlanTables) -> dict[str, pd.DataFrame]:
    frames = {"documents": tables.pool.document_frame(), "queries": tables.queries, "assessments": tables.assessments}
    return frames | (round_tables(tables.rounds) if tables.rounds else {})


def _files(manifest: Manifest) -> list[str]:
    refitted = [f"grades_{number}" for number, entry in enumerate(manifest.rounds, 1) if number > 1 and entry.refitted]
    return ["documents", "queries", "assessments", *(("rounds", "round_queries") if manifest.rounds else ()), *refitted]


def _read(tables: dict[str, StoredTable], manifest: Manifest) -> PlanTables:
    """The content of a plan; raises if a table breaks a rule by itself, or does not fit another or the manifest."""
    _check_manifest(manifest)
    _check_queries(tables["queries"], manifest)
    query = _check_documents(tables["documents"], tables["queries"], manifest)
    if manifest.rounds:
        _check_rounds(tables["rounds"], tables["round_queries"], query, manifest)
    for name in [name for name in tables if name.startswith("grades_")]:
        tables[name].length(len(query), "document")
        tables[name].grades(tables["documents"].frame)
    frames = {name: table.frame for name, table in tables.items()}
    pool = Pool.from_tables(frames["documents"], frames["queries"])
    rounds = rounds_from(pool, frames, manifest)
    wanted = frames["queries"]["q_draws"].to_numpy()[pool.query_of_document] > 0
    chance = np.ones(len(wanted))
    if rounds:
        wanted, chance = rounds[-1].sample.drawn, rounds[-1].sample.chance(pool.query_of_document)
    drawn = pool.keys_of(np.flatnonzero(wanted)).assign(chance=chance[wanted])
    tables["assessments"].judged(manifest.counts.assessments, drawn)
    return PlanTables(pool, frames["queries"], frames["assessments"], manifest, rounds)


FORM = Form("plan", FORMAT_VERSION, Manifest.from_json, _files, _read, _frames)
