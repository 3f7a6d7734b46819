"""What do an estimate and a comparison say, and how are they printed?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from pt_active.frames import checks
from pt_active.frames.checks import how_many
from pt_active.inference.intervals import SIMULATED, interval, score_interval
from pt_active.inference.new_queries import NEW, THESE
from pt_active.inference.reference import Tails
from pt_active.inference.significance import two_sided_pvalue
from pt_active.plans.answers.basis import (
    EVERYTHING,
    EXACT,
    LARGE_SAMPLES,
    QUERIES_RANDOM,
    SAMPLED,
    Basis,
    QueriesMeant,
    promised,
)
from pt_active.showing.charts import ChartRow, Intervals
from pt_active.showing.printed import Charted, Facts, Printed, plain, printed

DIRECTLY = (
    "A difference is estimated directly, which is more precise than subtracting two values, and may differ from what "
    "you would get by that."
)
"""Why values do not subtract to a difference."""

NO_INTERVAL = "no interval"  # What stands in the place of an interval that the labels do not give


class ConfidenceInterval(NamedTuple):
    """A two-sided interval."""

    low: float
    high: float


@dataclass(frozen=True)
class _Inference(Charted):
    """The common part of `Estimate` and `Comparison`: a standard error, an interval, and what they rest on."""

    basis: Basis
    standard_error: float
    degrees_of_freedom: float
    confidence_level: float
    degenerate: bool
    reference: str = field(default="effective", kw_only=True)
    tails: Tails | None = field(default=None, kw_only=True)
    replayable: bool = field(default=True, kw_only=True)
    population: QueriesMeant | None = field(default=None, kw_only=True)
    beside: Self | None = field(default=None, kw_only=True, repr=False)

    _without = "no interval, no test"
    _bounds = (-np.inf, np.inf)
    _printed = ("estimate", " of ", "")
    _columns: ClassVar[tuple[str, ...]] = ("name", "value", "standard_error")

    @property
    def n_effective(self) -> float:
        """``(Σv)²/Σv²``, the number of equally weighted draws that would say as much [theory 5]."""
        return self.basis.n_effective

    @property
    def note(self) -> str:
        """What a reader must know before trusting the interval; empty if there is nothing."""
        other, new = self.beside, ""
        if other and other.population and np.isfinite(other.confidence_interval().low):
            new = other.population.caution
        basis = self.basis
        said = self._sample_note, new, basis.stopping_caution, basis.skipped, basis.unknown.caution
        return "; ".join(filter(None, said))

    @property
    def _sample_note(self) -> str:
        everything = EVERYTHING[self.basis.level]
        if self.basis.census and self.degenerate and self.basis.missing:
            lacking = f"{everything} was judged, except for {how_many('label', len(self.basis.missing))}"
            return (
                f"{lacking}; how far off the estimate is without them cannot be told from the sample: no interval, no "
                "test"
            )
        if self.basis.census and not self.holds_for_new:
            only = "; the interval is that of the judges' errors" if self.basis.error_of_judges else ""
            return f"{everything} was judged, so there is no sampling error{only}"
        parts = self.basis.caution, self.basis.interval_caution, self.basis.model_caution
        cautions = "; ".join(filter(None, parts))
        if self.degenerate and (self.basis.caution or self.basis.interval_caution):
            return cautions
        if self.degenerate:
            return (
                f"nothing varies among the sampled {SAMPLED[self.basis.level]} that the model does not explain, so "
                f"the sample cannot tell how far off the estimate is: {self._without}"
            )
        if not self.degrees_of_freedom > 0 or not np.isfinite(self.standard_error):
            return "too few draws for an interval"
        return cautions

    @property
    def holds_for_new(self) -> bool:
        """Whether it holds for queries like those of the pool, rather than for these [theory 16]."""
        return self.population is not None and self.population.name == NEW

    @property
    def certain(self) -> bool:
        """Whether nothing was left to chance: everything was judged, and it holds for these queries alone."""
        return self.basis.census and not (self.degenerate or self.holds_for_new)

    @property
    def guarantee(self) -> str:
        """``"exact"`` if nothing was left to chance, else ``"large samples"``: the level in the limit of many draws."""
        return EXACT if self.certain and self.standard_error == 0 else LARGE_SAMPLES

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for it, one clause each."""
        return (*self.basis.assumptions, *((QUERIES_RANDOM,) if self.holds_for_new else ()))

    @property
    def floor(self) -> float:
        """The part of the standard error for new queries that no label lowers: the spread of queries [theory 16]."""
        if self.beside is None:
            return 0.0
        return float(np.sqrt(abs(self.standard_error**2 - self.beside.standard_error**2)))

    @property
    def what(self) -> str:
        """What is estimated: a ranker, or the difference of two."""
        raise NotImplementedError

    @property
    def point(self) -> float:
        """The estimate."""
        raise NotImplementedError

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """``value ± t · SE``, widened by `tails` [theory 5, T 3.24]; with `bounds`, a score interval [theory 6].

        Args:
            confidence_level: In (0, 1); the level of the estimate (0.95 unless another was given) if left out. Tails
                are those that were simulated for the level of the estimate.

        Returns:
            Low and high: NaN if nothing varies in the sample, infinite (or the bounds) if there are too few draws, and
            the value itself in a census.

        Raises:
            ValueError: If the level lies outside (0, 1).
        """
        level = self._level(confidence_level)
        if self.degenerate:
            return ConfidenceInterval(np.nan, np.nan)
        low, high, degrees = self.reference_tails
        if np.isfinite(self._bounds[0]) and not self.basis.census:
            scored = self.point, self.standard_error, degrees, level, self._bounds, self.n_effective
            below, above = (score_interval(*scored, factor=each) for each in (low, high))
        else:
            below, above = (interval(self.point, each * self.standard_error, degrees, level) for each in (low, high))
        return ConfidenceInterval(float(below[0]), float(above[1]))

    @property
    def reference_tails(self) -> Tails:
        """How many standard errors away both ends of the interval are, as factors of t, and its degrees of freedom."""
        return self.tails or Tails(1.0, 1.0, self.degrees_of_freedom)

    def _level(self, asked: float | None) -> float:
        return self.confidence_level if asked is None else checks.level("confidence_level", asked)

    def interval_text(self) -> str:
        """The interval as printed."""
        low, high = self.confidence_interval()
        return NO_INTERVAL if np.isnan(low) else f"[{low:.4f}, {high:.4f}]"

    def facts(self) -> Facts:
        """The printed lines below the first: the result, what it rests on, and its note."""
        facts = [(self._printed[0], self.line()), *self._tests()]
        if self.beside is not None and self.beside.population is not None:
            facts.append((self.beside.population.name, f"{self.beside.line()}{self.beside._test_in_brief}"))
        if (words := self._reference_in_words()) and not self.degenerate:
            facts.append(("reference", words))
        facts += self.basis.facts()
        if not self.degenerate:
            facts.append(("holds", promised(self.guarantee, self.assumptions)))
        return [*facts, *([("note", self.note)] if self.note else [])]

    def line(self) -> str:
        """The estimate, its interval and standard error, and the queries that they hold for."""
        interval = self.interval_text()
        interval = interval if interval == NO_INTERVAL else f"{self.confidence_level:.0%} interval {interval}"
        holds = "" if self.population is None else f"   for {self.population}"
        return f"{self.point:{self._printed[2]}.4f}   {interval}   SE {self.standard_error:.4f}{holds}"

    def _tests(self) -> Facts:
        return []

    @property
    def _test_in_brief(self) -> str:
        return ""

    def _reference_in_words(self) -> str:
        if not self.replayable:
            return "t alone; samples of this kind are not replayed"
        if self.tails is None:
            return ""
        low, high, degrees = self.reference_tails
        quantile, own = (interval(0.0, 1.0, d, self.confidence_level)[1] for d in (degrees, self.degrees_of_freedom))
        how = "simulated" if self.reference == SIMULATED else "t, and wider as the queries are skewed"
        return f"{how}; the interval is {(low + high) / 2 * quantile / own:.2f} times as wide as that of t"

    def __str__(self) -> str:
        of = f"{self.basis.measure}{self._printed[1]}{self.what}"
        return printed(f"{of} ({self.basis.estimator})", self.facts())

    def to_frame(self) -> pd.DataFrame:
        """One row with every number of the result."""
        low, high = self.confidence_interval()
        row: dict[str, object] = {name: getattr(self, name) for name in self._columns}
        row |= {"low": low, "high": high, "confidence_level": self.confidence_level}
        low_factor, high_factor, degrees = self.reference_tails
        row |= {"reference": self.reference, "degrees_of_freedom": self.degrees_of_freedom}
        row |= {"reference_degrees": degrees, "low_factor": low_factor, "high_factor": high_factor}
        if self.population is not None:
            row["queries"] = self.population.name
            for each in (self, self.beside):
                row |= {} if each is None else each._named_columns
        row |= asdict(self.basis) | {"missing": len(self.basis.missing), "note": self.note}
        del row["assumed"]
        row |= {"unknown": self.basis.unknown.number, "guarantee": self.guarantee}
        return pd.DataFrame([row | {"assumptions": "; ".join(self.assumptions)}])

    @property
    def _named_columns(self) -> dict[str, object]:
        """Columns that are named after the queries they hold for, ``these_low`` or ``new_low``."""
        assert self.population is not None
        low, high = self.confidence_interval()
        columns = {"low": low, "high": high, "standard_error": self.standard_error}
        return {f"{self.population.name}_{name}": value for name, value in columns.items()}

    def to_dict(self) -> dict[str, object]:
        """The row of `to_frame`, ready for JSON: NaN and infinite numbers become None."""
        row: dict[str, object] = plain(self.to_frame().astype(object).iloc[0].to_dict())
        return row | {"assumptions": list(self.assumptions)}


