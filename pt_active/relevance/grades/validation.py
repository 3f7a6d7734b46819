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

FOLDS = 5  # The number of folds of queries, at most

_CONFIDENCE = 0.95


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


def out_of_fold(model: Any, frame: pd.DataFrame, labels: np.ndarray, folds: int = FOLDS) -> np.ndarray:
    """float64[N, G+1], the grades that copies of a model give to the queries that they have not learned from.

    They are NaN where no other fold has a label.
    """
    qrels, graded = frame[["qid", "docno"]].assign(label=labels)[labels >= 0], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in folds_of(frame["qid"].to_numpy(dtype=object), folds):
            if (labels[train] >= 0).any():
                part = copy.copy(model).fit(frame[train], qrels[qrels["qid"].isin(frame.loc[train, "qid"])])
                found = part.transform(frame[test])
                graded.append(found[grade_columns(found.columns)].set_axis(np.flatnonzero(test)))
    if not graded:
        raise ValueError("cross-validation needs judged documents of at least 2 queries")
    return np.asarray(pd.concat(graded).reindex(np.arange(len(frame))).to_numpy(dtype=np.float64))


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
        by_query = np.bincount(query, residual * centred / spread)
        error = float(np.sqrt(len(by_query) / (len(by_query) - 1) * by_query @ by_query))
        reach = float(t.ppf((1 + _CONFIDENCE) / 2, len(queries) - 1)) * error
        return cls(value, value - reach, value + reach)


def log_likelihood(grades: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64[n], the logarithm of the probability that each document's label had."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(grades[np.arange(len(labels)), labels]))
