"""What labels prove at any time, without asymptotics [theory 14].

Units come in successive order, so the next one is x with probability ``q(x)/Q``, Q being the sum of q over those that
are left. What is known, what the model expects of the rest, and the error of the model in the unit drawn make

``Z_t = Σ_known c + Σ_rest m + (c(x) − m(x)) Q/q(x)``,

whose mean, given all before it, is the truth ``R = Σ c`` at every draw. Each c is bounded, so Z_t is. A gambler who
stakes ``β`` on ``Z_t`` being above r holds ``K(r) = Π (1 + β_t (Z_t − r))``. The game is fair or worse for every
``r ≥ R``, so ``K(r)`` exceeds ``2/α`` at any time with a probability of at most ``α/2`` there, whatever the labels are
(Ville 1939). The values r against which neither side has become rich are an interval that holds at all draws together
[Waudby-Smith and Ramdas 2024; Shekhar et al. 2023].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pt_active.inference.stopping.draws import Draws

LARGEST_STAKE = 0.95
"""The largest share of its capital that a bet can lose in one draw. At 1, one draw could end it for good."""

_FIRST_SIZE = 8
"""The smallest number of draws that a bet is made for; smaller ones are limited by `LARGEST_STAKE` anyway."""

_PLANNED = {0.25: 0.06, 0.5: 0.12, 1.0: 0.24, 2.0: 0.12, 4.0: 0.06}
"""Sizes of the sample in units of the planned one → share of the capital that is bet for them. The rest is spread
evenly over all sizes, so that a verdict far from the plan costs little more."""

_BISECTIONS = 60  # Steps of the search for the ends of an interval, at most
_PRECISION = 1e-4  # Ends of intervals are found to this share of their distance; they err to the outside


@dataclass(frozen=True)
class Stakes:
    """How gamblers spread their capital over bets.

    A bet that is made for the signal θ, the distance of the truth from r, stakes ``θ/σ_t²``, σ_t² being the variance
    foreseen of the next draw: the growth ``log(1 + β (Z − r))`` of the capital is largest about there. The mixture
    loses ``log(1/share)`` against the bet that turns out best.
    """

    signal: np.ndarray  # float64[J], θ, positive
    share: np.ndarray  # float64[J], the shares of the capital, which sum to 1

    @classmethod
    def planned(cls, variance: float, units: int, planned: float, alpha: float) -> Stakes:
        """Bets for signals that would be found after 8, 16, 32, … draws, and after about the planned number.

        Args:
            variance: The variance that the model expects of the first draw.
            units: N, how many units there are.
            planned: The number of draws that is planned, positive.
            alpha: The level of the test.
        """
        even = _FIRST_SIZE * 2.0 ** np.arange(max(1, int(np.ceil(np.log2(max(units, 1) / _FIRST_SIZE))) + 1))
        size = np.r_[even, planned * np.array(list(_PLANNED))]
        share = np.r_[np.full(len(even), (1 - sum(_PLANNED.values())) / len(even)), list(_PLANNED.values())]
        return cls(np.sqrt(2 * np.log(2 / alpha) * variance / size), share)


def log_capital(draws: Draws, stakes: Stakes, truth: float = 0.0) -> np.ndarray:
    """The logarithm of the capital of bets that R lies above a value, float64[n], after each draw."""
    return log_capitals(draws, stakes, truth)[1]


def log_capitals(draws: Draws, stakes: Stakes, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the capitals of the single bets after all draws, float64[J], and `log_capital`."""
    from pt_active.inference.stopping._capital import capitals

    logs, path = np.log(stakes.share), np.empty(len(draws.value))
    capitals(*_bets(draws, stakes), truth, logs, np.inf, path)
    return logs, path


def excluded(draws: Draws, stakes: Stakes, truth: float, alpha: float) -> int:
    """The number of draws after which ``R ≤ truth`` is first excluded at level α; -1 if it is not.

    It is excluded if the capital reaches ``1/α``, or if no labels of the rest could make it true.
    """
    from pt_active.inference.stopping._capital import capitals

    bet = capitals(*_bets(draws, stakes), truth, stakes.share.copy(), 1 / alpha, np.empty(0))
    beyond = draws.least > truth + draws.rounding
    known = int(beyond.argmax()) if beyond.any() else -1
    return max(bet, known) if min(bet, known) < 0 else min(bet, known)


_Array: TypeAlias = np.ndarray
_Bets: TypeAlias = tuple[_Array, _Array, _Array, _Array, _Array, float, float]


def _bets(draws: Draws, stakes: Stakes) -> _Bets:
    """The first arguments of the compiled loops."""
    return draws.ends[0], draws.reach[0], *draws.variances, stakes.signal, LARGEST_STAKE, draws.rounding


def interval(draws: Draws, stakes: Stakes, alpha: float) -> tuple[float, float]:
    """The values of R that neither side has excluded at any of the draws so far, at level α/2 each.

    With probability ``1 − α`` the truth lies inside after every draw. The ends err to the outside by at most
    `_PRECISION` of the standard error.

    Args:
        draws: What the labels so far say.
        stakes: How the capital is spread on each side.
        alpha: The probability with which the truth may ever lie outside.

    Returns:
        Lower and upper end; NaN if both sides have excluded everything, which has a probability of at most α.
    """
    low = _end(draws, stakes, alpha / 2)
    high = -_end(draws.mirrored, stakes, alpha / 2)
    if low > high + draws.rounding:
        return np.nan, np.nan
    return draws.plain(min(low, high)), draws.plain(max(low, high))


def _end(draws: Draws, stakes: Stakes, alpha: float) -> float:
    """The lower end: the largest value that is excluded, since what lies below an excluded value is excluded too."""
    low, high = float(draws.least.max()), float(draws.most.min())
    error = draws.estimate()[1]
    close = _PRECISION * (error if error > 0 else high - low)
    for _ in range(_BISECTIONS):
        if not high - low > close:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if excluded(draws, stakes, middle, alpha) >= 0 else (low, middle)
    return low


def holm(evidence: np.ndarray) -> np.ndarray:
    """E-values that hold for all hypotheses together, by the step-down of Holm.

    The largest e-value so far, E, has the p-value 1/E, which holds at any time. The smallest of h p-values counts
    h-fold, the next one (h − 1)-fold, and so on; none becomes smaller than one before it.

    Args:
        evidence: float64[..., h], the largest e-values so far.

    Returns:
        float64[..., h], adjusted. Reject the hypotheses that reach ``1/α``; the probability that any of them is true is
        at most α.
    """
    order = np.argsort(-evidence, axis=-1, kind="stable")
    ranked = np.take_along_axis(evidence, order, axis=-1) / np.arange(evidence.shape[-1], 0, -1)
    adjusted = np.empty_like(ranked)
    np.put_along_axis(adjusted, order, np.minimum.accumulate(ranked, axis=-1), axis=-1)
    return adjusted
