"""What was drawn, how often, and how probable that was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sample:
    """What was drawn.

    Attributes:
        draws: int64[m], how often each query was drawn.
        importance: float64[m], ``p/q``, or ``n p/π`` without replacement; NaN where a query was not drawn.
        inclusion: float64[m], the inclusion probability π of each drawn query; NaN with replacement.
        census: Whether the budget pays for every query with a weight, so that all of them are judged and nothing is
            left to chance. Then each counts once, with importance ``m p`` and inclusion 1.
        priority: float64[m], without replacement: queries come in this order; infinite where q is 0. None otherwise.
    """

    draws: np.ndarray
    importance: np.ndarray
    inclusion: np.ndarray
    census: bool = False
    priority: np.ndarray | None = None


NO_STRATUM = -1
"""In the place of a stratum where there are none."""


@dataclass(frozen=True)
class PairSample:
    """What was drawn.

    Attributes:
        q: float64[N], the sampling distribution; for strata, the inclusion probabilities over their sum.
        stratum: int64[N], or `NO_STRATUM`.
        sample: The draws.
    """

    q: np.ndarray
    stratum: np.ndarray
    sample: Sample


@dataclass(frozen=True)
class DocumentDesign:
    """Inclusion probabilities of both phases [theory 9].

    Attributes:
        drawing: One of `DRAWINGS`.
        order: As in `DocumentSizes`.
        opening: float64[m], Π, the probability that a query is opened.
        inclusion: float64[N], π, of a document once its query is opened; 0 where it is never judged.
    """

    drawing: str
    order: np.ndarray
    opening: np.ndarray
    inclusion: np.ndarray


@dataclass(frozen=True)
class DocumentSample:
    """Which documents were drawn.

    Attributes:
        design: What they were drawn from.
        opening: float64[m], Π of the queries that were opened, given what the others cost; 0 elsewhere.
        drawn: bool[N], documents to judge.
        apart: bool[m], queries whose documents were drawn independently of each other.
        spent: What judging them costs.
    """

    design: DocumentDesign
    opening: np.ndarray
    drawn: np.ndarray
    apart: np.ndarray
    spent: float


@dataclass(frozen=True)
class Drawn:
    """How pairs came into the sample, as the estimators of `estimators` have it; a pair that did not counts 0.

    Attributes:
        rows: int64[..., n], which pairs of the pool.
        count: int64[..., n].
        importance: float64[..., n], v.
        inclusion: float64[..., n], π of draws without replacement; None with replacement.
    """

    rows: np.ndarray
    count: np.ndarray
    importance: np.ndarray
    inclusion: np.ndarray | None = None


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
