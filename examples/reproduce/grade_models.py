"""Is a grade model that cross-validation chooses better than an ordered logit, or than a forest?

    python grade_models.py mq2007-agg.parquet lambdarank.parquet dl21.parquet --evidence FOLDER

One ranker, a clear pair and a near-tied pair on 100 queries, of which the default plan judges 10 and 25 %. The models
learn from the first training fold: from ranks and scores, or from the features of the pool. The one of the highest
cross-validated likelihood is chosen. Columns are root mean squared errors over those of the chosen model: the geometric
mean of the six cells of a row, and the worst. Monte Carlo errors of the means are about 3 % by DCG@10, and 6 % by
nDCG@10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from judged_pools import JudgedPool
from leagues import tabled, tasks

from pt_active import ForestGrades, GradeReport, OrderedLogitGrades, PriorGrades
from pt_active.inference.replay import Method
from pt_active.relevance.grades.models import FittedGrades
from pt_active.studies.simulate import labelled_population, replays

MEASURES = {"DCG@10": 5, "nDCG(dcg='exp-log2')@10": 1}
"""Measure → how many times more samples are drawn."""

SHARES = (0.1, 0.25)

QUERIES = 100


def models(max_grade: int) -> dict[str, FittedGrades]:
    """The models that cross-validation chooses from."""
    forest = ForestGrades(max_grade, trees=50, min_leaf=20)
    return {"ordered logit": OrderedLogitGrades(max_grade), "forest": forest, "ranks": PriorGrades(max_grade)}


def errors(graded: pd.DataFrame, rankers: list[str], measure: str, repetitions: int) -> np.ndarray:
    """float64[S], the root mean squared error of the default plan for each share of the labels."""
    population = labelled_population(graded, measure, rankers=rankers)
    method = Method(population.single.graded.usual_drawing, "regression", with_replacement=False)
    budgets = [share * population.cost.sum() for share in SHARES]
    found = replays(population, [method], repetitions, budgets=budgets, seed=0, progress=False)
    return np.sqrt((found[method].error ** 2).mean(axis=1))


def rows(pool: JudgedPool, repetitions: int) -> Iterator[Mapping[str, object]]:
    """One row for what the models learn from and measure."""
    fold = pool.train_folds[0]
    pairs = tasks(pool, fold).values()
    for source in ["ranks", "features"] if "features" in pool.frame.columns else ["ranks"]:
        frame = pool.frame if source == "features" else pool.frame.drop(columns="features", errors="ignore")
        past, rest = frame[frame["fold"] == fold], frame[frame["fold"] != fold]
        rest = rest[rest["qid"].isin(np.random.default_rng(0).permutation(rest["qid"].unique())[:QUERIES])]
        run, qrels = past.drop(columns="label"), past[["qid", "docno", "label"]]
        known = {name: GradeReport.cross_validated(each, run, qrels) for name, each in models(pool.max_grade).items()}
        chosen = max(known, key=lambda name: known[name].likelihood)
        graded = {name: each.fit(run, qrels).transform(rest) for name, each in models(pool.max_grade).items()}
        for measure, times in MEASURES.items():
            found = {
                name: np.ravel([errors(graded[name], each, measure, times * repetitions) for each in pairs])
                for name in {"ordered logit", "forest", chosen}
            }
            row = {
                "data": pool.name,
                "learned from": source,
                "measure": measure.replace("(dcg='exp-log2')", ""),
                "chosen": chosen,
            }
            for name in ("ordered logit", "forest"):
                ratio = found[name] / found[chosen]
                row |= {name: f"{np.exp(np.log(ratio).mean()):.3f}", f"{name}, worst": f"{ratio.max():.2f}"}
            yield row


def main() -> None:
    """Print the table, and keep it as evidence if a folder is given."""
    tabled("grade-models", __doc__, rows, repetitions=40, quick=2)


if __name__ == "__main__":
    main()
