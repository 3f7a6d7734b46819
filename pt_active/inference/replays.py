"""The results of many replays of one evaluation: errors, coverage, savings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pt_active.inference.intervals import interval
from pt_active.inference.significance import two_sided_pvalue

CHUNK = 100  # Repetitions that are computed together


@dataclass(frozen=True)
class Replays:
    """The results of one design and one estimator in B budgets times R repetitions."""

    estimate: np.ndarray  # float64[B, R]
    standard_error: np.ndarray  # float64[B, R]; 0 if all values in the sample are equal, so that there is no interval
    degrees: np.ndarray  # float64[B, R], degrees of freedom
    truth: np.ndarray  # float64[R], the value to be estimated
    n_draws: np.ndarray  # int64[B, R], number of draws
    n_queries: np.ndarray  # int64[B, R], number of distinct queries
    n_judged: np.ndarray  # int64[B, R], number of judged documents
    n_effective: np.ndarray  # float64[B, R], effective number of draws
    spent: np.ndarray  # float64[B, R], cost of the sample

    @property
    def error(self) -> np.ndarray:
        """float64[B, R], estimate minus truth."""
        return self.estimate - self.truth

    def intervals(self, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends, float64[B, R]; NaN if all values in the sample are equal."""
        ends = interval(self.estimate, self.standard_error, self.degrees, confidence_level)
        low, high = (np.where(self.standard_error == 0, np.nan, end) for end in ends)
        return low, high

    def pvalues(self, null: np.ndarray | float = 0.0) -> np.ndarray:
        """p-values of the hypothesis that the truth is ``null``, float64[B, R]; 1 if all sampled values are equal."""
        pvalues = two_sided_pvalue(self.estimate - null, self.standard_error, self.degrees)
        return np.where(self.standard_error == 0, 1.0, pvalues)


def joined(chunks: Sequence[Replays]) -> Replays:
    """Join the replays of several chunks along the repetitions."""
    return Replays(**{name: np.concatenate([getattr(c, name) for c in chunks], axis=-1) for name in _FIELDS})


_FIELDS = tuple(Replays.__dataclass_fields__)


def share_error(share: np.ndarray | float, repetitions: np.ndarray | int) -> np.ndarray:
    """The Monte Carlo error of a share of R repetitions, such as a coverage or a type I error [Agresti and Coull 1998].

    ``√(p̃ (1 − p̃)/(R + 4))`` with ``p̃ = (p R + 2)/(R + 4)``, two successes and two failures added. It is close to
    ``√(p (1 − p)/R)``, but not 0 for a share of 0 or 1: twice the error is then close to ``3/R``, the rule of three.

    Shapes: share float64[...], repetitions int64[...] → float64[...].
    """
    padded = (np.asarray(share) * repetitions + 2) / (repetitions + 4)
    return np.sqrt(padded * (1 - padded) / (repetitions + 4))[()]


def share_columns(name: str, share: np.ndarray | float, repetitions: int) -> dict[str, Any]:
    """A share and its Monte Carlo error as columns of a table: ``name`` and ``name_se``."""
    return {name: share, f"{name}_se": share_error(share, repetitions)}


def ratio_of_means(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of ``first`` over mean of ``second`` along the last axis, and its standard error by linearisation.

    Shapes: first and second float64[B, R].
    """
    mean, other = first.mean(axis=1), second.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / other
        spread = (first - ratio[:, None] * second).std(axis=1) / other
    return ratio, spread / np.sqrt(first.shape[1])


def savings(budgets: Sequence[float], squared: np.ndarray, passive: np.ndarray) -> np.ndarray:
    """1 − b'/b, where b' is the budget at which a method has the error that passive sampling has at b.

    Shapes: squared and passive float64[B] → float64[B].
    """
    spend = np.asarray(budgets)
    better = np.r_[True, squared[1:] < np.minimum.accumulate(squared)[:-1]]
    with np.errstate(divide="ignore"):
        curve, wanted = -np.log(squared[better]), -np.log(passive)
        needed = np.exp(np.interp(wanted, curve, np.log(spend[better]), left=np.nan, right=np.nan))
    return np.asarray(1 - needed / spend)
