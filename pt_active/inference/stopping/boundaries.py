"""How wide intervals must be to hold at repeated looks [theory 10].

Estimates from samples of which each holds the one before behave like a Brownian motion ``B(t) = t (θ̂ − θ)`` whose time
is the information ``t = 1/Var(θ̂)``, since ``Cov(θ̂_j, θ̂_k) = Var(θ̂_k)`` for j before k. A boundary limits ``|B(t)|/√t =
|θ̂ − θ|/SE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

_NODES = 160  # Nodes of the Gauss-Legendre rule that integrates over a continuation region
_MAX_ERRORS = 9.0  # The limit of integration, in standard errors
_TINY = np.finfo(np.float64).tiny  # Added to probabilities so that the logarithm of 0 is finite


def obrien_fleming(spent: np.ndarray, alpha: float) -> np.ndarray:
    """``4 Φ(−z/√s)``, z the ``1 − α/4`` quantile: little is spent before the end [Lan and DeMets 1983]."""
    from scipy import special

    return np.asarray(4 * special.ndtr(special.ndtri(alpha / 4) / np.sqrt(spent)))


def spending_boundary(spent: Sequence[float], time: Sequence[float], alpha: float) -> np.ndarray:
    """The boundaries of planned looks, between which B is a Brownian motion, by `obrien_fleming` [Lan and DeMets 1983].

    Look k crosses for the first time with the probability that is spent at it, which is found by integrating the
    density of what has stayed inside [Armitage, McPherson and Rowe 1969].

    Args:
        spent: The share of the sample that is judged at each look, increasing, in (0, 1].
        time: The information at each look, increasing, in any unit.
        alpha: In (0, 1), two-sided.

    Returns:
        float64[L], critical values of ``|θ̂ − θ|/SE``.

    Raises:
        ValueError: If an argument is out of range.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"the confidence level must lie between 0 and 1, got {1 - alpha:g}")
    part, clock = np.asarray(spent, dtype=np.float64), np.asarray(time, dtype=np.float64)
    for name, numbers in (("spent", part), ("time", clock)):
        if not (len(part) == len(clock) and (np.diff(numbers, prepend=0) > 0).all() and np.isfinite(numbers).all()):
            raise ValueError(f"{name} must be increasing positive numbers, one a look; got {numbers.tolist()}")
    if part[-1] > 1 + 1e-12:
        raise ValueError(f"spent must not pass 1, got {part.tolist()}")
    error = np.diff(obrien_fleming(part, alpha), prepend=0.0)
    return _recursion(tuple(error.tolist()), tuple(clock.tolist())).copy()


@lru_cache
def _recursion(error: tuple[float, ...], clock: tuple[float, ...]) -> np.ndarray:
    """Critical values, float64[L], from the error to spend at each look and its time."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    place, density = np.zeros(1), np.ones(1)
    before, critical = 0.0, []
    for spend, now in zip(error, clock, strict=True):
        step = np.sqrt(now - before)
        edge = _edge(place, density, step, spend, _MAX_ERRORS * np.sqrt(now))
        inside = edge * nodes
        kernel = np.exp(-0.5 * ((inside[:, None] - place) / step) ** 2) / (step * np.sqrt(2 * np.pi))
        place, density, before = inside, edge * weights * (kernel @ density), now
        critical.append(edge / np.sqrt(now))
    return np.array(critical)


def _edge(place: np.ndarray, density: np.ndarray, step: float, spend: float, reach: float) -> float:
    """The edge beyond which a path that starts at ``place`` ends after one step with the probability to be spent."""
    from scipy import optimize, special

    def excess(edge: float) -> float:
        return float(np.log(2 * density @ special.ndtr((place - edge) / step) + _TINY) - np.log(spend + _TINY))

    return reach if excess(reach) >= 0 else float(optimize.brentq(excess, 0.0, reach, xtol=1e-12 * reach))


def half_widths(critical: np.ndarray, standard_error: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """SE times the t quantile with the tail of each normal critical value; standard_error, degrees float64[..., L]."""
    from scipy import special

    usable = (np.asarray(degrees) > 0) & np.isfinite(standard_error) & np.isfinite(critical)
    tail = special.ndtr(-np.where(np.isfinite(critical), critical, 0.0))
    quantile = -special.stdtrit(np.where(usable, degrees, 1.0), tail)
    return np.where(usable, quantile * np.where(usable, standard_error, 0.0), np.inf)
