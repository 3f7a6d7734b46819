"""How many judgments will a comparison need [theory 10]?"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import number, shown, some, within
from pt_active.frames.columns import grade_columns
from pt_active.frames.visible import visible
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import NEW, THESE, check_population
from pt_active.inference.replay import YARDSTICK, Method
from pt_active.inference.stopping.error_curve import ErrorCurve, NewQueriesCurve, least_budget
from pt_active.inference.stopping.looks import POWER
from pt_active.plans.answers.forecast import (
    LEVELS,
    Aim,
    Forecast,
    floor_notes,
    method_of,
    tiny_budgets,
)
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.simulated_judging import simulated_effort
from pt_active.plans.making.kept import Kept, PlanTables
from pt_active.plans.making.pool import Pool, graded_frame
from pt_active.plans.making.queries import DESIGN
from pt_active.relevance.costs import Cost, UnitCost, check_per_query
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.showing.printed import Printed
from pt_active.showing.rounding import amount

BUDGET_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # Default budgets of the table, as shares of the cost of the whole pool

Curve = ErrorCurve | NewQueriesCurve


@dataclass(frozen=True)
class Outlook(Printed):
    """The expected errors at each budget, for several ways of sampling.

    Attributes:
        measure: What is to be measured.
        names: One ranker, or those that are compared; with more than two, variances are means over all pairs.
        curves: Method → its errors at each budget: those that the grade model expects, scaled by what a pilot shows.
        optimism: Method → the variance that the pilot shows over the one that the grade model expects; empty without a
            pilot.
        forecast: The pool and its costs.
        pilot: The pilot; None if there is none.
        queries: ``"these"`` if answers hold for the pool's queries, ``"new"`` if for queries like them.
        clusters: A column of the topics with the cluster of each query; None if each is its own.
    """

    measure: irm.Measure
    names: tuple[str, ...]
    curves: dict[Method, ErrorCurve]
    optimism: dict[Method, float]
    forecast: Forecast = field(repr=False)
    pilot: Pilot | None = field(default=None, repr=False)
    queries: str = THESE
    clusters: str | None = None

    @classmethod
    def of(
        cls,
        pool: pt.Transformer | pd.DataFrame,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure,
        cost: Cost | None = None,
        methods: Sequence[Method] | None = None,
        *,
        seed: int = 0,
        queries: str = THESE,
        clusters: str | None = None,
    ) -> Outlook:
        """Forecast errors from what the grade model expects.

        Args:
            pool: A pipeline that ends in a graded-relevance model, or the frame that it returns.
            topics: ``qid, query`` (+ ``traffic``), the target population. May be None if ``pool`` is a frame.
            measure: ``DCG@10``, ``"ERR(max_rel=4)@20"``, …
            cost: Labelling cost.
            methods: Ways of sampling, all without replacement. If left out: plain random queries, the default design of
                queries and the default way to draw documents.
            seed: Seed of Monte Carlo, for measures that need it.
            queries: ``"these"`` for errors of the pool's own queries, ``"new"`` for queries like them [theory 16].
            clusters: A column of the topics; queries with equal values are one draw of the population.

        Raises:
            ValueError: If the pool is malformed, a method is unknown or draws with replacement, or new queries are
                asked for and the model sees no difference between queries.
        """
        cost = cost or UnitCost()
        frame = graded_frame(pool, topics)
        columns = grade_columns(frame.columns)
        parsed = parse_measure(measure, max_grade=len(columns) - 1 if columns else None)
        forecast = Forecast(Pool.from_frame(frame, parsed, cost), parsed, check_per_query(cost), seed=seed)
        methods = _default_methods(forecast) if methods is None else methods
        return cls.looked(forecast, methods, None, queries, clusters)

    @classmethod
    def of_plan(
        cls,
        plan: Kept[PlanTables],
        qrels: pd.DataFrame | None = None,
        methods: Sequence[Method] | None = None,
        queries: str = THESE,
        clusters: str | None = None,
    ) -> Outlook:
        """Forecast errors from a plan's own pool, measure and costs.

        Args:
            plan: Of queries or of documents; it need not be judged.
            qrels: Its labels so far, which make it a pilot: the errors that they show replace those that the model
                expects.
            methods: Ways of sampling, all without replacement. If left out: plain random queries, the plan's own way of
                sampling in one round, and the defaults of queries and of documents. A method with the plan's design has
                the plan's other settings too.
            queries: As in `of`.
            clusters: As in `of`.

        Raises:
            ValueError: If rankers were added to the plan later (the costs of their documents are unknown), a method
                cannot be foreseen, or the labels do not fit the plan.
        """
        forecast = Forecast.of(plan.tables)
        if methods is None:
            own = method_of(plan.tables.manifest.arguments)
            methods = list(dict.fromkeys([YARDSTICK, own, *_default_methods(forecast)]))
        pilot = None if qrels is None else Pilot.of(plan, qrels)
        return cls.looked(forecast, methods, pilot, queries, clusters)

    @classmethod
    def looked(
        cls,
        forecast: Forecast,
        methods: Sequence[Method],
        pilot: Pilot | None = None,
        queries: str = THESE,
        clusters: str | None = None,
    ) -> Outlook:
        """Foresee the errors of some methods."""
        check_population(queries)
        curves: dict[Method, ErrorCurve] = {}
        ratios: dict[Method, float] = {}
        for method in _listed("methods", methods, "Method"):
            if not isinstance(method, Method):
                raise ValueError(f"methods must be a list of Method, got {shown(method)} in it")
            if method.with_replacement:
                raise ValueError(f"{method} cannot be foreseen: only samples without replacement can")
            curve, gain = forecast.curve(method)
            if pilot is not None:
                ratios[method] = pilot.shown(method, gain, forecast.document_gain)
                curve = curve.scaled(pilot.factor(ratios[method]))
            curves[method] = curve
        return cls(forecast.measure, forecast.pool.names, curves, ratios, forecast, pilot, queries, clusters)

    def table(
        self,
        budgets: Sequence[float] | None = None,
        difference: float | None = None,
        power: float = POWER,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Forecast each method at each budget, one row for each.

        Args:
            budgets: Budgets in the unit of the cost; if left out, the shares `BUDGET_SHARES` of the whole pool's cost.
            difference: If given, the table has the ``power`` to find this difference (or distance from a null value).
            power: The probability with which the ``detectable`` difference is found.
            confidence: Level of intervals; tests are at 1 minus it.

        Returns:
            ``level, design, estimator, budget, documents, queries, standard_error, half_width, detectable``, with
            ``power`` if a difference is given, and ``optimism`` if there is a pilot. For new queries also ``topics``,
            the number of queries, judged or not, and ``floor``, their error if everything is judged.

        Warns:
            UserWarning: If a budget that was given buys too few documents or queries for an interval.

        Raises:
            ValueError: If an argument is out of range.
        """
        aim, whole = Aim(confidence, power, difference), next(iter(self.curves.values())).total
        spend = [share * whole for share in BUDGET_SHARES]
        if budgets is not None:
            spend = [number("a budget", each) for each in _listed("budgets", budgets, "numbers")]
        rows = [self._row(method, self._curve(method), budget, aim) for method in self.curves for budget in spend]
        table = pd.DataFrame(rows)
        if budgets is not None and (note := tiny_budgets(table)):
            warnings.warn(note, stacklevel=2)
        return table

    def budget_for(
        self,
        *,
        width: float | None = None,
        difference: float | None = None,
        power: float = POWER,
        confidence: float = 0.95,
        query_cost: float = 0.0,
    ) -> pd.DataFrame:
        """Find the budget for a half-width or for finding a difference; for new queries, also their number.

        Args:
            width: The half-width of the interval; give it or ``difference``.
            difference: The difference that is to be found with the given ``power``.
            power: The probability with which it is to be found.
            confidence: Level of the interval; the test is at 1 minus it.
            query_cost: What each new query costs beside its labels, in the unit of budgets. With 0 there are at least
                the pool's own, and as many more as save labels.

        Returns:
            The columns of `table`, one row per method, at the smallest budget that suffices. If only judging
            everything suffices, the budget is that of a census, and ``half_width`` is 0. For new queries, ``topics``
            and the budget are the pair that costs least [theory 10], and ``cost`` is what both cost.

        Raises:
            ValueError: If not exactly one of ``width`` and ``difference`` is given, or an argument is out of range.
        """
        aim = Aim(confidence, power, difference, width)
        if (width is None) == (difference is None):
            raise ValueError("pass either width= or difference=, and not both")
        within("query_cost", query_cost, 0)
        if query_cost and self.queries == THESE:
            raise ValueError('query_cost= is for new queries; say queries="new"')
        rows = []
        for method in self.curves:
            curve, budget = _least(self._curve(method), aim, query_cost)
            row = self._row(method, curve, budget, aim)
            rows.append(row | ({"cost": budget + query_cost * row["topics"]} if query_cost else {}))
        table = pd.DataFrame(rows)
        if note := tiny_budgets(table):
            warnings.warn(note, stacklevel=2)
        return table

    def until_known(
        self, difference: float, power: float = POWER, confidence: float = 0.95, progress: bool = True
    ) -> pd.DataFrame:
        """Forecast the labels until a difference is known, if judging may stop after any of them [theory 14].

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
        aim = Aim(confidence, power, difference)
        if self.queries != THESE:
            raise ValueError('labels until a verdict are forecast only for queries="these"')
        methods = [each for each in self.curves if not each.of_documents or each.design == SUCCESSIVE]
        if not methods:
            said = "no method draws one unit after the other; add one of queries, or documents with design="
            raise ValueError(f'{said}"{SUCCESSIVE}"')
        if left := [each.design for each in self.curves if each not in methods]:
            warnings.warn(f"{some(left)} draws nothing one by one: see budget_for(difference=…)", stacklevel=2)
        rows = []
        for method in methods:
            _, budget = _least(self._curve(method), aim)
            scale = 1.0 if self.pilot is None else self.pilot.factor(self.optimism[method])
            asked = abs(difference), budget, 1 - confidence
            effort = simulated_effort(self.forecast, method, *asked, scale, progress)
            row: dict[str, object] = {"level": LEVELS[method.of_documents], "design": method.design, "budget": budget}
            row["power"] = float((effort.cost <= budget * (1 + 1e-9)).mean())
            for name, each in effort._asdict().items():
                row |= {name: float(each.mean()), f"{name}_90": float(np.quantile(each, 0.9))}
            rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """``S²/m`` as the model expects it, scaled by what a pilot shows, and its degrees of freedom."""
        expected, degrees = self.forecast.spread(self.clusters)
        if not expected > 0:
            raise ValueError(f"queries={NEW!r}: the model sees no difference between queries, so others are unknown")
        if self.pilot is not None:
            expected *= self.pilot.factor(self.pilot.of_spread(expected, self.clusters))
        return expected, degrees

    def _curve(self, method: Method) -> Curve:
        """The errors of a method, for the queries that are meant."""
        curve = self.curves[method]
        return curve if self.queries == THESE else NewQueriesCurve(curve, *self._spread, self.forecast.queries)

    def _row(self, method: Method, curve: Curve, budget: float, aim: Aim) -> dict[str, Any]:
        """A row whose half-width, detectable difference and power are those of the curve."""
        documents, queries = curve.counts(budget)
        expected = curve.at(budget)
        row: dict[str, Any] = {"level": LEVELS[method.of_documents], "design": method.design}
        row |= {"estimator": method.estimator, "budget": budget, "documents": documents, "queries": queries}
        row |= {"standard_error": expected.standard_error, "half_width": expected.half_width(aim.confidence)}
        row["detectable"] = expected.detectable(aim.power, aim.confidence)
        if isinstance(curve, NewQueriesCurve):
            row |= {"topics": round(curve.topics), "floor": curve.floor}
        if aim.difference is not None:
            row["power"] = expected.power(aim.difference, aim.confidence)
        return row | ({"optimism": self.optimism[method]} if self.optimism else {})

    @property
    def source(self) -> str:
        """What the expected errors are based on, for printing."""
        return "the pilot's errors" if self.optimism else "the grade model alone, which may be too sure of itself"

    def described(self, table: pd.DataFrame) -> str:
        """A table from `table` or `budget_for` as printed, with a heading and remarks."""
        meant = " for queries like those of the pool" if self.queries == NEW else ""
        head = f"{self.measure} of {', '.join(self.names)}{meant}; expected from {self.source}"
        text = table.to_string(index=False, float_format=amount)
        return "\n".join([head, text, *self.notes(table)])

    def notes(self, table: pd.DataFrame) -> list[str]:
        """What must be known before a table is trusted: few queries in the pilot or in the pool, too little budget."""
        pilot = self.pilot.notes if self.pilot else []
        return [*pilot, *filter(None, [tiny_budgets(table)]), *floor_notes(table, self.forecast.queries)]

    def __str__(self) -> str:
        return visible(self.described(self.table()))


def _least(curve: Curve, aim: Aim, query_cost: float = 0.0) -> tuple[Curve, float]:
    """The smallest budget that suffices, for new queries with as many of them as it takes."""
    if isinstance(curve, NewQueriesCurve):
        return curve.cheapest(aim.reached, query_cost)
    return curve, least_budget(curve.total, lambda budget: aim.reached(curve.at(budget)))


def _default_methods(forecast: Forecast) -> list[Method]:
    usual = DESIGN, forecast.graded.usual_drawing
    return [YARDSTICK, *(Method(design, ESTIMATOR, with_replacement=False) for design in usual)]


def _listed(name: str, value: Any, kind: str) -> list[Any]:
    """The argument as a list; raises if it is a text or cannot be iterated over."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list of {kind}, got {shown(value)}")
    return list(value)
