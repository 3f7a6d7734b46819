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

_OWN_CLASSES = 3  # Up to so many rankers, each contrast has classes of its own

_COMMON, _SLOPE, _THRESHOLD = 0.1, 2.0, 1.0
"""Ridge penalties of the recalibration: of what all logits have in common, each slope, and each level's own shift."""

_STEPS, _HALVINGS, _SMALLEST = 25, 10, 1e-10
"""The most steps of Newton's method, how often each is halved, and the share of the loss below which they end."""


class Surprises(NamedTuple):
    """What labels say about each query."""

    value: np.ndarray  # float64[m], f̂
    narrowed: np.ndarray  # float64[m], f̂ if the classes lie closer to each other
    surprise: np.ndarray  # float64[N], δ of each labelled document, 0 for others
    spread: np.ndarray  # float64[N], the standard deviation that was expected of δ
    chance: np.ndarray  # float64[N], π; 1 for labels that were known before


class _Told(NamedTuple):
    """What n labels say about rankers."""

    value: np.ndarray  # float64[k, m], the expectation of each query
    effect: np.ndarray  # float64[k, n, L+1], by how much a label of each level would move it, given the others
    likely: np.ndarray  # float64[n, L+1], how likely each level was, given the others
    level: np.ndarray  # int64[n]

    def of(self, contrast: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The expectations of a contrast, its surprises, and the standard deviations that were expected of these."""
        effect = np.tensordot(contrast, self.effect, 1)
        mean, square = (self.likely * effect).sum(axis=1), (self.likely * effect**2).sum(axis=1)
        surprise = effect[np.arange(len(effect)), self.level] - mean
        return contrast @ self.value, surprise, np.sqrt(np.maximum(square - mean**2, 0.0))


def surprises(
    pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrast: np.ndarray
) -> Surprises:
    """What the labels of a sample say about a contrast of rankers, for the arguments of `documents.document_estimate`.

    Where there are few rankers, the classes are those of the rankers of the contrast, and otherwise those of all, so
    that the differences of many rankers are those of their values.
    """
    used = np.flatnonzero(contrast) if len(contrast) <= _OWN_CLASSES else np.arange(len(contrast))
    chance = np.where(sample.drawn, sample.design.inclusion, 1.0)
    label = np.where(sample.drawn, observed.argmax(axis=1), -1 if pool.labels is None else pool.labels)
    rows, m = np.flatnonzero(label >= 0), len(pool.weight)
    values, parts = np.zeros((2, m)), np.zeros((2, 2, len(chance)))
    for number, told in enumerate(pool.once(lambda: _told(pool, mean, label, used), mean, label, used)):
        value, surprise, spread = told.of(contrast[used])
        values[number] = value + np.bincount(pool.query[rows], (1 / chance[rows] - 1) * surprise, m)
        parts[number][:, rows] = surprise, spread
    return Surprises(values[0], values[1], parts[0, 0], parts[0, 1], chance)


def _told(pool: RevealedPool, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> list[_Told]:
    """What labels say about some rankers, and what they would say if the classes lay closer to each other."""
    from pt_active.sampling._surprise_kernels import told_by_labels

    classes = in_classes(pool, mean, used)
    level, found = classes.level(label), []
    shift, known = recalibration(classes, level, pool.places % FOLDS), level[level >= 0]
    shape = len(known), classes.logits.shape[1] + 1
    for apart in (1.0, _NARROWED):
        now = classes.recalibrated(shift, level, apart)
        each = np.zeros((len(used), len(pool.weight))), np.zeros((len(used), *shape)), np.zeros(shape)
        told_by_labels(now.indptr, compiled(now), now.told_by_labels(), each)
        found.append(_Told(*each, known))
    return found


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
