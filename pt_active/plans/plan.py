"""The judging plan: which queries or documents to judge, kept on disk until the labels come back."""

from __future__ import annotations

import dataclasses
import warnings
from functools import cached_property
from pathlib import Path

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames import worklists
from pt_active.frames.checks import MAX_DRAWS, MAX_SEED, number, positive, truth_value, whole_number
from pt_active.frames.columns import grade_columns, query_columns
from pt_active.frames.progress import working
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.topics import with_texts
from pt_active.frames.visible import visible
from pt_active.plans.answering import Answering
from pt_active.plans.answers.forecast import Forecast, level_chosen, level_told
from pt_active.plans.answers.interval_caution import interval_caution, single_rankers_caution
from pt_active.plans.making.documents import extended, first_round
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.kept import FORM, check_extendable, in_words
from pt_active.plans.making.manifest import PlanArguments, PlanSource
from pt_active.plans.making.parts import in_parts
from pt_active.plans.making.pool import Pool, graded_frame, graded_pool
from pt_active.plans.making.queries import (
    DESIGN,
    extended_by_queries,
    in_drawing_order,
    plan_of_queries,
)
from pt_active.plans.making.rankers import Pairs, listed_weights, pair_weights, with_rankers
from pt_active.plans.making.sampled import cut_to_judged
from pt_active.relevance.costs import Cost, UnitCost, check_per_query, unit_of
from pt_active.relevance.measures import parse_lasting
from pt_active.sampling.designs import defensive_share
from pt_active.sampling.drawings import usual_variance

_SECOND_TEST = (
    "another sample after the parts of a plan is a second test: its answer holds only if nobody has looked before"
)


class Plan(Answering):
    """A drawn sample of queries or documents, with everything that an estimate needs.

    An estimate must use the rankings that were sampled, so the plan keeps them. Make a plan with `create`; read a
    saved one with ``Plan.load(path)`` or ``pt.Artifact.load(path)``.

    Args:
        path: The folder of a saved plan.
    """

    ARTIFACT_TYPE = "active_plan"
    FORM = FORM

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
        usual_design, usual_defensive = _usual(level, arrays, measure, cost.per_query, draws, budget)
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
        graded, plan_of = (forecast.graded, first_round) if level == "document" else (None, plan_of_queries)
        with working("drawing"):
            tables = plan_of(PlanSource(arrays, measure, frame, topics, choice, graded), arguments)
        if texts is not None:
            tables = dataclasses.replace(tables, assessments=with_texts(tables.assessments, texts))
        return cls._of(tables)

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

        A plan of queries, or of documents by ``successive``, goes on in its order: the extended plan is the one that
        the sum of the budgets would have drawn with the same ``defensive``. A plan by a number of draws is not
        extended: a new plan with more draws, the same seed and the same ``defensive`` begins with the same queries.

        A plan by ``surprises`` or ``depth`` gets another sample, which depends on no label and on no other sample. Its
        estimates are weighted by the precision that the grade model expects of each sample.

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
        check_extendable(self.tables)
        if in_parts(self.tables):
            warnings.warn(_SECOND_TEST, stacklevel=3)
        tables = (extended if self.tables.rounds else extended_by_queries)(self.tables, budget)
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
            A plan in memory, for `estimate` and `compare`, not for `gate`; what is judged stays the same. A note of
            the results says how much of a ranker rests on documents that the plan never asks for.

        Raises:
            ValueError: If a name is taken, or a run is malformed or answers none of the queries.
        """
        return self._of(with_rankers(self.tables, self.measure, runs))

    def export(
        self, path: str | Path, format: str = "trec", qrels: pd.DataFrame | None = None, order: str | None = None
    ) -> Path:
        """Write what people are to judge, with the labels that are known, to a file for people or a tool.

        Args:
            path: A new file.
            format: A name in `worklists.FORMATS`, such as ``csv``.
            qrels: Labels that are known already; they are filled in.
            order: ``"drawn"``, the order of the plan, or ``"sorted"``, by qid and docno. By default ``"drawn"``, if the
                plan has an order.

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

    @cached_property
    def caution(self) -> str:
        """What the plan will not answer, and what the grade model says against its intervals [theory 5]."""
        return "; ".join(filter(None, (single_rankers_caution(self.tables), interval_caution(self.tables))))

    def __str__(self) -> str:
        return visible(in_words(self.tables) + (f"\n  caution   {self.caution}" if self.caution else ""))


def _usual(
    level: str, pool: Pool, measure: irm.Measure, per_query: float, draws: int | None, budget: float | None
) -> tuple[str, float]:
    """The default design of a level, and its default defensive share or variance."""
    if level == "query":
        return DESIGN, defensive_share(draws or (budget or np.inf) / float(pool.query_weight @ pool.query_cost))
    graded = graded_pool(pool, measure, per_query)
    return graded.usual_drawing, usual_variance(graded.seen.form)
