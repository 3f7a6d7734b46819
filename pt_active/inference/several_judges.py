"""Which grade has a document that several people judged [theory 12]?"""

from __future__ import annotations

import numpy as np

TIES = ("down", "up")  # Which grade a tie goes to: the lowest or the highest of those that are tied
_MAX_STEPS = 500  # Steps of Dawid and Skene's algorithm, at most
_SMALL_CHANGE = 1e-8  # The algorithm ends when no probability changes by more
_PRIOR = 0.01  # Judgments that are added to each cell of a judge's confusions, so that no probability is 0


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


def rounded_mean(votes: np.ndarray, ties: str = TIES[0]) -> np.ndarray:
    """int64[N], the whole grade nearest to the mean of votes int64[N, G+1]."""
    total, grades = votes.sum(axis=1), votes @ np.arange(votes.shape[1])
    # Whole numbers, so that a half is exactly a half.
    half_up = (2 * grades + total) // (2 * total)
    return np.asarray(half_up - ((2 * grades + total) % (2 * total) == 0) * (ties == "down"))


def dawid_skene(item: np.ndarray, judge: np.ndarray, grade: np.ndarray) -> np.ndarray:
    """float64[N, G+1], the probability of each document's true grade [Dawid and Skene 1979, eqs. 2.3-2.5]."""
    votes = votes_of(item, grade)
    truth = votes / votes.sum(axis=1, keepdims=True)
    judges, grades = int(judge.max()) + 1, votes.shape[1]
    cell = judge * grades + grade
    for _ in range(_MAX_STEPS):
        counts = [np.bincount(cell, truth[item, g], judges * grades) for g in range(grades)]
        confusion = np.stack(counts).reshape(grades, judges, grades).transpose(1, 0, 2) + _PRIOR
        confusion /= confusion.sum(axis=2, keepdims=True)
        told = np.log(confusion)[judge, :, grade]
        log = np.stack([np.bincount(item, told[:, g], len(votes)) for g in range(grades)], axis=1)
        log += np.log(np.maximum(truth.mean(axis=0), 1e-300))
        likely = np.exp(log - log.max(axis=1, keepdims=True))
        updated = likely / likely.sum(axis=1, keepdims=True)
        change, truth = float(np.abs(updated - truth).max()), updated
        if change < _SMALL_CHANGE:
            break
    return truth
