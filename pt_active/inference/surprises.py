"""From the labels of single documents of all queries to nDCG and AP [theory 20].

In each query the expectation given its labels is corrected by their surprises: how far each label moved it from what
the other labels led to expect, weighted by ``1/π − 1``. If all labels are known, that is the measure itself. What is
linear in single labels has no bias, whatever the model believes; what pairs of labels add to it has a small one.

Where rankers are near-tied and labels few, that correction is off by more than what it corrects. So only a part of it
counts in differences of two rankers, see `Surprises`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pt_active.inference.agreement import one_by_one
from pt_active.relevance.classes import InClasses, standardised
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.surprises import in_classes

FOLDS = 5  # Parts of the queries; what corrects the model of a part is fitted to the labels of the others

_SPREADS = (1.0, 0.5, 0.0)
"""By what the distances between classes are multiplied; with 0 there is one class."""

OWN_CLASSES = 3  # Up to so many rankers, each contrast has classes of its own

_SHARES = np.r_[1e-9, np.arange(1, 200) / 200, 1 - 1e-9]
"""The shares of queries of a class that are tried."""

_WITHIN = 1.92
"""Shares whose log likelihood is within this of the largest are in the interval: half the 0.95 quantile of χ² on 1."""

_MISSED = 0.2
"""The square of what the model is taken to miss of a difference, even after its labels."""

_FEW_SINGLE, _NEARLY_ALL = 0.05, 0.9
"""If the share of queries of the class K surely lies between these, there is no interval."""

MAX_MISFIT = 3.5
"""With a larger `misfit`, on either side, there is no interval."""

_COMMON, _SLOPE, _THRESHOLD = 0.1, 2.0, 1.0
"""Ridge penalties of the recalibration: of what all logits have in common, each slope, and each level's own shift."""

_TURNS = 4
"""How often the recalibration and the queries without a relevant document are found in turn."""

_STEPS, _HALVINGS, _CLOSE = 25, 10, 1e-6
"""The most steps of Newton's method, how often each is halved, and the size from which on one is the last."""


class Surprises(NamedTuple):
    """What labels say about each query.

    The mean of f̂ is ``E + λC``: E is what the labels lead to expect, and C the correction by their surprises, with the
    variance W. If E is off by b, the mean squared error ``λ²W + (1 − λ)²b²`` is least for ``λ = b²/(b² + W)``. What
    surprises show of b², and what a model is taken to miss of a difference, is ``C² + 0.2 E²``. For one ranker λ is 1,
    and for contrasts of many rankers, whose differences are those of their values.
    """

    value: np.ndarray  # float64[m], f̂
    others: np.ndarray  # float64[6 or 7, m], f̂ by other choices that the labels do not rule out; the last has λ = 1
    trust: float  # λ
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
        whole = _chance(odds + other.every - self.every)
        without = _chance(odds + other.others - self.others)[:, None]
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
    labelled, m = np.flatnonzero(classes.known >= 0), len(classes.indptr) - 1
    query = np.repeat(np.arange(m), np.diff(classes.indptr))[labelled]
    relevant = classes.known[labelled] > 0
    number = np.bincount(query, relevant, m)
    every, others = np.where(number > 0, -np.inf, 0.0), np.where(number[query] > relevant, -np.inf, 0.0)
    return _Told(np.zeros((1, 1)), np.zeros((1, 1, 1)), np.eye(classes.logits.shape[1] + 1)[0], every, others)


class _Heard(NamedTuple):
    """What the labels of a sample say about rankers, from one pass for all of them."""

    fit: np.ndarray  # float64[4], the first result of `_told`
    chance: np.ndarray  # float64[N], as in `Surprises`
    expected: np.ndarray  # float64[k, m], what the labels lead to expect, by the best choice
    values: np.ndarray  # float64[6 or 7, k, m], f̂, and after the first row by other choices
    surprise: np.ndarray  # float64[k, n], by the best choice
    effect: np.ndarray  # float64[k, n, L+1], as in `_Told`
    likely: np.ndarray  # float64[n, L+1]


def _between(usual: np.ndarray, single: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    return np.asarray((1 - chance) * usual + chance * single)


def _chance(logit: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logit))


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
    inside = _SHARES[log >= log.max() - _WITHIN]
    best = float(log.max() + np.maximum(advantage, 0.0).sum())
    return Shares(float(_SHARES[log.argmax()]), float(inside[0]), float(inside[-1]), best)


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
    correction, trust = values[0] - weights @ heard.expected[place], 1.0
    if len(contrast) <= OWN_CLASSES and contrast.sum() == 0:
        terms = pool.weight[pool.query] * surprise / heard.chance
        variance = float(((1 - heard.chance) * terms**2).sum())
        trust = _trust(float(pool.weight @ (values[0] - correction)), float(pool.weight @ correction), variance)
    left = (1 - trust) * correction
    value = values[0] - left
    others = np.vstack([values[1:] - left, value + np.average(left, weights=pool.weight)])
    return Surprises(value, others, trust, surprise, spread, heard.chance, float(heard.fit[0]))


