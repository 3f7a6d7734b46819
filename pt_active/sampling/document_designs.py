"""How far errors of documents move an estimate, and the probabilities that a budget buys [theory 9]."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pt_active.relevance.bounds import differs
from pt_active.relevance.digits import rounded
from pt_active.sampling.chances import at_most_one, clipping_factor, left_for_documents
from pt_active.sampling.drawings import SUCCESSIVE, SURPRISES
from pt_active.sampling.draws import pays_for_all
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes
from pt_active.sampling.successive import at

RANGE_SHARE = 0.1
"""Share of the rates of a successive drawing that follows the range of values instead of the model's variance. It
bounds how far a single label can move a running estimate, also where the model is certain [theory 14]."""

MAX_PLANNED_PROBABILITY = 0.95
"""No document that comes in order is more probable than this at the planned budget; a certain one would need an
infinite rate."""

_SUBSAMPLE = 2000  # Queries used to find the weight of single rankers beside differences


SINGLES_LOSS = {"additive": 0.02, "cascade": 0.007, "revealed": 0.01}
"""Family of the measure → by how much the variances of differences may rise, as a share, so that documents that matter
to the values of single rankers alone can be drawn too. The grade model expects this rise; on labelled pools that of
nested documents is up to three times as large (``examples/reproduce/single_rankers.py``)."""

_DECADES, _WEIGHTS = 8, 161
"""The weight of single rankers beside differences is sought among so many, from equal weights in all downwards over so
many powers of ten."""

_USUAL_SHARE = 0.25
"""The share of the pool's cost at which this weight is found. It does not depend on the budget, so that a design has
one size for each document."""

MIXED_SHARE = 0.01
"""Share of both rankers' squared gradients that is added to that of the difference of two cascades."""

_SAME_GRADIENT = 1e-12  # A difference of gradients below this share of the largest one is rounding: it counts as 0


def influence_of(pool: DocumentPool, gradient: np.ndarray) -> np.ndarray:
    """``p² D²`` of the value of the only ranker, or of the difference of each pair of rankers, float64[c, N]."""
    weight, pairs = pool.weight[pool.query] ** 2, list(combinations(range(len(gradient)), 2))
    if not pairs:
        return np.asarray(gradient**2 * weight)
    squares, largest = np.empty((len(pairs), len(weight))), np.abs(gradient).max(initial=0.0)
    for square, (a, b) in zip(squares, pairs, strict=True):
        step = gradient[a] - gradient[b]
        step[np.abs(step) <= _SAME_GRADIENT * largest] = 0.0
        square[:] = step**2
        if pool.form.family == "cascade":
            differ = differs(len(pool.form.weights), pool.indptr, pool.ranks[[a, b]], np.array([1, -1]))
            square += differ[pool.query] * MIXED_SHARE * (gradient[a] ** 2 + gradient[b] ** 2)
    squares *= weight
    return squares


