"""Drawing queries from a distribution: with replacement, to a budget or a number of draws [theory 4]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PATIENCE = 100
"""Draws for each query of the pool after which drawing ends even if no draw has overspent."""


@dataclass(frozen=True)
class Sample:
    """What was drawn.

    Attributes:
        draws: int64[m], how often each query was drawn.
        importance: float64[m], ``p/q``; NaN where a query was not drawn.
        census: Whether the budget pays for every query, so that all of them are judged and nothing is left
            to chance. Then each counts once, with importance ``m p``.
    """

    draws: np.ndarray
    importance: np.ndarray
    census: bool = False


def draw_number(q: np.ndarray, weight: np.ndarray, draws: int, rng: np.random.Generator) -> Sample:
    """Draw a fixed number of times with replacement.

    Args:
        q: float64[m], sums to 1.
        weight: float64[m], p.
        draws: How many, at least 1.
        rng: Source of randomness.

    Raises:
        ValueError: If ``draws`` is below 1 or q is not a distribution.
    """
    _check_distribution(q)
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    return _sample(rng.multinomial(draws, q / q.sum()), q, weight)


def draw_to_budget(
    q: np.ndarray, weight: np.ndarray, cost: np.ndarray, budget: float, rng: np.random.Generator
) -> Sample:
    """Draw with replacement until the budget is spent, never beyond it [theory 4, T Alg. 2, 3].

    A query that is drawn again is looked up, not judged, so it costs nothing the second time. Drawing goes on until
    a draw would overspend; that draw is dropped. Given their number, the draws that are kept could as well have come
    in any other order, so their plain mean is exactly unbiased, as long as the budget pays for any single query.
    Stopping after a draw that is kept, such as the first after which ``spent > Λ − λ_max``, is not: the last draw is a
    dear one too often (Glynn and Heidelberger 1990). Where what is left to draw is so improbable that no draw would
    overspend for long, drawing ends after about `PATIENCE` draws for each query of the pool; that keeps the mean
    unbiased too.

    The draws are the arrivals of independent Poisson processes with rates q, whose order is that of
    independent draws from q; so one exponential a query and one Poisson count suffice, however often cheap
    queries repeat.

    Args:
        q: float64[m], sums to 1.
        weight: float64[m], p.
        cost: float64[m], λ.
        budget: Λ, in the unit of ``cost``.
        rng: Source of randomness.

    Returns:
        The sample; a census if the budget pays for all queries that can be drawn.

    Raises:
        ValueError: If the budget does not pay for the dearest query, or q is not a distribution.
    """
    _check_distribution(q)
    reachable = q > 0
    _check_budget(budget, cost[reachable])
    if budget >= cost[reachable].sum():
        return Sample(reachable.astype(np.int64), np.where(reachable, reachable.sum() * weight, np.nan), census=True)
    arrival = np.full(len(q), np.inf)
    arrival[reachable] = rng.exponential(size=int(reachable.sum())) / q[reachable]
    order = np.argsort(arrival, kind="stable")[: int(reachable.sum())]
    overspending = int(np.argmax(np.cumsum(cost[order]) > budget))
    end = min(arrival[order[overspending]], PATIENCE * len(q))
    drawn = order[:overspending][arrival[order[:overspending]] < end]
    repeats = rng.poisson(q[drawn] * (end - arrival[drawn]))
    draws = np.zeros(len(q), dtype=np.int64)
    draws[drawn] = 1 + repeats
    return _sample(draws, q, weight)


def _sample(draws: np.ndarray, q: np.ndarray, weight: np.ndarray) -> Sample:
    with np.errstate(divide="ignore", invalid="ignore"):
        return Sample(draws, np.where(draws > 0, weight / q, np.nan))


def _check_budget(budget: float, cost: np.ndarray) -> None:
    if not budget > 0 or not np.isfinite(budget):
        raise ValueError(f"budget must be a positive number, got {budget}")
    if budget < cost.min():
        raise ValueError(f"budget {budget:g} does not pay for the cheapest query, which costs {cost.min():g}")
    if budget < cost.max():
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest query, which costs {cost.max():g}, so it could never be "
            "judged and estimates would be biased; raise the budget, or cut the ranking depth"
        )


def _check_distribution(q: np.ndarray) -> None:
    if len(q) == 0:
        raise ValueError("there is no query to draw from")
    if not np.isfinite(q).all() or (q < 0).any() or abs(q.sum() - 1) > 1e-6:
        raise ValueError(f"q must be probabilities that sum to 1; they sum to {q.sum():g}")
