"""Replaying the judging of single documents where every label is known; see `pt_active.replay`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pt_active.documents.design import DEFENSIVE
from pt_active.documents.rounds import GradedPool, Round, RoundSettings, draw_round, estimate_rounds
from pt_active.estimators import reference_degrees
from pt_active.replay import CHUNK, Replays

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
    defensive: float = DEFENSIVE,
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
