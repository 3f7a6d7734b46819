"""Populations that make intervals and verdicts fail, with two rankers of which neither is better.

A generator returns a pool and all its judgments. The true difference of the rankers ``a`` and ``b`` is exactly 0 in
each, in DCG@10 and in P@10, as the mean over queries, weighted by ``traffic`` if there is any. So each winner is false,
and each interval of the difference without 0 misses the truth. To add a population, write a function below and a line
in `POPULATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

DOCUMENTS = 12  # Documents in each query; both rankers retrieve all of them
CUTOFF = 10  # The cutoff of the measures whose true difference is 0
_CUTS = np.array([0.8, 1.6, 2.4])  # Latent quality from which a document has grade 1, 2 and 3

# Variances of latent quality between queries and between the documents of a query
_OF_QUERIES, _OF_DOCUMENTS = 0.5, 1.0

_VARIANCE = _OF_QUERIES + _OF_DOCUMENTS
_RELIABILITY = 0.65  # The share of the variance of latent quality that a fair grade model knows


class HostilePopulation(NamedTuple):
    """A graded pool of the rankers ``a`` and ``b``, and its judgments."""

    pool: pd.DataFrame  # ``qid, docno, rank_a, score_a, rank_b, score_b, grade_0 … grade_G``, ``traffic`` if any
    qrels: pd.DataFrame  # ``qid, docno, label`` of every document


def plain(seed: int, queries: int = 200) -> HostilePopulation:
    """No attack: symmetric differences and a fair grade model, the control of the others."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    return _framed(rng, _graded(latent), ranks, _logit(_expected(rng, latent)))


def skewed(seed: int, queries: int = 200, *, one_in: int = 8, mirrored: bool = False) -> HostilePopulation:
    """Ranker b is slightly better in most queries, and a much better in one of ``one_in``."""
    top = int(one_in).bit_length() - 1
    if one_in < 4 or 2**top != one_in:
        raise ValueError(f"one_in must be a power of 2 of at least 4, got {one_in}")
    if queries < one_in:
        raise ValueError(f"a population that is skewed in one of {one_in} queries needs as many; got {queries}")
    rng = np.random.default_rng(seed)
    groups = queries // one_in
    grade = np.repeat([[top] + [1] * (one_in - 1)], groups, axis=0).ravel()
    upper, lower = (np.repeat(place, one_in) for place in _places(rng, groups))
    labels, ranks = _traded(rng, queries, grade, upper, lower, first_wins=grade == top)
    return _framed(rng, labels, ranks[::-1] if mirrored else ranks, _blind(rng, labels))


