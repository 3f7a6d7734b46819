"""How many more labels would tell judges apart, or halve the interval of one?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from pt_active.plans.answers.report.differences import POWER, Further
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.risk.judged import JudgedPairs
from pt_active.sampling.chances import inclusion_probabilities
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class MorePairs(Further):
    """What to judge next in an audit, whose errors are shown in percent."""

    what: str = "pairs"

    @property
    def narrowed(self) -> str:
        """Half the width of the interval after as many labels again."""
        return f"±{100 * self.doubled:.2g} points"


def labels_to_halve(judged: JudgedPairs, estimate: Estimate) -> MorePairs | None:
    """The further labels that would halve the interval of one judge's error; None if it has none."""
    low, high = estimate.confidence_interval()
    if judged.basis.census or not np.isfinite([low, high]).all() or not high > low:
        return None
    more, left = _more(judged, 0.5)
    return MorePairs(more, left)


def labels_to_settle(judged: JudgedPairs, open_pairs: Iterable[tuple[Comparison, float]]) -> MorePairs | None:
    """The further labels that would tell two judges apart; None if nobody can say."""
    for pair, level in open_pairs:
        low, high = pair.confidence_interval(level)
        if not np.isfinite([low, high]).all() or not pair.standard_error > 0:
            continue
        half = (high - low) / 2
        wanted = abs(pair.difference) / (half / pair.standard_error + stats.norm.ppf(POWER))
        more, left = _more(judged, min(wanted / pair.standard_error, 1.0))
        lower, higher = (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
        return MorePairs(more, left, lower, higher, half * _ratio(judged, 2 * int(judged.sample.draws)))
    return None


def _more(judged: JudgedPairs, ratio: float) -> tuple[float, float]:
    """The further draws until the error is a share of that of today, and those that are left."""
    now, whole = int(judged.sample.draws), _reachable(judged)
    low, high = now, whole
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _ratio(judged, middle) <= ratio else (middle + 1, high)
    return float(max(low - now, 1)), float(max(whole - now, 1))


def _reachable(judged: JudgedPairs) -> int:
    return len(judged.pairs.keys) if judged.sample.q is None else int((judged.sample.q > 0).sum())


def _ratio(judged: JudgedPairs, number: int) -> float:
    """The error of a number of draws as a share of that of today; NaN if there are not so many pairs."""
    sample = judged.sample
    if number > _reachable(judged):
        return np.nan
    return float(np.sqrt(_telling(sample, int(sample.draws), judged) / _telling(sample, number, judged)))


def _telling(sample: Sample, number: int, judged: JudgedPairs) -> float:
    """The number of draws with replacement that tell as much: ``Σ π / Σ q (1 − π)`` for pairs drawn at most once."""
    if sample.repeated:
        return float(number)
    rate = np.ones(len(judged.pairs.keys)) if sample.q is None else sample.q[sample.q > 0]
    come = inclusion_probabilities(rate, number)
    return float(come.sum() / max(rate / rate.sum() @ (1 - come), np.finfo(float).tiny))
