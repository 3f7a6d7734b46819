"""Graded-relevance models as arrays: features and labels in, one row of grade probabilities a document out [T 6.3].

Every model keeps some probability for each grade, also for one that no training document has, so that the
likelihood of a label is never zero: `marginal` puts half a document of each grade to the labels it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

PSEUDO_COUNT = 0.5
"""Documents of each grade that are added to those counted: Jeffreys' prior of a multinomial."""

_ROWS_AT_ONCE = 65_536
"""Rows that go through a forest together; bounds the memory for their leaves."""


def marginal(labels: np.ndarray, max_grade: int) -> np.ndarray:
    """Share of each grade, smoothed: ``(n_g + ½) / (n + (G + 1) / 2)``.

    Args:
        labels: int64[n], 0 … G.
        max_grade: G.

    Returns:
        float64[G+1], positive, sums to 1.
    """
    counts = np.bincount(labels, minlength=max_grade + 1) + PSEUDO_COUNT
    return counts / counts.sum()


def widened(probabilities: np.ndarray, grades: np.ndarray, max_grade: int, n: int) -> np.ndarray:
    """Spread probabilities of the grades that occurred over all grades: ``(n P + ½) / (n + (G + 1) / 2)``.

    Args:
        probabilities: float[N, K], rows sum to 1, if only at single precision.
        grades: int64[K], the grade of each column.
        max_grade: G.
        n: Number of documents that the probabilities were learned from.

    Returns:
        float64[N, G+1], positive, rows sum to 1; a grade that did not occur has the same as in `marginal`.
    """
    wide = np.full((len(probabilities), max_grade + 1), PSEUDO_COUNT)
    wide[:, grades] += n * probabilities
    return wide / wide.sum(axis=1, keepdims=True)


def rank_band(ranks: np.ndarray, bands: Sequence[int]) -> np.ndarray:
    """The band that a rank falls in.

    Args:
        ranks: int64[N], from 1; 0 = not retrieved.
        bands: Last rank of each band, increasing; a further band holds what lies below, and what was not retrieved.

    Returns:
        int64[N], 0 … len(bands).
    """
    return np.where(ranks > 0, np.searchsorted(np.asarray(bands), ranks), len(bands))


def band_marginals(
    ranks: np.ndarray, labels: np.ndarray, bands: Sequence[int], max_grade: int, smoothing: float
) -> np.ndarray:
    """Grade distribution of each band of ranks: ``(n_bg + smoothing · m_g) / (n_b + smoothing)``, m the `marginal`.

    Args:
        ranks: int64[n], from 1; 0 = not retrieved.
        labels: int64[n], 0 … G.
        bands: As in `rank_band`.
        max_grade: G.
        smoothing: Documents that the marginal counts for in each band, positive.

    Returns:
        float64[len(bands) + 1, G+1], rows sum to 1; a band without a document has the marginal.
    """
    counts = _label_counts(rank_band(ranks, bands), labels, len(bands) + 1, max_grade)
    return _shrunk(counts, marginal(labels, max_grade), smoothing)


def judge_confusion(shares: np.ndarray, labels: np.ndarray, prior: np.ndarray, smoothing: float) -> np.ndarray:
    """What a judge's vote says of the label: ``C[h, g] ∝ Σ_pairs s_h 1[y = g] + smoothing · prior_g``.

    Args:
        shares: float64[n, H+1], share of the votes of each pair, rows sum to 1.
        labels: int64[n], 0 … G.
        prior: float64[G+1], distribution that a vote without experience is given.
        smoothing: Pairs that the prior counts for in each row, positive.

    Returns:
        float64[H+1, G+1], ``P(y = g | vote h)``, rows sum to 1. The grades of pairs are ``shares @ C``.
    """
    return _shrunk(shares.T @ np.eye(len(prior))[labels], prior, smoothing)


def _label_counts(group: np.ndarray, labels: np.ndarray, groups: int, max_grade: int) -> np.ndarray:
    """int64[groups, G+1]."""
    width = max_grade + 1
    return np.bincount(group * width + labels, minlength=groups * width).reshape(groups, width)


