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
    known: np.ndarray  # bool[N], whether the label is known already

    @classmethod
    def of(cls, form: RankForm, grades: np.ndarray, labels: np.ndarray | None = None) -> Variables:
        """Mean and variance under the grade model."""
        mean = product(grades, form.values)
        variance = np.maximum(product(grades, form.values**2) - mean**2, 0.0)
        if labels is None:
            return cls(mean, variance, np.zeros(len(mean), dtype=bool))
        known = labels >= 0
        row = known if mean.ndim == 1 else known[:, None]
        return cls(np.where(row, form.values[labels], mean), np.where(row, 0.0, variance), known)


def gradients(form: RankForm, indptr: np.ndarray, ranks: np.ndarray, variables: Variables) -> np.ndarray:
    """``D_s(z) = ∂ℓ_s/∂κ_z`` at the given values: the discount ``d_s(z)`` of an additive measure [theory 9]."""
    if form.family == "additive":
        return discounts(form, ranks)
    from pt_active.relevance._kernels import cascade_gradients

    gradient = np.zeros(ranks.shape)
    moments = np.column_stack([variables.mean, variables.mean**2 + variables.variance])
    cascade_gradients(indptr, ranks, moments, form.weights, bool(variables.variance.any()), gradient)
    return gradient


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
        if self.form.family != "additive":
            return variable_values(self.form, self.indptr, self.ranks, variable)
        terms = (each * variable for each in self._discounts)
        return np.stack([np.bincount(self.query, each, len(self.weight)) for each in terms], axis=1)

    @cached_property
    def _discounts(self) -> np.ndarray:
        return discounts(self.form, self.ranks)

    def gradients(self, variable: np.ndarray) -> np.ndarray:
        """float64[k, N], the gradient of the measure at given document variables, float64[N]."""
        if self.form.family == "additive":
            return self._discounts
        known = np.ones(len(variable), dtype=bool)
        return gradients(self.form, self.indptr, self.ranks, Variables(variable, np.zeros_like(variable), known))


@dataclass(frozen=True)
class GradedPool:
    """A pool whose documents can be drawn."""

    seen: DocumentPool  # The pool as the measure sees it
    grades: np.ndarray  # float64[N, G+1], ``P(y = g)``
    cost: np.ndarray  # float64[N], λ; not read for documents that cannot change the estimate
    per_query: float  # λ₀, the cost of opening a query; each round pays it again

    @property
    def prices(self) -> Costs:
        """What judging the documents costs."""
        return Costs(self.seen.indptr, self.cost, self.per_query)

    @property
    def usual_drawing(self) -> str:
        """The drawing of documents that suits the measure."""
        return natural_drawing(self.seen.form)
