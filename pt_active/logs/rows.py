"""What does a partition say about its queries and documents, and how do all partitions become one population?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import ArgumentError, agreeing, how_many, shown, some
from pt_active.frames.clocks import keys
from pt_active.frames.columns import grade_columns, query_table, ranker_names, with_query_columns, with_string_ids
from pt_active.frames.ids import adjacent
from pt_active.frames.runs import ranking_of, united
from pt_active.logs.numbers import DocumentNumbers
from pt_active.logs.simulated import expected_by
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.artifact import digest
from pt_active.plans.making.manifest import LevelChoice, Manifest, Rest
from pt_active.plans.making.pool import Pool, query_weights, seen_by, seen_documents, warn_without_documents
from pt_active.relevance.bounds import contrast_bounds
from pt_active.relevance.costs import Cost, UnitCost
from pt_active.relevance.digits import GRADE_BITS, rounded, total
from pt_active.relevance.grades.models import ColdGrades
from pt_active.relevance.measures import has_rank_form, parse_lasting, rank_form
from pt_active.relevance.moments import Moments
from pt_active.sampling.drawings import SUCCESSIVE, natural_drawing, succession_unit
from pt_active.sampling.pools import Variables
from pt_active.sampling.revealed import RevealedPool
from pt_active.transformers import Runs, check_same_queries

RANKER = "run"  # The column of a partition that names the ranker of a row

PARTITION_COLUMNS = [RANKER, "qid", "docno", "score"]
"""The columns of a partition: one row for each document of each ranking."""

NO_QUERIES = "the pool is empty: the runs answer none of the topics; do the qids match?"

_ANY_GRADE = 1000  # A highest grade by which any measure can be parsed; its family does not depend on it


@dataclass(frozen=True)
class PartitionQuestion:
    """What is asked of every partition; it goes to all processes and machines."""

    names: tuple[str, ...]  # the rankers, in the order of the plan
    grades: pt.Transformer  # fitted; what it says about a document may depend on its own query alone
    measure: str | irm.Measure  # as the user gives it
    cost: Cost
    uniform: bool = False  # whether moments under uniform grades are needed too
    depth: int | None = None  # documents to keep of each ranking; None for all
    allow_missing_queries: bool = False  # whether a ranker may leave queries unanswered
    drawing: str | None = None  # how documents are drawn; None for the usual way
    seed: int = 0

    def parsed(self, max_grade: int) -> irm.Measure:
        """The measure with its parameters."""
        return parse_lasting(self.measure, max_grade=max_grade)


def queries_of(partition: pd.DataFrame, question: PartitionQuestion) -> np.ndarray:
    """object[n], the queries of a partition."""
    return np.asarray(partition["qid"].unique(), dtype=object)


def _rankings(partition: pd.DataFrame, question: PartitionQuestion) -> dict[str, pd.DataFrame]:
    """The rows of the rankers that have some."""
    if unknown := sorted(set(map(str, partition[RANKER].unique())) - set(question.names)):
        raise ValueError(f"there are rows of {some(unknown)}, and the rankers are {some(question.names)}")
    ranker, own = pd.Categorical(partition[RANKER], categories=question.names).codes, partition.drop(columns=RANKER)
    parts = {name: np.flatnonzero(ranker == place) for place, name in enumerate(question.names)}
    runs = {name: own.iloc[adjacent(rows)] for name, rows in parts.items() if len(rows)}
    if len(runs) < len(parts) and not question.allow_missing_queries:
        check_same_queries({name: set(runs[name]["qid"]) if name in runs else set() for name in question.names})
    return runs


def graded_partition(partition: pd.DataFrame, question: PartitionQuestion) -> pd.DataFrame:
    """The union of the rankings in a partition with their grades, as `Runs` and the grade model return it."""
    runs = _rankings(partition, question)
    queries = pd.DataFrame({"qid": partition["qid"].unique()})
    frame = Runs(question.depth, allow_missing_queries=question.allow_missing_queries, **runs).transform(queries)
    if absent := [name for name in question.names if name not in runs]:
        frame = frame.assign(**{f"rank_{name}": -1 for name in absent}, **{f"score_{name}": np.nan for name in absent})
        rest = [c for c in frame.columns if not str(c).startswith(("rank_", "score_"))]
        frame = frame[[*rest, *(f"{kind}_{name}" for name in question.names for kind in ("rank", "score"))]]
    graded = question.grades.transform(frame)
    if not grade_columns(graded.columns) or tuple(ranker_names(graded.columns)) != question.names:
        raise ArgumentError("the grade model must keep the columns of the rankers and add grade_0, grade_1, …")
    return graded


def graded_pool(graded: pd.DataFrame, question: PartitionQuestion) -> tuple[Pool, irm.Measure]:
    """The pool of graded queries, whose weights mean nothing, since they depend on all queries, and the measure."""
    measure = question.parsed(len(grade_columns(graded.columns)) - 1)
    return Pool.from_frame(graded.drop(columns="traffic", errors="ignore"), measure, question.cost), measure


def partition_pool(partition: pd.DataFrame, question: PartitionQuestion) -> tuple[Pool, irm.Measure]:
    """The pool of a partition and the measure; where grades follow from ranks alone, no frame is made in between."""
    model = question.grades
    if type(model) is ColdGrades and type(question.cost) is UnitCost:
        runs = _rankings(partition, question)
        rankings = {name: ranking_of(run, name, question.depth) for name, run in runs.items()}
        if not question.allow_missing_queries:
            check_same_queries({name: set(each.qids.to_numpy(dtype=object)) for name, each in rankings.items()})
        union, measure = united(rankings), question.parsed(model.max_grade)
        qids = union.qids.to_numpy(dtype=object)
        if len(runs) == len(question.names) and (qids[1:] > qids[:-1]).all():
            # A rank of 0, as an unsigned number, is larger than all others.
            best = np.minimum.reduce(union.ranks.view(np.uint32) - np.uint32(1)).astype(np.int64) + 1
            seen = seen_documents(union.ranks, measure)
            return Pool.from_union(question.names, union, model.of_ranks(best), seen, question.cost), measure
    return graded_pool(graded_partition(partition, question), question)


_AT_ONCE, _ROUNDED = 1 << 20, ("mean", "variance", "covariance", "squares")
"""Of so many numbers a digest is made at a time, of these after rounding."""

_OF_QUERY = "qid", "cost", "documents", "seen"  # The arrays of `Rows` that every partition has


@dataclass(frozen=True)
class Rows:
    """DocumentNumbers of n queries and of N of their documents, query by query, from which a sample can be designed."""

    qid: np.ndarray  # object[n]
    cost: np.ndarray  # float64[n], λ(x)
    documents: np.ndarray  # int64[n], how many documents the rankers retrieve
    seen: np.ndarray  # int64[n], for how many of them there are numbers
    by_query: Mapping[str, np.ndarray]  # [n, …] ``mean, covariance`` of model and uniform grades, ``low, high``
    by_document: Mapping[
        str, Any
    ]  # […, N] int16 ``ranks`` (0 = none), ``cost``, and what a drawing needs; `DocumentNumbers`
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

    @property
    def believed(self) -> int:
        """The digest of what is known before people judge, as `Pool.believed`."""
        return total(self.by_query["beliefs"])

    def documents_of(self, rows: np.ndarray) -> np.ndarray:
        """int64[…], the documents of some queries, int64[s]."""
        starts, number = self.indptr[:-1][rows], self.seen[rows]
        return np.repeat(starts - (np.cumsum(number) - number), number) + np.arange(number.sum())

    def taken(self, rows: np.ndarray) -> Rows:
        """Some of the queries, int64[s], with their documents."""
        if np.array_equal(rows, np.arange(len(self.qid))):
            return self
        place = self.documents_of(rows)
        by_document = {name: each.taken(place) for name, each in self.by_document.items()}
        of_query: dict[str, Any] = {name: getattr(self, name)[rows] for name in _OF_QUERY}
        by_query = {name: each[rows] for name, each in self.by_query.items()}
        return replace(self, **of_query, by_query=by_query, by_document=by_document)

    def loaded(self) -> Rows:
        """The same with all numbers of documents in memory."""
        return replace(self, by_document={name: each[:] for name, each in self.by_document.items()})

    def digest(self) -> str:
        """A fingerprint, by which inputs are recognised; 64 hexadecimal digits."""
        numbers = {**self.by_query, **self.by_document}
        sha = hashlib.sha256("\0".join(self.qid.tolist()).encode("utf-8", "surrogatepass"))
        parts = [[numbers[name] for name in names if name in numbers] for names in (("ranks",), _ROUNDED)]
        for values in (self.documents, *parts[0], self.cost, *parts[1]):
            for piece in values.pieces() if isinstance(values, DocumentNumbers) else _pieces(values):
                sha.update((rounded(piece, GRADE_BITS) + 0.0 if piece.dtype == np.float64 else piece).tobytes())
        return sha.hexdigest()


def _pieces(values: np.ndarray) -> Iterator[np.ndarray]:
    flat = np.ravel(values)
    return (flat[start : start + _AT_ONCE] for start in range(0, len(flat), _AT_ONCE))


def family_of(measure: object) -> str:
    """What kind of function of the labels a measure is: ``additive``, a ``cascade``, or any other, ``revealed``."""
    parsed = parse_lasting(measure, max_grade=_ANY_GRADE)  # type: ignore[arg-type]
    return rank_form(parsed, 1, 1).family if has_rank_form(parsed) else "revealed"


def check_drawn(measure: object, level: str) -> None:
    """Raise if the queries or the documents of a measure cannot be drawn out of core."""
    family = family_of(measure)
    if level == "document" and family == "cascade":
        raise ValueError(
            f"the documents of {measure} are drawn in memory only; out of core plan for an additive measure, such as "
            'DCG@10, or for whole queries of ERR@10 with level="query"'
        )
    if level == "query" and family == "revealed":
        raise ValueError(
            f"the moments of {measure} need Monte Carlo, which works in memory only; plan for its documents, "
            'level="document", or for an additive or a cascade measure, such as DCG@10 or ERR@10'
        )


def bounded_contrasts(rankers: int) -> list[Contrast]:
    """The contrasts that can be looked at before everything is judged: of one or two rankers; none of more."""
    return [[Contrast(0)], [Contrast(0), Contrast(1), Contrast(0, 1)]][rankers - 1] if rankers <= 2 else []


def query_rows(partition: pd.DataFrame, question: PartitionQuestion) -> Rows | None:
    """DocumentNumbers of each query of a partition, from which queries can be drawn; None if the partition is empty."""
    if partition.empty:
        return None
    pool, measure = partition_pool(partition, question)
    contrasts, k = bounded_contrasts(len(pool.names)), len(pool.names)
    bounds = [contrast_bounds(measure, pool.indptr, pool.ranks, pool.max_grade, c.weights(k)) for c in contrasts]
    ends = np.array(bounds).reshape(len(contrasts), 2, len(pool.queries))
    by_query = {"low": ends[:, 0].T, "high": ends[:, 1].T, "beliefs": pool.beliefs("query")}
    for name in ("", "uniform_") if question.uniform else ("",):
        moments = pool.moments(measure, uniform_grades=bool(name))
        by_query |= {f"{name}mean": moments.mean, f"{name}covariance": moments.covariance}
    return _rows(pool, np.zeros(len(pool.queries), dtype=np.int64), by_query, {})


def document_rows(partition: pd.DataFrame, question: PartitionQuestion) -> Rows | None:
    """DocumentNumbers of each document of a partition that the measure sees; None if the partition is empty."""
    if partition.empty:
        return None
    pool, measure = partition_pool(partition, question)
    check_drawn(measure, "document")
    of_measure = seen_by(measure, pool)
    seen, form = pool.seen(measure), of_measure.form
    nested, most = isinstance(of_measure, RevealedPool), np.iinfo(np.int16).max
    if pool.ranks[:, seen].max(initial=0) >= most and (nested or len(form.weights) >= most):
        raise ValueError(f"{measure} sees rankings of more than {most - 1} documents; cut them with a depth")
    by_document = {"ranks": np.minimum(pool.ranks[:, seen], most).astype(np.int16), "cost": pool.document_cost[seen]}
    query, overhead = pool.query_of_document[seen], float(question.cost.per_query)
    by_query: dict[str, np.ndarray] = {}
    if isinstance(of_measure, RevealedPool):
        by_query, simulated = expected_by(of_measure, pool.grades)
        by_document |= simulated
    else:
        variables = Variables.of(form, pool.grades[seen])
        by_document |= {"mean": variables.mean, "variance": variables.variance}
    drawing = question.drawing or natural_drawing(form, len(pool.names), overhead)
    if not nested and drawing == SUCCESSIVE:
        ids = pool.keys_of(np.flatnonzero(seen))
        own = ids["docno"] if succession_unit(form, overhead) == "document" else None
        by_document["key"] = keys(question.seed, ids["qid"], own)
    by_query["beliefs"] = pool.beliefs("document")
    return _rows(pool, np.bincount(query, minlength=len(pool.queries)), by_query, by_document)


def _rows(
    pool: Pool, seen: np.ndarray, by_query: Mapping[str, np.ndarray], by_document: Mapping[str, np.ndarray]
) -> Rows:
    documents, deepest = np.diff(pool.indptr), int(pool.ranks.max(initial=0))
    return Rows(pool.qids, pool.query_cost, documents, seen, by_query, by_document, deepest, pool.max_grade)


def merged(parts: Iterable[Rows | None], folder: Path | None = None) -> Rows:
    """The rows of all partitions, by qid; files in the folder hold the numbers of documents."""
    pieces: dict[tuple[str, str], list[np.ndarray]] = {}
    by_document: dict[str, DocumentNumbers] = {}
    deepest, heights = 0, set[int]()
    for part in filter(None, parts):
        deepest, heights = max(deepest, part.deepest), heights | {part.max_grade}
        own = {name: getattr(part, name) for name in _OF_QUERY}
        for kind, arrays in (("", own), ("query", part.by_query)):
            for name, values in arrays.items():
                pieces.setdefault((kind, name), []).append(values)
        for name, values in part.by_document.items():
            by_document.setdefault(name, DocumentNumbers(folder)).append(values)
    if not heights:
        raise ValueError(NO_QUERIES)
    if len(heights) > 1:
        raise ValueError(f"the grade model has other grades in some partitions: up to {sorted(heights)}")
    of_query = {key: _together(pieces.pop(key)) for key in [*pieces]}  # one after the other, since each takes memory
    own, by_query = ({name: each for (of, name), each in of_query.items() if of == kind} for kind in ("", "query"))
    rows = Rows(**own, by_query=by_query, by_document=by_document, deepest=deepest, max_grade=heights.pop())
    order = np.argsort(rows.qid, kind="stable")
    check_not_split(rows.qid[order])
    return rows.taken(order)


def _together(pieces: list[np.ndarray]) -> np.ndarray:
    """The pieces one after the other; a number that all of them repeat takes no memory."""
    first = pieces[0].flat[0] if pieces[0].dtype == np.float64 and pieces[0].size else np.nan
    if pieces[0].ndim == 1 and all((each == first).all() for each in pieces):
        return np.broadcast_to(first, sum(map(len, pieces)))
    return np.concatenate(pieces)


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
        raise ValueError(NO_QUERIES)
    warn_without_documents(topics["qid"].iloc[np.setdiff1d(np.arange(len(topics)), place)])
    rows = rows.taken(np.flatnonzero(place >= 0))
    return rows, query_table(topics, list(rows.qid))


@dataclass(frozen=True)
class AllQueries:
    """What partitions say about all queries."""

    rows: Rows  # the numbers of all queries and documents
    queries: pd.DataFrame  # their query columns
    question: PartitionQuestion  # what was asked of the partitions
    topics: pd.DataFrame | None  # the target population; None for all queries
    choice: LevelChoice | None  # why documents or whole queries are drawn; None if that was told
    folder: Path | None  # for numbers of documents; None for the system's
    read: Callable[[np.ndarray], pd.DataFrame]  # places, int64[n] → the graded frame of these, from a second pass

    @cached_property
    def measure(self) -> irm.Measure:
        """The measure with its parameters."""
        return self.question.parsed(self.rows.max_grade)

    @cached_property
    def weight(self) -> np.ndarray:
        """float64[m], p."""
        return query_weights(self.queries)

    def kept(self, places: np.ndarray) -> tuple[Pool, pd.DataFrame]:
        """The pool of some queries, int64[n], and its graded frame."""
        graded = self.read(places)
        if "query" in self.queries.columns or self.topics is not None:
            graded = with_query_columns(graded, self.queries.iloc[places])
        pool, _ = graded_pool(graded, self.question)
        if not np.array_equal(pool.qids, self.queries["qid"].to_numpy(dtype=object)[places]):
            raise ValueError("the second pass over the runs found other queries than the first; did the files change?")
        return pool, graded

    def manifest(self, made: Manifest, rest: Rest | None, **entries: Any) -> Manifest:
        """The manifest of a plan of some queries as one of all, of which others are kept as ``rest``."""
        rows = self.rows
        counts = replace(made.counts, queries=len(rows.qid), documents=int(rows.documents.sum()))
        topics = None if self.topics is None else digest(self.topics)
        inputs = {"pool": rows.digest(), "topics": topics}
        about: dict[str, Any] = {
            "counts": counts,
            "inputs": inputs,
            "pool_cost": float(rows.cost.sum()),
            "choice": self.choice,
        }
        return replace(made, rest=rest, **about, **entries)


def with_rows(pool: Pool, table: pd.DataFrame) -> Pool:
    """The pool of the kept queries with the weights of the plan, and the rows that stand for all others."""
    more = np.full(len(table) - len(pool.queries), pool.indptr[-1])
    return replace(
        pool,
        queries=table[[c for c in table.columns if c in pool.queries.columns or c == "traffic"]],
        indptr=np.concatenate([pool.indptr, more]),
        query_cost=table["q_cost"].to_numpy(),
        query_weight=table["q_weight"].to_numpy(),
    )
