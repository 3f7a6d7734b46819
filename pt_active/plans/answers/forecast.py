"""Which errors does the model expect, are documents or queries more precise, and is a plan large enough [theory 10]?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import check_known, how_many, level, number, positive, shown, some
from pt_active.inference.drawn_documents import expected_gain, pool_sizes
from pt_active.inference.estimators import ESTIMATOR, degrees_left, estimator_named
from pt_active.inference.new_queries import ByQuery, expected_spread
from pt_active.inference.replay import Method
from pt_active.inference.residuals import COMMON_SHARE
from pt_active.inference.stopping.error_curve import ErrorCurve, ExpectedError
from pt_active.inference.ties import settled
from pt_active.plans.answers.basis import SAMPLED, SUFFICIENT_DEGREES, clustered
from pt_active.plans.making.documents import document_settings
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import LevelChoice, PlanArguments
from pt_active.plans.making.pool import Pool, graded_pool, seen_by
from pt_active.plans.making.queries import DESIGN, sample_of
from pt_active.relevance.digits import rounded
from pt_active.relevance.moments import Moments
from pt_active.sampling.chances import EXPONENTIAL
from pt_active.sampling.designs import (
    DEFENSIVE_SHARE,
    DESIGNS,
    contrasts,
    defensive_share,
    needs_uniform_grades,
    sampling_distribution,
)
from pt_active.sampling.drawings import (
    DOCUMENT_DRAWINGS,
    DrawingSettings,
    can_serve_singles,
    usual_variance,
)
from pt_active.sampling.pools import GradedPool, Variables
from pt_active.sampling.sample import DocumentSizes
from pt_active.showing.rounding import amount

LEVELS = ("query", "document")
"""What is sampled: whole queries, each judged down to the measure's cutoff, or single documents."""

SUFFICIENT_PILOT = 30  # With so many queries or more, a pilot's own errors say more than the model's opinion of them
MIN_DOCUMENTS = 4  # Fewer documents are no sample that an interval can rest on
_USUAL_SHARE = 0.1  # The share of the pool's cost at which levels are compared if no budget is given
_MAX_QUERIES = 2000  # Of more queries, only every n-th is used to compare levels
_CONFIDENCE = 0.95  # The level of the intervals whose half-widths are compared


