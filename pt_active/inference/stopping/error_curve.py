"""The error to expect at a budget, and the budget that an error needs, before anything is drawn [theory 10].

The same curve serves queries and documents: each unit is drawn with probability ψ, ``min(1, τ size)`` or
``1 − exp(−τ size)`` by the law of the draw, and adds ``g (1/ψ − 1)`` to the variance; the budget determines τ.

More queries than a pool has are foreseen as r copies of it, each judged for its share of the budget: the sampling
variance is ``V(L/r)/r``, and the spread of queries ``S²/(rm)``. A pool with fewer queries has r below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pt_active.sampling.chances import UNIFORM, Law, opened

_NODES = 400  # Quantiles of the estimated standard error over which power is averaged

_MAX_QUANTILE = 1e6
"""If the t quantile is above this, no difference of practical use can be found. At a confidence of 0.95 that is so with
fewer than 0.19 degrees of freedom."""

_MIN_DEGREES = 0.01  # With fewer, no quantile can be computed

MAX_TOPICS = 10**7  # The search for a number of topics ends here
_BUDGETS = 25  # Budgets of a copy that are tried before the best of them is refined
_LEAST_SHARE = 1e-5  # The smallest of them, as a share of the cost of judging all


class ExpectedError(NamedTuple):
    """What is expected of an estimate: its standard error, and the degrees of freedom of its interval."""

    standard_error: float
    degrees: float

    def half_width(self, confidence: float) -> float:
        """Half-width of the interval, ``t · SE``."""
        if self.standard_error == 0:
            return 0.0
        quantile = _quantile(self.degrees, confidence)
        return self.standard_error * quantile if quantile <= _MAX_QUANTILE else np.inf

    def power(self, difference: float, confidence: float) -> float:
        """The probability of finding a difference (`t_power`); 1 if the standard error is 0 [theory 10]."""
        if self.standard_error == 0:
            return 1.0
        return t_power(abs(difference) / self.standard_error, self.degrees, confidence)

    def detectable(self, power: float, confidence: float) -> float:
        """The smallest difference that is found with a given power, ``δ SE``."""
        from scipy import optimize

        if self.standard_error == 0:
            return 0.0
        high = _quantile(self.degrees, confidence)
        if not high <= _MAX_QUANTILE:
            return np.inf
        while t_power(high, self.degrees, confidence) < power:
            high *= 2
        wanted = max(power, t_power(0.0, self.degrees, confidence))
        found = optimize.brentq(lambda d: t_power(d, self.degrees, confidence) - wanted, 0, high)
        return self.standard_error * float(found)


@dataclass(frozen=True)
class ErrorCurve:
    """The expected error of a sample as a function of its budget."""

    size: np.ndarray  # float64[n], positive: ψ up to a factor
    gain: np.ndarray  # float64[n], g; the variance of the estimate is ``Σ g (1/ψ − 1)``
    cost: np.ndarray  # float64[n], λ
    documents: np.ndarray  # float64[n], number of documents in each unit
    query: np.ndarray  # int64[n], the query that each unit belongs to
    drawing: str = "depth"  # How often a query is opened: by the drawing of its documents; as often as a whole query
    per_query: float = 0.0  # λ₀, the cost of opening a query, if it is not in the costs of the units
    share: np.ndarray | None = None  # float64[n], p of each unit if units are queries; None if they are documents
    fitted: int = 0  # Number of parameters that the estimator of queries fits to the labels
    law: Law = UNIFORM  # The law by which units come; `chances.EXPONENTIAL` for queries that come one after the other

    @classmethod
    def of_documents(
        cls, size: np.ndarray, gain: np.ndarray, cost: np.ndarray, query: np.ndarray, per_query: float, drawing: str
    ) -> ErrorCurve:
        """The curve of single documents, sorted by query."""
        return cls(size, gain, cost, np.ones(len(query)), query, drawing, per_query)

    @property
    def total(self) -> float:
        """The cost of judging everything."""
        return float(self.cost.sum() + self.per_query * len(np.unique(self.query)))

    def scaled(self, factor: float) -> ErrorCurve:
        """The curve with all variances multiplied by a factor."""
        return replace(self, gain=self.gain * factor)

    def chance(self, budget: float) -> np.ndarray:
        """float64[n], ψ with ``Σ λ ψ = Λ``; 1 if the budget pays for all."""
        about = self.size, self.cost, budget, self.per_query, self.drawing, self.query
        return self.law.inclusion(self.law.threshold(*about) * self.size)

    def counts(self, budget: float) -> tuple[float, float]:
        """Expected numbers of judged documents and queries."""
        chance = self.chance(budget)
        return float(self.documents @ chance), float(opened(self.drawing, self.query, chance).sum())

    def variance(self, budget: float) -> float:
        """``Σ g (1/ψ − 1)``; for few draws of queries this is ``(Σ p² a/q)(Σ λ q)/Λ`` [T 4.25, theory 10]."""
        return float(self.gain @ (1 / self.chance(budget) - 1))

    def standard_error(self, budget: float) -> float:
        """Square root of the variance."""
        return float(np.sqrt(self.variance(budget)))

    def degrees_of_freedom(self, budget: float) -> float:
        """Those to expect: for queries ``1/Σ p²/ψ`` less the fitted; for documents ``(Σ c)²/Σ E c² − 1``."""
        chance = self.chance(budget)
        if self.share is not None:
            return float(1 / (self.share**2 @ (1 / chance)) - self.fitted)
        part = self.gain * (1 / chance - 1)
        square = float(part @ (part / chance))
        if self.drawing == "depth":
            pairs = np.bincount(self.query, part) ** 2 - np.bincount(self.query, part**2)
            first = opened(self.drawing, self.query, chance)
            square += float((pairs[first > 0] / first[first > 0]).sum())
        return float(part.sum() ** 2 / square - 1) if square > 0 else np.inf

    def at(self, budget: float) -> ExpectedError:
        """Standard error and degrees of freedom at a budget."""
        return ExpectedError(self.standard_error(budget), self.degrees_of_freedom(budget))

    def budget_falling_to(self, share: float, spent: float, floor: float = 0.0) -> float:
        """The budget at which an error is a share of that at a budget spent, of which a part does not fall [theory 16].

        Args:
            share: The share; from 1 on, what was spent is enough.
            spent: The budget spent, between 0 and `total`.
            floor: The part, as a share of the error at the budget spent.

        Returns:
            The budget; NaN if the error never falls so far.
        """
        if share <= floor:
            return np.nan
        left = (min(share, 1.0) ** 2 - floor**2) / (1 - floor**2) * self.variance(spent)
        return max(spent, least_budget(self.total, lambda each: self.variance(each) <= left))


@dataclass(frozen=True)
class NewQueriesCurve:
    """The expected error for queries like those of a pool, as a function of the budget, from r copies of the pool."""

    pool: ErrorCurve  # The sampling error in the pool
    spread: float  # S²/m, the variance of the mean of the pool's queries as a sample
    degrees: float  # Degrees of freedom of the spread, ``1/Σ p² − 1``
    queries: int  # The number of queries in the pool, m
    copies: float = 1.0  # r

    @property
    def topics(self) -> float:
        """The number of queries in all copies, judged or not."""
        return self.copies * self.queries

    @property
    def total(self) -> float:
        """The cost of judging everything."""
        return self.copies * self.pool.total

    @property
    def floor(self) -> float:
        """``S/√m``, the standard error if everything is judged."""
        return float(np.sqrt(self.spread / self.copies))

    def counts(self, budget: float) -> tuple[float, float]:
        """Expected numbers of judged documents and queries."""
        documents, queries = self.pool.counts(budget / self.copies)
        return self.copies * documents, self.copies * queries

    def at(self, budget: float) -> ExpectedError:
        """Standard error and degrees of freedom at a budget."""
        return self._widened(self.pool.at(budget / self.copies), self.copies)

    def _widened(self, of_copy: ExpectedError, copies: float) -> ExpectedError:
        """The error with so many copies of which each has a sampling error, with Satterthwaite's degrees of freedom."""
        sampling, spread = of_copy.standard_error**2 / copies, self.spread / copies
        fitted = 1 if self.pool.share is None else self.pool.fitted
        own, left = copies * (of_copy.degrees + fitted) - fitted, copies * (self.degrees + 1) - 1
        if min(own, left) <= 0:
            return ExpectedError(float(np.sqrt(sampling + spread)), 0.0)
        inverse = sampling**2 / own + spread**2 / left
        degrees = min((sampling + spread) ** 2 / inverse, left) if inverse > 0 else left
        return ExpectedError(float(np.sqrt(sampling + spread)), degrees)

    def cheapest(self, reached: Callable[[ExpectedError], bool], price: float) -> tuple[NewQueriesCurve, float]:
        """The number of queries, and the budget for their labels, that suffice at the least cost ``L + κ m``.

        It is the least within a hundredth where it takes 40 queries or more; with fewer, degrees of freedom matter too.
        Queries that cost nothing are never fewer than the pool's own. Beyond these there are as many as make the floor
        half of the error: from there on, more of them hardly save labels.

        Args:
            reached: Whether an error suffices.
            price: The cost κ of a query, beside its labels.

        Raises:
            ValueError: If more than `MAX_TOPICS` queries would be needed.
        """
        if price > 0:
            copies = self._copies(self.pool.at(self._best_share(price)), reached)
        else:
            free = least_budget(self.pool.total, lambda each: self.pool.variance(each) <= 3 * self.spread)
            copies = max(self._copies(self.pool.at(free), reached), 1.0)
        if np.isinf(copies):
            raise ValueError(f"more than {MAX_TOPICS:,} queries would be needed")
        enough = replace(self, copies=np.ceil(copies * self.queries * (1 - 1e-9)) / self.queries)
        return enough, least_budget(enough.total, lambda budget: reached(enough.at(budget)))

    def _best_share(self, price: float) -> float:
        """The budget of a copy with which an error costs least, if degrees of freedom play no part."""
        from scipy import optimize

        def cost(log_budget: float) -> float:
            budget = float(np.exp(log_budget))
            return (self.pool.variance(budget) + self.spread) * (budget + price * self.queries)

        tried = np.log(self.pool.total) + np.linspace(np.log(_LEAST_SHARE), 0, _BUDGETS)
        best = int(np.argmin([cost(each) for each in tried]))
        ends = tried[max(best - 1, 0)], tried[min(best + 1, _BUDGETS - 1)]
        found = optimize.minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-3})
        return float(np.exp(min((cost(tried[best]), tried[best]), (found.fun, found.x))[1]))

    def _copies(self, of_copy: ExpectedError, reached: Callable[[ExpectedError], bool]) -> float:
        """The least number of copies, each with a given sampling error, that suffices, of at least two queries."""
        low = high = 2 / self.queries
        while not reached(self._widened(of_copy, high)):
            low, high = high, 4 * high
            if high * self.queries > 4 * MAX_TOPICS:
                return np.inf
        while high - low > 1e-6 * high:
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if reached(self._widened(of_copy, middle)) else (middle, high)
        return high


