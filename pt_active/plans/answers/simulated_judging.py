"""How many labels until a difference is known, if judging may stop at any of them [theory 14]?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

import numpy as np

from pt_active.frames.progress import bar
from pt_active.inference.replay import Method
from pt_active.inference.stopping.bets import Stakes, excluded
from pt_active.inference.stopping.draws import Units
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.answers.labelled import Contrast, contrasts_of
from pt_active.plans.answers.sequence import (
    document_contributions,
    document_stakes,
    document_units,
    document_weight,
    planned_stakes,
    query_units,
)
from pt_active.relevance.measures import has_rank_form
from pt_active.relevance.moments import document_moments
from pt_active.sampling.designs import contrast_moments
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.successive import Succession, priorities_of

_REPLAYS = 200  # Evaluations that are replayed


class Effort(NamedTuple):
    """What each of R replayed evaluations takes until its verdict, or until everything is judged."""

    labels: np.ndarray  # float64[R], the number of labels
    cost: np.ndarray  # float64[R], what they cost


class _Replay(NamedTuple):
    """One evaluation, judged to the end."""

    units: Units  # The population in the order in which it comes
    contribution: np.ndarray  # float64[N], what the labels of each unit contribute
    stakes: Stakes  # How the bets are spread
    labels: np.ndarray  # int64[T], the number of labels that each draw takes
    cost: np.ndarray  # float64[T], what they cost


def simulated_effort(
    forecast: Forecast,
    method: Method,
    difference: float,
    budget: float,
    alpha: float,
    scale: float,
    progress: bool,
) -> Effort:
    """Replay evaluations with labels from the grade model, whose variance is scaled, until each has its verdict."""
    rng = np.random.default_rng(forecast.seed)
    contrasts = contrasts_of(len(forecast.pool.names))
    of_units, level = _of_documents if method.of_documents else _of_queries, alpha / len(contrasts)
    labels, cost = np.zeros((2, _REPLAYS))
    replays = of_units(forecast, method, cycle(contrasts), budget, level, rng)
    shown = bar(range(_REPLAYS), "until known", unit="replay", shown=progress, leave=False)
    for i, each in zip(shown, replays, strict=False):
        units = each.units
        error = np.sqrt(scale) * (each.contribution - each.units.mean)
        draws = units.judged(np.clip(units.mean + error, units.low, units.high), len(units.rate))
        at = excluded(draws, each.stakes, float(draws.base[-1]) - difference, level / 2)
        some = slice(at if at >= 0 else None)
        labels[i], cost[i] = each.labels[some].sum(), each.cost[some].sum()
    return Effort(labels, cost)


def _of_queries(
    forecast: Forecast, method: Method, pairs: Iterator[Contrast], budget: float, alpha: float, rng: np.random.Generator
) -> Iterator[_Replay]:
    pool, q, measure, moments = forecast.pool, forecast.distribution(method), forecast.measure, forecast.moments
    counts = np.bincount(pool.query_of_document[pool.seen(measure)], minlength=len(q))
    reachable = np.flatnonzero(q > 0)
    for contrast in pairs:
        rows = reachable[np.argsort(rng.exponential(size=len(reachable)) / q[reachable])]
        units = query_units(pool, measure, moments, contrast, rows, q[rows])
        stakes = planned_stakes(units, pool.query_cost[rows], budget, alpha)
        if has_rank_form(measure):
            known = np.eye(pool.max_grade + 1)[_simulated_labels(pool.grades, rng)]
            value = contrast.of(document_moments(measure, pool.indptr, pool.ranks, known, pool.max_grade))
        else:  # normal, with the moments of the model
            mean, variance = contrast_moments(moments, contrast.first, contrast.second)
            value = mean + np.sqrt(variance) * rng.standard_normal(len(q))
        yield _Replay(units, pool.query_weight[rows] * value[rows], stakes, counts[rows], pool.query_cost[rows])


def _simulated_labels(grades: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int64[N], independent labels from ``P(y = g)``, float64[N, G+1]."""
    return np.asarray((rng.random((len(grades), 1)) > np.cumsum(grades, axis=1)[:, :-1]).sum(axis=1))


def _of_documents(
    forecast: Forecast, method: Method, pairs: Iterator[Contrast], budget: float, alpha: float, rng: np.random.Generator
) -> Iterator[_Replay]:
    pool, seen = forecast.pool, forecast.graded.seen
    sizes, prices = forecast.sizes(method), forecast.graded.prices
    design = document_design(sizes, method.design, prices, budget)
    for contrast in pairs:
        order = Succession(design, priorities_of(design, rng.exponential(size=len(pool.docno))), prices)
        weight = document_weight(seen, contrast.weights(len(pool.names)))
        units, label = document_units(seen.form, pool.grades, order, weight), _simulated_labels(pool.grades, rng)
        contribution, _, _ = document_contributions(seen.form, pool.grades, weight, label)[:, order.order]
        cost, stakes = np.diff(order.spent, prepend=0.0), document_stakes(units, order, budget, alpha)
        yield _Replay(units, contribution, stakes, np.ones(len(cost), dtype=np.int64), cost)
