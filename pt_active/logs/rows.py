"""What does a partition say of its queries and documents, and how do all partitions become one?"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown, some
from pt_active.frames.clocks import clocks
from pt_active.frames.columns import query_table, with_string_ids
from pt_active.logs.partition import PartitionQuestion, graded_partition, partition_pool
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.relevance.bounds import contrast_bounds
from pt_active.relevance.digits import GRADE_BITS, rounded
from pt_active.relevance.measures import RankForm, has_rank_form, parse_lasting, rank_form
from pt_active.relevance.moments import Moments
from pt_active.sampling.drawings import SUCCESSIVE, natural_drawing, succession_unit
from pt_active.sampling.pools import Variables

_ANY_GRADE = 1000  # A highest grade by which any measure can be parsed; its family does not depend on it


@dataclass(frozen=True)
class Rows:
    """Numbers of n queries and of N of their documents, query by query, from which a sample can be designed."""

    qid: np.ndarray  # object[n]
    cost: np.ndarray  # float64[n], λ(x)
    documents: np.ndarray  # int64[n], how many documents the rankers retrieve
    seen: np.ndarray  # int64[n], for how many of them there are numbers
    by_query: Mapping[str, np.ndarray]  # [n, …] ``mean, covariance`` of model and uniform grades, ``low, high``
    by_document: Mapping[str, np.ndarray]  # […, N] int16 ``ranks`` (0 = none), ``mean, variance, cost, clock``
    deepest: int  # the deepest rank that occurs
    max_grade: int  # G, the highest grade of the model

    @property
    def indptr(self) -> np.ndarray:
        """int64[n+1], the offsets of the queries."""
        return np.concatenate([[0], np.cumsum(self.seen)])

    def moments(self, grades: str = "") -> Moments | None:
        """The moments of the measure under the grade model, or with ``uniform_`` under uniform grades."""
        if f"{grades}mean" not in self.by_query:
            return None
        return Moments(self.by_query[f"{grades}mean"], self.by_query[f"{grades}covariance"])

    def documents_of(self, rows: np.ndarray) -> np.ndarray:
        """int64[…], the documents of some queries, int64[s]."""
        starts, number = self.indptr[:-1][rows], self.seen[rows]
        return np.repeat(starts - (np.cumsum(number) - number), number) + np.arange(number.sum())

    def taken(self, rows: np.ndarray) -> Rows:
        """Some of the queries, int64[s], with their documents."""
        if np.array_equal(rows, np.arange(len(self.qid))):
            return self
        place = self.documents_of(rows)
        by_document = {name: np.ascontiguousarray(each[..., place]) for name, each in self.by_document.items()}
        return replace(self._queries(rows), by_document=by_document)

    def _queries(self, rows: np.ndarray) -> Rows:
        of_query: dict[str, Any] = {name: getattr(self, name)[rows] for name in ("qid", "cost", "documents", "seen")}
        return replace(self, **of_query, by_query={name: each[rows] for name, each in self.by_query.items()})

    def digest(self) -> str:
        """A fingerprint, by which inputs are recognised; 64 hexadecimal digits."""
        numbers = {**self.by_query, **self.by_document}
        sha = hashlib.sha256("\0".join(self.qid.tolist()).encode("utf-8", "surrogatepass"))
        for values in [self.documents, *(numbers[name] for name in ("ranks",) if name in numbers)]:
            sha.update(np.ascontiguousarray(values).tobytes())
        for values in [self.cost, *(numbers[name] for name in ("mean", "variance", "covariance") if name in numbers)]:
            sha.update((rounded(values, GRADE_BITS) + 0.0).tobytes())
        return sha.hexdigest()


def is_additive(measure: object) -> bool:
    """Whether a measure is a sum over documents, each with a weight and the value of its grade."""
    parsed = parse_lasting(measure, max_grade=_ANY_GRADE)  # type: ignore[arg-type]
    return has_rank_form(parsed) and rank_form(parsed, 1, 1).family == "additive"


def check_additive(measure: object) -> None:
    """Raise if the documents of a measure cannot be drawn out of core."""
    if not is_additive(measure):
        raise ValueError(
            f"the documents of {measure} are drawn in memory only; out of core plan for an additive measure, such as "
            'DCG@10, or for whole queries of ERR@10 with level="query"'
        )


def bounded_contrasts(rankers: int) -> list[Contrast]:
    """The contrasts that can be looked at before all is judged: of one or two rankers; none of more."""
    return [[Contrast(0)], [Contrast(0), Contrast(1), Contrast(0, 1)]][rankers - 1] if rankers <= 2 else []


def query_rows(partition: pd.DataFrame, question: PartitionQuestion) -> Rows | None:
    """Numbers of each query of a partition, from which queries can be drawn; None if the partition is empty."""
    if partition.empty:
        return None
    pool, measure = partition_pool(graded_partition(partition, question), question)
    contrasts, k = bounded_contrasts(len(pool.names)), len(pool.names)
    bounds = [contrast_bounds(measure, pool.indptr, pool.ranks, pool.max_grade, c.weights(k)) for c in contrasts]
    ends = np.array(bounds).reshape(len(contrasts), 2, len(pool.queries))
    by_query = {"low": ends[:, 0].T, "high": ends[:, 1].T}
    for name in ("", "uniform_") if question.uniform else ("",):
        moments = pool.moments(measure, uniform_grades=bool(name))
        by_query |= {f"{name}mean": moments.mean, f"{name}covariance": moments.covariance}
    return _rows(pool, np.zeros(len(pool.queries), dtype=np.int64), by_query, {})


def document_rows(partition: pd.DataFrame, question: PartitionQuestion) -> Rows | None:
    """Numbers of each document of a partition that the measure sees; None if the partition is empty."""
    if partition.empty:
        return None
    check_additive(question.measure)
    pool, measure = partition_pool(graded_partition(partition, question), question)
    seen, form = pool.seen(measure), seen_by(measure, pool).form
    variables, most = Variables.of(form, pool.grades[seen]), np.iinfo(np.int16).max
    if pool.ranks[:, seen].max(initial=0) >= most and len(form.weights) >= most:
        raise ValueError(f"{measure} sees rankings of more than {most - 1} documents; cut them with a depth")
    by_document = {
        "ranks": np.minimum(pool.ranks[:, seen], most).astype(np.int16),
        "mean": variables.mean,
        "variance": variables.variance,
        "cost": pool.document_cost[seen],
    }
    number = np.bincount(pool.query_of_document[seen], minlength=len(pool.queries))
    return _rows(pool, number, {}, by_document | _clock(pool, seen, form, question))


def _rows(
    pool: Pool, seen: np.ndarray, by_query: Mapping[str, np.ndarray], by_document: Mapping[str, np.ndarray]
) -> Rows:
    documents, deepest = np.diff(pool.indptr), int(pool.ranks.max(initial=0))
    return Rows(pool.qids, pool.query_cost, documents, seen, by_query, by_document, deepest, pool.max_grade)


def _clock(pool: Pool, seen: np.ndarray, form: RankForm, question: PartitionQuestion) -> dict[str, np.ndarray]:
    overhead = float(question.cost.per_query)
    if (question.drawing or natural_drawing(form, len(pool.names), overhead)) != SUCCESSIVE:
        return {}
    by_document = succession_unit(form, overhead) == "document"
    qid = pool.qids[pool.query_of_document[seen]]
    return {"clock": clocks(question.seed, qid, pool.docno[seen] if by_document else None)}


def merged(parts: Iterable[Rows | None]) -> Rows:
    """The rows of all partitions, by qid; the numbers of documents are on disk until all partitions are there."""
    rows: list[Rows] = []
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for part in filter(None, parts):
            for name, values in part.by_document.items():
                if name not in files:
                    files[name] = stack.enter_context(tempfile.TemporaryFile())
                files[name].write(np.ascontiguousarray(values.T).tobytes())
            rows.append(replace(part, by_document={name: each[..., :0] for name, each in part.by_document.items()}))
        if not rows:
            raise ValueError("the pool is empty: no ranker returned a document for any query")
        if len(heights := {part.max_grade for part in rows}) > 1:
            raise ValueError(f"the grade model has other grades in some partitions: up to {sorted(heights)}")
        whole = replace(_stacked(rows), deepest=max(part.deepest for part in rows))
        order = np.argsort(whole.qid, kind="stable")
        check_not_split(whole.qid[order])
        place = whole.documents_of(order)
        read = {name: _read(file, rows[0].by_document[name], place) for name, file in files.items()}
        return replace(whole._queries(order), by_document=read)


def _stacked(rows: list[Rows]) -> Rows:
    of_query: dict[str, Any] = {
        n: np.concatenate([getattr(part, n) for part in rows]) for n in ("qid", "cost", "documents", "seen")
    }
    by_query = {name: np.concatenate([part.by_query[name] for part in rows]) for name in rows[0].by_query}
    return replace(rows[0], **of_query, by_query=by_query)


def _read(file: IO[bytes], like: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The numbers in a file, […, N], at some places, of the type and the first axes of an array."""
    file.seek(0)
    whole = np.fromfile(file, dtype=like.dtype).reshape(-1, *like.shape[:-1])
    return np.ascontiguousarray(whole[place].T)


