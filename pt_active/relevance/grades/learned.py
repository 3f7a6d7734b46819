"""Graded-relevance models that learn from ranks and scores, or from features in the frame [T 6.4]."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, positive
from pt_active.frames.columns import ranker_names
from pt_active.relevance.digits import rounded
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import document_features
from pt_active.relevance.grades.models import (
    ColdGrades,
    FittedGrades,
    GradeModel,
    PriorGrades,
    UniformGrades,
)
from pt_active.relevance.grades.report import folds_of


class FeatureGrades(FittedGrades):
    """A grade model that learns from the column ``features`` of a frame, or else from its ranks and scores.

    Attributes:
        n_features_: The number of features per document in training.
    """

    n_features_: int
    model_: fitting.OrderedLogit | fitting.GradeForest

    def needed_columns(self, columns: Iterable[object]) -> list[str]:
        """``features`` if the frame has it, else ``score_<name>`` of each ranker, else ``score``."""
        columns = list(columns)
        if "features" in columns:
            return ["features"]
        return [f"score_{name}" for name in ranker_names(columns)] or ["score"]

    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        judged = labels >= 0
        features, labels = document_features(frame)[judged], labels[judged]
        # Random forests and rounding depend on the order of the rows, so that of the frame must not reach the fit.
        order = np.lexsort([labels, *features.T])
        self.model_ = self._fitted(features[order], labels[order])
        self.n_features_ = features.shape[1]

    def _predict(self, frame: pd.DataFrame) -> np.ndarray:
        features = document_features(frame)
        if features.shape[1] != self.n_features_:
            raise ValueError(
                f"{type(self).__name__} was fitted on {how_many('feature', self.n_features_)} a document, "
                f"got {features.shape[1]}"
            )
        return self.model_.probabilities(features)

    @abstractmethod
    def _fitted(self, features: np.ndarray, labels: np.ndarray) -> fitting.OrderedLogit | fitting.GradeForest:
        """A model of features, float64[n, d], and labels, int64[n], in an order that is not the frame's."""


_SCALES = (1.0, 0.3, 0.1, 0.03)  # Standard deviations of the prior, the usual one first
_QUERIES = 100  # The first queries, at most so many, choose among them


class OrderedLogitGrades(FeatureGrades):
    """Proportional odds on ranks and scores: ``P(y ≤ g) = 1 / (1 + exp(w·x − θ_g))``, fitted by MAP.

    Args:
        max_grade: G, the highest grade.
        prior_scale: The standard deviation of the Gaussian prior on the weights of standardised features. If left out,
            1, 0.3, 0.1 or 0.03: the one that makes labels of other queries likeliest, by cross-validation.

    Attributes:
        model_: The fitted `OrderedLogit`.
        prior_scale_: The standard deviation that was taken.
    """

    def __init__(self, max_grade: int, prior_scale: float | None = None) -> None:
        self.max_grade = max_grade
        self.prior_scale = prior_scale

    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        self.prior_scale_ = self._likeliest_scale(frame, labels) if self.prior_scale is None else self.prior_scale
        positive("prior_scale", self.prior_scale_)
        super()._learn(frame, labels)

    def _likeliest_scale(self, frame: pd.DataFrame, labels: np.ndarray) -> float:
        """The scale with which a fit to some queries makes the labels of others likeliest."""
        judged = labels >= 0
        qid = frame["qid"].to_numpy(dtype=object)
        qids = np.unique(qid[judged])
        if len(qids) == 1:
            return _SCALES[0]
        some = judged & np.isin(qid, qids[:_QUERIES])
        features, labels = document_features(frame)[some], labels[some]
        likelihood = np.zeros(len(_SCALES))
        for train, test in folds_of(qid[some]):
            for number, scale in enumerate(_SCALES):
                model = fitting.fit_ordered_logit(features[train], labels[train], self.max_grade, scale)
                chance = model.probabilities(features[test])[np.arange(test.sum()), labels[test]]
                likelihood[number] += np.log(chance).sum()
        return _SCALES[rounded(likelihood).argmax()]

    def _fitted(self, features: np.ndarray, labels: np.ndarray) -> fitting.OrderedLogit:
        return fitting.fit_ordered_logit(features, labels, self.max_grade, self.prior_scale_)


class ForestGrades(FeatureGrades):
    """A random forest on ranks and scores. A document's grades are the label distribution of its leaves, averaged.

    Splits reduce the squared error. A hundred trees take about 20 seconds for a million documents on two cores.

    Args:
        max_grade: G, the highest grade.
        trees: The number of trees.
        min_leaf: The least number of documents in a leaf.
        seed: The seed of bootstrap samples and splits.

    Attributes:
        model_: The fitted `GradeForest`.
    """

    def __init__(self, max_grade: int, trees: int = 100, min_leaf: int = 50, seed: int = 0) -> None:
        self.max_grade = max_grade
        self.trees = trees
        self.min_leaf = min_leaf
        self.seed = seed

    def _fitted(self, features: np.ndarray, labels: np.ndarray) -> fitting.GradeForest:
        return fitting.fit_forest(features, labels, self.max_grade, self.trees, self.min_leaf, self.seed)


GRADES: dict[str, Callable[[int], GradeModel]] = {
    "ordered-logit": OrderedLogitGrades,
    "forest": ForestGrades,
    "prior": PriorGrades,
    "cold": ColdGrades,
    "uniform": UniformGrades,
}
"""The grade models that can be made from the highest grade alone, by name; those with ``fit`` learn from labels."""
