"""From pairs to a drawn sample: the design of an audit, and its draws."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pt_active import designs
from pt_active.risk.designs import GAP_DESIGNS, STRATIFIED, gap_distribution
from pt_active.risk.pairs import Pairs
from pt_active.risk.stratified import STRATA, allocation, draw_strata, strata_by
from pt_active.sampling import Sample, draw_number, draw_to_budget

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


def audit_distribution(pairs: Pairs, design: str, defensive: float) -> np.ndarray:
    """The q of a design, float64[N] [theory 6].

    Args:
        pairs: What is audited.
        design: A name in `designs.AUDIT_DESIGNS` but `stratified`.
        defensive: ε of the defensive mixture.

    Raises:
        ValueError: If the design does not suit the loss or the number of predictors.
    """
    if design not in GAP_DESIGNS:
        uniform = pairs.uniform_introspection().moments if designs.needs_uniform_grades(design) else None
        moments = pairs.introspection.moments
        return designs.sampling_distribution(design, moments, pairs.cost, pairs.weight, defensive, uniform)
    if not all(pairs.known_differences(a, b) for a, b in combinations(range(len(pairs.names)), 2)):
        raise ValueError(
            f"the design {design!r} leaves out pairs where the predictors agree, but those count in {pairs.loss}, "
            "whose weights depend on labels or predictions"
        )
    return gap_distribution(design, pairs.predictions, pairs.cost, pairs.weight, defensive)


def draw_pairs(
    pairs: Pairs, design: str, budget: float | None, draws: int | None, replace: bool, defensive: float, seed: int
) -> PairSample:
    """Draw to a budget or a number of draws.

    Args:
        pairs: What is audited.
        design: A name in `designs.AUDIT_DESIGNS`.
        budget: What may be spent, or None.
        draws: How many draws, or None.
        replace: Whether a pair can be drawn more than once.
        defensive: ε of the defensive mixture.
        seed: Of the draws.

    Raises:
        ValueError: If not exactly one of ``budget`` and ``draws`` is given, or an argument is out of range.
    """
    if (budget is None) == (draws is None):
        raise ValueError("say either budget= or draws=, and not both")
    rng = np.random.default_rng(seed)
    if design == STRATIFIED:
        return _draw_strata(pairs, budget, draws, replace, rng)
    q, none = audit_distribution(pairs, design, defensive), np.full(len(pairs.keys), NO_STRATUM)
    if draws is not None:
        return PairSample(q, none, draw_number(q, pairs.weight, draws, rng, replace))
    _check_budget(float(budget or 0), pairs.cost[q > 0])
    return PairSample(q, none, draw_to_budget(q, pairs.weight, pairs.cost, float(budget or 0), rng, replace))


def _draw_strata(
    pairs: Pairs, budget: float | None, draws: int | None, replace: bool, rng: np.random.Generator
) -> PairSample:
    if draws is None or replace:
        raise ValueError(
            f"the design {STRATIFIED!r} draws a number of pairs, each once: say draws=, not budget= or replace="
        )
    if len(pairs.names) > 1:
        raise ValueError(f"the design {STRATIFIED!r} is for one predictor, not {len(pairs.names)}")
    moments = pairs.introspection.moments
    mean, variance = moments.mean[:, 0], moments.covariance[:, 0, 0]
    stratum = strata_by(mean, STRATA)
    size = np.bincount(stratum)
    drawn = allocation(stratum, mean, variance, min(draws, len(stratum)))
    inclusion = (drawn / size)[stratum]
    chosen = draw_strata(stratum, drawn, rng)
    found = np.where(chosen, inclusion, np.nan)
    sample = Sample(chosen.astype(np.int64), chosen.sum() * pairs.weight / found, found, bool(chosen.all()))
    return PairSample(inclusion / inclusion.sum(), stratum, sample)


def _check_budget(budget: float, cost: np.ndarray) -> None:
    if not (np.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be a positive number, got {budget}")
    if budget < cost.max():
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest pair, which costs {cost.max():g}, so it could never be "
            "judged and estimates would be biased; raise the budget"
        )
