"""What does a partition, which holds whole queries, say of each of them?"""

from __future__ import annotations

from dataclasses import dataclass

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import ArgumentError, some
from pt_active.frames.columns import grade_columns, ranker_names
from pt_active.plans.making.pool import Pool
from pt_active.relevance.costs import Cost
from pt_active.relevance.measures import has_rank_form, parse_lasting
from pt_active.transformers import Runs, check_same_queries

RANKER = "run"  # The column of a partition that names the ranker of a row

PARTITION_COLUMNS = [RANKER, "qid", "docno", "score"]
"""The columns of a partition: one row for each document of each ranking."""


@dataclass(frozen=True)
class PartitionQuestion:
    """What is asked of every partition; it goes to all processes and machines."""

    names: tuple[str, ...]  # the rankers, in the order of the plan
    grades: pt.Transformer  # fitted; what it says of a document may depend on its own query alone
    measure: str | irm.Measure  # as the user gives it
    cost: Cost
    uniform: bool = False  # whether moments under uniform grades are needed too
    depth: int | None = None  # documents to keep of each ranking; None for all
    allow_missing_queries: bool = False  # whether a ranker may leave queries unanswered
    drawing: str | None = None  # how documents are drawn; None for the usual way
    seed: int = 0

    def parsed(self, max_grade: int) -> irm.Measure:
        """The measure with its parameters."""
        parsed = parse_lasting(self.measure, max_grade=max_grade)
        if not has_rank_form(parsed):
            raise ValueError(
                f"the moments of {parsed} need Monte Carlo, which runs larger than memory do not have; plan for an "
                "additive or a cascade measure, such as DCG@10 or ERR@10"
            )
        return parsed


def queries_of(partition: pd.DataFrame, question: PartitionQuestion) -> np.ndarray:
    """object[n], the queries of a partition."""
    return np.asarray(partition["qid"].unique(), dtype=object)


def graded_partition(partition: pd.DataFrame, question: PartitionQuestion) -> pd.DataFrame:
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


def partition_pool(graded: pd.DataFrame, question: PartitionQuestion) -> tuple[Pool, irm.Measure]:
    """The pool of a graded partition, whose weights mean nothing, since they depend on all queries, and the measure."""
    measure = question.parsed(len(grade_columns(graded.columns)) - 1)
    return Pool.from_frame(graded.drop(columns="traffic", errors="ignore"), measure, question.cost), measure