@dataclass(frozen=True)
class Forecast:
    """The pool and its costs from which errors are foreseen, and how the plan samples if there is one."""

    pool: Pool  # All queries
    measure: irm.Measure  # What is to be measured
    per_query: float  # The cost of opening a query
    settings: Mapping[str, DrawingSettings] = field(default_factory=dict)  # Design → how it samples, if that is known
    seed: int = 0  # Seed of Monte Carlo, for measures that need it
    _kept: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, tables: PlanTables) -> Forecast:
        """The pool, measure, costs and settings of a plan."""
        arguments, pool = tables.manifest.arguments, tables.pool
        if later := tables.manifest.later_rankers:
            raise ValueError(f"the costs of the documents of later rankers are not known ({some(later)})")
        settings = {arguments.design: document_settings(arguments, pool.names)}
        return cls(pool, tables.measure, arguments.per_query, settings, arguments.seed)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the measure under the grade model."""
        return self.pool.moments(self.measure, seed=self.seed)

    @cached_property
    def graded(self) -> GradedPool:
        """The pool as documents are drawn from it."""
        return graded_pool(self.pool, self.measure, self.per_query)

    def document_gain(self, drawing: str | None = None) -> np.ndarray:
        """float64[N], ``p² E δ²`` of each document under the model, computed once for each drawing."""
        drawing = drawing or self.graded.usual_drawing
        if drawing not in self._kept:
            self._kept[drawing] = expected_gain(self.graded, drawing, self.seed)
        return np.asarray(self._kept[drawing])

    @cached_property
    def common_gain(self) -> np.ndarray:
        """float64[m], ``p² ρ [(Σ D √v)² − Σ D² v]``, what common errors of documents add for an additive measure."""
        seen, m = self.graded.seen, len(self.pool.query_weight)
        if len(self.pool.names) > 1 or seen.form.family != "additive":
            return np.zeros(m)
        variables = Variables.of(seen.form, self.pool.grades)
        error = np.abs(seen.gradients(variables.mean)[0]) * np.sqrt(variables.variance)
        alone, together = np.bincount(seen.query, error**2, m), np.bincount(seen.query, error, m) ** 2
        return np.asarray(seen.weight**2 * COMMON_SHARE * (together - alone))

    def distribution(self, method: Method) -> np.ndarray:
        """float64[m], q of a design of queries, with its settings or the usual ones."""
        pool, uniform = self.pool, None
        if needs_uniform_grades(method.design):
            uniform = pool.moments(self.measure, uniform_grades=True, seed=self.seed)
        own = self.settings.get(method.design, DrawingSettings(method.design, DEFENSIVE_SHARE))
        about = method.design, self.moments, pool.query_cost, pool.query_weight, own.defensive, uniform
        return sampling_distribution(*about, pairs=own.pairs)

    def sizes(self, method: Method) -> DocumentSizes:
        """The sizes of the documents for a way to draw them, with its settings or the usual ones."""
        usual = DrawingSettings(method.design, usual_variance(self.graded.seen.form), serves_singles=True)
        return pool_sizes(self.graded, self.settings.get(method.design, usual))

    def curve(self, method: Method) -> tuple[ErrorCurve, np.ndarray]:
        """The errors of a method at each budget, as the model expects them; computed once."""
        if method not in self._kept:
            of = self._curve_of_documents if method.of_documents else self._curve_of_queries
            self._kept[method] = of(method)
        curve, gain = self._kept[method]
        return curve, gain

    @cached_property
    def by_contrast(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Mean and variance, float64[m], of the only ranker, or of the difference of each pair, under the model."""
        if self.graded.seen.form.family != "revealed":
            return contrasts(self.moments)
        # By the labels of a query together, as for documents: drawn alone, they would seem to err independently.
        pool, weight = self.pool, self.pool.query_weight
        gain = np.bincount(pool.query_of_document, self.document_gain(), minlength=len(weight))
        variance = np.divide(gain, weight**2, out=np.zeros_like(gain), where=weight > 0)
        return [(mean, variance) for mean, _ in contrasts(self.moments)]

    @property
    def queries(self) -> int:
        """How many queries count, m."""
        return int((self.pool.query_weight > 0).sum())

    def spread(self, clusters: str | None) -> tuple[float, float]:
        """``E S²/m`` under the model, and its degrees of freedom, for a column of clusters [theory 16]."""
        weight, spreads = self.pool.query_weight, []
        for mean, variance in self.by_contrast:
            by_query = clustered(ByQuery(weight, mean, 0.0), self.pool.queries, clusters)
            spreads.append(expected_spread(by_query, weight**2 * variance + self.common_gain))
        return float(settled(np.sqrt(np.mean(spreads)), self.size)) ** 2, by_query.degrees

    @property
    def size(self) -> float:
        """The largest value of a contrast under the model, without signs, beside which errors may be rounding."""
        return max(float(self.pool.query_weight @ np.abs(mean)) for mean, _ in self.by_contrast)

    def _curve_of_queries(self, method: Method) -> tuple[ErrorCurve, np.ndarray]:
        pool, weight, q = self.pool, self.pool.query_weight, self.distribution(method)
        kind = estimator_named(method.estimator)
        parts = [kind.expected(mean, variance, weight) for mean, variance in self.by_contrast]
        gain = weight**2 * np.mean(parts, axis=0) + self.common_gain
        documents = np.bincount(pool.query_of_document[pool.seen(self.measure)], minlength=len(weight)).astype(float)
        units = q, gain, pool.query_cost, documents, np.arange(len(weight))
        return ErrorCurve(*units, share=weight, fitted=kind.fitted, law=EXPONENTIAL), gain

    def _curve_of_documents(self, method: Method) -> tuple[ErrorCurve, np.ndarray]:
        pool, sizes = self.pool, self.sizes(method)
        gain, order = self.document_gain(method.design), sizes.order
        if method.design == "depth":
            # What a query's documents have in common becomes known with the most probable of them.
            query = pool.query_of_document[order]
            by_size = order[np.lexsort([-sizes.size[order], query])]
            first = by_size[np.searchsorted(query, np.unique(query))]
            gain = gain + np.bincount(first, self.common_gain[pool.query_of_document[first]], minlength=len(gain))
        cost, query = pool.document_cost[order], pool.query_of_document[order]
        units = sizes.size[order], gain[order], cost, query
        return ErrorCurve.of_documents(*units, self.per_query, method.design), gain


