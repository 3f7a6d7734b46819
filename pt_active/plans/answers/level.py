"""Single documents or whole queries: which is more precise at a budget, and what would the other give [theory 10]?"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from pt_active.frames.checks import shown
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.replay import Method
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.making.manifest import LevelChoice
from pt_active.plans.making.queries import DESIGN
from pt_active.sampling.designs import DESIGNS, defensive_share
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, RoundSettings, natural_drawing, usual_variance

LEVELS = ("query", "document")
"""What is sampled: whole queries, each judged down to the measure's cutoff, or single documents."""

_USUAL_SHARE = 0.1  # The share of the pool's cost at which levels are compared if no budget is given
_MAX_QUERIES = 2000  # Of more queries, only every n-th is used to compare levels
_CONFIDENCE = 0.95  # The level of the intervals whose half-widths are compared


def level_told(level: str | None, design: str | None, *, only_queries: bool, objective: str = "mean") -> str | None:
    """The level that the arguments of a plan leave no choice about; None if they leave it open."""
    if level is not None:
        if level not in LEVELS:
            raise ValueError(f"unknown level {shown(level)}; it is one of {', '.join(LEVELS)}")
        return level
    if design is not None and not (isinstance(design, str) and design in (*DESIGNS, *DOCUMENT_DRAWINGS)):
        raise ValueError(
            f"unknown design {shown(design)}; for queries it is one of {', '.join(DESIGNS)}, for documents one of "
            f"{', '.join(DOCUMENT_DRAWINGS)}"
        )
    if design is not None:
        return "query" if design in DESIGNS else "document"
    if only_queries:
        return "query"
    return None if objective == "mean" else "document"


def level_chosen(
    forecast: Forecast, budget: float | None, defensive: float | None = None, pairs: np.ndarray | None = None
) -> LevelChoice:
    """Choose documents, unless whole queries are expected to be more precise."""
    queries = len(forecast.pool.query_weight)
    return level_by_part(_thinned(forecast), queries, budget, defensive, pairs)


def level_by_part(
    forecast: Forecast,
    queries: int,
    budget: float | None,
    defensive: float | None = None,
    pairs: np.ndarray | None = None,
) -> LevelChoice:
    """The choice of `level_chosen` from a part of the queries."""
    pool, form = forecast.pool, forecast.graded.seen.form
    share = len(pool.query_weight) / queries
    spend = _USUAL_SHARE * float(pool.query_cost.sum()) if budget is None else budget * share
    draws = spend / share / float(pool.query_weight @ pool.query_cost)
    drawing = natural_drawing(form, len(pool.names), forecast.per_query)
    usual = {DESIGN: defensive_share(draws), drawing: usual_variance(form)}
    width = {}
    for design, caution in usual.items():
        caution = caution if defensive is None or (design == DESIGN and defensive > 1) else defensive
        settings = RoundSettings(design, caution, pairs=pairs, weighed_at=spend, serves_singles=True)
        width[design] = _half_width(forecast, settings, spend) * float(np.sqrt(share))
    by_query = width[DESIGN] < width[drawing]
    chosen, other = (DESIGN, drawing) if by_query else (drawing, DESIGN)
    return LevelChoice(LEVELS[not by_query], chosen, _finite(width[chosen]), other, _finite(width[other]))


def rows_to_compare(queries: int) -> np.ndarray:
    """int64[n], at most `_MAX_QUERIES` queries, evenly spread in the order of the qids."""
    return np.arange(0, queries, -(-queries // _MAX_QUERIES))


def _thinned(forecast: Forecast) -> Forecast:
    """The same with the queries of `rows_to_compare`."""
    number = len(forecast.pool.query_weight)
    if number <= _MAX_QUERIES:
        return forecast
    pool = forecast.pool.select(rows_to_compare(number))
    return replace(forecast, pool=replace(pool, query_weight=pool.query_weight / pool.query_weight.sum()))


def _half_width(forecast: Forecast, settings: RoundSettings, budget: float) -> float:
    """The half-width to expect; what the design would warn of, the plan itself will say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curve, _ = forecast.curve(Method(settings.drawing, ESTIMATOR, with_replacement=False), settings)
        return curve.half_width(budget, _CONFIDENCE)


def _finite(width: float) -> float | None:
    return width if np.isfinite(width) else None
