"""When are two numbers equal up to rounding [theory 17]?

The same terms, summed in another order, differ by some 1e-16 of their size. Without sampling error that would be a
difference with p = 0. So a number counts as 0 if it is at most `ROUNDING` of the sum of the absolute terms that it was
made of, and whatever names a winner, an order, a group, a pass or a fail asks here.
"""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-10  # A number up to this share of the terms that it was made of is rounding


def is_rounding(number: np.ndarray | float, scale: np.ndarray | float) -> np.ndarray:
    """Whether a number is nothing but rounding, bool[...]; not if it is NaN."""
    return np.asarray(np.isfinite(number) & (np.abs(number) <= ROUNDING * np.asarray(scale)))


def settled(number: np.ndarray | float, scale: np.ndarray | float) -> np.ndarray:
    """The number, and exactly 0 where it is rounding, float64[...]."""
    return np.asarray(np.where(is_rounding(number, scale), 0.0, number))[()]


def difference(first: np.ndarray | float, second: np.ndarray | float) -> np.ndarray:
    """``first − second``, and exactly 0 where both are equal up to rounding, float64[...]."""
    return settled(np.subtract(first, second), np.abs(first) + np.abs(second))


def places(values: np.ndarray) -> np.ndarray:
    """The places of values from the smallest up, int64[k] from 0; those that are equal up to rounding share one."""
    order = np.argsort(values)
    ranked = np.nan_to_num(values[order], nan=np.inf)
    with np.errstate(invalid="ignore"):
        steps = np.nan_to_num(difference(ranked[1:], ranked[:-1])) != 0
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.r_[0, np.cumsum(steps)]
    return place
