"""Document-level designs and rounds as frames [theory 9]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.documents.design import DocumentDesign, DocumentSizes, document_design, natural_drawing
from pt_active.documents.drawing import DocumentSample, draw_documents
from pt_active.documents.estimators import DocumentPool
from pt_active.documents.rounds import GradedPool, Round, RoundSettings, pool_sizes
from pt_active.measures import has_rank_form, rank_form
from pt_active.pool import Pool

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing"]
"""What `size_frame` adds to the documents."""


def seen_by(measure: irm.Measure, pool: Pool) -> DocumentPool:
    """What a measure sees of a pool, if single documents can be judged for it.

    Raises:
        ValueError: If the measure is neither additive nor cascade.
    """
    if not has_rank_form(measure):
        raise ValueError(
            f"{measure} cannot be estimated from single documents: it is neither additive nor a cascade (nDCG and AP "
            "divide by what the whole pool of a query holds), so a missing label bends it. Sample whole queries for it "
            '(level="query"), or estimate DCG, ERR, P, RBP or RR here'
        )
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))
    return DocumentPool(form, pool.indptr, pool.ranks, pool.query_weight)


def graded_pool(pool: Pool, measure: irm.Measure, per_query: float) -> GradedPool:
    """The pool as `draw_round` takes it.

    Args:
        pool: All queries.
        measure: Additive or cascade.
        per_query: λ₀.

    Raises:
        ValueError: As `seen_by` does.
    """
    return GradedPool(seen_by(measure, pool), pool.grades, pool.document_cost, per_query)


def size_frame(
    pool: Pool,
    measure: irm.Measure,
    design: str | None,
    per_query: float,
    defensive: float,
    pairs: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row a document: how probable its judging should be, relative to the others.

    Args:
        pool: All queries.
        measure: Additive or cascade.
        design: One of `design.DRAWINGS`; what suits the measure if left out.
        per_query: λ₀.
        defensive: ε of `design.hedged`.
        pairs: float64[k(k−1)/2], weights of the pairs of rankers; equal if left out.

    Returns:
        The query columns, ``docno``, ``doc_size`` (0 where a document cannot matter), ``doc_cost``, ``doc_place`` (in
        the order in which the documents of a query are drawn, from 0; -1 where it cannot matter), ``q_opening_cost``
        and ``q_drawing``.

    Raises:
        ValueError: If the measure or an argument is out of range.
    """
    graded = graded_pool(pool, measure, per_query)
    drawing = design or natural_drawing(graded.seen.form)
    sizes = pool_sizes(graded, RoundSettings(drawing, defensive, pairs=pairs), graded.grades)
    query = pool.query_of_document
    place = np.full(len(query), -1)
    place[sizes.order] = np.arange(len(sizes.order)) - np.searchsorted(query[sizes.order], query[sizes.order])
    table = pool.queries.iloc[query].reset_index(drop=True).assign(docno=pool.docno)
    columns = {"doc_size": sizes.size, "doc_cost": pool.document_cost, "doc_place": place}
    return table.assign(**columns, q_opening_cost=per_query, q_drawing=drawing)


def draw_frame(sizes: pd.DataFrame, budget: float | None, seed: int) -> pd.DataFrame:
    """Draw from a frame of `size_frame`, whatever the order of its rows.

    Args:
        sizes: As `size_frame` returns it.
        budget: Λ.
        seed: Of the draws.

    Returns:
        The rows of the documents to judge with ``inclusion``, the probability of each to be judged.

    Raises:
        ValueError: If there is no budget, or it is out of range.
    """
    if budget is None:
        raise ValueError("documents are drawn to a budget: say budget=, and not draws=")
    sizes = frames.with_string_ids(sizes).sort_values(["qid", "doc_place", "docno"]).reset_index(drop=True)
    query, qids = pd.factorize(sizes["qid"])
    indptr = np.searchsorted(query, np.arange(len(qids) + 1))
    size, cost = sizes["doc_size"].to_numpy(float), sizes["doc_cost"].to_numpy(float)
    overhead, drawing = float(sizes["q_opening_cost"].iloc[0]), str(sizes["q_drawing"].iloc[0])
    found = DocumentSizes(np.flatnonzero(size > 0), size, np.zeros_like(size))
    design = document_design(found, drawing, indptr, cost, overhead, float(budget))
    sample = draw_documents(design, indptr, cost, overhead, float(budget), np.random.default_rng(seed))
    sizes["inclusion"] = sample.opening[query] * design.inclusion
    return sizes[sample.drawn].reset_index(drop=True)