def heavy(seed: int, queries: int = 200) -> HostilePopulation:
    """The top grade is very rare and decides: 31 times the gain of grade 1, in one of 32 queries."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    labels = np.minimum(_graded(latent), 1)
    decisive = _both(rng.permutation(queries // 2)[: max(1, round(queries / 64))])
    labels[decisive, np.abs(np.diff(_discount(ranks[:, decisive]), axis=0)[0]).argmax(axis=1)] = 5
    return _framed(rng, labels, ranks, _blind(rng, labels))


def rare(seed: int, queries: int = 200) -> HostilePopulation:
    """Two queries of a hundred have any relevant document."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    relevant = np.zeros((queries, 1), dtype=bool)
    relevant[_both(rng.permutation(queries // 2)[: max(1, round(queries / 100))])] = True
    labels = np.where(relevant, _graded(latent + 1), 0)
    return _framed(rng, labels, ranks, _blind(rng, labels))


def dominant(seed: int, queries: int = 200) -> HostilePopulation:
    """One query has about half of the traffic, and ranker a is better in it alone."""
    if queries < 2:
        raise ValueError(f"a population with a dominant query needs others; got {queries} in all")
    rng = np.random.default_rng(seed)
    grade = rng.integers(1, 4, queries)
    upper, lower = _places(rng, queries)
    size = _gain(grade) * (_discount(upper) - _discount(lower))
    grades, above, below = np.meshgrid(np.arange(1, 4), np.arange(CUTOFF), np.arange(CUTOFF), indexing="ij")
    possible = _gain(grades) * (_discount(above) - _discount(below))
    closest = np.abs(possible - size[1:].mean()).argmin()
    grade[0], upper[0], lower[0] = grades.flat[closest], above.flat[closest], below.flat[closest]
    labels, ranks = _traded(rng, queries, grade, upper, lower, first_wins=np.arange(queries) == 0)
    traffic = np.ones(queries)
    traffic[0] = size[1:].sum() / possible.flat[closest]
    return _framed(rng, labels, ranks, _blind(rng, labels), traffic)


def ties(seed: int, queries: int = 200) -> HostilePopulation:
    """The rankers are equal in nine of ten queries."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    apart = _both(rng.permutation(queries // 2)[: max(1, round(queries / 20))])
    ranks[0] = np.where(np.isin(np.arange(queries), apart)[:, None], ranks[0], ranks[1])
    return _framed(rng, _graded(latent), ranks, _logit(_expected(rng, latent)))


def constant(seed: int, queries: int = 200) -> HostilePopulation:
    """The grade model says the same of every document: the share of each grade."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    labels = _graded(latent)
    share = (np.bincount(labels.ravel(), minlength=4) + 1) / (labels.size + 4)
    return _framed(rng, labels, ranks, np.broadcast_to(share, (*labels.shape, 4)))


def overconfident(seed: int, queries: int = 200) -> HostilePopulation:
    """The grade model is nearly certain of every grade, and wrong about two documents of five."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    labels = _graded(latent)
    others = (labels + rng.integers(1, 4, labels.shape)) % 4
    guess = np.where(rng.random(labels.shape) < 0.6, labels, others)
    return _framed(rng, labels, ranks, np.where(guess[..., None] == np.arange(4), 0.985, 0.005))


def wrong(seed: int, queries: int = 200) -> HostilePopulation:
    """The grade model has the wrong sign: the better a document, the worse it is said to be."""
    rng = np.random.default_rng(seed)
    latent, ranks = _paired(rng, queries)
    return _framed(rng, _graded(latent), ranks, _logit(-_expected(rng, latent)))


POPULATIONS: dict[str, Callable[..., HostilePopulation]] = {
    "plain": plain,
    "skewed": skewed,
    "skewed_mirrored": partial(skewed, mirrored=True),
    "skewed_32": partial(skewed, one_in=32),
    "skewed_32_mirrored": partial(skewed, one_in=32, mirrored=True),
    "heavy": heavy,
    "rare": rare,
    "dominant": dominant,
    "ties": ties,
    "constant": constant,
    "overconfident": overconfident,
    "wrong": wrong,
}
"""The generators by name, from a seed and a number of queries (200 by default) to a `HostilePopulation`."""


def _gain(grade: np.ndarray) -> np.ndarray:
    return 2.0**grade - 1


def _discount(rank: np.ndarray) -> np.ndarray:
    return np.asarray(1 / np.log2(rank + 2.0))


def _paired(rng: np.random.Generator, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Latent qualities, float64[m, 12], and ranks from 0, int64[2, m, 12], in pairs of queries."""
    half = -(-queries // 2)
    latent = np.sqrt(_OF_DOCUMENTS) * rng.normal(size=(half, DOCUMENTS))
    latent += np.sqrt(_OF_QUERIES) * rng.normal(size=(half, 1))
    order = np.argsort(rng.normal(0, 1, (2, half, DOCUMENTS)) - 0.8 * latent, axis=2)
    ranks = np.argsort(order, axis=2)
    ranks = np.stack([ranks, ranks[::-1]], axis=2).reshape(2, 2 * half, DOCUMENTS)[:, :queries]
    if queries % 2:
        ranks[0, -1] = ranks[1, -1]
    return latent.repeat(2, axis=0)[:queries], ranks


def _both(pairs: np.ndarray) -> np.ndarray:
    """The queries of some of the pairs, as rows, int64[2n]."""
    return np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()


def _places(rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different ranks above the cutoff, the upper and the lower one, int64[number] each."""
    first = rng.integers(0, CUTOFF, number)
    second = (first + rng.integers(1, CUTOFF, number)) % CUTOFF
    return np.minimum(first, second), np.maximum(first, second)


def _traded(
    rng: np.random.Generator,
    queries: int,
    grade: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    first_wins: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Labels, int64[m, 12], and ranks, int64[2, m, 12], where one document of each query makes the difference."""
    labels = (rng.random((queries, DOCUMENTS)) < 0.2).astype(np.int64)
    ranks = np.broadcast_to(np.arange(DOCUMENTS), (2, queries, DOCUMENTS)).copy()
    row = np.arange(len(grade))
    # Document j has the rank j in the worse ranker; the better one lets the documents at the two ranks trade places.
    labels[row, lower], labels[row, upper] = grade, 0
    better = np.where(first_wins, 0, 1)
    ranks[better, row, lower], ranks[better, row, upper] = upper, lower
    # Irrelevant documents change places in a, which the labels do not see and the model does.
    zero = labels == 0
    document = np.argsort(np.where(zero, rng.random(labels.shape), 2.0), axis=1, kind="stable")
    place = np.argsort(np.where(zero, ranks[0], DOCUMENTS), axis=1, kind="stable")
    moved = np.empty_like(ranks[0])
    np.put_along_axis(moved, document, np.take_along_axis(ranks[0], place, axis=1), axis=1)
    ranks[0] = moved
    return labels, ranks


def _graded(latent: np.ndarray) -> np.ndarray:
    return np.searchsorted(_CUTS, latent)


def _expected(rng: np.random.Generator, latent: np.ndarray) -> np.ndarray:
    """What a fair model expects of latent qualities, of which it sees a noisy copy."""
    noise = np.sqrt(_VARIANCE * (1 - _RELIABILITY) / _RELIABILITY)
    return _RELIABILITY * (latent + rng.normal(0, noise, latent.shape))


def _expit(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


def _logit(expected: np.ndarray) -> np.ndarray:
    """Grade probabilities of proportional odds, float64[m, 12, 4], from expected latent qualities."""
    slope = 1.7 / np.sqrt(_VARIANCE * (1 - _RELIABILITY))  # The logistic function of 1.7 x is close to the normal one.
    above = _expit(slope * (expected[..., None] - _CUTS))
    ends = np.ones((*expected.shape, 1)), np.zeros((*expected.shape, 1))
    return -np.diff(np.concatenate([ends[0], above, ends[1]], axis=-1), axis=-1)


def _blind(rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Probabilities of a model that tells relevant documents from others, but not one relevant grade from another."""
    relevant = labels > 0
    count = np.bincount(labels[relevant], minlength=max(int(labels.max()), 3) + 1)[1:] + 0.1
    odds = np.log((relevant.sum() + 1) / ((~relevant).sum() + 1))
    chance = _expit(odds + 1.5 * (relevant - relevant.mean()) + rng.normal(0, 0.8, labels.shape))
    return np.concatenate([1 - chance[..., None], chance[..., None] * count / count.sum()], axis=-1)


def _framed(
    rng: np.random.Generator,
    labels: np.ndarray,
    ranks: np.ndarray,
    grades: np.ndarray,
    traffic: np.ndarray | None = None,
) -> HostilePopulation:
    """The frames, with queries and documents in random order."""
    m = len(labels)
    qids = np.array([f"q{x:05d}" for x in range(m)], dtype=object)
    docnos = np.array([f"d{z:02d}" for z in range(DOCUMENTS)], dtype=object)
    query, order = rng.permutation(m)[:, None], np.argsort(rng.random((m, DOCUMENTS)), axis=1)
    keys = {"qid": qids.repeat(DOCUMENTS), "docno": np.tile(docnos, m)}
    columns: dict[str, np.ndarray] = dict(keys)
    for name, rank in zip("ab", ranks[:, query, order], strict=True):
        columns |= {f"rank_{name}": rank.ravel(), f"score_{name}": -rank.ravel().astype(np.float64)}
    columns |= {f"grade_{g}": grades[query, order, g].ravel() for g in range(grades.shape[-1])}
    if traffic is not None:
        columns["traffic"] = traffic[query[:, 0]].repeat(DOCUMENTS)
    return HostilePopulation(pd.DataFrame(columns), pd.DataFrame(keys | {"label": labels[query, order].ravel()}))
