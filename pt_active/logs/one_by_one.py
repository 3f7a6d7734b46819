"""How are documents that come one after the other drawn, if numbers of all do not fit into memory [theory 14]?

Passes over blocks of the numbers find the model's average variance, the sums of sizes, and rates with what comes first.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pt_active.frames.clocks import times
from pt_active.logs.numbers import DocumentNumbers
from pt_active.logs.pools import DocumentBlock, Documents
from pt_active.sampling.chances import within_budget
from pt_active.sampling.document_designs import (
    RANGE_SHARE,
    ErrorVariance,
    Influence,
    Sizing,
    influence_of,
    influence_of_singles,
    mixed_sizes,
    subsample,
)
from pt_active.sampling.documents import CERTAIN_MODEL, COMMON_SHARE, added_variance, serves_singles
from pt_active.sampling.drawings import SUCCESSIVE, RoundSettings
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign
from pt_active.sampling.successive import MAX_PLANNED_PROBABILITY, Succession


@dataclass(frozen=True)
class Sizes:
    """What turns the numbers of a block into sizes."""

    settings: RoundSettings
    added: float  # the variance that is added to that of each document
    weights: tuple[float, ...]  # of the influence on differences, and of that on single rankers
    totals: np.ndarray = field(default_factory=lambda: np.ones(2))  # the sums of both parts of all sizes
    factor: float = 1.0  # from sizes to probabilities at the planned budget

    def of(self, block: DocumentBlock) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """The documents that can be drawn, int64[n], both parts of their sizes, and what they gain for differences."""
        pool, cost = block.pool, block.numbers["cost"]
        sizing, influences = self.sizing(pool, block.numbers["variance"], cost), influences_of(pool, self.settings)
        order, parts = sizing.parts_of_sizes(self.mixed(influences))
        return order, parts, (sizing.errors.documents * influences[0].documents)[order]

    def sizing(self, pool: DocumentPool, variance: np.ndarray, cost: np.ndarray) -> Sizing:
        """What turns influences into sizes."""
        errors = ErrorVariance(variance + self.added, COMMON_SHARE * self.added)
        return Sizing(errors, pool, Costs(pool.indptr, cost, 0.0), SUCCESSIVE, [])

    def mixed(self, influences: list[Influence]) -> Influence:
        """The influence by which documents are drawn."""
        first, *others = (weight * each for weight, each in zip(self.weights, influences, strict=True))
        return first + others[0] if others else first


@dataclass(frozen=True)
class FirstDocuments:
    """The documents that come first, as far as a budget may reach, and what is known of all others."""

    place: np.ndarray  # int64[n], increasing: where they are among all
    succession: Succession  # of these alone, each as if it were a query of its own
    matters: np.ndarray  # bool[n], whether they can change a difference
    sizes: Sizes
    rate: DocumentNumbers  # float64[N]
    reached: int  # how many documents can be drawn
    cost: float  # what these cost
    of_matter: float  # what those of them cost that can change a difference
    expected: float  # the variance expected at the planned budget


def influences_of(pool: DocumentPool, settings: RoundSettings) -> list[Influence]:
    """The influence on differences, in the mean over pairs, and that on single rankers if these count."""
    nothing = np.zeros(pool.ranks.shape[1], dtype=bool)
    gradient = pool.gradients(nothing)
    each, pairs = influence_of(pool, gradient, nothing), settings.pairs
    share = np.full(len(each.documents), 1 / len(each.documents)) if pairs is None else pairs / pairs.sum()
    several = serves_singles(settings, pool, 0.0)
    return [each.mean(share), *([influence_of_singles(pool, gradient, nothing)] if several else [])]


def first_documents(
    documents: Documents, settings: RoundSettings, budget: float, folder: Path | None
) -> FirstDocuments | None:
    """The documents that come first; None if the budget buys so much that numbers of all are needed at once."""
    sizes = _sizes(documents, settings)
    sums, most, least = np.zeros((3, 2)), np.zeros(3), np.inf
    for block in documents.blocks("variance", "cost"):
        order, parts, _ = sizes.of(block)
        cost = block.numbers["cost"][order]
        sums += [[each.sum() for each in parts], [each @ cost for each in parts], [cost.sum(), len(cost)]]
        most = np.maximum(most, [each.max(initial=0.0) for each in (*parts, cost)])
        least = min(least, cost.min(initial=np.inf))
    everything, reached, share = sums[2, 0], int(sums[2, 1]), np.array([1 - RANGE_SHARE, RANGE_SHARE])
    if not (reached and least > 0 and budget <= everything / 2 and within_budget(most[2], budget)):
        return None
    spend = budget / MAX_PLANNED_PROBABILITY
    total, largest = (float(share @ (each / sums[0])) for each in (sums[1], most[:2]))
    if spend * largest >= total:
        return None
    sizes = replace(sizes, totals=sums[0], factor=spend / total)
    return _first(documents, sizes, int(2 * budget / least + 2), folder)


def _sizes(documents: Documents, settings: RoundSettings) -> Sizes:
    """What sizes follow from, as `sampling.documents.document_sizes` finds it."""
    square, model, sums = 0.0, 0.0, np.zeros((2, 2))
    for block in documents.blocks("variance"):
        variance = block.numbers["variance"]
        own = (block.pool.gradients(variance) ** 2).sum(axis=0)
        square, model = square + own.sum(), model + own @ variance
        for total, each in zip(sums, influences_of(block.pool, settings), strict=False):
            total += each.documents @ variance, each.documents.sum()
    average = float(model / max(square, np.finfo(float).tiny))
    if average == 0 and square > 0:
        warnings.warn(CERTAIN_MODEL, stacklevel=3)
    added = added_variance(average, settings.defensive)
    sizes = Sizes(settings, added, (1.0,))
    if not serves_singles(settings, next(documents.blocks()).pool, documents.overhead):
        return sizes
    gain, single = sums @ [1.0, added]
    if not (gain > 0 and single > 0):
        return replace(sizes, weights=(1.0, 0.0) if gain > 0 else (0.0, 1.0))
    some = documents.among(np.flatnonzero(subsample(len(documents.weight))))
    sizing = sizes.sizing(some.pool, *(some.rows.by_document[name] for name in ("variance", "cost")))
    pairs, singles = influences_of(some.pool, settings)
    return replace(sizes, weights=(1.0, sizing.weight_of_singles(pairs, singles, float(gain / single))))


def _first(documents: Documents, sizes: Sizes, most: int, folder: Path | None) -> FirstDocuments:
    """The documents that come first, of which there are at most so many besides one, and the rates of all."""
    about, last = np.empty((5, 0)), np.inf  # the place, priority, rate and cost of documents, and what they gain
    rates, reached, cost, of_matter, expected = DocumentNumbers(folder), 0, 0.0, 0.0, 0.0
    for block in documents.blocks("variance", "cost", "key"):
        order, parts, gain = sizes.of(block)
        size, rate = mixed_sizes(parts, sizes.totals), np.zeros(len(block.numbers["cost"]))
        size *= -MAX_PLANNED_PROBABILITY * sizes.factor
        rate[order] = own = -np.log1p(size)
        rates.append(rate)
        chance, price = -np.expm1(-own), block.numbers["cost"][order]
        priority = times(block.numbers["key"][order], documents.rows.believed) / own
        expected += float(gain @ ((1 - chance) / chance))
        reached, cost, of_matter = reached + len(order), cost + price.sum(), of_matter + price[gain > 0].sum()
        early = priority <= last
        found = np.array([order + block.documents.start, priority, own, price, gain])[:, early]
        about = np.concatenate([about, found], axis=1)
        if about.shape[1] > most:
            last = np.partition(about[1], most)[most]
            about = about[:, about[1] <= last]
    place, priority, rate, price, gain = about[:, np.argsort(about[0], kind="stable")]
    every, n = np.arange(len(place)), len(place)
    design = DocumentDesign("successive", every, np.ones(n), np.zeros(n), rate=rate)
    succession = Succession(design, priority, Costs(np.arange(n + 1), price, 0.0))
    return FirstDocuments(
        place.astype(np.int64), succession, gain > 0, sizes, rates, reached, cost, of_matter, expected
    )
