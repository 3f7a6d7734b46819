"""What does a partition say about nDCG, AP and other measures that are not sums over documents [theory 11]?"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pt_active.sampling.revealed import RevealedPool, ranker_contrasts


def all_contrasts(k: int) -> np.ndarray:
    """Every ranker, and the difference of each pair, float64[c, k]."""
    return np.vstack([np.eye(k), ranker_contrasts(k)]) if k > 1 else np.eye(1)


def expected_by(pool: RevealedPool, grades: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """``value`` of each query, and ``turn`` and ``squares`` of each document, for grades float64[N, G+1]."""
    order, turn = pool.judging_order(grades), np.empty(len(grades), dtype=np.int32)
    turn[order] = np.arange(len(order)) - pool.indptr[pool.query]
    squares = pool.squares(order, grades, all_contrasts(len(pool.ranks)))
    return {"value": pool.values(grades)}, {"turn": turn, "squares": squares}


@dataclass(frozen=True)
class SimulatedPool(RevealedPool):
    """A pool of which partitions have computed what is expected; methods do not read their document variables."""

    value: np.ndarray = field(kw_only=True)  # float64[m, k], what is expected of the measure
    turn: np.ndarray = field(kw_only=True)  # int32[N], at which place of its query each document is judged
    expected: np.ndarray = field(kw_only=True)  # float64[c, N], E δ² of all contrasts

    def values(self, variable: np.ndarray) -> np.ndarray:
        """What is expected of the measure, float64[m, k]."""
        return self.value

    def judging_order(self, mean: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        """All documents in the order in which they should be judged, int64[N]."""
        order = np.empty(len(self.turn), dtype=np.int64)
        order[self.indptr[self.query] + self.turn] = np.arange(len(order))
        return order

    def squares(self, order: np.ndarray, mean: np.ndarray, contrasts: np.ndarray) -> np.ndarray:
        """``E δ²`` of each document, float64[c, N]."""
        known = all_contrasts(len(self.ranks))
        return np.stack([self.expected[np.flatnonzero((known == each).all(axis=1))[0]] for each in contrasts])

    def mean_squares(self, order: np.ndarray, mean: np.ndarray, pairs: np.ndarray | None = None) -> np.ndarray:
        """Its mean over all pairs of rankers, float64[N]."""
        k = len(self.ranks)
        return self.expected[0] if k == 1 else np.average(self.expected[k:], axis=0, weights=pairs)

    def single_squares(self, order: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Its mean over the rankers, float64[N]."""
        return self.expected[: len(self.ranks)].mean(axis=0)
