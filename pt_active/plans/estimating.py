"""What does a plan estimate from labels, or from the records of several judges?"""

from __future__ import annotations

from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import THESE
from pt_active.plans.answers.agreement import Agreement, agreement_of
from pt_active.plans.answers.judged import Contrast, LabelledPlan
from pt_active.plans.answers.judged_documents import JudgedDocuments
from pt_active.plans.answers.judged_queries import JudgedQueries
from pt_active.plans.answers.labelled_plan import asked, judged_with, labelled_plan, with_worst_case
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.judgments import as_qrels, check_settled, records_given, records_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.rankers import named_pair
from pt_active.plans.making.sampled import wanted_documents


class Estimating(KeptArtifact[PlanTables]):
    """A drawn sample that estimates measures from the labels of its documents.

    Args:
        path: The folder of a saved plan.
    """

    @property
    def id(self) -> str:
        """16 hexadecimal digits that name the sample, the same on every machine; an extension has its own.

        Plans from the same frames with the same arguments have the same id.
        """
        return self.tables.manifest.id

    @property
    def measure(self) -> irm.Measure:
        """The measure that the sample was designed for."""
        return self.tables.measure

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of the rankers, in the order of the pool."""
        return self.tables.pool.names

    def estimate(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        queries: str = THESE,
        clusters: str | None = None,
        records: pd.DataFrame | None = None,
    ) -> dict[str, Estimate]:
        """Estimate the performance of every ranker over the whole pool [theory 5].

        Args:
            qrels: ``qid, docno, label``, the labels of `assessments`. Labels of other queries are ignored, and a
                warning gives their number: hand-picked judgments are not a sample.
            measure: A measure to estimate from the same labels; the plan's own if left out.
            estimator: ``regression``, ``snis``, ``ht`` or ``difference``; for plans of documents all but ``snis``.
            confidence: Level of the intervals.
            missing: What to do about a sampled document without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).
            queries: The queries that the answer holds for: ``"these"`` of the pool, or ``"new"``, those that they are a
                sample of [theory 16]. The answer for the others is beside it.
            clusters: A column of the topics whose equal values mark queries that belong together, such as one need in
                several words. They are one draw of the new queries. Each query is its own if left out.
            records: The records that the qrels follow from. If some documents have two judges or more, the standard
                error contains the judges' variance [theory 12]. Records in place of the qrels do both, by the majority.

        Returns:
            Ranker name → estimate.

        Raises:
            ValueError: If an argument is unknown or the labels do not fit the plan.
        """
        how = asked(self.tables, measure, estimator, confidence, missing, queries=queries, clusters=clusters)
        labelled, records = self._labelled(qrels, records)
        judged, found = judged_with(labelled, records, how), {}
        for s, name in enumerate(judged.names):
            found[name] = with_worst_case(judged.estimate(s, how), labelled, Contrast(s), how, records)
        return found

    def compare(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        queries: str = THESE,
        clusters: str | None = None,
        first: str | None = None,
        second: str | None = None,
        records: pd.DataFrame | None = None,
    ) -> Comparison:
        """Estimate and test the difference of two rankers, first minus second [theory 5].

        The arguments are those of `estimate`, and the names of two rankers, ``first`` and ``second``. Both can be left
        out if the plan has two rankers. The level of the test is ``1 − confidence``.

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the plan, or the plan has one ranker, or has
                more than two and they are not named.
        """
        one, other = named_pair(self.rankers, first, second)
        how = asked(self.tables, measure, estimator, confidence, missing, queries=queries, clusters=clusters)
        labelled, records = self._labelled(qrels, records)
        found = judged_with(labelled, records, how).compare(one, other, how)
        return with_worst_case(found, labelled, Contrast(one, other), how, records)

    def rank(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        queries: str = THESE,
        clusters: str | None = None,
        correction: str = "holm",
        records: pd.DataFrame | None = None,
    ) -> Ranking:
        """Estimate all rankers, test all their differences, and find those that cannot be told apart [theory 5].

        The arguments are those of `estimate`, and a ``correction`` of the p-values: ``"tukey"``, or a method of
        statsmodels' ``multipletests``. The level of all tests together is ``1 − confidence``.

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the plan, or the plan has one ranker.
        """
        how = asked(self.tables, measure, estimator, confidence, missing, queries=queries, clusters=clusters)
        return rank_judged(judged_with(*self._labelled(qrels, records), how), how, correction)

    def _labelled(
        self, qrels: pd.DataFrame, records: pd.DataFrame | None
    ) -> tuple[LabelledPlan[Any], pd.DataFrame | None]:
        """The plan with its labels, and the records of several judges if there are any."""
        said = records_given(qrels, records)
        check_settled(self.tables.pool.keys[wanted_documents(self.tables)], said)
        checked = None if said is None else records_of_plan(self.tables, said)
        return labelled_plan(self.tables, as_qrels(qrels, said)), checked

    def agreement(self, records: pd.DataFrame) -> Agreement:
        """Measure how well the judges agree: Krippendorff's alpha, and kappa of each pair [theory 12].

        Args:
            records: Records of judgments; the latest of each annotator on a document counts.

        Raises:
            ValueError: If a record is malformed, or is not of this plan.
        """
        return agreement_of(records_of_plan(self.tables, records), self.tables.pool.max_grade)

    def judged(
        self, qrels: pd.DataFrame, measure: str | irm.Measure | None = None, missing: str = "error"
    ) -> JudgedQueries | JudgedDocuments:
        """The sample with its labels, from which `estimate`, `compare` and `rank` compute their results.

        The arguments are those of `estimate`, and so are the errors.
        """
        return labelled_plan(self.tables, as_qrels(qrels)).judged(asked(self.tables, measure, missing=missing))

    def model_means(self, measure: irm.Measure) -> np.ndarray:
        """``M(x)`` of every ranker and query under the grade model, float64[m, k], for any measure."""
        return model_means(self.tables, measure)