@dataclass(frozen=True)
class Estimate(_Inference):
    """The performance of one ranker over the whole pool, estimated from a sample.

    Attributes:
        name: The ranker.
        value: The estimate of ``Σ p ℓ``.
        standard_error: The standard error of the estimate.
        degrees_of_freedom: Degrees of freedom of the t distribution behind the interval; infinite for the normal.
        confidence_level: Level of the printed interval.
        degenerate: Whether nothing varies in the sample, so that there is no interval.
        reference: The reference distribution that was used: ``simulated`` [theory 5], or ``effective``, t with the
            estimator's own degrees of freedom.
        tails: How much further away than by t both ends of the interval are, if the reference is simulated.
        replayable: Whether a simulated reference was possible, or not asked for.
        basis: What the estimate rests on.
        bounds: Lower and upper bound of the mean; if they are finite, the interval is a score interval within them.
    """

    name: str
    value: float
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def what(self) -> str:
        """The ranker."""
        return self.name

    @property
    def point(self) -> float:
        """The estimate."""
        return self.value

    @property
    def _bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return self.bounds

    def _chart(self) -> Intervals:
        return Intervals([ChartRow(self.name, self.value, *self.confidence_interval())], self.basis.measure)


class Estimates(dict[str, Estimate], Printed):
    """Ranker name → estimate, printed one below the other."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.values()))


def kept_to(bounds: tuple[float, float], fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of an estimate with a score interval, which exists even if all sampled values are equal."""
    basis = fields["basis"]
    still = fields["degenerate"] and fields["standard_error"] == 0 and not basis.census
    if not (still and np.isfinite(bounds[1])):
        return fields | {"bounds": bounds}
    caution = (
        "nothing varies among the sampled pairs that the model does not explain; the interval is that of "
        f"{basis.n_effective:.1f} pairs drawn at random of which none is an exception"
    )
    caution += f"; {basis.caution}" if basis.caution else ""
    return fields | {"bounds": bounds, "degenerate": False, "basis": replace(basis, caution=caution)}


