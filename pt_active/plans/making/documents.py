"""How is a plan made that draws documents, in one round or several [theory 9]?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import Argument, ArgumentError, some, within
from pt_active.frames.columns import check_grades, check_pairs, grade_columns, with_string_ids
from pt_active.frames.qrels import check_policy, checked_qrels, missing_pairs
from pt_active.inference.calibration import MISLEADING_FACTOR
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.rounds import (
    Round,
    draw_round,
    expected_gain,
    judged_before,
    optimism,
    pool_sizes,
)
from pt_active.plans.making import artifact
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import label_calibration, labels_of_drawn, round_chance
from pt_active.plans.making.manifest import PlanArguments, RoundEntry, Source, plan_manifest
from pt_active.plans.making.pool import Pool, graded_pool, query_design
from pt_active.plans.making.rankers import stored_weights
from pt_active.sampling.documents import DocumentSizes, RoundSettings, document_design, natural_drawing
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.two_phase import draw_documents

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing"]
"""Columns that `size_frame` adds to the query columns and ``docno``."""


def size_frame(
    pool: Pool,
    measure: irm.Measure,
    design: str | None,
    per_query: float,
    defensive: float,
    pairs: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row per document: how probable its judging should be, relative to the others.

    Args:
        pool: All queries.
        measure: Additive or cascade.
        design: One of `documents.DOCUMENT_DRAWINGS`; if left out, the usual one for the measure.
        per_query: λ₀, the cost of opening a query.
        defensive: How much of the model's average variance is added to the variance of each document.
        pairs: float64[k(k−1)/2], weights of the pairs of rankers; equal if left out.

    Returns:
        The query columns, ``docno``, ``doc_size`` (0 if a document cannot change the result), ``doc_cost``,
        ``doc_place`` (position in the order in which the documents of a query are drawn, from 0; -1 if it cannot change
        the result), ``q_opening_cost`` and ``q_drawing``.

    Raises:
        ValueError: If the measure or an argument is out of range.
    """
    graded = graded_pool(pool, measure, per_query)
    drawing = design or natural_drawing(graded.seen.form)
    sizes = pool_sizes(graded, RoundSettings(drawing, defensive, pairs=pairs), graded.grades)
    query = pool.query_of_document
    place = np.full(len(query), -1)
    place[sizes.order] = np.arange(len(sizes.order)) - np.searchsorted(query[sizes.order], query[sizes.order])
    table = pool.queries.iloc[query].reset_index(drop=True).assign(docno=pool.docno)
    columns = {"doc_size": sizes.size, "doc_cost": pool.document_cost, "doc_place": place}
    return table.assign(**columns, q_opening_cost=per_query, q_drawing=drawing)


def draw_frame(sizes: pd.DataFrame, budget: float | None, seed: int) -> pd.DataFrame:
    """Draw from a frame of `size_frame`, whatever the order of its rows.

    Args:
        sizes: As `size_frame` returns it.
        budget: Λ, the expected cost of the judgments.
        seed: Seed of the draws.

    Returns:
        The rows of the documents to judge, with ``inclusion``, the probability that each is judged.

    Raises:
        ValueError: If there is no budget, or it is out of range.
    """
    if budget is None:
        raise ArgumentError(
            "documents are drawn to a budget: say ",
            Argument("budget", asked=True),
            ", and not ",
            Argument("draws", asked=True),
        )
    sizes = with_string_ids(sizes).sort_values(["qid", "doc_place", "docno"]).reset_index(drop=True)
    query, qids = pd.factorize(sizes["qid"])
    indptr = np.searchsorted(query, np.arange(len(qids) + 1))
    size, cost = sizes["doc_size"].to_numpy(float), sizes["doc_cost"].to_numpy(float)
    overhead, drawing = float(sizes["q_opening_cost"].iloc[0]), str(sizes["q_drawing"].iloc[0])
    positive = DocumentSizes(np.flatnonzero(size > 0), size, np.zeros_like(size))
    design = document_design(positive, drawing, indptr, cost, overhead, float(budget))
    sample = draw_documents(design, indptr, cost, overhead, float(budget), np.random.default_rng(seed))
    sizes["inclusion"] = sample.chance(query)
    return sizes[sample.drawn].reset_index(drop=True)


