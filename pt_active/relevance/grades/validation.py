"""How good is a grade model on queries that it has not learned from?"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.columns import grade_columns

FOLDS = 5  # The number of folds of queries, at most


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
