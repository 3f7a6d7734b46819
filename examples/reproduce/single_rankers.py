"""What it costs a comparison that the same labels give an interval for each ranker.

    python single_rankers.py mq2007-agg.parquet mq2008.parquet --evidence FOLDER

A plan of two rankers draws documents for their difference, and a few that matter to the value of a single ranker alone.
The variances are exact, computed from the design and all labels, for documents that come one after the other and
for those that are judged from the top. The grades are from a random forest.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, read_judged_pool

from pt_active.frames.columns import grade_columns
from pt_active.inference.drawn_documents import pool_sizes
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import DrawingSettings, natural_drawing, usual_variance
from pt_active.sampling.pools import GradedPool, Variables
from pt_active.sampling.sample import DocumentDesign

MEASURES = ("DCG@10", "ERR@10", "nDCG@10")
SHARES = (0.05, 0.1, 0.2, 0.4)
TABLES = ("single-rankers",)


def design_of(graded: GradedPool, settings: DrawingSettings, budget: float) -> DocumentDesign:
    """The design of a plan."""
    sizes = pool_sizes(graded, settings)
    return document_design(sizes, settings.drawing, graded.prices, budget)


def variance(graded: GradedPool, design: DocumentDesign, label: np.ndarray, contrast: np.ndarray) -> float:
    """The variance of the estimate of a contrast; infinite if a document that matters is never drawn."""
    seen, order = graded.seen, design.order
    mean, truth = Variables.of(seen.form, graded.grades).mean, seen.form.values[label]
    weight = seen.weight[seen.query]
    if not design.nested:
        step = weight * (contrast @ seen.gradients(mean)) * (truth - mean)
        chance = design.chance(seen.query)
        if step[chance == 0].any():
            return np.inf
        return float(step[order] ** 2 @ (1 / chance[order] - 1))
    step = (contrast @ seen.steps(order, mean, truth))[order] * weight[order]
    excess = step * (1 / design.chance(seen.query)[order] - 1)
    sums = np.cumsum(excess)
    before = sums - np.r_[0.0, sums][np.searchsorted(seen.query[order], seen.query[order])] - excess
    return float(step @ (excess + 2 * before))


def ratios(frame: pd.DataFrame, measure: str, names: tuple[str, str], share: float) -> tuple[float, float]:
    """By how much the variance of the difference rises, and a ranker's error over that of a plan of its own."""
    columns = ["qid", "docno", *grade_columns(frame.columns), *(f"rank_{name}" for name in names)]
    retrieved = (frame[[f"rank_{name}" for name in names]] >= 0).any(axis=1)
    parsed = parse_measure(measure, max_grade=len(grade_columns(frame.columns)) - 1)
    pool = Pool.from_frame(frame.loc[retrieved, columns], parsed)
    label = pool.keys.merge(frame[["qid", "docno", "label"]], on=["qid", "docno"])["label"].to_numpy(int)
    graded = graded_pool(pool, parsed, 0.0)
    form = graded.seen.form
    settings = DrawingSettings(natural_drawing(form), usual_variance(form), serves_singles=True)
    budget = share * float(pool.query_cost.sum())
    with_singles = design_of(graded, settings, budget)
    without = design_of(graded, replace(settings, serves_singles=False), budget)
    difference, single = np.array([1.0, -1.0]), np.array([1.0, 0.0])
    rise = variance(graded, with_singles, label, difference) / variance(graded, without, label, difference) - 1
    alone = replace(graded, seen=replace(graded.seen, ranks=np.ascontiguousarray(pool.ranks[:1])))
    own = design_of(alone, settings, budget)
    wider = variance(graded, with_singles, label, single) / variance(alone, own, label, np.ones(1))
    return rise, float(np.sqrt(wider))


def rows_of(path: Path, pairs: int) -> Iterator[dict[str, str]]:
    """One row per measure and share of the pool's cost."""
    pool = read_judged_pool(path)
    fold = pool.train_folds[0]
    frame = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    chosen = list(combinations(pool.standing("DCG@10", fold), 2))[:pairs]
    for measure in MEASURES:
        row = {"data": pool.name, "measure": measure}
        for share in SHARES:
            found = np.array([ratios(frame, measure, names, share) for names in chosen])
            rise, wider = found.mean(axis=0)
            row[f"{share:.0%}"] = f"{rise:+.1%} (×{wider:.1f})"
        yield row


def main() -> None:
    """Compute the variances, and print the table or put it into a page."""
    parser = parser_with(__doc__, pools="+")
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    text = markdown(pd.DataFrame([row for path in arguments.pools for row in rows_of(path, arguments.pairs)]))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
