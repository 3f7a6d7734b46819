"""Graded-relevance models as PyTerrier transformers, which add ``grade_0 … grade_G`` to an R frame [T 6.3].

A new model is a subclass of `FittedGrades` with the methods `_learn` and `_predict`.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import check_known, transformer, whole_number
from pt_active.frames.columns import GRADE_COLUMN, check_pairs, grade_columns, ranker_names, with_string_ids
from pt_active.frames.qrels import HIGHEST_LABEL, checked_qrels
from pt_active.frames.steps import Step
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import best_rank, document_labels, ranking_columns

if TYPE_CHECKING:
    from typing import Self

UNJUDGED_POLICIES = ("missing", "nonrelevant")
"""What an unjudged document of a training run is: left out of the training, or taken for grade 0."""

USUAL_DEPTH = 10  # The depth at which the share of judged documents is checked

MIN_JUDGED_SHARE = 0.5  # If a smaller share of the documents at that depth is judged, there is a warning


class GradeModel(Step):
    """Adds the columns ``grade_0 … grade_G``, and replaces grade columns that are already there.

    Rows, their order and their index are kept; ``qid`` and ``docno`` become strings.

    Attributes:
        max_grade: G, the highest grade.
    """

    def __init__(self, max_grade: int) -> None:
        self.max_grade = max_grade

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Add the grade columns.

        Args:
            inp: An R frame, plain or of several rankers. The model need not be fitted if it is empty.

        Returns:
            A new frame; the grades of a row sum to 1.

        Raises:
            InputValidationError: If a column is missing.
            ValueError: If an argument of the model is out of range or the frame is malformed.
            RuntimeError: If the model has not been fitted.
        """
        pt.validate.result_frame(inp, extra_columns=self.needed_columns(inp.columns), context=self)
        max_grade = whole_number("max_grade", self.max_grade, 1, HIGHEST_LABEL)
        frame = with_string_ids(inp)
        return _with_grades(frame, np.empty((0, max_grade + 1)) if frame.empty else self._grades(frame))

    def needed_columns(self, columns: Iterable[object]) -> list[str]:
        """The columns that the model needs besides qid and docno, in a frame with the given columns."""
        return []

    @abstractmethod
    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        """float64[N, G+1], the grade probabilities of a frame with at least one row and string ids."""


class UniformGrades(GradeModel):
    """Every grade is equally likely: ``P(y) = 1 / (G + 1)``, for documents of which nothing is known [T].

    Args:
        max_grade: G, the highest grade.
    """

    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        return np.full((len(frame), self.max_grade + 1), 1 / (self.max_grade + 1))


class ColdGrades(GradeModel):
    """Grades that fall with the best rank, for a first round when nothing has been judged yet.

    ``P(y ≥ g) = 1 / (1 + exp(g − 3/2 + ½ log rank))``: at rank 1 a document has some relevance with the probability
    .62, at rank 10 with .34 and at rank 100 with .14, and each further grade has about 0.4 times the odds.

    Args:
        max_grade: G, the highest grade.
    """

    def needed_columns(self, columns: Iterable[object]) -> list[str]:
        """``score`` for a plain R frame; none for a frame of several rankers."""
        return ranking_columns(columns)

    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        ranks = best_rank(frame)
        distinct, code = np.unique(np.where(ranks > 0, ranks, max(int(ranks.max(initial=1)), 1)), return_inverse=True)
        odds = np.exp(1.5 - np.arange(1, self.max_grade + 1))[:, None] / np.sqrt(distinct)
        above = (odds / (1 + odds)).T
        return -np.diff(above, axis=1, prepend=1, append=0)[code]

    def described(self) -> str:
        """Where the grades come from, for printing."""
        return "Grade model: none, so grades are guessed from ranks alone"


