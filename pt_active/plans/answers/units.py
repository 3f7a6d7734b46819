"""What can each unit contribute to a contrast, and what does the model expect of it [theory 14]?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.residuals import steps
from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Units
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.relevance.bounds import cascade_reach, document_bounds
from pt_active.relevance.measures import has_rank_form
from pt_active.relevance.moments import discounts
from pt_active.sampling.chances import expected_size
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


def planned_stakes(units: Units, cost: np.ndarray, budget: float, alpha: float, nested: bool = False) -> Stakes:
    """Bets for about as many draws as a budget is expected to pay for; ``cost`` is float64[T], that of each draw.

    They must not depend on the order to come. What a ``nested`` step costs does, so each counts with the mean.
    """
    number, variance = len(units.rate), float(units.expected[0]) if len(units.expected) else 1.0
    each = np.full(number, cost.sum() / number) if nested else cost
    return Stakes.planned(variance, number, expected_size(units.rate, each, budget), alpha)


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
    rows: np.ndarray,
    rate: np.ndarray,
    moments: tuple[np.ndarray, np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
) -> Units:
    """The queries at some rows, in the order in which they come, as units of one contrast; ``weight`` is float64[m]."""
    mean, variance = moments
    low, high = (weight * bound for bound in bounds)
    never = np.ones(len(weight), dtype=bool)
    never[rows] = False
    check_reached(((high > low) & never).sum(), "queries")
    spread = weight**2 * (variance + weight @ variance) + RANGE_VARIANCE * (high - low) ** 2
    mean = np.clip(weight * mean, low, high)
    return Units.one_by_one(rate, mean[rows], spread[rows], low[rows], high[rows])


def document_units(
    seen: DocumentPool,
    grades: np.ndarray,
    order: Succession,
    before: np.ndarray,
    passed: np.ndarray,
    weights: np.ndarray,
) -> tuple[Units, Contributions]:
    """The units of a block of documents for one contrast, and what labels let them contribute."""
    variables = Variables.of(seen.form, grades, before)
    if order.design.unit == "step":
        return _cascade(seen, variables, order, weights)
    return _additive(seen, variables, order, passed, weights)


def _additive(
    seen: DocumentPool,
    variables: Variables,
    order: Succession,
    passed: np.ndarray,
    weights: np.ndarray,
) -> tuple[Units, Contributions]:
    """The units of an additive measure: documents, or whole queries."""
    weight = seen.weight[seen.query] * (weights @ discounts(seen.form, seen.ranks))
    documents, ends = order.order, order.ends
    ahead = np.zeros(len(weight), dtype=bool)
    ahead[documents] = True
    passed = passed & ~ahead
    check_reached(((weight != 0) & ~ahead & ~variables.known & ~passed).sum(), "documents")
    low, high = document_bounds(seen.form, weight)
    variance = hedged(variables, weight[None], 1.0).variance
    spread = weight**2 * variance + RANGE_VARIANCE * (high - low) ** 2
    starts = np.r_[0, ends[:-1]]

    def by_unit(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values[documents], starts)

    parts = weight * variables.mean, low, high
    settled = float(parts[0][variables.known | passed].sum())
    unsettled = float((parts[0] - low)[passed].sum()), float((high - parts[0])[passed].sum())
    rate = _rates(order)[documents][starts]
    mean, spread, least, most = map(by_unit, (parts[0], spread, low, high))
    units = Units.one_by_one(rate, mean, spread, least, most, settled, unsettled)

    def known(label: np.ndarray) -> Known:
        judged = weight * seen.form.values[label]
        return Known(*(by_unit(np.where(label >= 0, judged, part)) for part in parts))

    return units, known


def _cascade(
    seen: DocumentPool, variables: Variables, order: Succession, weights: np.ndarray
) -> tuple[Units, Contributions]:
    """The steps of a cascade; each contributes by how much its labels change the expectation.

    A step that has no rate of its own is taken together with the next deeper one. The label of a document changes the
    expectation by ``(κ − μ) D``, where D of each ranker lies between 0 and the weight of its rank.
    """
    price = seen.weight[seen.query]
    documents, rate = order.design.order, _rates(order)[order.design.order]
    query = seen.query[documents]
    own = rate - np.r_[np.where(query[1:] == query[:-1], rate[1:], 0.0), 0.0]
    ends = np.flatnonzero(own > 0)
    starts = np.r_[0, ends[:-1] + 1]

    discount = discounts(seen.form, seen.ranks)
    lower, upper = (price * (np.where(sign * weights > 0, weights, 0.0) @ discount) for sign in (-1, 1))
    below, above = -variables.mean, seen.form.values.max() - variables.mean
    corners = np.stack([upper * above, upper * below, lower * above, lower * below])
    low, high = corners.min(axis=0), corners.max(axis=0)
    spread = (price * (weights @ seen.gradients(variables.mean))) ** 2 * variables.variance
    spread = spread + RANGE_VARIANCE * (high - low) ** 2

    def change(label: np.ndarray) -> Known:
        counted = judged_from_the_top(documents, query, label)
        labelled = documents[counted[documents]]
        observed = np.where(label >= 0, seen.form.values[label], variables.mean)
        each = (weights @ steps(seen, labelled, variables.mean, observed)) * price
        parts = (np.where(counted, each, part)[documents] for part in (np.zeros(len(price)), low, high))
        return Known(*(np.add.reduceat(part, starts) for part in parts))

    spread, least, most = (np.add.reduceat(part[documents], starts) for part in (spread, low, high))
    reach = cascade_reach(seen.form, seen.indptr, documents, seen.ranks, variables.mean, weights)[:, starts]
    turn = np.unique(order.priority[documents[ends]], return_inverse=True)[1]
    # A draw makes several steps known; the one that was drawn is the deepest of them.
    drawn = np.zeros(turn.max() + 1, dtype=np.int64)
    drawn[turn] = np.arange(len(ends))
    settled = float(seen.weight @ (seen.values(variables.mean) @ weights))
    found = own[ends], np.zeros(len(ends)), spread, least, most, turn, drawn
    return Units(*found, settled, chain=query[ends], reach=reach * price[documents[starts]]), change


def judged_from_the_top(documents: np.ndarray, query: np.ndarray, label: np.ndarray) -> np.ndarray:
    """bool[N], the documents that are judged with all above them: what one adds to a cascade depends on those."""
    absent = np.cumsum(label[documents] < 0)
    first = np.searchsorted(query, query)
    before = absent[first] - (label[documents[first]] < 0)
    counted = np.zeros(len(label), dtype=bool)
    counted[documents] = absent == before
    return counted


def _rates(order: Succession) -> np.ndarray:
    assert order.design.rate is not None, "documents that come one after the other have rates"
    return order.design.rate