def worklist(pool: Pool, sample: TwoPhase, texts: pd.DataFrame | None) -> pd.DataFrame:
    """The documents that a person judges in a round: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

    Args:
        pool: All queries.
        sample: The documents that were drawn.
        texts: ``docno, text``; None if there are no texts.

    Returns:
        Sorted by qid and docno; ``inclusion`` is Ππ, the probability that a document is judged in the round.
    """
    drawn = np.flatnonzero(sample.drawn)
    query = pool.query_of_document[drawn]
    table = pd.DataFrame({"qid": pool.qids[query], "docno": pool.docno[drawn]})
    if "query" in pool.queries.columns:
        table["query"] = pool.queries["query"].to_numpy()[query]
    if texts is not None:
        texts = with_string_ids(texts[["docno", "text"]]).drop_duplicates("docno")
        table["text"] = table["docno"].map(texts.set_index("docno")["text"])
    table["inclusion"] = sample.chance(pool.query_of_document)[drawn]
    return table.sort_values(["qid", "docno"]).reset_index(drop=True)


def first_round(source: Source, arguments: PlanArguments) -> PlanTables:
    """A plan of one round of documents.

    Args:
        source: What the plan is made from.
        arguments: The arguments of ``Plan.create``.

    Raises:
        ValueError: If an argument is out of range, the measure is neither additive nor cascade, or the budget is too
            small to draw a document.
    """
    if arguments.budget is None or arguments.draws is not None:
        asked = Argument("budget", asked=True), ", and not ", Argument("draws", asked=True)
        raise ArgumentError("documents are drawn to a budget: say ", *asked, ", with ", Argument("level", "document"))
    if arguments.replace:
        both = Argument("replace", True), " does not go with ", Argument("level", "document")
        raise ArgumentError("a document is judged once: ", *both)
    within("defensive", arguments.defensive, 0)
    pool, frame = source.pool, source.frame
    graded, rng = graded_pool(pool, source.measure, arguments.per_query), np.random.default_rng(arguments.seed)
    drawn = _not_empty(draw_round(graded, round_settings(arguments, pool.names), float(arguments.budget), rng))
    queries = query_design(pool, drawn.sample.design.opening, pool.moments(source.measure))
    queries = queries.assign(**sample_columns(pool, drawn))
    assessments = worklist(pool, drawn.sample, frame if "text" in frame.columns else None)
    sample = drawn.sample
    entry = RoundEntry(
        float(arguments.budget), arguments.seed, sample.spent, len(assessments), drawn.expected, False, None
    )
    census = drawn.expected <= 0
    manifest = plan_manifest(arguments, source, queries, assessments, census=census, spent=sample.spent)
    return PlanTables(pool, queries, assessments, replace(manifest, rounds=(entry,)), (drawn,))


