"""Where exactly is the optimum of a smooth convex function, so that it is the same on every processor [theory 17]?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_NEWTON_STEPS = 3
"""Steps from where the search ends; each leaves about a millionth of the distance."""

_STEP = 1e-5
"""The difference in a parameter, of the order of 1, from which second derivatives are computed."""

Objective = Callable[..., tuple[float, np.ndarray]]
"""From the parameters, float64[d], and further arguments to the value and its gradient, float64[d]."""


def optimum(objective: Objective, start: np.ndarray, arguments: tuple[Any, ...], what: str) -> np.ndarray:
    """The parameters at which a function is least, float64[d].

    A search ends somewhere within its tolerance, and rounding decides where. Newton's steps go on to the optimum
    itself. There is a warning if the search stops early.

    Shapes: start float64[d].
    """
    from scipy.optimize import minimize

    options = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-7}
    found = minimize(objective, start, args=arguments, jac=True, method="L-BFGS-B", options=options)
    if not found.success:
        warnings.warn(f"the {what} fit stopped early: {found.message}", stacklevel=4)
        return np.asarray(found.x)
    at, steps = found.x, _STEP * np.eye(len(start))
    sides = [[objective(at + sign * step, *arguments)[1] for sign in (1, -1)] for step in steps]
    curvature = np.array([above - below for above, below in sides]) / (2 * _STEP)
    for _ in range(_NEWTON_STEPS):
        at = at - np.linalg.solve((curvature + curvature.T) / 2, objective(at, *arguments)[1])
    return np.asarray(at)
