"""How are the opinions of several judges, and ranks and scores, put together into one?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import document_votes
from pt_active.relevance.grades.judge_tables import SCORE, is_scored
from pt_active.relevance.grades.ordered_logit import OrderedLogit, fit_ordered_logit
from pt_active.relevance.grades.recalibration import regraded
from pt_active.relevance.grades.validation import folds_of, log_likelihood, mean_by_query, safe_recalibration

NEEDED_ERRORS = 2.0
"""A judge is used if it raises the cross-validated log-likelihood by more than this many standard errors."""


@dataclass(frozen=True)
class JudgeOpinion:
    """What one judge says of documents, as features.

    Attributes:
        features: float64[N, h]: the shares of its votes that are at least 1 … H, or its score; 0 where it has not seen
            a document; and in the last column whether it has.
        seen: bool[N], whether it has seen a document.
    """

    features: np.ndarray
    seen: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame, table: pd.DataFrame, width: int | None = None) -> JudgeOpinion:
        """The opinion of a judge about the documents of a frame."""
        if is_scored(table):
            score = frame[["qid", "docno"]].merge(table, how="left", on=["qid", "docno"])[SCORE].to_numpy(float)
            seen = ~np.isnan(score)
            values = np.where(seen, score, 0.0)[:, None]
        else:
            shares, seen = document_votes(frame, table)
            values = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1][:, 1:]
        if width is not None:
            values = np.pad(values, ((0, 0), (0, max(width - 1 - values.shape[1], 0))))[:, : width - 1]
        return cls(np.column_stack([values, seen]), seen)


@dataclass(frozen=True)
class Stack:
    """An ordered model of chosen groups of features, recalibrated by cross-validation.

    Attributes:
        used: The names of the groups, in the order in which they were chosen.
        gains: Group → the gain in mean log-likelihood when it was chosen, or when it was last left out.
        model: Proportional odds on the features of these groups; None if there is none.
        marginal: float64[G+1], the shares of the grades in training.
        correction: float64[G+1], the parameters of a recalibration; None if none helps.
    """

    used: tuple[str, ...]
    gains: dict[str, float]
    model: OrderedLogit | None
    marginal: np.ndarray
    correction: np.ndarray | None

    def probabilities(self, groups: Mapping[str, np.ndarray], n: int) -> np.ndarray:
        """float64[N, G+1], the grades of N documents."""
        grades = _plain(self.model, self.marginal, groups, self.used, n)
        return grades if self.correction is None else regraded(self.correction, grades)


def fitted_stack(
    groups: Mapping[str, np.ndarray], always: Iterable[str], labels: np.ndarray, qid: np.ndarray, max_grade: int
) -> Stack:
    """Choose groups one by one while they raise the cross-validated likelihood, and fit an ordered model on them.

    Shapes: labels int64[n], qid object[n].
    """
    used, marginal, several = tuple(always), fitting.marginal(labels, max_grade), len(np.unique(qid)) > 1
    gains: dict[str, float] = {}
    if not several:
        used = tuple(groups)
        return Stack(used, dict.fromkeys(groups, np.nan), _model(groups, used, labels), marginal, None)
    best = _cross_fitted(groups, used, labels, qid, max_grade)
    while left := [name for name in groups if name not in used]:
        tried = {name: _cross_fitted(groups, (*used, name), labels, qid, max_grade) for name in left}
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
    return Stack(used, gains, _model(groups, used, labels), marginal, safe_recalibration(best, labels, qid))


def _cross_fitted(
    groups: Mapping[str, np.ndarray], used: tuple[str, ...], labels: np.ndarray, qid: np.ndarray, max_grade: int
) -> np.ndarray:
    """float64[n, G+1], the grades of each query from a model of the other folds."""
    grades = np.empty((len(labels), max_grade + 1))
    for train, test in folds_of(qid):
        part = {name: groups[name][train] for name in used}
        model, marginal = _model(part, used, labels[train]), fitting.marginal(labels[train], max_grade)
        grades[test] = _plain(model, marginal, {name: groups[name][test] for name in used}, used, int(test.sum()))
    return grades


def _model(groups: Mapping[str, np.ndarray], used: tuple[str, ...], labels: np.ndarray) -> OrderedLogit | None:
    if not used or len(np.unique(labels)) < 2:
        return None
    return fit_ordered_logit(np.column_stack([groups[name] for name in used]), labels, prior_scale=1.0)


def _plain(
    model: OrderedLogit | None,
    marginal: np.ndarray,
    groups: Mapping[str, np.ndarray],
    used: tuple[str, ...],
    n: int,
) -> np.ndarray:
    """float64[N, G+1], the grades before recalibration."""
    if model is None:
        return np.tile(marginal, (n, 1))
    features = np.column_stack([groups[name] for name in used])
    return fitting.widened(model.probabilities(features), model.grades, len(marginal) - 1, model.n)
