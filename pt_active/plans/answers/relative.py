"""By what share of one ranker's value is another better, and how sure is that [Fieller 1954]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from pt_active.inference.intervals import interval
from pt_active.plans.answers.judged import Contrast, How, Judged
from pt_active.plans.answers.results import Comparison, Estimate

_FURTHEST = 64.0
"""How many standard errors of the difference, as a share, an end of the interval is searched for at most."""


@dataclass(frozen=True)
class Scaled(Contrast):
    """The first system minus a multiple of the second."""

    scale: float = 1.0

    def of(self, values: np.ndarray) -> np.ndarray:
        """float64[...], the contrast of float64[..., k], values of all systems."""
        return np.asarray(values[..., self.first] - self.scale * values[..., self.second])


@dataclass(frozen=True)
class RelativeChange:
    """The difference of two rankers over the value ``base`` of the ranker ``of``; NaN ends are no interval."""

    of: str
    base: float
    change: float
    low: float = np.nan
    high: float = np.nan

    @property
    def has_interval(self) -> bool:
        """Whether the error of the share is known, which takes that of ``base`` too."""
        return bool(np.isfinite([self.low, self.high]).all())

    def to_dict(self) -> dict[str, object]:
        """The share with its interval, ready for JSON; None stands for no interval."""
        ends = (self.low, self.high) if self.has_interval else (None, None)
        return {"of": self.of, "base": self.base, "change": self.change, "low": ends[0], "high": ends[1]}


def relative_change(judged: Judged, compared: Comparison, base: Estimate, how: How[Any]) -> RelativeChange | None:
    """The difference of two rankers as a share of the second's value, with Fieller's interval.

    A share ρ lies in the interval if the labels do not reject ``R_first − (1 + ρ) R_second = 0``, by the estimator, the
    error and the reference of the comparison itself. So the interval holds 0 just when that of the difference does, and
    the error of the denominator and its covariance with the difference are in it.
    """
    if near_zero(base) or not np.isfinite(compared.difference):
        return None
    point = RelativeChange(base.name, base.value, compared.difference / base.value)
    if compared.certain and (compared.difference == 0 or base.certain):
        return replace(point, low=point.change, high=point.change)
    if not np.isfinite(compared.confidence_interval()).all() or base.degenerate:
        return point
    ends = _ends(judged, compared, base, how)
    return point if ends is None else replace(point, low=ends[0], high=ends[1])


def near_zero(base: Estimate) -> bool:
    """Whether a value or its interval reaches 0, or its scale goes below, so that a share of it says nothing."""
    return "low=-" in base.basis.measure or not base.value > 0 or bool(base.confidence_interval().low <= 0)


def _ends(judged: Judged, compared: Comparison, base: Estimate, how: How[Any]) -> tuple[float, float] | None:
    """The shares at which the test of the comparison turns; None if there is none on a side."""
    from scipy.optimize import newton

    first, second = (judged.names.index(name) for name in (compared.first, compared.second))
    low, high, degrees = compared.reference_tails

    @cache
    def known(share: float) -> tuple[float, float]:
        return judged.error_of(Scaled(first, second, 1 + share), how)

    def end(share: float, factor: float, side: int) -> float:
        value, error = known(share)
        return float(interval(value, factor * error, degrees, how.confidence)[side])

    start, step = compared.difference / base.value, compared.standard_error / base.value
    ends = []
    for factor, side, way, near in zip((low, high), (0, 1), (-1.0, 1.0), compared.confidence_interval(), strict=True):
        if end(start, factor, side) * way <= 0:
            return None
        # Were the value of the second known, the end would be that of the difference.
        asked: dict[str, Any] = {"x1": near / base.value, "args": (factor, side), "tol": 1e-6 * step}
        found, about = newton(end, start, **asked, full_output=True, disp=False)
        if not (about.converged and 0 < (found - start) * way <= _FURTHEST * step):
            return None
        ends.append(float(found))
    return ends[0], ends[1]
