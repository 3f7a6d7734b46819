"""What does a partition, which holds whole queries, say of each of them?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import ArgumentError, some
from pt_active.frames.columns import grade_columns, ranker_names
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.pool import Pool
from pt_active.relevance.bounds import contrast_bounds
from pt_active.relevance.costs import Cost
from pt_active.relevance.measures import has_rank_form, parse_lasting
from pt_active.relevance.moments import Moments
from pt_active.transformers import Runs, check_same_queries

RANKER = "run"
"""The column of a partition that names the ranker of a row."""

PARTITION_COLUMNS = [RANKER, "qid", "docno", "score"]
"""The columns of a partition: one row for each document of each ranking."""


@dataclass(frozen=True)
class Question:
    """What is asked of every partition; it goes to all processes and machines.

    Attributes:
        names: The rankers, in the order of the plan.
        grades: A fitted grade model. What it says of a document may depend on the query, and not on other queries.
        measure: As the user gives it.
        cost: The cost of documents.
        uniform: Whether moments under uniform grades are needed too.
        depth: Documents to keep of each ranking; None for all.
        allow_missing_queries: Whether a ranker may leave queries unanswered.
        drawing: How documents are drawn; None for the usual way.
        seed: Seed of all random draws.
    """

    names: tuple[str, ...]
    grades: pt.Transformer
    measure: str | irm.Measure
    cost: Cost
    uniform: bool = False
    depth: int | None = None
    allow_missing_queries: bool = False
    drawing: str | None = None
    seed: int = 0

    def parsed(self, max_grade: int) -> irm.Measure:
        """The measure with its parameters."""
        return parse_lasting(self.measure, max_grade=max_grade)


@dataclass(frozen=True)
class QueryRows:
    """One row for each of n queries, from which a sample of queries can be designed without their documents.

    Attributes:
        qid: object[n].
        cost: float64[n], λ.
        documents: int64[n], how many documents the rankers retrieve.
        moments: Of the measure under the grade model.
        uniform: The same under uniform grades; None if they are not needed.
        low: float64[n, c], the smallest value that each of the `bounded_contrasts` can have.
        high: float64[n, c], the largest.
        max_grade: G, the highest grade of the model.
    """

    qid: np.ndarray
    cost: np.ndarray
    documents: np.ndarray
    moments: Moments
    uniform: Moments | None
    low: np.ndarray
    high: np.ndarray
    max_grade: int

    def taken(self, rows: np.ndarray) -> QueryRows:
        """Some of the rows, int64[s]."""
        moments, uniform = (
            None if each is None else Moments(each.mean[rows], each.covariance[rows])
            for each in (self.moments, self.uniform)
        )
        assert moments is not None
        return replace(
            self,
            qid=self.qid[rows],
            cost=self.cost[rows],
            documents=self.documents[rows],
            moments=moments,
            uniform=uniform,
            low=self.low[rows],
            high=self.high[rows],
        )


def bounded_contrasts(rankers: int) -> list[Contrast]:
    """The contrasts that can be looked at before all is judged: of one or two rankers; none of more."""
    return [[Contrast(0)], [Contrast(0), Contrast(1), Contrast(0, 1)]][rankers - 1] if rankers <= 2 else []


def query_rows(partition: pd.DataFrame, question: Question) -> QueryRows | None:
    """One row for each query of a partition; None if the partition is empty."""
    if partition.empty:
        return None
    pool = partition_pool(graded_partition(partition, question), question)
    measure = checked_measure(question.measure, pool.max_grade)
    uniform = pool.moments(measure, uniform_grades=True) if question.uniform else None
    moments, k = pool.moments(measure), len(pool.names)
    ends = [
        contrast_bounds(measure, pool.indptr, pool.ranks, pool.max_grade, contrast.weights(k))
        for contrast in bounded_contrasts(k)
    ]
    low, high = (np.array([end[side] for end in ends]).reshape(len(ends), len(pool.queries)).T for side in (0, 1))
    return QueryRows(pool.qids, pool.query_cost, np.diff(pool.indptr), moments, uniform, low, high, pool.max_grade)


def queries_of(partition: pd.DataFrame, question: Question) -> np.ndarray:
    """object[n], the queries of a partition."""
    return np.asarray(partition["qid"].unique(), dtype=object)


def checked_measure(measure: str | irm.Measure, max_grade: int) -> irm.Measure:
    """The measure with its parameters."""
    parsed = parse_lasting(measure, max_grade=max_grade)
    if not has_rank_form(parsed):
        raise ValueError(
            f"the moments of {parsed} need Monte Carlo, which runs larger than memory do not have; plan for an "
            "additive or a cascade measure, such as DCG@10 or ERR@10"
        )
    return parsed


def graded_partition(partition: pd.DataFrame, question: Question) -> pd.DataFrame:
    """The union of the rankings in a partition with their grades, as `Runs` and the grade model return it."""
    if unknown := sorted(set(map(str, partition[RANKER].unique())) - set(question.names)):
        raise ValueError(f"there are rows of {some(unknown)}, and the rankers are {some(question.names)}")
    of_ranker = {name: partition[RANKER] == name for name in question.names}
    runs = {name: partition[rows].drop(columns=RANKER) for name, rows in of_ranker.items() if rows.any()}
    absent = [name for name in question.names if name not in runs]
    if absent and not question.allow_missing_queries:
        check_same_queries({name: set(runs[name]["qid"]) if name in runs else set() for name in question.names})
    queries = pd.DataFrame({"qid": partition["qid"].unique()})
    united = Runs(question.depth, allow_missing_queries=question.allow_missing_queries, **runs).transform(queries)
    if absent:
        united = united.assign(
            **{f"rank_{name}": -1 for name in absent}, **{f"score_{name}": np.nan for name in absent}
        )
        rest = [c for c in united.columns if not str(c).startswith(("rank_", "score_"))]
        united = united[[*rest, *(f"{kind}_{name}" for name in question.names for kind in ("rank", "score"))]]
    graded = question.grades.transform(united)
    if not grade_columns(graded.columns) or tuple(ranker_names(graded.columns)) != question.names:
        raise ArgumentError("the grade model must keep the columns of the rankers and add grade_0, grade_1, …")
    return graded


def partition_pool(graded: pd.DataFrame, question: Question) -> Pool:
    """The pool of a graded partition; its weights mean nothing, since they depend on all queries."""
    grades = grade_columns(graded.columns)
    measure = checked_measure(question.measure, len(grades) - 1)
    return Pool.from_frame(graded.drop(columns="traffic", errors="ignore"), measure, question.cost)
