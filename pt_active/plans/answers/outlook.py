"""How many judgments will a comparison need [theory 10]?"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import Argument, ArgumentError, how_many, level, number, positive, shown
from pt_active.frames.columns import grade_columns
from pt_active.frames.visible import visible
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.optimism import MODEL_ALONE, Optimism
from pt_active.inference.replay import YARDSTICK, Method
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.plans.answers.forecast import LEVELS, Forecast
from pt_active.plans.answers.pilot import MIN_DOCUMENTS, SUFFICIENT_PILOT, Pilot
from pt_active.plans.answers.simulated_judging import simulated_effort
from pt_active.plans.making import artifact
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments
from pt_active.plans.making.pool import Pool, graded_frame
from pt_active.plans.making.queries import DESIGN
from pt_active.relevance.costs import Cost, UnitCost, check_per_query
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.showing.printed import Printed

BUDGET_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # Default budgets of the table, as shares of the cost of the whole pool
POWER = 0.8  # Default probability of finding a difference

ASSURANCE = 0.9
"""The probability that the standard error is below ``high``, for which budgets are found once there is a pilot; it is
above ``low`` with the same probability. A budget that fails after all costs another round, one in ten times."""


@dataclass(frozen=True)
class Outlook(Printed):
    """The expected errors over the budget, for several ways to sample.

    Attributes:
        measure: What is to be measured.
        names: One ranker, or those that are compared; with more than two, variances are means over all pairs.
        curves: Method → its errors over the budget: those that the grade model expects, or with a pilot those that are
            exceeded as often as not.
        evidence: Method → what the pilot shows of the grade model's errors; empty without a pilot.
        forecast: The pool and its costs.
        pilot: The pilot; None if there is none.
    """

    measure: irm.Measure
    names: tuple[str, ...]
    curves: dict[Method, ErrorCurve]
    evidence: dict[Method, Optimism]
    forecast: Forecast = field(repr=False)
    pilot: Pilot | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        pool: pt.Transformer | pd.DataFrame,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure,
        cost: Cost | None = None,
        methods: Sequence[Method] | None = None,
        *,
        pilot: tuple[KeptArtifact[PlanTables], pd.DataFrame] | None = None,
        seed: int = 0,
    ) -> Outlook:
        """Foresee errors from what the grade model expects, or from the labels of a pilot.

        Args:
            pool: A pipeline that ends in a graded-relevance model, or the frame that it returns.
            topics: ``qid, query`` (+ ``traffic``), the target population. May be None if ``pool`` is a frame.
            measure: ``DCG@10``, ``"ERR(max_rel=4)@20"``, …
            cost: Labelling cost; with `TimeCost` budgets are hours.
            methods: Ways to sample, all without replacement. If left out: plain random queries, the default design of
                queries and the default way to draw documents.
            pilot: A plan on the same pool and its labels so far. Its errors replace those that the model expects.
            seed: Seed of Monte Carlo, for measures that need it.

        Raises:
            ValueError: If the pool is malformed, a method is unknown or draws with replacement, or the pilot has
                another pool or measure.
        """
        cost = cost or UnitCost()
        frame = graded_frame(pool, topics)
        columns = grade_columns(frame.columns)
        parsed = parse_measure(measure, max_grade=len(columns) - 1 if columns else None)
        forecast = Forecast(Pool.from_frame(frame, parsed, cost), parsed, check_per_query(cost), seed=seed)
        learned = None if pilot is None else Pilot.checked(pilot, artifact.digest(frame), parsed)
        return cls.looked(forecast, _default_methods(forecast) if methods is None else methods, learned)

    @classmethod
    def of_plan(
        cls,
        plan: KeptArtifact[PlanTables],
        qrels: pd.DataFrame | None = None,
        methods: Sequence[Method] | None = None,
        missing: str = "error",
    ) -> Outlook:
        """Foresee errors from a plan's own pool, measure and costs.

        Args:
            plan: Of queries or of documents; it need not be judged.
            qrels: Its labels so far, which make it the pilot.
            methods: Ways to sample, all without replacement. If left out: plain random queries, the plan's own way to
                sample in one round, and the defaults of queries and of documents. A method with the plan's design has
                the plan's other settings too.
            missing: What to do about a document without a label: ``"error"``, ``"nonrelevant"`` or ``"expected"``.

        Raises:
            ValueError: If rankers were added to the plan later (the costs of their documents are unknown), a method
                cannot be foreseen, or the labels do not fit the plan.
        """
        forecast = Forecast.of(plan.tables)
        if (few := len(plan.tables.assessments)) < MIN_DOCUMENTS:
            said = f"the plan asks for {how_many('document', few)} only, too few for an interval"
            warnings.warn(f"{said}; give it a larger budget", stacklevel=2)
        if methods is None:
            own = method_of(plan.tables.manifest.arguments)
            methods = list(dict.fromkeys([YARDSTICK, own, *_default_methods(forecast)]))
        return cls.looked(forecast, methods, None if qrels is None else Pilot.of(plan, qrels, missing))

    @classmethod
    def looked(cls, forecast: Forecast, methods: Sequence[Method], pilot: Pilot | None = None) -> Outlook:
        """Foresee the errors of some methods."""
        curves: dict[Method, ErrorCurve] = {}
        evidence: dict[Method, Optimism] = {}
        for method in _listed("methods", methods, "Method"):
            if not isinstance(method, Method):
                raise ValueError(f"methods must be a list of Method, got {shown(method)} in it")
            if method.with_replacement or method.rounds > 1:
                raise ValueError(f"{method} cannot be foreseen: only one round without replacement can")
            curve, gain = forecast.curve(method)
            if pilot is not None:
                evidence[method] = pilot.shown(method, gain, forecast.document_gain)
                curve = curve.scaled(evidence[method].median)
            curves[method] = curve
        return cls(forecast.measure, forecast.pool.names, curves, evidence, forecast, pilot)

    @property
    def optimism(self) -> dict[Method, float]:
        """Method → the variance that the pilot shows over the one that the grade model expects; empty without one."""
        return {method: optimism.ratio for method, optimism in self.evidence.items()}

    def table(
        self,
        budgets: Sequence[float] | None = None,
        difference: float | None = None,
        power: float = POWER,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """One row per method and budget.

        Args:
            budgets: Budgets in the unit of the cost; if left out, the shares `BUDGET_SHARES` of the whole pool's cost.
            difference: If given, the table has the ``power`` to find this difference (or distance from a null value).
            power: The probability with which the ``detectable`` difference is found.
            confidence: Level of intervals; tests are at 1 minus it.

        Returns:
            ``level, design, estimator, budget, documents, queries, standard_error, low, high, half_width, detectable``,
            with ``power`` if a difference is given, and ``optimism`` if there is a pilot. The standard error is above
            ``low`` and below ``high`` with the probability `ASSURANCE` each.

        Warns:
            UserWarning: If a budget that was given buys too few documents or queries for an interval.

        Raises:
            ValueError: If an argument is out of range.
        """
        aim, whole = _Aim(confidence, power, difference), next(iter(self.curves.values())).total
        spend = [share * whole for share in BUDGET_SHARES]
        if budgets is not None:
            spend = [number("a budget", each) for each in _listed("budgets", budgets, "numbers")]
        rows = [self._row(method, curve, budget, aim) for method, curve in self.curves.items() for budget in spend]
        table = pd.DataFrame(rows)
        for note in tiny_budgets(table) if budgets is not None else []:
            warnings.warn(note, stacklevel=2)
        return table

    def budget_for(
        self,
        *,
        width: float | None = None,
        difference: float | None = None,
        power: float = POWER,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """The budget that is needed for an interval of a given half-width, or for finding a difference.

        Args:
            width: The half-width of the interval; give it or ``difference``.
            difference: The difference that is to be found with the given ``power``.
            power: The probability with which it is to be found.
            confidence: Level of the interval; the test is at 1 minus it.

        Returns:
            The columns of `table`, one row per method, at the smallest budget that suffices. With a pilot it suffices
            even if the standard error is ``high``, to which ``half_width``, ``detectable`` and ``power`` then belong;
            the column ``assurance`` has the probability of that. If only judging everything suffices, the budget is
            that of a census, and ``half_width`` is 0.

        Raises:
            ValueError: If not exactly one of ``width`` and ``difference`` is given, or an argument is out of range.
        """
        aim = _Aim(confidence, power, difference)
        if (width is None) == (difference is None):
            raise ArgumentError.either("width", "difference")
        if width is not None:
            positive("width", width)
        rows = []
        for method in self.curves:
            curve = self._cautious(method)
            budget = curve.budget_for(
                lambda spent, curve=curve: (
                    aim.reached(curve, spent)  # type: ignore[misc]
                    if width is None
                    else curve.half_width(spent, confidence) <= width
                )
            )
            rows.append(self._row(method, curve, budget, aim) | ({"assurance": ASSURANCE} if self.evidence else {}))
        table = pd.DataFrame(rows)
        for note in tiny_budgets(table):
            warnings.warn(note, stacklevel=2)
        return table

    def until_known(
        self, difference: float, power: float = POWER, confidence: float = 0.95, progress: bool = True
    ) -> pd.DataFrame:
        """The number of labels until a difference is known, if judging may stop at any of them [theory 14].

        Evaluations are replayed with labels from the grade model, shifted so that the true difference is the given one;
        with a pilot, the model's errors are scaled to those that it shows. More than two rankers take turns in pairs,
        each at the level divided by the number of pairs, as in a `status` of all pairs before the first verdict.

        Args:
            difference: The difference that is to be found (or a distance from a null value).
            power: The bets are planned for the budget with which a fixed sample has this power.
            confidence: 1 minus the level of the verdicts, of all pairs together.
            progress: Whether to show a progress bar.

        Returns:
            One row per method whose units come one after the other: ``level, design, budget`` (that of the fixed
            sample), ``power`` (the share of replays with a verdict within it), ``labels`` and ``cost`` until the
            verdict, on average, and ``labels_90`` and ``cost_90``, which suffice in nine of ten.

        Raises:
            ValueError: If an argument is out of range, or no method has such an order.
        """
        aim = _Aim(confidence, power, difference)
        methods = [each for each in self.curves if not each.of_documents or each.design == SUCCESSIVE]
        if not methods:
            by_one = Argument("design", SUCCESSIVE)
            raise ArgumentError(
                "no method draws one unit after the other; add one of queries, or documents with ", by_one
            )
        rows = []
        for method in methods:
            curve, optimism = self._cautious(method), self.evidence.get(method)
            budget = curve.budget_for(partial(aim.reached, curve))
            asked = abs(difference), budget, 1 - confidence
            effort = simulated_effort(self.forecast, method, *asked, optimism, progress)
            row: dict[str, object] = {"level": LEVELS[method.of_documents], "design": method.design, "budget": budget}
            row["power"] = float((effort.cost <= budget * (1 + 1e-9)).mean())
            for name, each in (("labels", effort.labels), ("cost", effort.cost)):
                row |= {name: float(each.mean()), f"{name}_90": float(np.quantile(each, 0.9))}
            rows.append(row)
        return pd.DataFrame(rows)

    def _cautious(self, method: Method) -> ErrorCurve:
        """The errors that budgets have to allow for: those of ``high`` if there is a pilot."""
        optimism = self.evidence.get(method)
        curve = self.curves[method]
        return curve if optimism is None else curve.scaled(float(optimism.quantile(ASSURANCE)) / optimism.median)

    def _row(self, method: Method, curve: ErrorCurve, budget: float, aim: _Aim) -> dict[str, object]:
        """A row whose half-width, detectable difference and power are those of the curve."""
        documents, queries = curve.counts(budget)
        expected, optimism = self.curves[method].standard_error(budget), self.evidence.get(method)
        ends = (optimism or MODEL_ALONE).quantile(np.array([1 - ASSURANCE, ASSURANCE]))
        low, high = expected * np.sqrt(ends / (1.0 if optimism is None else optimism.median))
        row: dict[str, object] = {
            "level": LEVELS[method.of_documents],
            "design": method.design,
            "estimator": method.estimator,
            "budget": budget,
            "documents": documents,
            "queries": queries,
            "standard_error": expected,
            "low": float(low),
            "high": float(high),
            "half_width": curve.half_width(budget, aim.confidence),
            "detectable": curve.detectable(budget, aim.power, aim.confidence),
        }
        if aim.difference is not None:
            row["power"] = curve.power(budget, aim.difference, aim.confidence)
        return row | ({} if optimism is None else {"optimism": optimism.ratio})

    @property
    def source(self) -> str:
        """What the expected errors are based on, for printing."""
        return "the pilot's errors" if self.evidence else "the grade model's opinion of itself, which may flatter"

    def described(self, table: pd.DataFrame) -> str:
        """A table from `table` or `budget_for` as printed, with a heading and remarks."""
        text = table.to_string(index=False, float_format=lambda number: f"{number:.4g}")
        head = f"{self.measure} of {', '.join(self.names)}; expected from {self.source}"
        return "\n".join([head, text, *self._remarks(table), *self.notes(table)])

    def notes(self, table: pd.DataFrame) -> list[str]:
        """What must be known before a table is trusted: few queries in the pilot, and budgets that buy too little."""
        return [*(self.pilot.notes if self.pilot else []), *tiny_budgets(table)]

    def _remarks(self, table: pd.DataFrame) -> list[str]:
        remarks = []
        if "labels_90" in table.columns:
            remarks.append("Judging stops at the verdict; 9 of 10 replays need no more than labels_90 labels.")
        elif (census := table[table["half_width"] == 0]).size:
            names = dict.fromkeys(f"{row.level} {row.design}" for row in census.itertuples())
            remarks.append(f"A half-width of 0 is a census, all that matters is judged: {', '.join(names)}.")
        if "low" in table.columns:
            narrower = "" if self.pilot else f"; a pilot of {SUFFICIENT_PILOT} queries narrows that down"
            remarks.append(f"The standard error lies between low and high in 8 of 10 cases{narrower}.")
        if "assurance" in table.columns:
            remarks.append(f"Each budget suffices in {10 * ASSURANCE:.0f} of 10 cases: it is for an error of high.")
        return remarks

    def __str__(self) -> str:
        return visible(self.described(self.table()))


@dataclass(frozen=True)
class _Aim:
    """What a forecast is asked for; a ValueError if that is out of range."""

    confidence: float
    power: float
    difference: float | None

    def __post_init__(self) -> None:
        level("confidence", self.confidence)
        if not 1 - self.confidence < number("power", self.power) < 1:
            least = f"{1 - self.confidence:.2g} (the level of the test)"
            raise ArgumentError(Argument("power"), f" must lie between {least} and 1, got {self.power}")
        given = self.difference
        if given is not None and not (np.isfinite(number("difference", given)) and given != 0):
            raise ArgumentError(Argument("difference"), f" must be a number other than 0, got {given}")

    def reached(self, curve: ErrorCurve, budget: float) -> bool:
        """Whether a budget suffices to find the difference."""
        return curve.power(budget, self.difference or 0.0, self.confidence) >= self.power


def method_of(arguments: PlanArguments, estimator: str = ESTIMATOR) -> Method:
    """The method of a plan with these arguments, taken to sample without replacement and in one round."""
    return Method(arguments.design, estimator, with_replacement=False)


def tiny_budgets(table: pd.DataFrame) -> list[str]:
    """What to say about the rows whose budget buys too little for an interval."""
    if "documents" not in table.columns:
        return []
    single = (table["level"] == "query") & (table["queries"] < 2)
    rows = table[(table["documents"] < MIN_DOCUMENTS) | single]
    if rows.empty:
        return []
    names = dict.fromkeys(f"{row.level} {row.design} at {row.budget:.4g}" for row in rows.itertuples())
    return [
        f"Some budgets buy fewer than {MIN_DOCUMENTS} documents or less than two queries, too few for an interval: "
        f"{', '.join(names)}."
    ]


def _default_methods(forecast: Forecast) -> list[Method]:
    usual = DESIGN, forecast.usual_drawing
    return [YARDSTICK, *(Method(design, ESTIMATOR, with_replacement=False) for design in usual)]


def _listed(name: str, value: Any, kind: str) -> list[Any]:
    """The argument as a list; raises if it is a text or cannot be iterated over."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list of {kind}, got {shown(value)}")
    return list(value)
