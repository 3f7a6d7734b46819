"""What can be asked of labels, and how does every sample with labels, and every plan with them, answer it?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import level
from pt_active.frames.qrels import check_policy
from pt_active.frames.strays import Strays
from pt_active.inference import ties
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.intervals import SIMULATED
from pt_active.inference.new_queries import NEW, THESE, ByQuery, check_population
from pt_active.inference.reference import FEW, MAX_DRAWS, Replayed, Tails, replays_for, tails
from pt_active.plans.answers.basis import SAMPLED, SUFFICIENT_DEGREES, Basis, clustered, for_new_queries, meant
from pt_active.plans.answers.promises import assumptions_of
from pt_active.plans.answers.results import Comparison, Estimate, kept_to
from pt_active.plans.making.kept import PlanTables

MIN_UNLIKE = 4
"""If all but fewer queries than this have the same value, and these are not the majority, there is no interval."""

MAX_STRANGERS = 0.05
"""Above this share of a later ranker's documents outside the plan's pool, there is no interval."""


@dataclass(frozen=True)
class How:
    """What is asked of labels: the measure (of pairs a loss), the estimator, the level, the policy, and the interval.

    ``replays`` says whether replays of the sample may widen it where there are few draws [theory 5], ``queries`` for
    which queries it holds [theory 16], and ``clusters`` names a column of those that belong together.
    """

    measure: Any
    estimator: str = ESTIMATOR
    confidence: float = 0.95
    missing: str = "error"
    replays: bool = True
    queries: str = THESE
    clusters: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", level("confidence", self.confidence))
        check_policy(self.missing)
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


def inferred(measured: Measured, how: How) -> dict[str, Any]:
    """The fields that `Estimate` and `Comparison` have in common."""
    basis, degrees = measured.basis, float(measured.degrees)
    # An error of 0 in a sample: the model explains all variation, so that the error cannot be estimated.
    still = bool(basis.missing) if measured.certain else measured.standard_error == 0
    degenerate = measured.unusable or still
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
        "reference": "effective" if ends is None else SIMULATED,
        "tails": ends,
        "replayable": not (sound and how.replays) or measured.replayed is not None,
    }


def _replayed(measured: Measured, how: How) -> Replayed | None:
    """Replays of the sample; None if t is used alone."""
    if measured.replayed is None or not how.replays or measured.basis.n_effective >= MAX_DRAWS:
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
class Judged(ABC):
    """A sample with its labels. Subclasses estimate a contrast from their kind of sample.

    ``basis`` lacks the name of the estimator; ``judges`` adds the error of the judges to the fields of a result.
    ``topics`` has a row for each of the m queries; None if queries are not what is sampled from.
    ``strangers`` are the shares of later rankers' documents that are not in the pool.
    """

    names: tuple[str, ...]
    basis: Basis
    topics: pd.DataFrame | None = field(default=None, kw_only=True, repr=False, compare=False)
    judges: Callable[[Judged, Contrast, dict[str, Any]], dict[str, Any]] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )

    strangers: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @abstractmethod
    def measured(self, contrast: Contrast, how: How) -> Measured:
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

    def answers(self, contrast: Contrast, measured: Measured, how: How) -> tuple[dict[str, Any], ...]:
        """The fields of an answer for the queries that were asked for, and for the others if these are known."""
        if beyond := self.beyond(contrast):
            caution = "; ".join(filter(None, (beyond, measured.basis.caution)))
            basis = replace(measured.basis, census=False, caution=caution)
            measured = replace(measured, certain=False, unusable=True, basis=basis)
        these = inferred(measured, how)
        if self.judges is not None:
            these = self.judges(self, contrast, these)
        if measured.by_query is None:
            return (these,)
        assert self.topics is not None
        by_query = self.by_query(measured, how)
        own, new = meant(by_query, self.topics, how.clusters)
        both = {
            THESE: these | {"population": own},
            NEW: for_new_queries(these, by_query, measured.scale) | {"population": new},
        }
        return tuple(both[name] for name in ((NEW, THESE) if how.queries == NEW else (THESE, NEW)))

    def by_query(self, measured: Measured, how: How) -> ByQuery:
        """The estimate as a mean of estimates of each query, with the clusters that were asked for."""
        assert measured.by_query is not None
        assert self.topics is not None
        return clustered(measured.by_query, self.topics, how.clusters)

    @property
    def lower_is_better(self) -> bool:
        """Whether the system with the smaller value wins, as for errors."""
        return False

    def estimate(self, system: int, how: How) -> Estimate:
        """Estimate one system [theory 5]."""
        measured = self.measured(Contrast(system), how)
        answers = self.answers(Contrast(system), measured, how)
        if measured.bounds is not None:
            answers = tuple(kept_to(measured.bounds, fields) for fields in answers)
        found = [Estimate(name=self.names[system], value=measured.value, **fields) for fields in answers]
        return replace(found[0], beside=next(iter(found[1:]), None))

    def compare(self, first: int, second: int, how: How) -> Comparison:
        """Estimate and test the difference of two systems, first minus second [theory 5]."""
        measured, names = self.measured(Contrast(first, second), how), (self.names[first], self.names[second])
        answers = self.answers(Contrast(first, second), measured, how)
        lower = {"lower_is_better": self.lower_is_better}
        found = [Comparison.tested(*names, measured.value, fields | lower) for fields in answers]
        return replace(found[0], beside=next(iter(found[1:]), None))

    def result(self, contrast: Contrast, how: How) -> Estimate | Comparison:
        """`estimate` of one system, `compare` of two."""
        if contrast.second is None:
            return self.estimate(contrast.first, how)
        return self.compare(contrast.first, contrast.second, how)


class Parts(NamedTuple):
    """An estimate taken apart: its value if all labels were as expected, and what queries and documents add to it."""

    base: float
    rows: np.ndarray  # int64[s], the queries
    columns: dict[str, np.ndarray]  # Values of each of them
    label: np.ndarray  # int64[N], the labels that count
    effect: np.ndarray  # float64[N], what the label of each document adds
    weight: np.ndarray  # float64[N], how much it weighs
    use: np.ndarray  # bool[N], which count


CUT_CAUTION = (
    "the plan was cut to what is judged: the interval here assumes a number of labels fixed beforehand; that of the "
    "status holds however often you look"
)
"""The caution of estimates from a plan that was cut."""


@dataclass(frozen=True)
class LabelledPlan(ABC):
    """A plan with its labels, int64[N], -1 where there is none; many answers share the measured values.

    ``ignored`` labels are of what was not drawn, and ``strays`` of no document of the plan.
    """

    tables: PlanTables
    label: np.ndarray
    ignored: int = 0
    strays: Strays = field(default_factory=Strays)
    _kept: dict[tuple[irm.Measure, str], Any] = field(default_factory=dict, repr=False, compare=False)

    def judged(self, how: How) -> Any:
        """The sample with its labels, made once for each measure and policy."""
        key = how.measure, how.missing
        if key not in self._kept:
            judged = self._made(how)
            about = {"ignored": self.ignored, "unknown": self.strays}
            about |= {"measure": self.tables.named(how.measure), "assumed": assumptions_of(self.tables, how.measure)}
            caution = CUT_CAUTION if self.tables.manifest.cut else ""
            basis = replace(judged.basis, stopping_caution=caution, **about)  # type: ignore[arg-type]
            self._kept[key] = replace(judged, basis=basis, strangers=self.tables.manifest.strangers)
        return self._kept[key]

    @abstractmethod
    def _made(self, how: How) -> Judged:
        """The sample with its labels for one measure and policy, not yet cached."""

    @abstractmethod
    def within(self, rows: np.ndarray, share: float, how: How) -> Judged | None:
        """The sample within a group of queries that was known before drawing, or None if it has no label there.

        Shapes: rows int64[r].
        """

    @abstractmethod
    def parts(self, contrast: np.ndarray, how: How) -> Parts:
        """An estimate of a contrast, float64[k], taken apart."""

    @abstractmethod
    def changes(self, contrast: np.ndarray, how: How, others: np.ndarray) -> np.ndarray:
        """float64[N, G+1], how far an estimate of a contrast would move if each label were another grade.

        It is known of the ``others``, bool[N, G+1], that are asked for.
        """

    @property
    @abstractmethod
    def chance(self) -> np.ndarray:
        """float64[N], the probability that each drawn document is asked for; 0 for all others."""

    @property
    def drawn(self) -> np.ndarray:
        """int64[s], the queries that were drawn, or from which documents were drawn."""
        return np.flatnonzero(self.tables.queries["q_draws"].to_numpy() > 0)