def least_budget(whole: float, reached: Callable[[float], bool]) -> float:
    """The smallest budget up to a whole one that suffices, to a thousandth; the whole one is taken to suffice."""
    low, high = 0.0, whole
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def t_power(signal: float, degrees: float, confidence: float) -> float:
    """``P(|T| > t)``, T noncentral t: ``E Φ(δ − t S) + E Φ(−δ − t S)``, over quantiles of ``S² ~ χ²_ν/ν``."""
    from scipy import special

    quantile = _quantile(degrees, confidence)
    if not np.isfinite(quantile):
        return 0.0
    even = (np.arange(_NODES) + 0.5) / _NODES
    # Nodes are denser near both ends of S: even² (3 − 2 even) has the derivative 6 even (1 − even).
    share = 6 * even * (1 - even)
    ratio = np.ones(_NODES)
    if np.isfinite(degrees):
        ratio = np.sqrt(2 * special.gammaincinv(degrees / 2, even**2 * (3 - 2 * even)) / degrees)
    power = special.ndtr(signal - quantile * ratio) + special.ndtr(-signal - quantile * ratio)
    return float(share @ power / share.sum())


def _quantile(degrees: float, confidence: float) -> float:
    from scipy import special

    return float(special.stdtrit(degrees, (1 + confidence) / 2)) if degrees > _MIN_DEGREES else np.inf
