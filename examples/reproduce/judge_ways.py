"""Ways to estimate a measure from an LLM's labels of everything and people's labels of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy import stats

from pt_active.frames.columns import grade_columns
from pt_active.inference.replay import LabelledPool, Method, Population, Repetitions, replay
from pt_active.plans.making.labelled import measured_values
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.draws import pays_for_all, priorities

DEPTH = 20
"""The documents that the runs have in their top 20 are the pool, which has the ideal ranking of nDCG too."""

LEVEL = 0.95
"""The level of the intervals."""

PASSIVE = "people, random queries"


class Case(NamedTuple):
    """What is estimated.

    Attributes:
        population: Values under people's labels, and what the grade model expects.
        documents: The pool for judging single documents.
        alone: float64[m], the values under the judge's own labels.
    """

    population: Population
    documents: LabelledPool
    alone: np.ndarray

    @property
    def truth(self) -> float:
        """The value, or the difference of two."""
        return self.population.truth


class Outcome(NamedTuple):
    """Errors and intervals of many samples, float64[R] each; NaN where there is no interval."""

    error: np.ndarray
    low: np.ndarray
    high: np.ndarray


Way = Callable[[Case, float, int, int], Outcome | None]
"""From a case, a number of labels, repetitions and a seed to what happened; None if the labels do not pay for it."""


def case_of(frame: pd.DataFrame, measure: str, rankers: list[str]) -> Case:
    """A measure of one run, or of the difference of two."""
    ranks = [f"rank_{name}" for name in rankers]
    parsed = parse_measure(measure, 3)
    inside = frame[ranks].ge(0) & frame[ranks].lt(DEPTH)
    frame = frame[inside.any(axis=1)]
    frame = frame.assign(**{name: frame[name].where(frame[name] < DEPTH, -1) for name in ranks})
    pool = Pool.from_frame(frame[["qid", "docno", *ranks, *grade_columns(frame.columns)]], parsed)
    known = pool.keys.merge(frame[["qid", "docno", "label", "said"]], on=["qid", "docno"])
    label, said = (known[name].to_numpy(np.int64) for name in ("label", "said"))
    sizes = np.bincount(pool.query_of_document[pool.seen(parsed)], minlength=len(pool.queries))
    population = Population(
        values=measured_values(pool, parsed, label),
        moments=pool.moments(parsed, samples=300, seed=0),
        uniform=pool.moments(parsed, uniform_grades=True, samples=300, seed=0),
        cost=pool.query_cost,
        weight=pool.query_weight,
        documents=sizes,
    )
    values = measured_values(pool, parsed, said)
    alone = values[:, 0] - values[:, 1] if len(rankers) == 2 else values[:, 0]
    single = LabelledPool(graded_pool(pool, parsed, 0.0), label)
    return Case(population, single, alone)


def random_queries(case: Case, labels: float, repetitions: int, seed: int) -> Iterator[np.ndarray] | None:
    """Random queries, as many as the labels pay for; None if that is fewer than two, or all."""
    cost = case.population.cost
    if labels < max(2 * cost.mean(), cost.max()) or pays_for_all(labels, cost):
        return None
    equal, rng = np.full(len(cost), 1 / len(cost)), np.random.default_rng(seed)
    samples = next(priorities(equal, cost, [labels], repetitions, rng))
    return (order[drawn] for order, drawn in zip(samples.rows, samples.count > 0, strict=True))


def of_queries(estimate: Callable[[Case, np.ndarray], tuple[float, float, float]]) -> Way:
    """A way that judges random queries in full.

    Args:
        estimate: From the case and the drawn queries to the estimate and the ends of its interval.
    """

    def way(case: Case, labels: float, repetitions: int, seed: int) -> Outcome | None:
        samples = random_queries(case, labels, repetitions, seed)
        if samples is None:
            return None
        value, low, high = np.array([estimate(case, rows) for rows in samples]).T
        return Outcome(value - case.truth, low, high)

    return way


def plain_mean(case: Case, rows: np.ndarray) -> tuple[float, float, float]:
    """The mean with its t interval."""
    target = case.population.target[rows]
    if len(rows) < 2:
        return float(target.mean()), np.nan, np.nan
    low, high = stats.t.interval(LEVEL, len(rows) - 1, target.mean(), stats.sem(target))
    return float(target.mean()), float(low), float(high)


def assisted(expected: bool, weight: float | None) -> Callable[[Case, np.ndarray], tuple[float, float, float]]:
    """Prediction-powered inference by ``ppi-python``.

    Args:
        expected: Whether predictions are the grade model's expectations, rather than the values of the judge's labels.
        weight: λ; None tunes it, as PPI++ does.

    Returns:
        An estimate whose predictions are those of all queries, which is the better choice in a pool that is finite.
    """

    def estimate(case: Case, rows: np.ndarray) -> tuple[float, float, float]:
        target, model = case.population.target[rows], case.population.model if expected else case.alone
        parts = target, model[rows], model
        point = float(np.squeeze(ppi_mean_pointestimate(*parts, lam=weight)))
        if len(rows) < 2:
            return point, np.nan, np.nan
        low, high = ppi_mean_ci(*parts, alpha=1 - LEVEL, lam=weight)
        return point, float(np.squeeze(low)), float(np.squeeze(high))

    return estimate


def judge_alone(case: Case, labels: float, repetitions: int, seed: int) -> Outcome:
    """No label of people: the same error in every repetition, and no interval."""
    error = np.full(repetitions, float(case.population.weight @ case.alone) - case.truth)
    return Outcome(error, np.full(repetitions, np.nan), np.full(repetitions, np.nan))


def queries(case: Case, labels: float, repetitions: int, seed: int) -> Outcome | None:
    """Whole queries, chosen and estimated by this package."""
    cost = case.population.cost
    if labels < max(2 * cost.mean(), cost.max()) or pays_for_all(labels, cost):
        return None
    return _replayed(case.population, Method("hedged", "regression", False), labels, repetitions, seed)


def documents(case: Case, labels: float, repetitions: int, seed: int) -> Outcome | None:
    """Single documents, drawn by default and estimated by this package."""
    graded = case.documents.graded
    cost, drawing = graded.prices.cost, graded.usual_drawing
    dearest = np.nanmax(np.add.reduceat(np.nan_to_num(cost), graded.seen.indptr[:-1]))
    if labels >= np.nansum(cost) or (drawing == "depth" and labels < dearest):
        return None
    return _replayed(case.documents, Method(drawing, "regression", False), labels, repetitions, seed)


def _replayed(pool: Population | LabelledPool, method: Method, labels: float, repetitions: int, seed: int) -> Outcome:
    how = Repetitions(repetitions, seed)
    found = replay(pool, [method], [labels], how)[method.estimator]
    low, high = found.intervals(LEVEL)
    return Outcome(found.error[0], low[0], high[0])


WAYS: dict[str, Way] = {
    "LLM alone": judge_alone,
    PASSIVE: of_queries(plain_mean),
    "PPI": of_queries(assisted(False, 1.0)),
    "PPI++": of_queries(assisted(False, None)),
    "PPI++, expected labels": of_queries(assisted(True, None)),
    "pt_active, queries": queries,
    "pt_active, documents": documents,
}
"""The ways by name. PRECISE uses PPI++ on expected labels."""