class FittedGrades(GradeModel, pt.Estimator):
    """A grade model that learns from judged documents.

    Attributes:
        n_judged_: The number of training documents with a label.
    """

    n_judged_: int

    def fit(
        self,
        run: pd.DataFrame,
        qrels: pd.DataFrame,
        run_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
        *,
        unjudged: str | None = None,
    ) -> Self:
        """Learn from the documents of a run that have a label. The others are left out and counted.

        Args:
            run: An R frame, plain or of several rankers.
            qrels: ``qid, docno, label``; -1 counts as no label, -2 as grade 0.
            run_va: Not used; PyTerrier's pipelines pass it.
            qrels_va: Not used; PyTerrier's pipelines pass it.
            unjudged: ``"nonrelevant"`` takes documents without a label for grade 0; ``"missing"`` leaves them out, as
                None does, and does not warn of them.

        Returns:
            The model itself.

        Warns:
            UserWarning: If fewer than half of the documents down to rank 10 are judged.

        Raises:
            InputValidationError: If a column of the run is missing.
            ValueError: If no document has a label, a label is above ``max_grade``, an argument of the model is out
                of range, or a frame is malformed.
        """
        pt.validate.result_frame(run, extra_columns=self.needed_columns(run.columns), context=self)
        max_grade = whole_number("max_grade", self.max_grade, 1, HIGHEST_LABEL)
        frame, labels = training_documents(run, qrels, max_grade, unjudged)
        if unjudged is None:
            _warn_of_few(frame, labels)
        self._learn(frame, labels)
        self.n_judged_ = int((labels >= 0).sum())
        return self

    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        if not hasattr(self, "n_judged_"):
            raise RuntimeError(f"{type(self).__name__} has not been fitted: call fit(run, qrels) before transform")
        return self._predict(frame)

    @abstractmethod
    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        """Fit the model to a frame with string ids and its labels, int64[N], -1 where there is none."""

    @abstractmethod
    def _predict(self, frame: pd.DataFrame) -> np.ndarray:
        """float64[N, G+1], the fitted model's grade probabilities for a frame with string ids."""


_BANDS = (1, 3, 5, 10, 20, 50, 100)  # The last rank of each band of ranks; one more holds all deeper ranks


class PriorGrades(FittedGrades):
    """The share of each grade at similar ranks of the training run. With several rankers, the best rank counts.

    The ranks are 1, 2–3, 4–5, 6–10, 11–20, 21–50, 51–100 and all deeper ones.

    Args:
        max_grade: G, the highest grade.

    Attributes:
        band_grades_: float64[8, G+1], the share of each grade in each band of ranks.
    """

    def needed_columns(self, columns: Iterable[object]) -> list[str]:
        """``score`` for a plain R frame; none for a frame of several rankers."""
        return ranking_columns(columns)

    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        judged = labels >= 0
        counts = fitting.label_counts(_band(frame)[judged], labels[judged], len(_BANDS) + 1, self.max_grade)
        overall = fitting.marginal(labels[judged], self.max_grade)
        self.band_grades_ = fitting.shrunk(counts, overall)

    def _predict(self, frame: pd.DataFrame) -> np.ndarray:
        return self.band_grades_[_band(frame)]


def _band(frame: pd.DataFrame) -> np.ndarray:
    """int64[N], the band of each document's best rank; one that no ranker retrieves is in the last."""
    ranks = best_rank(frame)
    return np.where(ranks > 0, np.searchsorted(_BANDS, ranks), len(_BANDS))


