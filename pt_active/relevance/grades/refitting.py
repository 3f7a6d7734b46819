"""Grade models fitted to the labels of a plan so far, for its other documents.

Plans keep ranks and grades, and neither scores nor features, so that ranks and the former grades are learned from. The
labels were drawn with known probabilities, and count by their inverse.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pt_active.relevance.digits import rounded, rounded_grades
from pt_active.relevance.grades.fitting import OrderedLogit, fit_ordered_logit
from pt_active.relevance.grades.validation import Model, cross_fitted, log_likelihood

MIN_LABELS = 10  # With fewer labels, the former grades stay
FOLDS = 3  # Folds of queries by which the candidates are compared
MAX_RANKERS = 60  # With more rankers, their ranks are not learned from one by one
_PRIOR_SCALE = 0.5  # Standard deviation of the Gaussian prior on the weights of standardised features: labels are few


def refitted_grades(
    ranks: np.ndarray, grades: np.ndarray, labels: np.ndarray, chance: np.ndarray, query: np.ndarray
) -> np.ndarray:
    """The best of several models of the labels so far, by their weighted likelihood on unseen queries.

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
        float64[N, G+1]; ``grades`` itself if there are fewer than ten labels, or labels of one query only.
    """
    rows = np.flatnonzero((labels >= 0) & (chance > 0))
    if len(rows) < MIN_LABELS or len(np.unique(query[rows])) < 2:
        return grades
    inverse = 1 / chance[rows]
    weight = inverse * inverse.sum() / (inverse @ inverse)  # their sum is the effective number of labels
    known, top = labels[rows], grades.shape[1] - 1
    features = _features(ranks, grades)

    def fitted(name: str, among: np.ndarray) -> OrderedLogit:
        return fit_ordered_logit(features[name][rows[among]], known[among], _PRIOR_SCALE, weight[among])

    def fit(name: str, train: np.ndarray) -> Model:
        model = fitted(name, train)
        return lambda test: model.all_grades(features[name][rows[test]], top)

    said = {"": grades[rows]} | {name: cross_fitted(partial(fit, name), query[rows], FOLDS) for name in features}
    likelihood = {name: float(rounded(weight @ log_likelihood(each, known))) for name, each in said.items()}
    best = max(likelihood, key=lambda name: likelihood[name])
    if not best:
        return grades.copy()
    model = fitted(best, np.ones(len(rows), dtype=bool))
    return rounded_grades(model.all_grades(features[best], top))


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
