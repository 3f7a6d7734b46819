"""What is known of documents before they are judged: how much they matter to a measure, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pt_active.relevance.digits import product
from pt_active.relevance.measures import RankForm
from pt_active.relevance.moments import discounts, variable_values
from pt_active.sampling.drawings import natural_drawing
from pt_active.sampling.sample import Costs


@dataclass(frozen=True)
class Variables:
    """What is known of the document variables (gain or κ) before documents are judged."""

    mean: np.ndarray  # float64[N], μ
    variance: np.ndarray  # float64[N], v

    @classmethod
    def of(cls, form: RankForm, grades: np.ndarray) -> Variables:
        """Mean and variance under the grade model."""
        mean = product(grades, form.values)
        return cls(mean, np.maximum(product(grades, form.values**2) - mean**2, 0.0))


@dataclass(frozen=True)
class DocumentPool:
    """A pool of documents as a measure sees it."""

    form: RankForm  # The form of the measure
    indptr: np.ndarray  # int64[m+1], the offsets of the queries
    ranks: np.ndarray  # int32[k, N], from 1; 0 = not retrieved
    weight: np.ndarray  # float64[m], p, the weights of the queries, which sum to 1

    @cached_property
    def query(self) -> np.ndarray:
        """int64[N], the query of each document."""
        return np.repeat(np.arange(len(self.weight)), np.diff(self.indptr))

    def ranked(self, ranks: np.ndarray) -> DocumentPool:
        """The pool with other rankings."""
        return replace(self, ranks=ranks)

    def involved(self, contrast: np.ndarray) -> tuple[DocumentPool, np.ndarray]:
        """The pool with the rankings of which a contrast is, and their weights, float64[at most k]."""
        used = np.flatnonzero(contrast)
        if len(used) == len(contrast):
            return self, contrast
        return self.ranked(np.ascontiguousarray(self.ranks[used])), contrast[used]

    @property
    def reached(self) -> np.ndarray:
        """bool[N], the documents that some ranking has above the depth of the measure."""
        return np.asarray(((self.ranks > 0) & (self.ranks <= len(self.form.weights))).any(axis=0))

    def among(self, documents: np.ndarray) -> DocumentPool:
        """The pool of some documents, in increasing order."""
        ranks = np.take(self.ranks, documents, axis=1)  # in the order in memory for which loops are compiled
        return replace(self, indptr=np.searchsorted(documents, self.indptr), ranks=ranks)

    def values(self, variable: np.ndarray) -> np.ndarray:
        """float64[m, k], the measure at given document variables, float64[N]."""
        return variable_values(self.form, self.indptr, self.ranks, variable)

    @cached_property
    def _discounts(self) -> np.ndarray:
        return discounts(self.form, self.ranks)

    def gradients(self, mean: np.ndarray, variance: np.ndarray | None = None) -> np.ndarray:
        """``D_s(z) = ∂ℓ_s/∂κ_z``, float64[k, N]: the discount ``d_s(z)`` of an additive measure [theory 9].

        That of a cascade is taken where the document variables have these means and variances, float64[N] each.
        """
        if self.form.family == "additive":
            return self._discounts
        from pt_active.relevance._kernels import cascade_gradients

        gradient, spread = np.zeros(self.ranks.shape), variance is not None and bool(variance.any())
        moments = np.column_stack([mean, mean**2 + (0.0 if variance is None else variance)])
        cascade_gradients(self.indptr, self.ranks, moments, self.form.weights, spread, gradient)
        return gradient

    def steps(self, order: np.ndarray, mean: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """By how much each label changes the expectation of every ranker, given those before it, float64[k, N]."""
        if self.form.family == "additive":
            return np.asarray(self.gradients(mean) * (observed - mean))
        from pt_active.relevance._kernels import cascade_steps

        value, step = np.zeros((len(self.weight), len(self.ranks))), np.zeros(self.ranks.shape)
        both = np.column_stack([mean, mean])
        cascade_steps(self.indptr, self.ranks, both, observed, order, self.form.weights, value, step)
        return step


@dataclass(frozen=True)
class GradedPool:
    """A pool whose documents can be drawn."""

    seen: DocumentPool  # The pool as the measure sees it
    grades: np.ndarray  # float64[N, G+1], ``P(y = g)``
    prices: Costs  # What judging the documents costs; not read for documents that cannot change the estimate

    @property
    def usual_drawing(self) -> str:
        """The drawing of documents that suits the measure."""
        return natural_drawing(self.seen.form)
