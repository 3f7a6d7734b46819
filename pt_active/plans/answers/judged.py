"""What is asked of labels, and what every judged sample can answer."""

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
    """How labels become a number, made once for each question of a user.

    Attributes:
        measure: What is measured, of rankings or of a predictor.
        estimator: A name in the registry of the estimators for what was sampled.
        confidence: Level of the intervals; tests are at 1 minus it.
        missing: One of `qrels.MISSING_POLICIES`.
        reference: A name in `intervals.REFERENCES`; of shares also one in `proportions.BINOMIAL_REFERENCES`.

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
    """One system, or the first minus the second.

    Attributes:
        first: Its place among the names.
        second: The place of the other one; None where one system is looked at.
    """

    first: int
    second: int | None = None

    def of(self, values: np.ndarray) -> np.ndarray:
        """float64[...], of the values float64[..., k] of all systems."""
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
    """What a sample says of a contrast, before an interval is read off.

    Attributes:
        value: The estimate.
        standard_error: Of the estimate.
        degrees: The estimator's own degrees of freedom.
        basis: What the estimate rests on.
        certain: Whether nothing was left to chance, so that there is no sampling error.
        still: Whether nothing varies in the sample that the model does not explain, so that it tells no error.
        unusable: Whether there is no interval whatever the error, such as where the estimate is undefined.
        bounds: Of the values, and so of their mean, where the interval keeps to them; None where it does not.
    """

    value: float
    standard_error: float
    degrees: float
    basis: Basis
    certain: bool
    still: bool
    unusable: bool = False
    bounds: tuple[float, float] | None = None


def inferred(found: Measured, how: How[Any]) -> dict[str, Any]:
    """The fields that `Estimate` and `Comparison` have in common.

    Args:
        found: What the sample says.
        how: What is asked.

    Raises:
        ValueError: If the reference is unknown.
    """
    degrees = reference_degrees(how.reference, np.array(found.degrees), found.basis.n_draws)
    return {
        "basis": found.basis,
        "standard_error": 0.0 if found.certain or found.still else found.standard_error,
        "degrees_of_freedom": np.inf if found.certain else float(degrees),
        "confidence_level": how.confidence,
        "degenerate": found.unusable or (bool(found.basis.missing) if found.certain else found.still),
    }


@dataclass(frozen=True)
class Judged(ABC):
    """Labels beside the sample that they belong to. A kind of sample says what it measures of a contrast.

    Attributes:
        names: The k rankers or predictors.
        basis: What every inference rests on, but for the estimator.
    """

    names: tuple[str, ...]
    basis: Basis

    @abstractmethod
    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """The estimate of a contrast, its error, and what it rests on.

        Args:
            contrast: One system, or the difference of two.
            how: What is asked; the measure and the policy for missing labels are those of the sample.

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
            system: Its place in ``names``.
            how: What is asked.

        Raises:
            ValueError: As `measured` does, or if the reference is unknown.
        """
        found = self.measured(Contrast(system), how)
        fields = inferred(found, how)
        if found.bounds is not None:
            fields = kept_to(found.bounds, fields)
        return Estimate(name=self.names[system], value=found.value, **fields)

    def compare(self, first: int, second: int, how: How[Any]) -> Comparison:
        """Estimate and test the difference of two systems, first minus second [theory 5].

        Args:
            first: The place in ``names`` of the one that is compared.
            second: The place of the one that it is compared with.
            how: What is asked.

        Raises:
            ValueError: As `measured` does, or if the reference is unknown.
        """
        found = self.measured(Contrast(first, second), how)
        fields = inferred(found, how) | {"lower_is_better": self.lower_is_better}
        return Comparison.tested(self.names[first], self.names[second], found.value, fields)
