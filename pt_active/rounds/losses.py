"""Measures of a grade predictor on query–document pairs, as functions of the label, and what is expected of them.

A loss is a table: its value for every label that a pair might turn out to have. The mean over a label distribution and
the design follow from the table alone, so a new loss is a function and a line in `PAIR_MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pt_active.designs import optimal_score

LEAST = 1e-15
"""Probabilities below it count as it in the cross-entropy, which would otherwise be infinite."""

Table = Callable[[np.ndarray, int], np.ndarray]
"""(grades f float64[N, G+1], the lowest relevant grade) → float64[N, G+1], the value for each label."""


@dataclass(frozen=True)
class PairMeasure:
    """A mean or a ratio of means over pairs.

    Attributes:
        numerator: Table of u.
        denominator: Table of w in ``Σ u / Σ w``; None for a plain mean.
        by_expected_loss: Whether the source samples in proportion to the expected loss, not to the root of its
            expected squared deviation.
    """

    numerator: Table
    denominator: Table | None = None
    by_expected_loss: bool = False


def cross_entropy(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``−log f(y)``."""
    return np.asarray(-np.log(np.maximum(grades, LEAST)))


def zero_one(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``1[f ≠ y]``, f the most probable grade, the lower of two."""
    return 1.0 - accuracy(grades, relevant)


def accuracy(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``1[f = y]``."""
    return (grades.argmax(axis=1)[:, None] == np.arange(grades.shape[1])).astype(np.float64)


def squared(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``(E_f[y] − y)²``."""
    labels = np.arange(grades.shape[1])
    return np.asarray(((grades @ labels)[:, None] - labels) ** 2)


def predicted(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``f``: 1 where the pair is called relevant, ``P(y ≥ rel) ≥ ½``."""
    called = relevance(grades, relevant) >= 0.5
    return np.repeat(called[:, None], grades.shape[1], axis=1).astype(np.float64)


def truly(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``y``: 1 for labels that are relevant."""
    return np.tile((np.arange(grades.shape[1]) >= relevant).astype(np.float64), (len(grades), 1))


def hits(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``f y``."""
    return predicted(grades, relevant) * truly(grades, relevant)


def half_of_both(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``(f + y)/2``: the denominator of F1."""
    return (predicted(grades, relevant) + truly(grades, relevant)) / 2


PAIR_MEASURES: dict[str, PairMeasure] = {
    "cross_entropy": PairMeasure(cross_entropy, by_expected_loss=True),
    "zero_one": PairMeasure(zero_one),
    "squared": PairMeasure(squared),
    "accuracy": PairMeasure(accuracy),
    "precision": PairMeasure(hits, predicted),
    "recall": PairMeasure(hits, truly),
    "F1": PairMeasure(hits, half_of_both),
}
"""Means and ratios by name."""

PAIR_AREAS = ("AUC", "AP")
"""Areas under curves by name; they are estimated, but nothing is drawn for them."""


def relevance(grades: np.ndarray, relevant: int) -> np.ndarray:
    """``P(y ≥ rel)``, float64[N]."""
    return np.asarray(grades[:, relevant:].sum(axis=1))


def pair_measure(name: str) -> PairMeasure:
    """Look a mean or ratio up.

    Raises:
        ValueError: If there is none of that name; the message lists those there are.
    """
    if name in PAIR_AREAS:
        raise ValueError(f"no sample can be designed for {name}; draw for cross_entropy, and estimate {name} from it")
    if name not in PAIR_MEASURES:
        raise ValueError(f"unknown measure {name!r}; it is one of {', '.join((*PAIR_MEASURES, *PAIR_AREAS))}")
    return PAIR_MEASURES[name]


def expected_size(measure: PairMeasure, tested: np.ndarray, believed: np.ndarray, relevant: int) -> np.ndarray:
    """What the probability of drawing a pair should be proportional to.

    For the cross-entropy the expected loss, ``Σ_y P(y) (−log f(y))`` [AI, with the sign that makes it positive]; for
    others ``√E[(u − Ǧ w)²]`` with the introspective ``Ǧ = Σ E[u] / Σ E[w]`` [T 4.25].

    Args:
        measure: What is estimated.
        tested: float64[N, G+1], f, the predictor under test.
        believed: float64[N, G+1], ``P(y)``, by which the expectation is taken: the predictor itself, or a better model.
        relevant: The lowest relevant grade.

    Returns:
        float64[N], not negative.
    """
    u = measure.numerator(tested, relevant)
    mean = (believed * u).sum(axis=1)
    if measure.by_expected_loss:
        return mean
    if measure.denominator is None:
        variance = (believed * (u - mean[:, None]) ** 2).sum(axis=1)
        return np.sqrt(optimal_score(mean, variance, np.full(len(mean), 1 / len(mean))))
    w = measure.denominator(tested, relevant)
    total = (believed * w).sum()
    found = mean.sum() / total if total > 0 else 0.0
    return np.sqrt((believed * (u - found * w) ** 2).sum(axis=1))