def worklist(pool: Pool, sample: DocumentSample, texts: pd.DataFrame | None) -> pd.DataFrame:
    """``qid, docno`` (+ ``query``, ``text``), ``inclusion``: what a person judges in a round.

    Args:
        pool: All queries.
        sample: What was drawn.
        texts: ``docno, text``, if there are any.

    Returns:
        Sorted by qid and docno; ``inclusion`` is Ππ, the probability of a document to be judged in the round.
    """
    drawn = np.flatnonzero(sample.drawn)
    query = pool.query_of_document[drawn]
    table = pd.DataFrame({"qid": pool.qids[query], "docno": pool.docno[drawn]})
    if "query" in pool.queries.columns:
        table["query"] = pool.queries["query"].to_numpy()[query]
    if texts is not None:
        texts = frames.with_string_ids(texts[["docno", "text"]]).drop_duplicates("docno")
        table["text"] = table["docno"].map(texts.set_index("docno")["text"])
    table["inclusion"] = sample.opening[query] * sample.design.inclusion[drawn]
    return table.sort_values(["qid", "docno"]).reset_index(drop=True)


def round_tables(rounds: Sequence[Round]) -> dict[str, pd.DataFrame]:
    """The rounds as frames by file name; see `rounds_from`.

    Returns:
        ``rounds``, one row a round and document that could be drawn; ``round_queries``, one row a round and query; and
        ``grades_<round>``, one row a document, for each round whose grade model was fitted again.
    """
    documents, queries = [], []
    for number, each in enumerate(rounds, start=1):
        sample, order = each.sample, each.sample.design.order
        row = {"inclusion": sample.design.inclusion[order], "drawn": sample.drawn[order]}
        documents.append(pd.DataFrame({"round": number, "document": order, **row}))
        row = {"planned_opening": sample.design.opening, "opening": sample.opening, "apart": sample.apart}
        queries.append(pd.DataFrame({"round": number, **row}))
    tables = {"rounds": pd.concat(documents, ignore_index=True), "round_queries": pd.concat(queries, ignore_index=True)}
    for number, each in enumerate(rounds[1:], start=2):
        if each.grades is not rounds[0].grades:
            tables[f"grades_{number}"] = pd.DataFrame({f"grade_{g}": column for g, column in enumerate(each.grades.T)})
    return tables


def rounds_from(
    pool: Pool, tables: Mapping[str, pd.DataFrame], drawing: str, described: Sequence[Mapping[str, Any]]
) -> tuple[Round, ...]:
    """Read back what `round_tables` wrote.

    Args:
        pool: All queries, with the grades of the first round.
        tables: By file name.
        drawing: One of `design.DRAWINGS`.
        described: The manifest's entry of each round.
    """
    rounds = []
    for number, entry in enumerate(described, start=1):
        documents, queries = (table[table["round"] == number] for table in (tables["rounds"], tables["round_queries"]))
        order = documents["document"].to_numpy()
        inclusion, drawn = np.zeros(len(pool.docno)), np.zeros(len(pool.docno), dtype=bool)
        inclusion[order], drawn[order] = documents["inclusion"], documents["drawn"]
        design = DocumentDesign(drawing, order, queries["planned_opening"].to_numpy(), inclusion)
        opening, apart = queries["opening"].to_numpy(), queries["apart"].to_numpy()
        sample = DocumentSample(design, opening, drawn, apart, float(entry["spent"]))
        refitted = tables.get(f"grades_{number}")
        grades = pool.grades if refitted is None else np.ascontiguousarray(refitted.to_numpy(dtype=np.float64))
        rounds.append(Round(sample, grades, float(entry["expected_variance"])))
    return tuple(rounds)
