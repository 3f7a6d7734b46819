"""How does a plan of documents go on, in the order of its documents or by another round [theory 9, 13]?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import Argument, ArgumentError, shown, some
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
from pt_active.plans.making import artifact
from pt_active.plans.making.documents import clock_of, not_empty, round_entry, round_settings, sample_columns, worklist
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import label_calibration, labels_of_drawn, round_chance
from pt_active.plans.making.manifest import RoundEntry
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades.refitting import refitted_grades
from pt_active.sampling.sample import DocumentDesign
from pt_active.sampling.successive import Succession, at, planned_threshold, succession_of

REFIT = "refit"
"""The value of ``grades`` for a model that is fitted to the labels of the plan so far."""


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
    check_whole(tables, "go on", "plan again from the same logs with a larger budget")
    if later := tables.manifest.later_rankers:
        raise ValueError(f"extend the plan as it was made, and add {some(later)} to the extended one")
    frame, texts = asked.frames()
    if frame is None and not asked.refits and tables.rounds[-1].sample.priority is not None:
        return _continued(tables, asked, texts)
    if asked.qrels is None:
        raise ValueError("a round of documents learns from the labels so far, and there are none")
    new = _next_round(tables, asked, asked.qrels, frame)
    refitted, labels = new.grades is not tables.pool.grades, artifact.digest(asked.qrels)
    entry = round_entry(new, float(asked.budget), asked.seed, refitted, labels)
    assessments = worklist(tables.pool, new.sample, texts)
    return _with_rounds(tables, [*tables.rounds, new], [*tables.manifest.rounds, entry], assessments)


def judged_part(tables: PlanTables, label: np.ndarray, judged: int) -> tuple[Round, RoundEntry] | None:
    """The first documents of a round that are judged without a gap, as if its budget had ended there."""
    whole, entry = tables.rounds[judged], tables.manifest.rounds[judged]
    order = _order(tables, whole)
    if order is None or not (first := order.judged(whole.sample.drawn & (label >= 0))):
        return None
    sample = order.first(first)
    part = replace(whole, sample=sample, expected=_expected(tables, sample.design))
    return part, _kept_to(entry, part)


def _kept_to(entry: RoundEntry, drawn: Round) -> RoundEntry:
    """The record of a round of which more or less is drawn."""
    sample = drawn.sample
    number = int(sample.drawn.sum())
    return replace(entry, spent=sample.spent, assessments=number, expected_variance=drawn.expected)


def _order(tables: PlanTables, drawn: Round) -> Succession | None:
    graded = graded_pool(tables.pool, tables.measure, tables.manifest.arguments.per_query)
    return succession_of(drawn.sample, graded.prices)


def _expected(tables: PlanTables, design: DocumentDesign) -> float:
    """The variance that the grade model of the first round expects of a design."""
    arguments, pool = tables.manifest.arguments, tables.pool
    graded = graded_pool(pool, tables.measure, arguments.per_query)
    if not tables.gain:
        budget = None if arguments.budget is None else float(arguments.budget)
        tables.gain.append(pool_sizes(graded, round_settings(arguments, pool.names), pool.grades, budget=budget).gain)
    return expected_variance(graded.seen, design, tables.gain[0])


def _continued(tables: PlanTables, asked: Extension, texts: pd.DataFrame | None) -> PlanTables:
    """A plan whose last round goes on in its order, with the same rates and priorities, to the sum of both budgets."""
    last, entry = tables.rounds[-1], tables.manifest.rounds[-1]
    order, budget = _order(tables, last), entry.budget + float(asked.budget)
    if order is None or tables.manifest.census:
        raise ValueError("no document is left that can change the estimate: all are known or drawn")
    threshold = planned_threshold(order.design, order.prices, budget)
    expected = _expected(tables, at(order.design, order.prices, threshold))
    new = replace(last, sample=order.drawn_to(budget), expected=expected)
    more = replace(new.sample, drawn=new.sample.drawn & ~last.sample.drawn)
    if not more.drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")
    rounds = [*tables.rounds[:-1], new]
    entries = [*tables.manifest.rounds[:-1], replace(_kept_to(entry, new), budget=budget)]
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
    rng = np.random.default_rng([asked.seed, len(tables.rounds)])
    graded = graded_pool(pool, tables.measure, manifest.arguments.per_query)
    settings = round_settings(manifest.arguments, pool.names)
    clock = clock_of(pool, graded, asked.seed, len(tables.rounds))
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
    graded = graded_pool(tables.pool, measure, arguments.per_query)
    gain = expected_gain(graded, arguments.design, arguments.seed)
    if tables.manifest.census:
        ratio = 1.0
    else:
        estimates = contrast_estimates(graded.seen, tables.rounds, label, ESTIMATOR)
        ratio = optimism(graded.seen, tables.rounds, estimates, gain)
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
