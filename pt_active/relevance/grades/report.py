"""A report on how well a graded-relevance model's probabilities agree with labels."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.columns import check_grades, check_pairs, grade_columns, with_string_ids
from pt_active.frames.qrels import checked_qrels
from pt_active.relevance.grades.features import document_labels
from pt_active.relevance.grades.models import training_documents

FOLDS = 5  # The number of folds of queries, at most
_BINS = 10  # Of probabilities


@dataclass(frozen=True)
class GradeReport:
    """How well a grade model's probabilities agree with labels outside its training data.

    Attributes:
        n_judged: The number of documents with a label.
        n_unjudged: The number of documents without a label, which are left out.
        likelihood: Exponentiated mean log-likelihood per document; uniform grades have ``1 / (G + 1)``.
        reliability: A row for each grade and bin that contains a document: the ``grade``, the ends ``low`` and
            ``high`` of the bin, the number ``n`` of documents, the mean probability ``predicted``, and the share
            ``observed`` of documents that have the grade.
    """

    n_judged: int
    n_unjudged: int
    likelihood: float
    reliability: pd.DataFrame = field(repr=False, compare=False)

    @classmethod
    def of(cls, graded: pd.DataFrame, qrels: pd.DataFrame) -> GradeReport:
        """Compare the grades of a frame with labels.

        Args:
            graded: ``qid, docno, grade_0 … grade_G``.
            qrels: ``qid, docno, label``; -1 counts as no label, -2 as grade 0.

        Raises:
            ValueError: If there are no grade columns, a row is not a distribution, no document has a label, a label
                is above G, or a pair occurs twice.
        """
        columns = grade_columns(graded.columns)
        if not columns:
            raise ValueError("the frame has no columns grade_0 … grade_G; end its pipeline in a grade model")
        graded = with_string_ids(graded)
        check_pairs(graded, "the graded frame")
        labels = document_labels(graded, checked_qrels(qrels, len(columns) - 1), "the graded frame")
        probabilities = graded[columns].to_numpy(dtype=np.float64)
        check_grades(graded, probabilities)
        return cls._of(probabilities, labels)

    @classmethod
    def cross_validated(
        cls, model: Any, run: pd.DataFrame, qrels: pd.DataFrame, folds: int = FOLDS, unjudged: str | None = None
    ) -> GradeReport:
        """Compare a model's grades with the labels of queries that it has not learned from.

        Args:
            model: A grade model with ``fit``, which is not changed.
            run: The training run, of at least two judged queries.
            qrels: ``qid, docno, label``; -1 counts as no label, -2 as grade 0.
            folds: The number of folds of queries.
            unjudged: ``"nonrelevant"`` takes documents without a label for grade 0.

        Raises:
            ValueError: If no document has a label, a label is above ``max_grade``, or a frame is malformed.
        """
        frame, labels = training_documents(run, qrels, model.max_grade, unjudged)
        return cls._of(out_of_fold(model, frame, labels, folds), labels)

    @classmethod
    def _of(cls, grades: np.ndarray, labels: np.ndarray) -> GradeReport:
        judged = labels >= 0
        grades, known = grades[judged], labels[judged]
        with np.errstate(divide="ignore"):
            likelihood = float(np.exp(np.log(grades[np.arange(len(known)), known]).mean()))
        return cls(
            n_judged=len(known),
            n_unjudged=len(labels) - len(known),
            likelihood=likelihood,
            reliability=_reliability(grades, known),
        )

    def __str__(self) -> str:
        uniform = 1 / (self.reliability["grade"].max() + 1)
        return (
            f"Grades of {self.n_judged:,} judged documents ({self.n_unjudged:,} without a label left out)\n"
            f"  likelihood  {self.likelihood:.4f} a document (uniform grades: {uniform:.4f})\n"
            f"{self.reliability.to_string(index=False, float_format='%.2f')}"
        )


def _reliability(probabilities: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """The frequency of each grade among documents that give it similar probabilities."""
    grade = np.arange(probabilities.shape[1])
    place = np.minimum((probabilities * _BINS).astype(np.int64), _BINS - 1)
    cells = pd.DataFrame(
        {
            "grade": np.tile(grade, len(labels)),
            "place": place.ravel(),
            "predicted": probabilities.ravel(),
            "observed": (labels[:, None] == grade).ravel(),
        }
    ).groupby(["grade", "place"])
    table = cells[["predicted", "observed"]].mean().reset_index()
    low, high = table["place"] / _BINS, (table["place"] + 1) / _BINS
    table = table.assign(low=low, high=high, n=cells.size().to_numpy())
    return table[["grade", "low", "high", "n", "predicted", "observed"]]


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
