"""What does a plan answer while it is judged: may judging stop, and what to report?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.progress import working
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import THESE
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.gaps import labels_and_said
from pt_active.plans.answers.gate import (
    NON_INFERIOR,
    Gate,
    Rule,
    gate_at_any_time,
    gate_at_parts,
    gate_at_the_end,
    population_asked,
)
from pt_active.plans.answers.labelled_plan import asked
from pt_active.plans.answers.looks import USUAL, Question, looks_asked
from pt_active.plans.answers.pairwise import PairStatus, check_pairs_asked, pair_status
from pt_active.plans.answers.report.differences import budget_table, foreseen
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.results import Comparison
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import missing_policy, plan_status, worst_of
from pt_active.plans.estimating import Estimating
from pt_active.plans.making.judgments import as_qrels, records_given
from pt_active.plans.making.queries import has_order
from pt_active.plans.making.rankers import named_pair
from pt_active.showing.page import check_page
from pt_active.showing.plots import budgets

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Answering(Estimating):
    """A drawn sample that answers questions from the labels of its documents.

    Args:
        path: The folder of a saved plan.
    """

    def status(
        self,
        qrels: pd.DataFrame,
        looks: str | None = USUAL,
        margin: float | None = None,
        confidence: float = 0.95,
        *,
        queries: str = THESE,
        clusters: str | None = None,
        first: str | None = None,
        second: str | None = None,
        missing: str | None = None,
        records: pd.DataFrame | None = None,
    ) -> Status | PairStatus:
        """Tell what the labels so far show, and whether judging can stop [theory 14].

        Args:
            qrels: The labels so far, or records of judgments; may be empty.
            looks: When you look at the labels. ``"always"``: at any time, by bets that hold for any data at every
                sample size, in plans with an order. ``"obrien-fleming"``: after each fifth of the documents of a plan
                by ``depth`` or ``surprises`` [theory 19]. None: at the end. By default, the first of these that the
                plan allows. The intervals of all looks hold simultaneously.
            margin: The largest difference that does not matter; for one ranker, the half-width that you want.
            confidence: Level of all intervals together.
            queries: The queries that the answer holds for, as in `estimate`: ``"these"`` or ``"new"``. At any time the
                interval for new ones is that of the bets, widened by how far the two means may lie apart; it needs 30
                queries and the normal approximation over queries [theory 16].
            clusters: A column of the topics whose equal values mark queries that belong together, as in `estimate`.
            first: The first ranker; by default, the first of two.
            second: The ranker that is subtracted from the first; by default, the second of two.
            missing: What to do about a gap, documents without a label before others that have one. If left out,
                evidence and interval at any time and after each part assume the worst case, so that what is proved
                holds whatever their labels are; the estimate ends before them. ``"error"``, the default of a look at
                the end: nothing after the first of them counts. ``"nonrelevant"``: grade 0 for those that were passed
                over. With records, somebody skipped these or found them unjudgeable; without, all count as passed
                over, and so does every document without a label if the plan has no order.
            records: The records that the qrels follow from, to say who passed a document over and which labels changed.
                A document that waits for another judge by them has no label yet.

        Returns:
            The state of the only ranker or of a pair; if the plan has more than two rankers and none is named, of all
            pairs together.

        Raises:
            ValueError: If an argument is out of range, no label fits the plan, or the plan has no order that such looks
                need.
        """
        every = len(self.rankers) > 2 and first is None and second is None
        looks = looks_asked(self.tables, looks)
        policy = missing_policy(missing, looks)
        records = records_given(qrels, records)
        labels, said, given = labels_and_said(self.tables, qrels, records, policy)
        if every:
            check_pairs_asked(looks, margin)
        pair = (0, 1) if every else self._pair(first, second)
        question = Question(pair, self.measure, looks, margin, confidence, policy != "error", queries, clusters)
        with working("looking at the labels"):
            if every:
                return pair_status(self.tables, labels, question, records).with_said(said, given)
            state = plan_status(self.tables, labels, question, records).with_said(said, given)
            if state.filled and np.isfinite(state.low):
                state = replace(state, worst=worst_of(self.tables, as_qrels(qrels, records), question, records))
            return state

    def _pair(self, first: str | None, second: str | None) -> tuple[int, ...]:
        """The two rankers that are compared, or the only one."""
        return named_pair(self.rankers, first, second, or_all=False) if len(self.rankers) > 1 else (0,)

    def gate(
        self,
        qrels: pd.DataFrame,
        margin: float | None = None,
        rule: str = NON_INFERIOR,
        looks: str | None = USUAL,
        confidence: float = 0.95,
        *,
        queries: str | None = None,
        clusters: str | None = None,
        first: str | None = None,
        second: str | None = None,
        missing: str | None = None,
        records: pd.DataFrame | None = None,
    ) -> Gate:
        """Decide whether one ranker may replace another [theory 14].

        The arguments are those of `status`. Here ``first`` is the candidate, ``second`` the baseline.

        - ``rule``: with ``"non-inferior"`` the candidate passes if it is proved to be at most ``margin`` worse; with
          ``"better"`` if it is proved to be better by more than ``margin``, 0 if left out. It fails if the contrary is
          proved.
        - ``looks``: with ``"always"``, ask at any time, as often as you like; with ``"obrien-fleming"``, the default of
          plans in parts, after each part; with None, once, when everything is judged.
        - ``confidence``: a wrong pass, and a wrong fail, has at most half of the probability ``1 − confidence``.
        - ``queries``: ``"new"`` decides for queries to come, of which the pool's are a sample, ``"these"`` for the
          pool's alone [theory 16]. There is no default, since the answers differ.

        Raises:
            ValueError: If an argument is out of range, no label fits the plan, the plan has no order that looks at any
                time need, or one of the two was added by `with_rankers`.
        """
        asked, meant = Rule.of(rule, margin), population_asked(queries)
        looks = looks_asked(self.tables, looks)
        policy, pair = missing_policy(missing, looks), named_pair(self.rankers, first, second, or_all=False)
        records = records_given(qrels, records)
        self._check_planned_for(pair)
        if looks == ALWAYS and not has_order(self.tables):
            raise ValueError(
                "the plan has no order, so nothing is known of it before everything is judged; ask once, at the end: "
                "looks=None"
            )
        labels, said, given = labels_and_said(self.tables, qrels, records, policy)
        question = Question(pair, self.measure, looks, None, confidence, policy != "error", meant, clusters)
        if looks is None:
            return gate_at_the_end(*self._once(question, labels, records), asked).with_said(said, given)
        decided = gate_at_any_time if looks == ALWAYS else gate_at_parts
        return decided(self.tables, labels, question, asked, records).with_said(said, given)

    def _check_planned_for(self, pair: tuple[int, int]) -> None:
        """Raise if a ranker came after the plan: where the plan never asks, the model alone would decide."""
        if later := {self.rankers[each] for each in pair} & set(self.tables.manifest.later_rankers):
            raise ValueError(
                f"{some(sorted(later))} came after the plan, whose labels decide no gate about it; `compare` estimates "
                "it, and a new plan with the two rankers decides"
            )

    def _once(
        self, question: Question, labels: pd.DataFrame, records: pd.DataFrame | None = None
    ) -> tuple[Status, Comparison | None]:
        """The one look at the end: the state, and what all labels say about a pair, None before all are there."""
        state = plan_status(self.tables, labels, question, records)
        if state.judged < state.drawn:
            return state, None
        one, other = (self.rankers[each] for each in question.pair)
        about: dict[str, Any] = {"queries": question.queries, "clusters": question.clusters, "records": records}
        return state, self.compare(labels, confidence=question.confidence, first=one, second=other, **about)

    def report(
        self,
        path: str | Path,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        queries: str = THESE,
        clusters: str | None = None,
        slices: Sequence[str] = (),
        first: str | None = None,
        second: str | None = None,
        status: Status | None = None,
        records: pd.DataFrame | None = None,
        texts: pd.DataFrame | None = None,
    ) -> Report:
        """Write everything that the plan and its labels show into one file.

        ``path`` is a new file, which gets JSON if its name ends with ``.json``, and otherwise an HTML page; ``qrels``
        are the labels of `assessments`. The other arguments are those of `Report.of`.

        Raises:
            FileExistsError: If the file exists.
            FileNotFoundError: If its folder does not exist.
            ValueError: If an argument is unknown, the labels do not fit the plan, or the status is of something else.
        """
        check_page(Path(path))
        said = records_given(qrels, records)
        about: dict[str, Any] = {"slices": slices, "first": first, "second": second, "status": status, "records": said}
        about |= {"texts": texts, "queries": queries, "clusters": clusters}
        with working("computing the report"):
            report = Report.of(self, as_qrels(qrels, said), measure, estimator, confidence, missing, **about)
        report.save(path)
        return report

    def plot(self) -> Figure:
        """A matplotlib figure of the expected half-width of the interval at each budget, before anything is judged.

        The grade model expects it, for this way of sampling and for plain random queries. The plan's budget is marked.

        Raises:
            ValueError: If everything is to be judged, or rankers were added later.
        """
        made = self.tables.manifest
        found = budget_table(made, foreseen(self.tables), asked(self.tables))
        if found.note:
            raise ValueError(f"there is nothing to draw: {found.note}")
        return budgets(found.table, made.spent, made.arguments.unit).figure()