class MixtureGrades(Step, pt.Estimator):
    """The equal mixture of grade models [T 5.11], such as one for each ranker.

    Args:
        *models: Grade models, or pipelines that end in one. Each must keep all rows and their order.
    """

    def __init__(self, *models: pt.Transformer) -> None:
        what = "each model of MixtureGrades(first, second, …)"
        self.models = tuple(transformer(what, each, frames=False) for each in models)

    def fit(
        self,
        run: pd.DataFrame,
        qrels: pd.DataFrame,
        run_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
        *,
        unjudged: str | None = None,
    ) -> Self:
        """Fit every model that has a method ``fit``; all arguments are passed on, as `FittedGrades.fit` takes them."""
        said = {} if unjudged is None else {"unjudged": unjudged}
        for model in self.models:
            if hasattr(model, "fit"):
                model.fit(run, qrels, run_va, qrels_va, **said)
        return self

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Add the mean of the models' grade probabilities, as `GradeModel.transform` does.

        Raises:
            ValueError: If there is no model, a model adds no grades, or two models differ in the highest grade.
        """
        models = [model for model in self.models if isinstance(model, GradeModel)]
        needed = [column for model in models for column in model.needed_columns(inp.columns)]
        pt.validate.result_frame(inp, extra_columns=list(dict.fromkeys(needed)), context=self)
        if not self.models:
            raise ValueError("MixtureGrades needs at least one model")
        frame = with_string_ids(inp)
        parts = [_grades_by(model, frame) for model in self.models]
        heights = sorted({part.shape[1] - 1 for part in parts})
        if len(heights) > 1:
            raise ValueError(f"the models of a mixture must have the same highest grade, got {heights}")
        return _with_grades(frame, np.mean(parts, axis=0))


def _with_grades(frame: pd.DataFrame, probabilities: np.ndarray) -> pd.DataFrame:
    """The frame with what a model says, which is rounded here, so that plans are the same on every processor."""
    probabilities = rounded_grades(probabilities)
    rest = frame.drop(columns=[c for c in frame.columns if GRADE_COLUMN.match(str(c))])
    names = [f"grade_{g}" for g in range(probabilities.shape[1])]
    graded = pd.concat([rest, pd.DataFrame(probabilities, index=rest.index, columns=names)], axis=1)
    graded.attrs |= frame.attrs
    return graded


def _grades_by(model: pt.Transformer, frame: pd.DataFrame) -> np.ndarray:
    """float64[N, G+1], the grade probabilities that a model gives the rows of a frame."""
    graded = model.transform(frame)
    columns = grade_columns(graded.columns)
    if not columns:
        raise ValueError(f"{model!r} adds no columns grade_0 … grade_G")
    pairs = graded[["qid", "docno"]].to_numpy(dtype=object), frame[["qid", "docno"]].to_numpy(dtype=object)
    if not np.array_equal(*pairs):
        raise ValueError(f"{model!r} must keep all rows and their order; it got {len(frame)}, returned {len(graded)}")
    return graded[columns].to_numpy(dtype=np.float64)


def training_documents(
    run: pd.DataFrame, qrels: pd.DataFrame, max_grade: int, unjudged: str | None
) -> tuple[pd.DataFrame, np.ndarray]:
    """A training run with string ids, and int64[N], the labels to learn from, -1 where there is none."""
    if unjudged is not None:
        check_known("unjudged", unjudged, UNJUDGED_POLICIES)
    frame = with_string_ids(run)
    check_pairs(frame, "the training run")
    labels = document_labels(frame, checked_qrels(qrels, max_grade), "the training run")
    return frame, np.maximum(labels, 0) if unjudged == "nonrelevant" else labels


def _warn_of_few(frame: pd.DataFrame, labels: np.ndarray) -> None:
    """Warn if few of the training documents down to `USUAL_DEPTH` have a label; a frame without ranks has no depth."""
    top = np.ones(len(frame), dtype=bool)
    if ranker_names(frame.columns) or "score" in frame.columns:
        ranks = best_rank(frame)
        top = (ranks > 0) & (ranks <= USUAL_DEPTH)
    judged, documents = int((labels[top] >= 0).sum()), int(top.sum())
    if judged < MIN_JUDGED_SHARE * documents:
        warnings.warn(
            f"only {judged:,} of {documents:,} documents down to rank {USUAL_DEPTH} of the training run are judged, so "
            "the grade model may be wrong about the others; say whether unjudged is nonrelevant or missing",
            stacklevel=4,
        )
