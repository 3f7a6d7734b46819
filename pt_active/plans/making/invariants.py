"""What must hold of the tables of a saved plan, however they came to be what they are?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import ranker_names
from pt_active.frames.ids import id_codes
from pt_active.inference.rounds import Round
from pt_active.plans.making.manifest import Manifest
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.pool_columns import check_ranks
from pt_active.plans.making.stored import MANIFEST, StoredTable

_EQUAL = 1e-9
"""How far apart, relatively, two stored forms of one number may be."""


def check_tables(tables: Mapping[str, StoredTable], manifest: Manifest) -> None:
    """Raise if a table breaks a rule by itself, or does not fit another or the manifest."""
    _check_manifest(manifest)
    _check_queries(tables["queries"], manifest)
    query = _check_documents(tables["documents"], tables["queries"], manifest)
    if manifest.rounds:
        _check_rounds(tables["rounds"], tables["round_queries"], query, manifest)
    for name, table in tables.items():
        if name.startswith("grades_"):
            table.length(len(query), "document")
            table.grades(tables["documents"].frame)
    judged = tables["assessments"]
    judged.texts("qid")
    judged.texts("docno")
    judged.no_pair_twice("qid", "docno")
    judged.length(manifest.counts.assessments, "assessment")


def check_assessments(assessments: StoredTable, pool: Pool, queries: pd.DataFrame, rounds: Sequence[Round]) -> None:
    """Raise if something is to be judged that was not drawn, or its probability is not that of its draw."""
    drawn = queries["q_draws"].to_numpy()[pool.query_of_document] > 0
    chance = np.ones(len(drawn))
    if rounds:
        drawn, chance = rounds[-1].sample.drawn, rounds[-1].sample.chance(pool.query_of_document)
    drawn = np.flatnonzero(drawn)
    known = pool.keys_of(drawn).assign(chance=chance[drawn])
    chance = assessments.frame[["qid", "docno"]].merge(known, how="left", on=["qid", "docno"])["chance"].to_numpy()
    assessments.must("docno", np.isfinite(chance), "be documents that were drawn")
    inclusion = assessments.within("inclusion", 0, 1, open=True)
    assessments.must("inclusion", np.isclose(inclusion, chance, rtol=_EQUAL, atol=0), "be what its draw had")


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
    queries.texts("qid")
    queries.no_pair_twice("qid")
    queries.length(manifest.kept_queries, "query")
    weight = queries.within("q_weight", 0)
    queries.sums_to_one("q_weight")
    queries.within("q_cost", 0, open=True)
    q = queries.within("q_prob", 0, 1)
    if not manifest.rounds:
        queries.sums_to_one("q_prob")
    draws = queries.whole("q_draws")
    drawn = draws > 0
    # With replacement there are no inclusion probabilities, except where all queries are certain.
    repeated = manifest.arguments.replace and bool(np.isnan(queries.numbers("q_inclusion")[drawn]).any())
    importance = queries.within("q_importance", 0, where=drawn)
    inclusion = queries.within("q_inclusion", 0, 1, open=True, where=np.zeros_like(drawn) if repeated else drawn)
    times = 1 if manifest.rounds else draws.sum()
    expected = times * weight[drawn] / (times * q if repeated else inclusion)[drawn]
    agrees = np.ones(len(draws), dtype=bool)
    agrees[drawn] = np.isclose(importance[drawn], expected, rtol=_EQUAL, atol=0)
    queries.must("q_importance", agrees, "agree with q_inclusion and q_weight")
    if not manifest.rounds and draws.sum() != manifest.counts.draws:
        raise ValueError(f"{queries.file} has {draws.sum()} draws, and manifest.json {manifest.counts.draws}")
    if not manifest.rounds and manifest.census and not (drawn & (inclusion >= 1))[weight > 0].all():
        raise ValueError(f"{queries.file} has queries that were left to chance, and manifest.json none (census)")
    _check_moments(queries, manifest.rankers)
    if manifest.rest and manifest.rest.sums:
        queries.whole("q_place", -1)
    if "q_priority" in queries.frame.columns:
        _check_priorities(queries, drawn)


def _check_moments(queries: StoredTable, rankers: Sequence[str]) -> None:
    for name in rankers:
        queries.within(f"q_mean_{name}", -np.inf)
        queries.within(f"q_var_{name}", -_EQUAL)


def _check_priorities(queries: StoredTable, drawn: np.ndarray) -> None:
    """Raise if a query that was not drawn comes before one that was."""
    priority = queries.numbers("q_priority")
    if np.isnan(priority).all():
        return
    queries.must("q_priority", priority > 0, "be positive")
    queries.must("q_priority", drawn | (priority >= priority[drawn].max(initial=0)), "put the drawn queries first")


def _check_documents(documents: StoredTable, queries: StoredTable, manifest: Manifest) -> np.ndarray:
    """Raise if a document's row is wrong; int64[N], the query of each."""
    documents.texts("qid")
    documents.texts("docno")
    documents.length(manifest.kept_documents, "document")
    code, qids = id_codes(documents.frame["qid"])
    query = pd.Index(queries.frame["qid"]).get_indexer(qids)[code]
    documents.must("qid", query >= 0, "be in queries.parquet")
    documents.must("qid", np.diff(query, prepend=0) >= 0, "be in the order of queries.parquet")
    stand_ins = manifest.rest.stand_ins if manifest.rest else 0
    if len(np.unique(query)) < len(queries.frame) - stand_ins:
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
    rounds, size = len(manifest.rounds), manifest.kept_queries
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
