"""Plans that judge single documents: the first round, and those after it [theory 9]."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active import files, frames
from pt_active.calibration import FLATTERED
from pt_active.documents.design import DEFENSIVE, natural_drawing
from pt_active.documents.judged import drawn_labels, round_chance
from pt_active.documents.rounds import Round, RoundSettings, draw_round, expected_gain, judged_before, optimism
from pt_active.documents.tables import graded_pool, worklist
from pt_active.growth import ESTIMATOR
from pt_active.judged import label_calibration
from pt_active.labels import check_policy, missing_pairs
from pt_active.measures import parse_measure
from pt_active.pairs import stored_weights
from pt_active.plan_tables import PlanTables, plan_manifest
from pt_active.pool import Pool, query_design


def first_round(pool: Pool, arguments: dict[str, Any], frame: pd.DataFrame, topics: pd.DataFrame | None) -> PlanTables:
    """A plan of one round.

    Args:
        pool: All queries.
        arguments: Of ``Plan.create``, as plain values; None means the default of documents.
        frame: The graded frame that the pool was made from.
        topics: The topics, if any.

    Raises:
        ValueError: As `draw_round` does.
    """
    if arguments["budget"] is None or arguments["draws"] is not None:
        raise ValueError('documents are drawn to a budget: say budget=, and not draws=, with level="document"')
    if arguments["replace"]:
        raise ValueError('a document is judged once: replace=True does not go with level="document"')
    measure = parse_measure(arguments["measure"])
    graded = graded_pool(pool, measure, arguments["per_query"])
    chosen = {"design": arguments["design"] or natural_drawing(graded.seen.form)}
    chosen |= {"defensive": DEFENSIVE if arguments["defensive"] is None else arguments["defensive"]}
    arguments = arguments | chosen
    rng = np.random.default_rng(arguments["seed"])
    drawn = _something(draw_round(graded, round_settings(arguments, pool.names), float(arguments["budget"]), rng))
    queries = query_design(pool, drawn.sample.design.opening, pool.moments(measure))
    queries = queries.assign(**sample_columns(pool, drawn))
    assessments = worklist(pool, drawn.sample, frame if "text" in frame.columns else None)
    manifest = plan_manifest(
        arguments, pool, queries, assessments, drawn.expected <= 0, drawn.sample.spent, frame, topics
    )
    manifest["rounds"] = [_described(drawn, arguments["budget"], arguments["seed"], len(assessments), False, None)]
    return PlanTables(pool, queries, assessments, manifest, (drawn,))


def extended(
    tables: PlanTables,
    budget: float,
    qrels: pd.DataFrame,
    grades: pt.Transformer | pd.DataFrame | None,
    topics: pd.DataFrame | None,
    texts: pd.DataFrame | None,
    seed: int,
    missing: str,
) -> PlanTables:
    """A plan with one round more; see `Plan.extend` for the arguments, and `next_round`.

    Raises:
        ValueError: If the plan cannot be extended, topics are needed, or as `next_round`.
    """
    if not tables.rounds:
        raise ValueError('only a plan with level="document" can be extended; make a new plan for more queries')
    if "cut" in tables.manifest:
        raise ValueError("extend the plan as it was drawn, not what was cut to the labels so far")
    if later := tables.manifest.get("later_rankers"):
        raise ValueError(f"extend the plan as it was made, and add {frames.some(later)} to the extended one")
    if isinstance(grades, pt.Transformer):
        if topics is None:
            raise ValueError("topics are needed where grades is a pipeline")
        grades = grades.transform(topics)
    if texts is None and grades is not None and "text" in grades.columns:
        texts = grades[["docno", "text"]]
    return next_round(tables, budget, qrels, grades, texts, seed, missing)


def next_round(
    tables: PlanTables,
    budget: float,
    qrels: pd.DataFrame,
    frame: pd.DataFrame | None,
    texts: pd.DataFrame | None,
    seed: int,
    missing: str,
) -> PlanTables:
    """A plan with one round more.

    Args:
        tables: Of the plan so far.
        budget: What the round may spend.
        qrels: The labels so far.
        frame: Grade probabilities for every document of the pool, from a model that was fitted again; None keeps the
            grades.
        texts: ``docno, text``, for the judges, if there are any.
        seed: Of the draws; with the number of the round it makes them new.
        missing: What to do about a drawn document without a label.

    Raises:
        ValueError: If an argument is out of range, labels are missing, a document of the pool has no grades, or nothing
            is left to judge.
    """
    check_policy(missing)
    pool, manifest = tables.pool, tables.manifest
    drawn = judged_before(tables.rounds)
    labels, _ = drawn_labels(pool, drawn, qrels)
    missing_pairs(pool.keys, drawn & (labels < 0), missing)
    given = labels
    if missing == "nonrelevant":
        labels = np.where(drawn & (labels < 0), 0, labels)
    grades = _trusted_less(tables, given) if frame is None else _refitted(pool, frame)
    rng = np.random.default_rng([seed, len(tables.rounds)])
    arguments = manifest["arguments"]
    graded = graded_pool(pool, parse_measure(arguments["measure"]), arguments["per_query"])
    settings = round_settings(arguments, pool.names)
    new = _something(draw_round(graded, settings, float(budget), rng, grades=grades, labels=labels))
    assessments = worklist(pool, new.sample, texts)
    entry = _described(new, budget, seed, len(assessments), grades is not None, files.digest(qrels))
    queries = tables.queries.assign(**sample_columns(pool, new), q_prob=new.sample.design.opening)
    rounds = [*manifest["rounds"], entry]
    counts = manifest["counts"] | {"assessments": len(assessments), "draws": len(assessments)}
    counts |= {"sampled_queries": int((queries["q_draws"] > 0).sum())}
    spent = float(sum(each["spent"] for each in rounds))
    census = manifest["census"] or new.expected <= 0
    manifest = manifest | {"rounds": rounds, "counts": counts, "spent": spent, "census": census}
    return replace(tables, queries=queries, assessments=assessments, manifest=manifest, rounds=(*tables.rounds, new))


def _trusted_less(tables: PlanTables, label: np.ndarray) -> np.ndarray | None:
    """Grades between the model's and the shares that the labels show, where these say that the model misleads.

    ``b P + (1 − b) S`` with the grades' shares S among the labels, each weighted by the inverse of its chance, with
    half a label added to each grade; b is as `_trust` has it.
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
        f"{1 - trust:.2f}: better give the grades of a model that was fitted to these labels",
        stacklevel=4,
    )
    return np.ascontiguousarray(trust * pool.grades + (1 - trust) * shares / shares.sum())


