"""The pool: rankings, grades, costs and weights of all queries, as arrays, from the columns of a frame."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import agreeing, data_frame, how_many, shown, some
from pt_active.frames.clocks import keys
from pt_active.frames.columns import (
    check_grades,
    check_pairs,
    grade_columns,
    numbers_in,
    query_columns,
    ranker_names,
    refuse_rows,
    unused_weights,
    with_query_columns,
    with_string_ids,
)
from pt_active.frames.ids import Texts, among, id_codes, texts
from pt_active.frames.progress import working
from pt_active.frames.runs import check_ranks, rank_order, ranked_run
from pt_active.frames.visible import check_visible, visible_field
from pt_active.inference.ties import ROUNDING
from pt_active.relevance.costs import Cost, UnitCost, check_per_query
from pt_active.relevance.digits import hashed
from pt_active.relevance.measures import cutoff_of, has_rank_form, rank_form
from pt_active.relevance.moments import Moments, label_moments
from pt_active.relevance.revealed import revealed_form
from pt_active.sampling.designs import needs_uniform_grades, sampling_distribution
from pt_active.sampling.pools import DocumentPool, GradedPool
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import Costs

_VECTOR_SEED = 0
"""Seed of the label vectors, so that the same labels have the same estimate in every plan."""

SINGLE = "run"
"""The name of the only ranker of a plain R frame."""

_ROW = "pt_active row"
"""The column that keeps the place of each row of a plain R frame while it is ordered."""


@dataclass(frozen=True)
class Pool:
    """Documents of all queries in CSR form: those of query x are ``indptr[x]:indptr[x+1]``.

    Queries are sorted by qid, and the documents of a query by their ranks, so that nothing depends on the row order of
    the frames from which the pool was made.

    Shapes: indptr int64[m+1], ranks int32[k, N], grades float64[N, G+1], document_cost float64[N], query_cost,
    query_weight float64[m].
    """

    names: tuple[str, ...]
    queries: pd.DataFrame
    docno: Texts
    indptr: np.ndarray
    ranks: np.ndarray
    grades: np.ndarray
    document_cost: np.ndarray
    query_cost: np.ndarray
    query_weight: np.ndarray
    revealed: dict[irm.Measure, RevealedPool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, measure: irm.Measure, cost: Cost | None = None) -> Pool:
        """Build the pool from a graded frame."""
        if frame.empty:
            raise ValueError("the pool is empty: no ranker returned a document for any query")
        frame = with_string_ids(frame)
        qids, query = sorted_codes(frame["qid"])
        names, ranks = ranks_of(frame)
        columns = grade_columns(frame.columns)
        if not columns:
            raise ValueError(
                "the pool has no grade columns; end its pipeline in a graded-relevance model, such as "
                "`runs >> ColdGrades(max_grade=3)`, which knows ranks alone"
            )
        order = rank_order(query, ranks)
        query, ranks = query[order], np.ascontiguousarray(ranks[:, order])
        for name, rank in zip(names, ranks, strict=True):
            column = f"score_{name}"
            score = numbers_in(frame, column)[order] if column in frame.columns else None
            check_ranks(qids, query, rank, name, score)
        grades = np.empty((len(query), len(columns)))
        for g, column in enumerate(columns):
            grades[:, g] = numbers_in(frame, column)[order]
        docno = texts(frame["docno"])[order]
        check_grades(frame, grades, order)
        indptr, rows = np.searchsorted(query, np.arange(len(qids) + 1)), order
        queries = frame[["qid", *(c for c in query_columns(frame.columns) if c != "qid")]].take(rows[indptr[:-1]])
        queries, seen = queries.reset_index(drop=True), seen_documents(ranks, measure)
        costs = costs_of(Columns(frame, rows[seen]), qids, query, seen, cost or UnitCost())
        return cls(names, queries, docno, indptr, ranks, grades, *costs, query_weights(queries))

    @property
    def qids(self) -> np.ndarray:
        """object[m], the queries."""
        return self.queries["qid"].to_numpy(dtype=object)

    @property
    def max_grade(self) -> int:
        """G, the highest grade of the model."""
        return self.grades.shape[1] - 1

    @property
    def query_of_document(self) -> np.ndarray:
        """int64[N], the query that each document belongs to."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.indptr))

    @cached_property
    def keys(self) -> pd.DataFrame:
        """``qid, docno`` of each document; the frame is shared and must not be changed."""
        return pd.DataFrame({"qid": self._qid_of(self.query_of_document), "docno": self.docno})

    def keys_of(self, documents: np.ndarray) -> pd.DataFrame:
        """``qid, docno`` of some documents, int64[n]."""
        query = np.searchsorted(self.indptr, documents, side="right") - 1
        return pd.DataFrame({"qid": self._qid_of(query), "docno": self.docno.take(documents)})

    def _qid_of(self, query: np.ndarray) -> Texts:
        return texts(self.queries["qid"]).take(query)

    @cached_property
    def by_name(self) -> np.ndarray:
        """int64[N], the documents query by query in the order of their docnos, which no ranking can change."""
        return np.lexsort((np.asarray(self.docno, dtype=object).astype(str), self.query_of_document))

    def believed(self, unit: str) -> int:
        """A digest of what is known before people judge, on which draws of ``query`` or ``document`` depend.

        It is the same in any order and under any names of the rankers.
        """
        ids = [np.repeat(keys(0, self.qids), np.diff(self.indptr))]
        ids += [keys(0, self.docno)] if unit == "document" else []
        ranks = np.asarray(sum(map(pd.util.hash_array, self.ranks)))
        return int(hashed(*ids, ranks, *self.grades.T).sum()) >> 1

    def seen(self, measure: irm.Measure) -> np.ndarray:
        """bool[N], the documents above the measure's cutoff in some ranker."""
        return seen_documents(self.ranks, measure)

    def of_queries(self, measure: irm.Measure, rows: np.ndarray) -> np.ndarray:
        """bool[N], the documents of some queries, int64[n], that the measure sees."""
        return self.seen(measure) & np.isin(self.query_of_document, rows)

    def select(self, rows: np.ndarray) -> Pool:
        """The pool of some queries, int64[s]; their weights are not rescaled."""
        keep = np.isin(self.query_of_document, rows)
        indptr = np.concatenate([[0], np.cumsum(np.diff(self.indptr)[rows])])
        return replace(
            self,
            queries=self.queries.iloc[rows].reset_index(drop=True),
            docno=self.docno[keep],
            indptr=indptr,
            ranks=np.ascontiguousarray(self.ranks[:, keep]),
            grades=self.grades[keep],
            document_cost=self.document_cost[keep],
            query_cost=self.query_cost[rows],
            query_weight=self.query_weight[rows],
        )

    def moments(
        self, measure: irm.Measure, *, uniform_grades: bool = False, samples: int = 1000, seed: int = 0
    ) -> Moments:
        """Moments of the measure for every ranker and query [theory 3]."""
        grades = np.broadcast_to(1 / self.grades.shape[1], self.grades.shape) if uniform_grades else self.grades
        return label_moments(measure, self.indptr, self.ranks, grades, samples=samples, seed=seed, progress=True)

    def document_frame(self) -> pd.DataFrame:
        """The pool as a frame, ``qid, docno, rank_<name>, grade_<g>, doc_cost``, with ranks from 0."""
        columns: dict[str, Texts] = {"qid": self._qid_of(self.query_of_document), "docno": self.docno}
        columns |= {f"rank_{name}": rank - 1 for name, rank in zip(self.names, self.ranks, strict=True)}
        columns |= {f"grade_{g}": column for g, column in enumerate(self.grades.T)}
        return pd.DataFrame(columns | {"doc_cost": self.document_cost})

    @classmethod
    def from_tables(cls, documents: pd.DataFrame, queries: pd.DataFrame) -> Pool:
        """Rebuild a pool from its `document_frame` and its design table, without checking them again."""
        names = tuple(ranker_names(documents.columns))
        ranks = documents[[f"rank_{name}" for name in names]].to_numpy(dtype=np.int32).T + np.int32(1)
        ends = np.cumsum(np.bincount(id_codes(documents["qid"])[0]))
        return cls(
            names,
            queries[query_columns(queries.columns)],
            texts(documents["docno"]),
            np.concatenate([[0], ends]),
            np.ascontiguousarray(ranks),
            np.ascontiguousarray(documents[grade_columns(documents.columns)].to_numpy()),
            documents["doc_cost"].to_numpy(),
            queries["q_cost"].to_numpy(),
            queries["q_weight"].to_numpy(),
        )


