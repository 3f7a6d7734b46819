"""Document-level designs as frames, for pipelines [theory 9]."""

from __future__ import annotations

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.documents.design import DocumentSizes, Variables, document_design, document_sizes, natural_drawing
from pt_active.documents.drawing import draw_documents
from pt_active.documents.rounds import document_form
from pt_active.pool import Pool

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing"]
"""What `size_frame` adds to the documents."""


def size_frame(
    pool: Pool, measure: irm.Measure, design: str | None, per_query: float, defensive: float
) -> pd.DataFrame:
    """One row a document: how probable its judging should be, relative to the others.

    Args:
        pool: All queries.
        measure: Additive or cascade.
        design: One of `design.DRAWINGS`; what suits the measure if left out.
        per_query: λ₀.
        defensive: ε of `design.hedged`.

    Returns:
        The query columns, ``docno``, ``doc_size`` (0 where a document cannot matter), ``doc_cost``, ``doc_place`` (in
        the order in which the documents of a query are drawn, from 0; -1 where it cannot matter), ``q_opening_cost``
        and ``q_drawing``.

    Raises:
        ValueError: If the measure or an argument is out of range.
    """
    form = document_form(measure, pool)
    drawing = design or natural_drawing(form)
    sizes = document_sizes(
        form,
        pool.indptr,
        pool.ranks,
        Variables.of(form, pool.grades),
        pool.document_cost,
        per_query,
        pool.query_weight,
        drawing=drawing,
        defensive=defensive,
    )
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