def _shrunk(counts: np.ndarray, prior: np.ndarray, smoothing: float) -> np.ndarray:
    counts = counts + smoothing * prior
    return counts / counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class GradeForest:
    """A random forest with the distribution of the training labels in each leaf.

    Attributes:
        forest: The fitted forest, of either kind.
        leaf_grades: Per tree float64[nodes, G+1], rows sum to 1.
    """

    forest: RandomForestClassifier | RandomForestRegressor
    leaf_grades: tuple[np.ndarray, ...]

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Mean over the trees of the label distribution in the leaf that each row falls into.

        Args:
            features: float64[N, d].

        Returns:
            float64[N, G+1], positive, rows sum to 1.
        """
        starts = range(0, len(features), _ROWS_AT_ONCE)
        return np.concatenate([self._mean_of_leaves(features[at : at + _ROWS_AT_ONCE]) for at in starts])

    def _mean_of_leaves(self, features: np.ndarray) -> np.ndarray:
        leaves = self.forest.apply(features)
        total = sum(grades[leaves[:, tree]] for tree, grades in enumerate(self.leaf_grades))
        return np.asarray(total) / len(self.leaf_grades)


def fit_forest(
    features: np.ndarray, labels: np.ndarray, max_grade: int, kind: str, trees: int, min_leaf: int, seed: int
) -> GradeForest:
    """Grow a random forest on the labels and count the labels in its leaves.

    All training documents are counted, those that a tree's bootstrap left out too; the `marginal` counts for one more.

    Args:
        features: float64[n, d].
        labels: int64[n], 0 … G.
        max_grade: G.
        kind: ``"classifier"`` or ``"regressor"``: whether splits lower the Gini impurity or the squared error.
        trees: How many trees to grow.
        min_leaf: Fewest (bootstrapped) documents in a leaf.
        seed: Of bootstraps and splits.

    Raises:
        ValueError: If there is no such kind.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kinds = {"classifier": RandomForestClassifier, "regressor": RandomForestRegressor}
    if kind not in kinds:
        raise ValueError(f"unknown kind of forest {kind!r}; it is one of {', '.join(kinds)}")
    forest = kinds[kind](n_estimators=trees, min_samples_leaf=min_leaf, random_state=seed, n_jobs=-1)
    forest.fit(features, labels)
    leaves, prior = forest.apply(features), marginal(labels, max_grade)
    nodes = [tree.tree_.node_count for tree in forest.estimators_]
    counts = (_label_counts(leaves[:, t], labels, n, max_grade) for t, n in enumerate(nodes))
    return GradeForest(forest, tuple(_shrunk(of_tree, prior, smoothing=1.0) for of_tree in counts))


def fit_classifier(
    classifier: ClassifierMixin, features: np.ndarray, labels: np.ndarray, query: np.ndarray, calibrate: str | None
) -> ClassifierMixin:
    """Fit a clone of a scikit-learn classifier, calibrated on queries that it was not fitted on if so asked.

    Args:
        classifier: It is left as it is.
        features: float64[n, d].
        labels: int64[n].
        query: int64[n], the query of each document; a query is never on both sides of a fold.
        calibrate: None, ``"sigmoid"`` or ``"isotonic"``: fitted on up to five folds of queries, and averaged.

    Returns:
        A fitted classifier with ``predict_proba`` and ``classes_``.

    Raises:
        ValueError: If the classifier gives no probabilities and is not calibrated, if there is no such calibration,
            or if there are fewer than two queries to calibrate on.
    """
    from sklearn.base import clone
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import GroupKFold

    if calibrate not in (None, "sigmoid", "isotonic"):
        raise ValueError(f"unknown calibration {calibrate!r}; it is None, 'sigmoid' or 'isotonic'")
    if calibrate is None:
        if not hasattr(classifier, "predict_proba"):
            raise ValueError(f"{classifier!r} gives no probabilities; say calibrate='sigmoid' or calibrate='isotonic'")
        return clone(classifier).fit(features, labels)
    queries = len(np.unique(query))
    if queries < 2:
        raise ValueError(f"calibration needs judged documents of at least 2 queries, got {queries}")
    folds = list(GroupKFold(min(5, queries)).split(features, groups=query))
    return CalibratedClassifierCV(clone(classifier), method=calibrate, cv=folds).fit(features, labels)


def likelihood_per_document(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Exponentiated mean log-likelihood, ``exp(mean log P(y))``: the geometric mean of what the labels were given.

    Args:
        probabilities: float64[n, G+1].
        labels: int64[n], 0 … G.

    Returns:
        From 0 (a label was held impossible) to 1 (all were certain); ``1 / (G + 1)`` for uniform grades.
    """
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(probabilities[np.arange(len(labels)), labels]).mean()))


class Reliability(NamedTuple):
    """How often a grade occurred where it was given about the same probability; one entry a grade and bin.

    Attributes:
        grade: int64[R].
        low: float64[R], lower end of the bin of probabilities, included.
        high: float64[R], upper end, included only if it is 1.
        n: int64[R], documents in the bin, at least 1.
        predicted: float64[R], their mean probability of the grade.
        observed: float64[R], share of them that has the grade.
    """

    grade: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray


def reliability(probabilities: np.ndarray, labels: np.ndarray, bins: int = 10) -> Reliability:
    """Compare probabilities with frequencies, grade by grade, in bins of equal width.

    Args:
        probabilities: float64[n, G+1].
        labels: int64[n], 0 … G.
        bins: How many bins there are between 0 and 1.

    Returns:
        The bins that hold a document, by grade, then by probability.
    """
    n_grades = probabilities.shape[1]
    within = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    cell = (within + bins * np.arange(n_grades)).ravel()
    hit = (labels[:, None] == np.arange(n_grades)).ravel()
    n = np.bincount(cell, minlength=bins * n_grades)
    held = np.flatnonzero(n)
    grade, place = np.divmod(held, bins)
    predicted, observed = (np.bincount(cell, x, len(n))[held] / n[held] for x in (probabilities.ravel(), hit))
    return Reliability(grade, place / bins, (place + 1) / bins, n[held], predicted, observed)


def calibration_error(table: Reliability) -> float:
    """Expected calibration error: mean of ``|predicted − observed|`` over documents and grades.

    Args:
        table: As `reliability` returns it.

    Returns:
        From 0 (frequencies are as predicted) to 1.
    """
    return float(np.average(np.abs(table.predicted - table.observed), weights=table.n))
