"""Stratified sampling by confidence, the baseline of Bennett and Carvalho (CIKM 2010).

The source takes strata of equal mass along the classifier's confidence, and draws in proportion to the mass of a
stratum times the standard deviation in it, which it estimates again after each label. Here the confidence is the loss
that the label model expects, ``1 − P(f)`` for zero-one loss. All pairs are drawn at once, so the deviation is the
model's too (Neyman allocation). Every stratum gets at least two draws, so that the variance can be estimated.
"""

from __future__ import annotations

import numpy as np

from pt_active.relevance.digits import rounded

DEFAULT_STRATA = 5  # Default number of strata
MIN_DRAWS_PER_STRATUM = 2  # Draws that each stratum gets at least; with two its variance can be estimated


def strata_by(confidence: np.ndarray, number: int = DEFAULT_STRATA) -> np.ndarray:
    """Cut a pool of equally weighted pairs into strata of equal mass."""
    if number < 1 or len(confidence) < MIN_DRAWS_PER_STRATUM * number:
        raise ValueError(
            f"strata must be at least 1, and no more than half of the {len(confidence)} pairs, got {number}"
        )
    stratum = np.empty(len(confidence), dtype=np.int64)
    stratum[np.argsort(rounded(confidence), kind="stable")] = np.arange(len(confidence)) * number // len(confidence)
    return stratum


def allocation(stratum: np.ndarray, mean: np.ndarray, variance: np.ndarray, draws: int) -> np.ndarray:
    """Draws per stratum, ``n_h ∝ N_h s_h``: integers from `MIN_DRAWS_PER_STRATUM` to ``N_h`` that sum to ``draws``."""
    size = np.bincount(stratum)
    needed = MIN_DRAWS_PER_STRATUM * len(size)
    if draws < needed:
        raise ValueError(f"{len(size)} strata need at least {needed} draws, got {draws}")
    average = np.bincount(stratum, mean) / size
    deviation = np.sqrt(np.bincount(stratum, (mean - average[stratum]) ** 2 + variance) / size)
    share = size * (deviation if deviation.sum() > 0 else 1.0)
    wanted = np.maximum(share, share.sum() * 1e-12)
    drawn = np.full(len(size), MIN_DRAWS_PER_STRATUM)
    for _ in range(draws - drawn.sum()):  # Each draw goes where it reduces Σ (N_h s_h)² / n_h most.
        drawn[np.argmax(np.where(drawn < size, rounded(wanted**2 / (drawn * (drawn + 1))), -np.inf))] += 1
    return drawn


def draw_strata(stratum: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A simple random sample without replacement in each stratum."""
    order = np.lexsort((rng.random(len(stratum)), stratum))
    size = np.bincount(stratum)
    place = np.arange(len(stratum)) - np.repeat(np.cumsum(size) - size, size)
    chosen = np.zeros(len(stratum), dtype=bool)
    chosen[order] = place < np.repeat(drawn, size)
    return chosen