def graded_frame(pool: pt.Transformer | pd.DataFrame, topics: pd.DataFrame | None) -> pd.DataFrame:
    """The pool's frame for the topics, with the topics' query columns."""
    if isinstance(pool, pt.Transformer):
        if topics is None:
            raise ValueError("topics are needed where the pool is a pipeline")
        with working("running and grading the pool"):
            pool = pool.transform(topics)
    pool = data_frame("pool", pool, "qid", "docno")
    if topics is None:
        return pool
    attrs = dict(pool.attrs)
    pool, topics = with_string_ids(pool), with_string_ids(data_frame("topics", topics, "qid"))
    if said := unused_weights(topics.columns):
        warnings.warn(f"topics: {said}", stacklevel=3)
    absent = topics["qid"][~among(topics["qid"], id_codes(pool["qid"])[1])]
    if len(absent):
        warnings.warn(
            f"{how_many('topic', len(absent), 'has')} no document from any ranker and "
            f"{agreeing('is', len(absent))} left out of the pool, so estimates say nothing about {some(absent)}",
            stacklevel=3,
        )
    graded = with_query_columns(pool, topics)
    graded.attrs |= attrs
    return graded


def worklist(
    pool: Pool, wanted: np.ndarray, chance: np.ndarray | None = None, texts: pd.DataFrame | None = None
) -> pd.DataFrame:
    """``qid, docno`` (+ ``query``, ``text``), ``inclusion`` of what people judge, bool[N].

    ``chance`` is float64[N], or 1 for all if it is left out.
    """
    rows = np.flatnonzero(wanted)
    table = pool.keys_of(rows)
    if "query" in pool.queries.columns:
        table["query"] = pool.queries["query"].to_numpy()[pool.query_of_document[rows]]
    if texts is not None and "text" in texts.columns:
        texts = with_string_ids(texts[["qid", "docno", "text"]])
        texts = texts[among(texts["docno"], table["docno"])]
        table = table.merge(texts, how="left", on=["qid", "docno"])
    table["inclusion"] = 1.0 if chance is None else chance[rows]
    return table.sort_values(["qid", "docno"]).reset_index(drop=True)


