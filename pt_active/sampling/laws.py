"""By which law do units come without replacement, and how probable is it that one comes in time [theory 4]?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Law:
    """The law of the clocks of units: unit x comes at ``E/q(x)``, its priority, E being its clock."""

    clocks: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]  # Generator
    inclusion: Callable[[np.ndarray], np.ndarray]  # ``q T`` of units → π


EXPONENTIAL = Law(lambda rng, shape: rng.exponential(size=shape), lambda rate: -np.expm1(-rate))
"""Successive sampling: the next unit is x with probability ``q(x)``, divided by the sum of q over all that are left."""

UNIFORM = Law(lambda rng, shape: rng.random(shape), lambda rate: np.minimum(1.0, rate))
"""Priority sampling, which draws a unit with certainty if ``q T ≥ 1``."""
