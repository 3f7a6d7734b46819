"""What do several judges make of a document, and how far do they agree [theory 12]?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pt_active.inference.estimators import Controls, MeanEstimate, estimator_named
from pt_active.sampling.sample import Sample

TIES = ("down", "up")  # Which grade a tie goes to: the lowest or the highest of those that are tied


def votes_of(item: np.ndarray, grade: np.ndarray) -> np.ndarray:
    """int64[N, G+1], how many judges gave each grade to each document."""
    votes = np.zeros((int(item.max(initial=-1)) + 1, int(grade.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(votes, (item, grade), 1)
    return votes


def most_frequent(weight: np.ndarray, ties: str = TIES[0]) -> np.ndarray:
    """int64[N], the grade with the largest weight, of [N, G+1]."""
    tied = weight >= weight.max(axis=1, keepdims=True)
    last = weight.shape[1] - 1
    return np.asarray(last - tied[:, ::-1].argmax(axis=1) if ties == "up" else tied.argmax(axis=1))


def middle(votes: np.ndarray, ties: str = TIES[0]) -> np.ndarray:
    """int64[N], the median grade of votes int64[N, G+1]."""
    total, below = votes.sum(axis=1, keepdims=True), np.cumsum(votes, axis=1)
    place = total // 2 + 1 if ties == "up" else (total + 1) // 2
    return np.asarray((below >= place).argmax(axis=1))


def coincidences(item: np.ndarray, grade: np.ndarray, grades: int) -> np.ndarray:
    """float64[G+1, G+1], Krippendorff's coincidences: how often two judges of one document give each pair of grades."""
    votes = np.zeros((int(item.max(initial=-1)) + 1, grades))
    np.add.at(votes, (item, grade), 1.0)
    judges = votes.sum(axis=1)
    votes, judges = votes[judges > 1], judges[judges > 1]
    share = votes / (judges - 1)[:, None]
    return np.asarray(share.T @ votes - np.diag(share.sum(axis=0)))


def ordinal_alpha(coincidence: np.ndarray) -> float:
    """Krippendorff's ordinal alpha of float64[G+1, G+1] [2004, ch. 11.3]; NaN if no two labels can differ."""
    count = coincidence.sum(axis=1)
    middle = np.cumsum(count) - count / 2
    squared = (middle[:, None] - middle[None, :]) ** 2
    expected = float((np.outer(count, count) * squared).sum())
    if expected <= 0:
        return float("nan")
    return 1.0 - (float(count.sum()) - 1.0) * float((coincidence * squared).sum()) / expected


def quadratic_kappa(confusion: np.ndarray) -> float:
    """Cohen's kappa with quadratic weights of counts [G+1, G+1]; NaN if chance alone leaves no disagreement."""
    total = float(confusion.sum())
    if total <= 0:
        return float("nan")
    place = np.arange(len(confusion))
    weight = (place[:, None] - place[None, :]) ** 2
    by_chance = np.outer(confusion.sum(axis=1), confusion.sum(axis=0)) / total
    expected = float((weight * by_chance).sum())
    return float("nan") if expected <= 0 else 1.0 - float((weight * confusion).sum()) / expected


def second_opinions(coincidence: np.ndarray) -> np.ndarray:
    """float64[G+1, G+1], ``P(grade of another judge | grade of the first)``, the first in rows."""
    size = len(coincidence)
    away = np.abs(np.arange(size)[:, None] - np.arange(size)[None, :])
    moved = np.bincount(away.ravel(), coincidence.ravel(), size) / coincidence.sum()
    either_way = np.stack([(away == distance).sum(axis=1) for distance in range(size)], axis=1)
    usual = moved[away] / np.maximum(either_way[np.arange(size)[:, None], away], 1)
    total = usual.sum(axis=1, keepdims=True)
    # From a grade in the middle no other may be so many grades away as all judges were.
    mixed = coincidence + np.divide(usual, total, out=np.eye(size), where=total > 0)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def one_by_one(query: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Documents and the labels that they get instead of their own, at most one document of each query at once.

    Shapes: query int64[N], increasing; wanted bool[N, V], the labels that are tried.
    """
    rows, labels = np.nonzero(wanted)
    turn = np.arange(len(rows)) - np.searchsorted(query[rows], query[rows])
    for number in range(turn.max(initial=-1) + 1):
        yield rows[turn == number], labels[turn == number]


def judges_variance(change: np.ndarray, chance: np.ndarray, opinion: np.ndarray, judges: np.ndarray) -> float:
    """``Σ π_i/r_i ½ Σ_g' P(g'|g_i) d_i(g')²``: the share of who judged in the variance, r_i judges [theory 12].

    Shapes: change float64[n, G+1], d; opinion float64[n, G+1], P of another judge; chance float64[n], judges int64[n].
    """
    single = 0.5 * (opinion * change**2).sum(axis=1)
    return float((chance * single / judges).sum())


Coefficient = Callable[[np.ndarray, int], float]


COEFFICIENTS: dict[str, Coefficient] = {
    "Kappa": lambda shares, pairs: quadratic_kappa(shares),
    "Alpha": lambda shares, pairs: ordinal_alpha(pairs * (shares + shares.T)),
}

_STEP = 1e-6  # Half the change of a share from which the slope of a coefficient is computed


def agreement_estimate(
    coefficient: Coefficient,
    said: Sequence[np.ndarray],
    label: np.ndarray,
    expected: np.ndarray,
    sample: Sample,
    p: np.ndarray,
    estimator: str,
) -> MeanEstimate:
    """A coefficient of one judge, or the first minus the second of two, linearised in the shares (Deville 1999)."""
    importance = sample.importance(p)
    share = sample.count * importance
    share = share / share.sum()
    pool, sign = int((p > 0).sum()), (1.0, -1.0)
    value, slope, model = 0.0, np.zeros(len(label)), np.zeros(len(p))
    for grade, direction in zip(said, sign, strict=False):
        shares = np.zeros((expected.shape[1],) * 2)
        np.add.at(shares, (grade[sample.rows], label), share)
        gradient = np.empty_like(shares)  # ``∂T/∂share`` of every cell by central differences
        for cell in np.ndindex(*shares.shape):
            step = np.zeros_like(shares)
            step[cell] = _STEP
            gradient[cell] = (coefficient(shares + step, pool) - coefficient(shares - step, pool)) / (2 * _STEP)
        gradient -= (shares * gradient).sum()
        value += direction * coefficient(shares, pool)
        slope += direction * gradient[grade[sample.rows], label]
        model += direction * (expected * gradient[grade]).sum(axis=1)
    if not np.isfinite(value):
        return MeanEstimate(np.asarray(np.nan), np.asarray(np.nan), np.asarray(0.0))
    mean = estimator_named(estimator, "pair").estimate(sample, Controls(p, model), slope)
    return MeanEstimate(value + mean.value, mean.standard_error, mean.degrees_of_freedom)
