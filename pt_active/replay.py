"""Replaying the whole process where every label is known: design, draw to a budget, estimate, test; many times over.

A replay runs through the functions that a plan uses, thousands of samples at once. Samples of one repetition share
their random numbers over designs, so that designs are compared on like luck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pt_active.designs import DEFENSIVE, design_named, difference_moments, sampling_distribution
from pt_active.estimators import (
    Estimator,
    effective_size,
    estimator_named,
    interval,
    is_rounding,
    mean_and_variance,
    reference_degrees,
)
from pt_active.moments import Moments
from pt_active.sampling import pays_for_all, priorities, races
from pt_active.tests_of_difference import two_sided_pvalue

if TYPE_CHECKING:
    from pt_active.documents.replay import LabelledPool

_Drawn = tuple[np.ndarray, np.ndarray, "np.ndarray | None"]
"""Queries, how often each was drawn, and π of draws without replacement, all [R, D]; see `sampling.priorities`."""

CHUNK = 100
"""Repetitions that are computed together, and that share one swapping of the systems in null replays."""


@dataclass(frozen=True)
class Population:
    """A pool of m queries whose labels are known, and k = 1 or 2 systems; two are compared, first minus second.

    Attributes:
        values: float64[m, k], measured.
        moments: Of the same under the grade model.
        uniform: Moments under ``P(y) = 1/|Y|``.
        cost: float64[m], λ.
        weight: float64[m], p, sums to 1.
        documents: int64[m], how many are judged when a query is.
        single: The same pool for judging single documents; None if the measure does not allow that.
    """

    values: np.ndarray
    moments: Moments
    uniform: Moments
    cost: np.ndarray
    weight: np.ndarray
    documents: np.ndarray
    single: LabelledPool | None = None

    @property
    def compared(self) -> bool:
        """Whether two systems are compared, rather than one estimated."""
        return self.values.shape[1] == 2

    @cached_property
    def target(self) -> np.ndarray:
        """float64[m], what is to be averaged: ℓ, or δ for two systems."""
        return self.values[:, 0] - self.values[:, 1] if self.compared else self.values[:, 0]

    @cached_property
    def model(self) -> np.ndarray:
        """float64[m], what the grade model expects of `target`."""
        mean, covariance = self.moments.mean, self.moments.covariance
        return difference_moments(mean, covariance, 0, 1)[0] if self.compared else mean[:, 0]

    @property
    def truth(self) -> float:
        """``Σ p ℓ`` or ``Σ p δ``."""
        return float(self.weight @ self.target)

    def distribution(self, design: str, defensive: float) -> np.ndarray:
        """The q of a design, float64[m] [theory 4]."""
        return sampling_distribution(design, self.moments, self.cost, self.weight, defensive, self.uniform)

    def swapped(self, rng: np.random.Generator) -> Population:
        """The population with its two systems trading places in a random half of the queries [AC 4.2]."""
        order = np.where(rng.integers(0, 2, (len(self.cost), 1)), [[0, 1]], [[1, 0]])
        row = np.arange(len(order))[:, None]
        return replace(
            self,
            values=self.values[row, order],
            moments=_reordered(self.moments, row, order),
            uniform=_reordered(self.uniform, row, order),
        )


def _reordered(moments: Moments, row: np.ndarray, order: np.ndarray) -> Moments:
    return Moments(moments.mean[row, order], moments.covariance[row[:, :, None], order[:, :, None], order[:, None, :]])


@dataclass(frozen=True)
class Replays:
    """What one design and one estimator said in every repetition, at every budget.

    Attributes:
        estimate: float64[B, R].
        standard_error: float64[B, R]; 0 where nothing varies in the sample, so that there is no interval.
        degrees: float64[B, R], of freedom.
        truth: float64[R], what was to be estimated.
        n_draws: int64[B, R].
        n_queries: int64[B, R], distinct ones.
        n_judged: int64[B, R], documents.
        n_effective: float64[B, R].
        spent: float64[B, R].
    """

    estimate: np.ndarray
    standard_error: np.ndarray
    degrees: np.ndarray
    truth: np.ndarray
    n_draws: np.ndarray
    n_queries: np.ndarray
    n_judged: np.ndarray
    n_effective: np.ndarray
    spent: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """float64[B, R], estimate minus truth."""
        return self.estimate - self.truth

    def intervals(self, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
        """Low and high, float64[B, R]; NaN where nothing varies in the sample."""
        ends = interval(self.estimate, self.standard_error, self.degrees, confidence_level)
        low, high = (np.where(self.standard_error == 0, np.nan, end) for end in ends)
        return low, high

    def pvalues(self, null: np.ndarray | float = 0.0) -> np.ndarray:
        """float64[B, R], of the hypothesis that the truth is ``null``; 1 where nothing varies in the sample."""
        found = two_sided_pvalue(self.estimate - null, self.standard_error, self.degrees)
        return np.where(self.standard_error == 0, 1.0, found)


def replay(
    population: Population,
    design: str,
    estimators: Sequence[str],
    budgets: Sequence[float],
    repetitions: int,
    seed: int,
    *,
    with_replacement: bool = True,
    null: bool = False,
    defensive: float = DEFENSIVE,
    reference: str = "effective",
) -> Iterator[dict[str, Replays]]:
    """Replay one design, a chunk of repetitions after the other; see `joined`.

    Args:
        population: Every label known.
        design: A name in `designs.DESIGNS`.
        estimators: Names in `estimators.ESTIMATORS`.
        budgets: Increasing; each pays for any query, and for less than all.
        repetitions: How many samples.
        seed: Of everything random; what a repetition draws does not depend on how many there are in all.
        with_replacement: How queries are drawn.
        null: Whether each chunk swaps the two systems at random, so that what they differ by is chance [AC 4.2].
        defensive: ε of the defensive mixture.
        reference: What intervals and tests are read off, a name in `estimators.REFERENCES`.

    Returns:
        Estimator → replays, of `CHUNK` repetitions at a time (the last chunk may be smaller).

    Raises:
        ValueError: If a name is unknown, or repetitions or a budget are out of range.
    """
    _check(population, budgets, repetitions, null)
    design_named(design)
    reference_degrees(reference, np.ones(1), 2)
    found = {name: estimator_named(name) for name in estimators}
    seeds = np.random.SeedSequence(seed).spawn(-(-repetitions // CHUNK))
    sizes = [min(CHUNK, repetitions - chunk * CHUNK) for chunk in range(len(seeds))]
    return (
        _chunk(population, design, found, budgets, size, seed_of_chunk, with_replacement, null, defensive, reference)
        for size, seed_of_chunk in zip(sizes, seeds, strict=True)
    )


def _chunk(
    population: Population,
    design: str,
    estimators: dict[str, Estimator],
    budgets: Sequence[float],
    size: int,
    seed: np.random.SeedSequence,
    with_replacement: bool,
    null: bool,
    defensive: float,
    reference: str,
) -> dict[str, Replays]:
    draw_seed, swap_seed = seed.spawn(2)
    pool = population.swapped(np.random.default_rng(swap_seed)) if null else population
    q = pool.distribution(design, defensive)
    arguments = q, pool.cost, budgets, size, np.random.default_rng(draw_seed)
    if with_replacement:
        samples: Iterable[_Drawn] = ((*sample, None) for sample in races(*arguments))
    else:
        samples = priorities(*arguments)
    rows = [_estimated(pool, q, sample, estimators, reference) for sample in samples]
    return {name: _stacked([row[name] for row in rows], pool.truth) for name in estimators}


def joined(chunks: Sequence[Replays]) -> Replays:
    """The replays of several chunks as one."""
    return Replays(**{name: np.concatenate([getattr(c, name) for c in chunks], axis=-1) for name in _FIELDS})


_FIELDS = tuple(Replays.__dataclass_fields__)


def _estimated(
    pool: Population,
    q: np.ndarray,
    sample: _Drawn,
    estimators: dict[str, Estimator],
    reference: str,
) -> dict[str, dict[str, np.ndarray]]:
    """What each estimator says of the samples at one budget: fields of `Replays`, each [R]."""
    order, count, inclusion = sample
    drawn, n = count > 0, count.sum(axis=1)
    weight = pool.weight[order] / (q[order] if inclusion is None else inclusion / n[:, None])
    target, model = pool.target[order], pool.model[order]
    moments = mean_and_variance(pool.weight, pool.model)
    about = {
        "n_draws": n,
        "n_queries": drawn.sum(axis=1),
        "n_judged": (pool.documents[order] * drawn).sum(axis=1),
        "n_effective": effective_size(count, weight),
        "spent": (pool.cost[order] * drawn).sum(axis=1),
    }
    rows = {}
    for name, estimator in estimators.items():
        mean = estimator(count, weight, target, model, *moments, inclusion)
        still = is_rounding(mean.standard_error, count, target)
        rows[name] = about | {
            "estimate": mean.value,
            "standard_error": np.where(still, 0.0, mean.standard_error),
            "degrees": reference_degrees(reference, mean.degrees_of_freedom, n),
        }
    return rows


def _stacked(rows: list[dict[str, np.ndarray]], truth: float) -> Replays:
    """One row a budget."""
    fields = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return Replays(truth=np.full(fields["estimate"].shape[1], truth), **fields)


def _check(
    population: Population,
    budgets: Sequence[float],
    repetitions: int,
    null: bool,
) -> None:
    if repetitions < 1:
        raise ValueError(f"repetitions must be at least 1, got {repetitions}")
    if null and not population.compared:
        raise ValueError("label swapping needs two systems; the population has one")
    check_budgets(population, budgets)


def check_budgets(population: Population, budgets: Sequence[float]) -> None:
    """Refuse budgets that cannot be replayed.

    Raises:
        ValueError: If there are none, they do not increase, or one does not pay for the dearest query or pays for all.
    """
    low, high = population.cost.max(), population.cost.sum()
    if len(budgets) == 0 or (np.diff(budgets) <= 0).any():
        raise ValueError(f"budgets must be increasing numbers, got {list(budgets)}")
    outside = [f"{b:g}" for b in budgets if not b >= low or pays_for_all(b, population.cost)]
    if outside:
        raise ValueError(
            f"budgets outside the pool: {', '.join(outside)}; the dearest query costs {low:g}, so each must be at "
            f"least that, and all queries together cost {high:g}, so each must be less"
        )


def ratio_of_means(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of ``first`` over mean of ``second`` along the last axis, and its standard error by linearisation.

    Args:
        first: float64[B, R].
        second: float64[B, R], of the same repetitions.

    Returns:
        Ratio and standard error, float64[B]; infinite where ``second`` is always 0.
    """
    mean, other = first.mean(axis=1), second.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / other
        spread = (first - ratio[:, None] * second).std(axis=1) / other
    return ratio, spread / np.sqrt(first.shape[1])


def savings(budgets: Sequence[float], squared: np.ndarray, passive: np.ndarray) -> np.ndarray:
    """1 − b'/b, where b' is the budget at which a method errs as passive sampling does at b.

    Read off the straight lines between the budgets on logarithmic scales, along the lowest error so far.

    Args:
        budgets: Increasing.
        squared: float64[B], mean squared error of the method.
        passive: float64[B], of passive sampling.

    Returns:
        float64[B]; NaN where b' lies outside the budgets.
    """
    spend = np.asarray(budgets)
    better = np.r_[True, squared[1:] < np.minimum.accumulate(squared)[:-1]]
    with np.errstate(divide="ignore"):
        curve, wanted = -np.log(squared[better]), -np.log(passive)
        needed = np.exp(np.interp(wanted, curve, np.log(spend[better]), left=np.nan, right=np.nan))
    return np.asarray(1 - needed / spend)