@dataclass(frozen=True)
class Sizing:
    """What turns the influence of documents into sizes."""

    errors: np.ndarray  # float64[N], v, the variance of the errors that the grade model may make
    pool: DocumentPool  # The pool as the measure sees it
    cost: np.ndarray  # float64[N], λ, the costs of documents
    drawing: str  # A name in `DOCUMENT_DRAWINGS`
    keys: list[np.ndarray]  # float64[N] each; what the documents of a query are sorted by, the last one first

    def sizes(self, influence: np.ndarray, singles: np.ndarray | None = None) -> DocumentSizes:
        """The sizes that suit a mean influence, float64[N], on the only ranker or on differences.

        Beside differences, they also suit the influence on single rankers, as far as that costs little.
        """
        planned = influence if singles is None else self._with_singles(influence, singles)
        return DocumentSizes(*self._sized(planned), self.errors * influence)

    def _sized(self, influence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Documents in the order of the keys, or the most influential first without keys, and sizes, float64[N]."""
        from pt_active.sampling._kernels import pooled_sizes

        pool, gain, size = self.pool, self.errors * influence, np.zeros(len(influence))
        order = np.flatnonzero(gain > 0)
        keys = [key[order] for key in self.keys] or [rounded(-gain[order] / self.cost[order])]
        order = order[np.lexsort([*keys, pool.query[order]])]
        pooled_sizes(pool.indptr, order, gain, self.cost, size)
        if self.drawing == SUCCESSIVE and len(order):
            by_model = size[order]
            by_range = np.ptp(pool.form.values) * np.sqrt(influence[order]) / np.sqrt(self.cost[order])
            size[order] = (1 - RANGE_SHARE) * by_model / by_model.sum() + RANGE_SHARE * by_range / by_range.sum()
        return order, size

    def _with_singles(self, pairs: np.ndarray, singles: np.ndarray) -> np.ndarray:
        """The influence on differences plus the largest share of that on single rankers that is not too dear.

        That share is found in every n-th query, and is at most one that makes both equal.
        """
        g, h = self.errors @ pairs, self.errors @ singles
        if not (g > 0 and h > 0):
            return pairs if g > 0 else singles
        sampled = self.pool.query % -(-len(self.pool.weight) // _SUBSAMPLE) == 0
        some, alone = pairs * sampled, singles * sampled
        spend = _USUAL_SHARE * float(self.cost[self.errors * (some + alone) > 0].sum())
        if not (self.errors @ some > 0 and np.isfinite(spend)):  # documents of later rankers have no cost
            return pairs
        most = (1 + SINGLES_LOSS[self.pool.form.family]) * self._variance(some, some, spend)
        weights = g / h * 10.0 ** np.linspace(0, -_DECADES, _WEIGHTS)
        cheap = bisect_left(weights, True, key=lambda w: self._variance(some + w * alone, some, spend) <= most)
        return pairs + weights[cheap] * singles if cheap < len(weights) else pairs

    def _variance(self, planned: np.ndarray, asked: np.ndarray, budget: float) -> float:
        """``Σ g (1/ψ − 1)`` of what is asked, with the probabilities that suit what was planned for."""
        order, size = self._sized(planned)
        chance = at_most_one(clipping_factor(size[order], self.cost[order], budget) * size[order])
        return float((self.errors * asked)[order] @ (1 / chance - 1))


def document_design(sizes: DocumentSizes, drawing: str, prices: Costs, budget: float) -> DocumentDesign:
    """Turn sizes into the probabilities whose expected cost is the budget [theory 9].

    Under ``depth`` a query is opened with the probability of its first document. The other drawings can open every
    query, and what they are expected to open is paid for.

    Documents of a successive drawing come in the order of ``E/r``, E exponential, so by the time T with probability
    ``1 − exp(−r T)``. The rates ``r = −log(1 − ψ)`` make each as probable at ``T = 1`` as it should be at the planned
    budget, ``ψ = min(c, τ size)`` with `MAX_PLANNED_PROBABILITY` c. Rates ∝ size would waste judgments on large sizes
    at large budgets. If the budget pays for everything, all is certain and the rates are the sizes.

    Those of a drawing by surprises come in the order of ``U/size``, U uniform, so by each time T with probability
    ``min(1, T size)``, which is the planned one of any budget.

    Args:
        sizes: As `document_sizes` returns them for the same drawing.
        drawing: A name in `DOCUMENT_DRAWINGS`.
        prices: The costs of documents and of opening a query.
        budget: Λ.

    Raises:
        ValueError: If the budget is not a positive number, or no document can change the estimate.
    """
    order, most = sizes.order, MAX_PLANNED_PROBABILITY if drawing == SUCCESSIVE else 1.0
    if len(order) == 0:
        raise ValueError("no document can change the estimate: all are known, or the rankings agree above the cutoff")
    size, cost, query = sizes.size[order], prices.cost[order], prices.query(order)

    def chance(spend: float) -> np.ndarray:
        return most * at_most_one(clipping_factor(size, cost, spend / most) * size)

    everything = drawing == SUCCESSIVE and pays_for_all(budget, prices.of(order))
    planned = size if everything else chance(left_for_documents(budget, prices.overhead, drawing, query, chance))
    opening, inclusion, rate = np.zeros(prices.queries), np.zeros(len(sizes.size)), np.zeros(len(sizes.size))
    np.maximum.at(opening, query, planned if drawing == "depth" else 1.0)
    if drawing == SUCCESSIVE:
        rate[order] = size if everything else -np.log1p(-planned)
        return at(DocumentDesign(drawing, order, opening, inclusion, rate), np.inf if everything else 1.0)
    inclusion[order] = planned / opening[query]
    return DocumentDesign(drawing, order, opening, inclusion, sizes.size if drawing == SURPRISES else None)
