"""What does a partition say of each document that a measure sees, so that documents can be drawn without names?"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np
import pandas as pd

from pt_active.frames.clocks import clocks
from pt_active.logs.merging import check_not_split, check_same_grades
from pt_active.logs.partition import Question, graded_partition, partition_pool
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.relevance.digits import GRADE_BITS, rounded
from pt_active.relevance.measures import RankForm, has_rank_form, parse_lasting, rank_form
from pt_active.sampling.drawings import SUCCESSIVE, natural_drawing, succession_unit
from pt_active.sampling.pools import Variables

_ANY_GRADE = 1000
"""A highest grade by which any measure can be parsed; its family does not depend on it."""


def check_additive(measure: object) -> None:
    """Raise if the documents of a measure cannot be drawn out of core."""
    if not is_additive(measure):
        raise ValueError(
            f"the documents of {measure} are drawn in memory only; out of core plan for an additive measure, such as "
            'DCG@10, or for whole queries of ERR@10 with level="query"'
        )


def is_additive(measure: object) -> bool:
    """Whether a measure is a sum over documents, each with a weight and the value of its grade."""
    parsed = parse_lasting(measure, max_grade=_ANY_GRADE)  # type: ignore[arg-type]
    return has_rank_form(parsed) and rank_form(parsed, 1, 1).family == "additive"


@dataclass(frozen=True)
class DocumentRows:
    """Numbers for each of n queries, and for the N documents of these that the measure sees, query by query.

    Attributes:
        qid: object[n].
        query_cost: float64[n], λ(x).
        documents: int64[n], how many documents the rankers retrieve.
        seen: int64[n], how many of them the measure sees.
        ranks: int16[k, N], from 1; 0 = not retrieved. Ranks that the measure does not see may be cut to a larger one
            that it does not see either.
        mean: float64[N], μ of the document variable under the grade model.
        variance: float64[N], v.
        cost: float64[N], λ.
        clock: float64[N], exponential variables of documents that come one after the other; None for other designs.
        deepest: The deepest rank that occurs.
        max_grade: G, the highest grade of the model.
    """

    qid: np.ndarray
    query_cost: np.ndarray
    documents: np.ndarray
    seen: np.ndarray
    ranks: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    cost: np.ndarray
    clock: np.ndarray | None
    deepest: int
    max_grade: int

    @property
    def indptr(self) -> np.ndarray:
        """int64[n+1], the offsets of the queries."""
        return np.concatenate([[0], np.cumsum(self.seen)])

    def documents_of(self, rows: np.ndarray) -> np.ndarray:
        """int64[…], the documents of some queries.

        Shapes: rows int64[s].
        """
        starts, number = self.indptr[:-1][rows], self.seen[rows]
        before = np.cumsum(number) - number
        return np.repeat(starts - before, number) + np.arange(number.sum())

    def taken(self, rows: np.ndarray) -> DocumentRows:
        """Some of the queries with their documents.

        Shapes: rows int64[s].
        """
        if np.array_equal(rows, np.arange(len(self.qid))):
            return self
        place = self.documents_of(rows)
        return replace(
            self,
            qid=self.qid[rows],
            query_cost=self.query_cost[rows],
            documents=self.documents[rows],
            seen=self.seen[rows],
            ranks=_at(self.ranks, place),
            mean=_at(self.mean, place),
            variance=_at(self.variance, place),
            cost=_at(self.cost, place),
            clock=None if self.clock is None else _at(self.clock, place),
        )

    def digest(self) -> str:
        """A fingerprint, by which inputs are recognised; 64 hexadecimal digits."""
        sha = hashlib.sha256("\0".join(self.qid.tolist()).encode("utf-8", "surrogatepass"))
        for values in (self.documents, self.ranks):
            sha.update(np.ascontiguousarray(values).tobytes())
        for values in (self.query_cost, self.mean, self.variance):
            sha.update(rounded(values, GRADE_BITS).tobytes())
        return sha.hexdigest()


def _at(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values[..., place])


def document_rows(partition: pd.DataFrame, question: Question) -> DocumentRows | None:
    """Numbers for each document of a partition that the measure sees; None if the partition is empty."""
    if partition.empty:
        return None
    check_additive(question.measure)
    pool = partition_pool(graded_partition(partition, question), question)
    measure = parse_lasting(question.measure, max_grade=pool.max_grade)
    seen, form = pool.seen(measure), seen_by(measure, pool).form
    variables = Variables.of(form, pool.grades[seen])
    ranks, most = pool.ranks[:, seen], np.iinfo(np.int16).max
    if ranks.max(initial=0) >= most:
        if len(form.weights) >= most:
            raise ValueError(f"{measure} sees rankings of more than {most - 1} documents; cut them with a depth")
        ranks = np.minimum(ranks, most)
    return DocumentRows(
        pool.qids,
        pool.query_cost,
        np.diff(pool.indptr),
        np.bincount(pool.query_of_document[seen], minlength=len(pool.queries)),
        ranks.astype(np.int16),
        variables.mean,
        variables.variance,
        pool.document_cost[seen],
        _clock(pool, seen, form, question),
        int(pool.ranks.max(initial=0)),
        pool.max_grade,
    )


def _clock(pool: Pool, seen: np.ndarray, form: RankForm, question: Question) -> np.ndarray | None:
    overhead = float(question.cost.per_query)
    drawing = question.drawing or natural_drawing(form, len(pool.names), overhead)
    if drawing != SUCCESSIVE:
        return None
    by_document = succession_unit(form, overhead) == "document"
    qid = pool.qids[pool.query_of_document[seen]]
    return clocks(question.seed, qid, pool.docno[seen] if by_document else None)


def merged_documents(parts: Iterable[DocumentRows | None]) -> DocumentRows:
    """The numbers of all partitions, sorted by qid, so that the partitioning leaves no trace."""
    by_query: list[DocumentRows] = []
    with _Spool() as spool:
        for part in parts:
            if part is not None:
                by_query.append(spool.taken(part))
        if not by_query:
            raise ValueError("the pool is empty: no ranker returned a document for any query")
        check_same_grades(part.max_grade for part in by_query)
        qid, seen = (np.concatenate([getattr(part, name) for part in by_query]) for name in ("qid", "seen"))
        order = np.argsort(qid, kind="stable")
        check_not_split(qid[order])
        number = seen[order]
        place = np.repeat((np.cumsum(seen) - seen)[order] - (np.cumsum(number) - number), number)
        place += np.arange(len(place))
        return DocumentRows(
            qid[order],
            np.concatenate([part.query_cost for part in by_query])[order],
            np.concatenate([part.documents for part in by_query])[order],
            number,
            np.ascontiguousarray(spool.read("ranks")[place].T),
            spool.read("mean")[place],
            spool.read("variance")[place],
            spool.read("cost")[place],
            spool.read("clock")[place] if spool.has("clock") else None,
            max(part.deepest for part in by_query),
            by_query[0].max_grade,
        )


class _Spool:
    """Numbers of documents on disk, until all partitions are there: one array a field, and none of them twice."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[IO[bytes], np.dtype[Any], tuple[int, ...]]] = {}

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._files.values():
            each[0].close()

    def taken(self, part: DocumentRows) -> DocumentRows:
        """The numbers of the queries alone; those of the documents are kept on disk."""
        nothing = np.empty((len(part.ranks), 0), dtype=part.ranks.dtype)
        for name in ("ranks", "mean", "variance", "cost", "clock"):
            if (values := getattr(part, name)) is not None:
                rows = np.ascontiguousarray(values.T)
                if name not in self._files:
                    file = tempfile.TemporaryFile()  # noqa: SIM115 (`__exit__` closes it)
                    self._files[name] = file, rows.dtype, rows.shape[1:]
                self._files[name][0].write(rows.tobytes())
        return replace(part, ranks=nothing, mean=nothing[0], variance=nothing[0], cost=nothing[0], clock=None)

    def has(self, name: str) -> bool:
        """Whether there are numbers of a field."""
        return name in self._files

    def read(self, name: str) -> np.ndarray:
        """The numbers of a field of all documents, one row each."""
        file, dtype, shape = self._files[name]
        file.seek(0)
        return np.fromfile(file, dtype=dtype).reshape(-1, *shape)
