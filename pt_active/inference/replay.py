"""Replays of a whole evaluation on known labels: design, draw to a budget, estimate, test, many times over.

A replay runs through the functions that a plan uses, for thousands of samples at once. Samples of one repetition use
the same random numbers for all designs, so that designs are compared on equal terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.inference.estimators import Controls, effective_size, estimator_named, scale_of
from pt_active.inference.intervals import reference_degrees
from pt_active.inference.methods import Method
from pt_active.inference.replays import CHUNK, Replays
from pt_active.inference.rounds import Round, draw_round, estimate_rounds
from pt_active.inference.ties import settled
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import defensive_share, design_named, difference_moments, sampling_distribution
from pt_active.sampling.drawings import RoundSettings, usual_variance
from pt_active.sampling.draws import pays_for_all, priorities, races
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Sample

_ROUNDING = 1e-12  # A standard error below this share of the estimate is rounding

# The estimates from R samples at one budget: from the name of the estimator to fields of `Replays`, [R] each
Rows = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Population:
    """A pool of m queries whose labels are known, and k = 1 or 2 systems; two are compared, first minus second."""

    values: np.ndarray  # float64[m, k], the measured values
    moments: Moments  # The moments of the values under the grade model
    uniform: Moments  # The moments of the values under ``P(y) = 1/|Y|``
    cost: np.ndarray  # float64[m], λ
    weight: np.ndarray  # float64[m], p, sums to 1
    documents: np.ndarray  # int64[m], how many documents are judged for each query
    single: LabelledPool | None = None  # The pool for judging single documents; None if the measure does not allow that

    @property
    def compared(self) -> bool:
        """Whether two systems are compared, rather than one estimated."""
        return self.values.shape[1] == 2

    @cached_property
    def target(self) -> np.ndarray:
        """float64[m], the values to be averaged: ℓ, or δ for two systems."""
        return self.values[:, 0] - self.values[:, 1] if self.compared else self.values[:, 0]

    @cached_property
    def model(self) -> np.ndarray:
        """float64[m], the values of `target` that the grade model expects."""
        mean, covariance = self.moments.mean, self.moments.covariance
        return difference_moments(mean, covariance, 0, 1)[0] if self.compared else mean[:, 0]

    @property
    def truth(self) -> float:
        """``Σ p ℓ``, or ``Σ p δ`` for two systems."""
        return float(self.weight @ self.target)

    def distribution(self, design: str, defensive: float) -> np.ndarray:
        """The q of a design, float64[m] [theory 4]."""
        return sampling_distribution(design, self.moments, self.cost, self.weight, defensive, self.uniform)

    def swapped(self, traded: np.ndarray) -> Population:
        """The population with its two systems swapped in some of the queries [AC 4.2].

        Shapes: traded bool[m].
        """
        order = np.where(traded[:, None], [[1, 0]], [[0, 1]])
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
class LabelledPool:
    """A pool of documents whose labels are known, and k = 1 or 2 systems; two are compared, first minus second."""

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
        """The pool with its two systems swapped in some of the queries [AC 4.2].

        Shapes: traded bool[m].
        """
        seen = self.graded.seen
        ranks = np.ascontiguousarray(np.where(traded[seen.query], seen.ranks[::-1], seen.ranks))
        return replace(self, graded=replace(self.graded, seen=seen.ranked(ranks)))


def random_swaps(queries: int, rng: np.random.Generator, repetitions: int = 1) -> np.ndarray:
    """A random half of the queries for each repetition, bool[R, m]: those in which two systems are to be swapped."""
    return rng.integers(0, 2, (repetitions, queries), dtype=np.int8) > 0


@dataclass(frozen=True)
class Chunk:
    """What is drawn and estimated in R repetitions that are computed together; arrays are of one or of R rows."""

    target: np.ndarray  # float64[..., m], the values to be averaged
    model: np.ndarray  # float64[..., m], the values that the grade model expects
    q: np.ndarray  # float64[..., m], the distribution that queries are drawn from

    @classmethod
    def of(cls, pool: Population, design: str, defensive: float, traded: np.ndarray | None) -> Chunk:
        """All repetitions see the population as it is, or each with its systems swapped in queries of its own.

        Shapes: traded bool[R, m].
        """
        if traded is None:
            return cls(pool.target, pool.model, pool.distribution(design, defensive))
        # A design can depend on the swap: `optimal` measures distances from the mean difference that the model expects.
        q = np.stack([pool.swapped(row).distribution(design, defensive) for row in traded])
        return cls(_signed(pool.target, traded), _signed(pool.model, traded), q)


def _signed(differences: np.ndarray, traded: np.ndarray) -> np.ndarray:
    """Differences of two systems after swaps, float64[R, m]."""
    return np.where(traded, -differences, differences)


@dataclass(frozen=True)
class Repetitions:
    """How often an evaluation is replayed, and how."""

    number: int  # Number of samples
    seed: int  # Seed of all random numbers; what a repetition draws does not depend on the number of repetitions
    null: bool = False  # Whether each repetition swaps the two systems in a random half of the queries of its own
    defensive: float | None = None  # ε of the design; None for the default of queries or of documents
    reference: str = "effective"  # The reference distribution of intervals and tests, a name in `intervals.REFERENCES`


def replay(
    pool: Population | LabelledPool, methods: Sequence[Method], budgets: Sequence[float], how: Repetitions
) -> Iterator[dict[str, Replays]]:
    """Replay methods on the same samples, one chunk of repetitions at a time; `joined` puts the chunks together."""
    _check(pool, methods, budgets, how)
    seeds = np.random.SeedSequence(how.seed).spawn(-(-how.number // CHUNK))
    sizes = [min(CHUNK, how.number - chunk * CHUNK) for chunk in range(len(seeds))]
    return (_chunk(pool, methods, budgets, how, size, seed) for size, seed in zip(sizes, seeds, strict=True))


def _check(
    pool: Population | LabelledPool, methods: Sequence[Method], budgets: Sequence[float], how: Repetitions
) -> None:
    if how.number < 1:
        raise ValueError(f"repetitions must be at least 1, got {how.number}")
    if how.null and not pool.compared:
        raise ValueError("label swapping needs two systems; the population has one")
    reference_degrees(how.reference, np.ones(1), 2)
    if isinstance(pool, LabelledPool):
        if methods[0].rounds < 1:
            raise ValueError(f"rounds must be at least 1, got {methods[0].rounds}")
        return
    check_budgets(pool, budgets)
    design_named(methods[0].design)
    for method in methods:
        estimator_named(method.estimator)


def _chunk(
    pool: Population | LabelledPool,
    methods: Sequence[Method],
    budgets: Sequence[float],
    how: Repetitions,
    size: int,
    seed: np.random.SeedSequence,
) -> dict[str, Replays]:
    draw_seed, swap_seed = seed.spawn(2)
    rng, queries = np.random.default_rng(draw_seed), len(pool.weight)
    traded = random_swaps(queries, np.random.default_rng(swap_seed), size) if how.null else None
    target = pool.target if traded is None else _signed(pool.target, traded)
    truth = np.broadcast_to(target @ pool.weight, size)
    if isinstance(pool, LabelledPool):
        rows = [_of_documents(pool, traded, methods, budget, how, size, rng) for budget in budgets]
    else:
        usual = defensive_share(budgets[-1] / float(pool.weight @ pool.cost))
        chunk = Chunk.of(pool, methods[0].design, usual if how.defensive is None else how.defensive, traded)
        draw = races if methods[0].with_replacement else priorities
        samples = draw(chunk.q, pool.cost, budgets, size, rng)
        rows = [_of_queries(pool, chunk, methods, sample, how.reference) for sample in samples]
    return {method.estimator: _stacked([row[method.estimator] for row in rows], truth) for method in methods}


def _stacked(rows: list[dict[str, np.ndarray]], truth: np.ndarray) -> Replays:
    """Replays with one row per budget."""
    return Replays(truth=truth, **{name: np.stack([row[name] for row in rows]) for name in rows[0]})


def _of_queries(pool: Population, chunk: Chunk, methods: Sequence[Method], sample: Sample, reference: str) -> Rows:
    """The estimates of all methods from samples of queries."""
    drawn, target, controls = sample.count > 0, sample.of(chunk.target), Controls(pool.weight, chunk.model)
    about = {
        "n_draws": sample.draws,
        "n_queries": drawn.sum(axis=1),
        "n_judged": (sample.of(pool.documents) * drawn).sum(axis=1),
        "n_effective": effective_size(sample.count, sample.importance(pool.weight)),
        "spent": (sample.of(pool.cost) * drawn).sum(axis=1),
    }
    rows = {}
    for method in methods:
        mean = estimator_named(method.estimator).weigh(sample, controls).estimate(target)
        scale = scale_of(sample, np.abs(target), pool.weight, np.abs(chunk.model))
        rows[method.estimator] = about | {
            "estimate": mean.value,
            "standard_error": settled(mean.standard_error, scale),
            "degrees": reference_degrees(reference, mean.degrees_of_freedom, sample.draws),
        }
    return rows


def _of_documents(
    pool: LabelledPool,
    traded: np.ndarray | None,
    methods: Sequence[Method],
    budget: float,
    how: Repetitions,
    size: int,
    rng: np.random.Generator,
) -> Rows:
    """The estimates of all methods from ``size`` samples of documents, each with its own swaps if there are any."""
    kind, usual = methods[0], usual_variance(pool.graded.seen.form)
    defensive = usual if how.defensive is None else how.defensive
    settings, share = RoundSettings(kind.design, defensive), budget / kind.rounds
    rows = []
    for repetition in range(size):
        now = pool if traded is None else pool.swapped(traded[repetition])
        drawn, label = _drawn_rounds(now, settings, share, kind.rounds, rng)
        rows.append({method.estimator: _fields(now, drawn, label, method, how.reference) for method in methods})
    names = [method.estimator for method in methods]
    return {name: {field: np.array([row[name][field] for row in rows]) for field in rows[0][name]} for name in names}


def _drawn_rounds(
    pool: LabelledPool, settings: RoundSettings, budget: float, rounds: int, rng: np.random.Generator
) -> tuple[list[Round], np.ndarray]:
    """One sample in several rounds with one budget each, and its labels, int64[N], -1 for documents not drawn."""
    drawn: list[Round] = []
    label = np.full(len(pool.label), -1)
    for _ in range(rounds):
        drawn.append(draw_round(pool.graded, settings, budget, rng, labels=label if drawn else None))
        label = np.where(drawn[-1].sample.drawn, pool.label, label)
        if drawn[-1].expected <= 0:
            break
    return drawn, label


def _fields(
    pool: LabelledPool, rounds: Sequence[Round], label: np.ndarray, method: Method, reference: str
) -> dict[str, float]:
    """The estimate of one method from one sample of documents, as fields of `Replays`."""
    judged = label >= 0
    n = int(judged.sum())
    estimate = estimate_rounds(pool.graded.seen, rounds, label, pool.contrast, method.estimator)
    return {
        "n_draws": n,
        "n_queries": len(np.unique(pool.graded.seen.query[judged])),
        "n_judged": n,
        "spent": sum(each.sample.spent for each in rounds),
        "estimate": estimate.value,
        "standard_error": float(settled(estimate.standard_error, estimate.scale)),
        "degrees": float(reference_degrees(reference, np.array(estimate.degrees_of_freedom), n)),
        "n_effective": estimate.n_effective,
    }


def check_budgets(population: Population, budgets: Sequence[float]) -> None:
    """Raise if budgets cannot be replayed."""
    low, high = population.cost.max(), population.cost.sum()
    if len(budgets) == 0 or (np.diff(budgets) <= 0).any():
        raise ValueError(f"budgets must be increasing numbers, got {list(budgets)}")
    outside = [f"{b:g}" for b in budgets if not b >= low or pays_for_all(b, population.cost)]
    if outside:
        raise ValueError(
            f"budgets outside the pool: {', '.join(outside)}; the dearest query costs {low:g}, so each must be at "
            f"least that, and all queries together cost {high:g}, so each must be less"
        )
