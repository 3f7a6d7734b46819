"""Rounds of judging documents: each is drawn with what the labels before it taught [theory 9]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.documents.design import DocumentDesign, DocumentSizes, Variables, document_design, document_sizes
from pt_active.documents.drawing import DocumentSample, draw_documents
from pt_active.measures import RankForm, has_rank_form, rank_form
from pt_active.pool import Pool


@dataclass(frozen=True)
class Round:
    """One round of judging.

    Attributes:
        sample: Which documents were drawn, and how.
        grades: float64[N, G+1], the grade model of the round.
        expected: The variance that the first round's grade model expects of the round's estimate. Known before
            anything is drawn, so rounds may be weighted by its inverse.
    """

    sample: DocumentSample
    grades: np.ndarray
    expected: float


@dataclass(frozen=True)
class RoundSettings:
    """What all rounds of a plan share.

    Attributes:
        measure: What they are designed for.
        drawing: One of `design.DRAWINGS`.
        per_query: λ₀, the cost of opening a query, which each round pays anew.
        defensive: ε of `design.hedged`.
        objective: One of `design.OBJECTIVES`.
    """

    measure: irm.Measure
    drawing: str
    per_query: float
    defensive: float
    objective: str


def document_form(measure: irm.Measure, pool: Pool) -> RankForm:
    """The rank form of a measure that single documents can be judged for.

    Raises:
        ValueError: If the measure is neither additive nor cascade.
    """
    if not has_rank_form(measure):
        raise ValueError(
            f"{measure} cannot be estimated from single documents: it divides by what the whole pool of a query holds, "
            'so a missing label bends it. Sample whole queries for it (level="query"), or estimate DCG, ERR, P, RBP or '
            "RR here"
        )
    return rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))


def draw_round(
    pool: Pool,
    settings: RoundSettings,
    budget: float,
    rng: np.random.Generator,
    *,
    grades: np.ndarray | None = None,
    labels: np.ndarray | None = None,
) -> Round:
    """Draw the next documents to judge.

    Args:
        pool: All queries; its grades are those of the first round.
        settings: What all rounds share.
        budget: What the round may spend.
        rng: Source of randomness.
        grades: float64[N, G+1], of a grade model that was fitted again; the pool's if left out.
        labels: int64[N], those that are known already, -1 where none is.

    Raises:
        ValueError: If an argument is out of range, or there is nothing left to judge.
    """
    form = document_form(settings.measure, pool)
    grades = pool.grades if grades is None else grades

    def sizes_under(grades: np.ndarray) -> DocumentSizes:
        return document_sizes(
            form,
            pool.indptr,
            pool.ranks,
            Variables.of(form, grades, labels),
            pool.document_cost,
            settings.per_query,
            pool.query_weight,
            drawing=settings.drawing,
            defensive=settings.defensive,
            objective=settings.objective,
        )

    sizes = sizes_under(grades)
    first = sizes if grades is pool.grades else sizes_under(pool.grades)
    paid = pool.indptr, pool.document_cost, settings.per_query, budget
    design = document_design(sizes, settings.drawing, *paid)
    sample = draw_documents(design, *paid, rng)
    chance = np.repeat(design.opening, np.diff(pool.indptr)) * design.inclusion
    with np.errstate(divide="ignore"):
        expected = float((first.gain * np.where(chance > 0, 1 / chance - 1, 0.0)).sum())
    return Round(sample, grades, expected)


def round_weights(rounds: Sequence[Round]) -> np.ndarray:
    """Weights of the rounds' estimates, ∝ 1/expected variance, float64[r]; a census takes all."""
    expected = np.array([each.expected for each in rounds])
    if (expected <= 0).any():
        return np.asarray(np.cumsum(expected <= 0) * (expected <= 0) == 1, dtype=float)
    return np.asarray((1 / expected) / (1 / expected).sum())


def judged_before(rounds: Sequence[Round]) -> np.ndarray:
    """bool[N], the documents that some of the rounds drew."""
    return np.asarray(np.any([each.sample.drawn for each in rounds], axis=0))


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