@dataclass(frozen=True)
class Extension:
    """The budget of another round, and the labels and grades that it learns from.

    Attributes:
        budget: What the round may spend.
        qrels: The labels so far.
        grades: Grade probabilities for every document of the pool, from a model that was fitted again, or a pipeline
            that makes them; None keeps the grades.
        topics: ``qid, query``, for a pipeline.
        texts: ``docno, text``, for the judges; if None, the texts in ``grades``, if any.
        seed: Seed of the draws. It is combined with the number of the round, so that each round has its own draws.
        missing: What to do about a drawn document without a label: one of `qrels.MISSING_POLICIES`.
    """

    budget: float
    qrels: pd.DataFrame
    grades: pt.Transformer | pd.DataFrame | None
    topics: pd.DataFrame | None
    texts: pd.DataFrame | None
    seed: int
    missing: str

    def frames(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        """The grades and the texts.

        Raises:
            ValueError: If the grades are a pipeline and there are no topics.
        """
        grades, texts = self.grades, self.texts
        if isinstance(grades, pt.Transformer):
            if self.topics is None:
                raise ValueError("topics are needed where grades is a pipeline")
            grades = grades.transform(self.topics)
        if texts is None and grades is not None and "text" in grades.columns:
            texts = grades[["docno", "text"]]
        return grades, texts


def extended(tables: PlanTables, asked: Extension) -> PlanTables:
    """A plan with another round.

    Args:
        tables: The content of the plan so far.
        asked: The budget of the round, and what it learns from.

    Raises:
        ValueError: If the plan cannot be extended, an argument is out of range, topics are needed, labels are missing,
            a document of the pool has no grades, or nothing is left to judge.
    """
    if not tables.rounds:
        by_documents = Argument("level", "document")
        raise ArgumentError("only a plan with ", by_documents, " can be extended; make a new plan for more queries")
    if tables.manifest.cut:
        raise ValueError("extend the plan as it was drawn, not the plan that was cut to the labels so far")
    if later := tables.manifest.later_rankers:
        raise ValueError(f"extend the plan as it was made, and add {some(later)} to the extended one")
    frame, texts = asked.frames()
    new = _next_round(tables, asked, frame)
    return _with_round(tables, asked, new, worklist(tables.pool, new.sample, texts))


def _next_round(tables: PlanTables, asked: Extension, frame: pd.DataFrame | None) -> Round:
    """Draw the round, with the grades of the frame if it is given."""
    check_policy(asked.missing)
    pool, manifest, drawn = tables.pool, tables.manifest, judged_before(tables.rounds)
    given, _ = labels_of_drawn(pool, drawn, checked_qrels(asked.qrels))
    missing_pairs(pool.keys, drawn & (given < 0), asked.missing)
    labels = np.where(drawn & (given < 0), 0, given) if asked.missing == "nonrelevant" else given
    grades = _shrunk_grades(tables, given) if frame is None else _refitted(pool, frame)
    rng = np.random.default_rng([asked.seed, len(tables.rounds)])
    graded = graded_pool(pool, tables.measure, manifest.arguments.per_query)
    settings = round_settings(manifest.arguments, pool.names)
    return _not_empty(draw_round(graded, settings, float(asked.budget), rng, grades=grades, labels=labels))


def _with_round(tables: PlanTables, asked: Extension, new: Round, assessments: pd.DataFrame) -> PlanTables:
    """The plan with the new round added to its tables and manifest."""
    manifest, pool = tables.manifest, tables.pool
    entry = RoundEntry(
        budget=float(asked.budget),
        seed=asked.seed,
        spent=new.sample.spent,
        assessments=len(assessments),
        expected_variance=new.expected,
        refitted=new.grades is not pool.grades,
        labels=artifact.digest(asked.qrels),
    )
    rounds = (*manifest.rounds, entry)
    queries = tables.queries.assign(**sample_columns(pool, new), q_prob=new.sample.design.opening)
    sampled, spent = int((queries["q_draws"] > 0).sum()), float(sum(each.spent for each in rounds))
    counts = replace(manifest.counts, sampled_queries=sampled, draws=len(assessments), assessments=len(assessments))
    census = manifest.census or new.expected <= 0
    manifest = replace(manifest, rounds=rounds, counts=counts, spent=spent, census=census)
    return replace(tables, queries=queries, assessments=assessments, manifest=manifest, rounds=(*tables.rounds, new))


def _shrunk_grades(tables: PlanTables, label: np.ndarray) -> np.ndarray | None:
    """float64[N, G+1], the model's grades shrunk towards the labels' shares; None if the model does not mislead.

    They are ``b P + (1 − b) S``. S is the share of each grade among the labels, each label weighted by the inverse of
    its chance, with half a label added to each grade; b is the trust of `_trust`.
    """
    pool, chance = tables.pool, round_chance(tables.pool, tables.rounds)
    use = (label >= 0) & (chance > 0)
    trust, caution = _trust(tables, label, chance)
    if not caution:
        return None
    counts = np.bincount(label[use], weights=1 / chance[use], minlength=pool.max_grade + 1)
    shares = use.sum() * counts / counts.sum() + 0.5
    warnings.warn(
        f"{caution}; the round counts its grades for {trust:.2f} and the shares of the labels so far for "
        f"{1 - trust:.2f}; it would be better to give the grades of a model that was fitted to these labels",
        stacklevel=4,
    )
    return np.ascontiguousarray(trust * pool.grades + (1 - trust) * shares / shares.sum())


def _trust(tables: PlanTables, label: np.ndarray, chance: np.ndarray) -> tuple[float, str]:
    """How much the model's grades count, in [0, 1], and what the labels say against them (empty if nothing).

    If the model's expectations mislead, it is the slope of the model check, cut to [0, 1]. If the model underestimates
    its errors, it is at most the promised standard error over the one that the labels show.
    """
    arguments, measure = tables.manifest.arguments, tables.measure
    line = label_calibration(tables.pool, measure, label, chance)
    if line is None:
        return 1.0, ""
    graded = graded_pool(tables.pool, measure, arguments.per_query)
    gain = expected_gain(graded, arguments.design, arguments.seed)
    ratio = 1.0 if tables.manifest.census else optimism(graded.seen, tables.rounds, label, ESTIMATOR, gain)
    slope = float(np.clip(line.slope, 0.0, 1.0)) if line.misleads else 1.0
    if not ratio > MISLEADING_FACTOR:
        return slope, line.caution
    caution = f"the grade model is too sure of itself: labels show {ratio:.3g} times the variance that it promised"
    # A ratio of variances; its root is the ratio of standard errors, which is on the scale of the slope.
    return min(slope, ratio**-0.5), line.caution or caution


def _not_empty(drawn: Round) -> Round:
    if not drawn.sample.drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")
    return drawn


def round_settings(arguments: PlanArguments, names: tuple[str, ...]) -> RoundSettings:
    """The settings of the design of a plan's rounds.

    Args:
        arguments: The arguments of ``Plan.create``.
        names: The k rankers.
    """
    pairs = stored_weights(arguments.pairs, names)
    return RoundSettings(arguments.design, arguments.defensive, arguments.objective, pairs)


def sample_columns(pool: Pool, drawn: Round) -> dict[str, np.ndarray]:
    """``q_draws`` (1 where documents of a query were drawn), ``q_importance`` (p/Π) and ``q_inclusion`` (Π)."""
    has = np.bincount(pool.query_of_document[drawn.sample.drawn], minlength=len(pool.queries)) > 0
    inclusion = np.where(has, drawn.sample.opening, np.nan)
    return {"q_draws": has.astype(np.int64), "q_importance": pool.query_weight / inclusion, "q_inclusion": inclusion}


def _refitted(pool: Pool, frame: pd.DataFrame) -> np.ndarray:
    """float64[N, G+1], the new grades in the order of the pool."""
    frame = with_string_ids(frame)
    columns = grade_columns(frame.columns)
    if len(columns) != pool.max_grade + 1:
        raise ValueError(f"the refitted grades need columns grade_0 … grade_{pool.max_grade}, got {columns or 'none'}")
    check_pairs(frame, "the refitted grades")
    documents = pd.DataFrame({"qid": pool.qids[pool.query_of_document], "docno": pool.docno})
    grades = documents.merge(frame[["qid", "docno", *columns]], how="left", on=["qid", "docno"])[columns].to_numpy(
        float
    )
    absent = np.isnan(grades).any(axis=1)
    if absent.any():
        pairs = documents[absent].itertuples(index=False, name=None)
        raise ValueError(f"documents of the plan without refitted grades: {some(pairs)}")
    check_grades(documents, grades)
    return np.ascontiguousarray(grades)


def rounds_judged(rounds: Sequence[Round], label: np.ndarray) -> int:
    """The number of rounds that are fully judged, up to the first that is not.

    Args:
        rounds: The rounds in the order in which they were drawn.
        label: int64[N], -1 where there is none.
    """
    return sum(1 for _ in takewhile(lambda each: bool((label[each.sample.drawn] >= 0).all()), rounds))