@dataclass(frozen=True)
class Comparison(_Inference):
    """The difference of two rankers over the whole pool, first minus second.

    Attributes:
        first: The ranker that is compared.
        second: The ranker that it is compared with.
        difference: The estimate of ``R_first − R_second``.
        pvalue: Two-sided p-value of no difference; NaN if nothing varies in the sample, or few queries differ and new
            ones are asked about, but 1 if it shows none.
        confidence_level: Level of the printed interval; ``1 − level`` is the level of the test.
        lower_is_better: Whether the one with the smaller value wins, as for errors.

    The other attributes are as in `Estimate`.
    """

    first: str
    second: str
    difference: float
    pvalue: float
    lower_is_better: bool = False

    _printed = ("difference", ": ", "+")
    _columns = ("first", "second", "difference", "standard_error", "pvalue", "winner")

    @property
    def what(self) -> str:
        """The difference, with a minus between the two."""
        return f"{self.first} − {self.second}"

    @property
    def point(self) -> float:
        """The estimate."""
        return self.difference

    @classmethod
    def tested(cls, first: str, second: str, difference: float, fields: dict[str, Any]) -> Comparison:
        """Make a comparison from its fields by name, with the test that the difference is 0 [T 3.2]."""
        ends = fields.get("tails") or Tails(1.0, 1.0, fields["degrees_of_freedom"])
        error, pvalue = ends.facing(difference) * fields["standard_error"], np.nan
        population = fields.get("population")
        tied = difference == 0 and not (fields["basis"].census and (population is None or population.name == THESE))
        if tied or not (fields["degenerate"] or (population is not None and not population.tested)):
            pvalue = float(two_sided_pvalue(difference, error, ends.degrees))
        return cls(first=first, second=second, difference=difference, pvalue=pvalue, **fields)

    @property
    def _without(self) -> str:  # type: ignore[override]
        return "no interval" if self.pvalue == 1 else "no interval, no test"

    @property
    def test_error(self) -> float:
        """The standard error, times how much further away than by t the interval's end towards 0 is."""
        return self.reference_tails.facing(self.difference) * self.standard_error

    @property
    def test_degrees(self) -> float:
        """Degrees of freedom of the test."""
        return self.reference_tails.degrees

    @property
    def better(self) -> str:
        """The ranker with the better estimate, significant or not; the first if there is no difference."""
        return self.second if self.difference * (-1 if self.lower_is_better else 1) < 0 else self.first

    @property
    def winner(self) -> str | None:
        """The better ranker; None if the difference is not significant at the level of the test."""
        return self.better if self.pvalue < 1 - self.confidence_level else None

    def _chart(self) -> Intervals:
        row = ChartRow(self.what, self.difference, *self.confidence_interval())
        left, right = (self.first, self.second) if self.lower_is_better else (self.second, self.first)
        return Intervals([row], f"difference in {self.basis.measure}", True, (f"for {left}", f"for {right}"))

    def _tests(self) -> Facts:
        unresolved = f"unresolved at the {1 - self.confidence_level:.2g} level"
        if self.certain and self.difference == 0:
            unresolved = "none, the two are exactly equal"
        elif self.population is not None and not self.population.tested:
            return [("winner", "not tested, since few queries differ")]
        return [("p-value", f"{self.pvalue:.4g}"), ("winner", self.winner or unresolved)]

    @property
    def _test_in_brief(self) -> str:
        return "" if np.isnan(self.pvalue) else f"   p-value {self.pvalue:.4g}"

    @property
    def _named_columns(self) -> dict[str, object]:
        assert self.population is not None
        return super()._named_columns | {f"{self.population.name}_pvalue": self.pvalue}
