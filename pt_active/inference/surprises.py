"""From the labels of single documents of all queries to nDCG and AP [theory 20].

In each query the expectation given its labels is corrected by their surprises: how far each label moved it from what
the other labels led to expect, weighted by ``1/π − 1``. If all labels are known, that is the measure itself. What is
linear in single labels has no bias, whatever the model believes; what pairs of labels add to it has a small one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pt_active.inference.agreement import one_by_one
from pt_active.inference.class_fit import (
    WITHIN,
    Shares,
    class_shares,
    log_likelihoods,
    logistic,
    misfit,
    none_relevant,
    shift_by_labels,
)
from pt_active.relevance.classes import InClasses
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.surprises import in_classes

_SPREADS = (1.0, 0.5, 0.0)
"""By what the distances between classes are multiplied; with 0 there is one class."""

OWN_CLASSES = 3  # Up to so many rankers, each contrast has classes of its own

_FEW_SINGLE, _NEARLY_ALL = 0.05, 0.9
"""If the share of queries of the class K surely lies between these, there is no interval."""


class Surprises(NamedTuple):
    """What labels say about each query."""

    value: np.ndarray  # float64[m], f̂
    others: np.ndarray  # float64[5 or 6, m], f̂ by other choices that the labels do not rule out
    surprise: np.ndarray  # float64[N], δ of each labelled document, 0 for others
    spread: np.ndarray  # float64[N], the standard deviation that was expected of δ
    chance: np.ndarray  # float64[N], π; 1 for labels that were known before
    misfit: float


class _Told(NamedTuple):
    """What n labels say about rankers, in one kind of queries or in several that are mixed."""

    value: np.ndarray  # float64[k, m], the expectation of each query
    effect: np.ndarray  # float64[k, n, L+1], by how much a label of each level would move it, given the others
    likely: np.ndarray  # float64[n, L+1], how likely each level was, given the others
    every: np.ndarray  # float64[m], the log of the likelihood of all labels of each query
    others: np.ndarray  # float64[n], … and of all but each

    @classmethod
    def empty(cls, rankers: int, queries: int, labels: int, levels: int) -> _Told:
        """Zeros, to which compiled loops add."""
        shapes = (rankers, queries), (rankers, labels, levels), (labels, levels), (queries,), (labels,)
        return cls(*(np.zeros(shape) for shape in shapes))

    def mixed(self, other: _Told, share: float) -> _Told:
        """With a share of queries of another kind, in (0, 1)."""
        odds = np.log(share) - np.log1p(-share)
        # How probable the other kind is in each query, given all its labels, and given all but each.
        whole = logistic(odds + other.every - self.every)
        without = logistic(odds + other.others - self.others)[:, None]
        return _Told(
            _between(self.value, other.value, whole),
            _between(self.effect, other.effect, without),
            _between(self.likely, other.likely, without),
            np.logaddexp(np.log1p(-share) + self.every, np.log(share) + other.every),
            np.logaddexp(np.log1p(-share) + self.others, np.log(share) + other.others),
        )

    def surprise(self, level: np.ndarray) -> np.ndarray:
        """float64[k, n], how far each label, int64[n], moved the expectation from what the others led to expect."""
        return np.asarray(self.effect[:, np.arange(len(level)), level] - (self.likely * self.effect).sum(axis=2))

    def corrected(self, level: np.ndarray, query: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """f̂ of each ranker and query, float64[k, m]; of the labels int64[n], their queries, and float64[n], π."""
        added, m = (1 / chance - 1) * self.surprise(level), self.value.shape[1]
        return self.value + [np.bincount(query, each, m) for each in added]


def _if_empty(classes: InClasses) -> _Told:
    """The queries without a relevant document: the measure is 0, no label changes that, and none denies it."""
    lowest = np.eye(classes.logits.shape[1] + 1)[0]
    return _Told(np.zeros((1, 1)), np.zeros((1, 1, 1)), lowest, *none_relevant(classes))


class _Heard(NamedTuple):
    """What the labels of a sample say about rankers, from one pass for all of them."""

    fit: np.ndarray  # float64[4], the first result of `_told`
    chance: np.ndarray  # float64[N], as in `Surprises`
    values: np.ndarray  # float64[6 or 7, k, m], f̂, and after the first row by other choices
    surprise: np.ndarray  # float64[k, n], by the best choice
    effect: np.ndarray  # float64[k, n, L+1], as in `_Told`
    likely: np.ndarray  # float64[n, L+1]


def _between(usual: np.ndarray, single: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    return np.asarray((1 - chance) * usual + chance * single)


def surprises(
    pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, observed: np.ndarray, contrast: np.ndarray
) -> Surprises:
    """What the labels of a sample say about a contrast of rankers, for the arguments of `documents.document_estimate`.

    Where there are few rankers, the classes are those of the rankers of the contrast, and otherwise those of all, so
    that the differences of many rankers are those of their values.
    """
    used, label = _rankers_of(contrast), _labels(pool, sample, observed)
    heard, rows = _heard(pool, sample, mean, label, used), np.flatnonzero(label >= 0)
    place = np.flatnonzero(contrast[used])
    weights, surprise, spread = contrast[used][place], np.zeros(len(label)), np.zeros(len(label))
    values, effect = weights @ heard.values[:, place], np.tensordot(weights, heard.effect[place], 1)
    mean_effect, square = (heard.likely * effect).sum(axis=1), (heard.likely * effect**2).sum(axis=1)
    surprise[rows] = weights @ heard.surprise[place]
    spread[rows] = np.sqrt(np.maximum(square - mean_effect**2, 0.0))
    return Surprises(values[0], values[1:], surprise, spread, heard.chance, float(heard.fit[0]))


def _heard(pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> _Heard:
    """What the labels of a sample say about some rankers, computed once for all their contrasts."""

    def heard() -> _Heard:
        classes, rows = _recalibrated(pool, mean, label, used), np.flatnonzero(label >= 0)
        chance = np.where(sample.drawn, sample.design.inclusion, 1.0)
        level, of_labels = classes.known[rows], (pool.query[rows], chance[rows])
        fit, best, others = _told(classes)
        first = best.corrected(level, *of_labels)
        values = [first, *(_between(first, each.corrected(level, *of_labels), count) for each, count in others)]
        return _Heard(fit, chance, np.stack(values), best.surprise(level), best.effect, best.likely)

    return pool.once(heard, mean, label, used, sample.drawn, sample.design.inclusion)


def _told(classes: InClasses) -> tuple[np.ndarray, _Told, list[tuple[_Told, float]]]:
    """What labels say about some rankers, and what they would say by other choices that they do not rule out.

    The distances between the classes, and the shares of K and of queries without a relevant document, are those that
    make the labels most likely. Tried are also the distances before and after these, and the ends of the intervals of
    both shares; each comes with how much the change to it counts. The first result has the smallest `misfit` of all
    distances, 0 if it changes its sign, both shares, and the distances. The misfit is infinite where K is surely a part
    of the queries: labels of few documents do not tell those without a relevant document from those with one.
    """
    empty = _if_empty(classes)
    found = [_by_shares(replace(classes, spread=spread), empty) for spread in _SPREADS]
    best = int(np.argmax([each.likelihood for each in found]))
    chosen = found[best]
    ends = chosen.of_single.fewest, chosen.of_single.most
    others = [(chosen.mixed.mixed(chosen.single, share), 1.0) for share in ends]
    for share in (chosen.of_empty.fewest, chosen.of_empty.most):
        mixed = chosen.usual.mixed(empty, share)
        others.append((mixed.mixed(chosen.single, class_shares(chosen.single.every - mixed.every).best), 1.0))
    for near in (best - 1, best + 1):
        if 0 <= near < len(found):
            # Between two others, the drop in the likelihood tells how far from the best the labels allow to go.
            drop = max(chosen.likelihood - found[near].likelihood, WITHIN) if best == 1 else WITHIN
            others.append((found[near].all_kinds, float(np.sqrt(WITHIN / drop))))
    fits = [each.misfit for each in found]
    sure = chosen.of_single.fewest > _FEW_SINGLE and chosen.of_single.most < _NEARLY_ALL
    shares = chosen.of_single.best, chosen.of_empty.best
    fit = np.array([np.inf if sure else np.clip(0.0, min(fits), max(fits)), *shares, _SPREADS[best]])
    return fit, chosen.all_kinds, others


def _recalibrated(pool: RevealedPool, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> InClasses:
    classes = in_classes(pool, mean, used)
    level = classes.level(label)
    return classes.recalibrated(shift_by_labels(classes, level), level)


class _ByShares(NamedTuple):
    """What labels say with some distances between the classes, for the most likely shares of the other kinds."""

    usual: _Told  # Independent given a class
    mixed: _Told  # … or without a relevant document
    single: _Told
    of_empty: Shares
    of_single: Shares
    likelihood: float  # Its log
    misfit: float

    @property
    def all_kinds(self) -> _Told:
        """The class K is mixed with the others [theory 21]."""
        return self.mixed.mixed(self.single, self.of_single.best)


def _by_shares(classes: InClasses, empty: _Told) -> _ByShares:
    usual, single = _kinds_of(classes)
    of_empty = class_shares(empty.every - usual.every)
    mixed = usual.mixed(empty, of_empty.best)
    of_single = class_shares(single.every - mixed.every)
    likelihood = float(log_likelihoods(classes).sum()) + of_empty.log + of_single.log
    fit = misfit(classes, of_single.best, of_empty.best)
    return _ByShares(usual, mixed, single, of_empty, of_single, likelihood, fit)


def _kinds_of(classes: InClasses) -> tuple[_Told, _Told]:
    """What the known labels say if they are independent given a class, and in the class K."""
    from pt_active.sampling._surprise_kernels import told_by_labels

    known = int((classes.known >= 0).sum())
    shape = len(classes.ranks), len(classes.indptr) - 1, known, classes.logits.shape[1] + 1
    usual, single = _Told.empty(*shape), _Told.empty(*shape)
    told_by_labels(classes.indptr, classes.compiled, classes.told_by_labels(), tuple(usual), tuple(single))
    return usual, single


def moved_by_labels(
    pool: RevealedPool,
    sample: TwoPhase,
    mean: np.ndarray,
    observed: np.ndarray,
    contrasts: np.ndarray,
    others: np.ndarray,
) -> np.ndarray:
    """How far f̂ of its query moves with other labels of drawn documents, float64[c, N, G+1] [theory 12].

    One document of each query is given another label at once, for all contrasts, float64[c, k], that share their
    classes, and only in queries in which these can differ. What the labels of queries teach of others is held.

    Shapes: others bool[N, G+1], the labels that are tried.
    """
    used, label = _rankers_of(contrasts[0]), _labels(pool, sample, observed)
    chance = np.where(sample.drawn, sample.design.inclusion, 1.0)
    _, *shares, spread = _heard(pool, sample, mean, label, used).fit
    now = replace(_recalibrated(pool, mean, label, used), spread=spread)
    level = now.level(np.arange(observed.shape[1]))
    moved = np.zeros((len(contrasts), len(chance), now.logits.shape[1] + 1))
    before = _values(now, shares, pool.query, chance, contrasts[:, used])
    differs = np.any([pool.differs(each) for each in contrasts], axis=0)
    wanted = np.zeros(moved.shape[1:], dtype=bool)
    for grade, tried in enumerate(others.T):
        tried = tried & sample.drawn & differs[pool.query] & (now.known != level[grade])
        wanted[tried, level[grade]] = True
    for rows, levels in one_by_one(pool.query, wanted):
        known, queries = now.known.copy(), pool.query[rows]
        known[rows] = levels
        inside = np.isin(pool.query, queries)
        part = replace(now, known=known).among(queries)
        places = np.searchsorted(queries, pool.query[inside])
        values = _values(part, shares, places, chance[inside], contrasts[:, used])
        moved[:, rows, levels] = values - before[:, queries]
    return moved[:, :, level]


def _values(
    now: InClasses, shares: Sequence[float], query: np.ndarray, chance: np.ndarray, contrasts: np.ndarray
) -> np.ndarray:
    """f̂ of each contrast and query, float64[c, m], with shares of K and of queries without a relevant document."""
    rows = np.flatnonzero(now.known >= 0)
    (usual, single), (of_single, of_empty) = _kinds_of(now), shares
    told = usual.mixed(_if_empty(now), of_empty).mixed(single, of_single)
    return np.asarray(contrasts @ told.corrected(now.known[rows], query[rows], chance[rows]))


def _rankers_of(contrast: np.ndarray) -> np.ndarray:
    return np.flatnonzero(contrast) if len(contrast) <= OWN_CLASSES else np.arange(len(contrast))


def _labels(pool: RevealedPool, sample: TwoPhase, observed: np.ndarray) -> np.ndarray:
    """int64[N], the labels of drawn documents; -1 for others."""
    return pool.once(lambda: np.where(sample.drawn, observed.argmax(axis=1), -1), sample.drawn, observed)