def _trust(tables: PlanTables, label: np.ndarray, chance: np.ndarray) -> tuple[float, str]:
    """How much the model's grades count, and what the labels say against it; 1 and nothing if they say nothing.

    The slope of the model check, cut to [0, 1], where its expectations mislead, and not more than the errors that it
    promised over those that came where it flatters itself.
    """
    arguments = tables.manifest["arguments"]
    measure = parse_measure(arguments["measure"])
    line = label_calibration(tables.pool, measure, label, chance)
    if line is None:
        return 1.0, ""
    graded = graded_pool(tables.pool, measure, arguments["per_query"])
    gain = expected_gain(graded, arguments["design"], arguments["seed"])
    times = 1.0 if tables.manifest["census"] else optimism(graded.seen, tables.rounds, label, ESTIMATOR, gain)
    slope = float(np.clip(line.slope, 0.0, 1.0)) if line.misleads else 1.0
    if not times > FLATTERED:
        return slope, line.caution
    flattery = f"the grade model flatters itself: labels show {times:.3g} times the variance that it promised"
    return min(slope, times**-0.5), line.caution or flattery


def _something(drawn: Round) -> Round:
    if not drawn.sample.drawn.any():
        raise ValueError("the budget is so small that no document was drawn; raise it")
    return drawn


def round_settings(arguments: dict[str, Any], names: tuple[str, ...]) -> RoundSettings:
    """How the rounds of a plan are designed.

    Args:
        arguments: Of ``Plan.create``, with its defaults filled in.
        names: Of the rankers.
    """
    pairs = stored_weights(arguments.get("pairs"), names)
    return RoundSettings(arguments["design"], arguments["defensive"], arguments["objective"], pairs)


def sample_columns(pool: Pool, drawn: Round) -> dict[str, np.ndarray]:
    """``q_draws`` (1 where documents of a query were drawn), ``q_importance`` (p/Π) and ``q_inclusion`` (Π)."""
    has = np.bincount(pool.query_of_document[drawn.sample.drawn], minlength=len(pool.queries)) > 0
    inclusion = np.where(has, drawn.sample.opening, np.nan)
    return {"q_draws": has.astype(np.int64), "q_importance": pool.query_weight / inclusion, "q_inclusion": inclusion}


def _described(
    drawn: Round, budget: float, seed: int, assessments: int, refitted: bool, labels: str | None
) -> dict[str, Any]:
    """What the manifest says of a round."""
    return {
        "budget": float(budget),
        "seed": seed,
        "spent": drawn.sample.spent,
        "assessments": assessments,
        "expected_variance": drawn.expected,
        "refitted": refitted,
        "labels": labels,
    }


def _refitted(pool: Pool, frame: pd.DataFrame) -> np.ndarray:
    """float64[N, G+1], the new grades in the order of the pool."""
    frame = frames.with_string_ids(frame)
    columns = frames.grade_columns(frame.columns)
    if len(columns) != pool.max_grade + 1:
        raise ValueError(f"the refitted grades need columns grade_0 … grade_{pool.max_grade}, got {columns or 'none'}")
    frames.check_pairs(frame, "the refitted grades")
    documents = pd.DataFrame({"qid": pool.qids[pool.query_of_document], "docno": pool.docno})
    grades = documents.merge(frame[["qid", "docno", *columns]], how="left", on=["qid", "docno"])[columns].to_numpy(
        float
    )
    absent = np.isnan(grades).any(axis=1)
    if absent.any():
        pairs = documents[absent].itertuples(index=False, name=None)
        raise ValueError(f"documents of the plan without refitted grades: {frames.some(pairs)}")
    frames.check_grades(documents, grades)
    return np.ascontiguousarray(grades)
