"""The judging plan: which queries or documents to judge, kept on disk until the labels come back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames import worklists
from pt_active.frames.checks import MAX_DRAWS, MAX_SEED, number, positive, shown, truth_value, whole_number
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import is_records
from pt_active.frames.topics import with_texts
from pt_active.frames.visible import visible
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.agreement import Agreement, agreement_of
from pt_active.plans.answers.following import Following
from pt_active.plans.answers.forewarned import forewarning
from pt_active.plans.answers.gaps import filled, gaps_of
from pt_active.plans.answers.gate import NON_INFERIOR, Gate, Rule, check_gate_looks, gate_at_any_time, gate_at_the_end
from pt_active.plans.answers.judged import Contrast, How
from pt_active.plans.answers.judged_documents import JudgedDocuments
from pt_active.plans.answers.judged_queries import JudgedQueries
from pt_active.plans.answers.judges_error import judged_with
from pt_active.plans.answers.labelled_plan import asked, labelled_plan
from pt_active.plans.answers.pairwise import PairStatus, check_pairs_asked, pair_status
from pt_active.plans.answers.progress import Question, cut_to_judged
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.report.report import Report, check_page
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import missing_policy, plan_status
from pt_active.plans.answers.without_judges import WithoutJudges, without_judges
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.documents import first_round
from pt_active.plans.making.extension import Extension, extended
from pt_active.plans.making.judgments import as_qrels, records_of_plan
from pt_active.plans.making.kept import PlanTables, in_words, read_plan, write_plan
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.manifest import PlanArguments, Source
from pt_active.plans.making.pool import Pool, graded_frame, seen_by
from pt_active.plans.making.queries import (
    DESIGN,
    check_no_refit,
    extended_by_queries,
    in_drawing_order,
    plan_of_queries,
)
from pt_active.plans.making.rankers import Pairs, listed_weights, named_pair, pair_weights, with_rankers
from pt_active.relevance.costs import Cost, UnitCost, check_per_query, unit_of
from pt_active.relevance.measures import parse_lasting
from pt_active.sampling.designs import defensive_share
from pt_active.sampling.documents import natural_drawing, usual_variance

LEVELS = ("query", "document")
"""What is sampled: whole queries, each judged down to the measure's cutoff, or single documents."""


