"""What can each unit contribute to a contrast, and what does the model expect of it [theory 14]?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Units
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.relevance.bounds import contrast_bounds, document_bounds
from pt_active.relevance.measures import has_rank_form
from pt_active.relevance.moments import Moments, discounts
from pt_active.sampling.chances import expected_size
from pt_active.sampling.designs import contrast_moments
from pt_active.sampling.documents import hedged
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.successive import Succession

RANGE_VARIANCE = 1e-3
"""Share of its squared range that is added to the variance of each unit, so that none counts as certain."""


class Known(NamedTuple):
    """What labels let each unit contribute, float64[number of units] each; all three are equal where it is judged."""

    value: np.ndarray
    least: np.ndarray
    most: np.ndarray


Contributions = Callable[[np.ndarray], Known]
"""From int64[N], all labels, -1 where there is none, to what each unit contributes."""


def check_reached(missed: int, what: str) -> None:
    """Raise if units never come that can change the result."""
    if number := int(missed):
        raise ValueError(f"{number} {what} that can change the result are never drawn, so nothing can be proved")


def planned_stakes(units: Units, cost: np.ndarray, budget: float, alpha: float) -> Stakes:
    """Bets for about as many draws as a budget is expected to pay for; ``cost`` is float64[T], that of each draw.

    They must not depend on the order to come.
    """
    number, variance = len(units.rate), float(units.expected[0]) if len(units.expected) else 1.0
    return Stakes.planned(variance, number, expected_size(units.rate, cost, budget), alpha)


def partly_judged(
    measure: irm.Measure, pool: Pool, label: np.ndarray, weights: np.ndarray, units: Units, rows: np.ndarray
) -> Known:
    """What queries contribute that are not fully judged, float64[number of rows] each."""
    if not (has_rank_form(measure) and (form := seen_by(measure, pool).form).family == "additive"):
        return Known(units.mean, units.low, units.high)
    weight = pool.query_weight[pool.query_of_document] * (weights @ discounts(form, pool.ranks))
    judged, parts = weight * form.values[label], (weight * (pool.grades @ form.values), *document_bounds(form, weight))
    sums = (
        np.bincount(pool.query_of_document, np.where(label >= 0, judged, part), minlength=len(pool.queries))
        for part in parts
    )
    return Known(*(each[rows] for each in sums))


def query_units(
    pool: Pool, measure: irm.Measure, moments: Moments, contrast: Contrast, rows: np.ndarray, rate: np.ndarray
) -> Units:
    """The queries at some rows, in the order in which they come, as units of one contrast."""
    weight = pool.query_weight
    bounds = contrast_bounds(measure, pool.indptr, pool.ranks, pool.max_grade, contrast.weights(len(pool.names)))
    mean, variance = contrast_moments(moments, contrast.first, contrast.second)
    low, high = (weight * bound for bound in bounds)
    never = np.ones(len(weight), dtype=bool)
    never[rows] = False
    check_reached(((high > low) & never).sum(), "queries")
    spread = weight**2 * (variance + weight @ variance) + RANGE_VARIANCE * (high - low) ** 2
    mean = np.clip(weight * mean, low, high)
    return Units(rate, mean[rows], spread[rows], low[rows], high[rows])


def document_units(
    seen: DocumentPool, grades: np.ndarray, order: Succession, weights: np.ndarray
) -> tuple[Units, Contributions]:
    """The documents as units of one contrast, and what labels let them contribute."""
    variables = Variables.of(seen.form, grades)
    weight = seen.weight[seen.query] * (weights @ discounts(seen.form, seen.ranks))
    documents, rate = order.order, order.design.rate
    assert rate is not None, "documents that come one after the other have rates"
    never = np.ones(len(weight), dtype=bool)
    never[documents] = False
    check_reached(((weight != 0) & never).sum(), "documents")
    low, high = document_bounds(seen.form, weight)
    variance = hedged(variables, weight[None], 1.0).variance
    spread = weight**2 * variance + RANGE_VARIANCE * (high - low) ** 2
    mean = weight * variables.mean
    units = Units(rate[documents], mean[documents], spread[documents], low[documents], high[documents])

    def known(label: np.ndarray) -> Known:
        judged = weight * seen.form.values[label]
        return Known(*(np.where(label >= 0, judged, part)[documents] for part in (mean, low, high)))

    return units, known


def document_stakes(units: Units, order: Succession, budget: float, alpha: float) -> Stakes:
    """The same for documents; what opens a query depends on the order, so openings count as their share of it all."""
    cost = order.prices.cost[order.order]
    return planned_stakes(units, cost, budget * float(cost.sum() / order.spent[-1]), alpha)