def check_not_split(qid: np.ndarray) -> None:
    """Raise if a query is in two partitions; ``qid`` is object[n], sorted."""
    split = np.flatnonzero(qid[1:] == qid[:-1])
    if len(split):
        raise ValueError(
            f"query {shown(qid[split[0]])} is split over partitions, as {how_many('query', len(split))} "
            f"{agreeing('is', len(split))} in all; partition the runs by qid, so that all rows of a query are in one"
        )


def with_topics(rows: Rows, topics: pd.DataFrame | None) -> tuple[Rows, pd.DataFrame]:
    """The rows of the queries in the topics, and a table of their query columns."""
    if topics is None:
        return rows, pd.DataFrame({"qid": rows.qid})
    topics = with_string_ids(topics)
    if topics["qid"].duplicated().any():
        raise ValueError(f"topics hold a query twice: {some(topics['qid'][topics['qid'].duplicated()])}")
    place = pd.Index(topics["qid"]).get_indexer(pd.Index(rows.qid, dtype=object))
    if not (place >= 0).any():
        raise ValueError(f"the runs answer none of the topics ({len(topics)} in all); do the qids match?")
    absent = np.setdiff1d(np.arange(len(topics)), place)
    if len(absent):
        warnings.warn(
            f"{how_many('topic', len(absent), 'has')} no document from any ranker and "
            f"{agreeing('is', len(absent))} left out of the pool, so estimates say nothing about "
            f"{some(topics['qid'].iloc[absent])}",
            stacklevel=3,
        )
    rows = rows.taken(np.flatnonzero(place >= 0))
    return rows, query_table(topics, list(rows.qid))
