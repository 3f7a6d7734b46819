"""What is known of all documents that a measure sees?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pt_active.logs.rows import Rows
from pt_active.logs.simulated import SimulatedPool
from pt_active.relevance.measures import RankForm
from pt_active.relevance.revealed import RevealedForm
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import DocumentSizes

QUERIES_AT_ONCE = 4_000  # Of so many queries the numbers of documents stay near the processor


class DocumentBlock(NamedTuple):
    """Some queries that follow each other, with their documents."""

    queries: slice
    documents: slice
    pool: DocumentPool  # of an additive measure
    numbers: dict[str, np.ndarray]  # those of `Rows.by_document` that were asked for


@dataclass(frozen=True)
class Documents:
    """All documents that a measure sees."""

    rows: Rows
    form: RankForm  # of an additive measure, or a `RevealedForm`
    weight: np.ndarray  # float64[m], p
    overhead: float  # λ₀, the cost of opening a query

    def among(self, queries: np.ndarray) -> Documents:
        """Those of some queries, int64[n], with their numbers in memory."""
        return replace(self, rows=self.rows.taken(queries).loaded(), weight=self.weight[queries])

    @property
    def pool(self) -> DocumentPool:
        """The pool as the measure sees it, from numbers in memory."""
        about, rows = (self.rows.indptr, self.rows.by_document["ranks"], self.weight), self.rows.by_document
        if not isinstance(self.form, RevealedForm):
            return DocumentPool(self.form, *about)
        known: dict[str, Any] = {"turn": rows["turn"], "expected": rows["squares"]}
        return SimulatedPool(self.form, *about, *np.empty((2, 0)), value=self.rows.by_query["value"], **known)

    def sizes(self, settings: RoundSettings) -> DocumentSizes:
        """The sizes of `document_sizes`, from numbers in memory."""
        rows, number = self.rows.by_document, self.rows.by_document["ranks"].shape[1]
        mean = rows.get("mean", np.empty((number, 0)))
        variables = Variables(mean, rows.get("variance", np.empty(0)), np.zeros(number, dtype=bool))
        return document_sizes(self.pool, variables, rows["cost"], self.overhead, settings)

    def blocks(self, *names: str) -> Iterator[DocumentBlock]:
        """All documents of an additive measure, with some of their numbers."""
        indptr, by_document = self.rows.indptr, self.rows.by_document
        for start in range(0, len(self.weight), QUERIES_AT_ONCE):
            queries = slice(start, min(start + QUERIES_AT_ONCE, len(self.weight)))
            own = indptr[queries.start : queries.stop + 1]
            documents = slice(int(own[0]), int(own[-1]))
            ranks, *numbers = (
                np.ascontiguousarray(by_document[name][..., documents])
                if isinstance(by_document[name], np.ndarray)
                else np.ascontiguousarray(by_document[name][documents])
                for name in ("ranks", *names)
            )
            pool = DocumentPool(self.form, own - own[0], ranks, self.weight[queries])
            yield DocumentBlock(queries, documents, pool, dict(zip(names, numbers, strict=True)))
