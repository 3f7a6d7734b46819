"""What can be asked of labels, and how does every sample with labels answer it?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import level
from pt_active.frames.qrels import check_policy
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.intervals import reference_degrees
from pt_active.plans.answers.results import Basis, Comparison, Estimate, kept_to
from pt_active.relevance.losses import PairMeasure

Measure = TypeVar("Measure", bound=irm.Measure | PairMeasure)


@dataclass(frozen=True)
class How(Generic[Measure]):
    """What is asked of labels: the measure, the estimator and the interval. It is made once per question.

    Attributes:
        measure: What is measured, of rankings or of a predictor.
        estimator: A name in the registry of the estimators for what was sampled.
        confidence: Level of the intervals; tests are at 1 minus it.
        missing: One of `qrels.MISSING_POLICIES`.
        reference: A name in `intervals.REFERENCES`; for shares also one in `proportions.BINOMIAL_REFERENCES`.

    Raises:
        ValueError: If the level lies outside (0, 1), or the policy is unknown. The names of the estimator and of the
            reference are checked where they are looked up.
    """

    measure: Measure
    estimator: str = ESTIMATOR
    confidence: float = 0.95
    missing: str = "error"
    reference: str = "effective"

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", level("confidence", self.confidence))
        check_policy(self.missing)


@dataclass(frozen=True)
class Contrast:
    """What is estimated: one system, or the first system minus the second.

    Attributes:
        first: Index of the first system.
        second: Index of the second system; None if only one is estimated.
    """

    first: int
    second: int | None = None

    def of(self, values: np.ndarray) -> np.ndarray:
        """float64[...], the contrast of float64[..., k], values of all systems."""
        first = values[..., self.first]
        return first if self.second is None else np.asarray(first - values[..., self.second])

    def weights(self, k: int) -> np.ndarray:
        """float64[k]: 1 for the first, −1 for the second."""
        return np.asarray(self.of(np.eye(k)))

    def named(self, names: tuple[str, ...]) -> str:
        """The system, or the two with a minus between them."""
        first = names[self.first]
        return first if self.second is None else f"{first} − {names[self.second]}"


class Measured(NamedTuple):
    """The estimate of a contrast and its error, before an interval is computed.

    Attributes:
        value: The estimate.
        standard_error: Its standard error.
        degrees: The estimator's own degrees of freedom.
        basis: What the estimate rests on.
        certain: Whether nothing was left to chance, so that there is no sampling error.
        still: Whether the model explains all variation in the sample, so that the error cannot be estimated.
        unusable: Whether there is no interval whatever the error, for example because the estimate is undefined.
        bounds: Bounds of the values, and so of their mean, if the interval respects them; None if it does not.
    """

    value: float
    standard_error: float
    degrees: float
    basis: Basis
    certain: bool
    still: bool
    unusable: bool = False
    bounds: tuple[float, float] | None = None


def inferred(measured: Measured, how: How[Any]) -> dict[str, Any]:
    """The fields that `Estimate` and `Comparison` have in common.

    Args:
        measured: The estimate and its error.
        how: The level of the interval and its reference.

    Raises:
        ValueError: If the reference is unknown.
    """
    basis = measured.basis
    degrees = reference_degrees(how.reference, np.array(measured.degrees), basis.n_draws)
    return {
        "basis": basis,
        "standard_error": 0.0 if measured.certain or measured.still else measured.standard_error,
        "degrees_of_freedom": np.inf if measured.certain else float(degrees),
        "confidence_level": how.confidence,
        "degenerate": measured.unusable or (bool(basis.missing) if measured.certain else measured.still),
    }


@dataclass(frozen=True)
class Judged(ABC):
    """A sample with its labels. Subclasses estimate a contrast from their kind of sample.

    Attributes:
        names: The k rankers or predictors.
        basis: What every estimate rests on, without the name of the estimator.
    """

    names: tuple[str, ...]
    basis: Basis

    @abstractmethod
    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """Estimate a contrast and its error.

        Args:
            contrast: One system, or the difference of two.
            how: The estimator; measure and policy for missing labels are those with which the sample was made.

        Raises:
            ValueError: If the estimator is unknown, or does not fit the sample.
        """

    @property
    def lower_is_better(self) -> bool:
        """Whether the system with the smaller value wins, as for errors."""
        return False

    def estimate(self, system: int, how: How[Any]) -> Estimate:
        """Estimate one system [theory 5].

        Args:
            system: Its index in ``names``.
            how: The estimator, and the level and reference of the interval.

        Raises:
            ValueError: If the estimator or the reference is unknown, or the estimator does not fit the sample.
        """
        measured = self.measured(Contrast(system), how)
        fields = inferred(measured, how)
        if measured.bounds is not None:
            fields = kept_to(measured.bounds, fields)
        return Estimate(name=self.names[system], value=measured.value, **fields)

    def compare(self, first: int, second: int, how: How[Any]) -> Comparison:
        """Estimate and test the difference of two systems, first minus second [theory 5].

        Args:
            first: Index of the first system in ``names``.
            second: Index of the second system in ``names``.
            how: The estimator, and the level and reference of the interval.

        Raises:
            ValueError: If the estimator or the reference is unknown, or the estimator does not fit the sample.
        """
        measured = self.measured(Contrast(first, second), how)
        fields = inferred(measured, how) | {"lower_is_better": self.lower_is_better}
        return Comparison.tested(self.names[first], self.names[second], measured.value, fields)
