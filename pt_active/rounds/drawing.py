"""Drawing rounds of labels without replacement, and what must be kept of them [theory 7]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pt_active.designs import DEFENSIVE
from pt_active.sampling import Clipped

DRAWINGS = ("fixed", "poisson", "single")
"""How a round is drawn: a fixed number at once (pivotal method), independent of each other, or one at a time."""


@dataclass(frozen=True)
class Rounds:
    """Which instances of a pool were drawn, when, and how probable that was.

    A step is a round, or one draw of a round that is drawn one at a time. Nothing is kept of instances that were not
    drawn: the estimators do not need it.

    Attributes:
        score: float64[N], g, what the kernel regressions see of an instance.
        step: int64[N], the step in which it was drawn, from 1; 0 if it was not.
        probability: float64[N], π, of being drawn in that step given all before it; NaN if it was not drawn.
        size: float64[S], how many a step draws, for ``poisson`` on average.
        independent: bool[S], whether the step's instances were drawn independently of each other.
    """

    score: np.ndarray
    step: np.ndarray
    probability: np.ndarray
    size: np.ndarray
    independent: np.ndarray

    @classmethod
    def none_yet(cls, score: np.ndarray) -> Rounds:
        """A pool of which nothing was drawn.

        Args:
            score: float64[N], g.

        Raises:
            ValueError: If the pool is empty or a score is not a finite number.
        """
        score = np.asarray(score, dtype=np.float64)
        if len(score) == 0:
            raise ValueError("the pool is empty")
        if not np.isfinite(score).all():
            raise ValueError(f"scores must be finite numbers; {int((~np.isfinite(score)).sum())} are not")
        n = len(score)
        return cls(score, np.zeros(n, dtype=np.int64), np.full(n, np.nan), np.zeros(0), np.zeros(0, dtype=bool))

    @property
    def drawn(self) -> np.ndarray:
        """bool[N]."""
        return self.step > 0

    @property
    def census(self) -> bool:
        """Whether the last step was certain to draw all that was left."""
        last = self.step == self.step.max(initial=0)
        return bool(self.drawn.all() and (self.probability[last] >= 1 - 1e-12).all())


def inclusion_probabilities(size: np.ndarray, number: float) -> np.ndarray:
    """``π = min(1, τ size)`` with τ such that ``Σ π`` is the number wanted [theory 7].

    Args:
        size: float64[n], positive, what π is to be proportional to.
        number: How many to draw; if there are no more, all have π = 1.

    Raises:
        ValueError: If a size is not positive, or the number is not.
    """
    if not (size > 0).all() or not np.isfinite(size).all():
        raise ValueError("sizes must be positive numbers, or some instances could never be drawn")
    if not number > 0:
        raise ValueError(f"a round must draw a positive number, got {number}")
    return np.minimum(1.0, Clipped.of(size, np.ones_like(size)).factor(number) * size)


def defended(expected: np.ndarray, defensive: float = DEFENSIVE) -> np.ndarray:
    """``(1 − ε) a/ā + ε``: the mixture that keeps every instance within reach [theory 4].

    Args:
        expected: float64[n], a, not negative; if all are 0 they count as 1.
        defensive: ε in (0, 1].

    Raises:
        ValueError: If an expectation is negative or not a number, or ε lies outside (0, 1].
    """
    if not 0 < defensive <= 1:
        raise ValueError(f"defensive must lie above 0 and not above 1, got {defensive}")
    if not (np.isfinite(expected).all() and (expected >= 0).all()):
        raise ValueError("what is expected of each instance must be a finite number and not negative")
    mean = expected.mean()
    return (1 - defensive) * (expected / mean if mean > 0 else np.ones_like(expected)) + defensive


def draw_round(rounds: Rounds, size: np.ndarray, number: int, drawing: str, rng: np.random.Generator) -> Rounds:
    """Draw more instances among those that were not drawn yet.

    Args:
        rounds: Those so far.
        size: float64[N], positive, what the probabilities are to be proportional to; not read where drawn already.
        number: How many, for ``poisson`` on average; all that are left if there are no more.
        drawing: One of `DRAWINGS`.
        rng: Source of randomness.

    Returns:
        The rounds with one round more: one step, or ``number`` of them for ``single``.

    Raises:
        ValueError: If the drawing is unknown, the number is below 1, nothing is left, or a size is not positive.
    """
    if drawing not in DRAWINGS:
        raise ValueError(f"unknown drawing {drawing!r}; it is one of {', '.join(DRAWINGS)}")
    if number < 1:
        raise ValueError(f"a round must draw at least 1 instance, got {number}")
    left = np.flatnonzero(~rounds.drawn)
    if len(left) == 0:
        raise ValueError("everything was drawn already; there is nothing left to draw")
    number = min(number, len(left))
    if drawing == "single":
        return _one_at_a_time(rounds, left, size[left], number, rng)
    inclusion = inclusion_probabilities(size[left], number)
    if drawing == "poisson":
        chosen = rng.random(len(left)) < inclusion
    else:
        chosen = _pivotal(inclusion, rng)
    steps = np.array([number], dtype=np.float64), np.array([drawing == "poisson"])
    return _with_steps(rounds, left[chosen], np.ones(chosen.sum(), dtype=np.int64), inclusion[chosen], *steps)


def _pivotal(inclusion: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """bool[n], as many as the probabilities sum to, in random order, so that no order of the pool matters."""
    from pt_active.documents import _kernels

    chosen = np.zeros(len(inclusion), dtype=bool)
    _kernels.pivotal(inclusion, rng.permutation(len(inclusion)), rng.random(len(inclusion)), chosen)
    return chosen


def _one_at_a_time(rounds: Rounds, left: np.ndarray, size: np.ndarray, number: int, rng: np.random.Generator) -> Rounds:
    """Each draw ∝ size among those left: the arrivals of Poisson processes, in their order [theory 4]."""
    if not (size > 0).all() or not np.isfinite(size).all():
        raise ValueError("sizes must be positive numbers, or some instances could never be drawn")
    order = np.argsort(rng.exponential(size=len(left)) / size, kind="stable")
    remaining = np.cumsum(size[order][::-1])[::-1]
    first = order[:number]
    probability = np.minimum(1.0, size[first] / remaining[:number])
    steps = np.ones(number), np.zeros(number, dtype=bool)
    return _with_steps(rounds, left[first], np.arange(1, number + 1), probability, *steps)


def _with_steps(
    rounds: Rounds,
    chosen: np.ndarray,
    step: np.ndarray,
    probability: np.ndarray,
    size: np.ndarray,
    independent: np.ndarray,
) -> Rounds:
    steps, probabilities = rounds.step.copy(), rounds.probability.copy()
    steps[chosen] = len(rounds.size) + step
    probabilities[chosen] = probability
    return replace(
        rounds,
        step=steps,
        probability=probabilities,
        size=np.concatenate([rounds.size, size]),
        independent=np.concatenate([rounds.independent, independent]),
    )