def _trust(expected: float, correction: float, variance: float) -> float:
    """λ for E, C and W, see `Surprises`."""
    off = correction**2 + _MISSED * expected**2
    return off / (off + variance) if variance > 0 else 1.0


def _heard(pool: RevealedPool, sample: TwoPhase, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> _Heard:
    """What the labels of a sample say about some rankers, computed once for all their contrasts."""

    def heard() -> _Heard:
        classes, rows = _recalibrated(pool, mean, label, used), np.flatnonzero(label >= 0)
        chance = np.where(sample.drawn, sample.design.inclusion, 1.0)
        level, of_labels = classes.known[rows], (pool.query[rows], chance[rows])
        fit, best, others = _told(classes)
        first = best.corrected(level, *of_labels)
        values = [first, *(_between(first, each.corrected(level, *of_labels), count) for each, count in others)]
        return _Heard(fit, chance, best.value, np.stack(values), best.surprise(level), best.effect, best.likely)

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
            drop = max(chosen.likelihood - found[near].likelihood, _WITHIN) if best == 1 else _WITHIN
            others.append((found[near].all_kinds, float(np.sqrt(_WITHIN / drop))))
    fits = [each.misfit for each in found]
    sure = chosen.of_single.fewest > _FEW_SINGLE and chosen.of_single.most < _NEARLY_ALL
    shares = chosen.of_single.best, chosen.of_empty.best
    fit = np.array([np.inf if sure else np.clip(0.0, min(fits), max(fits)), *shares, _SPREADS[best]])
    return fit, chosen.all_kinds, others


def _recalibrated(pool: RevealedPool, mean: np.ndarray, label: np.ndarray, used: np.ndarray) -> InClasses:
    classes = in_classes(pool, mean, used)
    level = classes.level(label)
    return classes.recalibrated(shift_by_labels(classes, level), level)


def shift_by_labels(classes: InClasses, level: np.ndarray) -> np.ndarray:
    """The `recalibration` by queries that seem to have a relevant document, float64[N, L].

    Both are found in turn: each query counts by the probability that it is not one without a relevant document.
    """
    queries = len(classes.indptr) - 1
    fold, counts = np.arange(queries) % FOLDS, np.ones(queries)
    for _ in range(_TURNS):
        shift = recalibration(classes, level, fold, counts)
        now = classes.recalibrated(shift, level)
        advantage = _if_empty(now).every - _log_likelihoods(now)
        share = class_shares(advantage).best
        counts = _chance(np.log1p(-share) - np.log(share) - advantage)
    return shift


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
    likelihood = float(_log_likelihoods(classes).sum()) + of_empty.log + of_single.log
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
    All of the correction counts, ``λ = 1``.

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


def _log_likelihoods(classes: InClasses) -> np.ndarray:
    """float64[m], of which labels are above level 0; classes of several levels are placed too roughly for more."""
    above, place = classes.known > 0, np.flatnonzero(classes.known >= 0)
    query = np.repeat(np.arange(len(classes.indptr) - 1), np.diff(classes.indptr))[place]
    sign, logit, side = np.where(above, 1.0, -1.0)[place], classes.logits[place, 0], classes.slope_covariate[place]
    (shifts,), (logs,) = classes.classes
    kinds = [np.logaddexp(0.0, -sign * (logit + common + slope * side)) for common, slope, *_ in shifts]
    every = np.stack(
        [log - np.bincount(query, each, len(classes.indptr) - 1) for log, each in zip(logs, kinds, strict=True)]
    )
    return np.asarray(np.logaddexp.reduce(every))


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
    labelled, m = classes.known >= 0, len(classes.indptr) - 1
    query, odds = np.repeat(np.arange(m), np.diff(classes.indptr)), np.exp(classes.logits[:, 0])
    logit, side, of = classes.logits[labelled, 0], classes.slope_covariate[labelled], query[labelled]
    (shifts,), (logs,) = classes.classes
    kinds = [_cumulants(_chance(logit + common + slope * side), of, m) for common, slope, *_ in shifts]
    shown = np.bincount(of, odds[labelled], m) / np.maximum(np.bincount(query, odds, m), np.finfo(float).tiny)
    weight = np.r_[(1 - single) * (1 - empty) * np.exp(logs), (1 - single) * empty, single]
    mean, second, third, fourth = np.moveaxis(
        np.stack([*kinds, np.zeros((4, m)), _cumulants(shown, np.arange(m), m)]), 1, 0
    )
    off, n = mean - weight @ mean, np.bincount(of, classes.known[labelled] > 0, m) - weight @ mean
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
    query = np.repeat(np.arange(len(fold)), np.diff(classes.indptr))
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
        chance = _chance(offset + matrix @ line)
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
