"""How is a plan made that draws documents, and how does it go on, in its order or by another round [theory 9]?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import Argument, ArgumentError, shown, some, within
from pt_active.frames.clocks import Seed, clocks
from pt_active.frames.columns import check_grades, check_pairs, grade_columns, with_string_ids
from pt_active.frames.qrels import check_policy, checked_qrels, missing_pairs
from pt_active.inference.calibration import MISLEADING_FACTOR
from pt_active.inference.documents import expected_variance
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.rounds import (
    Round,
    contrast_estimates,
    draw_round,
    expected_gain,
    judged_before,
    optimism,
    pool_sizes,
)
from pt_active.plans.making.artifact import digest
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import label_calibration, labels_of_drawn, round_chance
from pt_active.plans.making.manifest import PlanArguments, PlanSource, RoundEntry, plan_manifest
from pt_active.plans.making.pool import Pool, graded_pool, known_texts, query_design
from pt_active.plans.making.rankers import stored_weights
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades.refitting import refitted_grades
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import (
    SURPRISES,
    RoundSettings,
    usual_variance,
)
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes, TwoPhase
from pt_active.sampling.successive import at, planned_threshold, succession_of
from pt_active.sampling.two_phase import draw_documents

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing", "q_believed"]
"""Columns that `size_frame` adds to the query columns and ``docno``."""

REFIT = "refit"
"""The value of ``grades`` for a model that is fitted to the labels of the plan so far."""


def size_frame(
    pool: Pool,
    measure: irm.Measure,
    design: str | None,
    per_query: float,
    defensive: float | None = None,
    pairs: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row per document: how probable its judging should be, relative to the others."""
    graded = graded_pool(pool, measure, per_query)
    drawing = design or graded.usual_drawing
    if drawing == SURPRISES:
        raise ArgumentError(
            "a frame of sizes does not hold which labels raise a measure, as surprises need: pass ",
            *(Argument("level", "query"), ", or ", Argument("design", "depth"), ", or draw with Plan.create"),
        )
    defensive = usual_variance(graded.seen.form) if defensive is None else defensive
    sizes = pool_sizes(graded, RoundSettings(drawing, defensive, pairs=pairs, serves_singles=True), graded.grades)
    query = pool.query_of_document
    place = np.full(len(query), -1)
    place[sizes.order] = np.arange(len(sizes.order)) - np.searchsorted(query[sizes.order], query[sizes.order])
    table = pool.queries.iloc[query].reset_index(drop=True).assign(docno=pool.docno)
    columns = {"doc_size": sizes.size, "doc_cost": pool.document_cost, "doc_place": place}
    return table.assign(**columns, q_opening_cost=per_query, q_drawing=drawing, q_believed=pool.believed("document"))


def draw_frame(sizes: pd.DataFrame, budget: float | None, seed: Seed) -> pd.DataFrame:
    """Draw from a frame of `size_frame`, whatever the order of its rows."""
    if budget is None:
        raise ArgumentError(
            "documents are drawn to a budget: pass ",
            Argument("budget", asked=True),
            ", and not ",
            Argument("draws", asked=True),
        )
    sizes = with_string_ids(sizes).sort_values(["qid", "doc_place", "docno"]).reset_index(drop=True)
    query, qids = pd.factorize(sizes["qid"])
    indptr = np.searchsorted(query, np.arange(len(qids) + 1))
    size, cost = sizes["doc_size"].to_numpy(float), sizes["doc_cost"].to_numpy(float)
    overhead, drawing = float(sizes["q_opening_cost"].iloc[0]), str(sizes["q_drawing"].iloc[0])
    prices = Costs(indptr, cost, overhead)
    positive = DocumentSizes(np.flatnonzero(size > 0), size, np.zeros_like(size))
    design = document_design(positive, drawing, prices, float(budget))
    clock = clocks(seed, sizes["qid"], sizes["docno"])
    sample = draw_documents(design, prices, float(budget), np.random.default_rng(seed), clock)
    sizes["inclusion"] = sample.chance(query)
    return sizes[sample.drawn].reset_index(drop=True)


