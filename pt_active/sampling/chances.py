"""By which law do units come without replacement, and which probabilities does a budget buy [theory 4, 9]?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pt_active.sampling.designs import DEFENSIVE_SHARE

_ROUNDING = 1e-9
"""Share by which a sum of costs may exceed the budget, because sums in different orders differ in the last digits."""

_CERTAIN = 1 - 1e-12  # A probability from here on is 1 but for rounding
_NEWTON_STEPS = 200  # The largest number of steps towards the time by which units cost a budget; ten are usual

_PRECISION = 1e-9
"""The steps end when one is below this share of the time; the next would be of the order of its square."""


def check_positive(budget: float) -> None:
    """Raise if a budget is not a positive number."""
    if not 0 < budget < np.inf:
        raise ValueError(f"budget must be a positive number, got {budget}")


def clipping_factor(size: np.ndarray, cost: np.ndarray, budget: float) -> float:
    """The factor τ with ``Σ λ min(1, τ size) = Λ`` over all units that cost something [theory 4, 9].

    If the budget pays for everything, a factor that makes every probability 1.
    """
    check_positive(budget)
    if within_budget(cost.sum(), budget):
        return float(np.nextafter(1 / size[cost > 0].min(), np.inf))
    while True:
        factor = budget / float((size * cost).sum())
        certain = factor * size >= 1
        if not certain.any():
            return factor
        budget, size, cost = budget - float(cost[certain].sum()), size[~certain], cost[~certain]


def within_budget(spent: np.ndarray, budget: float) -> np.ndarray:
    """Whether each sum of costs is within the budget, apart from rounding."""
    return spent <= budget * (1 + _ROUNDING)


def opened(drawing: str, query: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """float64[m], the probability that a document is drawn in each query, from those of documents, float64[n].

    Documents that come one after the other are drawn independently. By depth the most probable one of a query is drawn
    with each of the others.
    """
    if drawing != "depth":
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.bincount(query, np.log1p(-chance))))
    most = np.zeros(int(query.max(initial=-1)) + 1)
    np.maximum.at(most, query, chance)
    return most


def left_for_documents(
    budget: float, overhead: float, drawing: str, query: np.ndarray, chance: Callable[[float], np.ndarray]
) -> float:
    """What documents may cost, so that a budget also pays for the queries that they are expected to open.

    Args:
        budget: Λ; returned as it is if opening a query costs nothing.
        overhead: λ₀, the cost of opening a query.
        drawing: As in `opened`.
        query: int64[n], the query of each document.
        chance: What documents cost → their probabilities, float64[n].
    """
    from scipy import optimize

    if overhead == 0:
        return budget
    check_positive(budget)

    def excess(spend: float) -> float:
        return spend + overhead * float(opened(drawing, query, chance(spend)).sum()) - budget

    return float(optimize.brentq(excess, _ROUNDING * budget, budget))


def inclusion_probabilities(size: np.ndarray, number: float) -> np.ndarray:
    """``π = min(1, τ size)``, with τ such that ``Σ π`` is a given number [theory 7]."""
    if not (size > 0).all() or not np.isfinite(size).all():
        raise ValueError("sizes must be positive numbers, or some instances could never be drawn")
    return at_most_one(clipping_factor(size, np.ones_like(size), number) * size)


def at_most_one(chance: np.ndarray) -> np.ndarray:
    """``min(1, ψ)``; what is 1 but for rounding is 1, because certain units count otherwise than probable ones."""
    return np.where(chance >= _CERTAIN, 1.0, chance)


def defended(expected: np.ndarray) -> np.ndarray:
    """``(1 − ε) a/ā + ε``, ε = `DEFENSIVE_SHARE`: a mixture in which every instance can be drawn [theory 4]."""
    mean = expected.mean()
    return (1 - DEFENSIVE_SHARE) * (expected / mean if mean > 0 else np.ones_like(expected)) + DEFENSIVE_SHARE


def expected_size(rate: np.ndarray, cost: np.ndarray, budget: float) -> float:
    """The number of draws that would tell as much with replacement as successive draws within a budget will."""
    if not cost.sum() > budget:
        return float(len(rate))
    share = rate / rate.sum()
    come = -np.expm1(-successive_factor(share, cost, budget) * share)
    left = share @ (1 - come)
    return float(np.clip(come.sum() / max(left, 1 / len(rate)), 1.0, len(rate)))


def successive_factor(rate: np.ndarray, cost: np.ndarray, budget: float) -> float:
    """The factor τ with ``Σ λ (1 − exp(−τ q)) = Λ``: the time by which units that come at ``E/q`` cost a budget."""
    check_positive(budget)
    if not (rate > 0).all():
        rate, cost = rate[rate > 0], cost[rate > 0]
    total = cost.sum()
    if within_budget(total, budget):
        return np.inf
    wanted, factor = -np.log1p(-budget / total), 0.0
    for _ in range(_NEWTON_STEPS):
        rest = np.exp(-factor * rate) * cost
        left = rest.sum()
        step = float((wanted + np.log(left / total)) * left / (rest @ rate))
        factor += step
        if step <= _PRECISION * factor:
            break
    return factor


@dataclass(frozen=True)
class Law:
    """The law of the clocks of units: unit x comes at ``E/q(x)``, its priority, E being its clock."""

    clocks: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]  # Generator
    inclusion: Callable[[np.ndarray], np.ndarray]  # ``q T`` of units → π
    factor: Callable[[np.ndarray, np.ndarray, float], float]  # q, λ and a budget → T with ``Σ λ π = Λ``

    def threshold(
        self, rate: np.ndarray, cost: np.ndarray, budget: float, overhead: float, drawing: str, query: np.ndarray
    ) -> float:
        """T up to which units and the openings of their queries are expected to cost a budget; see `opened`."""

        def chance(spend: float) -> np.ndarray:
            return self.inclusion(self.factor(rate, cost, spend) * rate)

        return self.factor(rate, cost, left_for_documents(budget, overhead, drawing, query, chance))


EXPONENTIAL = Law(lambda rng, shape: rng.exponential(size=shape), lambda rate: -np.expm1(-rate), successive_factor)
"""Successive sampling: the next unit is x with probability ``q(x)``, divided by the sum of q over all that are left."""

UNIFORM = Law(lambda rng, shape: rng.random(shape), lambda rate: np.minimum(1.0, rate), clipping_factor)
"""Priority sampling, which draws a unit with certainty if ``q T ≥ 1``."""
