"""What is proved of a contrast at any time, and how long until more is [theory 14]?"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pt_active.inference.stopping.bets import Stakes, excluded, holm, interval, log_capital
from pt_active.inference.stopping.draws import Draws
from pt_active.inference.stopping.foresight import Ahead, Claim, decided_after
from pt_active.inference.stopping.looks import FIRST, POWER, SECOND, WITHIN
from pt_active.plans.answers.labelled_plan import Point
from pt_active.plans.answers.sequence import Proof

_PATHS = 200
"""Continuations of the judging that are simulated."""

NEVER = int(np.iinfo(np.int64).max)
"""The number of draws of what no draw settles."""

_MAX_LOG = 700.0
"""Logarithms of capitals are cut here, so that their exponentials are finite."""


@dataclass(frozen=True)
class Verdict:
    """What n draws prove."""

    resolution: int  # `FIRST`, `SECOND`, `WITHIN`, or 0
    at: int  # The number of draws that it took; 0 without a resolution
    low: float  # Ends of the interval
    high: float
    e_value: float  # The largest evidence so far against equality; infinite if certain, NaN if it is not asked for
    overturned: int = 0  # A resolution of bets that what is known for certain by now shows to be false, or 0


def verdict_of(proof: Proof, margin: float, compared: bool, alpha: float, apart: float = 0.0) -> Verdict:
    """The verdict on one contrast, whose truth may lie ``apart`` from that of the draws [theory 16]."""
    draws, stakes = proof.draws, proof.stakes
    if np.isinf(apart):
        return Verdict(0, 0, -np.inf, np.inf, np.nan)
    low, high = interval(draws, stakes, alpha)
    low, high = low - apart, high + apart
    if not compared:
        narrow = high - low <= 2 * margin
        at = _narrow_from(draws, stakes, margin - apart, alpha) if narrow else 0
        return Verdict(WITHIN if narrow else 0, at, low, high, np.nan)
    found = {each: at for each, at in _times(draws, stakes, margin, alpha, apart).items() if at >= 0}
    refuted = {each: at for each, at in found.items() if _refuted(draws, each, margin, apart)}
    kept = {each: at for each, at in found.items() if each not in refuted}
    resolution, overturned = (min(each, key=lambda name: each[name]) if each else 0 for each in (kept, refuted))
    at, evidence = kept.get(resolution, 0), np.nan if apart else _evidence(draws, stakes, resolution)
    return Verdict(resolution, at, low, high, evidence, overturned)


def _refuted(draws: Draws, resolution: int, margin: float, apart: float) -> bool:
    """Whether what is known for certain shows that a verdict of the bets was false."""
    least, most, close = draws.least[-1], draws.most[-1], draws.rounding
    if resolution == WITHIN:
        return bool(least > margin - apart + close or most < apart - margin - close)
    return bool(most <= apart + close if resolution == FIRST else least >= -apart - close)


def _times(draws: Draws, stakes: Stakes, margin: float, alpha: float, apart: float) -> dict[int, int]:
    """For each resolution the number of draws that proved it, -1 if they did not."""
    other = draws.mirrored
    times = {FIRST: excluded(draws, stakes, apart, alpha / 2), SECOND: excluded(other, stakes, apart, alpha / 2)}
    inner = margin - apart
    inside = [excluded(each, stakes, -inner, alpha / 2) for each in (draws, other)] if inner > 0 else [-1]
    within = max(inside) if min(inside) >= 0 else -1
    known = draws.most - draws.least <= draws.rounding
    if not apart and known.any() and abs(draws.base[-1]) <= draws.rounding:
        equal = int(known.argmax())
        within = equal if within < 0 else min(within, equal)
    return times | {WITHIN: within}


def _narrow_from(draws: Draws, stakes: Stakes, margin: float, alpha: float) -> int:
    """The number of draws after which the interval is as narrow as wanted; intervals only become narrower."""

    def narrow(number: int) -> bool:
        low, high = interval(draws.first(number), stakes, alpha)
        return bool(high - low <= 2 * margin)

    return bisect_left(range(len(draws.value)), True, key=narrow)


def _evidence(draws: Draws, stakes: Stakes, resolution: int) -> float:
    """Half of the larger capital at 0, at its best so far, at least 1; the mean of both at its best is no smaller."""
    least, most = draws.least[-1], draws.most[-1]
    if (resolution == FIRST and least > draws.rounding) or (resolution == SECOND and most < -draws.rounding):
        return np.inf
    larger = np.maximum(log_capital(draws, stakes), log_capital(draws.mirrored, stakes)) - np.log(2)
    return float(np.exp(min(larger.max(initial=0.0), _MAX_LOG)))


class Prospect(NamedTuple):
    """How many draws a verdict takes, counted from the first of the plan."""

    draws: np.ndarray  # int64[P], in each continuation
    needed: int  # With a probability of `POWER` if the estimate were the truth


def claims_on(margin: float, apart: float = 0.0) -> list[list[Claim]]:
    """What settles a difference: that it is positive, or negative, or with a margin that it lies within it."""
    claims, inner = [[Claim(apart, True)], [Claim(-apart, False)]], margin - apart
    return [*claims, [Claim(-inner, True), Claim(inner, False)]] if inner > 0 else claims


def prospect_of(
    proof: Proof, verdict: Verdict, point: Point, claims: list[list[Claim]], alpha: float, seed: int = 0
) -> Prospect:
    """How many more draws it takes to settle a difference, if judging goes on in this order to its end.

    The truth of a continuation is drawn from ``N(θ̂, SE²)``, within the interval.
    """
    draws, ahead = proof.draws, _ahead_of(proof)
    rng = np.random.default_rng(seed)
    ends = np.nan_to_num(verdict.low, nan=draws.least[-1]), np.nan_to_num(verdict.high, nan=draws.most[-1])
    told = point.of_pool.value, point.of_pool.standard_error
    value, error = (own if np.isfinite(own) else other for own, other in zip(told, draws.estimate(), strict=True))
    truths = np.clip(value + error * rng.standard_normal(_PATHS), *ends)
    blocks = decided_after(draws, proof.stakes, ahead, claims, alpha / 2, truths, seed + 1)
    as_estimated = decided_after(draws, proof.stakes, ahead, claims, alpha / 2, np.full(_PATHS, value), seed + 2)
    expected = np.quantile(as_estimated, POWER, method="higher")
    # All labels together settle every question about the pool's queries, but not about others.
    never, lost = (point.apart > 0) & ~_true(truths, claims), point.apart > 0 and not _true(np.array(value), claims)
    counts = np.where(never, NEVER, ahead.last[blocks])
    return Prospect(counts, NEVER if lost else int(ahead.last[expected]))


def _true(truth: np.ndarray, claims: list[list[Claim]]) -> np.ndarray:
    """Whether one of several verdicts is true, bool[...]."""
    verdicts = [np.all([(truth > each.value) == each.above for each in verdict], axis=0) for verdict in claims]
    return np.asarray(np.any(verdicts, axis=0))


def width_prospect_of(proof: Proof, verdict: Verdict, half_width: float, apart: float = 0.0) -> Prospect:
    """How many more draws it takes until the value of a single ranker is known as well as is wanted."""
    ahead, inner, at = _ahead_of(proof), half_width - apart, NEVER
    if inner > 0:
        # Widths go with the root of the information.
        so_far = float((1 / proof.draws.variance).sum())
        later = (verdict.high - verdict.low - 2 * apart) * np.sqrt(so_far / (so_far + np.cumsum(ahead.information)))
        at = int(ahead.last[((later <= 2 * inner) | ahead.ended).argmax()])
    return Prospect(np.array([at]), at)


def _ahead_of(proof: Proof) -> Ahead:
    """The draws to come."""
    return Ahead.of(proof.units, len(proof.draws.value), float(proof.draws.trust[-1]))


def pair_verdicts(proofs: list[Proof], alpha: float) -> list[Verdict]:
    """The verdicts on all pairs of rankers together.

    Each pair stands for two hypotheses, that its difference is not positive and that it is not negative. The
    probability that any verdict is ever wrong is at most α (`bets.holm`), and so is that of any interval ever missing
    its truth.
    """
    sides = [(side, each.stakes) for each in proofs for side in (each.draws, each.draws.mirrored)]
    evidence = np.ones((len(proofs[0].draws.value) + 1, len(sides)))
    for column, (side, stakes) in enumerate(sides):
        log = np.where(side.least[1:] > side.rounding, _MAX_LOG, log_capital(side, stakes))
        evidence[1:, column] = np.exp(np.minimum(np.maximum.accumulate(log), _MAX_LOG))
    adjusted = holm(evidence[-1])
    verdicts = []
    for pair, proof in enumerate(proofs):
        refuted = [_refuted(proof.draws, each, 0.0, 0.0) for each in (FIRST, SECOND)]
        both = adjusted[2 * pair : 2 * pair + 2]
        proofs_of = np.where(refuted, 0.0, both)
        column = 2 * pair + int(proofs_of.argmax())
        proved = bool(proofs_of.max() >= 1 / alpha)
        resolution = (FIRST if column % 2 == 0 else SECOND) if proved else 0
        at = _proved_at(evidence, column, alpha) if proved else 0
        false = np.flatnonzero(refuted & (both >= 1 / alpha))
        overturned = (FIRST, SECOND)[false[0]] if len(false) else 0
        known = proof.draws.most - proof.draws.least <= proof.draws.rounding
        if not proved and known.any():
            resolution, at = WITHIN, int(known.argmax())
        ends = interval(proof.draws, proof.stakes, alpha / len(proofs))
        certain = sides[column][0].least[-1] > sides[column][0].rounding
        e_value = np.inf if certain else float(adjusted[column])
        verdicts.append(Verdict(resolution, at, *ends, e_value, overturned))
    return verdicts


def _proved_at(evidence: np.ndarray, column: int, alpha: float) -> int:
    """The number of draws after which a hypothesis is first rejected together with the others; it stays rejected."""
    return bisect_left(range(len(evidence) - 1), True, 1, key=lambda n: bool(holm(evidence[n])[column] >= 1 / alpha))
