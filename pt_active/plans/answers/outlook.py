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
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.answers.forecast_notes import MIN_DOCUMENTS, SUFFICIENT_PILOT, pilot_notes, tiny_budgets
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.simulated_judging import simulated_effort
from pt_active.plans.making import artifact
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments
from pt_active.plans.making.pool import Pool, graded_frame, seen_by
from pt_active.plans.making.queries import DESIGN
from pt_active.relevance.costs import Cost, UnitCost, check_per_query
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.drawings import SUCCESSIVE, natural_drawing
from pt_active.showing.printed import Printed

BUDGET_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Default budgets of the table, as shares of the cost of the whole pool."""

POWER = 0.8
"""Default probability of finding a difference."""

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
        arrays = Pool.from_frame(frame, parsed, cost)
        learned = None if pilot is None else _pilot(pilot, artifact.digest(frame), parsed)
        methods = _default_methods(arrays, parsed, check_per_query(cost)) if methods is None else methods
        return cls.looked(Forecast(arrays, parsed, check_per_query(cost), seed=seed), methods, learned)

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
        if len(plan.tables.assessments) < MIN_DOCUMENTS:
            warnings.warn(_few_documents(len(plan.tables.assessments)), stacklevel=2)
        if methods is None:
            usual = _default_methods(forecast.pool, forecast.measure, forecast.per_query)
            methods = list(dict.fromkeys([YARDSTICK, own_method(plan), *usual]))
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
                evidence[method] = _evidence(forecast, method, gain, pilot)
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
        _check(confidence, power, difference)
        whole = next(iter(self.curves.values())).total
        if budgets is None:
            spend = [share * whole for share in BUDGET_SHARES]
        else:
            spend = [number("a budget", each) for each in _listed("budgets", budgets, "numbers")]
        rows = [
            self._row(method, curve, budget, difference, power, confidence)
            for method, curve in self.curves.items()
            for budget in spend
        ]
        return _warned(pd.DataFrame(rows), given=budgets is not None)

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
        _check(confidence, power, difference)
        if (width is None) == (difference is None):
            raise ArgumentError.either("width", "difference")
        if width is not None:
            positive("width", width)

        def reached(curve: ErrorCurve, budget: float) -> bool:
            if difference is None:
                return curve.half_width(budget, confidence) <= (width or 0.0)
            return curve.power(budget, difference, confidence) >= power

        rows = []
        for method in self.curves:
            curve = self._cautious(method)
            budget = curve.budget_for(partial(reached, curve))
            row = self._row(method, curve, budget, difference, power, confidence)
            rows.append(row | ({"assurance": ASSURANCE} if self.evidence else {}))
        return _warned(pd.DataFrame(rows))

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
        _check(confidence, power, difference)
        methods = [each for each in self.curves if not each.of_documents or each.design == SUCCESSIVE]
        if not methods:
            by_one = Argument("design", SUCCESSIVE)
            raise ArgumentError(
                "no method draws one unit after the other; add one of queries, or documents with ", by_one
            )
        return pd.DataFrame([self._until_known(each, difference, power, confidence, progress) for each in methods])

    def _until_known(
        self, method: Method, difference: float, power: float, confidence: float, progress: bool
    ) -> dict[str, object]:
        curve = self._cautious(method)
        budget = curve.budget_for(lambda spent: curve.power(spent, difference, confidence) >= power)
        optimism = self.evidence.get(method)
        effort = simulated_effort(self.forecast, method, abs(difference), budget, 1 - confidence, optimism, progress)
        return {
            "level": "document" if method.of_documents else "query",
            "design": method.design,
            "budget": budget,
            "power": float((effort.cost <= budget * (1 + 1e-9)).mean()),
            "labels": float(effort.labels.mean()),
            "labels_90": float(np.quantile(effort.labels, 0.9)),
            "cost": float(effort.cost.mean()),
            "cost_90": float(np.quantile(effort.cost, 0.9)),
        }

    def _cautious(self, method: Method) -> ErrorCurve:
        """The errors that budgets have to allow for: those of ``high`` if there is a pilot."""
        optimism = self.evidence.get(method)
        curve = self.curves[method]
        return curve if optimism is None else curve.scaled(float(optimism.quantile(ASSURANCE)) / optimism.median)

    def _row(
        self,
        method: Method,
        curve: ErrorCurve,
        budget: float,
        difference: float | None,
        power: float,
        confidence: float,
    ) -> dict[str, object]:
        """A row whose half-width, detectable difference and power are those of the curve."""
        documents, queries = curve.counts(budget)
        expected, optimism = self.curves[method].standard_error(budget), self.evidence.get(method)
        ends = (optimism or MODEL_ALONE).quantile(np.array([1 - ASSURANCE, ASSURANCE]))
        low, high = expected * np.sqrt(ends / (1.0 if optimism is None else optimism.median))
        row: dict[str, object] = {
            "level": "document" if method.of_documents else "query",
            "design": method.design,
            "estimator": method.estimator,
            "budget": budget,
            "documents": documents,
            "queries": queries,
            "standard_error": expected,
            "low": float(low),
            "high": float(high),
            "half_width": curve.half_width(budget, confidence),
            "detectable": curve.detectable(budget, power, confidence),
        }
        if difference is not None:
            row["power"] = curve.power(budget, difference, confidence)
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
        return [*pilot_notes(self.pilot), *tiny_budgets(table)]

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


def own_method(plan: KeptArtifact[PlanTables], estimator: str = ESTIMATOR) -> Method:
    """The method of a plan, taken to sample without replacement and in one round."""
    return method_of(plan.tables.manifest.arguments, estimator)


def method_of(arguments: PlanArguments, estimator: str = ESTIMATOR) -> Method:
    """The method of a plan with these arguments, taken to sample without replacement and in one round."""
    return Method(arguments.design, estimator, with_replacement=False)


def _default_methods(pool: Pool, measure: irm.Measure, per_query: float) -> list[Method]:
    drawing = natural_drawing(seen_by(measure, pool).form, len(pool.names), per_query)
    return [YARDSTICK, *(Method(design, ESTIMATOR, with_replacement=False) for design in (DESIGN, drawing))]


def _pilot(pilot: tuple[KeptArtifact[PlanTables], pd.DataFrame], digest: str, measure: irm.Measure) -> Pilot:
    if not (isinstance(pilot, (tuple, list)) and len(pilot) == 2 and _is_plan(pilot[0])):
        raise ValueError(f"pilot must be a plan and its labels, (plan, qrels), got {shown(pilot)}")
    plan, qrels = pilot
    if plan.tables.manifest.inputs.pool != digest:
        raise ValueError("the pilot is a plan on another pool (its digest differs); give the pilot's own pool")
    if plan.tables.measure != measure:
        raise ValueError(f"the pilot was planned for {plan.tables.measure}, not for {measure}")
    return Pilot.of(plan, qrels)


def _is_plan(value: object) -> bool:
    return isinstance(value, KeptArtifact) and isinstance(value.tables, PlanTables)


def _evidence(forecast: Forecast, method: Method, gain: np.ndarray, pilot: Pilot) -> Optimism:
    """What the pilot shows of the variance that the model expects of a method's units."""
    if method.of_documents:
        return pilot.of_documents(method.design, method.estimator, gain)
    return pilot.of_queries(method.estimator, gain, forecast.document_gain())


def _few_documents(number: int) -> str:
    return f"the plan asks for {how_many('document', number)} only, too few for an interval; give it a larger budget"


def _warned(table: pd.DataFrame, given: bool = True) -> pd.DataFrame:
    """The table, with a warning if a budget that was asked for buys too little."""
    for note in tiny_budgets(table) if given else []:
        warnings.warn(note, stacklevel=3)
    return table


def _check(confidence: float, power: float, difference: float | None) -> None:
    level("confidence", confidence)
    if not 1 - confidence < number("power", power) < 1:
        least = f"{1 - confidence:.2g} (the level of the test)"
        raise ArgumentError(Argument("power"), f" must lie between {least} and 1, got {power}")
    if difference is not None and not (np.isfinite(number("difference", difference)) and difference != 0):
        raise ArgumentError(Argument("difference"), f" must be a number other than 0, got {difference}")


def _listed(name: str, value: Any, kind: str) -> list[Any]:
    """The argument as a list; raises if it is a text or cannot be iterated over."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list of {kind}, got {shown(value)}")
    return list(value)