def foreseen(tables: PlanTables) -> Forecast | None:
    """The pool and costs of a plan; None if errors cannot or need not be foreseen."""
    return None if tables.manifest.later_rankers or tables.manifest.census else Forecast.of(tables)


def method_of(arguments: PlanArguments, estimator: str = ESTIMATOR) -> Method:
    """The method of a plan with these arguments, taken to sample without replacement and in one round."""
    return Method(arguments.design, estimator, with_replacement=False)


def level_told(level: str | None, design: str | None, *, only_queries: bool) -> str | None:
    """The level that the arguments of a plan leave no choice about; None if they leave it open."""
    if level is not None:
        check_known("level", level, LEVELS)
        return level
    if design is not None:
        if not (isinstance(design, str) and design in (*DESIGNS, *DOCUMENT_DRAWINGS)):
            known = (
                f"for queries it is one of {', '.join(DESIGNS)}, for documents one of {', '.join(DOCUMENT_DRAWINGS)}"
            )
            raise ValueError(f"unknown design {shown(design)}; {known}")
        return "query" if design in DESIGNS else "document"
    return "query" if only_queries else None


def level_chosen(
    forecast: Forecast, budget: float | None, defensive: float | None = None, pairs: np.ndarray | None = None
) -> LevelChoice:
    """Choose documents, unless whole queries are expected to be more precise."""
    queries = len(forecast.pool.query_weight)
    if queries > _MAX_QUERIES:
        # Evenly spread in the order of the qids.
        some = forecast.pool.select(np.arange(0, queries, -(-queries // _MAX_QUERIES)))
        some = replace(some, query_weight=some.query_weight / some.query_weight.sum())
        forecast = replace(forecast, pool=some)
    pool, form = forecast.pool, forecast.graded.seen.form
    share = len(pool.query_weight) / queries
    spend = _USUAL_SHARE * float(pool.query_cost.sum()) if budget is None else budget * share
    draws = spend / share / float(pool.query_weight @ pool.query_cost)
    drawing = forecast.graded.usual_drawing
    usual = {DESIGN: defensive_share(draws), drawing: usual_variance(form)}
    settings = {}
    for design, caution in usual.items():
        caution = caution if defensive is None or (design == DESIGN and defensive > 1) else defensive
        settings[design] = DrawingSettings(design, caution, pairs=pairs, serves_singles=True)
    forecast = replace(forecast, settings=settings)
    width = {design: _half_width(forecast, design, spend) * float(np.sqrt(share)) for design in usual}
    by_query = bool(rounded(width[DESIGN]) < rounded(width[drawing]))
    chosen, other = (DESIGN, drawing) if by_query else (drawing, DESIGN)
    own, its = (width[each] if np.isfinite(width[each]) else None for each in (chosen, other))
    return LevelChoice(LEVELS[not by_query], chosen, own, other, its)


def _half_width(forecast: Forecast, design: str, budget: float) -> float:
    """The half-width to expect; what the design would warn of, the plan itself will say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curve, _ = forecast.curve(Method(design, ESTIMATOR, with_replacement=False))
        return float(settled(curve.at(budget).half_width(_CONFIDENCE), forecast.size))


@dataclass(frozen=True)
class Aim:
    """The half-width of an interval, or the power to find a difference; a ValueError if that is out of range."""

    confidence: float
    power: float
    difference: float | None = None
    width: float | None = None

    def __post_init__(self) -> None:
        level("confidence", self.confidence)
        if not 1 - self.confidence < number("power", self.power) < 1:
            least = f"{1 - self.confidence:.2g} (the level of the test)"
            raise ValueError(f"power must lie between {least} and 1, got {self.power}")
        given = self.difference
        if given is not None and not (np.isfinite(number("difference", given)) and given != 0):
            raise ValueError(f"difference must be a number other than 0, got {given}")
        if self.width is not None:
            positive("width", self.width)

    def reached(self, expected: ExpectedError) -> bool:
        """Whether an error is small enough."""
        if self.width is not None:
            return expected.half_width(self.confidence) <= self.width
        return expected.power(self.difference or 0.0, self.confidence) >= self.power


def tiny_budgets(table: pd.DataFrame) -> str:
    """What to say about the rows whose budget buys too little for an interval; empty if there are none."""
    if "documents" not in table.columns:
        return ""
    single = (table["level"] == "query") & (table["queries"] < 2)
    rows = table[(table["documents"] < MIN_DOCUMENTS) | single]
    said = f"Some budgets buy fewer than {MIN_DOCUMENTS} documents or less than two queries, too few for an interval"
    return "" if rows.empty else f"{said}: {_listed(rows)}."


def floor_notes(table: pd.DataFrame, pool: int) -> list[str]:
    """What to say about new queries: the error that no label removes, and where queries are needed and not labels."""
    if "floor" not in table.columns:
        return []
    more = table[table["topics"] > pool]
    if not more.empty:
        asked = ", ".join(dict.fromkeys(f"{row.topics:,} for {row.level} {row.design}" for row in more.itertuples()))
        return [f"Add queries, not only labels: the pool has {pool:,}, and this takes {asked}."]
    if (own := table.loc[table["topics"] == pool, "floor"]).empty:
        return []
    floor = f"an error of {own.iloc[0]:.4g}, the floor of {how_many('query', pool)}"
    return [f"Judging everything leaves {floor}: where that is most of the error, add queries, not labels."]


def _listed(rows: pd.DataFrame) -> str:
    budgets = rows["budget"].map(amount)
    return ", ".join(dict.fromkeys(rows["level"] + " " + rows["design"] + " at " + budgets))


def interval_caution(tables: PlanTables) -> str:
    """The caution that an interval of the plan is to expect from the number of its draws; empty if there is none."""
    if tables.manifest.census:
        return ""
    if tables.documents:
        sample = tables.documents.sample
        unit = SAMPLED["query" if sample.design.nested else "document"]  # Labels from the top of a query err together
        opened = len(np.unique(tables.pool.query_of_document[sample.drawn]))
        degrees = float(opened if sample.design.nested else sample.drawn.sum()) - 1
    else:
        queries, unit = sample_of(tables), SAMPLED["query"]
        weights = queries.importance(tables.pool.query_weight)
        degrees = float(degrees_left(queries, weights, estimator_named(ESTIMATOR).fitted))
    if not degrees > 0:
        return "these are too few draws for an interval; a larger budget buys more"
    if degrees < SUFFICIENT_DEGREES:
        few = f"the error will be estimated from few {unit}, with {degrees:.1f} degrees of freedom"
        return f"{few}: a larger budget makes its interval more reliable"
    return ""


def single_rankers_caution(tables: PlanTables) -> str:
    """The caution that single rankers may have no interval, if documents that matter to them alone are never judged."""
    pool, design = tables.pool, tables.manifest.arguments.design
    if tables.documents is None or len(pool.names) == 1 or tables.manifest.later_rankers:
        return ""
    never = tables.documents.sample.design.inclusion == 0
    served = can_serve_singles(seen_by(tables.measure, pool).form, design)
    if served or not (never & pool.seen(tables.measure)).any():
        return ""
    return (
        "the plan is for differences: single rankers may have no intervals, because some documents that matter to them "
        'alone are never judged; design="successive" judges them'
    )
