"""The pairs and predictions of an audit: a checked frame as arrays, with the losses under every label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, shown
from pt_active.frames.columns import (
    check_grades,
    check_pairs,
    finite_numbers,
    grade_columns,
    numbers_in,
    refuse_rows,
    slice_rows,
    with_string_ids,
)
from pt_active.frames.visible import check_visible
from pt_active.relevance.costs import Cost, check_per_query
from pt_active.relevance.introspection import Introspection, gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import GaussianSquared, Loss


def checked_pairs(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """The pairs with string ids, sorted by qid and docno; raises if one occurs twice."""
    frame = with_string_ids(frame)
    check_pairs(frame, what)
    return frame.sort_values(["qid", "docno"], kind="stable")


def label_model(frame: pd.DataFrame) -> np.ndarray:
    """float64[N, G+1], the columns ``grade_0 … grade_G``, checked."""
    grades = np.column_stack([numbers_in(frame, column) for column in grade_columns(frame.columns)])
    check_grades(frame, grades)
    return grades


@dataclass(frozen=True)
class Pairs:
    """All pairs of an audit, sorted by qid and docno, with the predictions of k predictors."""

    frame: pd.DataFrame  # qid, docno (+ query, text), N rows
    names: tuple[str, ...]  # of the predictors
    predictions: np.ndarray  # float64[N, k], f
    grades: np.ndarray  # float64[N, G+1], P(y = g); no columns if labels are real numbers
    variances: np.ndarray  # float64[N, k], τ², if labels are real numbers; otherwise no columns
    member: np.ndarray  # bool[N], whether a pair belongs to the loss's slice
    cost: np.ndarray  # float64[N], λ
    loss: Loss

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, predictions: Mapping[str, str], loss: Loss, cost: Cost) -> Pairs:
        """Check a frame of pairs."""
        _check_columns(frame, predictions, loss)
        if check_per_query(cost) > 0:
            raise ValueError("pairs are drawn one by one: the cost must not have a part per query")
        frame = checked_pairs(frame, "the frame")
        none, columns = np.empty((len(frame), 0)), list(predictions.values())
        gaussian = isinstance(loss, GaussianSquared)
        grades = none if gaussian else label_model(frame)
        predicted = np.column_stack([finite_numbers(frame, column) for column in columns])
        if loss.needs_grades:
            highest = loss.grades_allowed(grades.shape[1] - 1)
            for column, values in zip(columns, predicted.T, strict=True):
                wrong = (values != np.floor(values)) | (values < 0) | (values > highest)
                refuse_rows(frame, wrong, column, f"a grade from 0 to {highest}")
        member = slice_rows(frame, loss.slice)
        said = {str(name): frame[name].to_numpy() for name in frame.columns}
        prices = np.asarray(cost.document_costs(said, pd.factorize(frame["qid"])[0]), dtype=np.float64)
        names = [f"{column}_variance" for column in columns] if gaussian else []
        variances = np.column_stack([finite_numbers(frame, name) for name in names]) if gaussian else none
        for name, values in zip(names, variances.T, strict=True):
            refuse_rows(frame, values < 0, name, "not negative")
        frame = frame[[column for column in ("qid", "docno", "query", "text") if column in frame.columns]]
        return cls(frame.reset_index(drop=True), tuple(predictions), predicted, grades, variances, member, prices, loss)

    @property
    def keys(self) -> pd.DataFrame:
        """``qid, docno``, N rows."""
        return self.frame[["qid", "docno"]]

    @property
    def weight(self) -> np.ndarray:
        """float64[N], p: equal for all pairs of the slice, and 0 for the others."""
        return self.member / self.member.sum()

    @property
    def max_grade(self) -> int | None:
        """G, the highest grade; None if labels are real numbers."""
        return None if self.is_gaussian else self.grades.shape[1] - 1

    @property
    def is_gaussian(self) -> bool:
        """Whether labels are real numbers, and each prediction has a Gaussian variance."""
        return isinstance(self.loss, GaussianSquared)

    @cached_property
    def tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each predictor, numerator u and weight w of the loss under every label, float64[N, G+1] each."""
        return label_tables(self.loss, self.predictions, self.grades.shape[1], self.member)

    @cached_property
    def introspection(self) -> Introspection:
        """Expected losses and their variances under the label model."""
        if self.is_gaussian:
            return gaussian_introspection(self.predictions, self.variances, self.weight, self.member)
        return introspection(self.tables, self.grades, self.weight, self.loss.proportion)

    def uniform_introspection(self) -> Introspection:
        """Expected losses and their variances if all grades are equally probable."""
        if self.is_gaussian:
            raise ValueError("real labels have no uniform distribution; choose a design that does not need one")
        uniform = np.full_like(self.grades, 1 / self.grades.shape[1])
        return introspection(self.tables, uniform, self.weight, self.loss.proportion)

    def fixed_weights(self, predictor: int) -> bool:
        """Whether the weights of a predictor's risk do not depend on the labels."""
        weight = None if self.is_gaussian else self.tables[predictor][1]
        return weight is None or bool((weight == weight[:, :1]).all())

    @property
    def closest_grades(self) -> np.ndarray:
        """int64[N, k], the grade that is closest to each prediction."""
        return np.clip(np.rint(self.predictions), 0, self.grades.shape[1] - 1).astype(np.int64)

    def bounds(self, predictor: int) -> tuple[float, float]:
        """The smallest and the largest possible loss of a pair, which bound the risk; infinite if unknown."""
        if self.is_gaussian:
            return 0.0, np.inf
        u, w = self.tables[predictor]
        loss = u[w > 0] / w[w > 0]
        return float(loss.min()), float(loss.max()) if loss.max() > loss.min() else np.inf

    def counts(self, predictor: int) -> np.ndarray:
        """bool[N], whether a pair has positive weight in a predictor's risk under some label."""
        return self.member if self.is_gaussian else np.asarray((self.tables[predictor][1] > 0).any(axis=1))

    def known_differences(self, first: int, second: int) -> bool:
        """Whether the difference of two risks is a mean over pairs, to which pairs with equal predictions add 0."""
        if self.is_gaussian:
            return True
        weights = [self.tables[s][1] for s in (first, second)]
        return self.fixed_weights(first) and bool((weights[0] == weights[1]).all())

    def differ(self, first: int, second: int) -> np.ndarray:
        """bool[N], whether some label would give the two predictors different numerators."""
        if self.is_gaussian:
            return np.asarray(self.member & (self.predictions[:, first] != self.predictions[:, second]))
        return np.asarray((self.tables[first][0] != self.tables[second][0]).any(axis=1))

    def same_losses(self, first: int, second: int) -> bool:
        """Whether two predictors have the same loss and weight under every label, so that their risks are equal."""
        if self.is_gaussian:
            return not self.differ(first, second).any()
        tables = zip(self.tables[first], self.tables[second], strict=True)
        return all(np.array_equal(one, other) for one, other in tables)

    def observed(self, rows: np.ndarray, label: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each predictor, numerator u and weight w at the labels of the pairs ``rows``, float64[n] each."""
        inside = self.member[rows]
        terms = (self.loss.terms(column, label) for column in self.predictions[rows].T)
        return [(u * inside, w * inside) for u, w in terms]


def _check_columns(frame: pd.DataFrame, predictions: Mapping[str, str], loss: Loss) -> None:
    data_frame("frame", frame)
    named = isinstance(predictions, Mapping) and [each for pair in predictions.items() for each in pair]
    if not named or not all(isinstance(each, str) and each for each in named):
        raise ValueError(f"predictions must name at least one predictor, as {{name: column}}, got {shown(predictions)}")
    check_visible("predictor", predictions)
    if not (loss.slice is None or isinstance(loss.slice, str)):
        raise ValueError(f"the slice of a loss must be the name of a column, got {shown(loss.slice)}")
    if loss.needs_distribution:
        raise ValueError(
            f"{loss} judges a distribution over grades, but an audit's predictor is one column; give the predictor's "
            "grade_0 … grade_G to pt_active.ActiveTest"
        )
    variances = [f"{column}_variance" for column in predictions.values()] if isinstance(loss, GaussianSquared) else []
    slices = [] if loss.slice is None else [loss.slice]
    data_frame("frame", frame, "qid", "docno", *predictions.values(), *variances, *slices)
    if frame.empty:
        raise ValueError("the frame has no pairs")
    if not (variances or grade_columns(frame.columns)):
        raise ValueError(
            "the frame needs grade_0 … grade_G, a label model's probability of each grade; UniformGrades(max_grade) "
            "adds them if nothing is known"
        )
