"""A whole evaluation where every label is known (design, draw to a budget, estimate, test), run many times over.

A replay runs through the functions that a plan uses, thousands of samples at once. Samples of one repetition share
their random numbers over designs, so that designs are compared on like luck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.inference.estimators import Estimator, effective_size, estimator_named, is_rounding, mean_and_variance
from pt_active.inference.intervals import reference_degrees
from pt_active.inference.replays import CHUNK, Replays
from pt_active.inference.rounds import GradedPool, Round, RoundSettings, draw_round, estimate_rounds
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import DEFENSIVE_SHARE, design_named, difference_moments, sampling_distribution
from pt_active.sampling.documents import DEFENSIVE_VARIANCE
from pt_active.sampling.draws import pays_for_all, priorities, races

_Drawn = tuple[np.ndarray, np.ndarray, "np.ndarray | None"]
"""Queries, how often each was drawn, and π of draws without replacement, all [R, D]; see `draws.priorities`."""


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
    defensive: float = DEFENSIVE_SHARE,
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
        reference: What intervals and tests are read off, a name in `intervals.REFERENCES`.

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


_ROUNDING = 1e-12


@dataclass(frozen=True)
class LabelledPool:
    """A pool whose labels are known, and k = 1 or 2 systems; two are compared, first minus second.

    Attributes:
        graded: What documents are drawn from.
        label: int64[N].
    """

    graded: GradedPool
    label: np.ndarray

    @property
    def contrast(self) -> np.ndarray:
        """float64[k], what is to be estimated."""
        return np.array([1.0, -1.0])[: len(self.graded.seen.ranks)]

    @property
    def truth(self) -> float:
        """The mean over queries of what is to be estimated."""
        seen = self.graded.seen
        return float(seen.weight @ (seen.values(seen.form.values[self.label]) @ self.contrast))

    def swapped(self, rng: np.random.Generator) -> LabelledPool:
        """The pool with its two systems trading places in a random half of the queries [AC 4.2]."""
        seen = self.graded.seen
        turn = rng.integers(0, 2, len(seen.weight))[seen.query] > 0
        ranks = np.ascontiguousarray(np.where(turn, seen.ranks[::-1], seen.ranks))
        return replace(self, graded=replace(self.graded, seen=replace(seen, ranks=ranks)))


def replay_documents(
    pool: LabelledPool,
    drawing: str,
    estimators: Sequence[str],
    budgets: Sequence[float],
    repetitions: int,
    seed: int,
    *,
    rounds: int = 1,
    null: bool = False,
    defensive: float = DEFENSIVE_VARIANCE,
    reference: str = "effective",
) -> Iterator[dict[str, Replays]]:
    """Replay one drawing, a chunk of repetitions after the other.

    Args:
        pool: Every label known.
        drawing: One of `design.DRAWINGS`.
        estimators: Names in `estimators.DOCUMENT_ESTIMATORS`.
        budgets: What each sample may spend.
        repetitions: How many samples.
        seed: Of everything random; what a repetition draws does not depend on how many there are in all.
        rounds: Into which each budget is divided equally.
        null: Whether each chunk swaps the two systems at random.
        defensive: ε of `design.hedged`.
        reference: What intervals and tests are read off.

    Yields:
        Estimator → replays, of `CHUNK` repetitions at a time.

    Raises:
        ValueError: If an argument is out of range.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    seeds = np.random.SeedSequence(seed).spawn(-(-repetitions // CHUNK))
    settings = RoundSettings(drawing, defensive)
    for chunk, seed_of_chunk in enumerate(seeds):
        draw_seed, swap_seed = seed_of_chunk.spawn(2)
        rng, size = np.random.default_rng(draw_seed), min(CHUNK, repetitions - chunk * CHUNK)
        now = pool.swapped(np.random.default_rng(swap_seed)) if null else pool
        found = [
            [_once(now, settings, estimators, b / rounds, rounds, reference, rng) for _ in range(size)] for b in budgets
        ]
        yield {
            name: Replays(
                truth=np.full(size, now.truth),
                **{
                    field: np.array([[row[name][field] for row in line] for line in found])
                    for field in found[0][0][name]
                },
            )
            for name in estimators
        }


def _once(
    pool: LabelledPool,
    settings: RoundSettings,
    estimators: Sequence[str],
    budget: float,
    rounds: int,
    reference: str,
    rng: np.random.Generator,
) -> dict[str, dict[str, float]]:
    """One sample: what each estimator says of it, as fields of `Replays`."""
    drawn: list[Round] = []
    label = np.full(len(pool.label), -1)
    for _ in range(rounds):
        drawn.append(draw_round(pool.graded, settings, budget, rng, labels=label if drawn else None))
        label = np.where(drawn[-1].sample.drawn, pool.label, label)
        if drawn[-1].expected <= 0:
            break
    judged = label >= 0
    n = int(judged.sum())
    about = {
        "n_draws": n,
        "n_queries": len(np.unique(pool.graded.seen.query[judged])),
        "n_judged": n,
        "spent": sum(each.sample.spent for each in drawn),
    }
    rows = {}
    for name in estimators:
        estimate = estimate_rounds(pool.graded.seen, drawn, label, pool.contrast, name)
        error = estimate.standard_error
        rows[name] = about | {
            "estimate": estimate.value,
            "standard_error": 0.0 if error <= _ROUNDING * max(1.0, abs(estimate.value)) else error,
            "degrees": float(reference_degrees(reference, np.array(estimate.degrees_of_freedom), n)),
            "n_effective": estimate.n_effective,
        }
    return rows
