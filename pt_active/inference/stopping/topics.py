"""How many topics a test needs, and with how many labels [theory 10].

More queries than a pool has are foreseen as r copies of it, each judged for its share of the budget: the sampling
variance is ``V(L/r)/r``, and the spread of queries ``S²/(rm)``. A pool with fewer queries has r below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pt_active.inference.stopping.error_curve import ErrorCurve, ExpectedError, least_budget

MAX_TOPICS = 10**7  # The search for a number of topics ends here
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