def design_table(
    pool: Pool,
    measure: irm.Measure,
    design: str,
    defensive: float,
    *,
    seed: int = 0,
    pairs: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row per query: its sampling probability, and the moments and costs that the design used [theory 4, 5]."""
    moments = pool.moments(measure, seed=seed)
    uniform = pool.moments(measure, uniform_grades=True, seed=seed) if needs_uniform_grades(design) else None
    q = sampling_distribution(design, moments, pool.query_cost, pool.query_weight, defensive, uniform, pairs)
    return query_design(pool, q, moments)


def query_design(pool: Pool, probability: np.ndarray, moments: Moments) -> pd.DataFrame:
    """The table of `design_table` for given probabilities, float64[m]."""
    columns = {"q_prob": probability, "q_cost": pool.query_cost, "q_weight": pool.query_weight}
    return pd.concat([pool.queries, pd.DataFrame(columns | moment_columns(pool, moments))], axis=1)


def moment_columns(pool: Pool, moments: Moments) -> dict[str, np.ndarray]:
    """The mean and the variance of each ranker by query, the covariance of two, and the error of Monte Carlo."""
    columns = {f"q_mean_{name}": moments.mean[:, s] for s, name in enumerate(pool.names)}
    columns |= {f"q_var_{name}": moments.covariance[:, s, s] for s, name in enumerate(pool.names)}
    if len(pool.names) == 2:
        columns["q_cov"] = moments.covariance[:, 0, 1]
    if (error := moments.monte_carlo_error) is not None:
        columns |= {f"q_mc_error_{name}": error[:, s] for s, name in enumerate(pool.names)}
    return columns


def seen_by(measure: irm.Measure, pool: Pool) -> DocumentPool:
    """What a measure sees of a pool; for nDCG and AP made once, with what it has computed."""
    if not has_rank_form(measure):
        if measure not in pool.revealed:
            key = keys(_VECTOR_SEED, pool.qids[pool.query_of_document], pool.docno)
            seen = revealed_form(measure, pool.max_grade), pool.indptr, pool.ranks, pool.query_weight, key
            pool.revealed[measure] = RevealedPool(*seen)
        return pool.revealed[measure]
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))
    return DocumentPool(form, pool.indptr, pool.ranks, pool.query_weight)


def graded_pool(pool: Pool, measure: irm.Measure, per_query: float) -> GradedPool:
    """The pool as `drawn_by` takes it."""
    return GradedPool(seen_by(measure, pool), pool.grades, Costs(pool.indptr, pool.document_cost, per_query))


def sorted_codes(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, sorted, and int64[n], the index of each row's value among them."""
    code, unordered = id_codes(column)
    distinct = np.asarray(unordered, dtype=object)
    order = np.argsort(distinct)
    return distinct[order], np.argsort(order)[code]


def ranks_of(frame: pd.DataFrame) -> tuple[tuple[str, ...], np.ndarray]:
    """Names, and ranks from 1 as int32[k, N] (0: not retrieved)."""
    names = ranker_names(frame.columns)
    if not names:
        run = ranked_run(frame.assign(**{_ROW: np.arange(len(frame))}), SINGLE)
        ranks = np.empty((1, len(run)), dtype=np.int32)
        ranks[0, run[_ROW].to_numpy()] = run["rank"].to_numpy() + 1
        return (SINGLE,), ranks
    check_visible("ranker", names)
    check_pairs(frame, "the pool")
    ranks = np.empty((len(names), len(frame)), dtype=np.int32)
    for s, name in enumerate(names):
        rank = numbers_in(frame, f"rank_{name}")
        wrong = ~((rank >= -1) & (rank == np.floor(rank)) & (rank < np.iinfo(np.int32).max))
        refuse_rows(frame, wrong, f"rank_{name}", "a whole number from 0, or -1 where the document is not retrieved")
        ranks[s] = rank
    ranks += 1
    return tuple(names), ranks


def seen_documents(ranks: np.ndarray, measure: irm.Measure) -> np.ndarray:
    """bool[N], the documents above the measure's cutoff in some ranker; ``ranks`` is int32[k, N], 0 = not retrieved."""
    if not has_rank_form(measure):
        # nDCG's ideal ranking and the number of relevant documents are those of the whole pool.
        return np.ones(ranks.shape[1], dtype=bool)
    cutoff = cutoff_of(measure)
    within = ranks > 0 if cutoff is None else (ranks > 0) & (ranks <= cutoff)
    return np.asarray(within.any(axis=0))


def costs_of(
    columns: Mapping[str, np.ndarray], qids: np.ndarray, query: np.ndarray, seen: np.ndarray, cost: Cost
) -> tuple[np.ndarray, np.ndarray]:
    """Costs of the documents that the measure sees (NaN elsewhere), and of the queries."""
    overhead = check_per_query(cost)
    document_cost = np.full(len(query), np.nan)
    which = slice(None) if seen.all() else seen
    document_cost[which] = cost.document_costs(columns, query[which])
    total = np.bincount(query[which], weights=document_cost[which], minlength=len(qids)) + overhead
    if not (total > 0).all():
        raise ValueError(
            f"query {shown(qids[np.argmin(total)])} has no document above the measure's cutoff in any ranker"
        )
    return document_cost, total


class Columns(Mapping[str, np.ndarray]):
    """Columns of some rows of a frame, copied only when a cost asks for them."""

    def __init__(self, frame: pd.DataFrame, rows: np.ndarray) -> None:
        self.frame = frame
        self.rows = rows

    def __getitem__(self, column: str) -> np.ndarray:
        return self.frame[column].to_numpy()[self.rows]

    def __iter__(self) -> Iterator[str]:
        return iter(map(str, self.frame.columns))

    def __len__(self) -> int:
        return len(self.frame.columns)


def query_weights(queries: pd.DataFrame) -> np.ndarray:
    """float64[m], p: proportional to ``traffic``, or uniform without it."""
    if "traffic" not in queries.columns:
        return np.full(len(queries), 1 / len(queries))
    traffic = numbers_in(queries, "traffic")
    wrong = ~(np.isfinite(traffic) & (traffic >= 0))
    if wrong.any():
        raise ValueError(f"traffic must be finite and not negative; it is not for {some(queries['qid'][wrong])}")
    if traffic.sum() == 0:
        raise ValueError("traffic is 0 for every query, so there is nothing to estimate")
    return traffic / traffic.sum()


def traffic_told(queries: pd.DataFrame, weight: np.ndarray) -> str:
    """How queries count by traffic, a space before it; empty if all count alike. ``weight`` is float64[m]."""
    if "traffic" not in queries.columns or weight.max() <= weight.min() * (1 + ROUNDING):
        return ""
    share = weight / weight.sum()
    heaviest, alike = visible_field(str(queries["qid"].iloc[int(np.argmax(share))])), 1 / float(share @ share)
    return f" by traffic ({heaviest} has {share.max():.0%}, so they count as {alike:.3g})"
