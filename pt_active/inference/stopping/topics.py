"""How many topics a test needs: fully judged (Sakai 2016), or with how many labels [theory 16].

More queries than a pool has are foreseen as r copies of it, each judged for its share of the budget: the sampling
variance is ``V(L/r)/r``, and the spread of queries ``S²/(rm)``. A pool with fewer queries has r below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pt_active.inference.stopping.error_curve import ErrorCurve, ExpectedError, least_budget

MAX_TOPICS = 10**7  # The search for a number of topics ends here


def residual_variance(values: np.ndarray) -> float:
    """The residual variance of a measure in a two-way ANOVA of topics and systems, with one value per cell.

    ``Σ (x_ts − x̄_t − x̄_s + x̄)² / ((n − 1)(k − 1))``.

    Args:
        values: float64[n, k], topics by systems.

    Raises:
        ValueError: If there are fewer than two topics or systems, or a value is missing.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ValueError(f"a matrix of at least two topics by two systems is needed, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("the matrix has values that are missing or not finite")
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return float((rest**2).sum() / ((values.shape[0] - 1) * (values.shape[1] - 1)))


def topics_for_power(variance: float, difference: float, power: float = 0.8, confidence: float = 0.95) -> int:
    """Number of topics with which a paired t-test finds a difference of two systems: noncentral t, ``σ_d² = 2 σ²``.

    Args:
        variance: σ², as `residual_variance` returns it.
        difference: The difference to be found.
        power: The probability of finding it.
        confidence: 1 minus the level of the test.

    Raises:
        ValueError: If an argument is out of range, or more than `MAX_TOPICS` topics would be needed.
    """
    _check(variance, confidence)
    if not (np.isfinite(difference) and difference != 0):
        raise ValueError(f"difference must be a number other than 0, got {difference}")
    if not 1 - confidence < power < 1:
        raise ValueError(f"power must lie between {1 - confidence:.2g} (the level of the test) and 1, got {power}")
    from scipy import special, stats

    def reached(n: int) -> bool:
        quantile = special.stdtrit(n - 1, (1 + confidence) / 2)
        statistic = stats.nct(n - 1, np.sqrt(n / (2 * variance)) * abs(difference))
        return bool(statistic.sf(quantile) + statistic.cdf(-quantile) >= power)

    return _least(reached)


def topics_for_width(variance: float, width: float, confidence: float = 0.95) -> int:
    """Number of topics with which the interval of a difference is expected to be no wider than ``± width``.

    The expectation of ``t s_d/√n`` with ``E[s_d] = σ_d √(2/φ) Γ((φ + 1)/2)/Γ(φ/2)``, ``φ = n − 1``, ``σ_d² = 2 σ²``.

    Args:
        variance: σ², as `residual_variance` returns it.
        width: Half of the interval's width.
        confidence: Level of the interval.

    Raises:
        ValueError: If an argument is out of range, or more than `MAX_TOPICS` topics would be needed.
    """
    _check(variance, confidence)
    if not (np.isfinite(width) and width > 0):
        raise ValueError(f"width must be a positive number, got {width}")
    from scipy import special

    def reached(n: int) -> bool:
        free = n - 1
        shrunk = np.sqrt(2 / free) * np.exp(special.gammaln((free + 1) / 2) - special.gammaln(free / 2))
        half = special.stdtrit(free, (1 + confidence) / 2) * shrunk * np.sqrt(2 * variance / n)
        return bool(half <= width)

    return _least(reached)


def _least(reached: Callable[[int], bool]) -> int:
    """The smallest number from 2 on that suffices; larger numbers than one that does suffice too."""
    high = 2
    while not reached(high):
        high *= 2
        if high > MAX_TOPICS:
            raise ValueError(f"more than {MAX_TOPICS:,} topics would be needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _check(variance: float, confidence: float) -> None:
    if not (np.isfinite(variance) and variance > 0):
        raise ValueError(f"variance must be a positive number, got {variance}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")


_BUDGETS = 25  # Budgets of a copy that are tried before the best of them is refined
_LEAST_SHARE = 1e-5  # The smallest of them, as a share of the cost of judging all


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
