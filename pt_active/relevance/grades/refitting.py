"""What do the labels of a plan so far say of its other documents?

Plans keep ranks and grades, and neither scores nor features, so that ranks and the former grades are learned from. The
labels were drawn with known probabilities, and count by their inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pt_active.relevance.digits import rounded, rounded_grades
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.ordered_logit import fit_ordered_logit
from pt_active.relevance.grades.validation import folds_of, log_likelihood

MIN_LABELS = 10
"""With fewer labels, the former grades stay."""

FOLDS = 3
"""Folds of queries by which the candidates are compared."""

MAX_RANKERS = 60
"""With more rankers, their ranks are not learned from one by one."""

_AS_BEFORE = "as before"
"""The name of the candidate that keeps the former grades."""

_PRIOR_SCALE = 0.5
"""Standard deviation of the Gaussian prior on the weights of standardised features: labels are few."""

Model = Callable[[np.ndarray], np.ndarray]
"""Turns rows of the pool, int64[n], into grades, float64[n, G+1]."""


def refitted_grades(
    ranks: np.ndarray, grades: np.ndarray, labels: np.ndarray, chance: np.ndarray, query: np.ndarray
) -> np.ndarray:
    """The best of several models of the labels so far, by their weighted likelihood on queries not learned from.

    The candidates are the former grades, and ordered logits on the former grades, on the best and the mean rank, and on
    the ranks of all rankers; or the shares of the labels where these are all equal. A model without differences between
    documents is no candidate, since a few labels may prefer it and the next round would have nothing to go by.

    Args:
        ranks: int[k, N], from 1; 0 = not retrieved.
        grades: float64[N, G+1], the former grades.
        labels: int64[N], -1 where there is none.
        chance: float64[N], the probability with which each labelled document was drawn.
        query: int64[N], the query of each document.

    Returns:
        float64[N, G+1]; the former grades if there are fewer than ten labels, or labels of one query only.
    """
    rows = np.flatnonzero((labels >= 0) & (chance > 0))
    if len(rows) < MIN_LABELS or len(np.unique(query[rows])) < 2:
        return grades
    weight = _weights(chance[rows])
    features = _features(ranks, grades)

    def models(part: np.ndarray) -> Mapping[str, Model]:
        return _models(grades, features, rows[part], labels[rows[part]], weight[part])

    likelihood: dict[str, float] = {}
    for train, test in folds_of(query[rows], FOLDS):
        for name, model in models(train).items():
            logs = log_likelihood(model(rows[test]), labels[rows[test]])
            likelihood[name] = likelihood.get(name, 0.0) + float(weight[test] @ logs)
    best = max(likelihood, key=lambda name: float(rounded(likelihood[name])))
    everything = models(np.ones(len(rows), dtype=bool))[best](np.arange(len(labels)))
    return everything if best == _AS_BEFORE else rounded_grades(everything)


def _weights(chance: np.ndarray) -> np.ndarray:
    """float64[n], proportional to ``1/chance``; their sum is the effective number of labels."""
    weight = 1 / chance
    return np.asarray(weight * weight.sum() / (weight @ weight))


def _features(ranks: np.ndarray, grades: np.ndarray) -> dict[str, np.ndarray]:
    """Model → its features, float64[N, d]."""
    found = ranks > 0
    # The gain of DCG at the rank: differences between top ranks count more than between deep ones.
    reach = np.where(found, 1 / np.log2(1 + np.maximum(ranks, 1)), 0.0).T
    rank = np.column_stack([reach.max(axis=1), reach.mean(axis=1), found.mean(axis=0)])
    above = np.clip(1 - np.cumsum(grades, axis=1)[:, :-1], 1e-6, 1 - 1e-6)
    former = np.column_stack([np.log(above / (1 - above)), grades @ np.arange(grades.shape[1])])
    if not np.ptp(former, axis=0).max() > 1e-9:
        former = former[:, :0]
    chosen = {"former": former, "ranks": np.column_stack([former, rank])}
    if 1 < len(ranks) <= MAX_RANKERS:
        chosen["rankers"] = np.column_stack([former, rank, reach])
    return {name: features for name, features in chosen.items() if features.shape[1]}


def _models(
    grades: np.ndarray,
    features: Mapping[str, np.ndarray],
    rows: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
) -> Mapping[str, Model]:
    top = grades.shape[1]
    shares = np.bincount(labels, weight, minlength=top) + fitting.PSEUDO_COUNT
    shares = shares / shares.sum()

    def logit(columns: np.ndarray) -> Model:
        fit = fit_ordered_logit(columns[rows], labels, _PRIOR_SCALE, weight)
        effective = max(float(weight.sum()), 1.0)

        def predict(wanted: np.ndarray) -> np.ndarray:
            return fitting.widened(fit.probabilities(columns[wanted]), fit.grades, top - 1, effective)

        return predict

    simple: dict[str, Model] = {_AS_BEFORE: lambda wanted: grades[wanted]}
    if len(np.unique(labels)) < 2:
        return simple | {"shares": lambda wanted: np.tile(shares, (len(wanted), 1))}
    return simple | {name: logit(columns) for name, columns in features.items()}
