"""Units that were drawn, with their labels: what every estimate and every interval is computed from [theory 5]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import level
from pt_active.inference import ties
from pt_active.inference.agreement import judges_variance
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.intervals import SIMULATED
from pt_active.inference.new_queries import NEW, THESE, ByQuery, check_population
from pt_active.inference.reference import FEW, MAX_DRAWS, Replayed, Tails, replays_for, tails
from pt_active.plans.answers.basis import SAMPLED, SUFFICIENT_DEGREES, Basis, clustered, for_new_queries, meant
from pt_active.plans.answers.results import Comparison, Estimate, kept_to
from pt_active.plans.making.kept import PlanTables

REPLAY_SEED = 0
"""The seed of simulated labels and draws, so that the same labels have the same interval."""

MIN_UNLIKE = 4
"""If all but fewer queries than this have the same value, and these are not the majority, there is no interval."""

MAX_STRANGERS = 0.05
"""Above this share of a later ranker's documents outside the plan's pool, there is no interval."""


@dataclass(frozen=True)
class Settings:
    """By which estimator labels are read, and what interval is wanted: its level, and the queries that it holds for.

    ``replays`` says whether replays of the sample may widen it where there are few draws [theory 5], ``queries`` for
    which queries it holds [theory 16], and ``clusters`` names a column of those that belong together.
    """

    estimator: str = ESTIMATOR
    confidence: float = 0.95
    replays: bool = True
    queries: str = THESE
    clusters: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", level("confidence", self.confidence))
        check_population(self.queries)


@dataclass(frozen=True)
class Contrast:
    """What is estimated: one system by its index, or the first system minus the second."""

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


def contrasts_of(k: int) -> list[Contrast]:
    """The only system, or the difference of each pair of k."""
    return [Contrast(0)] if k == 1 else [Contrast(*pair) for pair in combinations(range(k), 2)]


@dataclass(frozen=True)
class Measured:
    """The estimate of a contrast and its error, before an interval is computed; both are 0 where they are rounding."""

    value: float
    standard_error: float
    degrees: float  # The estimator's own degrees of freedom
    basis: Basis
    certain: bool  # Nothing was left to chance, so that there is no sampling error
    scale: float  # The sum of the absolute terms of the estimate, or somewhat more
    unusable: bool = False  # There is no interval whatever the error, for example because the estimate is undefined
    bounds: tuple[float, float] | None = None  # Of the values, and so of their mean, if the interval respects them
    replayed: Callable[[int], Replayed] | None = None  # From a number of replays to what they show, if there are any
    unlike: int | None = None  # How many sampled queries have another value than the most common one
    by_query: ByQuery | None = None  # The estimate as a mean of estimates of each query; None of pairs

    def __post_init__(self) -> None:
        for name in ("value", "standard_error"):
            object.__setattr__(self, name, float(ties.settled(getattr(self, name), self.scale)))


def inferred(measured: Measured, settings: Settings) -> dict[str, Any]:
    """The fields that `Estimate` and `Comparison` have in common."""
    basis, degrees = measured.basis, float(measured.degrees)
    # An error of 0 in a sample: the model explains all variation, so that the error cannot be estimated.
    still = bool(basis.missing) if measured.certain else measured.standard_error == 0
    degenerate = measured.unusable or still
    sound = not (degenerate or measured.certain) and degrees > 0 and np.isfinite(measured.standard_error)
    replays = _replayed(measured, settings) if sound else None
    ends = None if replays is None else tails(replays, degrees, settings.confidence)
    refusal = _refusal(measured, ends) if sound else ""
    caution = refusal or (_caution(measured, replays) if sound else "")
    return {
        "basis": replace(basis, interval_caution=caution),
        "standard_error": 0.0 if measured.certain else measured.standard_error,
        "degrees_of_freedom": np.inf if measured.certain else degrees,
        "confidence_level": settings.confidence,
        "degenerate": degenerate or bool(refusal),
        "reference": "effective" if ends is None else SIMULATED,
        "tails": ends,
        "replayable": not (sound and settings.replays) or measured.replayed is not None,
    }


def _replayed(measured: Measured, settings: Settings) -> Replayed | None:
    """Replays of the sample; None if t is used alone."""
    if measured.replayed is None or not settings.replays or measured.basis.n_effective >= MAX_DRAWS:
        return None
    return measured.replayed(replays_for(settings.confidence))


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
    misses = "so the interval may miss more often than its level allows"
    if replays is not None and replays.degrees < FEW * own and replays.degrees < SUFFICIENT_DEGREES:
        return (
            f"few {units} carry the error: replays under the grade model show {replays.degrees:.1f} of its {own:.0f} "
            f"degrees of freedom, {misses}"
        )
    if own < SUFFICIENT_DEGREES:
        return f"the error is estimated from few {units}, with {own:.1f} degrees of freedom, {misses}"
    return ""


@dataclass(frozen=True)
class Labelled(ABC):
    """Units that were drawn, with their labels. Subclasses estimate a contrast from their kind of unit.

    ``basis`` lacks the name of the estimator. ``topics`` has a row for each of the m queries; None if queries are not
    what is sampled from. ``strangers`` are the shares of later rankers' documents that are not in the pool, and
    ``unasked``, if there are later ones, those of all rankers' that nobody is asked about.
    """

    names: tuple[str, ...]
    basis: Basis
    topics: pd.DataFrame | None = field(default=None, kw_only=True, repr=False, compare=False)
    strangers: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    unasked: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @abstractmethod
    def measured(self, contrast: Contrast, settings: Settings) -> Measured:
        """Estimate a contrast and its error."""

    def beyond(self, contrast: Contrast) -> str:
        """Why nothing can be said of a contrast: nobody judges too many documents of a ranker; empty if not so."""
        systems = contrast.first, contrast.first if contrast.second is None else contrast.second
        name = max((self.names[s] for s in systems), key=lambda name: self.strangers.get(name, 0.0))
        if not (share := self.strangers.get(name, 0.0)) > MAX_STRANGERS:
            return ""
        return (
            f"{share:.0%} of the documents of {name} that the measure sees are not in the plan's pool and count as not "
            "relevant, so there is no interval and no test"
        )

    def for_these(self, contrast: Contrast, measured: Measured, settings: Settings) -> dict[str, Any]:
        """The fields of an answer for the queries that were sampled from."""
        return inferred(measured, settings)

    def answers(self, contrast: Contrast, measured: Measured, settings: Settings) -> tuple[dict[str, Any], ...]:
        """The fields of an answer for the queries that were asked for, and for the others if these are known."""
        if beyond := self.beyond(contrast):
            caution = "; ".join(filter(None, (beyond, measured.basis.caution)))
            basis = replace(measured.basis, census=False, caution=caution)
            measured = replace(measured, certain=False, unusable=True, basis=basis)
        these = self.for_these(contrast, measured, settings)
        if measured.by_query is None:
            return (these,)
        assert self.topics is not None
        by_query = clustered(measured.by_query, self.topics, settings.clusters)
        own, new = meant(by_query, self.topics, settings.clusters)
        both = {
            THESE: these | {"population": own},
            NEW: for_new_queries(these, by_query, measured.scale) | {"population": new},
        }
        return tuple(both[name] for name in ((NEW, THESE) if settings.queries == NEW else (THESE, NEW)))

    @property
    def lower_is_better(self) -> bool:
        """Whether the system with the smaller value wins, as for errors."""
        return False

    def estimate(self, system: int, settings: Settings) -> Estimate:
        """Estimate one system [theory 5]."""
        measured = self.measured(Contrast(system), settings)
        answers = self.answers(Contrast(system), measured, settings)
        if measured.bounds is not None:
            answers = tuple(kept_to(measured.bounds, fields) for fields in answers)
        found = [Estimate(name=self.names[system], value=measured.value, **fields) for fields in answers]
        return replace(found[0], beside=next(iter(found[1:]), None))

    def compare(self, first: int, second: int, settings: Settings) -> Comparison:
        """Estimate and test the difference of two systems, first minus second [theory 5]."""
        measured, names = self.measured(Contrast(first, second), settings), (self.names[first], self.names[second])
        answers = self.answers(Contrast(first, second), measured, settings)
        lower = {"lower_is_better": self.lower_is_better}
        found = [Comparison.tested(*names, measured.value, fields | lower) for fields in answers]
        return replace(found[0], beside=next(iter(found[1:]), None))

    def result(self, contrast: Contrast, settings: Settings) -> Estimate | Comparison:
        """`estimate` of one system, `compare` of two."""
        if contrast.second is None:
            return self.estimate(contrast.first, settings)
        return self.compare(contrast.first, contrast.second, settings)


class Parts(NamedTuple):
    """An estimate taken apart: its value if all labels were as expected, and what queries and documents add to it."""

    base: float
    rows: np.ndarray  # int64[s], the queries
    columns: dict[str, np.ndarray]  # Values of each of them
    label: np.ndarray  # int64[N], the labels that count
    effect: np.ndarray  # float64[N], what the label of each document adds
    weight: np.ndarray  # float64[N], how much it weighs
    use: np.ndarray  # bool[N], which count


class Judges(NamedTuple):
    """Who judged the documents of a plan [theory 12]."""

    number: np.ndarray  # int64[N], the judges of each document; 1 where an adjudicator settled it
    opinion: np.ndarray  # float64[N, G+1], what another judge would say of it; 0 without a label
    twice: int  # How many documents have two judges or more


@dataclass(frozen=True)
class LabelledPlan(Labelled):
    """What a plan drew, with its labels, for one measure; subclasses know queries and documents."""

    tables: PlanTables = field(repr=False, compare=False)
    measure: irm.Measure
    label: np.ndarray  # int64[N], as they were given; -1 where there is none
    chance: np.ndarray  # float64[N], the probability that each drawn document is asked for; 0 for all others
    records: pd.DataFrame | None = field(default=None, kw_only=True, repr=False, compare=False)
    judges: Judges | None = field(default=None, kw_only=True, repr=False, compare=False)  # by the records, if any

    def for_these(self, contrast: Contrast, measured: Measured, settings: Settings) -> dict[str, Any]:
        """The fields of an answer for the plan's queries; the error of the judges is added if they are known."""
        fields = super().for_these(contrast, measured, settings)
        if self.judges is None:
            return fields
        number, opinion, twice = self.judges
        rows = np.flatnonzero(self.label >= 0)
        basis = replace(fields["basis"], judged_twice=float(twice) / max(len(rows), 1))
        if not twice:
            return fields | {"basis": basis}
        others = opinion > 0
        others[rows, self.label[rows]] = False
        change = self.changes(contrast.weights(len(self.names)), settings.estimator, others)
        variance = judges_variance(change[rows], self.chance[rows], opinion[rows], number[rows])
        before, degrees = fields["standard_error"], fields["degrees_of_freedom"]
        both = before**2 + variance
        if variance > 0 and degrees > 0:
            # Satterthwaite: the error of judges is known from the documents with two labels alone.
            degrees = both**2 / (before**4 / degrees + variance**2 / twice)
        basis = replace(basis, error_of_judges=float(np.sqrt(variance)))
        return fields | {"basis": basis, "standard_error": float(np.sqrt(both)), "degrees_of_freedom": degrees}

    @abstractmethod
    def within(self, rows: np.ndarray, share: float) -> LabelledPlan | None:
        """The same within a group of queries that was known before drawing, or None if it has no label there.

        Shapes: rows int64[r].
        """

    @abstractmethod
    def parts(self, contrast: np.ndarray, estimator: str) -> Parts:
        """An estimate of a contrast, float64[k], taken apart."""

    @abstractmethod
    def changes(self, contrast: np.ndarray, estimator: str, others: np.ndarray) -> np.ndarray:
        """float64[N, G+1], how far an estimate of a contrast would move if each label were another grade.

        It is known of the ``others``, bool[N, G+1], that are asked for; 0 for documents without a label.
        """
