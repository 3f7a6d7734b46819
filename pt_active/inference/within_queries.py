"""What do the labels of a query say about its other documents [theory 9]?

A grade model errs in whole queries. So the mean of each document is corrected by the errors of the documents that were
judged in the same query, but never by its own: an estimate from independent draws stays unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.sampling.sample import TwoPhase

COMMON_SHARE = 0.3  # ρ, the share of the variance of errors that the documents of a query have in common


@dataclass(frozen=True)
class WithinQueries:
    """The correction of the means within queries, for documents that were drawn independently of each other.

    The mean of z is corrected by ``s_z = c_z Σ_{u≠z} I_u e_u`` with ``c_z = 1/(1/ρ − 1 + Σ_{u≠z} π_u)``. The sum of the
    ``D [s + (I/π)(e − s)]`` then has the mean ``Σ D e`` and the variance

    ``Σ D² (1/π − 1) E(e − s)² + Σ_{z≠u} D_z c_z e_z (1 − π_z) D_u c_u e_u (1 − π_u)``.
    """

    query: np.ndarray  # int64[N], the query of each document
    inclusion: np.ndarray  # float64[N], π; 0 for documents that are never judged
    drawn: np.ndarray  # bool[N], I
    rate: np.ndarray  # float64[N], c; 0 for documents that are never judged

    @classmethod
    def of(cls, query: np.ndarray, sample: TwoPhase, share: float = COMMON_SHARE) -> WithinQueries:
        """The correction for a sample.

        Shapes: query int64[N].
        """
        inclusion = sample.design.inclusion
        others = np.bincount(query, weights=inclusion)[query] - inclusion
        rate = np.where(inclusion > 0, share / (1 - share + share * others), 0.0)
        return cls(query, inclusion, sample.drawn, rate)

    def _others(self, parts: np.ndarray) -> np.ndarray:
        """The sum over the other documents of the same query, float64[N]."""
        return np.asarray(np.bincount(self.query, weights=parts)[self.query] - parts)

    def shift(self, error: np.ndarray) -> np.ndarray:
        """s, float64[N].

        Shapes: error float64[N].
        """
        return self.rate * self._others(np.where(self.drawn, error, 0.0))

    def coefficient(self, slope: np.ndarray) -> np.ndarray:
        """How much the error of each judged document counts in the sum, float64[N]; 0 for the others.

        ``I [D/π + Σ_{u≠z} c_u D_u (1 − I_u/π_u)]``, so that the sum is ``Σ coefficient · e``.

        Shapes: slope float64[N].
        """
        inverse = np.divide(self.drawn, self.inclusion, out=np.zeros_like(self.rate), where=self.inclusion > 0)
        return np.asarray(inverse * slope + self.drawn * self._others(self.rate * slope * (1 - inverse)))

    def shared_variance(self, slope: np.ndarray, error: np.ndarray, queries: int) -> np.ndarray:
        """An unbiased estimate of the second part of the variance of each query, float64[m].

        Shapes: slope and error float64[N].
        """
        inverse = np.divide(self.drawn, self.inclusion, out=np.zeros_like(self.rate), where=self.inclusion > 0)
        part = np.where(self.drawn, slope * self.rate * error * (1 - self.inclusion) * inverse, 0.0)
        total, square = (np.bincount(self.query, weights=a, minlength=queries) for a in (part, part**2))
        return np.asarray(total**2 - square)
