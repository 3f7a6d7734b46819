"""Sampling distributions ``q``: where to spend the judging budget [theory 4, 5, 6].

Every design of queries is a function of the moments ``(M, C)``, the query costs ``λ`` and the query weights ``p``. To
add a design, write a score function below and a line in `DESIGNS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, compress

import numpy as np

from pt_active.relevance.moments import Moments

Score = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From mean, variance and weight p, float64[m] each, to a(x), float64[m], the variance that a draw brings."""


@dataclass(frozen=True)
class Part:
    """How moments become a distribution; a design is one part or the equal mixture of several."""

    score: Score  # ``a(x)`` in ``q ∝ p √(a/λ)``
    uniform_grades: bool = False  # Whether the moments are taken under ``P(y) = 1/|Y|`` instead of the grade model
    uniform_cost: bool = False  # Whether λ counts as 1 in q; it is still paid
    separate: bool = False  # Whether systems are treated one by one even if they are to be compared
    fixed: bool = False  # Whether q ignores the moments, so that no mixture over pairs is needed


def optimal_score(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``(M − Ř)² + C`` with the model's own mean ``Ř = Σ p M`` [T 6.10, 6.11]."""
    return (mean - weight @ mean) ** 2 + variance


def assisted_score(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``C + C̄`` with the pool's mean ``C̄ = Σ p C``, which suits the regression estimator [theory 5]."""
    return variance + weight @ variance


def residual_score(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``C`` alone, which suits the regression estimator with a model that is well tested [theory 5]."""
    return variance


def constant_score(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """1 for each query: nothing is assumed of where the variance lies."""
    return np.ones_like(mean)


DESIGNS: dict[str, tuple[Part, ...]] = {
    "hedged": (Part(assisted_score), Part(optimal_score, uniform_grades=True)),
    "assisted": (Part(assisted_score),),
    "optimal": (Part(optimal_score),),
    "passive": (Part(constant_score, uniform_cost=True, fixed=True),),
    "active_uniform_grades": (Part(optimal_score, uniform_grades=True),),
    "active_uniform_cost": (Part(optimal_score, uniform_cost=True),),
    "cost_only": (Part(constant_score, fixed=True),),
    "risk_mixture": (Part(optimal_score, separate=True),),
    "residual": (Part(residual_score),),
}
"""The designs by name: `optimal` (theory 4), `assisted` (theory 5), the baselines of theory 4, and `hedged`, which
bases one half of q on the grade model and the other half on the rankings alone."""

DEFENSIVE_SHARE = 0.1  # Default share of p in the defensive mixture

PASSIVE_DRAWS = 4.5
"""With so few draws the default design is plain random sampling (``examples/reproduce/small_samples.py``)."""

_ROUNDING = 1e-14  # A root of ``a(x)`` below this share of the largest mean is rounding, and counts as zero
_SAME = 1e-12  # A variance of a difference below this share of both variances is rounding, and counts as zero


def design_named(name: str) -> tuple[Part, ...]:
    """Look up the parts of a design."""
    if name not in tuple(DESIGNS):
        raise ValueError(f"unknown design {name!r}; the designs are {', '.join(DESIGNS)}")
    return DESIGNS[name]


def defensive_share(draws: float) -> float:
    """The default share ε of p in a design of queries: ``(4.5/n)²``, at least 0.1 and at most 1."""
    return min(1.0, max(DEFENSIVE_SHARE, (PASSIVE_DRAWS / draws) ** 2))


def suits_single_risks(name: str) -> bool:
    """Whether a design suits the mean of each system too, and not only differences, when there are several."""
    return name in DESIGNS and all(part.fixed or part.separate for part in DESIGNS[name])


def needs_uniform_grades(name: str) -> bool:
    """Whether a design uses moments under ``P(y) = 1/|Y|``."""
    return any(part.uniform_grades for part in design_named(name))


def sampling_distribution(
    design: str,
    moments: Moments,
    cost: np.ndarray,
    weight: np.ndarray,
    defensive: float = DEFENSIVE_SHARE,
    uniform: Moments | None = None,
    pairs: np.ndarray | None = None,
) -> np.ndarray:
    """The query sampling distribution of a design.

    For one system, ``q ∝ p √(a/λ)`` with its own moments [T 6.10]; for two, with those of their difference [T 6.11];
    for more, the average of the q of all pairs [T 5.16, AC 15], weighted by ``pairs``. Then the defensive mixture
    ``q ← (1 − ε) q + ε p`` is taken [theory 4].

    Args:
        design: A name in `DESIGNS`.
        moments: The moments of k systems on m queries.
        cost: float64[m], λ > 0, the cost of judging each query.
        weight: float64[m], p, which sums to 1.
        defensive: ε in [0, 1]. Above 0 it bounds the importance weights ``p/q`` by 1/ε.
        uniform: The moments under ``P(y) = 1/|Y|``, for designs that need them (`needs_uniform_grades`).
        pairs: float64[k(k−1)/2], the weight of each pair of systems, in the order of ``combinations(range(k), 2)``;
            equal weights by default.

    Returns:
        float64[m], sums to 1. If every ``a(x)`` of a pair is zero (the model is certain, or the systems agree), the q
        of that pair is ``∝ p/√λ``, as for a constant a, and a warning says so.

    Raises:
        ValueError: If the design is unknown or needs moments that were not given, ``defensive`` lies outside [0, 1],
            or ``pairs`` is malformed or the design does not use pairs.
    """
    check_share(defensive)
    if needs_uniform_grades(design) and uniform is None:
        raise ValueError(f"the design {design!r} needs the moments under uniform grades too")
    if pairs is not None:
        check_pair_weights(pairs, moments.mean.shape[1])
        if any(part.fixed or part.separate for part in design_named(design)):
            raise ValueError(f"the design {design!r} does not look at pairs of systems, so they cannot be weighted")
    parts = [
        _distribution(part, uniform if part.uniform_grades and uniform else moments, cost, weight, pairs)
        for part in design_named(design)
    ]
    q = (1 - defensive) * np.mean(parts, axis=0) + defensive * weight
    if unreachable := int(((q <= 0) & (weight > 0)).sum()):
        never = f"queries with a positive weight have q = 0 and can never be drawn ({unreachable} in all)"
        warnings.warn(f"{never}, so estimates would be biased; use defensive > 0", stacklevel=2)
    return q


def check_share(defensive: float) -> None:
    """Raise if ε is not in [0, 1]."""
    if not 0 <= defensive <= 1:
        raise ValueError(f"defensive must lie between 0 and 1, got {defensive}")


def check_pair_weights(pairs: np.ndarray, systems: int) -> None:
    """Raise if an array is not a valid weighting of the pairs of k systems."""
    wanted = systems * (systems - 1) // 2
    if pairs.shape != (wanted,):
        raise ValueError(f"{systems} systems have {wanted} pairs to be weighted, got weights of shape {pairs.shape}")
    if not (np.isfinite(pairs) & (pairs >= 0)).all() or not pairs.any():
        raise ValueError(f"weights of pairs must be finite, not negative and not all zero, got {pairs.tolist()}")


def _distribution(
    part: Part, moments: Moments, cost: np.ndarray, weight: np.ndarray, pairs: np.ndarray | None
) -> np.ndarray:
    """The q of one part of a design, float64[m], averaged over the systems or pairs that are estimated."""
    spread = np.ones_like(cost) if part.uniform_cost else np.sqrt(cost)
    if part.fixed or part.separate:
        compared = [contrast_moments(moments, s) for s in range(1 if part.fixed else moments.mean.shape[1])]
    else:
        compared = contrasts(moments, pairs)
    unscaled = [weight * _root_score(part.score, *each, weight) / spread for each in compared]
    return np.average([q / q.sum() for q in unscaled], axis=0, weights=None if pairs is None else pairs[pairs > 0])


def contrasts(moments: Moments, pairs: np.ndarray | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and variance, float64[m], of the only system, or of the difference of each pair with a positive weight."""
    k = moments.mean.shape[1]
    if k == 1:
        return [contrast_moments(moments, 0)]
    weighted = combinations(range(k), 2) if pairs is None else compress(combinations(range(k), 2), pairs > 0)
    return [contrast_moments(moments, a, b) for a, b in weighted]


def contrast_moments(moments: Moments, first: int, second: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance, float64[m] each, of a system, or of the difference of two [T 6.11].

    The latter are ``M_1 − M_2`` and ``C_11 + C_22 − 2 C_12``.
    """
    mean, covariance = moments.mean, moments.covariance
    if second is None:
        return mean[:, first], covariance[:, first, first]
    both = covariance[:, first, first] + covariance[:, second, second]
    variance = both - 2 * covariance[:, first, second]
    return mean[:, first] - mean[:, second], np.where(variance > _SAME * both, variance, 0.0)


def _root_score(score: Score, mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    root = np.sqrt(score(mean, variance, weight))
    # Means that are equal but for rounding would otherwise leave a q that is proportional to noise.
    root[root <= _ROUNDING * np.abs(mean).max()] = 0.0
    if (root * weight).sum() > 0:
        return root
    warnings.warn(
        "the model sees no variance in anything that can be drawn: it is certain of every grade, or the rankings agree "
        "above the cutoff, or the predictors on every pair that counts; the design falls back to q ∝ p/√cost",
        stacklevel=5,
    )
    return np.ones_like(root)


GAP_DESIGNS = {"disagreement": 0, "active_inf": 1, "active_0": 2}
"""Designs for two predictors that draw only pairs on which they differ: ``q ∝ p |f_1 − f_2|^e``, with the exponent e
[AC].

`disagreement` (active≠ in the source) needs no label model: it is `optimal` for the zero-one loss with uninformative
binary grades and no difference. `active_0` and `active_inf` are the limits of the design for the squared loss as the
predictive variance goes to 0 and to infinity."""

STRATIFIED = "stratified"  # The name of the baseline that draws from strata (`pt_active.sampling.draws`)


def audit_designs() -> tuple[str, ...]:
    """The names of all designs of an audit."""
    return *DESIGNS, *GAP_DESIGNS, STRATIFIED


def check_design(design: str) -> None:
    """Raise if ``design`` is not one of `audit_designs`."""
    if design not in audit_designs():
        raise ValueError(f"unknown design {design!r}; the designs are {', '.join(audit_designs())}")


def default_defensive(design: str) -> float:
    """Default ε of a design: 0 if q shall be 0 on pairs whose difference is known to be 0."""
    return 0.0 if design in GAP_DESIGNS else DEFENSIVE_SHARE


def gap_distribution(
    design: str, predictions: np.ndarray, cost: np.ndarray, weight: np.ndarray, defensive: float = 0.0
) -> np.ndarray:
    """``q ∝ p |f_1 − f_2|^e / √λ`` on the pairs where two predictors differ [AC]."""
    check_share(defensive)
    if predictions.shape[1] < 2:
        raise ValueError(f"the design {design!r} compares predictors; there is only one")
    gaps = [np.abs(predictions[:, a] - predictions[:, b]) for a, b in combinations(range(predictions.shape[1]), 2)]
    scores = [weight * np.where(gap > 0, gap ** GAP_DESIGNS[design], 0.0) / np.sqrt(cost) for gap in gaps]
    parts = [score / score.sum() for score in scores if score.sum() > 0]
    if not parts:
        raise ValueError("the predictors agree on every pair: their difference is known to be 0, without any label")
    return np.asarray((1 - defensive) * np.mean(parts, axis=0) + defensive * weight)
