"""What do queries that a plan does not keep mean for what its labels prove [theory 14]?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.stopping.bets import Stakes
from pt_active.inference.stopping.draws import Units
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.rest import Beyond, Rest, mirrored


def beyond(units: Units, drawn: int, contrast: Contrast) -> Beyond:
    """All that bets on the first draws know of the units after them."""
    rate, mean, low, high, variance = (
        each[drawn:] for each in (units.rate, units.mean, units.low, units.high, units.variance)
    )
    return Beyond(
        first=contrast.first,
        second=contrast.second,
        rate=float(rate.sum()),
        least_rate=float(rate.min()),
        mean=float(mean.sum()),
        low=float(low.sum()),
        high=float(high.sum()),
        worst=float(((low - mean) / rate).min()),
        best=float(((high - mean) / rate).max()),
        variance=float((variance / rate).sum()),
        settled=units.settled,
    )


def known_beyond(rest: Rest, contrast: Contrast) -> Beyond | None:
    """What a plan keeps of the other queries for a contrast; None if it keeps nothing of it."""
    for each in rest.contrasts:
        if (each.first, each.second) == (contrast.first, contrast.second):
            return each
        if each.second is not None and (each.second, each.first) == (contrast.first, contrast.second):
            return mirrored(each)
    return None


def with_others(units: Units, stand_ins: int, others: Beyond) -> Units:
    """The units of a plan's population, whose last ones stand for all that the plan does not keep.

    The first of them has the extreme errors per rate of those that it stands for, and so small a rate that the rest of
    their sums is within these extremes. So the sums of rates, means, bounds and variances over rates, and both
    extremes, are those of the population before each draw.
    """
    parts = np.full(stand_ins, 1 / (stand_ins - 1))
    small = min(others.least_rate, others.rate / 2) / others.rate
    parts[0], shares = 0.0, np.r_[small, np.full(stand_ins - 1, (1 - small) / (stand_ins - 1))]
    mean, rate = others.mean * shares, others.rate * shares
    low, high = mean[0] + others.worst * rate[0], mean[0] + others.best * rate[0]
    lows, highs = (parts * (total - end) for total, end in ((others.low, low), (others.high, high)))
    lows[0], highs[0] = low, high
    tails = {
        "rate": rate,
        "mean": mean,
        # Rounding must not put a mean outside its bounds.
        "low": np.minimum(lows, mean),
        "high": np.maximum(highs, mean),
        "variance": others.variance * rate * np.r_[0.5, np.full(stand_ins - 1, 0.5 / (stand_ins - 1))],
    }
    kept = {name: np.r_[getattr(units, name)[:-stand_ins], tail] for name, tail in tails.items()}
    return Units.one_by_one(**kept, settled=others.settled)


def whole_population(units: Units, rest: Rest | None, contrast: Contrast) -> Units:
    """The units themselves, or with the last ones standing for the queries that a plan does not keep."""
    others = None if rest is None else known_beyond(rest, contrast)
    return units if rest is None or others is None else with_others(units, rest.stand_ins, others)


def stakes_of_population(units: Units, rest: Rest, alpha: float) -> Stakes:
    """The bets that suit the whole population, of which a plan keeps the size and the number of draws to expect."""
    return Stakes.planned(float(units.expected[0]), rest.units, rest.expected_draws, alpha)
