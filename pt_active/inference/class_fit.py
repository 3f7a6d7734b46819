"""How do labels correct what a grade model expects in classes of queries, and does it fit them then [theory 20, 21]?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pt_active.relevance.classes import InClasses, standardised

FOLDS = 5  # Parts of the queries; what corrects the model of a part is fitted to the labels of the others

_SHARES = np.r_[1e-9, np.arange(1, 200) / 200, 1 - 1e-9]
"""The shares of queries of a class that are tried."""

WITHIN = 1.92
"""Shares whose log likelihood is within this of the largest are in the interval: half the 0.95 quantile of χ² on 1."""

MAX_MISFIT = 3.5
"""With a larger `misfit`, on either side, there is no interval."""

_COMMON, _SLOPE, _THRESHOLD = 0.1, 2.0, 1.0
"""Ridge penalties of the recalibration: of what all logits have in common, each slope, and each level's own shift."""

_TURNS = 4
"""How often the recalibration and the queries without a relevant document are found in turn."""

_STEPS, _HALVINGS, _CLOSE = 25, 10, 1e-6
"""The most steps of Newton's method, how often each is halved, and the size from which on one is the last."""


def logistic(logit: np.ndarray) -> np.ndarray:
    """``1/(1 + exp(−x))``."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logit))


def _query_of(classes: InClasses) -> np.ndarray:
    """int64[N], the query of each document."""
    return np.repeat(np.arange(len(classes.indptr) - 1), np.diff(classes.indptr))


class Shares(NamedTuple):
    """What labels say about the share of queries of a class."""

    best: float  # The most likely share
    fewest: float  # The ends of its interval
    most: float
    log: float  # By how much the log of the likelihood is larger with the best share than without the class


def class_shares(advantage: np.ndarray) -> Shares:
    """The share of queries of a class.

    Shapes: advantage float64[m], by how much the log of the likelihood of each query is larger in that class.
    """
    usual, own = np.exp(-np.maximum(advantage, 0.0)), np.exp(np.minimum(advantage, 0.0))
    log = np.array([np.log((1 - share) * usual + share * own).sum() for share in _SHARES])
    inside = _SHARES[log >= log.max() - WITHIN]
    best = float(log.max() + np.maximum(advantage, 0.0).sum())
    return Shares(float(_SHARES[log.argmax()]), float(inside[0]), float(inside[-1]), best)


def none_relevant(classes: InClasses) -> tuple[np.ndarray, np.ndarray]:
    """The logs of the likelihoods of the labels of queries without a relevant document.

    0, or −∞ where a label denies it: of all labels of each query, float64[m], and of all but each, float64[n].
    """
    labelled = classes.known >= 0
    query, relevant = _query_of(classes)[labelled], classes.known[labelled] > 0
    number = np.bincount(query, relevant, len(classes.indptr) - 1)
    return np.where(number > 0, -np.inf, 0.0), np.where(number[query] > relevant, -np.inf, 0.0)


class _Labelled(NamedTuple):
    """The n labelled documents, and what the classes say of them."""

    query: np.ndarray  # int64[n]
    relevant: np.ndarray  # bool[n], which labels are above level 0
    logits: np.ndarray  # float64[C, n], of that in each class
    logs: np.ndarray  # float64[C], of the weights of the classes

    @classmethod
    def of(cls, classes: InClasses) -> _Labelled:
        """From the labels that are known."""
        rows, ((shifts,), (logs,)) = np.flatnonzero(classes.known >= 0), classes.classes
        logits = classes.logits[rows, 0] + shifts[:, :1] + shifts[:, 1:2] * classes.slope_covariate[rows]
        return cls(_query_of(classes)[rows], classes.known[rows] > 0, logits, logs)


def log_likelihoods(classes: InClasses) -> np.ndarray:
    """float64[m], of which labels are above level 0; classes of several levels are placed too roughly for more."""
    query, relevant, logits, logs = _Labelled.of(classes)
    wrong = np.logaddexp(0.0, np.where(relevant, -1.0, 1.0) * logits)
    every = [log - np.bincount(query, each, len(classes.indptr) - 1) for log, each in zip(logs, wrong, strict=True)]
    return np.asarray(np.logaddexp.reduce(every))


def shift_by_labels(classes: InClasses, level: np.ndarray) -> np.ndarray:
    """The `recalibration` by queries that seem to have a relevant document, float64[N, L].

    Both are found in turn: each query counts by the probability that it is not one without a relevant document.
    """
    queries = len(classes.indptr) - 1
    fold, counts = np.arange(queries) % FOLDS, np.ones(queries)
    for _ in range(_TURNS):
        shift = recalibration(classes, level, fold, counts)
        now = classes.recalibrated(shift, level)
        advantage = none_relevant(now)[0] - log_likelihoods(now)
        share = class_shares(advantage).best
        counts = logistic(np.log1p(-share) - np.log(share) - advantage)
    return shift


def misfit(classes: InClasses, single: float, empty: float) -> float:
    """How far the spread of the numbers of labels above level 0 is from what their sum leads to expect.

    In standard deviations, with one added to the variance: ``Σ [(n − μ)² − m₂ − β (n − μ)]`` over the queries, with n
    such labels in each, its moments under the model, and β their slope ``Σ m₃/Σ m₂``. Negative if relevant documents
    keep apart, positive if they come together.

    Args:
        classes: The recalibrated pool with its labels.
        single: The share of queries of the class K.
        empty: The share of those without a relevant document, among the others.
    """
    (of, relevant, logits, logs), m = _Labelled.of(classes), len(classes.indptr) - 1
    query, odds, labelled = _query_of(classes), np.exp(classes.logits[:, 0]), classes.known >= 0
    kinds = [_cumulants(logistic(each), of, m) for each in logits]
    shown = np.bincount(of, odds[labelled], m) / np.maximum(np.bincount(query, odds, m), np.finfo(float).tiny)
    weight = np.r_[(1 - single) * (1 - empty) * np.exp(logs), (1 - single) * empty, single]
    mean, second, third, fourth = np.moveaxis(
        np.stack([*kinds, np.zeros((4, m)), _cumulants(shown, np.arange(m), m)]), 1, 0
    )
    off, n = mean - weight @ mean, np.bincount(of, relevant, m) - weight @ mean
    two, three = weight @ (second + off**2), weight @ (third + 3 * off * second + off**3)
    four = weight @ (fourth + 3 * second**2 + 4 * off * third + 6 * off**2 * second + off**4)
    slope = three.sum() / max(two.sum(), np.finfo(float).tiny)
    left = (four - two**2).sum() - slope * three.sum()
    return float((n**2 - two - slope * n).sum() / np.sqrt(1 + max(left, 0.0)))


def misfit_in_words(size: float) -> str:
    """Why there is no interval, if that is too large; empty otherwise."""
    if abs(size) <= MAX_MISFIT:
        return ""
    if np.isinf(size):
        return (
            "the labels say that some queries have exactly one relevant document, and do not tell them from queries "
            'with none, so there is no interval and no test; design="depth" does not depend on this'
        )
    return (
        f"relevant documents {'come together' if size > 0 else 'keep apart'} in queries more than the estimate allows "
        f"for: the numbers of relevant labels are spread {abs(size):.1f} standard deviations off, so there is no "
        'interval and no test; design="depth" does not depend on this'
    )


def _cumulants(chance: np.ndarray, query: np.ndarray, queries: int) -> np.ndarray:
    """The first four of the numbers of independent events in each query, float64[4, m]."""
    spread = chance * (1 - chance)
    each = chance, spread, spread * (1 - 2 * chance), spread * (1 - 6 * spread)
    return np.stack([np.bincount(query, part, queries) for part in each])


def recalibration(classes: InClasses, level: np.ndarray, fold: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """By how much labels shift the logits of the queries in other folds, float64[N, L].

    A line in the covariates and the first logit, the same for all logits of a document, and a constant for each level.

    Shapes: level int64[N], −1 where there is no label; fold int64[m].
    """
    logits, top = classes.logits, classes.logits.shape[1]
    sides = np.column_stack([classes.covariates, standardised(logits[:, 0])])
    rows, shift = np.flatnonzero(level >= 0), np.zeros_like(logits)
    query = _query_of(classes)
    fold = fold[query]
    penalty = np.r_[_COMMON, np.full(sides.shape[1] - 1, _SLOPE), np.full(top - 1, _THRESHOLD)]
    above = (level[rows, None] >= np.arange(1, top + 1)).astype(float)
    for number in np.unique(fold):
        others = fold[rows] != number
        if not others.any():
            continue
        matrix = _by_level(sides[rows[others]], top)
        counts = np.repeat(weight[query[rows[others]]], top)
        line = _ridge(matrix, logits[rows[others]].ravel(), above[others].ravel(), penalty, counts)
        here = fold == number
        shift[here] = (_by_level(sides[here], top) @ line).reshape(-1, top)
    return shift


def _by_level(sides: np.ndarray, top: int) -> np.ndarray:
    """A row for each document and level, with a constant for each level after the first."""
    return np.hstack([np.repeat(sides, top, axis=0), np.tile(np.eye(top)[:, 1:], (len(sides), 1))])


def _ridge(
    matrix: np.ndarray, offset: np.ndarray, above: np.ndarray, penalty: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The coefficients of logistic regression with an offset, by Newton's steps; the loss falls until the last."""
    line = np.zeros(matrix.shape[1])

    def loss(line: np.ndarray) -> float:
        logit = offset + matrix @ line
        return float(weight @ (np.logaddexp(0.0, logit) - above * logit) + 0.5 * penalty @ line**2)

    now = loss(line)
    for _ in range(_STEPS):
        chance = logistic(offset + matrix @ line)
        slope = matrix.T @ (weight * (above - chance)) - penalty * line
        step = np.linalg.solve((matrix.T * (weight * chance * (1 - chance))) @ matrix + np.diag(penalty), slope)
        if np.abs(step).max() <= _CLOSE:
            return line + step
        shorter = (step / 2.0**halving for halving in range(_HALVINGS))
        new = next((each for each in shorter if loss(line + each) < now), None)
        if new is None:
            break
        line, now = line + new, loss(line + new)
    return line
