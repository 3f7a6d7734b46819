"""The judging plan: which queries or documents to judge, kept until the labels come back, and what these say."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames import worklists
from pt_active.frames.checks import MAX_DRAWS, MAX_SEED, how_many, number, positive, some, truth_value, whole_number
from pt_active.frames.columns import grade_columns, query_columns
from pt_active.frames.progress import working
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.topics import with_texts
from pt_active.frames.visible import visible
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import THESE
from pt_active.plans.answers.agreement import Agreement, agreement_of
from pt_active.plans.answers.certificate import Certificate, certificate_of
from pt_active.plans.answers.forecast import (
    Forecast,
    foreseen,
    interval_caution,
    level_chosen,
    level_told,
    single_rankers_caution,
)
from pt_active.plans.answers.gate import (
    NON_INFERIOR,
    Gate,
    Rule,
    gate_of,
    population_asked,
)
from pt_active.plans.answers.labelled import Contrast, Settings
from pt_active.plans.answers.labelled_documents import LabelledDocuments
from pt_active.plans.answers.labelled_plan import labelled_plan, read_qrels, with_worst_case
from pt_active.plans.answers.labelled_queries import LabelledQueries
from pt_active.plans.answers.looks import USUAL, Question, looks_asked
from pt_active.plans.answers.pairwise import PairStatus, pair_status
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.report.differences import budget_table
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.results import Comparison, Estimate, Estimates
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import plan_status
from pt_active.plans.making.documents import extended, in_parts, plan_of_documents
from pt_active.plans.making.judgments import as_qrels, check_settled, records_given, records_of_plan
from pt_active.plans.making.kept import Kept, PlanTables
from pt_active.plans.making.manifest import PlanArguments, PlanSource
from pt_active.plans.making.pool import Pool, graded_frame, traffic_told
from pt_active.plans.making.queries import (
    DESIGN,
    extended_by_queries,
    in_drawing_order,
    plan_of_queries,
)
from pt_active.plans.making.rankers import Pairs, listed_weights, named_pair, pair_weights, with_rankers
from pt_active.plans.making.sampled import cut_to_judged, wanted_documents
from pt_active.relevance.costs import Cost, UnitCost, check_per_query, unit_of
from pt_active.relevance.grades.judges import AnyJudge
from pt_active.relevance.measures import parse_lasting
from pt_active.sampling.designs import defensive_share
from pt_active.sampling.drawings import usual_variance
from pt_active.showing.page import check_page
from pt_active.showing.plots import budgets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_NAMED_RANKERS = 10
"""If a plan has more rankers, their number is printed instead of their names."""

_SECOND_TEST = (
    "more labels after the parts of a plan are a second test: its answer holds only if nobody has looked before"
)


class Plan(Kept[PlanTables]):
    """A drawn sample of queries or documents, with everything that an estimate needs.

    An estimate must use the rankings that were sampled, so the plan keeps them. Make a plan with `create`; read a
    saved one with ``Plan.load(path)`` or ``pt.Artifact.load(path)``.

    Args:
        path: The folder of a saved plan.
    """

    ARTIFACT_TYPE = "active_plan"
    TABLES = PlanTables

    @classmethod
    def create(
        cls,
        pool: pt.Transformer | pd.DataFrame,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure,
        cost: Cost | None = None,
        budget: float | None = None,
        design: str | None = None,
        level: str | None = None,
        seed: int = 0,
        *,
        draws: int | None = None,
        replace: bool = False,
        defensive: float | None = None,
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
                `drawings.DOCUMENT_DRAWINGS`; if left out, ``successive`` for additive measures, ``surprises`` for
                nDCG and AP, and ``depth`` for all others, which has no bias at all.
                With ``successive`` documents come one after the other, and judging can end or go on at any of them.
            level: What is sampled: ``"query"``, or ``"document"``, which needs several times fewer judgments
                [theory 9, 11]. If left out, it is that of the ``design``; whole queries where ``draws`` or ``replace``
                is given; and else documents, unless opening queries costs something and the grade model expects whole
                queries to be more precise. The plan says what was chosen, and what the other would give.
            seed: Seed of all random draws.
            draws: A number of draws, instead of a budget; only for queries.
            replace: Whether a query can be drawn more than once, as in the sources; if not, queries are drawn in the
                order of `draws.priorities`.
            defensive: For queries the share of ``p`` in the defensive mixture, which bounds the importance weights by
                its inverse; if left out, 0.1, or more if fewer than 15 queries of average cost can be drawn
                (`designs.defensive_share`). For documents how much of the model's average variance is added to the
                variance of each, 1 if left out.
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
        only = draws is not None or budget is None or bool(replace)
        level = level_told(level, design, only_queries=only)
        seed, replace = whole_number("seed", seed, 0, MAX_SEED), truth_value("replace", replace)
        draws = None if draws is None else whole_number("draws", draws, 1, MAX_DRAWS)
        budget = None if budget is None else positive("budget", budget)
        defensive = None if defensive is None else number("defensive", defensive)
        check_per_query(cost := UnitCost() if cost is None else cost)
        frame = graded_frame(pool, topics)
        grades = grade_columns(frame.columns)
        measure = parse_lasting(measure, max_grade=len(grades) - 1 if grades else None)
        with working("checking the pool"):
            arrays = Pool.from_frame(frame, measure, cost)
        weights = pair_weights(pairs, arrays.names)
        forecast, choice = Forecast(arrays, measure, float(cost.per_query)), None
        if level is None:
            with working("comparing documents with whole queries"):
                choice = level_chosen(forecast, budget, defensive, weights)
            level = choice.level
        if level == "document":
            plan_of, usual_design = plan_of_documents, forecast.graded.usual_drawing
            usual_defensive = usual_variance(forecast.graded.seen.form)
        else:
            plan_of, usual_design = plan_of_queries, DESIGN
            number_of_draws = draws or (budget or np.inf) / float(arrays.query_weight @ arrays.query_cost)
            usual_defensive = defensive_share(number_of_draws)
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
            pairs=listed_weights(weights, arrays.names),
        )
        with working("drawing"):
            tables = plan_of(PlanSource(arrays, measure, frame, topics, choice), arguments)
        if texts is not None:
            tables = dataclasses.replace(tables, assessments=with_texts(tables.assessments, texts))
        return cls._of(tables)

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

    @property
    def queries(self) -> pd.DataFrame:
        """All queries: the design, ``q_draws`` (0: not drawn), ``q_importance``, ``q_inclusion``, ``q_priority``."""
        return self.tables.queries.copy()

    @property
    def sample(self) -> pd.DataFrame:
        """The queries that were drawn, as topics for a pipeline."""
        return self.tables.queries.query("q_draws > 0").reset_index(drop=True)

    @property
    def topics(self) -> pd.DataFrame:
        """``qid, query`` (+ other columns of the topics) of the queries in which something is judged."""
        return self.sample[query_columns(self.sample.columns)]

    def extend(self, budget: float, *, texts: pd.DataFrame | None = None) -> Plan:
        """Choose more to judge [theory 4, 9].

        A plan goes on to the sum of the budgets, with the same ``defensive``, and keeps what it has drawn: queries, and
        documents by ``successive`` or ``surprises``, in their order, and documents by ``depth`` deeper in the rankings.
        A plan by a number of draws is not extended: a new plan with more draws, the same seed and the same
        ``defensive`` begins with the same queries.

        Args:
            budget: What may be spent on top, in the unit of the cost.
            texts: ``docno, text``, for the judges.

        Returns:
            A plan of all that is drawn, in memory. Its `assessments` are the new ones; its estimates need the labels of
            all.

        Raises:
            ValueError: If the plan of queries has no order, or was made with a number of draws; or if nothing is left
                to judge.
        """
        budget = positive("budget", budget)
        made = self.tables.manifest
        if made.cut:
            raise ValueError("extend the plan as it was drawn, not the plan that was cut to the labels so far")
        if made.later_rankers:
            later = some(made.later_rankers)
            raise ValueError(f"extend the plan as it was made, and add {later} to the extended one")
        if made.census:
            raise ValueError("nothing is left that can change the estimate: all is known, or drawn")
        if in_parts(self.tables):
            warnings.warn(_SECOND_TEST, stacklevel=3)
        tables = (extended if self.tables.documents else extended_by_queries)(self.tables, budget)
        if texts is not None:
            tables = dataclasses.replace(tables, assessments=with_texts(tables.assessments, texts))
        return self._of(tables)

    def so_far(self, qrels: pd.DataFrame) -> Plan:
        """Cut the plan at the first gap in the labels; notes of its results point to `status` [theory 10].

        Args:
            qrels: The labels so far.

        Returns:
            A plan in memory, with ``cut`` in its manifest; the plan itself if all of it is judged.

        Raises:
            ValueError: If the labels do not fit the plan, the first draw is not judged, or the plan has no order.
        """
        return self._of(cut_to_judged(self.tables, as_qrels(qrels)))

    def with_rankers(self, **runs: pd.DataFrame) -> Plan:
        """Add rankers to the plan, to estimate them from the same labels.

        Args:
            **runs: Name → ``qid, docno, score``. Documents that are not in the plan's pool count as not relevant; a
                warning gives their number.

        Returns:
            A plan in memory, not for `gate`; what is judged stays the same. In the table of `rank`, ``unasked`` is the
            share of what the measure sees of each ranker that nobody is ever asked about.

        Raises:
            ValueError: If a name is taken, or a run is malformed or answers none of the queries.
        """
        return self._of(with_rankers(self.tables, self.measure, runs))

    def export(self, path: str | Path, format: str = "trec", qrels: pd.DataFrame | None = None) -> Path:
        """Write what people are to judge to a file for people or a tool, in the order of the plan if it has one.

        Args:
            path: A new file.
            format: A name in `worklists.FORMATS`, such as ``csv``.
            qrels: Labels that are known already; they are filled in.

        Returns:
            The path.

        Raises:
            FileExistsError: If the file exists.
            ValueError: If the format is unknown, or the labels are malformed.
        """
        wanted = in_drawing_order(self.tables)
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
        settings = Settings(estimator, confidence, queries=queries, clusters=clusters)
        labelled, found = self.judged(qrels, measure, missing, records), Estimates()
        for s, name in enumerate(labelled.names):
            found[name] = with_worst_case(labelled.estimate(s, settings), labelled, Contrast(s), settings)
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
        settings = Settings(estimator, confidence, queries=queries, clusters=clusters)
        labelled = self.judged(qrels, measure, missing, records)
        return with_worst_case(labelled.compare(one, other, settings), labelled, Contrast(one, other), settings)

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
        correction: str = "joint",
        records: pd.DataFrame | None = None,
    ) -> Ranking:
        """Estimate all rankers, test all their differences, and find those that cannot be told apart [theory 5].

        The arguments are those of `estimate`, and a ``correction`` for the number of pairs: ``"joint"``, by the joint
        distribution of all differences in large samples, ``"holm"`` or ``"tukey"``. The level of all tests together is
        ``1 − confidence``.

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the plan, or the plan has one ranker.
        """
        settings = Settings(estimator, confidence, queries=queries, clusters=clusters)
        return rank_judged(self.judged(qrels, measure, missing, records), settings, correction)

    def certificate(
        self,
        qrels: pd.DataFrame,
        judge: AnyJudge,
        measure: str | irm.Measure | None = None,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        families: Mapping[str, str] | None = None,
        half_width: float = 0.05,
        records: pd.DataFrame | None = None,
    ) -> Certificate:
        """Tell how far the leaderboard of a judge is that of people, for these queries [theory 5].

        ``judge`` are its labels or votes of all documents, as `JudgeGrades` takes them, and ``qrels`` people's of
        `assessments`. With ``families``, ranker name → family, it tells which families the judge favours.
        ``half_width`` is that of the interval of τ for which it counts more labels. The others are as in `estimate`.

        Raises:
            ValueError: If labels are missing or do not fit the plan, or the plan has fewer than three rankers.
        """
        labelled = self.judged(qrels, measure, missing, records)
        people = rank_judged(labelled, Settings(confidence=confidence))
        return certificate_of(labelled, people, judge, families or {}, half_width)

    def agreement(self, records: pd.DataFrame) -> Agreement:
        """Measure how well the judges agree: Krippendorff's alpha, and kappa of each pair [theory 12].

        Args:
            records: Records of judgments; the latest of each annotator on a document counts.

        Raises:
            ValueError: If a record is malformed, or is not of this plan.
        """
        return agreement_of(records_of_plan(self.tables, records), self.tables.pool.max_grade)

    def judged(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        missing: str = "error",
        records: pd.DataFrame | None = None,
    ) -> LabelledQueries | LabelledDocuments:
        """The sample with its labels, from which `estimate`, `compare` and `rank` compute their results.

        The arguments are those of `estimate`, and so are the errors.
        """
        said = records_given(qrels, records)
        check_settled(self.tables.pool.keys[wanted_documents(self.tables)], said)
        checked = None if said is None else records_of_plan(self.tables, said)
        labels = read_qrels(self.tables, as_qrels(qrels, said))
        return labelled_plan(self.tables, labels, measure, missing, checked)

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
        records: pd.DataFrame | None = None,
    ) -> Status | PairStatus:
        """Tell what the labels so far show, and whether judging can stop [theory 14].

        If documents have no label although later ones have, evidence and interval at any time and after each part
        assume the worst case, so that what is proved holds whatever their labels are; the estimate ends before them.
        At a look at the end, nothing after the first of them counts.

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
        if len(self.rankers) == 1:
            contrast = Contrast(0)
        elif every:
            contrast = Contrast(0, 1)  # Which pair it is does not matter
        else:
            contrast = Contrast(*named_pair(self.rankers, first, second))
        looks = looks_asked(self.tables, looks)
        question = Question(contrast, self.measure, looks, margin, confidence, queries, clusters)
        ask = pair_status if every else plan_status
        with working("looking at the labels"):
            return ask(self.tables, qrels, question, records_given(qrels, records))

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
        looks, pair = looks_asked(self.tables, looks), named_pair(self.rankers, first, second)
        # Where the plan never asks, the model alone would decide.
        if later := {self.rankers[each] for each in pair} & set(self.tables.manifest.later_rankers):
            raise ValueError(
                f"{some(sorted(later))} came after the plan, whose labels decide no gate about it; `compare` estimates "
                "it, and a new plan with the two rankers decides"
            )
        question = Question(Contrast(*pair), self.measure, looks, None, confidence, meant, clusters)
        return gate_of(self.tables, qrels, question, asked, records_given(qrels, records))

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
        found = budget_table(made, foreseen(self.tables), Settings())
        if found.note:
            raise ValueError(f"there is nothing to draw: {found.note}")
        return budgets(found.table, made.spent, made.arguments.unit).figure()

    @cached_property
    def caution(self) -> str:
        """What the plan will not answer, and what the grade model says against its intervals [theory 5]."""
        return "; ".join(filter(None, (single_rankers_caution(self.tables), interval_caution(self.tables))))

    def __str__(self) -> str:
        tables, pool, made = self.tables, self.tables.pool, self.tables.manifest
        counts, arguments, cut, unit = made.counts, made.arguments, made.cut, made.arguments.unit
        names, longer = pool.names, made.extended and not cut
        documents = how_many("more document" if longer else "document", counts.assessments)
        queries = how_many("query", tables.assessments["qid"].nunique())
        repeated = f"{how_many('draw', counts.draws)}, " if arguments.replace else ""
        kind = "census" if made.census else f"{repeated}design: {arguments.design}"
        whole = f"the whole pool of {how_many('query', counts.queries)}"
        traffic = traffic_told(pool.queries, pool.query_weight)
        opening = f"; opening a query costs {arguments.per_query:.3g}{unit}" if arguments.per_query else ""
        rankers = ", ".join(names) if len(names) <= _MAX_NAMED_RANKERS else how_many("ranker", len(names))
        facts = {
            "judge": f"{documents} of {queries} ({kind})",
            "cost": f"{made.spent:.6g} of {made.pool_cost:.6g}{unit} for {whole}{traffic}{opening}",
            "cut": cut and f"to the first {cut.to} of {cut.of} {cut.unit}, which are judged",
            "chosen": None if made.census or cut or made.extended else made.choice,
            "caution": self.caution,
        }
        lines = [f"{name:10}{fact}" for name, fact in facts.items() if fact]
        return visible("\n  ".join([f"Plan for {tables.named()} of {rankers}", *lines]))