def worklist(pool: Pool, sample: TwoPhase, texts: pd.DataFrame | None) -> pd.DataFrame:
    """The documents that people judge in a round: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``."""
    drawn = np.flatnonzero(sample.drawn)
    table = known_texts(pool, texts, drawn).assign(inclusion=sample.chance(pool.query_of_document)[drawn])
    return table.sort_values(["qid", "docno"]).reset_index(drop=True)


def first_round(source: PlanSource, arguments: PlanArguments) -> PlanTables:
    """A plan of one round of documents."""
    budget = budget_of_documents(arguments)
    pool, frame = source.pool, source.frame
    graded = source.graded or graded_pool(pool, source.measure, arguments.per_query)
    seed = arguments.seed, pool.believed("document")
    rng = np.random.default_rng(seed)
    clock, settings = clock_of(pool, seed, 0), round_settings(arguments, pool.names)
    drawn = not_empty(draw_round(graded, settings, budget, rng, clock=clock))
    queries = query_design(pool, drawn.sample.design.opening, pool.moments(source.measure))
    queries = queries.assign(**sample_columns(pool, drawn))
    assessments = worklist(pool, drawn.sample, frame if "text" in frame.columns else None)
    spent, census = drawn.sample.spent, drawn.certain
    manifest = plan_manifest(arguments, source, queries, assessments, census=census, spent=spent)
    manifest = replace(manifest, rounds=(round_entry(drawn, float(arguments.budget or 0), arguments.seed),))
    return PlanTables(pool, queries, assessments, manifest, (drawn,))


def budget_of_documents(arguments: PlanArguments) -> float:
    """What the first round may spend."""
    if arguments.budget is None or arguments.draws is not None:
        asked = Argument("budget", asked=True), ", and not ", Argument("draws", asked=True)
        raise ArgumentError("documents are drawn to a budget: pass ", *asked, ", with ", Argument("level", "document"))
    if arguments.replace:
        both = Argument("replace", True), " does not go with ", Argument("level", "document")
        raise ArgumentError("a document is judged once: ", *both)
    within("defensive", arguments.defensive, 0)
    return float(arguments.budget)


def round_entry(
    drawn: Round, budget: float, seed: int, refitted: bool = False, labels: str | None = None
) -> RoundEntry:
    """The record of a round."""
    return RoundEntry(
        budget=budget,
        seed=seed,
        spent=drawn.sample.spent,
        assessments=int(drawn.sample.drawn.sum()),
        expected_variance=drawn.expected,
        refitted=refitted,
        labels=labels,
        comparable_variance=drawn.comparable,
    )


def clock_of(pool: Pool, seed: Seed, stage: int) -> np.ndarray:
    """float64[N], the exponential variables of documents in a successive drawing."""
    return clocks(seed, pool.qids[pool.query_of_document], pool.docno, stage=stage)


def not_empty(drawn: Round) -> Round:
    """The round itself."""
    if not drawn.sample.drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")
    return drawn


def round_settings(arguments: PlanArguments, names: tuple[str, ...]) -> RoundSettings:
    """The settings of the design of a plan's rounds."""
    pairs = stored_weights(arguments.pairs, names)
    return RoundSettings(arguments.design, arguments.defensive, pairs, arguments.budget, serves_singles=True)


def sample_columns(pool: Pool, drawn: Round) -> dict[str, np.ndarray]:
    """``q_draws`` (1 where documents of a query were drawn), ``q_importance`` (p/Π) and ``q_inclusion`` (Π)."""
    has = np.bincount(pool.query_of_document[drawn.sample.drawn], minlength=len(pool.queries)) > 0
    inclusion = np.where(has, drawn.sample.opening, np.nan)
    return {"q_draws": has.astype(np.int64), "q_importance": pool.query_weight / inclusion, "q_inclusion": inclusion}


def rounds_judged(rounds: Sequence[Round], label: np.ndarray) -> int:
    """The number of rounds that are fully judged, up to the first that is not; ``label`` is int64[N]."""
    return sum(1 for _ in takewhile(lambda each: bool((label[each.sample.drawn] >= 0).all()), rounds))


