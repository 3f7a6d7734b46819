"""What does a plan answer from labels, or from the records of several judges?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.frames.progress import working
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.agreement import Agreement, agreement_of
from pt_active.plans.answers.gaps import labels_and_said
from pt_active.plans.answers.gate import NON_INFERIOR, Gate, Rule, check_gate_looks, gate_at_any_time, gate_at_the_end
from pt_active.plans.answers.judged import Contrast, How
from pt_active.plans.answers.judged_documents import JudgedDocuments
from pt_active.plans.answers.judged_queries import JudgedQueries
from pt_active.plans.answers.labelled_plan import asked, judged_with, labelled_plan
from pt_active.plans.answers.looks import Question
from pt_active.plans.answers.pairwise import PairStatus, check_pairs_asked, pair_status
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.report.further import budget_table, foreseen
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.running_status import RunningStatus
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import missing_policy, plan_status
from pt_active.plans.answers.without_judges import WithoutJudges, without_judges
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.judgments import as_qrels, check_settled, records_given, records_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.queries import has_order
from pt_active.plans.making.rankers import named_pair
from pt_active.plans.making.sampled import wanted_documents
from pt_active.showing.page import check_page
from pt_active.showing.plots import plot_budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Answering(KeptArtifact[PlanTables]):
    """A drawn sample that answers questions from the labels of its documents.

    Args:
        path: The folder of a saved plan.
    """

    @property
    def id(self) -> str:
        """16 hexadecimal digits that name the sample, the same for its extensions and on every machine.

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
        reference: str = "auto",
        *,
        records: pd.DataFrame | None = None,
    ) -> dict[str, Estimate]:
        """Estimate the performance of every ranker over the whole pool [theory 5].

        Args:
            qrels: ``qid, docno, label``, the labels of `assessments`. Labels of other queries are ignored, and a
                warning gives their number: hand-picked judgments are not a sample.
            measure: A measure to estimate from the same labels; the plan's own if left out.
            estimator: ``regression``, ``snis``, ``ht`` or ``difference``; for plans of documents all but ``snis``.
            confidence: Level of the intervals.
            missing: What to do about a sampled document without a label: ``"error"``, ``"nonrelevant"`` (grade 0) or
                ``"expected"`` (the model's mean).
            reference: The reference distribution of the intervals: ``auto`` for t on the effective degrees of freedom,
                or for the hull of it and of replays under the grade model where there are few draws; ``simulated`` for
                this hull; ``effective`` for that t alone; ``t`` for t on n − 1, or ``normal``.
            records: The records that the qrels follow from. If some documents have two judges or more, the standard
                error contains the judges' variance [theory 12]. Records in place of the qrels do both, by the majority.

        Returns:
            Ranker name → estimate.

        Raises:
            ValueError: If an argument is unknown or the labels do not fit the plan.
        """
        how = asked(self.tables, measure, estimator, confidence, missing, reference)
        judged = self._judged(qrels, records, how)
        return {name: judged.estimate(s, how) for s, name in enumerate(judged.names)}

    def compare(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        reference: str = "auto",
        *,
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
        how = asked(self.tables, measure, estimator, confidence, missing, reference)
        return self._judged(qrels, records, how).compare(one, other, how)

    def rank(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        reference: str = "auto",
        *,
        correction: str = "holm",
        records: pd.DataFrame | None = None,
    ) -> Ranking:
        """Estimate all rankers, test all their differences, and find those that cannot be told apart [theory 5].

        The arguments are those of `estimate`, and a ``correction`` of the p-values: ``"tukey"``, or a method of
        statsmodels' ``multipletests``. The level of all tests together is ``1 − confidence``.

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the plan, or the plan has one ranker.
        """
        how = asked(self.tables, measure, estimator, confidence, missing, reference)
        return rank_judged(self._judged(qrels, records, how), how, correction)

    def _judged(self, qrels: pd.DataFrame, records: pd.DataFrame | None, how: How[irm.Measure]) -> Any:
        """The sample with its labels, and with the error of the judges if there are records."""
        said = records_given(qrels, records)
        check_settled(self.tables.pool.keys[wanted_documents(self.tables)], said, how.missing)
        checked = None if said is None else records_of_plan(self.tables, self.id, said)
        return judged_with(labelled_plan(self.tables, as_qrels(qrels, said)), checked, how)

    def agreement(self, records: pd.DataFrame) -> Agreement:
        """How far the judges agree: Krippendorff's alpha, kappa of each two, and who is far from others [theory 12].

        Args:
            records: Records of judgments; the latest of each annotator on a document counts.

        Raises:
            ValueError: If a record is malformed, or is not of this plan.
        """
        return agreement_of(records_of_plan(self.tables, self.id, records), self.tables.pool.max_grade)

    def without_judges(
        self,
        records: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        *,
        first: str | None = None,
        second: str | None = None,
    ) -> WithoutJudges:
        """The result without each judge in turn, which says whether the verdict hangs on one [theory 12].

        Args:
            records: Records of judgments. Of a plan that is not fully judged, what is judged without a gap counts.
                Documents that a judge alone has judged are left to the grade model without him, as with
                ``missing="expected"``.
            measure: A measure to estimate from the same labels; the plan's own if left out.
            estimator: ``regression``, ``snis``, ``ht`` or ``difference``; for plans of documents all but ``snis``.
            confidence: 1 minus it is the level of the verdicts.
            first: The first ranker; can be left out if the plan has one or two.
            second: The second ranker, subtracted from the first; can be left out if the plan has one or two.

        Raises:
            ValueError: If an argument is unknown, the records do not fit the plan, there is one judge, or the plan is
                judged in part and has no order.
        """
        pair = named_pair(self.rankers, first, second) if len(self.rankers) > 1 else (0,)
        how = asked(self.tables, measure, estimator, confidence, "expected")
        return without_judges(self.tables, records_of_plan(self.tables, self.id, records), Contrast(*pair), how)

    def status(
        self,
        qrels: pd.DataFrame,
        looks: str | None = ALWAYS,
        margin: float | None = None,
        confidence: float = 0.95,
        *,
        first: str | None = None,
        second: str | None = None,
        missing: str | None = None,
        records: pd.DataFrame | None = None,
    ) -> Status | PairStatus:
        """Whether judging can stop [theory 14].

        Args:
            qrels: The labels so far, or records of judgments; may be empty.
            looks: When the state is looked at. ``"always"``: at any time, by bets that hold for any data at every
                sample size. ``"asymptotic"``: at any time, by a normal approximation, from 50 degrees of freedom on. A
                name in `boundaries.SPENDING`, such as ``"pocock"``: after each fifth of the queries. None: when all is
                judged. The intervals of all looks hold simultaneously.
            margin: Differences up to this do not matter; for a single ranker, how far off its estimate may be.
            confidence: Level of all intervals together.
            first: The first ranker; can be left out if the plan has two.
            second: The second ranker, subtracted from the first; can be left out if the plan has two.
            missing: What to do about documents without a label before others that have one. ``"expected"``, for
                ``looks="always"``: evidence and interval have them at their worst, so that what is proved holds
                whatever their labels are; the estimate ends before them. ``"error"``: nothing after the first of them
                counts. ``"nonrelevant"``: grade 0 for those that were passed over. With records, somebody skipped
                these or found them unjudgeable; without, all count as passed over, and so does every document without
                a label if the plan has no order. If left out, ``"expected"``, or
                ``"error"`` for other looks.
            records: The records that the qrels follow from, to say who passed a document over and which labels changed.
                A document that waits for another judge by them has no label yet.

        Returns:
            The state of the only ranker or of a pair. If the plan has more than two rankers and none is named, that of
            all pairs together, for ``looks="always"``.

        Raises:
            ValueError: If an argument is out of range, no label fits the plan, or the plan has no order that such looks
                need.
        """
        policy = missing_policy(missing, looks)
        records = records_given(qrels, records)
        labels, said, given = labels_and_said(self.tables, qrels, records, policy)
        if len(self.rankers) > 2 and first is None and second is None:
            check_pairs_asked(looks, margin)
            with working("looking at the labels"):
                state = pair_status(self.tables, labels, confidence, policy != "error", records)
                return state.with_said(said, given)
        pair = named_pair(self.rankers, first, second, or_all=False) if len(self.rankers) > 1 else (0,)
        question = Question(pair, self.measure, looks, margin, confidence, policy != "error")
        with working("looking at the labels"):
            return plan_status(self.tables, labels, question, records).with_said(said, given)

    def gate(
        self,
        qrels: pd.DataFrame,
        margin: float | None = None,
        rule: str = NON_INFERIOR,
        looks: str | None = ALWAYS,
        confidence: float = 0.95,
        *,
        first: str | None = None,
        second: str | None = None,
        missing: str | None = None,
        records: pd.DataFrame | None = None,
    ) -> Gate:
        """Whether a ranker may replace another [theory 14].

        Args:
            qrels: The labels so far, or records of judgments; may be empty.
            margin: For ``"non-inferior"``, by how much the first ranker may be worse; for ``"better"``, by how much it
                has to be better, 0 if left out.
            rule: ``"non-inferior"``: it passes if it is proved to be at most ``margin`` worse. ``"better"``: if it is
                proved to be better by more than ``margin``. It fails if the contrary is proved.
            looks: ``"always"``: one may ask at any time, as often as one likes. None: one asks once, when all is
                judged.
            confidence: A wrong pass, and a wrong fail, has at most half of the probability ``1 − confidence``.
            first: The candidate; can be left out if the plan has two rankers.
            second: The baseline; can be left out if the plan has two rankers.
            missing: What to do about documents without a label before others that have one, as `status` takes it.
            records: The records that the qrels follow from, as `status` takes them.

        Raises:
            ValueError: If an argument is out of range, no label fits the plan, or the plan has no order that looks at
                any time need.
        """
        asked = Rule.of(rule, margin)
        check_gate_looks(looks)
        policy, pair = missing_policy(missing, looks), named_pair(self.rankers, first, second, or_all=False)
        records = records_given(qrels, records)
        if looks is not None and not has_order(self.tables):
            raise ArgumentError(
                "the plan has no order, so nothing is known of it before all is judged; ask once, at the end: ",
                Argument("looks", None),
            )
        labels, said, given = labels_and_said(self.tables, qrels, records, policy)
        if looks is None:
            state, found = self._once(pair, labels, confidence, records)
            return gate_at_the_end(state, found, asked).with_said(said, given)
        question = Question(pair, self.measure, ALWAYS, None, confidence, policy != "error")
        return gate_at_any_time(self.tables, labels, question, asked, records).with_said(said, given)

    def _once(
        self, pair: tuple[int, int], labels: pd.DataFrame, confidence: float, records: pd.DataFrame | None = None
    ) -> tuple[Status, Comparison | None]:
        """The one look at the end: the state, and what all labels say of a pair, None before all are there."""
        state = plan_status(self.tables, labels, Question(pair, self.measure, None, None, confidence), records)
        if state.judged < state.drawn:
            return state, None
        one, other = (self.rankers[each] for each in pair)
        return state, self.compare(labels, confidence=confidence, first=one, second=other, records=records)

    def follow(
        self,
        margin: float | None = None,
        confidence: float = 0.95,
        *,
        first: str | None = None,
        second: str | None = None,
    ) -> RunningStatus:
        """Follow the plan while labels or records come in: ``add(labels)`` takes new ones alone and returns `status`.

        The arguments are those of `status`, whose looks are ``"always"``. Labels may change; the state says how many.

        Raises:
            ValueError: If an argument is out of range, the plan has no order, or has more than two rankers and they are
                not named.
        """
        pair = named_pair(self.rankers, first, second, or_all=False) if len(self.rankers) > 1 else (0,)
        return RunningStatus(self.tables, Question(pair, self.measure, ALWAYS, margin, confidence))

    def report(
        self,
        path: str | Path,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        slices: Sequence[str] = (),
        first: str | None = None,
        second: str | None = None,
        status: Status | None = None,
        records: pd.DataFrame | None = None,
        texts: pd.DataFrame | None = None,
    ) -> Report:
        """Write everything that the plan and its labels say into one file.

        ``path`` is a new file, which gets Markdown or JSON if its name ends with ``.md`` or ``.json``, and otherwise
        an HTML page; ``qrels`` are the labels of `assessments`. The other arguments are those of `Report.of`.

        Raises:
            FileExistsError: If the file exists.
            FileNotFoundError: If its folder does not exist.
            ValueError: If an argument is unknown, the labels do not fit the plan, or the status is of something else.
        """
        check_page(Path(path))
        said = records_given(qrels, records)
        about: dict[str, Any] = {"slices": slices, "first": first, "second": second, "status": status, "records": said}
        about["texts"] = texts
        with working("answering for the report"):
            report = Report.of(self, as_qrels(qrels, said), measure, estimator, confidence, missing, **about)
        report.save(path)
        return report

    def plot(self) -> Figure:
        """The half-width of the interval to expect over the budget, as a matplotlib figure, before anything is judged.

        The grade model expects it, for this way to sample and for plain random queries. The plan's budget is marked.

        Raises:
            ValueError: If everything is to be judged, or rankers were added later.
        """
        made = self.tables.manifest
        budgets = budget_table(made, foreseen(self.tables), asked(self.tables))
        if budgets.note:
            raise ValueError(f"there is nothing to draw: {budgets.note}")
        return plot_budget(budgets.table, made.spent, made.arguments.unit.strip())

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
