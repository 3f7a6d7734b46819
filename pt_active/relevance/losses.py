"""Losses of predicted grades, and the generalised risks that are their means [theory 6].

For a prediction f and a label y, a loss gives a numerator ``u = w ℓ`` and a weight ``w``. Its risk over the pool is
``G = Σ p E[u] / Σ p E[w]`` [T 3.31]. The `decision` of a loss turns a distribution over grades into a prediction. A
new loss is a class with `terms` and `decision` and an entry in `LOSSES`; audits and active tests then accept it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pt_active.frames.checks import whole_number, within
from pt_active.relevance.digits import product, rounded

Terms = tuple[np.ndarray, np.ndarray]  # The numerator ``u = w ℓ`` and the weight ``w``, two float64[...] of one shape

MIN_PROBABILITY = 1e-15  # The smallest probability in the cross-entropy, which would be infinite at 0


@dataclass(frozen=True, kw_only=True)
class PairMeasure:
    """A measure of a predictor on query–document pairs.

    Args:
        slice: The name of a boolean column; only pairs where it is true count. None counts all pairs.
    """

    slice: str | None = None
    called: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The name under which the measure is printed; by default that of its class."""
        return self.called or type(self).__name__

    def grades_allowed(self, max_grade: int) -> int:
        """The highest grade that a prediction may have if labels go up to ``max_grade``.

        Raises:
            ValueError: If the measure is not defined for these labels.
        """
        return max_grade

    @property
    def _shown(self) -> tuple[str, ...]:
        """The arguments that are printed where they are not the usual ones."""
        return "rel", "slice"

    def __str__(self) -> str:
        usual = {each.name: each.default for each in fields(self)}
        given = {name: getattr(self, name) for name in self._shown if name in usual}
        said = [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
        return f"{self.name}({', '.join(said)})" if said else self.name


@dataclass(frozen=True, kw_only=True)
class Loss(PairMeasure, ABC):
    """A measure that is a mean of losses over the pairs of its slice; outside the slice ``u = w = 0``.

    Attributes:
        proportion: Whether the risk lies in [0, 1].
        lower_is_better: Whether a smaller risk is better.
        needs_grades: Whether a prediction must be one of the grades; otherwise it may be any number.
        needs_distribution: Whether a prediction is a distribution over the grades.
        drawn_by_mean: Whether active tests draw pairs in proportion to the expected loss, as in the loss's source;
            otherwise in proportion to the root of the expected squared deviation from the risk.
    """

    proportion: ClassVar[bool] = True
    lower_is_better: ClassVar[bool] = True
    needs_grades: ClassVar[bool] = True
    needs_distribution: ClassVar[bool] = False
    drawn_by_mean: ClassVar[bool] = False

    @abstractmethod
    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of predictions and labels.

        Args:
            prediction: float64[...], f; float64[..., G+1] if predictions are distributions.
            label: float64[...], y, broadcast against the predictions.

        Returns:
            u and w, float64[...] each, not negative.
        """

    def decision(self, grades: np.ndarray) -> np.ndarray:
        """The predictions of a predictor that gives each grade a probability: by default the most probable grade.

        Args:
            grades: float64[N, G+1], ``P(y = g)``.

        Returns:
            float64[N], f, the lowest one of ties; float64[N, G+1] if predictions are distributions.
        """
        return grades.argmax(axis=1).astype(np.float64)


@dataclass(frozen=True)
class ZeroOne(Loss):
    """The proportion of wrong predictions: ``ℓ = 1[f ≠ y]``, ``w = 1`` [ARE 12]."""

    called: ClassVar[str] = "Error"

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of each prediction and label, float64[...] each."""
        return _weighted(prediction != label)


@dataclass(frozen=True)
class Accuracy(Loss):
    """The proportion of correct predictions: ``ℓ = 1[f = y]``, ``w = 1``."""

    lower_is_better: ClassVar[bool] = False

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of each prediction and label, float64[...] each."""
        return _weighted(prediction == label)


@dataclass(frozen=True)
class Squared(Loss):
    """The mean squared error ``ℓ = (f − y)²``, ``w = 1``; for probabilities of relevance the Brier score."""

    called: ClassVar[str] = "SquaredError"
    proportion: ClassVar[bool] = False
    needs_grades: ClassVar[bool] = False

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of each prediction and label, float64[...] each."""
        return _weighted((prediction - label) ** 2)

    def decision(self, grades: np.ndarray) -> np.ndarray:
        """float64[N], the mean grade."""
        return product(grades, np.arange(grades.shape[1], dtype=np.float64))


@dataclass(frozen=True)
class GaussianSquared(Squared):
    """The mean squared error for real-valued labels, where each prediction has a Gaussian variance τ² [ARE 13].

    The variance of a prediction column ``f`` is in the column ``f_variance``. Grade columns are not needed: the label
    model is the equal mixture of the k predictors' normal distributions [AC Deriv. 5].
    """

    def decision(self, grades: np.ndarray) -> np.ndarray:
        """A ValueError, since real-valued labels have no grades."""
        raise ValueError("GaussianSquared is for real labels without grades; the squared error of grades is Squared()")


@dataclass(frozen=True)
class CostMatrix(Loss):
    """The mean cost ``ℓ = matrix[f][y]``, ``w = 1``.

    Args:
        matrix: A row for each predicted grade and a column for each true grade; costs must not be negative.

    Raises:
        ValueError: If the matrix is not such a table, or a cost is negative or not finite.
    """

    called: ClassVar[str] = "Cost"
    matrix: tuple[tuple[float, ...], ...] | Sequence[Sequence[float]] = ()
    proportion: ClassVar[bool] = False

    def __post_init__(self) -> None:
        try:
            table = np.asarray(self.matrix, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.empty(0)
        if table.ndim != 2 or min(table.shape) < 2 or not (np.isfinite(table) & (table >= 0)).all():
            raise ValueError(
                "matrix must have two or more rows of one length, with two or more costs each, "
                f"finite and not negative; got {self.matrix!r}"
            )
        object.__setattr__(self, "matrix", tuple(map(tuple, table.tolist())))

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of each prediction and label, float64[...] each."""
        return _weighted(np.asarray(self.matrix)[prediction.astype(np.int64), label.astype(np.int64)])

    def decision(self, grades: np.ndarray) -> np.ndarray:
        """float64[N], the grade with the least expected cost; the lowest one of ties."""
        return rounded(product(grades, np.asarray(self.matrix).T)).argmin(axis=1).astype(np.float64)

    def grades_allowed(self, max_grade: int) -> int:
        """The grade of the last row; a ValueError if the number of columns is not that of the grades."""
        rows, columns = np.shape(self.matrix)
        if columns != max_grade + 1:
            raise ValueError(
                f"the cost matrix has {columns} columns, but the labels have {max_grade + 1} grades, 0 … {max_grade}"
            )
        return int(rows) - 1


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """The mean ``ℓ = −log f(y)``, ``w = 1``, for a predictor that gives each grade a probability f [AI]."""

    proportion: ClassVar[bool] = False
    needs_grades: ClassVar[bool] = False
    needs_distribution: ClassVar[bool] = True
    drawn_by_mean: ClassVar[bool] = True

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of each prediction and label, float64[...] each.

        Probabilities below `MIN_PROBABILITY` are replaced by it.
        """
        chance = (prediction * np.eye(prediction.shape[-1])[label.astype(np.int64)]).sum(axis=-1)
        return _weighted(-np.log(np.maximum(chance, MIN_PROBABILITY)))

    def decision(self, grades: np.ndarray) -> np.ndarray:
        """float64[N, G+1], the distributions themselves."""
        return grades


@dataclass(frozen=True)
class FMeasure(Loss):
    """``F_η``: precision at η = 1, recall at η = 0, F1 at η = ½ [T 4.18–4.20].

    Let ``f`` and ``y`` be 1 from grade ``rel`` upwards and 0 below. Then ``w = η f + (1 − η) y`` and ``ℓ = 1[f = y]``,
    so that ``Σ w ℓ`` is the number of true positives and ``Σ w`` is ``η (TP + FP) + (1 − η)(TP + FN)``.

    Args:
        eta: η in [0, 1].
        rel: The lowest grade that counts as relevant, at least 1.

    Raises:
        ValueError: If ``eta`` or ``rel`` is out of range.
    """

    eta: float = 0.5
    rel: int = 1
    lower_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        within("eta", self.eta, 0, 1)
        check_rel(self.rel)

    @property
    def name(self) -> str:
        """``Precision``, ``Recall`` or ``F1`` at η = 1, 0 or ½, else ``F``."""
        return {1.0: "Precision", 0.0: "Recall", 0.5: "F1"}.get(float(self.eta), "F")

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> Terms:
        """``u`` and ``w`` of each prediction and label, float64[...] each."""
        positive, relevant = prediction >= self.rel, label >= self.rel
        weight = self.eta * positive + (1 - self.eta) * relevant
        return weight * (positive == relevant), weight

    def decision(self, grades: np.ndarray) -> np.ndarray:
        """float64[N], ``rel`` where ``P(y ≥ rel) ≥ ½``, else 0."""
        return np.where(relevance(grades, self.rel) >= 0.5, float(self.rel), 0.0)

    def grades_allowed(self, max_grade: int) -> int:
        """The highest grade of the labels; a ValueError if ``rel`` is above it, so that none counts as relevant."""
        check_rel(self.rel, max_grade)
        return max_grade

    @property
    def _shown(self) -> tuple[str, ...]:
        return ("eta", *super()._shown) if self.name == "F" else super()._shown


Precision = partial(FMeasure, 1.0)
"""``FMeasure(1)``: the proportion of relevant pairs among those predicted to be relevant."""

Recall = partial(FMeasure, 0.0)
"""``FMeasure(0)``: the proportion of the relevant pairs that are predicted to be relevant."""

F1 = partial(FMeasure, 0.5)  # ``FMeasure(½)``: the harmonic mean of precision and recall

LOSSES: dict[str, type[Loss]] = {
    loss.__name__: loss for loss in (ZeroOne, Accuracy, Squared, GaussianSquared, CostMatrix, CrossEntropy, FMeasure)
}
"""The losses by the names of their classes, which saved audits and tests hold."""


def relevance(grades: np.ndarray, rel: int) -> np.ndarray:
    """``P(y ≥ rel)``, float64[N]."""
    return np.asarray(grades[:, int(rel) :].sum(axis=1))


def check_rel(rel: int, max_grade: int | None = None) -> None:
    """Raise if ``rel`` cannot be the lowest relevant grade."""
    whole_number("rel", rel, 1)
    if max_grade is not None and rel > max_grade:
        raise ValueError(f"rel={rel} is above the highest grade, {max_grade}: nothing could be relevant")


def label_table(loss: Loss, prediction: np.ndarray, grades: int, member: np.ndarray) -> Terms:
    """``u`` and ``w`` of a predictor for every label that a pair may have, float64[N, G+1] each."""
    u, w = loss.terms(prediction[:, None], np.arange(grades, dtype=np.float64)[None, :])
    return u * member[:, None], w * member[:, None]


def described(loss: Loss) -> dict[str, Any]:
    """A loss as plain values for JSON: the name of its class, and its arguments."""
    if LOSSES.get(type(loss).__name__) is not type(loss):
        raise ValueError(f"unknown loss {loss!r}; it is an object of {', '.join(LOSSES)}, such as ZeroOne()")
    return {"loss": type(loss).__name__} | asdict(loss)


def from_description(description: Mapping[str, Any]) -> Loss:
    """The loss with a description: the name of its class under ``loss``, and its arguments."""
    arguments = dict(description)
    return LOSSES[arguments.pop("loss")](**arguments)


def _weighted(loss: np.ndarray) -> Terms:
    """The terms of a loss in which each pair has the weight 1."""
    return loss.astype(np.float64), np.ones(loss.shape)
