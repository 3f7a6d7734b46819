"""How far off is the grade model's opinion of its own errors, according to a pilot's labels [theory 10]?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.inference.drawn_documents import optimism
from pt_active.inference.estimators import Controls, estimator_named
from pt_active.inference.replay import Method
from pt_active.plans.answers.basis import clustered
from pt_active.plans.answers.forecast import SUFFICIENT_PILOT
from pt_active.plans.answers.labelled import Contrast, Settings, contrasts_of
from pt_active.plans.answers.labelled_documents import LabelledDocuments
from pt_active.plans.answers.labelled_plan import labelled_plan, read_qrels
from pt_active.plans.answers.labelled_queries import LabelledQueries
from pt_active.plans.making.kept import Kept, PlanTables
from pt_active.plans.making.labelled import document_variable
from pt_active.plans.making.pool import Pool

PRIOR_QUERIES = 2
"""The model's opinion of its own variance counts as much as so many queries of a pilot."""


@dataclass(frozen=True)
class Pilot:
    """A plan with its labels so far, used to correct what the grade model expects."""

    judged: LabelledQueries | LabelledDocuments  # The plan's sample with its labels, by its own measure
    label: np.ndarray  # int64[N], -1 if there is none, or the document is below the measure's cutoff
    chance: np.ndarray  # float64[N], the probability that each labelled document is asked for; 0 for all others

    @classmethod
    def of(cls, plan: Kept[PlanTables], qrels: pd.DataFrame) -> Pilot:
        """Read the labels of a plan."""
        return cls.of_labelled(labelled_plan(plan.tables, read_qrels(plan.tables, qrels)))

    @classmethod
    def of_labelled(cls, judged: LabelledQueries | LabelledDocuments) -> Pilot:
        """A pilot from a plan that is already joined to its labels, for its own measure."""
        label = np.where(judged.tables.pool.seen(judged.measure), judged.label, -1)
        return cls(judged, label, np.where(label >= 0, judged.chance, 0.0))

    @property
    def measure(self) -> irm.Measure:
        """The plan's measure."""
        return self.judged.measure

    @property
    def pool(self) -> Pool:
        """The pool of the plan."""
        return self.judged.tables.pool

    @property
    def contrasts(self) -> list[Contrast]:
        """The only ranker, or the difference of each pair."""
        return contrasts_of(len(self.pool.names))

    @property
    def n_queries(self) -> int:
        """The number of queries with labels."""
        return len(np.unique(self.pool.query_of_document[self.chance > 0]))

    @property
    def notes(self) -> list[str]:
        """What to say about few queries."""
        if self.n_queries >= SUFFICIENT_PILOT:
            return []
        return [
            f"The pilot has {how_many('query', self.n_queries)}. Below {SUFFICIENT_PILOT}, chance decides which errors "
            "it shows; expect the forecast to be off by a factor."
        ]

    def factor(self, ratio: float) -> float:
        """What multiplies an expected variance: the ratio that is shown, drawn towards 1 where few queries show it."""
        shown = max(self.n_queries - 1, 0)
        return (PRIOR_QUERIES + shown * ratio) / (PRIOR_QUERIES + shown) if np.isfinite(ratio) else 1.0

    def shown(self, method: Method, gain: np.ndarray, of_documents: Callable[[], np.ndarray]) -> float:
        """The variance of a method's units that the labels show over the one that the model expects; NaN if unknown.

        ``gain`` is float64[m] for whole queries, float64[N] for documents; ``of_documents`` computes the latter.
        """
        if method.of_documents:
            return self.of_documents(method.design, method.estimator, gain)
        judged = self.judged
        if isinstance(judged, LabelledDocuments):
            return self._of_labels(of_documents())
        sample, p = judged.sample, judged.pool_weight
        if not sample.repeated and (sample.expected >= 1).all():
            # A census has no sampling error; with replacement the residuals still show the variance.
            sample = replace(sample, repeated=True)
        share = sample.importance(p) / (sample.count @ sample.importance(p))
        expected = float((sample.count * share**2 * sample.left) @ (sample.of(gain) / sample.of(p) ** 2))
        kind = estimator_named(method.estimator)
        means = [
            kind.estimate(sample, Controls(p, each.of(judged.pool_model)), each.of(judged.values))
            for each in self.contrasts
        ]
        return _ratio(float(np.mean([mean.standard_error**2 for mean in means])), expected)

    def of_documents(self, drawing: str, estimator: str, gain: np.ndarray) -> float:
        """The variance of documents that the labels show over the one that the model expects; NaN if that is 0."""
        judged = self.judged
        if not isinstance(judged, LabelledDocuments) or judged.drawn.sample.design.drawing != drawing:
            return self._of_labels(gain)
        weights = [each.weights(len(self.pool.names)) for each in self.contrasts]
        variances = judged.variances(weights, estimator)
        return optimism(judged.pool, judged.drawn, variances, gain)

    def of_spread(self, expected: float, clusters: str | None) -> float:
        """The spread of queries that the labels show over the one that the model expects [theory 16]."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            measured = [self.judged.measured(pair, Settings()).by_query for pair in self.contrasts]
        found = [clustered(each, self.pool.queries, clusters) for each in measured if each is not None]
        return _ratio(float(np.mean([each.spread for each in found])), expected)

    def _of_labels(self, gain: np.ndarray) -> float:
        """Squared errors of the model's means over its variances, weighted by gain and inverse chance."""
        _, values = document_variable(self.measure, self.pool)
        mean = self.pool.grades @ values
        variance = np.maximum(self.pool.grades @ values**2 - mean**2, 0.0)
        use = (self.chance > 0) & (variance > 0)
        weight = gain[use] / self.chance[use]
        squared = (values[self.label[use]] - mean[use]) ** 2 / variance[use]
        return _ratio(weight @ squared, weight.sum())


def _ratio(observed: float, expected: float) -> float:
    """Observed over expected; NaN if nothing was expected."""
    return float(observed / expected) if expected > 0 else np.nan
