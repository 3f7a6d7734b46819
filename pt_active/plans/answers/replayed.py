"""What would other samples have shown, if labels were those that the grade model holds possible [theory 14]?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import ir_measures.measures as irm
import numpy as np

from pt_active.inference.estimators import Controls, Estimator
from pt_active.inference.reference import Replayed, labellings, redrawn, replayed, rescaled_grades
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.labelled import measured_values, query_chance
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import has_rank_form
from pt_active.relevance.moments import is_compiled
from pt_active.sampling.sample import Sample

REPLAY_SEED = 0  # Seed of simulated labels and draws, so that the same labels have the same interval


@dataclass(frozen=True)
class QueryReplays:
    """Replays of a sample of queries."""

    pool: Pool  # All queries, or a group of them
    sample: Sample  # The queries that were drawn, with their q
    measure: irm.Measure  # What is measured
    label: np.ndarray  # int64[N], -1 where there is none

    @property
    def possible(self) -> bool:
        """Whether the sample can be drawn again, and the measure is quick to compute."""
        drawn_again = self.sample.q is not None and self.sample.stratum is None and not self.sample.census
        return drawn_again and (has_rank_form(self.measure) or is_compiled(self.measure))

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[K, m, k], the measure of every ranker and query under K labellings."""
        seen, inside = self.pool.seen(self.measure), np.isin(self.pool.query_of_document, self.sample.rows)
        known = np.where(seen & inside, self.label, -1)
        weight = np.ones(len(known))
        weight[inside] = 1 / query_chance(self.pool.select(self.sample.rows), self.sample)
        grades = rescaled_grades(self.pool.grades, known, weight)
        drawn = labellings(grades, self.pool.by_name, REPLAY_SEED)
        return np.stack([measured_values(self.pool, self.measure, each, expected=False) for each in drawn])

    @cached_property
    def _redrawn(self) -> dict[int, Sample]:
        return {}

    def of(self, number: int, contrast: Contrast, weigh: Estimator, controls: Controls) -> Replayed:
        """The errors of an estimator in samples like the one that was drawn."""
        if number not in self._redrawn:
            self._redrawn[number] = redrawn(self.sample, number, REPLAY_SEED)
        return replayed(contrast.of(self._values), self._redrawn[number], weigh, controls)
