"""Replays of a whole evaluation on known labels: design, draw to a budget, estimate, test, many times over.

A replay runs through the functions that a plan uses, for thousands of samples at once. Samples of one repetition use
the same random numbers for all designs, so that designs are compared on equal terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from pt_active.inference.drawn_documents import DrawnDocuments, drawn_by, estimate_documents, pool_sizes
from pt_active.inference.estimators import Controls, effective_size, estimator_named, scale_of
from pt_active.inference.intervals import interval
from pt_active.inference.significance import two_sided_pvalue
from pt_active.inference.ties import settled
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import defensive_share, design_named, sampling_distribution
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, DrawingSettings, usual_variance
from pt_active.sampling.draws import pays_for_all, priorities, races
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Sample

CHUNK = 100  # Repetitions that are computed together

Rows = dict[str, dict[str, np.ndarray]]
"""The estimates from R samples at one budget: from the name of the estimator to fields of `Replays`, [R] each."""


@dataclass(frozen=True)
class Method:
    """How to sample and how to estimate."""

    design: str  # A name in `designs.DESIGNS`, or for single documents in `drawings.DOCUMENT_DRAWINGS`
    estimator: str  # A name in `estimators.ESTIMATORS` or `documents.DOCUMENT_ESTIMATORS`
    with_replacement: bool = True  # Whether a query can be drawn more than once

    @property
    def of_documents(self) -> bool:
        """Whether single documents are drawn."""
        return self.design in DOCUMENT_DRAWINGS


YARDSTICK = Method("passive", "snis", with_replacement=False)  # Uniform sampling without replacement and its plain mean
SOURCE_YARDSTICK = Method("passive", "snis")  # Uniform sampling with replacement and its plain mean, as in the sources


@dataclass(frozen=True)
class Repetitions:
    """How often an evaluation is replayed, and how; what a repetition draws does not depend on their number."""

    number: int
    seed: int
    null: bool = False  # Whether each repetition swaps the two systems in a random half of the queries [AC 4.2]
    defensive: float | None = None  # ε of the design; None for that of a plan with the largest budget


@dataclass(frozen=True)
class Replays:
    """The results of one design and one estimator in B budgets times R repetitions."""

    estimate: np.ndarray  # float64[B, R]
    standard_error: np.ndarray  # float64[B, R]; 0 if all values in the sample are equal, so that there is no interval
    degrees: np.ndarray  # float64[B, R], degrees of freedom
    truth: np.ndarray  # float64[R], the value to be estimated
    n_draws: np.ndarray  # int64[B, R]
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


@dataclass(frozen=True)
class Population:
    """Queries whose labels are known, and k = 1 or 2 systems; two are compared, first minus second."""

    values: np.ndarray  # float64[m, k], the measured values
    moments: Moments  # Of the values under the grade model
    uniform: Moments  # Of the values under ``P(y) = 1/|Y|``
    cost: np.ndarray  # float64[m], λ
    weight: np.ndarray  # float64[m], p, sums to 1
    documents: np.ndarray  # int64[m], how many documents are judged for each query
    single: LabelledPool | None = None  # For judging single documents; None if the measure does not allow that

    @property
    def compared(self) -> bool:
        """Whether two systems are compared, rather than one estimated."""
        return self.values.shape[1] == 2

    @cached_property
    def target(self) -> np.ndarray:
        """float64[m], ℓ, or δ for two systems."""
        return self.values[:, 0] - self.values[:, 1] if self.compared else self.values[:, 0]

    @property
    def truth(self) -> float:
        """The mean of the contrast over queries."""
        return float(self.weight @ self.target)

    @cached_property
    def model(self) -> np.ndarray:
        """float64[m], the values of `target` that the grade model expects."""
        mean = self.moments.mean
        return mean[:, 0] - mean[:, 1] if self.compared else mean[:, 0]

    def distribution(self, design: str, defensive: float) -> np.ndarray:
        """The q of a design, float64[m] [theory 4]."""
        return sampling_distribution(design, self.moments, self.cost, self.weight, defensive, self.uniform)

    def swapped(self, traded: np.ndarray) -> Population:
        """The population with its two systems swapped in some of the queries, bool[m] [AC 4.2]."""
        order, row = np.where(traded[:, None], [[1, 0]], [[0, 1]]), np.arange(len(traded))[:, None]

        def reordered(moments: Moments) -> Moments:
            both = row[:, :, None], order[:, :, None], order[:, None, :]
            return Moments(moments.mean[row, order], moments.covariance[both])

        moments, uniform = reordered(self.moments), reordered(self.uniform)
        return replace(self, values=self.values[row, order], moments=moments, uniform=uniform)

    def check(self, methods: Sequence[Method], budgets: Sequence[float]) -> None:
        """Raise if methods cannot be replayed at these budgets."""
        low, high = self.cost.max(), self.cost.sum()
        if len(budgets) == 0 or (np.diff(budgets) <= 0).any():
            raise ValueError(f"budgets must be increasing numbers, got {list(budgets)}")
        outside = [f"{b:g}" for b in budgets if not b >= low or pays_for_all(b, self.cost)]
        if outside:
            raise ValueError(
                f"budgets outside the pool: {', '.join(outside)}; the dearest query costs {low:g}, so each must be at "
                f"least that, and all queries together cost {high:g}, so each must be less"
            )
        for method in methods:
            design_named(method.design), estimator_named(method.estimator)

    def replayed(
        self,
        methods: Sequence[Method],
        budgets: Sequence[float],
        how: Repetitions,
        traded: np.ndarray | None,
        size: int,
        rng: np.random.Generator,
    ) -> list[Rows]:
        """The estimates of all methods from samples of queries; those of a budget go on from the one before it."""
        usual = defensive_share(budgets[-1] / float(self.weight @ self.cost))
        kind, defensive = methods[0], usual if how.defensive is None else how.defensive
        if traded is None:
            target, model, q = self.target, self.model, self.distribution(kind.design, defensive)
        else:
            target, model = (np.where(traded, -each, each) for each in (self.target, self.model))
            # A design may depend on the swap: `optimal` measures distances from the mean difference of the model.
            q = np.stack([self.swapped(row).distribution(kind.design, defensive) for row in traded])
        draw = races if kind.with_replacement else priorities
        samples = draw(q, self.cost, budgets, size, rng)
        return [self._rows(methods, sample, target, model) for sample in samples]

    def _rows(self, methods: Sequence[Method], sample: Sample, target: np.ndarray, model: np.ndarray) -> Rows:
        drawn, values, controls = sample.count > 0, sample.of(target), Controls(self.weight, model)
        about = {
            "n_draws": sample.draws,
            "n_queries": drawn.sum(axis=1),
            "n_judged": (sample.of(self.documents) * drawn).sum(axis=1),
            "n_effective": effective_size(sample.count, sample.importance(self.weight)),
            "spent": (sample.of(self.cost) * drawn).sum(axis=1),
        }
        scale, rows = scale_of(sample, np.abs(values), self.weight, np.abs(model)), {}
        for method in methods:
            mean = estimator_named(method.estimator).estimate(sample, controls, values)
            rows[method.estimator] = about | {
                "estimate": mean.value,
                "standard_error": settled(mean.standard_error, scale),
                "degrees": mean.degrees_of_freedom,
            }
        return rows


@dataclass(frozen=True)
class LabelledPool:
    """Documents whose labels are known, and k = 1 or 2 systems; two are compared, first minus second."""

    graded: GradedPool  # The pool that documents are drawn from
    label: np.ndarray  # int64[N], the grade of each document

    @property
    def compared(self) -> bool:
        """Whether two systems are compared, rather than one estimated."""
        return len(self.graded.seen.ranks) == 2

    @property
    def weight(self) -> np.ndarray:
        """float64[m], p, the weights of the queries."""
        return self.graded.seen.weight

    @property
    def contrast(self) -> np.ndarray:
        """float64[k], the contrast to be estimated: 1 for a system, 1 and −1 for a difference."""
        return np.array([1.0, -1.0])[: len(self.graded.seen.ranks)]

    @cached_property
    def target(self) -> np.ndarray:
        """float64[m], the contrast in each query."""
        seen = self.graded.seen
        return np.asarray(seen.values(seen.form.values[self.label]) @ self.contrast)

    @property
    def truth(self) -> float:
        """The mean of the contrast over queries."""
        return float(self.weight @ self.target)

    def swapped(self, traded: np.ndarray) -> LabelledPool:
        """The pool with its two systems swapped in some of the queries, bool[m] [AC 4.2]."""
        seen = self.graded.seen
        ranks = np.ascontiguousarray(np.where(traded[seen.query], seen.ranks[::-1], seen.ranks))
        return replace(self, graded=replace(self.graded, seen=seen.ranked(ranks)))

    def replayed(
        self,
        methods: Sequence[Method],
        budgets: Sequence[float],
        how: Repetitions,
        traded: np.ndarray | None,
        size: int,
        rng: np.random.Generator,
    ) -> list[Rows]:
        """The estimates of all methods from samples of documents."""
        usual = usual_variance(self.graded.seen.form) if how.defensive is None else how.defensive
        settings, rows = DrawingSettings(methods[0].design, usual), []
        sizes = pool_sizes(self.graded, settings) if traded is None else None
        for budget in budgets:
            found: dict[str, list[dict[str, float]]] = {method.estimator: [] for method in methods}
            for repetition in range(size):
                pool = self if traded is None else self.swapped(traded[repetition])
                drawn = drawn_by(sizes or pool_sizes(pool.graded, settings), pool.graded, settings, budget, rng)
                for method in methods:
                    found[method.estimator].append(pool._row(drawn, method))
            rows.append(
                {name: {key: np.array([r[key] for r in each]) for key in each[0]} for name, each in found.items()}
            )
        return rows

    def _row(self, drawn: DrawnDocuments, method: Method) -> dict[str, float]:
        seen, n = self.graded.seen, int(drawn.sample.drawn.sum())
        label = np.where(drawn.sample.drawn, self.label, -1)
        estimate = estimate_documents(seen, drawn, label, self.contrast, method.estimator)
        return {
            "n_draws": n,
            "n_queries": len(np.unique(seen.query[drawn.sample.drawn])),
            "n_judged": n,
            "spent": drawn.sample.spent,
            "estimate": estimate.value,
            "standard_error": float(settled(estimate.standard_error, estimate.scale)),
            "degrees": float(estimate.degrees_of_freedom),
            "n_effective": estimate.n_effective,
        }


def random_swaps(queries: int, rng: np.random.Generator, repetitions: int = 1) -> np.ndarray:
    """A random half of the queries for each repetition, bool[R, m]: those in which two systems are to be swapped."""
    return rng.integers(0, 2, (repetitions, queries), dtype=np.int8) > 0


def replay(
    pool: Population | LabelledPool,
    methods: Sequence[Method],
    budgets: Sequence[float],
    how: Repetitions,
    told: Callable[[int], Any] = lambda done: None,
) -> dict[str, Replays]:
    """Replay methods on the same samples, by the name of their estimator; ``told`` hears how many more are done."""
    if how.number < 1:
        raise ValueError(f"repetitions must be at least 1, got {how.number}")
    if how.null and not pool.compared:
        raise ValueError("label swapping needs two systems; the population has one")
    if isinstance(pool, Population):
        pool.check(methods, budgets)
    chunks: dict[str, list[Replays]] = {method.estimator: [] for method in methods}
    for number, seed in enumerate(np.random.SeedSequence(how.seed).spawn(-(-how.number // CHUNK))):
        size, seeds = min(CHUNK, how.number - number * CHUNK), seed.spawn(2)
        rng, swaps = (np.random.default_rng(each) for each in seeds)
        traded = random_swaps(len(pool.weight), swaps, size) if how.null else None
        target = pool.target if traded is None else np.where(traded, -pool.target, pool.target)
        truth = np.broadcast_to(target @ pool.weight, size)
        rows = pool.replayed(methods, budgets, how, traded, size, rng)
        for name, found in chunks.items():
            found.append(
                Replays(truth=truth, **{key: np.stack([row[name][key] for row in rows]) for key in rows[0][name]})
            )
        told(size)
    return {name: joined(found) for name, found in chunks.items()}


def joined(chunks: Sequence[Replays]) -> Replays:
    """Join the replays of several chunks along the repetitions."""
    names = [each.name for each in fields(Replays)]
    return Replays(**{name: np.concatenate([getattr(chunk, name) for chunk in chunks], axis=-1) for name in names})


def share_error(share: np.ndarray | float, repetitions: np.ndarray | int) -> np.ndarray:
    """The Monte Carlo error of a share of R repetitions, two of each outcome added [Agresti and Coull 1998]."""
    padded = (np.asarray(share) * repetitions + 2) / (repetitions + 4)
    return np.sqrt(padded * (1 - padded) / (repetitions + 4))[()]


def share_columns(name: str, share: np.ndarray | float, repetitions: int) -> dict[str, Any]:
    """A share and its Monte Carlo error as columns of a table: ``name`` and ``name_se``."""
    return {name: share, f"{name}_se": share_error(share, repetitions)}


def ratio_of_means(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of ``first`` over mean of ``second``, float64[B, R] each, and its standard error by linearisation."""
    mean, other = first.mean(axis=1), second.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / other
        spread = (first - ratio[:, None] * second).std(axis=1) / other
    return ratio, spread / np.sqrt(first.shape[1])


def savings(budgets: Sequence[float], squared: np.ndarray, passive: np.ndarray) -> np.ndarray:
    """1 − b'/b, where b' is the budget at which a method has the error that passive sampling has at b."""
    spend = np.asarray(budgets)
    better = np.r_[True, squared[1:] < np.minimum.accumulate(squared)[:-1]]
    with np.errstate(divide="ignore"):
        curve, wanted = -np.log(squared[better]), -np.log(passive)
        needed = np.exp(np.interp(wanted, curve, np.log(spend[better]), left=np.nan, right=np.nan))
    return np.asarray(1 - needed / spend)
