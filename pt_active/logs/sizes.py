"""How probable should the judging of each of very many documents be?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pt_active.logs.document_rows import DocumentRows
from pt_active.relevance.measures import RankForm
from pt_active.sampling.documents import (
    CERTAIN_MODEL,
    COMMON_SHARE,
    Sizing,
    added_variance,
    serves_singles,
)
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.influence import ErrorVariance, Influence, influence_of, influence_of_singles
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import DocumentSizes, Prices

QUERIES_AT_ONCE = 50_000
"""So many queries are in memory with the gradients of their documents."""


@dataclass(frozen=True)
class Documents:
    """All documents that an additive measure sees, as numbers.

    Attributes:
        rows: The numbers of the documents.
        form: The form of the measure.
        weight: float64[m], p.
        overhead: λ₀, the cost of opening a query.
    """

    rows: DocumentRows
    form: RankForm
    weight: np.ndarray
    overhead: float

    @property
    def pool(self) -> DocumentPool:
        """The pool as the measure sees it."""
        return DocumentPool(self.form, self.rows.indptr, self.rows.ranks, self.weight)

    def blocks(self) -> Iterator[tuple[slice, slice, DocumentPool]]:
        """Parts of the queries: which queries, which of the documents, and the pool of these."""
        indptr = self.rows.indptr
        for start in range(0, len(self.weight), QUERIES_AT_ONCE):
            queries = slice(start, min(start + QUERIES_AT_ONCE, len(self.weight)))
            own = indptr[queries.start : queries.stop + 1]
            documents = slice(int(own[0]), int(own[-1]))
            ranks = self.rows.ranks[:, documents]
            yield queries, documents, DocumentPool(self.form, own - own[0], ranks, self.weight[queries])


def sizes_in_blocks(documents: Documents, settings: RoundSettings) -> DocumentSizes:
    """The sizes of `sampling.documents.document_sizes` for an additive measure, from little memory."""
    rows, several = documents.rows, len(documents.rows.ranks) > 1
    weighted, total = np.zeros(2), 0.0
    for _, own, pool in documents.blocks():
        square = (pool.gradients(rows.mean[own]) ** 2).sum(axis=0)
        weighted += square @ rows.variance[own], square.sum()
        total += float(np.abs(square).sum())
    average = float(weighted[0] / max(weighted[1], np.finfo(float).tiny))
    if average == 0 and total > 0:
        warnings.warn(CERTAIN_MODEL, stacklevel=3)
    added = added_variance(average, settings.defensive)
    errors = ErrorVariance(rows.variance + added, COMMON_SHARE * added)
    prices = Prices(rows.indptr, rows.cost, documents.overhead)
    sizing = Sizing(errors, documents.pool, prices, settings.drawing, [])
    both = several and serves_singles(settings, sizing.pool, documents.overhead)
    pairs, singles = (_nothing(rows) if wanted else None for wanted in (True, both))
    assert pairs is not None
    for queries, own, pool in documents.blocks():
        gradient, known = pool.gradients(rows.mean[own]), np.zeros(own.stop - own.start, dtype=bool)
        each = influence_of(pool, gradient, known)
        share = np.full(len(each.documents), 1 / len(each.documents))
        if settings.pairs is not None:
            share = settings.pairs / settings.pairs.sum()
        _put(pairs, each.mean(share), queries, own)
        if singles is not None:
            _put(singles, influence_of_singles(pool, gradient, known), queries, own)
    return sizing.sizes(pairs) if singles is None else sizing.with_singles(pairs, singles)


def _nothing(rows: DocumentRows) -> Influence:
    return Influence(np.zeros(len(rows.mean)), np.zeros(len(rows.qid)))


def _put(whole: Influence, part: Influence, queries: slice, documents: slice) -> None:
    whole.documents[documents], whole.queries[queries] = part.documents, part.queries
