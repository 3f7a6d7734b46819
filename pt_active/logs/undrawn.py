"""What must a plan of documents keep of its whole population, for one contrast [theory 9, 14]?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pt_active.inference.documents import FOLDS
from pt_active.inference.estimators import ratio_or_zero
from pt_active.logs.sizes import Documents
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.units import RANGE_VARIANCE
from pt_active.plans.making.rest import Beyond, RestOfDocuments
from pt_active.relevance.bounds import document_bounds
from pt_active.sampling.documents import added_variance
from pt_active.sampling.drawings import DEFENSIVE_VARIANCE
from pt_active.sampling.influence import influence_of
from pt_active.sampling.sample import TwoPhase


def all_contrasts(rankers: int) -> list[Contrast]:
    """Each ranker, and the difference of each pair."""
    pairs = [Contrast(a, b) for a in range(rankers) for b in range(a + 1, rankers)]
    return [*(Contrast(s) for s in range(rankers)), *pairs]


@dataclass(frozen=True)
class Drawn:
    """A sample of documents, and which queries a plan keeps with all of their documents.

    Attributes:
        sample: What was drawn.
        kept: bool[m], the queries that are kept.
        looked_at: Whether documents can be looked at before all are judged, and more than the kept ones could come.
        matters: bool[N], the documents that can change a difference, or the value of a single ranker.
    """

    sample: TwoPhase
    kept: np.ndarray
    looked_at: bool
    matters: np.ndarray


@dataclass
class _Sums:
    """What is added up, block by block; the names are those of the formulas in `rest_of_contrast`."""

    parts: np.ndarray
    square: float = 0.0
    square_errors: float = 0.0
    variance: float = 0.0
    weights: float = 0.0
    unreached: float = 0.0
    settled: float = 0.0
    left: float = 0.0
    left_errors: float = 0.0
    never: int = 0
    uncertain: int = 0
    rate: float = 0.0
    least_rate: float = np.inf
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0
    worst: float = np.inf
    best: float = -np.inf
    over_rate: float = 0.0
    over_rate_errors: float = 0.0


def rest_of_contrast(documents: Documents, drawn: Drawn, contrast: Contrast) -> RestOfDocuments:
    """What a plan must know of all documents for one contrast."""
    sums = _Sums(np.zeros((3, FOLDS)))
    for block in documents.blocks():
        _add(sums, documents, drawn, contrast, block)
    cautious = added_variance(_mean(sums.square_errors, sums.square), DEFENSIVE_VARIANCE)
    added = added_variance(_mean(sums.variance, sums.weights), 1.0)
    made = RestOfDocuments(
        first=contrast.first,
        second=contrast.second,
        **dict(zip(("weight", "mean", "square"), sums.parts.tolist(), strict=True)),
        settled=sums.settled,
        cautious=sums.left_errors + cautious * sums.left,
        variance=sums.variance,
        unreached=sums.unreached,
        never=sums.never,
        certain=sums.uncertain == 0,
        added=added,
    )
    return replace(made, beyond=_beyond(sums, contrast, documents, added)) if drawn.looked_at else made


def _mean(errors: float, squares: float) -> float:
    return errors / max(squares, np.finfo(float).tiny)


def _beyond(sums: _Sums, contrast: Contrast, documents: Documents, added: float) -> Beyond:
    """What bets know of the documents that were not drawn; each has the variance ``p² D² (v + a + c range²)``."""
    more = added + RANGE_VARIANCE * float(np.ptp(documents.form.values)) ** 2
    names = ("rate", "least_rate", "mean", "low", "high", "worst", "best")
    return Beyond(
        contrast.first,
        contrast.second,
        **{name: float(getattr(sums, name)) for name in names},
        variance=sums.over_rate_errors + more * sums.over_rate,
        settled=0.0,
    )


def _add(sums: _Sums, documents: Documents, drawn: Drawn, contrast: Contrast, block: tuple) -> None:
    """Add the documents of a block of queries."""
    queries, own, pool = block
    rows, design = documents.rows, drawn.sample.design
    mean, errors = rows.mean[own], rows.variance[own]
    weights, query = contrast.weights(len(rows.ranks)), pool.query
    gradient = pool.gradients(mean)
    slope = weights @ gradient
    weight = pool.weight[query] * slope
    planned, reached = design.inclusion[own], design.inclusion[own] > 0
    chance = design.opening[queries][query] * planned
    sums.square += float(slope @ slope)
    sums.square_errors += float(slope**2 @ errors)
    sums.weights += float(weight @ weight)
    sums.variance += float(weight**2 @ errors)
    sums.unreached += float(weight[~reached] ** 2 @ errors[~reached])
    left = weight**2 * ratio_or_zero(1 - chance, chance)
    sums.left += float(left.sum())
    sums.left_errors += float(left @ errors)
    sums.never += int(((weight != 0) & ~reached).sum())
    involved = np.flatnonzero(weights)
    matters = influence_of(replace(pool, ranks=pool.ranks[involved]), gradient[involved], np.zeros(len(mean), bool))
    opened = drawn.sample.opening[queries][query] * planned
    sums.uncertain += int(((matters.documents[0] > 0) & ~(opened >= 1)).sum())
    others = ~drawn.kept[queries][query]
    sums.settled += float((weight * mean)[others & ~reached].sum())
    fold = ((queries.start + query) % FOLDS)[others & reached]
    for row, value in enumerate((weight, weight * mean, weight * slope)):
        sums.parts[row] += np.bincount(fold, value[others & reached], minlength=FOLDS)
    if drawn.looked_at and design.rate is not None:
        to_come = np.flatnonzero((design.rate[own] > 0) & ~drawn.sample.drawn[own])
        _add_units(sums, documents, design.rate[own][to_come], weight[to_come], mean[to_come], errors[to_come])


def _add_units(
    sums: _Sums, documents: Documents, rate: np.ndarray, weight: np.ndarray, mean: np.ndarray, errors: np.ndarray
) -> None:
    """Add documents that could still come."""
    if len(rate) == 0:
        return
    low, high = document_bounds(documents.form, weight)
    sums.rate += float(rate.sum())
    sums.least_rate = min(sums.least_rate, float(rate.min()))
    sums.mean += float(weight @ mean)
    sums.low += float(low.sum())
    sums.high += float(high.sum())
    sums.worst = min(sums.worst, float(((low - weight * mean) / rate).min()))
    sums.best = max(sums.best, float(((high - weight * mean) / rate).max()))
    sums.over_rate += float((weight**2 / rate).sum())
    sums.over_rate_errors += float((weight**2 * errors / rate).sum())
