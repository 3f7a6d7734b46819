"""How good is a grade model on queries that it has not learned from?"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.columns import grade_columns
from pt_active.relevance.grades.recalibration import recalibration, regraded

FOLDS = 5
"""The number of folds of queries, at most."""

MAX_VALIDATED = 20_000
"""With more judged documents, a random part of the queries is enough to compare models."""

ACCEPTED_SLOPES = (0.5, 2.0)
"""A slope misleads if its whole interval lies outside this range."""

_CONFIDENCE = 0.95


def some_queries(frame: pd.DataFrame, labels: np.ndarray, most: int = MAX_VALIDATED) -> np.ndarray:
    """bool[N], the documents of random queries that hold about ``most`` labels; all if there are no more.

    Shapes: labels int64[N].
    """
    judged = int((labels >= 0).sum())
    if judged <= most:
        return np.ones(len(frame), dtype=bool)
    qids, query = np.unique(frame["qid"].to_numpy(dtype=object), return_inverse=True)
    order = np.random.default_rng(0).permutation(len(qids))
    held = np.cumsum(np.bincount(query, labels >= 0)[order])
    chosen = np.zeros(len(qids), dtype=bool)
    chosen[order[: max(int(np.searchsorted(held, most)) + 1, 2)]] = True
    return np.asarray(chosen[query])


def folds_of(qid: np.ndarray, folds: int = FOLDS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The training and the test documents of each fold, bool[N] each; all documents of a query are in one fold.

    Shapes: qid object[N].
    """
    qids, query = np.unique(qid, return_inverse=True)
    if len(qids) < 2:
        raise ValueError("cross-validation needs judged documents of at least 2 queries, got 1")
    fold = np.empty(len(qids), dtype=np.int64)
    fold[np.random.default_rng(0).permutation(len(qids))] = np.arange(len(qids)) % folds
    for number in range(min(folds, len(qids))):
        test = (fold == number)[query]
        yield ~test, test


def out_of_fold(model: Any, frame: pd.DataFrame, labels: np.ndarray, folds: int = FOLDS) -> np.ndarray:
    """float64[N, G+1], the grades that copies of a model give to the queries that they have not learned from.

    Shapes: labels int64[N].
    """
    qrels = frame[["qid", "docno"]].assign(label=labels)[labels >= 0]
    grades: np.ndarray | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in folds_of(frame["qid"].to_numpy(dtype=object), folds):
            if not (labels[train] >= 0).any():
                continue
            part = copy.copy(model).fit(frame[train], qrels[qrels["qid"].isin(frame.loc[train, "qid"])])
            graded = part.transform(frame[test])
            given = graded[grade_columns(graded.columns)].to_numpy(dtype=np.float64)
            grades = np.full((len(frame), given.shape[1]), np.nan) if grades is None else grades
            grades[test] = given
    if grades is None:
        raise ValueError("cross-validation needs judged documents of at least 2 queries")
    return grades


@dataclass(frozen=True)
class Slope:
    """The slope of the line of labels on expected grades: 1 if a grade model is right on average at every level.

    Attributes:
        value: The slope; NaN if the model expects the same of every document, or all labels are equal.
        low: The lower end of its interval.
        high: The upper end.
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, grades: np.ndarray, labels: np.ndarray, qid: np.ndarray) -> Slope:
        """The slope by least squares, with the documents of a query as a cluster.

        Shapes: grades float64[n, G+1], labels int64[n], qid object[n].
        """
        from scipy.stats import t

        expected = grades @ np.arange(grades.shape[1])
        queries, query = np.unique(qid, return_inverse=True)
        centred = expected - expected.mean()
        spread = float(centred @ centred)
        flat = spread <= 1e-12 * max(float(expected @ expected), 1e-300)
        if len(queries) < 2 or flat or labels.min() == labels.max():
            return cls(np.nan, -np.inf, np.inf)
        value = float(centred @ labels) / spread
        residual = labels - labels.mean() - value * centred
        parts = np.bincount(query, residual * centred / spread)
        error = float(np.sqrt(len(queries) / (len(queries) - 1) * parts @ parts))
        reach = float(t.ppf((1 + _CONFIDENCE) / 2, len(queries) - 1)) * error
        return cls(value, value - reach, value + reach)

    @property
    def misleads(self) -> bool:
        """Whether the whole interval lies outside `ACCEPTED_SLOPES`."""
        return self.high < ACCEPTED_SLOPES[0] or self.low > ACCEPTED_SLOPES[1]

    @property
    def caution(self) -> str:
        """What is wrong with the model, in words; empty if nothing is."""
        if not self.misleads:
            return ""
        return (
            f"the grade model misleads on queries that it has not seen: where it expects one grade more, labels show "
            f"{self.value:.2f} more (interval {self.low:.2f} to {self.high:.2f}, outside {ACCEPTED_SLOPES[0]:g} to "
            f"{ACCEPTED_SLOPES[1]:g}); take another grade model"
        )


def log_likelihood(grades: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64[n], the logarithm of the probability that each document's label had."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(grades[np.arange(len(labels)), labels]))


def mean_by_query(values: np.ndarray, qid: np.ndarray) -> tuple[float, float]:
    """The mean of documents' values, and its standard error with the documents of a query as a cluster.

    Shapes: values float64[n], qid object[n].
    """
    queries, query = np.unique(qid, return_inverse=True)
    mean = float(values.mean())
    parts = np.bincount(query, values - mean) / len(values)
    few = len(queries) < 2
    return mean, np.inf if few else float(np.sqrt(len(queries) / (len(queries) - 1) * parts @ parts))


def safe_recalibration(grades: np.ndarray, labels: np.ndarray, qid: np.ndarray) -> np.ndarray | None:
    """The parameters of a recalibration that helps on queries that it has not learned from; None if none does.

    It helps if it raises the cross-validated mean log-likelihood by more than two standard errors.

    Shapes: grades float64[n, G+1], labels int64[n], qid object[n].
    """
    corrected = np.empty_like(grades)
    for train, test in folds_of(qid):
        parameters = recalibration(grades[train], labels[train], np.ones(int(train.sum())))
        corrected[test] = regraded(parameters, grades[test])
    gain, error = mean_by_query(log_likelihood(corrected, labels) - log_likelihood(grades, labels), qid)
    return recalibration(grades, labels, np.ones(len(labels))) if gain > 2 * error else None
