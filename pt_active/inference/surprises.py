"""From the labels of single documents of all queries to nDCG and AP [theory 20].

In each query the expectation given its labels is corrected by their surprises: how far each label moved it from what
the other labels led to expect, weighted by ``1/π − 1``. If all labels are known, that is the measure itself. What is
linear in single labels has no bias, whatever the model believes; what pairs of labels add to it has a small one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from pt_active.relevance.classes import InClasses, standardised
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.surprises import compiled, in_classes

FOLDS = 5  # Parts of the queries; what corrects the model of a part is fitted to the labels of the others

_NARROWED = 0.5
"""By what the distances between classes are multiplied to see how far an estimate depends on them."""

OWN_CLASSES = 3  # Up to so many rankers, each contrast has classes of its own

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
        some = np.flatnonzero(contrast)
        effect = np.tensordot(contrast[some], self.effect[some], 1)
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
    used = _rankers_of(contrast)
    chance = np.where(sample.drawn, sample.design.inclusion, 1.0)
    label = _labels(pool, sample, observed)
    rows, m = np.flatnonzero(label >= 0), len(pool.weight)
    values, parts = np.zeros((2, m)), np.zeros((2, 2, len(chance)))
    for number, told in enumerate(pool.once(lambda: _told(pool, mean, label, used), mean, label, used)):
        of = told.of(contrast[used])
        values[number] = _corrected(of, pool.query[rows], chance[rows], m)
        parts[number][:, rows] = of[1:]
    return Surprises(values[0], values[1], parts[0, 0], parts[0, 1], chance)


def _told(pool: RevealedPool, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> list[_Told]:
    """What labels say about some rankers, and what they would say if the classes lay closer to each other."""
    now = _recalibrated(pool, mean, label, used)
    return [_told_of(now), _told_of(replace(now, spread=_NARROWED))]


def _recalibrated(pool: RevealedPool, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> InClasses:
    classes = in_classes(pool, mean, used)
    level = classes.level(label)
    return classes.recalibrated(recalibration(classes, level, np.arange(len(pool.weight)) % FOLDS), level)


def _told_of(now: InClasses) -> _Told:
    """What the known labels say about all rankers of some queries."""
    from pt_active.sampling._surprise_kernels import told_by_labels

    k, m, known = len(now.ranks), len(now.indptr) - 1, now.known[now.known >= 0]
    shape = len(known), now.logits.shape[1] + 1
    each = np.zeros((k, m)), np.zeros((k, *shape)), np.zeros(shape)
    told_by_labels(now.indptr, compiled(now), now.told_by_labels(), each)
    return _Told(*each, known)


def moved_by_labels(
    pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrasts: np.ndarray
) -> np.ndarray:
    """How far f̂ of its query moves with each other label of a drawn document, float64[c, N, G+1] [theory 12].

    One document of each query is given another label at once, for all contrasts, float64[c, k], that share their
    classes. What the labels of queries teach of others is held.
    """
    used, chance = _rankers_of(contrasts[0]), np.where(sample.drawn, sample.design.inclusion, 1.0)
    now = _recalibrated(pool, mean, _labels(pool, sample, observed), used)
    rows, levels, grades = np.flatnonzero(sample.drawn), now.logits.shape[1] + 1, observed.shape[1]
    query, moved = pool.query[rows], np.zeros((len(contrasts), len(chance), levels))
    before = _values(now, pool.query, chance, contrasts[:, used])
    turn = np.arange(len(rows)) - np.searchsorted(query, query)
    for number, step in product(range(turn.max(initial=-1) + 1), range(1, levels)):
        some, queries = rows[turn == number], query[turn == number]
        other = now.known.copy()
        other[some] = (other[some] + step) % levels
        inside = np.isin(pool.query, queries)
        part = replace(now, known=other).among(queries)
        values = _values(part, np.searchsorted(queries, pool.query[inside]), chance[inside], contrasts[:, used])
        moved[:, some, other[some]] = values - before[:, queries]
    return moved[:, :, now.level(np.arange(grades))]


def _values(now: InClasses, query: np.ndarray, chance: np.ndarray, contrasts: np.ndarray) -> np.ndarray:
    """f̂ of each contrast and query, float64[c, m]."""
    told, rows, m = _told_of(now), np.flatnonzero(now.known >= 0), len(now.indptr) - 1
    return np.stack([_corrected(told.of(each), query[rows], chance[rows], m) for each in contrasts])


def _corrected(told: tuple[np.ndarray, ...], query: np.ndarray, chance: np.ndarray, queries: int) -> np.ndarray:
    """f̂ of each query, float64[m], from the results of `_Told.of`."""
    value, surprise, _ = told
    return np.asarray(value + np.bincount(query, (1 / chance - 1) * surprise, queries))


def _rankers_of(contrast: np.ndarray) -> np.ndarray:
    return np.flatnonzero(contrast) if len(contrast) <= OWN_CLASSES else np.arange(len(contrast))


def _labels(pool: RevealedPool, sample: TwoPhase, observed: np.ndarray) -> np.ndarray:
    """int64[N], the labels of drawn documents and those that were known before; -1 for others."""
    before = -1 if pool.labels is None else pool.labels
    return pool.once(lambda: np.where(sample.drawn, observed.argmax(axis=1), before), sample.drawn, observed)


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
