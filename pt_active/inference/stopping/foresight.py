"""How many more draws it takes until bets decide a question.

While a verdict is out, the errors of the draws to come are foreseen as normal, with the variance that is foreseen of
each. Then the capital of a bet for the signal θ grows by ``θ S − θ² I/2``, where ``I = Σ 1/σ_t²`` is the information of
the draws and ``S ~ N((R − r) I, I)``. Nothing of this enters a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.inference.stopping.bets import LARGEST_STAKE, Stakes, log_capitals
from pt_active.inference.stopping.draws import Draws, Units

_BLOCKS = 80  # Blocks of draws into which a continuation is divided, at most


@dataclass(frozen=True)
class Claim:
    """That R lies above (or below) a value r."""

    value: float
    above: bool


@dataclass(frozen=True)
class Ahead:
    """The draws to come, in blocks; all arrays are float64[B]."""

    last: np.ndarray  # int64[B], the number of draws after each block
    information: np.ndarray  # Σ 1/σ² of each block
    variance: np.ndarray  # σ² about the middle of each block
    down: np.ndarray  # How far a draw can fall below the estimate before it
    up: np.ndarray  # How far it can rise above it
    ended: np.ndarray  # bool[B], whether nothing is left after the block

    @classmethod
    def of(cls, units: Units, judged: int, trust: float) -> Ahead:
        """Blocks that are the longer the later they come; the last one ends with the population."""
        n = len(units.rate)
        if judged >= n:
            raise ValueError("nothing is left to judge, so there are no draws to foresee")
        last = np.unique(np.ceil(judged + (n - judged) * (np.arange(1, _BLOCKS + 1) / _BLOCKS) ** 2).astype(np.int64))
        variance = units.expected[judged:] * trust
        parts = np.r_[0, last[:-1] - judged]
        middle = (np.r_[judged, last[:-1]] + last - 1) // 2
        return cls(
            last=last,
            information=np.add.reduceat(1 / variance, parts),
            variance=variance[middle - judged],
            down=-units.worst[middle],
            up=units.best[middle],
            ended=last == n,
        )


def decided_after(
    draws: Draws,
    stakes: Stakes,
    ahead: Ahead,
    claims: list[list[Claim]],
    alpha: float,
    truths: np.ndarray,
    seed: int | None = 0,
) -> np.ndarray:
    """The block after which any of several verdicts is reached, int64[P], for P simulated continuations.

    Args:
        draws: What the labels so far say.
        stakes: How the capital of each claim is spread.
        ahead: The draws to come; the truth is known after the last block.
        claims: Verdicts; each is reached once all of its claims are proved.
        alpha: The level of each claim.
        truths: float64[P], the truth of each continuation.
        seed: Seed of the noise; None for none.
    """
    noise = np.zeros((len(truths), len(ahead.last)))
    if seed is not None:
        noise = np.random.default_rng(seed).standard_normal(noise.shape) * np.sqrt(ahead.information)
    done = np.broadcast_to(ahead.ended, noise.shape).copy()
    for verdict in claims:
        proved = np.ones(noise.shape, dtype=bool)
        for claim in verdict:
            proved &= _proved(draws, stakes, ahead, claim, alpha, truths, noise)
        done |= proved
    return np.asarray(done.argmax(axis=1))


def _proved(
    draws: Draws, stakes: Stakes, ahead: Ahead, claim: Claim, alpha: float, truths: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """bool[P, B], whether the claim is proved by the end of each block."""
    side = draws if claim.above else draws.mirrored
    sign, edge = (1.0, ahead.down) if claim.above else (-1.0, ahead.up)
    distance = sign * (truths - claim.value)
    score = distance[:, None] * ahead.information + sign * noise
    room = np.maximum(edge[None, :] - distance[:, None], draws.rounding)
    cap = LARGEST_STAKE * ahead.variance / room
    capital = np.zeros(noise.shape)
    for log, signal in zip(log_capitals(side, stakes, sign * claim.value)[0], stakes.signal, strict=True):
        bet = np.minimum(signal, cap)
        growth = np.cumsum(bet * score - 0.5 * bet**2 * ahead.information, axis=1)
        capital += np.exp(np.minimum(log + growth, 700.0))
    return np.asarray(np.maximum.accumulate(capital >= 1 / alpha, axis=1))
