"""How good is a grade model on queries that it has not learned from?"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.columns import grade_columns

FOLDS = 5  # The number of folds of queries, at most

MAX_VALIDATED = 20_000  # With more judged documents, a random part of the queries is enough to compare models

_CONFIDENCE = 0.95

Model = Callable[[np.ndarray], np.ndarray]
"""Some of the documents, bool[N], or their places → their grades, float64[n, G+1]."""

Fit = Callable[[np.ndarray], Model | None]
"""Documents to learn from, bool[N] → a model of their labels; None if there are none."""


def some_queries(frame: pd.DataFrame, labels: np.ndarray, most: int = MAX_VALIDATED) -> np.ndarray:
    """bool[N], the documents of random queries that hold about ``most`` labels; all if there are no more."""
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
    """The training and the test documents of each fold, bool[N] each; all documents of a query are in one fold."""
    qids, query = np.unique(qid, return_inverse=True)
    if len(qids) < 2:
        raise ValueError("cross-validation needs judged documents of at least 2 queries, got 1")
    fold = np.empty(len(qids), dtype=np.int64)
    fold[np.random.default_rng(0).permutation(len(qids))] = np.arange(len(qids)) % folds
    for number in range(min(folds, len(qids))):
        test = (fold == number)[query]
        yield ~test, test


def cross_fitted(fit: Fit, qid: np.ndarray, folds: int = FOLDS) -> np.ndarray:
    """float64[N, G+1], the grades of each document from a model of the other folds; NaN where none could be fitted."""
    grades: np.ndarray | None = None
    for train, test in folds_of(qid, folds):
        if (model := fit(train)) is not None:
            given = model(test)
            grades = np.full((len(qid), given.shape[1]), np.nan) if grades is None else grades
            grades[test] = given
    if grades is None:
        raise ValueError("cross-validation needs judged documents of at least 2 queries")
    return grades


def out_of_fold(model: Any, frame: pd.DataFrame, labels: np.ndarray, folds: int = FOLDS) -> np.ndarray:
    """float64[N, G+1], the grades that copies of a model give to the queries that they have not learned from."""
    qrels = frame[["qid", "docno"]].assign(label=labels)[labels >= 0]

    def fit(train: np.ndarray) -> Model | None:
        if not (labels[train] >= 0).any():
            return None
        part = copy.copy(model).fit(frame[train], qrels[qrels["qid"].isin(frame.loc[train, "qid"])])

        def grades(test: np.ndarray) -> np.ndarray:
            graded = part.transform(frame[test])
            return graded[grade_columns(graded.columns)].to_numpy(dtype=np.float64)

        return grades

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_fitted(fit, frame["qid"].to_numpy(dtype=object), folds)


@dataclass(frozen=True)
class Slope:
    """The slope of the line of labels on expected grades: 1 if a grade model is right on average at every level."""

    value: float  # the slope; NaN if the model expects the same of every document, or all labels are equal
    low: float  # the lower end of its interval
    high: float

    @classmethod
    def of(cls, grades: np.ndarray, labels: np.ndarray, qid: np.ndarray) -> Slope:
        """The slope by least squares, with the documents of a query as a cluster."""
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
        error = _clustered_error(residual * centred / spread, query)
        reach = float(t.ppf((1 + _CONFIDENCE) / 2, len(queries) - 1)) * error
        return cls(value, value - reach, value + reach)


def log_likelihood(grades: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64[n], the logarithm of the probability that each document's label had."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(grades[np.arange(len(labels)), labels]))


def _clustered_error(parts: np.ndarray, query: np.ndarray) -> float:
    """The standard error of a sum of parts, float64[n], that are independent between queries, int64[n]."""
    by_query = np.bincount(query, parts)
    few = len(by_query) < 2
    return np.inf if few else float(np.sqrt(len(by_query) / (len(by_query) - 1) * by_query @ by_query))