@dataclass(frozen=True)
class Extension:
    """The budget of another round, and the labels and grades that it learns from."""

    budget: float
    qrels: pd.DataFrame | None
    grades: pt.Transformer | pd.DataFrame | str | None
    topics: pd.DataFrame | None
    texts: pd.DataFrame | None
    seed: int
    missing: str

    @property
    def refits(self) -> bool:
        """Whether a model is fitted to the labels so far."""
        return isinstance(self.grades, str)

    def frames(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        """The grades that are given, None if there are none, and the texts."""
        grades, texts = self.grades, self.texts
        if isinstance(grades, str):
            if grades != REFIT:
                named = Argument("grades", REFIT)
                raise ArgumentError("grades are a frame, a pipeline, or ", named, f", got {shown(grades)}")
            return None, texts
        if isinstance(grades, pt.Transformer):
            if self.topics is None:
                raise ValueError("topics are needed where grades is a pipeline")
            grades = grades.transform(self.topics)
        if texts is None and grades is not None and "text" in grades.columns:
            texts = grades[["docno", "text"]]
        return grades, texts


def extended(tables: PlanTables, asked: Extension) -> PlanTables:
    """A plan with another round; without new grades, one whose documents come successively goes on in its order."""
    if tables.manifest.cut:
        raise ValueError("extend the plan as it was drawn, not the plan that was cut to the labels so far")
    if later := tables.manifest.later_rankers:
        raise ValueError(f"extend the plan as it was made, and add {some(later)} to the extended one")
    frame, texts = asked.frames()
    if frame is None and not asked.refits and tables.rounds[-1].sample.priority is not None:
        return _continued(tables, asked, texts)
    if asked.qrels is None:
        raise ValueError("a round of documents learns from the labels so far, and there are none")
    new = _next_round(tables, asked, asked.qrels, frame)
    refitted, labels = new.grades is not tables.pool.grades, digest(asked.qrels)
    entry = round_entry(new, float(asked.budget), asked.seed, refitted, labels)
    assessments = worklist(tables.pool, new.sample, texts)
    return _with_rounds(tables, [*tables.rounds, new], [*tables.manifest.rounds, entry], assessments)


def kept_to(entry: RoundEntry, drawn: Round) -> RoundEntry:
    """The record of a round of which more or less is drawn."""
    sample = drawn.sample
    number = int(sample.drawn.sum())
    return replace(entry, spent=sample.spent, assessments=number, expected_variance=drawn.expected)


def graded_of(tables: PlanTables) -> GradedPool:
    """The pool of a plan as its rounds draw from it."""
    return graded_pool(tables.pool, tables.measure, tables.manifest.arguments.per_query)


def gain_of(tables: PlanTables) -> np.ndarray:
    """float64[N], what each document adds to the variance that the grade model of the first round expects."""
    arguments, pool = tables.manifest.arguments, tables.pool
    if not tables.gain:
        tables.gain.append(pool_sizes(graded_of(tables), round_settings(arguments, pool.names), pool.grades).gain)
    return tables.gain[0]


def expected_of(tables: PlanTables, design: DocumentDesign) -> float:
    """The variance that the grade model of the first round expects of a design."""
    return expected_variance(graded_of(tables).seen, design, gain_of(tables))


def _continued(tables: PlanTables, asked: Extension, texts: pd.DataFrame | None) -> PlanTables:
    """A plan whose last round goes on in its order, with the same rates and priorities, to the sum of both budgets."""
    last, entry = tables.rounds[-1], tables.manifest.rounds[-1]
    order, budget = succession_of(last.sample, graded_of(tables).prices), entry.budget + float(asked.budget)
    if order is None or tables.manifest.census:
        raise ValueError("no document is left that can change the estimate: all are known or drawn")
    threshold = planned_threshold(order.design, order.prices, budget)
    expected = expected_of(tables, at(order.design, threshold))
    new = replace(last, sample=order.drawn_to(budget), expected=expected)
    more = replace(new.sample, drawn=new.sample.drawn & ~last.sample.drawn)
    if not more.drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")
    rounds = [*tables.rounds[:-1], new]
    entries = [*tables.manifest.rounds[:-1], replace(kept_to(entry, new), budget=budget)]
    return _with_rounds(tables, rounds, entries, worklist(tables.pool, more, texts))


def _next_round(tables: PlanTables, asked: Extension, qrels: pd.DataFrame, frame: pd.DataFrame | None) -> Round:
    """Draw the round, with the grades of the frame if it is given."""
    check_policy(asked.missing)
    pool, manifest, drawn = tables.pool, tables.manifest, judged_before(tables.rounds)
    given, _ = labels_of_drawn(pool, drawn, checked_qrels(qrels))
    missing_pairs(pool.keys, drawn & (given < 0), asked.missing)
    labels = np.where(drawn & (given < 0), 0, given) if asked.missing == "nonrelevant" else given
    if asked.refits:
        chance = round_chance(pool, tables.rounds)
        grades: np.ndarray | None = refitted_grades(pool.ranks, pool.grades, given, chance, pool.query_of_document)
    else:
        grades = _shrunk_grades(tables, given) if frame is None else _given_grades(pool, frame)
    seed, stage, graded = (asked.seed, pool.believed("document")), len(tables.rounds), graded_of(tables)
    rng = np.random.default_rng([*seed, stage])
    settings = round_settings(manifest.arguments, pool.names)
    clock = clock_of(pool, seed, stage)
    drawn_now = draw_round(graded, settings, float(asked.budget), rng, grades=grades, labels=labels, clock=clock)
    return not_empty(drawn_now)


def _with_rounds(
    tables: PlanTables, drawn: Sequence[Round], rounds: Sequence[RoundEntry], assessments: pd.DataFrame
) -> PlanTables:
    """The plan with other rounds in its tables and manifest; the assessments are those of what is new."""
    manifest, pool, new = tables.manifest, tables.pool, drawn[-1]
    queries = tables.queries.assign(**sample_columns(pool, new), q_prob=new.sample.design.opening)
    sampled, spent = int(assessments["qid"].nunique()), float(sum(each.spent for each in rounds))
    counts = replace(manifest.counts, sampled_queries=sampled, draws=len(assessments), assessments=len(assessments))
    census = manifest.census or new.certain
    manifest = replace(manifest, rounds=tuple(rounds), counts=counts, spent=spent, census=census)
    return replace(tables, queries=queries, assessments=assessments, manifest=manifest, rounds=tuple(drawn))


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
    return rounded_grades(trust * pool.grades + (1 - trust) * shares / shares.sum())


def _trust(tables: PlanTables, label: np.ndarray, chance: np.ndarray) -> tuple[float, str]:
    """How much the model's grades count, in [0, 1], and what the labels say against them (empty if nothing).

    If the model's expectations mislead, it is the slope of the model check, cut to [0, 1]. If the model underestimates
    its errors, it is at most the promised standard error over the one that the labels show.
    """
    arguments, measure = tables.manifest.arguments, tables.measure
    line = label_calibration(tables.pool, measure, label, chance)
    if line is None:
        return 1.0, ""
    graded = graded_of(tables)
    gain = expected_gain(graded, arguments.design, arguments.seed)
    if tables.manifest.census:
        ratio = 1.0
    else:
        estimates = contrast_estimates(graded.seen, tables.rounds, label, ESTIMATOR)
        ratio = optimism(graded.seen, tables.rounds, [each.first + each.second for each in estimates], gain)
    slope = float(np.clip(line.slope, 0.0, 1.0)) if line.misleads else 1.0
    if not ratio > MISLEADING_FACTOR:
        return slope, line.caution
    caution = f"the grade model is too sure of itself: labels show {ratio:.3g} times the variance that it promised"
    # A ratio of variances; its root is the ratio of standard errors, which is on the scale of the slope.
    return min(slope, ratio**-0.5), line.caution or caution


def _given_grades(pool: Pool, frame: pd.DataFrame) -> np.ndarray:
    """float64[N, G+1], the new grades in the order of the pool."""
    frame = with_string_ids(frame)
    columns = grade_columns(frame.columns)
    if len(columns) != pool.max_grade + 1:
        raise ValueError(f"the refitted grades need columns grade_0 … grade_{pool.max_grade}, got {columns or 'none'}")
    check_pairs(frame, "the refitted grades")
    found = pool.keys.merge(frame[["qid", "docno", *columns]], how="left", on=["qid", "docno"])
    grades = found[columns].to_numpy(float)
    absent = np.isnan(grades).any(axis=1)
    if absent.any():
        pairs = pool.keys[absent].itertuples(index=False, name=None)
        raise ValueError(f"documents of the plan without refitted grades: {some(pairs)}")
    check_grades(pool.keys, grades)
    return np.ascontiguousarray(grades)
