"""From the labels of single documents of all queries to nDCG and AP [theory 20].

In each query the expectation given its labels is corrected by their surprises: how far each label moved it from what
the other labels led to expect, weighted by ``1/π − 1``. If all labels are known, that is the measure itself. What is
linear in single labels has no bias, whatever the model believes; what pairs of labels add to it has a small one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pt_active.relevance.classes import InClasses, standardised
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.surprises import compiled, in_classes

FOLDS = 5  # Parts of the queries; what corrects the model of a part is fitted to the labels of the others

_NARROWED = 0.5
"""By what the distances between classes are multiplied to see how far an estimate depends on them."""

_COMMON, _SLOPE, _THRESHOLD = 0.1, 2.0, 1.0
"""Ridge penalties of the recalibration: of what all logits have in common, each slope, and each level's own shift."""

_STEPS, _HALVINGS, _SMALLEST = 25, 10, 1e-10
"""The most steps of Newton's method, how often each is halved, and the share of the loss below which they end."""


class Surprises(NamedTuple):
    """What labels say of each query."""

    value: np.ndarray  # float64[m], f̂
    narrowed: np.ndarray  # float64[m], f̂ if the classes lie closer to each other
    surprise: np.ndarray  # float64[N], δ of each labelled document, 0 for others
    spread: np.ndarray  # float64[N], the standard deviation that was expected of δ
    chance: np.ndarray  # float64[N], π; 1 for labels that were known before


def surprises(
    pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrast: np.ndarray
) -> Surprises:
    """What the labels of a sample say of a contrast of rankers, for the arguments of `documents.document_estimate`."""
    from pt_active.sampling._surprise_kernels import corrected

    used = np.flatnonzero(contrast)
    classes = in_classes(pool, mean, used)
    level = np.where(sample.drawn, classes.level(observed.argmax(axis=1)), classes.known)
    chance = np.where(sample.drawn, sample.design.inclusion, 1.0)
    shift = recalibration(classes, level, pool.places % FOLDS)
    found = []
    for apart in (1.0, _NARROWED):
        now = classes.recalibrated(shift, level, apart)
        found.append((np.zeros(len(pool.weight)), np.zeros(len(chance)), np.zeros(len(chance))))
        corrected(now.indptr, compiled(now), now.told_by_labels(), chance, contrast[used], found[-1])
    (value, surprise, spread), (narrowed, _, _) = found
    return Surprises(value, narrowed, surprise, spread, chance)


def recalibration(classes: InClasses, level: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """By how much labels shift the logits of the queries in other folds, float64[N, L].

    A line in the covariates and the first logit, the same for all logits of a document, and a constant for each level.

    Shapes: level int64[N], −1 where there is no label; fold int64[m].
    """
    logits, top = classes.logits, classes.logits.shape[1]
    sides = np.column_stack([classes.covariates, standardised(logits[:, 0])])
    rows, shift = np.flatnonzero(level >= 0), np.zeros_like(logits)
    fold = np.repeat(fold, np.diff(classes.indptr))
    penalty = np.r_[_COMMON, np.full(sides.shape[1] - 1, _SLOPE), np.full(top - 1, _THRESHOLD)]
    above = (level[rows, None] >= np.arange(1, top + 1)).astype(float)
    for number in np.unique(fold):
        others = fold[rows] != number
        if not others.any():
            continue
        matrix = _by_level(sides[rows[others]], top)
        line = _ridge(matrix, logits[rows[others]].ravel(), above[others].ravel(), penalty)
        here = fold == number
        shift[here] = (_by_level(sides[here], top) @ line).reshape(-1, top)
    return shift


def _by_level(sides: np.ndarray, top: int) -> np.ndarray:
    """A row for each document and level, with a constant for each level after the first."""
    return np.hstack([np.repeat(sides, top, axis=0), np.tile(np.eye(top)[:, 1:], (len(sides), 1))])


def _ridge(matrix: np.ndarray, offset: np.ndarray, above: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """The coefficients of logistic regression with an offset, by Newton's steps, which never raise the loss."""
    line = np.zeros(matrix.shape[1])

    def loss(line: np.ndarray) -> float:
        logit = offset + matrix @ line
        return float((np.logaddexp(0.0, logit) - above * logit).sum() + 0.5 * penalty @ line**2)

    now = loss(line)
    for _ in range(_STEPS):
        chance = 0.5 + 0.5 * np.tanh(0.5 * (offset + matrix @ line))
        slope = matrix.T @ (above - chance) - penalty * line
        step = np.linalg.solve((matrix.T * (chance * (1 - chance))) @ matrix + np.diag(penalty), slope)
        shorter = (step / 2.0**halving for halving in range(_HALVINGS))
        new = next((each for each in shorter if loss(line + each) < now), None)
        if new is None:
            break
        line, before, now = line + new, now, loss(line + new)
        if before - now <= _SMALLEST * before:
            break
    return line
