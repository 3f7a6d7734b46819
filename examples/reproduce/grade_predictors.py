"""Grade predictors to audit on labelled pools: models learned on one fold, and automatic judges such as LLMs.

Each predicts the grade of a pair and the probability of every grade. A judge's probabilities are its votes, calibrated
on the human labels of the training fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from judged_pools import JudgedPool
from sklearn.base import ClassifierMixin, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from pt_active import ForestGrades, JudgeGrades, OrderedLogitGrades
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.judges import judge_table
from pt_active.relevance.grades.learned import FeatureGrades
from pt_active.relevance.grades.models import FittedGrades


@dataclass(frozen=True)
class Widened:
    """A fitted classifier that gives some probability to every grade."""

    classifier: ClassifierMixin
    documents: int
    max_grade: int

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """float64[N, G+1], the probability of each grade."""
        occurred = self.classifier.predict_proba(features)
        return fitting.widened(occurred, self.classifier.classes_, self.max_grade, self.documents)


class Classified(FeatureGrades):
    """A scikit-learn classifier on ranks and scores, or on the frame's own features."""

    def __init__(self, classifier: ClassifierMixin, max_grade: int) -> None:
        self.classifier = classifier
        self.max_grade = max_grade

    def _fitted(self, features: np.ndarray, labels: np.ndarray) -> Widened:
        return Widened(clone(self.classifier).fit(features, labels), len(labels), self.max_grade)


LEARNED: dict[str, Callable[[int], FittedGrades]] = {
    "ordered logit": OrderedLogitGrades,
    "naive Bayes": lambda max_grade: Classified(GaussianNB(), max_grade),
    "random forest": lambda max_grade: ForestGrades(max_grade, min_leaf=10),
    "nearest neighbours": lambda max_grade: Classified(KNeighborsClassifier(25), max_grade),
    "tree": lambda max_grade: Classified(DecisionTreeClassifier(max_depth=6, random_state=0), max_grade),
}
"""Name → model for a highest grade; naive Bayes is far too certain."""

PAIRS = 5000
"""Pairs drawn at random from each pool, so that a thousand samples take seconds."""


@dataclass(frozen=True)
class Predictors:
    """The predictions of k predictors for N pairs.

    Attributes:
        names: Names of the predictors.
        pairs: ``qid, docno`` of the pairs.
        prediction: float64[N, k], the predicted grades.
        grades: float64[k, N, G+1], P(y) by each predictor.
        label: float64[N], the true grade.
    """

    names: tuple[str, ...]
    pairs: pd.DataFrame
    prediction: np.ndarray
    grades: np.ndarray
    label: np.ndarray

    @property
    def expected(self) -> np.ndarray:
        """float64[N, k], the mean of each predictor's P(y)."""
        return np.asarray((self.grades @ np.arange(self.grades.shape[2])).T)


def learned(pool: JudgedPool, train_fold: int, names: list[str], queries: int | None = None) -> Predictors:
    """Predictions of models learned on one fold.

    Args:
        pool: The labelled pool.
        train_fold: The training fold.
        names: Keys of `LEARNED`.
        queries: Number of training queries; by default the whole fold.
    """
    graded = [_sampled(pool.graded(LEARNED[name](pool.max_grade), train_fold, queries)) for name in names]
    columns = [f"grade_{grade}" for grade in range(pool.max_grade + 1)]
    grades = np.stack([frame[columns].to_numpy() for frame in graded])
    label = graded[0]["label"].to_numpy(dtype=np.float64)
    pairs = graded[0][["qid", "docno"]].reset_index(drop=True)
    return Predictors(tuple(names), pairs, grades.argmax(axis=2).T.astype(float), grades, label)


def judging(pool: JudgedPool, train_fold: int, judges: Mapping[str, pd.DataFrame]) -> Predictors:
    """Predictions of judges: the grade with most votes, for the pairs that all judges have seen.

    Args:
        pool: The labelled pool.
        train_fold: The fold on which the judges' probabilities are calibrated.
        judges: The result of `read_judges`.

    Raises:
        ValueError: If no pair has been seen by all judges.
    """
    shares = {name: judge_table(judge) for name, judge in judges.items()}
    seen = pool.frame[["qid", "docno"]].drop_duplicates()
    for share in shares.values():
        seen = seen.merge(share[["qid", "docno"]], on=["qid", "docno"])
    if seen.empty:
        raise ValueError(f"{pool.name}: no pair has been seen by all of {', '.join(judges)}")
    graded, predicted = [], []
    for name, judge in judges.items():
        frame = _sampled(pool.graded(JudgeGrades(judge, pool.max_grade), train_fold).merge(seen, on=["qid", "docno"]))
        graded.append(frame[[f"grade_{grade}" for grade in range(pool.max_grade + 1)]].to_numpy())
        votes = frame[["qid", "docno"]].merge(shares[name], how="left", on=["qid", "docno"])
        predicted.append(votes.drop(columns=["qid", "docno"]).to_numpy().argmax(axis=1))
    prediction = np.minimum(np.column_stack(predicted), pool.max_grade).astype(float)
    pairs = frame[["qid", "docno"]].reset_index(drop=True)
    return Predictors(tuple(judges), pairs, prediction, np.stack(graded), frame["label"].to_numpy(dtype=np.float64))


def joined(first: Predictors, second: Predictors) -> Predictors:
    """The predictors of both, on the pairs that they have in common."""
    both = first.pairs.assign(a=np.arange(len(first.pairs))).merge(
        second.pairs.assign(b=np.arange(len(second.pairs))), on=["qid", "docno"]
    )
    a, b = both["a"].to_numpy(), both["b"].to_numpy()
    return Predictors(
        first.names + second.names,
        both[["qid", "docno"]],
        np.concatenate([first.prediction[a], second.prediction[b]], axis=1),
        np.concatenate([first.grades[:, a], second.grades[:, b]]),
        first.label[a],
    )


def _sampled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["qid", "docno"]).sample(min(PAIRS, len(frame)), random_state=0)
