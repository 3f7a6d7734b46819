"""What do bets prove at any time, and how many more draws does it take until they prove more [theory 14]?

While a verdict is out, the errors of the draws to come are foreseen as normal, with the variance that is foreseen of
each. Then the capital of a bet for the signal θ grows by ``θ S − θ² I/2``, where ``I = Σ 1/σ_t²`` is the information of
the draws and ``S ~ N((R − r) I, I)``. Nothing of this enters a verdict.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pt_active.inference.stopping.bets import (
    LARGEST_STAKE,
    Stakes,
    excluded,
    holm,
    interval,
    log_capital,
    log_capitals,
)
from pt_active.inference.stopping.draws import Draws, Units
from pt_active.inference.stopping.looks import FIRST, POWER, SECOND, WITHIN, Claim, Goal

NEVER = int(np.iinfo(np.int64).max)
"""The number of draws of what no draw settles."""

_PATHS = 200  # Continuations of the judging that are simulated
_BLOCKS = 80  # Blocks of draws into which a continuation is divided, at most

_MAX_LOG = 700.0
"""Logarithms of capitals are cut here, so that their exponentials are finite."""

_SIDES = {FIRST: Claim(0.0, True), SECOND: Claim(0.0, False)}
"""What is claimed of the difference of two."""


@dataclass(frozen=True)
class Proof:
    """What the judged units say about a contrast."""

    draws: Draws  # All draws so far
    units: Units  # The units, judged or not
    stakes: Stakes  # How the bets are spread


def side_of(claim: Claim, draws: Draws) -> tuple[Draws, float]:
    """The draws of R, or of −R, and the value above which that is claimed to lie."""
    return (draws, claim.value) if claim.above else (draws.mirrored, -claim.value)


def certain(claim: Claim, draws: Draws) -> np.ndarray:
    """bool[n+1], whether it is true whatever the labels to come are, before the first and after each draw."""
    side, value = side_of(claim, draws)
    close = -draws.rounding if claim.or_equal else draws.rounding
    return np.asarray(side.least > value + close)


def refuted(claim: Claim, draws: Draws) -> bool:
    """Whether it is false whatever the labels to come are."""
    return bool(certain(Claim(claim.value, not claim.above, not claim.or_equal), draws)[-1])


def proved_after(claim: Claim, proof: Proof, alpha: float) -> int:
    """The number of draws that prove it at a level; `NEVER` if they do not."""
    side, value = side_of(claim, proof.draws)
    bet, known = excluded(side, proof.stakes, value, alpha), certain(claim, proof.draws)
    return min(bet if bet >= 0 else NEVER, int(known.argmax()) if known.any() else NEVER)


@dataclass(frozen=True)
class Verdict:
    """What n draws prove."""

    resolution: str | None  # One of the verdicts of the goal, such as `FIRST`, or None
    at: int  # The number of draws that it took; 0 without a resolution
    low: float  # Ends of the interval
    high: float
    e_value: float  # The largest evidence so far against equality; infinite if certain, NaN if it is not asked for
    overturned: str | None = None  # A verdict of bets that what is known for certain by now shows to be false


def verdict_of(proof: Proof, goal: Goal, alpha: float, apart: float = 0.0) -> Verdict:
    """The verdict on one contrast, whose truth may lie ``apart`` from that of the draws [theory 16]."""
    if np.isinf(apart):
        return Verdict(None, 0, -np.inf, np.inf, np.nan)
    wanted, draws = goal.moved(apart), proof.draws
    low, high = interval(draws, proof.stakes, alpha)
    if wanted.half_width is not None:
        narrow = bool(wanted.reached(low, high))
        at = _narrow_from(proof, wanted, alpha) if narrow else 0
        return Verdict(WITHIN if narrow else None, at, low - apart, high + apart, np.nan)
    proved: dict[str, int] = {}
    false: dict[str, int] = {}
    for name, claims in wanted.claims.items():
        if (at := max(proved_after(claim, proof, alpha / 2) for claim in claims)) < NEVER:
            kept = not any(refuted(claim, draws) for claim in claims)
            (proved if kept else false)[name] = at
    resolution, overturned = (min(each, key=each.__getitem__, default=None) for each in (proved, false))
    evidence = np.nan if apart else _evidence(proof, resolution)
    return Verdict(resolution, proved.get(resolution or "", 0), low - apart, high + apart, evidence, overturned)


def _narrow_from(proof: Proof, goal: Goal, alpha: float) -> int:
    """The number of draws after which the interval is as narrow as wanted; intervals only become narrower."""

    def narrow(number: int) -> bool:
        return bool(goal.reached(*interval(proof.draws.first(number), proof.stakes, alpha)))

    return bisect_left(range(len(proof.draws.value)), True, key=narrow)


def _evidence(proof: Proof, resolution: str | None) -> float:
    """Half of the larger capital at 0, at its best so far, at least 1; the mean of both at its best is no smaller."""
    draws, sides = proof.draws, _SIDES
    if resolution in sides and certain(sides[resolution], draws)[-1]:
        return np.inf
    larger = np.maximum(*(log_capital(side, proof.stakes) for side in (draws, draws.mirrored)))
    return float(np.exp(min((larger - np.log(2)).max(initial=0.0), _MAX_LOG)))


def pair_verdicts(proofs: list[Proof], alpha: float) -> list[Verdict]:
    """The verdicts on all pairs of rankers together.

    Each pair stands for two hypotheses, that its difference is not positive and that it is not negative. The
    probability that any verdict is ever wrong is at most α (`bets.holm`), and so is that of any interval ever missing
    its truth.
    """
    columns = [_evidence_so_far(proof, claim) for proof in proofs for claim in _SIDES.values()]
    evidence = np.stack(columns, axis=1)
    adjusted = holm(evidence[-1]).reshape(len(proofs), 2)
    verdicts = []
    for pair, (proof, both) in enumerate(zip(proofs, adjusted, strict=True)):
        draws, names = proof.draws, np.array(list(_SIDES))
        false = np.array([refuted(claim, draws) for claim in _SIDES.values()])
        proved = both >= 1 / alpha
        side = int(np.where(false, 0.0, both).argmax())
        known = draws.most - draws.least <= draws.rounding
        resolution, at = None, 0
        if proved[side] and not false[side]:
            resolution, at = str(names[side]), _proved_at(evidence, 2 * pair + side, alpha)
        elif known.any():
            resolution, at = WITHIN, int(known.argmax())
        low, high = interval(draws, proof.stakes, alpha / len(proofs))
        sure = certain(_SIDES[names[side]], draws)[-1]
        overturned = next(map(str, names[false & proved]), None)
        verdicts.append(Verdict(resolution, at, low, high, np.inf if sure else float(both[side]), overturned))
    return verdicts


def _evidence_so_far(proof: Proof, claim: Claim) -> np.ndarray:
    """float64[n+1], the largest evidence for a claim, before the first and after each draw."""
    side, _ = side_of(claim, proof.draws)
    log = np.where(certain(claim, proof.draws)[1:], _MAX_LOG, log_capital(side, proof.stakes))
    return np.r_[1.0, np.exp(np.minimum(np.maximum.accumulate(log), _MAX_LOG))]


def _proved_at(evidence: np.ndarray, column: int, alpha: float) -> int:
    """The number of draws after which a hypothesis is first rejected together with the others; it stays rejected."""
    return bisect_left(range(len(evidence) - 1), True, 1, key=lambda n: bool(holm(evidence[n])[column] >= 1 / alpha))


class Prospect(NamedTuple):
    """How many draws a verdict takes, counted from the first of the plan."""

    draws: np.ndarray  # int64[P], in each continuation
    needed: int  # With a probability of `POWER` if the estimate were the truth


def prospect_of(
    proof: Proof,
    verdict: Verdict,
    goal: Goal,
    estimate: tuple[float, float],
    alpha: float,
    apart: float = 0.0,
    seed: int = 0,
) -> Prospect:
    """How many more draws it takes to settle a question, if judging goes on in this order to its end.

    The truth of a continuation is drawn from ``N(θ̂, SE²)``, within the interval. Where the estimate or its error is not
    known, that of the draws is used.
    """
    draws, ahead, wanted = proof.draws, Ahead.of(proof), goal.moved(apart)
    if wanted.half_width is not None:
        at = _narrow_after(draws, ahead, verdict.high - verdict.low - 2 * apart, wanted.half_width)
        return Prospect(np.array([at]), at)
    rng = np.random.default_rng(seed)
    ends = np.nan_to_num(verdict.low, nan=draws.least[-1]), np.nan_to_num(verdict.high, nan=draws.most[-1])
    value, error = np.where(np.isfinite(estimate), estimate, draws.estimate())
    truths = np.clip(value + error * rng.standard_normal(_PATHS), *ends)
    claims = list(wanted.claims.values())
    blocks = decided_after(proof, ahead, claims, alpha / 2, truths, seed + 1)
    as_estimated = decided_after(proof, ahead, claims, alpha / 2, np.full(_PATHS, value), seed + 2)
    counts, needed = ahead.last[blocks], ahead.last[np.quantile(as_estimated, POWER, method="higher")]
    if apart > 0:
        # All labels together settle every question about the pool's queries, but not about others.
        counts = np.where(wanted.reached(truths, truths), counts, NEVER)
        needed = needed if wanted.reached(value, value) else NEVER
    return Prospect(counts, int(needed))


def _narrow_after(draws: Draws, ahead: Ahead, width: float, half_width: float) -> int:
    """How many draws it takes until an interval is narrow enough: widths go with the root of the information."""
    if half_width <= 0:
        return NEVER
    so_far = float((1 / draws.variance).sum())
    later = width * np.sqrt(so_far / (so_far + np.cumsum(ahead.information)))
    return int(ahead.last[((later <= 2 * half_width) | ahead.ended).argmax()])


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
    def of(cls, proof: Proof) -> Ahead:
        """Blocks that are the longer the later they come; the last one ends with the population."""
        units, n, judged = proof.units, len(proof.units.rate), len(proof.draws.value)
        if judged >= n:
            raise ValueError("nothing is left to judge, so there are no draws to foresee")
        last = np.unique(np.ceil(judged + (n - judged) * (np.arange(1, _BLOCKS + 1) / _BLOCKS) ** 2).astype(np.int64))
        variance = units.expected[judged:] * proof.draws.trust[-1]
        first = np.r_[judged, last[:-1]]
        middle = (first + last - 1) // 2
        return cls(
            last=last,
            information=np.add.reduceat(1 / variance, first - judged),
            variance=variance[middle - judged],
            down=-units.reach[0, middle],
            up=units.reach[1, middle],
            ended=last == n,
        )


def decided_after(
    proof: Proof,
    ahead: Ahead,
    claims: Iterable[Sequence[Claim]],
    alpha: float,
    truths: np.ndarray,
    seed: int | None = 0,
) -> np.ndarray:
    """The block after which any of several verdicts is reached, int64[P], for P simulated continuations.

    Args:
        proof: What the labels so far say.
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
        done |= np.all([_foreseen(proof, ahead, claim, alpha, truths, noise) for claim in verdict], axis=0)
    return np.asarray(done.argmax(axis=1))


def _foreseen(
    proof: Proof, ahead: Ahead, claim: Claim, alpha: float, truths: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """bool[P, B], whether the claim is proved by the end of each block."""
    side, value = side_of(claim, proof.draws)
    sign, edge = (1.0, ahead.down) if claim.above else (-1.0, ahead.up)
    distance = sign * truths - value
    score = distance[:, None] * ahead.information + sign * noise
    room = np.maximum(edge[None, :] - distance[:, None], side.rounding)
    cap = LARGEST_STAKE * ahead.variance / room
    capital = np.zeros(noise.shape)
    for log, signal in zip(log_capitals(side, proof.stakes, value)[0], proof.stakes.signal, strict=True):
        bet = np.minimum(signal, cap)
        growth = np.cumsum(bet * score - 0.5 * bet**2 * ahead.information, axis=1)
        capital += np.exp(np.minimum(log + growth, _MAX_LOG))
    return np.asarray(np.maximum.accumulate(capital >= 1 / alpha, axis=1))
