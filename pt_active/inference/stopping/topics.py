"""How many fully judged topics a test needs, from a matrix of topics by systems (Sakai 2016)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
