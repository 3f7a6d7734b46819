"""What can be asked of labels, and how does every sample with labels answer it?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import level
from pt_active.frames.qrels import check_policy
from pt_active.inference import ties
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.intervals import AUTO, SIMULATED, reference_degrees
from pt_active.inference.reference import FEW, MAX_DRAWS, Replayed, Tails, replays_for, tails
from pt_active.plans.answers.basis import SAMPLED, Basis
from pt_active.plans.answers.results import Comparison, Estimate, kept_to
from pt_active.relevance.losses import PairMeasure

Measure = TypeVar("Measure", bound=irm.Measure | PairMeasure)

MIN_UNLIKE = 4
"""If all but fewer queries than this have the same value, and these are not the majority, there is no interval."""

SUFFICIENT_DEGREES = 10
"""With fewer degrees of freedom an interval has a caution."""


@dataclass(frozen=True)
class How(Generic[Measure]):
    """What is asked of labels: the measure, the estimator and the interval. It is made once per question.

    Attributes:
        measure: What is measured, of rankings or of a predictor.
        estimator: A name in the registry of the estimators for what was sampled.
        confidence: Level of the intervals; tests are at 1 minus it.
        missing: One of `qrels.MISSING_POLICIES`.
        reference: `intervals.AUTO`, `intervals.SIMULATED` or a name in `intervals.REFERENCES`; for shares also one in
            `proportions.BINOMIAL_REFERENCES`.

    Raises:
        ValueError: If the level lies outside (0, 1), or the policy is unknown. The names of the estimator and of the
            reference are checked where they are looked up.
    """

    measure: Measure
    estimator: str = ESTIMATOR
    confidence: float = 0.95
    missing: str = "error"
    reference: str = "auto"

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
        return first if self.second is None else np.asarray(ties.difference(first, values[..., self.second]))

    def size(self, values: np.ndarray) -> np.ndarray:
        """float64[...], the sum of the absolute terms of the contrast of float64[..., k]."""
        first = np.abs(values[..., self.first])
        return first if self.second is None else np.asarray(first + np.abs(values[..., self.second]))

    def weights(self, k: int) -> np.ndarray:
        """float64[k]: 1 for the first, −1 for the second."""
        return np.asarray(self.of(np.eye(k)))

    def named(self, names: tuple[str, ...]) -> str:
        """The system, or the two with a minus between them."""
        first = names[self.first]
        return first if self.second is None else f"{first} − {names[self.second]}"


@dataclass(frozen=True)
class Measured:
    """The estimate of a contrast and its error, before an interval is computed; both are 0 where they are rounding.

    Attributes:
        value: The estimate.
        standard_error: Its standard error.
        degrees: The estimator's own degrees of freedom.
        basis: What the estimate rests on.
        certain: Whether nothing was left to chance, so that there is no sampling error.
        scale: The sum of the absolute terms of the estimate, or somewhat more.
        unusable: Whether there is no interval whatever the error, for example because the estimate is undefined.
        bounds: Bounds of the values, and so of their mean, if the interval respects them; None if it does not.
        replayed: Function from a number of replays to what they show; None if the sample cannot be replayed.
        unlike: Of sampled queries, how many have another value than the most common one; None for other units.
    """

    value: float
    standard_error: float
    degrees: float
    basis: Basis
    certain: bool
    scale: float
    unusable: bool = False
    bounds: tuple[float, float] | None = None
    replayed: Callable[[int], Replayed] | None = None
    unlike: int | None = None

    def __post_init__(self) -> None:
        """Make what is rounding 0."""
        for name in ("value", "standard_error"):
            object.__setattr__(self, name, float(ties.settled(getattr(self, name), self.scale)))

    @property
    def still(self) -> bool:
        """Whether the model explains all variation in the sample, so that the error cannot be estimated."""
        return self.standard_error == 0


def inferred(measured: Measured, how: How[Any]) -> dict[str, Any]:
    """The fields that `Estimate` and `Comparison` have in common."""
    basis, simulates = measured.basis, how.reference in (AUTO, SIMULATED)
    named = "effective" if simulates else how.reference
    degrees = float(reference_degrees(named, np.array(measured.degrees), basis.n_draws))
    degenerate = measured.unusable or (bool(basis.missing) if measured.certain else measured.still)
    sound = not (degenerate or measured.certain) and degrees > 0 and np.isfinite(measured.standard_error)
    replays = _replayed(measured, how) if sound else None
    ends = None if replays is None else tails(replays, degrees, how.confidence)
    refusal = _refusal(measured, ends) if sound else ""
    caution = refusal or (_caution(measured, replays) if sound else "")
    return {
        "basis": replace(basis, interval_caution=caution),
        "standard_error": 0.0 if measured.certain else measured.standard_error,
        "degrees_of_freedom": np.inf if measured.certain else degrees,
        "confidence_level": how.confidence,
        "degenerate": degenerate or bool(refusal),
        "reference": named if ends is None else SIMULATED,
        "tails": ends,
        "replayable": not sound or how.reference != AUTO or measured.replayed is not None,
    }


def _replayed(measured: Measured, how: How[Any]) -> Replayed | None:
    """Replays of the sample; None if t is used alone."""
    if measured.replayed is None and how.reference == SIMULATED:
        raise ValueError(
            "this sample cannot be replayed, so there is no simulated reference: it needs a grade model and a measure "
            'that is quick to compute; take reference="auto"'
        )
    if measured.replayed is None or how.reference not in (AUTO, SIMULATED):
        return None
    if how.reference == AUTO and measured.basis.n_effective >= MAX_DRAWS:
        return None
    return measured.replayed(replays_for(how.confidence))


def _refusal(measured: Measured, ends: Tails | None) -> str:
    """Why there is no interval although something varies in the sample; empty if there is one."""
    n, unlike, units = measured.basis.n_queries, measured.unlike, SAMPLED[measured.basis.level]
    if unlike is not None and unlike < MIN_UNLIKE and 2 * unlike < n:
        return (
            f"all but {unlike} of the {n} sampled queries have the same value, so the sample cannot tell how much "
            "rests on a few others that were not drawn: no interval, no test"
        )
    if ends is not None and not ends.bounded:
        relies = measured.basis.level == "pair" and measured.basis.estimator not in ("snis", "stratified")
        other = '; estimator="snis" relies on the model less and may have one' if relies else ""
        return (
            f"under the grade model, {units} that such a sample mostly misses carry nearly all of the error, so the "
            f"sample cannot tell how far off the estimate is: no interval, no test{other}"
        )
    return ""


def _caution(measured: Measured, replays: Replayed | None) -> str:
    """What limits the trust in an interval; empty if nothing does."""
    own, units = measured.degrees, SAMPLED[measured.basis.level]
    misses = "so the interval may miss more often than its level says"
    if replays is not None and replays.degrees < FEW * own and replays.degrees < SUFFICIENT_DEGREES:
        return (
            f"few {units} carry the error: replays under the grade model show {replays.degrees:.1f} of its {own:.0f} "
            f"degrees of freedom, {misses}"
        )
    if own < SUFFICIENT_DEGREES:
        return f"the error is estimated from few {units}, with {own:.1f} degrees of freedom, {misses}"
    return ""


@dataclass(frozen=True)
class Judged(ABC):
    """A sample with its labels. Subclasses estimate a contrast from their kind of sample.

    Attributes:
        names: The k rankers or predictors.
        basis: What every estimate rests on, without the name of the estimator.
        judges: Adds the error of the judges to the fields of a result; None if it is not known.
    """

    names: tuple[str, ...]
    basis: Basis
    judges: Callable[[Judged, Contrast, dict[str, Any]], dict[str, Any]] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )

    @abstractmethod
    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """Estimate a contrast and its error."""

    def error_of(self, contrast: Contrast, how: How[Any]) -> tuple[float, float]:
        """The estimate of a contrast and its standard error, with the error of the judges if it is known."""
        measured = self.measured(contrast, how)
        fields = self.with_judges(contrast, inferred(measured, replace(how, reference="effective")))
        return measured.value, float(fields["standard_error"])

    def with_judges(self, contrast: Contrast, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of `inferred` with the error of the judges, if it is known."""
        return fields if self.judges is None else self.judges(self, contrast, fields)

    @property
    def lower_is_better(self) -> bool:
        """Whether the system with the smaller value wins, as for errors."""
        return False

    def estimate(self, system: int, how: How[Any]) -> Estimate:
        """Estimate one system [theory 5]."""
        measured = self.measured(Contrast(system), how)
        fields = self.with_judges(Contrast(system), inferred(measured, how))
        if measured.bounds is not None:
            fields = kept_to(measured.bounds, fields)
        return Estimate(name=self.names[system], value=measured.value, **fields)

    def compare(self, first: int, second: int, how: How[Any]) -> Comparison:
        """Estimate and test the difference of two systems, first minus second [theory 5]."""
        measured = self.measured(Contrast(first, second), how)
        fields = self.with_judges(Contrast(first, second), inferred(measured, how))
        fields |= {"lower_is_better": self.lower_is_better}
        return Comparison.tested(self.names[first], self.names[second], measured.value, fields)

    def result(self, contrast: Contrast, how: How[Any]) -> Estimate | Comparison:
        """`estimate` of one system, `compare` of two."""
        if contrast.second is None:
            return self.estimate(contrast.first, how)
        return self.compare(contrast.first, contrast.second, how)
