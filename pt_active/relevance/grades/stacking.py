"""How are the opinions of several judges, and ranks and scores, put together into one?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.relevance.grades.features import document_votes
from pt_active.relevance.grades.judge_tables import SCORE, is_scored
from pt_active.relevance.grades.ordered_logit import OrderedLogit, fit_ordered_logit
from pt_active.relevance.grades.recalibration import regraded
from pt_active.relevance.grades.validation import (
    Model,
    cross_fitted,
    log_likelihood,
    mean_by_query,
    safe_recalibration,
)

NEEDED_ERRORS = 2.0
"""A judge is used if it raises the cross-validated log-likelihood by more than this many standard errors."""


def opinion(frame: pd.DataFrame, table: pd.DataFrame, width: int | None = None) -> np.ndarray:
    """float64[N, h]: the shares of a judge's votes that are ≥ 1 … H, or its score, and whether it saw each."""
    if is_scored(table):
        score = frame[["qid", "docno"]].merge(table, how="left", on=["qid", "docno"])[SCORE].to_numpy(float)
        seen = ~np.isnan(score)
        values = np.where(seen, score, 0.0)[:, None]
    else:
        shares, seen = document_votes(frame, table)
        values = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1][:, 1:]
    if width is not None:
        values = np.pad(values, ((0, 0), (0, max(width - 1 - values.shape[1], 0))))[:, : width - 1]
    return np.column_stack([values, seen])


@dataclass(frozen=True)
class Stack:
    """An ordered model of chosen groups of features, recalibrated by cross-validation."""

    used: tuple[str, ...]  # the names of the groups, in the order in which they were chosen
    gains: dict[str, float]  # group → the gain in mean log-likelihood when it was chosen, or when it was last left out
    model: OrderedLogit  # proportional odds on the features of these groups
    correction: np.ndarray | None  # float64[G+1], the parameters of a recalibration; None if none helps

    def probabilities(self, groups: Mapping[str, np.ndarray], n: int, max_grade: int) -> np.ndarray:
        """float64[N, G+1], the grades of N documents."""
        grades = self.model.all_grades(_columns(groups, self.used, n), max_grade)
        return grades if self.correction is None else regraded(self.correction, grades)


def fitted_stack(
    groups: Mapping[str, np.ndarray], always: Sequence[str], labels: np.ndarray, qid: np.ndarray, max_grade: int
) -> Stack:
    """Choose groups one by one while they raise the cross-validated likelihood, and fit an ordered model on them."""

    def model(used: Sequence[str], rows: np.ndarray) -> OrderedLogit:
        return fit_ordered_logit(_columns(groups, used, len(labels))[rows], labels[rows], prior_scale=1.0)

    def out_of_fold(used: Sequence[str]) -> np.ndarray:
        def fit(train: np.ndarray) -> Model:
            fitted = model(used, train)
            return lambda test: fitted.all_grades(_columns(groups, used, len(labels))[test], max_grade)

        return cross_fitted(fit, qid)

    used, everything = tuple(always), np.ones(len(labels), dtype=bool)
    if len(np.unique(qid)) < 2:
        return Stack(tuple(groups), dict.fromkeys(groups, np.nan), model(tuple(groups), everything), None)
    gains: dict[str, float] = {}
    best = out_of_fold(used)
    while left := [name for name in groups if name not in used]:
        tried = {name: out_of_fold((*used, name)) for name in left}
        apart = {
            name: mean_by_query(log_likelihood(each, labels) - log_likelihood(best, labels), qid)
            for name, each in tried.items()
        }
        gains |= {name: gain for name, (gain, _) in apart.items()}
        name = max(left, key=lambda each: apart[each][0])
        gain, error = apart[name]
        if not gain > NEEDED_ERRORS * error:
            break
        used, best = (*used, name), tried[name]
    return Stack(used, gains, model(used, everything), safe_recalibration(best, labels, qid))


def _columns(groups: Mapping[str, np.ndarray], used: Sequence[str], n: int) -> np.ndarray:
    return np.column_stack([np.empty((n, 0)), *(groups[name] for name in used)])