class Plan(KeptArtifact[PlanTables]):
    """A drawn sample of queries or documents, with everything that an estimate needs.

    An estimate must use the rankings that were sampled, so the plan keeps them. Make a plan with `create`; read a
    saved one with ``Plan.load(path)`` or ``pt.Artifact.load(path)``.

    Args:
        path: The folder of a saved plan.
    """

    ARTIFACT_TYPE = "active_plan"
    _read = staticmethod(read_plan)
    _write = staticmethod(write_plan)

    @classmethod
    def create(
        cls,
        pool: pt.Transformer | pd.DataFrame,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure,
        cost: Cost | None = None,
        budget: float | None = None,
        design: str | None = None,
        level: str = "query",
        seed: int = 0,
        *,
        draws: int | None = None,
        replace: bool = False,
        defensive: float | None = None,
        objective: str = "mean",
        pairs: Pairs | None = None,
        texts: pd.DataFrame | None = None,
    ) -> Plan:
        """Choose what to judge.

        Args:
            pool: A pipeline that ends in a graded-relevance model, or the frame that it returns. With one ranker the
                sample is designed for its performance, with two for their difference, with more for all pairwise
                differences.
            topics: ``qid, query`` (+ ``traffic``), the target population of queries. May be None if ``pool`` is a
                frame.
            measure: ``DCG@10``, ``"ERR(max_rel=4)@20"``, …
            cost: Labelling cost; `UnitCost` (each document 1) if left out.
            budget: What may be spent, in the unit of the cost. A budget that pays for all queries is a census.
            design: For queries a name in `designs.DESIGNS`, ``hedged`` if left out. For documents one of
                `documents.DOCUMENT_DRAWINGS`; if left out, ``successive`` for additive measures,
                or ``spread`` if there is one ranker or opening a query costs something, and ``depth`` for all others.
                With ``successive`` documents come one after the other, and judging can end or go on at any of them.
            level: What is sampled: ``"query"``, or ``"document"``, which needs several times fewer judgments
                [theory 9, 11].
            seed: Seed of all random draws.
            draws: A number of draws, instead of a budget; only for queries.
            replace: Whether a query can be drawn more than once, as in the sources; if not, queries are drawn in the
                order of `draws.priorities`.
            defensive: For queries the share of ``p`` in the defensive mixture, which bounds the importance weights by
                its inverse; if left out, 0.1, or more if fewer than 15 queries of average cost can be drawn
                (`designs.defensive_share`). For documents how much of the model's average variance is added to the
                variance of each, 1 if left out.
            objective: For documents of more than two rankers: which of the variances of their differences is
                minimised, the ``mean`` or the ``largest``.
            pairs: With more than two rankers, how much each difference counts in the design: (ranker, ranker) →
                weight, other pairs 0; or the name of one ranker, to compare it with all others [T 5.16]. If left out,
                all pairs weigh the same.
            texts: ``docno, text``, for the judges, in place of those of the pool. The plan keeps the texts of what it
                draws, so that exports and the judging server need no others.

        Returns:
            The plan, in memory; see `save`.

        Raises:
            ValueError: If an argument is out of range, the pool is malformed, or not exactly one of ``budget`` and
                ``draws`` is given.
        """
        if level not in LEVELS:
            raise ValueError(f"unknown level {shown(level)}; it is one of {', '.join(LEVELS)}")
        seed, replace = whole_number("seed", seed, 0, MAX_SEED), truth_value("replace", replace)
        draws = None if draws is None else whole_number("draws", draws, 1, MAX_DRAWS)
        budget = None if budget is None else positive("budget", budget)
        defensive = None if defensive is None else number("defensive", defensive)
        cost = UnitCost() if cost is None else cost
        check_per_query(cost)
        frame = graded_frame(pool, topics)
        grades = grade_columns(frame.columns)
        measure = parse_lasting(measure, max_grade=len(grades) - 1 if grades else None)
        arrays = Pool.from_frame(frame, measure, cost)
        weights = listed_weights(pair_weights(pairs, arrays.names), arrays.names)
        affordable = np.inf if budget is None else budget / float(arrays.query_weight @ arrays.query_cost)
        usual_design, usual_defensive = _usual(level, arrays, measure, cost.per_query, draws or affordable)
        arguments = PlanArguments(
            measure=str(measure),
            cost=repr(cost),
            per_query=float(cost.per_query),
            design=design or usual_design,
            cost_unit=unit_of(cost) or None,
            level=level,
            seed=seed,
            budget=budget,
            draws=draws,
            replace=replace,
            defensive=usual_defensive if defensive is None else defensive,
            objective=objective,
            pairs=weights,
        )
        make = first_round if level == "document" else plan_of_queries
        tables = make(Source(arrays, measure, frame, topics), arguments)
        if texts is not None:
            tables = dataclasses.replace(tables, assessments=with_texts(tables.assessments, texts))
        return cls._of(tables)

    @property
    def manifest(self) -> dict[str, Any]:
        """Seed, versions, arguments, measure, budget, counts, and digests of the inputs."""
        return self.tables.manifest.to_json()

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

    @property
    def queries(self) -> pd.DataFrame:
        """All queries: the design, ``q_draws`` (0: not drawn), ``q_importance``, ``q_inclusion``, ``q_priority``."""
        return self.tables.queries.copy()

    @property
    def sample(self) -> pd.DataFrame:
        """The queries that were drawn, as topics for a pipeline."""
        return self.tables.queries.query("q_draws > 0").reset_index(drop=True)

    @property
    def assessments(self) -> pd.DataFrame:
        """The documents that a person judges: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

        They are sorted by qid and docno, so that the order reveals nothing about any ranking.
        """
        return self.tables.assessments.copy()

    def extend(
        self,
        budget: float,
        qrels: pd.DataFrame | None = None,
        grades: pt.Transformer | pd.DataFrame | str | None = None,
        topics: pd.DataFrame | None = None,
        *,
        texts: pd.DataFrame | None = None,
        seed: int | None = None,
        missing: str = "error",
    ) -> Plan:
        """Choose more to judge: the next queries in the order of the plan, or another round of documents [theory 4, 9].

        A plan of queries goes on in its order, which labels do not change: the extended plan is the one that the sum of
        the budgets would have drawn with the same ``defensive``. A plan by a number of draws can only be extended if
        all queries cost the same; otherwise make a new plan with more draws, the same seed and the same ``defensive``,
        which begins with the same queries. A round of documents learns from the labels so far.

        If the plan's design is ``successive`` and no grades are given, it goes on in its order instead: the last round
        becomes longer, and the labels are not read.

        Args:
            budget: What may be spent on top, in the unit of the cost.
            qrels: The labels so far; not needed, and not read, where the plan goes on in its order.
            grades: For documents, grades of a model that was fitted again on those labels: a frame with grade columns
                for every document of the plan, or a pipeline that makes it from the topics. ``"refit"`` fits a model to
                the labels so far, weighted by their inclusion probabilities. If left out, the plan's own
                grades are used; if the labels say that the model misleads, they are mixed with the shares of each grade
                among the labels.
            topics: ``qid, query``, for a pipeline.
            texts: ``docno, text``, for the judges; those in ``grades`` if left out.
            seed: For documents, the seed of the draws; the plan's own if left out.
            missing: For documents, what to do about a drawn document without a label: ``"error"``, ``"nonrelevant"``
                (grade 0) or ``"expected"`` (the model's mean).

        Returns:
            A plan of all that is drawn, in memory. Its `assessments` are the new ones; its estimates need the labels of
            all.

        Raises:
            ValueError: If the plan of queries has no order, was made with a number of draws and its queries differ in
                cost, or grades or a seed are given for it; if the labels do not fit the plan, or a document has no
                grades; or if nothing is left to judge.
        """
        budget = positive("budget", budget)
        qrels = None if qrels is None else as_qrels(qrels)
        if not self.tables.rounds:
            check_no_refit(grades, seed)
            return self._of(extended_by_queries(self.tables, budget, texts))
        seed = self.tables.manifest.arguments.seed if seed is None else whole_number("seed", seed, 0, MAX_SEED)
        return self._of(extended(self.tables, Extension(budget, qrels, grades, topics, texts, seed, missing)))

    def so_far(self, qrels: pd.DataFrame) -> Plan:
        """The plan cut to what is judged without a gap from the first draw; its notes point to `status` [theory 10].

        Args:
            qrels: The labels so far.

        Returns:
            A plan in memory, with ``cut`` in its manifest; the plan itself if all of it is judged.

        Raises:
            ValueError: If the labels do not fit the plan, the first draw is not judged, or the plan has no order.
        """
        return self._of(cut_to_judged(self.tables, as_qrels(qrels)))

    def with_rankers(self, **runs: pd.DataFrame) -> Plan:
        """The plan with more rankers, to estimate them from the same labels.

        Args:
            **runs: Name → ``qid, docno, score``. Documents that are not in the plan's pool count as not relevant; a
                warning gives their number.

        Returns:
            A plan in memory, for `estimate` and `compare`; what is judged stays the same.

        Raises:
            ValueError: If a name is taken, or a run is malformed or answers none of the queries.
        """
        return self._of(with_rankers(self.tables, self.measure, runs))

    def export(
        self, path: str | Path, format: str = "trec", qrels: pd.DataFrame | None = None, order: str | None = None
    ) -> Path:
        """Write the assessments for the judges, or write them with their labels for other tools.

        Args:
            path: A new file.
            format: A name in `worklists.FORMATS`, such as ``csv``.
            qrels: Labels that are known already; the format ``prels`` writes them next to the inclusion probabilities.
            order: ``"drawn"``: in the order in which queries were drawn or, if the design is ``successive``, documents;
                or ``"sorted"`` by qid and docno. If left out, ``"drawn"`` unless the plan has no order.

        Returns:
            The path.

        Raises:
            FileExistsError: If the file exists.
            ValueError: If the format or the order is unknown, the labels are malformed, or the plan has no order.
        """
        wanted = in_drawing_order(self.tables, order)
        if qrels is not None:
            wanted = wanted.merge(checked_qrels(as_qrels(qrels)), how="left", on=["qid", "docno"])
        worklists.write_assessments(wanted, path, format)
        return Path(path)

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
        said = qrels if records is None and is_records(qrels) else records
        return judged_with(labelled_plan(self.tables, as_qrels(qrels)), said, how)

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
            records: Records of judgments. Documents that a judge alone has judged are left to the grade model without
                him, as with ``missing="expected"``.
            measure: A measure to estimate from the same labels; the plan's own if left out.
            estimator: ``regression``, ``snis``, ``ht`` or ``difference``; for plans of documents all but ``snis``.
            confidence: 1 minus it is the level of the verdicts.
            first: The first ranker; can be left out if the plan has one or two.
            second: The second ranker, subtracted from the first; can be left out if the plan has one or two.

        Raises:
            ValueError: If an argument is unknown, the records do not fit the plan, or there is one judge.
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
                ``looks="always"``: the estimate has them as the model expects, evidence and interval at their worst,
                so that what is proved holds whatever their labels are. ``"error"``: nothing after the first of them
                counts. ``"nonrelevant"``: grade 0 for those that were passed over. With records, somebody skipped
                these or found them unjudgeable; without, all count as passed over. If left out, ``"expected"``, or
                ``"error"`` for other looks.
            records: The records that the qrels follow from, to say who passed a document over.

        Returns:
            The state of the only ranker or of a pair. If the plan has more than two rankers and none is named, that of
            all pairs together, for ``looks="always"``.

        Raises:
            ValueError: If an argument is out of range, no label fits the plan, or the plan has no order that such looks
                need.
        """
        policy = missing_policy(missing, looks)
        said = qrels if records is None and is_records(qrels) else records
        labels = as_qrels(qrels)
        gaps, given, bridged = gaps_of(self.tables, labels, said), policy == "nonrelevant", policy != "error"
        labels = filled(labels, gaps) if given else labels
        state: Status | PairStatus
        if len(self.rankers) > 2 and first is None and second is None:
            check_pairs_asked(looks, margin)
            state = pair_status(self.tables, labels, confidence, bridged)
        else:
            pair = named_pair(self.rankers, first, second, or_all=False) if len(self.rankers) > 1 else (0,)
            state = plan_status(self.tables, labels, Question(pair, self.measure, looks, margin, confidence, bridged))
        return state.with_gaps(gaps, given)

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
            records: The records that the qrels follow from, to say who passed a document over.

        Raises:
            ValueError: If an argument is out of range, no label fits the plan, or the plan has no order that looks at
                any time need.
        """
        asked = Rule.of(rule, margin)
        check_gate_looks(looks)
        pair, labels = named_pair(self.rankers, first, second, or_all=False), as_qrels(qrels)
        if looks is None:
            state = plan_status(self.tables, labels, Question(pair, self.measure, None, None, confidence))
            if state.judged < state.drawn:
                return gate_at_the_end(state, None, asked)
            one, other = (self.rankers[each] for each in pair)
            found = self.compare(labels, confidence=confidence, first=one, second=other)
            return gate_at_the_end(state, found, asked)
        said = qrels if records is None and is_records(qrels) else records
        gate = gate_at_any_time(self.tables, labels, Question(pair, self.measure, ALWAYS, None, confidence), asked)
        return gate.with_gaps(gaps_of(self.tables, labels, said))

    def follow(
        self,
        margin: float | None = None,
        confidence: float = 0.95,
        *,
        first: str | None = None,
        second: str | None = None,
    ) -> Following:
        """Follow the plan while labels or records come in: ``add(labels)`` takes new ones alone and returns `status`.

        The arguments are those of `status`, whose looks are ``"always"``.

        Raises:
            ValueError: If an argument is out of range, the plan has no order, or has more than two rankers and they are
                not named.
        """
        pair = named_pair(self.rankers, first, second, or_all=False) if len(self.rankers) > 1 else (0,)
        return Following(self.tables, Question(pair, self.measure, ALWAYS, margin, confidence))

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
    ) -> Report:
        """Write everything that the plan and its labels say into one HTML file.

        ``path`` is a new file; ``qrels`` are the labels of `assessments`. The other arguments are those of `Report.of`.

        Raises:
            FileExistsError: If the file exists.
            FileNotFoundError: If its folder does not exist.
            ValueError: If an argument is unknown, the labels do not fit the plan, or the status is of something else.
        """
        check_page(Path(path))
        said = qrels if records is None and is_records(qrels) else records
        about: dict[str, Any] = {"slices": slices, "first": first, "second": second, "status": status, "records": said}
        report = Report.of(self, as_qrels(qrels), measure, estimator, confidence, missing, **about)
        report.save(path)
        return report

    def judged(
        self, qrels: pd.DataFrame, measure: str | irm.Measure | None = None, missing: str = "error"
    ) -> JudgedQueries | JudgedDocuments:
        """The sample with its labels, from which `estimate`, `compare` and `rank` compute their results.

        Args:
            qrels: ``qid, docno, label``, the labels of `assessments`.
            measure: A measure to estimate from the same labels; the plan's own if left out.
            missing: What to do about a sampled document without a label: ``"error"``, ``"nonrelevant"`` (grade 0) or
                ``"expected"`` (the model's mean).

        Raises:
            ValueError: If an argument is unknown or the labels do not fit the plan.
        """
        return labelled_plan(self.tables, as_qrels(qrels)).judged(asked(self.tables, measure, missing=missing))

    def model_means(self, measure: irm.Measure) -> np.ndarray:
        """``M(x)`` of every ranker and query under the grade model, float64[m, k], for any measure."""
        return model_means(self.tables, measure)

    @cached_property
    def caution(self) -> str:
        """What the grade model says against the intervals of so few labels, before anything is judged [theory 14]."""
        return forewarning(self.tables)

    def __str__(self) -> str:
        return visible(in_words(self.tables) + (f"\n  caution   {self.caution}" if self.caution else ""))


def _usual(level: str, pool: Pool, measure: irm.Measure, per_query: float, draws: float) -> tuple[str, float]:
    """The default design of a level, and its default defensive share or variance.

    ``draws`` is the number of queries that can be drawn if their cost is average.
    """
    if level == "query":
        return DESIGN, defensive_share(draws)
    form = seen_by(measure, pool).form
    return natural_drawing(form, len(pool.names), per_query), usual_variance(form)
