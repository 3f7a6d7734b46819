"""The pairs and predictions of an audit: a checked frame as arrays, with the losses under every label."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, how_many, shown, some
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
from pt_active.relevance.grades.judges import judge_labels, mean_of_judges
from pt_active.relevance.introspection import Introspection, gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import GaussianSquared, Loss, Terms


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
        frame, columns = checked_pairs(frame, "the frame"), list(predictions.values())
        predicted = np.column_stack([finite_numbers(frame, column) for column in columns])
        grades = variances = np.empty((len(frame), 0))
        if isinstance(loss, GaussianSquared):
            names = [f"{column}_variance" for column in columns]
            variances = np.column_stack([finite_numbers(frame, name) for name in names])
            for name, values in zip(names, variances.T, strict=True):
                refuse_rows(frame, values < 0, name, "not negative")
        else:
            grades = label_model(frame)
        if loss.needs_grades:
            highest = loss.grades_allowed(grades.shape[1] - 1)
            for column, values in zip(columns, predicted.T, strict=True):
                wrong = (values != np.floor(values)) | (values < 0) | (values > highest)
                refuse_rows(frame, wrong, column, f"a grade from 0 to {highest}")
        member = slice_rows(frame, loss.slice)
        said = {str(name): frame[name].to_numpy() for name in frame.columns}
        price = np.asarray(cost.document_costs(said, pd.factorize(frame["qid"])[0]), np.float64)
        frame = frame.filter(["qid", "docno", "query", "text"]).reset_index(drop=True)
        return cls(frame, tuple(predictions), predicted, grades, variances, member, price, loss)

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
        """For each predictor, ``u`` and ``w`` of the loss under every label, float64[N, G+1] each.

        Of real labels, they are those at 0 and 1: two predictions with the same errors there are equal.
        """
        labels = 2 if self.is_gaussian else self.grades.shape[1]
        return label_tables(self.loss, self.predictions, labels, self.member)

    @cached_property
    def introspection(self) -> Introspection:
        """Expected losses and their variances under the label model."""
        if self.is_gaussian:
            return gaussian_introspection(self.predictions, self.variances, self.weight, self.member)
        return introspection(self.tables, self.grades, self.weight, self.loss.proportion)

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
        return np.asarray((self.tables[predictor][1] > 0).any(axis=1))

    def fixed_weights(self, *predictors: int) -> bool:
        """Whether no label changes the weights, and all predictors have the same: risks differ by a mean.

        Pairs with equal predictions add 0 to such a difference.
        """
        first = self.tables[predictors[0]][1][:, :1]
        return all(bool((self.tables[s][1] == first).all()) for s in predictors)

    def differ(self, first: int, second: int) -> np.ndarray:
        """bool[N], whether some label would give the two predictors different numerators."""
        return np.asarray((self.tables[first][0] != self.tables[second][0]).any(axis=1))

    def same_losses(self, first: int, second: int) -> bool:
        """Whether two predictors have the same loss and weight under every label, so that their risks are equal."""
        return bool(np.array_equal(self.tables[first], self.tables[second]))

    def observed(self, predictor: int, rows: np.ndarray, label: np.ndarray) -> Terms:
        """Numerator u and weight w of a predictor at the labels of the pairs ``rows``, float64[n] each."""
        u, w = self.loss.terms(self.predictions[rows, predictor], label)
        return u * self.member[rows], w * self.member[rows]


def _check_columns(frame: pd.DataFrame, predictions: Mapping[str, str], loss: Loss) -> None:
    data_frame("frame", frame)
    named = isinstance(predictions, Mapping) and [*predictions, *predictions.values()]
    if not named or not all(isinstance(each, str) and each for each in named):
        said = f"predictions must name at least one predictor, as {{name: column}}, got {shown(predictions)}"
        raise ValueError(said)
    check_visible("predictor", predictions)
    if not (loss.slice is None or isinstance(loss.slice, str)):
        raise ValueError(f"the slice of a loss must be the name of a column, got {shown(loss.slice)}")
    if loss.needs_distribution:
        raise ValueError(
            f"{loss} judges a distribution over grades, but an audit's predictor is one column; give the predictor's "
            "grade_0 … grade_G to pt_active.ActiveTest"
        )
    needed = ["qid", "docno", *predictions.values()]
    if isinstance(loss, GaussianSquared):
        needed += [f"{column}_variance" for column in predictions.values()]
    elif not grade_columns(frame.columns):
        raise ValueError(
            "the frame needs grade_0 … grade_G, a label model's probability of each grade; UniformGrades(max_grade) "
            "adds them if nothing is known"
        )
    if data_frame("frame", frame, *needed, *filter(None, [loss.slice])).empty:
        raise ValueError("the frame has no pairs")


def judged_pool(judges: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, dict[str, str]]:
    """The pairs that all judges graded, with a column for each judge; a warning counts the others.

    Args:
        judges: Name of a judge → labels or votes, as `judges.judge_table` takes them; of votes the most frequent
            grade is the judge's label, the lowest of those that are tied.

    Returns:
        ``qid, docno`` and a column for each judge, sorted; and name of a judge → column.

    Raises:
        ValueError: If there is no judge, a label is invalid, or no pair was graded by all.
    """
    if not judges:
        raise ValueError("there is no judge to audit: name one with judge=")
    columns = {name: f"judge_{number}" for number, name in enumerate(judges)}
    labels = {columns[name]: judge_labels(frame).set_index(["qid", "docno"])["label"] for name, frame in judges.items()}
    pool = pd.concat(labels, axis=1, sort=True)
    for name, number in zip(judges, pool.isna().sum(), strict=True):
        if number:
            left_out = how_many("pair", int(number), "is")
            said = f"{left_out} left out, which {shown(name)} did not grade and others did"
            warnings.warn(said, stacklevel=2)
    pool = pool.dropna().astype("int64").reset_index()
    if pool.empty:
        raise ValueError(f"no pair was graded by all of {some(judges)}: do their qids and docnos match?")
    return pool, columns


def with_beliefs(
    pool: pd.DataFrame,
    judges: Mapping[str, pd.DataFrame],
    max_grade: int,
    past: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Give the pairs of a pool ``grade_0 … grade_G``, by which an audit chooses what to label.

    Args:
        pool: As `judged_pool` returns it.
        judges: Name of a judge → labels or votes.
        max_grade: G, the highest grade.
        past: ``qid, docno, label``, human labels for pairs that the judges graded too, from which the judges'
            errors are learned; without them every judge is taken to be near the truth, as `JudgeGrades` says.

    Raises:
        ValueError: If a label is above the highest grade, or no pair of the past labels was graded by a judge.
    """
    for name, highest in zip(judges, pool.drop(columns=["qid", "docno"]).max(), strict=True):
        if highest > max_grade:
            above = f"above the highest grade {max_grade}"
            raise ValueError(f"the judge {shown(name)} gives the grade {highest}, {above}")
    models = mean_of_judges(judges, max_grade)
    if past is not None:
        models.fit(past[["qid", "docno"]].assign(score=0.0), past)
    graded: pd.DataFrame = models.transform(pool.assign(score=0.0))
    return graded.drop(columns="score")
