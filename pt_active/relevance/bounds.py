"""The smallest and the largest value of a measure, whatever the labels are."""

from __future__ import annotations

import ir_measures.measures as irm
import numpy as np

from pt_active.relevance.measures import RankForm, has_rank_form, rank_form
from pt_active.relevance.moments import discounts, variable_values

UNIT_MEASURES = (
    *("AP", "Bpref", "Compat", "infAP", "IPrec", "Judged", "nDCG", "P", "R", "RBP", "Rprec", "RR"),
    *("SetAP", "SetF", "SetP", "SetR", "Success"),
)
"""Measures of `ir_measures` whose values lie between 0 and 1 whatever the labels are."""


def contrast_bounds(
    measure: irm.Measure, indptr: np.ndarray, ranks: np.ndarray, max_grade: int, contrast: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value that a contrast of rankers can have in each query [theory 14].

    For additive measures they are exact: each document has the grade that is best or worst for the contrast. For
    cascade measures each ranker is bounded by itself, and a contrast of rankings that agree above the cutoff is 0. For
    `UNIT_MEASURES` each ranker lies between 0 and 1.

    Args:
        measure: As `parse_measure` returns it.
        indptr: int64[m+1], the offsets of the queries.
        ranks: int32[k, N], from 1; 0 = not retrieved.
        max_grade: G, the highest grade.
        contrast: float64[k], 1 for a ranker, 1 and −1 for a difference.

    Returns:
        Smallest and largest values, float64[m] each.

    Raises:
        ValueError: If the bounds of the measure are not known.
    """
    m = len(indptr) - 1
    if not has_rank_form(measure):
        if str(measure.NAME) not in UNIT_MEASURES:
            raise ValueError(
                f"{measure} has no known bounds, so it has no verdict at any time; sums, "
                f"cascades and {', '.join(UNIT_MEASURES)} have"
            )
        return _summed(np.zeros((m, len(ranks))), np.ones((m, len(ranks))), contrast)
    form = rank_form(measure, max_grade, int(ranks.max(initial=0)))
    if form.family == "additive":
        used, query = np.flatnonzero(contrast), np.repeat(np.arange(m), np.diff(indptr))
        of_documents = document_bounds(form, contrast[used] @ discounts(form, ranks[used]))
        low, high = (np.bincount(query, bound, m) for bound in of_documents)
        return low, high
    least, most = (
        variable_values(form, indptr, ranks, np.full(ranks.shape[1], end))
        for end in (form.values.min(), form.values.max())
    )
    low, high = _summed(least, most, contrast)
    differ = differs(len(form.weights), indptr, ranks, contrast)
    return low * differ, high * differ


def document_bounds(form: RankForm, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of ``weight · value(y)`` over all grades y, float64[N] each.

    Args:
        form: The form of an additive measure.
        weight: float64[N], how much the value of each document counts.
    """
    ends = weight * form.values.min(), weight * form.values.max()
    return np.minimum(*ends), np.maximum(*ends)


def _summed(low: np.ndarray, high: np.ndarray, contrast: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the contrast, float64[m] each, from those of the rankers, float64[m, k] each."""
    ends = low * contrast, high * contrast
    return np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)


def differs(depth: int | None, indptr: np.ndarray, ranks: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """bool[m], whether the contrast is anything but a difference of rankings that agree above the cutoff."""
    involved = np.flatnonzero(contrast)
    if len(involved) == 1 or contrast.sum() != 0:
        return np.ones(len(indptr) - 1, dtype=bool)
    place = ranks[involved] if depth is None else np.where(ranks[involved] > depth, 0, ranks[involved])
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.asarray(np.bincount(query[(place != place[0]).any(axis=0)], minlength=len(indptr) - 1) > 0)
