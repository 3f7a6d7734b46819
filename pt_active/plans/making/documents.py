"""Plans that draw documents, in rounds [theory 9]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import Argument, ArgumentError, some, within
from pt_active.frames.columns import check_grades, check_pairs, grade_columns, with_string_ids
from pt_active.frames.qrels import check_policy, missing_pairs
from pt_active.inference.calibration import FLATTERED
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
from pt_active.plans.making.kept import PlanTables, plan_manifest
from pt_active.plans.making.labelled import label_calibration, labels_of_drawn, round_chance
from pt_active.plans.making.pool import Pool, graded_pool, query_design
from pt_active.plans.making.rankers import stored_weights
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.documents import (
    DEFENSIVE_VARIANCE,
    DocumentSizes,
    RoundSettings,
    document_design,
    natural_drawing,
)
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.two_phase import draw_documents

SIZE_COLUMNS = ["doc_size", "doc_cost", "doc_place", "q_opening_cost", "q_drawing"]
"""What `size_frame` adds to the documents."""


def size_frame(
    pool: Pool,
    measure: irm.Measure,
    design: str | None,
    per_query: float,
    defensive: float,
    pairs: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row a document: how probable its judging should be, relative to the others.

    Args:
        pool: All queries.
        measure: Additive or cascade.
        design: One of `design.DRAWINGS`; what suits the measure if left out.
        per_query: λ₀.
        defensive: ε of `design.hedged`.
        pairs: float64[k(k−1)/2], weights of the pairs of rankers; equal if left out.

    Returns:
        The query columns, ``docno``, ``doc_size`` (0 where a document cannot matter), ``doc_cost``, ``doc_place`` (in
        the order in which the documents of a query are drawn, from 0; -1 where it cannot matter), ``q_opening_cost``
        and ``q_drawing``.

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
        budget: Λ.
        seed: Of the draws.

    Returns:
        The rows of the documents to judge with ``inclusion``, the probability of each to be judged.

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
    found = DocumentSizes(np.flatnonzero(size > 0), size, np.zeros_like(size))
    design = document_design(found, drawing, indptr, cost, overhead, float(budget))
    sample = draw_documents(design, indptr, cost, overhead, float(budget), np.random.default_rng(seed))
    sizes["inclusion"] = sample.chance(query)
    return sizes[sample.drawn].reset_index(drop=True)


def worklist(pool: Pool, sample: TwoPhase, texts: pd.DataFrame | None) -> pd.DataFrame:
    """``qid, docno`` (+ ``query``, ``text``), ``inclusion``: what a person judges in a round.

    Args:
        pool: All queries.
        sample: What was drawn.
        texts: ``docno, text``, if there are any.

    Returns:
        Sorted by qid and docno; ``inclusion`` is Ππ, the probability of a document to be judged in the round.
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
        said = (
            Argument("budget", asked=True),
            ", and not ",
            Argument("draws", asked=True),
            ", with ",
            Argument("level", "document"),
        )
        raise ArgumentError("documents are drawn to a budget: say ", *said)
    if arguments["replace"]:
        both = Argument("replace", True), " does not go with ", Argument("level", "document")
        raise ArgumentError("a document is judged once: ", *both)
    if arguments["defensive"] is not None:
        within("defensive", arguments["defensive"], 0)
    measure = parse_measure(arguments["measure"])
    graded = graded_pool(pool, measure, arguments["per_query"])
    chosen = {"design": arguments["design"] or natural_drawing(graded.seen.form)}
    chosen |= {"defensive": DEFENSIVE_VARIANCE if arguments["defensive"] is None else arguments["defensive"]}
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
        by_documents = Argument("level", "document")
        raise ArgumentError("only a plan with ", by_documents, " can be extended; make a new plan for more queries")
    if "cut" in tables.manifest:
        raise ValueError("extend the plan as it was drawn, not what was cut to the labels so far")
    if later := tables.manifest.get("later_rankers"):
        raise ValueError(f"extend the plan as it was made, and add {some(later)} to the extended one")
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
    labels, _ = labels_of_drawn(pool, drawn, qrels)
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
    entry = _described(new, budget, seed, len(assessments), grades is not None, artifact.digest(qrels))
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
    """How many rounds are fully judged, up to the first gap.

    Args:
        rounds: In order.
        label: int64[N], -1 where there is none.
    """
    return sum(1 for _ in takewhile(lambda each: bool((label[each.sample.drawn] >= 0).all()), rounds))
